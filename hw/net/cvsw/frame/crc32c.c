/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCTP's checksum */
#include "hw/net/cvsw/frame/crc32c.h"

#define POLYNOMIAL      0x82f63b78u     /* Castagnoli's, lowest bit first */

/* Four bits at a time, from a table of 16 that fits into a cache line. */
static uint32_t add(uint32_t crc, const uint8_t *p, size_t len)
{
    static uint32_t table[16];

    if (!table[1]) {
        for (uint32_t i = 1; i < 16; i++) {
            uint32_t value = i;

            for (int bit = 0; bit < 4; bit++) {
                value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
            }
            table[i] = value;
        }
    }
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

uint32_t cvsw_crc32c(const struct iovec *iov, int iovcnt, size_t offset,
                     size_t len)
{
    uint32_t crc = ~0u;

    for (int i = 0; i < iovcnt && len; i++) {
        size_t skip = offset < iov[i].iov_len ? offset : iov[i].iov_len;
        size_t part = iov[i].iov_len - skip;

        offset -= skip;
        part = part < len ? part : len;
        crc = add(crc, (const uint8_t *)iov[i].iov_base + skip, part);
        len -= part;
    }
    return ~crc;
}
