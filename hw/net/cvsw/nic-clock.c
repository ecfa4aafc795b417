/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of a NIC's flow table and session */
#include "qemu/osdep.h"

#include "hw/net/cvsw/nic-internal.h"
#include "qemu/timer.h"

uint64_t cvsw_nic_now(void)
{
    return CVSW_CLOCK_BEGIN + qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
}
