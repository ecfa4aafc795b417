/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home link, simulated for a guest that has left it */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/core/home.h"

static const uint8_t guest_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
static const uint8_t other_mac[] = { 0x52, 0x54, 0, 0, 0, 2 };
static const uint8_t router_mac[] = { 0x02, 0xcc, 0, 0, 0, 1 };
static const uint8_t fixed_mac[] = { 0x02, 0xcc, 0, 0, 0, 9 };

#define HOME    "2001:db8:2000::10"
#define SECOND_HOME     "2001:db8:2000::11"
#define FAR     "2001:db8:9000::c"

typedef struct Fixture {
    Mip6Home h;
    int64_t now;
    unsigned frames;
    uint8_t frame[1600];        /* the last one */
    size_t len;
    PacketEth eth;
    PacketNd nd;                /* what is in it */
    PacketNd all[8];            /* of the first frames */
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void take_frame(void *opaque, const void *frame, size_t len)
{
    Fixture *f = opaque;

    g_assert_cmpint(len, <=, sizeof(f->frame));
    memcpy(f->frame, frame, len);
    f->len = len;
    f->frames++;
    g_assert_true(packet_eth_parse(&f->eth, frame, len));
    g_assert_cmpint(f->eth.type, ==, PACKET_ETH_IP6);
    g_assert_true(packet_nd_parse(&f->nd, f->frame + f->eth.len,
                                  len - f->eth.len));
    if (f->frames <= G_N_ELEMENTS(f->all)) {
        f->all[f->frames - 1] = f->nd;
    }
}

static const Mip6HomeOps ops = { .to_guest = take_frame };

static Fixture *begin_with(const uint8_t *guest, const uint8_t *router)
{
    Fixture *f = g_new0(Fixture, 1);
    Mip6HomeConfig config = {
        .address = address(HOME),
        .prefix_len = 64,
        .has_guest_mac = guest,
        .has_router_mac = router,
    };

    if (guest) {
        memcpy(config.guest_mac, guest, 6);
    }
    if (router) {
        memcpy(config.router_mac, router, 6);
    }
    f->now = 1000 * SECOND;
    mip6_home_init(&f->h, &config, &ops, f);
    return f;
}

static PacketNd advertisement(const char *prefix, uint16_t lifetime)
{
    return (PacketNd) {
        .type = PACKET_ND_RA,
        .src = packet_ip6_link_local(router_mac),
        .dst = packet_ip6_all_nodes,
        .ra = {
            .hop_limit = 61,
            .other = true,
            .preference = 1,
            .lifetime = lifetime,
            .mtu = 1480,
            .prefixes = 1,
            .prefix[0] = { address(prefix), 64, true, true, false, 900, 600 },
        },
    };
}

/* A node that has received packets of the home router and the guest. */
static Fixture *begin(void)
{
    Fixture *f = begin_with(NULL, NULL);
    PacketNd nd = advertisement("2001:db8:2000::", 1800), na = {
        .type = PACKET_ND_NA, .target = address(HOME), .src = address(HOME),
    };

    mip6_home_heard(&f->h, &nd, false, router_mac);
    mip6_home_heard(&f->h, &na, true, guest_mac);
    return f;
}

static Mip6Drop offer(Fixture *f, const uint8_t *dst, const uint8_t *src,
                      const void *packet, size_t len, bool *tunnel)
{
    PacketEth eth = { .type = PACKET_ETH_IP6, .len = PACKET_ETH_LEN };

    memcpy(eth.dst, dst, 6);
    memcpy(eth.src, src, 6);
    return mip6_home_from_guest(&f->h, &eth, packet, len, tunnel);
}

/* The guest asks @dst (to the MAC address @mac; NULL: the group) for @target */
static void solicit(Fixture *f, const char *src, const char *target,
                    const uint8_t *mac)
{
    struct in6_addr from = address(src), what = address(target);
    struct in6_addr group = packet_ip6_solicited(&what);
    uint8_t buf[PACKET_ND_SHORT_MAX], to[6];
    bool probe = IN6_IS_ADDR_UNSPECIFIED(&from), tunnel = true;
    size_t len = packet_nd_build_ns(buf, &from, mac ? &what : &group, &what,
                                    probe ? NULL : guest_mac);

    packet_eth_group6(to, &group);
    g_assert_cmpint(offer(f, mac ? mac : to, guest_mac, buf, len, &tunnel),
                    ==, MIP6_DROP_NONE);
    g_assert_false(tunnel);
}

/* One answer has come: @target is at @mac. */
static void expect_answer(Fixture *f, const char *target, const uint8_t *mac,
                          unsigned flags)
{
    struct in6_addr want = address(target);

    g_assert_cmpint(f->frames, ==, 1);
    f->frames = 0;
    g_assert_cmpint(f->nd.type, ==, PACKET_ND_NA);
    g_assert_cmpmem(&f->nd.target, 16, &want, 16);
    g_assert_true(f->nd.has_tlla);
    g_assert_cmpmem(f->nd.tlla, 6, mac, 6);
    g_assert_cmpmem(f->eth.dst, 6, guest_mac, 6);
    g_assert_cmpmem(f->eth.src, 6, mac, 6);
    g_assert_cmpint(f->nd.flags, ==, flags);
}

/* --- what is learned at home ---------------------------------------------- */

static void test_learn(void)
{
    Fixture *f = begin_with(NULL, NULL);
    Mip6HomeLearned *l = &f->h.learned;
    PacketNd nd = advertisement("2001:db8:3000::", 1800);
    struct in6_addr addr;

    g_assert_null(mip6_home_guest_mac(&f->h));
    /* Another link's, and one with another length. */
    mip6_home_heard(&f->h, &nd, false, router_mac);
    g_assert_false(l->has_ra);
    nd = advertisement("2001:db8:2000::", 1800);
    nd.ra.prefix[0].len = 56;
    g_assert_false(mip6_home_is_home_prefix(&f->h, &nd.ra));
    mip6_home_heard(&f->h, &nd, false, router_mac);
    g_assert_false(l->has_router);
    /* Without L it does not say that the prefix is on this link. */
    nd = advertisement("2001:db8:2000::", 1800);
    nd.ra.prefix[0].on_link = false;
    g_assert_false(mip6_home_is_home_prefix(&f->h, &nd.ra));
    g_assert_true(mip6_home_is_off_link(&f->h, &nd.ra));
    nd.ra.prefixes = 2;
    nd.ra.prefix[1] = nd.ra.prefix[0];
    nd.ra.prefix[1].on_link = true;
    g_assert_false(mip6_home_is_off_link(&f->h, &nd.ra));
    nd.ra.prefixes = 1;
    mip6_home_heard(&f->h, &nd, false, router_mac);
    g_assert_false(l->has_router);
    /* The guest's own advertisement is not the router's. */
    nd = advertisement("2001:db8:2000::", 1800);
    mip6_home_heard(&f->h, &nd, true, other_mac);
    g_assert_false(l->has_ra);
    g_assert_cmpmem(mip6_home_guest_mac(&f->h), 6, other_mac, 6);
    /* A router with a group's address is none. */
    nd.has_slla = true;
    memcpy(nd.slla, "\x33\x33\0\0\0\x01", 6);
    mip6_home_heard(&f->h, &nd, false, router_mac);
    g_assert_false(l->has_router);
    memcpy(nd.slla, fixed_mac, 6);
    mip6_home_heard(&f->h, &nd, false, router_mac);
    g_assert_true(l->has_router && l->has_ra);
    g_assert_cmpmem(l->router_mac, 6, fixed_mac, 6);
    g_assert_cmpmem(&l->router, 16, &nd.src, 16);
    /* It advertises lifetime 0. */
    nd.ra.lifetime = 0;
    mip6_home_heard(&f->h, &nd, false, router_mac);
    g_assert_false(l->has_router);
    /* The guest's addresses: those of the home prefix, each once. */
    g_assert_cmpint(l->addresses, ==, 1);
    nd = (PacketNd) { .type = PACKET_ND_NA };
    nd.target = address("fe80::1");
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    nd.target = address(FAR);
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    nd.target = address(HOME);
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    g_assert_cmpint(l->addresses, ==, 1);
    g_assert_cmpmem(mip6_home_guest_mac(&f->h), 6, guest_mac, 6);
    nd.target = address(SECOND_HOME);
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    nd = (PacketNd) { .type = PACKET_ND_NS };   /* of "::": a probe */
    nd.target = address("2001:db8:2000::12");
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    nd.src = address("2001:db8:2000::13");      /* it asks for another */
    nd.target = address("2001:db8:2000::99");
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    /* Another node's addresses are not the guest's. */
    nd.src = address("2001:db8:2000::77");
    mip6_home_heard(&f->h, &nd, false, other_mac);
    g_assert_cmpint(l->addresses, ==, 4);
    for (unsigned i = 0; i < 4; i++) {
        addr = address(HOME);
        addr.s6_addr[15] += i;
        g_assert_true(mip6_home_is_guests(&f->h, &addr));
    }
    /* A guest with many has as many as there is room for. */
    nd = (PacketNd) { .type = PACKET_ND_NA };
    for (unsigned i = 0; i < 1000; i++) {
        nd.target = address("2001:db8:2000::1:0");
        put_be16(nd.target.s6_addr + 14, i);
        mip6_home_heard(&f->h, &nd, true, guest_mac);
    }
    g_assert_cmpint(l->addresses, ==, MIP6_HOME_ADDRESSES);
    addr = address(HOME);
    g_assert_true(mip6_home_is_guests(&f->h, &addr));
    /* They are the most recent ones. */
    for (unsigned i = 0; i < MIP6_HOME_ADDRESSES - 1; i++) {
        put_be16(nd.target.s6_addr + 14, 999 - i);
        g_assert_true(mip6_home_is_guests(&f->h, &nd.target));
    }
    put_be16(nd.target.s6_addr + 14, 993);
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    nd.target = address("2001:db8:2000::14");
    mip6_home_heard(&f->h, &nd, true, guest_mac);
    g_assert_cmpint(l->addresses, ==, MIP6_HOME_ADDRESSES);
    nd.target = address("2001:db8:2000::1:0");
    put_be16(nd.target.s6_addr + 14, 993);
    g_assert_true(mip6_home_is_guests(&f->h, &nd.target));
    put_be16(nd.target.s6_addr + 14, 994);
    g_assert_false(mip6_home_is_guests(&f->h, &nd.target));
    g_free(f);
}

/* Configured addresses exist before the guest sends anything. */
static void test_configured(void)
{
    Fixture *f = begin();
    Mip6HomeLearned learned = f->h.learned;
    Mip6HomeConfig config = f->h.config;
    struct in6_addr second = address(SECOND_HOME), addr;

    config.more = 1;
    config.more_address[0] = second;
    mip6_home_init(&f->h, &config, f->h.ops, f->h.opaque);
    g_assert_cmpint(mip6_home_configured(&f->h), ==, 2);
    g_assert_true(mip6_home_is_guests(&f->h, &second));
    /* Addresses learned elsewhere add those of the home link, each once. */
    learned.addresses = 4;
    learned.address[1] = second;
    learned.address[2] = address("2001:db8:2001::5");
    learned.address[3] = address("2001:db8:2000::14");
    mip6_home_load(&f->h, &learned);
    g_assert_cmpint(f->h.learned.addresses, ==, 3);
    addr = address("2001:db8:2000::14");
    g_assert_true(mip6_home_is_guests(&f->h, &addr));
    g_free(f);
}

/* --- neighbours ----------------------------------------------------------- */

static void test_solicitations(void)
{
    const unsigned solicited = PACKET_NA_SOLICITED | PACKET_NA_OVERRIDE;
    struct in6_addr router = packet_ip6_link_local(router_mac), addr;
    char text[INET6_ADDRSTRLEN];
    Fixture *f = begin();

    inet_ntop(AF_INET6, &router, text, sizeof(text));
    /* Every neighbour is behind the router. */
    solicit(f, HOME, "2001:db8:2000::7", NULL);
    expect_answer(f, "2001:db8:2000::7", router_mac, solicited);
    solicit(f, "fe80::1", "fe80::7", NULL);
    expect_answer(f, "fe80::7", router_mac, solicited);
    /* The router's advertisement has the R flag. */
    solicit(f, HOME, text, NULL);
    expect_answer(f, text, router_mac, solicited | PACKET_NA_ROUTER);
    /* A neighbour that is known by a MAC address keeps it. */
    solicit(f, HOME, "2001:db8:2000::7", other_mac);
    expect_answer(f, "2001:db8:2000::7", other_mac, solicited);
    /* The guest's own address: no answer. */
    solicit(f, HOME, HOME, NULL);
    /* Duplicate address detection, of a new one, and of a link-local one. */
    solicit(f, "::", SECOND_HOME, NULL);
    solicit(f, "::", HOME, NULL);
    solicit(f, "::", "fe80::1", NULL);
    g_assert_cmpint(f->frames, ==, 0);
    addr = address(SECOND_HOME);
    g_assert_true(mip6_home_is_guests(&f->h, &addr));
    addr = address("fe80::1");
    g_assert_false(mip6_home_is_guests(&f->h, &addr));
    solicit(f, HOME, SECOND_HOME, NULL);
    g_assert_cmpint(f->frames, ==, 0);
    g_free(f);
}

/* The guest sees router-mac=, not the MAC address of the router at home. */
static void test_router_mac(void)
{
    const unsigned solicited = PACKET_NA_SOLICITED | PACKET_NA_OVERRIDE;
    Fixture *f = begin_with(guest_mac, fixed_mac);
    struct in6_addr router = packet_ip6_link_local(router_mac);
    PacketNd nd = advertisement("2001:db8:2000::", 1800);
    uint8_t head[PACKET_ETH_LEN];

    mip6_home_heard(&f->h, &nd, false, router_mac);
    mip6_home_leave(&f->h, f->now);
    /* The advertisement, so that no lifetime ends away from home; then this. */
    g_assert_cmpint(f->frames, ==, 2);
    g_assert_cmpint(f->nd.type, ==, PACKET_ND_NA);
    g_assert_cmpmem(&f->nd.target, 16, &router, 16);
    g_assert_cmpint(f->nd.flags, ==, PACKET_NA_ROUTER | PACKET_NA_OVERRIDE);
    g_assert_cmpmem(f->nd.tlla, 6, fixed_mac, 6);
    f->frames = 0;
    solicit(f, HOME, "2001:db8:2000::7", NULL);
    expect_answer(f, "2001:db8:2000::7", fixed_mac, solicited);
    g_assert_true(mip6_home_frame_head(&f->h, head));
    g_assert_cmpmem(head, 6, guest_mac, 6);
    g_assert_cmpmem(head + 6, 6, fixed_mac, 6);
    g_assert_cmpint(get_be16(head + 12), ==, PACKET_ETH_IP6);
    g_free(f);

    /* Nothing learned and nothing configured: a constant address. */
    f = begin_with(NULL, NULL);
    g_assert_false(mip6_home_frame_head(&f->h, head));
    mip6_home_leave(&f->h, f->now);
    g_assert_cmpint(mip6_home_deadline(&f->h), ==, f->now + 200 * SECOND);
    f->frames = 0;
    solicit(f, HOME, "2001:db8:2000::7", NULL);
    g_assert_cmpint(f->frames, ==, 1);
    g_assert_true(packet_eth_is_station(f->nd.tlla));
    g_assert_true(mip6_home_frame_head(&f->h, head));
    g_assert_cmpmem(head, 6, guest_mac, 6);
    g_assert_cmpmem(head + 6, 6, f->nd.tlla, 6);
    g_free(f);
}

static void test_guest_mac(void)
{
    Fixture *f = begin_with(guest_mac, NULL);
    uint8_t buf[PACKET_ND_SHORT_MAX];
    struct in6_addr any = in6addr_any;
    size_t len = packet_nd_build_rs(buf, &any, NULL);
    PacketNd nd = { .type = PACKET_ND_NA, .target = address(HOME) };
    bool tunnel;

    g_assert_cmpint(offer(f, guest_mac, other_mac, buf, len, &tunnel), ==,
                    MIP6_DROP_SPOOFED_MAC);
    g_assert_cmpint(offer(f, other_mac, guest_mac, buf, len, &tunnel), ==,
                    MIP6_DROP_NONE);
    /* A configured address is not learned. */
    mip6_home_heard(&f->h, &nd, true, other_mac);
    g_assert_cmpmem(mip6_home_guest_mac(&f->h), 6, guest_mac, 6);
    g_free(f);
    /* Away, the first frame shows the MAC address, unless it is a group's. */
    f = begin_with(NULL, NULL);
    offer(f, other_mac, (const uint8_t *)"\x33\x33\0\0\0\x01", buf, len,
          &tunnel);
    g_assert_null(mip6_home_guest_mac(&f->h));
    offer(f, other_mac, guest_mac, buf, len, &tunnel);
    g_assert_cmpmem(mip6_home_guest_mac(&f->h), 6, guest_mac, 6);
    g_free(f);
}

/* --- router advertisements ------------------------------------------------ */

static void expect_ra(Fixture *f)
{
    PacketNd want = advertisement("2001:db8:2000::", 1800);

    g_assert_cmpint(f->frames, ==, 1);
    f->frames = 0;
    g_assert_cmpint(f->nd.type, ==, PACKET_ND_RA);
    g_assert_cmpmem(&f->nd.src, 16, &want.src, 16);
    g_assert_cmpmem(&f->nd.dst, 16, &packet_ip6_all_nodes, 16);
    g_assert_cmpmem(f->eth.dst, 6, "\x33\x33\0\0\0\x01", 6);
    g_assert_cmpmem(f->eth.src, 6, router_mac, 6);
    g_assert_cmpmem(f->nd.slla, 6, router_mac, 6);
    g_assert_cmpint(f->nd.ra.hop_limit, ==, 61);
    g_assert_cmpint(f->nd.ra.preference, ==, 1);
    g_assert_true(f->nd.ra.other);
    g_assert_cmpint(f->nd.ra.lifetime, ==, 1800);
    g_assert_cmpint(f->nd.ra.prefixes, ==, 1);
    g_assert_cmpmem(&f->nd.ra.prefix[0].prefix, 16,
                    &want.ra.prefix[0].prefix, 16);
    g_assert_cmpint(f->nd.ra.prefix[0].valid, ==, 900);
    g_assert_cmpint(f->nd.ra.prefix[0].preferred, ==, 600);
}

/* Again before half of the shortest lifetime is over, and when it is asked. */
static void test_replay(void)
{
    Fixture *f = begin();
    uint8_t buf[PACKET_ND_SHORT_MAX];
    struct in6_addr src = address("fe80::1");
    size_t len = packet_nd_build_rs(buf, &src, guest_mac);
    PacketNd nd;
    bool tunnel;

    mip6_home_leave(&f->h, f->now);
    f->frames = 0;
    for (unsigned i = 0; i < 20; i++) {
        int64_t at = mip6_home_deadline(&f->h);

        g_assert_cmpint(at - f->now, <=, 300 * SECOND);
        g_assert_cmpint(at - f->now, >=, SECOND);
        mip6_home_tick(&f->h, at - 1);
        g_assert_cmpint(f->frames, ==, 0);
        f->now = at;
        mip6_home_tick(&f->h, f->now);
        expect_ra(f);
    }
    g_assert_cmpint(offer(f, other_mac, guest_mac, buf, len, &tunnel), ==,
                    MIP6_DROP_NONE);
    g_assert_false(tunnel);
    expect_ra(f);
    mip6_home_return(&f->h);
    g_assert_cmpint(mip6_home_deadline(&f->h), ==, INT64_MAX);
    /* The shortest lifetimes there are, and the longest. */
    nd = advertisement("2001:db8:2000::", 1);
    nd.ra.prefix[0].preferred = 1;
    mip6_home_heard(&f->h, &nd, false, router_mac);
    mip6_home_leave(&f->h, f->now);
    g_assert_cmpint(mip6_home_deadline(&f->h), ==, f->now + SECOND);
    nd = advertisement("2001:db8:2000::", 65535);
    nd.ra.prefix[0].valid = nd.ra.prefix[0].preferred = UINT32_MAX;
    mip6_home_heard(&f->h, &nd, false, router_mac);
    mip6_home_leave(&f->h, f->now);
    g_assert_cmpint(mip6_home_deadline(&f->h), ==, f->now + 200 * SECOND);
    /* A router with lifetime 0 is not simulated. */
    nd.ra.lifetime = 0;
    mip6_home_heard(&f->h, &nd, false, router_mac);
    f->frames = 0;
    mip6_home_leave(&f->h, f->now);
    g_assert_cmpint(mip6_home_deadline(&f->h), ==, INT64_MAX);
    offer(f, other_mac, guest_mac, buf, len, &tunnel);
    g_assert_cmpint(f->frames, ==, 0);
    g_free(f);
}

/* As many prefixes as a router can have. */
static void test_replay_long(void)
{
    Fixture *f = begin();
    PacketNd nd = advertisement("2001:db8:2000::", 1800);

    nd.ra.prefixes = PACKET_ND_PREFIX_MAX;
    for (unsigned i = 1; i < nd.ra.prefixes; i++) {
        nd.ra.prefix[i] = nd.ra.prefix[0];
        nd.ra.prefix[i].prefix.s6_addr[7] = i;
    }
    nd.ra.interval = 600000;
    nd.ra.has_ha_info = nd.ra.home_agent = true;
    nd.ra.ha_lifetime = 1800;
    mip6_home_heard(&f->h, &nd, false, router_mac);
    mip6_home_leave(&f->h, f->now);
    mip6_home_tick(&f->h, mip6_home_deadline(&f->h));
    g_assert_cmpint(f->nd.type, ==, PACKET_ND_RA);
    g_assert_cmpint(f->nd.ra.prefixes, ==, PACKET_ND_PREFIX_MAX);
    g_assert_cmpint(f->nd.ra.prefix[15].prefix.s6_addr[7], ==, 15);
    g_assert_cmpint(f->nd.ra.interval, ==, 600000);
    g_assert_true(f->nd.ra.has_ha_info);
    g_free(f);
}

/* --- what is tunnelled ---------------------------------------------------- */

/* A UDP packet to @port. */
static void expect_port(Fixture *f, const char *src, const char *dst,
                        uint16_t port, Mip6Drop why)
{
    PacketIp6 ip = {
        .src = address(src), .dst = address(dst),
        .next = PACKET_PROTO_UDP, .hops = 64, .payload = 8,
    };
    uint8_t buf[PACKET_IP6_LEN + 8] = { 0 };
    bool tunnel = true;

    packet_ip6_build(buf, &ip);
    put_be16(buf + PACKET_IP6_LEN + 2, port);
    g_assert_cmpint(offer(f, router_mac, guest_mac, buf, sizeof(buf),
                          &tunnel), ==, why);
    g_assert_cmpint(tunnel, ==, why == MIP6_DROP_NONE);
    g_assert_cmpint(f->frames, ==, 0);
}

static void expect(Fixture *f, const char *src, const char *dst, Mip6Drop why)
{
    expect_port(f, src, dst, 0, why);
}

static void test_kinds(void)
{
    Fixture *f = begin();
    PacketEth eth = { .len = PACKET_ETH_LEN };
    uint8_t buf[PACKET_IP6_LEN] = { 0x40 };
    bool tunnel;

    memcpy(eth.src, guest_mac, 6);
    expect(f, HOME, FAR, MIP6_DROP_NONE);
    expect(f, HOME, "2001:db8:2000::7", MIP6_DROP_NONE);
    expect(f, SECOND_HOME, FAR, MIP6_DROP_FOREIGN_SOURCE);
    expect(f, FAR, HOME, MIP6_DROP_FOREIGN_SOURCE);
    expect(f, "fe80::1", FAR, MIP6_DROP_LINK_LOCAL);
    expect(f, HOME, "fe80::1", MIP6_DROP_LINK_LOCAL);
    expect(f, "::", FAR, MIP6_DROP_LINK_LOCAL);
    expect(f, HOME, "::1", MIP6_DROP_LINK_LOCAL);
    expect(f, HOME, "ff02::1", MIP6_DROP_MULTICAST);
    expect(f, "::", "ff02::16", MIP6_DROP_MULTICAST);
    expect_port(f, "fe80::1", "ff02::1:2", 547, MIP6_DROP_DHCP6);
    expect_port(f, "fe80::1", "ff02::1:2", 546, MIP6_DROP_MULTICAST);
    expect_port(f, "fe80::1", "ff02::1:3", 547, MIP6_DROP_MULTICAST);
    expect_port(f, HOME, FAR, 547, MIP6_DROP_NONE);
    for (size_t cut = 0; cut < sizeof(buf); cut++) {
        g_assert_cmpint(offer(f, router_mac, guest_mac, buf, cut, &tunnel),
                        ==, MIP6_DROP_MALFORMED);
    }
    g_assert_cmpint(offer(f, router_mac, guest_mac, buf, sizeof(buf),
                          &tunnel), ==, MIP6_DROP_MALFORMED);
    eth.type = PACKET_ETH_IP4;
    g_assert_cmpint(mip6_home_from_guest(&f->h, &eth, buf, sizeof(buf),
                                         &tunnel), ==, MIP6_DROP_IP4);
    eth.type = PACKET_ETH_ARP;
    g_assert_cmpint(mip6_home_from_guest(&f->h, &eth, buf, 28, &tunnel), ==,
                    MIP6_DROP_IP4);
    eth.type = 0x8137;
    g_assert_cmpint(mip6_home_from_guest(&f->h, &eth, buf, 28, &tunnel), ==,
                    MIP6_DROP_OTHER_PROTOCOL);
    /* The home link's VLANs are not in the tunnel. */
    eth.type = PACKET_ETH_IP6;
    eth.tags = 1;
    eth.len += PACKET_ETH_TAG_LEN;
    buf[0] = 0x60;
    g_assert_cmpint(mip6_home_from_guest(&f->h, &eth, buf, sizeof(buf),
                                         &tunnel), ==,
                    MIP6_DROP_OTHER_PROTOCOL);
    g_free(f);
}

/* --- another router ------------------------------------------------------- */

/* The router of @mac is at home, where the guest comes to. */
static void hear(Fixture *f, const uint8_t *mac)
{
    PacketNd nd = advertisement("2001:db8:2000::", 1800);

    nd.src = packet_ip6_link_local(mac);
    mip6_home_heard(&f->h, &nd, false, mac);
}

/* The guest was told that the router of @mac is at @at, and no more. */
static void expect_told(Fixture *f, const uint8_t *mac, const uint8_t *at,
                        unsigned frames)
{
    struct in6_addr router = packet_ip6_link_local(mac);

    g_assert_cmpint(f->frames, ==, frames);
    g_assert_cmpint(f->all[0].type, ==, PACKET_ND_RA);
    g_assert_cmpint(f->all[0].ra.lifetime, >, 0);
    g_assert_cmpmem(&f->all[0].src, 16, &router, 16);
    g_assert_cmpmem(f->all[0].slla, 6, at, 6);
    g_assert_cmpint(f->all[1].type, ==, PACKET_ND_NA);
    g_assert_cmpmem(&f->all[1].target, 16, &router, 16);
    g_assert_cmpint(f->all[1].flags, ==, PACKET_NA_ROUTER | PACKET_NA_OVERRIDE);
    g_assert_cmpmem(f->all[1].tlla, 6, at, 6);
    g_assert_cmpint(mip6_home_deadline(&f->h), ==, INT64_MAX);
    f->frames = 0;
}

/* And that this one has ended. */
static void expect_ended(Fixture *f, const struct in6_addr *addr)
{
    const PacketNd *end = &f->all[2];

    g_assert_cmpint(f->frames, ==, 3);
    g_assert_cmpint(end->type, ==, PACKET_ND_RA);
    g_assert_cmpint(end->ra.lifetime, ==, 0);
    g_assert_cmpint(end->ra.prefixes, ==, 0);
    g_assert_cmpmem(&end->src, 16, addr, 16);
}

/* A guest that was away, whose host hears nothing of home yet. */
static Fixture *begin_away(void)
{
    Fixture *f = begin();

    mip6_home_leave(&f->h, f->now);
    mip6_home_return(&f->h);
    f->frames = 0;
    mip6_home_arrive(&f->h, false);
    g_assert_cmpint(f->frames, ==, 0);
    return f;
}

static void test_replaced(void)
{
    Fixture *f = begin_away();
    struct in6_addr old = packet_ip6_link_local(router_mac);

    /* The same one: only what changed meanwhile. */
    hear(f, router_mac);
    mip6_home_arrive(&f->h, true);
    expect_told(f, router_mac, router_mac, 2);
    g_assert_false(mip6_home_is_gone(&f->h, router_mac));
    mip6_home_arrive(&f->h, true);      /* once */
    g_assert_cmpint(f->frames, ==, 0);
    g_free(f);

    /* Another one with its address. */
    f = begin_away();
    mip6_home_heard(&f->h, &(PacketNd) {
        .type = PACKET_ND_RA, .src = old,
        .ra = advertisement("2001:db8:2000::", 1800).ra,
    }, false, other_mac);
    mip6_home_arrive(&f->h, true);
    expect_told(f, router_mac, other_mac, 2);
    g_assert_true(mip6_home_is_gone(&f->h, router_mac));
    g_assert_false(mip6_home_is_gone(&f->h, other_mac));
    /* Away again, and back: the guest's router is the one of now. */
    mip6_home_leave(&f->h, f->now);
    mip6_home_return(&f->h);
    f->frames = 0;
    hear(f, router_mac);
    mip6_home_arrive(&f->h, false);
    g_assert_false(mip6_home_is_gone(&f->h, router_mac));
    g_free(f);

    /* With an address of its own; and the old one is gone, or is not. */
    for (int is_there = 0; is_there < 2; is_there++) {
        f = begin_away();
        hear(f, other_mac);
        mip6_home_arrive(&f->h, is_there);
        if (!is_there) {
            expect_ended(f, &old);
        }
        expect_told(f, other_mac, other_mac, is_there ? 2 : 3);
        g_assert_true(mip6_home_is_gone(&f->h, router_mac) == !is_there);
        mip6_home_is_alive(&f->h, guest_mac);
        g_assert_true(mip6_home_is_gone(&f->h, router_mac) == !is_there);
        mip6_home_is_alive(&f->h, router_mac);
        g_assert_false(mip6_home_is_gone(&f->h, router_mac));
        g_free(f);
    }

    /* By migration. */
    f = begin_with(NULL, NULL);
    hear(f, other_mac);
    {
        Fixture *away = begin();

        mip6_home_load(&f->h, &away->h.learned);
        g_free(away);
    }
    mip6_home_arrive(&f->h, false);
    expect_ended(f, &old);
    expect_told(f, other_mac, other_mac, 3);
    g_free(f);
}

/* QEMU was started away: no router was ever heard. */
static void test_made_up(void)
{
    Fixture *f = begin_with(guest_mac, NULL);
    Mip6Icmp advert = { .managed = true, .prefixes = 1, .prefix[0] = {
        address("2001:db8:2000::"), 64, true, true, false, 900, 600,
    } };
    struct in6_addr made;
    uint8_t rs[PACKET_ND_SHORT_MAX];
    bool tunnel;
    size_t len;

    mip6_home_leave(&f->h, f->now);
    g_assert_true(mip6_home_is_made_up(&f->h));
    made = f->all[0].src;
    g_assert_cmpint(f->all[0].type, ==, PACKET_ND_RA);
    g_assert_cmpint(f->all[0].ra.lifetime, ==, 1800);
    g_assert_cmpint(f->all[0].ra.prefixes, ==, 0);
    g_assert_true(mip6_home_is_gone(&f->h, f->all[0].slla));
    /* The home agent tells the prefixes. */
    g_assert_cmpint(mip6_home_renew(&f->h, f->now, &advert), ==, 600);
    f->frames = 0;
    mip6_home_tick(&f->h, f->now);
    g_assert_cmpint(f->frames, ==, 1);
    g_assert_cmpint(f->nd.ra.prefixes, ==, 1);
    g_assert_true(f->nd.ra.managed && f->nd.ra.prefix[0].autonomous);
    /* A guest that boots asks. */
    f->frames = 0;
    len = packet_nd_build_rs(rs, &in6addr_any, NULL);
    offer(f, (uint8_t[]) { 0x33, 0x33, 0, 0, 0, 2 }, guest_mac, rs, len,
          &tunnel);
    g_assert_cmpint(f->frames, ==, 1);
    g_assert_cmpint(f->nd.ra.lifetime, ==, 1800);
    /* At home it ends. */
    mip6_home_return(&f->h);
    f->frames = 0;
    hear(f, router_mac);
    mip6_home_arrive(&f->h, false);
    expect_ended(f, &made);
    expect_told(f, router_mac, router_mac, 3);
    g_assert_false(mip6_home_is_made_up(&f->h));
    g_free(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/home/learn", test_learn);
    g_test_add_func("/mip6/home/configured", test_configured);
    g_test_add_func("/mip6/home/solicitations", test_solicitations);
    g_test_add_func("/mip6/home/router-mac", test_router_mac);
    g_test_add_func("/mip6/home/guest-mac", test_guest_mac);
    g_test_add_func("/mip6/home/replay", test_replay);
    g_test_add_func("/mip6/home/replay-long", test_replay_long);
    g_test_add_func("/mip6/home/kinds", test_kinds);
    g_test_add_func("/mip6/home/replaced", test_replaced);
    g_test_add_func("/mip6/home/made-up", test_made_up);
    return g_test_run();
}
