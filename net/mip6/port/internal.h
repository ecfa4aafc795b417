/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of a port, for its files
 *
 * guest.c and link.c stand on control.c, that and port.c on late.c and
 * discovery.c, and those on bindings.c. All but bindings.c, discovery.c and
 * guest.c stand on early.c. out.c is below all of them.
 */
#ifndef NET_MIP6_PORT_INTERNAL_H
#define NET_MIP6_PORT_INTERNAL_H

#include "net/mip6/port/port.h"

/* A whole message of control: neighbour discovery, mobility, ICMPv6. */
#define MIP6_CONTROL_MAX        (PACKET_ETH_LEN + 1500u)

/* A packet that has arrived: its sender, and its place in the frame. */
typedef struct Mip6Arrived {
    const PacketEth *eth;
    const struct iovec *iov;    /* the frame, or fragments put together */
    int iovcnt;
    size_t offset;              /* of the packet in it */
    const PacketOffload *offload;
    /* It was in ESP, of this home address, in this association; NULL: not. */
    const Mip6Binding *opened;
    Mip6ProtectSa sa;
} Mip6Arrived;

static inline bool mip6_port_is_home(const Mip6Port *p)
{
    return p->is_known && !p->is_away;
}

static inline Mip6Verdict mip6_port_drop(Mip6Port *p, Mip6Drop why)
{
    p->dropped[why]++;
    return MIP6_DONE;
}

/* The home agent in use; as long as none is known, all of them. */
static inline const struct in6_addr *mip6_port_agent(const Mip6Port *p)
{
    return p->dhaad.agents ? &p->dhaad.agent[p->dhaad.current]
                           : &p->dhaad.anycast;
}

static inline bool mip6_port_is_agent(const Mip6Port *p,
                                      const struct in6_addr *addr)
{
    return p->dhaad.agents && packet_ip6_equal(addr, mip6_port_agent(p));
}

/* The source of errors about the guest's packets. */
static inline const struct in6_addr *mip6_port_router(const Mip6Port *p)
{
    return p->home.learned.has_router ? &p->home.learned.router
                                      : mip6_port_agent(p);
}

static inline bool mip6_port_has_esp(const Mip6Port *p)
{
    return p->config.protect[0];
}

/* May a packet be believed that came by way of @sa, or should have? */
static inline bool mip6_port_is_protected(const Mip6Port *p,
                                          const Mip6Arrived *from,
                                          Mip6ProtectSa sa)
{
    return mip6_port_has_esp(p) ? from->opened && from->sa == sa : true;
}

/* Is it for the home address of the association that it came by, if any? */
static inline bool mip6_port_is_selected(const Mip6Arrived *from,
                                         const struct in6_addr *home)
{
    return !from->opened ||
           packet_ip6_equal(home, &from->opened->config.home);
}

/* Packets that are sent now are for, or of, the home address of @b. */
static inline void mip6_port_choose(Mip6Port *p, const Mip6Binding *b)
{
    mip6_tunnel_choose(&p->tunnel, b - p->binding);
}

/* Perhaps a message of neighbour discovery (RFC 4861): worth a look. */
static inline bool mip6_port_like_nd(const uint8_t *packet, size_t len)
{
    return len >= PACKET_IP6_LEN + 8 &&
           packet[6] == PACKET_PROTO_ICMP6 && packet[7] == 255;
}

/* --- out.c ---------------------------------------------------------------- */

extern const PacketOffload mip6_port_no_offload;

/* A frame of the care-of host's own, to the link; @opaque is the port. */
void mip6_port_transmit(void *opaque, const void *frame, size_t len);

/*
 * A message of mobility or of prefix discovery, of the home address of @b, goes
 * in ESP, if there is ESP.
 * @room: octets at @packet, MIP6_PROTECT_MORE above @len
 *
 * Returns: its octets; 0, and it is counted, if it cannot be sent
 */
size_t mip6_port_protect(Mip6Port *p, const Mip6Binding *b, void *packet,
                         size_t len, size_t room);

/* --- bindings.c ----------------------------------------------------------- */

/* Have a binding for each home address of the configuration. */
void mip6_port_bind_configured(Mip6Port *p, const Mip6BindingOps *ops);

/* Have another one. Returns NULL if there is no room. */
Mip6Binding *mip6_port_bind(Mip6Port *p, const struct in6_addr *home);

/* The binding of @home; NULL: it has none. */
Mip6Binding *mip6_port_binding(Mip6Port *p, const struct in6_addr *home);

bool mip6_port_any_is(const Mip6Port *p, Mip6State state);

/* When may the agent get another update? For Mip6BindingOps. */
int64_t mip6_port_may_update(void *opaque);
void mip6_port_has_updated(Mip6Port *p);

/*
 * All of them: away, with this care-of address, which is valid until then, or
 * none; home; again.
 */
void mip6_port_register(Mip6Port *p, int64_t now,
                        const struct in6_addr *care_of, int64_t valid_until);
void mip6_port_deregister(Mip6Port *p, int64_t now);
void mip6_port_refresh(Mip6Port *p, int64_t now);

/* Those in p->unsent: they can be sent now. */
void mip6_port_retry(Mip6Port *p, int64_t now);

/* Has another binding ended, and the VM is at home? Of which address? */
bool mip6_port_came_home(Mip6Port *p, struct in6_addr *home);

int64_t mip6_port_bindings_deadline(const Mip6Port *p);
void mip6_port_bindings_tick(Mip6Port *p, int64_t now);

/* --- discovery.c ---------------------------------------------------------- */

/* The configured home agent, or none yet. */
void mip6_port_agent_init(Mip6Port *p);

/*
 * The home agent that another port has used, "::" if it knew none; @bound: it
 * has a binding. Returns false if that cannot be; nothing is changed then.
 */
bool mip6_port_agent_load(Mip6Port *p, const struct in6_addr *agent,
                          bool bound);

/* Away: find an agent if none is known. @care_of may be NULL: there is none. */
void mip6_port_seek_agent(Mip6Port *p, int64_t now,
                          const struct in6_addr *care_of);

/* A home agent address discovery reply, for one of our addresses. */
Mip6Verdict mip6_port_take_agents(Mip6Port *p, int64_t now,
                                  const PacketIp6 *ip, const uint8_t *icmp,
                                  size_t len);

/* If the agent in use does not want, or does not answer: the next one. */
void mip6_port_try_next_agent(Mip6Port *p, int64_t now);

/* --- port.c --------------------------------------------------------------- */

/* Give each part what the others have found out, if there is something. */
void mip6_port_settle(Mip6Port *p, int64_t now);

/* Does this advertisement say where the VM is? */
void mip6_port_judge_location(Mip6Port *p, int64_t now, const PacketNdRa *ra);

/* --- early.c -------------------------------------------------------------- */

/* The care-of host's address on the home link; NULL: it has none. */
const struct in6_addr *mip6_port_early_address(const Mip6Port *p);

/* At home, a Binding Update has gone to the agent at @mac. */
void mip6_port_early_sent(Mip6Port *p, const Mip6Binding *b,
                          const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/* At home: does a message about an address of the guest end here? */
bool mip6_port_early_keeps_back(Mip6Port *p, bool from_guest,
                                const PacketEth *eth, const PacketNd *nd);

/*
 * The VM has left: ask whether the agent still sends here what is for it. Then
 * the question comes back. Returns false if it cannot be asked.
 */
bool mip6_port_early_ask(Mip6Port *p, const Mip6Binding *b);
bool mip6_port_early_is_question(const Mip6Port *p, const uint8_t *packet,
                                 size_t len);

/* Tell the home link that the agent takes what is for the VM. */
void mip6_port_early_announce(Mip6Port *p, const Mip6Binding *b);

void mip6_port_early_tick(Mip6Port *p);

/* --- late.c --------------------------------------------------------------- */

/* The VM has left, or is here again, or nobody asks any more. */
void mip6_port_late_begin(Mip6Port *p);
void mip6_port_late_end(Mip6Port *p);

/* A packet at @offset of a frame, or of what a tunnel has brought, has come. */
Mip6Verdict mip6_port_late(Mip6Port *p, const PacketEth *eth,
                           const struct iovec *iov, int iovcnt, size_t offset,
                           const PacketOffload *offload);

/* The agent's tunnel has brought a packet, whose first octets are @inner. */
void mip6_port_late_tunnelled(Mip6Port *p, const uint8_t *inner, size_t len);

/* Away: the agent knows no binding of @source. Returns false if not by us. */
bool mip6_port_late_refused(Mip6Port *p, const struct in6_addr *source);

/* At home: who takes the guest's packets now? */
void mip6_port_late_heard(Mip6Port *p, const PacketNd *nd);

int64_t mip6_port_late_deadline(const Mip6Port *p);
void mip6_port_late_tick(Mip6Port *p);

/* --- control.c ------------------------------------------------------------ */

/* At home: a frame passes, and what it says of the link is noted. */
void mip6_port_overhear(Mip6Port *p, int64_t now, bool from_guest,
                        const struct iovec *iov, int iovcnt);

/* At home: does a frame end here, as the agent speaks for the guest, too? */
bool mip6_port_keeps_back(Mip6Port *p, bool from_guest,
                          const struct iovec *iov, int iovcnt);

Mip6Verdict mip6_port_take_nd(Mip6Port *p, int64_t now, const PacketEth *eth,
                              const uint8_t *packet, size_t len);
Mip6Verdict mip6_port_take_mh(Mip6Port *p, int64_t now,
                              const Mip6Arrived *from, const PacketIp6 *ip,
                              const PacketIp6Ext *ext, const uint8_t *packet,
                              size_t len);
Mip6Verdict mip6_port_take_advert(Mip6Port *p, int64_t now,
                                  const Mip6Arrived *from,
                                  const PacketIp6 *ip,
                                  const PacketIp6Ext *ext,
                                  const uint8_t *packet, size_t len);
Mip6Verdict mip6_port_take_icmp6(Mip6Port *p, int64_t now,
                                 const Mip6Arrived *from, const PacketIp6 *ip,
                                 const uint8_t *icmp, size_t len);

#endif /* NET_MIP6_PORT_INTERNAL_H */
