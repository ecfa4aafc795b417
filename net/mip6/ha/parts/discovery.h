/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's answers by ICMPv6: to pings, and to home agent discovery */
#ifndef NET_MIP6_HA_DISCOVERY_H
#define NET_MIP6_HA_DISCOVERY_H

#include "net/mip6/core/icmp.h"

#define MIP6_DISCOVERY_MAX      2048u   /* octets of a question */

/**
 * mip6_discovery_answer: answer an ICMPv6 packet
 * @buf: room for MIP6_DISCOVERY_MAX octets
 * @agent: the agent's address
 * @agents: the home agents of the link: a reply without its identifier
 * @offset: of the ICMPv6 header in the packet @p of @len octets
 *
 * To the anycast address, only a discovery is answered, by @agent alone.
 *
 * Returns: octets of the answer; 0: there is none
 */
size_t mip6_discovery_answer(void *buf, const struct in6_addr *agent,
                             const Mip6Icmp *agents, const uint8_t *p,
                             size_t offset, size_t len);

#endif /* NET_MIP6_HA_DISCOVERY_H */
