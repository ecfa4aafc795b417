/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: what the audit log says, and what waits for it
 */
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/server/policy-file.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

#define OWN     "allow host\nallow ::1\n"

/* A server and its log; lines are taken out when they are looked at. */
typedef struct World {
    VmrpcAudit *audit;
    Fx *fx;
    GString *text;              /* that has been read, not yet expected */
} World;

static World new_world(const char *policy, VmrpcAuditFull full)
{
    const VmrpcAuditConfig config = {
        .dev = "d", .full = full, .sockets = FX_HANDLES,
    };
    World w = { .audit = vmrpc_audit_new(&config),
                .text = g_string_new("") };

    w.fx = fx_new(&(FxOptions) { .policy = policy, .audit = w.audit });
    return w;
}

static void free_world(World *w)
{
    fx_free(w->fx);
    vmrpc_audit_free(w->audit);
    g_string_free(w->text, TRUE);
}

static void read_lines(World *w)
{
    const char *part;
    size_t len;

    while ((len = vmrpc_audit_peek(w->audit, 0, &part))) {
        g_string_append_len(w->text, part, len);
        vmrpc_audit_consume(w->audit, len);
    }
}

/* The next line has @pattern behind "event": (with '*' and '?'). */
static void G_GNUC_PRINTF(2, 3) expect(World *w, const char *format, ...)
{
    g_autofree char *pattern = NULL, *line = NULL;
    const char *event;
    va_list ap;
    char *end;

    va_start(ap, format);
    pattern = g_strdup_vprintf(format, ap);
    va_end(ap);
    read_lines(w);
    end = strchr(w->text->str, '\n');
    if (!end) {
        g_error("no line, but expected %s", pattern);
    }
    line = g_strndup(w->text->str, end - w->text->str);
    g_string_erase(w->text, 0, end + 1 - w->text->str);
    event = strstr(line, "\"event\":");
    g_assert_nonnull(event);
    if (!g_pattern_match_simple(pattern, event + 8)) {
        g_error("expected %s, not %s", pattern, line);
    }
}

static void expect_none(World *w)
{
    read_lines(w);
    g_assert_cmpstr(w->text->str, ==, "");
}

static void asked(World *w, const char *name, const char *addr6)
{
    VmrpcNameAddr addr = { .ttl_s = 60 };
    DnsName wire;

    g_assert_cmpint(dns_name_from_text(&wire, name), ==, 0);
    g_assert_cmpint(inet_pton(AF_INET6, addr6, &addr.addr6), ==, 1);
    vmrpc_names_note(w->fx->srv->reach.names, &wire, &addr, 1, vmrpc_now_ms());
}

static const char *id_of(const World *w)
{
    return vmrpc_policy_id(w->fx->srv->reach.policy);
}

/* --- lines ---------------------------------------------------------------- */

/* A stream from connect() to close(), under each of its names. */
static void test_stream(void)
{
    World w = new_world("\n" OWN, VMRPC_AUDIT_DROP);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), fd;
    char buf[5];

    expect(&w, "\"policy\",\"policy\":\"%s\",\"file\":*", id_of(&w));
    asked(&w, "old.test", fx_peer6);
    asked(&w, "new.test", fx_peer6);
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    expect_none(&w);
    fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port);
    expect(&w, "\"open\",\"proto\":\"tcp\",\"address\":\"%s\",\"port\":%u,"
           "\"verdict\":\"allow\",\"line\":*,\"policy\":\"%s\",\"socket\":0,"
           "\"asked\":[\"new.test\",\"old.test\"]}", fx_peer6, port,
           id_of(&w));
    fx_wait(w.fx, 0, VMRPC_OUT);
    /* To ask whether it is connected begins nothing. */
    fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port);
    expect_none(&w);
    fd = accept(listener, NULL, NULL);
    fx_ok(fx_send(w.fx, 0, "abc", 3));
    peer_read(fd, buf, 3);
    g_assert_cmpint(send(fd, "defgh", 5, 0), ==, 5);
    fx_wait(w.fx, 0, VMRPC_IN);
    fx_ok(fx_recv(w.fx, 0, buf, 5, 0));
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    expect(&w, "\"close\",\"proto\":\"tcp\",\"address\":\"%s\",\"port\":%u,"
           "\"socket\":0,\"sent\":3,\"received\":5,\"ms\":*}", fx_peer6, port);
    expect_none(&w);
    close(fd);
    close(listener);
    free_world(&w);
}

/* The line "close" has the error that ended the connection. */
static void test_failed(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_DROP);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);

    close(listener);
    expect(&w, "\"policy\"*");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port);
    expect(&w, "\"open\"*");
    fx_pump(w.fx);
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    expect(&w, "\"close\"*\"error\":\"ECONNREFUSED\"*");
    free_world(&w);
}

static void test_refused(void)
{
    World w = new_world("deny 2001:db8:9::/48 tcp 80\nlimit sockets 1\n",
                        VMRPC_AUDIT_DROP);
    struct in_addr denied = fx_map(w.fx, "2001:db8:9::1");
    struct in_addr local = fx_map(w.fx, "::1");

    expect(&w, "\"policy\"*");
    asked(&w, "evil.test", "2001:db8:9::1");
    fx_ok(fx_socket(w.fx, 3, 1, SOCK_STREAM));
    g_assert_cmpint(fx_addr_op(w.fx, VMRPC_CONNECT, 3, denied, 80).error, ==,
                    EACCES);
    expect(&w, "\"refused\",\"proto\":\"tcp\",\"address\":\"2001:db8:9::1\","
           "\"port\":80,\"verdict\":\"deny\",\"reason\":\"deny-rule\","
           "\"errno\":\"EACCES\",\"line\":1,\"policy\":\"%s\",\"socket\":3,"
           "\"asked\":[\"evil.test\"]}", id_of(&w));
    g_assert_cmpint(fx_addr_op(w.fx, VMRPC_CONNECT, 3, local, 80).error, ==,
                    ENETUNREACH);
    expect(&w, "\"refused\"*\"reason\":\"loopback\",\"errno\":"
           "\"ENETUNREACH\",\"policy\"*");
    g_assert_cmpint(fx_socket(w.fx, 4, 1, SOCK_STREAM).error, ==, EMFILE);
    expect(&w, "\"refused\",\"verdict\":\"deny\",\"reason\":"
           "\"limit-sockets\",\"errno\":\"EMFILE\",\"policy\":\"*\"}");
    /* No packet has left: nothing is closed. */
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 3, 0, 0));
    expect_none(&w);
    free_world(&w);
}

/* "watch" lets pass, and says what "deny" would have done. */
static void test_watched(void)
{
    World w = new_world("allow 2001:db8:8::/48\nwatch 2001:db8:9::/48\n"
                        "default watch\n", VMRPC_AUDIT_DROP);

    expect(&w, "\"policy\"*");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    fx_addr_op(w.fx, VMRPC_CONNECT, 0, fx_map(w.fx, "2001:db8:9::1"), 80);
    expect(&w, "\"watched\",*\"verdict\":\"watch\",\"reason\":\"deny-rule\","
           "\"errno\":\"EACCES\",\"line\":2,*");
    expect(&w, "\"open\",*\"verdict\":\"watch\",\"line\":2,*");
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    expect(&w, "\"close\"*");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_DGRAM));
    fx_sendto(w.fx, 0, fx_map(w.fx, "2001:db8:7::1"), 80, "x", 1);
    expect(&w, "\"watched\",\"proto\":\"udp\"*\"reason\":\"deny-default\"*"
           "\"line\":3*");
    expect(&w, "\"open\"*");
    fx_sendto(w.fx, 0, fx_map(w.fx, "2001:db8:8::1"), 80, "x", 1);
    expect(&w, "\"open\",\"proto\":\"udp\"*\"verdict\":\"allow\",\"line\":1*");
    free_world(&w);
}

/* One line a peer, with the first datagram; connect() sends nothing. */
static void test_datagrams(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_DROP);
    uint16_t port[2];
    int peer[2] = { peer_socket(SOCK_DGRAM, &port[0]),
                    peer_socket(SOCK_DGRAM, &port[1]) };

    expect(&w, "\"policy\"*");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port[0]));
    expect_none(&w);
    for (unsigned i = 0; i < 3; i++) {
        fx_ok(fx_send(w.fx, 0, "x", 1));
    }
    expect(&w, "\"open\",\"proto\":\"udp\",\"address\":\"%s\",\"port\":%u,*",
           fx_peer6, port[0]);
    for (unsigned i = 0; i < 3; i++) {
        fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[0], "x", 1));
        fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[1], "x", 1));
    }
    expect(&w, "\"open\",*\"port\":%u,*", port[1]);
    expect_none(&w);
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    expect(&w, "\"close\",\"proto\":\"udp\",\"socket\":0,\"sent\":9,*");
    /* Another socket in the same place has its own lines. */
    fx_ok(fx_socket(w.fx, 0, 2, SOCK_DGRAM));
    fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[1], "x", 1));
    expect(&w, "\"open\"*");
    close(peer[0]);
    close(peer[1]);
    free_world(&w);
}

/* Behind a proxy the lines have the destination, and the proxy's name. */
static void test_via(void)
{
    uint16_t port;
    int proxy = peer_socket(SOCK_STREAM, &port), fd;
    g_autofree char *policy = g_strdup_printf(
        "proxy corp socks5 %s %u\nallow www.test tcp 443 via corp\n"
        "default deny\n", fx_peer6, port);
    World w = new_world(policy, VMRPC_AUDIT_DROP);

    expect(&w, "\"policy\"*");
    asked(&w, "www.test", "2001:db8:7::1");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    g_assert_cmpint(fx_addr_op(w.fx, VMRPC_CONNECT, 0,
                               fx_map(w.fx, "2001:db8:7::1"), 443).error, ==,
                    EINPROGRESS);
    expect(&w, "\"open\",*\"address\":\"2001:db8:7::1\",\"port\":443,"
           "\"verdict\":\"allow\",\"line\":2,\"policy\":\"%s\",\"via\":"
           "\"corp\",\"socket\":0,\"asked\":[\"www.test\"]}", id_of(&w));
    fd = accept(proxy, NULL, NULL);
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    expect(&w, "\"close\",*\"address\":\"2001:db8:7::1\",\"port\":443,*");
    close(fd);
    close(proxy);
    free_world(&w);
}

/* A socket in the same place with the same number has lines of its own. */
static void test_datagrams_again(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_DROP);
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    expect(&w, "\"policy\"*");
    for (unsigned i = 0; i < 2; i++) {
        fx_ok(fx_socket(w.fx, 0, 1, SOCK_DGRAM));
        fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port, "x", 1));
        expect(&w, "\"open\"*");
        /* So does one that has ended its connection. */
        fx_ok(fx_op(w.fx, VMRPC_CONNECT, 0, 0, 0));
        expect(&w, "\"close\"*");
        fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port, "x", 1));
        expect(&w, "\"open\"*");
        fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
        expect(&w, "\"close\"*");
        expect_none(&w);
    }
    close(peer);
    free_world(&w);
}

/* The line of a peer has what decided about it, not about the latest one. */
static void test_peer_decided(void)
{
    uint16_t port[2];
    int peer[2] = { peer_socket(SOCK_DGRAM, &port[0]),
                    peer_socket(SOCK_DGRAM, &port[1]) };
    g_autofree char *policy = g_strdup_printf("allow host udp %u\n"
                                              "watch host udp %u\n"
                                              "default deny\n", port[1],
                                              port[0]);
    World w = new_world(policy, VMRPC_AUDIT_DROP);

    expect(&w, "\"policy\"*");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port[0]));
    fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[1], "x", 1));
    expect(&w, "\"open\",*\"port\":%u,\"verdict\":\"allow\",\"line\":1,*",
           port[1]);
    fx_ok(fx_send(w.fx, 0, "x", 1));
    expect(&w, "\"watched\",*\"port\":%u,*\"line\":2,*", port[0]);
    expect(&w, "\"open\",*\"port\":%u,\"verdict\":\"watch\",\"line\":2,*",
           port[0]);
    close(peer[0]);
    close(peer[1]);
    free_world(&w);
}

/* Each address of a name that is tried has the line that decided about it. */
static void test_race_decided(void)
{
    const VmrpcAuditConfig config = { .dev = "d" };
    VmrpcNameAddr addrs[2] = { { .ttl_s = 60 }, { .ttl_s = 60 } };
    World w = { .audit = vmrpc_audit_new(&config), .text = g_string_new("") };
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    DnsName name;

    close(listener);
    w.fx = fx_new(&(FxOptions) { .audit = w.audit, .nat64 = true, .policy =
                  "watch 198.51.100.5\nwatch " FX_NAT64 "c633:6405\n"
                  "allow host\n" });
    expect(&w, "\"policy\"*");
    dns_name_from_text(&name, "both.test");
    inet_pton(AF_INET6, fx_peer6, &addrs[0].addr6);
    inet_pton(AF_INET6, "::ffff:198.51.100.5", &addrs[1].addr6);
    vmrpc_names_note(w.fx->srv->reach.names, &name, addrs, 2, vmrpc_now_ms());
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port);
    expect(&w, "\"open\",*\"verdict\":\"allow\",\"line\":3,*");
    fx_pump(w.fx);
    expect(&w, "\"watched\",*\"line\":1,*");
    expect(&w, "\"open\",*\"verdict\":\"watch\",\"line\":1,*");
    free_world(&w);
}

/* Names are told apart, whatever a guest makes of them. */
static void test_said_alike(void)
{
    static const char *const names[] = { "a90338.test", "a104742.test" };
    World w = new_world(OWN, VMRPC_AUDIT_DROP);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(w.fx, 0, listener, port);

    expect(&w, "\"policy\"*");
    expect(&w, "\"open\"*");
    for (unsigned i = 0; i < 4; i++) {
        VmrpcSaid said = { };

        g_strlcpy(said.name, names[i / 2], sizeof(said.name));
        vmrpc_lock(w.fx->srv);
        vmrpc_evidence_said(w.fx->srv, w.fx->srv->socks[0], NULL,
                            VMRPC_SAYS_HTTP, &said);
        vmrpc_unlock(w.fx->srv);
    }
    for (unsigned i = 0; i < 2; i++) {
        expect(&w, "\"said\",*\"said\":\"%s\",*", names[i]);
    }
    expect_none(&w);
    close(fd);
    close(listener);
    free_world(&w);
}

/* A listener of the guest; returns its port. */
static unsigned listen_at(World *w, uint32_t handle)
{
    FxReply r = fx_open_op(w->fx, VMRPC_BIND, handle, 1, SOCK_STREAM,
                           (struct in_addr) { }, 0);

    fx_ok(r);
    fx_ok(fx_op(w->fx, VMRPC_LISTEN, handle, 4, 0));
    return ntohs(r.addr.sin_port);
}

static void test_incoming(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_DROP);
    int peer = peer_connect(SOCK_STREAM, listen_at(&w, 0));

    expect(&w, "\"policy\"*");
    fx_wait(w.fx, 0, VMRPC_IN);
    fx_ok(fx_accept(w.fx, 0, 1, 1));
    expect(&w, "\"open\",\"proto\":\"tcp\",\"incoming\":true,\"address\":"
           "\"%s\",\"port\":*,\"socket\":1}", fx_peer6);
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 1, 0, 0));
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    expect(&w, "\"close\",*\"socket\":1,*");
    expect_none(&w);
    close(peer);
    free_world(&w);
}

/* Asks for @name, whose labels have one letter each, with type TXT. */
static FxReply ask(World *w, uint32_t handle, const char *letters)
{
    uint8_t query[64] = { 0xbe, 0xef, 1, 0, 0, 1 };
    size_t len = 12;

    for (; *letters; letters++) {
        query[len++] = 1;
        query[len++] = *letters;
    }
    len++;
    query[len + 1] = 16;
    query[len + 3] = 1;
    return fx_sendto(w->fx, handle, w->fx->resolver4, 53, query, len + 4);
}

/* A question has its line before it leaves, and also if it does not. */
static void test_names(void)
{
    World w = new_world("watch w.t\nallow *.t\ndns listed\nlimit dns 2/s\n",
                        VMRPC_AUDIT_DROP);

    expect(&w, "\"policy\"*");
    fx_ok(fx_socket(w.fx, 2, 1, SOCK_DGRAM));
    fx_ok(ask(&w, 2, "at"));
    expect(&w, "\"name\",\"verdict\":\"allow\",\"line\":2,\"policy\":\"%s\","
           "\"socket\":2,\"name\":\"a.t\",\"type\":\"TXT\"}", id_of(&w));
    fx_ok(ask(&w, 2, "wt"));
    expect(&w, "\"name\",\"verdict\":\"watch\",\"reason\":\"deny-rule\","
           "\"line\":1,*");
    fx_ok(ask(&w, 2, "b"));
    expect(&w, "\"name\",\"verdict\":\"deny\",\"reason\":\"deny-unlisted\","
           "\"line\":3,*\"name\":\"b\",*");
    fx_ok(ask(&w, 2, "ct"));
    expect(&w, "\"name\",\"verdict\":\"deny\",\"reason\":\"limit-dns\",*");
    expect_none(&w);
    free_world(&w);
}

/* --- what waits ------------------------------------------------------------ */

static bool is_readable(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    return poll(&pfd, 1, 0) > 0;
}

static void be_stuck(World *w, bool stuck)
{
    if (vmrpc_audit_set_stuck(w->audit, stuck)) {
        vmrpc_server_audit_has_room(w->fx->srv);
    }
}

/* No evidence, no connection: it begins when its line can be written. */
static void test_wait_connect(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), fd;
    char buf[1];
    FxReply r;

    expect(&w, "\"policy\"*");
    be_stuck(&w, true);
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4, port);
    g_assert_cmpint(r.error, ==, EINPROGRESS);
    g_assert_cmpuint(r.ready, ==, 0);
    g_assert_cmpint(fx_addr_op(w.fx, VMRPC_CONNECT, 0, w.fx->peer4,
                               port).error, ==, EALREADY);
    g_assert_cmpint(fx_send(w.fx, 0, "x", 1).error, ==, EAGAIN);
    g_assert_cmpint(fx_recv(w.fx, 0, buf, 1, 0).error, ==, EAGAIN);
    g_assert_cmpint(fx_op(w.fx, VMRPC_GETPEERNAME, 0, 0, 0).error, ==,
                    ENOTCONN);
    fx_pump(w.fx);
    g_assert_cmpuint(w.fx->sock[0].ready, ==, 0);
    g_assert_false(is_readable(listener));
    expect_none(&w);

    be_stuck(&w, false);
    fx_wait(w.fx, 0, VMRPC_OUT);
    expect(&w, "\"open\",*\"port\":%u,*", port);
    fd = accept(listener, NULL, NULL);
    fx_ok(fx_send(w.fx, 0, "x", 1));
    peer_read(fd, buf, 1);
    close(fd);
    close(listener);
    free_world(&w);
}

/* It is judged when it goes on; and its error comes as that of any connect(). */
static void test_wait_refused(void)
{
    World w = new_world("deny ::/0\n", VMRPC_AUDIT_WAIT);

    expect(&w, "\"policy\"*");
    be_stuck(&w, true);
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    g_assert_cmpint(fx_addr_op(w.fx, VMRPC_CONNECT, 0,
                               fx_map(w.fx, "2001:db8:9::1"), 80).error, ==,
                    EINPROGRESS);
    expect_none(&w);
    be_stuck(&w, false);
    g_assert_cmpint(fx_wait_error(w.fx, 0), ==, EACCES);
    expect(&w, "\"refused\",*");
    free_world(&w);
}

/* What is given up while it waits never begins. */
static void test_wait_given_up(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);
    struct vmrpc_req req;
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);

    expect(&w, "\"policy\"*");
    be_stuck(&w, true);
    for (unsigned i = 0; i < 3; i++) {
        fx_ok(fx_socket(w.fx, i, 1, SOCK_STREAM));
        g_assert_cmpint(fx_addr_op(w.fx, VMRPC_CONNECT, i, w.fx->peer4,
                                   port).error, ==, EINPROGRESS);
    }
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 1, 0, 0));
    req = fx_req(w.fx, VMRPC_CONNECT, 0);   /* AF_UNSPEC */
    fx_ok(fx_call(w.fx, &req, NULL, 0, NULL, 0));
    be_stuck(&w, false);
    fx_wait(w.fx, 2, VMRPC_OUT);
    expect(&w, "\"open\",*\"socket\":2}");
    expect_none(&w);
    close(accept(listener, NULL, NULL));
    fx_pump(w.fx);
    g_assert_false(is_readable(listener));
    close(listener);
    free_world(&w);
}

/* So is what is shut down. */
static void test_wait_shut(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);

    expect(&w, "\"policy\"*");
    be_stuck(&w, true);
    for (int how = 0; how < 3; how++) {
        fx_ok(fx_socket(w.fx, how, 1, SOCK_STREAM));
        fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, how, w.fx->peer4, port),
                 EINPROGRESS);
        fx_shut_connecting(w.fx, how, how);
    }
    /* This one waits again. */
    fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 2, w.fx->peer4, port),
             EINPROGRESS);
    be_stuck(&w, false);
    fx_wait(w.fx, 2, VMRPC_OUT);
    expect(&w, "\"open\",*\"socket\":2}");
    expect_none(&w);
    close(accept(listener, NULL, NULL));
    fx_pump(w.fx);
    g_assert_false(is_readable(listener));
    close(listener);
    free_world(&w);
}

/* A datagram to a new peer waits as for room in the buffer; others go on. */
static void test_wait_datagram(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);
    uint16_t port[2];
    int peer[2] = { peer_socket(SOCK_DGRAM, &port[0]),
                    peer_socket(SOCK_DGRAM, &port[1]) };
    char buf[1];
    FxReply r;

    expect(&w, "\"policy\"*");
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[0], "x", 1));
    expect(&w, "\"open\"*");
    be_stuck(&w, true);
    r = fx_sendto(w.fx, 0, w.fx->peer4, port[1], "y", 1);
    g_assert_cmpint(r.error, ==, EAGAIN);
    g_assert_cmpuint(r.ready & VMRPC_OUT, ==, 0);
    fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[0], "x", 1));
    g_assert_false(is_readable(peer[1]));
    be_stuck(&w, false);
    fx_wait(w.fx, 0, VMRPC_OUT);
    fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port[1], "y", 1));
    expect(&w, "\"open\",*\"port\":%u,*", port[1]);
    peer_read(peer[1], buf, 1);
    close(peer[0]);
    close(peer[1]);
    free_world(&w);
}

static void test_wait_accept(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);
    int peer = peer_connect(SOCK_STREAM, listen_at(&w, 0));
    FxReply r;

    expect(&w, "\"policy\"*");
    fx_wait(w.fx, 0, VMRPC_IN);
    be_stuck(&w, true);
    r = fx_accept(w.fx, 0, 1, 1);
    g_assert_cmpint(r.error, ==, EAGAIN);
    g_assert_cmpuint(r.ready & VMRPC_IN, ==, 0);
    fx_pump(w.fx);
    be_stuck(&w, false);
    fx_wait(w.fx, 0, VMRPC_IN);
    fx_ok(fx_accept(w.fx, 0, 1, 1));
    expect(&w, "\"open\",\"proto\":\"tcp\",\"incoming\":true,*");
    close(peer);
    free_world(&w);
}

/* A question leaves when its line can be written. */
static void test_wait_name(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);

    expect(&w, "\"policy\"*");
    be_stuck(&w, true);
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_DGRAM));
    fx_ok(ask(&w, 0, "at"));
    fx_ok(ask(&w, 0, "bt"));
    fx_pump(w.fx);
    g_assert_cmpuint(w.fx->srv->dns_wait.length, ==, 1);
    expect_none(&w);
    be_stuck(&w, false);
    while (w.fx->srv->dns_wait.length) {
        fx_pump(w.fx);
    }
    expect(&w, "\"name\",*\"name\":\"a.t\",*");
    expect(&w, "\"name\",*\"name\":\"b.t\",*");
    free_world(&w);
}

/* A ring that nobody reads: sockets wait and end, and no line is lost. */
static void test_wait_full(void)
{
    World w = new_world(OWN, VMRPC_AUDIT_WAIT);
    VmrpcAuditStats stats;
    unsigned opened = 0;
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    FxReply r;

    do {
        fx_ok(fx_socket(w.fx, 0, 1 + opened, SOCK_DGRAM));
        r = fx_sendto(w.fx, 0, w.fx->peer4, port, "x", 1);
        opened += !r.error;
        fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    } while (!r.error);
    g_assert_cmpint(r.error, ==, EAGAIN);
    vmrpc_audit_stats(w.audit, &stats);
    g_assert_cmpuint(stats.lost, ==, 0);
    g_assert_cmpuint(stats.pending, ==, 1 + 2 * opened);
    g_assert_cmpuint(opened, >, 500);
    close(peer);
    free_world(&w);
}

/* A guest that is refused again and again takes no room of those that end. */
static void test_wait_refusals(void)
{
    World w = new_world("allow host\nallow ::1\ndeny 2001:db8:9::/48\n",
                        VMRPC_AUDIT_WAIT);
    struct in_addr denied = fx_map(w.fx, "2001:db8:9::1");
    VmrpcAuditStats stats;
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    unsigned refused = 0;
    FxReply r;

    for (unsigned i = 0; i < FX_HANDLES; i++) {
        fx_ok(fx_socket(w.fx, i, 1, SOCK_DGRAM));
        fx_ok(fx_sendto(w.fx, i, w.fx->peer4, port, "x", 1));
    }
    /* A datagram waits, as those to peers that are allowed. */
    do {
        r = fx_sendto(w.fx, 0, denied, 80, "x", 1);
        refused += r.error == EACCES;
    } while (r.error == EACCES);
    g_assert_cmpint(r.error, ==, EAGAIN);
    fx_ok(fx_sendto(w.fx, 0, w.fx->peer4, port, "x", 1));
    vmrpc_audit_stats(w.audit, &stats);
    g_assert_cmpuint(stats.lost, ==, 0);
    g_assert_cmpuint(stats.pending, ==, 1 + FX_HANDLES + refused);
    /* connect() cannot. */
    for (unsigned i = 0; i < 2 * refused; i++) {
        fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 1, denied, 80), EACCES);
    }
    vmrpc_audit_stats(w.audit, &stats);
    refused = stats.lost;
    g_assert_cmpuint(refused, >, 0);
    for (unsigned i = 0; i < FX_HANDLES; i++) {
        fx_ok(fx_op(w.fx, VMRPC_CLOSE, i, 0, 0));
    }
    vmrpc_audit_stats(w.audit, &stats);
    g_assert_cmpuint(stats.lost, ==, refused);
    close(peer);
    free_world(&w);
}

/* Another policy, or one that is wrong, has a line. */
static void test_policy(void)
{
    g_autofree char *name = NULL;
    g_autoptr(GError) err = NULL;
    World w = { .text = g_string_new("") };
    const VmrpcAuditConfig config = { .dev = "d" };
    int fd = g_file_open_tmp("vmrpc-audit-XXXXXX", &name, &err);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    w.audit = vmrpc_audit_new(&config);
    w.fx = fx_new(&(FxOptions) { .policy_path = name, .audit = w.audit });
    expect(&w, "\"policy\",\"policy\":\"e3b0c442\",\"file\":\"%s\"}", name);
    g_file_set_contents(name, "#", 1, NULL);
    g_assert_true(vmrpc_server_reload_policy(w.fx->srv, NULL));
    expect(&w, "\"policy\",\"policy\":\"334359b9\",\"file\":\"%s\"}", name);
    g_file_set_contents(name, "a\"b", 3, NULL);
    g_assert_false(vmrpc_server_reload_policy(w.fx->srv, &err));
    expect(&w, "\"policy\",\"policy\":\"334359b9\",\"file\":\"%s\","
           "\"problem\":\"*'a\\*\"b' is not 'allow'*", name);
    unlink(name);
    free_world(&w);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc-server/audit/stream", test_stream);
    g_test_add_func("/vmrpc-server/audit/failed", test_failed);
    g_test_add_func("/vmrpc-server/audit/refused", test_refused);
    g_test_add_func("/vmrpc-server/audit/watched", test_watched);
    g_test_add_func("/vmrpc-server/audit/datagrams", test_datagrams);
    g_test_add_func("/vmrpc-server/audit/via", test_via);
    g_test_add_func("/vmrpc-server/audit/datagrams-again",
                    test_datagrams_again);
    g_test_add_func("/vmrpc-server/audit/peer-decided", test_peer_decided);
    g_test_add_func("/vmrpc-server/audit/race-decided", test_race_decided);
    g_test_add_func("/vmrpc-server/audit/said-alike", test_said_alike);
    g_test_add_func("/vmrpc-server/audit/incoming", test_incoming);
    g_test_add_func("/vmrpc-server/audit/names", test_names);
    g_test_add_func("/vmrpc-server/audit/policy", test_policy);
    g_test_add_func("/vmrpc-server/audit/wait-connect", test_wait_connect);
    g_test_add_func("/vmrpc-server/audit/wait-refused", test_wait_refused);
    g_test_add_func("/vmrpc-server/audit/wait-given-up", test_wait_given_up);
    g_test_add_func("/vmrpc-server/audit/wait-shut", test_wait_shut);
    g_test_add_func("/vmrpc-server/audit/wait-datagram", test_wait_datagram);
    g_test_add_func("/vmrpc-server/audit/wait-accept", test_wait_accept);
    g_test_add_func("/vmrpc-server/audit/wait-name", test_wait_name);
    g_test_add_func("/vmrpc-server/audit/wait-full", test_wait_full);
    g_test_add_func("/vmrpc-server/audit/wait-refusals", test_wait_refusals);
    return g_test_run();
}
