/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes on links and settings; stage.c has the theory of operation */
#include "qemu/osdep.h"

#include "net/stage/control.h"
#include "net/stage/tap.h"
#include "net/stage/vnet.h"
#include "qemu/main-loop.h"
#include "vmmnet/qemu-compat.h"
#include "trace.h"

bool stage_is_deleted(const NetStage *s)
{
    NetClientState *peer = s->end[NET_STAGE_NIC][0]->nc.peer;

    return peer && peer->info->type == NET_CLIENT_DRIVER_NIC &&
           qemu_get_nic(peer)->peer_deleted;
}

static NetStageVerdict stage_drop(NetStage *stage, NetStageFrame *frame)
{
    return NET_STAGE_DROP;
}

void stage_end_room(NetStage *s)
{
    static const NetStageRoom nobody = {
        .type = NET_CLIENT_DRIVER_STAGE,
        .from_nic = stage_drop,
        .from_backend = stage_drop,
    };
    const NetStageRoom *room = s->room;

    s->room = &nobody;
    if (room->free) {
        room->free(s->opaque);
    }
    s->opaque = NULL;
}

/* --- links and peers ------------------------------------------------------ */

/* Does what QEMU does with a NIC when the link of its netdev changes. */
static void stage_tell_nic(NetStage *s, bool down)
{
    NetClientState *first = s->end[NET_STAGE_NIC][0]->nc.peer;

    if (stage_is_deleted(s)) {
        return;                 /* QEMU has set its link down for good */
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

/* Copies the NIC's link state to the backend's peer, which is our end. */
static void stage_tell_backend(NetStage *s)
{
    NetClientState *first = stage_backend_queue(s, 0);
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

/* Backends pad short frames unless their peer has do_not_pad set. */
static void stage_take_padding(NetStage *s)
{
    for (unsigned i = 0; i < s->queues; i++) {
        NetClientState *nic = s->end[NET_STAGE_NIC][i]->nc.peer;

        s->end[NET_STAGE_BACKEND][i]->nc.do_not_pad = nic && nic->do_not_pad;
    }
}

void stage_settle(void *opaque)
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

/* The peer of an end has come or gone, or the peer's link has changed. */
static void stage_peer_changed(StageEnd *end)
{
    if (!end->nc.peer) {
        end->waiting = 0;       /* the peer's queue is gone */
        end->is_stuck = false;
    }
    end->stage->changed = true;
    qemu_bh_schedule(end->stage->settle);
}

/*
 * Notes the NIC's configured MAC address when the NIC is plugged, before the
 * guest can run its driver: some NICs (vmxnet3, eepro100, ...) overwrite the
 * configured address with the one that the guest programs.
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

    if (!end->stage) {
        return;
    }
    if (stage_is_deleted(end->stage)) {
        stage_end_room(end->stage);
    }
    stage_note_nic(end->stage);
    stage_peer_changed(end);
}

static void stage_back_link_changed(NetClientState *nc)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    if (!end->stage) {
        return;
    }
    stage_peer_changed(end);
    /* QEMU deletes the first queue of a backend first. */
    if (end->queue == 0) {
        if (!nc->peer) {
            g_clear_pointer(&end->stage->tap, stage_tap_watch_free);
        }
        stage_tell_nic(end->stage, !nc->peer || nc->peer->link_down);
    }
}

/* --- the NIC's calls to its backend --------------------------------------- */

/* Returns: the client on the other side of the stage, or NULL */
static NetClientState *stage_far_peer(NetClientState *nc)
{
    StageEnd *end = DO_UPCAST(StageEnd, nc, nc);

    return end->stage ? stage_far_end(end)->nc.peer : NULL;
}

/*
 * A NIC keeps the header format that it learned when it was created.  So the
 * answers about headers stay the same after the backend is gone.
 */
static bool stage_has_vnet_hdr(NetClientState *nc)
{
    NetStage *s = stage_behind(nc);

    return s && s->has_vnet_hdr;
}

static bool stage_has_vnet_hdr_len(NetClientState *nc, int len)
{
    NetClientState *backend = stage_far_peer(nc);

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
    if (end->nic_vnet_len != len) {
        stage_throw_away(end->stage, end->queue);
    }
    end->nic_vnet_len = len;
    len = end->stage->has_tunnels ? NET_STAGE_VNET_TUNNEL : len;
    stage_far_end(end)->nc.vnet_hdr_len = len;
    qemu_set_vnet_hdr_len(stage_far_peer(nc), len);
}

static int stage_set_vnet_le(NetClientState *nc, bool is_le)
{
    return qemu_set_vnet_le(stage_far_peer(nc), is_le);
}

static int stage_set_vnet_be(NetClientState *nc, bool is_be)
{
    return qemu_set_vnet_be(stage_far_peer(nc), is_be);
}

static void stage_tell_offloads(NetStage *s)
{
    unsigned on = s->asked & ~s->denied;

    compat_set_offload(stage_backend_queue(s, 0), &(NetOffloads) {
        .csum = on & NET_STAGE_CSUM,
        .tso4 = on & NET_STAGE_TSO4,
        .tso6 = on & NET_STAGE_TSO6,
        .ecn = on & NET_STAGE_ECN,
        .ufo = on & NET_STAGE_UFO,
        .uso4 = on & NET_STAGE_USO4,
        .uso6 = on & NET_STAGE_USO6,
    });
    if (s->takes_tunnels && stage_backend_queue(s, 0)) {
        net_stage_tap_take_tunnels(stage_backend_queue(s, 0), on);
    }
}

static void stage_set_offload(NetClientState *nc, OFFLOAD_PARAMS)
{
    NetStage *s = stage_behind(nc);
    const NetOffloads *o = OFFLOADS;

    if (s) {
        s->asked = (o->csum ? NET_STAGE_CSUM : 0) |
                   (o->tso4 ? NET_STAGE_TSO4 : 0) |
                   (o->tso6 ? NET_STAGE_TSO6 : 0) |
                   (o->ecn ? NET_STAGE_ECN : 0) |
                   (o->ufo ? NET_STAGE_UFO : 0) |
                   (o->uso4 ? NET_STAGE_USO4 : 0) |
                   (o->uso6 ? NET_STAGE_USO6 : 0);
        stage_tell_offloads(s);
    }
}

static bool stage_set_steering_ebpf(NetClientState *nc, int prog_fd)
{
    NetClientState *backend = stage_far_peer(nc);

    return backend && backend->info->set_steering_ebpf &&
           backend->info->set_steering_ebpf(backend, prog_fd);
}

void stage_control_info(NetClientInfo *info, NetStageSide side)
{
    if (side == NET_STAGE_BACKEND) {
        info->link_status_changed = stage_back_link_changed;
        return;
    }
    info->link_status_changed = stage_front_link_changed;
    info->has_ufo = stage_has_ufo;
    info->has_uso = stage_has_uso;
    /*
     * Not has_tunnel (from 10.2 on), so a NIC has no tunnel offloads behind a
     * stage: its header, and what the guest sees, are the same for each series
     * and machine type.
     */
    info->has_vnet_hdr = stage_has_vnet_hdr;
    info->has_vnet_hdr_len = stage_has_vnet_hdr_len;
    info->set_offload = stage_set_offload;
    info->set_vnet_hdr_len = stage_set_vnet_hdr_len;
    info->set_vnet_le = stage_set_vnet_le;
    info->set_vnet_be = stage_set_vnet_be;
    info->set_steering_ebpf = stage_set_steering_ebpf;
}

/* --- the room's calls ----------------------------------------------------- */

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
    NetClientState *backend = stage_backend_queue(s, 0);

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
