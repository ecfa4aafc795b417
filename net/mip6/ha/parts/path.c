/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a tunnel */
#include <string.h>

#include "net/mip6/ha/parts/path.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"

#define ICMP6_LEN   8u

static bool sum_is_right(const uint8_t *packet, const uint8_t *icmp, size_t len)
{
    PacketIp6 ip;
    uint32_t sum;

    packet_ip6_parse(&ip, packet, PACKET_IP6_LEN + ICMP6_LEN + len);
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, len);
    return packet_sum_fold(packet_sum_add(sum, icmp, len)) == 0;
}

bool mip6_path_too_big(Mip6PathTold *told, const struct in6_addr *agent,
                       const uint8_t *packet, size_t offset, size_t len)
{
    const uint8_t *icmp = packet + offset, *outer = icmp + ICMP6_LEN;
    size_t left = len - offset;
    PacketIp6Ext ext;

    if (left < ICMP6_LEN + PACKET_IP6_LEN ||
        icmp[0] != PACKET_ICMP6_TOO_BIG || icmp[1] != 0 ||
        !sum_is_right(packet, icmp, left)) {
        return false;
    }
    left -= ICMP6_LEN;
    if (outer[0] >> 4 != 6 || memcmp(outer + 8, agent, sizeof(*agent)) ||
        !packet_ip6_walk(&ext, outer, left) || ext.next != PACKET_PROTO_IP6 ||
        ext.fragment_offset || ext.offset + PACKET_IP6_LEN > left) {
        return false;
    }
    memcpy(&told->care_of, outer + 24, sizeof(told->care_of));
    memcpy(&told->home, outer + ext.offset + 24, sizeof(told->home));
    told->mtu = packet_get32(icmp + 4);
    if (told->mtu < PACKET_IP6_MTU_MIN) {
        told->mtu = PACKET_IP6_MTU_MIN;
    }
    return true;
}

void mip6_path_fragment(uint8_t head[MIP6_PATH_HEAD_LEN],
                        const PacketIp6 *outer, uint32_t id, size_t offset,
                        size_t len, bool more)
{
    uint8_t *fragment = head + PACKET_IP6_LEN;
    PacketIp6 ip = *outer;

    ip.next = PACKET_PROTO_FRAGMENT;
    ip.payload = PACKET_IP6_FRAGMENT_LEN + len;
    packet_ip6_build(head, &ip);
    fragment[0] = outer->next;
    fragment[1] = 0;
    packet_put16(fragment + 2, offset | more);
    packet_put32(fragment + 4, id);
}
