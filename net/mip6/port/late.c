/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets for a VM that has left
 *
 * Theory of operation
 * ===================
 *
 * From the VM's stop until its home agent and its neighbours at home know its
 * new place, the source still receives packets for it. They must not be lost,
 * and must not be sent to a place that sends them back:
 *
 *   stop        Frames stay queued with their sender, because the VM may
 *               continue here.
 *   left        The VM runs elsewhere. Frames that were queued, and new ones,
 *   are
 *               stored, so that frames after them are received.
 *   forwarding  Another node receives the VM's packets now: the stored frames
 *   are
 *               sent to it, in order, and so are later ones.
 *
 * At home, the sign for this is a neighbour advertisement for the guest's
 * address. Either the agent sends it, which must announce each address that it
 * becomes the proxy of (RFC 6275 section 10.4.1), or the guest itself, if it
 * has only changed hosts. Late packets are sent to the MAC address in the
 * advertisement. The router's next packet takes the same path, so this works
 * with any agent. Without such an advertisement the packets cannot be
 * forwarded. A frame that came before the advertisement may go back to its
 * sender, which did not have the binding then and has it now. A frame that
 * comes after it from that MAC address would loop, and is dropped.
 *
 * If the VM was registered before it left home (early.c), the agent announces
 * nothing, because it intercepts the packets already: it tunnels them here
 * until it has the new binding. A test packet is sent every ASK_GAP. When it
 * does not come back, the stored packets are sent to the agent, and the agent's
 * MAC address is announced on the link. A packet that still comes out of the
 * agent's tunnel shows that it was too early.
 *
 * Away, packets are sent back to the agent when it has the new binding, in a
 * tunnel from the care-of address that they were sent to. The agent does not
 * report the new binding, so only the first packet is sent, repeatedly. While
 * the old binding exists, the packet's source is not the agent's mobile node:
 * the agent refuses it with a Binding Error (RFC 6275 sections 10.4.5 and
 * 9.3.3), and it is kept. The other packets follow when there was no Binding
 * Error for longer than the agent needs for an answer, which is known from
 * registrations (TRIAL_GAP at most). An agent that does not accept tunnels from
 * the previous care-of address drops the packets; without forwarding they would
 * be lost as well.
 *
 * With ESP the procedure is the same. The sequence numbers of the associations
 * have migrated with the VM, except for some that the source has kept
 * (protect.c), and the tunnel's receivers use no replay windows: packets are
 * decrypted and sealed again here. The source's copy of the replay window for
 * signalling may be out of date. This does no harm: signalling has no effect
 * here, because the bindings have migrated.
 *
 * Forwarding is routing: the hop limit is decremented, and link-local packets
 * and neighbour discovery are not forwarded. Everything ends FORWARD_TIME after
 * the VM has left.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/port/internal.h"

#define FORWARD_TIME    (10 * SECOND)
#define TRIAL_GAP       (SECOND / 5)
/* Added to three times the agent's response time. */
#define TRIAL_SLACK     (SECOND / 50)
#define ASK_GAP         (SECOND / 20)
/* MAX_NEIGHBOR_ADVERTISEMENT, and the interval (RFC 4861 section 7.2.6). */
#define ANNOUNCEMENTS   3u
#define ANNOUNCE_GAP    SECOND
#define ROOM            (1u << 20)

/* The header of each stored frame. */
typedef struct Kept {
    size_t len;                 /* length of the frame */
    bool gone, on_trial;
    unsigned address;           /* destination, index in home.learned */
    PacketOffload offload;
} Kept;

static size_t space_of(size_t len)
{
    return sizeof(Kept) + ((len + 7) & ~(size_t)7);
}

static bool may_go(const Mip6Port *p, unsigned address)
{
    return mip6_port_is_away(p) ? p->late.has_new_binding
                                : p->late.receiver[address].is_known;
}

static Mip6Binding *binding_of(Mip6Port *p, unsigned address)
{
    return mip6_port_binding(p, &p->home.learned.address[address]);
}

static bool into_tunnel(Mip6Port *p, Kept *k)
{
    const struct iovec frame = { k + 1, k->len };
    const Mip6Binding *b = binding_of(p, k->address);
    uint8_t mac[PACKET_ETH_ADDR_LEN];

    /* The link may have changed since then; the tunnel does not work there. */
    if (!b || !mip6_careof_owns(&p->careof, &p->tunnel.local)) {
        return false;
    }
    mip6_port_choose(p, b);
    /*
     * "Packet too big" for the guest is not possible, because it is not here.
     */
    return p->dhaad.agents &&
           (k->offload.gso != PACKET_GSO_NONE ||
            frame.iov_len - PACKET_ETH_LEN <=
            mip6_tunnel_mtu(&p->tunnel, p->now)) &&
           mip6_careof_next_hop(&p->careof, p->now, mip6_port_agent(p), mac) &&
           mip6_tunnel_send(&p->tunnel, p->now, mac, p->careof.mac, &frame, 1,
                            PACKET_ETH_LEN, &k->offload,
                            mip6_port_router(p)) == MIP6_DROP_NONE;
}

static void forward(Mip6Port *p, Kept *k)
{
    struct iovec frame = { k + 1, k->len };

    k->gone = true;
    if (k->on_trial) {
        /* it has been sent already */
    } else if (mip6_port_is_away(p)) {
        if (!into_tunnel(p, k)) {
            p->dropped[MIP6_DROP_LATE]++;
            return;
        }
    } else {
        packet_eth_build(frame.iov_base, p->late.receiver[k->address].mac,
                         p->careof.mac, PACKET_ETH_IP6);
        p->ops->to_link(p->opaque, &frame, 1, &k->offload);
    }
    p->forwarded++;
}

/* Forwards what can be forwarded, in the order of arrival. */
static void flush(Mip6Port *p)
{
    Mip6Late *l = &p->late;
    bool empty = true;
    Kept *k;

    for (size_t at = 0; at < l->used; at += space_of(k->len)) {
        k = (Kept *)(l->buf + at);
        if (!k->gone && may_go(p, k->address)) {
            forward(p, k);
        }
        empty &= k->gone;
    }
    if (empty) {
        l->used = 0;
    }
}

/* Returns: the first stored frame, or NULL */
static Kept *first(Mip6Late *l)
{
    Kept *k;

    for (size_t at = 0; at < l->used; at += space_of(k->len)) {
        k = (Kept *)(l->buf + at);
        if (!k->gone) {
            return k;
        }
    }
    return NULL;
}

/* Away: ns within which the agent refuses a packet, if it does. */
static int64_t trial_gap(const Mip6Port *p)
{
    int64_t longest = 0;

    for (unsigned i = 0; i < p->bindings; i++) {
        int64_t trip = p->binding[i].trip;
        int64_t gap = trip ? 3 * trip + TRIAL_SLACK : TRIAL_GAP;

        longest = gap > longest ? gap : longest;
    }
    return longest && longest < TRIAL_GAP ? longest : TRIAL_GAP;
}

/* Away: tests if the agent has the new binding. */
static void try_first(Mip6Port *p)
{
    Kept *k = first(&p->late);

    if (k && k->on_trial) {
        p->late.has_new_binding = true;
        flush(p);
    } else if (k) {
        p->late.trial = p->now + trial_gap(p);
        k->on_trial = into_tunnel(p, k);
        if (!k->on_trial) {
            k->gone = true;
            p->dropped[MIP6_DROP_LATE]++;
            flush(p);
        }
    }
}

bool mip6_port_late_refused(Mip6Port *p, const struct in6_addr *source)
{
    Kept *k = first(&p->late);
    const uint8_t *packet;

    if (!k || !k->on_trial) {
        return false;
    }
    packet = (uint8_t *)(k + 1) + PACKET_ETH_LEN;
    k->on_trial = memcmp(packet + 8, source, sizeof(*source));
    return !k->on_trial;
}

/* --- at home, for a VM with early registration ---------------------------- */

static bool needs_test(const Mip6Late *l, unsigned address)
{
    return l->receiver[address].is_agent && !l->receiver[address].is_known;
}

static bool asks(const Mip6Port *p)
{
    for (unsigned i = 0; p->early.is_on && i < MIP6_HOME_ADDRESSES; i++) {
        if (needs_test(&p->late, i)) {
            return true;
        }
    }
    return false;
}

/* The agent has the new binding: its MAC address receives the VM's packets. */
static void agent_has_binding(Mip6Port *p, unsigned address,
                              const Mip6Binding *b)
{
    Mip6Late *l = &p->late;
    int64_t at = p->early.quiet[b - p->binding];

    l->receiver[address].is_known = true;
    l->receiver[address].announcements = ANNOUNCEMENTS;
    at = at > p->now ? at : p->now;
    l->announce = l->announce < at ? l->announce : at;
}

static void ask(Mip6Port *p)
{
    p->late.trial = p->now + ASK_GAP;
    for (unsigned i = 0; i < p->home.learned.addresses; i++) {
        const Mip6Binding *b = binding_of(p, i);

        if (!b || !needs_test(&p->late, i)) {
            continue;
        }
        if (p->late.receiver[i].asked) {
            agent_has_binding(p, i, b);
        } else {
            p->late.receiver[i].asked = mip6_port_early_ask(p, b);
        }
    }
    flush(p);
}

static void announce(Mip6Port *p)
{
    p->late.announce = INT64_MAX;
    for (unsigned i = 0; i < p->home.learned.addresses; i++) {
        const Mip6Binding *b = binding_of(p, i);

        if (!b || !p->late.receiver[i].announcements) {
            continue;
        }
        mip6_port_early_announce(p, b);
        if (--p->late.receiver[i].announcements) {
            p->late.announce = p->now + ANNOUNCE_GAP;
        }
    }
}

/* Starts the tests for all addresses that the agent has a binding of. */
static void expect_agent(Mip6Port *p)
{
    for (unsigned i = 0; i < p->home.learned.addresses; i++) {
        const Mip6Binding *b = binding_of(p, i);

        if (b && mip6_port_early_is_bound(p, b)) {
            p->late.receiver[i].is_agent = true;
            memcpy(p->late.receiver[i].mac, p->early.agent_mac,
                   PACKET_ETH_ADDR_LEN);
        }
    }
}

/* --- received packets ----------------------------------------------------- */

/* Would a router forward the packet? */
static bool is_routable(const uint8_t *packet, size_t len)
{
    PacketIp6 ip;

    if (len < PACKET_IP6_LEN || packet[0] >> 4 != 6) {
        return false;
    }
    packet_ip6_parse(&ip, packet, len);
    return ip.hops > 1 && !mip6_port_like_nd(packet, len) &&
           !IN6_IS_ADDR_LINKLOCAL(&ip.src) &&
           !IN6_IS_ADDR_MULTICAST(&ip.src) &&
           !IN6_IS_ADDR_UNSPECIFIED(&ip.src);
}

/* Returns: index of a guest's address; MIP6_HOME_ADDRESSES: none */
static unsigned address_of(const Mip6Port *p, const struct in6_addr *addr)
{
    const Mip6HomeLearned *l = &p->home.learned;

    for (unsigned i = 0; i < l->addresses; i++) {
        if (packet_ip6_equal(&l->address[i], addr)) {
            return i;
        }
    }
    return MIP6_HOME_ADDRESSES;
}

/* Was it sent by the node that receives all of the packets now? */
static bool would_loop(const Mip6Port *p, unsigned address,
                       const uint8_t *src_mac)
{
    return !mip6_port_is_away(p) && may_go(p, address) &&
           !memcmp(src_mac, p->late.receiver[address].mac, PACKET_ETH_ADDR_LEN);
}

static bool keep(Mip6Port *p, const PacketEth *eth, const struct iovec *iov,
                 int iovcnt, size_t offset, size_t len,
                 const PacketOffload *offload)
{
    Mip6Late *l = &p->late;
    struct in6_addr dst;
    uint8_t *packet;
    Kept *k;

    if (!l->buf || space_of(PACKET_ETH_LEN + len) > ROOM - l->used) {
        return false;
    }
    k = (Kept *)(l->buf + l->used);
    packet = (uint8_t *)(k + 1) + PACKET_ETH_LEN;
    if (packet_iov_copy(iov, iovcnt, offset, packet, len) < len ||
        !is_routable(packet, len)) {
        return false;
    }
    memcpy(&dst, packet + 24, sizeof(dst));
    *k = (Kept) {
        .len = PACKET_ETH_LEN + len,
        .address = address_of(p, &dst),
        .offload = *offload,
    };
    if (k->address == MIP6_HOME_ADDRESSES ||
        would_loop(p, k->address, eth->src)) {
        return false;
    }
    k->offload.csum_start -= offset - PACKET_ETH_LEN;
    packet[7]--;                /* hop limit */
    l->used += space_of(k->len);
    return true;
}

void mip6_port_late_tunnelled(Mip6Port *p, const uint8_t *inner, size_t len)
{
    struct in6_addr dst;
    unsigned address;

    if (!p->early.is_on || len < PACKET_IP6_LEN) {
        return;
    }
    memcpy(&dst, inner + 24, sizeof(dst));
    address = address_of(p, &dst);
    if (address < MIP6_HOME_ADDRESSES) {
        p->late.receiver[address].is_agent = true;
        p->late.receiver[address].is_known = false;
        p->late.receiver[address].asked = false;
        memcpy(p->late.receiver[address].mac, p->early.agent_mac,
               PACKET_ETH_ADDR_LEN);
    }
}

/* The test packet came back: the agent does not have the new binding yet. */
static void test_came_back(Mip6Port *p, const uint8_t *packet)
{
    struct in6_addr dst;
    unsigned address;

    memcpy(&dst, packet + 24, sizeof(dst));
    address = address_of(p, &dst);
    if (address < MIP6_HOME_ADDRESSES) {
        p->late.receiver[address].asked = false;
    }
}

Mip6Verdict mip6_port_late(Mip6Port *p, const PacketEth *eth,
                           const struct iovec *iov, int iovcnt, size_t offset,
                           const PacketOffload *offload)
{
    size_t there = packet_iov_len(iov, iovcnt) - offset, len;
    uint8_t head[PACKET_IP6_LEN + 8];

    len = packet_iov_copy(iov, iovcnt, offset, head, sizeof(head));
    if (len < PACKET_IP6_LEN) {
        return mip6_port_drop(p, MIP6_DROP_LATE);
    }
    if (mip6_port_early_is_question(p, head, len)) {
        test_came_back(p, head);
        return MIP6_DONE;
    }
    /* There may be padding after the packet. */
    len = PACKET_IP6_LEN + get_be16(head + 4);
    if (len > there || !keep(p, eth, iov, iovcnt, offset, len, offload)) {
        return mip6_port_drop(p, MIP6_DROP_LATE);
    }
    flush(p);
    return MIP6_DONE;
}

void mip6_port_late_heard(Mip6Port *p, const PacketNd *nd)
{
    unsigned address = address_of(p, &nd->target);

    if (nd->type != PACKET_ND_NA || address == MIP6_HOME_ADDRESSES ||
        !nd->has_tlla || !packet_eth_is_station(nd->tlla)) {
        return;
    }
    if (needs_test(&p->late, address) &&
        !memcmp(p->late.receiver[address].mac, nd->tlla, PACKET_ETH_ADDR_LEN)) {
        return;                 /* it may be about the old binding */
    }
    p->late.receiver[address].is_known = true;
    p->late.receiver[address].is_agent = false;
    p->late.receiver[address].announcements = 0;
    memcpy(p->late.receiver[address].mac, nd->tlla, PACKET_ETH_ADDR_LEN);
    flush(p);
}

/* --- start and end -------------------------------------------------------- */

void mip6_port_late_begin(Mip6Port *p)
{
    mip6_port_late_end(p);
    p->late.buf = g_try_malloc(ROOM);
    p->late.trial = p->now + (mip6_port_is_away(p) ? trial_gap(p) : ASK_GAP);
    p->late.end = p->now + FORWARD_TIME;
    expect_agent(p);
}

void mip6_port_late_end(Mip6Port *p)
{
    Mip6Late *l = &p->late;
    const Kept *k;

    for (size_t at = 0; at < l->used; at += space_of(k->len)) {
        k = (const Kept *)(l->buf + at);
        p->dropped[MIP6_DROP_LATE] += !k->gone;
    }
    g_free(l->buf);
    memset(l, 0, sizeof(*l));
    l->announce = l->end = INT64_MAX;
}

int64_t mip6_port_late_deadline(const Mip6Port *p)
{
    const Mip6Late *l = &p->late;
    int64_t at = l->announce < l->end ? l->announce : l->end;
    bool tries = mip6_port_is_away(p) ? l->used : asks(p);

    return tries && l->trial < at ? l->trial : at;
}

void mip6_port_late_tick(Mip6Port *p)
{
    if (p->late.end <= p->now) {
        mip6_port_late_end(p);
        mip6_port_set_presence(p, MIP6_PRESENCE_RELEASED);
        mip6_careof_leave(&p->careof, p->now);
        return;
    }
    if (mip6_port_is_away(p) && p->late.trial <= p->now) {
        try_first(p);
    }
    if (asks(p) && p->late.trial <= p->now) {
        ask(p);
    }
    if (p->late.announce <= p->now) {
        announce(p);
    }
}
