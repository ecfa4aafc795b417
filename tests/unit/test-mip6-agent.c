/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent: each answer to a Binding Update, and packets of tunnels */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-agent-fixture.h"
#include "ha/parts/path.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

/* --- registration (RFC 6275 section 10.3) --------------------------------- */

static void test_register(void)
{
    AgentFixture *f = agent_begin(NULL);
    struct in6_addr home = agent_address(HOME), next = agent_address(NEXT);
    Mip6Mh bu;

    agent_bind(f, HOME, CARE_OF);
    g_assert_cmpint(f->proxied, ==, 1);
    g_assert_cmpmem(&f->home, 16, &home, 16);
    g_assert_cmpint(agent_binding(f, HOME)->expires, ==, f->now + 60 * SECOND);
    /* It moves; the host is already its proxy. */
    bu = agent_usual_update(f, NEXT, 65535);
    agent_update(f, HOME, NEXT, &bu);
    agent_expect(f, HOME, NEXT, MIP6_BA_ACCEPTED, f->sequence, 150);
    g_assert_cmpint(f->proxied, ==, 1);
    g_assert_cmpmem(&agent_binding(f, HOME)->care_of, 16, &next, 16);
    /* Without an option, the source is the care-of address. */
    bu = agent_usual_update(f, NEXT, 15);
    bu.has_alternate = false;
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 15);
    g_assert_cmpint(agent_binding(f, HOME)->care_of.s6_addr[4], ==, 0x30);
    /*
     * The option has priority over the source; the answer goes to the source.
     */
    bu = agent_usual_update(f, NEXT, 15);
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 15);
    g_assert_cmpint(agent_binding(f, HOME)->care_of.s6_addr[4], ==, 0x40);
    /* Without A there is no answer. */
    bu = agent_usual_update(f, CARE_OF, 15);
    bu.flags = MIP6_BU_HOME;
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpint(agent_binding(f, HOME)->sequence, ==, f->sequence);
    agent_end(f);
}

/* Section 9.5.1, around 2^16. */
static void test_sequence(void)
{
    static const struct { uint16_t step; bool newer; } steps[] = {
        { 0, false }, { 1, true }, { 2, true }, { 32767, true },
        { 32768, false }, { 32769, false }, { 65535, false },
    };
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu;

    agent_bind(f, HOME, CARE_OF);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
            uint16_t last = agent_binding(f, HOME)->sequence;

            f->sequence = last + steps[i].step - 1;
            bu = agent_usual_update(f, CARE_OF, 15);
            agent_update(f, HOME, CARE_OF, &bu);
            agent_expect(f, HOME, CARE_OF, steps[i].newer ? MIP6_BA_ACCEPTED
                                                    : MIP6_BA_SEQUENCE,
                   steps[i].newer ? bu.sequence : last,
                   steps[i].newer ? 15 : 0);
        }
    }
    /* An old update ends no binding. */
    f->sequence = agent_binding(f, HOME)->sequence - 1;
    bu = agent_usual_update(f, CARE_OF, 0);
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_nonnull(agent_binding(f, HOME));
    agent_end(f);
}

static void test_end(void)
{
    AgentFixture *f = agent_begin(NULL);
    struct in6_addr home = agent_address(HOME);
    Mip6Mh bu;

    /* From home: the care-of address is the home address. */
    agent_bind(f, HOME, CARE_OF);
    bu = agent_usual_update(f, HOME, 0);
    agent_update(f, HOME, HOME, &bu);
    agent_expect(f, HOME, HOME, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpint(f->unproxied, ==, 1);
    g_assert_cmpmem(&f->home, 16, &home, 16);
    /* From away: a lifetime of 0. */
    agent_bind(f, HOME, CARE_OF);
    bu = agent_usual_update(f, CARE_OF, 0);
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(agent_binding(f, HOME));
    /* The home address as care-of address ends it, with any lifetime. */
    agent_bind(f, HOME, CARE_OF);
    bu = agent_usual_update(f, HOME, 15);
    agent_update(f, HOME, HOME, &bu);
    agent_expect(f, HOME, HOME, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpint(f->a.ended, ==, 3);
    /* There is none. */
    bu = agent_usual_update(f, HOME, 0);
    agent_update(f, HOME, HOME, &bu);
    agent_expect(f, HOME, HOME, MIP6_BA_NOT_HOME_AGENT, f->sequence, 0);
    g_assert_cmpint(f->unproxied, ==, 3);
    agent_end(f);
}

static void test_expiry(void)
{
    AgentFixture *f = agent_begin(NULL);

    agent_bind(f, HOME, CARE_OF);
    f->now += SECOND;
    agent_bind(f, OTHER, NEXT);
    f->now += 59 * SECOND - 1;
    mip6_agent_tick(&f->a, f->now);
    g_assert_nonnull(agent_binding(f, HOME));
    f->now++;
    mip6_agent_tick(&f->a, f->now);
    g_assert_null(agent_binding(f, HOME));
    g_assert_nonnull(agent_binding(f, OTHER));
    g_assert_cmpint(f->a.expired, ==, 1);
    g_assert_cmpint(f->unproxied, ==, 1);
    f->now += SECOND;
    mip6_agent_tick(&f->a, f->now);
    g_assert_null(agent_binding(f, OTHER));
    agent_end(f);
}

static void refused(AgentFixture *f, const char *home, const char *care_of,
                    uint8_t status)
{
    Mip6Mh bu = agent_usual_update(f, care_of, 15);
    uint64_t before = f->a.refused;
    bool bound = agent_binding(f, home);

    agent_update(f, home, CARE_OF, &bu);
    agent_expect(f, home, CARE_OF, status, bu.sequence, 0);
    g_assert_cmpint(f->a.refused, ==, before + 1);
    g_assert_cmpint(agent_binding(f, home) != NULL, ==, bound);
}

static void test_refusals(void)
{
    static const char *const unroutable[] = {
        "ff02::1", "ff0e::1", "fe80::1", "::1", "::", "::ffff:192.0.2.1",
        "::192.0.2.1", "::ffff:0:192.0.2.1", "100::1",
        /* packets in the tunnel would come back here */
        AGENT, "2001:db8:2000:0:fdff:ffff:ffff:fffe",
    };
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu = agent_usual_update(f, CARE_OF, 15);

    /* A refusal is answered even without A (section 9.5.4). */
    bu.flags = 0;
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_NO_HOME_REGISTRATION, f->sequence,
                 0);
    refused(f, FAR, CARE_OF, MIP6_BA_NOT_HOME_SUBNET);
    refused(f, AGENT, CARE_OF, MIP6_BA_NOT_HOME_SUBNET);
    for (unsigned i = 0; i < G_N_ELEMENTS(unroutable); i++) {
        refused(f, HOME, unroutable[i], MIP6_BA_INVALID_COA);
    }
    f->refuses = true;
    refused(f, HOME, CARE_OF, MIP6_BA_RESOURCES);
    f->refuses = false;
    /* No more than the limit; existing bindings stay. */
    agent_bind(f, HOME, CARE_OF);
    agent_bind(f, OTHER, CARE_OF);
    refused(f, "2001:db8:2000::12", CARE_OF, MIP6_BA_RESOURCES);
    agent_bind(f, HOME, CARE_OF);
    agent_end(f);
}

static void test_access_list(void)
{
    struct in6_addr home = agent_address(HOME);
    GHashTable *allowed = g_hash_table_new(mip6_addr_hash, mip6_addr_equal);
    AgentFixture *f;

    g_hash_table_add(allowed, &home);
    f = agent_begin(allowed);
    agent_bind(f, HOME, CARE_OF);
    refused(f, OTHER, CARE_OF, MIP6_BA_PROHIBITED);
    agent_end(f);
    g_hash_table_destroy(allowed);
}

/*
 * A new list for a running agent: bindings that are not on it end, others stay.
 */
static void test_configure(void)
{
    struct in6_addr home = agent_address(HOME);
    GHashTable *allowed = g_hash_table_new(mip6_addr_hash, mip6_addr_equal);
    AgentFixture *f = agent_begin(NULL);
    Mip6AgentConfig config = f->a.config;

    agent_bind(f, HOME, CARE_OF);
    agent_bind(f, OTHER, CARE_OF);
    g_hash_table_add(allowed, &home);
    config.allowed = allowed;
    config.lifetime_max = 10;
    mip6_agent_configure(&f->a, f->now, &config);
    g_assert_nonnull(agent_binding(f, HOME));
    g_assert_cmpint(agent_binding(f, HOME)->lifetime, ==, 15);
    g_assert_null(agent_binding(f, OTHER));
    g_assert_cmpuint(f->a.revoked, ==, 1);
    g_assert_cmpint(f->unproxied, ==, 1);
    refused(f, OTHER, CARE_OF, MIP6_BA_PROHIBITED);
    /* The node learns it with its next packet. */
    g_assert_false(agent_from_tunnel(f, CARE_OF, OTHER));
    g_assert_cmpint(f->packet[6], ==, PACKET_PROTO_MH);
    config.allowed = NULL;
    mip6_agent_configure(&f->a, f->now, &config);
    agent_end(f);
    g_hash_table_destroy(allowed);
}

/* A cut or changed message has no effect and no answer. */
static void test_damage(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu = agent_usual_update(f, CARE_OF, 15);
    uint8_t packet[512], copy[512];
    size_t len = agent_build_update(packet, HOME, CARE_OF, &bu);

    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *exact = g_memdup2(packet, cut);

        mip6_agent_packet(&f->a, f->now, exact, cut);
        g_free(exact);
    }
    for (size_t i = PACKET_IP6_LEN + MIP6_HAO_LEN; i < len; i++) {
        if (i == PACKET_IP6_LEN + MIP6_HAO_LEN + 1) {
            continue;           /* the length: what has the checksum? */
        }
        memcpy(copy, packet, len);
        copy[i] ^= 0x40;
        mip6_agent_packet(&f->a, f->now, copy, len);
    }
    /* Another home address is another checksum. */
    memcpy(copy, packet, len);
    copy[PACKET_IP6_LEN + MIP6_HAO_LEN - 1] ^= 1;
    mip6_agent_packet(&f->a, f->now, copy, len);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_CHECKSUM], >, 0);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_nonnull(agent_binding(f, HOME));
    agent_end(f);
}

/* --- packets (section 10.4) ----------------------------------------------- */

static void test_to_node(void)
{
    AgentFixture *f = agent_begin(NULL);
    struct in6_addr care_of = agent_address(CARE_OF), far = agent_address(FAR);
    uint8_t packet[2048];
    PacketIp6 outer;
    size_t len;

    len = agent_build_packet(packet, FAR, HOME, 100);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 1);
    agent_bind(f, HOME, CARE_OF);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_true(packet_ip6_parse(&outer, f->packet, f->len));
    g_assert_cmpint(outer.next, ==, PACKET_PROTO_IP6);
    g_assert_cmpint(outer.tclass, ==, 0x42);
    g_assert_cmpint(outer.flow, ==, 0x12345);
    g_assert_cmpmem(&outer.dst, 16, &care_of, 16);
    g_assert_cmpmem(f->packet + PACKET_IP6_LEN, f->len - PACKET_IP6_LEN,
                    packet, len);
    g_assert_cmpint(agent_binding(f, HOME)->sent, ==, 1);
    /* A packet as long as the path, and one octet more. */
    len = agent_build_packet(packet, FAR, HOME, 1420);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->len, ==, 1500);
    len = agent_build_packet(packet, FAR, HOME, 1421);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpmem(f->packet + 24, 16, &far, 16);
    g_assert_cmpint(f->packet[40], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(get_be32(f->packet + 44), ==, 1460);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_TOO_BIG], ==, 1);
    agent_end(f);
}

/* --- TCP (RFC 2473 section 6.7) ------------------------------------------- */

#define SYN_LEN         (PACKET_IP6_LEN + PACKET_TCP_LEN + 4)
#define MSS_AT          (PACKET_IP6_LEN + PACKET_TCP_LEN + 2)

static uint32_t sum_of(const uint8_t *packet)
{
    size_t len = SYN_LEN - PACKET_IP6_LEN;

    return packet_sum_add(packet_sum_pseudo(packet, PACKET_PROTO_TCP, len),
                          packet + PACKET_IP6_LEN, len);
}

/* The TCP segment of @flags with this MSS. Returns its length. */
static size_t build_syn(uint8_t *packet, const char *src, const char *dst,
                        uint8_t flags, uint16_t mss)
{
    size_t len = agent_build_packet(packet, src, dst,
                                    SYN_LEN - PACKET_IP6_LEN);
    uint8_t *tcp = packet + PACKET_IP6_LEN;

    packet[6] = PACKET_PROTO_TCP;
    tcp[12] = (PACKET_TCP_LEN + 4) << 2;
    tcp[PACKET_TCP_FLAGS] = flags;
    tcp[PACKET_TCP_LEN] = 2;
    tcp[PACKET_TCP_LEN + 1] = 4;
    put_be16(packet + MSS_AT, mss);
    put_be16(tcp + PACKET_TCP_CHECKSUM, 0);
    put_be16(tcp + PACKET_TCP_CHECKSUM,
             packet_sum_fold(sum_of(packet)));
    return len;
}

/* The MSS that the last forwarded packet has, @at octets from its start. */
static uint16_t forwarded_mss(const AgentFixture *f, size_t at)
{
    g_assert_cmpint(f->len, ==, at + SYN_LEN);
    g_assert_cmpint(packet_sum_fold(sum_of(f->packet + at)), ==, 0);
    return get_be16(f->packet + at + MSS_AT);
}

static uint16_t mss_to_node(AgentFixture *f, uint8_t flags, uint16_t mss)
{
    uint8_t packet[SYN_LEN];
    size_t len = build_syn(packet, FAR, HOME, flags, mss);

    mip6_agent_packet(&f->a, f->now, packet, len);
    return forwarded_mss(f, PACKET_IP6_LEN);
}

static uint16_t mss_from_node(AgentFixture *f, uint8_t flags, uint16_t mss)
{
    uint8_t packet[PACKET_IP6_LEN + SYN_LEN];
    PacketIp6 outer = {
        .src = agent_address(CARE_OF), .dst = agent_address(AGENT),
        .next = PACKET_PROTO_IP6, .hops = 64, .payload = SYN_LEN,
    };

    packet_ip6_build(packet, &outer);
    build_syn(packet + PACKET_IP6_LEN, HOME, FAR, flags, mss);
    mip6_agent_packet(&f->a, f->now, packet, sizeof(packet));
    return forwarded_mss(f, 0);
}

/* Both ends send segments that fit, though only the agent knows the path. */
static void test_mss(void)
{
    Mip6AgentConfig config = agent_usual_config();
    AgentFixture *f;

    config.mtu = 1400;
    f = agent_begin_as(&config);
    agent_bind(f, HOME, CARE_OF);
    g_assert_cmpint(mss_to_node(f, PACKET_TCP_SYN, 1440), ==, 1300);
    g_assert_cmpint(mss_to_node(f, PACKET_TCP_SYN | PACKET_TCP_ACK, 1440), ==,
                    1300);
    g_assert_cmpint(mss_from_node(f, PACKET_TCP_SYN, 1440), ==, 1300);
    g_assert_cmpint(mss_from_node(f, PACKET_TCP_SYN | PACKET_TCP_ACK, 1440),
                    ==, 1300);
    /* What fits, and what is no SYN, stays. */
    g_assert_cmpint(mss_to_node(f, PACKET_TCP_SYN, 1300), ==, 1300);
    g_assert_cmpint(mss_from_node(f, PACKET_TCP_SYN, 1220), ==, 1220);
    g_assert_cmpint(mss_to_node(f, PACKET_TCP_ACK, 1440), ==, 1440);
    g_assert_cmpint(mss_from_node(f, PACKET_TCP_ACK, 1440), ==, 1440);
    /* No fragments, also where a packet of 1280 octets needs some. */
    config.mtu = 1280;
    mip6_agent_configure(&f->a, f->now, &config);
    g_assert_cmpint(mss_to_node(f, PACKET_TCP_SYN, 1440), ==, 1180);
    g_assert_cmpint(mss_from_node(f, PACKET_TCP_SYN, 1440), ==, 1180);
    agent_end(f);
}

/* "Packet too big" to the agent about the last forwarded packet. */
static void too_big(AgentFixture *f, uint32_t mtu, const uint8_t *outer,
                    size_t len)
{
    struct in6_addr router = agent_address(FAR);
    uint8_t error[PACKET_IP6_MTU_MIN];

    len = packet_icmp6_error(error, sizeof(error), &router, 64,
                             PACKET_ICMP6_TOO_BIG, 0, mtu, outer, len);
    g_assert_cmpint(len, >, 0);
    mip6_agent_packet(&f->a, f->now, error, len);
}

/* A path with a smaller MTU, until the entry expires. */
static void test_path(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t packet[2048], outer[1500], joined[1500];
    PacketIp6Ext ext;
    size_t len;

    agent_bind(f, HOME, CARE_OF);
    len = agent_build_packet(packet, FAR, HOME, 1420);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->len, ==, 1500);
    memcpy(outer, f->packet, f->len);
    /* About another's tunnel, or cut: ignored. */
    outer[39] ^= 1;
    too_big(f, 1280, outer, 1500);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 1);
    outer[39] ^= 1;
    too_big(f, 1280, outer, 60);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 2);
    outer[23] ^= 1;             /* not the agent's */
    too_big(f, 1280, outer, 1500);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 3);
    outer[23] ^= 1;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->len, ==, 1500);
    too_big(f, 1400, outer, 1500);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packet[40], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(get_be32(f->packet + 44), ==, 1360);
    /* Less than the minimum MTU, and the packet's own size. */
    too_big(f, 1279, outer, 1500);
    too_big(f, 1500, outer, 1500);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 5);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(get_be32(f->packet + 44), ==, 1360);
    /* No sender accepts an MTU below 1280 octets: two fragments. */
    too_big(f, 1280, outer, 1500);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(get_be32(f->packet + 44), ==, 1280);
    len = agent_build_packet(packet, FAR, HOME, 1200);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    len = agent_build_packet(packet, FAR, HOME, 1240);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 3);
    g_assert_true(packet_ip6_walk(&ext, f->packet, f->len));
    g_assert_cmpint(ext.fragment_offset, ==, 1232);
    g_assert_false(ext.more);
    memcpy(joined, packet + 1232, 48);
    g_assert_cmpmem(f->packet + 48, f->len - 48, joined, 48);
    /* Another care-of address is another path; so is this one, later. */
    agent_bind(f, HOME, NEXT);
    len = agent_build_packet(packet, FAR, HOME, 1420);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->len, ==, 1500);
    agent_end(f);
}

/* A mobile node's packet of 1280 octets, over a path with this MTU. */
static void test_fragments(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t inner[1280], part[1280];
    PacketIp6 outer = {
        .src = agent_address(CARE_OF), .dst = agent_address(AGENT),
        .next = PACKET_PROTO_IP6, .hops = 64,
    };
    size_t len = agent_build_packet(inner, HOME, FAR, 1240);

    agent_bind(f, HOME, CARE_OF);
    f->packets = 0;
    for (size_t at = 0; at < len; at += 1232) {
        size_t size = MIN(len - at, 1232);

        mip6_path_fragment(part, &outer, 7, at, size, at + size < len);
        memcpy(part + MIP6_PATH_HEAD_LEN, inner + at, size);
        g_assert_cmpint(f->packets, ==, 0);
        mip6_agent_packet(&f->a, f->now, part, MIP6_PATH_HEAD_LEN + size);
    }
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpmem(f->packet, f->len, inner, len);
    agent_end(f);
}

static void test_from_node(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu;
    uint8_t inner[512];
    size_t len = agent_build_packet(inner, HOME, FAR, 50);

    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, HOME), ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    agent_bind(f, HOME, CARE_OF);
    agent_bind(f, OTHER, NEXT);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, HOME), ==, 1);
    g_assert_cmpmem(f->packet, f->len, inner, len);
    g_assert_cmpint(agent_binding(f, HOME)->received, ==, 1);
    /* Wrong care-of address, wrong home address, no binding. */
    g_assert_cmpint(agent_from_tunnel(f, NEXT, HOME), ==, 0);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, OTHER), ==, 0);
    g_assert_cmpint(agent_from_tunnel(f, HOME, HOME), ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_WRONG_SOURCE], ==, 3);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, FAR), ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 2);
    /* Also after the end of the binding. */
    bu = agent_usual_update(f, CARE_OF, 0);
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, HOME), ==, 0);
    agent_end(f);
}

/* A node with two home addresses and one care-of address (section 11.7.1). */
static void test_two_homes(void)
{
    AgentFixture *f = agent_begin(NULL);
    struct in6_addr care_of = agent_address(CARE_OF);
    struct in6_addr other = agent_address(OTHER);
    Mip6Mh bu;

    agent_bind(f, HOME, CARE_OF);
    f->sequence = 7;            /* each has a sequence of its own */
    agent_bind(f, OTHER, CARE_OF);
    g_assert_cmpint(f->proxied, ==, 2);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, HOME), ==, 1);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, OTHER), ==, 1);
    g_assert_cmpint(agent_binding(f, OTHER)->received, ==, 1);
    /* One moves, and the other one stays. */
    agent_bind(f, OTHER, NEXT);
    g_assert_cmpmem(&agent_binding(f, HOME)->care_of, 16, &care_of, 16);
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, OTHER), ==, 0);
    agent_bind(f, OTHER, CARE_OF);
    /* One ends: the host stops being the proxy of this address only. */
    bu = agent_usual_update(f, OTHER, 0);
    agent_update(f, OTHER, OTHER, &bu);
    agent_expect(f, OTHER, OTHER, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_cmpint(f->unproxied, ==, 1);
    g_assert_cmpmem(&f->home, 16, &other, 16);
    g_assert_null(agent_binding(f, OTHER));
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, HOME), ==, 1);
    f->now += 10 * SECOND;      /* what it sent before is late */
    g_assert_cmpint(agent_from_tunnel(f, CARE_OF, OTHER), ==, 0);
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/agent/register", test_register);
    g_test_add_func("/mip6/agent/sequence", test_sequence);
    g_test_add_func("/mip6/agent/end", test_end);
    g_test_add_func("/mip6/agent/expiry", test_expiry);
    g_test_add_func("/mip6/agent/refusals", test_refusals);
    g_test_add_func("/mip6/agent/access-list", test_access_list);
    g_test_add_func("/mip6/agent/configure", test_configure);
    g_test_add_func("/mip6/agent/damage", test_damage);
    g_test_add_func("/mip6/agent/to-node", test_to_node);
    g_test_add_func("/mip6/agent/mss", test_mss);
    g_test_add_func("/mip6/agent/path", test_path);
    g_test_add_func("/mip6/agent/fragments", test_fragments);
    g_test_add_func("/mip6/agent/from-node", test_from_node);
    g_test_add_func("/mip6/agent/two-homes", test_two_homes);
    return g_test_run();
}
