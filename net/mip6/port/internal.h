/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of a port, for its files
 *
 * guest.c and link.c use control.c; control.c and port.c use late.c and
 * discovery.c; these use bindings.c. control.c, link.c, port.c and bindings.c
 * use probes.c. All except bindings.c, discovery.c, guest.c and probes.c use
 * early.c. All use out.c. port.c and late.c use state.c.
 */
#ifndef NET_MIP6_PORT_INTERNAL_H
#define NET_MIP6_PORT_INTERNAL_H

#include "net/mip6/port/port.h"

/*
 * Maximum length of a control message: neighbour discovery, mobility, ICMPv6.
 */
#define MIP6_CONTROL_MAX        (PACKET_ETH_LEN + 1500u)

/* A received packet: its sender, and its position in the frame. */
typedef struct Mip6Arrived {
    const PacketEth *eth;
    const struct iovec *iov;    /* the frame, or a reassembled packet */
    int iovcnt;
    size_t offset;              /* of the packet in it */
    const PacketOffload *offload;
    /* Home address and association of its ESP; NULL: it was not in ESP. */
    const Mip6Binding *opened;
    Mip6ProtectSa sa;
} Mip6Arrived;

static inline bool mip6_port_is_home(const Mip6Port *p)
{
    return p->place != MIP6_PLACE_UNKNOWN && p->place != MIP6_PLACE_AWAY;
}

/*
 * The first router to tell that the VM is not at home may answer the guest, by
 * a frame for the guest alone.
 */
static inline bool mip6_port_assumes_home(const Mip6Port *p)
{
    return p->place == MIP6_PLACE_ASSUMED;
}

static inline Mip6Verdict mip6_port_drop(Mip6Port *p, Mip6Drop why)
{
    p->dropped[why]++;
    return MIP6_DONE;
}

/* The home agent in use; the anycast address if none is known. */
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

/* The source address of errors about the guest's packets. */
static inline const struct in6_addr *mip6_port_router(const Mip6Port *p)
{
    return p->home.learned.has_router ? &p->home.learned.router
                                      : mip6_port_agent(p);
}

static inline bool mip6_port_has_esp(const Mip6Port *p)
{
    return p->config.protect[0];
}

/* The number of home addresses with associations. */
static inline unsigned mip6_port_protected(const Mip6Port *p)
{
    return mip6_port_has_esp(p) ? mip6_home_configured(&p->home) : 0;
}

/* Has each of them @sa? */
static inline bool mip6_port_has_sa(const Mip6Port *p, Mip6ProtectSa sa)
{
    return mip6_port_has_esp(p) && mip6_protect_sa(p->config.protect[0], sa);
}

/* May the packet be accepted, given that it should have come by @sa? */
static inline bool mip6_port_is_protected(const Mip6Port *p,
                                          const Mip6Arrived *from,
                                          Mip6ProtectSa sa)
{
    return mip6_port_has_sa(p, sa) ? from->opened && from->sa == sa : true;
}

/* Is it for the home address of the association that it came by, if any? */
static inline bool mip6_port_is_selected(const Mip6Arrived *from,
                                         const struct in6_addr *home)
{
    return !from->opened ||
           packet_ip6_equal(home, &from->opened->config.home);
}

/* Selects the associations of @b for the packets that are sent next. */
static inline void mip6_port_choose(Mip6Port *p, const Mip6Binding *b)
{
    mip6_tunnel_choose(&p->tunnel, b - p->binding);
}

/* Can it be a message of neighbour discovery (RFC 4861)? */
static inline bool mip6_port_like_nd(const uint8_t *packet, size_t len)
{
    return len >= PACKET_IP6_LEN + 8 &&
           packet[6] == PACKET_PROTO_ICMP6 && packet[7] == 255;
}

/* --- state.c -------------------------------------------------------------- */

/* These trace the change. One that is impossible is a bug: the program ends. */
void mip6_port_set_place(Mip6Port *p, Mip6Place to);
void mip6_port_set_presence(Mip6Port *p, Mip6Presence to);

/* --- out.c ---------------------------------------------------------------- */

extern const PacketOffload mip6_port_no_offload;

/* Sends a frame of the care-of host to the link; @opaque is the port. */
void mip6_port_transmit(void *opaque, const void *frame, size_t len);

/*
 * Protects a message of mobility or prefix discovery for the home address of @b
 * with ESP, if ESP is configured.
 * @room: space at @packet; @len plus MIP6_PROTECT_MORE is enough
 *
 * Returns: its length; 0 if it cannot be sent, which is counted
 */
size_t mip6_port_protect(Mip6Port *p, const Mip6Binding *b, void *packet,
                         size_t len, size_t room);

/* --- bindings.c ----------------------------------------------------------- */

/* Creates a binding for each configured home address. */
void mip6_port_bind_configured(Mip6Port *p, const Mip6BindingOps *ops);

/* Creates another one. Returns: NULL if there is no space */
Mip6Binding *mip6_port_bind(Mip6Port *p, const struct in6_addr *home);

/* Returns: the binding of @home; NULL: none */
Mip6Binding *mip6_port_binding(Mip6Port *p, const struct in6_addr *home);

bool mip6_port_any_is(const Mip6Port *p, Mip6State state);

/* Returns: time when the agent may get the next update; Mip6BindingOps */
int64_t mip6_port_may_update(void *opaque);
void mip6_port_has_updated(Mip6Port *p);

/*
 * A packet has gone into the tunnel; the home agent has sent something. Packets
 * do not move the timer.
 */
void mip6_port_has_sent(Mip6Port *p, int64_t now);
static inline void mip6_port_has_heard(Mip6Port *p)
{
    p->silence.since = INT64_MAX;
}

/*
 * Asks an agent of which nothing comes back for a Binding Acknowledgement, by
 * an update of all bindings.
 */
void mip6_port_silence_tick(Mip6Port *p, int64_t now);

/*
 * If no update from the care-of address is answered, turns to another address.
 * Where the agent is discovered, other agents are tried first, and what counts
 * then are the requests.
 */
void mip6_port_try_other_address(Mip6Port *p, int64_t now);

/*
 * For all bindings: away, with this care-of address until the end of its
 * validity, or with none; home; refresh; the VM runs again.
 */
void mip6_port_register(Mip6Port *p, int64_t now,
                        const struct in6_addr *care_of, int64_t valid_until);
void mip6_port_deregister(Mip6Port *p, int64_t now);
void mip6_port_refresh(Mip6Port *p, int64_t now);
void mip6_port_resume(Mip6Port *p, int64_t now);

/* While the VM is paused: ends bindings; when the first one ends. */
void mip6_port_look(Mip6Port *p, int64_t now);
int64_t mip6_port_bound_until(const Mip6Port *p);

/* Retries the bindings in p->unsent: packets can be sent now. */
void mip6_port_retry(Mip6Port *p, int64_t now);

/* At home, has a binding ended? @home is set to its address. */
bool mip6_port_came_home(Mip6Port *p, struct in6_addr *home);

int64_t mip6_port_bindings_deadline(const Mip6Port *p);
void mip6_port_bindings_tick(Mip6Port *p, int64_t now);

/* --- probes.c ------------------------------------------------------------- */

void mip6_port_probe_init(Mip6Port *p);

/* Nothing comes from the agent: probes the path, but seldom. */
void mip6_port_probe(Mip6Port *p, int64_t now);

/* There is a binding, or trouble with one: look soon if anything passes. */
void mip6_port_probe_bound(Mip6Port *p, int64_t now);
void mip6_port_probe_trouble(Mip6Port *p, int64_t now);

int64_t mip6_port_probe_deadline(const Mip6Port *p);
void mip6_port_probe_tick(Mip6Port *p, int64_t now);

/* Is it the answer to a probe: an echo reply; a packet out of the tunnel? */
bool mip6_port_probe_echoed(Mip6Port *p, const PacketIp6 *ip,
                            const uint8_t *icmp, size_t len);
bool mip6_port_probe_returned(Mip6Port *p, const uint8_t *inner, size_t len);

/* --- discovery.c ---------------------------------------------------------- */

/* Uses the configured home agent, or none yet. */
void mip6_port_agent_init(Mip6Port *p);

/*
 * Loads the home agent of another port, "::" if it knew none; @bound: it has a
 * binding. Returns: false, with nothing changed, if it is invalid.
 */
bool mip6_port_agent_load(Mip6Port *p, const struct in6_addr *agent,
                          bool bound);

/* Away: searches an agent if none is known. @care_of may be NULL. */
void mip6_port_seek_agent(Mip6Port *p, int64_t now,
                          const struct in6_addr *care_of);

/* Processes a discovery reply to one of our addresses. */
Mip6Verdict mip6_port_take_agents(Mip6Port *p, int64_t now,
                                  const PacketIp6 *ip, const uint8_t *icmp,
                                  size_t len);

/* Uses the next agent if the current one refuses or does not answer. */
void mip6_port_try_next_agent(Mip6Port *p, int64_t now);

/* --- port.c --------------------------------------------------------------- */

/* Passes changes between the parts of a port, if there are any. */
void mip6_port_settle(Mip6Port *p, int64_t now);

/* Determines from an advertisement where the VM is. */
void mip6_port_judge_location(Mip6Port *p, int64_t now, const PacketNdRa *ra);

/* --- early.c -------------------------------------------------------------- */

/* Returns: the care-of host's address on the home link; NULL: none */
const struct in6_addr *mip6_port_early_address(const Mip6Port *p);

/* At home: a Binding Update was sent to the agent at @mac. */
void mip6_port_early_sent(Mip6Port *p, const Mip6Binding *b,
                          const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/* At home: must a message about the guest's address be dropped? */
bool mip6_port_early_suppresses(Mip6Port *p, bool from_guest,
                                const PacketEth *eth, const PacketNd *nd);

/*
 * The VM has left: sends a packet to find out if the agent still tunnels
 * packets for the VM here; it then comes back. Returns: false if it cannot be
 * sent.
 */
bool mip6_port_early_ask(Mip6Port *p, const Mip6Binding *b);
bool mip6_port_early_is_question(const Mip6Port *p, const uint8_t *packet,
                                 size_t len);

/* Announces on the home link that the agent receives the VM's packets. */
void mip6_port_early_announce(Mip6Port *p, const Mip6Binding *b);

void mip6_port_early_tick(Mip6Port *p);

/* --- late.c --------------------------------------------------------------- */

/* The VM has left; the VM runs here again; forwarding ends. */
void mip6_port_late_begin(Mip6Port *p);
void mip6_port_late_end(Mip6Port *p);

/* Processes a packet, at @offset of a frame or decapsulated. */
Mip6Verdict mip6_port_late(Mip6Port *p, const PacketEth *eth,
                           const struct iovec *iov, int iovcnt, size_t offset,
                           const PacketOffload *offload);

/* Processes a packet from the agent's tunnel; it starts with @inner. */
void mip6_port_late_tunnelled(Mip6Port *p, const uint8_t *inner, size_t len);

/*
 * Away: Binding Error for @source. Returns: false if it is not about our packet
 */
bool mip6_port_late_refused(Mip6Port *p, const struct in6_addr *source);

/* At home: reads which node receives the guest's packets now. */
void mip6_port_late_heard(Mip6Port *p, const PacketNd *nd);

int64_t mip6_port_late_deadline(const Mip6Port *p);
void mip6_port_late_tick(Mip6Port *p);

/* --- control.c ------------------------------------------------------------ */

/* At home: a frame passes; reads what it says about the link. */
void mip6_port_overhear(Mip6Port *p, int64_t now, bool from_guest,
                        const struct iovec *iov, int iovcnt);

/* At home: must a frame be dropped, because the agent is a proxy, too? */
bool mip6_port_suppresses(Mip6Port *p, bool from_guest,
                          const struct iovec *iov, int iovcnt);

/* A query of a router or a switch on the foreign link (RFC 3810). */
Mip6Verdict mip6_port_take_query(Mip6Port *p, int64_t now,
                                 const uint8_t *packet, size_t len);

Mip6Verdict mip6_port_take_nd(Mip6Port *p, int64_t now, const PacketEth *eth,
                              const uint8_t *packet, size_t len);
/*
 * May the packet be processed, by its extension headers (RFC 8200 section 4)?
 * If not, its sender gets the error that these want.
 */
bool mip6_port_accepts(Mip6Port *p, const Mip6Arrived *from,
                       const PacketIp6 *ip, const PacketIp6Ext *ext,
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
