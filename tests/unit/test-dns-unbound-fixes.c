/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which versions of libunbound are told to lack security fixes */

#include <glib.h>
#include <glib/gstdio.h>

#include "net/dns/unbound/fixes.h"
#include "net/dns/unbound/unbound.h"

/* The same are in control/test_libvirt_check.py. */
static const struct {
    const char *version, *package;
    bool lacks;
} VERSIONS[] = {
    /* of no package */
    { "1.17.1", "", true },
    { "1.25.2", "", true },
    { "1.26.0", "", true },
    { "1.26", "", true },
    { "1.26.1", "", false },
    { "1.26.2", "", false },
    { "1.100.0", "", false },
    { "2.0.0", "", false },
    /* Debian 12, whose next revision may have them */
    { "1.17.1", "1.17.1-2", true },
    { "1.17.1", "1.17.1-2+deb12u2", true },
    { "1.17.1", "1.17.1-2+deb12u4", true },
    { "1.17.1", "1.17.1-2+deb12u5", false },
    { "1.17.1", "1.17.1-2+deb12u10", false },
    /* Debian 13, which had them as a new version */
    { "1.22.0", "1.22.0-2", true },
    { "1.22.0", "1.22.0-2+deb13u1", true },
    { "1.26.1", "1.26.1-0+deb13u1", false },
    { "1.26.2", "1.26.2-0+deb13u1", false },
    /* backports, sid, a rebuild */
    { "1.22.0", "1.22.0-2~bpo12+1", true },
    { "1.26.2", "1.26.2-1~bpo13+1", false },
    { "1.25.2", "1.25.2-1", true },
    { "1.25.2", "1.25.2-1+b1", true },
    { "1.26.2", "1.26.2-1", false },
    /* somebody else's, who may have given them to it */
    { "1.19.2", "1.19.2-1ubuntu3.7", false },
    { "1.17.1", "1.17.1-2~site3", false },
};

static void test_versions(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(VERSIONS); i++) {
        g_test_message("%s, package '%s'", VERSIONS[i].version,
                       VERSIONS[i].package);
        g_assert_cmpint(dnsc_unbound_lacks_fixes(VERSIONS[i].version,
                                                 VERSIONS[i].package),
                        ==, VERSIONS[i].lacks);
    }
}

static void check_list(const char *list, const char *expected)
{
    char package[DNSC_VERSION_MAX] = "what was there";
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("vmmnet-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_true(g_close(fd, NULL));
    g_assert_true(g_file_set_contents(path, list, -1, NULL));
    g_assert_true(dnsc_unbound_package(path, package));
    g_assert_cmpstr(package, ==, expected);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

static void test_list(void)
{
    char package[DNSC_VERSION_MAX];

    check_list("Package: libunbound-dev\nVersion: 2-1\n\n"
               "Package: libunbound8\nStatus: install ok installed\n"
               "Source: unbound\nVersion: 1.17.1-2+deb12u4\n\n"
               "Package: zlib1g\nVersion: 3-1\n", "1.17.1-2+deb12u4");
    check_list("Package: libunbound8-dbg\nVersion: 2-1\n", "");
    check_list("", "");
    /* A package that was removed has no version, and the next one has its. */
    check_list("Package: libunbound8\nStatus: deinstall ok config-files\n\n"
               "Package: zlib1g\nVersion: 3-1\n", "");
    /* No dpkg is a fact, a list that cannot be read is not. */
    g_assert_true(dnsc_unbound_package("/nonexistent/status", package));
    g_assert_cmpstr(package, ==, "");
    g_assert_false(dnsc_unbound_package("/proc/self/fd/1/status", package));
}

/* The library of this system: the words name its version. */
static void test_warning(void)
{
    const DnscUnbound *unbound = dnsc_unbound();
    char text[DNSC_WARNING_MAX], package[DNSC_VERSION_MAX];

    g_assert_nonnull(unbound);
    g_assert_true(dnsc_unbound_package("/var/lib/dpkg/status", package));
    if (dnsc_unbound_lacks_fixes(unbound->version(), package)) {
        g_assert_true(dnsc_unbound_warning(text));
        g_assert_nonnull(strstr(text, unbound->version()));
        g_assert_nonnull(strstr(text, package));
        g_assert_nonnull(strstr(text, "CVE-2026-81642"));
    } else {
        g_assert_false(dnsc_unbound_warning(text));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/unbound/fixes/versions", test_versions);
    g_test_add_func("/dns/unbound/fixes/list", test_list);
    g_test_add_func("/dns/unbound/fixes/warning", test_warning);
    return g_test_run();
}
