/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ClientHello in the first datagrams of a QUIC flow (RFC 9000, RFC 9001)
 *
 * The keys of an Initial packet follow from a field in its header: anybody on
 * the path can read it.  Versions 1 and 2 (RFC 9369) are read.
 *
 *   MORE      keep the datagram and wait for others
 *   SAID      may the client say said.name?  If so, all that were kept, and
 *             this one, may leave
 *   DONE      the datagram may leave
 *   REFUSED   vmrpc_initial_reason() says why; drop the datagram
 *
 * initial.c explains what a flow may consist of.
 */
#ifndef HW_VMRPC_INITIAL_H
#define HW_VMRPC_INITIAL_H

#include "hw/vmrpc/said/said.h"

/* Datagrams with parts of one hello */
#define VMRPC_INITIAL_DATAGRAMS 8

/* What a client sends from one socket to one peer */
typedef struct VmrpcInitial VmrpcInitial;

/** vmrpc_initial_new: of some 100 bytes, and 19 KiB while a hello is not whole */
VmrpcInitial *vmrpc_initial_new(void);

/** vmrpc_initial_free: @initial may be NULL. */
void vmrpc_initial_free(VmrpcInitial *initial);

/**
 * vmrpc_initial_look: look at a datagram
 * @said: what a hello says, with SAID
 *
 * The octets must not change during the call.
 */
VmrpcSaidStep vmrpc_initial_look(VmrpcInitial *initial,
                                 const uint8_t *datagram, size_t len,
                                 VmrpcSaid *said);

/** vmrpc_initial_reason: of the last REFUSED */
VmrpcSaidReason vmrpc_initial_reason(const VmrpcInitial *initial);

/**
 * vmrpc_initial_connections: how many connections have begun
 *
 * If a datagram begins one, what was kept of the one before must not leave: its
 * hello is not whole.
 */
unsigned vmrpc_initial_connections(const VmrpcInitial *initial);

/** vmrpc_initial_size: octets of memory */
size_t vmrpc_initial_size(const VmrpcInitial *initial);

/**
 * vmrpc_initial_is_long: must this datagram be looked at once a hello was
 * agreed to?  Others are encrypted with keys of the connection.
 * @octet: its first one
 */
static inline bool vmrpc_initial_is_long(uint8_t octet)
{
    return octet & 0x80;
}

#endif /* HW_VMRPC_INITIAL_H */
