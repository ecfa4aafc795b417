/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decapsulates packets (RFC 6275 section 10.4.5) */
#include <string.h>

#include "ha/agent/internal.h"
#include "net/packet/ecn.h"
#include "net/packet/nd.h"

/*
 * May the inner packet be accepted? If its source has keys, it must have come
 * in the ESP of its source, or of the node that sends it on to itself. Reports
 * about groups have a link-local source.
 */
static bool is_authentic(const Mip6Agent *a, const uint8_t *inner, size_t len)
{
    struct in6_addr src, dst;

    if (len < PACKET_IP6_LEN) {
        return true;            /* it is malformed, and counted later */
    }
    memcpy(&src, inner + 8, sizeof(src));
    memcpy(&dst, inner + 24, sizeof(dst));
    return mip6_agent_believes(a, &src) ||
           (a->opened && (packet_ip6_equal(&a->opened->home, &dst) ||
                          IN6_IS_ADDR_LINKLOCAL(&src) ||
                          IN6_IS_ADDR_UNSPECIFIED(&src)));
}

/*
 * Finds the binding of a packet that was sent on from a previous care-of
 * address.
 */
static Mip6AgentBinding *binding_of_straggler(const Mip6Agent *a, int64_t now,
                                              const PacketIp6 *outer,
                                              const PacketIp6 *inner)
{
    Mip6AgentBinding *b = mip6_agent_bound(a, &inner->dst);

    return b && now < b->previous_until &&
           packet_ip6_equal(&b->previous, &outer->src) &&
           !packet_ip6_equal(&b->care_of, &outer->src) ? b : NULL;
}

/*
 * The host does not forward it in between, so the agent decrements the hop
 * limit.
 */
static void send_after(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                       const PacketIp6 *ip, uint8_t *p)
{
    size_t len = PACKET_IP6_LEN + ip->payload;

    if (ip->hops <= 1) {
        mip6_agent_send_icmp6_error(a, now, PACKET_ICMP6_TIME_EXCEEDED, 0, 0,
                                    p, len);
        mip6_agent_drop(a, MIP6_AGENT_HOP_LIMIT);
        return;
    }
    p[HOPS_AT] = ip->hops - 1;
    if (mip6_agent_into_tunnel(a, now, b, ip, p, len)) {
        b->stragglers++;
        a->stragglers++;
    }
}

/*
 * Is the packet from the care-of address that a node has left to return home?
 * Then it is a packet for the node, or one that the node had sent.
 */
static bool is_left(const Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                    const struct in6_addr *home)
{
    const Mip6LeftHome *left = mip6_left_find(&a->left, now, home);

    return left && packet_ip6_equal(&left->care_of, &outer->src);
}

/* From a mobile node: to a multicast group, or for the host to forward. */
static void take_inner(Mip6Agent *a, int64_t now, PacketIp6 *ip,
                       uint8_t *inner, const struct in6_addr *from)
{
    size_t len = PACKET_IP6_LEN + ip->payload;

    a->received++;
    if (IN6_IS_ADDR_MULTICAST(&ip->dst)) {
        mip6_agent_send_group(a, now, ip, inner, len, from);
    } else {
        a->ops->forward(a->opaque, inner, len);
    }
}

/* From an address that is not the care-of address of the inner source. */
static void take_straggler(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                           PacketIp6 *ip, uint8_t *inner)
{
    Mip6AgentBinding *b = binding_of_straggler(a, now, outer, ip);

    if (b) {
        send_after(a, now, b, ip, inner);
    } else if (is_left(a, now, outer, &ip->src)) {
        a->stragglers++;
        take_inner(a, now, ip, inner, &outer->src);
    } else if (is_left(a, now, outer, &ip->dst)) {
        a->stragglers++;
        a->ops->forward(a->opaque, inner, PACKET_IP6_LEN + ip->payload);
    } else if (mip6_agent_bound(a, &ip->src)) {
        mip6_agent_drop(a, MIP6_AGENT_WRONG_SOURCE);
    } else {
        /* The node that has sent it learns that it must register. */
        mip6_agent_send_binding_error(a, now, MIP6_BE_UNKNOWN_BINDING,
                                      &outer->src, &ip->src);
        mip6_agent_drop(a, MIP6_AGENT_NO_BINDING);
    }
}

/*
 * RFC 6040 section 4.2: passes congestion marks of the outer header on.
 * Returns: false if the packet must be dropped instead.
 */
static bool combine_ecn(const PacketIp6 *outer, PacketIp6 *ip, uint8_t *inner)
{
    uint8_t field;

    if (!packet_ecn_decapsulate(outer->tclass, ip->tclass, &field)) {
        return false;
    }
    ip->tclass = (ip->tclass & ~PACKET_ECN_MASK) | field;
    packet_ecn_set6(inner, field);
    return true;
}

void mip6_agent_out_of_tunnel(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                              uint8_t *inner, size_t len)
{
    Mip6AgentBinding *b;
    PacketMld mld;
    PacketIp6 ip;

    if (!is_authentic(a, inner, len)) {
        mip6_agent_drop(a, MIP6_AGENT_UNPROTECTED);
        return;
    }
    if (!packet_ip6_parse(&ip, inner, len)) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (!combine_ecn(outer, &ip, inner)) {
        mip6_agent_drop(a, MIP6_AGENT_ECN);
        return;
    }
    if (packet_mld_parse(&mld, inner, len)) {
        mip6_agent_report(a, now, outer, &mld);
        return;
    }
    b = mip6_agent_bound(a, &ip.src);
    if (b && packet_ip6_equal(&b->care_of, &outer->src)) {
        b->received++;
        mip6_agent_clamp(a, now, b, inner, PACKET_IP6_LEN + ip.payload);
        take_inner(a, now, &ip, inner, &outer->src);
    } else {
        take_straggler(a, now, outer, &ip, inner);
    }
}
