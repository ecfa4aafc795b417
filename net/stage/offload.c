/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-net's header
 *
 * Its fields have the guest's order of octets, which is little-endian but for
 * guests of before virtio 1.0 on big-endian machines.
 */
#include "qemu/osdep.h"

#include "net/stage/offload.h"
#include "qemu/bswap.h"
#include "standard-headers/linux/virtio_net.h"

static PacketGso gso_of(uint8_t type)
{
    switch (type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
        return PACKET_GSO_TCP4;
    case VIRTIO_NET_HDR_GSO_TCPV6:
        return PACKET_GSO_TCP6;
    case VIRTIO_NET_HDR_GSO_UDP_L4:
        return PACKET_GSO_UDP;
    default:
        return PACKET_GSO_NONE;
    }
}

PacketOffload net_stage_read_offload(const NetStageFrame *frame)
{
    struct virtio_net_hdr hdr = { 0 };

    if (frame->vnet_len) {
        iov_to_buf(frame->iov, frame->iovcnt, 0, &hdr, sizeof(hdr));
    }
    return (PacketOffload) {
        .needs_csum = hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = lduw_le_p(&hdr.csum_start),
        .csum_offset = lduw_le_p(&hdr.csum_offset),
        .gso = gso_of(hdr.gso_type),
        .ecn = hdr.gso_type & VIRTIO_NET_HDR_GSO_ECN,
        .gso_size = lduw_le_p(&hdr.gso_size),
        .head_len = lduw_le_p(&hdr.hdr_len),
    };
}

static uint8_t gso_type(const PacketOffload *offload)
{
    static const uint8_t types[] = {
        [PACKET_GSO_NONE] = VIRTIO_NET_HDR_GSO_NONE,
        [PACKET_GSO_TCP4] = VIRTIO_NET_HDR_GSO_TCPV4,
        [PACKET_GSO_TCP6] = VIRTIO_NET_HDR_GSO_TCPV6,
        [PACKET_GSO_UDP] = VIRTIO_NET_HDR_GSO_UDP_L4,
    };

    return types[offload->gso] | (offload->ecn ? VIRTIO_NET_HDR_GSO_ECN : 0);
}

void net_stage_write_offload(void *vnet, const PacketOffload *offload)
{
    struct virtio_net_hdr *hdr = vnet;

    if (offload->needs_csum) {
        hdr->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        stw_le_p(&hdr->csum_start, offload->csum_start);
        stw_le_p(&hdr->csum_offset, offload->csum_offset);
    }
    if (offload->gso != PACKET_GSO_NONE) {
        hdr->gso_type = gso_type(offload);
        stw_le_p(&hdr->gso_size, offload->gso_size);
        stw_le_p(&hdr->hdr_len, offload->head_len);
    }
}

bool net_stage_send_packet(NetStage *stage, NetStageSide to, unsigned queue,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload)
{
    uint8_t vnet[NET_STAGE_VNET_MAX] = { 0 };
    struct iovec part[NET_STAGE_PARTS_MAX + 9];
    NetStageFrame frame = {
        .iov = part,
        .iovcnt = iovcnt + 1,
        .vnet_len = net_stage_vnet_len(stage, queue),
        .queue = queue,
    };

    assert(iovcnt < ARRAY_SIZE(part));
    net_stage_write_offload(vnet, offload);
    part[0] = (struct iovec) { vnet, frame.vnet_len };
    memcpy(part + 1, iov, iovcnt * sizeof(*iov));
    return net_stage_send(stage, to, &frame);
}
