/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a tunnel: its MTU, and fragments over one of less than 1320 */
#ifndef NET_MIP6_HA_PATH_H
#define NET_MIP6_HA_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "net/packet/ip6.h"

/* Headers before a fragment of a tunnelled packet. */
#define MIP6_PATH_HEAD_LEN  (PACKET_IP6_LEN + PACKET_IP6_FRAGMENT_LEN)

/* An ICMPv6 "packet too big" about a tunnelled packet, read. */
typedef struct Mip6PathTold {
    struct in6_addr care_of, home;
    uint32_t mtu;               /* PACKET_IP6_MTU_MIN.. */
} Mip6PathTold;

/**
 * mip6_path_too_big: read an ICMPv6 message to the agent
 * @packet: from its IPv6 header on
 * @offset: of the ICMPv6 message
 *
 * Returns: false if it is not about a tunnelled packet of @agent, or damaged
 */
bool mip6_path_too_big(Mip6PathTold *told, const struct in6_addr *agent,
                       const uint8_t *packet, size_t offset, size_t len);

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
