/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Big-endian numbers at any alignment */
#ifndef NET_PACKET_OCTETS_H
#define NET_PACKET_OCTETS_H

#include <stdint.h>

static inline uint16_t packet_get16(const void *buf)
{
    const uint8_t *p = buf;

    return p[0] << 8 | p[1];
}

static inline uint32_t packet_get32(const void *buf)
{
    const uint8_t *p = buf;

    return (uint32_t)packet_get16(p) << 16 | packet_get16(p + 2);
}

static inline uint64_t packet_get64(const void *buf)
{
    const uint8_t *p = buf;

    return (uint64_t)packet_get32(p) << 32 | packet_get32(p + 4);
}

static inline void packet_put16(void *buf, uint16_t value)
{
    uint8_t *p = buf;

    p[0] = value >> 8;
    p[1] = value;
}

static inline void packet_put32(void *buf, uint32_t value)
{
    uint8_t *p = buf;

    packet_put16(p, value >> 16);
    packet_put16(p + 2, value);
}

static inline void packet_put64(void *buf, uint64_t value)
{
    uint8_t *p = buf;

    packet_put32(p, value >> 32);
    packet_put32(p + 4, value);
}

#endif /* NET_PACKET_OCTETS_H */
