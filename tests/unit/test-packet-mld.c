/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multicast listener discovery: valid and refused messages */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/mld.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define AT      (PACKET_IP6_LEN + 8)    /* of the message */
#define SUM_AT  (AT + 2)

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void seal(uint8_t *p, size_t len)
{
    PacketIp6 ip;
    uint32_t sum;

    g_assert_true(packet_ip6_parse(&ip, p, len));
    put_be16(p + SUM_AT, 0);
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, len - AT);
    put_be16(p + SUM_AT, packet_sum_fold(packet_sum_add(sum, p + AT,
                                                        len - AT)));
}

/* The head of a message of @len octets, which are 0. */
static size_t head(uint8_t *p, const char *src, uint8_t type, size_t len)
{
    static const uint8_t alert[] = { PACKET_PROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0 };
    PacketIp6 ip = {
        .src = address(src), .dst = address("ff02::16"),
        .next = PACKET_PROTO_HOPOPTS, .hops = 1, .payload = 8 + len,
    };

    packet_ip6_build(p, &ip);
    memcpy(p + PACKET_IP6_LEN, alert, sizeof(alert));
    memset(p + AT, 0, len);
    p[AT] = type;
    return AT + len;
}

static size_t v1(uint8_t *p, uint8_t type, const char *group)
{
    struct in6_addr addr = address(group);
    size_t len = head(p, "fe80::1", type, 24);

    memcpy(p + AT + 8, &addr, sizeof(addr));
    seal(p, len);
    return len;
}

typedef struct Record {
    uint8_t type;
    unsigned sources;
    const char *group;
} Record;

static size_t v2(uint8_t *p, const Record *records, unsigned count)
{
    size_t len = 8, at;

    for (unsigned i = 0; i < count; i++) {
        len += 20 + records[i].sources * 16;
    }
    len = head(p, "fe80::1", PACKET_MLD2_REPORT, len);
    put_be16(p + AT + 6, count);
    at = AT + 8;
    for (unsigned i = 0; i < count; i++) {
        struct in6_addr addr = address(records[i].group);

        p[at] = records[i].type;
        put_be16(p + at + 2, records[i].sources);
        memcpy(p + at + 4, &addr, sizeof(addr));
        at += 20 + records[i].sources * 16;
    }
    seal(p, len);
    return len;
}

static void test_version_1(void)
{
    uint8_t p[512];
    PacketMld mld;
    size_t len = v1(p, PACKET_MLD_REPORT, "ff0e::1");

    g_assert_true(packet_mld_parse(&mld, p, len));
    g_assert_cmpint(mld.records, ==, 1);
    g_assert_true(mld.record[0].listens);
    len = v1(p, PACKET_MLD_DONE, "ff0e::1");
    g_assert_true(packet_mld_parse(&mld, p, len));
    g_assert_false(mld.record[0].listens);
    g_assert_true(packet_mld_is_beyond_link(p, len));
    len = v1(p, PACKET_MLD_REPORT, "ff02::1:ff00:1");
    g_assert_false(packet_mld_is_beyond_link(p, len));
}

/* RFC 3810 section 5.2.12: each type of record, with and without sources. */
static void test_records(void)
{
    static const struct {
        uint8_t type;
        unsigned sources;
        int listens;            /* -1: it reports nothing */
    } cases[] = {
        { 1, 0, false }, { 1, 2, true }, { 2, 0, true }, { 2, 1, true },
        { 3, 0, false }, { 3, 1, true }, { 4, 0, true }, { 4, 3, true },
        { 5, 0, -1 }, { 5, 1, true }, { 6, 1, -1 }, { 7, 1, -1 },
    };
    uint8_t p[512];
    PacketMld mld;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Record records[] = {
            { cases[i].type, cases[i].sources, "ff05::1" },
            { 4, 0, "ff05::2" },        /* is found behind the first */
        };
        struct in6_addr second = address("ff05::2");
        size_t len = v2(p, records, 2);

        g_assert_true(packet_mld_parse(&mld, p, len));
        g_assert_cmpint(mld.records, ==, 1 + (cases[i].listens >= 0));
        g_assert_cmpmem(&mld.record[mld.records - 1].group, 16, &second, 16);
        if (cases[i].listens >= 0) {
            g_assert_cmpint(mld.record[0].listens, ==, cases[i].listens);
        }
    }
}

static void test_refused(void)
{
    const Record record = { 4, 1, "ff0e::1" };
    uint8_t good[512], p[512];
    size_t len = v2(good, &record, 1);
    PacketMld mld;
    struct {
        unsigned at;
        uint8_t value;
    } cases[] = {
        { 7, 2 },                       /* hop limit */
        { 8, 0x20 },                    /* a global source */
        { PACKET_IP6_LEN + 2, 1 },      /* no alert, but padding */
        { SUM_AT, 0 },                  /* the checksum */
        { AT, 144 },                    /* no type of MLD */
    };

    g_assert_true(packet_mld_parse(&mld, good, len));
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        memcpy(p, good, len);
        p[cases[i].at] ^= p[cases[i].at] == cases[i].value;
        p[cases[i].at] = cases[i].value;
        if (cases[i].at != SUM_AT) {
            seal(p, len);
        }
        g_assert_false(packet_mld_parse(&mld, p, len));
    }
    /* Cut anywhere; from an allocation of that size, for the sanitizer. */
    for (size_t cut = 0; cut < len; cut++) {
        g_autofree uint8_t *part = g_memdup2(good, cut);

        g_assert_false(packet_mld_parse(&mld, part, cut));
        packet_mld_is_beyond_link(part, cut);
    }
    /* More records, or sources, than there are. */
    memcpy(p, good, len);
    put_be16(p + AT + 6, 2);
    seal(p, len);
    g_assert_false(packet_mld_parse(&mld, p, len));
    memcpy(p, good, len);
    put_be16(p + AT + 10, 2);
    seal(p, len);
    g_assert_false(packet_mld_parse(&mld, p, len));
}

/* The first octets of a long report are enough. */
static void test_beyond_link(void)
{
    const Record records[] = {
        { 4, 0, "ff02::fb" }, { 4, 0, "ff0e::1" }, { 4, 0, "ff02::1:3" },
    };
    uint8_t p[512];
    size_t len = v2(p, records, 3);

    g_assert_true(packet_mld_is_beyond_link(p, len));
    g_assert_true(packet_mld_is_beyond_link(p, len - 1));
    g_assert_false(packet_mld_is_beyond_link(p, AT + 8 + 20));
    g_assert_false(packet_mld_is_query(p, len));
}

static void test_query(void)
{
    struct in6_addr src = address("fe80::1");
    uint8_t p[PACKET_MLD_QUERY_LEN];
    PacketMld mld;

    g_assert_cmpint(packet_mld_build_query(p, &src, 1000), ==, sizeof(p));
    g_assert_true(packet_mld_parse(&mld, p, sizeof(p)));
    g_assert_cmpint(mld.type, ==, PACKET_MLD_QUERY);
    g_assert_true(packet_mld_is_query(p, sizeof(p)));
    g_assert_false(packet_mld_is_beyond_link(p, sizeof(p)));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/mld/version-1", test_version_1);
    g_test_add_func("/packet/mld/records", test_records);
    g_test_add_func("/packet/mld/refused", test_refused);
    g_test_add_func("/packet/mld/beyond-link", test_beyond_link);
    g_test_add_func("/packet/mld/query", test_query);
    return g_test_run();
}
