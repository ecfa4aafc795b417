/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts between virtio-net headers of frames and PacketOffload */
#ifndef VMMNET_NET_STAGE_OFFLOAD_H
#define VMMNET_NET_STAGE_OFFLOAD_H

#include "net/packet/segment.h"
#include "net/stage/stage.h"
#include "net/stage/vnet.h"

/* The longest virtio-net header. */
#define NET_STAGE_VNET_MAX   NET_STAGE_VNET_TUNNEL

/**
 * net_stage_read_offload: read the header of a frame (net_stage_vnet_read())
 *
 * It reads a copy, because the guest may change its header at any time.
 */
PacketOffload net_stage_read_offload(const NetStageFrame *frame);

/**
 * net_stage_send_packet: net_stage_send() with a header made from @offload
 * @queue: see net_stage_send()
 * @iov: without virtio-net header, at most NET_STAGE_PARTS_MAX + 8 parts
 *
 * Returns: as net_stage_send()
 */
bool net_stage_send_packet(NetStage *stage, NetStageSide to, unsigned queue,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload);

#endif /* VMMNET_NET_STAGE_OFFLOAD_H */
