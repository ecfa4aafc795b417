/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on a stream, each behind its length (RFC 1035 section 4.2.2,
 * RFC 7766 section 8)
 *
 * Buffers are the caller's, of fixed size; nothing is taken in while replies
 * wait that the client does not read.
 */
#ifndef NET_DNS_SERVER_CORE_STREAM_H
#define NET_DNS_SERVER_CORE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"

#define DNSD_STREAM_PREFIX  2
/* A longest message; and a longest reply behind others that fill no page */
#define DNSD_STREAM_IN      (DNSD_STREAM_PREFIX + DNS_MSG_MAX)
#define DNSD_STREAM_OUT     (2 * (DNSD_STREAM_PREFIX + DNS_MSG_MAX))

typedef struct DnsdStream {
    uint8_t *in;                /* DNSD_STREAM_IN */
    uint8_t *out;               /* DNSD_STREAM_OUT */
    size_t in_from;
    size_t in_to;
    size_t out_from;
    size_t out_to;
} DnsdStream;

/** dnsd_stream_init: with buffers of the sizes above. */
void dnsd_stream_init(DnsdStream *s, uint8_t *in, uint8_t *out);

/**
 * dnsd_stream_room: where to put what arrives
 *
 * Returns: octets there; 0 while a whole message waits in a full buffer.
 */
size_t dnsd_stream_room(DnsdStream *s, uint8_t **to);

/** dnsd_stream_filled: @len octets are there now. */
void dnsd_stream_filled(DnsdStream *s, size_t len);

/**
 * dnsd_stream_next: take the next message
 *
 * It stays where it is until dnsd_stream_room().
 *
 * Returns: 1; 0 if it is not whole, or a reply would have no room; or
 * -EBADMSG: its length is below that of a header, and the connection cannot
 * go on.
 */
int dnsd_stream_next(DnsdStream *s, const uint8_t **msg, size_t *len);

/** dnsd_stream_has_room: for a reply of @len octets? */
bool dnsd_stream_has_room(const DnsdStream *s, size_t len);

/** dnsd_stream_reply: DNS_MSG_MAX octets for the reply to it. */
uint8_t *dnsd_stream_reply(DnsdStream *s);

/** dnsd_stream_put: the reply there has @len octets, not 0. */
void dnsd_stream_put(DnsdStream *s, size_t len);

/** dnsd_stream_pending: octets to be sent; 0 for none. */
size_t dnsd_stream_pending(const DnsdStream *s, const uint8_t **from);

/** dnsd_stream_sent: the first @len of them are sent. */
void dnsd_stream_sent(DnsdStream *s, size_t len);

#endif /* NET_DNS_SERVER_CORE_STREAM_H */
