/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home link as its routers advertise it
 *
 * A prefix has changed if it is new, if its flags differ, or if a lifetime
 * differs both from the last advertised value (a router with fixed lifetimes)
 * and from that value minus the elapsed time (a router with lifetimes that
 * count down).
 */
#include <string.h>

#include "ha/parts/link.h"
#include "base/units.h"
#include "net/packet/ip6.h"

#define SLACK           2       /* s, tolerance for lifetimes */

void mip6_ha_link_init(Mip6HaLink *l, const struct in6_addr *home,
                       uint8_t home_len)
{
    memset(l, 0, sizeof(*l));
    l->home = *home;
    l->home_len = home_len;
}

/* --- other home agents ---------------------------------------------------- */

static Mip6HaPeer *find_peer(Mip6HaLink *l, int64_t now,
                             const struct in6_addr *router)
{
    Mip6HaPeer *unused = NULL;

    for (unsigned i = 0; i < MIP6_ICMP_AGENTS_MAX - 1; i++) {
        Mip6HaPeer *peer = &l->peer[i];

        if (peer->expires > now && packet_ip6_equal(&peer->router, router)) {
            return peer;
        }
        unused = !unused && peer->expires <= now ? peer : unused;
    }
    return unused;
}

/* Its global address: in the home prefix, with the R flag (section 7.2). */
static const struct in6_addr *global_of(const Mip6HaLink *l,
                                        const PacketNdRa *ra)
{
    for (unsigned i = 0; i < ra->prefixes; i++) {
        const PacketNdPrefix *p = &ra->prefix[i];

        if (p->router_address && p->len == l->home_len &&
            packet_ip6_in_prefix(&p->prefix, &l->home, l->home_len)) {
            return &p->prefix;
        }
    }
    return NULL;
}

static void update_peer(Mip6HaLink *l, int64_t now, const PacketNd *nd)
{
    const PacketNdRa *ra = &nd->ra;
    uint16_t lifetime = !ra->home_agent ? 0
                        : ra->has_ha_info ? ra->ha_lifetime : ra->lifetime;
    const struct in6_addr *global = global_of(l, ra);
    Mip6HaPeer *peer = find_peer(l, now, &nd->src);

    if (!peer) {
        return;
    }
    if (!lifetime || !global) {
        if (packet_ip6_equal(&peer->router, &nd->src)) {
            peer->expires = lifetime ? peer->expires : 0;
        }
        return;
    }
    peer->router = nd->src;
    peer->address = *global;
    peer->preference = ra->has_ha_info ? ra->ha_preference : 0;
    peer->expires = now + lifetime * SECOND;
}

void mip6_ha_link_agents(const Mip6HaLink *l, int64_t now,
                         const struct in6_addr *own, int16_t preference,
                         Mip6Icmp *m)
{
    int16_t preferences[MIP6_ICMP_AGENTS_MAX] = { preference };

    m->agents = 1;
    m->agent[0] = *own;
    for (unsigned i = 0; i < MIP6_ICMP_AGENTS_MAX - 1; i++) {
        const Mip6HaPeer *peer = &l->peer[i];
        unsigned at = m->agents;

        if (peer->expires <= now || packet_ip6_equal(&peer->address, own)) {
            continue;
        }
        for (; at && preferences[at - 1] < peer->preference; at--) {
            preferences[at] = preferences[at - 1];
            m->agent[at] = m->agent[at - 1];
        }
        preferences[at] = peer->preference;
        m->agent[at] = peer->address;
        m->agents++;
    }
}

/* --- prefixes ------------------------------------------------------------- */

static uint32_t left(const Mip6HaPrefix *p, int64_t now, uint32_t advertised)
{
    int64_t passed = (now - p->when) / SECOND;

    if (advertised == PACKET_ND_INFINITE || p->fixed) {
        return advertised;
    }
    return passed < advertised ? advertised - passed : 0;
}

static bool same_prefix(const PacketNdPrefix *a, const PacketNdPrefix *b)
{
    return a->len == b->len &&
           packet_ip6_in_prefix(&a->prefix, &b->prefix, a->len);
}

static bool is_home(const Mip6HaLink *l, const PacketNdPrefix *p)
{
    return p->len == l->home_len &&
           packet_ip6_in_prefix(&p->prefix, &l->home, l->home_len);
}

static Mip6HaPrefix *find_prefix(Mip6HaLink *l, const PacketNdPrefix *prefix)
{
    for (unsigned i = 0; i < l->prefixes; i++) {
        if (same_prefix(&l->prefix[i].advertised, prefix)) {
            return &l->prefix[i];
        }
    }
    return NULL;
}

static bool lifetime_matches(const Mip6HaPrefix *p, int64_t now,
                             uint32_t before, uint32_t after)
{
    int64_t passed = left(p, now, before);

    return before == after ||
           (passed - SLACK <= after && after <= passed + SLACK);
}

static void clear_host_bits(PacketNdPrefix *p)
{
    for (unsigned i = 0; i < sizeof(p->prefix); i++) {
        unsigned left = p->len > i * 8 ? p->len - i * 8 : 0;
        unsigned kept = left < 8 ? left : 8;

        p->prefix.s6_addr[i] &= 0xff00u >> kept;
    }
}

/*
 * Stores a prefix. Unless @quiet, a change is advertised to mobile nodes.
 * Returns: false if the table is full.
 */
static bool store_prefix(Mip6HaLink *l, int64_t now,
                         const PacketNdPrefix *advertised, bool fixed,
                         bool quiet)
{
    Mip6HaPrefix *p = find_prefix(l, advertised);
    bool changed = !p;

    if (!p) {
        if (l->prefixes == PACKET_ND_PREFIX_MAX) {
            return false;
        }
        p = &l->prefix[l->prefixes++];
    } else {
        changed = p->advertised.on_link != advertised->on_link ||
                  p->advertised.autonomous != advertised->autonomous ||
                  !lifetime_matches(p, now, p->advertised.valid,
                                    advertised->valid) ||
                  !lifetime_matches(p, now, p->advertised.preferred,
                                    advertised->preferred);
    }
    *p = (Mip6HaPrefix) {
        .advertised = *advertised,
        .when = now,
        .fixed = fixed,
    };
    /*
     * The router's address (R, RFC 6275 section 7.2) is not passed on; without
     * it the bits after the prefix are zero (RFC 4861 section 4.6.2).
     */
    p->advertised.router_address = false;
    clear_host_bits(&p->advertised);
    if (changed && !quiet) {
        l->version++;
        l->deprecated = is_home(l, advertised) && !advertised->preferred;
    }
    return true;
}

/* Removes prefixes without lifetime that were advertised for long enough. */
static void forget_old(Mip6HaLink *l, int64_t now)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < l->prefixes; i++) {
        const Mip6HaPrefix *p = &l->prefix[i];

        if (left(p, now, p->advertised.valid) ||
            now - p->when < 86400 * SECOND) {
            l->prefix[kept++] = *p;
        }
    }
    l->prefixes = kept;
}

void mip6_ha_link_configure(Mip6HaLink *l, int64_t now,
                            const PacketNdPrefix *prefix, unsigned count)
{
    bool was[PACKET_ND_PREFIX_MAX] = { false };
    bool quiet = l->prefixes == 0;

    for (unsigned i = 0; i < l->prefixes; i++) {
        was[i] = l->prefix[i].fixed;
    }
    for (unsigned i = 0; i < count; i++) {
        Mip6HaPrefix *p = find_prefix(l, &prefix[i]);

        if (p) {
            was[p - l->prefix] = false;
        }
        store_prefix(l, now, &prefix[i], true, quiet);
    }
    for (unsigned i = 0; i < l->prefixes; i++) {
        if (was[i] && is_home(l, &l->prefix[i].advertised)) {
            l->prefix[i].fixed = false;
            l->prefix[i].when = now;
        } else if (was[i]) {
            PacketNdPrefix gone = l->prefix[i].advertised;

            gone.valid = gone.preferred = 0;
            store_prefix(l, now, &gone, true, quiet);
        }
    }
}

void mip6_ha_link_heard(Mip6HaLink *l, int64_t now, const PacketNd *nd)
{
    const PacketNdRa *ra = &nd->ra;
    /* The first prefixes that a new agent learns are not changes. */
    bool quiet = l->prefixes == 0;

    update_peer(l, now, nd);
    forget_old(l, now);
    for (unsigned i = 0; i < ra->prefixes; i++) {
        const PacketNdPrefix *p = &ra->prefix[i];
        const Mip6HaPrefix *known = find_prefix(l, p);

        /* Configured prefixes have precedence over advertised ones. */
        if ((!known || !known->fixed) && p->preferred <= p->valid &&
            packet_ip6_is_routable(&p->prefix)) {
            store_prefix(l, now, p, false, quiet);
        }
        if (is_home(l, p)) {
            l->managed = ra->managed;
            l->other = ra->other;
        }
    }
}

void mip6_ha_link_prefixes(const Mip6HaLink *l, int64_t now, Mip6Icmp *m)
{
    m->managed = l->managed;
    m->other = l->other;
    m->prefixes = l->prefixes;
    for (unsigned i = 0; i < l->prefixes; i++) {
        const Mip6HaPrefix *p = &l->prefix[i];

        m->prefix[i] = p->advertised;
        m->prefix[i].valid = left(p, now, p->advertised.valid);
        m->prefix[i].preferred = left(p, now, p->advertised.preferred);
    }
}

bool mip6_ha_link_left(const Mip6HaLink *l, int64_t now, uint32_t *valid,
                       uint32_t *preferred)
{
    for (unsigned i = 0; i < l->prefixes; i++) {
        const Mip6HaPrefix *p = &l->prefix[i];

        if (is_home(l, &p->advertised)) {
            *valid = left(p, now, p->advertised.valid);
            *preferred = left(p, now, p->advertised.preferred);
            return true;
        }
    }
    return false;
}
