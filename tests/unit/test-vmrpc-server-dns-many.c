/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The DNS proxy asked for many names at once: who waits, and who is dropped */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/state.h"
#include "net/dns/wire/wire.h"
#include "tests/fixtures/server-dns-fixture.h"

#define MAX_HELD        4096
#define NAMES           1000

/* With the proxy at once: those of one socket, and what is left then. */
#define HALF            (DNS_PROXY_MAX_REQUESTS / 2)

typedef struct Held {
    struct sockaddr_in6 from;
    ssize_t len;
    uint8_t msg[DNS_QUERY_MAX];
} Held;

/* A guest whose DNS server keeps all queries until it is told to answer */
typedef struct Many {
    Dns d;
    Held held[MAX_HELD];
    unsigned num;
    GHashTable *seen;           /* names: queries are repeated, not so here */
} Many;

static void hold(void *opaque)
{
    Many *m = opaque;

    for (;;) {
        Held *h = &m->held[m->num];
        socklen_t len = sizeof(h->from);

        g_assert_cmpuint(m->num, <, MAX_HELD);
        h->len = recvfrom(m->d.fd, h->msg, sizeof(h->msg), MSG_DONTWAIT,
                          (struct sockaddr *)&h->from, &len);
        if (h->len < 0) {
            return;
        }
        m->num += g_hash_table_add(m->seen,
                                   g_strdup((char *)h->msg + DNS_HEADER_LEN));
    }
}

/* Those that are held now; what is asked meanwhile is held. */
static void answer_held(Many *m)
{
    unsigned num = m->num;

    for (unsigned i = 0; i < num; i++) {
        dns_send_reply(&m->d, m->held[i].msg, m->held[i].len,
                       &m->held[i].from);
        /* No more at a time than a socket's buffer holds */
        if (i % 64 == 0 || i == num - 1) {
            fx_pump(m->d.fx);
            hold(m);
        }
    }
    m->num -= num;
    memmove(m->held, m->held + num, m->num * sizeof(m->held[0]));
}

/*
 * The same, once there is something to answer.  What was asked while it
 * answered may have been held with nothing left that would wake up.
 */
static void answer_next(Many *m)
{
    if (!m->num) {
        fx_wait_any(m->d.fx);
        hold(m);
    }
    answer_held(m);
}

static Many *many_new(void)
{
    Many *m = g_new0(Many, 1);
    Fx *fx;

    m->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    dns_init(&m->d, false);
    fx = m->d.fx;
    /* The query for the NAT64 prefix is none of ours */
    while (!fx->srv->nat64_due_ms || fx->srv->nat64_asking) {
        fx_wait_any(fx);
    }
    /* It reads when a test does, and shall lose nothing till then */
    g_assert_cmpint(setsockopt(m->d.fd, SOL_SOCKET, SO_RCVBUFFORCE,
                               &(int) { 8 << 20 }, sizeof(int)), ==, 0);
    fx->extra = hold;
    fx->extra_opaque = m;
    return m;
}

static void many_free(Many *m)
{
    dns_clear(&m->d);
    g_hash_table_destroy(m->seen);
    g_free(m);
}

/* The query number i; @pad: a long name */
static size_t make_query(uint8_t buf[2 + DNS_QUERY_MAX], unsigned i,
                         uint16_t type, bool pad)
{
    g_autofree char *label = g_strnfill(pad ? 60 : 1, 'x');
    g_autofree char *text = g_strdup_printf("n%u.%s.%s.%s.example", i, label,
                                            label, label);
    DnsQuestion question = { .type = type, .qclass = DNS_CLASS_IN };
    size_t len;

    g_assert_cmpint(dns_name_from_text(&question.name, text), ==, 0);
    len = dns_query_build(buf + 2, &question, DNS_FLAG_RD, false);
    dns_msg_set_id(buf + 2, i);
    buf[0] = len >> 8;
    buf[1] = len;
    return 2 + len;
}

static void ask(Many *m, uint32_t handle, unsigned i, uint16_t type, bool pad)
{
    uint8_t query[2 + DNS_QUERY_MAX];
    size_t len = make_query(query, i, type, pad) - 2;
    FxReply r = fx_sendto(m->d.fx, handle, m->d.fx->resolver4, 53, query + 2,
                          len);

    fx_ok(r);
    g_assert_cmpuint(r.value, ==, len);
    hold(m);
}

static void ask_range(Many *m, uint32_t handle, unsigned from, unsigned to)
{
    fx_ok(fx_socket(m->d.fx, handle, 1, SOCK_DGRAM));
    for (unsigned i = from; i < to; i++) {
        ask(m, handle, i, TYPE_A, false);
    }
}

/* Reads what is there; each answer says yes, and comes once. */
static unsigned read_answers(Fx *fx, uint32_t handle, bool *answered)
{
    uint8_t msg[512];
    unsigned num = 0;
    FxReply r;

    while (!(r = fx_recv(fx, handle, msg, sizeof(msg), 0)).error) {
        unsigned id = msg[0] << 8 | msg[1];

        g_assert_cmpuint(msg[3] & 15, ==, 0);
        g_assert_false(answered[id]);
        answered[id] = true;
        num++;
    }
    g_assert_cmpint(r.error, ==, EAGAIN);
    return num;
}

/* A and AAAA of a thousand names on one socket: all are answered. */
static void test_burst(void)
{
    bool answered[2 * NAMES] = { false };
    unsigned got = 0;
    Many *m = many_new();
    Fx *fx = m->d.fx;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    for (unsigned i = 0; i < 2 * NAMES; i++) {
        ask(m, 0, i, i % 2 ? TYPE_AAAA : TYPE_A, false);
    }
    /* One socket's part is out, and the rest waits */
    g_assert_cmpuint(m->num, ==, HALF);
    while (got < 2 * NAMES) {
        answer_next(m);
        got += read_answers(fx, 0, answered);
    }
    g_assert_cmpuint(fx_counters(fx)->queries_waited, ==, 2 * NAMES - HALF);
    g_assert_cmpuint(fx_counters(fx)->dropped_dns_wait_full, ==, 0);
    g_assert_cmpuint(fx_counters(fx)->dropped_dns_queue_full, ==, 0);
    g_assert_cmpuint(fx->srv->dns_wait_bytes, ==, 0);
    g_assert_cmpuint(fx->srv->dns_bytes, ==, 0);
    many_free(m);
}

/* A socket that asks for much does not hold up one that asks for little. */
static void test_fair(void)
{
    bool answered[4000] = { false };
    Many *m = many_new();
    Fx *fx = m->d.fx;

    ask_range(m, 0, 0, 1500);
    g_assert_cmpuint(m->num, ==, HALF);
    ask_range(m, 1, 2000, 3500);
    g_assert_cmpuint(m->num, ==, HALF + HALF / 2);
    ask_range(m, 2, 3999, 4000);
    g_assert_cmpuint(m->num, ==, HALF + HALF / 2 + 1);
    m->held[0] = m->held[m->num - 1];
    m->num = 1;
    answer_held(m);
    fx_wait(fx, 2, VMRPC_IN);
    g_assert_cmpuint(read_answers(fx, 2, answered), ==, 1);
    g_assert_true(answered[3999]);
    /* Those who wait are not passed by what they ask later */
    g_assert_true(fx->srv->socks[0]->dns_waits);
    g_assert_true(fx->srv->socks[1]->dns_waits);
    /* A socket that goes leaves its part to them */
    m->num = 0;
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    while (fx->srv->socks[1]->dns_waits) {
        answer_next(m);
    }
    g_assert_cmpuint(fx->srv->dns_wait_bytes, ==, 0);
    many_free(m);
}

/* With all slots taken, the next that is free is for who has none. */
static void test_turns(void)
{
    Many *m = many_new();
    Fx *fx = m->d.fx;
    unsigned num;

    for (uint32_t h = 0; h < 12; h++) {
        ask_range(m, h, h * 2000, h * 2000 + (h < 10 ? HALF >> h : 1) + 5);
    }
    g_assert_cmpuint(dns_proxy_room(fx->srv->dns_proxy), ==, 0);
    ask_range(m, 12, 65000, 65001);
    g_assert_true(fx->srv->socks[12]->dns_waits);
    num = m->num;
    /* One of the first socket's is answered */
    dns_send_reply(&m->d, m->held[0].msg, m->held[0].len, &m->held[0].from);
    while (m->num == num) {
        fx_wait_any(fx);
    }
    g_assert_cmpuint(m->num, ==, num + 1);
    g_assert_false(fx->srv->socks[12]->dns_waits);
    g_assert_cmpuint(fx->srv->socks[0]->dns_rx.length, ==, 1);
    many_free(m);
}

/* The VM has a bound, and each socket its part. */
static void test_wait_bound(void)
{
    Many *m = many_new();
    Fx *fx = m->d.fx;
    size_t part;

    for (uint32_t h = 0; h < 2; h++) {
        unsigned i = 0;

        fx_ok(fx_socket(fx, h, 1, SOCK_DGRAM));
        for (; fx_counters(fx)->dropped_dns_wait_full == h; i++) {
            g_assert_cmpuint(i, <, 10000);
            ask(m, h, i, TYPE_A, true);
        }
    }
    part = vmrpc_resolver_unsent(fx->srv->socks[0]);
    g_assert_cmpuint(part, >, VMRPC_DNS_WAIT_MAX / 2 - DNS_QUERY_MAX);
    g_assert_cmpuint(part, <=, VMRPC_DNS_WAIT_MAX / 2);
    part = vmrpc_resolver_unsent(fx->srv->socks[1]);
    g_assert_cmpuint(part, >, VMRPC_DNS_WAIT_MAX / 4 - DNS_QUERY_MAX);
    g_assert_cmpuint(fx->srv->dns_wait_bytes, <=, VMRPC_DNS_WAIT_MAX);
    /* The part of a closed socket is free again */
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpuint(fx->srv->dns_wait_bytes, ==, part);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    g_assert_cmpuint(fx->srv->dns_wait_bytes, ==, 0);
    g_assert_cmpuint(fx->srv->dns_wait.length, ==, 0);
    many_free(m);
}

/* So it is with answers that nobody reads. */
static void test_unread_bound(void)
{
    static const uint8_t bad[12] = { 1, 2, 0x28 };      /* unknown opcode */
    Fx *fx = fx_new_default();
    uint8_t msg[64];
    FxReply r;

    for (uint32_t h = 0; h < 2; h++) {
        fx_ok(fx_socket(fx, h, 1, SOCK_DGRAM));
        fx_ok(fx_addr_op(fx, VMRPC_CONNECT, h, fx->resolver4, 53));
        while (fx_counters(fx)->dropped_dns_queue_full == h) {
            fx_ok(fx_send(fx, h, bad, sizeof(bad)));
        }
        g_assert_cmpuint(fx->srv->dns_bytes, <=, VMRPC_DNS_BYTES_MAX);
    }
    g_assert_cmpuint(fx->srv->socks[0]->dns_rx.length, <=,
                     2 * fx->srv->socks[1]->dns_rx.length + 2);
    /* Others have theirs */
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 2, fx->resolver4, 53, bad, sizeof(bad)));
    r = fx_recv(fx, 2, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, sizeof(bad));
    fx_free(fx);
}

/* Sends what fits of @len bytes; returns how many. */
static size_t send_some(Fx *fx, const uint8_t *data, size_t len)
{
    size_t sent = 0;

    while (sent < len) {
        FxReply r = fx_send(fx, 0, data + sent, len - sent);

        if (r.error) {
            g_assert_cmpint(r.error, ==, EAGAIN);
            g_assert_cmphex(fx->sock[0].ready & VMRPC_OUT, ==, 0);
            break;
        }
        sent += r.value;
    }
    return sent;
}

/* Reads what is there of a stream; returns how many answers that completes. */
static unsigned read_stream(Fx *fx, GByteArray *in, bool *answered)
{
    uint8_t buf[4096];
    unsigned num = 0;
    size_t len;
    FxReply r;

    while (!(r = fx_recv(fx, 0, buf, sizeof(buf), 0)).error && r.value) {
        g_byte_array_append(in, buf, r.value);
    }
    while (in->len >= 2 &&
           in->len >= (len = 2 + (in->data[0] << 8 | in->data[1]))) {
        unsigned id = in->data[2] << 8 | in->data[3];

        g_assert_cmpuint(in->data[5] & 15, ==, 0);
        g_assert_false(answered[id]);
        answered[id] = true;
        g_byte_array_remove_range(in, 0, len);
        num++;
    }
    return num;
}

/* A stream's sender is held up until there is room, and loses nothing. */
static void test_stream(void)
{
    enum { QUERIES = 6000 };
    g_autoptr(GByteArray) out = g_byte_array_new();
    g_autoptr(GByteArray) in = g_byte_array_new();
    g_autofree bool *answered = g_new0(bool, QUERIES);
    uint8_t query[2 + DNS_QUERY_MAX];
    unsigned got = 0, held_up = 0;
    Many *m = many_new();
    Fx *fx = m->d.fx;
    size_t sent = 0;

    for (unsigned i = 0; i < QUERIES; i++) {
        g_byte_array_append(out, query,
                            make_query(query, i, TYPE_A, false));
    }
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    while (got < QUERIES) {
        sent += send_some(fx, out->data + sent, out->len - sent);
        if (sent == out->len && !fx->srv->socks[0]->shut_wr) {
            fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0));
        }
        held_up += !(fx->sock[0].ready & VMRPC_OUT);
        g_assert_cmphex(fx->sock[0].ready & VMRPC_RDHUP, ==, 0);
        answer_next(m);
        got += read_stream(fx, in, answered);
    }
    g_assert_cmpuint(held_up, >, 0);
    g_assert_cmpuint(in->len, ==, 0);
    g_assert_cmphex(fx->sock[0].ready & VMRPC_RDHUP, ==, VMRPC_RDHUP);
    g_assert_cmpuint(fx_counters(fx)->dropped_dns_queue_full, ==, 0);
    g_assert_cmpuint(fx->srv->dns_bytes, ==, 0);
    many_free(m);
}

/* An answer for which there is no memory: the stream ends, nobody waits. */
static void test_stream_breaks(void)
{
    uint8_t query[2 + DNS_QUERY_MAX], msg[512];
    size_t len = make_query(query, 1, TYPE_A, false);
    Many *m = many_new();
    Fx *fx = m->d.fx;
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_ok(fx_send(fx, 0, query, len));
    while (!m->num) {
        fx_wait_any(fx);
    }
    /* As if others had taken it */
    fx->srv->dns_bytes += VMRPC_DNS_BYTES_MAX - 100;
    answer_held(m);
    fx_wait(fx, 0, VMRPC_HUP | VMRPC_RDHUP);
    fx->srv->dns_bytes -= VMRPC_DNS_BYTES_MAX - 100;
    g_assert_cmpuint(fx_counters(fx)->dropped_dns_queue_full, ==, 1);
    r = fx_recv(fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    fx_fails(fx_send(fx, 0, query, len), EPIPE);
    many_free(m);
}

/* An edge-triggered socket is told of each answer, as of each datagram. */
static void test_edges(void)
{
    Many *m = many_new();
    Fx *fx = m->d.fx;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx->srv->socks[0]->edge = true;
    fx->edge = true;
    for (unsigned i = 0; i < 3; i++) {
        ask(m, 0, i, TYPE_A, false);
        while (!m->num) {
            fx_wait_any(fx);
        }
        answer_held(m);
        while (fx->srv->socks[0]->dns_rx.length == i) {
            fx_wait_any(fx);
        }
        g_assert_cmpuint(fx->sock[0].events, ==, i + 1);
    }
    many_free(m);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/dns-many/unread-bound", test_unread_bound);
    if (!fx_has_namespace()) {
        /* ::1 is no address that the proxy gives to a guest */
        return g_test_run();
    }
    g_test_add_func("/vmrpc/server/dns-many/burst", test_burst);
    g_test_add_func("/vmrpc/server/dns-many/fair", test_fair);
    g_test_add_func("/vmrpc/server/dns-many/turns", test_turns);
    g_test_add_func("/vmrpc/server/dns-many/wait-bound", test_wait_bound);
    g_test_add_func("/vmrpc/server/dns-many/stream", test_stream);
    g_test_add_func("/vmrpc/server/dns-many/stream-breaks",
                    test_stream_breaks);
    g_test_add_func("/vmrpc/server/dns-many/edges", test_edges);
    return g_test_run();
}
