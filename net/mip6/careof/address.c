/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host on the foreign link: its addresses (RFC 4862), and the choice of the
 * care-of address
 */
#include <string.h>

#include "base/octets.h"
#include "net/mip6/careof/internal.h"
#include "net/packet/ip6.h"

#define DAD_PROBES              1u              /* RFC 4862 section 5.1 */
#define IDGEN_RETRIES           3u              /* RFC 7217 section 7 */
#define TWO_HOURS               (7200 * SECOND)

void mip6_address_begin(Mip6CareOf *c, int64_t now, Mip6Address *a,
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

/* RFC 4862 section 5.4.2: a probe, then an interval without an answer. */
void mip6_address_tick(Mip6CareOf *c, int64_t now, Mip6Address *a)
{
    if (a->state == MIP6_ADDRESS_NONE) {
        return;
    }
    if (a->valid <= now) {
        bool was_valid = a->state == MIP6_ADDRESS_VALID;

        a->state = MIP6_ADDRESS_NONE;
        if (was_valid) {
            mip6_careof_tell(c);
        }
        return;
    }
    if (a->state != MIP6_ADDRESS_TENTATIVE || a->next > now) {
        return;
    }
    if (a->probes) {
        a->probes--;
        a->next = now + c->retrans * MS;
        /* First, as switches that snoop keep others' probes away until then. */
        mip6_careof_join(c, now, &a->addr);
        mip6_careof_send_probe(c, &a->addr);
    } else {
        a->state = MIP6_ADDRESS_VALID;
        a->since = now;
        mip6_careof_join(c, now, &a->addr);     /* the first may be lost */
        mip6_careof_tell(c);
    }
}

int64_t mip6_address_deadline(const Mip6Address *a, int64_t now)
{
    int64_t at;

    if (a->state == MIP6_ADDRESS_NONE) {
        return INT64_MAX;
    }
    at = a->valid;
    if (a->state == MIP6_ADDRESS_TENTATIVE) {
        at = mip6_careof_min_time(at, a->next);
    }
    /* When its preferred lifetime ends, another address may be better. */
    return a->preferred > now ? mip6_careof_min_time(at, a->preferred) : at;
}

Mip6Address *mip6_address_find(Mip6CareOf *c, const struct in6_addr *addr)
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

Mip6Address *mip6_address_free(Mip6CareOf *c)
{
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        if (c->address[i].state == MIP6_ADDRESS_NONE) {
            return &c->address[i];
        }
    }
    return NULL;
}

/* The address that was made from a router's prefix. */
static Mip6Address *address_in(Mip6CareOf *c, const struct in6_addr *prefix)
{
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        Mip6Address *a = &c->address[i];

        if (a->state != MIP6_ADDRESS_NONE && !a->fixed && !a->leased &&
            packet_ip6_in_prefix(&a->addr, prefix, 64)) {
            return a;
        }
    }
    return NULL;
}

/* Another node has the address, or probes it at the same time. */
void mip6_address_duplicate(Mip6CareOf *c, int64_t now, Mip6Address *a)
{
    a->state = MIP6_ADDRESS_DUPLICATE;
    c->duplicates++;
    if (!IN6_IS_ADDR_LINKLOCAL(&a->addr) && !a->fixed && !a->leased &&
        a->collisions < IDGEN_RETRIES) {
        a->collisions++;
        put_be32(a->addr.s6_addr + 8, c->ops->random(c->opaque));
        put_be32(a->addr.s6_addr + 12, c->ops->random(c->opaque));
        a->state = MIP6_ADDRESS_TENTATIVE;
        a->probes = DAD_PROBES;
        a->next = now;
    }
    mip6_careof_tell(c);
}

bool mip6_address_is_orphan(const Mip6CareOf *c, int64_t now,
                            const Mip6Address *a)
{
    const Mip6Neighbour *n = mip6_neighbour_find((Mip6CareOf *)c, &a->router);

    return !a->fixed && (!n || n->router <= now ||
                         n->reach == MIP6_REACH_FAILED);
}

/* RFC 4862 section 5.5.3; @router has advertised the prefix. */
void mip6_address_prefix(Mip6CareOf *c, int64_t now,
                         const PacketNdPrefix *p,
                         const struct in6_addr *router)
{
    struct in6_addr addr = packet_ip6_from_mac(&p->prefix, c->mac);
    int64_t valid = mip6_careof_until(now, p->valid);
    Mip6Address *a;

    if (c->has_fixed || !p->autonomous || p->len != 64 ||
        p->preferred > p->valid || !packet_ip6_is_routable(&p->prefix)) {
        return;
    }
    a = address_in(c, &p->prefix);
    if (a) {
        if (mip6_address_is_orphan(c, now, a)) {
            a->router = *router;
        }
        /* (e): a forged advertisement must not shorten it below two hours. */
        if (valid < a->valid && valid < now + TWO_HOURS) {
            valid = mip6_careof_min_time(a->valid, now + TWO_HOURS);
        }
        a->preferred = mip6_careof_until(now, p->preferred);
        a->valid = valid;
        mip6_careof_tell(c);
        return;
    }
    a = p->valid ? mip6_address_free(c) : NULL;
    if (a) {
        mip6_address_begin(c, now, a, &addr,
                           mip6_careof_until(now, p->preferred), valid);
        a->router = *router;
        mip6_address_tick(c, now, a);
    }
}

/* --- selection ------------------------------------------------------------ */

/*
 * The label of an address, as far as care-of addresses and home agents may have
 * it: the policy table of RFC 6724 section 2.1.
 */
static unsigned label_of(const struct in6_addr *addr)
{
    const uint8_t *a = addr->s6_addr;

    if (get_be32(a) == 0x20010000) {
        return 5;               /* Teredo */
    }
    if (get_be16(a) == 0x2002) {
        return 2;               /* 6to4 */
    }
    return (a[0] & 0xfe) == 0xfc ? 13 : 1;
}

static bool matches(const Mip6CareOf *c, const Mip6Address *a)
{
    return label_of(&a->addr) == label_of(&c->toward);
}

/*
 * The order and the lifetimes in advertisements do not make another address
 * better, because each change costs a registration.
 */
static bool is_better(const Mip6CareOf *c, const Mip6Address *a,
                      const Mip6Address *b, int64_t now)
{
    bool preferred = a->preferred > now;
    bool orphan = mip6_address_is_orphan(c, now, a);

    if (orphan != mip6_address_is_orphan(c, now, b)) {
        return !orphan;
    }
    if (preferred != (b->preferred > now)) {
        return preferred;
    }
    if (a->doubted != b->doubted) {
        return a->doubted < b->doubted;
    }
    if (matches(c, a) != matches(c, b)) {
        return matches(c, a);
    }
    return preferred ? a->since < b->since : a->valid > b->valid;
}

const struct in6_addr *mip6_careof_address(const Mip6CareOf *c, int64_t now)
{
    const Mip6Address *best = NULL;

    if (!mip6_neighbour_router((Mip6CareOf *)c, now)) {
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

void mip6_careof_doubt(Mip6CareOf *c, int64_t now, const struct in6_addr *addr,
                       bool again)
{
    Mip6Address *a = mip6_address_find(c, addr);

    if (a && (!a->doubted || again)) {
        a->doubted = now;
        mip6_careof_tell(c);
    }
}

void mip6_careof_trust(Mip6CareOf *c, const struct in6_addr *addr)
{
    Mip6Address *a = mip6_address_find(c, addr);

    if (a) {
        a->doubted = 0;
    }
}

int64_t mip6_careof_valid_until(const Mip6CareOf *c,
                                const struct in6_addr *addr)
{
    const Mip6Address *a = mip6_address_find((Mip6CareOf *)c, addr);

    return a ? a->valid : INT64_MAX;
}

bool mip6_careof_owns(const Mip6CareOf *c, const struct in6_addr *addr)
{
    const Mip6Address *a = mip6_address_find((Mip6CareOf *)c, addr);

    return a && a->state == MIP6_ADDRESS_VALID;
}
