/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NAT64 prefix discovery: every prefix length of RFC 6052, and false replies
 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/proxy/nat64-discovery.h"

typedef struct Msg {
    uint8_t buf[2048];
    DnsBuilder b;
    DnsQuestion question;
} Msg;

static void begin(Msg *msg, uint16_t flags)
{
    dns_name_from_text(&msg->question.name, "ipv4only.arpa");
    msg->question.type = DNS_TYPE_AAAA;
    msg->question.qclass = DNS_CLASS_IN;
    dns_builder_init(&msg->b, msg->buf, sizeof(msg->buf), 1, flags);
    dns_builder_question(&msg->b, &msg->question);
}

static void add(Msg *msg, const char *text, uint32_t ttl)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    dns_builder_aaaa(&msg->b, DNS_SECTION_ANSWER, &msg->question.name, ttl,
                     &addr);
}

/* Returns: 0, or the error */
static int discover_with(Msg *msg, const Nat64Prefix *current,
                         DnsNat64Prefix *prefix)
{
    return MIN(dns_nat64_discover(msg->buf, msg->b.len, current, prefix, 1),
               0);
}

static int discover(Msg *msg, DnsNat64Prefix *prefix)
{
    return discover_with(msg, NULL, prefix);
}

static void assert_prefix(const DnsNat64Prefix *prefix, const char *expected,
                          unsigned len)
{
    char text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, &prefix->prefix, text, sizeof(text));
    g_assert_cmpstr(text, ==, expected);
    g_assert_cmpuint(prefix->len, ==, len);
}

/* The embeddings of RFC 6052 section 2.4, with the well-known addresses */
static void test_lengths(void)
{
    static const struct {
        const char *addr170, *addr171, *prefix;
        unsigned len;
    } cases[] = {
        { "2001:db8:c000:aa::", "2001:db8:c000:ab::", "2001:db8::", 32 },
        { "2001:db8:1c0:0:aa::", "2001:db8:1c0:0:ab::",
          "2001:db8:100::", 40 },
        { "2001:db8:122:c000:0:aa00::", "2001:db8:122:c000:0:ab00::",
          "2001:db8:122::", 48 },
        { "2001:db8:122:3c0:0:aa::", "2001:db8:122:3c0:0:ab::",
          "2001:db8:122:300::", 56 },
        { "2001:db8:122:344:c0:0:aa00:0", "2001:db8:122:344:c0:0:ab00:0",
          "2001:db8:122:344::", 64 },
        { "2001:db8:122:344::192.0.0.170", "2001:db8:122:344::192.0.0.171",
          "2001:db8:122:344::", 96 },
        { "64:ff9b::192.0.0.170", "64:ff9b::192.0.0.171",
          "64:ff9b::", 96 },
    };
    DnsNat64Prefix prefix;
    Msg msg;

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        begin(&msg, 0x8180);
        add(&msg, cases[i].addr170, 900);
        add(&msg, cases[i].addr171, 600);
        g_assert_cmpint(discover(&msg, &prefix), ==, 0);
        assert_prefix(&prefix, cases[i].prefix, cases[i].len);
        g_assert_cmpuint(prefix.ttl, ==, 600);
        /* One well-known address is enough */
        begin(&msg, 0x8180);
        add(&msg, cases[i].addr171, 600);
        g_assert_cmpint(discover(&msg, &prefix), ==, 0);
        assert_prefix(&prefix, cases[i].prefix, cases[i].len);
    }
}

/* A /96 whose prefix contains 192.0.0.170 where a /32 would have it */
static void test_ambiguous(void)
{
    DnsNat64Prefix prefix;
    Msg msg;

    begin(&msg, 0x8180);
    add(&msg, "2001:db8:c000:aa::192.0.0.171", 60);
    add(&msg, "2001:db8:c000:aa::192.0.0.170", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, 0);
    assert_prefix(&prefix, "2001:db8:c000:aa::", 96);
    /* A /32 with a suffix like a /96 */
    begin(&msg, 0x8180);
    add(&msg, "2001:db8:c000:aa::192.0.0.170", 60);
    add(&msg, "2001:db8:c000:ab::192.0.0.170", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, 0);
    assert_prefix(&prefix, "2001:db8::", 32);
}

static void test_several(void)
{
    DnsNat64Prefix prefix;
    Msg msg;

    begin(&msg, 0x8180);
    add(&msg, "2001:db8::1", 5);
    add(&msg, "2001:db8:64::192.0.0.170", 60);
    add(&msg, "64:ff9b::192.0.0.170", 60);
    add(&msg, "2001:db8:64::192.0.0.171", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, 0);
    assert_prefix(&prefix, "2001:db8:64::", 96);
    g_assert_cmpuint(prefix.ttl, ==, 60);
}

/* Two NAT64s, with records in any order: the prefix in use stays. */
static void test_stays(void)
{
    static const char *const addrs[] = {
        "2001:db8:a::192.0.0.170", "2001:db8:b::192.0.0.170",
        "2001:db8:a::192.0.0.171", "2001:db8:b::192.0.0.171",
    };
    static const char *const stay[] = { "2001:db8:a::", "2001:db8:b::" };
    DnsNat64Prefix prefix;
    Nat64Prefix current;
    Msg msg;

    /* with one well-known address each, and with both */
    for (size_t num = 2; num <= 4; num += 2) {
        for (size_t first = 0; first < num; first++) {
            begin(&msg, 0x8180);
            for (size_t i = 0; i < num; i++) {
                add(&msg, addrs[(first + i) % num], 60);
            }
            for (size_t i = 0; i < G_N_ELEMENTS(stay); i++) {
                g_autofree char *text = g_strdup_printf("%s/96", stay[i]);

                g_assert_true(nat64_prefix_parse(text, &current, NULL));
                g_assert_cmpint(discover_with(&msg, &current, &prefix), ==,
                                0);
                assert_prefix(&prefix, stay[i], 96);
            }
            /* A prefix that is not announced does not stay. */
            g_assert_true(nat64_prefix_parse("64:ff9b::/96", &current, NULL));
            g_assert_cmpint(discover_with(&msg, &current, &prefix), ==, 0);
            assert_prefix(&prefix, stay[first % 2], 96);
        }
    }
}

/* A prefix found by mistake is replaced by a real one. */
static void test_stays_not_with_a_mistake(void)
{
    DnsNat64Prefix prefix;
    Nat64Prefix current;
    Msg msg;

    g_assert_true(nat64_prefix_parse("2001:db8::/32", &current, NULL));
    begin(&msg, 0x8180);
    add(&msg, "2001:db8:c000:aa::192.0.0.170", 60);
    add(&msg, "2001:db8:c000:aa::192.0.0.171", 60);
    g_assert_cmpint(discover_with(&msg, &current, &prefix), ==, 0);
    assert_prefix(&prefix, "2001:db8:c000:aa::", 96);
}

/* All prefixes with both addresses are returned once, whichever is used. */
static void test_tells_all(void)
{
    static const char *const addrs[] = {
        "2001:db8:a::192.0.0.170", "2001:db8:1::192.0.0.170",
        "2001:db8:b::192.0.0.171", "2001:db8:c::192.0.0.170",
        "2001:db8:a::192.0.0.171", "2001:db8:b::192.0.0.170",
        "2001:db8:c::192.0.0.171",
    };
    DnsNat64Prefix found[4];
    Nat64Prefix current;
    Msg msg;

    begin(&msg, 0x8180);
    for (size_t i = 0; i < G_N_ELEMENTS(addrs); i++) {
        add(&msg, addrs[i], 60);
    }
    g_assert_true(nat64_prefix_parse("2001:db8:b::/96", &current, NULL));
    g_assert_cmpint(dns_nat64_discover(msg.buf, msg.b.len, &current, found,
                                       G_N_ELEMENTS(found)), ==, 3);
    assert_prefix(&found[0], "2001:db8:b::", 96);
    assert_prefix(&found[1], "2001:db8:a::", 96);
    assert_prefix(&found[2], "2001:db8:c::", 96);
    g_assert_cmpint(dns_nat64_discover(msg.buf, msg.b.len, &current, found,
                                       2), ==, 2);
    assert_prefix(&found[1], "2001:db8:a::", 96);
}

/* Octet 8 is zero unless it belongs to a /96 */
static void test_octet8(void)
{
    DnsNat64Prefix prefix;
    Msg msg;

    begin(&msg, 0x8180);
    add(&msg, "2001:db8:122:344:1c0:0:aa00:0", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, -ENOENT);
    begin(&msg, 0x8180);
    add(&msg, "2001:db8:64:ff9b:1:fffe:192.0.0.170", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, 0);
    assert_prefix(&prefix, "2001:db8:64:ff9b:1:fffe::", 96);
}

static void test_none(void)
{
    DnsNat64Prefix prefix;
    Msg msg;

    begin(&msg, 0x8180);
    g_assert_cmpint(discover(&msg, &prefix), ==, -ENOENT);
    add(&msg, "2001:db8::192.0.0.172", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, -ENOENT);
    begin(&msg, 0x8183);
    g_assert_cmpint(discover(&msg, &prefix), ==, -ENOENT);
    begin(&msg, 0x8182);
    g_assert_cmpint(discover(&msg, &prefix), ==, -EAGAIN);
}

static void test_hostile(void)
{
    DnsNat64Prefix prefix;
    Msg msg;

    /* A query, another question, a cut, an AAAA of 4 octets */
    begin(&msg, 0x0100);
    add(&msg, "64:ff9b::192.0.0.170", 60);
    g_assert_cmpint(discover(&msg, &prefix), ==, -EBADMSG);
    begin(&msg, 0x8180);
    add(&msg, "64:ff9b::192.0.0.170", 60);
    for (size_t len = 0; len < msg.b.len; len++) {
        g_autofree uint8_t *cut = g_memdup2(msg.buf, len);

        g_assert_cmpint(dns_nat64_discover(cut, len, NULL, &prefix, 1), ==,
                        -EBADMSG);
    }
    msg.buf[DNS_HEADER_LEN + 1] = 'x';
    g_assert_cmpint(discover(&msg, &prefix), ==, -EBADMSG);
    begin(&msg, 0x8180);
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &msg.question.name,
                    DNS_TYPE_AAAA, DNS_CLASS_IN, 1, "\xc0\0\0\xaa", 4);
    g_assert_cmpint(discover(&msg, &prefix), ==, -EBADMSG);
    /* More prefixes than are kept: the first of them is found */
    begin(&msg, 0x8180);
    for (int i = 0; i < 60; i++) {
        g_autofree char *text = g_strdup_printf("2001:db8:%d::192.0.0.170",
                                                i + 1);

        add(&msg, text, 60);
    }
    g_assert_cmpint(discover(&msg, &prefix), ==, 0);
    assert_prefix(&prefix, "2001:db8:1::", 96);
}

static void test_query(void)
{
    uint8_t buf[DNS_QUERY_MAX];
    size_t len = dns_nat64_query(buf);
    static const uint8_t expected[] =
        "\0\0\1\0\0\1\0\0\0\0\0\1\x8ipv4only\4arpa\0\0\x1c\0\1"
        "\0\0\x29\4\xd0\0\0\0\0\0";

    g_assert_cmpmem(buf, len, expected, sizeof(expected));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/nat64/lengths", test_lengths);
    g_test_add_func("/dns/nat64/ambiguous", test_ambiguous);
    g_test_add_func("/dns/nat64/several", test_several);
    g_test_add_func("/dns/nat64/stays", test_stays);
    g_test_add_func("/dns/nat64/stays-not-with-a-mistake",
                    test_stays_not_with_a_mistake);
    g_test_add_func("/dns/nat64/tells-all", test_tells_all);
    g_test_add_func("/dns/nat64/octet8", test_octet8);
    g_test_add_func("/dns/nat64/none", test_none);
    g_test_add_func("/dns/nat64/hostile", test_hostile);
    g_test_add_func("/dns/nat64/query", test_query);
    return g_test_run();
}
