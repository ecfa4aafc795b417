/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame leaves */
#include <string.h>

#include "hw/net/cvsw/run/fit.h"
#include "hw/net/cvsw/run/leave.h"
#include "hw/net/cvsw/tunnel/vxlan.h"
#include "net/packet/fragment4.h"
#include "net/packet/ip6.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

/* Outer headers, and the parts of an inner frame behind them. */
#define PARTS_MAX       (CVSW_PARTS_MAX + 3)

/* A frame's way out. */
typedef struct Way {
    CvswRun *run;
    const CvswTunnel *tunnel;   /* NULL: none */
    EspSa *sa;                  /* NULL: in clear */
    uint32_t port;
    uint16_t source;            /* of the tunnel's UDP */
    size_t room;                /* behind the Ethernet header; SIZE_MAX */
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

/* A frame that leaves nothing to be done. */
static bool emit_piece(const Way *w, const struct iovec *iov, int parts,
                       size_t len, CvswDrop *why)
{
    PacketOffload none = { 0 };

    if (!w->tunnel) {
        w->run->emit(w->run->opaque, w->port, iov, parts, &none);
        return true;
    }
    *why = CVSW_DROP_TOO_BIG;
    return w->sa ? emit_sealed(w, iov, parts, len, why)
                 : emit_clear(w, iov, parts, len);
}

/*
 * As one, if who is behind the wire cuts it; nobody there has our keys.
 *
 * Returns: false if it has to be cut here
 */
static bool emit_whole(const Way *w, const PacketSegments *s)
{
    uint8_t head[CVSW_VXLAN_SUPER_MAX];
    struct iovec iov[CVSW_PARTS_MAX + 1];
    CvswRun *run = w->run;
    PacketOffload offload;
    size_t len;
    int parts;

    if (!w->tunnel || w->sa || w->port != CVSW_PORT_WIRE || !run->wire_cuts ||
        !run->wire_cuts(run->opaque)) {
        return false;
    }
    len = cvsw_vxlan_super(head, w->tunnel, w->source, s, &offload);
    parts = packet_iov_slice(s->iov, s->iovcnt, s->head_len, s->payload,
                             iov + 1, CVSW_PARTS_MAX);
    if (!len || parts < 0) {
        return false;
    }
    iov[0] = (struct iovec) { head, len };
    run->whole++;
    run->emit(run->opaque, w->port, iov, parts + 1, &offload);
    return true;
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
    if (!packet_segments_fit(&s, w->room)) {
        *why = CVSW_DROP_TOO_BIG;
        return false;
    }
    if (emit_whole(w, &s)) {
        return true;
    }
    while ((parts = packet_segments_next(&s, head, &head_len, piece + 1,
                                         CVSW_PARTS_MAX)) >= 0) {
        piece[0] = (struct iovec) { head, head_len };
        if (!emit_piece(w, piece, parts + 1,
                        head_len + packet_iov_len(piece + 1, parts), why)) {
            return false;
        }
    }
    *why = CVSW_DROP_SEGMENT;
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

/* --- what does not fit ---------------------------------------------------- */

/* RFC 791 allows fragments of what does not forbid them. */
static bool emit_fragments(const Way *w, CvswFrame *frame, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1], piece[CVSW_PARTS_MAX + 1];
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    size_t head_len;
    PacketCut4 cut;
    int parts;

    parts = cvsw_frame_iov(frame, iov);
    if (!packet_cut4_begin(&cut, iov, parts, w->room)) {
        *why = CVSW_DROP_TOO_BIG;
        return false;
    }
    *why = CVSW_DROP_MALFORMED;
    if (!make_checksum(frame)) {
        return false;
    }
    while ((parts = packet_cut4_next(&cut, head, &head_len, piece + 1,
                                     CVSW_PARTS_MAX)) >= 0) {
        piece[0] = (struct iovec) { head, head_len };
        if (!emit_piece(w, piece, parts + 1,
                        head_len + packet_iov_len(piece + 1, parts), why)) {
            return false;
        }
    }
    *why = CVSW_DROP_MALFORMED;
    return cut.done == cut.payload;
}

/* The wire's side cuts it; what is no super-frame to us is its matter, too. */
static bool emit_super(const Way *w, const CvswFrame *frame, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];
    int parts = cvsw_frame_iov(frame, iov);
    PacketOffload offload = frame->offload;
    PacketSegments s;

    if (w->room != SIZE_MAX &&
        packet_segments_begin(&s, &offload, iov, parts, offload.gso_size)) {
        if (!packet_segments_fit(&s, w->room)) {
            *why = CVSW_DROP_TOO_BIG;
            return false;
        }
        offload.gso_size = s.size;
    }
    w->run->emit(w->run->opaque, w->port, iov, parts, &offload);
    return true;
}

/* --- leaving -------------------------------------------------------------- */

static bool leave_by_tunnel(const Way *w, CvswFrame *frame, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];

    if (frame->offload.gso != PACKET_GSO_NONE) {
        return emit_segments(w, frame, why);
    }
    if (!cvsw_fits(frame, w->room)) {
        return emit_fragments(w, frame, why);
    }
    *why = CVSW_DROP_MALFORMED;
    return make_checksum(frame) &&
           emit_piece(w, iov, cvsw_frame_iov(frame, iov), frame->size, why);
}

static bool leave_plainly(const Way *w, CvswFrame *frame, CvswDrop *why)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];

    if (frame->offload.gso != PACKET_GSO_NONE) {
        return emit_super(w, frame, why);
    }
    if (!cvsw_fits(frame, w->room)) {
        return emit_fragments(w, frame, why);
    }
    w->run->emit(w->run->opaque, w->port, iov, cvsw_frame_iov(frame, iov),
                 &frame->offload);
    return true;
}

/* Copies to the wire are bounded; the guest takes as many as it can. */
static size_t room_by(uint32_t port, size_t room)
{
    return port == CVSW_PORT_WIRE ? room : SIZE_MAX;
}

bool cvsw_leave(CvswRun *run, const CvswLeave *leave, CvswFrame *frame,
                uint32_t port, CvswLost *lost)
{
    size_t room;
    Way way = {
        .run = run,
        .tunnel = leave->tunnel,
        .port = port,
    };

    lost->why = CVSW_DROP_NO_SA;
    if (leave->sealed) {
        /* Without a tunnel there is nothing to seal; not in clear. */
        way.sa = leave->tunnel ? cvsw_sas_outbound(run->sas, leave->sa) : NULL;
        if (!way.sa) {
            return false;
        }
    }
    room = cvsw_room(run, way.tunnel, way.sa, frame);
    lost->room = way.room = room_by(port, room);
    cvsw_clamp(frame, room);
    if (!way.tunnel) {
        return leave_plainly(&way, frame, &lost->why);
    }
    way.source = cvsw_vxlan_source(&frame->flow);
    return leave_by_tunnel(&way, frame, &lost->why);
}

bool cvsw_leave_changes(const CvswRun *run, const CvswFrame *frame,
                        uint32_t port)
{
    size_t room = cvsw_room(run, NULL, NULL, frame);

    return room != SIZE_MAX &&
           (cvsw_is_syn(frame) || !cvsw_fits(frame, room_by(port, room)));
}
