/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multicast groups of the guest, on the host's IPv6 and on its IPv4 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/wire/multicast.h"
#include "tests/fixtures/server-fixture.h"

#define GROUP "239.1.2.3"
#define OTHER "239.1.2.4"
#define LINK_GROUP "224.0.0.251"      /* of link scope */
#define PORT 4711
#define GROUP6 "ff05::7:1"
#define OTHER6 "ff0e::7:2"
#define LATE6 "2001:db8::30"    /* an address that comes and goes */

static int interface;           /* by which the VM's address goes out */

/* A pair of interfaces, and a default route that leads there. */
static void make_interface(void)
{
    if (fx_has_namespace() &&
        system("ip link add vm0 type veth peer name vm1 && "
               "ip link set vm0 up && ip link set vm1 up && "
               "ip -6 route add default dev vm0") == 0) {
        interface = if_nametoindex("vm0");
    }
}

static bool can_multicast(void)
{
    if (!interface) {
        g_test_skip("no network namespace to make an interface in");
    }
    return interface;
}

static struct sockaddr_in6 group_address(const char *group, uint16_t port)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(port) };

    if (strchr(group, ':')) {
        g_assert_cmpint(inet_pton(AF_INET6, group, &sin6.sin6_addr), ==, 1);
    } else {
        g_assert_true(vmrpc_group_to6(fx_ip4(group), &sin6.sin6_addr));
    }
    return sin6;
}

/* A program of the host that has joined a group, by itself. */
static int member(const char *group, uint16_t port)
{
    struct sockaddr_in6 sin6 = group_address(group, port);
    struct ipv6_mreq mreq = { sin6.sin6_addr, interface };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==, 0);
    g_assert_cmpint(setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &mreq,
                               sizeof(mreq)), ==, 0);
    return fd;
}

/* The peer sends to a group. */
static void tell(int fd, const char *group, uint16_t port, const char *text)
{
    struct sockaddr_in6 sin6 = group_address(group, port);

    g_assert_cmpint(setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface,
                               sizeof(interface)), ==, 0);
    g_assert_cmpint(sendto(fd, text, strlen(text), 0,
                           (struct sockaddr *)&sin6, sizeof(sin6)), >, 0);
}

static void tell_vm(int fd, uint16_t port, const char *text)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(port) };

    inet_pton(AF_INET6, fx_vm6, &sin6.sin6_addr);
    g_assert_cmpint(sendto(fd, text, strlen(text), 0,
                           (struct sockaddr *)&sin6, sizeof(sin6)), >, 0);
}

static FxReply membership(Fx *fx, uint32_t handle, int name, const char *group)
{
    struct in_addr mreq[2] = { };
    struct ipv6_mreq mreq6 = { };

    if (strchr(group, ':')) {
        mreq6.ipv6mr_multiaddr = group_address(group, 0).sin6_addr;
        return fx_setsockopt(fx, handle, IPPROTO_IPV6,
                             name == IP_ADD_MEMBERSHIP ? IPV6_ADD_MEMBERSHIP
                                                       : IPV6_DROP_MEMBERSHIP,
                             &mreq6, sizeof(mreq6));
    }
    mreq[0] = fx_ip4(group);
    return fx_setsockopt(fx, handle, IPPROTO_IP, name, mreq, sizeof(mreq));
}

static FxReply join(Fx *fx, uint32_t handle, const char *group)
{
    return membership(fx, handle, IP_ADD_MEMBERSHIP, group);
}

static FxReply leave(Fx *fx, uint32_t handle, const char *group)
{
    return membership(fx, handle, IP_DROP_MEMBERSHIP, group);
}

static void bound(Fx *fx, uint32_t handle, const char *addr, uint16_t port)
{
    fx_ok(fx_socket(fx, handle, handle + 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, handle, fx_ip4(addr), port));
}

static void hears(Fx *fx, uint32_t handle, const char *text)
{
    char buf[64];
    FxReply r;

    fx_wait(fx, handle, VMRPC_IN);
    r = fx_recv(fx, handle, buf, sizeof(buf), MSG_PEEK);
    fx_ok(r);
    r = fx_recv(fx, handle, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpmem(buf, r.value, text, strlen(text));
    g_assert_cmpint(r.addr.sin_addr.s_addr, ==, fx_peer4(fx).s_addr);
}

/* Nothing is there; what was sent before would be. */
static void hears_nothing(Fx *fx, uint32_t handle)
{
    char buf[64];

    fx_pump(fx);
    fx_fails(fx_recv(fx, handle, buf, sizeof(buf), 0), EAGAIN);
}

static void test_member(void)
{
    int peer, elsewhere;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    elsewhere = member(OTHER, PORT);
    fx = fx_new_default();
    bound(fx, 0, "0.0.0.0", PORT);
    bound(fx, 1, "0.0.0.0", PORT + 1);
    tell(peer, GROUP, PORT, "too early");
    hears_nothing(fx, 0);
    fx_ok(join(fx, 0, GROUP));
    tell(peer, GROUP, PORT, "all");
    hears(fx, 0, "all");
    /* nobody else's groups, neither the host's nor another socket's */
    tell(peer, OTHER, PORT, "others");
    tell(peer, GROUP, PORT + 1, "another port");
    peer_await(elsewhere);
    hears_nothing(fx, 0);
    hears_nothing(fx, 1);
    /* and its own datagrams still */
    tell_vm(peer, PORT, "one");
    hears(fx, 0, "one");
    tell(peer, GROUP, PORT, "all");
    tell_vm(peer, PORT, "one");
    hears(fx, 0, "all");
    hears(fx, 0, "one");
    hears_nothing(fx, 0);

    fx_ok(leave(fx, 0, GROUP));
    tell(peer, GROUP, PORT, "gone");
    hears_nothing(fx, 0);
    close(peer);
    close(elsewhere);
    fx_free(fx);
}

/* Joined first, bound then, as some programs do. */
static void test_member_before_bind(void)
{
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_new_default();
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(join(fx, 0, GROUP));
    fx_ok(join(fx, 0, OTHER));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, PORT));
    tell(peer, GROUP, PORT, "one");
    hears(fx, 0, "one");
    tell(peer, OTHER, PORT, "two");
    hears(fx, 0, "two");
    close(peer);
    fx_free(fx);
}

static void test_bound_to_group(void)
{
    int peer, listener;
    uint16_t port;
    FxReply r;
    Fx *fx;
    struct sockaddr_in6 from;
    socklen_t len = sizeof(from);
    char buf[16];

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    listener = member(OTHER, PORT);
    fx = fx_new_default();
    bound(fx, 0, GROUP, PORT);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    g_assert_cmpint(r.addr.sin_addr.s_addr, ==, fx_ip4(GROUP).s_addr);
    g_assert_cmpint(ntohs(r.addr.sin_port), ==, PORT);
    tell(peer, GROUP, PORT, "not joined");
    hears_nothing(fx, 0);
    fx_ok(join(fx, 0, GROUP));
    tell(peer, GROUP, PORT, "all");
    hears(fx, 0, "all");
    tell_vm(peer, PORT, "not for a group");
    hears_nothing(fx, 0);
    /* what it sends comes from the VM's address */
    fx_ok(fx_sendto(fx, 0, fx_ip4(OTHER), PORT, "mine", 4));
    peer_await(listener);
    g_assert_cmpint(recvfrom(listener, buf, sizeof(buf), 0,
                             (struct sockaddr *)&from, &len), ==, 4);
    g_assert_cmpstr(inet_ntop(AF_INET6, &from.sin6_addr, (char[46]) { }, 46),
                    ==, fx_vm6);
    g_assert_cmpint(ntohs(from.sin6_port), ==, PORT);
    fx_ok(leave(fx, 0, GROUP));
    tell(peer, GROUP, PORT, "gone");
    hears_nothing(fx, 0);
    close(peer);
    close(listener);
    fx_free(fx);
}

/* Joined first, bound to the group then: as many programs do it. */
static void test_member_before_bound_to_group(void)
{
    struct sockaddr_in6 alone = group_address(GROUP, PORT + 1);
    int taken = socket(AF_INET6, SOCK_DGRAM, 0);
    int peer, other;
    uint16_t port;
    unsigned fds;
    Fx *fx;

    if (!can_multicast()) {
        close(taken);
        return;
    }
    g_assert_cmpint(bind(taken, (struct sockaddr *)&alone, sizeof(alone)), ==,
                    0);
    peer = peer_socket(SOCK_DGRAM, &port);
    other = member(OTHER, PORT);
    fx = fx_new_default();
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_BROADCAST,
                        &(uint32_t) { fx_le(1) }, 4));
    fds = fx_open_fds();
    fx_ok(join(fx, 0, GROUP));
    fx_ok(join(fx, 0, OTHER));
    /* what fails changes nothing */
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, fx_ip4(GROUP), PORT + 1),
             EADDRINUSE);
    fx_fails(join(fx, 0, GROUP), EADDRINUSE);
    g_assert_cmpuint(fx_open_fds(), ==, fds + 2);

    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx_ip4(GROUP), PORT));
    g_assert_cmpuint(fx_open_fds(), ==, fds);
    tell(peer, GROUP, PORT, "all");
    hears(fx, 0, "all");
    tell(peer, OTHER, PORT, "joined, but not bound to");
    tell_vm(peer, PORT, "not for a group");
    hears_nothing(fx, 0);
    fx_ok(leave(fx, 0, OTHER));
    tell(peer, GROUP, PORT, "still");
    hears(fx, 0, "still");
    fx_ok(leave(fx, 0, GROUP));
    tell(peer, GROUP, PORT, "gone");
    hears_nothing(fx, 0);
    close(peer);
    close(other);
    close(taken);
    fx_free(fx);
}

static void test_send(void)
{
    uint32_t off = 0;
    int listener;
    char buf[16];
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    listener = member(GROUP, PORT);
    fx = fx_new_default();
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx_ip4(GROUP), PORT, "one", 3));
    peer_await(listener);
    g_assert_cmpint(recv(listener, buf, sizeof(buf), 0), ==, 3);
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx_ip4(GROUP), PORT));
    fx_ok(fx_send(fx, 0, "four", 4));
    peer_await(listener);
    g_assert_cmpint(recv(listener, buf, sizeof(buf), 0), ==, 4);
    /* a group is nobody to connect a stream to */
    fx_ok(fx_socket(fx, 1, 2, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 1, fx_ip4(GROUP), PORT),
             ENETUNREACH);
    /* not even to ourselves */
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_MULTICAST_LOOP, &off,
                        sizeof(off)));
    fx_ok(fx_send(fx, 0, "x", 1));
    g_assert_cmpint(recv(listener, buf, sizeof(buf), MSG_DONTWAIT), ==, -1);
    close(listener);
    fx_free(fx);
}

/* Two VMs of one host share a group and a port, and hear each other. */
static void test_two_vms(void)
{
    int peer;
    uint16_t port;
    Fx *a, *b;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    a = fx_new_default();
    b = fx_new_default();
    fx_ok(fx_socket(a, 0, 1, SOCK_DGRAM));
    fx_ok(join(a, 0, GROUP));
    fx_ok(fx_addr_op(a, VMRPC_BIND, 0, (struct in_addr) { 0 }, PORT));
    bound(b, 0, GROUP, PORT);
    fx_ok(join(b, 0, GROUP));
    tell(peer, GROUP, PORT, "both");
    hears(a, 0, "both");
    hears(b, 0, "both");
    close(peer);
    fx_free(a);
    fx_free(b);
}

static void join_many(Fx *fx, uint32_t handle, unsigned num)
{
    for (unsigned i = 1; i <= num; i++) {
        g_autofree char *group = g_strdup_printf("239.2.0.%u", i);

        fx_ok(join(fx, handle, group));
    }
}

static void test_limits_and_errors(void)
{
    unsigned fds;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    fx = fx_new(&(FxOptions) {
        .policy = "deny ff1e::239.1.2.4\nallow host\nallow ::1\n",
        .max_sockets = 64,
    });
    bound(fx, 0, "0.0.0.0", PORT);
    fds = fx_open_fds();
    fx_ok(join(fx, 0, GROUP));
    g_assert_cmpint(fx_open_fds(), ==, fds + 1);
    fx_fails(join(fx, 0, GROUP), EADDRINUSE);
    fx_fails(leave(fx, 0, "239.9.9.9"), EADDRNOTAVAIL);
    fx_fails(join(fx, 0, "10.1.2.3"), EINVAL);
    fx_fails(join(fx, 0, OTHER), EACCES);
    fx_fails(join(fx, 0, "224.0.0.251"), ENETUNREACH);
    join_many(fx, 0, VMRPC_GROUPS_MAX - 1);
    fx_fails(join(fx, 0, "239.3.0.1"), ENOBUFS);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpint(fx_open_fds(), ==, fds - 1);

    fx_ok(fx_socket(fx, 1, 2, SOCK_STREAM));
    fx_fails(join(fx, 1, GROUP), ENOPROTOOPT);

    /* as many as there are, and then the socket itself hears them */
    fx_ok(fx_socket(fx, 2, 3, SOCK_DGRAM));
    join_many(fx, 2, VMRPC_GROUPS_MAX);
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 2, fx_ip4("239.2.0.1"), PORT));
    fx_fails(join(fx, 2, "239.3.0.1"), ENOBUFS);
    fx_ok(leave(fx, 2, "239.2.0.2"));
    fx_fails(leave(fx, 2, "239.2.0.2"), EADDRNOTAVAIL);
    fx_ok(join(fx, 2, "239.3.0.1"));
    fx_free(fx);

    fx = fx_new(&(FxOptions) { .no_address6 = true });
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_fails(join(fx, 0, GROUP), ENODEV);
    fx_fails(fx_sendto(fx, 0, fx_ip4(GROUP), PORT, "x", 1), ENETUNREACH);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, fx_ip4(GROUP), PORT),
             EADDRNOTAVAIL);
    fx_free(fx);

    /* all of a VM's memberships together count as sockets do */
    fx = fx_new(&(FxOptions) { .max_sockets = 3 });
    bound(fx, 0, "0.0.0.0", PORT);
    fx_ok(join(fx, 0, GROUP));
    fx_ok(join(fx, 0, OTHER));
    fx_fails(join(fx, 0, "239.3.0.1"), ENOBUFS);
    fx_fails(fx_socket(fx, 1, 2, SOCK_DGRAM), EMFILE);
    fx_ok(leave(fx, 0, OTHER));
    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    fx_free(fx);
}

static struct {
    unsigned refusals, port, line;
    char dest[INET6_ADDRSTRLEN];
} traced;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    traced.refusals++;
    traced.port = refusal->port;
    traced.line = refusal->line;
    g_strlcpy(traced.dest, refusal->dest ?: "", sizeof(traced.dest));
}

static Fx *fx_with(const char *policy)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = policy });
    VmrpcTracer tracer = { .refused = trace_refused };

    vmrpc_server_set_tracer(fx->srv, &tracer);
    memset(&traced, 0, sizeof(traced));
    return fx;
}

/* One more refusal, of GROUP at @port. */
static void assert_refused(FxReply r, unsigned port, unsigned line)
{
    fx_fails(r, EACCES);
    g_assert_cmpuint(traced.refusals, ==, 1);
    g_assert_cmpstr(traced.dest, ==, "ff1e::ef01:203");
    g_assert_cmpuint(traced.port, ==, port);
    g_assert_cmpuint(traced.line, ==, line);
    traced.refusals = 0;
}

static FxReply bind_to(Fx *fx, uint32_t handle, const char *addr,
                       uint16_t port)
{
    return fx_addr_op(fx, VMRPC_BIND, handle, fx_ip4(addr), port);
}

/* A group at a port that the policy denies is not heard, in whatever order. */
static void test_denied_port(void)
{
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_with("deny ff1e::239.1.2.3 udp 4711\nallow host\n");
    bound(fx, 0, "0.0.0.0", PORT);
    assert_refused(join(fx, 0, GROUP), PORT, 1);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(join(fx, 0, OTHER));
    fx_ok(join(fx, 0, GROUP));
    assert_refused(bind_to(fx, 0, "0.0.0.0", PORT), PORT, 1);
    tell(peer, GROUP, PORT, "denied");
    hears_nothing(fx, 0);
    /* also by itself */
    assert_refused(bind_to(fx, 0, OTHER, PORT), PORT, 1);
    assert_refused(bind_to(fx, 0, GROUP, PORT), PORT, 1);
    hears_nothing(fx, 0);
    /* it is as it was: another port will do */
    fx_ok(bind_to(fx, 0, "0.0.0.0", PORT + 1));
    tell(peer, GROUP, PORT + 1, "allowed");
    hears(fx, 0, "allowed");

    /* bound to it first, joined then */
    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    assert_refused(bind_to(fx, 1, GROUP, PORT), PORT, 1);
    fx_ok(bind_to(fx, 1, OTHER, PORT));
    assert_refused(join(fx, 1, GROUP), PORT, 1);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_policy, ==, 6);
    close(peer);
    fx_free(fx);
}

/* What one port is allowed can be joined before there is any. */
static void test_allowed_port(void)
{
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_with("allow ff1e::239.1.2.3 udp 4711\nallow host\n"
                 "default deny\n");
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(join(fx, 0, GROUP));
    fx_fails(join(fx, 0, OTHER), EACCES);
    fx_fails(join(fx, 0, "224.0.0.251"), ENETUNREACH);
    traced.refusals = 0;
    assert_refused(bind_to(fx, 0, "0.0.0.0", PORT + 1), PORT + 1, 3);
    fx_ok(bind_to(fx, 0, "0.0.0.0", PORT));
    tell(peer, GROUP, PORT, "allowed");
    hears(fx, 0, "allowed");

    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    fx_ok(join(fx, 1, GROUP));
    assert_refused(bind_to(fx, 1, GROUP, PORT + 1), PORT + 1, 3);
    fx_ok(bind_to(fx, 1, GROUP, PORT));
    tell(peer, GROUP, PORT, "allowed");
    hears(fx, 1, "allowed");
    hears(fx, 0, "allowed");
    g_assert_cmpuint(traced.refusals, ==, 0);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_default, ==, 3);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==, 1);
    close(peer);
    fx_free(fx);
}

/* A port of the host's choice is judged, too, and given back. */
static void test_chosen_port(void)
{
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_with("deny ff1e::239.1.2.3 10000-65535\nallow host\n");
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(join(fx, 0, GROUP));
    for (int i = 0; i < 2; i++) {
        fx_fails(bind_to(fx, 0, "0.0.0.0", 0), EACCES);
        fx_fails(bind_to(fx, 0, GROUP, 0), EACCES);
        fx_fails(fx_sendto(fx, 0, fx_peer4(fx), port, "x", 1), EACCES);
        fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx_peer4(fx), port), EACCES);
    }
    g_assert_cmpuint(traced.port, >=, 10000);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_policy, ==, 8);
    fx_ok(bind_to(fx, 0, "0.0.0.0", PORT));
    tell(peer, GROUP, PORT, "allowed");
    hears(fx, 0, "allowed");
    fx_ok(fx_sendto(fx, 0, fx_peer4(fx), port, "x", 1));
    close(peer);
    fx_free(fx);
}

/* What is heard already was judged: it is not, when a peer is taken away. */
static void test_judged_once(void)
{
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("vmrpc-policy-XXXXXX", &path, NULL);
    int peer;
    uint16_t port;
    Fx *fx;

    close(fd);
    if (!can_multicast()) {
        g_unlink(path);
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    g_file_set_contents(path, "allow host\n", -1, NULL);
    fx = fx_new(&(FxOptions) { .policy_path = path });
    bound(fx, 0, "0.0.0.0", 0);
    fx_ok(join(fx, 0, GROUP));
    bound(fx, 1, GROUP, PORT);
    fx_ok(join(fx, 1, GROUP));
    g_file_set_contents(path, "deny ff1e::/16\nallow host\n", -1, NULL);
    g_assert_true(vmrpc_server_reload_policy(fx->srv, NULL));
    for (uint32_t i = 0; i < 2; i++) {
        FxReply before = fx_op(fx, VMRPC_GETSOCKNAME, i, 0, 0), after;

        fx_ok(fx_addr_op(fx, VMRPC_CONNECT, i, fx_peer4(fx), port));
        fx_ok(fx_addr_op(fx, VMRPC_CONNECT, i, fx->resolver4, 53));
        after = fx_op(fx, VMRPC_GETSOCKNAME, i, 0, 0);
        g_assert_cmpint(after.addr.sin_port, ==, before.addr.sin_port);
    }
    g_assert_cmpuint(fx_reach_counters(fx)->refused_policy, ==, 0);
    fx_fails(join(fx, 0, OTHER), EACCES);
    g_unlink(path);
    close(peer);
    fx_free(fx);
}

/* A connected socket hears its peer alone, also in groups. */
static void test_connected(void)
{
    int peer, stranger;
    uint16_t port, port2;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    stranger = peer_socket(SOCK_DGRAM, &port2);
    fx = fx_new_default();
    bound(fx, 0, "0.0.0.0", PORT);
    fx_ok(join(fx, 0, GROUP));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx_peer4(fx), port));
    /* a stranger's datagram has been in the buffer */
    fx->shortened = true;
    tell(stranger, GROUP, PORT, "stranger");
    tell(peer, GROUP, PORT, "peer");
    hears(fx, 0, "peer");
    hears_nothing(fx, 0);
    close(peer);
    close(stranger);
    fx_free(fx);
}

/* Connected to the resolver it hears no group either. */
static void test_connected_to_resolver(void)
{
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_new_default();
    fx->shortened = true;       /* see test_connected() */
    bound(fx, 0, GROUP, PORT);
    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->resolver4, 53));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 1, fx_ip4(GROUP), PORT));
    for (uint32_t i = 0; i < 2; i++) {
        fx_ok(join(fx, i, GROUP));
        fx_ok(fx_addr_op(fx, VMRPC_CONNECT, i, fx->resolver4, 53));
    }
    tell(peer, GROUP, PORT, "stranger");
    hears_nothing(fx, 0);
    hears_nothing(fx, 1);
    /* and then it does again */
    for (uint32_t i = 0; i < 2; i++) {
        fx_ok(fx_op(fx, VMRPC_CONNECT, i, 0, 0));
    }
    tell(peer, GROUP, PORT, "all");
    hears(fx, 0, "all");
    hears(fx, 1, "all");
    close(peer);
    fx_free(fx);
}

typedef struct Kept {
    VmrpcSavedSock sock[3];
    unsigned num;
} Kept;

static void keep(void *opaque, const VmrpcSavedSock *saved)
{
    Kept *kept = opaque;

    g_assert_cmpuint(kept->num, <, G_N_ELEMENTS(kept->sock));
    kept->sock[kept->num++] = *saved;
}

static void restore(Fx *fx, const Kept *kept)
{
    for (unsigned i = 0; i < kept->num; i++) {
        fx->sock[i] = (FxMirror) { .gen = kept->sock[i].gen,
                                   .seq = kept->sock[i].ready_seq };
        fx->edge = true;  /* restored sockets report edges */
        g_assert_cmpint(vmrpc_server_restore(fx->srv, &kept->sock[i]), ==, 0);
    }
}

/* A new server, with the sockets of another. */
static Fx *arrive(const Kept *kept)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow ::1\nallow host\n",
                                   .incoming = true });

    restore(fx, kept);
    return fx;
}

static void test_migration(void)
{
    g_autofree Kept *kept = g_new0(Kept, 1);
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_new_default();
    bound(fx, 0, "0.0.0.0", PORT);
    fx_ok(join(fx, 0, GROUP));
    fx_ok(join(fx, 0, OTHER));
    fx_ok(leave(fx, 0, OTHER));
    bound(fx, 1, OTHER, PORT + 1);
    fx_ok(join(fx, 1, OTHER));
    vmrpc_server_save(fx->srv, keep, kept);
    fx_free(fx);

    fx = arrive(kept);
    tell(peer, OTHER, PORT, "left");
    tell(peer, GROUP, PORT, "first");
    hears(fx, 0, "first");
    tell(peer, OTHER, PORT + 1, "second");
    hears(fx, 1, "second");
    hears_nothing(fx, 0);
    fx_free(fx);

    /* a record that nobody has saved */
    fx = fx_new_default();
    kept->sock[1].bound_group = fx_ip4("10.1.2.3").s_addr;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &kept->sock[1]), ==, -EINVAL);
    close(peer);
    fx_free(fx);
}

/* On one host: the port is the source's until that ends. */
static void test_port_is_late(void)
{
    g_autofree Kept *kept = g_new0(Kept, 1);
    Fx *from, *to;
    uint16_t port;
    int peer;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    from = fx_new_default();
    bound(from, 0, "0.0.0.0", PORT);
    fx_ok(join(from, 0, GROUP));
    fx_ok(join(from, 0, OTHER));
    vmrpc_server_save(from->srv, keep, kept);
    to = arrive(kept);
    hears_nothing(to, 0);
    g_assert_cmpuint(to->srv->arriving_num, ==, 1);
    fx_free(from);
    fx_wait(to, 0, VMRPC_OUT);
    tell(peer, GROUP, PORT, "one");
    hears(to, 0, "one");
    tell(peer, OTHER, PORT, "two");
    hears(to, 0, "two");
    g_assert_cmpuint(fx_counters(to)->connections_lost, ==, 0);
    close(peer);
    fx_free(to);
}

static void run(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/* One that is not bound, one that is, and one that is bound to its group. */
static void save_three(Kept *kept)
{
    Fx *fx = fx_new_default();

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(join(fx, 0, GROUP));
    bound(fx, 1, "0.0.0.0", PORT + 1);
    fx_ok(join(fx, 1, GROUP));
    bound(fx, 2, GROUP, PORT + 2);
    fx_ok(join(fx, 2, GROUP));
    vmrpc_server_save(fx->srv, keep, kept);
    fx_free(fx);
}

/* A VM with three sockets has left; its address, and the route, is not here. */
static void leave_with_three(Kept *kept)
{
    run("ip address add " LATE6 "/128 dev vm0 nodad");
    save_three(kept);
    run("ip address del " LATE6 "/128 dev vm0");
    run("ip -6 route del default dev vm0");
}

/* It arrives, and its address after it. */
static Fx *arrive_before_address(Kept *kept)
{
    Fx *fx = arrive(kept);

    fx_pump(fx);
    g_assert_cmpuint(fx->srv->arriving_num, ==, 3);
    run("ip address add " LATE6 "/128 dev vm0 nodad");
    for (unsigned i = 0; i < 3; i++) {
        fx_wait(fx, i, VMRPC_OUT);
    }
    return fx;
}

/* The VM's address comes after the VM, and with it the interface. */
static void test_address_is_late(void)
{
    g_autofree Kept *kept = g_new0(Kept, 1);
    const char *vm6 = fx_vm6;
    uint16_t port;
    int peer;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx_vm6 = LATE6;
    leave_with_three(kept);

    fx = arrive_before_address(kept);
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, PORT));
    for (unsigned i = 0; i < 3; i++) {
        tell(peer, GROUP, PORT + i, "late");
        hears(fx, i, "late");
    }
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    fx_free(fx);

    /* it comes long after it is expected, when the guest has other wishes */
    run("ip address del " LATE6 "/128 dev vm0");
    fx = arrive(kept);
    fx->srv->arriving_since_ms -= 60000;
    for (unsigned i = 0; i < 3; i++) {
        fx_wait(fx, i, VMRPC_OUT);
        fx_fails(fx_sendto(fx, i, fx_ip4(GROUP), PORT, "x", 1), ENETUNREACH);
    }
    fx_ok(leave(fx, 1, GROUP));
    fx_fails(leave(fx, 1, GROUP), EADDRNOTAVAIL);
    fx_ok(join(fx, 1, OTHER));
    fx_fails(join(fx, 1, OTHER), EADDRINUSE);
    g_assert_cmpuint(fx->srv->arriving_num, ==, 3);
    run("ip address add " LATE6 "/128 dev vm0 nodad");
    while (fx->srv->arriving_num) {
        fx_wait_any(fx);
    }
    tell(peer, GROUP, PORT + 1, "left");
    tell(peer, OTHER, PORT + 1, "joined");
    hears(fx, 1, "joined");
    tell(peer, GROUP, PORT + 2, "late");
    hears(fx, 2, "late");
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    fx_free(fx);
    run("ip address del " LATE6 "/128 dev vm0");

    /* or the default route leads elsewhere until it is here */
    run("ip link add other0 type veth peer name other1 && "
        "ip link set other0 up && ip link set other1 up && "
        "ip -6 route add default dev other0");
    fx = arrive_before_address(kept);
    for (unsigned i = 1; i < 3; i++) {
        tell(peer, GROUP, PORT + i, "late");
        hears(fx, i, "late");
    }
    fx_free(fx);

    run("ip address del " LATE6 "/128 dev vm0");
    run("ip link del other0 && ip -6 route add default dev vm0");
    fx_vm6 = vm6;
    close(peer);
}

/* The VM's address moves to another interface, and what is sent with it. */
static void test_interface_changes(void)
{
    const char *vm6 = fx_vm6;
    int before = interface, listener[2];
    char buf[8];
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    run("ip link add other0 type veth peer name other1 && "
        "ip link set other0 up && ip link set other1 up && "
        "ip address add " LATE6 "/128 dev vm0 nodad");
    listener[0] = member(GROUP, PORT);
    interface = if_nametoindex("other0");
    listener[1] = member(GROUP, PORT + 1);
    fx_vm6 = LATE6;
    fx = fx_new_default();
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx_ip4(GROUP), PORT, "one", 3));
    peer_await(listener[0]);
    g_assert_cmpint(recv(listener[0], buf, sizeof(buf), 0), ==, 3);
    run("ip address del " LATE6 "/128 dev vm0 && "
        "ip address add " LATE6 "/128 dev other0 nodad");
    fx_ok(fx_sendto(fx, 0, fx_ip4(GROUP), PORT + 1, "four", 4));
    peer_await(listener[1]);
    g_assert_cmpint(recv(listener[1], buf, sizeof(buf), 0), ==, 4);
    fx_free(fx);
    fx_vm6 = vm6;
    interface = before;
    run("ip link del other0");
    close(listener[0]);
    close(listener[1]);
}

/* Makes vm0 again, with the @index or with any (""), and waits for @num. */
static void make_again(Fx *fx, const char *index, uint64_t num)
{
    g_autofree char *command = g_strdup_printf(
        "ip link del vm0 && "
        "ip link add vm0 %s type veth peer name vm1 && "
        "ip link set vm0 up && ip link set vm1 up && "
        "ip -6 route add default dev vm0", index);

    run(command);
    interface = if_nametoindex("vm0");
    while (fx_counters(fx)->groups_joined_again < num) {
        fx_wait_any(fx);
    }
    g_assert_cmpuint(fx_counters(fx)->groups_joined_again, ==, num);
}

/* All sockets of test_made_again() hear, once. */
static void assert_all_hear(Fx *fx, int peer)
{
    static const struct {
        uint32_t handle;
        const char *group;
    } members[] = {
        { 0, GROUP }, { 0, LINK_GROUP }, { 1, GROUP }, { 2, LINK_GROUP },
        { 3, GROUP },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++) {
        tell(peer, members[i].group, PORT + members[i].handle, "again");
        hears(fx, members[i].handle, "again");
        hears_nothing(fx, members[i].handle);
    }
}

/*
 * The interface is made again, with another index or with the old one: members
 * hear on, in sockets that are bound to no group, to one, or connected.
 */
static void test_made_again(void)
{
    g_autofree char *same = NULL;
    uint16_t port;
    int peer;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = fx_new(&(FxOptions) {
        .policy = "allow ::1\nallow host\nallow ff02::/16\n"
    });
    bound(fx, 0, "0.0.0.0", PORT);
    fx_ok(join(fx, 0, GROUP));
    fx_ok(join(fx, 0, LINK_GROUP));
    bound(fx, 1, GROUP, PORT + 1);
    fx_ok(join(fx, 1, GROUP));
    bound(fx, 2, LINK_GROUP, PORT + 2);
    fx_ok(join(fx, 2, LINK_GROUP));
    bound(fx, 3, GROUP, PORT + 3);
    fx_ok(join(fx, 3, GROUP));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 3, fx->peer4, port));
    assert_all_hear(fx, peer);

    make_again(fx, "", 5);
    assert_all_hear(fx, peer);
    same = g_strdup_printf("index %d", interface);
    make_again(fx, same, 10);
    assert_all_hear(fx, peer);

    /* another change of the host moves nothing */
    run("ip -6 addr add 2001:db8::31/128 dev vm0 nodad && "
        "ip -6 addr del 2001:db8::31/128 dev vm0");
    fx->srv->groups_turn_ms = 0;
    while (!fx->srv->groups_turn_ms) {
        fx_wait_any(fx);
    }
    g_assert_cmpuint(fx_counters(fx)->groups_joined_again, ==, 10);
    /* the program need not know */
    fx_fails(join(fx, 0, GROUP), EADDRINUSE);
    fx_ok(leave(fx, 0, GROUP));
    fx_ok(leave(fx, 1, GROUP));
    tell(peer, GROUP, PORT, "gone");
    tell(peer, GROUP, PORT + 1, "gone");
    hears_nothing(fx, 0);
    hears_nothing(fx, 1);
    close(peer);
    fx_free(fx);
}

/* The address goes with the interface, and comes back later. */
static void test_made_again_with_address(void)
{
    const char *vm6 = fx_vm6;
    uint16_t port;
    int peer;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    run("ip link add other0 type veth peer name other1 && "
        "ip link set other0 up && ip link set other1 up && "
        "ip address add " LATE6 "/128 dev other0 nodad");
    fx_vm6 = LATE6;
    fx = fx_new_default();
    bound(fx, 0, "0.0.0.0", PORT);
    fx_ok(join(fx, 0, GROUP));
    /* the default route is not where the address is missed */
    run("ip link del other0");
    fx_pump(fx);
    g_assert_cmpuint(fx_counters(fx)->groups_joined_again, ==, 0);
    run("ip address add " LATE6 "/128 dev vm0 nodad");
    while (!fx_counters(fx)->groups_joined_again) {
        fx_wait_any(fx);
    }
    tell(peer, GROUP, PORT, "again");
    hears(fx, 0, "again");
    fx_free(fx);
    fx_vm6 = vm6;
    run("ip address del " LATE6 "/128 dev vm0");
    close(peer);
}

/* translate=off: it is all IPv4. */
static unsigned listed;         /* times */

/* In front of the C library's. */
int getifaddrs(struct ifaddrs **list)
{
    int (*real)(struct ifaddrs **) = dlsym(RTLD_NEXT, "getifaddrs");

    listed++;
    return real(list);
}

/* A guest's calls do not have the host's interfaces listed again and again. */
static void test_interfaces_are_listed_once(void)
{
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    fx = fx_new_default();
    listed = 0;
    bound(fx, 0, "0.0.0.0", PORT);
    for (int i = 0; i < 50; i++) {
        fx_ok(join(fx, 0, GROUP));
        fx_ok(leave(fx, 0, GROUP));
    }
    g_assert_cmpuint(listed, ==, 1);
    g_assert_cmpint(system("ip -6 addr add 2001:db8::31/128 dev vm0 nodad"),
                    ==, 0);
    fx_ok(join(fx, 0, GROUP));
    g_assert_cmpuint(listed, ==, 2);
    g_assert_cmpint(system("ip -6 addr del 2001:db8::31/128 dev vm0"), ==, 0);
    fx_free(fx);
}

static void test_ipv4(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT),
                              .sin_addr = fx_ip4(GROUP) };
    struct in_addr lo = fx_ip4("127.0.0.1");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    char buf[8];
    Fx *fx;

    if (!can_multicast()) {
        close(fd);
        return;
    }
    fx = fx_new(&(FxOptions) {
        .ipv4 = true, .policy = "allow 239.1.0.0/16\nallow 127.0.0.0/8\n",
    });
    bound(fx, 0, "0.0.0.0", PORT);
    fx_ok(join(fx, 0, GROUP));
    bound(fx, 1, GROUP, PORT);
    fx_ok(join(fx, 1, GROUP));
    fx_ok(fx_socket(fx, 2, 3, SOCK_DGRAM));
    fx_ok(join(fx, 2, GROUP));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 2, fx_ip4(GROUP), PORT));
    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo));
    g_assert_cmpint(sendto(fd, "four", 4, 0, (struct sockaddr *)&to,
                           sizeof(to)), ==, 4);
    for (unsigned i = 0; i < 3; i++) {
        fx_wait(fx, i, VMRPC_IN);
        fx_ok(fx_recv(fx, i, buf, sizeof(buf), 0));
    }
    fx_ok(fx_sendto(fx, 1, fx_ip4(GROUP), PORT, "mine", 4));
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_recv(fx, 0, buf, sizeof(buf), 0));
    fx_fails(join(fx, 0, "224.0.0.251"), ENETUNREACH);
    close(fd);
    fx_free(fx);
}

/* A bind() to a group that fails leaves a socket like any other. */
static void test_bind_fails(void)
{
    struct sockaddr_in6 sin6;
    socklen_t len = sizeof(sin6);
    int holder, peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    fx = fx_new_default();
    holder = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sin6 = group_address(GROUP, 0);
    g_assert_cmpint(bind(holder, (struct sockaddr *)&sin6, len), ==, 0);
    getsockname(holder, (struct sockaddr *)&sin6, &len);
    port = ntohs(sin6.sin6_port);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, fx_ip4(GROUP), port), EADDRINUSE);
    close(holder);
    /* by lo, where groups are not heard */
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, port));
    peer = peer_connect(SOCK_DGRAM, port);
    g_assert_cmpint(send(peer, "by lo", 5, 0), ==, 5);
    hears(fx, 0, "by lo");
    close(peer);
    fx_free(fx);
}

/* --- sockets of AF_INET6 ---------------------------------------------------- */

static Fx *new6(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow ::1\nallow host\n",
                                   .max_sockets = 64 });

    vmrpc_server_set_features(fx->srv, 1u << VMRPC_F_INET6);
    return fx;
}

static FxReply op6(Fx *fx, unsigned op, uint32_t handle, const char *addr,
                   uint16_t port)
{
    struct vmrpc_req req = fx_req(fx, op, handle);

    return fx6_call(fx, &req, addr, port, op == VMRPC_SENDMSG ? "x" : NULL,
                    op == VMRPC_SENDMSG, NULL, 0);
}

static void bound6(Fx *fx, uint32_t handle, const char *addr, uint16_t port)
{
    struct vmrpc_req req;

    fx->sock[handle] = (FxMirror) { .gen = handle + 1 };
    req = fx_req(fx, VMRPC_SOCKET, handle);
    req.u.socket.type = GUINT32_TO_LE(SOCK_DGRAM);
    fx_ok(fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0));
    fx_ok(op6(fx, VMRPC_BIND, handle, addr, port));
}

/* @from: the sender, as the program sees it */
static void hears6(Fx *fx, uint32_t handle, const char *text, const char *from)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_RECVMSG, handle);
    char buf[64], seen[INET6_ADDRSTRLEN];
    FxReply r;

    fx_wait(fx, handle, VMRPC_IN);
    r = fx6_call(fx, &req, NULL, 0, NULL, 0, buf, sizeof(buf));
    fx_ok(r);
    g_assert_cmpmem(buf, r.value, text, strlen(text));
    inet_ntop(AF_INET6, &r.addr6.sin6_addr, seen, sizeof(seen));
    g_assert_cmpstr(seen, ==, from);
}

static uint64_t referenced(Fx *fx)
{
    VmrpcAddrMapStats stats;

    vmrpc_sole_user(fx->srv);
    vmrpc_addrmap_stats(fx->srv->reach.map, &stats);
    return stats.in_use;
}

static const char *mapped_peer(Fx *fx)
{
    static char text[INET6_ADDRSTRLEN];

    g_snprintf(text, sizeof(text), "::ffff:%s", inet_ntoa(fx_peer4(fx)));
    return text;
}

/* Groups of both families at one socket; each datagram is of its group's. */
static void test_inet6_member(void)
{
    int peer, listener;
    uint16_t port;
    char buf[8];
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    listener = member(OTHER6, PORT);
    fx = new6();
    bound6(fx, 0, "::", PORT);
    tell(peer, GROUP6, PORT, "too early");
    hears_nothing(fx, 0);
    fx_ok(join(fx, 0, GROUP6));
    fx_ok(join(fx, 0, GROUP));
    tell(peer, OTHER6, PORT, "others");
    tell(peer, GROUP6, PORT, "six");
    hears6(fx, 0, "six", fx_peer6);
    tell(peer, GROUP, PORT, "four");
    hears6(fx, 0, "four", mapped_peer(fx));
    peer_await(listener);
    g_assert_cmpint(recv(listener, buf, sizeof(buf), 0), ==, 6);
    fx_ok(op6(fx, VMRPC_SENDMSG, 0, OTHER6, PORT));
    peer_await(listener);
    g_assert_cmpint(recv(listener, buf, sizeof(buf), 0), ==, 1);
    fx_ok(op6(fx, VMRPC_CONNECT, 0, OTHER6, PORT));
    fx_ok(fx_send(fx, 0, "yy", 2));
    peer_await(listener);
    g_assert_cmpint(recv(listener, buf, sizeof(buf), 0), ==, 2);
    g_assert_cmpuint(referenced(fx), ==, 2);
    fx_ok(leave(fx, 0, GROUP6));
    fx_ok(leave(fx, 0, GROUP));
    g_assert_cmpuint(referenced(fx), ==, 1);
    tell(peer, GROUP6, PORT, "gone");
    hears_nothing(fx, 0);

    bound6(fx, 1, GROUP6, PORT);
    fx_ok(join(fx, 1, GROUP6));
    tell(peer, GROUP6, PORT, "bound");
    hears6(fx, 1, "bound", fx_peer6);
    tell(peer, GROUP, PORT, "another");
    tell_vm(peer, PORT, "not for a group");
    hears_nothing(fx, 1);
    fx_ok(leave(fx, 1, GROUP6));
    /* its name is that of the socket still */
    g_assert_cmpuint(referenced(fx), ==, 2);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpuint(referenced(fx), ==, 0);
    close(peer);
    close(listener);
    fx_free(fx);
}

static int host_option(int fd, int name)
{
    int value;
    socklen_t len = sizeof(value);

    g_assert_cmpint(getsockopt(fd, IPPROTO_IPV6, name, &value, &len), ==, 0);
    return value;
}

/* Which of the two sets is in force for what a socket itself receives, and groups */
static void assert_in_force(Fx *fx, bool itself4)
{
    const VmrpcSock *s = fx->srv->socks[0];

    /* IP_RECVTTL is set, and IPV6_RECVTCLASS */
    g_assert_cmpint(host_option(s->fd, IPV6_RECVHOPLIMIT), ==, itself4);
    g_assert_cmpint(host_option(s->fd, IPV6_RECVTCLASS), ==, !itself4);
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        bool ipv4 = i < 2;
        int fd = vmrpc_groups_fd(s, i);

        g_assert_cmpint(host_option(fd, IPV6_RECVHOPLIMIT), ==, ipv4);
        g_assert_cmpint(host_option(fd, IPV6_RECVTCLASS), ==, !ipv4);
    }
}

/* Options are in force by the family of the group, whatever peers there are. */
static void test_inet6_options(void)
{
    uint32_t one = fx_le(1);
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    fx = new6();
    bound6(fx, 0, "::", PORT);
    fx_ok(join(fx, 0, GROUP));
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_RECVTTL, &one, sizeof(one)));
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IPV6, IPV6_RECVTCLASS, &one,
                        sizeof(one)));
    fx_ok(join(fx, 0, OTHER));
    fx_ok(join(fx, 0, GROUP6));
    assert_in_force(fx, false);
    fx_ok(op6(fx, VMRPC_SENDMSG, 0, mapped_peer(fx), PORT));
    assert_in_force(fx, true);
    fx_ok(op6(fx, VMRPC_SENDMSG, 0, fx_peer6, PORT));
    assert_in_force(fx, false);
    fx_ok(op6(fx, VMRPC_CONNECT, 0, mapped_peer(fx), PORT));
    assert_in_force(fx, true);
    fx_ok(op6(fx, VMRPC_CONNECT, 0, fx_peer6, PORT));
    assert_in_force(fx, false);
    /* one that is bound to an address of IPv4 has to do with no other */
    bound6(fx, 1, "::ffff:" GROUP, PORT + 1);
    fx_ok(fx_setsockopt(fx, 1, IPPROTO_IP, IP_RECVTTL, &one, sizeof(one)));
    g_assert_cmpint(host_option(fx->srv->socks[1]->fd, IPV6_RECVHOPLIMIT), ==,
                    1);
    fx_free(fx);
}

/* What a guest cannot have leaves nothing behind. */
static void test_inet6_errors(void)
{
    struct ipv6_mreq mreq = { };
    unsigned fds;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    fx = new6();
    bound6(fx, 0, "::", PORT);
    fds = fx_open_fds();
    fx_fails(join(fx, 0, "ff02::fb"), ENETUNREACH);
    fx_fails(join(fx, 0, "2001:db8::1"), EINVAL);
    fx_fails(leave(fx, 0, GROUP6), EADDRNOTAVAIL);
    fx_fails(fx_setsockopt(fx, 0, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &mreq, 8),
             EINVAL);
    fx_fails(op6(fx, VMRPC_SENDMSG, 0, "ff02::fb", PORT), ENETUNREACH);
    fx_fails(op6(fx, VMRPC_BIND, 0, GROUP6, PORT), EINVAL);
    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    fx_fails(join(fx, 1, GROUP6), ENOPROTOOPT);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    g_assert_cmpuint(fx_open_fds(), ==, fds);
    g_assert_cmpuint(referenced(fx), ==, 0);
    for (unsigned i = 0; i < VMRPC_GROUPS_MAX; i++) {
        g_autofree char *group = g_strdup_printf("ff05::8:%u", i);

        fx_ok(join(fx, 0, group));
        fx_fails(join(fx, 0, group), EADDRINUSE);
    }
    fx_fails(join(fx, 0, GROUP6), ENOBUFS);
    fx_fails(join(fx, 0, GROUP), ENOBUFS);
    g_assert_cmpuint(referenced(fx), ==, VMRPC_GROUPS_MAX);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpuint(referenced(fx), ==, 0);
    g_assert_cmpuint(fx_open_fds(), <, fds);
    fx_free(fx);
}

typedef struct Entries {
    VmrpcAddrMapEntry entry[8];
    unsigned num;
} Entries;

static void keep_entry(const VmrpcAddrMapEntry *entry, void *opaque)
{
    Entries *entries = opaque;

    entries->entry[entries->num++] = *entry;
}

/* The interface is made again; the VM moves, twice. */
static void test_inet6_moves(void)
{
    g_autofree Kept *kept = g_new0(Kept, 1);
    Entries entries = { };
    int peer;
    uint16_t port;
    Fx *fx;

    if (!can_multicast()) {
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &port);
    fx = new6();
    bound6(fx, 0, "::", PORT);
    fx_ok(join(fx, 0, GROUP6));
    fx_ok(join(fx, 0, GROUP));
    bound6(fx, 1, GROUP6, PORT + 1);
    fx_ok(join(fx, 1, GROUP6));
    make_again(fx, "", 3);
    for (unsigned i = 0; i < 2; i++) {
        tell(peer, GROUP6, PORT, "six");
        hears6(fx, 0, "six", fx_peer6);
        tell(peer, GROUP, PORT, "four");
        hears6(fx, 0, "four", mapped_peer(fx));
        tell(peer, GROUP6, PORT + 1, "bound");
        hears6(fx, 1, "bound", fx_peer6);
        g_assert_cmpuint(referenced(fx), ==, 1);

        vmrpc_sole_user(fx->srv);
        *kept = (Kept) { };
        vmrpc_server_save(fx->srv, keep, kept);
        entries.num = 0;
        vmrpc_addrmap_foreach(fx->srv->reach.map, 0, keep_entry, &entries);
        fx_free(fx);
        fx = fx_new(&(FxOptions) { .policy = "allow ::1\nallow host\n",
                                   .incoming = true });
        vmrpc_server_set_features(fx->srv, 1u << VMRPC_F_INET6);
        /* a bound group without an entry is one that nobody has saved */
        g_assert_cmpint(vmrpc_server_restore(fx->srv, &kept->sock[1]), ==,
                        -EINVAL);
        for (unsigned n = 0; n < entries.num; n++) {
            const VmrpcAddrMapEntry *e = &entries.entry[n];

            g_assert_cmpint(vmrpc_addrmap_restore(fx->srv->reach.map, e->addr4,
                                                  &e->addr6, e->remaining_ms,
                                                  0), ==, 0);
        }
        restore(fx, kept);
    }
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    close(peer);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    make_interface();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/multicast/member", test_member);
    g_test_add_func("/vmrpc/server/multicast/before-bind",
                    test_member_before_bind);
    g_test_add_func("/vmrpc/server/multicast/made-again", test_made_again);
    g_test_add_func("/vmrpc/server/multicast/made-again-with-address",
                    test_made_again_with_address);
    g_test_add_func("/vmrpc/server/multicast/bound-to-group",
                    test_bound_to_group);
    g_test_add_func("/vmrpc/server/multicast/before-bound-to-group",
                    test_member_before_bound_to_group);
    g_test_add_func("/vmrpc/server/multicast/send", test_send);
    g_test_add_func("/vmrpc/server/multicast/two-vms", test_two_vms);
    g_test_add_func("/vmrpc/server/multicast/errors", test_limits_and_errors);
    g_test_add_func("/vmrpc/server/multicast/denied-port", test_denied_port);
    g_test_add_func("/vmrpc/server/multicast/allowed-port", test_allowed_port);
    g_test_add_func("/vmrpc/server/multicast/chosen-port", test_chosen_port);
    g_test_add_func("/vmrpc/server/multicast/judged-once", test_judged_once);
    g_test_add_func("/vmrpc/server/multicast/connected", test_connected);
    g_test_add_func("/vmrpc/server/multicast/connected-to-resolver",
                    test_connected_to_resolver);
    g_test_add_func("/vmrpc/server/multicast/migration", test_migration);
    g_test_add_func("/vmrpc/server/multicast/port-is-late", test_port_is_late);
    g_test_add_func("/vmrpc/server/multicast/address-is-late",
                    test_address_is_late);
    g_test_add_func("/vmrpc/server/multicast/interface-changes",
                    test_interface_changes);
    g_test_add_func("/vmrpc/server/multicast/interfaces-are-listed-once",
                    test_interfaces_are_listed_once);
    g_test_add_func("/vmrpc/server/multicast/bind-fails", test_bind_fails);
    g_test_add_func("/vmrpc/server/multicast/ipv4", test_ipv4);
    g_test_add_func("/vmrpc/server/multicast/inet6/member", test_inet6_member);
    g_test_add_func("/vmrpc/server/multicast/inet6/options",
                    test_inet6_options);
    g_test_add_func("/vmrpc/server/multicast/inet6/errors", test_inet6_errors);
    g_test_add_func("/vmrpc/server/multicast/inet6/moves", test_inet6_moves);
    return g_test_run();
}
