/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-net's header of a frame, in the words of net/packet */
#ifndef VMMNET_NET_STAGE_OFFLOAD_H
#define VMMNET_NET_STAGE_OFFLOAD_H

#include "net/packet/segment.h"
#include "net/stage/stage.h"

/* The longest virtio-net header, struct virtio_net_hdr_v1_hash. */
#define NET_STAGE_VNET_MAX   20

/** net_stage_read_offload: copied once, as the guest may change it */
PacketOffload net_stage_read_offload(const NetStageFrame *frame);

/** net_stage_write_offload: fill in NET_STAGE_VNET_MAX octets of zeros */
void net_stage_write_offload(void *vnet, const PacketOffload *offload);

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
