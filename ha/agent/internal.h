/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the agent, for its files
 *
 * Each file uses only those below it:
 *
 *   agent.c             dispatches packets; time
 *   messages.c          mobility headers and ICMPv6
 *   registration.c, decapsulate.c
 *   listeners.c         multicast groups
 *   encapsulate.c, adverts.c
 *   answers.c           messages that the agent sends, and counters
 *
 * Packets start with their IPv6 header, and have the length that it says.
 */
#ifndef HA_AGENT_INTERNAL_H
#define HA_AGENT_INTERNAL_H

#include "base/units.h"
#include "ha/agent/agent.h"
#include "net/packet/ip6.h"

#define HOPS            64      /* of packets that the agent sends */
#define NEXT_AT         6u      /* offset of the next header */
#define HOPS_AT         7u      /* offset of the hop limit */

/* --- answers.c ------------------------------------------------------------ */

/** mip6_agent_bound: the binding of @home; NULL: none, or tentative */
Mip6AgentBinding *mip6_agent_bound(const Mip6Agent *a,
                                   const struct in6_addr *home);

/** mip6_agent_drop: count a dropped packet */
void mip6_agent_drop(Mip6Agent *a, Mip6AgentDrop why);

/** mip6_agent_tell: tell the host what happened to @home */
void mip6_agent_tell(const Mip6Agent *a, Mip6AgentNewsKind kind,
                     const struct in6_addr *home,
                     const struct in6_addr *care_of);

/**
 * mip6_agent_tell_move: tell the host that @b was at another address
 * @kind: MIP6_AGENT_MOVED or MIP6_AGENT_CONTESTED
 */
void mip6_agent_tell_move(const Mip6Agent *a, Mip6AgentNewsKind kind,
                          Mip6AgentBinding *b);

/**
 * mip6_agent_believes: is the current packet authentic for the node of @home?
 * It is if it came in that node's ESP, or if the node has no keys.
 */
bool mip6_agent_believes(const Mip6Agent *a, const struct in6_addr *home);

/**
 * mip6_agent_may_send_error: may an error, or another unauthenticated answer,
 * be sent (RFC 4443 section 2.4 (f))? The call counts it as sent or muted.
 */
bool mip6_agent_may_send_error(Mip6Agent *a, int64_t now);

/**
 * mip6_agent_signal: send a message to the node of @home, with ESP if it has
 * keys
 * @packet: with MIP6_PROTECT_MORE octets of space after its @len
 */
void mip6_agent_signal(Mip6Agent *a, const struct in6_addr *home,
                       uint8_t *packet, size_t len);

/**
 * mip6_agent_send_icmp6_error: answer a packet with an ICMPv6 error
 * @arg: the second word of the error
 */
void mip6_agent_send_icmp6_error(Mip6Agent *a, int64_t now, uint8_t type,
                                 uint8_t code, uint32_t arg, const uint8_t *p,
                                 size_t len);

/**
 * mip6_agent_send_binding_error: send a Binding Error (RFC 6275 section 9.3.3)
 * about @home to @to
 */
void mip6_agent_send_binding_error(Mip6Agent *a, int64_t now, uint8_t status,
                                   const struct in6_addr *to,
                                   const struct in6_addr *home);

/**
 * mip6_agent_acknowledge: send a Binding Acknowledgement (section 9.5.4)
 * @to: the care-of address, with a routing header; or @home itself
 * @lifetime: MIP6_LIFETIME_UNIT
 */
void mip6_agent_acknowledge(Mip6Agent *a, const struct in6_addr *to,
                            const struct in6_addr *home, uint8_t status,
                            uint16_t sequence, uint16_t lifetime);

/** mip6_agent_refuse: the same for a refusal; it is counted and told */
void mip6_agent_refuse(Mip6Agent *a, const struct in6_addr *source,
                       const struct in6_addr *home, uint8_t status,
                       uint16_t sequence);

/* --- encapsulate.c -------------------------------------------------------- */

/**
 * mip6_agent_clamp: lower the MSS in a TCP SYN to or from @b to that of packets
 * that fit into the tunnel without fragments (RFC 2473 section 6.7)
 * @p: the packet, @len octets; the TCP header follows the IPv6 header at once
 */
void mip6_agent_clamp(const Mip6Agent *a, int64_t now,
                      const Mip6AgentBinding *b, uint8_t *p, size_t len);

/**
 * mip6_agent_into_tunnel: send a packet to the care-of address of @b
 * @ip: the packet's header
 * @p: the packet; the MSS in it may be lowered
 *
 * Returns: false if it was dropped and counted. If the packet is too big, its
 * sender gets an error.
 */
bool mip6_agent_into_tunnel(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                            const PacketIp6 *ip, uint8_t *p, size_t len);

/**
 * mip6_agent_let_pass: allow the host to forward packets of @b by itself, with
 * its current parameters; call again when these change
 *
 * Not possible with ESP.
 */
void mip6_agent_let_pass(Mip6Agent *a, Mip6AgentBinding *b);

/** mip6_agent_stop_pass: the host must stop to forward packets of @b */
void mip6_agent_stop_pass(Mip6Agent *a, Mip6AgentBinding *b);

/**
 * mip6_agent_path_error: process an ICMPv6 error about a tunnelled packet
 * @offset: of the ICMPv6 header in @p
 *
 * "Packet too big" lowers the path MTU of the binding. The sender of the inner
 * packet gets an error if enough of the packet is quoted (RFC 2473 section 8).
 *
 * Returns: false if it is another message, or about no binding
 */
bool mip6_agent_path_error(Mip6Agent *a, int64_t now, const uint8_t *p,
                           size_t offset, size_t len);

/* --- listeners.c ---------------------------------------------------------- */

/** mip6_agent_query: query a mobile node for its groups: Mip6GroupsOps */
void mip6_agent_query(void *opaque, int64_t now, const Mip6GroupsNode *node);

/**
 * mip6_agent_report: process a mobile node's report about its groups (RFC 6275
 * section 10.4.3)
 * @outer: the header of the tunnel
 */
void mip6_agent_report(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                       const PacketMld *mld);

/**
 * mip6_agent_send_group: forward a mobile node's multicast packet to the home
 * link and to other nodes
 * @p: its hop limit is changed
 * @from: the node's care-of address
 */
void mip6_agent_send_group(Mip6Agent *a, int64_t now, PacketIp6 *ip, uint8_t *p,
                           size_t len, const struct in6_addr *from);

/* --- decapsulate.c -------------------------------------------------------- */

/**
 * mip6_agent_out_of_tunnel: forward a packet that came through a tunnel
 * @outer: the header of the tunnel
 * @inner: the packet of @len octets, not checked yet; may be modified
 */
void mip6_agent_out_of_tunnel(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                              uint8_t *inner, size_t len);

/* --- registration.c ------------------------------------------------------- */

/**
 * mip6_agent_update: process a Binding Update (section 10.3)
 * @source: source of the packet; gets the answer
 */
void mip6_agent_update(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                       const struct in6_addr *home,
                       const struct in6_addr *source);

/** mip6_agent_end_due: end bindings whose lifetime is over, and DAD */
void mip6_agent_end_due(Mip6Agent *a, int64_t now);

/* --- messages.c ----------------------------------------------------------- */

/**
 * mip6_agent_mh: process a mobility header (section 9.2)
 * @ext: from packet_ip6_walk(), with @offset within @len
 */
void mip6_agent_mh(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                   const PacketIp6Ext *ext, const uint8_t *p, size_t len);

/**
 * mip6_agent_icmp6: process an ICMPv6 message, like mip6_agent_mh(): echo, home
 * agent discovery, errors
 *
 * Answers share the rate limit of errors, so the agent cannot be used for a
 * flood.
 */
void mip6_agent_icmp6(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                      const uint8_t *p, size_t len);

/**
 * mip6_agent_solicitation: process a Mobile Prefix Solicitation (section
 * 10.6.1), like mip6_agent_mh(); only from a bound node's care-of address
 */
void mip6_agent_solicitation(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                             const PacketIp6Ext *ext, const uint8_t *p,
                             size_t len);

#endif /* HA_AGENT_INTERNAL_H */
