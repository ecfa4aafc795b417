/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interfaces of a host: names, VRFs, and events that were missed */
#include <glib.h>
#include <stdlib.h>

#include "dnsd/server/core/links.h"

static bool take(DnsdLinks *links, unsigned index, const char *name,
                 unsigned master, bool is_vrf)
{
    RtnlEvent event = {
        .kind = RTNL_LINK, .index = index, .master = master,
        .is_vrf = is_vrf,
    };

    g_strlcpy(event.name, name, sizeof(event.name));
    return dnsd_links_take(links, &event);
}

static bool hear(DnsdLinks *links, RtnlKind kind, unsigned index)
{
    const RtnlEvent event = { .kind = kind, .index = index };

    return dnsd_links_take(links, &event);
}

static unsigned vrf_of(const DnsdLinks *links, unsigned index)
{
    DnsdVrfs *vrfs = dnsd_links_vrfs(links);
    unsigned vrf = dnsd_vrfs_of(vrfs, index);

    free(vrfs);
    return vrf;
}

static void test_names(void)
{
    DnsdLinks *links = dnsd_links_new();

    g_assert_cmpuint(dnsd_links_index(links, "eth0"), ==, 0);
    for (unsigned i = 1; i <= 100; i++) {
        g_autofree char *name = g_strdup_printf("eth%u", i);

        g_assert_true(take(links, i, name, 0, false));
        g_assert_false(take(links, i, name, 0, false));
    }
    g_assert_cmpuint(dnsd_links_index(links, "eth77"), ==, 77);
    g_assert_true(take(links, 77, "lan", 0, false));    /* renamed */
    g_assert_cmpuint(dnsd_links_index(links, "eth77"), ==, 0);
    g_assert_cmpuint(dnsd_links_index(links, "lan"), ==, 77);
    g_assert_cmpstr(dnsd_links_name(links, 77), ==, "lan");
    g_assert_true(hear(links, RTNL_LINK_GONE, 77));
    g_assert_false(hear(links, RTNL_LINK_GONE, 77));
    g_assert_null(dnsd_links_name(links, 77));
    g_assert_cmpuint(dnsd_links_index(links, "lan"), ==, 0);
    g_assert_cmpuint(dnsd_links_index(links, "eth100"), ==, 100);
    dnsd_links_free(links);
}

static void test_vrfs(void)
{
    DnsdLinks *links = dnsd_links_new();

    take(links, 9, "eth0", 4, false);       /* its VRF is told later */
    take(links, 2, "eth1", 3, false);
    take(links, 3, "br0", 0, false);
    g_assert_null(dnsd_links_vrfs(links));
    g_assert_cmpuint(vrf_of(links, 9), ==, 0);
    take(links, 4, "red", 0, true);
    g_assert_cmpuint(vrf_of(links, 9), ==, 4);
    g_assert_cmpuint(vrf_of(links, 4), ==, 4);
    g_assert_cmpuint(vrf_of(links, 2), ==, 0);          /* a bridge's port */
    g_assert_cmpuint(vrf_of(links, 77), ==, 0);
    g_assert_true(take(links, 3, "br0", 4, false));
    g_assert_cmpuint(vrf_of(links, 3), ==, 4);
    g_assert_true(take(links, 9, "eth0", 0, false));
    g_assert_cmpuint(vrf_of(links, 9), ==, 0);
    hear(links, RTNL_LINK_GONE, 4);
    g_assert_null(dnsd_links_vrfs(links));
    dnsd_links_free(links);
}

/* After lost events only what is listed stays; what is listed twice is new. */
static void test_each_vrf(void)
{
    DnsdLinks *links = dnsd_links_new();

    g_assert_cmpuint(dnsd_links_next_vrf(links, 0), ==, 0);
    take(links, 9, "blue", 0, true);
    take(links, 4, "eth0", 7, false);
    take(links, 7, "red", 0, true);
    g_assert_cmpuint(dnsd_links_next_vrf(links, 0), ==, 7);
    g_assert_cmpuint(dnsd_links_next_vrf(links, 7), ==, 9);
    g_assert_cmpuint(dnsd_links_next_vrf(links, 9), ==, 0);
    g_assert_cmpuint(dnsd_links_vrf(links, 4), ==, 7);
    g_assert_cmpuint(dnsd_links_vrf(links, 9), ==, 9);
    g_assert_cmpuint(dnsd_links_vrf(links, 5), ==, 0);
    dnsd_links_free(links);
}

static void test_lost(void)
{
    DnsdLinks *links = dnsd_links_new();

    take(links, 5, "eth0", 0, false);
    take(links, 6, "eth1", 0, false);
    hear(links, RTNL_LOST, 0);
    g_assert_cmpuint(dnsd_links_index(links, "eth0"), ==, 5);
    g_assert_true(take(links, 8, "eth0", 0, false));
    g_assert_cmpuint(dnsd_links_index(links, "eth0"), ==, 8);
    g_assert_true(hear(links, RTNL_LISTED, 0));
    g_assert_cmpuint(dnsd_links_index(links, "eth0"), ==, 8);
    g_assert_cmpuint(dnsd_links_index(links, "eth1"), ==, 0);
    g_assert_false(hear(links, RTNL_LISTED, 0));
    dnsd_links_free(links);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/links/names", test_names);
    g_test_add_func("/dnsd/links/vrfs", test_vrfs);
    g_test_add_func("/dnsd/links/each-vrf", test_each_vrf);
    g_test_add_func("/dnsd/links/lost", test_lost);
    return g_test_run();
}
