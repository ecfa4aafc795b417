/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: application-level gateways as the guest's sockets meet them
 */
#ifndef HW_VMRPC_GATEWAY_H
#define HW_VMRPC_GATEWAY_H

#include "hw/vmrpc/server/call.h"
#include "hw/vmrpc/server/state.h"

void vmrpc_gateway_init(VmrpcServer *srv);

/*
 * A stream is connected, or about to be; @port of the server in network byte
 * order.  It gets a gateway if that is one of a protocol that needs it.
 */
void vmrpc_gateway_attach(VmrpcServer *srv, VmrpcSock *s, in_port_t port,
                          bool guest_is_server);
void vmrpc_gateway_detach(VmrpcSock *s);

/* Nothing more will come from the guest: sends the bytes held back. */
void vmrpc_gateway_finish(VmrpcSock *s);

/* Instead of sendmsg() and recvmsg(), if s->alg, and receives() says so. */
ssize_t vmrpc_gateway_send(VmrpcSock *s, VmrpcCall *call, int flags);
bool vmrpc_gateway_receives(const VmrpcSock *s, int flags);
ssize_t vmrpc_gateway_recv(VmrpcSock *s, VmrpcCall *call, int flags);

/* Bytes that the guest can receive beyond those in the host's queue. */
size_t vmrpc_gateway_unread(const VmrpcSock *s);

/* The datagram to send in place of the guest's; NULL: send the guest's. */
GByteArray *vmrpc_gateway_datagram_out(VmrpcServer *srv, const VmrpcSock *s,
                                       in_port_t peer_port,
                                       const VmrpcCall *call);

/*
 * A datagram of @len bytes has been received into the guest's memory.
 * Returns how long it is now; sets MSG_TRUNC if there was no room for more.
 */
size_t vmrpc_gateway_datagram_in(VmrpcServer *srv, const VmrpcSock *s,
                                 in_port_t peer_port, VmrpcCall *call,
                                 size_t len, int *msg_flags);

#endif /* HW_VMRPC_GATEWAY_H */
