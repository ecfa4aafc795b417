/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-net's header, in the words of net/packet
 *
 * The layouts are those of virtio 1.4, section 5.1.6; what it calls
 * struct virtio_net_hdr_v1_hash_tunnel is the longest. QEMU 10.0 has the
 * shorter ones only. Numbers are little-endian, but for guests of before virtio
 * 1.0 on big-endian machines.
 */
#ifndef VMMNET_NET_STAGE_VNET_H
#define VMMNET_NET_STAGE_VNET_H

#include "net/packet/segment.h"

/* The shortest header; that which can say a tunnel, which is the longest. */
#define NET_STAGE_VNET_MIN      10u
#define NET_STAGE_VNET_TUNNEL   24u

/**
 * net_stage_vnet_read: what a header asks for
 * @len: octets of it; 0: there is none, and it asks for nothing. That of
 *       NET_STAGE_VNET_TUNNEL octets alone can say a tunnel.
 *
 * Whether the frame is such a one is not looked at. A tunnel that cannot be has
 * the offsets 0.
 */
PacketOffload net_stage_vnet_read(const uint8_t *header, size_t len);

/**
 * net_stage_vnet_write: ask for it
 * @header: @len octets of zeros, at least NET_STAGE_VNET_MIN, and
 *          NET_STAGE_VNET_TUNNEL for a tunnel
 */
void net_stage_vnet_write(uint8_t *header, size_t len,
                          const PacketOffload *offload);

#endif /* VMMNET_NET_STAGE_VNET_H */
