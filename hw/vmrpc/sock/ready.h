/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the sockets are ready for, and what the guest knows of it
 */
#ifndef HW_VMRPC_READY_H
#define HW_VMRPC_READY_H

#include <linux/types.h>

#include "hw/vmrpc/sock/state.h"

/* A host socket stands behind the guest's socket. */
extern const VmrpcBackingOps vmrpc_host_backing;

/*
 * Asks the host for the readiness now; does nothing if the guest has closed @s
 * meanwhile.
 */
void vmrpc_sock_refresh(VmrpcServer *srv, VmrpcSock *s);

/*
 * Returns: events that @s is ready for (VMRPC_IN ...); those of a host socket
 * as refresh() or epoll last found them
 */
uint32_t vmrpc_sock_ready(const VmrpcSock *s);

/*
 * The readiness after a SENDMSG of @asked octets that returned @n; asks the
 * host only if it does not follow from that.
 */
VMRPC_LOCKED void vmrpc_ready_sent(VmrpcServer *srv, VmrpcSock *s, size_t asked,
                                   ssize_t n);

/*
 * The same after a RECVMSG with room for @room octets.
 * @news: s->news before the call
 * @left: octets that the host still has, TCP_INQ; -1: it did not tell
 * @flags: the call's, MSG_PEEK ...
 */
VMRPC_LOCKED void vmrpc_ready_received(VmrpcServer *srv, VmrpcSock *s,
                                       uint32_t news, size_t room, ssize_t n,
                                       int left, int flags);

/* Is it likely that RECVMSG would find nothing? */
VMRPC_LOCKED bool vmrpc_ready_lacks_input(const VmrpcServer *srv,
                                          const VmrpcSock *s);

/* A poll(2) for all that VMRPC_READY_ALL has found @revents. */
VMRPC_LOCKED void vmrpc_ready_polled(const VmrpcServer *srv, VmrpcSock *s,
                                     short revents);

/* The guest has set an option of the host socket of @s. */
VMRPC_LOCKED void vmrpc_ready_option(VmrpcSock *s, int level, int name,
                                     const void *value, uint32_t len);

/* Do all streams of the host have a low-water mark for what is unsent? */
bool vmrpc_ready_host_has_lowat(void);

/* Queues an event if the guest does not know all about @s. */
VMRPC_LOCKED void vmrpc_sock_notify(VmrpcServer *srv, VmrpcSock *s);

/* VmrpcBackingOps.process() of one whose refresh() finds all that happens */
VMRPC_LOCKED void vmrpc_sock_look_again(VmrpcServer *srv, VmrpcSock *s,
                                        uint32_t events);

/*
 * There is nothing (more) to report about @s.  Constant time: a guest that
 * takes no events has them queued for all of its sockets.
 */
VMRPC_LOCKED void vmrpc_event_unqueue(VmrpcServer *srv, VmrpcSock *s);

/*
 * Reports the readiness, in a response or in an event.  All three are in
 * little-endian byte order.
 */
VMRPC_LOCKED void vmrpc_ready_report(VmrpcServer *srv, VmrpcSock *s,
                                     __le32 *ready, __le32 *seq,
                                     __le32 *so_error);

/*
 * A call waits for @s from now on, and no longer: meanwhile there are no
 * events, and the call's response reports.
 */
VMRPC_LOCKED void vmrpc_ready_begin_wait(VmrpcServer *srv, VmrpcSock *s);
VMRPC_LOCKED void vmrpc_ready_end_wait(VmrpcSock *s);

/* The guest wants edge events of @s from now on (VMRPC_REQ_EDGE). */
VMRPC_LOCKED void vmrpc_ready_begin_edges(VmrpcServer *srv, VmrpcSock *s);

#endif /* HW_VMRPC_READY_H */
