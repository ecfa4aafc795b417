/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: queries and answers that wait at a socket
 */
#ifndef HW_VMRPC_RESOLVER_QUEUE_H
#define HW_VMRPC_RESOLVER_QUEUE_H

#include "hw/vmrpc/sock/state.h"

/*
 * What the DNS proxy's sockets may keep in memory, all of a server together:
 * answers that the guest has not read, and the bytes of streams, which need no
 * descriptor of the host that would limit them.
 */
#define VMRPC_DNS_BYTES_MAX     (32u << 20)

/* Bytes of datagrams that wait for the proxy, of all sockets together. */
#define VMRPC_DNS_WAIT_MAX      (2u << 20)

/* Is @s a stream to the proxy?  Else it is a datagram socket. */
static inline bool vmrpc_dns_is_stream(const VmrpcSock *s)
{
    return s->ops->kind == VMRPC_BACKING_RESOLVER;
}

/* --- queries -------------------------------------------------------------- */

/* Bytes that the guest has sent and the proxy does not have yet. */
size_t vmrpc_resolver_unsent(const VmrpcSock *s);

/* Bytes that a stream can take. */
size_t vmrpc_dns_stream_room(const VmrpcSock *s);

/*
 * Room for @len bytes behind those of a stream; NULL if there is no memory for
 * them.
 */
VMRPC_LOCKED uint8_t *vmrpc_dns_append_bytes(VmrpcServer *srv, VmrpcSock *s,
                                             size_t len);

/* Keeps a datagram; returns false if there is no memory for it. */
VMRPC_LOCKED bool vmrpc_dns_append_datagram(VmrpcServer *srv, VmrpcSock *s,
                                            const uint8_t *query, size_t len);

/*
 * The first message that is kept, valid until something is appended or
 * consumed; false if there is no whole one.
 */
bool vmrpc_dns_first(const VmrpcSock *s, const uint8_t **msg, size_t *len);

/* The first @len bytes are with the proxy, lengths of messages included. */
void vmrpc_dns_consume(VmrpcServer *srv, VmrpcSock *s, size_t len);

/* Is there a query that waits only because the proxy has no room? */
bool vmrpc_dns_wants_turn(const VmrpcSock *s);

/* Puts @s into dns_wait if it wants a turn; and takes it out. */
void vmrpc_dns_join_queue(VmrpcServer *srv, VmrpcSock *s);
void vmrpc_dns_leave_queue(VmrpcServer *srv, VmrpcSock *s);

/* --- answers -------------------------------------------------------------- */

/*
 * Keeps an answer, of a stream with its length; returns false if there is no
 * memory for it.
 */
VMRPC_LOCKED bool vmrpc_dns_push_answer(VmrpcServer *srv, VmrpcSock *s,
                                        const uint8_t *msg, size_t len);

/* The guest has read the first answer. */
VMRPC_LOCKED void vmrpc_dns_pop_answer(VmrpcServer *srv, VmrpcSock *s);

/* Bytes that the next RECVMSG can get; there must be an answer. */
uint32_t vmrpc_resolver_inq(const VmrpcSock *s);

/*
 * A stream whose guest has sent its last query and read all answers: a DNS
 * server closes it then.
 */
bool vmrpc_dns_is_over(const VmrpcSock *s);

/*
 * Events that a socket of any kind is ready for because answers wait at it or
 * it was shut down for reading: VMRPC_IN, VMRPC_RDHUP.
 */
uint32_t vmrpc_dns_answers_ready(const VmrpcSock *s);

/* Events that only a stream to the proxy is ready for: VMRPC_OUT ... */
uint32_t vmrpc_dns_stream_ready(const VmrpcSock *s);

/* Forgets all queries and answers. */
VMRPC_LOCKED void vmrpc_dns_clear(VmrpcServer *srv, VmrpcSock *s);

#endif /* HW_VMRPC_RESOLVER_QUEUE_H */
