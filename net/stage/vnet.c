/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts between the virtio-net header and PacketOffload */
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/udp.h"
#include "net/stage/vnet.h"

/* Offsets of the fields of struct virtio_net_hdr_v1_hash_tunnel. */
enum {
    FLAGS = 0,
    GSO_TYPE = 1,
    HDR_LEN = 2,
    GSO_SIZE = 4,
    CSUM_START = 6,
    CSUM_OFFSET = 8,
    OUTER_TH_OFFSET = 20,
    INNER_NH_OFFSET = 22,
};

/* VIRTIO_NET_HDR_F_... */
enum {
    F_NEEDS_CSUM = 0x01,
    F_UDP_TUNNEL_CSUM = 0x08,
};

/* VIRTIO_NET_HDR_GSO_... */
enum {
    GSO_TCPV4 = 1,
    GSO_TCPV6 = 4,
    GSO_UDP_L4 = 5,
    GSO_UDP_TUNNEL_IPV4 = 0x20,
    GSO_UDP_TUNNEL_IPV6 = 0x40,
    GSO_ECN = 0x80,
};
#define GSO_UDP_TUNNEL  (GSO_UDP_TUNNEL_IPV4 | GSO_UDP_TUNNEL_IPV6)

static PacketGso gso_of(uint8_t type)
{
    switch (type & ~GSO_ECN) {
    case GSO_TCPV4:
        return PACKET_GSO_TCP4;
    case GSO_TCPV6:
        return PACKET_GSO_TCP6;
    case GSO_UDP_L4:
        return PACKET_GSO_UDP;
    default:
        return PACKET_GSO_NONE;
    }
}

static size_t ip_len(bool is_ip6)
{
    return is_ip6 ? PACKET_IP6_LEN : PACKET_IP4_LEN;
}

/* The headers must follow each other.  UDP GSO may be in IPv4 or IPv6. */
static bool tunnel_can_be(const PacketOffload *o)
{
    return o->gso != PACKET_GSO_NONE && o->needs_csum &&
           o->outer_l4 >= PACKET_ETH_LEN +
                          ip_len(o->tunnel == PACKET_TUNNEL_UDP6) &&
           o->inner_l3 >= o->outer_l4 + PACKET_UDP_LEN &&
           o->csum_start >= o->inner_l3 + ip_len(o->gso == PACKET_GSO_TCP6);
}

static void read_tunnel(PacketOffload *o, const uint8_t *header)
{
    uint8_t tunnel = header[GSO_TYPE] & GSO_UDP_TUNNEL;

    o->tunnel = tunnel & GSO_UDP_TUNNEL_IPV6 ? PACKET_TUNNEL_UDP6
                                             : PACKET_TUNNEL_UDP4;
    o->gso = gso_of(header[GSO_TYPE] & ~GSO_UDP_TUNNEL);
    o->tunnel_csum = header[FLAGS] & F_UDP_TUNNEL_CSUM;
    o->outer_l4 = get_le16(header + OUTER_TH_OFFSET);
    o->inner_l3 = get_le16(header + INNER_NH_OFFSET);
    if (tunnel == GSO_UDP_TUNNEL || !tunnel_can_be(o)) {
        o->outer_l4 = o->inner_l3 = 0;
    }
}

PacketOffload net_stage_vnet_read(const uint8_t *header, size_t len)
{
    PacketOffload offload = { 0 };

    if (len < NET_STAGE_VNET_MIN) {
        return offload;
    }
    offload.needs_csum = header[FLAGS] & F_NEEDS_CSUM;
    offload.csum_start = get_le16(header + CSUM_START);
    offload.csum_offset = get_le16(header + CSUM_OFFSET);
    offload.gso = gso_of(header[GSO_TYPE]);
    offload.ecn = header[GSO_TYPE] & GSO_ECN;
    offload.gso_size = get_le16(header + GSO_SIZE);
    offload.head_len = get_le16(header + HDR_LEN);
    if (len >= NET_STAGE_VNET_TUNNEL && header[GSO_TYPE] & GSO_UDP_TUNNEL) {
        read_tunnel(&offload, header);
    }
    return offload;
}

static uint8_t gso_type(const PacketOffload *offload)
{
    static const uint8_t types[] = {
        [PACKET_GSO_NONE] = 0,
        [PACKET_GSO_TCP4] = GSO_TCPV4,
        [PACKET_GSO_TCP6] = GSO_TCPV6,
        [PACKET_GSO_UDP] = GSO_UDP_L4,
    };
    static const uint8_t tunnels[] = {
        [PACKET_TUNNEL_NONE] = 0,
        [PACKET_TUNNEL_UDP4] = GSO_UDP_TUNNEL_IPV4,
        [PACKET_TUNNEL_UDP6] = GSO_UDP_TUNNEL_IPV6,
    };

    return types[offload->gso] | tunnels[offload->tunnel] |
           (offload->ecn ? GSO_ECN : 0);
}

void net_stage_vnet_write(uint8_t *header, size_t len,
                          const PacketOffload *offload)
{
    if (offload->needs_csum) {
        header[FLAGS] = F_NEEDS_CSUM;
        put_le16(header + CSUM_START, offload->csum_start);
        put_le16(header + CSUM_OFFSET, offload->csum_offset);
    }
    if (offload->gso != PACKET_GSO_NONE) {
        header[GSO_TYPE] = gso_type(offload);
        put_le16(header + GSO_SIZE, offload->gso_size);
        put_le16(header + HDR_LEN, offload->head_len);
    }
    if (offload->tunnel != PACKET_TUNNEL_NONE &&
        len >= NET_STAGE_VNET_TUNNEL) {
        header[FLAGS] |= offload->tunnel_csum ? F_UDP_TUNNEL_CSUM : 0;
        put_le16(header + OUTER_TH_OFFSET, offload->outer_l4);
        put_le16(header + INNER_NH_OFFSET, offload->inner_l3);
    }
}
