/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netdev between a NIC and its backend: creation, deletion, queries
 *
 * Theory of operation
 * ===================
 *
 * For each queue, a stage has two QEMU net clients, called its ends:
 *
 *     NIC  <-peer->  front ~~~ back  <-peer->  backend
 *
 * All fronts have the stage's ID as their name: a NIC looks up netdevs by name
 * and uses each of them as a queue.  The backs have a name that is not a valid
 * ID, so no other device can find them.  A back is the backend's peer, so the
 * backend cannot be used by a second NIC.
 *
 * Frames (frames.c).  When QEMU delivers a frame to one end, the stage calls
 * the room's function.  If that returns NET_STAGE_PASS, the stage sends the
 * same iov from the other end, without a copy.  Then there are two cases:
 *
 *  - The far peer accepts the frame.  Everything is done before the sender's
 *    call returns.
 *  - The far peer does not accept the frame.  QEMU keeps a copy in the far
 *    peer's queue and calls stage_sent() when the copy is delivered or dropped.
 *    Until then @waiting of the far end is not 0, and the near end reports that
 *    it cannot receive.  So the sender's next frame stays in the near end's
 *    queue, and the sender stops if it can.  stage_sent() flushes that queue.
 *    So a stage holds one frame for each direction and queue, and the room sees
 *    each frame once.
 *
 * The stage never asks the far peer in advance whether it can receive, because
 * QEMU reports a later change of the answer only if a frame is queued.
 *
 * A NIC without receive buffers would thus stop its backend for ever.  Some
 * rooms are stations of their own and must hear the wire all the same
 * (@hears_past_nic).  For them, a timer runs while frames wait for the NIC.  If
 * the NIC takes no frame between two runs of the timer, it is stuck: the back
 * receives again, and each frame is marked for the room (@nic_is_stuck) until
 * no frame waits any more.  Frames that the room itself sends to the NIC are
 * still queued.
 *
 * NET_STAGE_HOLD uses the same mechanism: the end does not accept the frame, so
 * QEMU keeps it in the end's queue, and the stage flushes the queue later.
 *
 * Some backends, above all libslirp, send an answer before their receive
 * function returns.  If a room's function is active at that time, the room is
 * not called a second time: the answer stays in the near end's queue, and a
 * bottom half flushes the queue.
 *
 * A room may ask for tunnel offloads (net_stage_use_tunnels()).  The backend's
 * side then uses the longer virtio-net header that has the tunnel fields, and
 * the NIC's side keeps the shorter one.  The stage converts the header of each
 * frame that passes.
 *
 * Everything else (control.c).  Calls between NIC and backend are passed on.
 * QEMU's set_link changes a netdev and, if its peer is a NIC, the peer; the
 * stage extends this to the whole chain.  Towards the backend it does so a
 * little later (stage_settle()), because QEMU calls link_status_changed before
 * it has changed the NIC's link.  It does not do so for a room that is a
 * station of its own.
 *
 * A hook in net/net.c calls link_status_changed when a peer is added or
 * deleted.  A deleted backend takes its queue with it and does not call
 * stage_sent(): the stage resets @waiting to 0, sets the NIC's link down, and
 * discards frames from the NIC.
 *
 * A netdev that is deleted while a NIC uses it exists until the NIC is gone,
 * because QEMU calls cleanup of the fronts only then.  Its ID is free at once,
 * so what the room has under that ID must not wait: the hook in net/net.c calls
 * link_status_changed of the fronts, and the room ends.  What is left answers
 * the NIC's questions and drops all frames.  Cleanup of the first front ends
 * the stage and deletes the backs.  At exit, QEMU deletes the backs itself.
 *
 * The BQL protects all of this.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "monitor/monitor.h"
#include "net/vhost_net.h"
#include "net/stage/control.h"
#include "qapi/error.h"
#include "trace.h"

static QTAILQ_HEAD(, NetStage) stages = QTAILQ_HEAD_INITIALIZER(stages);

/* --- creation and deletion ------------------------------------------------ */

/* Ends the stage.  QEMU may keep the two ends for longer. */
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
    stage_tap_watch_free(s->tap);
    qemu_bh_delete(s->settle);
    if (s->look) {
        timer_free(s->look);
    }
    stage_end_room(s);
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

/* One set of methods for each type, because users see the type. */
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
    };
    stage_control_info(info, side);
    return info;
}

/* Returns: the name of the peer of @nc, as the user knows it */
static const char *stage_peer_name(NetClientState *nc)
{
    StageEnd *end = stage_end_of(nc->peer);

    return end && end->stage ? end->stage->id : nc->peer->name;
}

static bool stage_can_wrap(NetClientState *nc, const char *id, Error **errp)
{
    if (nc->peer) {
        error_setg(errp, "netdev '%s' is already used by '%s': "
                   "give '%s' a netdev of its own",
                   nc->name, stage_peer_name(nc), id);
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

/* Fills @ncs with the queues of @backend.  Returns: their number, or 0 */
static unsigned stage_find_backend(const char *id, const char *backend,
                                   NetClientState **ncs, Error **errp)
{
    int queues = qemu_find_net_clients_except(backend, ncs,
                                              NET_CLIENT_DRIVER_NIC,
                                              MAX_QUEUE_NUM);

    if (queues == 0) {
        error_setg(errp, "netdev '%s' not found: it must be created before "
                   "'%s'; QEMU creates netdevs given as JSON first, "
                   "then the others",
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

/* Sets the flag for all stages from this one down to the real backend. */
static void stage_run_while_stopped(NetStage *s)
{
    for (NetStage *at = s; at; at = stage_behind(stage_backend_queue(at, 0))) {
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
    s->tap = stage_tap_watch_new(ncs[0], NetClientDriver_str(room->type),
                                 s->id);
    if (room->while_stopped) {
        stage_run_while_stopped(s);
    }
    if (room->hears_past_nic) {
        s->look = timer_new_ms(QEMU_CLOCK_REALTIME, stage_check_nics, s);
    }
    QTAILQ_INSERT_TAIL(&stages, s, next);
    trace_net_stage_new(id, backend, queues);
    return s;
}

void net_stage_delete(NetStage *s)
{
    qemu_del_net_client(&s->end[NET_STAGE_NIC][0]->nc);
}

/* --- queries of rooms and hooks ------------------------------------------- */

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
                       ",failed=%" PRIu64
                       ",sent=%" PRIu64 ",refused=%" PRIu64
                       ",overflow=%" PRIu64 "\n", stage_side_name[side],
                       st->passed, st->dropped, st->held, st->malformed,
                       st->nobody, st->down, st->failed, st->sent, st->refused,
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
    nc = stage_backend_queue(s, queue);
    if (nc) {
        monitor_printf(mon, " \\ ");
        print_net_client(mon, nc);
        net_stage_print(mon, nc);
    }
}
