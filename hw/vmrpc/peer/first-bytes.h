/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: streams whose first bytes must say a name that the rules allow
 */
#ifndef HW_VMRPC_FIRST_BYTES_H
#define HW_VMRPC_FIRST_BYTES_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* How long the beginning of a hello waits for its rest */
#define VMRPC_FIRST_TIME_MS     10000
/* Octets that all undecided streams of a VM may keep */
#define VMRPC_FIRST_BYTES_MAX   (4 << 20)

/**
 * vmrpc_first_expect: the stream @s is to be connected to @host
 * @says: what the deciding rule demands
 * @only: the one name that it may say, which a proxy was asked for; NULL: any
 *        that the rules allow
 *
 * To be called if @says demands something or s->first is set, and followed by
 * connect() without giving up the lock: no call sends before it is watched.
 * vmrpc_first_connects() gets the result of connect().
 *
 * Returns: 0, or -EALREADY: another thread uses the host socket.
 */
VMRPC_LOCKED int vmrpc_first_expect(VmrpcServer *srv, VmrpcSock *s,
                                    VmrpcSays says,
                                    const struct sockaddr_storage *host,
                                    const char *only);
VMRPC_LOCKED void vmrpc_first_connects(VmrpcServer *srv, VmrpcSock *s,
                                       VmrpcSays says, int ret);

/**
 * vmrpc_first_expect_other: the race of @s is to try another address, too
 *
 * Returns: as vmrpc_first_expect(); -EACCES: this address demands another
 * protocol.
 */
VMRPC_LOCKED int vmrpc_first_expect_other(VmrpcServer *srv, VmrpcSock *s,
                                          VmrpcSays says);

/* The guest has disconnected @s: what was kept is of a stream that is over. */
VMRPC_LOCKED void vmrpc_first_disconnect(VmrpcServer *srv, VmrpcSock *s);

/**
 * vmrpc_first_send: in place of sendmsg(), if s->first is set
 *
 * Returns: octets that the guest need not send again, or a negative errno;
 * -EACCES: the stream is refused, and ended.
 */
VMRPC_LOCKED ssize_t vmrpc_first_send(VmrpcServer *srv, VmrpcSock *s,
                                      const VmrpcCall *call, int flags);

/**
 * vmrpc_first_may_go_on: a new policy file allows the peer of the stream @s
 * @peer: on the host's side
 * @says: what the deciding rule demands
 *
 * Reports a refusal.
 *
 * Returns: false if the rules refuse the name that the guest has said, or if
 * nothing has looked for one.  A name that is still to be said is judged then.
 */
VMRPC_LOCKED bool vmrpc_first_may_go_on(VmrpcServer *srv, const VmrpcSock *s,
                                        const struct sockaddr_storage *peer,
                                        VmrpcSays says);

/* The guest will send nothing more: what is undecided does not leave. */
VMRPC_LOCKED void vmrpc_first_finish(VmrpcServer *srv, VmrpcSock *s);

/* The stream is not watched any more, or is being closed. */
VMRPC_LOCKED void vmrpc_first_detach(VmrpcServer *srv, VmrpcSock *s);

/* See VmrpcTimerOps: ends the streams that are too late. */
VMRPC_LOCKED int vmrpc_first_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_first_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_FIRST_BYTES_H */
