/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: "limit sent" and "limit received" of the policy file
 *
 * limits.c counts the octets of all sockets.  A socket that has to wait is
 * queued, in the order in which they came, and lacks VMRPC_OUT or VMRPC_IN
 * meanwhile (VmrpcSock.held).  A timer lets some go on at a time: each may take
 * what there is, so the others would only wait again.
 */
#include "hw/vmrpc/sock/throttle.h"

#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/timer.h"

/* Sockets that go on together, so that the lock is not held for long. */
#define TURN    64

/* The timer looks again so often, as a reload can change the rate. */
#define TIMEOUT_MAX_MS  1000

static uint32_t bit_of(VmrpcFlow flow)
{
    return flow == VMRPC_FLOW_SENT ? VMRPC_OUT : VMRPC_IN;
}

static VMRPC_LOCKED void release(VmrpcServer *srv, VmrpcSock *s, VmrpcFlow flow)
{
    if (s->held & bit_of(flow)) {
        s->held &= ~bit_of(flow);
        g_queue_unlink(&srv->throttled[flow], &s->throttled_link[flow]);
    }
}

bool vmrpc_throttle_asks(VmrpcServer *srv, VmrpcSock *s, VmrpcFlow flow)
{
    if (vmrpc_limits_wait_us(&srv->reach.limits, flow,
                             g_get_monotonic_time()) == 0) {
        return true;
    }
    if (!(s->held & bit_of(flow))) {
        s->held |= bit_of(flow);
        s->throttled_link[flow].data = s;
        g_queue_push_tail_link(&srv->throttled[flow],
                               &s->throttled_link[flow]);
        srv->counters.throttled++;
        if (g_queue_get_length(&srv->throttled[flow]) == 1) {
            vmrpc_timer_rearm(srv);
        }
    }
    return false;
}

void vmrpc_throttle_forget(VmrpcServer *srv, VmrpcSock *s)
{
    release(srv, s, VMRPC_FLOW_SENT);
    release(srv, s, VMRPC_FLOW_RECEIVED);
}

int vmrpc_throttle_timeout_ms(VmrpcServer *srv)
{
    int64_t now_us = g_get_monotonic_time();
    int ms = -1;

    for (int flow = 0; flow < VMRPC_FLOW_NUM; flow++) {
        if (!g_queue_is_empty(&srv->throttled[flow])) {
            int64_t us = vmrpc_limits_wait_us(&srv->reach.limits, flow, now_us);

            ms = vmrpc_earlier(ms, MIN((us + 999) / 1000, TIMEOUT_MAX_MS));
        }
    }
    return ms;
}

void vmrpc_throttle_process_timer(VmrpcServer *srv)
{
    int64_t now_us = g_get_monotonic_time();

    for (int flow = 0; flow < VMRPC_FLOW_NUM; flow++) {
        GQueue *queue = &srv->throttled[flow];

        if (vmrpc_limits_wait_us(&srv->reach.limits, flow, now_us) > 0) {
            continue;
        }
        for (int i = 0; i < TURN && !g_queue_is_empty(queue); i++) {
            VmrpcSock *s = g_queue_peek_head(queue);

            release(srv, s, flow);
            vmrpc_sock_notify(srv, s);
        }
    }
}
