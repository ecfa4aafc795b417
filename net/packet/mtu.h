/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MTU handling of a router: MSS clamping and ICMP errors
 *
 * A packet starts with its IPv4 or IPv6 header.
 */
#ifndef NET_PACKET_MTU_H
#define NET_PACKET_MTU_H

#include <stdbool.h>
#include <stddef.h>

/* Space that packet_mtu_error() needs. */
#define PACKET_MTU_ERROR_MAX    1280u

/**
 * packet_mtu_clamp: clamp the MSS in a TCP SYN
 * @packet: its headers, @len octets of it
 * @mtu: maximum length of a packet, including the IP header
 * @partial: TCP's checksum covers only the pseudo header
 *
 * The new MSS is that of packets without options and extension headers,
 * calculated as in RFC 9293 section 3.7.1.
 *
 * Returns: true if the MSS in @packet was larger; option and checksum were
 * changed then
 */
bool packet_mtu_clamp(void *packet, size_t len, size_t mtu, bool partial);

/**
 * packet_mtu_error: build the ICMP error for a packet that is too big
 * @buf: space for PACKET_MTU_ERROR_MAX octets; gets the error from its IP
 *       header on
 * @mtu: maximum length of a packet
 * @cause: the packet; the headers, and the octets that the error quotes, are
 *         enough
 *
 * IPv6: "packet too big" (RFC 4443 section 3.2).  The MTU in it is at least
 * 1280, and a packet of up to 1280 octets causes no error (RFC 8201 section 4).
 * IPv4: "fragmentation needed" (RFC 1191 section 4), if DF is set.
 *
 * The source of the error is the packet's destination address, as Linux does it
 * at the ends of its own tunnels: the switch itself has no address.
 *
 * Returns: octets at @buf, or 0 if no error may be sent: the packet has no
 * unicast source or destination, is an error itself, or is a later fragment
 * (RFC 4443 section 2.4, RFC 1812 section 4.3.2.7)
 */
size_t packet_mtu_error(void *buf, size_t mtu, const void *cause,
                        size_t cause_len);

#endif /* NET_PACKET_MTU_H */
