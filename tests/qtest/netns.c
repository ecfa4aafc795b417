/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network namespaces and peers for qtests
 *
 * Theory of operation
 * ===================
 *
 * A namespace is made with unshare(2), which takes root; anybody may be that
 * inside a user namespace (unshare -r), where the system allows it.
 * Addresses go to lo, which has no duplicate address detection, but the kernel
 * takes a moment for a new one all the same.
 *
 * Peers are plain blocking sockets.  Each wait is a poll(2) with a timeout,
 * and running into it fails the test instead of hanging it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "netns.h"

#define DNS_HEADER              12
#define DNS_TYPE_AAAA           28
#define DNS_FLAGS_ANSWER        0x8180

/* struct in6_ifreq of <linux/ipv6.h>, which conflicts with <netinet/in.h> */
typedef struct AddressRequest {
    struct in6_addr addr;
    uint32_t prefix_len;
    int ifindex;
} AddressRequest;

static int set_up(const char *interface)
{
    struct ifreq ifr = { .ifr_flags = IFF_UP };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ret;

    pstrcpy(ifr.ifr_name, sizeof(ifr.ifr_name), interface);
    if (fd < 0) {
        return -1;
    }
    ret = ioctl(fd, SIOCSIFFLAGS, &ifr);
    close(fd);
    return ret;
}

int netns_new(void)
{
    if (unshare(CLONE_NEWNET) < 0 || set_up("lo") < 0) {
        return -1;
    }
    return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

void netns_enter(int ns)
{
    int ret = setns(ns, CLONE_NEWNET);

    g_assert_cmpint(ret, ==, 0);
}

void netns_set_up(const char *interface)
{
    int ret = set_up(interface);

    g_assert_cmpint(ret, ==, 0);
}

static void parse6(const char *address, struct in6_addr *addr)
{
    g_assert_cmpint(inet_pton(AF_INET6, address, addr), ==, 1);
}

/* The kernel makes a new address usable a little later. */
static void wait_usable6(int fd, const struct in6_addr *addr)
{
    struct sockaddr_in6 sin6 = {
        .sin6_family = AF_INET6,
        .sin6_addr = *addr,
    };
    gint64 end = g_get_monotonic_time() + NETNS_TIMEOUT_MS * 1000;

    while (bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)) < 0) {
        g_assert_cmpint(errno, ==, EADDRNOTAVAIL);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

void netns_add_address6(const char *address)
{
    AddressRequest req = { .prefix_len = 128, .ifindex = if_nametoindex("lo") };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ret;

    parse6(address, &req.addr);
    ret = ioctl(fd, SIOCSIFADDR, &req);
    g_assert_cmpint(ret, ==, 0);
    wait_usable6(fd, &req.addr);
    close(fd);
}

void netns_remove_address6(const char *address)
{
    AddressRequest req = { .prefix_len = 128, .ifindex = if_nametoindex("lo") };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ret;

    parse6(address, &req.addr);
    ret = ioctl(fd, SIOCDIFADDR, &req);
    g_assert_cmpint(ret, ==, 0);
    close(fd);
}

void netns_add_address4(const char *address)
{
    struct ifreq ifr = { .ifr_name = "lo:0" };
    struct sockaddr_in *sin = (struct sockaddr_in *)&ifr.ifr_addr;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ret;

    sin->sin_family = AF_INET;
    g_assert_cmpint(inet_pton(AF_INET, address, &sin->sin_addr), ==, 1);
    ret = ioctl(fd, SIOCSIFADDR, &ifr);
    g_assert_cmpint(ret, ==, 0);
    close(fd);
}

static int new_socket(int type, const char *address, uint16_t port,
                      struct sockaddr_in6 *sin6)
{
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    *sin6 = (struct sockaddr_in6) {
        .sin6_family = AF_INET6,
        .sin6_port = htons(port),
    };
    parse6(address, &sin6->sin6_addr);
    return fd;
}

int peer_bind(int type, const char *address, uint16_t *port)
{
    struct sockaddr_in6 sin6;
    socklen_t len = sizeof(sin6);
    int fd = new_socket(type, address, *port, &sin6);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, len), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin6, &len), ==, 0);
    if (type == SOCK_STREAM) {
        g_assert_cmpint(listen(fd, 64), ==, 0);
    }
    *port = ntohs(sin6.sin6_port);
    return fd;
}

int peer_connect(int type, const char *from, const char *to, uint16_t port)
{
    struct sockaddr_in6 sin6;
    int fd = new_socket(type, from, 0, &sin6);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==, 0);
    parse6(to, &sin6.sin6_addr);
    sin6.sin6_port = htons(port);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==,
                    0);
    return fd;
}

static void wait_readable(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    int ret = RETRY_ON_EINTR(poll(&pfd, 1, NETNS_TIMEOUT_MS));

    g_assert_cmpint(ret, ==, 1);
}

int peer_accept(int fd)
{
    int conn;

    wait_readable(fd);
    conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    g_assert_cmpint(conn, >=, 0);
    return conn;
}

void peer_read(int fd, void *buf, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n;

        wait_readable(fd);
        n = read(fd, (uint8_t *)buf + done, len - done);
        g_assert_cmpint(n, >, 0);
        done += n;
    }
}

void peer_wait_end(int fd)
{
    uint8_t buf[4096];
    ssize_t n;

    do {
        wait_readable(fd);
        n = read(fd, buf, sizeof(buf));
    } while (n > 0);
    g_assert_true(n == 0 || errno == ECONNRESET);
}

int peer_open_packets(const char *interface)
{
    struct sockaddr_ll ll = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = if_nametoindex(interface),
    };
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    int on = 1;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on,
                               sizeof(on)), ==, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&ll, sizeof(ll)), ==, 0);
    return fd;
}

ssize_t peer_poll_frame(int fd, void *vnet, size_t vnet_len, uint8_t *frame,
                        size_t size)
{
    struct iovec iov[] = { { vnet, vnet_len }, { frame, size } };
    struct sockaddr_ll from = { };
    struct msghdr msg = {
        .msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov),
        .msg_name = vnet_len ? &from : NULL,
        .msg_namelen = vnet_len ? sizeof(from) : 0,
    };
    ssize_t n;

    while ((n = RETRY_ON_EINTR(recvmsg(fd, &msg, MSG_DONTWAIT))) >= 0) {
        /* A packet socket also sees what the host itself sends. */
        if (from.sll_pkttype != PACKET_OUTGOING) {
            return n - vnet_len;
        }
    }
    g_assert_cmpint(errno, ==, EAGAIN);
    return -1;
}

/* The length of the question section of a message with one question. */
static size_t question_len(const uint8_t *msg, size_t len)
{
    size_t pos = DNS_HEADER;

    while (pos < len && msg[pos]) {
        pos += msg[pos] + 1;
    }
    g_assert_cmpuint(pos + 5, <=, len);
    return pos + 5 - DNS_HEADER;
}

/* False: it was the question for the NAT64 prefix, of which there is none. */
static bool answer_one(int fd, const char *address)
{
    static const char ipv4only[] = "\010ipv4only\004arpa";
    /* With a TTL of 0: the next time the name may have another address. */
    uint8_t answer[] = { 0xc0, DNS_HEADER, 0, DNS_TYPE_AAAA, 0, 1,
                         0, 0, 0, 0, 0, 16 };
    struct sockaddr_in6 client;
    socklen_t client_len = sizeof(client);
    struct in6_addr addr;
    uint8_t msg[1024];
    bool is_nat64;
    size_t pos;
    ssize_t n;

    wait_readable(fd);
    n = recvfrom(fd, msg, sizeof(msg) - sizeof(answer) - sizeof(addr), 0,
                 (struct sockaddr *)&client, &client_len);
    g_assert_cmpint(n, >, DNS_HEADER);
    pos = DNS_HEADER + question_len(msg, n);
    is_nat64 = !memcmp(msg + DNS_HEADER, ipv4only, sizeof(ipv4only));

    stw_be_p(msg + 2, DNS_FLAGS_ANSWER);
    memset(msg + 6, 0, 6);
    if (msg[pos - 3] == DNS_TYPE_AAAA && !is_nat64) {
        msg[7] = 1;
        memcpy(msg + pos, answer, sizeof(answer));
        pos += sizeof(answer);
        parse6(address, &addr);
        memcpy(msg + pos, &addr, sizeof(addr));
        pos += sizeof(addr);
    }
    n = sendto(fd, msg, pos, 0, (struct sockaddr *)&client, client_len);
    g_assert_cmpint(n, ==, pos);
    return !is_nat64;
}

void peer_answer_dns(int fd, const char *address)
{
    while (!answer_one(fd, address)) {
    }
}
