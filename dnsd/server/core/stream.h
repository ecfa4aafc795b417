/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on a stream, each with its length before it (RFC 1035 section 4.2.2,
 * RFC 7766 section 8)
 *
 * The caller provides the buffers, which have a fixed size.  No request is read
 * while the client does not read replies.
 */
#ifndef DNSD_SERVER_CORE_STREAM_H
#define DNSD_SERVER_CORE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"

#define DNSD_STREAM_PREFIX  2
/*
 * The longest message; and the longest reply, behind less than a page of others
 */
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

/** dnsd_stream_init: use buffers of the sizes above */
void dnsd_stream_init(DnsdStream *s, uint8_t *in, uint8_t *out);

/**
 * dnsd_stream_room: where to read octets to
 *
 * Returns: octets there; 0 while a complete message waits in a full buffer.
 */
size_t dnsd_stream_room(DnsdStream *s, uint8_t **to);

/** dnsd_stream_filled: @len octets were read */
void dnsd_stream_filled(DnsdStream *s, size_t len);

/**
 * dnsd_stream_next: take the next message
 *
 * It is valid until dnsd_stream_room().
 *
 * Returns: 1; 0 if it is incomplete, or a reply might not fit; -EBADMSG if its
 * length is less than a header, and then the connection is unusable.
 */
int dnsd_stream_next(DnsdStream *s, const uint8_t **msg, size_t *len);

/** dnsd_stream_has_room: does a reply of @len octets fit? */
bool dnsd_stream_has_room(const DnsdStream *s, size_t len);

/** dnsd_stream_reply: memory of DNS_MSG_MAX octets for the reply */
uint8_t *dnsd_stream_reply(DnsdStream *s);

/** dnsd_stream_put: the reply in that memory has @len octets, not 0 */
void dnsd_stream_put(DnsdStream *s, size_t len);

/** dnsd_stream_pending: octets to send; 0: none */
size_t dnsd_stream_pending(const DnsdStream *s, const uint8_t **from);

/** dnsd_stream_sent: the first @len of them were sent */
void dnsd_stream_sent(DnsdStream *s, size_t len);

#endif /* DNSD_SERVER_CORE_STREAM_H */
