/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages on a stream */
#include <errno.h>
#include <string.h>

#include "dnsd/server/core/stream.h"

void dnsd_stream_init(DnsdStream *s, uint8_t *in, uint8_t *out)
{
    *s = (DnsdStream) { .in = in, .out = out };
}

static size_t length_at(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

size_t dnsd_stream_room(DnsdStream *s, uint8_t **to)
{
    if (s->in_from == s->in_to) {
        s->in_from = s->in_to = 0;
    } else if (s->in_from && s->in_to == DNSD_STREAM_IN) {
        memmove(s->in, s->in + s->in_from, s->in_to - s->in_from);
        s->in_to -= s->in_from;
        s->in_from = 0;
    }
    *to = s->in + s->in_to;
    return DNSD_STREAM_IN - s->in_to;
}

void dnsd_stream_filled(DnsdStream *s, size_t len)
{
    s->in_to += len;
}

bool dnsd_stream_has_room(const DnsdStream *s, size_t len)
{
    return DNSD_STREAM_OUT - s->out_to >= DNSD_STREAM_PREFIX + len;
}

int dnsd_stream_next(DnsdStream *s, const uint8_t **msg, size_t *len)
{
    const uint8_t *at = s->in + s->in_from;
    size_t there = s->in_to - s->in_from;
    size_t wanted;

    if (there < DNSD_STREAM_PREFIX) {
        return 0;
    }
    wanted = length_at(at);
    if (wanted < DNS_HEADER_LEN) {
        return -EBADMSG;
    }
    if (there < DNSD_STREAM_PREFIX + wanted ||
        !dnsd_stream_has_room(s, DNS_MSG_MAX)) {
        return 0;
    }
    *msg = at + DNSD_STREAM_PREFIX;
    *len = wanted;
    s->in_from += DNSD_STREAM_PREFIX + wanted;
    return 1;
}

uint8_t *dnsd_stream_reply(DnsdStream *s)
{
    return s->out + s->out_to + DNSD_STREAM_PREFIX;
}

void dnsd_stream_put(DnsdStream *s, size_t len)
{
    s->out[s->out_to] = len >> 8;
    s->out[s->out_to + 1] = len;
    s->out_to += DNSD_STREAM_PREFIX + len;
}

size_t dnsd_stream_pending(const DnsdStream *s, const uint8_t **from)
{
    *from = s->out + s->out_from;
    return s->out_to - s->out_from;
}

void dnsd_stream_sent(DnsdStream *s, size_t len)
{
    s->out_from += len;
    if (s->out_from == s->out_to) {
        s->out_from = s->out_to = 0;
    }
}
