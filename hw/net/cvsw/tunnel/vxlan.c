/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VXLAN (RFC 7348) */
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/tunnel/super.h"
#include "hw/net/cvsw/tunnel/vxlan.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

#define VXLAN_HAS_VNI   0x08
#define TTL_DEFAULT     64
#define PACKET_MAX      65535u

static size_t put_ip4(uint8_t *buf, const CvswTunnel *t, uint8_t protocol,
                      size_t len)
{
    PacketIp4 ip = {
        .tos = t->tos,
        .ttl = t->ttl ? t->ttl : TTL_DEFAULT,
        .protocol = protocol,
        .dont_fragment = true,
        .total = PACKET_IP4_LEN + len,
    };

    memcpy(&ip.src, t->local, sizeof(ip.src));
    memcpy(&ip.dst, t->remote, sizeof(ip.dst));
    return packet_ip4_build(buf, &ip);
}

static size_t put_ip6(uint8_t *buf, const CvswTunnel *t, uint8_t protocol,
                      size_t len)
{
    PacketIp6 ip = {
        .tclass = t->tos,
        .hops = t->ttl ? t->ttl : TTL_DEFAULT,
        .next = protocol,
        .payload = len,
    };

    memcpy(&ip.src, t->local, sizeof(ip.src));
    memcpy(&ip.dst, t->remote, sizeof(ip.dst));
    return packet_ip6_build(buf, &ip);
}

size_t cvsw_vxlan_outer(void *buf, const CvswTunnel *tunnel, uint8_t protocol,
                        size_t len)
{
    size_t eth;

    if (len > PACKET_MAX - (tunnel->is_ip6 ? 0 : PACKET_IP4_LEN)) {
        return 0;
    }
    eth = packet_eth_build(buf, tunnel->remote_mac, tunnel->local_mac,
                           tunnel->is_ip6 ? PACKET_ETH_IP6 : PACKET_ETH_IP4);
    return eth + (tunnel->is_ip6 ?
                  put_ip6((uint8_t *)buf + eth, tunnel, protocol, len) :
                  put_ip4((uint8_t *)buf + eth, tunnel, protocol, len));
}

void cvsw_vxlan_head(void *buf, const CvswTunnel *tunnel, uint16_t source,
                     size_t len)
{
    uint8_t *p = buf;
    PacketUdp udp = {
        .src = source,
        .dst = tunnel->port,
        .len = CVSW_VXLAN_HEAD_LEN + len,
    };

    p += packet_udp_build(p, &udp);
    put_be32(p, (uint32_t)VXLAN_HAS_VNI << 24);
    put_be32(p + 4, tunnel->vni << 8);
}

void cvsw_vxlan_seal(void *head, const CvswTunnel *tunnel,
                     const struct iovec *inner, int parts, size_t len)
{
    size_t total = CVSW_VXLAN_HEAD_LEN + len;
    struct in6_addr src6, dst6;
    struct in_addr src4, dst4;
    uint32_t sum;

    if (tunnel->is_ip6) {
        memcpy(&src6, tunnel->local, sizeof(src6));
        memcpy(&dst6, tunnel->remote, sizeof(dst6));
        sum = packet_sum_pseudo6(&src6, &dst6, PACKET_PROTO_UDP, total);
    } else {
        memcpy(&src4, tunnel->local, sizeof(src4));
        memcpy(&dst4, tunnel->remote, sizeof(dst4));
        sum = packet_sum_pseudo4(src4, dst4, PACKET_PROTO_UDP, total);
    }
    sum = packet_sum_add(sum, head, CVSW_VXLAN_HEAD_LEN);
    sum = packet_sum_iov(sum, inner, parts, 0, len);
    put_be16((uint8_t *)head + PACKET_UDP_CHECKSUM,
             packet_udp_sum(packet_sum_fold(sum)));
}

size_t cvsw_vxlan_super(uint8_t *head, const CvswTunnel *tunnel,
                        uint16_t source, const PacketSegments *s,
                        PacketOffload *offload)
{
    size_t size = s->head_len + s->payload, l4, at;
    uint8_t inner[PACKET_SEGMENT_HEAD_MAX];

    if (!cvsw_super_is_few(s) || !packet_segments_whole(s, inner, offload)) {
        return 0;
    }
    l4 = cvsw_vxlan_outer(head, tunnel, PACKET_PROTO_UDP,
                          CVSW_VXLAN_HEAD_LEN + size);
    if (!l4) {
        return 0;
    }
    at = l4 + CVSW_VXLAN_HEAD_LEN;
    cvsw_vxlan_head(head + l4, tunnel, source, size);
    if (tunnel->is_ip6) {
        put_be16(head + l4 + PACKET_UDP_CHECKSUM,
                 packet_sum_partial(packet_sum_pseudo(
                     head + PACKET_ETH_LEN, PACKET_PROTO_UDP,
                     CVSW_VXLAN_HEAD_LEN + size)));
    }
    memcpy(head + at, inner, s->head_len);
    offload->csum_start += at;
    offload->head_len += at;
    offload->tunnel = tunnel->is_ip6 ? PACKET_TUNNEL_UDP6 : PACKET_TUNNEL_UDP4;
    offload->tunnel_csum = tunnel->is_ip6;
    offload->outer_l4 = l4;
    offload->inner_l3 = at + s->l3;
    return at + s->head_len;
}

/* FNV-1a: a sender that provokes collisions harms only its own flows. */
static uint32_t mix(uint32_t hash, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ p[i]) * 16777619u;
    }
    return hash;
}

uint16_t cvsw_vxlan_source(const PacketFlow *inner)
{
    uint32_t hash = 2166136261u;

    if (inner->has & PACKET_FLOW_IP4) {
        hash = mix(hash, &inner->ip4_src, sizeof(inner->ip4_src));
        hash = mix(hash, &inner->ip4_dst, sizeof(inner->ip4_dst));
    } else if (inner->has & PACKET_FLOW_IP6) {
        hash = mix(hash, &inner->ip6_src, sizeof(inner->ip6_src));
        hash = mix(hash, &inner->ip6_dst, sizeof(inner->ip6_dst));
    } else {
        hash = mix(hash, inner->eth.src, sizeof(inner->eth.src));
        hash = mix(hash, inner->eth.dst, sizeof(inner->eth.dst));
    }
    /* Fragments without ports must use the same path as the first fragment. */
    if (!(inner->has & PACKET_FLOW_FRAGMENT)) {
        hash = mix(hash, &inner->protocol, sizeof(inner->protocol));
        hash = mix(hash, &inner->src_port, sizeof(inner->src_port));
        hash = mix(hash, &inner->dst_port, sizeof(inner->dst_port));
    }
    return 0xc000 | ((hash ^ hash >> 16) & 0x3fff);
}

static bool checksum_is_good(const CvswFrame *outer, const struct iovec *iov,
                             int parts, size_t len)
{
    size_t l4 = outer->flow.l4;
    uint32_t sum;

    if (outer->offload.needs_csum ||
        get_be16(outer->head + l4 + PACKET_UDP_CHECKSUM) == 0) {
        return true;
    }
    sum = packet_sum_pseudo(outer->head + outer->flow.l3, PACKET_PROTO_UDP,
                            len);
    return packet_sum_fold(packet_sum_iov(sum, iov, parts, l4, len)) == 0;
}

/*
 * The sender may be a kernel on this host, which leaves checksum and
 * segmentation of the inner frame to its NIC.
 */
static PacketOffload inner_offload(const CvswFrame *outer, size_t at)
{
    PacketOffload offload = { 0 };

    if (outer->offload.tunnel != PACKET_TUNNEL_NONE) {
        return cvsw_super_inner(outer, at);
    }
    if (outer->offload.needs_csum && outer->offload.csum_start >= at) {
        offload.needs_csum = true;
        offload.csum_start = outer->offload.csum_start - at;
        offload.csum_offset = outer->offload.csum_offset;
    }
    return offload;
}

/* Is it a whole UDP datagram?  A super-frame must be one in a tunnel. */
static bool is_datagram(const CvswFrame *outer)
{
    return outer->flow.has & PACKET_FLOW_UDP &&
           !(outer->flow.has & PACKET_FLOW_FRAGMENT) &&
           (outer->offload.gso == PACKET_GSO_NONE ||
            cvsw_super_is_outer(outer));
}

/* Checks that the outer frame's offload is true of the inner frame. */
static bool offload_is_valid(const CvswFrame *outer, size_t at, size_t len,
                             const CvswFrame *inner)
{
    const PacketOffload *offload = &inner->offload;

    if (outer->offload.tunnel != PACKET_TUNNEL_NONE) {
        return len == outer->size - outer->flow.l4 &&
               outer->offload.inner_l3 >= at &&
               cvsw_super_is_inner(inner, outer->offload.inner_l3 - at);
    }
    return !offload->needs_csum ||
           offload->csum_start + offload->csum_offset + 2u <= inner->size;
}

CvswDecap cvsw_vxlan_decap(const CvswFrame *outer, uint16_t port,
                           CvswFrame *inner, uint32_t *vni)
{
    const uint8_t *udp = outer->head + outer->flow.l4, *vxlan;
    struct iovec iov[CVSW_PARTS_MAX + 1], rest[CVSW_PARTS_MAX];
    size_t at = outer->flow.l4 + CVSW_VXLAN_HEAD_LEN, len;
    PacketOffload offload = inner_offload(outer, at);
    int parts;

    if (!is_datagram(outer)) {
        return CVSW_DECAP_NOT_UDP;
    }
    if (outer->flow.dst_port != port) {
        return CVSW_DECAP_PORT;
    }
    len = get_be16(udp + 4);
    vxlan = udp + PACKET_UDP_LEN;
    if (outer->head_len < at || len < CVSW_VXLAN_HEAD_LEN + PACKET_ETH_LEN ||
        len > outer->size - outer->flow.l4 || !(vxlan[0] & VXLAN_HAS_VNI)) {
        return CVSW_DECAP_HEADER;
    }
    parts = cvsw_frame_iov(outer, iov);
    if (!checksum_is_good(outer, iov, parts, len)) {
        return CVSW_DECAP_CHECKSUM;
    }
    parts = packet_iov_slice(iov, parts, at, len - CVSW_VXLAN_HEAD_LEN, rest,
                             CVSW_PARTS_MAX);
    if (parts < 0 || !cvsw_frame_take(inner, rest, parts, &offload) ||
        !offload_is_valid(outer, at, len, inner)) {
        return CVSW_DECAP_HEADER;
    }
    *vni = get_be32(vxlan + 4) >> 8;
    inner->tunnel_id = *vni;
    return CVSW_DECAP_DONE;
}
