/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vmrpc server: who waits for readiness, in a call or for an event, and
 * calls from many threads.
 */
#include "hw/vmrpc/server/inspect.h"
#include "hw/vmrpc/sock/state.h"
#include "tests/fixtures/server-fixture.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A wait of at most a millisecond may end before a slow machine's peer acts. */
#define ATTEMPTS        10000

#define STORM_THREADS   4
#define STORM_HANDLES   6
#define STORM_CALLS     4000

/* A connected stream, watched only if @flags say so. */
static int connected(Fx *fx, uint32_t handle, uint16_t flags)
{
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd, one = 1;

    fx->flags = flags;
    fx_ok(fx_socket(fx, handle, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, handle, fx->peer4, port),
             EINPROGRESS);
    fd = accept(listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    /* every byte an arrival of its own */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    close(listener);
    return fd;
}

/* --- watching ------------------------------------------------------------- */

static void test_unasked(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, 0);
    FxReply r = fx_op(fx, VMRPC_NOOP, 0, 0, 0);

    fx_ok(r);
    g_assert_cmphex(r.ready, ==, VMRPC_OUT);
    /* nobody asked for it, but it comes */
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx->sock[0].events, ==, 1);
    r = fx_op(fx, VMRPC_NOOP, 0, 0, 0);
    g_assert_true(r.watched);
    close(fd);
    fx_free(fx);
}

static void test_asked(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, 0);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    FxReply r;

    /* what has come before is told in the answer, what comes by an event */
    req.flags = GUINT16_TO_LE(VMRPC_REQ_WATCH);
    r = fx_call(fx, &req, NULL, 0, NULL, 0);
    g_assert_true(r.watched);
    g_assert_cmphex(r.ready, ==, VMRPC_OUT);
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    close(fd);
    fx_free(fx);
}

#define ARRIVALS        100

/* Wakes up the server for what it has told already, more than it likes. */
static void annoy(Fx *fx, int fd)
{
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    for (int i = 1; i < ARRIVALS; i++) {
        g_assert_cmpint(send(fd, "y", 1, 0), ==, 1);
        fx_pump(fx);
    }
}

static void test_muted(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    unsigned events, received = 0;
    char buf[ARRIVALS];
    FxReply r;

    annoy(fx, fd);
    /* each time that it is drained, what comes next is news again */
    while (received < ARRIVALS) {
        fx_wait(fx, 0, VMRPC_IN);
        r = fx_recv(fx, 0, buf, sizeof(buf), 0);
        fx_ok(r);
        received += r.value;
    }
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
    events = fx->sock[0].events;
    g_assert_cmpint(send(fd, "z", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);

    /* urgent data get through to who does not read */
    annoy(fx, fd);
    g_assert_cmpint(send(fd, "!", 1, MSG_OOB), ==, 1);
    fx_wait(fx, 0, VMRPC_PRI);
    /* and so do others behind them */
    events = fx->sock[0].events;
    g_assert_cmpint(send(fd, "!", 1, MSG_OOB), ==, 1);
    while (fx->sock[0].events == events) {
        fx_wait_any(fx);
    }
    /* and so does the end */
    close(fd);
    fx_wait(fx, 0, VMRPC_RDHUP);
    fx_free(fx);
}

#define STEPS           3000
#define STEP_MAX        40000

static uint32_t host_ready(const Fx *fx, uint32_t handle)
{
    struct pollfd pfd = { .fd = fx->srv->socks[handle]->fd,
                          .events = POLLIN | POLLOUT };

    g_assert_cmpint(poll(&pfd, 1, 0), >=, 0);
    return pfd.revents;
}

/*
 * What the guest believes after a call is true on the host, though the server
 * has not asked: or a write would wait after a poll(), and a read hang.  What
 * the host knows and the guest does not comes by an event.
 */
static void check_derived(Fx *fx, FxReply r)
{
    uint32_t host = host_ready(fx, 0);

    g_assert_cmphex(r.ready & ~host & (VMRPC_IN | VMRPC_OUT), ==, 0);
    if (host & ~r.ready & VMRPC_IN) {
        fx_wait(fx, 0, VMRPC_IN);
    }
}

static void test_derived(void)
{
    static char data[STEP_MAX];
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    FxReply r;

    for (int i = 0; i < STEPS; i++) {
        /* Small ones are as likely as large ones. */
        size_t len = 1 + g_test_rand_int_range(0, STEP_MAX - 1) /
                         g_test_rand_int_range(1, 4000);

        switch (g_test_rand_int_range(0, 4)) {
        case 0:
            r = fx_send(fx, 0, data, len);
            break;
        case 1:
            r = fx_recv(fx, 0, data, len, 0);
            break;
        case 2:
            g_assert_cmpint(send(fd, data, len,
                                 MSG_DONTWAIT), !=, 0);
            continue;
        default:
            g_assert_cmpint(recv(fd, data, len,
                                 MSG_DONTWAIT), !=, 0);
            continue;
        }
        g_assert_true(r.error == 0 || r.error == EAGAIN);
        check_derived(fx, r);
    }
    /* Nobody reads: it fills up, and says so in time. */
    do {
        r = fx_send(fx, 0, data, sizeof(data));
        check_derived(fx, r);
    } while (r.ready & VMRPC_OUT);
    close(fd);
    fx_free(fx);
}

/* A low-water mark of the guest's decides what is readable. */
static void test_derived_lowat(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH), lowat = 3, on = 1;
    char data[8];
    FxReply r;

    g_assert_cmpint(send(fd, "abcd", 4, 0), ==, 4);
    fx_wait(fx, 0, VMRPC_IN);
    /* The first read that fills its room asks how much is left. */
    fx_ok(fx_recv(fx, 0, data, 1, 0));
    r = fx_recv(fx, 0, data, 1, 0);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    g_assert_cmpint(fx_getsockopt_int(fx, 0, IPPROTO_TCP, TCP_INQ), ==, 0);
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_RCVLOWAT, &lowat,
                        sizeof(lowat)));
    r = fx_recv(fx, 0, data, 1, 0);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);

    /* Ancillary data that the guest asked for, and has no room for. */
    g_assert_cmphex(r.msg_flags & MSG_CTRUNC, ==, 0);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_INQ, &on, sizeof(on)));
    r = fx_recv(fx, 0, data, 1, 0);
    g_assert_cmphex(r.msg_flags & MSG_CTRUNC, ==, MSG_CTRUNC);
    close(fd);
    fx_free(fx);
}

/* How often a peer that takes all of @num datagrams wakes the server up. */
static unsigned wakes_of_datagrams(Fx *fx, int fd, unsigned num)
{
    struct pollfd pfd = { .fd = vmrpc_server_fd(fx->srv), .events = POLLIN };
    unsigned wakes = 0;
    char byte;

    for (unsigned i = 0; i < num; i++) {
        fx_ok(fx_send(fx, 0, "x", 1));
        g_assert_cmpint(recv(fd, &byte, 1, 0), ==, 1);
        if (poll(&pfd, 1, 0) > 0) {
            wakes++;
            fx_pump(fx);
        }
    }
    return wakes;
}

/* Room to send where the guest knows of room wakes nobody up. */
static void test_room_known(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int fd = peer_socket(SOCK_DGRAM, &port);

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    fx_pump(fx);
    /* but for a timer */
    g_assert_cmpuint(wakes_of_datagrams(fx, fd, ARRIVALS), <=, 2);
    close(fd);
    fx_free(fx);
}

/* It does where there was none, and what else happens does not hide it. */
static void test_room_again(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    static uint8_t block[65536];
    size_t sent;
    FxReply r;
    char byte;

    for (int i = 0; i < 3; i++) {
        fx_wait(fx, 0, VMRPC_OUT);
        g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
        fx_wait(fx, 0, VMRPC_IN | VMRPC_OUT);
        fx_ok(fx_recv(fx, 0, &byte, 1, 0));
        sent = 0;
        while (!(r = fx_send(fx, 0, block, sizeof(block))).error) {
            sent += r.value;
        }
        fx_fails(r, EAGAIN);
        g_assert_cmphex(r.ready & VMRPC_OUT, ==, 0);
        while (sent) {
            ssize_t n = recv(fd, block, MIN(sent, sizeof(block)), 0);

            g_assert_cmpint(n, >, 0);
            sent -= n;
        }
    }
    fx_wait(fx, 0, VMRPC_OUT);
    close(fd);
    fx_free(fx);
}

/* Asked for edges, the host makes up for what has come since it told last. */
static void test_edge_late(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    unsigned events;

    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    fx->edge = true;
    req.flags = GUINT16_TO_LE(VMRPC_REQ_WATCH | VMRPC_REQ_EDGE);
    events = fx->sock[0].events;
    /* seen, and not worth an event */
    g_assert_cmpint(send(fd, "y", 1, 0), ==, 1);
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events);
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    /* once */
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    close(fd);
    fx_free(fx);
}

/* But not for what has been read since, nor for room to send. */
static void test_edge_nothing(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    unsigned events;
    char buf[8];

    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpint(send(fd, "y", 1, 0), ==, 1);
    fx_pump(fx);
    fx_ok(fx_recv(fx, 0, buf, sizeof(buf), 0));
    events = fx->sock[0].events;
    fx->edge = true;
    req.flags = GUINT16_TO_LE(VMRPC_REQ_WATCH | VMRPC_REQ_EDGE);
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events);
    close(fd);
    fx_free(fx);
}

static void test_edge(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    unsigned events;

    fx->edge = true;
    req.flags = GUINT16_TO_LE(VMRPC_REQ_WATCH | VMRPC_REQ_EDGE);
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    /* each arrival is an edge, however often */
    for (int i = 0; i < 20; i++) {
        events = fx->sock[0].events;
        g_assert_cmpint(send(fd, "y", 1, 0), ==, 1);
        while (fx->sock[0].events == events) {
            fx_wait_any(fx);
        }
        g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    }
    /* also if an answer comes first, of which pollers do not hear */
    events = fx->sock[0].events;
    g_assert_cmpint(send(fd, "z", 1, 0), ==, 1);
    while (!vmrpc_server_has_event(fx->srv)) {
        vmrpc_server_process(fx->srv);
    }
    fx_ok(fx_op(fx, VMRPC_NOOP, 0, 0, 0));
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    close(fd);
    fx_free(fx);
}

static uint8_t tcp_state(Fx *fx, uint32_t handle)
{
    uint8_t state = 0;
    FxReply r = fx_getsockopt(fx, handle, IPPROTO_TCP, TCP_INFO, &state, 1);

    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 1);
    return state;
}

/* Who lingers in close() waits for the acknowledgement of the end. */
static void test_edge_end(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, 0);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    static uint8_t block[65536];
    size_t sent = 0;
    unsigned events;
    FxReply r;

    fx->edge = true;
    fx_wait(fx, 0, VMRPC_OUT);
    for (;;) {
        r = fx_send(fx, 0, block, sizeof(block));
        if (r.error) {
            break;
        }
        sent += r.value;
    }
    fx_fails(r, EAGAIN);
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0));
    req.flags = GUINT16_TO_LE(VMRPC_REQ_WATCH | VMRPC_REQ_EDGE);
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    fx_pump(fx);
    g_assert_cmpuint(tcp_state(fx, 0), ==, TCP_FIN_WAIT1);

    events = fx->sock[0].events;
    while (sent) {
        ssize_t n = recv(fd, block, MIN(sent, sizeof(block)), 0);

        g_assert_cmpint(n, >, 0);
        sent -= n;
    }
    do {
        while (fx->sock[0].events == events) {
            fx_wait_any(fx);
        }
        events = fx->sock[0].events;
    } while (tcp_state(fx, 0) == TCP_FIN_WAIT1);
    g_assert_cmpuint(tcp_state(fx, 0), ==, TCP_FIN_WAIT2);
    close(fd);
    fx_free(fx);
}

/* A hang-up that an answer has reported is reported once, watched or not. */
static void check_edge_over(bool watched)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, watched ? VMRPC_REQ_WATCH : 0);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    unsigned events;
    FxReply r;

    events = fx->sock[0].events;
    peer_close_reset(fd);
    r = fx_op(fx, VMRPC_NOOP, 0, 0, 0);
    g_assert_cmphex(r.ready & VMRPC_HUP, ==, VMRPC_HUP);
    if (watched) {
        fx_pump(fx);
    }
    fx->edge = true;
    req.flags = GUINT16_TO_LE(VMRPC_REQ_WATCH | VMRPC_REQ_EDGE);
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events);
    fx_free(fx);
}

static void test_edge_over(void)
{
    check_edge_over(false);
    check_edge_over(true);
}

/* --- waiting in a call ---------------------------------------------------- */

static FxReply recv_waiting(Fx *fx, uint32_t handle, void *buf, size_t len)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_RECVMSG, handle);

    req.wait_us = GUINT32_TO_LE(VMRPC_WAIT_MAX);
    return fx_call(fx, &req, NULL, 0, buf, len);
}

static void *send_byte(void *opaque)
{
    int fd = *(int *)opaque;

    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    return NULL;
}

static void test_wait(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, 0);
    pthread_t thread;
    FxReply r;
    char byte;

    /* not if the thread has no time */
    fx_fails(recv_waiting(fx, 0, &byte, 1), EAGAIN);
    fx->may_wait = true;
    fx_fails(recv_waiting(fx, 0, &byte, 1), EAGAIN);
    for (int i = 0; i < 100; i++) {
        int attempts = 0;

        g_assert_cmpint(pthread_create(&thread, NULL, send_byte, &fd), ==, 0);
        do {
            r = recv_waiting(fx, 0, &byte, 1);
            g_assert_cmpint(++attempts, <, ATTEMPTS);
        } while (r.error == EAGAIN);
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, 1);
        g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
        pthread_join(thread, NULL);
    }
    /* the end of the stream ends the wait as well */
    close(fd);
    do {
        r = recv_waiting(fx, 0, &byte, 1);
    } while (r.error == EAGAIN);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    fx_free(fx);
}

/* poll() waits so: nothing is taken, and only input counts. */
static void test_wait_input(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, 0);
    struct vmrpc_req req = fx_req(fx, VMRPC_NOOP, 0);
    pthread_t thread;
    FxReply r;
    char byte;

    fx->may_wait = true;
    req.wait_us = GUINT32_TO_LE(VMRPC_WAIT_MAX);
    r = fx_call(fx, &req, NULL, 0, NULL, 0);
    fx_ok(r);
    g_assert_cmphex(r.ready, ==, VMRPC_OUT);
    for (int i = 0; i < 100; i++) {
        int attempts = 0;

        g_assert_cmpint(pthread_create(&thread, NULL, send_byte, &fd), ==, 0);
        do {
            r = fx_call(fx, &req, NULL, 0, NULL, 0);
            fx_ok(r);
            g_assert_cmpint(++attempts, <, ATTEMPTS);
        } while (!(r.ready & VMRPC_IN));
        pthread_join(thread, NULL);
        r = fx_recv(fx, 0, &byte, 1, 0);
        fx_ok(r);
        g_assert_cmphex(r.ready, ==, VMRPC_OUT);
    }
    close(fd);
    do {
        r = fx_call(fx, &req, NULL, 0, NULL, 0);
    } while (!(r.ready & VMRPC_RDHUP));
    fx_free(fx);
}

static void test_wait_connect(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    struct vmrpc_req req;
    FxReply r;

    fx->flags = 0;
    fx->may_wait = true;
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    req = fx_req(fx, VMRPC_CONNECT, 0);
    req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
    req.addr.port = htons(port);
    req.addr.addr = fx->peer4.s_addr;
    req.wait_us = GUINT32_TO_LE(VMRPC_WAIT_MAX);
    r = fx_call(fx, &req, NULL, 0, NULL, 0);
    fx_fails(r, EINPROGRESS);
    /* it has been made meanwhile, or an event tells */
    if (!(r.ready & VMRPC_OUT)) {
        fx_wait(fx, 0, VMRPC_OUT);
    }
    fx_ok(fx_send(fx, 0, "x", 1));
    close(listener);
    fx_free(fx);
}

static struct {
    VmrpcServer *srv;
    int fd;                     /* -1: has been sent */
} meanwhile;

/* While a call waits the socket's news come to the other thread. */
static bool urgent_meanwhile(void)
{
    if (meanwhile.fd >= 0) {
        g_assert_cmpint(send(meanwhile.fd, "b", 1, MSG_OOB), ==, 1);
        meanwhile.fd = -1;
        vmrpc_server_process(meanwhile.srv);
    }
    return true;
}

/* Each urgent byte is news to all, also while somebody waits for input. */
static void test_wait_urgent(void)
{
    Fx *fx = fx_new_default();
    int fd = connected(fx, 0, VMRPC_REQ_WATCH);
    struct pollfd server;
    unsigned events;
    char byte;

    g_assert_cmpint(send(fd, "a", 1, MSG_OOB), ==, 1);
    fx_wait(fx, 0, VMRPC_PRI);
    fx_pump(fx);
    events = fx->sock[0].events;
    fx->edge = true;            /* what has been told comes again */
    meanwhile.srv = fx->srv;
    meanwhile.fd = fd;
    vmrpc_server_set_may_go_on(fx->srv, urgent_meanwhile);
    fx->may_wait = true;
    recv_waiting(fx, 0, &byte, 1);
    g_assert_cmpint(meanwhile.fd, ==, -1);
    /* and the other thread is woken for that */
    server = (struct pollfd) { vmrpc_server_fd(fx->srv), POLLIN, 0 };
    g_assert_cmpint(poll(&server, 1, FX_WAIT_MS), ==, 1);
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, >, events);
    close(fd);
    fx_free(fx);
}

/* --- many threads --------------------------------------------------------- */

typedef struct Storm {
    Fx *fx;
    uint16_t port;
    unsigned seed;
    gint *ended;                /* counts threads */
} Storm;

static void raw_call(Storm *storm, unsigned op, uint32_t handle, uint32_t arg0,
                     struct in_addr addr, uint32_t wait_us)
{
    bool opens = op == VMRPC_CONNECT && rand_r(&storm->seed) % 2;
    struct vmrpc_req req = {
        .op = GUINT16_TO_LE(op),
        .flags = GUINT16_TO_LE(opens ? VMRPC_REQ_OPEN : 0),
        .sock = GUINT32_TO_LE(handle),
        .wait_us = GUINT32_TO_LE(wait_us),
        .addr = {
            .family = GUINT16_TO_LE(addr.s_addr ? VMRPC_AF_INET : 0),
            .port = htons(storm->port),
            .addr = addr.s_addr,
        },
        .u.raw[0] = GUINT32_TO_LE(arg0),
    };
    struct vmrpc_resp resp;
    char in_data[64], out_data[64] = "";
    struct iovec out[] = { { &req, sizeof(req) },
                           { out_data, sizeof(out_data) } };
    struct iovec in[] = { { &resp, sizeof(resp) },
                          { in_data, sizeof(in_data) } };

    g_assert_cmpint(vmrpc_server_call(storm->fx->srv, out, 2, in, 2, true), >=,
                    (ssize_t)sizeof(resp));
}

/* Calls in no order that makes sense, on sockets that others close. */
static void *storm_thread(void *opaque)
{
    static const unsigned ops[] = {
        VMRPC_SOCKET, VMRPC_CONNECT, VMRPC_SENDMSG, VMRPC_RECVMSG,
        VMRPC_SENDMSG, VMRPC_RECVMSG, VMRPC_SHUTDOWN, VMRPC_CLOSE,
        VMRPC_LISTEN, VMRPC_ACCEPT, VMRPC_NOOP, VMRPC_GETPEERNAME,
    };
    const struct in_addr none = { };
    Storm *storm = opaque;

    for (int i = 0; i < STORM_CALLS; i++) {
        unsigned op = ops[rand_r(&storm->seed) % G_N_ELEMENTS(ops)];
        uint32_t handle = rand_r(&storm->seed) % STORM_HANDLES;
        bool resolver = rand_r(&storm->seed) % 8 == 0;

        switch (op) {
        case VMRPC_SOCKET:
            raw_call(storm, op, handle,
                     rand_r(&storm->seed) % 3 ? SOCK_STREAM : SOCK_DGRAM,
                     none, 0);
            break;
        case VMRPC_CONNECT:
            raw_call(storm, op, handle, SOCK_STREAM,
                     resolver ? storm->fx->resolver4 : storm->fx->peer4, 100);
            break;
        case VMRPC_ACCEPT:
            raw_call(storm, op, handle, rand_r(&storm->seed) % STORM_HANDLES,
                     none, 100);
            break;
        default:
            raw_call(storm, op, handle, rand_r(&storm->seed) % 3, none, 100);
        }
    }
    return NULL;
}

static void test_storm(void)
{
    unsigned fds = fx_open_fds();
    Fx *fx = fx_new_default();
    pthread_t thread[STORM_THREADS];
    Storm storm[STORM_THREADS];
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);

    for (unsigned i = 0; i < STORM_THREADS; i++) {
        storm[i] = (Storm) { .fx = fx, .port = port, .seed = i };
        g_assert_cmpint(pthread_create(&thread[i], NULL, storm_thread,
                                       &storm[i]), ==, 0);
    }
    for (unsigned i = 0; i < 1000; i++) {
        VmrpcSockView view[STORM_HANDLES];
        struct vmrpc_event ev;
        uint32_t handle = 0;

        vmrpc_server_process(fx->srv);
        while (vmrpc_server_next_event(fx->srv, &ev)) {
            /* the guest would take them */
        }
        /* somebody looks at what comes and goes */
        g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &handle, view,
                                             STORM_HANDLES), <=,
                         STORM_HANDLES);
    }
    for (unsigned i = 0; i < STORM_THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    g_assert_cmpuint(fx_counters(fx)->requests, ==,
                     STORM_THREADS * STORM_CALLS);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), <=, STORM_HANDLES);
    vmrpc_server_reset(fx->srv);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);
    close(listener);
    fx_free(fx);
    g_assert_cmpuint(fx_open_fds(), ==, fds);
}

/* Makes a socket of its own again and again. */
static void *limited_thread(void *opaque)
{
    const struct in_addr none = { };
    Storm *storm = opaque;

    for (int i = 0; i < STORM_CALLS; i++) {
        raw_call(storm, VMRPC_SOCKET, storm->seed, SOCK_STREAM, none, 0);
        raw_call(storm, VMRPC_CLOSE, storm->seed, 0, none, 0);
    }
    g_atomic_int_inc(storm->ended);
    return NULL;
}

/* Sockets are made side by side, and never more than there may be. */
static void test_storm_limit(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "limit sockets 2\n" });
    pthread_t thread[STORM_THREADS];
    Storm storm[STORM_THREADS];
    gint ended = 0;

    for (unsigned i = 0; i < STORM_THREADS; i++) {
        storm[i] = (Storm) { .fx = fx, .seed = i, .ended = &ended };
        g_assert_cmpint(pthread_create(&thread[i], NULL, limited_thread,
                                       &storm[i]), ==, 0);
    }
    while (g_atomic_int_get(&ended) < STORM_THREADS) {
        VmrpcSockView view[STORM_THREADS];
        uint32_t handle = 0;

        g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &handle, view,
                                             STORM_THREADS), <=, 2);
    }
    for (unsigned i = 0; i < STORM_THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    g_assert_cmpuint(fx_counters(fx)->sockets_opened, ==,
                     fx_counters(fx)->sockets_closed);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/watch/unasked", test_unasked);
    g_test_add_func("/vmrpc/server/watch/asked", test_asked);
    g_test_add_func("/vmrpc/server/watch/muted", test_muted);
    g_test_add_func("/vmrpc/server/watch/derived", test_derived);
    g_test_add_func("/vmrpc/server/watch/derived-lowat", test_derived_lowat);
    g_test_add_func("/vmrpc/server/watch/room/known", test_room_known);
    g_test_add_func("/vmrpc/server/watch/room/again", test_room_again);
    g_test_add_func("/vmrpc/server/watch/edge", test_edge);
    g_test_add_func("/vmrpc/server/watch/edge-late", test_edge_late);
    g_test_add_func("/vmrpc/server/watch/edge-nothing", test_edge_nothing);
    g_test_add_func("/vmrpc/server/watch/edge-end", test_edge_end);
    g_test_add_func("/vmrpc/server/watch/edge-over", test_edge_over);
    g_test_add_func("/vmrpc/server/wait/receive", test_wait);
    g_test_add_func("/vmrpc/server/wait/input", test_wait_input);
    g_test_add_func("/vmrpc/server/wait/connect", test_wait_connect);
    g_test_add_func("/vmrpc/server/wait/urgent", test_wait_urgent);
    g_test_add_func("/vmrpc/server/storm", test_storm);
    g_test_add_func("/vmrpc/server/storm-limit", test_storm_limit);
    return g_test_run();
}
