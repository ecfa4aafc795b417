/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv4 headers and their options (RFC 791) */
#include <string.h>

#include "net/packet/ip4.h"
#include "base/octets.h"
#include "net/packet/sum.h"

#define CHECKSUM_AT     10u

enum {
    DONT_FRAGMENT = 0x4000,
    MORE_FRAGMENTS = 0x2000,
    OFFSET_MASK = 0x1fff,       /* units of 8 octets */
};

enum {
    OPTION_END = 0,
    OPTION_NOP = 1,
};

bool packet_ip4_parse(PacketIp4 *ip, const void *packet, size_t len)
{
    const uint8_t *p = packet;
    uint16_t fragment;

    if (len < PACKET_IP4_LEN || p[0] >> 4 != 4) {
        return false;
    }
    fragment = get_be16(p + 6);
    *ip = (PacketIp4) {
        .tos = p[1],
        .ttl = p[8],
        .protocol = p[9],
        .dont_fragment = fragment & DONT_FRAGMENT,
        .more = fragment & MORE_FRAGMENTS,
        .fragment_offset = (fragment & OFFSET_MASK) * 8u,
        .id = get_be16(p + 4),
        .total = get_be16(p + 2),
        .len = (p[0] & 15) * 4u,
    };
    memcpy(&ip->src, p + 12, sizeof(ip->src));
    memcpy(&ip->dst, p + 16, sizeof(ip->dst));
    return ip->len >= PACKET_IP4_LEN && ip->len <= ip->total &&
           ip->total <= len;
}

bool packet_ip4_sum_is_good(const void *header, size_t len)
{
    return packet_sum_fold(packet_sum_add(0, header, len)) == 0;
}

void packet_ip4_seal(void *header, size_t len)
{
    uint8_t *p = header;

    put_be16(p + CHECKSUM_AT, 0);
    put_be16(p + CHECKSUM_AT, packet_sum_fold(packet_sum_add(0, p, len)));
}

size_t packet_ip4_build(void *buf, const PacketIp4 *ip)
{
    uint8_t *p = buf;

    p[0] = 4 << 4 | PACKET_IP4_LEN / 4;
    p[1] = ip->tos;
    put_be16(p + 2, ip->total);
    put_be16(p + 4, ip->id);
    put_be16(p + 6, (ip->dont_fragment ? DONT_FRAGMENT : 0) |
                    (ip->more ? MORE_FRAGMENTS : 0) |
                    ip->fragment_offset / 8);
    p[8] = ip->ttl;
    p[9] = ip->protocol;
    memcpy(p + 12, &ip->src, sizeof(ip->src));
    memcpy(p + 16, &ip->dst, sizeof(ip->dst));
    packet_ip4_seal(p, PACKET_IP4_LEN);
    return PACKET_IP4_LEN;
}

bool packet_ip4_option_next(const void *header, size_t len, size_t *pos,
                            PacketIp4Option *option)
{
    const uint8_t *p = header;

    if (*pos < PACKET_IP4_LEN) {
        *pos = PACKET_IP4_LEN;
    }
    while (*pos < len && p[*pos] == OPTION_NOP) {
        ++*pos;
    }
    if (*pos >= len || p[*pos] == OPTION_END) {
        *pos = len;             /* octets after the end are padding */
        return false;
    }
    if (len - *pos < 2 || p[*pos + 1] < 2 || p[*pos + 1] > len - *pos) {
        return false;
    }
    option->type = p[*pos];
    option->len = p[*pos + 1] - 2;
    option->data = p + *pos + 2;
    *pos += p[*pos + 1];
    return true;
}
