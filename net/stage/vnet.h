/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts between the virtio-net header and PacketOffload
 *
 * The layouts are those of virtio 1.4, section 5.1.6.  The longest one is
 * called struct virtio_net_hdr_v1_hash_tunnel there; QEMU 10.0 has only the
 * shorter ones.  Numbers are little-endian, except for guests on big-endian
 * machines that use the legacy interface (before virtio 1.0).
 */
#ifndef VMMNET_NET_STAGE_VNET_H
#define VMMNET_NET_STAGE_VNET_H

#include "net/packet/segment.h"

/* The shortest header, and the longest: the only one with tunnel fields. */
#define NET_STAGE_VNET_MIN      10u
#define NET_STAGE_VNET_TUNNEL   24u

/**
 * net_stage_vnet_read: convert a header
 * @len: octets of @header; 0: the NIC uses no header.  Tunnel fields are read
 *       only if @len is at least NET_STAGE_VNET_TUNNEL.
 *
 * The function does not check the header against the frame.  If the tunnel
 * fields are inconsistent, the result has a tunnel with all offsets 0.
 */
PacketOffload net_stage_vnet_read(const uint8_t *header, size_t len);

/**
 * net_stage_vnet_write: write a header for @offload
 * @header: @len octets of zeros; @len is at least NET_STAGE_VNET_MIN, and at
 *          least NET_STAGE_VNET_TUNNEL for a tunnel
 */
void net_stage_vnet_write(uint8_t *header, size_t len,
                          const PacketOffload *offload);

#endif /* VMMNET_NET_STAGE_VNET_H */
