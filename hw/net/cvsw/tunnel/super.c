/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Super-frames in a tunnel: an outer packet that must be segmented */
#include <string.h>

#include "hw/net/cvsw/tunnel/super.h"
#include "base/octets.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

bool cvsw_super_is_few(const PacketSegments *s)
{
    return s->payload <= CVSW_PIECES_MAX * s->size;
}

/* --- decapsulation -------------------------------------------------------- */

PacketOffload cvsw_super_inner(const CvswFrame *outer, size_t at)
{
    PacketOffload offload = outer->offload;

    offload.tunnel = PACKET_TUNNEL_NONE;
    offload.tunnel_csum = false;
    offload.outer_l4 = offload.inner_l3 = 0;
    offload.csum_start -= at;
    offload.head_len = offload.head_len > at ? offload.head_len - at : 0;
    return offload;
}

bool cvsw_super_is_inner(const CvswFrame *inner, size_t l3)
{
    const PacketOffload *offload = &inner->offload;
    struct iovec iov[CVSW_PARTS_MAX + 1];
    int parts = cvsw_frame_iov(inner, iov);
    PacketSegments s;

    return packet_segments_begin(&s, offload, iov, parts, offload->gso_size) &&
           s.l3 == l3 && s.l4 == offload->csum_start &&
           offload->csum_offset == (s.is_tcp ? PACKET_TCP_CHECKSUM
                                             : PACKET_UDP_CHECKSUM);
}

bool cvsw_super_is_outer(const CvswFrame *frame)
{
    const PacketOffload *offload = &frame->offload;
    bool is_ip6 = offload->tunnel == PACKET_TUNNEL_UDP6;

    return frame->flow.has & PACKET_FLOW_UDP &&
           !(frame->flow.has & PACKET_FLOW_FRAGMENT) &&
           !is_ip6 == !(frame->flow.has & PACKET_FLOW_IP6) &&
           frame->flow.l4 == offload->outer_l4 &&
           offload->inner_l3 >= offload->outer_l4 + PACKET_UDP_LEN &&
           offload->inner_l3 < frame->head_len &&
           offload->csum_start >= offload->inner_l3;
}

/* --- segmentation --------------------------------------------------------- */

static void copy_outer(CvswPieces *p, const CvswFrame *frame)
{
    p->is_ip6 = frame->offload.tunnel == PACKET_TUNNEL_UDP6;
    p->has_sum = frame->offload.tunnel_csum;
    p->l3 = frame->flow.l3;
    p->l4 = frame->flow.l4;
    p->outer_len = frame->offload.inner_l3;
    memcpy(p->outer, frame->head, p->outer_len);
    p->id = get_be16(p->outer + p->l3 + 4);
}

bool cvsw_pieces_begin(CvswPieces *p, const CvswFrame *frame,
                       const struct iovec *iov, int iovcnt)
{
    PacketOffload inner;
    bool is_ip4;
    size_t at;
    int parts;

    if (!cvsw_super_is_outer(frame)) {
        return false;
    }
    copy_outer(p, frame);
    /* The inner packet may have no Ethernet header: add a dummy one. */
    at = p->outer_len - PACKET_ETH_LEN;
    is_ip4 = frame->head[p->outer_len] >> 4 == 4;
    packet_eth_build(p->head + at, frame->flow.eth.dst, frame->flow.eth.src,
                     is_ip4 ? PACKET_ETH_IP4 : PACKET_ETH_IP6);
    p->inner[0] = (struct iovec) { p->head + at, PACKET_ETH_LEN };
    parts = packet_iov_slice(iov, iovcnt, p->outer_len,
                             frame->size - p->outer_len, p->inner + 1,
                             CVSW_PARTS_MAX);
    inner = cvsw_super_inner(frame, at);
    return parts > 0 &&
           packet_segments_begin(&p->segments, &inner, p->inner, parts + 1,
                                 inner.gso_size) &&
           p->segments.l4 == inner.csum_start &&
           cvsw_super_is_few(&p->segments);
}

static void put_outer_ip(CvswPieces *p, unsigned number, size_t l3_len)
{
    uint8_t *ip = p->head + p->l3;

    if (p->is_ip6) {
        put_be16(ip + 4, l3_len - PACKET_IP6_LEN);
        return;
    }
    put_be16(ip + 2, l3_len);
    put_be16(ip + 4, p->id + number);
    packet_ip4_seal(ip, (ip[0] & 15) * 4u);
}

static void put_outer_udp(CvswPieces *p, const struct iovec *iov, int parts,
                          size_t len)
{
    uint8_t *udp = p->head + p->l4;
    uint32_t sum;

    put_be16(udp + 4, len);
    if (!p->has_sum) {
        return;
    }
    put_be16(udp + PACKET_UDP_CHECKSUM, 0);
    sum = packet_sum_pseudo(p->head + p->l3, PACKET_PROTO_UDP, len);
    sum = packet_sum_iov(sum, iov, parts, p->l4, len);
    put_be16(udp + PACKET_UDP_CHECKSUM,
             packet_udp_sum(packet_sum_fold(sum)));
}

int cvsw_pieces_next(CvswPieces *p, struct iovec *iov)
{
    uint8_t *inner = p->head + p->outer_len - PACKET_ETH_LEN;
    unsigned number = p->segments.pieces;
    size_t head_len, size;
    int parts = packet_segments_next(&p->segments, inner, &head_len, iov + 1,
                                     CVSW_PARTS_MAX - 1);

    if (parts < 0) {
        return -1;
    }
    /* Overwrite the dummy Ethernet header. */
    memcpy(p->head, p->outer, p->outer_len);
    iov[0].iov_base = p->head;
    iov[0].iov_len = p->outer_len - PACKET_ETH_LEN + head_len;
    size = packet_iov_len(iov, parts + 1);
    put_outer_ip(p, number, size - p->l3);
    put_outer_udp(p, iov, parts + 1, size - p->l4);
    return parts + 1;
}
