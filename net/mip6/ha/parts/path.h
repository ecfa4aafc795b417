/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a tunnel: errors on it, and fragments over less than 1320 */
#ifndef NET_MIP6_HA_PATH_H
#define NET_MIP6_HA_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "net/packet/ip6.h"

/* Headers before a fragment of a tunnelled packet. */
#define MIP6_PATH_HEAD_LEN  (PACKET_IP6_LEN + PACKET_IP6_FRAGMENT_LEN)

/* An ICMPv6 error about a tunnelled packet, read. */
typedef struct Mip6PathTold {
    uint8_t type, code;
    uint32_t mtu;               /* of "packet too big": PACKET_IP6_MTU_MIN.. */
    struct in6_addr care_of;
    const uint8_t *outer;       /* what the error quotes, from the outer */
    size_t outer_len;           /* header on, cut */
    const uint8_t *inner;       /* of that, from the inner header on; NULL: */
    size_t inner_len;           /* it is in ESP */
    struct in6_addr home;       /* that it was for; only with @inner */
} Mip6PathTold;

/**
 * mip6_path_error: read an ICMPv6 message to the agent
 * @packet: from its IPv6 header on
 * @offset: of the ICMPv6 message
 *
 * Returns: false if it is no error about a tunnelled packet of @agent, damaged,
 * cannot be true, or does not quote so much of the packet that its tunnel can
 * be told
 */
bool mip6_path_error(Mip6PathTold *told, const struct in6_addr *agent,
                     const uint8_t *packet, size_t offset, size_t len);

/**
 * mip6_path_translate: say to the sender of a tunnelled packet what became of
 * it (RFC 2473 section 8.2)
 * @room: the longest packet that goes into the tunnel now
 * @type, @code, @arg: set to those of the ICMPv6 error about @told->inner
 *
 * A node that refuses the tunnel's header is as one that is not there: RFC 2473
 * has that only for an option which the agent does not send.
 *
 * Returns: false if there is nothing to say
 */
bool mip6_path_translate(const Mip6PathTold *told, size_t room, uint8_t *type,
                         uint8_t *code, uint32_t *arg);

/**
 * mip6_path_fragment: the headers before a part of a tunnelled packet
 * @outer: the tunnel's header, as it is without fragments
 * @offset: of the part, a multiple of 8
 * @len: of the part; of one with @more behind it, a multiple of 8
 */
void mip6_path_fragment(uint8_t head[MIP6_PATH_HEAD_LEN],
                        const PacketIp6 *outer, uint32_t id, size_t offset,
                        size_t len, bool more);

#endif /* NET_MIP6_HA_PATH_H */
