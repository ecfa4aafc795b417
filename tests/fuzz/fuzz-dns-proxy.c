/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy between a hostile guest and a hostile upstream
 *
 * Input: a flags octet (1 = NAT64, 2 = small pool, 4 = short leases, 8 = the
 * guest uses IPv6, 16 = keys for ECH are hidden), then operations.  Each is an
 * octet that chooses, an octet of argument, and for those with a body two
 * octets of length and the body.
 */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/proxy/proxy.h"
#include "net/dns/wire/wire.h"

#define MAX_OUT 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Out {
    bool live;
    uint8_t query[DNS_QUERY_MAX];
    size_t len;
    DnsReplyFn *reply;
    void *opaque;
    uint64_t request;
} Out;

typedef struct World {
    DnsProxy *proxy;
    uint8_t flags;
    uint32_t mapped;
    int64_t now;
    uint64_t answers;
    Out out[MAX_OUT];
} World;

typedef struct Input {
    const uint8_t *data;
    size_t size;
} Input;

static int fuzz_map(void *opaque, const struct in6_addr *addr6, uint32_t ttl,
                    struct in_addr *addr4, uint32_t *lease)
{
    World *w = opaque;

    if (w->flags & 2 && w->mapped >= 3) {
        return -ENOSPC;
    }
    addr4->s_addr = htonl(0xc6120000 + ++w->mapped);
    *lease = w->flags & 4 ? 1 : 3600;
    return 0;
}

static int fuzz_unmap(void *opaque, struct in_addr addr4,
                      struct in6_addr *addr6, uint32_t *lease)
{
    World *w = opaque;
    uint32_t host = ntohl(addr4.s_addr);

    if (host >> 16 != 0xc612) {
        return -ERANGE;
    }
    if ((host & 0xffff) > w->mapped) {
        return -ENOENT;
    }
    memset(addr6, 0x20, sizeof(*addr6));
    *lease = 60;
    return 0;
}

static bool fuzz_is_above(void *opaque, const DnsName *name)
{
    return name->len == 11;
}

static int fuzz_usable4(void *opaque, const DnsName *asked,
                        struct in_addr addr4)
{
    const uint8_t *octets = (const uint8_t *)&addr4;

    return octets[0] & 1 ? -ENETUNREACH : octets[0] & 2 ? -EACCES : 0;
}

static int fuzz_usable(void *opaque, const DnsName *asked,
                       const struct in6_addr *addr6)
{
    return addr6->s6_addr[0] & 0x80 ? -ENETUNREACH
                                    : addr6->s6_addr[0] & 0x40 ? -EACCES : 0;
}

static void fuzz_withheld(void *opaque, const DnsName *asked,
                          const struct in6_addr *addr6, int error)
{
    if (error != -EBADMSG) {    /* a record of another length has none */
        g_assert_cmpint(IN6_IS_ADDR_V4MAPPED(addr6)
                        ? fuzz_usable4(opaque, asked,
                                       *(struct in_addr *)&addr6->s6_addr[12])
                        : fuzz_usable(opaque, asked, addr6), ==, error);
    }
}

static void fuzz_rejected(void *opaque, DnsRcode rcode)
{
    g_assert_cmpint(rcode, !=, DNS_RCODE_NOERROR);
}

static void fuzz_leads_on(void *opaque, const DnsName *asked,
                          const DnsName *target)
{
    World *w = opaque;

    g_assert(w->flags & 16);
    g_assert_cmpuint(target->len, >, 0);
}

static bool fuzz_nat64(void *opaque)
{
    World *w = opaque;

    return w->flags & 1;
}

static bool fuzz_hides_ech(void *opaque)
{
    World *w = opaque;

    return w->flags & 16;
}

static bool fuzz_uses_ipv6(void *opaque)
{
    World *w = opaque;

    return w->flags & 8;
}

static bool is_service(uint16_t type)
{
    return type == DNS_TYPE_HTTPS || type == DNS_TYPE_SVCB;
}

/* Checks a record in ServiceMode, which must be well-formed. */
static void check_hints(const DnsCursor *cursor, const DnsRr *rr,
                        bool hides_ech)
{
    const uint8_t *priority = cursor->msg + rr->rdata, *value;
    DnsSvcParams params;
    uint16_t key;
    size_t len;
    int ret;

    g_assert(dns_rdata_svcb(cursor, rr, &params) == 0);
    while ((ret = dns_svcb_param(&params, &key, &value, &len)) > 0) {
        g_assert((!priority[0] && !priority[1]) ||
                 (key != DNS_SVCB_IPV4HINT && key != DNS_SVCB_IPV6HINT &&
                  (key != DNS_SVCB_ECH || !hides_ech)));
    }
    g_assert(ret == 0);
}

/* For all clients except validators, which set DO and CD */
static void check_services(const uint8_t *msg, size_t len, bool hides_ech)
{
    bool dnssec_ok = false;
    DnsQuestion question;
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, msg, len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        dnssec_ok |= rr.type == DNS_TYPE_OPT && rr.raw_ttl & 0x8000;
    }
    dns_cursor_init(&cursor, msg, len);
    if (dnssec_ok || dns_cursor_question(&cursor, &question) <= 0 ||
        !is_service(question.type)) {
        return;
    }
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.section == DNS_SECTION_ANSWER && is_service(rr.type) &&
            rr.rrclass == DNS_CLASS_IN) {
            check_hints(&cursor, &rr, hides_ech);
        }
    }
}

static void fuzz_answer(void *opaque, void *token, const uint8_t *msg,
                        size_t len)
{
    World *w = opaque;
    DnsHeader header;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    /* Everything sent to the guest is a complete response */
    g_assert(dns_header_parse(msg, len, &header) == 0);
    g_assert(header.flags & DNS_FLAG_QR);
    g_assert(header.qdcount <= 1);
    dns_cursor_init(&cursor, msg, len);
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        continue;
    }
    g_assert(ret == 0);
    check_services(msg, len, w->flags & 16);
    w->answers++;
}

static int64_t fuzz_now(void *opaque)
{
    World *w = opaque;

    return w->now;
}

static int fuzz_admit(void *opaque, const DnsQuestion *question, bool local)
{
    uint8_t len = question->name.len;

    return len == 9 ? -EACCES : len == 10 ? -EBUSY : 0;
}

static void fuzz_resolved(void *opaque, const DnsName *asked,
                          const DnsProxyAddress *addrs, size_t num)
{
    g_assert_cmpuint(num, >=, 1);
    g_assert_cmpuint(num, <=, DNS_PROXY_MAX_ADDRESSES);
}

static const DnsProxyOps ops = {
    .admit = fuzz_admit,
    .resolved = fuzz_resolved,
    .compares = fuzz_hides_ech,
    .leads_on = fuzz_leads_on,
    .map = fuzz_map,
    .unmap = fuzz_unmap,
    .is_above = fuzz_is_above,
    .usable = fuzz_usable,
    .usable4 = fuzz_usable4,
    .withheld = fuzz_withheld,
    .rejected = fuzz_rejected,
    .nat64_available = fuzz_nat64,
    .hides_ech = fuzz_hides_ech,
    .uses_ipv6 = fuzz_uses_ipv6,
    .answer = fuzz_answer,
    .now_ms = fuzz_now,
};

static int fuzz_send(void *upstream, const uint8_t *query, size_t len,
                     DnsReplyFn *reply, void *opaque, uint64_t request)
{
    World *w = upstream;

    for (size_t i = 0; i < MAX_OUT; i++) {
        Out *out = &w->out[i];

        if (!out->live) {
            g_assert(len <= sizeof(out->query));
            memcpy(out->query, query, len);
            out->len = len;
            out->reply = reply;
            out->opaque = opaque;
            out->request = request;
            out->live = true;
            return 0;
        }
    }
    return -ENOBUFS;
}

static void fuzz_cancel(void *upstream, void *opaque, uint64_t request)
{
    World *w = upstream;

    for (size_t i = 0; i < MAX_OUT; i++) {
        if (w->out[i].live && w->out[i].request == request) {
            w->out[i].live = false;
            return;
        }
    }
    g_assert_not_reached();
}

static const DnsUpstreamOps upstream_ops = {
    .send = fuzz_send,
    .cancel = fuzz_cancel,
};

static uint8_t take(Input *in)
{
    if (!in->size) {
        return 0;
    }
    in->size--;
    return *in->data++;
}

/* A body in its own allocation, so that the sanitizer finds overruns */
static uint8_t *take_body(Input *in, size_t *len)
{
    size_t want = take(in) << 8;
    uint8_t *body;

    want |= take(in);
    *len = MIN(want, in->size);
    body = g_malloc(*len + 1);
    memcpy(body, in->data, *len);
    in->data += *len;
    in->size -= *len;
    return g_realloc(body, MAX(*len, 1));
}

static Out *pick(World *w, uint8_t arg)
{
    for (size_t i = 0; i < MAX_OUT; i++) {
        Out *out = &w->out[(arg + i) % MAX_OUT];

        if (out->live) {
            return out;
        }
    }
    return NULL;
}

static void do_query(World *w, Input *in, uint8_t arg)
{
    size_t len;
    g_autofree uint8_t *body = take_body(in, &len);

    dns_proxy_query(w->proxy, body, len,
                    arg & 0x80 ? DNS_TRANSPORT_TCP : DNS_TRANSPORT_UDP,
                    GSIZE_TO_POINTER(arg & 7));
}

/* The body is all of the message */
static void do_raw_reply(World *w, Input *in, uint8_t arg)
{
    size_t len;
    g_autofree uint8_t *body = take_body(in, &len);
    Out *out = pick(w, arg);

    if (out) {
        out->live = false;
        out->reply(out->opaque, out->request, DNS_UPSTREAM_OK, body, len);
    }
}

/*
 * The body is flags, three counts and the octets after the question, which is
 * that of the query, so that the reply matches.
 */
static void do_fitting_reply(World *w, Input *in, uint8_t arg)
{
    size_t len, question;
    g_autofree uint8_t *body = take_body(in, &len);
    g_autofree uint8_t *msg = NULL;
    Out *out = pick(w, arg);

    if (!out || len < 5) {
        return;
    }
    question = out->len - 11;
    msg = g_malloc(question + len - 5);
    memcpy(msg, out->query, question);
    msg[2] = 0x80;
    msg[3] = body[0] & 0x0f;
    msg[7] = body[1];
    msg[9] = body[2];
    msg[11] = body[3];
    memcpy(msg + question, body + 5, len - 5);
    out->live = false;
    out->reply(out->opaque, out->request, DNS_UPSTREAM_OK, msg,
               question + len - 5);
}

static void do_failure(World *w, uint8_t arg)
{
    Out *out = pick(w, arg);

    if (out) {
        out->live = false;
        out->reply(out->opaque, out->request,
                   DNS_UPSTREAM_TIMEOUT +
                   arg % (DNS_UPSTREAM_CANCELLED - DNS_UPSTREAM_TIMEOUT + 1),
                   NULL, 0);
    }
}

static void check_counters(World *w)
{
    const DnsProxyCounters *c = dns_proxy_counters(w->proxy);
    uint64_t answered = c->answers_virtual + c->answers_plain +
                        c->answers_ptr + c->answers_local +
                        c->answers_service + c->answers_any +
                        c->nodata + c->nxdomain +
                        c->passed + c->formerr + c->notimp + c->refused +
                        c->refused_name + c->refused_rate +
                        c->badvers + c->servfail_upstream +
                        c->servfail_bogus + c->servfail_pool_full +
                        c->servfail_table_full;

    g_assert(answered == w->answers);
    g_assert(answered + c->dropped_short + c->dropped_response +
             c->dropped_cancelled <= c->queries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static World world;
    Input in = { data, size };
    World *w = &world;

    memset(w, 0, sizeof(*w));
    w->flags = take(&in);
    w->proxy = dns_proxy_new(&ops, w, &upstream_ops, w);
    while (in.size) {
        uint8_t op = take(&in), arg = take(&in);

        switch (op % 8) {
        case 0:
        case 1:
            do_query(w, &in, arg);
            break;
        case 2:
            do_raw_reply(w, &in, arg);
            break;
        case 3:
        case 4:
            do_fitting_reply(w, &in, arg);
            break;
        case 5:
            do_failure(w, arg);
            break;
        case 6:
            dns_proxy_cancel(w->proxy, GSIZE_TO_POINTER(arg & 7));
            break;
        case 7:
            w->now += arg;
            g_assert(dns_proxy_timeout_ms(w->proxy) <= 50);
            dns_proxy_process_timeouts(w->proxy);
            break;
        }
        check_counters(w);
    }
    dns_proxy_free(w->proxy);
    for (size_t i = 0; i < MAX_OUT; i++) {
        g_assert(!w->out[i].live);
    }
    return 0;
}
