/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host on the foreign link: addresses, routers, neighbours
 *
 * The link keeps the host's packets in order; tests send the packets of routers
 * and neighbours. Time passes only when a test advances it.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/careof/careof.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

static const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t mac_a[] = { 0x02, 0xbb, 0, 0, 0, 0xa };
static const uint8_t mac_b[] = { 0x02, 0xbb, 0, 0, 0, 0xb };
static const uint8_t mac_c[] = { 0x02, 0xbb, 0, 0, 0, 0xc };

#define AGENT   "2001:db8:2000::1"

typedef struct Sent {
    int64_t at;
    PacketEth eth;
    PacketNd nd;
} Sent;

typedef struct Fixture {
    Mip6CareOf c;
    int64_t now;
    unsigned sent, changes;
    unsigned reports;           /* MLD; the log does not have them */
    PacketMld report;
    unsigned asked;             /* DHCPv6 */
    uint8_t question;           /* type of the last such message */
    Sent log[256];
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static bool log_report(Fixture *f, const uint8_t *frame, size_t len)
{
    PacketEth eth;
    uint8_t mac[6];

    g_assert_true(packet_eth_parse(&eth, frame, len));
    if (!packet_mld_parse(&f->report, frame + eth.len, len - eth.len)) {
        return false;
    }
    packet_eth_group6(mac, &f->report.dst);
    g_assert_cmpmem(eth.dst, 6, mac, 6);
    f->reports++;
    return true;
}

/* A message to DHCPv6 servers? */
static bool log_question(Fixture *f, const uint8_t *frame, size_t len)
{
    static const uint8_t group[] = { 0x33, 0x33, 0, 1, 0, 2 };
    const uint8_t *udp = frame + PACKET_ETH_LEN + PACKET_IP6_LEN;
    size_t left = len - PACKET_ETH_LEN - PACKET_IP6_LEN;
    PacketUdp header;
    PacketIp6 ip;

    if (frame[PACKET_ETH_LEN + 6] != PACKET_PROTO_UDP) {
        return false;
    }
    g_assert_true(packet_ip6_parse(&ip, frame + PACKET_ETH_LEN,
                                   len - PACKET_ETH_LEN));
    g_assert_cmpint(ip.payload, ==, left);
    g_assert_true(packet_ip6_equal(&ip.src, &f->c.link_local.addr));
    g_assert_true(packet_udp_parse(&header, udp, left));
    g_assert_cmpint(header.src, ==, 546);
    g_assert_cmpint(header.dst, ==, 547);
    g_assert_true(packet_udp_sum_is_good(
        udp, left, packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_UDP, left),
        false));
    g_assert_cmpmem(frame, 6, group, 6);
    f->asked++;
    f->question = udp[PACKET_UDP_LEN];
    return true;
}

static void log_frame(void *opaque, const void *frame, size_t len)
{
    Fixture *f = opaque;
    Sent *s = &f->log[f->sent];

    if (log_report(f, frame, len) || log_question(f, frame, len)) {
        return;
    }
    f->sent++;
    g_assert_cmpint(f->sent, <=, G_N_ELEMENTS(f->log));
    s->at = f->now;
    g_assert_true(packet_eth_parse(&s->eth, frame, len));
    g_assert_cmpint(s->eth.type, ==, PACKET_ETH_IP6);
    g_assert_cmpmem(s->eth.src, 6, own_mac, 6);
    g_assert_true(packet_nd_parse(&s->nd, (const uint8_t *)frame + s->eth.len,
                                  len - s->eth.len));
}

static uint32_t fixed_random(void *opaque)
{
    return 15000;               /* from an advertised 30 s */
}

static void count_change(void *opaque)
{
    Fixture *f = opaque;

    f->changes++;
}

static const Mip6CareOfOps ops = {
    .transmit = log_frame,
    .random = fixed_random,
    .changed = count_change,
};

static Fixture *begin_fixed(const char *fixed)
{
    Fixture *f = g_new0(Fixture, 1);
    struct in6_addr addr;

    f->now = 1000 * SECOND;
    if (fixed) {
        addr = address(fixed);
    }
    mip6_careof_init(&f->c, own_mac, 1500, fixed ? &addr : NULL, &ops, f);
    g_assert_cmpint(mip6_careof_deadline(&f->c), ==, INT64_MAX);
    mip6_careof_start(&f->c, f->now);
    return f;
}

static Fixture *begin(void)
{
    return begin_fixed(NULL);
}

static void pass(Fixture *f, int64_t ns)
{
    int64_t end = f->now + ns, at;

    for (unsigned i = 0; (at = mip6_careof_deadline(&f->c)) <= end; i++) {
        g_assert_cmpint(i, <, 10000);
        f->now = MAX(at, f->now);
        mip6_careof_tick(&f->c, f->now);
    }
    f->now = end;
}

/* --- those who speak ------------------------------------------------------ */

static PacketNd advertisement(const uint8_t *mac, uint16_t lifetime)
{
    return (PacketNd) {
        .type = PACKET_ND_RA,
        .src = packet_ip6_link_local(mac),
        .dst = packet_ip6_all_nodes,
        .ra.lifetime = lifetime,
    };
}

static void add_prefix(PacketNd *nd, const char *prefix, uint32_t valid,
                       uint32_t preferred)
{
    nd->ra.prefix[nd->ra.prefixes++] = (PacketNdPrefix) {
        .prefix = address(prefix),
        .len = 64,
        .on_link = true,
        .autonomous = true,
        .valid = valid,
        .preferred = preferred,
    };
}

/* The message is encoded and parsed. */
static void hear_ra(Fixture *f, const PacketNd *nd, const uint8_t *mac)
{
    uint8_t buf[1500];
    PacketNd read;
    size_t len = packet_nd_build_ra(buf, sizeof(buf), &nd->src, &nd->dst,
                                    &nd->ra, nd->has_slla ? nd->slla : NULL);

    g_assert_true(packet_nd_parse(&read, buf, len));
    mip6_careof_nd(&f->c, f->now, &read, mac);
}

static void advertise(Fixture *f, const uint8_t *mac, uint16_t lifetime,
                      const char *prefix, uint32_t valid, uint32_t preferred)
{
    PacketNd nd = advertisement(mac, lifetime);

    nd.has_slla = true;
    memcpy(nd.slla, mac, 6);
    if (prefix) {
        add_prefix(&nd, prefix, valid, preferred);
    }
    hear_ra(f, &nd, mac);
}

static void hear_na(Fixture *f, const char *target, unsigned flags,
                    const uint8_t *mac)
{
    PacketNd nd = {
        .type = PACKET_ND_NA,
        .src = address(target),
        .dst = packet_ip6_all_nodes,
        .target = address(target),
        .flags = flags,
        .has_tlla = mac,
    };

    if (mac) {
        memcpy(nd.tlla, mac, 6);
    }
    mip6_careof_nd(&f->c, f->now, &nd, mac ? mac : mac_c);
}

static void hear_probe(Fixture *f, const struct in6_addr *target,
                       const uint8_t *mac)
{
    PacketNd nd = {
        .type = PACKET_ND_NS,
        .dst = packet_ip6_solicited(target),
        .target = *target,
    };

    mip6_careof_nd(&f->c, f->now, &nd, mac);
}

static struct in6_addr own(const char *prefix)
{
    struct in6_addr addr = address(prefix);

    return packet_ip6_from_mac(&addr, own_mac);
}

static void expect_address(Fixture *f, const char *prefix)
{
    const struct in6_addr *addr = mip6_careof_address(&f->c, f->now);
    struct in6_addr want;

    if (!prefix) {
        g_assert_null(addr);
        return;
    }
    want = own(prefix);
    g_assert_nonnull(addr);
    g_assert_cmpmem(addr, 16, &want, 16);
}

static void expect_hop(Fixture *f, const uint8_t *want)
{
    struct in6_addr agent = address(AGENT);
    uint8_t mac[6];

    g_assert_cmpint(mip6_careof_next_hop(&f->c, f->now, &agent, mac), ==,
                    want != NULL);
    if (want) {
        g_assert_cmpmem(mac, 6, want, 6);
    }
}

static unsigned count(const Fixture *f, uint8_t type)
{
    unsigned num = 0;

    for (unsigned i = 0; i < f->sent; i++) {
        num += f->log[i].nd.type == type;
    }
    return num;
}

/* A link with one router, and an address there. */
static Fixture *settled(void)
{
    Fixture *f = begin();

    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    f->sent = 0;
    return f;
}

/* --- addresses (RFC 4862) ------------------------------------------------- */

/* A solicitation and a probe at once; no address is used before its time. */
static void test_begin(void)
{
    Fixture *f = begin();
    struct in6_addr link_local = packet_ip6_link_local(own_mac);
    struct in6_addr care_of = own("2001:db8:a::");
    struct in6_addr group = packet_ip6_solicited(&care_of);

    g_assert_cmpint(f->sent, ==, 2);
    g_assert_cmpint(f->log[0].nd.type, ==, PACKET_ND_RS);
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&f->log[0].nd.src));
    g_assert_false(f->log[0].nd.has_slla);
    g_assert_cmpint(f->log[1].nd.type, ==, PACKET_ND_NS);
    g_assert_cmpmem(&f->log[1].nd.target, 16, &link_local, 16);
    pass(f, 100 * MS);
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    g_assert_cmpint(f->sent, ==, 3);
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&f->log[2].nd.src));
    g_assert_cmpmem(&f->log[2].nd.target, 16, &care_of, 16);
    g_assert_cmpmem(&f->log[2].nd.dst, 16, &group, 16);
    g_assert_cmpmem(f->log[2].eth.dst, 2, "\x33\x33", 2);
    g_assert_cmpmem(f->log[2].eth.dst + 2, 4, group.s6_addr + 12, 4);
    pass(f, 999 * MS);
    expect_address(f, NULL);
    g_assert_false(mip6_careof_owns(&f->c, &care_of));
    pass(f, MS);
    expect_address(f, "2001:db8:a::");
    g_assert_true(mip6_careof_owns(&f->c, &care_of));
    g_assert_true(mip6_careof_owns(&f->c, &link_local));
    /* No more solicitations after the link has answered. */
    f->sent = 0;
    pass(f, 100 * SECOND);
    g_assert_cmpint(f->sent, ==, 0);
    mip6_careof_stop(&f->c);
    expect_address(f, NULL);
    g_assert_cmpint(mip6_careof_deadline(&f->c), ==, INT64_MAX);
    g_free(f);
}

/* Section 5.5.3 (a) to (d): prefixes that make no address. */
static void test_no_address(void)
{
    Fixture *f = begin();
    PacketNd nd = advertisement(mac_a, 1800);

    add_prefix(&nd, "2001:db8:1::", 7200, 3600);
    nd.ra.prefix[0].autonomous = false;
    add_prefix(&nd, "2001:db8:2::", 3600, 7200);
    add_prefix(&nd, "2001:db8:3::", 7200, 3600);
    nd.ra.prefix[2].len = 63;
    add_prefix(&nd, "fe80::", 7200, 3600);
    add_prefix(&nd, "ff0e::", 7200, 3600);
    add_prefix(&nd, "2001:db8:4::", 0, 0);
    hear_ra(f, &nd, mac_a);
    pass(f, 2 * SECOND);
    expect_address(f, NULL);
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        g_assert_cmpint(f->c.address[i].state, ==, MIP6_ADDRESS_NONE);
    }
    g_free(f);
}

/* Section 5.4: another node has the address, or probes it, too. */
/* Another node has the probed address.  Returns: this address */
static struct in6_addr collide(Fixture *f)
{
    struct in6_addr addr = f->c.address[0].addr;
    char text[INET6_ADDRSTRLEN];

    g_assert_cmpint(f->c.address[0].state, ==, MIP6_ADDRESS_TENTATIVE);
    inet_ntop(AF_INET6, &addr, text, sizeof(text));
    hear_na(f, text, PACKET_NA_OVERRIDE, mac_b);
    return addr;
}

static void test_duplicate(void)
{
    struct in6_addr care_of = own("2001:db8:a::"), addr;
    Fixture *f = begin();

    /* Another identifier is probed, and used. */
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    addr = collide(f);
    g_assert_true(packet_ip6_equal(&addr, &care_of));
    pass(f, 5 * SECOND);
    g_assert_nonnull(mip6_careof_address(&f->c, f->now));
    g_assert_cmpmem(mip6_careof_address(&f->c, f->now), 8, &care_of, 8);
    g_assert_false(packet_ip6_equal(mip6_careof_address(&f->c, f->now),
                                    &care_of));
    g_assert_cmpint(f->c.duplicates, ==, 1);
    /* The next advertisement makes no further address. */
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    g_assert_cmpint(f->c.address[1].state, ==, MIP6_ADDRESS_NONE);
    g_free(f);

    /* If all addresses are taken, the prefix is given up. */
    f = begin();
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    for (unsigned i = 0; i < 4; i++) {
        collide(f);
        pass(f, 10 * MS);
    }
    pass(f, 5 * SECOND);
    expect_address(f, NULL);
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    pass(f, 5 * SECOND);
    expect_address(f, NULL);
    g_assert_cmpint(f->c.duplicates, ==, 4);
    /* Another prefix is another address. */
    advertise(f, mac_a, 1800, "2001:db8:b::", 7200, 3600);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:b::");
    g_free(f);

    f = begin();
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    hear_probe(f, &care_of, own_mac);   /* our own, come back */
    g_assert_cmpint(f->c.duplicates, ==, 0);
    hear_probe(f, &care_of, mac_b);
    g_assert_cmpint(f->c.duplicates, ==, 1);
    g_free(f);
}

/* An address in use is defended, and its solicitations are answered. */
static void test_defend(void)
{
    struct in6_addr care_of = own("2001:db8:a::");
    Fixture *f = settled();
    PacketNd nd = {
        .type = PACKET_ND_NS,
        .src = packet_ip6_link_local(mac_a),
        .dst = packet_ip6_solicited(&care_of),
        .target = care_of,
    };

    hear_probe(f, &care_of, mac_b);
    g_assert_cmpint(f->sent, ==, 1);
    g_assert_cmpint(f->log[0].nd.type, ==, PACKET_ND_NA);
    g_assert_cmpint(f->log[0].nd.flags, ==, PACKET_NA_OVERRIDE);
    g_assert_cmpmem(&f->log[0].nd.dst, 16, &packet_ip6_all_nodes, 16);
    g_assert_cmpmem(f->log[0].eth.dst, 6, "\x33\x33\0\0\0\x01", 6);
    expect_address(f, "2001:db8:a::");
    mip6_careof_nd(&f->c, f->now, &nd, mac_a);
    g_assert_cmpint(f->sent, ==, 2);
    g_assert_cmpint(f->log[1].nd.flags, ==,
                    PACKET_NA_OVERRIDE | PACKET_NA_SOLICITED);
    g_assert_cmpmem(&f->log[1].nd.dst, 16, &nd.src, 16);
    g_assert_cmpmem(f->log[1].eth.dst, 6, mac_a, 6);
    g_assert_cmpmem(f->log[1].nd.tlla, 6, own_mac, 6);
    /* An answer goes to one station, with any option in the solicitation. */
    nd.has_slla = true;
    memcpy(nd.slla, "\x33\x33\0\0\0\x01", 6);
    mip6_careof_nd(&f->c, f->now, &nd, mac_a);
    g_assert_cmpint(f->sent, ==, 3);
    g_assert_cmpmem(f->log[2].eth.dst, 6, mac_a, 6);
    /* No answer for other addresses. */
    nd.target = address("2001:db8:a::77");
    mip6_careof_nd(&f->c, f->now, &nd, mac_a);
    g_assert_cmpint(f->sent, ==, 3);
    g_free(f);
}

static void test_lifetimes(void)
{
    Fixture *f = begin();

    advertise(f, mac_a, 9000, "2001:db8:a::", 100, 50);
    pass(f, 50 * SECOND);
    expect_address(f, "2001:db8:a::");          /* deprecated */
    pass(f, 50 * SECOND - 1);
    expect_address(f, "2001:db8:a::");
    f->changes = 0;
    pass(f, 1);
    expect_address(f, NULL);
    g_assert_cmpint(f->changes, >, 0);
    g_assert_cmpint(f->c.address[0].state, ==, MIP6_ADDRESS_NONE);
    /* It may be advertised again, and is probed again. */
    f->sent = 0;
    advertise(f, mac_a, 9000, "2001:db8:a::", UINT32_MAX, UINT32_MAX);
    g_assert_cmpint(f->sent, ==, 1);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    g_assert_cmpint(f->c.address[0].valid, ==, INT64_MAX);
    g_free(f);
}

/* Section 5.5.3 (e). */
static void test_two_hours(void)
{
    Fixture *f = begin();
    const Mip6Address *a = &f->c.address[0];

    advertise(f, mac_a, 9000, "2001:db8:a::", 86400, 86400);
    pass(f, 2 * SECOND);
    /* 1: more than two hours are accepted, even if less than before. */
    advertise(f, mac_a, 9000, "2001:db8:a::", 7201, 7201);
    g_assert_cmpint(a->valid, ==, f->now + 7201 * SECOND);
    /* 3: less is made two hours of. */
    advertise(f, mac_a, 9000, "2001:db8:a::", 1, 1);
    g_assert_cmpint(a->valid, ==, f->now + 7200 * SECOND);
    /* 2: a rest of less than two hours is not reduced. */
    pass(f, 100 * SECOND);
    advertise(f, mac_a, 9000, "2001:db8:a::", 0, 0);
    g_assert_cmpint(a->valid, ==, f->now + 7100 * SECOND);
    /* But the preferred lifetime is accepted. */
    g_assert_cmpint(a->preferred, <=, f->now);
    expect_address(f, "2001:db8:a::");
    /* 1: more than the remaining lifetime is accepted. */
    advertise(f, mac_a, 9000, "2001:db8:a::", 7150, 7150);
    g_assert_cmpint(a->valid, ==, f->now + 7150 * SECOND);
    g_free(f);
}

/* A renumbered link: a preferred address replaces a deprecated one. */
static void test_renumber(void)
{
    Fixture *f = settled();
    PacketNd nd = advertisement(mac_a, 1800);

    add_prefix(&nd, "2001:db8:a::", 7200, 0);
    add_prefix(&nd, "2001:db8:b::", 7200, 3600);
    hear_ra(f, &nd, mac_a);
    expect_address(f, "2001:db8:a::");          /* the other is tentative */
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:b::");
    g_free(f);
}

/* The end of the preferred lifetime is reported, even if the timer is late. */
static void test_preference_ends(void)
{
    Fixture *f = begin();
    unsigned changes;

    advertise(f, mac_a, 9000, "2001:db8:a::", 7200, 100);
    pass(f, 2 * SECOND);
    advertise(f, mac_a, 9000, "2001:db8:b::", 7200, 3600);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    changes = f->changes;
    f->now += 97 * SECOND;
    expect_hop(f, mac_a);       /* a packet goes before the timer */
    expect_address(f, "2001:db8:b::");
    pass(f, SECOND);
    g_assert_cmpint(f->changes, >, changes);
    g_free(f);
}

/* Two routers with their prefixes: the care-of address does not alternate. */
static void test_two_prefixes(void)
{
    Fixture *f = begin();

    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    pass(f, 2 * SECOND);
    advertise(f, mac_b, 1800, "2001:db8:b::", 7200, 3600);
    pass(f, 10 * MS);           /* the first one is asked, and is there */
    hear_na(f, "fe80::bb:ff:fe00:a", PACKET_NA_SOLICITED | PACKET_NA_ROUTER,
            mac_a);
    pass(f, 2 * SECOND);
    for (unsigned i = 0; i < 20; i++) {
        expect_address(f, "2001:db8:a::");
        advertise(f, i & 1 ? mac_a : mac_b, 1800,
                  i & 1 ? "2001:db8:a::" : "2001:db8:b::", 7200, 3600);
        pass(f, 100 * SECOND);
    }
    g_free(f);
}

/* A router that is gone delivers nothing: use another one's prefix. */
static void test_prefix_without_router(void)
{
    Fixture *f = settled();

    advertise(f, mac_b, 1800, "2001:db8:b::", 7200, 3600);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    expect_hop(f, mac_a);
    pass(f, 9 * SECOND);        /* 5 s of delay, three probes */
    expect_address(f, "2001:db8:b::");
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    expect_address(f, "2001:db8:a::");
    /* It advertises lifetime 0; its prefix is still valid. */
    f->changes = 0;
    advertise(f, mac_a, 0, NULL, 0, 0);
    g_assert_cmpint(f->changes, >, 0);
    expect_address(f, "2001:db8:b::");
    /* The other one has taken the prefix over. */
    advertise(f, mac_b, 1800, "2001:db8:a::", 7200, 3600);
    expect_address(f, "2001:db8:a::");
    g_free(f);
}

/* Both tables refuse entries when they are full. */
static void test_full(void)
{
    Fixture *f = settled();
    PacketNd nd;
    char prefix[32];

    for (unsigned i = 0; i < 64; i++) {
        nd = advertisement(mac_b, 0);
        for (unsigned j = 0; j < PACKET_ND_PREFIX_MAX; j++) {
            g_snprintf(prefix, sizeof(prefix), "2001:db8:f%02x:%x::", i, j);
            add_prefix(&nd, prefix, 86400, 86400);
        }
        hear_ra(f, &nd, mac_b);
    }
    /* No more probes than there are addresses. */
    g_assert_cmpint(f->sent, ==, MIP6_CAREOF_ADDRESSES - 1);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    expect_hop(f, mac_a);
    /* The one in use is still prolonged. */
    pass(f, 1000 * SECOND);
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    g_assert_cmpint(f->c.address[0].valid, ==, f->now + 7200 * SECOND);
    g_free(f);
}

/* RFC 6724 section 5, rule 6: of the two, that which is as the home agent's. */
static void test_label(void)
{
    Fixture *f = begin();

    f->c.toward = address("2001:db8:2000::1");
    advertise(f, mac_a, 1800, "fd00:db8:1::", 7200, 3600);
    pass(f, 2 * SECOND);
    expect_address(f, "fd00:db8:1::");      /* better than none */
    advertise(f, mac_a, 1800, "2001:db8:a::", 7200, 3600);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    mip6_careof_doubt(&f->c, f->now, &f->c.address[1].addr, false);
    expect_address(f, "fd00:db8:1::");
    mip6_careof_trust(&f->c, &f->c.address[1].addr);
    expect_address(f, "2001:db8:a::");
    f->c.toward = address("fd00:db8:2000::1");
    expect_address(f, "fd00:db8:1::");
    f->c.toward = address("2002:c000:201::1");      /* 6to4: neither */
    expect_address(f, "fd00:db8:1::");
    g_free(f);
}

/* A router of DHCPv6: M, and @prefix without A. */
static void manage(Fixture *f, const uint8_t *mac, const char *prefix,
                   bool autonomous)
{
    PacketNd nd = advertisement(mac, 1800);

    nd.has_slla = true;
    memcpy(nd.slla, mac, 6);
    nd.ra.managed = true;
    add_prefix(&nd, prefix, 7200, 3600);
    nd.ra.prefix[0].autonomous = autonomous;
    hear_ra(f, &nd, mac);
}

/* A server gives @addr, at once. */
static bool lease(Fixture *f, const char *addr)
{
    struct in6_addr leased = address(addr);
    uint8_t buf[96] = { 7 }, *p = buf + 4;

    put_be32(buf, 7 << 24 | f->c.dhcp.id);
    memcpy(p, "\0\1\0\xa\0\3\0\1", 8);
    memcpy(p + 8, own_mac, 6);
    memcpy(p + 14, "\0\2\0\4abcd\0\xe\0\0", 12);
    memcpy(p + 26, "\0\3\0\x28", 4);
    memcpy(p + 30, own_mac + 2, 4);
    memset(p + 34, 0, 8);
    memcpy(p + 42, "\0\5\0\x18", 4);
    memcpy(p + 46, &leased, 16);
    put_be32(p + 62, 600);
    put_be32(p + 66, 900);
    return mip6_careof_dhcp6(&f->c, f->now, buf, 4 + 70);
}

static void expect_leased(Fixture *f, const char *addr)
{
    const struct in6_addr *now = mip6_careof_address(&f->c, f->now);
    struct in6_addr want = address(addr);

    g_assert_nonnull(now);
    g_assert_cmpmem(now, 16, &want, 16);
}

/* M, and no address of a prefix: by DHCPv6, but not at home. */
static void test_managed(void)
{
    Fixture *f = begin();

    pass(f, 2 * SECOND);
    manage(f, mac_a, "2001:db8:a::", false);
    pass(f, 2 * SECOND);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_OFF);
    mip6_careof_foreign(&f->c, f->now, true);
    pass(f, 100 * MS);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_SOLICITING);
    g_assert_cmpint(f->c.dhcp.tries, ==, 1);
    g_assert_true(lease(f, "2001:db8:a::77"));
    expect_address(f, NULL);            /* duplicate address detection */
    pass(f, 1100 * MS);
    expect_leased(f, "2001:db8:a::77");
    /* It is prolonged, or ends. */
    pass(f, 301 * SECOND);
    advertise(f, mac_a, 1800, NULL, 0, 0);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_RENEWING);
    g_assert_true(lease(f, "2001:db8:a::77"));
    g_assert_cmpint(mip6_careof_valid_until(&f->c, mip6_careof_address(
                        &f->c, f->now)), ==, f->now + 900 * SECOND);
    pass(f, 899 * SECOND);
    g_assert_nonnull(mip6_careof_address(&f->c, f->now));
    pass(f, 2 * SECOND);
    expect_address(f, NULL);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_SOLICITING);
    /* Back at home it is given up. */
    pass(f, SECOND);
    g_assert_true(lease(f, "2001:db8:a::78"));
    pass(f, 2 * SECOND);
    mip6_careof_foreign(&f->c, f->now, false);
    expect_address(f, NULL);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_OFF);
    g_free(f);

    /* Where there is a prefix, it is used. */
    f = begin();
    mip6_careof_foreign(&f->c, f->now, true);
    pass(f, 2 * SECOND);
    manage(f, mac_a, "2001:db8:a::", true);
    pass(f, 2 * SECOND);
    expect_address(f, "2001:db8:a::");
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_OFF);
    g_free(f);
    f = begin_fixed("2001:db8:a::55");
    mip6_careof_foreign(&f->c, f->now, true);
    manage(f, mac_a, "2001:db8:a::", false);
    pass(f, 2 * SECOND);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_OFF);
    g_free(f);
}

/* Another node has the leased address: it is declined, and another is used. */
static void test_declined(void)
{
    Fixture *f = begin();

    mip6_careof_foreign(&f->c, f->now, true);
    manage(f, mac_a, "2001:db8:a::", false);
    g_assert_cmpint(f->c.dhcp.tries, ==, 0);    /* no address to send from */
    pass(f, 1100 * MS);
    g_assert_cmpint(f->c.dhcp.tries, ==, 1);
    g_assert_true(lease(f, "2001:db8:a::77"));
    pass(f, 100 * MS);
    hear_na(f, "2001:db8:a::77", 0, mac_b);
    pass(f, 100 * MS);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_DECLINING);
    g_assert_cmpint(f->question, ==, 9);
    g_assert_true(lease(f, "2001:db8:a::77"));  /* any answer */
    pass(f, 2 * SECOND);
    g_assert_true(lease(f, "2001:db8:a::78"));
    pass(f, 1100 * MS);
    expect_leased(f, "2001:db8:a::78");
    /* Whoever leaves gives it back. */
    mip6_careof_leave(&f->c, f->now);
    g_assert_cmpint(f->question, ==, 8);
    expect_address(f, NULL);
    g_assert_cmpint(f->c.dhcp.state, ==, MIP6_DHCP6_OFF);
    g_free(f);
}

static void test_fixed(void)
{
    Fixture *f = begin_fixed("2001:db8:a::55");
    struct in6_addr fixed = address("2001:db8:a::55");
    const struct in6_addr *addr;

    advertise(f, mac_a, 1800, "2001:db8:b::", 7200, 3600);
    pass(f, 2 * SECOND);
    addr = mip6_careof_address(&f->c, f->now);
    g_assert_nonnull(addr);
    g_assert_cmpmem(addr, 16, &fixed, 16);
    /* Its prefix does not change it, and no other makes an address. */
    advertise(f, mac_a, 1800, "2001:db8:a::", 0, 0);
    pass(f, 1000 * SECOND);
    addr = mip6_careof_address(&f->c, f->now);
    g_assert_cmpmem(addr, 16, &fixed, 16);
    g_assert_cmpint(f->c.address[1].state, ==, MIP6_ADDRESS_NONE);
    g_free(f);

    f = begin_fixed("2001:db8:a::55");
    hear_na(f, "2001:db8:a::55", 0, mac_b);
    advertise(f, mac_a, 1800, NULL, 0, 0);
    pass(f, 2 * SECOND);
    expect_address(f, NULL);
    g_assert_cmpint(f->c.duplicates, ==, 1);
    g_free(f);
}

/* --- routers (RFC 4861, 4191, 7559) --------------------------------------- */

static void test_solicit(void)
{
    static const unsigned gaps[] = { 4, 4, 4, 8, 16, 32, 64, 64, 64, 64 };
    Fixture *f = begin();
    int64_t at = f->now;
    unsigned next = 0;

    pass(f, 300 * SECOND);
    for (unsigned i = 0; i < f->sent; i++) {
        const Sent *s = &f->log[i];

        if (s->nd.type != PACKET_ND_RS) {
            continue;
        }
        g_assert_cmpint(s->at, ==, at);
        g_assert_cmpmem(&s->nd.dst, 16, &packet_ip6_all_routers, 16);
        /* With an address the host can answer. */
        g_assert_cmpint(s->nd.has_slla, ==, next > 0);
        at += gaps[next++] * SECOND;
    }
    g_assert_cmpint(next, ==, G_N_ELEMENTS(gaps));
    /* One that is no default router does not end it (RFC 7559 section 2.1). */
    f->sent = 0;
    advertise(f, mac_a, 0, "2001:db8:a::", 7200, 3600);
    pass(f, 64 * SECOND);
    g_assert_cmpint(count(f, PACKET_ND_RS), >=, 1);
    expect_address(f, NULL);
    advertise(f, mac_a, 1800, NULL, 0, 0);
    expect_address(f, "2001:db8:a::");
    f->sent = 0;
    pass(f, 1000 * SECOND);
    g_assert_cmpint(count(f, PACKET_ND_RS), ==, 0);
    g_free(f);
}

/* A router's end is reported, and another one is solicited. */
static void test_router_lifetime(void)
{
    Fixture *f = begin();

    advertise(f, mac_a, 30, "2001:db8:a::", 7200, 3600);
    pass(f, 30 * SECOND - 1);
    expect_address(f, "2001:db8:a::");
    f->changes = f->sent = 0;
    pass(f, 1);
    expect_address(f, NULL);
    expect_hop(f, NULL);
    g_assert_cmpint(f->changes, >, 0);
    g_assert_cmpint(count(f, PACKET_ND_RS), ==, 1);
    advertise(f, mac_b, 1800, NULL, 0, 0);
    expect_address(f, "2001:db8:a::");
    expect_hop(f, mac_b);
    /* The same for a router with lifetime 0. */
    f->changes = f->sent = 0;
    advertise(f, mac_b, 0, NULL, 0, 0);
    expect_address(f, NULL);
    g_assert_cmpint(f->changes, >, 0);
    pass(f, 0);
    g_assert_cmpint(count(f, PACKET_ND_RS), ==, 1);
    pass(f, 100 * SECOND);
    g_assert_cmpint(count(f, PACKET_ND_RS), >, 3);
    g_free(f);
}

static void test_preference(void)
{
    Fixture *f = settled();
    PacketNd nd = advertisement(mac_b, 1800);

    nd.has_slla = true;
    memcpy(nd.slla, mac_b, 6);
    nd.ra.preference = -1;
    hear_ra(f, &nd, mac_b);
    expect_hop(f, mac_a);
    nd.ra.preference = 1;
    hear_ra(f, &nd, mac_b);
    expect_hop(f, mac_b);
    /*
     * A router without a known MAC address is not preferred, with any
     * preference.
     */
    nd = advertisement(mac_c, 1800);
    nd.ra.preference = 1;
    hear_ra(f, &nd, mac_c);
    expect_hop(f, mac_b);
    g_free(f);
}

/* An advertisement without a link-layer address: the host solicits it. */
static void test_resolve_router(void)
{
    Fixture *f = begin();
    PacketNd nd = advertisement(mac_a, 1800);
    char text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, &nd.src, text, sizeof(text));
    add_prefix(&nd, "2001:db8:a::", 7200, 3600);
    hear_ra(f, &nd, mac_a);
    pass(f, 2 * SECOND);
    f->sent = 0;
    expect_hop(f, NULL);
    g_assert_cmpint(f->sent, ==, 1);
    g_assert_cmpmem(&f->log[0].nd.target, 16, &nd.src, 16);
    g_assert_cmpmem(f->log[0].nd.slla, 6, own_mac, 6);
    f->changes = 0;
    hear_na(f, text, PACKET_NA_SOLICITED | PACKET_NA_ROUTER, mac_a);
    g_assert_cmpint(f->changes, >, 0);
    expect_hop(f, mac_a);
    g_assert_cmpint(f->c.neighbour[0].reach, ==, MIP6_REACH_REACHABLE);
    g_free(f);
}

/* Section 7.3: the states of a router in use that does not answer. */
static void test_nud(void)
{
    Fixture *f = settled();
    const Mip6Neighbour *n = &f->c.neighbour[0];
    struct in6_addr agent = address(AGENT);
    char text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, &n->addr, text, sizeof(text));
    g_assert_cmpint(n->reach, ==, MIP6_REACH_STALE);
    expect_hop(f, mac_a);
    g_assert_cmpint(n->reach, ==, MIP6_REACH_DELAY);
    pass(f, 5 * SECOND);
    g_assert_cmpint(n->reach, ==, MIP6_REACH_PROBE);
    g_assert_cmpint(f->sent, ==, 1);
    g_assert_cmpmem(f->log[0].eth.dst, 6, mac_a, 6);
    g_assert_cmpmem(&f->log[0].nd.dst, 16, &n->addr, 16);
    hear_na(f, text, PACKET_NA_SOLICITED | PACKET_NA_ROUTER, NULL);
    g_assert_cmpint(n->reach, ==, MIP6_REACH_REACHABLE);
    pass(f, 30 * SECOND);
    g_assert_cmpint(n->reach, ==, MIP6_REACH_STALE);
    /* The agent's answer is as good as the router's. */
    expect_hop(f, mac_a);
    mip6_careof_confirm(&f->c, f->now, &agent);
    g_assert_cmpint(n->reach, ==, MIP6_REACH_REACHABLE);
    f->sent = 0;
    pass(f, 29 * SECOND);
    g_assert_cmpint(f->sent, ==, 0);
    /*
     * Another MAC address without "override" is not accepted, but makes the
     * entry stale.
     */
    hear_na(f, text, PACKET_NA_ROUTER, mac_c);
    g_assert_cmpint(n->reach, ==, MIP6_REACH_STALE);
    expect_hop(f, mac_a);
    hear_na(f, text, PACKET_NA_ROUTER | PACKET_NA_OVERRIDE, mac_c);
    expect_hop(f, mac_c);
    /* It has become a host, and is not used as a router. */
    hear_na(f, text, PACKET_NA_OVERRIDE, mac_c);
    expect_hop(f, NULL);
    expect_address(f, NULL);
    g_free(f);
}

/* A router that vanishes: the other one, or a new one. */
static void test_failover(void)
{
    Fixture *f = settled();

    advertise(f, mac_b, 1800, NULL, 0, 0);
    expect_hop(f, mac_a);
    f->changes = 0;
    pass(f, 9 * SECOND);        /* 5 s of delay, three probes */
    g_assert_cmpint(f->c.neighbour[0].reach, ==, MIP6_REACH_FAILED);
    g_assert_cmpint(f->changes, >, 0);
    expect_hop(f, mac_b);
    g_assert_nonnull(mip6_careof_address(&f->c, f->now));
    pass(f, 9 * SECOND);
    expect_hop(f, NULL);
    expect_address(f, NULL);
    f->sent = 0;
    pass(f, 100 * SECOND);
    g_assert_cmpint(count(f, PACKET_ND_RS), >, 2);
    /* One speaks again. */
    advertise(f, mac_a, 1800, NULL, 0, 0);
    expect_hop(f, mac_a);
    expect_address(f, "2001:db8:a::");
    g_free(f);
}

/* An agent on the link itself is resolved as any neighbour is. */
static void test_on_link(void)
{
    Fixture *f = settled();
    PacketNd nd = advertisement(mac_a, 1800);
    struct in6_addr agent = address(AGENT);

    add_prefix(&nd, "2001:db8:2000::", 7200, 3600);
    nd.ra.prefix[0].autonomous = false;
    hear_ra(f, &nd, mac_a);
    expect_hop(f, NULL);
    g_assert_cmpint(f->sent, ==, 1);
    g_assert_cmpmem(&f->log[0].nd.target, 16, &agent, 16);
    pass(f, 10 * SECOND);       /* three are asked, then it is forgotten */
    g_assert_cmpint(count(f, PACKET_ND_NS), ==, 3);
    expect_hop(f, NULL);
    hear_na(f, AGENT, PACKET_NA_SOLICITED, mac_c);
    expect_hop(f, mac_c);
    /* Off the link again. */
    nd.ra.prefix[0].valid = nd.ra.prefix[0].preferred = 0;
    hear_ra(f, &nd, mac_a);
    expect_hop(f, mac_a);
    g_free(f);
}

/*
 * A router advertises while the first address is tentative: a neighbour is
 * solicited at the end of probing, and not one interval after the
 * advertisement.
 */
static void test_ask_early(void)
{
    Fixture *f = begin();
    PacketNd nd = advertisement(mac_a, 1800);
    struct in6_addr agent = address(AGENT);
    int64_t start = f->now;

    pass(f, 600 * MS);
    add_prefix(&nd, "2001:db8:2000::", 7200, 3600);
    hear_ra(f, &nd, mac_a);
    expect_hop(f, NULL);
    f->sent = 0;
    pass(f, 500 * MS);
    for (unsigned i = 0; i < f->sent; i++) {
        if (!packet_ip6_equal(&f->log[i].nd.target, &agent)) {
            continue;
        }
        g_assert_cmpint(f->log[i].at, ==, start + SECOND);
        g_assert_false(IN6_IS_ADDR_UNSPECIFIED(&f->log[i].nd.src));
        g_free(f);
        return;
    }
    g_assert_not_reached();
}

/* RFC 4861 section 6.3.4: without the L bit a prefix is not on the link. */
static void test_off_link(void)
{
    Fixture *f = begin();
    PacketNd nd = advertisement(mac_a, 1800);
    struct in6_addr prefix = address("2001:db8:2000::"), own;

    nd.has_slla = true;
    memcpy(nd.slla, mac_a, 6);
    add_prefix(&nd, "2001:db8:2000::", 7200, 3600);
    nd.ra.prefix[0].on_link = false;
    hear_ra(f, &nd, mac_a);
    pass(f, 2 * SECOND);
    /*
     * It makes an address, and all other addresses of it are behind the router.
     */
    g_assert_nonnull(mip6_careof_address(&f->c, f->now));
    own = *mip6_careof_address(&f->c, f->now);
    g_assert_true(packet_ip6_in_prefix(&own, &prefix, 64));
    f->sent = 0;
    expect_hop(f, mac_a);
    pass(f, SECOND);
    g_assert_cmpint(f->sent, ==, 0);
    /* The router sets the L bit, and clears it. */
    nd.ra.prefix[0].on_link = true;
    hear_ra(f, &nd, mac_a);
    expect_hop(f, NULL);
    nd.ra.prefix[0].on_link = false;
    hear_ra(f, &nd, mac_a);
    expect_hop(f, NULL);
    pass(f, 7200 * SECOND);
    nd.ra.prefix[0].valid = 3600;
    hear_ra(f, &nd, mac_a);
    expect_hop(f, mac_a);
    g_free(f);
}

/* Unsolicited neighbours are not kept; routers can fill their table. */
static void test_forged(void)
{
    Fixture *f = settled();
    uint8_t mac[] = { 0x02, 0xee, 0, 0, 0, 0 };
    PacketNd nd;

    hear_na(f, "fe80::99", PACKET_NA_OVERRIDE | PACKET_NA_SOLICITED, mac_c);
    hear_na(f, AGENT, PACKET_NA_OVERRIDE | PACKET_NA_SOLICITED, mac_c);
    g_assert_cmpint(f->c.neighbour[1].reach, ==, MIP6_REACH_NONE);
    for (unsigned i = 0; i < 1000; i++) {
        mac[4] = i >> 8;
        mac[5] = i;
        advertise(f, mac, 1800, NULL, 0, 0);
    }
    expect_hop(f, mac_a);
    /* A group's MAC address is nobody's. */
    nd = advertisement(mac_a, 1800);
    nd.has_slla = true;
    memcpy(nd.slla, "\x33\x33\0\0\0\x01", 6);
    hear_ra(f, &nd, mac_a);
    expect_hop(f, mac_a);
    /* Parameters are limited to bounds. */
    nd.ra.mtu = 1279;
    nd.ra.retrans = UINT32_MAX;
    nd.ra.reachable = UINT32_MAX;
    hear_ra(f, &nd, mac_a);
    g_assert_cmpint(f->c.mtu, ==, 1500);
    g_assert_cmpint(f->c.retrans, <=, 10000);
    g_assert_cmpint(f->c.reachable, <=, 5400000);
    nd.ra.retrans = nd.ra.reachable = 1;
    hear_ra(f, &nd, mac_a);
    g_assert_cmpint(f->c.retrans, >=, 100);
    g_assert_cmpint(f->c.reachable, >=, 500);
    nd.ra.mtu = 9000;
    hear_ra(f, &nd, mac_a);
    g_assert_cmpint(f->c.mtu, ==, 1500);
    nd.ra.mtu = 1280;
    nd.ra.hop_limit = 33;
    hear_ra(f, &nd, mac_a);
    g_assert_cmpint(f->c.mtu, ==, 1280);
    g_assert_cmpint(f->c.hop_limit, ==, 33);
    /* A path below the link's MTU: the smaller counts, whatever came before. */
    f->c.path_mtu = 1400;
    nd.ra.mtu = 1300;
    hear_ra(f, &nd, mac_a);
    g_assert_cmpint(f->c.mtu, ==, 1300);
    nd.ra.mtu = 1500;
    hear_ra(f, &nd, mac_a);
    g_assert_cmpint(f->c.mtu, ==, 1400);
    f->c.path_mtu = 1500;
    /* A new link begins with the defaults. */
    mip6_careof_start(&f->c, f->now);
    g_assert_cmpint(f->c.mtu, ==, 1500);
    expect_hop(f, NULL);
    g_free(f);
}

/* --- multicast listener discovery ----------------------------------------- */

static void assert_report(const Fixture *f, uint8_t type,
                          const struct in6_addr *addr)
{
    struct in6_addr group = packet_ip6_solicited(addr);

    g_assert_cmpint(f->report.type, ==, type);
    g_assert_cmpint(f->report.records, ==, 1);
    g_assert_true(f->report.record[0].listens);
    g_assert_true(packet_ip6_equal(&f->report.record[0].group, &group));
    g_assert_true(packet_ip6_equal(&f->report.dst,
                                   type == PACKET_MLD_REPORT
                                   ? &group : &packet_mld_all_routers));
}

static void hear_query(Fixture *f, bool is_v1, const char *group,
                       uint32_t delay)
{
    PacketMld mld = {
        .type = PACKET_MLD_QUERY,
        .is_v1 = is_v1,
        .group = group ? address(group) : in6addr_any,
        .delay = delay,
    };

    mip6_careof_mld(&f->c, f->now, &mld);
}

/* RFC 4862 section 5.4.2: reported before the probe, and when it is valid. */
static void test_listener(void)
{
    Fixture *f = begin_fixed("2001:db8:1::77");
    struct in6_addr fixed = address("2001:db8:1::77");

    g_assert_cmpint(f->reports, ==, 2);     /* link-local, then fixed */
    assert_report(f, PACKET_MLD2_REPORT, &fixed);
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&f->report.src));
    pass(f, 2 * SECOND);
    g_assert_cmpint(f->reports, ==, 4);
    assert_report(f, PACKET_MLD2_REPORT, &fixed);
    g_assert_true(packet_ip6_equal(&f->report.src, &f->c.link_local.addr));
    g_free(f);
}

static void test_queries(void)
{
    Fixture *f = begin();

    pass(f, 2 * SECOND);
    f->reports = 0;
    hear_query(f, false, NULL, 20000);
    pass(f, 14999 * MS);
    g_assert_cmpint(f->reports, ==, 0);
    pass(f, 1 * MS);
    g_assert_cmpint(f->reports, ==, 1);
    assert_report(f, PACKET_MLD2_REPORT, &f->c.link_local.addr);

    /* One that asks for a group of others is not ours. */
    hear_query(f, false, "ff02::1:ff99:9999", 0);
    pass(f, SECOND);
    g_assert_cmpint(f->reports, ==, 1);

    /* Many that want an answer at once get ten a second. */
    for (unsigned i = 0; i < 1000; i++) {
        hear_query(f, false, NULL, 0);
        pass(f, MS);
    }
    g_assert_cmpint(f->reports, <=, 11);

    mip6_careof_stop(&f->c);
    hear_query(f, false, NULL, 0);
    g_assert_cmpint(mip6_careof_deadline(&f->c), ==, INT64_MAX);
    g_free(f);
}

/* RFC 3810 section 8.2.1: after an old querier, old reports, for some time. */
static void test_querier1(void)
{
    Fixture *f = begin();

    pass(f, 2 * SECOND);
    hear_query(f, true, NULL, 0);
    pass(f, SECOND);
    assert_report(f, PACKET_MLD_REPORT, &f->c.link_local.addr);
    pass(f, 260 * SECOND);
    hear_query(f, false, NULL, 0);
    pass(f, SECOND);
    assert_report(f, PACKET_MLD2_REPORT, &f->c.link_local.addr);
    g_free(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/careof/begin", test_begin);
    g_test_add_func("/mip6/careof/listener", test_listener);
    g_test_add_func("/mip6/careof/queries", test_queries);
    g_test_add_func("/mip6/careof/querier-1", test_querier1);
    g_test_add_func("/mip6/careof/no-address", test_no_address);
    g_test_add_func("/mip6/careof/duplicate", test_duplicate);
    g_test_add_func("/mip6/careof/defend", test_defend);
    g_test_add_func("/mip6/careof/lifetimes", test_lifetimes);
    g_test_add_func("/mip6/careof/two-hours", test_two_hours);
    g_test_add_func("/mip6/careof/renumber", test_renumber);
    g_test_add_func("/mip6/careof/preference-ends", test_preference_ends);
    g_test_add_func("/mip6/careof/two-prefixes", test_two_prefixes);
    g_test_add_func("/mip6/careof/prefix-without-router",
                    test_prefix_without_router);
    g_test_add_func("/mip6/careof/full", test_full);
    g_test_add_func("/mip6/careof/label", test_label);
    g_test_add_func("/mip6/careof/managed", test_managed);
    g_test_add_func("/mip6/careof/declined", test_declined);
    g_test_add_func("/mip6/careof/fixed", test_fixed);
    g_test_add_func("/mip6/careof/solicit", test_solicit);
    g_test_add_func("/mip6/careof/router-lifetime", test_router_lifetime);
    g_test_add_func("/mip6/careof/preference", test_preference);
    g_test_add_func("/mip6/careof/resolve-router", test_resolve_router);
    g_test_add_func("/mip6/careof/nud", test_nud);
    g_test_add_func("/mip6/careof/failover", test_failover);
    g_test_add_func("/mip6/careof/on-link", test_on_link);
    g_test_add_func("/mip6/careof/ask-early", test_ask_early);
    g_test_add_func("/mip6/careof/off-link", test_off_link);
    g_test_add_func("/mip6/careof/forged", test_forged);
    return g_test_run();
}
