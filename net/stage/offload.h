/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-net's header of a frame, in the words of net/packet */
#ifndef VMMNET_NET_STAGE_OFFLOAD_H
#define VMMNET_NET_STAGE_OFFLOAD_H

#include "net/packet/segment.h"
#include "net/stage/stage.h"
#include "net/stage/vnet.h"

/* The longest virtio-net header. */
#define NET_STAGE_VNET_MAX   NET_STAGE_VNET_TUNNEL

/**
 * net_stage_read_offload: net_stage_vnet_read(), of a copy
 *
 * The guest may change its header at any time.
 */
PacketOffload net_stage_read_offload(const NetStageFrame *frame);

/**
 * net_stage_send_packet: send a frame of the room's own
 * @queue: as net_stage_send() has it
 * @iov: without virtio-net header, NET_STAGE_PARTS_MAX + 8 parts at most
 *
 * Returns: as net_stage_send()
 */
bool net_stage_send_packet(NetStage *stage, NetStageSide to, unsigned queue,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload);

#endif /* VMMNET_NET_STAGE_OFFLOAD_H */
