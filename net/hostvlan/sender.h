/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame use only its sender's addresses? ARP, neighbour discovery, IP,
 * DHCP
 *
 * This goes beyond the paper: a check of the MAC address does not keep a guest
 * from using the IP address of another guest.
 */
#ifndef NET_HOSTVLAN_SENDER_H
#define NET_HOSTVLAN_SENDER_H

#include "net/hostvlan/headers.h"
#include "net/hostvlan/table.h"

/**
 * hostvlan_sender_check: check a frame's sender addresses
 * @frame: from its destination address on; nothing else may change it
 * @len: octets at @frame: all, or at least HOSTVLAN_LOOK_LEN of them
 * @size: length of the whole frame, at least @len
 * @mac: the port's address, which is also the frame's source
 * @own: the addresses that @mac may send from; NULL or empty: only link-layer
 *       addresses are checked
 * @fixed: if the frame passes, set to the number of octets that the verdict
 *         depends on; no checksum offload may write to them
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_FORGED_ADDRESS, or HOSTVLAN_MALFORMED if
 * the frame cannot be parsed far enough.
 */
enum hostvlan_reason hostvlan_sender_check(const uint8_t *frame, size_t len,
                                           size_t size, uint64_t mac,
                                           const HostvlanAddresses *own,
                                           size_t *fixed);

/**
 * hostvlan_sender_dhcp: check a frame to DHCP servers, of a client
 *
 * The arguments are as for hostvlan_sender_check(), which the frame must have
 * passed. A DHCP server or relay agent (HOSTVLAN_OFFER_DHCP) may send what does
 * not pass.
 * @fixed: if it is such a frame and passes, set to the number of octets that
 *         the verdict depends on, at least those of before
 * @checksum: set to the offset of a checksum in them that offload may write; 0:
 *            there is none
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_FORGED_ADDRESS or HOSTVLAN_MALFORMED
 */
enum hostvlan_reason hostvlan_sender_dhcp(const uint8_t *frame, size_t len,
                                          size_t size, uint64_t mac,
                                          const HostvlanAddresses *own,
                                          size_t *fixed, size_t *checksum);

/**
 * hostvlan_sender_offload: does checksum offload spare the checked octets?
 * @vnet: a virtio-net header of 10 octets or more, in either byte order
 * @fixed: octets of the frame that must not change, at least those that
 *         hostvlan_verdict_send() has read
 * @checksum: offset of a checksum in them that may change; 0: there is none
 *
 * The backend writes a checksum to the position in this header; that could also
 * be inside a source address.
 *
 * Returns: false if the position is within @fixed.
 */
bool hostvlan_sender_offload(const uint8_t *vnet, size_t fixed,
                             size_t checksum);

#endif /* NET_HOSTVLAN_SENDER_H */
