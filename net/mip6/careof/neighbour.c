/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host on the foreign link: on-link prefixes, neighbours, routers (RFC
 * 4861), and next-hop determination
 */
#include <string.h>

#include "net/mip6/careof/internal.h"

/* RFC 4861 section 10. */
#define MAX_UNICAST_SOLICIT     3u
#define MAX_MULTICAST_SOLICIT   3u
#define DELAY_FIRST_PROBE       (5 * SECOND)

/* --- on-link prefixes ----------------------------------------------------- */

/* RFC 4861 section 6.3.4. */
void mip6_neighbour_prefix(Mip6CareOf *c, int64_t now,
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
        room->valid = p->valid ? mip6_careof_until(now, p->valid) : 0;
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

Mip6Neighbour *mip6_neighbour_find(Mip6CareOf *c,
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

/* Returns: a free entry, or the least recently used one that is not a router */
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

void mip6_neighbour_enter(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
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

void mip6_neighbour_set_mac(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                            const uint8_t *mac)
{
    bool differs = !n->has_mac || memcmp(n->mac, mac, PACKET_ETH_ADDR_LEN);

    if (!packet_eth_is_station(mac)) {
        return;
    }
    n->has_mac = true;
    memcpy(n->mac, mac, PACKET_ETH_ADDR_LEN);
    if (differs) {
        mip6_neighbour_enter(c, now, n, MIP6_REACH_STALE);
        mip6_careof_tell(c);
    }
}

Mip6Neighbour *mip6_neighbour_router(Mip6CareOf *c, int64_t now)
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

/* If there is no default router, starts to solicit routers. */
void mip6_neighbour_miss_router(Mip6CareOf *c, int64_t now)
{
    if (c->solicit == INT64_MAX && !mip6_neighbour_router(c, now)) {
        c->solicitations = 0;
        c->solicit = now;
    }
}

/* The neighbour has not answered any solicitation. */
static void neighbour_fail(Mip6CareOf *c, int64_t now, Mip6Neighbour *n)
{
    n->has_mac = false;
    if (n->router > now) {
        mip6_neighbour_enter(c, now, n, MIP6_REACH_FAILED);
        mip6_neighbour_miss_router(c, now);
    } else {
        n->reach = MIP6_REACH_NONE;
    }
    mip6_careof_tell(c);
}

/*
 * Without a valid address the host cannot send a solicitation yet. It sends one
 * as soon as an address gets valid, not a whole interval later: a VM that comes
 * home may have arrived by then.
 */
static void solicit_neighbour(Mip6CareOf *c, int64_t now, Mip6Neighbour *n)
{
    int64_t at = INT64_MAX;

    if (!mip6_careof_send_ns(c, n)) {
        at = mip6_careof_source_at(c);
    }
    if (at != INT64_MAX) {
        n->next = at;
        return;
    }
    n->probes++;
    n->next = now + c->retrans * MS;
}

void mip6_neighbour_tick(Mip6CareOf *c, int64_t now, Mip6Neighbour *n)
{
    unsigned limit = n->reach == MIP6_REACH_PROBE ? MAX_UNICAST_SOLICIT
                                                  : MAX_MULTICAST_SOLICIT;

    if (n->reach == MIP6_REACH_NONE) {
        return;
    }
    if (n->router && n->router <= now) {
        n->router = 0;
        mip6_neighbour_miss_router(c, now);
        mip6_careof_tell(c);
    }
    if (n->next > now) {
        return;
    }
    switch (n->reach) {
    case MIP6_REACH_REACHABLE:
        mip6_neighbour_enter(c, now, n, MIP6_REACH_STALE);
        break;
    case MIP6_REACH_DELAY:
        mip6_neighbour_enter(c, now, n, MIP6_REACH_PROBE);
        /* fall through */
    case MIP6_REACH_INCOMPLETE:
    case MIP6_REACH_PROBE:
        if (n->probes == limit) {
            neighbour_fail(c, now, n);
            break;
        }
        solicit_neighbour(c, now, n);
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
        n = mip6_neighbour_find(c, dst);
        if (!n) {
            n = neighbour_new(c, now, dst);
            if (n) {
                mip6_neighbour_enter(c, now, n, MIP6_REACH_INCOMPLETE);
                mip6_neighbour_tick(c, now, n);
            }
        }
    } else {
        n = mip6_neighbour_router(c, now);
    }
    if (!n) {
        return false;
    }
    n->used = now;
    if (n->reach == MIP6_REACH_STALE) {
        mip6_neighbour_enter(c, now, n, MIP6_REACH_DELAY);
    } else if (!n->has_mac && n->next == INT64_MAX) {
        mip6_neighbour_enter(c, now, n, MIP6_REACH_INCOMPLETE);
        mip6_neighbour_tick(c, now, n);
    }
    if (n->has_mac) {
        memcpy(mac, n->mac, PACKET_ETH_ADDR_LEN);
    }
    return n->has_mac;
}

void mip6_careof_confirm(Mip6CareOf *c, int64_t now,
                         const struct in6_addr *dst)
{
    Mip6Neighbour *n = is_on_link(c, now, dst) ? mip6_neighbour_find(c, dst)
                                               : mip6_neighbour_router(c, now);

    if (n && n->has_mac) {
        mip6_neighbour_enter(c, now, n, MIP6_REACH_REACHABLE);
    }
}

/* --- routers -------------------------------------------------------------- */

bool mip6_careof_has_router(const Mip6CareOf *c, int64_t now,
                            const struct in6_addr *addr)
{
    const Mip6Neighbour *n = mip6_neighbour_find((Mip6CareOf *)c, addr);

    return n && n->router > now && n->reach != MIP6_REACH_FAILED;
}

/* There is a new router: checks if the known ones still answer. */
static void probe_routers(Mip6CareOf *c, int64_t now)
{
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach != MIP6_REACH_NONE && n->reach != MIP6_REACH_PROBE &&
            n->router > now && n->has_mac) {
            mip6_neighbour_enter(c, now, n, MIP6_REACH_PROBE);
        }
    }
}

void mip6_neighbour_take_router(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    Mip6Neighbour *n = mip6_neighbour_find(c, &nd->src);

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
        mip6_neighbour_enter(c, now, n, MIP6_REACH_INCOMPLETE);
    }
    if (nd->has_slla) {
        mip6_neighbour_set_mac(c, now, n, nd->slla);
    }
    mip6_neighbour_miss_router(c, now);
}
