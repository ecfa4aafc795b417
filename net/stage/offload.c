/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts between virtio-net headers of frames and PacketOffload */
#include "qemu/osdep.h"

#include "net/stage/offload.h"

PacketOffload net_stage_read_offload(const NetStageFrame *frame)
{
    uint8_t header[NET_STAGE_VNET_MAX];

    assert(frame->vnet_len <= sizeof(header));
    return net_stage_vnet_read(header,
                               iov_to_buf(frame->iov, frame->iovcnt, 0, header,
                                          frame->vnet_len));
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
        .vnet_len = net_stage_vnet_len(stage, to, queue),
        .queue = queue,
    };

    assert(iovcnt < ARRAY_SIZE(part));
    if (frame.vnet_len) {
        net_stage_vnet_write(vnet, frame.vnet_len, offload);
    }
    part[0] = (struct iovec) { vnet, frame.vnet_len };
    memcpy(part + 1, iov, iovcnt * sizeof(*iov));
    return net_stage_send(stage, to, &frame);
}
