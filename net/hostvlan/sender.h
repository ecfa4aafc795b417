/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame speak for its sender only? ARP, neighbour discovery, IP sources
 *
 * Beyond the paper: a MAC address of its own does not keep a guest from saying
 * that another's IP address is its own.
 */
#ifndef NET_HOSTVLAN_SENDER_H
#define NET_HOSTVLAN_SENDER_H

#include "net/hostvlan/headers.h"
#include "net/hostvlan/table.h"

/**
 * hostvlan_sender_check: may this leave, as far as addresses are concerned?
 * @frame: from its destination address on, and not changed by anybody else
 * @len: octets at @frame: all, or at least HOSTVLAN_LOOK_LEN of them
 * @size: octets of the whole frame, at least @len
 * @mac: the port's; the frame's source was found to be the same
 * @own: the addresses that @mac may send from; NULL or without any: only
 *       link-layer addresses are checked
 * @fixed: filled in when the frame passes: its first octets that were looked
 *         at, and that no checksum offload may write to
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_FORGED_ADDRESS, or HOSTVLAN_MALFORMED for
 * what cannot be read as far as is needed.
 */
enum hostvlan_reason hostvlan_sender_check(const uint8_t *frame, size_t len,
                                           size_t size, uint64_t mac,
                                           const HostvlanAddresses *own,
                                           size_t *fixed);

/**
 * hostvlan_sender_offload: does the checksum go where it does no harm?
 * @vnet: a virtio-net header of 10 octets or more, its numbers in either order
 *        of octets
 * @fixed: octets of the frame that must stay as they are, at least those that
 *         hostvlan_verdict_send() was about
 *
 * Who sends the frame on writes a checksum to where this header says, also
 * into a source address.
 *
 * Returns: false if it would write there.
 */
bool hostvlan_sender_offload(const uint8_t *vnet, size_t fixed);

#endif /* NET_HOSTVLAN_SENDER_H */
