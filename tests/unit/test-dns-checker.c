/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client of vmmnet-validate, against a peer that is played by the test */
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listener.h"
#include "base/octets.h"
#include "net/dns/upstream/checked.h"
#include "net/dns/upstream/checker.h"

#define PATIENCE_MS 180000

static char *socket_path;

typedef struct Fx {
    DnscLoop loop;
    DnsChecker *checker;
    BaseListener listener;
    int peer;
    GString *told;              /* "1 0 -1;": error, security, EDE */
    unsigned results;
    GString *news;
} Fx;

static void on_news(void *opaque, const char *trouble)
{
    Fx *fx = opaque;

    g_string_append_printf(fx->news, "%s;", trouble ?: "back");
}

static void on_checked(void *opaque, DnscResult *r)
{
    Fx *fx = opaque;

    fx->results++;
    g_string_append_printf(fx->told, "%d %d %d %s;", r->error, r->security,
                           r->ede, r->reason);
    dnsc_result_unref(r);
}

static Fx *fx_new(bool wants_bogus)
{
    Fx *fx = g_new0(Fx, 1);

    fx->told = g_string_new("");
    fx->news = g_string_new("");
    fx->peer = -1;
    g_assert_cmpint(base_listener_open(&fx->listener, socket_path, 0600), ==,
                    0);
    g_assert_cmpint(dnsc_loop_attach(&fx->loop), ==, 0);
    fx->checker = dns_checker_new(&fx->loop, &(DnsCheckerOptions) {
        .path = socket_path, .wants_bogus = wants_bogus, .news = on_news,
        .opaque = fx,
    });
    return fx;
}

static void fx_free(Fx *fx)
{
    dns_checker_free(fx->checker);
    dnsc_loop_detach(&fx->loop);
    dnsc_loop_free(&fx->loop);
    base_listener_close(&fx->listener);
    if (fx->peer >= 0) {
        close(fx->peer);
    }
    g_string_free(fx->told, TRUE);
    g_string_free(fx->news, TRUE);
    g_free(fx);
}

static void turn(Fx *fx)
{
    struct pollfd ready = { .fd = fx->loop.epoll, .events = POLLIN };
    int wait_ms = dnsc_loop_timeout_ms(&fx->loop);

    g_assert_cmpint(poll(&ready, 1, wait_ms >= 0 ? wait_ms : PATIENCE_MS), >=,
                    wait_ms < 0);
    dnsc_loop_run(&fx->loop);
}

static void meet(Fx *fx)
{
    if (fx->peer >= 0) {
        close(fx->peer);
    }
    fx->peer = accept(fx->listener.fd, NULL, NULL);
    g_assert_cmpint(fx->peer, >=, 0);
}

static DnsCheck *ask(Fx *fx, const char *name)
{
    DnscQuery query = {
        .question = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN },
        .flags = DNS_FLAG_RD,
    };

    g_assert_cmpint(dns_name_from_text(&query.question.name, name), ==, 0);
    return dns_check(fx->checker, &query, on_checked, fx);
}

/* The next query that the peer gets */
static size_t hear(Fx *fx, uint8_t *query)
{
    uint8_t prefix[2];

    g_assert_cmpint(recv(fx->peer, prefix, 2, MSG_WAITALL), ==, 2);
    g_assert_cmpint(recv(fx->peer, query, get_be16(prefix), MSG_WAITALL), ==,
                    get_be16(prefix));
    return get_be16(prefix);
}

typedef struct Reply {
    uint16_t id_differs;
    uint16_t flags;             /* besides QR, RD, RA */
    int ede;                    /* -1: none */
    const char *name;           /* another question; NULL: that of the query */
    bool has_data;
    bool has_no_question;
    unsigned cut;               /* octets that are missing at its end */
} Reply;

static size_t make_reply(const uint8_t *query, size_t len, const Reply *how,
                         uint8_t *buf)
{
    DnsEdns edns = {
        .udp_size = DNS_UDP_ADVERTISED, .has_ede = how->ede >= 0,
        .ede = how->ede, .ede_text = "why\x01", .ede_text_len = 4,
    };
    DnsQuestion q;
    DnsCursor cursor;
    DnsHeader header;
    DnsBuilder b;

    dns_header_parse(query, len, &header);
    dns_cursor_init(&cursor, query, len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    if (how->name) {
        dns_name_from_text(&q.name, how->name);
    }
    dns_builder_init(&b, buf + 2, DNS_UDP_MIN, header.id ^ how->id_differs,
                     DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA | how->flags);
    if (!how->has_no_question) {
        dns_builder_question(&b, &q);
    }
    if (how->has_data) {
        dns_builder_a(&b, DNS_SECTION_ANSWER, &q.name, 300,
                      (struct in_addr) { htonl(0xc0000201) });
    }
    dns_builder_edns(&b, &edns);
    put_be16(buf, b.len - how->cut);
    return 2 + b.len - how->cut;
}

static void reply(Fx *fx, const Reply *how)
{
    uint8_t query[DNS_UDP_MIN], buf[2 + DNS_UDP_MIN];
    size_t len = make_reply(query, hear(fx, query), how, buf);

    g_assert_cmpint(send(fx->peer, buf, len, 0), ==, len);
}

static void wait_results(Fx *fx, unsigned results)
{
    while (fx->results < results) {
        turn(fx);
    }
}

static void test_verdicts(void)
{
    static const struct {
        Reply how;
        bool wants_bogus;
        const char *told;
    } cases[] = {
        { { .flags = DNS_FLAG_AD, .ede = -1, .has_data = true }, false,
          "0 2 -1 ;" },
        { { .ede = -1, .has_data = true }, false, "0 1 -1 ;" },
        { { .ede = 5, .has_data = true }, false, "0 0 -1 ;" },
        { { .flags = DNS_RCODE_SERVFAIL, .ede = 7 }, false, "3 3 7 why?;" },
        { { .flags = DNS_RCODE_SERVFAIL, .ede = 12 }, true, "3 3 12 why?;" },
        { { .ede = 6, .has_data = true }, true, "0 3 6 why?;" },
        { { .flags = DNS_RCODE_SERVFAIL, .ede = 22 }, false,
          "4 0 -1 no server answered in time;" },
        { { .flags = DNS_RCODE_SERVFAIL, .ede = 23 }, false,
          "7 0 -1 there is no way to any server;" },
        { { .flags = DNS_RCODE_SERVFAIL, .ede = -1 }, false,
          "5 0 -1 the servers have failed;" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Fx *fx = fx_new(cases[i].wants_bogus);

        ask(fx, "a.example");
        meet(fx);
        reply(fx, &cases[i].how);
        wait_results(fx, 1);
        g_assert_cmpstr(fx->told->str, ==, cases[i].told);
        g_assert_cmpstr(fx->news->str, ==, "");
        fx_free(fx);
    }
}

/* Each of these ends the connection and all checks, and it is met again. */
static void test_lies(void)
{
    static const Reply lies[] = {
        { .id_differs = 1, .ede = -1, .has_data = true },
        /* the slot is right, the generation is not */
        { .id_differs = DNS_CHECKS_MAX, .ede = -1, .has_data = true },
        { .name = "b.example", .ede = -1, .has_data = true },
        { .has_no_question = true, .ede = -1 },
        { .cut = 1, .ede = -1, .has_data = true },
        { .cut = 40, .ede = -1, .has_data = true },
        { .flags = DNS_FLAG_TC, .ede = -1 },
        { .flags = DNS_FLAGS_OPCODE, .ede = -1 },
        { .flags = DNS_FLAG_AD, .ede = 6, .has_data = true },
        { .flags = DNS_FLAG_AD | DNS_RCODE_SERVFAIL, .ede = -1 },
        /* bogus data, which were not asked for */
        { .ede = 6, .has_data = true },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
        Fx *fx = fx_new(false);

        ask(fx, "a.example");
        ask(fx, "c.example");
        meet(fx);
        reply(fx, &lies[i]);
        wait_results(fx, 2);
        g_assert_cmpstr(fx->told->str, ==,
                        "7 0 -1 vmmnet-validate is away;"
                        "7 0 -1 vmmnet-validate is away;");
        g_assert_cmpstr(fx->news->str, ==, "its reply is wrong;");
        g_assert_cmpuint(dns_checker_room(fx->checker), ==, DNS_CHECKS_MAX);
        while (strcmp(fx->news->str, "its reply is wrong;back;")) {
            turn(fx);
        }
        meet(fx);
        ask(fx, "a.example");
        reply(fx, &(Reply) { .ede = -1, .has_data = true });
        wait_results(fx, 3);
        g_assert_true(g_str_has_suffix(fx->told->str, ";0 1 -1 ;"));
        g_assert_cmpuint(dns_checker_outages(fx->checker), ==, 1);
        fx_free(fx);
    }
}

/* Replies to no check: none was asked, or it is over */
static void test_unasked(void)
{
    Fx *fx = fx_new(false);
    uint8_t query[DNS_UDP_MIN], buf[2 + DNS_UDP_MIN];
    size_t len;

    ask(fx, "a.example");
    meet(fx);
    len = make_reply(query, hear(fx, query),
                     &(Reply) { .ede = -1, .has_data = true }, buf);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(send(fx->peer, buf, len, 0), ==, len);
    }
    while (!fx->news->len) {
        turn(fx);
    }
    g_assert_cmpstr(fx->told->str, ==, "0 1 -1 ;");
    g_assert_cmpstr(fx->news->str, ==, "its reply is wrong;");
    fx_free(fx);
}

/* It goes at every octet of a reply. */
static void test_cut_off(void)
{
    uint8_t query[DNS_UDP_MIN], buf[2 + DNS_UDP_MIN];
    size_t len, cut = 0;

    do {
        Fx *fx = fx_new(false);

        ask(fx, "a.example");
        meet(fx);
        len = make_reply(query, hear(fx, query),
                         &(Reply) { .ede = -1, .has_data = true }, buf);
        g_assert_cmpint(send(fx->peer, buf, cut, 0), ==, cut);
        close(fx->peer);
        fx->peer = -1;
        wait_results(fx, 1);
        g_assert_cmpstr(fx->told->str, ==, cut < len
                        ? "7 0 -1 vmmnet-validate is away;" : "0 1 -1 ;");
        fx_free(fx);
    } while (cut++ < len);
}

/* An octet at a time, and many replies at once, in another order */
static void test_pipelined(void)
{
    uint8_t query[DNS_UDP_MIN], buf[64][2 + DNS_UDP_MIN];
    size_t len[64];
    Fx *fx = fx_new(false);

    for (int i = 0; i < 64; i++) {
        g_autofree char *name = g_strdup_printf("n%d.example", i);

        ask(fx, name);
    }
    meet(fx);
    for (int i = 0; i < 64; i++) {
        len[i] = make_reply(query, hear(fx, query),
                            &(Reply) { .ede = -1, .has_data = true }, buf[i]);
    }
    for (size_t at = 0; at < len[63]; at++) {
        g_assert_cmpint(send(fx->peer, buf[63] + at, 1, 0), ==, 1);
        turn(fx);
    }
    g_assert_cmpuint(fx->results, ==, 1);
    for (int i = 62; i >= 0; i--) {
        g_assert_cmpint(send(fx->peer, buf[i], len[i], 0), ==, len[i]);
    }
    wait_results(fx, 64);
    g_assert_cmpstr(fx->news->str, ==, "");
    fx_free(fx);
}

/* More than the socket takes: nothing waits, and all of it arrives. */
static void test_full(void)
{
    uint8_t query[DNS_UDP_MIN];
    Fx *fx = fx_new(false);
    unsigned count = 0;

    while (dns_checker_room(fx->checker)) {
        g_autofree char *label = g_strnfill(60, 'x');
        g_autofree char *name = g_strdup_printf("n%u.%s.%s.%s.example",
                                                count++, label, label, label);
        DnsCheck *check = ask(fx, name);

        if (count % 3 == 0) {
            dns_check_cancel(check);
        }
    }
    g_assert_cmpuint(count, ==, DNS_CHECKS_MAX);
    g_assert_null(ask(fx, "one.too.many.example"));
    meet(fx);
    for (unsigned i = 0; i < count; i++) {
        struct pollfd ready = { .fd = fx->peer, .events = POLLIN };
        uint8_t buf[2 + DNS_UDP_MIN];
        size_t len;

        while (!poll(&ready, 1, 0)) {
            turn(fx);
        }
        len = make_reply(query, hear(fx, query),
                         &(Reply) { .ede = -1, .has_data = true }, buf);
        g_assert_cmpint(send(fx->peer, buf, len, 0), ==, len);
        if (i % 100 == 0) {
            turn(fx);
        }
    }
    wait_results(fx, count - count / 3);
    while (dns_checker_room(fx->checker) < DNS_CHECKS_MAX) {
        turn(fx);
    }
    g_assert_cmpstr(fx->news->str, ==, "");
    fx_free(fx);
}

/* A peer that takes queries and does not answer is as one that has gone. */
static void test_silent(void)
{
    Fx *fx = fx_new(false);

    ask(fx, "a.example");
    meet(fx);
    wait_results(fx, 1);
    g_assert_cmpstr(fx->told->str, ==, "7 0 -1 vmmnet-validate is away;");
    g_assert_cmpstr(fx->news->str, ==, "it does not answer;");
    fx_free(fx);
}

/* One that hangs up on whom it does not know: that is told once. */
static void test_refused(void)
{
    Fx *fx = fx_new(false);

    for (int i = 0; i < 4; i++) {
        struct pollfd come = { .fd = fx->listener.fd, .events = POLLIN };

        while (!poll(&come, 1, 0)) {
            turn(fx);
        }
        meet(fx);
        close(fx->peer);
        fx->peer = -1;
        /* Until the hang-up was noticed */
        ask(fx, "a.example");
        wait_results(fx, i + 1);
    }
    g_assert_cmpstr(fx->news->str, ==, "it has hung up;");
    g_assert_cmpuint(dns_checker_outages(fx->checker), ==, 1);
    fx_free(fx);
}

static void test_paths(void)
{
    g_autofree char *longest = g_strnfill(107, 'x');
    g_autofree char *longer = g_strnfill(108, 'x');

    g_assert_true(dns_checker_path_is_right(longest));
    g_assert_false(dns_checker_path_is_right(longer));
    g_assert_false(dns_checker_path_is_right(""));
}

int main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("dns-checker-XXXXXX", NULL);
    int ret;

    socket_path = g_build_filename(folder, "socket", NULL);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/checker/verdicts", test_verdicts);
    g_test_add_func("/dns/checker/lies", test_lies);
    g_test_add_func("/dns/checker/unasked", test_unasked);
    g_test_add_func("/dns/checker/cut-off", test_cut_off);
    g_test_add_func("/dns/checker/pipelined", test_pipelined);
    g_test_add_func("/dns/checker/full", test_full);
    g_test_add_func("/dns/checker/silent", test_silent);
    g_test_add_func("/dns/checker/refused", test_refused);
    g_test_add_func("/dns/checker/paths", test_paths);
    ret = g_test_run();
    rmdir(folder);
    g_free(socket_path);
    return ret;
}
