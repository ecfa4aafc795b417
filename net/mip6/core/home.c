/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home link, emulated for a guest that is away
 *
 * Theory of operation
 * ===================
 *
 * At home, the guest and its link communicate directly. This file then only
 * listens, to the router's advertisements and to the addresses that the guest
 * uses.
 *
 * Away, the guest must not notice that its neighbours are gone. Everything that
 * it sends to a neighbour goes into the tunnel, so the neighbour's MAC address
 * is irrelevant. But the guest needs one:
 *
 *   - A multicast solicitation asks for a MAC address. The answer for the
 *     router is the router's real MAC address, which the guest has in its cache
 *     already. The answer for all other addresses is the same, because the
 *     router leads there.
 *   - A unicast solicitation asks if a neighbour is still reachable (NUD). The
 *     answer confirms the MAC address that the guest has, so the guest changes
 *     nothing.
 *   - A solicitation from "::" is duplicate address detection. It is not
 *     answered: the address is the guest's own. (The paper's section 2.4.3 does
 *     not have this exception; a guest that restarts its interface would lose
 *     its address.)
 *
 * The router's last advertisement is sent to the guest again: at once, before
 * its lifetimes end, and when the guest solicits it. It is the advertisement
 * that was heard at home, so a guest that was configured by it stays
 * configured. If none was heard, because QEMU was started here, a router is
 * made up: first without a prefix, then with those that the home agent tells.
 *
 * When the guest is back, its router may be another one. It gets the present
 * router's advertisement and a neighbour advertisement that overrides the MAC
 * address; the router that it knew ends (lifetime 0), unless it was heard here,
 * too. The guest has the old MAC address for neighbours as well, so frames to
 * it go to the router until somebody sends from it.
 *
 * Packets to link-local addresses and link-scope groups end here. Packets to
 * wider groups, and reports about them, go into the tunnel (RFC 6275 section
 * 11.3.4).
 */
#include <string.h>

#include "net/mip6/core/home.h"
#include "base/octets.h"
#include "base/units.h"
#include "net/packet/mld.h"
#include "net/packet/udp.h"

#define ADVERTISE_EVERY         (200 * SECOND)
#define ROUTER_LIFETIME         1800    /* s, of one that is made up */
#define FRAME_MAX               1500u
#define QUERY_RESPONSE          1000    /* ms (RFC 3810 section 9.3) */
#define DHCP6_SERVER            547     /* port (RFC 8415 section 7.2) */

/* MAC address for a router that was never heard: locally administered. */
static const uint8_t unknown_router[PACKET_ETH_ADDR_LEN] = {
    0x02, 0x4d, 0x49, 0x50, 0x36, 0x01,
};

void mip6_home_init(Mip6Home *h, const Mip6HomeConfig *config,
                    const Mip6HomeOps *ops, void *opaque)
{
    memset(h, 0, sizeof(*h));
    h->config = *config;
    h->ops = ops;
    h->opaque = opaque;
    h->advertise = INT64_MAX;
    h->learned.addresses = mip6_home_configured(h);
    h->learned.address[0] = config->address;
    memcpy(h->learned.address + 1, config->more_address,
           config->more * sizeof(config->more_address[0]));
}

/* --- learning ------------------------------------------------------------- */

unsigned mip6_home_configured(const Mip6Home *h)
{
    return 1 + h->config.more;
}

void mip6_home_set_nic_mac(Mip6Home *h,
                           const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    h->has_nic_mac = true;
    memcpy(h->nic_mac, mac, PACKET_ETH_ADDR_LEN);
}

bool mip6_home_is_gone(const Mip6Home *h,
                       const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    return !memcmp(mac, unknown_router, PACKET_ETH_ADDR_LEN) ||
           (h->gone.is_known && !memcmp(mac, h->gone.mac, sizeof(h->gone.mac)));
}

void mip6_home_is_alive(Mip6Home *h, const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    h->gone.is_known &= memcmp(mac, h->gone.mac, sizeof(h->gone.mac)) != 0;
}

const uint8_t *mip6_home_guest_mac(const Mip6Home *h)
{
    return h->config.has_guest_mac ? h->config.guest_mac
           : h->learned.has_guest_mac ? h->learned.guest_mac
           : h->has_nic_mac ? h->nic_mac : NULL;
}

static const uint8_t *router_mac(const Mip6Home *h)
{
    return h->config.has_router_mac ? h->config.router_mac
           : h->learned.has_router ? h->learned.router_mac : unknown_router;
}

bool mip6_home_is_guests(const Mip6Home *h, const struct in6_addr *addr)
{
    for (unsigned i = 0; i < h->learned.addresses; i++) {
        if (packet_ip6_equal(&h->learned.address[i], addr)) {
            return true;
        }
    }
    return false;
}

static bool is_of_home(const Mip6Home *h, const struct in6_addr *addr)
{
    return packet_ip6_in_prefix(addr, &h->config.address,
                                h->config.prefix_len);
}

static bool is_link_scope(const struct in6_addr *addr)
{
    return IN6_IS_ADDR_LINKLOCAL(addr) || IN6_IS_ADDR_UNSPECIFIED(addr) ||
           IN6_IS_ADDR_LOOPBACK(addr);
}

static bool has_home_prefix(const Mip6Home *h, const PacketNdRa *ra,
                            bool on_link)
{
    for (unsigned i = 0; i < ra->prefixes; i++) {
        const PacketNdPrefix *p = &ra->prefix[i];

        if (p->on_link == on_link && p->len == h->config.prefix_len &&
            is_of_home(h, &p->prefix)) {
            return true;
        }
    }
    return false;
}

bool mip6_home_is_home_prefix(const Mip6Home *h, const PacketNdRa *ra)
{
    return has_home_prefix(h, ra, true);
}

bool mip6_home_is_off_link(const Mip6Home *h, const PacketNdRa *ra)
{
    return has_home_prefix(h, ra, false) && !has_home_prefix(h, ra, true);
}

static void learn_guest_mac(Mip6Home *h, const uint8_t *mac)
{
    if (packet_eth_is_station(mac)) {
        h->learned.has_guest_mac = true;
        memcpy(h->learned.guest_mac, mac, PACKET_ETH_ADDR_LEN);
    }
}

static void forget_address(Mip6HomeLearned *l, unsigned i)
{
    l->addresses--;
    memmove(l->address + i, l->address + i + 1,
            (l->addresses - i) * sizeof(l->address[0]));
}

/* The guest uses @addr: appends it to the table. */
static void learn_address(Mip6Home *h, const struct in6_addr *addr)
{
    Mip6HomeLearned *l = &h->learned;
    unsigned i = 0;

    while (i < l->addresses && !packet_ip6_equal(&l->address[i], addr)) {
        i++;
    }
    if (i < mip6_home_configured(h) || !is_of_home(h, addr) ||
        is_link_scope(addr)) {
        return;
    }
    if (i < l->addresses) {
        forget_address(l, i);
    }
    if (l->addresses < MIP6_HOME_ADDRESSES) {
        l->address[l->addresses++] = *addr;
    }
}

/*
 * The same, at home: if the table is full, replaces the oldest heard address.
 */
static void learn_address_at_home(Mip6Home *h, const struct in6_addr *addr)
{
    Mip6HomeLearned *l = &h->learned;
    unsigned configured = mip6_home_configured(h);

    if (l->addresses == MIP6_HOME_ADDRESSES && !mip6_home_is_guests(h, addr) &&
        configured < MIP6_HOME_ADDRESSES && is_of_home(h, addr)) {
        forget_address(l, configured);
    }
    learn_address(h, addr);
}

static void learn_router(Mip6Home *h, const PacketNd *nd, const uint8_t *mac)
{
    const uint8_t *given = nd->has_slla ? nd->slla : mac;

    if (!packet_eth_is_station(given)) {
        return;
    }
    h->learned.has_router = nd->ra.lifetime > 0;
    h->learned.router = nd->src;
    memcpy(h->learned.router_mac, given, PACKET_ETH_ADDR_LEN);
    h->learned.has_ra = true;
    h->learned.ra = nd->ra;
    h->is_heard = true;
}

void mip6_home_heard(Mip6Home *h, const PacketNd *nd, bool from_guest,
                     const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    if (!from_guest) {
        if (nd->type == PACKET_ND_RA &&
            mip6_home_is_home_prefix(h, &nd->ra)) {
            learn_router(h, nd, mac);
        }
        return;
    }
    learn_guest_mac(h, mac);
    /* A guest that probes an address will use it. */
    if (nd->type == PACKET_ND_NA || nd->type == PACKET_ND_NS) {
        learn_address_at_home(h, nd->type == PACKET_ND_NA ||
                                 IN6_IS_ADDR_UNSPECIFIED(&nd->src)
                                 ? &nd->target : &nd->src);
    }
}

/* The guest knows the learned router, until it is told of another one. */
static void owe(Mip6Home *h)
{
    h->owes = true;
    h->told = (Mip6HomeRouter) {
        .is_known = h->learned.has_router, .addr = h->learned.router,
    };
    memcpy(h->told.mac, router_mac(h), sizeof(h->told.mac));
}

void mip6_home_load(Mip6Home *h, const Mip6HomeLearned *learned)
{
    unsigned configured = mip6_home_configured(h);
    const Mip6HomeLearned here = h->learned;
    Mip6HomeLearned *l = &h->learned;

    *l = *learned;
    owe(h);
    if (here.has_ra) {
        l->has_router = here.has_router;
        l->router = here.router;
        memcpy(l->router_mac, here.router_mac, sizeof(l->router_mac));
        l->has_ra = true;
        l->ra = here.ra;
    }
    l->addresses = configured;
    memcpy(l->address, here.address, sizeof(l->address));
    for (unsigned i = 0; i < learned->addresses; i++) {
        learn_address(h, &learned->address[i]);
    }
}

/* --- sending -------------------------------------------------------------- */

/* @frame has space for an Ethernet header before the packet. */
static void send_frame(Mip6Home *h, uint8_t *frame, size_t packet_len,
                       const struct in6_addr *dst, const uint8_t *src_mac)
{
    const uint8_t *guest = mip6_home_guest_mac(h);
    uint8_t mac[PACKET_ETH_ADDR_LEN];

    if (packet_len == 0) {
        return;
    }
    if (IN6_IS_ADDR_MULTICAST(dst)) {
        packet_eth_group6(mac, dst);
    } else if (guest) {
        memcpy(mac, guest, PACKET_ETH_ADDR_LEN);
    } else {
        return;
    }
    packet_eth_build(frame, mac, src_mac, PACKET_ETH_IP6);
    h->ops->to_guest(h->opaque, frame, PACKET_ETH_LEN + packet_len);
}

static void send_na(Mip6Home *h, const struct in6_addr *target,
                    const struct in6_addr *dst, unsigned flags,
                    const uint8_t *mac)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    bool is_router = h->learned.has_router &&
                     packet_ip6_equal(target, &h->learned.router);
    size_t len;

    len = packet_nd_build_na(frame + PACKET_ETH_LEN, target, dst, target,
                             flags | (is_router ? PACKET_NA_ROUTER : 0), mac);
    send_frame(h, frame, len, dst, mac);
}

static void send_ra(Mip6Home *h, const PacketNdRa *ra,
                    const struct in6_addr *router, const uint8_t *mac)
{
    uint8_t frame[FRAME_MAX];
    size_t len;

    len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                             sizeof(frame) - PACKET_ETH_LEN, router,
                             &packet_ip6_all_nodes, ra, mac);
    send_frame(h, frame, len, &packet_ip6_all_nodes, mac);
}

/* The guest is told of its router, at this MAC address. */
static void advertise(Mip6Home *h, const uint8_t *mac)
{
    if (!h->learned.has_ra || !h->learned.has_router) {
        return;
    }
    send_ra(h, &h->learned.ra, &h->learned.router, mac);
}

/* Returns: at most half of the shortest lifetime */
static int64_t advertise_every(const Mip6Home *h)
{
    int64_t every = ADVERTISE_EVERY;
    const PacketNdRa *ra = &h->learned.ra;

    if (ra->lifetime && ra->lifetime * SECOND / 2 < every) {
        every = ra->lifetime * SECOND / 2;
    }
    for (unsigned i = 0; i < ra->prefixes; i++) {
        int64_t half = ra->prefix[i].preferred * SECOND / 2;

        if (half && half < every) {
            every = half;
        }
    }
    return every < SECOND ? SECOND : every;
}

void mip6_home_query(Mip6Home *h)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_MLD_QUERY_LEN];
    struct in6_addr router = h->learned.has_router
                             ? h->learned.router
                             : packet_ip6_link_local(router_mac(h));

    packet_mld_build_query(frame + PACKET_ETH_LEN, &router, QUERY_RESPONSE);
    send_frame(h, frame, PACKET_MLD_QUERY_LEN, &packet_ip6_all_nodes,
               router_mac(h));
}

static void make_router(Mip6HomeLearned *l)
{
    l->has_ra = l->has_router = true;
    l->router = packet_ip6_link_local(unknown_router);
    memcpy(l->router_mac, unknown_router, sizeof(l->router_mac));
    l->ra = (PacketNdRa) { .lifetime = ROUTER_LIFETIME };
}

bool mip6_home_is_made_up(const Mip6Home *h)
{
    return h->learned.has_router &&
           !memcmp(h->learned.router_mac, unknown_router,
                   sizeof(unknown_router));
}

void mip6_home_arrive(Mip6Home *h, bool is_there)
{
    const Mip6HomeLearned *l = &h->learned;
    const PacketNdRa end = { .managed = l->ra.managed, .other = l->ra.other };
    bool is_same = l->has_router &&
                   packet_ip6_equal(&h->told.addr, &l->router);

    if (!h->owes || !h->is_heard) {
        return;
    }
    h->owes = false;
    h->gone.is_known = false;
    if (l->has_router) {
        advertise(h, l->router_mac);
        send_na(h, &l->router, &packet_ip6_all_nodes, PACKET_NA_OVERRIDE,
                l->router_mac);
    }
    if (!h->told.is_known || (is_there && !is_same)) {
        return;
    }
    if (!is_same) {
        send_ra(h, &end, &h->told.addr, h->told.mac);
    }
    if (memcmp(h->told.mac, l->router_mac, sizeof(h->told.mac))) {
        h->gone = h->told;
    }
}

void mip6_home_repeat(Mip6Home *h)
{
    if (!h->owes) {
        advertise(h, h->learned.router_mac);
    }
}

void mip6_home_leave(Mip6Home *h, int64_t now)
{
    h->advertise = INT64_MAX;
    h->is_heard = false;
    if (!h->learned.has_ra) {
        make_router(&h->learned);
    }
    owe(h);
    if (h->learned.has_router) {
        /*
         * Send one at once: during the migration the guest has received none.
         */
        advertise(h, router_mac(h));
        h->advertise = now + advertise_every(h);
        /* The MAC address may be a new one if router-mac= is set. */
        send_na(h, &h->learned.router, &packet_ip6_all_nodes,
                PACKET_NA_OVERRIDE, router_mac(h));
    }
}

uint32_t mip6_home_preferred(const Mip6Home *h)
{
    const PacketNdRa *ra = &h->learned.ra;

    for (unsigned i = 0; h->learned.has_ra && i < ra->prefixes; i++) {
        if (ra->prefix[i].len == h->config.prefix_len &&
            is_of_home(h, &ra->prefix[i].prefix)) {
            return ra->prefix[i].preferred;
        }
    }
    return 0;
}

static PacketNdPrefix *find_prefix(PacketNdRa *ra, const PacketNdPrefix *p)
{
    for (unsigned i = 0; i < ra->prefixes; i++) {
        if (ra->prefix[i].len == p->len &&
            packet_ip6_in_prefix(&ra->prefix[i].prefix, &p->prefix, p->len)) {
            return &ra->prefix[i];
        }
    }
    return ra->prefixes < PACKET_ND_PREFIX_MAX ? &ra->prefix[ra->prefixes++]
                                               : NULL;
}

uint32_t mip6_home_renew(Mip6Home *h, int64_t now, const Mip6Icmp *advert)
{
    PacketNdRa *ra = &h->learned.ra;

    if (!h->learned.has_ra) {
        return 0;
    }
    for (unsigned i = 0; i < ra->prefixes; i++) {
        ra->prefix[i].valid = ra->prefix[i].preferred = 0;
    }
    for (unsigned i = 0; i < advert->prefixes; i++) {
        PacketNdPrefix *p = find_prefix(ra, &advert->prefix[i]);

        if (p && advert->prefix[i].preferred <= advert->prefix[i].valid) {
            *p = advert->prefix[i];
        }
    }
    ra->managed = advert->managed;
    ra->other = advert->other;
    if (h->advertise != INT64_MAX) {
        h->advertise = now;
    }
    return mip6_home_preferred(h);
}

void mip6_home_return(Mip6Home *h)
{
    h->advertise = INT64_MAX;
}

int64_t mip6_home_deadline(const Mip6Home *h)
{
    return h->advertise;
}

void mip6_home_tick(Mip6Home *h, int64_t now)
{
    if (h->advertise <= now) {
        h->advertise = now + advertise_every(h);
        advertise(h, router_mac(h));
    }
}

bool mip6_home_frame_head(const Mip6Home *h, void *buf)
{
    const uint8_t *guest = mip6_home_guest_mac(h);

    if (guest) {
        packet_eth_build(buf, guest, router_mac(h), PACKET_ETH_IP6);
    }
    return guest;
}

/* --- receiving ------------------------------------------------------------ */

static void answer_ns(Mip6Home *h, const PacketEth *eth, const PacketNd *nd)
{
    if (IN6_IS_ADDR_UNSPECIFIED(&nd->src)) {
        learn_address(h, &nd->target);
        return;
    }
    if (mip6_home_is_guests(h, &nd->target)) {
        return;
    }
    send_na(h, &nd->target, &nd->src,
            PACKET_NA_SOLICITED | PACKET_NA_OVERRIDE,
            packet_eth_is_group(eth->dst) ? router_mac(h) : eth->dst);
}

static void answer_nd(Mip6Home *h, const PacketEth *eth, const PacketNd *nd)
{
    if (nd->type == PACKET_ND_NS) {
        answer_ns(h, eth, nd);
    } else if (nd->type == PACKET_ND_RS) {
        advertise(h, router_mac(h));
    }
}

/*
 * RFC 8415 section 7: to All_DHCP_Relay_Agents_and_Servers. @packet may be
 * truncated.
 */
static bool is_to_dhcp6(const uint8_t *packet, size_t len,
                        const struct in6_addr *dst)
{
    static const struct in6_addr servers = {
        { { 0xff, 0x02, [13] = 1, [15] = 2 } }
    };

    return len >= PACKET_IP6_LEN + PACKET_UDP_LEN &&
           packet[6] == PACKET_PROTO_UDP && packet_ip6_equal(dst, &servers) &&
           get_be16(packet + PACKET_IP6_LEN + 2) == DHCP6_SERVER;
}

static Mip6Drop from_guest_ip6(Mip6Home *h, const PacketEth *eth,
                               const void *packet, size_t len, bool *tunnel)
{
    const uint8_t *p = packet;
    struct in6_addr src, dst;
    PacketNd nd;

    if (len < PACKET_IP6_LEN || p[0] >> 4 != 6) {
        return MIP6_DROP_MALFORMED;
    }
    if (packet_nd_parse(&nd, packet, len)) {
        answer_nd(h, eth, &nd);
        return MIP6_DROP_NONE;
    }
    memcpy(&src, p + 8, sizeof(src));
    memcpy(&dst, p + 24, sizeof(dst));
    /*
     * RFC 6275 section 11.3.4: group membership at the home agent. Reports keep
     * their link-local source: the agent is the multicast router of the tunnel.
     */
    if ((IN6_IS_ADDR_LINKLOCAL(&src) || IN6_IS_ADDR_UNSPECIFIED(&src)) &&
        packet_mld_is_beyond_link(packet, len)) {
        *tunnel = true;
        return MIP6_DROP_NONE;
    }
    if (IN6_IS_ADDR_MULTICAST(&dst) && !packet_mld_forwards(&dst)) {
        return is_to_dhcp6(packet, len, &dst) ? MIP6_DROP_DHCP6
                                              : MIP6_DROP_MULTICAST;
    }
    if (is_link_scope(&src) || is_link_scope(&dst)) {
        return MIP6_DROP_LINK_LOCAL;
    }
    if (!mip6_home_is_guests(h, &src)) {
        return MIP6_DROP_FOREIGN_SOURCE;
    }
    *tunnel = true;
    return MIP6_DROP_NONE;
}

Mip6Drop mip6_home_from_guest(Mip6Home *h, const PacketEth *eth,
                              const void *packet, size_t len, bool *tunnel)
{
    *tunnel = false;
    if (h->config.has_guest_mac &&
        memcmp(eth->src, h->config.guest_mac, PACKET_ETH_ADDR_LEN)) {
        return MIP6_DROP_SPOOFED_MAC;
    }
    switch (eth->tags ? PACKET_ETH_VLAN : eth->type) {
    case PACKET_ETH_IP6:
        learn_guest_mac(h, eth->src);
        return from_guest_ip6(h, eth, packet, len, tunnel);
    case PACKET_ETH_IP4:
    case PACKET_ETH_ARP:
        return MIP6_DROP_IP4;
    default:
        return MIP6_DROP_OTHER_PROTOCOL;
    }
}
