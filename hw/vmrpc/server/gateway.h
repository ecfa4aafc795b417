/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: application-level gateways as the guest's sockets meet them
 */
#ifndef HW_VMRPC_GATEWAY_H
#define HW_VMRPC_GATEWAY_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* Sets the server's callbacks for gateways; there is nothing to clean up. */
void vmrpc_gateway_init(VmrpcServer *srv);

/*
 * The stream @s is connected, or about to be.  It gets a gateway if @port
 * (network byte order), of the server, is that of FTP or SIP.  detach() takes
 * the gateway from it, if there is one.
 */
void vmrpc_gateway_attach(VmrpcServer *srv, VmrpcSock *s, in_port_t port,
                          bool guest_is_server);
void vmrpc_gateway_detach(VmrpcSock *s);

/* The guest will send nothing more: sends the bytes that are held back. */
void vmrpc_gateway_finish(VmrpcSock *s);

/*
 * In place of sendmsg(), if @s has a gateway, and of recvmsg(), if receives()
 * returns true for the call's @flags (MSG_*).  The results are bytes or a
 * negative errno.
 */
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
 * Rewrites it in place.  Returns its new length, and sets MSG_TRUNC in
 * *@msg_flags if the guest's memory had no room for all of it.
 */
size_t vmrpc_gateway_datagram_in(VmrpcServer *srv, const VmrpcSock *s,
                                 in_port_t peer_port, VmrpcCall *call,
                                 size_t len, int *msg_flags);

#endif /* HW_VMRPC_GATEWAY_H */
