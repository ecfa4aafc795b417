/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of frames through a stage; stage.c has the theory of operation */
#include "qemu/osdep.h"

#include "net/stage/frames.h"
#include "net/stage/offload.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "trace.h"

const char *const stage_side_name[] = { "NIC", "backend" };

StageEnd *stage_end_of(NetClientState *nc)
{
    return nc->info->receive_iov == stage_receive_iov
           ? DO_UPCAST(StageEnd, nc, nc) : NULL;
}

NetStage *stage_behind(NetClientState *nc)
{
    StageEnd *end = nc ? stage_end_of(nc) : NULL;

    return end && end->side == NET_STAGE_NIC ? end->stage : NULL;
}

StageEnd *stage_far_end(const StageEnd *end)
{
    return end->stage->end[!end->side][end->queue];
}

NetClientState *stage_backend_queue(const NetStage *s, unsigned queue)
{
    return s->end[NET_STAGE_BACKEND][queue]->nc.peer;
}

static bool stage_is_frame(size_t size, size_t vnet_len)
{
    return size > vnet_len && size <= NET_STAGE_FRAME_MAX;
}

/* The peer of @out has answered to a frame.  A NIC without a driver refuses. */
static void stage_note_answer(StageEnd *out, ssize_t ret)
{
    if (ret < 0 && out->side == NET_STAGE_BACKEND) {
        out->stage->stats[NET_STAGE_NIC].failed++;
        trace_net_stage_fail(out->stage->id);
        stage_tap_watch_failed(out->stage->tap);
    }
}

static void stage_sent(NetClientState *nc, ssize_t ret)
{
    StageEnd *out = DO_UPCAST(StageEnd, nc, nc);

    out->idle_ticks = 0;
    if (out->stage) {
        stage_note_answer(out, ret);
    }
    if (!out->stage || --out->waiting) {
        return;
    }
    out->is_stuck = false;
    trace_net_stage_go_on(out->stage->id, stage_side_name[out->side],
                          out->queue);
    if (ret == 0) {
        /* QEMU dropped the frames: the peer is being reset or deleted. */
        qemu_bh_schedule(out->stage->settle);
        return;
    }
    qemu_flush_queued_packets(&stage_far_end(out)->nc);
}

static void stage_arm_timer(NetStage *s)
{
    timer_mod(s->look, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
              NET_STAGE_STUCK_MS);
}

static void stage_put(StageEnd *out, const struct iovec *iov, int iovcnt)
{
    ssize_t ret = qemu_sendv_packet_async(&out->nc, iov, iovcnt, stage_sent);

    stage_note_answer(out, ret);
    if (ret == 0) {
        if (!out->waiting++) {
            out->idle_ticks = 0;
        }
        if (out->side == NET_STAGE_NIC && out->stage->look &&
            !timer_pending(out->stage->look)) {
            stage_arm_timer(out->stage);
        }
        trace_net_stage_wait(out->stage->id, stage_side_name[out->side],
                             out->queue);
    }
}

static ssize_t stage_malformed(StageEnd *in, size_t size)
{
    in->stage->stats[in->side].malformed++;
    trace_net_stage_malformed(in->stage->id, stage_side_name[in->side], size);
    return size ?: -1;          /* QEMU would queue the frame at 0 */
}

/*
 * Sends @frame with a header of the length that @out uses: the frame's header,
 * cut, or padded with zeros.  @part has @max entries, more than @frame has.
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
 * Most backends send a frame in one part, and NICs handle one part fastest.
 * So the shorter header is moved up to the frame, in place.  This writes to
 * the buffer of a backend, never to a guest's (guests have the shorter
 * header), and the backend does not read its buffer again.
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
    /* QEMU's compiler flags clear local arrays; a long one takes time. */
    return frame->iovcnt <= NET_STAGE_PARTS_MAX
           ? stage_put_some_parts(out, frame)
           : stage_put_many_parts(out, frame);
}

/*
 * A frame to a link that is down is sent, too: QEMU drops it after the filters
 * have seen it, as without a stage.
 */
static ssize_t stage_pass(StageEnd *in, const NetStageFrame *frame,
                          size_t size)
{
    StageEnd *out = stage_far_end(in);
    NetStageStats *stats = &in->stage->stats[in->side];
    bool is_down = out->nc.peer &&
                   (out->nc.link_down || out->nc.peer->link_down);
    uint64_t failed = stats->failed;

    if (!out->nc.peer) {
        stats->nobody++;
        trace_net_stage_nobody(in->stage->id, stage_side_name[out->side], size);
        return size;
    }
    if (!stage_put_passed(out, frame)) {
        return stage_malformed(in, size);
    }
    if (is_down) {
        stats->down++;
        trace_net_stage_down(in->stage->id, stage_side_name[out->side], size);
    } else if (stats->failed == failed) {
        stats->passed++;
    }
    return size;
}

static NetStageVerdict stage_call_room(StageEnd *in, NetStageFrame *frame)
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

bool stage_can_receive(NetClientState *nc)
{
    StageEnd *in = DO_UPCAST(StageEnd, nc, nc);
    StageEnd *out = in->stage ? stage_far_end(in) : NULL;

    return !out || !out->waiting || out->is_stuck;
}

ssize_t stage_receive_iov(NetClientState *nc, const struct iovec *iov,
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
    switch (stage_call_room(in, &frame)) {
    case NET_STAGE_DROP:
        in->stage->stats[in->side].dropped++;
        trace_net_stage_drop(in->stage->id, stage_side_name[in->side], size);
        return size;
    case NET_STAGE_HOLD:
        in->stage->stats[in->side].held++;
        trace_net_stage_hold(in->stage->id, stage_side_name[in->side], size);
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

/* Sends @frame, which has no virtio-net header, with an empty one. */
static bool stage_put_with_header(StageEnd *out, const NetStageFrame *frame,
                                  unsigned vnet_len)
{
    static const uint8_t empty[NET_STAGE_VNET_MAX];
    struct iovec iov[NET_STAGE_PARTS_MAX + 1];

    if (frame->iovcnt > NET_STAGE_PARTS_MAX) {
        return false;
    }
    iov[0].iov_base = (void *)empty;
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
        trace_net_stage_refuse(s->id, stage_side_name[to]);
    }
    return sent;
}

void net_stage_release(NetStage *s)
{
    qemu_bh_schedule(s->settle);
}

void stage_wake(StageEnd *end)
{
    if (runstate_is_running() || end->nc.while_stopped) {
        qemu_flush_queued_packets(&end->nc);
    } else {
        end->nc.receive_disabled = 0;
    }
}

/* Returns: true if the queue must be looked at again */
static bool stage_check_nic(NetStage *s, unsigned queue)
{
    StageEnd *front = s->end[NET_STAGE_NIC][queue];

    if (!front->waiting || front->is_stuck) {
        return false;
    }
    if (!runstate_is_running()) {
        front->idle_ticks = 0;  /* the NIC cannot receive */
        return true;
    }
    if (!front->idle_ticks++) {
        return true;
    }
    front->is_stuck = true;
    trace_net_stage_stuck(s->id, queue);
    stage_wake(s->end[NET_STAGE_BACKEND][queue]);
    return false;
}

void stage_check_nics(void *opaque)
{
    NetStage *s = opaque;
    bool again = false;

    for (unsigned i = 0; i < s->queues; i++) {
        again |= stage_check_nic(s, i);
    }
    if (again) {
        stage_arm_timer(s);
    }
}

void stage_throw_away(NetStage *s, unsigned queue)
{
    NetClientState *backend = stage_backend_queue(s, queue);

    qemu_purge_queued_packets(&s->end[NET_STAGE_NIC][queue]->nc);
    qemu_purge_queued_packets(&s->end[NET_STAGE_BACKEND][queue]->nc);
    if (backend) {
        qemu_purge_queued_packets(backend);     /* queued for our end */
    }
}
