/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the resolver: trust anchors and root hints */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/client/config/anchors.h"
#include "dnsd/server/resolver/files.h"

#define ANCHORS_MAX     (1u << 20)      /* octets of a file */

/* --- state of the files --------------------------------------------------- */

static void look(const char *path, struct stat *at)
{
    if (!path || stat(path, at) < 0) {
        *at = (struct stat) { 0 };
    }
}

void dnsd_resolver_files_look(const DnsdResolverConfig *c,
                              DnsdResolverFiles *files)
{
    look(c->dnssec == DNSD_DNSSEC_OFF ? NULL : c->trust_anchor,
         &files->anchor);
    look(c->forwards ? NULL : c->root_hints, &files->hints);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim) &&
           same_time(&a->st_ctim, &b->st_ctim);
}

bool dnsd_resolver_files_same(const DnsdResolverFiles *a,
                              const DnsdResolverFiles *b)
{
    return same(&a->anchor, &b->anchor) && same(&a->hints, &b->hints);
}

/* --- checks --------------------------------------------------------------- */

static FILE *open_file(const char *path, const char *key, const char *more,
                       DnsdError *error)
{
    FILE *file = fopen(path, "re");

    if (!file) {
        snprintf(error->text, sizeof(error->text),
                 "resolver.%s: '%s': %s%s", key, path, strerror(errno), more);
    }
    return file;
}

/* Of a longer file only the beginning is read. */
static bool check_anchors(const char *path, FILE *file, DnsdError *error)
{
    char *text = malloc(ANCHORS_MAX);
    size_t len = text ? fread(text, 1, ANCHORS_MAX, file) : 0;
    const char *why;
    unsigned line;
    int count = dnsc_anchors_count(text, len, &line, &why);

    free(text);
    if (!count) {
        snprintf(error->text, sizeof(error->text),
                 "resolver.trust-anchor: '%s' has no DS and no DNSKEY record, "
                 "so nothing would be validated; right is a file as "
                 "dns-root-data has it, or 'dnssec: off'", path);
    } else if (count < 0) {
        snprintf(error->text, sizeof(error->text),
                 "resolver.trust-anchor: '%s', line %u: %s", path, line, why);
    }
    return count > 0;
}

static bool check_anchor(const char *path, DnsdError *error)
{
    FILE *file = open_file(path, "trust-anchor", "; Debian has the root's in "
                           "the package dns-root-data", error);
    bool ok = file && check_anchors(path, file, error);

    if (file) {
        fclose(file);
    }
    return ok;
}

static bool check_hints(const char *path, DnsdError *error)
{
    FILE *file = open_file(path, "root-hints", "", error);

    if (file) {
        fclose(file);
    }
    return file;
}

bool dnsd_resolver_files_check(const DnsdResolverConfig *c,
                               DnsdError *error)
{
    return (c->dnssec == DNSD_DNSSEC_OFF ||
            check_anchor(c->trust_anchor, error)) &&
           (!c->root_hints || c->forwards ||
            check_hints(c->root_hints, error));
}
