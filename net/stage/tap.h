/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tunnels of a tap
 *
 * Linux' tun takes a super-frame that is in a UDP tunnel (since 6.17), which
 * QEMU 10.0 does not know: virtio-net's header has its longest form
 * (net/stage/vnet.h) for that.  What may be written needs the header alone;
 * what is read is of the kinds that were asked for, and cut to segments else.
 * The kernel cuts for everybody who takes none, but for packet sockets.
 */
#ifndef VMMNET_NET_STAGE_TAP_H
#define VMMNET_NET_STAGE_TAP_H

#include "net/net.h"

/**
 * net_stage_tap_has_tunnels: can a netdev take super-frames of tunnels?
 *
 * The offloads that its NIC has asked for are lost: there must be none yet.
 */
bool net_stage_tap_has_tunnels(NetClientState *nc);

/**
 * net_stage_tap_take_tunnels: let the kernel send super-frames of tunnels
 * @nc: net_stage_tap_has_tunnels()
 * @offloads: bits of NetStageOffload, which the NIC takes; none of tunnels
 *            without NET_STAGE_CSUM and one of TSO
 */
void net_stage_tap_take_tunnels(NetClientState *nc, unsigned offloads);

/**
 * net_stage_tap_is_port: is a tap a port of something in the kernel?
 *
 * A bridge, Open vSwitch's datapath, a bond: what has such a master is
 * forwarded there, and cut for who takes no super-frames. Else nobody knows
 * who takes it; it may be a packet socket, of a virtual switch in user space.
 *
 * Returns: false also if the kernel does not say, or the interface is in
 * another network namespace
 */
bool net_stage_tap_is_port(NetClientState *nc);

#endif /* VMMNET_NET_STAGE_TAP_H */
