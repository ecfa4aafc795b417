/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments super-frames of TCP and UDP (GSO)
 *
 * The headers are copied once and checked. The headers of all segments are made
 * from this copy: if a guest changes its memory in the meantime, it can damage
 * only its payload. The payload is never copied. Checksums are computed
 * completely, because a segment in a tunnel has no virtio-net header of its
 * own.
 *
 * TCP follows RFC 9293 and Linux: sequence numbers increase, the last segment
 * gets FIN and PSH, and the first gets CWR (RFC 3168 section 6.1.2). IPv4's
 * identification increases by one.
 */
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/segment.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

/* --- parts ---------------------------------------------------------------- */

size_t packet_iov_len(const struct iovec *iov, int iovcnt)
{
    size_t len = 0;

    for (int i = 0; i < iovcnt; i++) {
        len += iov[i].iov_len;
    }
    return len;
}

int packet_iov_slice(const struct iovec *iov, int iovcnt, size_t offset,
                     size_t len, struct iovec *out, int max)
{
    int num = 0;

    for (int i = 0; i < iovcnt && len; i++) {
        size_t skip = offset < iov[i].iov_len ? offset : iov[i].iov_len;
        size_t part = iov[i].iov_len - skip;

        offset -= skip;
        part = part < len ? part : len;
        if (part == 0) {
            continue;
        }
        if (num == max) {
            return -1;
        }
        out[num].iov_base = (uint8_t *)iov[i].iov_base + skip;
        out[num++].iov_len = part;
        len -= part;
    }
    return len ? -1 : num;
}

size_t packet_iov_copy(const struct iovec *iov, int iovcnt, size_t offset,
                       void *buf, size_t len)
{
    uint8_t *p = buf;
    size_t done = 0;

    for (int i = 0; i < iovcnt && done < len; i++) {
        size_t skip = offset < iov[i].iov_len ? offset : iov[i].iov_len;
        size_t part = iov[i].iov_len - skip;

        offset -= skip;
        part = part < len - done ? part : len - done;
        if (part == 0) {
            continue;
        }
        memcpy(p + done, (const uint8_t *)iov[i].iov_base + skip, part);
        done += part;
    }
    return done;
}

/* --- checks --------------------------------------------------------------- */

static bool find_ip4(PacketSegments *s, size_t have, uint8_t *protocol)
{
    const uint8_t *ip = s->head + s->l3;
    size_t len;

    if (have < s->l3 + PACKET_IP4_LEN || ip[0] >> 4 != 4) {
        return false;
    }
    len = (ip[0] & 15) * 4u;
    *protocol = ip[9];
    s->l4 = s->l3 + len;
    s->id = get_be16(ip + 4);
    /* A fragment cannot be a super-frame. */
    return len >= PACKET_IP4_LEN && !(get_be16(ip + 6) & 0x3fff);
}

static bool find_ip6(PacketSegments *s, size_t have, uint8_t *protocol)
{
    PacketIp6Ext ext;

    if (have < s->l3 || !packet_ip6_walk(&ext, s->head + s->l3,
                                         have - s->l3) || ext.fragment) {
        return false;
    }
    *protocol = ext.next;
    s->l4 = s->l3 + ext.offset;
    return true;
}

static bool find_l4(PacketSegments *s, size_t have)
{
    const uint8_t *l4 = s->head + s->l4;

    if (!s->is_tcp) {
        s->head_len = s->l4 + PACKET_UDP_LEN;
        return have >= s->head_len;
    }
    if (have < s->l4 + PACKET_TCP_LEN) {
        return false;
    }
    s->head_len = s->l4 + (l4[12] >> 4) * 4u;
    s->sequence = get_be32(l4 + 4);
    s->tcp_flags = l4[13];
    return s->head_len >= s->l4 + PACKET_TCP_LEN && have >= s->head_len &&
           !(s->tcp_flags &
             (PACKET_TCP_SYN | PACKET_TCP_RST | PACKET_TCP_URG));
}

bool packet_segments_begin(PacketSegments *s, const PacketOffload *offload,
                           const struct iovec *iov, int iovcnt, size_t size)
{
    uint8_t protocol, want = offload->gso == PACKET_GSO_UDP ? PACKET_PROTO_UDP
                                                            : PACKET_PROTO_TCP;
    size_t have = packet_iov_copy(iov, iovcnt, 0, s->head, sizeof(s->head));
    PacketEth eth;

    if (offload->gso == PACKET_GSO_NONE || size == 0 ||
        offload->tunnel != PACKET_TUNNEL_NONE ||
        !packet_eth_parse(&eth, s->head, have)) {
        return false;
    }
    s->iov = iov;
    s->iovcnt = iovcnt;
    s->l3 = eth.len;
    s->size = size;
    s->done = 0;
    s->pieces = 0;
    s->is_tcp = want == PACKET_PROTO_TCP;
    s->is_ip4 = eth.type == PACKET_ETH_IP4;
    if ((s->is_ip4 && offload->gso == PACKET_GSO_TCP6) ||
        (!s->is_ip4 && (offload->gso == PACKET_GSO_TCP4 ||
                        eth.type != PACKET_ETH_IP6)) ||
        !(s->is_ip4 ? find_ip4(s, have, &protocol)
                    : find_ip6(s, have, &protocol)) ||
        protocol != want || !find_l4(s, have)) {
        return false;
    }
    s->payload = packet_iov_len(iov, iovcnt) - s->head_len;
    return true;
}

bool packet_segments_fit(PacketSegments *s, size_t room)
{
    size_t head = s->head_len - s->l3;
    size_t size = s->payload < s->size ? s->payload : s->size;

    if (head + size <= room) {
        return true;
    }
    if (!s->is_tcp || room <= head) {
        return false;
    }
    s->size = room - head;
    return true;
}

/* --- segmentation --------------------------------------------------------- */

static void put_ip(const PacketSegments *s, uint8_t *head, size_t len)
{
    uint8_t *ip = head + s->l3;
    size_t l3_len = s->head_len - s->l3 + len;

    if (!s->is_ip4) {
        put_be16(ip + 4, l3_len - PACKET_IP6_LEN);
        return;
    }
    put_be16(ip + 2, l3_len);
    put_be16(ip + 4, s->id + s->pieces);
    packet_ip4_seal(ip, s->l4 - s->l3);
}

static void put_l4(const PacketSegments *s, uint8_t *head,
                   const struct iovec *payload, int parts, size_t len)
{
    uint8_t *l4 = head + s->l4;
    size_t l4_len = s->head_len - s->l4 + len;
    bool last = s->done + len == s->payload;
    uint8_t *where = l4 + (s->is_tcp ? PACKET_TCP_CHECKSUM
                                     : PACKET_UDP_CHECKSUM);
    uint32_t sum;
    uint16_t folded;

    if (s->is_tcp) {
        put_be32(l4 + 4, s->sequence + s->done);
        l4[13] = s->tcp_flags &
                 ~((last ? 0 : PACKET_TCP_FIN | PACKET_TCP_PSH) |
                   (s->pieces ? PACKET_TCP_CWR : 0));
    } else {
        put_be16(l4 + 4, l4_len);
    }
    put_be16(where, 0);
    sum = packet_sum_pseudo(head + s->l3,
                            s->is_tcp ? PACKET_PROTO_TCP : PACKET_PROTO_UDP,
                            l4_len);
    sum = packet_sum_add(sum, l4, s->head_len - s->l4);
    folded = packet_sum_fold(sum + packet_sum_iov(0, payload, parts, 0, len));
    put_be16(where, s->is_tcp ? folded : packet_udp_sum(folded));
}

bool packet_segments_whole(const PacketSegments *s, uint8_t *head,
                           PacketOffload *offload)
{
    size_t l4_len = s->head_len - s->l4 + s->payload;
    size_t l3_len = s->l4 - s->l3 + l4_len;

    if (!s->is_tcp || s->payload <= s->size ||
        l3_len - (s->is_ip4 ? 0 : PACKET_IP6_LEN) > UINT16_MAX) {
        return false;
    }
    memcpy(head, s->head, s->head_len);
    put_ip(s, head, s->payload);
    put_be16(head + s->l4 + PACKET_TCP_CHECKSUM,
             packet_sum_partial(packet_sum_pseudo(head + s->l3,
                                                  PACKET_PROTO_TCP,
                                                  l4_len)));
    *offload = (PacketOffload) {
        .needs_csum = true,
        .csum_start = s->l4,
        .csum_offset = PACKET_TCP_CHECKSUM,
        .gso = s->is_ip4 ? PACKET_GSO_TCP4 : PACKET_GSO_TCP6,
        .ecn = s->tcp_flags & PACKET_TCP_CWR,
        .gso_size = s->size,
        .head_len = s->head_len,
    };
    return true;
}

int packet_segments_next(PacketSegments *s, uint8_t *head, size_t *head_len,
                         struct iovec *payload, int max)
{
    size_t left = s->payload - s->done;
    size_t len = left < s->size ? left : s->size;
    int parts;

    /* A super-frame without payload is one segment. */
    if (left == 0 && s->pieces) {
        return -1;
    }
    parts = packet_iov_slice(s->iov, s->iovcnt, s->head_len + s->done, len,
                             payload, max);
    if (parts < 0) {
        return -1;
    }
    memcpy(head, s->head, s->head_len);
    *head_len = s->head_len;
    put_ip(s, head, len);
    put_l4(s, head, payload, parts, len);
    s->done += len;
    s->pieces++;
    return parts;
}
