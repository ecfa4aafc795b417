/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netdev in the middle
 *
 * Theory of operation
 * ===================
 *
 * To QEMU, a stage is two net clients a queue, its ends:
 *
 *     NIC  <-peer->  front ~~~ back  <-peer->  backend
 *
 * All fronts have the ID of the stage as their name: a NIC looks for netdevs
 * by name and takes each as a queue.  The backs have a name that is no ID, so
 * nobody else finds them.  Being the backend's peer, they keep it from being
 * used twice.
 *
 * A frame that QEMU delivers to one end is offered to the room and, if that
 * says so, sent from the other end: the same iov, no copy.  The far side then
 * takes it or it does not:
 *
 *  - It takes it: all is done before the sender's call returns.
 *  - It does not: QEMU keeps a copy in the far side's queue and calls
 *    stage_sent() once that is delivered or thrown away.  Until then the near
 *    end says that it cannot receive (@waiting of the far end is not 0), so the
 *    sender's next frame stays in the near end's queue, and the sender stops if
 *    it can.  stage_sent() flushes that queue.  So a stage holds one frame for
 *    each direction and queue, and the room sees each frame once.
 *
 * A NIC without buffers would so stop its backend for good.  For a room that is
 * a station of its own (@hears_past_nic), a timer runs while frames wait for
 * the NIC.  If that has taken none of them between two looks it is stuck: the
 * back receives on, and the room is told with each frame, until all that waits
 * is gone.  What the room sends to the NIC then waits with the others.
 *
 * The stage never asks the far side beforehand whether it can receive: QEMU
 * tells nobody when that becomes true again, unless a frame waits.
 *
 * NET_STAGE_HOLD is what QEMU does anyhow with a client that does not take a
 * frame: it stays in the near end's queue, and the end is flushed later.
 *
 * Some backends, libslirp above all, answer a frame before their receive
 * function returns.  A room that has sent one out of the midst of its work is
 * not called again then: the answer stays in the near end's queue until a
 * bottom half flushes it.
 *
 * A room may ask for tunnels (net_stage_use_tunnels()).  Then frames have the
 * header that can say them on the backend's side, and the NIC's own, which is
 * shorter, on the other; what passes changes its header.
 *
 * What NIC and backend ask each other goes through as calls.  QEMU's set_link
 * acts on a netdev and on its peer if that is a NIC; a stage does the rest of
 * the chain.  Down the chain it does so a little later (stage_settle()),
 * because QEMU calls link_status_changed before it has changed the NIC's link.
 * It does not for a room that is a station of its own.
 *
 * Of a peer that comes or goes, a hook in net/net.c tells through
 * link_status_changed.  A backend that goes takes its queue with it, without
 * calling stage_sent(): @waiting is 0 again, the NIC's link goes down, and what
 * the NIC has sent is swallowed.
 *
 * A netdev that is deleted while a NIC uses it lives on until the NIC is gone:
 * QEMU calls cleanup of the fronts only then.  The first of them ends the stage
 * and deletes the backs.  When QEMU exits, it deletes the backs by itself.
 *
 * The BQL protects everything here.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "monitor/monitor.h"
#include "net/vhost_net.h"
#include "qapi/error.h"
#include "net/stage/offload.h"
#include "net/stage/tap.h"
#include "system/runstate.h"
#include "trace.h"

typedef struct StageEnd {
    NetClientState nc;
    NetStage *stage;            /* NULL once that has ended */
    NetStageSide side;
    unsigned queue;
    unsigned waiting;           /* frames of ours in the peer's queue */
    /* Of the NIC's side. */
    int told_vnet_len;          /* the NIC's last word about headers */
    unsigned looks;             /* since it has taken a frame */
    bool is_stuck;
} StageEnd;

struct NetStage {
    const NetStageRoom *room;
    void *opaque;
    char *id;
    unsigned queues;
    StageEnd **end[NET_STAGE_SIDES];
    QEMUBH *settle;
    QEMUTimer *look;            /* for a NIC that is stuck; or NULL */
    bool is_busy;               /* the room is asked, or is sending */
    bool changed;               /* the room is to be told */
    bool has_vnet_hdr;          /* what a backend that is gone had */
    bool has_ufo;
    bool has_uso;
    bool has_nic;               /* @nic_mac is valid */
    MACAddr nic_mac;            /* as configured */
    unsigned asked;             /* offloads; by the NIC */
    unsigned denied;            /* by the room */
    bool has_tunnels;           /* the backend's headers can say them */
    bool takes_tunnels;         /* and the backend may send such */
    NetStageStats stats[NET_STAGE_SIDES];
    QTAILQ_ENTRY(NetStage) next;
};

static QTAILQ_HEAD(, NetStage) stages = QTAILQ_HEAD_INITIALIZER(stages);

static const char *const side_name[] = { "NIC", "backend" };

static void stage_cleanup(NetClientState *nc);

static StageEnd *stage_end_of(NetClientState *nc)
{
    return nc->info->cleanup == stage_cleanup ? DO_UPCAST(StageEnd, nc, nc)
                                              : NULL;
}

/* The stage that @nc is the front of, if it is one. */
static NetStage *stage_behind(NetClientState *nc)
{
    StageEnd *end = nc ? stage_end_of(nc) : NULL;

    return end && end->side == NET_STAGE_NIC ? end->stage : NULL;
}

/* The other end of the same queue. */
static StageEnd *stage_far_end(const StageEnd *end)
{
    return end->stage->end[!end->side][end->queue];
}

static NetClientState *stage_backend(const NetStage *s, unsigned queue)
{
    return s->end[NET_STAGE_BACKEND][queue]->nc.peer;
}

/* netdev_del was called, but the NIC is still there. */
static bool stage_is_deleted(const NetStage *s)
{
    NetClientState *peer = s->end[NET_STAGE_NIC][0]->nc.peer;

    return peer && peer->info->type == NET_CLIENT_DRIVER_NIC &&
           qemu_get_nic(peer)->peer_deleted;
}

/* --- frames --------------------------------------------------------------- */

static bool stage_is_frame(size_t size, size_t vnet_len)
{
    return size > vnet_len && size <= NET_STAGE_FRAME_MAX;
}

static void stage_sent(NetClientState *nc, ssize_t ret)
{
    StageEnd *out = DO_UPCAST(StageEnd, nc, nc);

    out->looks = 0;
    if (!out->stage || --out->waiting) {
        return;
    }
    out->is_stuck = false;
    trace_net_stage_go_on(out->stage->id, side_name[out->side], out->queue);
    if (ret == 0) {
        /* Thrown away: the peer is in the midst of a reset, or of its end. */
        qemu_bh_schedule(out->stage->settle);
        return;
    }
    qemu_flush_queued_packets(&stage_far_end(out)->nc);
}

static void stage_look_later(NetStage *s)
{
    timer_mod(s->look, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
              NET_STAGE_STUCK_MS);
}

static void stage_put(StageEnd *out, const struct iovec *iov, int iovcnt)
{
    if (qemu_sendv_packet_async(&out->nc, iov, iovcnt, stage_sent) == 0) {
        if (!out->waiting++) {
            out->looks = 0;
        }
        if (out->side == NET_STAGE_NIC && out->stage->look &&
            !timer_pending(out->stage->look)) {
            stage_look_later(out->stage);
        }
        trace_net_stage_wait(out->stage->id, side_name[out->side], out->queue);
    }
}

static ssize_t stage_malformed(StageEnd *in, size_t size)
{
    in->stage->stats[in->side].malformed++;
    trace_net_stage_malformed(in->stage->id, side_name[in->side], size);
    return size ?: -1;          /* 0 would keep it */
}

/*
 * With the first octets of its header, and zeros where the other has more.
 * @part has room for @max, which is more than @frame has.
 */
static bool stage_put_other_header(StageEnd *out, const NetStageFrame *frame,
                                   struct iovec *part, unsigned max)
{
    unsigned vnet_len = out->nc.vnet_hdr_len;
    uint8_t vnet[NET_STAGE_VNET_MAX] = { 0 };
    size_t left = net_stage_frame_size(frame);
    unsigned parts;

    iov_to_buf(frame->iov, frame->iovcnt, 0, vnet,
               MIN(vnet_len, frame->vnet_len));
    part[0] = (struct iovec) { vnet, vnet_len };
    parts = iov_copy(part + 1, max - 1, frame->iov, frame->iovcnt,
                     frame->vnet_len, left);
    if (iov_size(part + 1, parts) != left) {
        return false;
    }
    stage_put(out, part, parts + 1);
    return true;
}

static bool stage_put_some_parts(StageEnd *out, const NetStageFrame *frame)
{
    struct iovec part[NET_STAGE_PARTS_MAX + 1];

    return stage_put_other_header(out, frame, part, ARRAY_SIZE(part));
}

static bool stage_put_many_parts(StageEnd *out, const NetStageFrame *frame)
{
    struct iovec part[IOV_MAX];

    return stage_put_other_header(out, frame, part, ARRAY_SIZE(part));
}

/*
 * Most of what backends send is one part, and NICs want it so.  The backend's
 * header gives way to the NIC's in its place: it is the backend's buffer, as
 * those of guests go the other way, and it is not read again.
 */
static void stage_put_shorter_header(StageEnd *out, const NetStageFrame *frame)
{
    unsigned vnet_len = out->nc.vnet_hdr_len;
    size_t shorter = frame->vnet_len - vnet_len;
    uint8_t *start = (uint8_t *)frame->iov[0].iov_base + shorter;
    struct iovec iov = { start, frame->iov[0].iov_len - shorter };

    memmove(start, frame->iov[0].iov_base, vnet_len);
    stage_put(out, &iov, 1);
}

static bool stage_put_passed(StageEnd *out, const NetStageFrame *frame)
{
    unsigned vnet_len = out->nc.vnet_hdr_len;

    if (vnet_len == frame->vnet_len) {
        stage_put(out, frame->iov, frame->iovcnt);
        return true;
    }
    if (vnet_len < frame->vnet_len && frame->iovcnt == 1) {
        stage_put_shorter_header(out, frame);
        return true;
    }
    /* QEMU is compiled to clear local arrays, which takes time for the long. */
    return frame->iovcnt <= NET_STAGE_PARTS_MAX
           ? stage_put_some_parts(out, frame)
           : stage_put_many_parts(out, frame);
}

/* Filters still see what a link that is down swallows, as without a stage. */
static ssize_t stage_pass(StageEnd *in, const NetStageFrame *frame,
                          size_t size)
{
    StageEnd *out = stage_far_end(in);
    NetStageStats *stats = &in->stage->stats[in->side];
    bool is_down = out->nc.peer &&
                   (out->nc.link_down || out->nc.peer->link_down);

    if (!out->nc.peer) {
        stats->nobody++;
        trace_net_stage_nobody(in->stage->id, side_name[out->side], size);
        return size;
    }
    if (!stage_put_passed(out, frame)) {
        return stage_malformed(in, size);
    }
    if (is_down) {
        stats->down++;
        trace_net_stage_down(in->stage->id, side_name[out->side], size);
    } else {
        stats->passed++;
    }
    return size;
}

static NetStageVerdict stage_ask(StageEnd *in, NetStageFrame *frame)
{
    const NetStageRoom *room = in->stage->room;
    NetStageFunc *func = in->side == NET_STAGE_NIC ? room->from_nic
                                                   : room->from_backend;
    NetStageVerdict verdict;

    in->stage->is_busy = true;
    verdict = func ? func(in->stage, frame) : NET_STAGE_PASS;
    in->stage->is_busy = false;
    return frame->nic_is_stuck ? NET_STAGE_DROP : verdict;
}

static bool stage_can_receive(NetClientState *nc)
{
    StageEnd *in = DO_UPCAST(StageEnd, nc, nc);
    StageEnd *out = in->stage ? stage_far_end(in) : NULL;

    return !out || !out->waiting || out->is_stuck;
}

static ssize_t stage_receive_iov(NetClientState *nc, const struct iovec *iov,
                                 int iovcnt)
{
    StageEnd *in = DO_UPCAST(StageEnd, nc, nc);
    NetStageFrame frame = {
        .iov = iov,
        .iovcnt = iovcnt,
        .vnet_len = nc->vnet_hdr_len,
        .queue = in->queue,
    };
    size_t size = iov_size(iov, iovcnt);

    if (!in->stage) {
        return size ?: -1;
    }
    /* QEMU flushes queues without asking whether we can receive. */
    if (!stage_can_receive(nc)) {
        return 0;
    }
    if (in->stage->is_busy) {
        qemu_bh_schedule(in->stage->settle);
        return 0;
    }
    if (!stage_is_frame(size, frame.vnet_len)) {
        return stage_malformed(in, size);
    }
    frame.nic_is_stuck = stage_far_end(in)->is_stuck;
    switch (stage_ask(in, &frame)) {
    case NET_STAGE_DROP:
        in->stage->stats[in->side].dropped++;
        trace_net_stage_drop(in->stage->id, side_name[in->side], size);
        return size;
    case NET_STAGE_HOLD:
        in->stage->stats[in->side].held++;
        trace_net_stage_hold(in->stage->id, side_name[in->side], size);
        return 0;
    case NET_STAGE_PASS:
        break;
    }
    if (frame.iov != iov || frame.iovcnt != iovcnt) {
        size_t now = iov_size(frame.iov, frame.iovcnt);

        if (!stage_is_frame(now, frame.vnet_len)) {
            return stage_malformed(in, size);
        }
    }
    return stage_pass(in, &frame, size);
}

/* @frame, with a virtio-net header of @vnet_len octets that it lacks. */
static bool stage_put_with_header(StageEnd *out, const NetStageFrame *frame,
                                  unsigned vnet_len)
{
    static const uint8_t nothing[NET_STAGE_VNET_MAX];
    struct iovec iov[NET_STAGE_PARTS_MAX + 1];

    if (frame->iovcnt > NET_STAGE_PARTS_MAX) {
        return false;
    }
    iov[0].iov_base = (void *)nothing;
    iov[0].iov_len = vnet_len;
    memcpy(iov + 1, frame->iov, frame->iovcnt * sizeof(*iov));
    stage_put(out, iov, frame->iovcnt + 1);
    return true;
}

static bool stage_try_send(StageEnd *out, const NetStageFrame *frame)
{
    unsigned vnet_len = out->nc.vnet_hdr_len;
    size_t size = iov_size(frame->iov, frame->iovcnt);
    bool complete = frame->vnet_len == vnet_len;

    if (!out->nc.peer || out->waiting >= NET_STAGE_WAITING_MAX ||
        (!complete && frame->vnet_len)) {
        return false;
    }
    if (size <= frame->vnet_len ||
        size - frame->vnet_len + vnet_len > NET_STAGE_FRAME_MAX) {
        return false;
    }
    if (!complete) {
        return stage_put_with_header(out, frame, vnet_len);
    }
    stage_put(out, frame->iov, frame->iovcnt);
    return true;
}

bool net_stage_send(NetStage *s, NetStageSide to, const NetStageFrame *frame)
{
    bool was_busy = s->is_busy;
    bool sent;

    assert(frame->queue < s->queues);
    s->is_busy = true;
    sent = stage_try_send(s->end[to][frame->queue], frame);
    s->is_busy = was_busy;
    if (sent) {
        s->stats[to].sent++;
    } else {
        s->stats[to].refused++;
        trace_net_stage_refuse(s->id, side_name[to]);
    }
    return sent;
}

void net_stage_release(NetStage *s)
{
    qemu_bh_schedule(s->settle);
}

/* --- links, and who is there ---------------------------------------------- */

/* What QEMU does with the NIC when the link of its netdev changes. */
static void stage_tell_nic(NetStage *s, bool down)
{
    NetClientState *first = s->end[NET_STAGE_NIC][0]->nc.peer;

    if (stage_is_deleted(s)) {
        return;                 /* its link is down for good */
    }
    for (unsigned i = 0; i < s->queues; i++) {
        NetClientState *front = &s->end[NET_STAGE_NIC][i]->nc;

        front->link_down = down;
        if (front->peer && front->peer->info->type == NET_CLIENT_DRIVER_NIC) {
            front->peer->link_down = down;
        }
    }
    if (first && first->info->link_status_changed) {
        first->info->link_status_changed(first);
    }
}

/* The backend sees the NIC's link as its peer's, as without a stage. */
static void stage_tell_backend(NetStage *s)
{
    NetClientState *first = stage_backend(s, 0);
    bool changed = false;

    if (s->room->hears_past_nic) {
        return;
    }
    for (unsigned i = 0; i < s->queues; i++) {
        NetClientState *front = &s->end[NET_STAGE_NIC][i]->nc;
        NetClientState *back = &s->end[NET_STAGE_BACKEND][i]->nc;
        bool down = front->link_down || (front->peer && front->peer->link_down);

        changed |= down != (bool)back->link_down;
        back->link_down = down;
    }
    if (changed && first && first->info->link_status_changed) {
        first->info->link_status_changed(first);
    }
}

/* Backends pad short frames unless their peer says that it wants them so. */
static void stage_take_padding(NetStage *s)
{
    for (unsigned i = 0; i < s->queues; i++) {
        NetClientState *nic = s->end[NET_STAGE_NIC][i]->nc.peer;

        s->end[NET_STAGE_BACKEND][i]->nc.do_not_pad = nic && nic->do_not_pad;
    }
}

/*
 * Lets in what waits before @end.  While the machine is stopped nothing may
 * change but for a room that runs on; QEMU flushes the queue when it goes on,
 * if the end can receive.
 */
static void stage_wake(StageEnd *end)
{
    if (runstate_is_running() || end->nc.while_stopped) {
        qemu_flush_queued_packets(&end->nc);
    } else {
        end->nc.receive_disabled = 0;
    }
}

/* Returns: whether it is to be looked at again. */
static bool stage_look_at(NetStage *s, unsigned queue)
{
    StageEnd *front = s->end[NET_STAGE_NIC][queue];

    if (!front->waiting || front->is_stuck) {
        return false;
    }
    if (!runstate_is_running()) {
        front->looks = 0;       /* it cannot take any */
        return true;
    }
    if (!front->looks++) {
        return true;
    }
    front->is_stuck = true;
    trace_net_stage_stuck(s->id, queue);
    stage_wake(s->end[NET_STAGE_BACKEND][queue]);
    return false;
}

static void stage_look(void *opaque)
{
    NetStage *s = opaque;
    bool again = false;

    for (unsigned i = 0; i < s->queues; i++) {
        again |= stage_look_at(s, i);
    }
    if (again) {
        stage_look_later(s);
    }
}

static void stage_settle(void *opaque)
{
    NetStage *s = opaque;

    stage_tell_backend(s);
    stage_take_padding(s);
    for (unsigned i = 0; i < s->queues; i++) {
        stage_wake(s->end[NET_STAGE_NIC][i]);
        stage_wake(s->end[NET_STAGE_BACKEND][i]);
    }
    if (!s->changed) {
        return;
    }
    s->changed = false;
    trace_net_stage_changed(s->id, net_stage_link_up(s, NET_STAGE_NIC),
                            net_stage_link_up(s, NET_STAGE_BACKEND));
    if (s->room->changed) {
        s->room->changed(s);
    }
}

/* The peer of an end has come, has gone, or its link has changed. */
static void stage_peer_changed(StageEnd *end)
{
    if (!end->nc.peer) {
        end->waiting = 0;       /* the queue they were in is gone */
        end->is_stuck = false;
    }
    end->stage->changed = true;
    qemu_bh_schedule(end->stage->settle);
}

/*
 * Some NICs (vmxnet3, eepro100, ...) write the address that the guest programs
 * over the one that they were configured with, so that one is noted when the
 * NIC comes, before any guest can know it.
 */
static void stage_note_nic(NetStage *s)
{
    NetClientState *nc = s->end[NET_STAGE_NIC][0]->nc.peer;
    bool is_nic = nc && nc->info->type == NET_CLIENT_DRIVER_NIC;

    if (is_nic && !s->has_nic) {
        s->nic_mac = qemu_get_nic(nc)->conf->macaddr;
    }
    s->has_nic = is_nic;
}

static void stage_front_link_changed(NetClientState *nc)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    if (end->stage) {
        stage_note_nic(end->stage);
        stage_peer_changed(end);
    }
}

static void stage_back_link_changed(NetClientState *nc)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    if (!end->stage) {
        return;
    }
    stage_peer_changed(end);
    /* Of a backend with several queues, the first is the first to go. */
    if (end->queue == 0) {
        stage_tell_nic(end->stage, !nc->peer || nc->peer->link_down);
    }
}

/* --- what the NIC asks the backend ---------------------------------------- */

/* Frames that wait in a stage that ends, or between two drivers. */
static void stage_throw_away(NetStage *s, unsigned queue)
{
    NetClientState *backend = stage_backend(s, queue);

    qemu_purge_queued_packets(&s->end[NET_STAGE_NIC][queue]->nc);
    qemu_purge_queued_packets(&s->end[NET_STAGE_BACKEND][queue]->nc);
    if (backend) {
        qemu_purge_queued_packets(backend);     /* it waits for that */
    }
}

static NetClientState *stage_asked(NetClientState *nc)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    return end->stage ? stage_far_end(end)->nc.peer : NULL;
}

/*
 * A NIC goes by what it was told when it was made, also after its backend has
 * gone, so the answers about headers do not change then.
 */
static bool stage_has_vnet_hdr(NetClientState *nc)
{
    NetStage *s = stage_behind(nc);

    return s && s->has_vnet_hdr;
}

static bool stage_has_vnet_hdr_len(NetClientState *nc, int len)
{
    NetClientState *backend = stage_asked(nc);

    return backend ? qemu_has_vnet_hdr_len(backend, len)
                   : stage_has_vnet_hdr(nc);
}

static bool stage_has_ufo(NetClientState *nc)
{
    NetStage *s = stage_behind(nc);

    return s && s->has_ufo;
}

static bool stage_has_uso(NetClientState *nc)
{
    NetStage *s = stage_behind(nc);

    return s && s->has_uso;
}

static void stage_set_vnet_hdr_len(NetClientState *nc, int len)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    if (!end->stage) {
        return;
    }
    if (end->told_vnet_len != len) {
        stage_throw_away(end->stage, end->queue);
    }
    end->told_vnet_len = len;
    len = end->stage->has_tunnels ? NET_STAGE_VNET_TUNNEL : len;
    stage_far_end(end)->nc.vnet_hdr_len = len;
    qemu_set_vnet_hdr_len(stage_asked(nc), len);
}

static int stage_set_vnet_le(NetClientState *nc, bool is_le)
{
    return qemu_set_vnet_le(stage_asked(nc), is_le);
}

static int stage_set_vnet_be(NetClientState *nc, bool is_be)
{
    return qemu_set_vnet_be(stage_asked(nc), is_be);
}

static void stage_tell_offloads(NetStage *s)
{
    unsigned on = s->asked & ~s->denied;

    qemu_set_offload(stage_backend(s, 0), !!(on & NET_STAGE_CSUM),
                     !!(on & NET_STAGE_TSO4), !!(on & NET_STAGE_TSO6),
                     !!(on & NET_STAGE_ECN), !!(on & NET_STAGE_UFO),
                     !!(on & NET_STAGE_USO4), !!(on & NET_STAGE_USO6));
    if (s->takes_tunnels && stage_backend(s, 0)) {
        net_stage_tap_take_tunnels(stage_backend(s, 0), on);
    }
}

static void stage_set_offload(NetClientState *nc, int csum, int tso4,
                              int tso6, int ecn, int ufo, int uso4, int uso6)
{
    NetStage *s = stage_behind(nc);

    if (s) {
        s->asked = (csum ? NET_STAGE_CSUM : 0) |
                   (tso4 ? NET_STAGE_TSO4 : 0) |
                   (tso6 ? NET_STAGE_TSO6 : 0) |
                   (ecn ? NET_STAGE_ECN : 0) |
                   (ufo ? NET_STAGE_UFO : 0) |
                   (uso4 ? NET_STAGE_USO4 : 0) |
                   (uso6 ? NET_STAGE_USO6 : 0);
        stage_tell_offloads(s);
    }
}

static bool stage_set_steering_ebpf(NetClientState *nc, int prog_fd)
{
    NetClientState *backend = stage_asked(nc);

    return backend && backend->info->set_steering_ebpf &&
           backend->info->set_steering_ebpf(backend, prog_fd);
}

/* --- begin and end -------------------------------------------------------- */

/* The stage is no more; its ends may stay as long as QEMU wants. */
static void stage_end(NetStage *s)
{
    trace_net_stage_end(s->id);
    QTAILQ_REMOVE(&stages, s, next);
    for (NetStageSide side = 0; side < NET_STAGE_SIDES; side++) {
        for (unsigned i = 0; i < s->queues; i++) {
            s->end[side][i]->stage = NULL;
        }
    }
    for (unsigned i = 0; i < s->queues; i++) {
        stage_throw_away(s, i);
    }
    qemu_bh_delete(s->settle);
    if (s->look) {
        timer_free(s->look);
    }
    if (s->room->free) {
        s->room->free(s->opaque);
    }
    g_free(s->end[NET_STAGE_NIC]);
    g_free(s->end[NET_STAGE_BACKEND]);
    g_free(s->id);
    g_free(s);
}

static void stage_cleanup(NetClientState *nc)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);
    NetClientState *back;

    if (!end->stage) {
        return;
    }
    back = &end->stage->end[NET_STAGE_BACKEND][0]->nc;
    stage_end(end->stage);
    if (nc != back) {
        qemu_del_net_client(back);      /* all of its queues */
    }
}

/* The clients' methods; they differ in the type, which users see. */
static NetClientInfo *stage_info(NetClientDriver type, NetStageSide side)
{
    static NetClientInfo infos[NET_CLIENT_DRIVER__MAX][NET_STAGE_SIDES];
    NetClientInfo *info = &infos[type][side];

    *info = (NetClientInfo) {
        .type = type,
        .size = sizeof(StageEnd),
        .receive_iov = stage_receive_iov,
        .can_receive = stage_can_receive,
        .cleanup = stage_cleanup,
        .link_status_changed = stage_back_link_changed,
    };
    if (side == NET_STAGE_NIC) {
        info->link_status_changed = stage_front_link_changed;
        info->has_ufo = stage_has_ufo;
        info->has_uso = stage_has_uso;
        info->has_vnet_hdr = stage_has_vnet_hdr;
        info->has_vnet_hdr_len = stage_has_vnet_hdr_len;
        info->set_offload = stage_set_offload;
        info->set_vnet_hdr_len = stage_set_vnet_hdr_len;
        info->set_vnet_le = stage_set_vnet_le;
        info->set_vnet_be = stage_set_vnet_be;
        info->set_steering_ebpf = stage_set_steering_ebpf;
    }
    return info;
}

/* Who uses @nc, by the name that the user has given. */
static const char *stage_user_of(NetClientState *nc)
{
    StageEnd *end = stage_end_of(nc->peer);

    return end && end->stage ? end->stage->id : nc->peer->name;
}

static bool stage_can_wrap(NetClientState *nc, const char *id, Error **errp)
{
    if (nc->peer) {
        error_setg(errp, "netdev '%s' is already used by '%s': "
                   "give '%s' a netdev of its own",
                   nc->name, stage_user_of(nc), id);
        return false;
    }
    switch (nc->info->type) {
    case NET_CLIENT_DRIVER_VHOST_USER:
    case NET_CLIENT_DRIVER_VHOST_VDPA:
        error_setg(errp, "netdev '%s' is of type %s, whose frames do not come "
                   "through QEMU: '%s' needs another type, such as tap or "
                   "stream",
                   nc->name, NetClientDriver_str(nc->info->type), id);
        return false;
    case NET_CLIENT_DRIVER_TAP:
        if (get_vhost_net(nc)) {
            error_setg(errp, "netdev '%s' has vhost=on, with which frames do "
                       "not come through QEMU: '%s' needs vhost=off",
                       nc->name, id);
            return false;
        }
        return true;
    default:
        return true;
    }
}

/* Fills @ncs with the queues of @backend; returns their number, or 0. */
static unsigned stage_find_backend(const char *id, const char *backend,
                                   NetClientState **ncs, Error **errp)
{
    int queues = qemu_find_net_clients_except(backend, ncs,
                                              NET_CLIENT_DRIVER_NIC,
                                              MAX_QUEUE_NUM);

    if (queues == 0) {
        error_setg(errp, "netdev '%s' not found: it must be there before '%s'; "
                   "QEMU takes netdevs in JSON first, then the others",
                   backend, id);
        return 0;
    }
    if (queues > MAX_QUEUE_NUM) {
        error_setg(errp, "netdev '%s' has %d queues, more than %d",
                   backend, queues, MAX_QUEUE_NUM);
        return 0;
    }
    for (int i = 0; i < queues; i++) {
        if (!stage_can_wrap(ncs[i], id, errp)) {
            return 0;
        }
    }
    return queues;
}

static void stage_add_end(NetStage *s, NetStageSide side, unsigned queue,
                          NetClientState *peer, const char *name)
{
    NetClientDriver type = s->room->type;
    NetClientState *nc = qemu_new_net_client(stage_info(type, side), peer,
                                             NetClientDriver_str(type), name);
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    nc->queue_index = queue;
    end->stage = s;
    end->side = side;
    end->queue = queue;
    s->end[side][queue] = end;
}

static void stage_add_ends(NetStage *s, const char *backend,
                           NetClientState **ncs)
{
    static unsigned serial;
    g_autofree char *name = g_strdup_printf("%s/%s#%u", s->id, backend,
                                            serial++);

    for (unsigned i = 0; i < s->queues; i++) {
        stage_add_end(s, NET_STAGE_NIC, i, NULL, s->id);
        qemu_set_info_str(&s->end[NET_STAGE_NIC][i]->nc, "netdev=%s", backend);
    }
    for (unsigned i = 0; i < s->queues; i++) {
        ncs[i]->queue_index = i;
        stage_add_end(s, NET_STAGE_BACKEND, i, ncs[i], name);
        qemu_set_info_str(&s->end[NET_STAGE_BACKEND][i]->nc, "part of %s",
                          s->id);
    }
}

/* Down to the real backend, through stages between it and this one. */
static void stage_run_while_stopped(NetStage *s)
{
    for (NetStage *at = s; at; at = stage_behind(stage_backend(at, 0))) {
        for (unsigned i = 0; i < at->queues; i++) {
            at->end[NET_STAGE_BACKEND][i]->nc.while_stopped = true;
        }
    }
}

NetStage *net_stage_new(const NetStageRoom *room, const char *id,
                        const char *backend, NetClientState *peer,
                        void *opaque, Error **errp)
{
    g_autofree NetClientState **ncs = g_new(NetClientState *, MAX_QUEUE_NUM);
    unsigned queues = 0;
    NetStage *s;

    if (peer) {
        error_setg(errp, "-net %s does not exist: use -netdev %s,id=%s,... "
                   "and -device", NetClientDriver_str(room->type),
                   NetClientDriver_str(room->type), id);
    } else {
        queues = stage_find_backend(id, backend, ncs, errp);
    }
    if (!queues) {
        if (room->free) {
            room->free(opaque);
        }
        return NULL;
    }
    s = g_new0(NetStage, 1);
    s->room = room;
    s->opaque = opaque;
    s->id = g_strdup(id);
    s->queues = queues;
    s->end[NET_STAGE_NIC] = g_new0(StageEnd *, queues);
    s->end[NET_STAGE_BACKEND] = g_new0(StageEnd *, queues);
    s->settle = qemu_bh_new(stage_settle, s);
    s->has_vnet_hdr = qemu_has_vnet_hdr(ncs[0]);
    s->has_ufo = qemu_has_ufo(ncs[0]);
    s->has_uso = qemu_has_uso(ncs[0]);
    stage_add_ends(s, backend, ncs);
    if (room->while_stopped) {
        stage_run_while_stopped(s);
    }
    if (room->hears_past_nic) {
        s->look = timer_new_ms(QEMU_CLOCK_REALTIME, stage_look, s);
    }
    QTAILQ_INSERT_TAIL(&stages, s, next);
    trace_net_stage_new(id, backend, queues);
    return s;
}

void net_stage_delete(NetStage *s)
{
    qemu_del_net_client(&s->end[NET_STAGE_NIC][0]->nc);
}

/* --- what a room, or a hook, asks ----------------------------------------- */

void *net_stage_opaque(NetStage *s)
{
    return s->opaque;
}

const char *net_stage_id(NetStage *s)
{
    return s->id;
}

NetClientState *net_stage_queue(NetStage *s, unsigned queue)
{
    assert(queue < s->queues);
    return &s->end[NET_STAGE_NIC][queue]->nc;
}

unsigned net_stage_queues(NetStage *s)
{
    return s->queues;
}

void net_stage_foreach(const NetStageRoom *room,
                       void (*func)(NetStage *stage, void *data), void *data)
{
    NetStage *s;

    QTAILQ_FOREACH(s, &stages, next) {
        if ((!room || s->room == room) && !stage_is_deleted(s)) {
            func(s, data);
        }
    }
}

NetStage *net_stage_find(const char *id, const NetStageRoom *room)
{
    NetStage *s;

    QTAILQ_FOREACH(s, &stages, next) {
        if (!strcmp(s->id, id) && !stage_is_deleted(s)) {
            return !room || s->room == room ? s : NULL;
        }
    }
    return NULL;
}

bool net_stage_nic_mac(NetStage *s, uint8_t mac[6])
{
    NetClientState *nc = s->end[NET_STAGE_NIC][0]->nc.peer;

    while (nc && stage_end_of(nc)) {
        s = stage_end_of(nc)->stage;
        nc = s ? s->end[NET_STAGE_NIC][0]->nc.peer : NULL;
    }
    if (!s || !s->has_nic) {
        return false;
    }
    memcpy(mac, s->nic_mac.a, 6);
    return true;
}

bool net_stage_present(NetStage *s, NetStageSide side)
{
    return s->end[side][0]->nc.peer;
}

bool net_stage_link_up(NetStage *s, NetStageSide side)
{
    NetClientState *nc = &s->end[side][0]->nc;

    return nc->peer && !nc->peer->link_down;
}

unsigned net_stage_vnet_len(NetStage *s, NetStageSide side, unsigned queue)
{
    assert(queue < s->queues);
    return s->end[side][queue]->nc.vnet_hdr_len;
}

bool net_stage_use_tunnels(NetStage *s)
{
    NetClientState *backend = stage_backend(s, 0);

    s->has_tunnels = backend && net_stage_tap_has_tunnels(backend);
    return s->has_tunnels;
}

void net_stage_take_tunnels(NetStage *s)
{
    if (s->has_tunnels && !s->takes_tunnels) {
        s->takes_tunnels = true;
        stage_tell_offloads(s);
    }
}

unsigned net_stage_offloads(NetStage *s)
{
    return s->asked & ~s->denied;
}

unsigned net_stage_asked(NetStage *s)
{
    return s->asked;
}

void net_stage_deny(NetStage *s, unsigned offloads)
{
    if (offloads != s->denied) {
        s->denied = offloads;
        stage_tell_offloads(s);
    }
}

NetStageStats net_stage_stats(NetStage *s, NetStageSide side)
{
    NetStageStats stats = s->stats[side];

    for (unsigned i = 0; i < s->queues; i++) {
        NetClientState *nc = &s->end[side][i]->nc;

        stats.overflow += qemu_net_queue_overflow(nc->incoming_queue);
    }
    return stats;
}

bool net_stage_refuse_failover(NetClientState *netdev, Error **errp)
{
    NetStage *s = stage_behind(netdev);

    if (s) {
        error_setg(errp, "failover=on gives the guest a primary device, whose "
                   "frames do not pass '%s': leave failover out, or give the "
                   "NIC a netdev without one of type %s", s->id,
                   NetClientDriver_str(s->room->type));
    }
    return s;
}

NetClientState *net_stage_below(NetClientState *nc)
{
    for (NetStage *s; (s = stage_behind(nc->peer));) {
        nc = &s->end[NET_STAGE_BACKEND][stage_end_of(nc->peer)->queue]->nc;
    }
    return nc;
}

NetClientState *net_stage_backend(NetStage *s)
{
    return net_stage_below(&s->end[NET_STAGE_BACKEND][0]->nc)->peer;
}

static void stage_print_stats(Monitor *mon, NetStage *s)
{
    for (NetStageSide side = 0; side < NET_STAGE_SIDES; side++) {
        const NetStageStats stats = net_stage_stats(s, side), *st = &stats;

        monitor_printf(mon, "   %s: passed=%" PRIu64 ",dropped=%" PRIu64
                       ",held=%" PRIu64 ",malformed=%" PRIu64
                       ",nobody=%" PRIu64 ",down=%" PRIu64
                       ",sent=%" PRIu64 ",refused=%" PRIu64
                       ",overflow=%" PRIu64 "\n", side_name[side],
                       st->passed, st->dropped, st->held, st->malformed,
                       st->nobody, st->down, st->sent, st->refused,
                       st->overflow);
    }
}

void net_stage_print(Monitor *mon, NetClientState *nc)
{
    NetStage *s = stage_behind(nc);
    unsigned queue;

    if (!s) {
        return;
    }
    queue = stage_end_of(nc)->queue;
    if (queue == 0) {
        stage_print_stats(mon, s);
    }
    nc = stage_backend(s, queue);
    if (nc) {
        monitor_printf(mon, " \\ ");
        print_net_client(mon, nc);
        net_stage_print(mon, nc);
    }
}
