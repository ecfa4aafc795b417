/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP headers (RFC 9293), as far as forwarding needs them */
#ifndef NET_PACKET_TCP_H
#define NET_PACKET_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_TCP_LEN          20u
#define PACKET_TCP_FLAGS        13u     /* offset of the flags' octet */
#define PACKET_TCP_CHECKSUM     16u     /* offset of the checksum */

/* Flags: those of the octet at PACKET_TCP_FLAGS. */
enum {
    PACKET_TCP_FIN = 0x01,
    PACKET_TCP_SYN = 0x02,
    PACKET_TCP_RST = 0x04,
    PACKET_TCP_PSH = 0x08,
    PACKET_TCP_ACK = 0x10,
    PACKET_TCP_URG = 0x20,
    PACKET_TCP_ECE = 0x40,
    PACKET_TCP_CWR = 0x80,
};

/* A header, in host byte order. */
typedef struct PacketTcp {
    uint16_t src, dst;          /* ports */
    uint32_t sequence, ack;
    uint16_t flags;             /* 12 bits: 4 reserved bits and the octet */
    uint16_t window;
    uint16_t checksum;
    uint16_t urgent;
    uint8_t len;                /* header length, including options */
} PacketTcp;

/**
 * packet_tcp_parse: parse a header
 * @len: octets at @buf
 *
 * Returns: false if the header or an option is truncated; @tcp is filled in if
 * the first 20 octets are present
 */
bool packet_tcp_parse(PacketTcp *tcp, const void *buf, size_t len);

/**
 * packet_tcp_clamp_mss: lower the MSS in a SYN
 * @tcp: the header, from its source port on
 * @len: octets at @tcp; a longer header is left unchanged
 * @mss: the upper bound
 * @partial: the checksum covers only the pseudo header
 *
 * A SYN without the option means 1220, the default for IPv6 (section 3.7.1),
 * and is left unchanged.
 *
 * Returns: true if the MSS was larger; option and checksum were changed then
 */
bool packet_tcp_clamp_mss(void *tcp, size_t len, uint16_t mss, bool partial);

#endif /* NET_PACKET_TCP_H */
