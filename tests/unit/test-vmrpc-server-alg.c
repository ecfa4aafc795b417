/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vmrpc server: FTP and SIP through a guest's sockets
 */
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FTP_PORT        21
#define SIP_PORT        5060

/* A socket of the peer's at @port; streams listen. */
static int peer_at(int type, uint16_t port)
{
    struct sockaddr_in6 at = { .sin6_family = AF_INET6,
                               .sin6_port = htons(port) };
    int fd = socket(AF_INET6, type, 0);
    int on = 1;

    g_assert_cmpint(fd, >=, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    inet_pton(AF_INET6, fx_peer6, &at.sin6_addr);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    if (type == SOCK_STREAM) {
        g_assert_cmpint(listen(fd, 1), ==, 0);
    }
    return fd;
}

/* What the guest reads next, all of it. */
static void guest_reads(Fx *fx, uint32_t handle, const char *expected)
{
    char buf[500];
    size_t len = 0;

    while (len < strlen(expected)) {
        FxReply r;

        fx_wait(fx, handle, VMRPC_IN);
        r = fx_recv(fx, handle, buf + len, sizeof(buf) - len, 0);
        if (r.error != EAGAIN) {
            fx_ok(r);
            g_assert_cmpuint(r.value, >, 0);
            len += r.value;
        }
    }
    g_assert_cmpmem(buf, len, expected, strlen(expected));
}

static void peer_reads(int fd, const char *expected)
{
    char buf[500];

    peer_read(fd, buf, strlen(expected));
    g_assert_cmpmem(buf, strlen(expected), expected, strlen(expected));
}

static void guest_sends(Fx *fx, uint32_t handle, const char *text)
{
    FxReply r = fx_send(fx, handle, text, strlen(text));

    fx_ok(r);
    g_assert_cmpuint(r.value, ==, strlen(text));
}

static void peer_sends(int fd, const char *text)
{
    g_assert_cmpint(send(fd, text, strlen(text), 0), ==, strlen(text));
}

static int connect_ftp(Fx *fx, uint32_t handle)
{
    int listener = peer_at(SOCK_STREAM, FTP_PORT);
    int fd;

    fx_ok(fx_socket(fx, handle, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, handle, fx_peer4(fx), FTP_PORT),
             EINPROGRESS);
    fx_wait(fx, handle, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(listener);
    return fd;
}

static void test_ftp(void)
{
    Fx *fx = fx_new_default();
    int fd = connect_ftp(fx, 0);
    struct in_addr peer4 = fx_peer4(fx);
    g_autofree char *reply = g_strdup_printf(
        "227 Entering Passive Mode (%u,%u,%u,%u,31,64).\r\n",
        ((uint8_t *)&peer4)[0], ((uint8_t *)&peer4)[1],
        ((uint8_t *)&peer4)[2], ((uint8_t *)&peer4)[3]);
    g_autofree char *eprt = g_strdup_printf("EPRT |2|%s|8000|\r\n", fx_vm6);
    g_autofree char *port = NULL;
    struct in_addr own = fx->guest4;
    char buf[10];
    FxReply r;

    peer_sends(fd, "220 here\r\n");
    guest_reads(fx, 0, "220 here\r\n");
    /* passive; a line may come in parts */
    guest_sends(fx, 0, "PA");
    guest_sends(fx, 0, "SV\r\n");
    peer_reads(fd, "EPSV\r\n");
    peer_sends(fd, "229 Extended Passive Mode (|||8000|)\r\n");
    fx_wait(fx, 0, VMRPC_IN);
    /* looking changes nothing, and what is there is counted */
    r = fx_recv(fx, 0, buf, 3, MSG_PEEK);
    fx_ok(r);
    g_assert_cmpmem(buf, r.value, "227", 3);
    r = fx_op(fx, VMRPC_IOCTL, 0, SIOCINQ, 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, >, 0);
    guest_reads(fx, 0, reply);
    /* active */
    port = g_strdup_printf("PORT %u,%u,%u,%u,31,64\r\n",
                           ((uint8_t *)&own)[0], ((uint8_t *)&own)[1],
                           ((uint8_t *)&own)[2], ((uint8_t *)&own)[3]);
    guest_sends(fx, 0, port);
    peer_reads(fd, eprt);
    /* the end of the stream comes after what was held back */
    guest_sends(fx, 0, "QUI");
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0));
    peer_reads(fd, "QUI");
    g_assert_cmpint(recv(fd, buf, 1, 0), ==, 0);
    close(fd);
    fx_free(fx);
}

static void test_sip(void)
{
    Fx *fx = fx_new_default();
    int fd = peer_at(SOCK_DGRAM, SIP_PORT);
    g_autofree char *out = g_strdup_printf(
        "OPTIONS sip:x SIP/2.0\r\nVia: SIP/2.0/UDP %s:5060\r\n\r\n",
        FX_GUEST4);
    g_autofree char *there = g_strdup_printf(
        "OPTIONS sip:x SIP/2.0\r\nVia: SIP/2.0/UDP [%s]:5060\r\n\r\n",
        fx_vm6);
    const char *seen = VMRPC_HAS_SIP ? there : out;
    struct sockaddr_in6 from;
    socklen_t len = sizeof(from);
    char buf[500];
    ssize_t n;
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_sendto(fx, 0, fx_peer4(fx), SIP_PORT, out, strlen(out));
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, strlen(out));
    n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
    g_assert_cmpmem(buf, n, seen, strlen(seen));
    /* and back */
    g_assert_cmpint(sendto(fd, buf, n, 0, (struct sockaddr *)&from, len), ==,
                    n);
    fx_wait(fx, 0, VMRPC_IN);
    fx->shortened = VMRPC_HAS_SIP;
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpmem(buf, r.value, out, strlen(out));
    close(fd);
    fx_free(fx);
}

/* What is no address here is none there, and nobody was to be reached. */
static void test_sip_hold(void)
{
    Fx *fx = fx_new_default();
    int fd = peer_at(SOCK_DGRAM, SIP_PORT);
    static const char text[] = "INVITE sip:x SIP/2.0\r\n"
        "Contact: <sip:203.0.113.9>\r\nContent-Type: application/sdp\r\n"
        "Content-Length: 18\r\n\r\nc=IN IP4 0.0.0.0\r\n";
    static const char there[] = "INVITE sip:x SIP/2.0\r\n"
        "Contact: <sip:203.0.113.9>\r\nContent-Type: application/sdp\r\n"
        "Content-Length: 13\r\n\r\nc=IN IP6 ::\r\n";
    struct sockaddr_in6 from;
    socklen_t len = sizeof(from);
    char buf[500];
    ssize_t n;
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx_peer4(fx), SIP_PORT, text, strlen(text)));
    n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
    g_assert_cmpmem(buf, n, there, strlen(there));
    g_assert_cmpuint(fx_reach_counters(fx)->unreachable_no_nat64, ==, 0);
    g_assert_cmpint(sendto(fd, buf, n, 0, (struct sockaddr *)&from, len), ==,
                    n);
    fx_wait(fx, 0, VMRPC_IN);
    fx->shortened = true;
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpmem(buf, r.value, text, strlen(text));
    close(fd);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        g_test_skip("the ports of FTP and SIP need a namespace of one's own");
        return g_test_run();
    }
    g_test_add_func("/vmrpc/server/alg/ftp", test_ftp);
    g_test_add_func("/vmrpc/server/alg/sip", test_sip);
    if (VMRPC_HAS_SIP) {
        g_test_add_func("/vmrpc/server/alg/sip-hold", test_sip_hold);
    }
    return g_test_run();
}
