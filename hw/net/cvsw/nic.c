/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch in a NIC
 *
 * Theory of operation
 * ===================
 *
 *     virtio-net  <->  switch (a net/stage room)  <->  netdev  <->  the wire
 *
 * The device creates a stage in front of its netdev, and uses the stage as its
 * peer.  Each frame is looked up in the flow table (run/), and the resulting
 * frames leave through the two sides of the stage, which are the OpenFlow ports
 * 1 (the guest) and 2 (the wire).  A frame without a matching flow is passed on
 * unchanged, or is dropped with miss=drop.
 *
 * Control frames from the wire end here.  Control frames from the guest end
 * here, too, and are counted: a guest must not speak for its NIC.  A guest must
 * not block control frames either: the NIC receives them also while the guest
 * takes no frames and while its link is down.  Frames for the guest are then
 * queued up to the limit of the stage; further frames are dropped and counted.
 *
 * A frame leaves through the queue number that it came from; that queue is in
 * use on both sides.  So a receiver that is full in one queue stops only the
 * senders of that queue.
 *
 * While the VM is stopped, no frame is received, as everywhere in QEMU, and
 * nothing is sent: the VM may be about to run on another host.
 *
 * Everything runs under the BQL, in the process of this VM: the VM pays for its
 * own flows.
 */
#include "qemu/osdep.h"

#include "crypto/secret_common.h"
#include "hw/net/cvsw/control/offload.h"
#include "hw/net/cvsw/nic-internal.h"
#include "net/stage/offload.h"
#include "qapi/error.h"
#include "qemu/guest-random.h"
#include "qemu/timer.h"
#include "trace.h"

/* --- frames --------------------------------------------------------------- */

static void cvsw_refused_by_guest(void *opaque)
{
    CvswNic *nic = opaque;

    cvsw_nic_drop(nic, CVSW_PORT_WIRE, CVSW_DROP_QUEUE);
}

static void cvsw_emit(void *opaque, uint32_t port, const struct iovec *iov,
                      int parts, const PacketOffload *offload)
{
    CvswNic *nic = opaque;

    if (port == CVSW_PORT_GUEST) {
        net_stage_gather_send(nic->gather, nic->queue, iov, parts, offload,
                              nic->run->out_of_tunnel);
        if (nic->run->out_of_tunnel) {
            net_stage_take_tunnels(nic->stage);
        }
    } else if (!net_stage_send_packet(nic->stage, NET_STAGE_BACKEND,
                                      nic->queue, iov, parts, offload)) {
        cvsw_nic_drop(nic, CVSW_PORT_GUEST, CVSW_DROP_QUEUE);
    }
}

/* The guest takes no frames: queues a frame that has no flow. */
static NetStageVerdict cvsw_queue_for_guest(CvswNic *nic,
                                            const struct iovec *iov, int parts,
                                            const PacketOffload *offload)
{
    if (!net_stage_send_packet(nic->stage, NET_STAGE_NIC, nic->queue, iov,
                               parts, offload)) {
        cvsw_nic_drop(nic, CVSW_PORT_WIRE, CVSW_DROP_QUEUE);
    }
    return NET_STAGE_DROP;
}

static NetStageVerdict cvsw_take(CvswNic *nic, uint32_t in_port,
                                 NetStageFrame *frame)
{
    PacketOffload offload = net_stage_read_offload(frame);
    struct iovec iov[CVSW_PARTS_MAX];
    int parts = packet_iov_slice(frame->iov, frame->iovcnt, frame->vnet_len,
                                 net_stage_frame_size(frame), iov,
                                 CVSW_PARTS_MAX);

    if (parts < 0) {
        cvsw_nic_drop(nic, in_port, CVSW_DROP_MALFORMED);
        return NET_STAGE_DROP;
    }
    nic->queue = frame->queue;
    if (cvsw_run(nic->run, in_port, iov, parts, &offload, cvsw_nic_now())) {
        return NET_STAGE_DROP;
    }
    if (in_port == CVSW_PORT_WIRE) {
        net_stage_gather_flush(nic->gather);    /* keep the order of frames */
    }
    return frame->nic_is_stuck ?
           cvsw_queue_for_guest(nic, iov, parts, &offload) : NET_STAGE_PASS;
}

static bool cvsw_frame_is_control(const NetStageFrame *frame)
{
    uint8_t head[CVSW_ETH_LEN];

    return cvsw_is_control(head, net_stage_peek(frame, 0, head,
                                                sizeof(head)));
}

static NetStageVerdict cvsw_from_nic(NetStage *stage, NetStageFrame *frame)
{
    CvswNic *nic = net_stage_opaque(stage);

    if (cvsw_frame_is_control(frame)) {
        nic->control_of_guest++;
        trace_cvsw_control_of_guest(nic->name);
        return NET_STAGE_DROP;
    }
    return cvsw_take(nic, CVSW_PORT_GUEST, frame);
}

/* --- control -------------------------------------------------------------- */

static NetStageVerdict cvsw_from_backend(NetStage *stage, NetStageFrame *frame)
{
    CvswNic *nic = net_stage_opaque(stage);
    CvswSessionStats before = *cvsw_session_stats(nic->session);
    uint8_t control[CVSW_FRAME_MAX];

    if (!cvsw_frame_is_control(frame)) {
        return cvsw_take(nic, CVSW_PORT_WIRE, frame);
    }
    cvsw_session_input(nic->session, control,
                       net_stage_peek(frame, 0, control, sizeof(control)),
                       cvsw_nic_now());
    cvsw_nic_trace_session(nic, &before);
    cvsw_nic_tick(nic);
    return NET_STAGE_DROP;
}

static void cvsw_changed(NetStage *stage)
{
    CvswNic *nic = net_stage_opaque(stage);
    bool is_up = net_stage_link_up(stage, NET_STAGE_BACKEND);

    if (is_up && !nic->was_up) {
        cvsw_session_begin(nic->session, cvsw_nic_now());
        cvsw_nic_tick(nic);
    }
    nic->was_up = is_up;
}

static void cvsw_control_send(void *opaque, const void *frame, size_t len)
{
    static const PacketOffload none;
    CvswNic *nic = opaque;
    struct iovec iov = { (void *)frame, len };

    net_stage_send_packet(nic->stage, NET_STAGE_BACKEND, 0, &iov, 1, &none);
}

static bool cvsw_random(void *opaque, void *buf, size_t len)
{
    return qemu_guest_getrandom(buf, len, NULL) == 0;
}

static void cvsw_describe(void *opaque, struct cvsw_register *about)
{
    CvswNic *nic = opaque;

    about->entries_max = nic->flows_max;
    about->masks_max = nic->masks_max;
    about->entries = cvsw_table_stats(nic->run->table).entries;
    about->mtu = nic->commanded.mtu;
    about->groups_max = CVSW_GROUPS_MAX;
}

static void cvsw_commanded(void *opaque, const CvswMessage *command,
                           const CvswSecret *secrets, CvswAnswer *answer)
{
    CvswNic *nic = opaque;

    nic->commanded.epoch = MAX(qemu_clock_get_ms(QEMU_CLOCK_HOST) / 1000,
                               nic->epoch_min);
    cvsw_command(&nic->commanded, command, secrets, cvsw_nic_now(), answer);
    cvsw_nic_trace_command(nic, command, answer);
}

static bool cvsw_set_mtu(void *opaque, uint16_t mtu)
{
    cvsw_nic_set_mtu(opaque, mtu);
    return true;
}

static bool cvsw_set_offload(void *opaque, uint32_t on, uint32_t mask)
{
    CvswNic *nic = opaque;

    QEMU_BUILD_BUG_ON((unsigned)CVSW_OFFLOAD_CSUM != NET_STAGE_CSUM ||
                      (unsigned)CVSW_OFFLOAD_USO6 != NET_STAGE_USO6);
    if (!cvsw_offload_change(on, mask, net_stage_asked(nic->stage),
                             &nic->denied)) {
        return false;
    }
    net_stage_deny(nic->stage, nic->denied);
    return true;
}

/* --- life ----------------------------------------------------------------- */

static void cvsw_free(void *opaque)
{
    CvswNic *nic = opaque;

    cvsw_nic_unwatch(nic);
    if (nic->timer) {
        timer_free(nic->timer);
    }
    net_stage_gather_free(nic->gather);
    cvsw_session_free(nic->session);
    cvsw_table_free(nic->run->table);
    cvsw_sas_free(nic->run->sas);
    g_free(nic->run);
    g_free(nic->name);
    g_free(nic);
}

static const NetStageRoom cvsw_room = {
    .type = NET_CLIENT_DRIVER_STAGE,
    .from_nic = cvsw_from_nic,
    .from_backend = cvsw_from_backend,
    .changed = cvsw_changed,
    .free = cvsw_free,
    .hears_past_nic = true,
};

static bool cvsw_open_session(CvswNic *nic, const char *name,
                              const CvswNicConfig *config, Error **errp)
{
    static const CvswSessionOps ops = {
        .send = cvsw_control_send,
        .random = cvsw_random,
        .describe = cvsw_describe,
        .command = cvsw_commanded,
    };
    g_autofree uint8_t *key = NULL;
    size_t len;

    if (qcrypto_secret_lookup(config->secret, &key, &len, errp) < 0) {
        error_prepend(errp, "%s: control-secret=%s: ", name, config->secret);
        return false;
    }
    if (len < CVSW_KEY_LEN_MIN) {
        error_setg(errp, "%s: control-secret=%s has %zu octets: a key needs "
                   "at least %u random octets", name,
                   config->secret, len, CVSW_KEY_LEN_MIN);
    } else {
        nic->session = cvsw_session_new(&ops, nic, key, len, config->mac.a);
        if (!nic->session) {
            error_setg(errp, "%s: control-secret=%s: libcrypto has no "
                       "HMAC-SHA-256", name, config->secret);
        }
    }
    memset(key, 0, len);
    return nic->session;
}

static CvswNic *cvsw_make(const char *name, const CvswNicConfig *config)
{
    CvswNic *nic = g_new0(CvswNic, 1);

    nic->name = g_strdup(name);
    nic->mac = config->mac;
    nic->flows_max = config->flows_max;
    nic->masks_max = config->masks_max;
    nic->run = g_new0(CvswRun, 1);
    nic->run->table = cvsw_nic_new_table(nic);
    nic->run->sas = cvsw_sas_new();
    nic->run->emit = cvsw_emit;
    nic->run->punt = cvsw_nic_punt;
    nic->run->on_drop = cvsw_nic_on_drop;
    nic->run->wire_cuts = cvsw_nic_wire_cuts;
    nic->run->opaque = nic;
    nic->run->drop_misses = config->drop_misses;
    nic->run->link_mtu = config->link_mtu;
    nic->tell_mtu = config->tell_mtu;
    nic->device = config->device;
    nic->commanded = (CvswCommanded) {
        .table = nic->run->table,
        .sas = nic->run->sas,
        .set_mtu = cvsw_set_mtu,
        .set_offload = cvsw_set_offload,
        .opaque = nic,
    };
    return nic;
}

CvswNic *cvsw_nic_new(const char *name, const CvswNicConfig *config,
                      NICPeers *peers, Error **errp)
{
    CvswNic *nic = cvsw_make(name, config);
    const char *backend = peers->ncs[0]->name;
    g_autofree char *id = g_strdup_printf("%s/cvsw", backend);

    if (!cvsw_open_session(nic, name, config, errp)) {
        cvsw_free(nic);
        return NULL;
    }
    nic->stage = net_stage_new(&cvsw_room, id, backend, NULL, nic, errp);
    if (!nic->stage) {
        cvsw_free(nic);
        return NULL;
    }
    if (!cvsw_nic_use_tunnels(nic, config->tunnel_gso, errp)) {
        net_stage_delete(nic->stage);
        return NULL;
    }
    nic->gather = net_stage_gather_new(nic->stage, cvsw_refused_by_guest, nic);
    for (unsigned i = 0; i < net_stage_queues(nic->stage); i++) {
        peers->ncs[i] = net_stage_queue(nic->stage, i);
    }
    nic->timer = timer_new_ms(QEMU_CLOCK_REALTIME, cvsw_nic_tick, nic);
    nic->was_up = net_stage_link_up(nic->stage, NET_STAGE_BACKEND);
    cvsw_session_begin(nic->session, cvsw_nic_now());
    timer_mod(nic->timer, 0);
    cvsw_nic_watch(nic);
    return nic;
}

typedef struct Walk {
    void (*func)(CvswNic *nic, void *data);
    void *data;
} Walk;

static void cvsw_visit(NetStage *stage, void *data)
{
    const Walk *walk = data;

    walk->func(net_stage_opaque(stage), walk->data);
}

void cvsw_nic_foreach(void (*func)(CvswNic *nic, void *data), void *data)
{
    Walk walk = { func, data };

    net_stage_foreach(&cvsw_room, cvsw_visit, &walk);
}

void cvsw_nic_free(CvswNic *nic)
{
    if (nic) {
        net_stage_delete(nic->stage);
    }
}
