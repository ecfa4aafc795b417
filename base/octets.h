/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers in octets, big-endian and little-endian, at any alignment
 *
 * Compilers make one load or store of each. eBPF includes this, so it includes
 * no more than types.
 */
#ifndef BASE_OCTETS_H
#define BASE_OCTETS_H

#include <stdint.h>

static inline uint16_t get_be16(const void *buf)
{
    const uint8_t *p = buf;

    return p[0] << 8 | p[1];
}

static inline uint32_t get_be32(const void *buf)
{
    const uint8_t *p = buf;

    return (uint32_t)get_be16(p) << 16 | get_be16(p + 2);
}

static inline uint64_t get_be64(const void *buf)
{
    const uint8_t *p = buf;

    return (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
}

static inline void put_be16(void *buf, uint16_t value)
{
    uint8_t *p = buf;

    p[0] = value >> 8;
    p[1] = value;
}

static inline void put_be32(void *buf, uint32_t value)
{
    uint8_t *p = buf;

    put_be16(p, value >> 16);
    put_be16(p + 2, value);
}

static inline void put_be64(void *buf, uint64_t value)
{
    uint8_t *p = buf;

    put_be32(p, value >> 32);
    put_be32(p + 4, value);
}

static inline uint16_t get_le16(const void *buf)
{
    const uint8_t *p = buf;

    return p[1] << 8 | p[0];
}

static inline uint32_t get_le32(const void *buf)
{
    const uint8_t *p = buf;

    return (uint32_t)get_le16(p + 2) << 16 | get_le16(p);
}

static inline uint64_t get_le64(const void *buf)
{
    const uint8_t *p = buf;

    return (uint64_t)get_le32(p + 4) << 32 | get_le32(p);
}

static inline void put_le16(void *buf, uint16_t value)
{
    uint8_t *p = buf;

    p[0] = value;
    p[1] = value >> 8;
}

static inline void put_le32(void *buf, uint32_t value)
{
    uint8_t *p = buf;

    put_le16(p, value);
    put_le16(p + 2, value >> 16);
}

static inline void put_le64(void *buf, uint64_t value)
{
    uint8_t *p = buf;

    put_le32(p, value);
    put_le32(p + 4, value >> 32);
}

#endif /* BASE_OCTETS_H */
