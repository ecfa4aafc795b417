/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mobile node's own host on the foreign link (RFC 4861, 4862)
 *
 * Theory of operation
 * ===================
 *
 * This host has a MAC address of its own, different from the guest's. It starts
 * with a router solicitation and with duplicate address detection for its
 * link-local address, at the same time: the solicitation need not wait, because
 * its source may be "::" (RFC 4861 section 6.3.7). For each prefix with the A
 * flag in a router advertisement it makes an address, up to
 * MIP6_CAREOF_ADDRESSES, which is probed once and then used. It does not wait
 * for a second advertisement. If another node has the address, it tries another
 * interface identifier, up to IDGEN_RETRIES times for a prefix.
 *
 * All state that unknown nodes can create is in small tables: addresses and
 * prefixes from advertisements, and neighbours. A full table accepts no new
 * entries, except that a default router replaces a neighbour that is not a
 * router. From solicitations, only the destination of the answer is learned;
 * from neighbour advertisements, only answers to own solicitations are used.
 *
 * The next hop to a destination is the destination itself if it is in an
 * on-link prefix, otherwise the best default router: first by reachability,
 * then by preference (RFC 4191). A router that does not answer three probes is
 * not used until it sends again (section 6.3.6), and neither are addresses from
 * its prefixes (RFC 6724 section 5, rule 5.5). A new router may mean that this
 * is another link, so the known routers are probed. If no usable router is
 * left, because all failed, were withdrawn or expired, routers are solicited
 * again. A frame whose next hop is being resolved waits in the caller.
 *
 * It listens to the solicited-node group of each address, and reports it before
 * the address's first probe, when the address is valid, and to those who ask
 * (RFC 3810). After a query of RFC 2710 it speaks version 1 for some minutes.
 *
 * Where routers advertise the M flag and no usable prefix, it is a client of
 * DHCPv6 (lease.c, dhcp6.c).
 *
 * address.c has the addresses; neighbour.c has on-link prefixes, neighbours and
 * routers. This file processes messages, and starts, stops and ticks the host.
 */
#include <string.h>

#include "net/mip6/careof/internal.h"

/* RFC 4861 section 10. */
#define MAX_RTR_SOLICITATIONS   3u
#define RTR_SOLICITATION_GAP    (4 * SECOND)
#define RTR_SOLICITATION_LONGEST (64 * SECOND)  /* RFC 7559 */
#define REACHABLE_MS            30000u
#define RETRANS_MS              1000u
/*
 * Limits for values in advertisements, so timers are neither too fast nor slow.
 */
#define RETRANS_MS_MIN          100u
#define RETRANS_MS_MAX          10000u
#define REACHABLE_MS_MIN        1000u
#define REACHABLE_MS_MAX        3600000u
#define REPORT_GAP              (100 * MS)      /* queries cannot ask for more */
/* RFC 3810 section 9.12, with its defaults. */
#define MLD1_QUERIER_PRESENT    (260 * SECOND)

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

        /* Section 6.3.2: randomised, 0.5 to 1.5 times as long. */
        c->reachable = ms / 2 + c->ops->random(c->opaque) % (ms + 1);
    }
    if (ra->mtu >= PACKET_IP6_MTU_MIN && ra->mtu <= MIP6_CAREOF_MTU_MAX) {
        c->mtu = ra->mtu < c->path_mtu ? ra->mtu : c->path_mtu;
    }
}

static void take_ra(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    if (nd->ra.lifetime) {
        c->solicit = INT64_MAX;
    }
    take_ra_parameters(c, &nd->ra);
    mip6_neighbour_take_router(c, now, nd);
    for (unsigned i = 0; i < nd->ra.prefixes; i++) {
        mip6_neighbour_prefix(c, now, &nd->ra.prefix[i]);
        mip6_address_prefix(c, now, &nd->ra.prefix[i], &nd->src);
    }
    mip6_lease_take_router(c, now, nd);
    mip6_careof_tell(c);
}

/* Another node has the address, or probes it at the same time. */
static void collide(Mip6CareOf *c, int64_t now, Mip6Address *a)
{
    bool leased = a->leased;

    mip6_address_duplicate(c, now, a);
    if (leased) {
        mip6_lease_duplicate(c, now);
    }
}

/* RFC 4862 section 5.4.3; RFC 4861 section 7.2.4. */
static void take_ns(Mip6CareOf *c, int64_t now, const PacketNd *nd,
                    const uint8_t src_mac[PACKET_ETH_ADDR_LEN])
{
    Mip6Address *a = mip6_address_find(c, &nd->target);
    bool probe = IN6_IS_ADDR_UNSPECIFIED(&nd->src);
    bool slla = nd->has_slla && packet_eth_is_station(nd->slla);
    uint8_t frame[MIP6_CAREOF_FRAME_MAX];
    size_t len;

    if (!a || a->state == MIP6_ADDRESS_DUPLICATE) {
        return;
    }
    if (a->state == MIP6_ADDRESS_TENTATIVE) {
        /* Our own probe may be looped back. */
        if (probe && memcmp(src_mac, c->mac, PACKET_ETH_ADDR_LEN)) {
            collide(c, now, a);
        }
        return;
    }
    len = packet_nd_build_na(frame + PACKET_ETH_LEN, &a->addr,
                             probe ? &packet_ip6_all_nodes : &nd->src,
                             &a->addr,
                             PACKET_NA_OVERRIDE |
                             (probe ? 0 : PACKET_NA_SOLICITED), c->mac);
    mip6_careof_transmit(c, frame, len, &packet_ip6_all_nodes,
                         probe ? NULL : slla ? nd->slla : src_mac);
}

/* RFC 4861 section 7.2.5. */
static void take_na(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    Mip6Address *a = mip6_address_find(c, &nd->target);
    Mip6Neighbour *n = mip6_neighbour_find(c, &nd->target);
    bool solicited = nd->flags & PACKET_NA_SOLICITED;
    bool differs;

    if (a) {
        if (a->state == MIP6_ADDRESS_TENTATIVE) {
            collide(c, now, a);
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
            mip6_neighbour_enter(c, now, n, MIP6_REACH_STALE);
        }
        return;
    }
    if (nd->has_tlla) {
        mip6_neighbour_set_mac(c, now, n, nd->tlla);
    }
    if (solicited && n->has_mac) {
        mip6_neighbour_enter(c, now, n, MIP6_REACH_REACHABLE);
    }
    if (n->router > now && !(nd->flags & PACKET_NA_ROUTER)) {
        n->router = 0;          /* it is not a router any more */
        mip6_neighbour_miss_router(c, now);
        mip6_careof_tell(c);
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

void mip6_careof_mld(Mip6CareOf *c, int64_t now, const PacketMld *mld)
{
    int64_t delay;

    if (!c->running || mld->type != PACKET_MLD_QUERY ||
        !(IN6_IS_ADDR_UNSPECIFIED(&mld->group) ||
          mip6_careof_listens(c, &mld->group))) {
        return;
    }
    if (mld->is_v1) {
        c->mld1_until = now + MLD1_QUERIER_PRESENT;
    }
    delay = c->ops->random(c->opaque) % (mld->delay + 1) * MS;
    if (delay < REPORT_GAP) {
        delay = REPORT_GAP;
    }
    c->report = mip6_careof_min_time(c->report, now + delay);
}

/* --- start, stop, time ---------------------------------------------------- */

static void forget(Mip6CareOf *c)
{
    memset(&c->link_local, 0, sizeof(c->link_local));
    memset(c->address, 0, sizeof(c->address));
    memset(c->on_link, 0, sizeof(c->on_link));
    memset(c->neighbour, 0, sizeof(c->neighbour));
    c->mtu = c->path_mtu;
    c->hop_limit = 64;
    c->retrans = RETRANS_MS;
    c->reachable = REACHABLE_MS;
    c->solicit = INT64_MAX;
    c->solicitations = 0;
    c->report = INT64_MAX;
    c->mld1_until = INT64_MIN;
    c->is_managed = false;
    mip6_dhcp6_stop(&c->dhcp);
}

void mip6_careof_init(Mip6CareOf *c, const uint8_t mac[PACKET_ETH_ADDR_LEN],
                      uint32_t mtu, const struct in6_addr *fixed,
                      const Mip6CareOfOps *ops, void *opaque)
{
    memset(c, 0, sizeof(*c));
    c->ops = ops;
    c->opaque = opaque;
    memcpy(c->mac, mac, PACKET_ETH_ADDR_LEN);
    c->path_mtu = mtu;
    if (fixed) {
        c->has_fixed = true;
        c->fixed = *fixed;
    }
    mip6_lease_init(c);
    forget(c);
}

void mip6_careof_start(Mip6CareOf *c, int64_t now)
{
    struct in6_addr own = packet_ip6_link_local(c->mac);

    forget(c);
    c->running = true;
    c->solicit = now;
    c->last = now;
    mip6_address_begin(c, now, &c->link_local, &own, INT64_MAX, INT64_MAX);
    if (c->has_fixed) {
        mip6_address_begin(c, now, &c->address[0], &c->fixed, INT64_MAX,
                           INT64_MAX);
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

int64_t mip6_careof_deadline(const Mip6CareOf *c)
{
    int64_t at = mip6_careof_min_time(c->solicit, c->report);

    if (!c->running) {
        return INT64_MAX;
    }
    at = mip6_careof_min_time(at, mip6_lease_deadline(c));
    at = mip6_careof_min_time(at, mip6_address_deadline(&c->link_local,
                                                        c->last));
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        at = mip6_careof_min_time(at, mip6_address_deadline(&c->address[i],
                                                            c->last));
    }
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        const Mip6Neighbour *n = &c->neighbour[i];

        if (n->reach != MIP6_REACH_NONE) {
            at = mip6_careof_min_time(at, n->next);
            at = n->router ? mip6_careof_min_time(at, n->router) : at;
        }
    }
    return at;
}

static void solicit_routers(Mip6CareOf *c, int64_t now)
{
    int64_t gap = RTR_SOLICITATION_GAP;

    /* RFC 4861: three in short intervals, then increasing ones (RFC 7559). */
    for (unsigned i = MAX_RTR_SOLICITATIONS; i <= c->solicitations; i++) {
        gap = mip6_careof_min_time(gap * 2, RTR_SOLICITATION_LONGEST);
    }
    if (c->solicitations < 16) {
        c->solicitations++;
    }
    c->solicit = now + gap;
    mip6_careof_send_rs(c);
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
    if (c->report <= now) {
        c->report = INT64_MAX;
        mip6_careof_report(c, now);
    }
    mip6_address_tick(c, now, &c->link_local);
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        Mip6Address *a = &c->address[i];

        mip6_address_tick(c, now, a);
        if (a->state == MIP6_ADDRESS_VALID && a->preferred > before &&
            a->preferred <= now) {
            mip6_careof_tell(c);            /* another address is preferred */
        }
    }
    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        mip6_neighbour_tick(c, now, &c->neighbour[i]);
    }
    mip6_lease_tick(c, now);
}
