/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole library, against a server that the test plays on 127.0.0.1.  Both
 * run in turn in one thread, so the test controls the order of events.
 */

#include <arpa/inet.h>
#include <glib.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "net/dns/client/face/context.h"
#include "net/dns/wire/wire.h"
#include "vmmnet/dns.h"

typedef struct World {
    VmmnetDns *dns;
    int server[2];
    unsigned queries[2];        /* received by each server */
    bool silent[2];
    bool fails;
    bool drops_aaaa;
    bool echoes_case;
    struct in_addr a;           /* the address of all names */
    uint32_t a_ttl;
    const char *holds_aaaa;     /* of this name: until release() */
    uint8_t held[DNS_MSG_MAX];
    size_t held_len;
    struct sockaddr_storage held_peer;
    unsigned calls;             /* back */
    VmmnetDnsAnswer last;
    char canonical[64];
    VmmnetDnsId cancel;         /* from within the next call back */
    const char *rewrite;        /* then: the file, and another look-up */
} World;

static int bind_server(char text[32])
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&at, len), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&at, &len), ==, 0);
    g_snprintf(text, 32, "127.0.0.1@%u", ntohs(at.sin_port));
    return fd;
}

static World *make(unsigned flags, unsigned count)
{
    World *w = g_new0(World, 1);
    char text[2][32];
    const char *servers[3] = { text[0], count > 1 ? text[1] : NULL, NULL };
    VmmnetDnsOptions o = {
        .size = sizeof(o), .flags = flags, .servers = servers,
        .resolv_conf = "", .hosts = "", .attempts = 1, .timeout_ms = 60000,
    };
    const char *mistake = NULL;

    w->a_ttl = 1;
    w->a.s_addr = inet_addr("192.0.2.1");
    w->server[0] = bind_server(text[0]);
    w->server[1] = bind_server(text[1]);
    w->dns = vmmnet_dns_new(&o, &mistake);
    g_assert_nonnull(w->dns);
    return w;
}

static void destroy(World *w)
{
    vmmnet_dns_free(w->dns);
    close(w->server[0]);
    close(w->server[1]);
    g_free(w);
}

static void serve(World *w, int i)
{
    uint8_t query[DNS_MSG_MAX], msg[512];
    char name[DNS_NAME_TEXT_MAX];
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    DnsQuestion q;
    DnsCursor cursor;
    DnsBuilder b;
    ssize_t n;

    while ((n = recvfrom(w->server[i], query, sizeof(query), 0,
                         (struct sockaddr *)&peer, &len)) > 0) {
        w->queries[i]++;
        g_assert_cmpint(dns_cursor_init(&cursor, query, n), ==, 0);
        g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
        if (w->silent[i] || (w->drops_aaaa && q.type == DNS_TYPE_AAAA)) {
            continue;
        }
        if (w->echoes_case) {
            for (size_t j = 0; j < q.name.len; j++) {
                q.name.wire[j] = g_ascii_tolower(q.name.wire[j]);
            }
        }
        dns_builder_init(&b, msg, sizeof(msg), query[0] << 8 | query[1],
                         DNS_FLAG_QR | DNS_FLAG_RA |
                         (w->fails ? DNS_RCODE_SERVFAIL : 0));
        dns_builder_question(&b, &q);
        if (!w->fails && q.type == DNS_TYPE_A) {
            dns_builder_a(&b, DNS_SECTION_ANSWER, &q.name, w->a_ttl,
                          w->a);
        } else if (!w->fails && q.type == DNS_TYPE_AAAA) {
            dns_builder_aaaa(&b, DNS_SECTION_ANSWER, &q.name, 1,
                             &in6addr_loopback);
        }
        dns_name_to_text(&q.name, name);
        if (q.type == DNS_TYPE_AAAA && w->holds_aaaa &&
            g_str_has_prefix(name, w->holds_aaaa)) {
            memcpy(w->held, msg, b.len);
            w->held_len = b.len;
            w->held_peer = peer;
            continue;
        }
        sendto(w->server[i], msg, b.len, 0, (struct sockaddr *)&peer, len);
    }
}

static void told(void *opaque, const VmmnetDnsAnswer *answer)
{
    World *w = opaque;

    w->calls++;
    w->last = *answer;
    g_strlcpy(w->canonical, answer->canonical, sizeof(w->canonical));
    if (w->cancel) {
        g_assert_true(vmmnet_dns_cancel(w->dns, w->cancel));
        w->cancel = 0;
    }
    if (w->rewrite) {
        const char *conf = g_steal_pointer(&w->rewrite);

        g_file_set_contents(conf, "search other.example\n", -1, NULL);
        vmmnet_dns_addresses(w->dns, "again.example", AF_INET, 0, told, w);
    }
}

static void turn(World *w)
{
    struct pollfd p[3] = {
        { .fd = vmmnet_dns_fd(w->dns), .events = POLLIN },
        { .fd = w->server[0], .events = POLLIN },
        { .fd = w->server[1], .events = POLLIN },
    };

    poll(p, 3, vmmnet_dns_timeout_ms(w->dns));
    serve(w, 0);
    serve(w, 1);
    vmmnet_dns_process(w->dns);
}

static void run(World *w, unsigned calls)
{
    while (w->calls < calls) {
        turn(w);
    }
}

static VmmnetDnsId ask(World *w, const char *name, int family)
{
    VmmnetDnsId id = vmmnet_dns_addresses(w->dns, name, family, 0, told, w);

    g_assert_cmpuint(id, !=, 0);
    return id;
}

/* A question is asked once at a time, and then cached. */
static void test_joined(void)
{
    World *w = make(0, 1);
    unsigned before;

    before = w->queries[0];
    ask(w, "www.example", AF_INET);
    ask(w, "WWW.example.", AF_INET);
    g_assert_cmpuint(w->calls, ==, 0);
    run(w, 2);
    g_assert_cmpuint(w->queries[0], ==, before + 1);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_OK);
    ask(w, "www.example", AF_INET);
    g_assert_cmpuint(w->calls, ==, 2);
    run(w, 3);
    g_assert_cmpuint(w->queries[0], ==, before + 1);
    destroy(w);
}

static void test_cancel(void)
{
    World *w = make(0, 1);
    VmmnetDnsId first = ask(w, "one.example", AF_INET), second;

    second = ask(w, "two.example", AF_INET);
    g_assert_true(vmmnet_dns_cancel(w->dns, first));
    g_assert_false(vmmnet_dns_cancel(w->dns, first));
    run(w, 1);
    g_assert_cmpstr(w->canonical, ==, "two.example");
    g_assert_false(vmmnet_dns_cancel(w->dns, second));
    /* Two look-ups of one question: the first callback cancels the other */
    first = ask(w, "three.example", AF_INET);
    ask(w, "three.example", AF_INET);
    w->cancel = first;
    run(w, 2);
    /* A look-up cancels itself in its first callback */
    w->drops_aaaa = true;
    w->cancel = ask(w, "four.example", AF_UNSPEC);
    run(w, 3);
    g_assert_true(w->last.more);
    g_assert_cmpint(vmmnet_dns_timeout_ms(w->dns), ==, -1);
    ask(w, "five.example", AF_UNSPEC);
    vmmnet_dns_cancel_all(w->dns);
    g_assert_cmpint(vmmnet_dns_timeout_ms(w->dns), ==, -1);
    /* under way when the context is freed */
    ask(w, "six.example", AF_UNSPEC);
    destroy(w);
}

/* A silent server is probed from time to time, not for each question. */
static void test_second_server(void)
{
    World *w = make(VMMNET_DNS_NO_CACHE, 2);

    w->silent[0] = true;
    ask(w, "one.example", AF_INET);
    run(w, 1);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_OK);
    g_assert_cmpuint(w->queries[0], ==, 1);
    ask(w, "two.example", AF_INET);
    run(w, 2);
    g_assert_cmpuint(w->queries[0], ==, 1);
    g_assert_cmpuint(w->queries[1], ==, 2);
    destroy(w);
}

/* A failure is an error; with RFC 8767 the old answer is used. */
static void test_stale(void)
{
    static const unsigned flags[] = { 0, VMMNET_DNS_SERVE_STALE };

    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        World *w = make(flags[i], 1);

        ask(w, "www.example", AF_INET);
        run(w, 1);
        w->fails = true;
        /* Its TTL of a second ends; until then the cache answers. */
        while (w->queries[0] == 1) {
            unsigned calls = w->calls;

            ask(w, "www.example", AF_INET);
            run(w, calls + 1);
            g_usleep(20000);
        }
        g_assert_cmpint(w->last.error, ==, i ? VMMNET_DNS_OK :
                        VMMNET_DNS_FAILED);
        g_assert_cmpint(w->last.stale, ==, i);
        destroy(w);
    }
}

/* Names are sent in random case, and a reply without it is ignored. */
static void test_random_case(void)
{
    World *w = make(VMMNET_DNS_RANDOM_CASE | VMMNET_DNS_NO_CACHE, 1);
    VmmnetDnsCounters counters;

    ask(w, "abcdefghijklmnopqrstuvwxyz.example", AF_INET);
    run(w, 1);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_OK);
    w->echoes_case = true;
    ask(w, "abcdefghijklmnopqrstuvwxyz.example", AF_INET);
    do {
        turn(w);
        vmmnet_dns_counters(w->dns, &counters);
    } while (!counters.wrong_question);
    g_assert_cmpuint(w->calls, ==, 1);
    destroy(w);
}

/* Without a server: addresses, localhost, and invalid names */
static void test_local(void)
{
    World *w = make(0, 1);

    ask(w, "fe80::1%lo", AF_UNSPEC);
    run(w, 1);
    g_assert_cmpuint(w->last.count, ==, 1);
    ask(w, "192.0.2.7", AF_INET6);
    run(w, 2);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_NO_DATA);
    ask(w, "db.localhost", AF_UNSPEC);
    run(w, 3);
    g_assert_cmpuint(w->last.count, ==, 2);
    ask(w, "x.invalid", AF_UNSPEC);
    run(w, 4);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_NO_NAME);
    g_assert_cmpuint(w->queries[0], ==, 0);
    g_assert_cmpuint(vmmnet_dns_addresses(w->dns, "a..b", AF_UNSPEC, 0, told,
                                          w), ==, 0);
    g_assert_cmpuint(vmmnet_dns_records(w->dns, "a", DNS_TYPE_ANY, 0, told,
                                        w), ==, 0);
    destroy(w);
}

/*** A caller that is told once ***/

static void told_once(void *opaque, const VmmnetDnsAnswer *answer)
{
    VmmnetDnsAnswer *once = opaque;

    *once = *answer;
}

/*
 * Look up late.example, whose AAAA is held.  A look-up that begins after its A
 * was answered, and is told A and what follows, has waited for the delay, and
 * so has this one.  Returns the number of addresses that were told without
 * AAAA; otherwise AAAA is released, and both are told.
 */
static size_t look_up_late(World *w)
{
    VmmnetDnsAnswer once = { .ttl = UINT32_MAX };
    unsigned calls;

    w->holds_aaaa = "late.";
    w->held_len = 0;
    g_assert_cmpuint(vmmnet_dns_addresses(w->dns, "late.example", AF_UNSPEC,
                                          VMMNET_DNS_ONCE, told_once, &once),
                     !=, 0);
    while (!w->held_len) {
        turn(w);
    }
    w->drops_aaaa = true;
    calls = w->calls;
    ask(w, "reference.example", AF_UNSPEC);
    run(w, calls + 1);
    g_assert_true(w->last.more);
    w->drops_aaaa = false;
    vmmnet_dns_process(w->dns);
    if (once.ttl == UINT32_MAX) {
        sendto(w->server[0], w->held, w->held_len, 0,
               (struct sockaddr *)&w->held_peer, sizeof(w->held_peer));
        while (once.ttl == UINT32_MAX) {
            turn(w);
        }
        g_assert_cmpuint(once.count, ==, 2);
        return 0;
    }
    vmmnet_dns_cancel_all(w->dns);
    return once.count;
}

/* The delay is for an address to which there is a route. */
static void test_late(void)
{
    World *w = make(VMMNET_DNS_NO_CACHE, 1);

    w->a.s_addr = htonl(INADDR_LOOPBACK);
    g_assert_cmpuint(look_up_late(w), ==, 1);
    /* To connect to it is refused without SO_BROADCAST, on every host. */
    w->a.s_addr = htonl(INADDR_BROADCAST);
    g_assert_cmpuint(look_up_late(w), ==, 0);
    destroy(w);
}

/* A cached A gives AAAA the time that the servers usually need. */
static void test_late_cached(void)
{
    World *w = make(0, 1);

    w->a.s_addr = htonl(INADDR_LOOPBACK);
    w->a_ttl = 60;
    ask(w, "late.example", AF_INET);
    run(w, 1);
    g_assert_cmpint(w->dns->fetcher.usual, >, 0);
    w->dns->fetcher.usual = 60 * US_PER_S;
    g_assert_cmpuint(look_up_late(w), ==, 0);
    destroy(w);
}

/* Files are read again when they have changed, for the next look-up. */
static void test_files(void)
{
    World *w = g_new0(World, 1);
    g_autofree char *folder = g_dir_make_tmp(NULL, NULL);
    g_autofree char *conf = g_build_filename(folder, "resolv.conf", NULL);
    g_autofree char *hosts = g_build_filename(folder, "hosts", NULL);
    char text[32], unused[32];
    const char *servers[] = { text, NULL };
    VmmnetDnsOptions o = {
        .size = sizeof(o), .servers = servers, .resolv_conf = conf,
        .hosts = hosts,
    };

    w->server[0] = bind_server(text);
    w->server[1] = bind_server(unused);
    g_file_set_contents(conf, "search one.example\n", -1, NULL);
    w->dns = vmmnet_dns_new(&o, NULL);
    ask(w, "www", AF_INET);
    run(w, 1);
    g_assert_cmpstr(w->canonical, ==, "www.one.example");
    g_file_set_contents(conf, "search two.example\n", -1, NULL);
    ask(w, "www", AF_INET);
    run(w, 2);
    g_assert_cmpstr(w->canonical, ==, "www.two.example");
    g_file_set_contents(hosts, "192.0.2.9 www.here www\n", -1, NULL);
    ask(w, "www", AF_INET);
    run(w, 3);
    g_assert_cmpstr(w->canonical, ==, "www.here");
    g_assert_cmpint(unlink(hosts), ==, 0);
    ask(w, "www", AF_INET);
    run(w, 4);
    g_assert_cmpstr(w->canonical, ==, "www.two.example");
    unlink(conf);
    rmdir(folder);
    destroy(w);
}

/* The settings change in the callback of the last question with the old ones */
static void test_changed_in_callback(void)
{
    World *w = g_new0(World, 1);
    g_autofree char *folder = g_dir_make_tmp(NULL, NULL);
    g_autofree char *conf = g_build_filename(folder, "resolv.conf", NULL);
    char text[32];
    const char *servers[] = { text, NULL };
    VmmnetDnsOptions o = {
        .size = sizeof(o), .servers = servers, .resolv_conf = conf,
        .hosts = "", .attempts = 1,
    };

    close(bind_server(text));
    w->server[0] = w->server[1] = -1;
    w->dns = vmmnet_dns_new(&o, NULL);
    w->rewrite = conf;
    ask(w, "www.example", AF_INET);
    run(w, 2);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_UNREACHABLE);
    unlink(conf);
    rmdir(folder);
    destroy(w);
}

static void shell(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/* Make late0, and the server on it. */
static void make_late(World *w)
{
    struct sockaddr_in6 at = {
        .sin6_family = AF_INET6, .sin6_port = htons(53),
    };

    shell("ip link add late0 type veth peer name late1 && "
          "ip link set late0 up && ip link set late1 up && "
          "ip address add fe80::53/64 dev late0 nodad && "
          "until ip -6 route get fe80::53 oif late0 | grep -q ^local; "
          "do :; done");
    inet_pton(AF_INET6, "fe80::53", &at.sin6_addr);
    at.sin6_scope_id = if_nametoindex("late0");
    close(w->server[0]);
    w->server[0] = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    g_assert_cmpint(bind(w->server[0], (struct sockaddr *)&at, sizeof(at)),
                    ==, 0);
}

/* The interface of a server comes after the context, and is made again. */
static void late_interface(const char *conf, const char *const *servers)
{
    World *w = g_new0(World, 1);
    VmmnetDnsOptions o = {
        .size = sizeof(o), .servers = servers, .resolv_conf = conf,
        .hosts = "", .attempts = 1, .timeout_ms = 60000,
    };

    w->server[0] = w->server[1] = -1;
    w->dns = vmmnet_dns_new(&o, NULL);
    g_assert_nonnull(w->dns);
    ask(w, "www.example", AF_INET);
    run(w, 1);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_UNREACHABLE);
    make_late(w);
    /* The failure is not remembered either. */
    ask(w, "www.example", AF_INET);
    run(w, 2);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_OK);
    shell("ip link del late0");
    make_late(w);
    ask(w, "other.example", AF_INET);
    run(w, 3);
    g_assert_cmpint(w->last.error, ==, VMMNET_DNS_OK);
    shell("ip link del late0");
    destroy(w);
}

static void test_late_interface(void)
{
    const char *const servers[] = { "fe80::53%late0", NULL };
    g_autofree char *folder = g_dir_make_tmp(NULL, NULL);
    g_autofree char *conf = g_build_filename(folder, "resolv.conf", NULL);

    g_assert_true(unshare(CLONE_NEWNET) == 0 ||
                  unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
    shell("ip link set lo up");
    late_interface("", servers);
    g_file_set_contents(conf, "nameserver fe80::53%late0\n", -1, NULL);
    late_interface(conf, NULL);
    unlink(conf);
    rmdir(folder);
}

static void test_mistakes(void)
{
    const char *servers[] = { "192.0.2.1", "nobody", NULL }, *mistake;
    const char *root[] = { "vm.example", ".", NULL };
    VmmnetDnsOptions o = { .size = sizeof(o), .servers = servers };

    g_assert_null(vmmnet_dns_new(&o, &mistake));
    g_assert_nonnull(strstr(mistake, "servers is \"nobody\""));
    o.servers = NULL;
    o.insecure = root;
    g_assert_null(vmmnet_dns_new(&o, &mistake));
    g_assert_nonnull(strstr(mistake, "insecure is \".\""));
    o.insecure = NULL;
    o.timeout_ms = 60001;
    g_assert_null(vmmnet_dns_new(&o, &mistake));
    g_assert_nonnull(strstr(mistake, "timeout_ms is \"60001\""));
    g_assert_nonnull(strstr(mistake, "at most 60000"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/context/joined", test_joined);
    g_test_add_func("/dns-client/context/cancel", test_cancel);
    g_test_add_func("/dns-client/context/second-server", test_second_server);
    g_test_add_func("/dns-client/context/stale", test_stale);
    g_test_add_func("/dns-client/context/random-case", test_random_case);
    g_test_add_func("/dns-client/context/local", test_local);
    g_test_add_func("/dns-client/context/late", test_late);
    g_test_add_func("/dns-client/context/late-cached", test_late_cached);
    g_test_add_func("/dns-client/context/files", test_files);
    g_test_add_func("/dns-client/context/mistakes", test_mistakes);
    g_test_add_func("/dns-client/context/changed-in-callback",
                    test_changed_in_callback);
    g_test_add_func("/dns-client/context/late-interface", test_late_interface);
    return g_test_run();
}
