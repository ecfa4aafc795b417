/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets whose calls wait for the audit log
 *
 * Theory of operation
 * ===================
 *
 * With audit-full=wait nothing begins while the log takes no lines.  No thread
 * waits for that: a call gives what it gives when it would block, and the guest
 * waits as it does for any peer.
 *
 *   connect() of a stream   EINPROGRESS; the socket is connecting until it
 *                           may, and the IOThread connects it (calls-connect.c)
 *   a datagram              EAGAIN, and the socket is not writable
 *   accept()                EAGAIN, and nothing can be accepted
 *   a name                  the query waits for its turn (resolver.c)
 *
 * When the log has room again, the IOThread goes on with the sockets in the
 * order in which they came, a number at a time.
 */
#include "hw/vmrpc/peer/parked.h"

#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/timer.h"

/* Sockets that go on at a time */
#define TURNS   64

void vmrpc_park(VmrpcServer *srv, VmrpcSock *s, VmrpcParked what)
{
    if (s->parked == VMRPC_PARKED_NONE) {
        s->parked = what;
        s->parked_events = what == VMRPC_PARKED_SEND ? VMRPC_OUT :
                           what == VMRPC_PARKED_ACCEPT ? VMRPC_IN : 0;
        s->parked_link.data = s;
        g_queue_push_tail_link(&srv->parked, &s->parked_link);
    }
}

void vmrpc_unpark(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->parked != VMRPC_PARKED_NONE) {
        g_queue_unlink(&srv->parked, &s->parked_link);
        s->parked = VMRPC_PARKED_NONE;
        s->parked_events = 0;
    }
}

int vmrpc_parked_timeout_ms(VmrpcServer *srv)
{
    return srv->unparks ? 0 : -1;
}

void vmrpc_parked_process_timer(VmrpcServer *srv)
{
    unsigned n = 0;
    VmrpcSock *s;

    while (srv->unparks && (s = g_queue_peek_head(&srv->parked)) &&
           n++ < TURNS) {
        VmrpcParked what = s->parked;

        if (!vmrpc_evidence_admits(srv)) {
            srv->unparks = false;
            return;
        }
        vmrpc_unpark(srv, s);
        if (what == VMRPC_PARKED_CONNECT) {
            s->ops->process(srv, s, 0);
        } else {
            vmrpc_sock_refresh(srv, s);
            vmrpc_sock_notify(srv, s);
        }
    }
    srv->unparks &= srv->parked.length > 0;
}
