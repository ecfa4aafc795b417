/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers a VM before it leaves home
 *
 * Theory of operation
 * ===================
 *
 * Before a home agent makes a new binding, it does duplicate address detection
 * on the home link, which takes a second (RFC 6275 section 10.3.1). An existing
 * binding can be changed at once. So with early_registration, the VM has a
 * binding when it leaves:
 *
 *   prepare    The migration starts. The care-of host, which has an address of
 *              its own on the home link, registers this address.
 *   quiet      The agent does DAD. The guest must not answer: nothing about the
 *              guest's address passes between guest and agent, for QUIET.
 *   bound      The agent intercepts packets for the VM and tunnels them to the
 *              care-of address; they are passed to the guest. The guest still
 *              sends directly and answers its neighbours.
 *   leave      The new host changes the binding. Until then, packets that the
 *              source returns to the agent (late.c) would come back here. To
 *              find out when the binding has changed, the source sends a packet
 *              to the home address that only it can recognize, and that a node
 *              ignores (no next header, RFC 8200 section 4.7). If the packet
 *              does not come back, the binding has changed.
 *   stay       The source ends the binding, as after a return home.
 *
 * If another node probes the address meanwhile, the guest answers. The agent
 * then refuses the binding with status 134, and the VM is registered only after
 * it has left, as without early registration.
 *
 * Neighbours may have the guest's MAC address in their caches from the time
 * before the migration, and the agent announces nothing when a binding is
 * changed. So the source announces the agent's MAC address when the agent has
 * the new binding.
 */
#include <string.h>

#include "base/octets.h"
#include "net/mip6/port/internal.h"

/*
 * A random delay of up to 1 s, and RETRANS_TIMER for the answer (RFC 4862
 * section 5.4.2). The sum is less than three probes of a neighbour take, so if
 * the agent is also the guest's router, it does not consider the guest
 * unreachable (RFC 4861 section 7.3.3).
 */
#define QUIET           2000000000ll

#define QUESTION_LEN    (PACKET_IP6_LEN + 8u)

const struct in6_addr *mip6_port_early_address(const Mip6Port *p)
{
    const Mip6HomeConfig *home = &p->config.home;

    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        const Mip6Address *a = &p->careof.address[i];

        if (a->state == MIP6_ADDRESS_VALID &&
            packet_ip6_in_prefix(&a->addr, &home->address, home->prefix_len)) {
            return &a->addr;
        }
    }
    return NULL;
}

void mip6_port_early_sent(Mip6Port *p, const Mip6Binding *b,
                          const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    memcpy(p->early.agent_mac, mac, PACKET_ETH_ADDR_LEN);
    if (b->state == MIP6_REGISTERING) {
        p->early.quiet_until = p->now + QUIET;
        p->early.quiet[b - p->binding] = p->early.quiet_until;
    }
}

void mip6_port_early_tick(Mip6Port *p)
{
    if (p->early.quiet_until <= p->now) {
        p->early.quiet_until = INT64_MAX;
    }
}

bool mip6_port_early_is_bound(const Mip6Port *p, const Mip6Binding *b)
{
    return p->early.is_on && b->state == MIP6_BOUND;
}

/* --- messages between guest and agent are suppressed ---------------------- */

static bool may_be_bound(const Mip6Binding *b)
{
    return b->state == MIP6_BOUND || b->state == MIP6_RETURNING ||
           (b->state == MIP6_REGISTERING && !mip6_binding_is_refused(b));
}

/*
 * The agent defends the address until the binding has ended, and the guest
 * would give it up (RFC 6275 section 11.5.5).
 */
static bool suppresses_guests(const Mip6Port *p, const Mip6Binding *b,
                              bool is_quiet, const PacketEth *eth,
                              const PacketNd *nd)
{
    if (nd->type == PACKET_ND_NS) {
        return IN6_IS_ADDR_UNSPECIFIED(&nd->src) && may_be_bound(b);
    }
    return is_quiet && nd->type == PACKET_ND_NA &&
           !memcmp(eth->dst, p->early.agent_mac, PACKET_ETH_ADDR_LEN);
}

/*
 * If the guest heard another node use its address, it would report a conflict.
 */
static bool suppresses_links(const Mip6Port *p, const Mip6Binding *b,
                             bool is_quiet, const PacketEth *eth,
                             const PacketNd *nd)
{
    if (nd->type == PACKET_ND_NA) {
        return may_be_bound(b);
    }
    return is_quiet && nd->type == PACKET_ND_NS &&
           !memcmp(eth->src, p->early.agent_mac, PACKET_ETH_ADDR_LEN);
}

bool mip6_port_early_suppresses(Mip6Port *p, bool from_guest,
                                const PacketEth *eth, const PacketNd *nd)
{
    const Mip6Binding *b = mip6_port_binding(p, &nd->target);
    bool is_quiet;

    if (!b || (nd->type != PACKET_ND_NS && nd->type != PACKET_ND_NA)) {
        return false;
    }
    is_quiet = p->now < p->early.quiet[b - p->binding];
    return from_guest ? suppresses_guests(p, b, is_quiet, eth, nd)
                      : suppresses_links(p, b, is_quiet, eth, nd);
}

/* --- after the VM has left ------------------------------------------------ */

static size_t build_question(const Mip6Port *p, const Mip6Binding *b,
                             uint8_t packet[QUESTION_LEN])
{
    PacketIp6 ip = {
        .src = b->care_of,
        .dst = b->config.home,
        .next = PACKET_PROTO_NONE,
        .hops = p->careof.hop_limit,
        .payload = QUESTION_LEN - PACKET_IP6_LEN,
    };

    packet_ip6_build(packet, &ip);
    put_be32(packet + PACKET_IP6_LEN, p->early.question);
    put_be32(packet + PACKET_IP6_LEN + 4, ~p->early.question);
    return QUESTION_LEN;
}

bool mip6_port_early_ask(Mip6Port *p, const Mip6Binding *b)
{
    uint8_t frame[PACKET_ETH_LEN + QUESTION_LEN];
    size_t len;

    if (!mip6_careof_owns(&p->careof, &b->care_of)) {
        return false;           /* it has ended meanwhile */
    }
    len = build_question(p, b, frame + PACKET_ETH_LEN);
    packet_eth_build(frame, p->early.agent_mac, p->careof.mac, PACKET_ETH_IP6);
    mip6_port_transmit(p, frame, PACKET_ETH_LEN + len);
    return true;
}

bool mip6_port_early_is_question(const Mip6Port *p, const uint8_t *packet,
                                 size_t len)
{
    struct in6_addr src;

    if (!p->early.is_on || len < QUESTION_LEN ||
        packet[6] != PACKET_PROTO_NONE) {
        return false;
    }
    memcpy(&src, packet + 8, sizeof(src));
    return mip6_careof_owns(&p->careof, &src) &&
           get_be32(packet + PACKET_IP6_LEN) == p->early.question &&
           get_be32(packet + PACKET_IP6_LEN + 4) == ~p->early.question;
}

void mip6_port_early_announce(Mip6Port *p, const Mip6Binding *b)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    uint8_t group[PACKET_ETH_ADDR_LEN];
    size_t len;

    if (!p->early.is_on || !mip6_careof_owns(&p->careof, &b->care_of)) {
        return;
    }
    len = packet_nd_build_na(frame + PACKET_ETH_LEN, &b->care_of,
                             &packet_ip6_all_nodes, &b->config.home,
                             PACKET_NA_OVERRIDE, p->early.agent_mac);
    packet_eth_group6(group, &packet_ip6_all_nodes);
    packet_eth_build(frame, group, p->careof.mac, PACKET_ETH_IP6);
    mip6_port_transmit(p, frame, PACKET_ETH_LEN + len);
}
