/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing buffer */
#ifndef DNSD_UPDATE_CHANGE_BUFFER_H
#define DNSD_UPDATE_CHANGE_BUFFER_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct DnsBuffer {
    uint8_t *octets;
    size_t len;
    size_t room;
} DnsBuffer;

/** dns_buffer_room: ensure room for @len octets; their address, or NULL */
static inline uint8_t *dns_buffer_room(DnsBuffer *buffer, size_t len)
{
    size_t room = buffer->room ? buffer->room : 1024;
    uint8_t *more;

    while (room - buffer->len < len) {
        room *= 2;
    }
    if (room != buffer->room) {
        more = realloc(buffer->octets, room);
        if (!more) {
            return NULL;
        }
        buffer->octets = more;
        buffer->room = room;
    }
    return buffer->octets + buffer->len;
}

/** dns_buffer_add: append octets; 0 or -ENOMEM */
static inline int dns_buffer_add(DnsBuffer *buffer, const void *data,
                                 size_t len)
{
    uint8_t *to = dns_buffer_room(buffer, len);

    if (!to) {
        return -ENOMEM;
    }
    if (len) {
        memcpy(to, data, len);
    }
    buffer->len += len;
    return 0;
}

static inline void dns_buffer_free(DnsBuffer *buffer)
{
    free(buffer->octets);
    *buffer = (DnsBuffer) { 0 };
}

#endif /* DNSD_UPDATE_CHANGE_BUFFER_H */
