/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of trust anchors that the user has chosen */
#include <errno.h>

#include "net/dns/client/config/anchors.h"
#include "net/dns/client/config/file.h"
#include "net/dns/upstream/trust-anchor.h"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("dns-trust-anchor-error");
}

static bool check_text(const DnscFile *file, GError **errp)
{
    const char *mistake;
    unsigned line;
    int count = dnsc_anchors_count(file->text, file->len, &line, &mistake);

    if (!count) {
        g_set_error(errp, error_quark(), EINVAL, "trust-anchor=%s: it has no "
                    "trust anchor, which is a DS or DNSKEY record", file->path);
    } else if (count < 0) {
        g_set_error(errp, error_quark(), EINVAL, "trust-anchor=%s: line %u: %s",
                    file->path, line, mistake);
    }
    return count > 0;
}

bool dns_trust_anchor_check(const char *path, GError **errp)
{
    DnscFile file;
    bool ok = false;

    if (dnsc_file_init(&file, path)) {
        g_set_error(errp, error_quark(), ENOMEM, "trust-anchor=%s: no memory",
                    path);
        return false;
    }
    dnsc_file_refresh(&file);
    if (file.text) {
        ok = check_text(&file, errp);
    } else {
        g_set_error(errp, error_quark(), ENOENT, "trust-anchor=%s: there is no "
                    "file that can be read; the root's trust anchor is in "
                    "Debian's package dns-root-data", path);
    }
    dnsc_file_clear(&file);
    return ok;
}
