/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SET_OFFLOAD: the guest's offloads without those that the controller disables
 */
#include <glib.h>

#include "hw/net/cvsw/control/offload.h"
#include "vmmnet/cvsw.h"

enum {
    CSUM = CVSW_OFFLOAD_CSUM,
    TSO4 = CVSW_OFFLOAD_TSO4,
    TSO6 = CVSW_OFFLOAD_TSO6,
    ECN = CVSW_OFFLOAD_ECN,
    USO4 = CVSW_OFFLOAD_USO4,
    USO6 = CVSW_OFFLOAD_USO6,
    LINUX = CSUM | TSO4 | TSO6 | ECN,   /* offloads that the driver requests */
};

typedef struct Case {
    uint32_t asked, denied, on, mask;
    bool can;
    uint32_t then;              /* denied */
} Case;

static const Case cases[] = {
    /* No change is no error. */
    { LINUX, 0, 0, 0, true, 0 },
    { LINUX, 0, LINUX, 0, true, 0 },
    /* Off, and on again. */
    { LINUX, 0, 0, TSO4 | TSO6, true, TSO4 | TSO6 },
    { LINUX, TSO4 | TSO6, TSO4, TSO4, true, TSO6 },
    { LINUX, TSO4 | TSO6, TSO4, TSO4 | TSO6, true, TSO6 },
    /* On and on. */
    { LINUX, 0, LINUX, LINUX, true, 0 },
    /* A missing offload can be disabled, for the next driver. */
    { 0, 0, 0, USO4, true, USO4 },
    { 0, 0, 0, CSUM, true, CSUM },
    /* The guest has not requested it. */
    { LINUX, 0, USO4, USO4, false, 0 },
    { LINUX, TSO4, TSO4 | USO6, TSO4 | USO6, false, TSO4 },
    { 0, 0, CSUM, CSUM, false, 0 },
    /* It needs another offload. */
    { LINUX, CSUM, TSO4, TSO4, false, CSUM },
    { LINUX, CSUM | TSO4, TSO4 | CSUM, TSO4 | CSUM, true, 0 },
    { LINUX, TSO4 | TSO6 | ECN, ECN, ECN, false, TSO4 | TSO6 | ECN },
    { LINUX, ECN | TSO4, ECN, ECN, true, TSO4 },
    /* Unknown bit. */
    { LINUX, 0, 0, 1u << 7, false, 0 },
    { LINUX, 0, 0, 1u << 31 | TSO4, false, 0 },
};

static void test_cases(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        uint32_t denied = c->denied;

        g_test_message("case %zu", i);
        g_assert_cmpint(cvsw_offload_change(c->on, c->mask, c->asked, &denied),
                        ==, c->can);
        g_assert_cmphex(denied, ==, c->then);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/offload/cases", test_cases);
    return g_test_run();
}
