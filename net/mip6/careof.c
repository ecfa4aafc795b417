/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host of its own on the foreign link (RFC 4861, 4862)
 *
 * Theory of operation
 * ===================
 *
 * The host has a MAC address that is not the guest's. It begins with a router
 * solicitation and duplicate address detection for its link-local address, both
 * at once: nobody waits for the one before the other, as the solicitation may
 * come from "::" (RFC 4861 section 6.3.7 allows a source that is not assigned).
 * Each prefix of a router advertisement that is for autonomous configuration
 * makes an address, up to MIP6_CAREOF_ADDRESSES, which is probed once and then
 * used. A second advertisement is not waited for. If somebody else has the
 * address, another identifier is tried, IDGEN_RETRIES times a prefix.
 *
 * Everything that strangers can fill is a small table: addresses and prefixes
 * of advertisements, neighbours. A full table takes no more, but a default
 * router replaces a neighbour that is none. Nothing is learned from
 * solicitations but the answer's destination, and nothing from advertisements
 * for neighbours that were not asked for.
 *
 * The next hop to a destination is the destination itself if a prefix says so,
 * else the best default router: reachable before others, then by preference
 * (RFC 4191). A router that does not answer three probes is passed over until
 * it speaks again (section 6.3.6), and so are the addresses that it offers
 * (RFC 6724 section 5, rule 5.5). A router that was not known may be that of
 * another link: those that were known are probed. Routers are solicited anew if
 * none is left, be they passed over, withdrawn or expired.
 * Frames wait for resolution with whoever asks.
 */
#include <string.h>

#include "net/mip6/careof.h"
#include "net/packet/ip6.h"
#include "net/packet/octets.h"

#define SECOND                  1000000000ll
#define MS                      1000000ll

/* RFC 4861 section 10, RFC 4862 section 5.1. */
#define MAX_RTR_SOLICITATIONS   3u
#define RTR_SOLICITATION_GAP    (4 * SECOND)
#define RTR_SOLICITATION_LONGEST (64 * SECOND)  /* RFC 7559 */
#define DAD_PROBES              1u
#define IDGEN_RETRIES           3u              /* RFC 7217 section 7 */
#define MAX_UNICAST_SOLICIT     3u
#define MAX_MULTICAST_SOLICIT   3u
#define DELAY_FIRST_PROBE       (5 * SECOND)
#define REACHABLE_MS            30000u
#define RETRANS_MS              1000u
/* Bounds of what an advertisement says: so many timers a second, or so few. */
#define RETRANS_MS_MIN          100u
#define RETRANS_MS_MAX          10000u
#define REACHABLE_MS_MIN        1000u
#define REACHABLE_MS_MAX        3600000u
#define TWO_HOURS               (7200 * SECOND)

#define FRAME_MAX               (PACKET_ETH_LEN + PACKET_ND_SHORT_MAX)

static int64_t min_time(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* @now + @seconds as a lifetime has them. */
static int64_t until(int64_t now, uint32_t seconds)
{
    return seconds == PACKET_ND_INFINITE ? INT64_MAX : now + seconds * SECOND;
}

static void tell(Mip6CareOf *c)
{
    c->ops->changed(c->opaque);
}

/* --- sending -------------------------------------------------------------- */

static void transmit(Mip6CareOf *c, uint8_t *frame, size_t packet_len,
                     const struct in6_addr *dst, const uint8_t *mac)
{
    uint8_t group[PACKET_ETH_ADDR_LEN];

    if (!mac) {
        packet_eth_group6(group, dst);
        mac = group;
    }
    packet_eth_build(frame, mac, c->mac, PACKET_ETH_IP6);
    c->ops->transmit(c->opaque, frame, PACKET_ETH_LEN + packet_len);
}

static const struct in6_addr *own_source(const Mip6CareOf *c)
{
    return c->link_local.state == MIP6_ADDRESS_VALID ? &c->link_local.addr
                                                     : &in6addr_any;
}

static void send_rs(Mip6CareOf *c)
{
    const struct in6_addr *src = own_source(c);
    uint8_t frame[FRAME_MAX];
    size_t len;

    len = packet_nd_build_rs(frame + PACKET_ETH_LEN, src,
                             src == &in6addr_any ? NULL : c->mac);
    transmit(c, frame, len, &packet_ip6_all_routers, NULL);
}

static void send_probe(Mip6CareOf *c, const struct in6_addr *addr)
{
    struct in6_addr group = packet_ip6_solicited(addr);
    uint8_t frame[FRAME_MAX];
    size_t len;

    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &in6addr_any, &group,
                             addr, NULL);
    transmit(c, frame, len, &group, NULL);
}

static void send_ns(Mip6CareOf *c, const Mip6Neighbour *n)
{
    const struct in6_addr *src = own_source(c);
    bool unicast = n->reach == MIP6_REACH_PROBE && n->has_mac;
    struct in6_addr dst = unicast ? n->addr : packet_ip6_solicited(&n->addr);
    uint8_t frame[FRAME_MAX];
    size_t len;

    if (src == &in6addr_any) {
        /* Any other address of ours will do, and one is valid, or who asks? */
        for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
            if (c->address[i].state == MIP6_ADDRESS_VALID) {
                src = &c->address[i].addr;
            }
        }
        if (src == &in6addr_any) {
            return;
        }
    }
    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, src, &dst, &n->addr,
                             c->mac);
    transmit(c, frame, len, &dst, unicast ? n->mac : NULL);
}

/* --- addresses ------------------------------------------------------------ */

static void address_begin(Mip6CareOf *c, int64_t now, Mip6Address *a,
                          const struct in6_addr *addr, int64_t preferred,
                          int64_t valid)
{
    memset(a, 0, sizeof(*a));
    a->state = MIP6_ADDRESS_TENTATIVE;
    a->addr = *addr;
    a->preferred = preferred;
    a->valid = valid;
    a->probes = DAD_PROBES;
    a->next = now;
}

/* RFC 4862 section 5.4.2: a probe, then one interval of silence. */
static void address_tick(Mip6CareOf *c, int64_t now, Mip6Address *a)
{
    if (a->state == MIP6_ADDRESS_NONE) {
        return;
    }
    if (a->valid <= now) {
        bool was_valid = a->state == MIP6_ADDRESS_VALID;

        a->state = MIP6_ADDRESS_NONE;
        if (was_valid) {
            tell(c);
        }
        return;
    }
    if (a->state != MIP6_ADDRESS_TENTATIVE || a->next > now) {
        return;
    }
    if (a->probes) {
        a->probes--;
        a->next = now + c->retrans * MS;
        send_probe(c, &a->addr);
    } else {
        a->state = MIP6_ADDRESS_VALID;
        a->since = now;
        tell(c);
    }
}

static int64_t address_deadline(const Mip6Address *a, int64_t now)
{
    int64_t at;

    if (a->state == MIP6_ADDRESS_NONE) {
        return INT64_MAX;
    }
    at = a->valid;
    if (a->state == MIP6_ADDRESS_TENTATIVE) {
        at = min_time(at, a->next);
    }
    /* The end of its preference makes another one the better. */
    return a->preferred > now ? min_time(at, a->preferred) : at;
}

static Mip6Address *address_find(Mip6CareOf *c, const struct in6_addr *addr)
{
    if (c->link_local.state != MIP6_ADDRESS_NONE &&
        packet_ip6_equal(&c->link_local.addr, addr)) {
        return &c->link_local;
    }
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        Mip6Address *a = &c->address[i];

        if (a->state != MIP6_ADDRESS_NONE &&
            packet_ip6_equal(&a->addr, addr)) {
            return a;
        }
    }
    return NULL;
}

static Mip6Address *address_free(Mip6CareOf *c)
{
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        if (c->address[i].state == MIP6_ADDRESS_NONE) {
            return &c->address[i];
        }
    }
    return NULL;
}

/* The address that a router's prefix has made. */
static Mip6Address *address_in(Mip6CareOf *c, const struct in6_addr *prefix)
{
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        Mip6Address *a = &c->address[i];

        if (a->state != MIP6_ADDRESS_NONE && !a->fixed &&
            packet_ip6_in_prefix(&a->addr, prefix, 64)) {
            return a;
        }
    }
    return NULL;
}

/* Somebody else has it, or wants it at the same time. */
static void address_duplicate(Mip6CareOf *c, int64_t now, Mip6Address *a)
{
    a->state = MIP6_ADDRESS_DUPLICATE;
    c->duplicates++;
    if (!IN6_IS_ADDR_LINKLOCAL(&a->addr) && !a->fixed &&
        a->collisions < IDGEN_RETRIES) {
        a->collisions++;
        packet_put32(a->addr.s6_addr + 8, c->ops->random(c->opaque));
        packet_put32(a->addr.s6_addr + 12, c->ops->random(c->opaque));
        a->state = MIP6_ADDRESS_TENTATIVE;
        a->probes = DAD_PROBES;
        a->next = now;
    }
    tell(c);
}

static Mip6Neighbour *neighbour_find(Mip6CareOf *c,
                                     const struct in6_addr *addr);

/* The router that offers it is not there. */
static bool is_orphan(const Mip6CareOf *c, int64_t now, const Mip6Address *a)
{
    const Mip6Neighbour *n = neighbour_find((Mip6CareOf *)c, &a->router);

    return !a->fixed && (!n || n->router <= now ||
                         n->reach == MIP6_REACH_FAILED);
}

/* RFC 4862 section 5.5.3; @router offers it. */
static void prefix_autonomous(Mip6CareOf *c, int64_t now,
                              const PacketNdPrefix *p,
                              const struct in6_addr *router)
{
    struct in6_addr addr = packet_ip6_from_mac(&p->prefix, c->mac);
    int64_t valid = until(now, p->valid);
    Mip6Address *a;

    if (c->has_fixed || !p->autonomous || p->len != 64 ||
        p->preferred > p->valid || IN6_IS_ADDR_LINKLOCAL(&p->prefix) ||
        IN6_IS_ADDR_MULTICAST(&p->prefix)) {
        return;
    }
    a = address_in(c, &p->prefix);
    if (a) {
        if (is_orphan(c, now, a)) {
            a->router = *router;
        }
        /* (e): nobody shortens a lifetime below two hours by a forged one. */
        if (valid < a->valid && valid < now + TWO_HOURS) {
            valid = min_time(a->valid, now + TWO_HOURS);
        }
        a->preferred = until(now, p->preferred);
        a->valid = valid;
        tell(c);
        return;
    }
    a = p->valid ? address_free(c) : NULL;
    if (a) {
        address_begin(c, now, a, &addr, until(now, p->preferred), valid);
        a->router = *router;
        address_tick(c, now, a);
    }
}

/* RFC 4861 section 6.3.4. */
static void prefix_on_link(Mip6CareOf *c, int64_t now,
                           const PacketNdPrefix *p)
{
    Mip6OnLink *room = NULL;

    if (!p->on_link || p->len == 0 || IN6_IS_ADDR_LINKLOCAL(&p->prefix)) {
        return;
    }
    for (unsigned i = 0; i < MIP6_CAREOF_PREFIXES; i++) {
        Mip6OnLink *l = &c->on_link[i];

        if (l->valid > now && l->len == p->len &&
            packet_ip6_in_prefix(&l->prefix, &p->prefix, p->len)) {
            room = l;
            break;
        }
        if (l->valid <= now && !room) {
            room = l;
        }
    }
    if (room) {
        room->prefix = p->prefix;
        room->len = p->len;
        room->valid = p->valid ? until(now, p->valid) : 0;
    }
}

static bool is_on_link(const Mip6CareOf *c, int64_t now,
                       const struct in6_addr *addr)
{
    if (IN6_IS_ADDR_LINKLOCAL(addr)) {
        return true;
    }
    for (unsigned i = 0; i < MIP6_CAREOF_PREFIXES; i++) {
        const Mip6OnLink *l = &c->on_link[i];

        if (l->valid > now && packet_ip6_in_prefix(addr, &l->prefix, l->len)) {
            return true;
        }
    }
    return false;
}

/* --- neighbours ----------------------------------------------------------- */

static Mip6Neighbour *neighbour_find(Mip6CareOf *c,
                                     const struct in6_addr *addr)
{
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach != MIP6_REACH_NONE && packet_ip6_equal(&n->addr, addr)) {
            return n;
        }
    }
    return NULL;
}

/* A free entry, or that of the neighbour, no router, least recently used. */
static Mip6Neighbour *neighbour_new(Mip6CareOf *c, int64_t now,
                                    const struct in6_addr *addr)
{
    Mip6Neighbour *room = NULL;

    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach == MIP6_REACH_NONE) {
            room = n;
            break;
        }
        if (n->router <= now && (!room || n->used < room->used)) {
            room = n;
        }
    }
    if (room) {
        memset(room, 0, sizeof(*room));
        room->addr = *addr;
        room->reach = MIP6_REACH_INCOMPLETE;
        room->next = INT64_MAX;
        room->used = now;
    }
    return room;
}

static void neighbour_enter(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                            Mip6Reach reach)
{
    n->reach = reach;
    n->probes = 0;
    switch (reach) {
    case MIP6_REACH_REACHABLE:
        n->next = now + c->reachable * MS;
        break;
    case MIP6_REACH_DELAY:
        n->next = now + DELAY_FIRST_PROBE;
        break;
    case MIP6_REACH_INCOMPLETE:
    case MIP6_REACH_PROBE:
        n->next = now;
        break;
    default:
        n->next = INT64_MAX;
        break;
    }
}

static void neighbour_set_mac(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                              const uint8_t *mac)
{
    bool differs = !n->has_mac || memcmp(n->mac, mac, PACKET_ETH_ADDR_LEN);

    if (!packet_eth_is_station(mac)) {
        return;
    }
    n->has_mac = true;
    memcpy(n->mac, mac, PACKET_ETH_ADDR_LEN);
    if (differs) {
        neighbour_enter(c, now, n, MIP6_REACH_STALE);
        tell(c);
    }
}

static Mip6Neighbour *best_router(Mip6CareOf *c, int64_t now)
{
    Mip6Neighbour *best = NULL;

    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach == MIP6_REACH_NONE || n->router <= now ||
            n->reach == MIP6_REACH_FAILED) {
            continue;
        }
        if (!best || (n->has_mac && !best->has_mac) ||
            (n->has_mac == best->has_mac &&
             n->preference > best->preference)) {
            best = n;
        }
    }
    return best;
}

/* Without a default router, one is looked for. */
static void miss_router(Mip6CareOf *c, int64_t now)
{
    if (c->solicit == INT64_MAX && !best_router(c, now)) {
        c->solicitations = 0;
        c->solicit = now;
    }
}

/* Nobody answers. */
static void neighbour_fail(Mip6CareOf *c, int64_t now, Mip6Neighbour *n)
{
    n->has_mac = false;
    if (n->router > now) {
        neighbour_enter(c, now, n, MIP6_REACH_FAILED);
        miss_router(c, now);
    } else {
        n->reach = MIP6_REACH_NONE;
    }
    tell(c);
}

static void neighbour_tick(Mip6CareOf *c, int64_t now, Mip6Neighbour *n)
{
    unsigned limit = n->reach == MIP6_REACH_PROBE ? MAX_UNICAST_SOLICIT
                                                  : MAX_MULTICAST_SOLICIT;

    if (n->reach == MIP6_REACH_NONE) {
        return;
    }
    if (n->router && n->router <= now) {
        n->router = 0;
        miss_router(c, now);
        tell(c);
    }
    if (n->next > now) {
        return;
    }
    switch (n->reach) {
    case MIP6_REACH_REACHABLE:
        neighbour_enter(c, now, n, MIP6_REACH_STALE);
        break;
    case MIP6_REACH_DELAY:
        neighbour_enter(c, now, n, MIP6_REACH_PROBE);
        /* fall through */
    case MIP6_REACH_INCOMPLETE:
    case MIP6_REACH_PROBE:
        if (n->probes == limit) {
            neighbour_fail(c, now, n);
            break;
        }
        n->probes++;
        n->next = now + c->retrans * MS;
        send_ns(c, n);
        break;
    default:
        n->next = INT64_MAX;
        break;
    }
}

bool mip6_careof_next_hop(Mip6CareOf *c, int64_t now,
                          const struct in6_addr *dst,
                          uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    Mip6Neighbour *n;

    if (is_on_link(c, now, dst)) {
        n = neighbour_find(c, dst);
        if (!n) {
            n = neighbour_new(c, now, dst);
            if (n) {
                neighbour_enter(c, now, n, MIP6_REACH_INCOMPLETE);
                neighbour_tick(c, now, n);
            }
        }
    } else {
        n = best_router(c, now);
    }
    if (!n) {
        return false;
    }
    n->used = now;
    if (n->reach == MIP6_REACH_STALE) {
        neighbour_enter(c, now, n, MIP6_REACH_DELAY);
    } else if (!n->has_mac && n->next == INT64_MAX) {
        neighbour_enter(c, now, n, MIP6_REACH_INCOMPLETE);
        neighbour_tick(c, now, n);
    }
    if (n->has_mac) {
        memcpy(mac, n->mac, PACKET_ETH_ADDR_LEN);
    }
    return n->has_mac;
}

void mip6_careof_confirm(Mip6CareOf *c, int64_t now,
                         const struct in6_addr *dst)
{
    Mip6Neighbour *n = is_on_link(c, now, dst) ? neighbour_find(c, dst)
                                               : best_router(c, now);

    if (n && n->has_mac) {
        neighbour_enter(c, now, n, MIP6_REACH_REACHABLE);
    }
}

/* --- messages ------------------------------------------------------------- */

static uint32_t bounded(uint32_t value, uint32_t min, uint32_t max)
{
    return value < min ? min : value > max ? max : value;
}

static void take_ra_parameters(Mip6CareOf *c, const PacketNdRa *ra)
{
    if (ra->hop_limit) {
        c->hop_limit = ra->hop_limit;
    }
    if (ra->retrans) {
        c->retrans = bounded(ra->retrans, RETRANS_MS_MIN, RETRANS_MS_MAX);
    }
    if (ra->reachable) {
        uint32_t ms = bounded(ra->reachable, REACHABLE_MS_MIN,
                              REACHABLE_MS_MAX);

        /* Section 6.3.2: 0.5 to 1.5 times as long. */
        c->reachable = ms / 2 + c->ops->random(c->opaque) % (ms + 1);
    }
    if (ra->mtu >= PACKET_IP6_MTU_MIN && ra->mtu <= c->link_mtu) {
        c->mtu = ra->mtu;
    }
}

/* Another router has spoken: are those that were known still there? */
static void probe_routers(Mip6CareOf *c, int64_t now)
{
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach != MIP6_REACH_NONE && n->reach != MIP6_REACH_PROBE &&
            n->router > now && n->has_mac) {
            neighbour_enter(c, now, n, MIP6_REACH_PROBE);
        }
    }
}

static void take_router(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    Mip6Neighbour *n = neighbour_find(c, &nd->src);

    if (nd->ra.lifetime && (!n || n->router <= now)) {
        probe_routers(c, now);
    }
    if (!n && nd->ra.lifetime) {
        n = neighbour_new(c, now, &nd->src);
    }
    if (!n) {
        return;
    }
    n->router = nd->ra.lifetime ? now + nd->ra.lifetime * SECOND : 0;
    n->preference = nd->ra.preference;
    if (n->reach == MIP6_REACH_FAILED) {
        neighbour_enter(c, now, n, MIP6_REACH_INCOMPLETE);
    }
    if (nd->has_slla) {
        neighbour_set_mac(c, now, n, nd->slla);
    }
    miss_router(c, now);
}

static void take_ra(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    if (nd->ra.lifetime) {
        c->solicit = INT64_MAX;
    }
    take_ra_parameters(c, &nd->ra);
    take_router(c, now, nd);
    for (unsigned i = 0; i < nd->ra.prefixes; i++) {
        prefix_on_link(c, now, &nd->ra.prefix[i]);
        prefix_autonomous(c, now, &nd->ra.prefix[i], &nd->src);
    }
    tell(c);
}

/* RFC 4862 section 5.4.3; RFC 4861 section 7.2.4. */
static void take_ns(Mip6CareOf *c, int64_t now, const PacketNd *nd,
                    const uint8_t src_mac[PACKET_ETH_ADDR_LEN])
{
    Mip6Address *a = address_find(c, &nd->target);
    bool probe = IN6_IS_ADDR_UNSPECIFIED(&nd->src);
    bool slla = nd->has_slla && packet_eth_is_station(nd->slla);
    uint8_t frame[FRAME_MAX];
    size_t len;

    if (!a || a->state == MIP6_ADDRESS_DUPLICATE) {
        return;
    }
    if (a->state == MIP6_ADDRESS_TENTATIVE) {
        /* Our own probe may come back to us. */
        if (probe && memcmp(src_mac, c->mac, PACKET_ETH_ADDR_LEN)) {
            address_duplicate(c, now, a);
        }
        return;
    }
    len = packet_nd_build_na(frame + PACKET_ETH_LEN, &a->addr,
                             probe ? &packet_ip6_all_nodes : &nd->src,
                             &a->addr,
                             PACKET_NA_OVERRIDE |
                             (probe ? 0 : PACKET_NA_SOLICITED), c->mac);
    transmit(c, frame, len, &packet_ip6_all_nodes,
             probe ? NULL : slla ? nd->slla : src_mac);
}

/* RFC 4861 section 7.2.5. */
static void take_na(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    Mip6Address *a = address_find(c, &nd->target);
    Mip6Neighbour *n = neighbour_find(c, &nd->target);
    bool solicited = nd->flags & PACKET_NA_SOLICITED;
    bool differs;

    if (a) {
        if (a->state == MIP6_ADDRESS_TENTATIVE) {
            address_duplicate(c, now, a);
        }
        return;
    }
    if (!n || (!n->has_mac && !nd->has_tlla)) {
        return;
    }
    differs = nd->has_tlla && n->has_mac &&
              memcmp(n->mac, nd->tlla, PACKET_ETH_ADDR_LEN);
    if (differs && !(nd->flags & PACKET_NA_OVERRIDE)) {
        if (n->reach == MIP6_REACH_REACHABLE) {
            neighbour_enter(c, now, n, MIP6_REACH_STALE);
        }
        return;
    }
    if (nd->has_tlla) {
        neighbour_set_mac(c, now, n, nd->tlla);
    }
    if (solicited && n->has_mac) {
        neighbour_enter(c, now, n, MIP6_REACH_REACHABLE);
    }
    if (n->router > now && !(nd->flags & PACKET_NA_ROUTER)) {
        n->router = 0;          /* it is none any more */
        miss_router(c, now);
        tell(c);
    }
}

void mip6_careof_nd(Mip6CareOf *c, int64_t now, const PacketNd *nd,
                    const uint8_t src_mac[PACKET_ETH_ADDR_LEN])
{
    if (!c->running) {
        return;
    }
    switch (nd->type) {
    case PACKET_ND_RA:
        take_ra(c, now, nd);
        break;
    case PACKET_ND_NS:
        take_ns(c, now, nd, src_mac);
        break;
    case PACKET_ND_NA:
        take_na(c, now, nd);
        break;
    }
}

/* --- life ----------------------------------------------------------------- */

static void forget(Mip6CareOf *c)
{
    memset(&c->link_local, 0, sizeof(c->link_local));
    memset(c->address, 0, sizeof(c->address));
    memset(c->on_link, 0, sizeof(c->on_link));
    memset(c->neighbour, 0, sizeof(c->neighbour));
    c->mtu = c->link_mtu;
    c->hop_limit = 64;
    c->retrans = RETRANS_MS;
    c->reachable = REACHABLE_MS;
    c->solicit = INT64_MAX;
    c->solicitations = 0;
}

void mip6_careof_init(Mip6CareOf *c, const uint8_t mac[PACKET_ETH_ADDR_LEN],
                      uint32_t mtu, const struct in6_addr *fixed,
                      const Mip6CareOfOps *ops, void *opaque)
{
    memset(c, 0, sizeof(*c));
    c->ops = ops;
    c->opaque = opaque;
    memcpy(c->mac, mac, PACKET_ETH_ADDR_LEN);
    c->link_mtu = mtu;
    if (fixed) {
        c->has_fixed = true;
        c->fixed = *fixed;
    }
    forget(c);
}

void mip6_careof_start(Mip6CareOf *c, int64_t now)
{
    struct in6_addr own = packet_ip6_link_local(c->mac);

    forget(c);
    c->running = true;
    c->solicit = now;
    c->last = now;
    address_begin(c, now, &c->link_local, &own, INT64_MAX, INT64_MAX);
    if (c->has_fixed) {
        address_begin(c, now, &c->address[0], &c->fixed, INT64_MAX, INT64_MAX);
        c->address[0].fixed = true;
    }
    mip6_careof_tick(c, now);
}

void mip6_careof_solicit(Mip6CareOf *c, int64_t now)
{
    if (c->running) {
        c->solicitations = 0;
        c->solicit = now;
    }
}

void mip6_careof_stop(Mip6CareOf *c)
{
    forget(c);
    c->running = false;
}

/*
 * Neither the order nor the lifetimes of advertisements make another address
 * the better: each change is a registration.
 */
static bool is_better(const Mip6CareOf *c, const Mip6Address *a,
                      const Mip6Address *b, int64_t now)
{
    bool preferred = a->preferred > now, orphan = is_orphan(c, now, a);

    if (orphan != is_orphan(c, now, b)) {
        return !orphan;
    }
    if (preferred != (b->preferred > now)) {
        return preferred;
    }
    return preferred ? a->since < b->since : a->valid > b->valid;
}

const struct in6_addr *mip6_careof_address(const Mip6CareOf *c, int64_t now)
{
    const Mip6Address *best = NULL;

    if (!best_router((Mip6CareOf *)c, now)) {
        return NULL;
    }
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        const Mip6Address *a = &c->address[i];

        if (a->state != MIP6_ADDRESS_VALID || a->valid <= now) {
            continue;
        }
        if (!best || is_better(c, a, best, now)) {
            best = a;
        }
    }
    return best ? &best->addr : NULL;
}

int64_t mip6_careof_valid_until(const Mip6CareOf *c,
                                const struct in6_addr *addr)
{
    const Mip6Address *a = address_find((Mip6CareOf *)c, addr);

    return a ? a->valid : INT64_MAX;
}

bool mip6_careof_owns(const Mip6CareOf *c, const struct in6_addr *addr)
{
    const Mip6Address *a = address_find((Mip6CareOf *)c, addr);

    return a && a->state == MIP6_ADDRESS_VALID;
}

int64_t mip6_careof_deadline(const Mip6CareOf *c)
{
    int64_t at = c->solicit;

    if (!c->running) {
        return INT64_MAX;
    }
    at = min_time(at, address_deadline(&c->link_local, c->last));
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        at = min_time(at, address_deadline(&c->address[i], c->last));
    }
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        const Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach != MIP6_REACH_NONE) {
            at = min_time(at, n->next);
            at = n->router ? min_time(at, n->router) : at;
        }
    }
    return at;
}

static void solicit_routers(Mip6CareOf *c, int64_t now)
{
    int64_t gap = RTR_SOLICITATION_GAP;

    /* Three as RFC 4861 has it, then ever more rarely (RFC 7559). */
    for (unsigned i = MAX_RTR_SOLICITATIONS; i <= c->solicitations; i++) {
        gap = min_time(gap * 2, RTR_SOLICITATION_LONGEST);
    }
    if (c->solicitations < 16) {
        c->solicitations++;
    }
    c->solicit = now + gap;
    send_rs(c);
}

void mip6_careof_tick(Mip6CareOf *c, int64_t now)
{
    int64_t before = c->last;

    if (!c->running) {
        return;
    }
    c->last = now;
    if (c->solicit <= now) {
        solicit_routers(c, now);
    }
    address_tick(c, now, &c->link_local);
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        Mip6Address *a = &c->address[i];

        address_tick(c, now, a);
        if (a->state == MIP6_ADDRESS_VALID && a->preferred > before &&
            a->preferred <= now) {
            tell(c);            /* another one is preferred now */
        }
    }
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        neighbour_tick(c, now, &c->neighbour[i]);
    }
}
