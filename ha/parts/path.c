/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a tunnel: errors and fragments */
#include <glib.h>
#include <string.h>

#include "ha/parts/path.h"
#include "base/octets.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define ICMP6_LEN               8u
#define ADDRESS_UNREACHABLE     3u      /* a code (RFC 4443 section 3.1) */

static bool sum_is_right(const uint8_t *packet, const uint8_t *icmp, size_t len)
{
    PacketIp6 ip;
    uint32_t sum;

    packet_ip6_parse(&ip, packet, PACKET_IP6_LEN + ICMP6_LEN + len);
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, len);
    return packet_sum_fold(packet_sum_add(sum, icmp, len)) == 0;
}

static bool is_error(uint8_t type)
{
    return type >= PACKET_ICMP6_UNREACHABLE && type <= PACKET_ICMP6_PARAMETER;
}

bool mip6_path_error(Mip6PathError *error, const struct in6_addr *agent,
                     const uint8_t *packet, size_t offset, size_t len)
{
    const uint8_t *icmp = packet + offset, *outer = icmp + ICMP6_LEN;
    size_t left = len - offset;
    PacketIp6Ext ext;

    if (left < ICMP6_LEN + PACKET_IP6_LEN || !is_error(icmp[0]) ||
        !sum_is_right(packet, icmp, left)) {
        return false;
    }
    left -= ICMP6_LEN;
    if (outer[0] >> 4 != 6 || memcmp(outer + 8, agent, sizeof(*agent)) ||
        !packet_ip6_walk(&ext, outer, left) || ext.fragment_offset) {
        return false;
    }
    *error = (Mip6PathError) {
        .type = icmp[0], .code = icmp[1],
        .outer = outer, .outer_len = left,
    };
    if (error->type == PACKET_ICMP6_TOO_BIG) {
        error->mtu = get_be32(icmp + 4);
        /*
         * RFC 8201 section 4; the packet must be larger than the MTU in the
         * error.
         */
        if (error->mtu < PACKET_IP6_MTU_MIN ||
            PACKET_IP6_LEN + get_be16(outer + 4) <= error->mtu) {
            return false;
        }
    }
    memcpy(&error->care_of, outer + 24, sizeof(error->care_of));
    if (ext.next == PACKET_PROTO_IP6 && ext.offset + PACKET_IP6_LEN <= left) {
        error->inner = outer + ext.offset;
        error->inner_len = left - ext.offset;
        memcpy(&error->home, error->inner + 24, sizeof(error->home));
    }
    return error->inner || ext.next == PACKET_PROTO_ESP;
}

bool mip6_path_translate(const Mip6PathError *error, size_t room, uint8_t *type,
                         uint8_t *code, uint32_t *arg)
{
    if (!error->inner) {
        return false;
    }
    if (error->type == PACKET_ICMP6_TOO_BIG) {
        *type = PACKET_ICMP6_TOO_BIG;
        *code = 0;
        *arg = room;
        /* Otherwise the packet would fit now. */
        return PACKET_IP6_LEN + get_be16(error->inner + 4) > room;
    }
    *type = PACKET_ICMP6_UNREACHABLE;
    *code = ADDRESS_UNREACHABLE;
    *arg = 0;
    /* Reassembly of the agent's fragments timed out: the path itself works. */
    return error->type != PACKET_ICMP6_TIME_EXCEEDED || error->code == 0;
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
    put_be16(fragment + 2, offset | more);
    put_be32(fragment + 4, id);
}
