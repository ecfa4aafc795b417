/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ICMPv6 errors about tunnelled packets (RFC 2473 section 8) */
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-agent-fixture.h"
#include "ha/parts/path.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define ROUTER  "2001:db8:3000::ffff"
#define ICMP    PACKET_IP6_LEN          /* where the message of an error is */
#define QUOTE   (PACKET_IP6_LEN + 8)    /* ... and what it quotes */

/* A router on the path sends this error about @outer. */
static void tell(AgentFixture *f, uint8_t type, uint8_t code, uint32_t arg,
                 const uint8_t *outer, size_t len)
{
    struct in6_addr router = agent_address(ROUTER);
    uint8_t error[PACKET_IP6_MTU_MIN];

    len = packet_icmp6_error(error, sizeof(error), &router, 64, type, code,
                             arg, outer, len);
    g_assert_cmpint(len, >, 0);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, error, len);
}

/* FAR sends @payload octets to @home. Returns octets of what is tunnelled. */
static size_t send_home(AgentFixture *f, const char *home, size_t payload,
                        uint8_t *outer)
{
    uint8_t packet[2048];
    size_t len = agent_build_packet(packet, FAR, home, payload);

    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    memcpy(outer, f->packet, f->len);
    return f->len;
}

/* FAR got an error from the agent about the packet in @outer. */
static void expect_told(const AgentFixture *f, uint8_t type, uint8_t code,
                        uint32_t arg, const uint8_t *outer)
{
    struct in6_addr agent = agent_address(AGENT), far = agent_address(FAR);

    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpmem(f->packet + 8, 16, &agent, 16);
    g_assert_cmpmem(f->packet + 24, 16, &far, 16);
    g_assert_cmpint(f->packet[ICMP], ==, type);
    g_assert_cmpint(f->packet[ICMP + 1], ==, code);
    g_assert_cmpint(get_be32(f->packet + ICMP + 4), ==, arg);
    g_assert_cmpmem(f->packet + QUOTE, 300, outer + PACKET_IP6_LEN, 300);
}

static uint64_t not_for_us(const AgentFixture *f)
{
    return f->a.dropped[MIP6_AGENT_NOT_FOR_US];
}

/* The node is unreachable for any reason: its correspondent gets this error. */
static void test_translated(void)
{
    static const struct {
        uint8_t type, code;
    } errors[] = {
        { PACKET_ICMP6_UNREACHABLE, 0 }, { PACKET_ICMP6_UNREACHABLE, 1 },
        { PACKET_ICMP6_UNREACHABLE, 3 }, { PACKET_ICMP6_TIME_EXCEEDED, 0 },
        { PACKET_ICMP6_PARAMETER, 1 },
    };
    AgentFixture *f = agent_begin(NULL);
    uint8_t outer[2048];
    size_t len;

    agent_bind(f, HOME, CARE_OF);
    len = send_home(f, HOME, 500, outer);
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++) {
        tell(f, errors[i].type, errors[i].code, 0, outer, len);
        expect_told(f, PACKET_ICMP6_UNREACHABLE, 3, 0, outer);
    }
    /* Lost fragments of the agent say nothing about the path. */
    tell(f, PACKET_ICMP6_TIME_EXCEEDED, 1, 0, outer, len);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpuint(not_for_us(f), ==, 0);
    agent_end(f);
}

/* The sender gets the error for this packet, not for its next one. */
static void test_too_big(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t outer[2048];
    size_t len;

    agent_bind(f, HOME, CARE_OF);
    len = send_home(f, HOME, 1420, outer);
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, len);
    expect_told(f, PACKET_ICMP6_TOO_BIG, 0, 1360, outer);
    /* An MTU that is larger changes nothing; but this one did not arrive. */
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1450, outer, len);
    expect_told(f, PACKET_ICMP6_TOO_BIG, 0, 1360, outer);
    /* One of 1280 octets would go now, in fragments. */
    len = send_home(f, HOME, 1240, outer);
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1280, outer, len);
    g_assert_cmpint(f->packets, ==, 0);
    send_home(f, HOME, 1240, outer);
    g_assert_cmpint(f->packets, ==, 2);
    agent_end(f);
}

/* A node that has not seen the packet cannot send an error to its sender. */
static void test_unfit(void)
{
    AgentFixture *f = agent_begin(NULL);
    struct in6_addr next = agent_address(NEXT);
    struct in6_addr home = agent_address(HOME);
    struct in6_addr other = agent_address(OTHER);
    uint8_t outer[2048], forged[2048], message[64];
    PacketIp6 ip;
    size_t len;

    agent_bind(f, HOME, CARE_OF);
    len = send_home(f, HOME, 500, outer);
    /* It was cut before the inner header, ... */
    tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, 2 * PACKET_IP6_LEN - 1);
    g_assert_cmpint(f->packets, ==, 0);
    /* ... goes to another care-of address, is for a home without binding ... */
    memcpy(forged, outer, len);
    memcpy(forged + 24, &next, 16);
    tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, forged, len);
    g_assert_cmpint(f->packets, ==, 0);
    memcpy(forged, outer, len);
    memcpy(forged + PACKET_IP6_LEN + 24, &other, 16);
    tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, forged, len);
    g_assert_cmpint(f->packets, ==, 0);
    /* ... or is a second fragment. */
    packet_ip6_parse(&ip, outer, len);
    mip6_path_fragment(forged, &ip, 1, 504, 36, false);
    memcpy(forged + MIP6_PATH_HEAD_LEN, outer + PACKET_IP6_LEN, 36);
    memcpy(forged + MIP6_PATH_HEAD_LEN + 24, &home, 16);
    tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, forged, MIP6_PATH_HEAD_LEN + 40);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpuint(not_for_us(f), ==, 4);
    /* No error about an error. */
    memset(message, 0, sizeof(message));
    agent_build_packet(message, FAR, HOME, 8);
    message[6] = PACKET_PROTO_ICMP6;
    message[PACKET_IP6_LEN] = PACKET_ICMP6_UNREACHABLE;
    mip6_agent_packet(&f->a, f->now, message, PACKET_IP6_LEN + 8);
    memcpy(outer, f->packet, f->len);
    tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, f->len);
    g_assert_cmpint(f->packets, ==, 0);
    agent_end(f);
}

/* A thousand at once, a thousand a second, as all errors. */
static void test_rate(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t outer[2048];
    uint64_t before;
    size_t len;

    agent_bind(f, HOME, CARE_OF);
    len = send_home(f, HOME, 100, outer);
    before = f->a.errors;
    for (unsigned i = 0; i < 1500; i++) {
        tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, len);
    }
    g_assert_cmpuint(f->a.errors - before, ==, 1000);
    g_assert_cmpuint(f->a.muted, ==, 500);
    agent_end(f);
}

/* --- ESP ------------------------------------------------------------------ */

/* HOME is protected; its node and that of OTHER are at CARE_OF. */
static AgentFixture *begin_protected(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6ProtectConfig config = agent_protect(false, 0);
    Mip6AgentBinding saved = {
        .home = agent_address(HOME), .care_of = agent_address(CARE_OF),
        .lifetime = 15, .expires = f->now + 60 * SECOND,
    };

    agent_set_keys(f, &config);
    agent_bind(f, OTHER, CARE_OF);
    g_assert_cmpint(mip6_agent_restore(&f->a, f->now, &saved), ==,
                    MIP6_BA_ACCEPTED);
    return f;
}

/* The quoted packet is encrypted; the SPI identifies the path. */
static void test_esp_too_big(void)
{
    AgentFixture *f = begin_protected();
    uint8_t outer[2048], far[2048];
    size_t len = send_home(f, HOME, 1380, outer);

    g_assert_cmpint(outer[6], ==, PACKET_PROTO_ESP);
    /* Not the SPI, not the care-of address, not the number, cut before it. */
    outer[43] ^= 1;
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, len);
    outer[43] ^= 1;
    outer[39] ^= 1;
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, len);
    outer[39] ^= 1;
    outer[44] ^= 0x80;          /* a number that was not used */
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, len);
    outer[44] ^= 0x80;
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, 47);
    g_assert_cmpuint(not_for_us(f), ==, 4);
    g_assert_cmpint(send_home(f, HOME, 1380, far), ==, len);

    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, 48);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpuint(not_for_us(f), ==, 4);
    send_home(f, HOME, 1380, far);
    g_assert_cmpint(f->packet[ICMP], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(get_be32(f->packet + ICMP + 4), <, 1360);
    len = get_be32(f->packet + ICMP + 4);
    g_assert_cmpint(send_home(f, HOME, len - PACKET_IP6_LEN, far), <=, 1400);
    g_assert_cmpint(far[6], ==, PACKET_PROTO_ESP);
    /* The other node there has its own path. */
    g_assert_cmpint(send_home(f, OTHER, 1420, far), ==, 1500);

    /* No sender accepts an MTU below 1280 octets: two fragments. */
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1280, outer, 48);
    send_home(f, HOME, 1240, far);
    g_assert_cmpint(f->packets, ==, 2);
    f->now += 600 * SECOND;
    g_assert_cmpint(send_home(f, HOME, 1380, far), >, 1400);
    agent_end(f);
}

/* Such an error counts only about ESP, and cannot be translated. */
static void test_esp_others(void)
{
    AgentFixture *f = begin_protected();
    struct in6_addr home = agent_address(HOME);
    uint8_t outer[2048], plain[2048];
    size_t len = send_home(f, HOME, 500, outer);

    tell(f, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, len);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpuint(not_for_us(f), ==, 0);
    len = send_home(f, OTHER, 1420, plain);
    memcpy(plain + PACKET_IP6_LEN + 24, &home, 16);
    tell(f, PACKET_ICMP6_TOO_BIG, 0, 1300, plain, len);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpuint(not_for_us(f), ==, 1);
    send_home(f, HOME, 1380, outer);
    g_assert_cmpint(outer[6], ==, PACKET_PROTO_ESP);
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/tunnel-errors/translated", test_translated);
    g_test_add_func("/mip6/tunnel-errors/too-big", test_too_big);
    g_test_add_func("/mip6/tunnel-errors/unfit", test_unfit);
    g_test_add_func("/mip6/tunnel-errors/rate", test_rate);
    g_test_add_func("/mip6/tunnel-errors/esp/too-big", test_esp_too_big);
    g_test_add_func("/mip6/tunnel-errors/esp/others", test_esp_others);
    return g_test_run();
}
