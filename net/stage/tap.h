/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tunnel offloads of a tap
 *
 * Linux' tun accepts super-frames in UDP tunnels since Linux 6.17.  QEMU 10.0
 * does not know this; it needs the longest form of the virtio-net header
 * (net/stage/vnet.h).  To write such frames, the header is enough.  The kernel
 * delivers such frames only if TUNSETOFFLOAD asked for them, and segments them
 * otherwise.  The kernel also segments them for every other receiver that does
 * not accept them, except for packet sockets.
 */
#ifndef VMMNET_NET_STAGE_TAP_H
#define VMMNET_NET_STAGE_TAP_H

#include "net/net.h"

#ifdef CONFIG_LINUX
#include "base/rtnl.h"
#endif

/**
 * net_stage_tap_has_tunnels: Returns: true if a netdev accepts super-frames in
 * tunnels
 *
 * The test resets the tap's offloads: call it before the NIC sets any.
 */
bool net_stage_tap_has_tunnels(NetClientState *nc);

/**
 * net_stage_tap_take_tunnels: let the kernel send super-frames in tunnels
 * @nc: a netdev for which net_stage_tap_has_tunnels() returned true
 * @offloads: bits of NetStageOffload that the NIC accepts; without
 *            NET_STAGE_CSUM and one of the TSO bits, tunnels stay off
 */
void net_stage_tap_take_tunnels(NetClientState *nc, unsigned offloads);

/**
 * net_stage_tap_is_port: Returns: true if the tap has a master in the kernel
 *
 * The master is a bridge, Open vSwitch's datapath or a bond.  The kernel
 * forwards frames of such a tap, and segments super-frames for receivers that
 * do not accept them.  Without a master the receiver is unknown: it may be a
 * virtual switch in user space that uses a packet socket.
 *
 * The result is also false if the kernel does not answer, or the interface is
 * in another network namespace.
 */
bool net_stage_tap_is_port(NetClientState *nc);

#ifdef CONFIG_LINUX
/**
 * net_stage_tap_link: the interface of a tap
 * @link: filled in as an event RTNL_LINK
 *
 * Returns: 0; -ENODEV if the interface was deleted or @nc is no tap; -EXDEV if
 * it is in another network namespace, or the kernel does not answer
 */
int net_stage_tap_link(NetClientState *nc, RtnlEvent *link);

/**
 * net_stage_tap_ask_link: an interface of this network namespace
 * @index: 0: look for @name
 * @link: filled in as an event RTNL_LINK
 *
 * Returns: false if there is none, or the kernel does not answer
 */
bool net_stage_tap_ask_link(unsigned index, const char *name, RtnlEvent *link);
#endif

#endif /* VMMNET_NET_STAGE_TAP_H */
