/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the agent, for its files
 *
 * Each stands on those below it only:
 *
 *   agent.c             all packets, by what they are; time
 *   messages.c          mobility headers and ICMPv6
 *   registration.c, decapsulate.c
 *   listeners.c         groups
 *   encapsulate.c, adverts.c
 *   answers.c           what the agent says, and its counters
 *
 * Packets begin with their IPv6 header, and have as many octets as it says.
 */
#ifndef NET_MIP6_HA_AGENT_INTERNAL_H
#define NET_MIP6_HA_AGENT_INTERNAL_H

#include "net/mip6/ha/agent/agent.h"
#include "net/packet/ip6.h"

#define SECOND          1000000000ll
#define HOPS            64      /* of what the agent sends */
#define HOPS_AT         7u      /* the hop limit in an IPv6 header */

/* --- answers.c ------------------------------------------------------------ */

/** mip6_agent_bound: the binding of @home, if it holds; NULL: none */
Mip6AgentBinding *mip6_agent_bound(const Mip6Agent *a,
                                   const struct in6_addr *home);

/** mip6_agent_drop: count a packet that ends here */
void mip6_agent_drop(Mip6Agent *a, Mip6AgentDrop why);

/**
 * mip6_agent_believes: does the packet that is read now come from the node of
 * @home? It does if it came in that node's ESP, or the node has no keys.
 */
bool mip6_agent_believes(const Mip6Agent *a, const struct in6_addr *home);

/**
 * mip6_agent_may_tell: may an error, or an answer that anybody can ask for, be
 * sent (RFC 4443 section 2.4 (f))? It counts as sent, or as muted.
 */
bool mip6_agent_may_tell(Mip6Agent *a, int64_t now);

/**
 * mip6_agent_signal: send a message to the node of @home; in ESP, if it has
 * keys
 * @packet: with MIP6_PROTECT_MORE octets of room behind its @len
 */
void mip6_agent_signal(Mip6Agent *a, const struct in6_addr *home,
                       uint8_t *packet, size_t len);

/**
 * mip6_agent_tell_icmp6: answer a packet by an ICMPv6 error
 * @arg: the second word of the error
 */
void mip6_agent_tell_icmp6(Mip6Agent *a, int64_t now, uint8_t type,
                           uint8_t code, uint32_t arg, const uint8_t *p,
                           size_t len);

/**
 * mip6_agent_tell_binding: send a Binding Error (RFC 6275 section 9.3.3) to
 * @to about @home
 */
void mip6_agent_tell_binding(Mip6Agent *a, int64_t now, uint8_t status,
                             const struct in6_addr *to,
                             const struct in6_addr *home);

/**
 * mip6_agent_acknowledge: send a Binding Acknowledgement (section 9.5.4)
 * @to: the care-of address, by way of a routing header; or @home itself
 * @lifetime: MIP6_LIFETIME_UNIT
 */
void mip6_agent_acknowledge(Mip6Agent *a, const struct in6_addr *to,
                            const struct in6_addr *home, uint8_t status,
                            uint16_t sequence, uint16_t lifetime);

/** mip6_agent_refuse: the same for an update without effect; it is counted */
void mip6_agent_refuse(Mip6Agent *a, const struct in6_addr *source,
                       const struct in6_addr *home, uint8_t status,
                       uint16_t sequence);

/* --- encapsulate.c -------------------------------------------------------- */

/**
 * mip6_agent_into_tunnel: send a packet to the care-of address of @b
 * @ip: its header
 *
 * Returns: false, and it is counted, if it ends here. The sender of one that is
 * too large is told.
 */
bool mip6_agent_into_tunnel(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                            const PacketIp6 *ip, const uint8_t *p, size_t len);

/**
 * mip6_agent_let_pass: the host may forward packets of @b as they are to be
 * forwarded now; call it again when that changes
 *
 * It may not if they go in ESP.
 */
void mip6_agent_let_pass(Mip6Agent *a, Mip6AgentBinding *b);

/** mip6_agent_stop_pass: the host may forward packets of @b no longer */
void mip6_agent_stop_pass(Mip6Agent *a, Mip6AgentBinding *b);

/**
 * mip6_agent_path_error: take an ICMPv6 error about a tunnelled packet
 * @offset: of the ICMPv6 header in @p
 *
 * "Packet too big" lowers the MTU of the binding's path. The sender of the
 * packet is told as far as the error quotes it (RFC 2473 section 8).
 *
 * Returns: false if it is something else, or about no binding
 */
bool mip6_agent_path_error(Mip6Agent *a, int64_t now, const uint8_t *p,
                           size_t offset, size_t len);

/* --- listeners.c ---------------------------------------------------------- */

/** mip6_agent_query: ask a mobile node what it listens to: Mip6GroupsOps */
void mip6_agent_query(void *opaque, int64_t now, const Mip6GroupsNode *node);

/**
 * mip6_agent_report: a mobile node says which groups it listens to (RFC 6275
 * section 10.4.3)
 * @outer: the header of the tunnel
 */
void mip6_agent_report(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                       const PacketMld *mld);

/**
 * mip6_agent_send_group: a mobile node sends to a group: the home link and
 * other nodes hear it
 * @p: its hop limit is changed
 * @from: the node's care-of address
 */
void mip6_agent_send_group(Mip6Agent *a, int64_t now, PacketIp6 *ip, uint8_t *p,
                           size_t len, const struct in6_addr *from);

/* --- decapsulate.c -------------------------------------------------------- */

/**
 * mip6_agent_out_of_tunnel: forward a packet that came through a tunnel
 * @outer: the header of the tunnel
 * @inner: the packet of @len octets, or what claims to be one; may be changed
 */
void mip6_agent_out_of_tunnel(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                              uint8_t *inner, size_t len);

/* --- registration.c ------------------------------------------------------- */

/**
 * mip6_agent_update: take a Binding Update (section 10.3)
 * @source: of the packet, which the answer goes to
 */
void mip6_agent_update(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                       const struct in6_addr *home,
                       const struct in6_addr *source);

/** mip6_agent_end_due: end bindings, and DAD, whose time is over */
void mip6_agent_end_due(Mip6Agent *a, int64_t now);

/* --- messages.c ----------------------------------------------------------- */

/**
 * mip6_agent_mh: take a mobility header (section 9.2)
 * @ext: from packet_ip6_walk(), with @offset within @len
 */
void mip6_agent_mh(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                   const PacketIp6Ext *ext, const uint8_t *p, size_t len);

/**
 * mip6_agent_icmp6: take an ICMPv6 message, as mip6_agent_mh(): pings, home
 * agent discovery, errors
 *
 * Answers have the rate of errors, so that nobody is flooded by way of us.
 */
void mip6_agent_icmp6(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                      const uint8_t *p, size_t len);

/**
 * mip6_agent_solicitation: take a Mobile Prefix Solicitation (section 10.6.1),
 * as mip6_agent_mh(); only of a mobile node that is bound, from where it is
 */
void mip6_agent_solicitation(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                             const PacketIp6Ext *ext, const uint8_t *p,
                             size_t len);

#endif /* NET_MIP6_HA_AGENT_INTERNAL_H */
