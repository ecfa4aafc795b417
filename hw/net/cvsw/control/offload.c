/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SET_OFFLOAD: the guest's offloads minus those that the controller denies */
#include <stddef.h>

#include "hw/net/cvsw/control/offload.h"
#include "vmmnet/cvsw.h"

#define TSO     (CVSW_OFFLOAD_TSO4 | CVSW_OFFLOAD_TSO6)
#define ALL     (CVSW_OFFLOAD_CSUM | TSO | CVSW_OFFLOAD_ECN | \
                 CVSW_OFFLOAD_UFO | CVSW_OFFLOAD_USO4 | CVSW_OFFLOAD_USO6)

/* All offloads need CSUM; ECN needs a TSO. */
static uint32_t usable(uint32_t offloads)
{
    if (!(offloads & CVSW_OFFLOAD_CSUM)) {
        return 0;
    }
    return offloads & TSO ? offloads : offloads & ~CVSW_OFFLOAD_ECN;
}

bool cvsw_offload_change(uint32_t on, uint32_t mask, uint32_t asked,
                         uint32_t *denied)
{
    uint32_t wanted = on & mask;
    uint32_t next = (*denied | mask) & ~wanted;

    if (mask & ~ALL || wanted & ~usable(asked & ~next)) {
        return false;
    }
    *denied = next;
    return true;
}
