/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the libunbound of this system has its security fixes
 *
 * 1.25.2 and 1.26.1 fixed heap overflows in the validator, which runs in our
 * process on what strangers' servers send (Debian's changelog of 1.26.1-0+
 * deb13u1).  A later fix of that kind changes FIXED, LACKS and the words.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns/unbound/fixes.h"
#include "net/dns/unbound/unbound.h"

#define LIST    "/var/lib/dpkg/status"
#define PACKAGE "libunbound8"

/* The oldest version with the fixes */
static const unsigned long FIXED[] = { 1, 26, 1 };
/*
 * The last revisions of Debian's stable releases without them; of Debian 13
 * there is none of an older version with them.
 */
static const struct {
    const char *release;
    unsigned long revision;
} LACKS[] = { { "+deb12u", 4 }, { "+deb13u", ULONG_MAX } };

static bool has_fixed_version(const char *version)
{
    for (size_t i = 0; i < sizeof(FIXED) / sizeof(FIXED[0]); i++) {
        char *end;
        unsigned long part = strtoul(version, &end, 10);

        if (part != FIXED[i]) {
            return part > FIXED[i];
        }
        version = *end == '.' ? end + 1 : end;
    }
    return true;
}

/* Debian's own and its backports have no other letters than those. */
static bool is_plain(const char *revision)
{
    size_t digits = strspn(revision, "0123456789.");

    return !revision[digits] || !strncmp(revision + digits, "~bpo", 4) ||
           !strncmp(revision + digits, "+b", 2);
}

bool dnsc_unbound_lacks_fixes(const char *version, const char *package)
{
    const char *revision = strrchr(package, '-');

    if (has_fixed_version(version)) {
        return false;
    }
    if (!revision) {
        return true;
    }
    for (size_t i = 0; i < sizeof(LACKS) / sizeof(LACKS[0]); i++) {
        const char *release = strstr(revision, LACKS[i].release);

        if (release) {
            return strtoul(release + strlen(LACKS[i].release), NULL, 10) <=
                   LACKS[i].revision;
        }
    }
    return is_plain(revision + 1);
}

bool dnsc_unbound_package(const char *list, char *package)
{
    FILE *file = fopen(list, "re");
    bool is_it = false, is_read;
    size_t size = 0;
    char *line = NULL;

    package[0] = '\0';
    if (!file) {
        return errno == ENOENT;
    }
    while (!package[0] && getline(&line, &size, file) >= 0) {
        char name[DNSC_VERSION_MAX];

        if (sscanf(line, "Package: %63s", name) == 1) {
            is_it = !strcmp(name, PACKAGE);
        } else if (is_it) {
            sscanf(line, "Version: %63s", package);
        }
    }
    is_read = !ferror(file);
    free(line);
    fclose(file);
    return is_read;
}

bool dnsc_unbound_warning(char *text)
{
    const DnscUnbound *unbound = dnsc_unbound();
    char package[DNSC_VERSION_MAX];

    if (!unbound || !dnsc_unbound_package(LIST, package) ||
        !dnsc_unbound_lacks_fixes(unbound->version(), package)) {
        return false;
    }
    snprintf(text, DNSC_WARNING_MAX,
             "libunbound %s lacks fixes of heap overflows in its validator "
             "(CVE-2026-81642, CVE-2026-81634): install 1.26.1 or later, "
             "which Debian 13 has", package[0] ? package : unbound->version());
    return true;
}
