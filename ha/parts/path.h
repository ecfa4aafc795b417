/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a tunnel: errors, and fragments for an MTU below 1320 */
#ifndef HA_PATH_H
#define HA_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "net/packet/ip6.h"

/* Headers of a fragment of a tunnelled packet. */
#define MIP6_PATH_HEAD_LEN  (PACKET_IP6_LEN + PACKET_IP6_FRAGMENT_LEN)

/* A parsed ICMPv6 error about a tunnelled packet. */
typedef struct Mip6PathError {
    uint8_t type, code;
    uint32_t mtu;               /* "packet too big": PACKET_IP6_MTU_MIN.. */
    struct in6_addr care_of;
    const uint8_t *outer;       /* quoted packet from its outer header */
    size_t outer_len;           /* on, may be truncated */
    const uint8_t *inner;       /* its inner header; NULL: with ESP, ... */
    size_t inner_len;           /* ... it is not readable */
    struct in6_addr home;       /* inner destination, if @inner is set */
} Mip6PathError;

/**
 * mip6_path_error: parse an ICMPv6 message to the agent
 * @packet: from its IPv6 header on
 * @offset: of the ICMPv6 message
 *
 * Returns: false if it is not an error about a tunnelled packet of @agent, is
 * damaged or implausible, or quotes too little to identify the tunnel
 */
bool mip6_path_error(Mip6PathError *error, const struct in6_addr *agent,
                     const uint8_t *packet, size_t offset, size_t len);

/**
 * mip6_path_translate: convert it to an error for the inner packet's sender
 * (RFC 2473 section 8.2)
 * @room: maximum length of a packet for the tunnel now
 * @type, @code, @arg: set to those of the ICMPv6 error about @error->inner
 *
 * A node that refuses the tunnel header counts as unreachable: RFC 2473 has
 * another rule only for an option that the agent does not send.
 *
 * Returns: false if no error must be sent
 */
bool mip6_path_translate(const Mip6PathError *error, size_t room, uint8_t *type,
                         uint8_t *code, uint32_t *arg);

/**
 * mip6_path_fragment: write the headers of a fragment of a tunnelled packet
 * @outer: the tunnel's header without fragmentation
 * @offset: of the fragment, a multiple of 8
 * @len: of the fragment; with @more, a multiple of 8
 */
void mip6_path_fragment(uint8_t head[MIP6_PATH_HEAD_LEN],
                        const PacketIp6 *outer, uint32_t id, size_t offset,
                        size_t len, bool more);

#endif /* HA_PATH_H */
