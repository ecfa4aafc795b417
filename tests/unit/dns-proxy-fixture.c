/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world around a DNS proxy: scripted upstream, fake address pool */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/dns-proxy-fixture.h"

Msg msg;

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

/* Is the name above one that pool, own zone or host answers? */
static bool fake_is_above(void *opaque, const DnsName *name)
{
    DnsName zone = name_of("own.corp");
    struct in_addr addr4;
    unsigned bits;

    if (dns_name_to_in_prefix(name, &addr4, &bits)) {
        return !bits || (bits < 32 && !((0xc6120000 ^ ntohl(addr4.s_addr)) >>
                                        (32 - bits)));
    }
    return name->len < zone.len && dns_name_within(&zone, name);
}

/* In tests, private addresses are for names in "corp" only. */
static bool is_foreign(const DnsName *asked)
{
    DnsName corp = name_of("corp");

    return !dns_name_within(asked, &corp);
}

/* Is an address usable: in tests, in the pool or on the host? */
static int fake_usable4(void *opaque, const DnsName *asked,
                        struct in_addr addr4)
{
    uint8_t net = ntohl(addr4.s_addr) >> 24;

    if (net == 198 || net == 127) {
        return -ENETUNREACH;
    }
    return net == 10 && is_foreign(asked) ? -EACCES : 0;
}

static int fake_usable(void *opaque, const DnsName *asked,
                       const struct in6_addr *addr6)
{
    if (IN6_IS_ADDR_LINKLOCAL(addr6) || IN6_IS_ADDR_LOOPBACK(addr6)) {
        return -ENETUNREACH;
    }
    return addr6->s6_addr[0] == 0xfd && is_foreign(asked) ? -EACCES : 0;
}

/* "address, " of all calls */
static void fake_blocked(void *opaque, const DnsName *asked,
                         const struct in6_addr *addr6)
{
    World *w = opaque;
    char text[INET6_ADDRSTRLEN];

    g_assert_true(is_foreign(asked));
    inet_ntop(AF_INET6, addr6, text, sizeof(text));
    g_strlcat(w->blocked, text, sizeof(w->blocked));
    g_strlcat(w->blocked, ", ", sizeof(w->blocked));
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

static int fake_admit(void *opaque, const DnsQuestion *question, bool local)
{
    World *w = opaque;

    w->local = local;
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
    .is_above = fake_is_above,
    .usable = fake_usable,
    .usable4 = fake_usable4,
    .blocked = fake_blocked,
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
    } else if (w->at_once) {
        w->at_once(w, w->sent_count - 1);
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
    /* Only a request that is being sent may be unknown. */
    g_assert_true(w->nxdomain_at_once);
}

static const DnsUpstreamOps upstream_ops = {
    .send = fake_send,
    .cancel = fake_cancel,
};

World *world_new(void)
{
    World *w = g_new0(World, 1);

    w->pool_size = G_N_ELEMENTS(w->pool);
    w->lease = 3600;
    w->now = 1000;
    w->proxy = dns_proxy_new(&ops, w, &upstream_ops, w);
    return w;
}

void world_free(World *w)
{
    dns_proxy_free(w->proxy);
    g_free(w);
}

/*** Script ***/

DnsName name_of(const char *text)
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

void begin_query(const char *name, uint16_t type)
{
    DnsQuestion q = question_of(name, type);

    dns_builder_init(&msg.b, msg.buf, sizeof(msg.buf), 0xbeef, DNS_FLAG_RD);
    dns_builder_question(&msg.b, &q);
}

void add_edns(uint16_t size, bool dnssec_ok, uint8_t version)
{
    DnsEdns edns = {
        .udp_size = size, .dnssec_ok = dnssec_ok, .version = version,
    };

    dns_builder_edns(&msg.b, &edns);
}

void query(World *w)
{
    g_autofree uint8_t *asked = g_memdup2(msg.buf, msg.b.len);

    /* msg may be part of a reply that is overwritten before this returns. */
    w->answer_len = 0;
    dns_proxy_query(w->proxy, asked, msg.b.len, DNS_TRANSPORT_UDP, w);
}

void ask(World *w, const char *name, uint16_t type)
{
    begin_query(name, type);
    query(w);
}

/* Upstream's reply to the query sent as number i, question copied from it */
void begin_reply(World *w, size_t i, uint16_t flags)
{
    DnsCursor cursor;
    DnsQuestion q;

    dns_cursor_init(&cursor, w->sent[i].query, w->sent[i].len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    dns_builder_init(&msg.b, msg.buf, sizeof(msg.buf), 0x4242, flags);
    dns_builder_question(&msg.b, &q);
}

void add_aaaa(const char *owner, uint32_t ttl, const char *text)
{
    DnsName name = name_of(owner);
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    dns_builder_aaaa(&msg.b, DNS_SECTION_ANSWER, &name, ttl, &addr);
}

void add_a(const char *owner, uint32_t ttl, const char *text)
{
    DnsName name = name_of(owner);
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    dns_builder_a(&msg.b, DNS_SECTION_ANSWER, &name, ttl, addr);
}

void add_name(const char *owner, DnsType type, uint32_t ttl,
              const char *target)
{
    DnsName name = name_of(owner), to = name_of(target);

    dns_builder_name(&msg.b, DNS_SECTION_ANSWER, &name, type, ttl, &to);
}

void add_soa(const char *zone, uint32_t ttl)
{
    DnsName name = name_of(zone);
    DnsSoa soa = { .mname = name, .rname = name, .minimum = 77 };

    dns_builder_soa(&msg.b, DNS_SECTION_AUTHORITY, &name, ttl, &soa);
}

void deliver(World *w, size_t i, DnsUpstreamStatus status)
{
    Sent *s = &w->sent[i];

    g_assert_cmpuint(i, <, w->sent_count);
    if (status == DNS_UPSTREAM_OK || status == DNS_UPSTREAM_BOGUS) {
        s->reply(s->opaque, s->request, status, msg.buf, msg.b.len);
    } else {
        s->reply(s->opaque, s->request, status, NULL, 0);
    }
}

/*** Expectations ***/

void assert_sent(World *w, size_t i, const char *name, uint16_t type)
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

/*
 * Check the common parts of an answer: the guest's id and question, QR, RA.
 * Returns flags.
 */
uint16_t assert_answer(World *w, DnsRcode rcode, const char *name,
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

static char *hex_text(const uint8_t *octets, size_t len)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (size_t i = 0; i < len; i++) {
        g_string_append_printf(text, "%02x", octets[i]);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *rdata_text(const DnsCursor *cursor, const DnsRr *rr)
{
    char text[INET6_ADDRSTRLEN], name_text[DNS_NAME_TEXT_MAX];
    struct in_addr addr;
    DnsName name;
    DnsEdns edns;
    DnsSoa soa;

    switch (rr->type) {
    case DNS_TYPE_A:
        g_assert_cmpint(dns_rdata_a(cursor, rr, &addr), ==, 0);
        return g_strdup(inet_ntop(AF_INET, &addr, text, sizeof(text)));
    case DNS_TYPE_CNAME:
    case DNS_TYPE_PTR:
        g_assert_cmpint(dns_rdata_name(cursor, rr, &name), ==, 0);
        dns_name_to_text(&name, name_text);
        return g_strdup(name_text);
    case DNS_TYPE_SOA:
        g_assert_cmpint(dns_rdata_soa(cursor, rr, &soa), ==, 0);
        dns_name_to_text(&soa.mname, name_text);
        return g_strdup_printf("%s %u", name_text, soa.minimum);
    case DNS_TYPE_HTTPS:
    case DNS_TYPE_SVCB:
        return hex_text(cursor->msg + rr->rdata, rr->rdlength);
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
void assert_records(World *w, const char *expected)
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

/* Check that every query has ended in exactly one counter. */
void assert_balance(World *w, size_t outstanding)
{
    const DnsProxyCounters *c = dns_proxy_counters(w->proxy);

    g_assert_cmpuint(c->queries - outstanding, ==,
                     c->answers_virtual + c->answers_plain + c->answers_ptr +
                     c->answers_local + c->answers_service + c->answers_any +
                     c->nodata + c->nxdomain + c->passed + c->formerr +
                     c->notimp + c->refused + c->badvers +
                     c->refused_name + c->refused_rate +
                     c->servfail_upstream + c->servfail_bogus +
                     c->servfail_pool_full + c->servfail_table_full +
                     c->dropped_short + c->dropped_response +
                     c->dropped_cancelled);
}

void reply_aaaa(World *w, bool data)
{
    begin_reply(w, 0, 0x8180);
    if (data) {
        add_aaaa("a.example", 60, "2001:db8::1");
    }
    deliver(w, 0, DNS_UPSTREAM_OK);
}

void reply_a(World *w, bool data)
{
    begin_reply(w, 1, 0x8180);
    if (data) {
        add_a("a.example", 70, "192.0.2.1");
    }
    add_soa("example", 300);
    deliver(w, 1, DNS_UPSTREAM_OK);
}
