/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: datagrams of flows that must begin with a name that is allowed
 */
#ifndef HW_VMRPC_FIRST_DATAGRAMS_H
#define HW_VMRPC_FIRST_DATAGRAMS_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* Ancillary data of ours */
#define VMRPC_DATAGRAMS_CONTROL CMSG_SPACE(sizeof(uint16_t))

/* Peers of one socket, the latest ones */
#define VMRPC_FLOWS_MAX         64
/* Names that a flow has said, and is judged by again */
#define VMRPC_FLOW_NAMES_MAX    8
/* Octets of memory for all flows of a VM */
#define VMRPC_FLOW_BYTES_MAX    (16 << 20)

/**
 * vmrpc_datagrams_connected: the datagram socket @s has another peer
 * @says: what the deciding rule demands
 */
VMRPC_LOCKED void vmrpc_datagrams_connected(VmrpcServer *srv, VmrpcSock *s,
                                            VmrpcSays says);

/**
 * vmrpc_datagrams_send: look at what is to be sent to a peer that demands it
 * @msg: destination and ancillary data; its vectors are filled in
 * @control: where these ancillary data are, with room for
 *           VMRPC_DATAGRAMS_CONTROL octets behind them
 *
 * Returns: 0 if @msg is to be sent; or the result of the call, octets or a
 * negative errno.
 */
VMRPC_LOCKED ssize_t vmrpc_datagrams_send(VmrpcServer *srv, VmrpcSock *s,
                                          const VmrpcCall *call,
                                          struct msghdr *msg, uint8_t *control,
                                          int flags);

/**
 * vmrpc_datagrams_judge_again: end the flows of @s that a new policy file
 * refuses, by the names that they have said
 *
 * A flow that is not to say anything any more is forgotten.
 *
 * Returns: how many flows there were
 */
VMRPC_LOCKED unsigned vmrpc_datagrams_judge_again(VmrpcServer *srv,
                                                  VmrpcSock *s);

/* The guest has set an option of a host socket. */
void vmrpc_datagrams_option(VmrpcSock *s, int level, int name,
                            const void *value, uint32_t len);

/* @s is being closed. */
VMRPC_LOCKED void vmrpc_datagrams_detach(VmrpcServer *srv, VmrpcSock *s);

#endif /* HW_VMRPC_FIRST_DATAGRAMS_H */
