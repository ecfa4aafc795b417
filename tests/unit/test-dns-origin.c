/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An upstream whose servers change: in the file, by their interfaces
 *
 * The servers are sockets of this thread, in a network namespace of its own, as
 * resolv.conf(5) has no ports.
 */

#include <arpa/inet.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/upstream/upstream.h"

#define SERVERS     3           /* 127.0.0.2 and up; [0] is on late0 */
#define WAIT_MS     20          /* for a turn without an event */

typedef struct World {
    DnsUpstream *up;
    char *folder, *conf;
    int server[SERVERS];
    unsigned asked[SERVERS];
    bool mute[SERVERS];
    unsigned replies;
    DnsUpstreamStatus status;
    unsigned last_octet;        /* of the reply's address: the server's index */
    unsigned moves;
    char *error;                /* of the last one */
} World;

static void run(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/*** Servers ***/

static void bind_server(World *w, int i, const char *text, unsigned scope)
{
    VmmnetDnsAddress at = { .len = sizeof(at.in) };

    if (inet_pton(AF_INET, text, &at.in.sin_addr) == 1) {
        at.in.sin_family = AF_INET;
        at.in.sin_port = htons(53);
    } else {
        at.len = sizeof(at.in6);
        at.in6.sin6_family = AF_INET6;
        at.in6.sin6_port = htons(53);
        at.in6.sin6_scope_id = scope;
        g_assert_cmpint(inet_pton(AF_INET6, text, &at.in6.sin6_addr), ==, 1);
    }
    w->server[i] = socket(at.sa.sa_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    g_assert_cmpint(bind(w->server[i], &at.sa, at.len), ==, 0);
}

/* Make late0 (again), and the server on it. */
static void make_late(World *w)
{
    run("ip link add late0 type veth peer name late1 && "
        "ip link set late0 up && ip link set late1 up && "
        "ip address add fe80::53/64 dev late0 nodad && "
        "until ip -6 route get fe80::53 oif late0 | grep -q ^local; "
        "do :; done");
    close(w->server[0]);
    bind_server(w, 0, "fe80::53", if_nametoindex("late0"));
}

static void serve(World *w, int i)
{
    uint8_t query[DNS_QUERY_MAX], msg[512];
    VmmnetDnsAddress peer;
    DnsQuestion q;
    DnsCursor cursor;
    DnsBuilder b;
    ssize_t n;

    peer.len = sizeof(peer.storage);
    n = recvfrom(w->server[i], query, sizeof(query), 0, &peer.sa, &peer.len);
    if (n < 0) {
        return;
    }
    w->asked[i]++;
    g_assert_cmpint(dns_cursor_init(&cursor, query, n), ==, 0);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    if (w->mute[i]) {
        return;
    }
    dns_builder_init(&b, msg, sizeof(msg), query[0] << 8 | query[1],
                     DNS_FLAG_QR | DNS_FLAG_RA);
    dns_builder_question(&b, &q);
    dns_builder_a(&b, DNS_SECTION_ANSWER, &q.name, 300,
                  (struct in_addr) { htonl(0xc0000200 + i) });
    sendto(w->server[i], msg, b.len, 0, &peer.sa, peer.len);
}

/*** Client ***/

static void on_reply(void *opaque, uint64_t request, DnsUpstreamStatus status,
                     const uint8_t *msg, size_t len)
{
    struct in_addr addr;
    DnsCursor cursor;
    World *w = opaque;
    DnsRr rr;

    w->replies++;
    w->status = status;
    w->last_octet = SERVERS;
    if (msg) {
        dns_cursor_init(&cursor, msg, len);
        while (dns_cursor_rr(&cursor, &rr) > 0) {
            if (rr.type == DNS_TYPE_A) {
                dns_rdata_a(&cursor, &rr, &addr);
                w->last_octet = ntohl(addr.s_addr) & 0xff;
            }
        }
    }
}

static void on_moved(void *opaque, const char *error)
{
    World *w = opaque;

    w->moves++;
    g_free(w->error);
    w->error = g_strdup(error);
}

static void turn(World *w)
{
    struct pollfd fds[1 + SERVERS] = {
        { .fd = dns_upstream_fd(w->up), .events = POLLIN },
    };
    int wait_ms = dns_upstream_timeout_ms(w->up);

    for (int i = 0; i < SERVERS; i++) {
        fds[1 + i] = (struct pollfd) { .fd = w->server[i], .events = POLLIN };
    }
    poll(fds, G_N_ELEMENTS(fds), wait_ms < 0 ? WAIT_MS : wait_ms);
    for (int i = 0; i < SERVERS; i++) {
        serve(w, i);
    }
    dns_upstream_process(w->up);
}

static void start(World *w, const char *name, uint64_t request)
{
    DnsQuestion q = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };
    uint8_t query[DNS_QUERY_MAX];
    size_t len;

    g_assert_cmpint(dns_name_from_text(&q.name, name), ==, 0);
    len = dns_query_build(query, &q, DNS_FLAG_RD, false);
    g_assert_cmpint(dns_upstream_ops.send(w->up, query, len, on_reply, w,
                                          request), ==, 0);
}

static void wait_replies(World *w, unsigned replies)
{
    while (w->replies < replies) {
        turn(w);
    }
    g_assert_cmpuint(w->replies, ==, replies);
}

static void wait_moves(World *w, unsigned moves)
{
    while (w->moves < moves) {
        turn(w);
    }
    g_assert_cmpuint(w->moves, ==, moves);
}

static void ask(World *w, const char *name)
{
    unsigned replies = w->replies + 1;

    start(w, name, 1);
    wait_replies(w, replies);
}

/* Ask, and expect the answer of this server. */
static void expect(World *w, const char *name, unsigned server)
{
    ask(w, name);
    g_assert_cmpint(w->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpuint(w->last_octet, ==, server);
}

static void expect_origin(World *w, DnsServersFrom from, const char *first)
{
    const DnsOrigin *origin = dns_upstream_origin(w->up);
    char text[DNSC_SERVER_TEXT_MAX];

    g_assert_cmpint(origin->from, ==, from);
    dnsc_list_text(&origin->list, 0, text);
    g_assert_cmpstr(text, ==, first);
}

/* Replaced by renaming, as network managers do */
static void write_conf(World *w, const char *text)
{
    g_assert_true(g_file_set_contents(w->conf, text, -1, NULL));
}

static World *world_new(void)
{
    World *w = g_new0(World, 1);

    w->folder = g_dir_make_tmp("dns-origin-XXXXXX", NULL);
    w->conf = g_build_filename(w->folder, "resolv.conf", NULL);
    w->server[0] = -1;
    bind_server(w, 1, "127.0.0.2", 0);
    bind_server(w, 2, "127.0.0.3", 0);
    return w;
}

static void open_upstream(World *w, const DnsServer *servers, size_t count)
{
    g_autoptr(GError) err = NULL;

    w->up = dns_upstream_new(&(DnsUpstreamOptions) {
        .servers = servers, .count = count, .resolv_conf = w->conf,
        .cache_entries = 16, .cache_octets = 1 << 16, .moved = on_moved,
        .opaque = w,
    }, &err);
    g_assert_no_error(err);
}

static void world_free(World *w)
{
    dns_upstream_free(w->up);
    for (int i = 0; i < SERVERS; i++) {
        close(w->server[i]);
    }
    unlink(w->conf);
    g_assert_cmpint(rmdir(w->folder), ==, 0);
    g_free(w->conf);
    g_free(w->folder);
    g_free(w->error);
    g_free(w);
}

/*** Tests ***/

/* There is no file at the start: no server either, until it comes. */
static void test_late_file(void)
{
    World *w = world_new();

    open_upstream(w, NULL, 0);
    expect_origin(w, DNS_SERVERS_LOOPBACK, "127.0.0.1");
    ask(w, "www.example");
    g_assert_cmpint(w->status, ==, DNS_UPSTREAM_NETWORK);
    write_conf(w, "# not yet\n");
    ask(w, "www.example");
    g_assert_cmpint(w->status, ==, DNS_UPSTREAM_NETWORK);
    write_conf(w, "nameserver 127.0.0.2\n");
    wait_moves(w, 1);
    expect_origin(w, DNS_SERVERS_FILE, "127.0.0.2");
    /* The failure is forgotten. */
    expect(w, "www.example", 1);
    g_assert_null(w->error);
    world_free(w);
}

/* Answers of former servers are forgotten; without servers they are kept. */
static void test_changed(void)
{
    World *w = world_new();
    g_autofree char *other = g_build_filename(w->folder, "other", NULL);

    write_conf(w, "nameserver 127.0.0.2\n");
    open_upstream(w, NULL, 0);
    expect(w, "www.example", 1);
    write_conf(w, "nameserver 127.0.0.3\n");
    wait_moves(w, 1);
    expect(w, "www.example", 2);
    /* Another server behind the first, and other options, too */
    write_conf(w, "options edns0\nnameserver 127.0.0.3\n");
    expect(w, "www.example", 2);
    g_assert_cmpuint(w->asked[2], ==, 1);

    /* Emptied in place; then gone */
    g_assert_cmpint(truncate(w->conf, 0), ==, 0);
    wait_moves(w, 2);
    expect_origin(w, DNS_SERVERS_KEPT, "127.0.0.3");
    expect(w, "www.example", 2);
    g_assert_cmpuint(w->asked[2], ==, 1);       /* from the cache */
    expect(w, "new.example", 2);
    g_assert_cmpint(unlink(w->conf), ==, 0);
    expect(w, "newer.example", 2);

    /* A link to another file, and then to yet another */
    g_assert_true(g_file_set_contents(other, "nameserver 127.0.0.2\n", -1,
                                      NULL));
    g_assert_cmpint(symlink("other", w->conf), ==, 0);
    wait_moves(w, 3);
    expect_origin(w, DNS_SERVERS_FILE, "127.0.0.2");
    expect(w, "www.example", 1);
    g_assert_cmpint(unlink(w->conf), ==, 0);
    write_conf(w, "nameserver 127.0.0.3\n");
    wait_moves(w, 4);
    expect(w, "www.example", 2);
    unlink(other);
    world_free(w);
}

/* A question under way gets the answer of the new servers, and once. */
static void test_under_way(void)
{
    World *w = world_new();

    write_conf(w, "nameserver 127.0.0.2\n");
    open_upstream(w, NULL, 0);
    w->mute[1] = true;
    start(w, "www.example", 1);
    start(w, "www.example", 2);
    start(w, "left.example", 3);
    start(w, "stays.example", 4);
    dns_upstream_ops.cancel(w->up, w, 3);
    while (w->asked[1] < 3) {
        turn(w);
    }
    write_conf(w, "nameserver 127.0.0.3\n");
    wait_replies(w, 3);
    g_assert_cmpint(w->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpuint(w->last_octet, ==, 2);
    g_assert_cmpuint(w->asked[2], ==, 2);       /* nobody waits for the third */
    while (dns_upstream_timeout_ms(w->up) >= 0) {
        turn(w);
    }
    /* Freed while the servers are silent */
    w->mute[2] = true;
    start(w, "last.example", 5);
    turn(w);
    world_free(w);
}

/* An interface comes late, is made again, and goes. */
static void interface_of(World *w)
{
    unsigned moves = w->moves;

    expect_origin(w, dns_upstream_origin(w->up)->from, "fe80::53%late0");
    g_assert_true(dnsc_list_is_absent(&dns_upstream_origin(w->up)->list, 0));
    expect(w, "www.example", 1);
    make_late(w);
    wait_moves(w, moves + 1);
    expect(w, "www.example", 0);
    run("ip link del late0");
    make_late(w);
    wait_moves(w, moves + 2);
    expect(w, "www.example", 0);
    run("ip link del late0");
    wait_moves(w, moves + 3);
    expect(w, "www.example", 1);
}

static void test_interface(void)
{
    World *w = world_new();
    DnsServer servers[2];

    g_assert_true(dns_server_parse("fe80::53%late0", &servers[0], NULL));
    g_assert_true(dns_server_parse("127.0.0.2", &servers[1], NULL));
    open_upstream(w, servers, 2);
    expect_origin(w, DNS_SERVERS_GIVEN, "fe80::53%late0");
    interface_of(w);
    dns_upstream_free(w->up);
    write_conf(w, "nameserver fe80::53%late0\nnameserver 127.0.0.2\n");
    open_upstream(w, NULL, 0);
    interface_of(w);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_true(unshare(CLONE_NEWNET) == 0 ||
                  unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
    run("ip link set lo up");
    g_test_add_func("/dns/origin/late-file", test_late_file);
    g_test_add_func("/dns/origin/changed", test_changed);
    g_test_add_func("/dns/origin/under-way", test_under_way);
    g_test_add_func("/dns/origin/interface", test_interface);
    return g_test_run();
}
