/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: one connect() of the guest, several addresses of the name
 *
 * A dead address is a listener whose queue is full: Linux drops what comes
 * then.  Were it waited for, the tests would end after FX_WAIT_MS.
 */
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

/* 198.51.100.5, behind the fixture's NAT64 */
#define OTHER4  "::ffff:198.51.100.5"
#define OTHER6  FX_NAT64 "c633:6405"

/* Bound, and with a backlog >= 0 listening; @port 0: any. */
static int server_at(const char *addr6, uint16_t *port, int backlog)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(*port) };
    socklen_t len = sizeof(sin6);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    inet_pton(AF_INET6, addr6, &sin6.sin6_addr);
    /* A connection of an earlier test may linger at the port (TIME_WAIT). */
    g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one,
                               sizeof(one)), ==, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, len), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin6, &len), ==, 0);
    g_assert_true(backlog < 0 || listen(fd, backlog) == 0);
    *port = ntohs(sin6.sin6_port);
    return fd;
}

/* Whoever connects from now on hears nothing. */
static int fill(const char *addr6, uint16_t port)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(port) };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET6, addr6, &sin6.sin6_addr);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==,
                    0);
    return fd;
}

/* A name with the peer's address and another one. */
typedef struct World {
    Fx *fx;
    uint16_t port;
    int first, filler;          /* at the peer's address */
    int other;
} World;

enum { DEAD, CLOSED };

static World *world_new(int first, bool other_lives, const char *policy)
{
    World *w = g_new0(World, 1);
    VmrpcNameAddr addrs[2] = { { .ttl_s = 60 }, { .ttl_s = 60 } };
    DnsName name;

    w->fx = fx_new(&(FxOptions) { .policy = policy, .nat64 = true });
    w->first = server_at(fx_peer6, &w->port, first == DEAD ? 0 : -1);
    w->filler = first == DEAD ? fill(fx_peer6, w->port) : -1;
    w->other = server_at(OTHER6, &w->port, other_lives ? 5 : -1);
    dns_name_from_text(&name, "both.test");
    inet_pton(AF_INET6, fx_peer6, &addrs[0].addr6);
    inet_pton(AF_INET6, OTHER4, &addrs[1].addr6);
    vmrpc_names_note(w->fx->srv->reach.names, &name, addrs, 2,
                     vmrpc_now_ms());
    return w;
}

static void world_free(World *w)
{
    g_assert_cmpuint(w->fx->srv->attempt_num, ==, 0);
    fx_free(w->fx);
    close(w->first);
    if (w->filler >= 0) {
        close(w->filler);
    }
    close(w->other);
    g_free(w);
}

static FxReply start(World *w)
{
    fx_ok(fx_socket(w->fx, 0, 1, SOCK_STREAM));
    return fx_addr_op(w->fx, VMRPC_CONNECT, 0, w->fx->peer4, w->port);
}

/* The guest has its connection, and sees nothing but that. */
static void assert_connected(World *w)
{
    int fd = accept(w->other, NULL, NULL);
    Fx *fx = w->fx;
    char buf[5];
    FxReply r;

    g_assert_cmpint(fd, >=, 0);
    r = fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0);
    fx_ok(r);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->peer4.s_addr);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, w->port);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->guest4.s_addr);
    fx_ok(fx_send(fx, 0, "hello", 5));
    peer_read(fd, buf, 5);
    g_assert_cmpmem(buf, 5, "hello", 5);
    /* told of what comes, too: it is watched like any other */
    g_assert_cmpint(write(fd, "world", 5), ==, 5);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx_recv(fx, 0, buf, 5, 0).value, ==, 5);
    g_assert_cmpmem(buf, 5, "world", 5);
    close(fd);
    fx_wait(fx, 0, VMRPC_RDHUP);
    g_assert_cmpuint(fx->sock[0].so_errors, ==, 0);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
}

static void test_dead_first(void)
{
    World *w = world_new(DEAD, true, "allow host\n");
    unsigned before = fx_open_fds();
    FxReply r = start(w);

    fx_fails(r, EINPROGRESS);
    g_assert_cmphex(r.ready, ==, 0);
    g_assert_cmpuint(fx_counters(w->fx)->connections_raced, ==, 0);
    fx_wait(w->fx, 0, VMRPC_OUT);
    g_assert_cmphex(w->fx->sock[0].ready, ==, VMRPC_OUT);
    g_assert_cmpuint(fx_counters(w->fx)->connections_raced, ==, 1);
    g_assert_cmpuint(fx_counters(w->fx)->connections_raced_won, ==, 1);
    /* nothing of the race is left but the one socket */
    g_assert_cmpuint(fx_open_fds(), ==, before + 1);
    g_assert_null(w->fx->srv->socks[0]->race);
    assert_connected(w);
    g_assert_cmpuint(fx_open_fds(), ==, before);
    world_free(w);
}

/* One that refuses is not waited for. */
static void test_closed_first(void)
{
    World *w = world_new(CLOSED, true, "allow host\n");
    FxReply r = start(w);

    if (r.error) {
        fx_fails(r, EINPROGRESS);
        fx_wait(w->fx, 0, VMRPC_OUT);
    }
    assert_connected(w);
    world_free(w);
}

/* If all fail the guest gets what it would have got from the one it named. */
static void test_none(void)
{
    World *w = world_new(CLOSED, false, "allow host\n");
    FxReply r = start(w);

    if (r.error == EINPROGRESS) {
        g_assert_cmpint(fx_wait_error(w->fx, 0), ==, ECONNREFUSED);
    } else {
        fx_fails(r, ECONNREFUSED);
    }
    g_assert_cmpuint(fx_counters(w->fx)->connections_raced, ==, 1);
    g_assert_cmpuint(fx_counters(w->fx)->connections_raced_won, ==, 0);
    world_free(w);
}

/* What is connecting behaves so, whatever its host sockets do. */
static void test_calls_meanwhile(void)
{
    World *w = world_new(DEAD, true, "allow host\n");
    Fx *fx = w->fx;
    char buf[4];

    fx_fails(start(w), EINPROGRESS);
    g_assert_nonnull(fx->srv->socks[0]->race);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port), EALREADY);
    fx_fails(fx_send(fx, 0, "x", 1), EAGAIN);
    fx_fails(fx_recv(fx, 0, buf, 1, 0), EAGAIN);
    fx_fails(fx_op(fx, VMRPC_LISTEN, 0, 1, 0), EINVAL);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0), EINVAL);
    fx_fails(fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0), ENOTCONN);
    fx_wait(fx, 0, VMRPC_OUT);
    assert_connected(w);
    world_free(w);
}

/* Also if the first attempt, whose socket the guest asks, has failed. */
static void test_state_meanwhile(void)
{
    World *w = world_new(CLOSED, true, "allow host\n");
    uint8_t state;
    int filler;

    g_assert_cmpint(listen(w->other, 0), ==, 0);
    filler = fill(OTHER6, w->port);
    fx_fails(start(w), EINPROGRESS);
    fx_pump(w->fx);
    g_assert_nonnull(w->fx->srv->socks[0]->race);
    fx_ok(fx_getsockopt(w->fx, 0, IPPROTO_TCP, TCP_INFO, &state, 1));
    g_assert_cmpuint(state, ==, TCP_SYN_SENT);
    fx_ok(fx_op(w->fx, VMRPC_CLOSE, 0, 0, 0));
    close(filler);
    world_free(w);
}

static void set_option(Fx *fx, int level, int name, uint32_t value)
{
    value = GUINT32_TO_LE(value);
    fx_ok(fx_setsockopt(fx, 0, level, name, &value, sizeof(value)));
}

/* The connection has the options that were set before, */
static void test_options(void)
{
    World *w = world_new(DEAD, true, "allow host\n");
    Fx *fx = w->fx;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    set_option(fx, SOL_SOCKET, SO_KEEPALIVE, 1);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port),
             EINPROGRESS);
    fx_wait(fx, 0, VMRPC_OUT);
    g_assert_cmpuint(fx_counters(fx)->connections_raced_won, ==, 1);
    g_assert_cmpint(fx_getsockopt_int(fx, 0, SOL_SOCKET, SO_KEEPALIVE), ==, 1);
    assert_connected(w);
    world_free(w);
}

/* and those that came when both attempts were under way. */
static void test_late_options(void)
{
    World *w = world_new(DEAD, false, "allow host\n");
    Fx *fx = w->fx;
    int filler;

    g_assert_cmpint(listen(w->other, 0), ==, 0);
    filler = fill(OTHER6, w->port);
    fx_fails(start(w), EINPROGRESS);
    while (fx->srv->attempt_num == 0) {
        fx_wait_any(fx);
    }
    set_option(fx, IPPROTO_TCP, TCP_NODELAY, 1);
    /* room for it: it is tried again */
    close(accept(w->other, NULL, NULL));
    fx_wait(fx, 0, VMRPC_OUT);
    g_assert_cmpuint(fx_counters(fx)->connections_raced_won, ==, 1);
    g_assert_cmpint(fx_getsockopt_int(fx, 0, IPPROTO_TCP, TCP_NODELAY), ==, 1);
    assert_connected(w);
    close(filler);
    world_free(w);
}

/* An address that was allowed when connect() began is judged again later. */
static void test_allowed_no_more(void)
{
    static const char text[] = "deny 198.51.100.5\nallow host\n";
    World *w = world_new(DEAD, true, "allow host\n");
    Fx *fx = w->fx;
    VmrpcPolicy *old = fx->srv->reach.policy;

    fx_fails(start(w), EINPROGRESS);
    fx->srv->reach.policy = vmrpc_policy_parse(text, strlen(text), "new", NULL);
    g_assert_nonnull(fx->srv->reach.policy);
    vmrpc_policy_free(old);
    /* room for it at the address that was named: it is tried again */
    close(accept(w->first, NULL, NULL));
    fx_wait(fx, 0, VMRPC_OUT);
    g_assert_cmpuint(fx_counters(fx)->connections_raced, ==, 0);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    world_free(w);
}

/* "established=close" also ends what another address wins afterwards. */
static void test_ended(void)
{
    static const char text[] = "deny 198.51.100.5\nallow host\n";
    World *w = world_new(DEAD, true, "allow host\n");
    Fx *fx = w->fx;
    VmrpcPolicy *old = fx->srv->reach.policy;
    int filler;

    close(w->other);
    w->other = server_at(OTHER6, &w->port, 0);
    filler = fill(OTHER6, w->port);
    fx_fails(start(w), EINPROGRESS);
    while (fx->srv->attempt_num == 0) {
        fx_wait_any(fx);
    }
    fx->srv->reach.policy = vmrpc_policy_parse(text, strlen(text), "new", NULL);
    vmrpc_policy_free(old);
    vmrpc_server_end_refused(fx->srv);
    /* The address that was named is allowed. */
    g_assert_cmpuint(fx_counters(fx)->connections_ended, ==, 0);
    close(accept(w->other, NULL, NULL));
    fx_wait(fx, 0, VMRPC_OUT);
    fx_fails(fx_send(fx, 0, "x", 1), EPIPE);
    g_assert_cmpuint(fx_counters(fx)->connections_ended, ==, 1);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    close(filler);
    world_free(w);
}

/* Gives up at any moment: nothing stays. */
static void test_given_up(void)
{
    World *w = world_new(DEAD, false, "allow host\n");
    Fx *fx = w->fx;
    unsigned before = fx_open_fds();

    close(w->other);
    w->other = server_at(OTHER6, &w->port, 0);
    for (int how = 0; how < 4; how++) {
        int filler = fill(OTHER6, w->port);

        fx_fails(start(w), EINPROGRESS);
        while (how && fx->srv->attempt_num == 0) {
            fx_wait_any(fx);
        }
        switch (how) {
        case 2:
            fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));   /* AF_UNSPEC */
            g_assert_cmpuint(fx->srv->attempt_num, ==, 0);
            fx_fails(fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0), ENOTCONN);
            break;
        case 3:
            fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_RDWR, 0));
            g_assert_cmpuint(fx->srv->attempt_num, ==, 0);
        }
        fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
        g_assert_cmpuint(fx->srv->attempt_num, ==, 0);
        close(filler);
        close(accept(w->other, NULL, NULL));
        g_assert_cmpuint(fx_open_fds(), ==, before);
    }
    /* and with the whole VM */
    fx_fails(start(w), EINPROGRESS);
    vmrpc_server_reset(fx->srv);
    g_assert_cmpuint(fx_open_fds(), ==, before);
    world_free(w);
}

/* shutdown() ends it, whichever attempt is under way. */
static void test_shut(void)
{
    static const struct {
        int first;
        bool races, bound, second;
    } cases[] = {
        { DEAD },                   /* one address, as any connect() */
        { DEAD, true },
        { DEAD, true, false, true },
        { CLOSED, true, false, true },
        { DEAD, true, true },
        { CLOSED, true, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases) * 3; i++) {
        unsigned n = i / 3, before;
        World *w = world_new(cases[n].first, false, "allow host\n");
        Fx *fx = w->fx;
        int filler;
        FxReply r;

        close(w->other);
        w->other = server_at(OTHER6, &w->port, 0);
        filler = fill(OTHER6, w->port);
        fx->srv->config.happy_eyeballs = cases[n].races;
        fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
        if (cases[n].bound) {
            fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 40003));
        }
        before = fx_open_fds();
        r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port);
        fx_fails(r, EINPROGRESS);
        while (cases[n].second && fx->srv->attempt_num == 0) {
            fx_wait_any(fx);
        }
        fx_shut_connecting(fx, 0, i % 3);
        g_assert_cmpuint(fx->srv->attempt_num, ==, 0);
        g_assert_cmpuint(fx_open_fds(), ==, before);
        if (cases[n].bound) {
            r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
            g_assert_cmpuint(ntohs(r.addr.sin_port), ==, 40003);
        }
        /* Another connect() begins anew. */
        close(filler);
        close(accept(w->other, NULL, NULL));
        fx->srv->config.happy_eyeballs = true;
        fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port),
                 EINPROGRESS);
        fx_wait(fx, 0, VMRPC_OUT);
        close(accept(w->other, NULL, NULL));
        fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
        world_free(w);
    }
}

static struct {
    unsigned num;
    char text[160];             /* destination, name, reason */
    unsigned port;
} refused;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    refused.num++;
    g_snprintf(refused.text, sizeof(refused.text), "%s %s %s",
               refusal->dest ?: "-", refusal->name ?: "-", refusal->reason);
    refused.port = refusal->port;
}

/* A guest's connect() whose second attempt @policy refuses, for @reason. */
static void assert_refused(const char *policy, unsigned bound,
                           const char *reason, size_t counter)
{
    World *w = world_new(CLOSED, true, policy);
    VmrpcTracer tracer = { .refused = trace_refused };
    g_autofree char *text = g_strdup_printf(OTHER6 " both.test %s", reason);
    Fx *fx = w->fx;
    FxReply r;

    memset(&refused, 0, sizeof(refused));
    vmrpc_server_set_tracer(fx->srv, &tracer);
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    if (bound) {
        fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, bound));
    }
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port);
    if (r.error == EINPROGRESS) {
        g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNREFUSED);
    } else {
        fx_fails(r, ECONNREFUSED);
    }
    g_assert_cmpuint(fx_counters(fx)->connections_raced, ==, 0);
    g_assert_cmpuint(G_STRUCT_MEMBER(uint64_t, fx_counters(fx), counter), ==,
                     1);
    g_assert_cmpuint(refused.num, ==, 1);
    g_assert_cmpstr(refused.text, ==, text);
    g_assert_cmpuint(refused.port, ==, w->port);
    world_free(w);
}

/*
 * An attempt is a connection: limits hold for it.  What they refuse is counted,
 * and traced with where it would have gone.
 */
static void test_limits(void)
{
    size_t sockets = offsetof(VmrpcCounters, sockets_refused_limit);
    size_t connections = offsetof(VmrpcCounters, connections_refused_limit);
    size_t buffers = offsetof(VmrpcCounters, buffers_refused_limit);

    assert_refused("allow host\nlimit sockets 1\n", 0, "limit-sockets",
                   sockets);
    assert_refused("allow host\nlimit connections 1/s burst 1\n", 0,
                   "limit-connections", connections);
    assert_refused("allow host\nlimit buffers 256K\n", 0, "limit-buffers",
                   buffers);
    /* by turns, on the socket that is there */
    assert_refused("allow host\nlimit connections 1/s burst 1\n", 40003,
                   "limit-connections", connections);
}

/* And so do rules: where a rule forbids it, there is nothing to try. */
static void test_policy(void)
{
    World *w = world_new(CLOSED, true, "deny 198.51.100.0/24\nallow host\n");
    FxReply r = start(w);

    if (r.error == EINPROGRESS) {
        g_assert_cmpint(fx_wait_error(w->fx, 0), ==, ECONNREFUSED);
    } else {
        fx_fails(r, ECONNREFUSED);
    }
    g_assert_cmpuint(fx_counters(w->fx)->connections_raced, ==, 0);
    world_free(w);
}

/* Limits are those of sockets that are there: a race gives back. */
static void test_buffers(void)
{
    World *w = world_new(DEAD, true, "allow host\nlimit buffers 1M\n");

    fx_fails(start(w), EINPROGRESS);
    fx_wait(w->fx, 0, VMRPC_OUT);
    g_assert_cmpuint(w->fx->srv->reach.limits.buffers, ==, 256 << 10);
    assert_connected(w);
    g_assert_cmpuint(w->fx->srv->reach.limits.buffers, ==, 0);
    world_free(w);
}

/* --- in turn ------------------------------------------------------------- */

/* The guest knows its port, and the peer sees it. */
static void connect_bound(World *w, unsigned port)
{
    Fx *fx = w->fx;
    struct sockaddr_in6 from;
    socklen_t len = sizeof(from);
    unsigned fds;
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, port);
    fx_ok(r);
    port = ntohs(r.addr.sin_port);
    fds = fx_open_fds();
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port);
    if (r.error) {
        fx_fails(r, EINPROGRESS);
        /* one socket, whoever it tries */
        g_assert_cmpuint(fx_open_fds(), ==, fds);
        fx_wait(fx, 0, VMRPC_OUT);
    }
    g_assert_cmpuint(fx->sock[0].so_errors, ==, 0);
    g_assert_cmpuint(fx_open_fds(), ==, fds);
    g_assert_cmpuint(fx_counters(fx)->connections_raced_won, ==, 1);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, port);
    r = fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->peer4.s_addr);
    fd = accept(w->other, (struct sockaddr *)&from, &len);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(ntohs(from.sin6_port), ==, port);
    close(fd);
    fx_wait(fx, 0, VMRPC_RDHUP);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
}

static void test_turns(void)
{
    static const struct {
        int first;
        unsigned port;
    } cases[] = { { CLOSED, 0 }, { CLOSED, 40001 }, { DEAD, 0 } };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = world_new(cases[i].first, true, "allow host\n");

        connect_bound(w, cases[i].port);
        world_free(w);
    }
}

static void test_turns_none(void)
{
    World *w = world_new(CLOSED, false, "allow host\n");
    Fx *fx = w->fx;
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 40002));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, w->port);
    if (r.error == EINPROGRESS) {
        g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNREFUSED);
    } else {
        fx_fails(r, ECONNREFUSED);
    }
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, 40002);
    world_free(w);
}

/* Where there is no choice, or it would do harm, all is as without a race. */
static void test_no_race(void)
{
    World *w = world_new(DEAD, true, "allow host\n");
    Fx *fx = w->fx;
    DnsName name;
    VmrpcNameAddr one = { .ttl_s = 60 };

    /* the latest name has one address only */
    dns_name_from_text(&name, "one.test");
    inet_pton(AF_INET6, fx_peer6, &one.addr6);
    vmrpc_names_note(fx->srv->reach.names, &name, &one, 1, vmrpc_now_ms());
    fx_fails(start(w), EINPROGRESS);
    g_assert_null(fx->srv->socks[0]->race);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    world_free(w);

    w = world_new(DEAD, true, "allow host\n");
    w->fx->srv->config.happy_eyeballs = false;
    fx_fails(start(w), EINPROGRESS);
    g_assert_null(w->fx->srv->socks[0]->race);
    world_free(w);
}

/* Another name of the peer's address, with @other beside if there is one. */
static void note_other_name(World *w, const char *text, const char *other,
                            int64_t now_ms)
{
    VmrpcNameAddr addrs[2] = { { .ttl_s = 60 }, { .ttl_s = 60 } };
    DnsName name;

    dns_name_from_text(&name, text);
    inet_pton(AF_INET6, fx_peer6, &addrs[0].addr6);
    if (other) {
        inet_pton(AF_INET6, other, &addrs[1].addr6);
    }
    vmrpc_names_note(w->fx->srv->reach.names, &name, addrs, other ? 2 : 1,
                     now_ms);
}

static void assert_raced(World *w, bool raced)
{
    fx_fails(start(w), EINPROGRESS);
    g_assert_cmpint(w->fx->srv->socks[0]->race != NULL, ==, raced);
    fx_ok(fx_op(w->fx, VMRPC_CLOSE, 0, 0, 0));
    world_free(w);
}

/*
 * Who gives a name of his own the address of another's, and one of his beside,
 * gets no connections of those who know the other's.
 */
static void test_names_of_others(void)
{
    int64_t now_ms = vmrpc_now_ms();
    World *w = world_new(DEAD, true, "allow host\n");

    /* the latest name is not the one with a single address */
    note_other_name(w, "bank.test", NULL, now_ms);
    note_other_name(w, "both.test", OTHER4, now_ms);
    assert_raced(w, false);

    /* nothing is in common but the address itself */
    w = world_new(DEAD, true, "allow host\n");
    note_other_name(w, "bank.test", "::ffff:198.51.100.6", now_ms);
    assert_raced(w, false);

    /* names that lead to the same, whether by A or by AAAA, are no harm */
    w = world_new(DEAD, true, "allow host\n");
    note_other_name(w, "www.both.test", OTHER4, now_ms);
    note_other_name(w, "aaaa.both.test", OTHER6, now_ms);
    assert_raced(w, true);

    /* one that has not been asked for lately led to the same, or did not */
    w = world_new(DEAD, true, "allow host\n");
    note_other_name(w, "old.test", OTHER4, now_ms - 3600 * 1000);
    note_other_name(w, "both.test", OTHER4, now_ms);
    assert_raced(w, true);
    w = world_new(DEAD, true, "allow host\n");
    note_other_name(w, "old.test", NULL, now_ms - 3600 * 1000);
    note_other_name(w, "both.test", OTHER4, now_ms);
    assert_raced(w, false);
}

/* Names that were not looked at may say something else. */
static void test_too_many_names(void)
{
    for (int num = VMRPC_POLICY_MAX_NAMES; num <= VMRPC_POLICY_MAX_NAMES + 1;
         num++) {
        World *w = world_new(DEAD, true, "allow host\n");

        for (int i = 1; i < num; i++) {
            g_autofree char *text = g_strdup_printf("n%d.test", i);

            note_other_name(w, text, OTHER4, vmrpc_now_ms());
        }
        assert_raced(w, num <= VMRPC_POLICY_MAX_NAMES);
    }
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        g_print("1..0 # SKIP needs a network namespace\n");
        return 0;
    }
    g_test_add_func("/vmrpc/server/race/dead-first", test_dead_first);
    g_test_add_func("/vmrpc/server/race/closed-first", test_closed_first);
    g_test_add_func("/vmrpc/server/race/none", test_none);
    g_test_add_func("/vmrpc/server/race/calls-meanwhile",
                    test_calls_meanwhile);
    g_test_add_func("/vmrpc/server/race/state-meanwhile",
                    test_state_meanwhile);
    g_test_add_func("/vmrpc/server/race/options", test_options);
    g_test_add_func("/vmrpc/server/race/late-options", test_late_options);
    g_test_add_func("/vmrpc/server/race/allowed-no-more",
                    test_allowed_no_more);
    g_test_add_func("/vmrpc/server/race/ended", test_ended);
    g_test_add_func("/vmrpc/server/race/given-up", test_given_up);
    g_test_add_func("/vmrpc/server/race/shut", test_shut);
    g_test_add_func("/vmrpc/server/race/limits", test_limits);
    g_test_add_func("/vmrpc/server/race/policy", test_policy);
    g_test_add_func("/vmrpc/server/race/buffers", test_buffers);
    g_test_add_func("/vmrpc/server/race/turns", test_turns);
    g_test_add_func("/vmrpc/server/race/turns-none", test_turns_none);
    g_test_add_func("/vmrpc/server/race/no-race", test_no_race);
    g_test_add_func("/vmrpc/server/race/names-of-others",
                    test_names_of_others);
    g_test_add_func("/vmrpc/server/race/too-many-names",
                    test_too_many_names);
    return g_test_run();
}
