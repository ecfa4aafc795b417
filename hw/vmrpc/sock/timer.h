/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the clocks and the one timer
 */
#ifndef HW_VMRPC_TIMER_H
#define HW_VMRPC_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/vmrpc/sock/state.h"

/* Milliseconds of the monotonic clock. */
int64_t vmrpc_now_ms(void);

/*
 * Reads the host's clocks at one moment into srv->clock, for the time stamps
 * of received packets.
 */
void vmrpc_see_clock(VmrpcServer *srv);

/* The earlier of two timeouts in milliseconds, of which -1 means never. */
int vmrpc_earlier(int a, int b);

/* A timeout has changed: sets the timer again where that is needed. */
VMRPC_LOCKED void vmrpc_timer_rearm(VmrpcServer *srv);

/*
 * A call has queued an event.  The IOThread takes events whenever it wakes up,
 * so this wakes it.
 */
VMRPC_LOCKED void vmrpc_timer_wake(VmrpcServer *srv);

/*
 * The timer's descriptor is readable: does all that is due.  Returns false if
 * the timer has not expired.
 */
VMRPC_LOCKED bool vmrpc_timer_process(VmrpcServer *srv);

#endif /* HW_VMRPC_TIMER_H */
