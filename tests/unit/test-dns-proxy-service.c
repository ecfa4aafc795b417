/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: HTTPS and SVCB, RFC 9460 */

#include <string.h>

#include "tests/fixtures/dns-proxy-fixture.h"

#define OCTETS(text) { (text), sizeof(text) - 1 }

typedef struct Octets {
    const char *at;
    size_t len;
} Octets;

/* Parts of RDATA: priority and target, then parameters */
#define SERVICE     "\0\1\0"                /* 1 . */
#define SERVICE_B   "\0\2\1b\0"             /* 2 b. */
#define ALPN        "\0\1\0\6\2h2\2h3"
#define NO_DEFAULT  "\0\2\0\0"
#define PORT        "\0\3\0\2\x20\xfb"
#define IPV4HINT    "\0\4\0\4\xc0\0\2\1"
#define IPV4HINT_2  "\0\4\0\4\xc0\0\2\2"
#define ECH         "\0\5\0\4\xfe\xd\0\0"
#define ADDRESS     "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
#define IPV6HINT    "\0\6\0\20" ADDRESS
#define DOHPATH     "\0\7\0\20/dns-query{?dns}"
#define UNKNOWN     "\xff\0\0\3\0\1\2"

#define LINK_LOCAL  "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define PRIVATE     "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"

#define CASE(rdata, left) { OCTETS(rdata), OCTETS(left) }

static const struct {
    Octets rdata;
    Octets left;
} cases[] = {
    /* the hints go, all others stay octet for octet */
    CASE(SERVICE ALPN NO_DEFAULT PORT IPV4HINT ECH IPV6HINT DOHPATH UNKNOWN,
         SERVICE ALPN NO_DEFAULT PORT ECH DOHPATH UNKNOWN),
    CASE(SERVICE_B ALPN IPV4HINT, SERVICE_B ALPN),
    CASE(SERVICE_B ECH IPV6HINT, SERVICE_B ECH),
    CASE(SERVICE IPV4HINT IPV6HINT, SERVICE),
    /* and are removed from the mandatory keys */
    CASE(SERVICE "\0\0\0\4\0\1\0\4" ALPN IPV4HINT,
         SERVICE "\0\0\0\2\0\1" ALPN),
    CASE(SERVICE "\0\0\0\6\0\3\0\4\0\6" PORT IPV4HINT IPV6HINT,
         SERVICE "\0\0\0\2\0\3" PORT),
    CASE(SERVICE "\0\0\0\4\0\4\0\6" IPV4HINT IPV6HINT, SERVICE),
    CASE(SERVICE "\0\0\0\2\0\4" ALPN IPV4HINT, SERVICE ALPN),
};

static char *hex(const Octets *octets)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (size_t i = 0; i < octets->len; i++) {
        g_string_append_printf(text, "%02x", (uint8_t)octets->at[i]);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_service(const char *owner, uint16_t type, const Octets *rdata)
{
    DnsName name = name_of(owner);

    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, type, DNS_CLASS_IN, 60,
                    rdata->at, rdata->len);
}

/* A reply that says AD, to the last query */
static void begin_service(World *w, const char *name, uint16_t type)
{
    begin_query(name, type);
    msg.buf[3] |= DNS_FLAG_AD;
    query(w);
    assert_sent(w, w->sent_count - 1, name, type);
    begin_reply(w, w->sent_count - 1, 0x81a0);
}

static uint16_t answer_of(World *w, const char *name, uint16_t type)
{
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    return assert_answer(w, 0, name, type);
}

static void test_hints(void)
{
    World *w = world_new();

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        uint16_t type = i % 2 ? DNS_TYPE_HTTPS : DNS_TYPE_SVCB;
        g_autofree char *left = hex(&cases[i / 2].left);
        g_autofree char *expected =
            g_strdup_printf("a.example 60 %u %s;", type, left);

        begin_service(w, "a.example", type);
        add_service("a.example", type, &cases[i / 2].rdata);
        /* A changed answer does not have the AD of the servers. */
        g_assert_false(answer_of(w, "a.example", type) & DNS_FLAG_AD);
        assert_records(w, expected);
    }
    g_assert_cmpuint(COUNTER(w, answers_service), ==,
                     2 * G_N_ELEMENTS(cases));
    g_assert_cmpuint(w->pool_used, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/* Without hints nothing changes: signatures and AD are as they came. */
static void test_unchanged(void)
{
    static const Octets same[] = {
        OCTETS(SERVICE ALPN PORT ECH),
        OCTETS(SERVICE "\0\0\0\2\0\1" ALPN),
        OCTETS(SERVICE),
        /* AliasMode, in which parameters mean nothing */
        OCTETS("\0\0\1b\0"),
        OCTETS("\0\0\1b\0" ALPN IPV4HINT),
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
        g_autofree char *rdata = hex(&same[i]);
        g_autofree char *expected =
            g_strdup_printf("a.example 5 5 b.example;b.example 60 65 %s;"
                            "b.example 60 46 3 octets;", rdata);

        begin_service(w, "a.example", DNS_TYPE_HTTPS);
        add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
        add_service("b.example", DNS_TYPE_HTTPS, &same[i]);
        add_service("b.example", DNS_TYPE_RRSIG, &(Octets) OCTETS("sig"));
        g_assert_true(answer_of(w, "a.example", DNS_TYPE_HTTPS) &
                      DNS_FLAG_AD);
        assert_records(w, expected);
    }
    g_assert_cmpuint(COUNTER(w, passed), ==, G_N_ELEMENTS(same));
    assert_balance(w, 0);
    world_free(w);
}

/* Through aliases, beside others, without unrelated records. */
static void test_several(void)
{
    World *w = world_new();

    begin_service(w, "a.example", DNS_TYPE_HTTPS);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
    add_service("b.example", DNS_TYPE_HTTPS,
                &(Octets) OCTETS(SERVICE ALPN IPV4HINT));
    add_service("b.example", DNS_TYPE_HTTPS,
                &(Octets) OCTETS(SERVICE_B IPV6HINT));
    /* equal records without the hint become one (RFC 2181 section 5) */
    add_service("b.example", DNS_TYPE_HTTPS,
                &(Octets) OCTETS(SERVICE ALPN IPV4HINT_2));
    add_service("evil.example", DNS_TYPE_HTTPS, &(Octets) OCTETS(SERVICE PORT));
    add_service("b.example", DNS_TYPE_RRSIG, &(Octets) OCTETS("sig"));
    answer_of(w, "a.example", DNS_TYPE_HTTPS);
    assert_records(w, "a.example 5 5 b.example;"
                      "b.example 60 65 00010000010006026832026833;"
                      "b.example 60 65 0002016200;");

    /* an unrelated address does not pass */
    begin_service(w, "a.example", DNS_TYPE_HTTPS);
    add_service("a.example", DNS_TYPE_HTTPS, &(Octets) OCTETS(SERVICE));
    add_aaaa("a.example", 60, "2001:db8::1");
    answer_of(w, "a.example", DNS_TYPE_HTTPS);
    assert_records(w, "a.example 60 65 000100;");
    world_free(w);
}

/* An owner that reads hellos hides the keys that would encrypt them. */
static void test_ech(void)
{
    static const struct {
        Octets rdata, left;
    } hidden[] = {
        CASE(SERVICE ALPN PORT ECH, SERVICE ALPN PORT),
        CASE(SERVICE_B ALPN IPV4HINT ECH UNKNOWN, SERVICE_B ALPN UNKNOWN),
        CASE(SERVICE "\0\0\0\4\0\1\0\5" ALPN ECH,
             SERVICE "\0\0\0\2\0\1" ALPN),
        CASE(SERVICE "\0\0\0\2\0\5" ECH, SERVICE),
        CASE(SERVICE ALPN PORT, SERVICE ALPN PORT),
        CASE("\0\0\1b\0", "\0\0\1b\0"),
    };
    World *w = world_new();

    w->hides_ech = true;
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(hidden); i++) {
        uint16_t type = i % 2 ? DNS_TYPE_HTTPS : DNS_TYPE_SVCB;
        const Octets *left = &hidden[i / 2].left;
        g_autofree char *text = hex(left);
        g_autofree char *expected = g_strdup_printf("a.example 60 %u %s;",
                                                    type, text);

        begin_service(w, "a.example", type);
        add_service("a.example", type, &hidden[i / 2].rdata);
        g_assert_true(!(answer_of(w, "a.example", type) & DNS_FLAG_AD) ==
                      (left->len != hidden[i / 2].rdata.len));
        assert_records(w, expected);
    }
    assert_balance(w, 0);
    world_free(w);
}

/* The owner is told where a name leads on. */
static void test_targets(void)
{
    static const Octets srv = OCTETS("\0\0\0\0\x14\x66\1c\7example\0");
    World *w = world_new();

    for (int told = 0; told < 2; told++) {
        w->compares = told;
        begin_service(w, "a.example", DNS_TYPE_HTTPS);
        add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
        add_service("b.example", DNS_TYPE_HTTPS, &(Octets) OCTETS(SERVICE_B));
        add_service("b.example", DNS_TYPE_HTTPS, &(Octets) OCTETS(SERVICE));
        add_service("evil.example", DNS_TYPE_HTTPS,
                    &(Octets) OCTETS(SERVICE_B));
        answer_of(w, "a.example", DNS_TYPE_HTTPS);
        begin_service(w, "_x._tcp.example", DNS_TYPE_SRV);
        add_service("_x._tcp.example", DNS_TYPE_SRV, &srv);
        answer_of(w, "_x._tcp.example", DNS_TYPE_SRV);
        g_assert_cmpstr(w->leads_on, ==, told
                        ? "a.example b.example;a.example b;a.example .;"
                          "_x._tcp.example c.example;" : "");
        dns_proxy_forget(w->proxy);
    }
    assert_balance(w, 0);
    world_free(w);
}

/* A guest that uses IPv6 addresses gets the hints that lead somewhere. */
static void test_ipv6(void)
{
    static const struct {
        Octets rdata, left;
        const char *resolved;
    } cases6[] = {
        { OCTETS(SERVICE ALPN IPV4HINT IPV6HINT),
          OCTETS(SERVICE ALPN IPV6HINT), "a.example 2001:db8::1 60;" },
        { OCTETS(SERVICE "\0\0\0\4\0\4\0\6" IPV4HINT IPV6HINT),
          OCTETS(SERVICE "\0\0\0\2\0\6" IPV6HINT),
          "a.example 2001:db8::1 60;" },
        /* link-local, private */
        { OCTETS(SERVICE "\0\6\0\60" LINK_LOCAL ADDRESS PRIVATE),
          OCTETS(SERVICE IPV6HINT), "a.example 2001:db8::1 60;" },
        { OCTETS(SERVICE "\0\0\0\4\0\3\0\6" PORT "\0\6\0\20" LINK_LOCAL),
          OCTETS(SERVICE "\0\0\0\2\0\3" PORT), "" },
    };
    World *w = world_new();

    w->uses_ipv6 = true;
    for (size_t i = 0; i < G_N_ELEMENTS(cases6); i++) {
        g_autofree char *left = hex(&cases6[i].left);
        g_autofree char *expected =
            g_strdup_printf("a.example 60 65 %s;", left);

        w->resolved[0] = 0;
        begin_service(w, "a.example", DNS_TYPE_HTTPS);
        add_service("a.example", DNS_TYPE_HTTPS, &cases6[i].rdata);
        g_assert_false(answer_of(w, "a.example", DNS_TYPE_HTTPS) &
                       DNS_FLAG_AD);
        assert_records(w, expected);
        g_assert_cmpstr(w->resolved, ==, cases6[i].resolved);
    }
    g_assert_cmpstr(w->blocked, ==, "fd00::1, ");

    /* Hints that lead somewhere pass whole; each time, the owner hears of it. */
    for (int i = 0; i < 2; i++) {
        w->resolved[0] = 0;
        begin_service(w, "a.example", DNS_TYPE_HTTPS);
        add_service("a.example", DNS_TYPE_HTTPS,
                    &(Octets) OCTETS(SERVICE ALPN IPV6HINT));
        g_assert_true(answer_of(w, "a.example", DNS_TYPE_HTTPS) &
                      DNS_FLAG_AD);
        g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;");
    }
    assert_balance(w, 0);
    world_free(w);
}

static void test_none(void)
{
    World *w = world_new();

    begin_service(w, "a.example", DNS_TYPE_HTTPS);
    add_soa("example", 300);
    answer_of(w, "a.example", DNS_TYPE_HTTPS);
    assert_records(w, "example 77 6 example 77;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);

    ask(w, "no.example", DNS_TYPE_SVCB);
    begin_reply(w, 1, 0x8183);
    add_soa("example", 300);
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example", DNS_TYPE_SVCB);
    assert_records(w, "example 77 6 example 77;");

    ask(w, "a.example", DNS_TYPE_HTTPS);
    begin_reply(w, 2, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 5, "a.example");
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_HTTPS);
    assert_balance(w, 0);
    world_free(w);
}

/* RFC 9460 section 2.2: if one is malformed, all are discarded. */
static void test_malformed(void)
{
    static const Octets bad[] = {
        OCTETS("\0"),
        OCTETS("\0\1"),
        OCTETS("\0\1\5a"),                   /* target cut */
        OCTETS("\0\1\xc0\x0c"),              /* target compressed */
        OCTETS(SERVICE "\0\4"),              /* parameter cut */
        OCTETS(SERVICE "\0\4\0\5\xc0\0\2\1"),
        OCTETS(SERVICE "\0\4\0\5\xc0\0\2\1\0"),
        OCTETS(SERVICE "\0\4\0\0"),          /* no address */
        OCTETS(SERVICE "\0\6\0\4\xc0\0\2\1"),
        OCTETS(SERVICE PORT ALPN),           /* not ascending */
        OCTETS(SERVICE PORT PORT),           /* twice */
        OCTETS(SERVICE "\0\3\0\1\1"),        /* half a port */
        OCTETS(SERVICE "\0\1\0\0"),          /* no protocol */
        OCTETS(SERVICE "\0\0\0\0" ALPN),     /* nothing mandatory */
        OCTETS(SERVICE "\0\0\0\1\0" ALPN),
        OCTETS(SERVICE "\0\0\0\2\0\3" ALPN), /* a missing mandatory key */
        OCTETS(SERVICE "\0\0\0\2\0\0" ALPN), /* itself */
        OCTETS(SERVICE "\0\0\0\4\0\3\0\1" ALPN PORT),
        OCTETS(SERVICE "\xff\xff\0\0"),      /* the reserved key */
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        begin_service(w, "a.example", DNS_TYPE_HTTPS);
        add_service("a.example", DNS_TYPE_HTTPS,
                    &(Octets) OCTETS(SERVICE ALPN));
        add_service("a.example", DNS_TYPE_HTTPS, &bad[i]);
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_HTTPS);
        assert_records(w, "");
    }
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, G_N_ELEMENTS(bad));
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/service/hints", test_hints);
    g_test_add_func("/dns/proxy/service/unchanged", test_unchanged);
    g_test_add_func("/dns/proxy/service/several", test_several);
    g_test_add_func("/dns/proxy/service/ech", test_ech);
    g_test_add_func("/dns/proxy/service/targets", test_targets);
    g_test_add_func("/dns/proxy/service/ipv6", test_ipv6);
    g_test_add_func("/dns/proxy/service/none", test_none);
    g_test_add_func("/dns/proxy/service/malformed", test_malformed);
    return g_test_run();
}
