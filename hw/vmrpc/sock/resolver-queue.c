/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: queries and answers that wait at a socket
 *
 * Theory of operation
 * ===================
 *
 * A socket keeps the answers that the guest has not read in dns_rx, and the
 * queries that the proxy has not taken in dns_tx: of a stream its bytes, of a
 * datagram socket a message each, with a length in front of it (RFC 1035,
 * section 4.2.2).  Sockets with a query there are in the server's dns_wait.
 *
 * Memory is bounded for all sockets of a server together.  A socket may take
 * no more of it than it leaves for the others: the first one that takes all it
 * can leaves half, the next one half of that.
 *
 * resolver.c moves queries to the proxy and answers to the guest.  Nothing
 * here knows the proxy or reports readiness.
 */
#include "hw/vmrpc/sock/resolver-queue.h"

#include <string.h>

/* Bytes of a stream's answers that may wait for the guest. */
#define STREAM_RX_MAX           (256 * 1024)

/* Bytes of a stream that may wait for the proxy: the longest message fits. */
#define STREAM_TX_MAX           (2 + 65535)

/* What an answer in a queue takes beside its bytes, roughly. */
#define ANSWER_OVERHEAD         128

/* The memory of @s that VMRPC_DNS_BYTES_MAX bounds. */
static size_t held(const VmrpcSock *s)
{
    return s->dns_rx_bytes + s->dns_rx.length * ANSWER_OVERHEAD +
           (vmrpc_dns_is_stream(s) ? vmrpc_resolver_unsent(s) : 0);
}

/*
 * One socket holds @own of the @all bytes that are in use, of at most @max.
 * It may get @more if as much as it holds then is left for the others.
 */
static bool is_fair(size_t own, size_t all, size_t max, size_t more)
{
    return own + all + more <= max;
}

/* --- queries -------------------------------------------------------------- */

size_t vmrpc_resolver_unsent(const VmrpcSock *s)
{
    return s->dns_tx ? s->dns_tx->len - s->dns_tx_done : 0;
}

/* The counter of unsent bytes that those of @s belong to. */
static size_t *unsent_total(VmrpcServer *srv, const VmrpcSock *s)
{
    return vmrpc_dns_is_stream(s) ? &srv->dns_bytes : &srv->dns_wait_bytes;
}

/* Room for @len bytes behind those of dns_tx; counts them. */
static uint8_t *append(VmrpcServer *srv, VmrpcSock *s, size_t len)
{
    size_t old;

    if (!s->dns_tx) {
        s->dns_tx = g_byte_array_new();
        s->dns_tx_done = 0;
    }
    old = s->dns_tx->len;
    g_byte_array_set_size(s->dns_tx, old + len);
    *unsent_total(srv, s) += len;
    return s->dns_tx->data + old;
}

void vmrpc_dns_consume(VmrpcServer *srv, VmrpcSock *s, size_t len)
{
    GByteArray *rest = NULL;
    size_t left;

    *unsent_total(srv, s) -= len;
    s->dns_tx_done += len;
    left = vmrpc_resolver_unsent(s);
    if (s->dns_tx_done < left) {
        return;
    }
    /* A new array: the old one would stay as large as it ever was. */
    if (left) {
        rest = g_byte_array_new();
        g_byte_array_append(rest, s->dns_tx->data + s->dns_tx_done, left);
    }
    g_byte_array_free(s->dns_tx, TRUE);
    s->dns_tx = rest;
    s->dns_tx_done = 0;
}

bool vmrpc_dns_first(const VmrpcSock *s, const uint8_t **msg, size_t *len)
{
    size_t left = vmrpc_resolver_unsent(s);
    const uint8_t *at;

    if (left < 2) {
        return false;
    }
    at = s->dns_tx->data + s->dns_tx_done;
    *len = at[0] << 8 | at[1];
    *msg = at + 2;
    return *len <= left - 2;
}

size_t vmrpc_dns_stream_room(const VmrpcSock *s)
{
    return STREAM_TX_MAX - vmrpc_resolver_unsent(s);
}

uint8_t *vmrpc_dns_append_bytes(VmrpcServer *srv, VmrpcSock *s, size_t len)
{
    return is_fair(held(s), srv->dns_bytes, VMRPC_DNS_BYTES_MAX, len)
           ? append(srv, s, len) : NULL;
}

bool vmrpc_dns_append_datagram(VmrpcServer *srv, VmrpcSock *s,
                               const uint8_t *query, size_t len)
{
    uint8_t *at;

    if (!is_fair(vmrpc_resolver_unsent(s), srv->dns_wait_bytes,
                 VMRPC_DNS_WAIT_MAX, 2 + len)) {
        return false;
    }
    at = append(srv, s, 2 + len);
    at[0] = len >> 8;
    at[1] = len;
    memcpy(at + 2, query, len);
    return true;
}

bool vmrpc_dns_wants_turn(const VmrpcSock *s)
{
    const uint8_t *msg;
    size_t len;

    return (!vmrpc_dns_is_stream(s) || s->dns_rx_bytes < STREAM_RX_MAX) &&
           vmrpc_dns_first(s, &msg, &len);
}

void vmrpc_dns_leave_queue(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->dns_waits) {
        g_queue_unlink(&srv->dns_wait, &s->dns_link);
        s->dns_waits = false;
    }
}

void vmrpc_dns_join_queue(VmrpcServer *srv, VmrpcSock *s)
{
    if (!s->dns_waits && vmrpc_dns_wants_turn(s)) {
        g_queue_push_tail_link(&srv->dns_wait, &s->dns_link);
        s->dns_waits = true;
    }
}

/* --- answers -------------------------------------------------------------- */

bool vmrpc_dns_is_over(const VmrpcSock *s)
{
    return vmrpc_dns_is_stream(s) && s->shut_wr && !s->dns_out &&
           !s->dns_rx.length && !s->dns_waits;
}

uint32_t vmrpc_dns_answers_ready(const VmrpcSock *s)
{
    if (s->shut_rd) {
        return VMRPC_IN | VMRPC_RDHUP;
    }
    return s->dns_rx.length ? VMRPC_IN : 0;
}

uint32_t vmrpc_dns_stream_ready(const VmrpcSock *s)
{
    uint32_t ready = 0;

    if (s->shut_wr || (s->dns_rx_bytes < STREAM_RX_MAX &&
                       vmrpc_dns_stream_room(s))) {
        ready |= VMRPC_OUT;
    }
    if (vmrpc_dns_is_over(s)) {
        ready |= VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP;
    }
    if (s->shut_rd && s->shut_wr) {
        ready |= VMRPC_HUP;
    }
    return ready;
}

uint32_t vmrpc_resolver_inq(const VmrpcSock *s)
{
    return vmrpc_dns_is_stream(s)
           ? s->dns_rx_bytes - s->dns_rx_offset
           : g_bytes_get_size(s->dns_rx.head->data);
}

bool vmrpc_dns_push_answer(VmrpcServer *srv, VmrpcSock *s, const uint8_t *msg,
                           size_t len)
{
    size_t prefix = vmrpc_dns_is_stream(s) ? 2 : 0;
    uint8_t *copy;

    if (!is_fair(held(s), srv->dns_bytes, VMRPC_DNS_BYTES_MAX,
                 prefix + len + ANSWER_OVERHEAD)) {
        return false;
    }
    copy = g_malloc(prefix + len);
    if (prefix) {
        copy[0] = len >> 8;
        copy[1] = len;
    }
    memcpy(copy + prefix, msg, len);
    g_queue_push_tail(&s->dns_rx, g_bytes_new_take(copy, prefix + len));
    s->dns_rx_bytes += prefix + len;
    srv->dns_bytes += prefix + len + ANSWER_OVERHEAD;
    return true;
}

void vmrpc_dns_pop_answer(VmrpcServer *srv, VmrpcSock *s)
{
    GBytes *head = g_queue_pop_head(&s->dns_rx);

    s->dns_rx_bytes -= g_bytes_get_size(head);
    srv->dns_bytes -= g_bytes_get_size(head) + ANSWER_OVERHEAD;
    s->dns_rx_offset = 0;
    g_bytes_unref(head);
}

void vmrpc_dns_clear(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_dns_leave_queue(srv, s);
    while (s->dns_rx.length) {
        vmrpc_dns_pop_answer(srv, s);
    }
    if (s->dns_tx) {
        *unsent_total(srv, s) -= vmrpc_resolver_unsent(s);
        g_byte_array_free(s->dns_tx, TRUE);
        s->dns_tx = NULL;
    }
}
