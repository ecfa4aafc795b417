/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a NIC's switch that both the device and its migration use */
#include "qemu/osdep.h"

#include "hw/net/cvsw/nic-internal.h"
#include "qemu/guest-random.h"
#include "qemu/timer.h"

void cvsw_nic_tick(void *opaque)
{
    CvswNic *nic = opaque;
    CvswSessionStats before = *cvsw_session_stats(nic->session);
    uint64_t now = cvsw_nic_now(), next = UINT64_MAX;

    if (runstate_is_running()) {
        next = MIN(cvsw_session_tick(nic->session, now),
                   cvsw_table_expire(nic->run->table, now));
        cvsw_nic_trace_session(nic, &before);
    }
    if (next == UINT64_MAX) {
        timer_del(nic->timer);
    } else {
        timer_mod(nic->timer, MAX(next, now + 1) - CVSW_CLOCK_BEGIN);
    }
}

/* Guests that ignore the MTU get ICMP errors instead (run/fit.h). */
void cvsw_nic_set_mtu(CvswNic *nic, uint16_t mtu)
{
    nic->run->mtu = mtu;
    nic->tell_mtu(nic->device, mtu);
}

CvswTable *cvsw_nic_new_table(CvswNic *nic)
{
    uint64_t seed = 0;

    qemu_guest_getrandom_nofail(&seed, sizeof(seed));
    return cvsw_table_new(nic->flows_max, nic->masks_max, seed,
                          cvsw_nic_removed, nic);
}
