/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ICMPv6 messages that the agent answers: echo, home agent discovery */
#ifndef HA_DISCOVERY_H
#define HA_DISCOVERY_H

#include "net/mip6/core/icmp.h"

#define MIP6_DISCOVERY_MAX      2048u   /* maximum length of a request */

/**
 * mip6_discovery_answer: build the answer to an ICMPv6 packet
 * @buf: space for MIP6_DISCOVERY_MAX octets
 * @agent: the agent's address
 * @agents: the home agents of the link: a reply without its identifier
 * @offset: of the ICMPv6 header in the packet @p of @len octets
 *
 * At the anycast address, only discovery requests are answered. The source of
 * the answer is @agent.
 *
 * Returns: octets of the answer; 0: no answer
 */
size_t mip6_discovery_answer(void *buf, const struct in6_addr *agent,
                             const Mip6Icmp *agents, const uint8_t *p,
                             size_t offset, size_t len);

#endif /* HA_DISCOVERY_H */
