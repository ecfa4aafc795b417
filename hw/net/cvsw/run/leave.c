/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends a frame out of a port */
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/run/fit.h"
#include "hw/net/cvsw/run/leave.h"
#include "hw/net/cvsw/tunnel/vxlan.h"
#include "net/packet/fragment4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

/* Outer headers, and the parts of an inner frame. */
#define PARTS_MAX       (CVSW_PARTS_MAX + 3)

/* How a frame leaves. */
typedef struct Way {
    CvswRun *run;
    const CvswTunnel *tunnel;   /* NULL: no tunnel */
    EspSa *sa;                  /* NULL: in cleartext */
    uint32_t port;
    uint16_t source;            /* UDP source port of the tunnel */
    size_t room;                /* after the Ethernet header; or SIZE_MAX */
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

/* ESP in transport mode: its payload is the UDP datagram. */
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

/* Sends a single packet that needs no offload. */
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
 * Sends a super-frame whole if the kernel behind the wire segments it.  ESP is
 * excluded: the kernel does not have our keys.
 *
 * Returns: false if it must be segmented here
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
    run->sent_whole++;
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

/* Completes the checksum: nothing completes it for a frame inside a tunnel. */
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
    put_be16(f->head + where, f->flow.has & PACKET_FLOW_UDP ?
             packet_udp_sum(sum) : sum);
    f->offload.needs_csum = false;
    return true;
}

/*
 * --- frames that are too big -----------------------------------------------
 */

/* RFC 791 allows fragmentation unless DF is set. */
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

/*
 * Sends a super-frame that the wire side segments.  A frame that
 * packet_segments_begin() does not accept is left to the wire side, too.
 */
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

static bool leave_in_clear(const Way *w, CvswFrame *frame, CvswDrop *why)
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

/* Limits copies to the wire only; the guest receives what it can. */
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
        /*
         * SA without a tunnel cannot seal; the frame is dropped, never sent in
         * clear.
         */
        way.sa = leave->tunnel ? cvsw_sas_outbound(run->sas, leave->sa) : NULL;
        if (!way.sa) {
            return false;
        }
    }
    room = cvsw_room(run, way.tunnel, way.sa, frame);
    lost->room = way.room = room_by(port, room);
    cvsw_clamp(frame, room);
    if (!way.tunnel) {
        return leave_in_clear(&way, frame, &lost->why);
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
