/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a router does for a link on which less fits than senders believe
 *
 * A packet begins with its IPv4 or IPv6 header.
 */
#ifndef NET_PACKET_MTU_H
#define NET_PACKET_MTU_H

#include <stdbool.h>
#include <stddef.h>

/* Room that packet_mtu_error() needs. */
#define PACKET_MTU_ERROR_MAX    1280u

/**
 * packet_mtu_clamp: make a TCP connection announce what fits
 * @packet: its headers, @len octets of it
 * @mtu: octets of a packet, IP header included
 * @partial: TCP's checksum is still that of the pseudo header alone
 *
 * The segment size of a SYN becomes that of packets without options and
 * extension headers, as RFC 9293 section 3.7.1 counts it.
 *
 * Returns: true if @packet announced more; option and checksum are changed then
 */
bool packet_mtu_clamp(void *packet, size_t len, size_t mtu, bool partial);

/**
 * packet_mtu_error: tell a sender that its packet did not fit
 * @buf: room for PACKET_MTU_ERROR_MAX octets: gets the error, from its IP
 *       header on
 * @mtu: octets of a packet that would have fitted
 * @cause: the packet; its headers and what fits into an error are enough
 *
 * IPv6: "packet too big" (RFC 4443 section 3.2); a smaller MTU than 1280 is not
 * said, and a packet that is not longer than that gets no error (RFC 8201
 * section 4). IPv4: "fragmentation needed" (RFC 1191 section 4), if fragments
 * are forbidden.
 *
 * The error comes from the address that the packet was for, as Linux has it
 * for the ends of its own tunnels: who cuts a packet here has no address.
 *
 * Returns: octets at @buf, or 0 if nothing may be said: to what has no single
 * sender or receiver, about an error, or a fragment that is not the first
 * (RFC 4443 section 2.4, RFC 1812 section 4.3.2.7)
 */
size_t packet_mtu_error(void *buf, size_t mtu, const void *cause,
                        size_t cause_len);

#endif /* NET_PACKET_MTU_H */
