/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest's program is told when the network says no: an IPv4 socket's
 * errors, and those of the host itself beside them
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/rtnetlink.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rtnl.h"
#include "tests/fixtures/server-fixture.h"

#define PROHIBITED6 "2001:db8:bad::1"
#define PROHIBITED4 "203.0.113.1"

/* --- the network --------------------------------------------------------- */

/* As a router on the way would say of a datagram from @port to the peer's. */
static void send_error(uint8_t code, uint16_t port, uint16_t peer_port)
{
    struct {
        struct icmp6_hdr icmp6;
        struct ip6_hdr ip6;
        struct udphdr udp;
    } packet = {
        .icmp6 = { .icmp6_type = ICMP6_DST_UNREACH, .icmp6_code = code },
        .ip6 = {
            .ip6_flow = htonl(6u << 28),
            .ip6_plen = htons(sizeof(struct udphdr)),
            .ip6_nxt = IPPROTO_UDP,
            .ip6_hlim = 64,
        },
        .udp = {
            .source = htons(port),
            .dest = htons(peer_port),
            .len = htons(sizeof(struct udphdr)),
        },
    };
    struct sockaddr_in6 from = { .sin6_family = AF_INET6 };
    struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
    int fd = socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);

    g_assert_cmpint(fd, >=, 0);
    inet_pton(AF_INET6, fx_peer6, &from.sin6_addr);
    inet_pton(AF_INET6, fx_vm6, &to.sin6_addr);
    packet.ip6.ip6_src = to.sin6_addr;
    packet.ip6.ip6_dst = from.sin6_addr;
    g_assert_cmpint(bind(fd, (struct sockaddr *)&from, sizeof(from)), ==, 0);
    /* On the loopback it has arrived when this returns. */
    g_assert_cmpint(sendto(fd, &packet, sizeof(packet), 0,
                           (struct sockaddr *)&to, sizeof(to)), ==,
                    sizeof(packet));
    close(fd);
}

/* A route of type "prohibit" to this address. */
static void prohibit(int family, const char *text)
{
    size_t len = family == AF_INET6 ? 16 : 4;
    const struct rtmsg msg = {
        .rtm_family = family, .rtm_dst_len = len * 8,
        .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
        .rtm_type = RTN_PROHIBIT,
    };
    uint8_t addr[16];
    RtnlRequest r;
    Rtnl host;

    g_assert_cmpint(inet_pton(family, text, addr), ==, 1);
    g_assert_cmpint(rtnl_open(&host), ==, 0);
    rtnl_request(&r, RTM_NEWROUTE, NLM_F_CREATE, &msg, sizeof(msg));
    rtnl_put(&r, RTA_DST, addr, len);
    g_assert_cmpint(rtnl_do(&host, &r), ==, 0);
    rtnl_close(&host);
}

/* What connect() of a plain IPv4 socket to PROHIBITED4 gives. */
static int native_connect_error(int type)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
    int fd = socket(AF_INET, type, 0);
    int ret;

    inet_pton(AF_INET, PROHIBITED4, &to.sin_addr);
    ret = connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
    close(fd);
    return ret;
}

/* --- the guest ----------------------------------------------------------- */

/* A datagram socket 0 of the guest's, connected to @peer_port; its port. */
static uint16_t connected(Fx *fx, uint16_t peer_port)
{
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, peer_port);
    fx_ok(r);
    return ntohs(r.addr.sin_port);
}

/* Every way by which an ICMPv6 error gets to a program. */
static void test_prohibited_by_icmp(void)
{
    static const uint8_t codes[] = {
        ICMP6_DST_UNREACH_ADMIN, 5, 6,  /* EACCES, of IPv6 */
    };
    Fx *fx = fx_new_default();
    uint16_t peer_port, port;
    int peer = peer_socket(SOCK_DGRAM, &peer_port);
    char byte;

    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        port = connected(fx, peer_port);
        /* an event, or SO_ERROR, as the guest keeps it */
        send_error(codes[i], port, peer_port);
        g_assert_cmpint(fx_wait_error(fx, 0), ==, EHOSTUNREACH);
        /* the host's own, which nobody has taken from it yet */
        send_error(codes[i], port, peer_port);
        g_assert_cmpint(fx_getsockopt_int(fx, 0, SOL_SOCKET, SO_ERROR), ==,
                        EHOSTUNREACH);
        /* instead of what a call would have done */
        send_error(codes[i], port, peer_port);
        fx_fails(fx_send(fx, 0, "x", 1), EHOSTUNREACH);
        send_error(codes[i], port, peer_port);
        fx_fails(fx_sendto(fx, 0, fx->peer4, peer_port, "x", 1),
                 EHOSTUNREACH);
        send_error(codes[i], port, peer_port);
        fx_fails(fx_recv(fx, 0, &byte, 1, 0), EHOSTUNREACH);
        /* once each */
        fx_ok(fx_send(fx, 0, "x", 1));
        fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    }
    close(peer);
    fx_free(fx);
}

/* The error queue and what is pending say the same. */
static void test_queue_agrees(void)
{
    static const struct {
        uint8_t code6, code4;
        int error;
    } cases[] = {
        { ICMP6_DST_UNREACH_NOROUTE, 0, ENETUNREACH },
        { ICMP6_DST_UNREACH_ADMIN, 10, EHOSTUNREACH },
        { ICMP6_DST_UNREACH_BEYONDSCOPE, 1, EHOSTUNREACH },
        { ICMP6_DST_UNREACH_ADDR, 1, EHOSTUNREACH },
        { ICMP6_DST_UNREACH_NOPORT, 3, ECONNREFUSED },
        { 5, 10, EHOSTUNREACH },
        { 6, 10, EHOSTUNREACH },
    };
    Fx *fx = fx_new_default();
    uint32_t one = fx_le(1);
    uint16_t peer_port, port;
    int peer = peer_socket(SOCK_DGRAM, &peer_port);
    struct sock_extended_err ee;
    struct vmrpc_req req;
    uint8_t in[200];

    port = connected(fx, peer_port);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_RECVERR, &one, 4));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        send_error(cases[i].code6, port, peer_port);
        g_assert_cmpint(fx_wait_error(fx, 0), ==, cases[i].error);
        /* What is pending is told, and the queue is not empty for that. */
        g_assert_cmphex(fx->sock[0].ready & VMRPC_ERR, ==, VMRPC_ERR);
        req = fx_req(fx, VMRPC_RECVMSG, 0);
        req.control_len = fx_le(sizeof(in));
        req.u.msg.flags = fx_le(MSG_ERRQUEUE);
        fx_ok(fx_call(fx, &req, NULL, 0, in, sizeof(in)));
        g_assert_cmphex(fx->sock[0].ready & VMRPC_ERR, ==, 0);
        memcpy(&ee, in + 16, sizeof(ee));
        g_assert_cmpint(ee.ee_origin, ==, SO_EE_ORIGIN_ICMP);
        g_assert_cmpint(ee.ee_type, ==, 3);
        g_assert_cmpint(ee.ee_code, ==, cases[i].code4);
        g_assert_cmpint(ee.ee_errno, ==, cases[i].error);
    }
    close(peer);
    fx_free(fx);
}

/* What the host itself refuses is EACCES in IPv4 as well, and stays that. */
static void test_prohibited_by_route(void)
{
    Fx *fx = fx_new_default();
    struct in_addr addr4 = fx_map(fx, PROHIBITED6);
    uint16_t peer_port, port;
    int peer = peer_socket(SOCK_DGRAM, &peer_port);

    prohibit(AF_INET6, PROHIBITED6);
    prohibit(AF_INET, PROHIBITED4);
    g_assert_cmpint(native_connect_error(SOCK_STREAM), ==, EACCES);
    g_assert_cmpint(native_connect_error(SOCK_DGRAM), ==, EACCES);
    fx_fails(fx_try_connect(fx, addr4, SOCK_STREAM), EACCES);
    fx_fails(fx_try_connect(fx, addr4, SOCK_DGRAM), EACCES);
    port = connected(fx, peer_port);
    fx_fails(fx_sendto(fx, 0, addr4, 9, "x", 1), EACCES);
    /* Natively the way comes first, and what is pending stays that. */
    send_error(ICMP6_DST_UNREACH_ADMIN, port, peer_port);
    fx_fails(fx_sendto(fx, 0, addr4, 9, "x", 1), EACCES);
    g_assert_cmpint(fx_wait_error(fx, 0), ==, EHOSTUNREACH);
    close(peer);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        g_test_message("no network namespace: nothing can be said here");
        return g_test_run();
    }
    g_test_add_func("/vmrpc/server/errors/prohibited-by-icmp",
                    test_prohibited_by_icmp);
    g_test_add_func("/vmrpc/server/errors/queue-agrees", test_queue_agrees);
    g_test_add_func("/vmrpc/server/errors/prohibited-by-route",
                    test_prohibited_by_route);
    return g_test_run();
}
