/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame leaves */
#include <string.h>

#include "hw/net/cvsw/run/leave.h"
#include "hw/net/cvsw/tunnel/vxlan.h"
#include "net/packet/ip6.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

/* Outer headers, and the parts of an inner frame behind them. */
#define PARTS_MAX       (CVSW_PARTS_MAX + 3)

/* A frame's way into its tunnel. */
typedef struct Way {
    CvswRun *run;
    const CvswTunnel *tunnel;
    EspSa *sa;                  /* NULL: in clear */
    uint32_t port;
    uint16_t source;            /* of UDP */
} Way;

static bool emit_clear(const Way *w, const struct iovec *inner, int parts,
                       size_t len)
{
    uint8_t head[CVSW_OUTER_MAX + CVSW_VXLAN_HEAD_LEN];
    PacketOffload none = { 0 };
    struct iovec iov[PARTS_MAX];
    size_t outer = cvsw_vxlan_outer(head, w->tunnel, PACKET_PROTO_UDP,
                                    CVSW_VXLAN_HEAD_LEN + len);

    if (!outer) {
        return false;
    }
    cvsw_vxlan_head(head + outer, w->tunnel, w->source, len);
    if (w->tunnel->is_ip6) {
        cvsw_vxlan_seal(head + outer, w->tunnel, inner, parts, len);
    }
    iov[0] = (struct iovec) { head, outer + CVSW_VXLAN_HEAD_LEN };
    memcpy(iov + 1, inner, parts * sizeof(*iov));
    w->run->emit(w->run->opaque, w->port, iov, parts + 1, &none);
    return true;
}

/* ESP in transport mode: what it covers is the UDP datagram. */
static bool emit_sealed(const Way *w, const struct iovec *inner, int parts,
                        size_t len, CvswDrop *why)
{
    uint8_t vxlan[CVSW_VXLAN_HEAD_LEN], outer[CVSW_OUTER_MAX];
    PacketOffload none = { 0 };
    struct iovec iov[PARTS_MAX];
    size_t sealed;
    EspResult result;

    cvsw_vxlan_head(vxlan, w->tunnel, w->source, len);
    if (w->tunnel->is_ip6) {
        cvsw_vxlan_seal(vxlan, w->tunnel, inner, parts, len);
    }
    iov[0] = (struct iovec) { vxlan, sizeof(vxlan) };
    memcpy(iov + 1, inner, parts * sizeof(*iov));
    result = esp_seal(w->sa, PACKET_PROTO_UDP, iov, parts + 1,
                      w->run->sealed, sizeof(w->run->sealed), &sealed);
    if (result != ESP_GOOD) {
        w->run->esp[result]++;
        *why = CVSW_DROP_ESP;
        return false;
    }
    iov[0] = (struct iovec) { outer, 0 };
    iov[0].iov_len = cvsw_vxlan_outer(outer, w->tunnel, ESP_PROTOCOL, sealed);
    iov[1] = (struct iovec) { w->run->sealed, sealed };
    if (!iov[0].iov_len) {
        *why = CVSW_DROP_TOO_BIG;
        return false;
    }
    w->run->emit(w->run->opaque, w->port, iov, 2, &none);
    return true;
}

static bool emit_inner(const Way *w, const struct iovec *inner, int parts,
                       size_t len, CvswDrop *why)
{
    *why = CVSW_DROP_TOO_BIG;
    return w->sa ? emit_sealed(w, inner, parts, len, why)
                 : emit_clear(w, inner, parts, len);
}

static bool emit_segments(const Way *w, const CvswFrame *frame, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1], piece[CVSW_PARTS_MAX + 1];
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    PacketSegments s;
    size_t head_len;
    int parts = cvsw_frame_iov(frame, iov);

    *why = CVSW_DROP_SEGMENT;
    if (!packet_segments_begin(&s, &frame->offload, iov, parts,
                               frame->offload.gso_size)) {
        return false;
    }
    while ((parts = packet_segments_next(&s, head, &head_len, piece + 1,
                                         CVSW_PARTS_MAX)) >= 0) {
        piece[0] = (struct iovec) { head, head_len };
        if (!emit_inner(w, piece, parts + 1,
                        head_len + packet_iov_len(piece + 1, parts), why)) {
            return false;
        }
    }
    return s.done == s.payload;
}

/* In a tunnel nobody makes the checksum that the guest has left out. */
static bool make_checksum(CvswFrame *f)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];
    size_t start = f->offload.csum_start;
    size_t where = start + f->offload.csum_offset;
    uint16_t sum;
    int parts = cvsw_frame_iov(f, iov);

    if (!f->offload.needs_csum) {
        return true;
    }
    if (start >= f->size || where + 2 > f->head_len) {
        return false;
    }
    sum = packet_sum_fold(packet_sum_iov(0, iov, parts, start,
                                         f->size - start));
    packet_put16(f->head + where, f->flow.has & PACKET_FLOW_UDP ?
                 packet_udp_sum(sum) : sum);
    f->offload.needs_csum = false;
    return true;
}

static bool leave_by_tunnel(const Way *w, CvswFrame *frame, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];

    if (frame->offload.gso != PACKET_GSO_NONE) {
        return emit_segments(w, frame, why);
    }
    *why = CVSW_DROP_MALFORMED;
    return make_checksum(frame) &&
           emit_inner(w, iov, cvsw_frame_iov(frame, iov), frame->size, why);
}

bool cvsw_leave(CvswRun *run, const CvswLeave *leave, CvswFrame *frame,
                uint32_t port, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];
    Way way = {
        .run = run,
        .tunnel = leave->tunnel,
        .port = port,
    };

    if (!leave->tunnel && leave->sealed) {
        *why = CVSW_DROP_NO_SA;         /* nothing to seal; not in clear */
        return false;
    }
    if (!leave->tunnel) {
        run->emit(run->opaque, port, iov, cvsw_frame_iov(frame, iov),
                  &frame->offload);
        return true;
    }
    if (leave->sealed) {
        way.sa = cvsw_sas_outbound(run->sas, leave->sa);
        if (!way.sa) {
            *why = CVSW_DROP_NO_SA;
            return false;
        }
    }
    way.source = cvsw_vxlan_source(&frame->flow);
    return leave_by_tunnel(&way, frame, why);
}
