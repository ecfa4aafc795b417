/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home agent (RFC 6275 section 10)
 *
 * Theory of operation
 * ===================
 *
 * The host forwards to the agent what comes for the agent's address and for
 * each home address that is bound; what the agent sends, the host forwards. So
 * all packets come in by one function and go out by one, and are of four kinds:
 *
 *   for the agent    Binding Update          answered by an acknowledgement
 *                    IPv6 in IPv6            its inner packet goes on
 *   for a home       anything                goes into the tunnel
 *   for nobody       -                       dropped, counted
 *
 * A binding is in one table, found by its home address, and in a heap by when
 * it ends, so that no turn looks at all. A mobile node may send for its own
 * home address only, from the care-of address that it registered: both are
 * compared for each packet (section 10.4.5).
 *
 * Sequence numbers are compared as section 9.5.1 says. A binding that has ended
 * leaves no memory of its number: a node that lost its own begins anew.
 */
#include <stddef.h>
#include <string.h>

#include "net/mip6/ha/agent.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"

#define SECOND          1000000000ll
#define HOPS            64
#define TUNNELLED_MAX   2048u

guint mip6_agent_hash(gconstpointer addr)
{
    const uint8_t *p = addr;
    guint hash = 2166136261u;

    for (unsigned i = 0; i < sizeof(struct in6_addr); i++) {
        hash = (hash ^ p[i]) * 16777619u;
    }
    return hash;
}

gboolean mip6_agent_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct in6_addr)) == 0;
}

void mip6_agent_init(Mip6Agent *a, const Mip6AgentConfig *config,
                     const Mip6AgentOps *ops, void *opaque)
{
    memset(a, 0, sizeof(*a));
    a->config = *config;
    a->ops = ops;
    a->opaque = opaque;
    a->bindings = g_hash_table_new_full(mip6_agent_hash, mip6_agent_equal,
                                        NULL, g_free);
    mip6_expiry_init(&a->expiry);
}

void mip6_agent_destroy(Mip6Agent *a)
{
    mip6_expiry_destroy(&a->expiry);
    g_hash_table_destroy(a->bindings);
}

const Mip6AgentBinding *mip6_agent_binding(const Mip6Agent *a,
                                           const struct in6_addr *home)
{
    return g_hash_table_lookup(a->bindings, home);
}

const char *mip6_agent_drop_name(Mip6AgentDrop why)
{
    static const char *const names[] = {
        [MIP6_AGENT_MALFORMED] = "malformed",
        [MIP6_AGENT_CHECKSUM] = "checksum",
        [MIP6_AGENT_NO_BINDING] = "no-binding",
        [MIP6_AGENT_WRONG_SOURCE] = "wrong-source",
        [MIP6_AGENT_TOO_BIG] = "too-big",
        [MIP6_AGENT_HOP_LIMIT] = "hop-limit",
        [MIP6_AGENT_NOT_FOR_US] = "not-for-us",
    };

    return names[why];
}

static void drop(Mip6Agent *a, Mip6AgentDrop why)
{
    a->dropped[why]++;
}

/* --- registration --------------------------------------------------------- */

/* To the care-of address by way of a routing header, or straight home. */
static void acknowledge(Mip6Agent *a, const struct in6_addr *to,
                        const struct in6_addr *home, uint8_t status,
                        uint16_t sequence, uint16_t lifetime)
{
    bool at_home = packet_ip6_equal(to, home);
    uint8_t packet[PACKET_IP6_LEN + MIP6_RH2_LEN + 64];
    uint8_t *at = packet + PACKET_IP6_LEN;
    Mip6Mh ba = {
        .type = MIP6_MH_BA,
        .status = status,
        .sequence = sequence,
        .lifetime = lifetime,
    };
    PacketIp6 ip = {
        .src = a->config.address,
        .dst = *to,
        .next = at_home ? PACKET_PROTO_MH : PACKET_PROTO_ROUTING,
        .hops = HOPS,
    };

    a->answered[status]++;
    if (!at_home) {
        at += mip6_rh2_build(at, PACKET_PROTO_MH, home);
    }
    at += mip6_mh_build(at, packet + sizeof(packet) - at, &a->config.address,
                        home, &ba);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    a->ops->forward(a->opaque, packet, at - packet);
}

/* Section 10.3.1: may @home be registered? MIP6_BA_ACCEPTED, or why not. */
static uint8_t check_home(const Mip6Agent *a, const struct in6_addr *home,
                          const struct in6_addr *care_of)
{
    if (!packet_ip6_in_prefix(home, &a->config.prefix, a->config.prefix_len) ||
        packet_ip6_equal(home, &a->config.address)) {
        return MIP6_BA_NOT_HOME_SUBNET;
    }
    if (a->config.allowed && !g_hash_table_contains(a->config.allowed, home)) {
        return MIP6_BA_PROHIBITED;
    }
    if (IN6_IS_ADDR_MULTICAST(care_of) || IN6_IS_ADDR_LINKLOCAL(care_of) ||
        IN6_IS_ADDR_LOOPBACK(care_of) || IN6_IS_ADDR_UNSPECIFIED(care_of) ||
        packet_ip6_equal(care_of, &a->config.address)) {
        return MIP6_BA_INVALID_COA;
    }
    return MIP6_BA_ACCEPTED;
}

static Mip6AgentBinding *container(Mip6Due *due)
{
    return (void *)((char *)due - offsetof(Mip6AgentBinding, due));
}

static void tell_change(Mip6Agent *a, const Mip6AgentBinding *b)
{
    if (a->ops->changed) {
        a->ops->changed(a->opaque, b);
    }
}

static void end_binding(Mip6Agent *a, Mip6AgentBinding *b)
{
    mip6_expiry_remove(&a->expiry, &b->due);
    g_hash_table_steal(a->bindings, &b->home);
    a->ops->proxy(a->opaque, &b->home, false);
    b->lifetime = 0;
    tell_change(a, b);
    g_free(b);
}

/* Have a binding of @home. Returns NULL if there is no room for one. */
static Mip6AgentBinding *have_binding(Mip6Agent *a, const struct in6_addr *home)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    if (b) {
        return b;
    }
    if (g_hash_table_size(a->bindings) >= a->config.bindings_max ||
        !a->ops->proxy(a->opaque, home, true)) {
        return NULL;
    }
    b = g_new0(Mip6AgentBinding, 1);
    b->home = *home;
    g_hash_table_insert(a->bindings, &b->home, b);
    return b;
}

/* Make or change a binding. Returns the status. */
static uint8_t bind_home(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                         const struct in6_addr *home,
                         const struct in6_addr *care_of, uint16_t *lifetime)
{
    Mip6AgentBinding *b = have_binding(a, home);

    if (!b) {
        return MIP6_BA_RESOURCES;
    }
    *lifetime = MIN(bu->lifetime, a->config.lifetime_max);
    b->care_of = *care_of;
    b->sequence = bu->sequence;
    b->lifetime = *lifetime;
    b->expires = now + *lifetime * (MIP6_LIFETIME_UNIT * SECOND);
    mip6_expiry_set(&a->expiry, &b->due, b->expires);
    tell_change(a, b);
    return MIP6_BA_ACCEPTED;
}

uint8_t mip6_agent_restore(Mip6Agent *a, int64_t now,
                           const Mip6AgentBinding *saved)
{
    uint8_t status = check_home(a, &saved->home, &saved->care_of);
    Mip6AgentBinding *b;

    if (status != MIP6_BA_ACCEPTED) {
        return status;
    }
    b = have_binding(a, &saved->home);
    if (!b) {
        return MIP6_BA_RESOURCES;
    }
    b->care_of = saved->care_of;
    b->sequence = saved->sequence;
    b->lifetime = saved->lifetime;
    b->expires = saved->expires;
    mip6_expiry_set(&a->expiry, &b->due, b->expires);
    a->restored++;
    return MIP6_BA_ACCEPTED;
}

static void take_update(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                        const struct in6_addr *home,
                        const struct in6_addr *source)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);
    const struct in6_addr *care_of = bu->has_alternate ? &bu->alternate
                                                       : source;
    bool ends = bu->lifetime == 0 || packet_ip6_equal(care_of, home);
    uint16_t lifetime = 0;
    uint8_t status;

    if (!(bu->flags & MIP6_BU_HOME)) {
        status = MIP6_BA_NO_HOME_REGISTRATION;
    } else if (b && !mip6_sequence_is_newer(bu->sequence, b->sequence)) {
        /* Section 9.5.1: the number that the node has to go on from. */
        acknowledge(a, source, home, MIP6_BA_SEQUENCE, b->sequence, 0);
        a->refused++;
        return;
    } else if (ends) {
        status = b ? MIP6_BA_ACCEPTED : MIP6_BA_NOT_HOME_AGENT;
        if (b) {
            end_binding(a, b);
            a->ended++;
        }
    } else {
        status = check_home(a, home, care_of);
        if (status == MIP6_BA_ACCEPTED) {
            status = bind_home(a, now, bu, home, care_of, &lifetime);
        }
        a->registered += status == MIP6_BA_ACCEPTED;
    }
    a->refused += !mip6_ba_accepted(status);
    if ((bu->flags & MIP6_BU_ACK) || !mip6_ba_accepted(status)) {
        acknowledge(a, source, home, status, bu->sequence, lifetime);
    }
}

static void take_mh(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                    const PacketIp6Ext *ext, const uint8_t *p, size_t len)
{
    struct in6_addr home = ip->src;
    size_t options = ext->dst2 ? ext->dst2 : ext->dst1;
    Mip6Mh mh;

    if (options &&
        !mip6_hao_parse(&home, p + options,
                        packet_ip6_ext_len(PACKET_PROTO_DSTOPTS,
                                           p + options))) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    switch (mip6_mh_parse(&mh, &home, &ip->dst, p + ext->offset,
                          len - ext->offset)) {
    case MIP6_MH_GOOD:
        break;
    case MIP6_MH_CHECKSUM:
        drop(a, MIP6_AGENT_CHECKSUM);
        return;
    default:
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (mh.type == MIP6_MH_BU) {
        take_update(a, now, &mh, &home, &ip->src);
    } else {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

/* --- packets -------------------------------------------------------------- */

static void out_of_tunnel(Mip6Agent *a, const PacketIp6 *outer, uint8_t *inner,
                          size_t len)
{
    Mip6AgentBinding *b;
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, inner, len)) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    b = g_hash_table_lookup(a->bindings, &ip.src);
    if (!b) {
        drop(a, MIP6_AGENT_NO_BINDING);
        return;
    }
    if (!packet_ip6_equal(&b->care_of, &outer->src)) {
        drop(a, MIP6_AGENT_WRONG_SOURCE);
        return;
    }
    b->received++;
    a->received++;
    a->ops->forward(a->opaque, inner, PACKET_IP6_LEN + ip.payload);
}

static void tell_too_big(Mip6Agent *a, const uint8_t *p, size_t len)
{
    uint8_t error[PACKET_IP6_MTU_MIN];

    len = packet_icmp6_error(error, sizeof(error), &a->config.address, HOPS,
                             PACKET_ICMP6_TOO_BIG, 0,
                             a->config.mtu - PACKET_IP6_LEN, p, len);
    if (len) {
        a->ops->forward(a->opaque, error, len);
    }
}

static void forward_behind(Mip6Agent *a, const void *head,
                           const void *packet, size_t len)
{
    uint8_t joined[TUNNELLED_MAX];

    if (a->ops->forward_behind) {
        a->ops->forward_behind(a->opaque, head, PACKET_IP6_LEN, packet, len);
        return;
    }
    memcpy(joined, head, PACKET_IP6_LEN);
    memcpy(joined + PACKET_IP6_LEN, packet, len);
    a->ops->forward(a->opaque, joined, PACKET_IP6_LEN + len);
}

static void into_tunnel(Mip6Agent *a, Mip6AgentBinding *b,
                        const PacketIp6 *ip, const uint8_t *p, size_t len)
{
    uint8_t head[PACKET_IP6_LEN];
    PacketIp6 outer = {
        .src = a->config.address,
        .dst = b->care_of,
        .tclass = ip->tclass,
        .flow = ip->flow,
        .next = PACKET_PROTO_IP6,
        .hops = HOPS,
        .payload = len,
    };

    if (len > MIN(a->config.mtu, TUNNELLED_MAX) - PACKET_IP6_LEN) {
        tell_too_big(a, p, len);
        drop(a, MIP6_AGENT_TOO_BIG);
        return;
    }
    packet_ip6_build(head, &outer);
    b->sent++;
    a->sent++;
    forward_behind(a, head, p, len);
}

static void for_agent(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                      uint8_t *p, size_t len)
{
    PacketIp6Ext ext;

    if (!packet_ip6_walk(&ext, p, len) || ext.offset > len ||
        ext.fragment) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    switch (ext.next) {
    case PACKET_PROTO_MH:
        take_mh(a, now, ip, &ext, p, len);
        break;
    case PACKET_PROTO_IP6:
        out_of_tunnel(a, ip, p + ext.offset, len - ext.offset);
        break;
    default:
        drop(a, MIP6_AGENT_NOT_FOR_US);
        break;
    }
}

void mip6_agent_packet(Mip6Agent *a, int64_t now, void *buf, size_t len)
{
    Mip6AgentBinding *b;
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, buf, len)) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    len = PACKET_IP6_LEN + ip.payload;
    if (packet_ip6_equal(&ip.dst, &a->config.address)) {
        for_agent(a, now, &ip, buf, len);
        return;
    }
    b = g_hash_table_lookup(a->bindings, &ip.dst);
    if (b) {
        into_tunnel(a, b, &ip, buf, len);
    } else {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

int64_t mip6_agent_deadline(const Mip6Agent *a)
{
    const Mip6Due *next = mip6_expiry_next(&a->expiry);

    return next ? next->at : INT64_MAX;
}

void mip6_agent_tick(Mip6Agent *a, int64_t now)
{
    for (unsigned i = 0; i < MIP6_AGENT_TURN; i++) {
        Mip6Due *next = mip6_expiry_next(&a->expiry);

        if (!next || next->at > now) {
            break;
        }
        end_binding(a, container(next));
        a->expired++;
    }
}
