/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Installation of a zone that was transferred */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/octets.h"
#include "dnsd/server/secondary/fresh.h"
#include "dnsd/server/secondary/secondary.h"
#include "dnsd/update/store/journal.h"
#include "dnsd/update/xfr/source.h"

#define SOA_NUMBERS     20      /* octets of the numbers of an SOA */

bool dnsd_secondary_soa(const DnsdDynZone *dyn, DnsSoa *soa)
{
    XfrSource source;
    bool done = !xfr_source_begin(&source, dns_store_view(dyn->store)) &&
                source.soa->rdlength >= SOA_NUMBERS;

    if (done) {
        const uint8_t *at = source.soa->rdata + source.soa->rdlength -
                            SOA_NUMBERS;

        *soa = (DnsSoa) {
            .serial = get_be32(at), .refresh = get_be32(at + 4),
            .retry = get_be32(at + 8), .expire = get_be32(at + 12),
            .minimum = get_be32(at + 16),
        };
    }
    xfr_source_end(&source);
    return done;
}

/*
 * For an image without that file, the age of the image counts.  Seconds are
 * rounded up, so a zone that expired before a restart is expired after it.
 */
uint64_t dnsd_secondary_age(const DnsdDynZone *dyn, const char *image,
                            uint64_t *success)
{
    const ZoneView *view = dns_store_view(dyn->store);
    uint64_t now = time(NULL);

    *success = dnsd_fresh_read(image);
    if (!*success) {
        *success = view->layer[view->layers - 1]->made;
    }
    return now >= *success ? now - *success + 1 : 0;
}

/* --- the first image ------------------------------------------------------ */

/* A journal without its image is useless. */
static int remove_journal(const char *image, const char *suffix)
{
    char *path = NULL;
    int ret = asprintf(&path, "%s%s", image, suffix) < 0 ? -ENOMEM
              : unlink(path) && errno != ENOENT ? -errno : 0;

    free(path);
    return ret;
}

static bool install_first(DnsdDynZone *dyn, const char *image, const char *path,
                          char *why, size_t why_len)
{
    int ret = remove_journal(image, ".jnl");

    ret = ret ? ret : remove_journal(image, ".jnl.old");
    ret = ret || !rename(path, image) ? ret : -errno;
    ret = ret ? ret : dns_store_sync_folder_of(image);
    if (ret) {
        snprintf(why, why_len, "the image cannot be put in place: %s",
                 strerror(-ret));
        return false;
    }
    return dnsd_dynzone_fill(dyn, image, why, why_len);
}

bool dnsd_secondary_install(DnsdDynZone *dyn, const char *image,
                            const char *path, char *why, size_t why_len)
{
    DnsStoreError error;

    if (!dyn->store) {
        return install_first(dyn, image, path, why, why_len);
    }
    if (dns_store_replace(dyn->store, path, &error)) {
        snprintf(why, why_len, "%s", error.text);
        return false;
    }
    return true;
}
