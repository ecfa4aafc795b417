/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Internet checksum (RFC 1071)
 *
 * A sum is of 16-bit words in network byte order.  Internally, eight octets at
 * a time are added in host byte order: the sum of swapped words is the swapped
 * sum (section 2 (B)), so one swap at the end is enough.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "net/packet/sum.h"
#include "base/octets.h"

/* Folds a sum to 16 bits, adding the carries. */
static uint16_t fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/* The folded sum of 16-bit words in host byte order. */
static uint16_t sum_native(const uint8_t *p, size_t len)
{
    uint64_t sum = 0, eight;
    uint32_t four;
    uint16_t two;

    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&eight, p, 8);
        sum += eight;
        sum += sum < eight;
    }
    if (len >= 4) {
        memcpy(&four, p, 4);
        sum += four;
        sum += sum < four;
        p += 4;
        len -= 4;
    }
    if (len >= 2) {
        memcpy(&two, p, 2);
        sum += two;
        sum += sum < two;
        p += 2;
        len -= 2;
    }
    if (len) {
        two = 0;
        memcpy(&two, p, 1);
        sum += two;
        sum += sum < two;
    }
    return fold(sum);
}

uint32_t packet_sum_add(uint32_t sum, const void *buf, size_t len)
{
    uint32_t more = ntohs(sum_native(buf, len));

    sum += more;
    return sum + (sum < more);
}

uint32_t packet_sum_iov(uint32_t sum, const struct iovec *iov, int iovcnt,
                        size_t offset, size_t len)
{
    bool odd = false;

    for (int i = 0; i < iovcnt && len; i++) {
        size_t skip = offset < iov[i].iov_len ? offset : iov[i].iov_len;
        size_t part = iov[i].iov_len - skip;
        uint32_t more;

        offset -= skip;
        part = part < len ? part : len;
        more = packet_sum_add(0, (const uint8_t *)iov[i].iov_base + skip,
                              part);
        /* A part that starts at an odd offset is swapped (section 2 (B)). */
        if (odd) {
            more = (more & 0xff) << 8 | more >> 8;
        }
        sum += more;
        sum += sum < more;
        odd ^= part & 1;
        len -= part;
    }
    return sum;
}

uint32_t packet_sum_pseudo6(const struct in6_addr *src,
                            const struct in6_addr *dst, uint8_t next,
                            uint32_t len)
{
    uint32_t sum = packet_sum_add(0, src, sizeof(*src));

    sum = packet_sum_add(sum, dst, sizeof(*dst));
    return sum + (len >> 16) + (len & 0xffff) + next;
}

uint32_t packet_sum_pseudo4(struct in_addr src, struct in_addr dst,
                            uint8_t protocol, uint16_t len)
{
    uint32_t sum = packet_sum_add(0, &src, sizeof(src));

    return packet_sum_add(sum, &dst, sizeof(dst)) + protocol + len;
}

uint32_t packet_sum_pseudo(const void *ip, uint8_t protocol, uint16_t len)
{
    const uint8_t *p = ip;
    bool is_ip4 = p[0] >> 4 == 4;

    /* Source and destination address are adjacent. */
    return packet_sum_add(0, is_ip4 ? p + 12 : p + 8, is_ip4 ? 8 : 32) +
           protocol + len;
}

uint16_t packet_sum_fold(uint32_t sum)
{
    return ~fold(sum);
}
