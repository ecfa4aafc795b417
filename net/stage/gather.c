/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coalesces a room's frames to the NIC into super-frames */
#include "qemu/osdep.h"

#include "net/packet/coalesce.h"
#include "net/stage/gather.h"
#include "net/stage/offload.h"
#include "qemu/main-loop.h"

struct NetStageGather {
    NetStage *stage;
    void (*refused)(void *opaque);
    void *opaque;
    QEMUBH *flush;              /* runs at the end of a batch */
    bool paused;
    unsigned takes; /* PACKET_COALESCE_..., for the packets that are held */
    unsigned queue;             /* of the packets that are held */
    PacketCoalesce coalesce;
};

/*
 * Returns: what may be coalesced; nothing for a NIC without virtio-net header
 */
static unsigned gather_takes(const NetStageGather *g)
{
    static const struct {
        unsigned offload, takes;
    } map[] = {
        { NET_STAGE_TSO4, PACKET_COALESCE_TCP4 },
        { NET_STAGE_TSO6, PACKET_COALESCE_TCP6 },
        { NET_STAGE_ECN, PACKET_COALESCE_ECN },
        { NET_STAGE_USO4, PACKET_COALESCE_UDP4 },
        { NET_STAGE_USO6, PACKET_COALESCE_UDP6 },
    };
    unsigned offloads = net_stage_offloads(g->stage), takes = 0;

    if (!(offloads & NET_STAGE_CSUM) ||
        !net_stage_vnet_len(g->stage, NET_STAGE_NIC, 0)) {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
        takes |= offloads & map[i].offload ? map[i].takes : 0;
    }
    return takes;
}

static void gather_sent(NetStageGather *g, bool sent)
{
    if (!sent && g->refused) {
        g->refused(g->opaque);
    }
}

static void gather_put(NetStageGather *g, const struct iovec *iov, int iovcnt,
                       const PacketOffload *offload)
{
    gather_sent(g, net_stage_send_packet(g->stage, NET_STAGE_NIC, g->queue,
                                         iov, iovcnt, offload));
}

/*
 * Sends a super-frame in segments: the NIC does not accept it, or not any more.
 */
static void gather_put_pieces(NetStageGather *g, const struct iovec *iov,
                              int iovcnt, const PacketOffload *offload)
{
    static const PacketOffload no_offload;
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    struct iovec part[NET_STAGE_PARTS_MAX + 8] = { { head, 0 } };
    PacketSegments s;
    int parts;

    if (!packet_segments_begin(&s, offload, iov, iovcnt, offload->gso_size)) {
        gather_sent(g, false);
        return;
    }
    while ((parts = packet_segments_next(&s, head, &part[0].iov_len, part + 1,
                                         ARRAY_SIZE(part) - 1)) >= 0) {
        gather_put(g, part, parts + 1, &no_offload);
    }
}

/* Returns: true if the NIC accepts the frame as it is */
static bool gather_may_pass(const NetStageGather *g,
                            const PacketOffload *offload)
{
    static const unsigned needs[] = {
        [PACKET_GSO_NONE] = 0,
        [PACKET_GSO_TCP4] = NET_STAGE_CSUM | NET_STAGE_TSO4,
        [PACKET_GSO_TCP6] = NET_STAGE_CSUM | NET_STAGE_TSO6,
        [PACKET_GSO_UDP] = NET_STAGE_CSUM | NET_STAGE_USO4 | NET_STAGE_USO6,
    };

    return !(needs[offload->gso] & ~net_stage_offloads(g->stage));
}

/*
 * Sends one part that includes the virtio-net header: the NIC copies it once.
 */
static void gather_coalesced(void *opaque, uint8_t *packet, size_t len,
                             const PacketOffload *offload)
{
    NetStageGather *g = opaque;
    unsigned vnet_len = net_stage_vnet_len(g->stage, NET_STAGE_NIC, g->queue);
    struct iovec iov = { packet - vnet_len, vnet_len + len };
    NetStageFrame frame = {
        .iov = &iov,
        .iovcnt = 1,
        .vnet_len = vnet_len,
        .queue = g->queue,
    };

    QEMU_BUILD_BUG_ON(PACKET_COALESCE_ROOM < NET_STAGE_VNET_MAX);
    if (offload->gso != PACKET_GSO_NONE && (g->takes & ~gather_takes(g))) {
        iov = (struct iovec) { packet, len };
        gather_put_pieces(g, &iov, 1, offload);
        return;
    }
    memset(iov.iov_base, 0, vnet_len);
    if (vnet_len) {
        net_stage_vnet_write(iov.iov_base, vnet_len, offload);
    }
    gather_sent(g, net_stage_send(g->stage, NET_STAGE_NIC, &frame));
}

void net_stage_gather_send(NetStageGather *g, unsigned queue,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload, bool join)
{
    unsigned takes = gather_takes(g);

    if (takes != g->takes || queue != g->queue) {
        packet_coalesce_flush(&g->coalesce);
        g->takes = takes;
        g->queue = queue;
    }
    if (packet_coalesce_take(&g->coalesce, join ? takes : 0, iov, iovcnt,
                             offload)) {
        qemu_bh_schedule(g->flush);
    } else if (gather_may_pass(g, offload)) {
        gather_put(g, iov, iovcnt, offload);
    } else {
        gather_put_pieces(g, iov, iovcnt, offload);
    }
}

void net_stage_gather_flush(NetStageGather *g)
{
    if (!g->paused) {
        packet_coalesce_flush(&g->coalesce);
    }
}

static void gather_end_batch(void *opaque)
{
    net_stage_gather_flush(opaque);
}

void net_stage_gather_pause(NetStageGather *g, bool paused)
{
    g->paused = paused;
    if (!paused) {
        qemu_bh_schedule(g->flush);
    }
}

unsigned net_stage_gather_discard(NetStageGather *g)
{
    return packet_coalesce_discard(&g->coalesce);
}

bool net_stage_gather_is_empty(const NetStageGather *g)
{
    return !g->coalesce.held;
}

uint64_t net_stage_gather_packets(const NetStageGather *g)
{
    return g->coalesce.coalesced;
}

NetStageGather *net_stage_gather_new(NetStage *stage,
                                     void (*refused)(void *opaque),
                                     void *opaque)
{
    NetStageGather *g = g_new0(NetStageGather, 1);

    g->stage = stage;
    g->refused = refused;
    g->opaque = opaque;
    g->flush = qemu_bh_new(gather_end_batch, g);
    packet_coalesce_init(&g->coalesce, gather_coalesced, g);
    return g;
}

void net_stage_gather_free(NetStageGather *g)
{
    if (g) {
        qemu_bh_delete(g->flush);
        g_free(g);
    }
}
