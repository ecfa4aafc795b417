/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy: scripted upstream, fake address pool, every kind of question
 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/proxy.h"
#include "net/dns/wire.h"

#define MAX_SENT 2100
#define NO_EDE (-1)

typedef struct Sent {
    uint8_t query[DNS_QUERY_MAX];
    size_t len;
    DnsReplyFn *reply;
    void *opaque;
    uint64_t request;
    bool cancelled;
} Sent;

/* The world around the proxy, and the last answer */
typedef struct World {
    DnsProxy *proxy;

    Sent sent[MAX_SENT];
    size_t sent_count;
    int send_error;
    bool timeout_at_once;   /* reply from within send */
    bool nxdomain_at_once;

    struct in6_addr pool[64];
    size_t pool_used;
    size_t pool_size;
    uint32_t lease;
    int map_error;
    bool nat64;
    int64_t now;

    uint8_t answer[DNS_MSG_MAX];
    size_t answer_len;
    void *answer_token;
    size_t answers;
    void *cancel_in_answer;

    int admit;              /* what admit() says */
    char resolved[512];     /* "name: address ttl ...;" of all calls */
} World;

/* A message that a test writes, as guest or as upstream */
typedef struct Msg {
    uint8_t buf[DNS_MSG_MAX];
    DnsBuilder b;
} Msg;

static Msg msg;

/*** Fake pool ***/

static struct in_addr virtual_addr(size_t index)
{
    return (struct in_addr) { htonl(0xc6120001 + index) };
}

static int fake_map(void *opaque, const struct in6_addr *addr6, uint32_t ttl,
                    struct in_addr *addr4, uint32_t *lease)
{
    World *w = opaque;
    size_t i;

    if (w->map_error) {
        return w->map_error;
    }
    for (i = 0; i < w->pool_used; i++) {
        if (!memcmp(&w->pool[i], addr6, sizeof(*addr6))) {
            break;
        }
    }
    if (i == w->pool_size) {
        return -ENOSPC;
    }
    w->pool[i] = *addr6;
    w->pool_used = MAX(w->pool_used, i + 1);
    *addr4 = virtual_addr(i);
    *lease = w->lease;
    return 0;
}

static int fake_unmap(void *opaque, struct in_addr addr4,
                      struct in6_addr *addr6, uint32_t *lease)
{
    World *w = opaque;
    uint32_t index = ntohl(addr4.s_addr) - 0xc6120001;

    if (index >= 256) {
        return -ERANGE;
    }
    if (index >= w->pool_used) {
        return -ENOENT;
    }
    *addr6 = w->pool[index];
    *lease = w->lease;
    return 0;
}

static bool fake_usable(void *opaque, const struct in6_addr *addr6)
{
    return !IN6_IS_ADDR_LINKLOCAL(addr6) && !IN6_IS_ADDR_LOOPBACK(addr6);
}

static bool fake_nat64(void *opaque)
{
    World *w = opaque;

    return w->nat64;
}

static void fake_answer(void *opaque, void *token, const uint8_t *data,
                        size_t len)
{
    World *w = opaque;

    memcpy(w->answer, data, len);
    w->answer_len = len;
    w->answer_token = token;
    w->answers++;
    if (w->cancel_in_answer) {
        dns_proxy_cancel(w->proxy, w->cancel_in_answer);
    }
}

static int64_t fake_now(void *opaque)
{
    World *w = opaque;

    return w->now;
}

static int fake_admit(void *opaque, const DnsQuestion *question)
{
    World *w = opaque;

    return w->admit;
}

static void fake_resolved(void *opaque, const DnsName *asked,
                          const DnsProxyAddress *addrs, size_t num)
{
    World *w = opaque;
    char text[DNS_NAME_TEXT_MAX];
    size_t used = strlen(w->resolved);

    g_assert_cmpuint(num, >=, 1);
    g_assert_cmpuint(num, <=, DNS_PROXY_MAX_ADDRESSES);
    dns_name_to_text(asked, text);
    g_strlcat(w->resolved, text, sizeof(w->resolved));
    for (size_t i = 0; i < num; i++) {
        inet_ntop(AF_INET6, &addrs[i].addr6, text, sizeof(text));
        used = strlen(w->resolved);
        g_snprintf(w->resolved + used, sizeof(w->resolved) - used, " %s %u",
                   text, addrs[i].ttl);
    }
    g_strlcat(w->resolved, ";", sizeof(w->resolved));
}

static const DnsProxyOps ops = {
    .admit = fake_admit,
    .resolved = fake_resolved,
    .map = fake_map,
    .unmap = fake_unmap,
    .usable = fake_usable,
    .nat64_available = fake_nat64,
    .answer = fake_answer,
    .now_ms = fake_now,
};

/*** Fake upstream ***/

static int fake_send(void *upstream, const uint8_t *query, size_t len,
                     DnsReplyFn *reply, void *opaque, uint64_t request)
{
    World *w = upstream;
    Sent *s = &w->sent[w->sent_count];

    if (w->send_error) {
        return w->send_error;
    }
    g_assert_cmpuint(w->sent_count, <, MAX_SENT);
    g_assert_cmpuint(len, <=, sizeof(s->query));
    for (size_t i = 0; i < w->sent_count; i++) {
        g_assert_cmpuint(w->sent[i].request, !=, request);
    }
    w->sent_count++;
    memcpy(s->query, query, len);
    s->len = len;
    s->reply = reply;
    s->opaque = opaque;
    s->request = request;
    s->cancelled = false;
    if (w->nxdomain_at_once) {
        uint8_t now_msg[DNS_QUERY_MAX];

        memcpy(now_msg, query, len);
        now_msg[2] |= 0x80;
        now_msg[3] |= DNS_RCODE_NXDOMAIN;
        reply(opaque, request, DNS_UPSTREAM_OK, now_msg, len);
    } else if (w->timeout_at_once) {
        reply(opaque, request, DNS_UPSTREAM_TIMEOUT, NULL, 0);
    }
    return 0;
}

static void fake_cancel(void *upstream, void *opaque, uint64_t request)
{
    World *w = upstream;

    for (size_t i = 0; i < w->sent_count; i++) {
        if (w->sent[i].request == request) {
            g_assert_true(w->sent[i].opaque == opaque);
            g_assert_false(w->sent[i].cancelled);
            w->sent[i].cancelled = true;
            return;
        }
    }
    /* Only what was about to be sent may be unknown */
    g_assert_true(w->nxdomain_at_once);
}

static const DnsUpstreamOps upstream_ops = {
    .send = fake_send,
    .cancel = fake_cancel,
};

static World *world_new(void)
{
    World *w = g_new0(World, 1);

    w->pool_size = G_N_ELEMENTS(w->pool);
    w->lease = 3600;
    w->now = 1000;
    w->proxy = dns_proxy_new(&ops, w, &upstream_ops, w);
    return w;
}

static void world_free(World *w)
{
    dns_proxy_free(w->proxy);
    g_free(w);
}

/*** Script ***/

static DnsName name_of(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

static DnsQuestion question_of(const char *name, uint16_t type)
{
    return (DnsQuestion) {
        .name = name_of(name), .type = type, .qclass = DNS_CLASS_IN,
    };
}

static void begin_query(const char *name, uint16_t type)
{
    DnsQuestion q = question_of(name, type);

    dns_builder_init(&msg.b, msg.buf, sizeof(msg.buf), 0xbeef, DNS_FLAG_RD);
    dns_builder_question(&msg.b, &q);
}

static void add_edns(uint16_t size, bool dnssec_ok, uint8_t version)
{
    DnsEdns edns = {
        .udp_size = size, .dnssec_ok = dnssec_ok, .version = version,
    };

    dns_builder_edns(&msg.b, &edns);
}

static void query(World *w)
{
    w->answer_len = 0;
    dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_UDP, w);
}

static void ask(World *w, const char *name, uint16_t type)
{
    begin_query(name, type);
    query(w);
}

/* Upstream's reply to the query sent as number i, question copied from it */
static void begin_reply(World *w, size_t i, uint16_t flags)
{
    DnsCursor cursor;
    DnsQuestion q;

    dns_cursor_init(&cursor, w->sent[i].query, w->sent[i].len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    dns_builder_init(&msg.b, msg.buf, sizeof(msg.buf), 0x4242, flags);
    dns_builder_question(&msg.b, &q);
}

static void add_aaaa(const char *owner, uint32_t ttl, const char *text)
{
    DnsName name = name_of(owner);
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    dns_builder_aaaa(&msg.b, DNS_SECTION_ANSWER, &name, ttl, &addr);
}

static void add_a(const char *owner, uint32_t ttl, const char *text)
{
    DnsName name = name_of(owner);
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    dns_builder_a(&msg.b, DNS_SECTION_ANSWER, &name, ttl, addr);
}

static void add_name(const char *owner, DnsType type, uint32_t ttl,
                     const char *target)
{
    DnsName name = name_of(owner), to = name_of(target);

    dns_builder_name(&msg.b, DNS_SECTION_ANSWER, &name, type, ttl, &to);
}

static void add_soa(const char *zone, uint32_t ttl)
{
    DnsName name = name_of(zone);
    DnsSoa soa = { .mname = name, .rname = name, .minimum = 77 };

    dns_builder_soa(&msg.b, DNS_SECTION_AUTHORITY, &name, ttl, &soa);
}

static void deliver(World *w, size_t i, DnsUpstreamStatus status)
{
    Sent *s = &w->sent[i];

    g_assert_cmpuint(i, <, w->sent_count);
    if (status == DNS_UPSTREAM_OK) {
        s->reply(s->opaque, s->request, status, msg.buf, msg.b.len);
    } else {
        s->reply(s->opaque, s->request, status, NULL, 0);
    }
}

/*** Expectations ***/

static void assert_sent(World *w, size_t i, const char *name, uint16_t type)
{
    DnsName expected = name_of(name);
    DnsCursor cursor;
    DnsQuestion q;

    g_assert_cmpuint(i, <, w->sent_count);
    dns_cursor_init(&cursor, w->sent[i].query, w->sent[i].len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    g_assert_cmpmem(q.name.wire, q.name.len, expected.wire, expected.len);
    g_assert_cmpuint(q.type, ==, type);
    g_assert_cmpuint(q.qclass, ==, DNS_CLASS_IN);
}

/* What every answer has: the guest's id, its question, QR, RA; returns flags */
static uint16_t assert_answer(World *w, DnsRcode rcode, const char *name,
                              uint16_t type)
{
    DnsName expected = name_of(name);
    DnsHeader header;
    DnsCursor cursor;
    DnsQuestion q;
    DnsRr rr;
    int ret;

    g_assert_cmpuint(w->answer_len, >, 0);
    g_assert_true(w->answer_token == w);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmphex(header.id, ==, 0xbeef);
    g_assert_cmphex(header.flags & (DNS_FLAG_QR | DNS_FLAG_RA | DNS_FLAG_RD |
                                    DNS_FLAGS_OPCODE), ==,
                    DNS_FLAG_QR | DNS_FLAG_RA | DNS_FLAG_RD);
    g_assert_cmpuint(header.flags & DNS_FLAGS_RCODE, ==, rcode & 0xf);
    g_assert_cmpuint(header.qdcount, ==, 1);
    dns_cursor_init(&cursor, w->answer, w->answer_len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    g_assert_cmpmem(q.name.wire, q.name.len, expected.wire, expected.len);
    g_assert_cmpuint(q.type, ==, type);
    do {
        ret = dns_cursor_rr(&cursor, &rr);
    } while (ret > 0);
    g_assert_cmpint(ret, ==, 0);
    g_assert_cmpuint(cursor.offset, ==, w->answer_len);
    return header.flags;
}

static char *rdata_text(const DnsCursor *cursor, const DnsRr *rr)
{
    char text[INET6_ADDRSTRLEN], name_text[DNS_NAME_TEXT_MAX];
    struct in_addr addr;
    DnsName name;
    DnsEdns edns;

    switch (rr->type) {
    case DNS_TYPE_A:
        g_assert_cmpint(dns_rdata_a(cursor, rr, &addr), ==, 0);
        return g_strdup(inet_ntop(AF_INET, &addr, text, sizeof(text)));
    case DNS_TYPE_CNAME:
    case DNS_TYPE_PTR:
        g_assert_cmpint(dns_rdata_name(cursor, rr, &name), ==, 0);
        dns_name_to_text(&name, name_text);
        return g_strdup(name_text);
    case DNS_TYPE_OPT:
        g_assert_cmpint(dns_rdata_edns(cursor, rr, &edns), ==, 0);
        return g_strdup_printf("%u%s high=%u ede=%d", edns.udp_size,
                               edns.dnssec_ok ? " DO" : "", edns.rcode_high,
                               edns.has_ede ? edns.ede : NO_EDE);
    default:
        return g_strdup_printf("%u octets", rr->rdlength);
    }
}

/* All records as "owner ttl TYPE rdata;" against expected */
static void assert_records(World *w, const char *expected)
{
    g_autoptr(GString) all = g_string_new(NULL);
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, w->answer, w->answer_len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        g_autofree char *rdata = rdata_text(&cursor, &rr);
        char owner[DNS_NAME_TEXT_MAX];

        dns_name_to_text(&rr.name, owner);
        if (rr.type == DNS_TYPE_OPT) {
            g_string_append_printf(all, "OPT %s;", rdata);
        } else {
            g_string_append_printf(all, "%s %u %u %s;", owner, rr.ttl,
                                   rr.type, rdata);
        }
    }
    g_assert_cmpstr(all->str, ==, expected);
}

/* Every query has ended in exactly one counter */
static void assert_balance(World *w, size_t outstanding)
{
    const DnsProxyCounters *c = dns_proxy_counters(w->proxy);

    g_assert_cmpuint(c->queries - outstanding, ==,
                     c->answers_virtual + c->answers_plain + c->answers_ptr +
                     c->nodata + c->nxdomain + c->passed + c->formerr +
                     c->notimp + c->refused + c->badvers +
                     c->refused_name + c->refused_rate +
                     c->servfail_upstream + c->servfail_pool_full +
                     c->servfail_table_full + c->servfail_token_full +
                     c->dropped_short + c->dropped_response +
                     c->dropped_cancelled);
}

#define COUNTER(w, name) (dns_proxy_counters((w)->proxy)->name)

/*** A from AAAA ***/

static void test_a(void)
{
    World *w = world_new();

    ask(w, "www.Example.com", DNS_TYPE_A);
    g_assert_cmpuint(w->sent_count, ==, 1);
    assert_sent(w, 0, "www.Example.com", DNS_TYPE_AAAA);
    g_assert_cmpuint(w->answers, ==, 0);
    begin_reply(w, 0, 0x81a0);      /* the upstream says AD */
    add_aaaa("www.example.COM", 60, "2001:db8::2");
    add_aaaa("www.example.com", 50, "2001:db8::1");
    add_edns(4096, false, 0);
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmphex(assert_answer(w, 0, "www.Example.com", DNS_TYPE_A) &
                    (DNS_FLAG_AD | DNS_FLAG_TC | DNS_FLAG_AA), ==, 0);
    assert_records(w, "www.Example.com 50 1 198.18.0.1;"
                      "www.Example.com 50 1 198.18.0.2;");
    g_assert_cmpuint(COUNTER(w, answers_virtual), ==, 1);

    /* The same addresses again, in another order */
    ask(w, "www.example.com", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("www.example.com", 60, "2001:db8::1");
    add_aaaa("www.example.com", 60, "2001:db8::2");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_records(w, "www.example.com 60 1 198.18.0.2;"
                      "www.example.com 60 1 198.18.0.1;");
    assert_balance(w, 0);
    world_free(w);
}

static void test_a_golden(void)
{
    static const uint8_t expected[] =
        "\xbe\xef\x81\x80\0\1\0\1\0\0\0\1\1a\7example\0\0\1\0\1"
        "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1"
        "\0\0\x29\4\xd0\0\0\0\0\0";
    World *w = world_new();

    begin_query("a.example", DNS_TYPE_A);
    add_edns(1400, false, 0);
    query(w);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_cmpmem(w->answer, w->answer_len, expected, sizeof(expected));
    world_free(w);
}

static void test_lease_limits_ttl(void)
{
    World *w = world_new();

    w->lease = 30;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 86400, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 30 1 198.18.0.1;");
    world_free(w);
}

/* A chain, out of order, with strangers in between */
static void test_cname(void)
{
    World *w = world_new();

    ask(w, "www.a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("evil.example", 60, "2001:db8::bad");
    add_aaaa("c.example", 60, "2001:db8::1");
    add_name("b.example", DNS_TYPE_CNAME, 20, "c.example");
    add_name("evil.example", DNS_TYPE_CNAME, 20, "other.example");
    add_name("www.a.example", DNS_TYPE_CNAME, 10, "b.example");
    add_aaaa("www.a.example", 60, "2001:db8::bad");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "www.a.example", DNS_TYPE_A);
    assert_records(w, "www.a.example 10 5 b.example;"
                      "b.example 20 5 c.example;"
                      "c.example 60 1 198.18.0.1;");
    g_assert_cmpuint(w->pool_used, ==, 1);
    world_free(w);
}

#define IP6_ARPA_0 "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." \
                   "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa"

static void test_cname_loop(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 10, "b.example");
    add_name("b.example", DNS_TYPE_CNAME, 10, "a.example");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, 1);

    ask(w, "a.example", DNS_TYPE_AAAA);
    begin_reply(w, 1, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 10, "a.example");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_AAAA);

    w->pool_used = 1;
    w->pool[0] = in6addr_any;
    ask(w, "1.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    begin_reply(w, 2, 0x8180);
    add_name(IP6_ARPA_0, DNS_TYPE_CNAME, 10, IP6_ARPA_0);
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "1.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, 3);
    assert_balance(w, 0);
    world_free(w);
}

static void test_unusable(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "fe80::1");
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 60 1 198.18.0.1;");
    g_assert_cmpuint(COUNTER(w, addresses_unusable), ==, 1);

    /* None usable: NODATA, not an error */
    ask(w, "b.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("b.example", 60, "::1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "b.example", DNS_TYPE_A);
    assert_records(w, "");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);

    /* A map that fails for another reason than being full */
    w->map_error = -EINVAL;
    ask(w, "c.example", DNS_TYPE_A);
    begin_reply(w, 2, 0x8180);
    add_aaaa("c.example", 60, "2001:db8::3");
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "c.example", DNS_TYPE_A);
    assert_records(w, "");
    assert_balance(w, 0);
    world_free(w);
}

static void test_pool_full(void)
{
    World *w = world_new();

    w->pool_size = 1;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    add_aaaa("a.example", 60, "2001:db8::2");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 60 1 198.18.0.1;");
    g_assert_cmpuint(COUNTER(w, addresses_pool_full), ==, 1);

    ask(w, "b.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("b.example", 60, "2001:db8::3");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "b.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, servfail_pool_full), ==, 1);
    assert_balance(w, 0);
    world_free(w);
}

static void add_many_aaaa(const char *owner, int count)
{
    for (int i = 1; i <= count; i++) {
        g_autofree char *text = g_strdup_printf("2001:db8::%x", i);

        add_aaaa(owner, 60, text);
    }
}

static void test_many_addresses(void)
{
    World *w = world_new();
    DnsHeader header;

    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    begin_reply(w, 0, 0x8180);
    add_many_aaaa("a.example", 40);
    deliver(w, 0, DNS_UPSTREAM_OK);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmpuint(header.ancount, ==, DNS_PROXY_MAX_ADDRESSES);
    g_assert_cmpuint(w->pool_used, ==, DNS_PROXY_MAX_ADDRESSES);
    g_assert_cmpuint(COUNTER(w, addresses_over_limit), ==, 8);
    world_free(w);
}

static void test_truncation(void)
{
    World *w = world_new();
    DnsHeader header;

    /* No EDNS: 512 octets, 32 addresses do not fit */
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_many_aaaa("a.example", 32);
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, 0, "a.example", DNS_TYPE_A) & DNS_FLAG_TC);
    assert_records(w, "");
    g_assert_cmpuint(COUNTER(w, truncated), ==, 1);

    /* EDNS with a silly size means 512, and OPT is there with TC */
    begin_query("a.example", DNS_TYPE_A);
    add_edns(16, true, 0);
    query(w);
    begin_reply(w, 1, 0x8180);
    add_many_aaaa("a.example", 32);
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, 0, "a.example", DNS_TYPE_A) & DNS_FLAG_TC);
    assert_records(w, "OPT 1232 DO high=0 ede=-1;");

    /* TCP has no such limit */
    begin_query("a.example", DNS_TYPE_A);
    dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_TCP, w);
    begin_reply(w, 2, 0x8180);
    add_many_aaaa("a.example", 32);
    deliver(w, 2, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_A) &
                   DNS_FLAG_TC);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmpuint(header.ancount, ==, 32);
    world_free(w);
}

static void test_negative(void)
{
    World *w = world_new();

    ask(w, "no.a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8183);
    add_soa("a.example", 300);
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "no.a.example", DNS_TYPE_A);
    assert_records(w, "a.example 300 6 24 octets;");
    g_assert_cmpuint(COUNTER(w, nxdomain), ==, 1);

    ask(w, "v4.a.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_name("v4.a.example", DNS_TYPE_CNAME, 9, "b.example");
    add_soa("b.example", 301);
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "v4.a.example", DNS_TYPE_A);
    assert_records(w, "v4.a.example 9 5 b.example;"
                      "b.example 301 6 24 octets;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    assert_balance(w, 0);
    world_free(w);
}

/*** NAT64 ***/

static World *world_with_nat64(void)
{
    World *w = world_new();

    w->nat64 = true;
    ask(w, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->sent_count, ==, 2);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_sent(w, 1, "a.example", DNS_TYPE_A);
    return w;
}

static void reply_aaaa(World *w, bool data)
{
    begin_reply(w, 0, 0x8180);
    if (data) {
        add_aaaa("a.example", 60, "2001:db8::1");
    }
    deliver(w, 0, DNS_UPSTREAM_OK);
}

static void reply_a(World *w, bool data)
{
    begin_reply(w, 1, 0x8180);
    if (data) {
        add_a("a.example", 70, "192.0.2.1");
    }
    add_soa("example", 300);
    deliver(w, 1, DNS_UPSTREAM_OK);
}

static void assert_plain(World *w)
{
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 70 1 192.0.2.1;example 300 6 24 octets;");
    g_assert_cmpuint(COUNTER(w, answers_plain), ==, 1);
}

static void assert_virtual(World *w)
{
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 60 1 198.18.0.1;");
}

static void assert_servfail(World *w)
{
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, servfail_upstream), ==, 1);
}

static void nat64_end(World *w)
{
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, -1);
    assert_balance(w, 0);
    world_free(w);
}

static void test_nat64_aaaa_first(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, true);
    assert_virtual(w);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;");
    /* the way through the NAT64 is worth knowing, whoever has gone */
    dns_proxy_cancel(w->proxy, w);
    g_assert_false(w->sent[1].cancelled);
    reply_a(w, true);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;"
                    "a.example ::ffff:192.0.2.1 70;");
    reply_a(w, true);       /* late */
    g_assert_cmpuint(COUNTER(w, replies_late), ==, 1);
    nat64_end(w);

    /* no A after all */
    w = world_with_nat64();
    reply_aaaa(w, true);
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    g_assert_cmpuint(w->answers, ==, 1);
    nat64_end(w);
}

/* Who only waits for an A that nobody waits for makes room. */
static void test_nat64_room(void)
{
    World *w = world_new();

    w->nat64 = true;
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        ask(w, "a.example", DNS_TYPE_A);
        begin_reply(w, 2 * i, 0x8180);
        add_aaaa("a.example", 60, "2001:db8::1");
        deliver(w, 2 * i, DNS_UPSTREAM_OK);
        w->resolved[0] = 0;
    }
    g_assert_cmpuint(COUNTER(w, answers_virtual), ==, DNS_PROXY_MAX_REQUESTS);
    ask(w, "b.example", DNS_TYPE_TXT);
    g_assert_cmpuint(COUNTER(w, servfail_table_full), ==, 0);
    g_assert_true(w->sent[1].cancelled);
    g_assert_false(w->sent[3].cancelled);
    assert_balance(w, 1);
    world_free(w);
}

static void test_nat64_a_first(void)
{
    World *w = world_with_nat64();

    reply_a(w, true);
    g_assert_cmpuint(w->answers, ==, 0);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, 50);
    w->now += 49;
    dns_proxy_process_timeouts(w->proxy);
    g_assert_cmpuint(w->answers, ==, 0);
    reply_aaaa(w, true);
    assert_virtual(w);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;"
                    "a.example ::ffff:192.0.2.1 70;");
    nat64_end(w);
}

static void test_nat64_aaaa_never(void)
{
    World *w = world_with_nat64();

    reply_a(w, true);
    w->now += 50;
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, 0);
    dns_proxy_process_timeouts(w->proxy);
    assert_plain(w);
    g_assert_cmpstr(w->resolved, ==, "a.example ::ffff:192.0.2.1 70;");
    g_assert_cmpuint(COUNTER(w, plain_after_delay), ==, 1);
    g_assert_true(w->sent[0].cancelled);
    nat64_end(w);
}

static void test_nat64_a_only(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, false);
    g_assert_cmpuint(w->answers, ==, 0);
    reply_a(w, true);
    assert_plain(w);
    nat64_end(w);

    w = world_with_nat64();
    reply_a(w, true);
    reply_aaaa(w, false);
    assert_plain(w);
    nat64_end(w);
}

/* The A records are behind an alias */
static void test_nat64_cname(void)
{
    World *w = world_with_nat64();

    begin_reply(w, 1, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
    add_a("b.example", 70, "192.0.2.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, 50);
    reply_aaaa(w, false);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 5 5 b.example;b.example 70 1 192.0.2.1;");
    nat64_end(w);
}

static void test_nat64_neither(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, false);
    reply_a(w, false);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "example 300 6 24 octets;");
    nat64_end(w);

    /* A NODATA first: no hurry for AAAA */
    w = world_with_nat64();
    reply_a(w, false);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, -1);
    reply_aaaa(w, true);
    assert_virtual(w);
    nat64_end(w);

    w = world_with_nat64();
    reply_a(w, false);
    reply_aaaa(w, false);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    nat64_end(w);
}

static void test_nat64_nxdomain(void)
{
    for (size_t i = 0; i < 2; i++) {
        World *w = world_with_nat64();

        begin_reply(w, i, 0x8183);
        add_soa("example", 300);
        deliver(w, i, DNS_UPSTREAM_OK);
        g_assert_cmpuint(w->answers, ==, 1);
        assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_A);
        assert_records(w, "example 300 6 24 octets;");
        g_assert_true(w->sent[1 - i].cancelled);
        nat64_end(w);
    }
}

static void test_nat64_failures(void)
{
    World *w = world_with_nat64();

    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);    /* AAAA fails, A has it */
    reply_a(w, true);
    assert_plain(w);
    nat64_end(w);

    w = world_with_nat64();
    reply_a(w, true);
    deliver(w, 0, DNS_UPSTREAM_REFUSED);
    assert_plain(w);
    nat64_end(w);

    w = world_with_nat64();                 /* A fails, AAAA has it */
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    reply_aaaa(w, true);
    assert_virtual(w);
    nat64_end(w);

    w = world_with_nat64();                 /* both fail */
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    g_assert_cmpuint(w->answers, ==, 0);
    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);
    assert_servfail(w);
    nat64_end(w);

    /* One says nothing, the other failed: unknown, so no NODATA */
    w = world_with_nat64();
    reply_aaaa(w, false);
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    assert_servfail(w);
    nat64_end(w);
    w = world_with_nat64();
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    reply_aaaa(w, false);
    assert_servfail(w);
    nat64_end(w);
    w = world_with_nat64();
    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);
    reply_a(w, false);
    assert_servfail(w);
    nat64_end(w);
    w = world_with_nat64();
    reply_a(w, false);
    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);
    assert_servfail(w);
    nat64_end(w);
}

/*** Other types ***/

static void test_aaaa(void)
{
    static const uint16_t types[] = {
        DNS_TYPE_AAAA, DNS_TYPE_HTTPS, DNS_TYPE_SVCB,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        DnsName b_example = name_of("b.example");
        World *w = world_new();

        ask(w, "a.example", types[i]);
        assert_sent(w, 0, "a.example", types[i]);
        begin_reply(w, 0, 0x81a0);
        add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
        /* ipv4hint and the like: whatever there is must not come through */
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &b_example, types[i],
                        DNS_CLASS_IN, 60, "0123456789abcdef", 16);
        deliver(w, 0, DNS_UPSTREAM_OK);
        g_assert_false(assert_answer(w, 0, "a.example", types[i]) &
                       DNS_FLAG_AD);
        assert_records(w, "a.example 5 5 b.example;");
        g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
        g_assert_cmpuint(w->pool_used, ==, 0);

        ask(w, "no.example", types[i]);
        begin_reply(w, 1, 0x8183);
        add_soa("example", 300);
        deliver(w, 1, DNS_UPSTREAM_OK);
        assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example", types[i]);
        assert_records(w, "example 300 6 24 octets;");
        assert_balance(w, 0);
        world_free(w);
    }
}

static void test_any(void)
{
    World *w = world_new();

    w->nat64 = true;
    ask(w, "a.example", DNS_TYPE_ANY);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_sent(w, 1, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    assert_answer(w, 0, "a.example", DNS_TYPE_ANY);
    assert_records(w, "a.example 60 1 198.18.0.1;");
    reply_a(w, true);

    /* The plain message has another question than the guest's */
    w->sent_count = 0;
    ask(w, "a.example", DNS_TYPE_ANY);
    reply_aaaa(w, false);
    reply_a(w, true);
    assert_answer(w, 0, "a.example", DNS_TYPE_ANY);
    assert_records(w, "a.example 70 1 192.0.2.1;example 300 6 24 octets;");
    world_free(w);
}

#define IP6_ARPA_1 "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." \
                   "0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"

static void test_ptr(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    w->lease = 100;

    ask(w, "1.0.18.198.in-ADDR.arpa", DNS_TYPE_PTR);
    assert_sent(w, 1, IP6_ARPA_1, DNS_TYPE_PTR);
    begin_reply(w, 1, 0x8180);
    add_name(IP6_ARPA_1, DNS_TYPE_PTR, 3600, "a.example");
    add_name(IP6_ARPA_1, DNS_TYPE_PTR, 3600, "b.example");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "1.0.18.198.in-ADDR.arpa", DNS_TYPE_PTR);
    assert_records(w, "1.0.18.198.in-ADDR.arpa 100 12 a.example;"
                      "1.0.18.198.in-ADDR.arpa 100 12 b.example;");
    g_assert_cmpuint(COUNTER(w, answers_ptr), ==, 1);

    /* Through an alias */
    ask(w, "1.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    begin_reply(w, 2, 0x8180);
    add_name(IP6_ARPA_1, DNS_TYPE_CNAME, 7, "1.rev.example");
    add_name("1.rev.example", DNS_TYPE_PTR, 3600, "a.example");
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_records(w, "1.0.18.198.in-addr.arpa 7 12 a.example;");

    /* No name there; its SOA belongs to another tree */
    ask(w, "1.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    begin_reply(w, 3, 0x8183);
    add_soa("ip6.arpa", 300);
    deliver(w, 3, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "1.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);
    assert_records(w, "");

    /* In the pool but nothing behind it: nobody else need know */
    ask(w, "9.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    g_assert_cmpuint(w->sent_count, ==, 4);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "9.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);

    /* Outside, and not an address at all: passed */
    ask(w, "1.2.0.192.in-addr.arpa", DNS_TYPE_PTR);
    assert_sent(w, 4, "1.2.0.192.in-addr.arpa", DNS_TYPE_PTR);
    ask(w, "_http._tcp.example", DNS_TYPE_PTR);
    assert_sent(w, 5, "_http._tcp.example", DNS_TYPE_PTR);
    begin_reply(w, 5, 0x8180);
    add_name("_http._tcp.example", DNS_TYPE_PTR, 8, "x.example");
    deliver(w, 5, DNS_UPSTREAM_OK);
    assert_records(w, "_http._tcp.example 8 12 x.example;");
    assert_balance(w, 1);
    world_free(w);
}

static void test_pass(void)
{
    World *w = world_new();
    Msg *reply;
    DnsHeader header;
    DnsName name = name_of("a.example"), glue = name_of("mx.example");
    struct in_addr addr = { htonl(0xc0000201) };

    /* Guest without EDNS: all but the OPT, which stands in the middle */
    ask(w, "a.example", DNS_TYPE_MX);
    assert_sent(w, 0, "a.example", DNS_TYPE_MX);
    begin_reply(w, 0, 0x85b0);
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_MX, 1, 60,
                    "\0\5\2mx\7example", 14);
    dns_builder_a(&msg.b, DNS_SECTION_ADDITIONAL, &glue, 60, addr);
    reply = g_memdup2(&msg, sizeof(msg));
    add_edns(4096, false, 0);
    dns_builder_a(&msg.b, DNS_SECTION_ADDITIONAL, &glue, 61, addr);
    deliver(w, 0, DNS_UPSTREAM_OK);
    dns_msg_set_id(reply->buf, 0xbeef);
    g_assert_cmpmem(w->answer, w->answer_len, reply->buf, reply->b.len);
    g_assert_cmpuint(COUNTER(w, passed), ==, 1);
    g_free(reply);

    /* Guest with EDNS and DO: the upstream is asked with DO, ours comes back */
    begin_query("a.example", DNS_TYPE_TXT);
    add_edns(4096, true, 0);
    query(w);
    {
        DnsCursor cursor;
        DnsEdns edns;
        DnsRr rr;

        dns_cursor_init(&cursor, w->sent[1].query, w->sent[1].len);
        g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
        dns_rdata_edns(&cursor, &rr, &edns);
        g_assert_true(edns.dnssec_ok);
        g_assert_cmpuint(edns.udp_size, ==, DNS_UDP_ADVERTISED);
    }
    begin_reply(w, 1, 0x81a0);
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_TXT, 1, 60,
                    "\2hi", 3);
    add_edns(512, true, 0);
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, 0, "a.example", DNS_TYPE_TXT) &
                  DNS_FLAG_AD);
    assert_records(w, "a.example 60 16 3 octets;OPT 1232 DO high=0 ede=-1;");

    /* Errors are passed as well, with the reason, and so are odd RCODEs */
    begin_query("a.example", DNS_TYPE_TXT);
    add_edns(4096, false, 0);
    query(w);
    begin_reply(w, 2, 0x8182);
    {
        DnsEdns edns = { .udp_size = 512, .has_ede = true, .ede = 6 };

        dns_builder_edns(&msg.b, &edns);
    }
    w->sent[2].reply(w->sent[2].opaque, w->sent[2].request,
                     DNS_UPSTREAM_REFUSED, msg.buf, msg.b.len);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_TXT);
    assert_records(w, "OPT 1232 high=0 ede=6;");

    /* An extended RCODE cannot be said without OPT */
    ask(w, "a.example", DNS_TYPE_TXT);
    begin_reply(w, 3, 0x8187);
    {
        DnsEdns edns = { .udp_size = 512, .rcode_high = 1 };

        dns_builder_edns(&msg.b, &edns);
    }
    deliver(w, 3, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_TXT);

    /* Too large for the guest */
    ask(w, "a.example", DNS_TYPE_TXT);
    begin_reply(w, 4, 0x8180);
    for (int i = 0; i < 10; i++) {
        uint8_t text[100] = { 99 };

        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_TXT, 1,
                        60, text, sizeof(text));
    }
    deliver(w, 4, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, 0, "a.example", DNS_TYPE_TXT) &
                  DNS_FLAG_TC);
    assert_records(w, "");
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmpuint(header.ancount, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/*** Flags and EDNS ***/

static uint16_t sent_flags(World *w, size_t i)
{
    DnsHeader header;

    dns_header_parse(w->sent[i].query, w->sent[i].len, &header);
    return header.flags;
}

static void test_flags(void)
{
    World *w = world_new();
    DnsHeader header;

    begin_query("a.example", DNS_TYPE_A);
    msg.buf[2] = 0x00;                          /* no RD */
    msg.buf[3] = DNS_FLAG_CD | DNS_FLAG_AD;
    add_edns(1232, true, 0);
    query(w);
    /* AD asks for a verdict on data that will be replaced: not passed */
    g_assert_cmphex(sent_flags(w, 0), ==, DNS_FLAG_CD);
    begin_reply(w, 0, 0x80b0);
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmphex(header.flags, ==,
                    DNS_FLAG_QR | DNS_FLAG_RA | DNS_FLAG_CD);
    assert_records(w, "a.example 60 1 198.18.0.1;"
                      "OPT 1232 DO high=0 ede=-1;");

    begin_query("a.example", DNS_TYPE_TXT);
    msg.buf[3] = DNS_FLAG_AD;
    query(w);
    g_assert_cmphex(sent_flags(w, 1), ==, DNS_FLAG_RD | DNS_FLAG_AD);
    world_free(w);
}

static void test_badvers(void)
{
    World *w = world_new();

    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 1);
    query(w);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=1 ede=-1;");
    g_assert_cmpuint(COUNTER(w, badvers), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 0);
    world_free(w);
}

static void test_upstream_failures(void)
{
    static const struct {
        DnsUpstreamStatus status;
        const char *edns;
    } cases[] = {
        { DNS_UPSTREAM_TIMEOUT, "OPT 1232 high=0 ede=22;" },
        { DNS_UPSTREAM_REFUSED, "OPT 1232 high=0 ede=22;" },
        { DNS_UPSTREAM_NETWORK, "OPT 1232 high=0 ede=23;" },
        { DNS_UPSTREAM_BADREPLY, "OPT 1232 high=0 ede=0;" },
        { DNS_UPSTREAM_CANCELLED, "OPT 1232 high=0 ede=0;" },
    };
    static const uint16_t types[] = {
        DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT,
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (size_t t = 0; t < G_N_ELEMENTS(types); t++) {
            begin_query("a.example", types[t]);
            add_edns(1232, false, 0);
            query(w);
            deliver(w, w->sent_count - 1, cases[i].status);
            assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", types[t]);
            assert_records(w, cases[i].edns);
        }
    }
    /* Without EDNS, there is no EDE */
    ask(w, "a.example", DNS_TYPE_A);
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_TIMEOUT);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "");
    /* The upstream's own reason goes through */
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    begin_reply(w, w->sent_count - 1, 0x8182);
    {
        DnsEdns edns = { .udp_size = 512, .has_ede = true, .ede = 6 };

        dns_builder_edns(&msg.b, &edns);
    }
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=6;");
    /* Cannot even be sent */
    w->send_error = -ENETUNREACH;
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=23;");
    /* Fails while being sent, the first of two or both */
    w->send_error = 0;
    w->timeout_at_once = true;
    w->nat64 = true;
    w->answers = 0;
    ask(w, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_balance(w, 0);
    world_free(w);
}

/* The AAAA ends the request while it is sent: A is not asked any more */
static void test_reply_at_once(void)
{
    World *w = world_new();

    w->nat64 = true;
    w->nxdomain_at_once = true;
    ask(w, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 1);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, replies_late), ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/*** Hostile and hopeless queries ***/

static void assert_header_only(World *w, uint16_t flags)
{
    DnsHeader header;

    g_assert_cmpuint(w->answer_len, ==, DNS_HEADER_LEN);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmphex(header.id, ==, 0xbeef);
    g_assert_cmphex(header.flags, ==, flags);
}

static void test_bad_queries(void)
{
    World *w = world_new();
    size_t len;

    /* Shorter than a header: nothing to answer to */
    begin_query("a.example", DNS_TYPE_A);
    for (len = 0; len < DNS_HEADER_LEN; len++) {
        dns_proxy_query(w->proxy, msg.buf, len, DNS_TRANSPORT_UDP, w);
    }
    g_assert_cmpuint(COUNTER(w, dropped_short), ==, DNS_HEADER_LEN);
    /* A response: answering it could go on forever */
    msg.buf[2] |= 0x80;
    query(w);
    g_assert_cmpuint(COUNTER(w, dropped_response), ==, 1);
    g_assert_cmpuint(w->answers, ==, 0);
    /* Cut within the question */
    begin_query("a.example", DNS_TYPE_A);
    for (len = DNS_HEADER_LEN; len < msg.b.len; len++) {
        dns_proxy_query(w->proxy, msg.buf, len, DNS_TRANSPORT_UDP, w);
        assert_header_only(w, 0x8181);
    }
    /* No question, two questions */
    for (int qdcount = 0; qdcount <= 2; qdcount += 2) {
        begin_query("a.example", DNS_TYPE_A);
        msg.buf[5] = qdcount;
        query(w);
        assert_header_only(w, 0x8181);
    }
    /* Records that are not there */
    begin_query("a.example", DNS_TYPE_A);
    msg.buf[11] = 1;
    query(w);
    assert_answer(w, DNS_RCODE_FORMERR, "a.example", DNS_TYPE_A);
    /* Two OPTs */
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_FORMERR, "a.example", DNS_TYPE_A);
    assert_records(w, "");
    /* OPT as a question */
    ask(w, "a.example", DNS_TYPE_OPT);
    assert_answer(w, DNS_RCODE_FORMERR, "a.example", DNS_TYPE_OPT);
    /* UPDATE */
    begin_query("a.example", DNS_TYPE_A);
    msg.buf[2] = 5 << 3;
    query(w);
    assert_header_only(w, 0x8180 + (5 << 11) + 4 - DNS_FLAG_RD);
    /* CHAOS, transfers */
    begin_query("version.bind", DNS_TYPE_TXT);
    msg.buf[msg.b.len - 1] = 3;
    query(w);
    assert_answer(w, DNS_RCODE_REFUSED, "version.bind", DNS_TYPE_TXT);
    ask(w, "a.example", DNS_TYPE_AXFR);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_AXFR);
    g_assert_cmpuint(COUNTER(w, refused), ==, 2);
    g_assert_cmpuint(COUNTER(w, notimp), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

static void test_bad_replies(void)
{
    World *w = world_new();
    size_t full;

    /* Cut anywhere */
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    full = msg.b.len;
    for (size_t len = 0; len < full; len++) {
        size_t i = w->sent_count - 1;
        g_autofree uint8_t *cut = NULL;

        begin_reply(w, i, 0x8180);
        add_aaaa("a.example", 60, "2001:db8::1");
        cut = g_memdup2(msg.buf, MAX(len, 1));
        w->sent[i].reply(w->sent[i].opaque, w->sent[i].request,
                         DNS_UPSTREAM_OK, cut, len);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
        ask(w, "a.example", DNS_TYPE_A);
    }
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, full);
    g_assert_cmpuint(w->pool_used, ==, 0);
    /* Not a response; with TC; to another question; two OPTs */
    for (int what = 0; what < 5; what++) {
        size_t i = w->sent_count - 1;

        begin_reply(w, i, what == 0 ? 0x0180 : what == 1 ? 0x8380 : 0x8180);
        if (what == 2) {
            msg.buf[DNS_HEADER_LEN + 1] = 'b';
        } else if (what == 3) {
            msg.buf[msg.b.len - 3] = DNS_TYPE_A;
        } else if (what == 4) {
            add_edns(1232, false, 0);
            add_edns(1232, false, 0);
        }
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
        ask(w, "a.example", DNS_TYPE_A);
    }
    /* AAAA of 4 octets is none; a class other than IN is none */
    {
        DnsName name = name_of("a.example");

        begin_reply(w, w->sent_count - 1, 0x8180);
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_AAAA, 1,
                        60, "1234", 4);
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_AAAA, 3,
                        60, "0123456789abcdef", 16);
        deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
        assert_answer(w, 0, "a.example", DNS_TYPE_A);
        assert_records(w, "");
    }
    assert_balance(w, 0);
    world_free(w);
}

/*** Bounds and life ***/

static void test_limits(void)
{
    World *w = world_new();
    size_t i;

    begin_query("a.example", DNS_TYPE_A);
    for (i = 0; i < DNS_PROXY_MAX_PER_TOKEN; i++) {
        query(w);
    }
    g_assert_cmpuint(w->answers, ==, 0);
    query(w);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, servfail_token_full), ==, 1);
    /* Others may, until the table is full */
    for (; i < DNS_PROXY_MAX_REQUESTS; i++) {
        dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_UDP,
                        GSIZE_TO_POINTER(i));
    }
    g_assert_cmpuint(w->answers, ==, 1);
    dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_UDP, NULL);
    g_assert_cmpuint(w->answers, ==, 2);
    g_assert_cmpuint(COUNTER(w, servfail_table_full), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, DNS_PROXY_MAX_REQUESTS);
    assert_balance(w, DNS_PROXY_MAX_REQUESTS);

    /* The socket goes: its slots are free, its upstream requests gone */
    dns_proxy_cancel(w->proxy, w);
    g_assert_cmpuint(COUNTER(w, dropped_cancelled), ==,
                     DNS_PROXY_MAX_PER_TOKEN);
    for (i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        g_assert_cmpint(w->sent[i].cancelled, ==,
                        i < DNS_PROXY_MAX_PER_TOKEN);
    }
    /* A slot in new hands does not take the old one's reply */
    begin_query("b.example", DNS_TYPE_A);
    query(w);
    g_assert_cmpuint(w->answers, ==, 2);
    for (i = 0; i < DNS_PROXY_MAX_PER_TOKEN; i++) {
        deliver(w, i, DNS_UPSTREAM_TIMEOUT);
    }
    g_assert_cmpuint(w->answers, ==, 2);
    g_assert_cmpuint(COUNTER(w, replies_late), ==, DNS_PROXY_MAX_PER_TOKEN);
    /* Free cancels the rest */
    dns_proxy_free(w->proxy);
    for (i = 0; i < w->sent_count; i++) {
        g_assert_true(w->sent[i].cancelled);
    }
    g_assert_cmpuint(w->answers, ==, 2);
    g_free(w);
}

static void test_duplicate_reply(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    reply_aaaa(w, true);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(COUNTER(w, replies_late), ==, 1);
    world_free(w);
}

static void test_cancel_in_answer(void)
{
    World *w = world_new();

    w->nat64 = true;
    for (int i = 0; i < 10; i++) {
        ask(w, "a.example", DNS_TYPE_A);
        begin_reply(w, 2 * i + 1, 0x8180);
        add_a("a.example", 70, "192.0.2.1");
        deliver(w, 2 * i + 1, DNS_UPSTREAM_OK);
    }
    w->cancel_in_answer = w;
    w->now += 50;
    dns_proxy_process_timeouts(w->proxy);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(COUNTER(w, dropped_cancelled), ==, 9);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, -1);
    assert_balance(w, 0);
    world_free(w);
}

/* A 60,000 octet reply with an A, to a new query; false if it was held */
static bool hold_large(World *w)
{
    static const uint8_t text[60000];
    DnsName name = name_of("a.example");
    size_t i = w->sent_count, before = w->answers;

    begin_query("a.example", DNS_TYPE_A);
    dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_TCP,
                    GSIZE_TO_POINTER(i));
    begin_reply(w, i + 1, 0x8180);
    add_a("a.example", 70, "192.0.2.1");
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, 99, 1, 1, text,
                    sizeof(text));
    deliver(w, i + 1, DNS_UPSTREAM_OK);
    return w->answers > before;
}

/* The owner decides what may be asked at all. */
static void test_admit(void)
{
    World *w = world_new();

    w->admit = -EACCES;
    begin_query("a.example", DNS_TYPE_TXT);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_TXT);
    assert_records(w, "OPT 1232 high=0 ede=15;");
    g_assert_cmpuint(COUNTER(w, refused_name), ==, 1);
    ask(w, "a.example", DNS_TYPE_A);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_A);
    w->admit = -EBUSY;
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=-1;");
    g_assert_cmpuint(COUNTER(w, refused_rate), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/* Held replies have a bound together; beyond it, nobody waits */
static void test_held_bound(void)
{
    World *w = world_new();

    w->nat64 = true;
    for (int round = 1; round <= 2; round++) {
        size_t held = 0;

        while (!hold_large(w)) {
            held++;
        }
        g_assert_cmpuint(held, ==, (4 << 20) / 60000);
        g_assert_cmpuint(COUNTER(w, plain_after_delay), ==,
                         held * (round - 1) + round);
        w->now += 50;
        dns_proxy_process_timeouts(w->proxy);
        g_assert_cmpuint(w->answers, ==, (held + 1) * round);
    }
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/a", test_a);
    g_test_add_func("/dns/proxy/a-golden", test_a_golden);
    g_test_add_func("/dns/proxy/lease-limits-ttl", test_lease_limits_ttl);
    g_test_add_func("/dns/proxy/cname", test_cname);
    g_test_add_func("/dns/proxy/cname-loop", test_cname_loop);
    g_test_add_func("/dns/proxy/unusable", test_unusable);
    g_test_add_func("/dns/proxy/pool-full", test_pool_full);
    g_test_add_func("/dns/proxy/many-addresses", test_many_addresses);
    g_test_add_func("/dns/proxy/truncation", test_truncation);
    g_test_add_func("/dns/proxy/negative", test_negative);
    g_test_add_func("/dns/proxy/nat64/aaaa-first", test_nat64_aaaa_first);
    g_test_add_func("/dns/proxy/nat64/room", test_nat64_room);
    g_test_add_func("/dns/proxy/admit", test_admit);
    g_test_add_func("/dns/proxy/nat64/a-first", test_nat64_a_first);
    g_test_add_func("/dns/proxy/nat64/aaaa-never", test_nat64_aaaa_never);
    g_test_add_func("/dns/proxy/nat64/a-only", test_nat64_a_only);
    g_test_add_func("/dns/proxy/nat64/cname", test_nat64_cname);
    g_test_add_func("/dns/proxy/nat64/neither", test_nat64_neither);
    g_test_add_func("/dns/proxy/nat64/nxdomain", test_nat64_nxdomain);
    g_test_add_func("/dns/proxy/nat64/failures", test_nat64_failures);
    g_test_add_func("/dns/proxy/aaaa-https-svcb", test_aaaa);
    g_test_add_func("/dns/proxy/any", test_any);
    g_test_add_func("/dns/proxy/ptr", test_ptr);
    g_test_add_func("/dns/proxy/pass", test_pass);
    g_test_add_func("/dns/proxy/flags", test_flags);
    g_test_add_func("/dns/proxy/badvers", test_badvers);
    g_test_add_func("/dns/proxy/upstream-failures", test_upstream_failures);
    g_test_add_func("/dns/proxy/reply-at-once", test_reply_at_once);
    g_test_add_func("/dns/proxy/bad-queries", test_bad_queries);
    g_test_add_func("/dns/proxy/bad-replies", test_bad_replies);
    g_test_add_func("/dns/proxy/limits", test_limits);
    g_test_add_func("/dns/proxy/duplicate-reply", test_duplicate_reply);
    g_test_add_func("/dns/proxy/cancel-in-answer", test_cancel_in_answer);
    g_test_add_func("/dns/proxy/held-bound", test_held_bound);
    return g_test_run();
}
