/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ancillary data, against the kernel this runs on: what an IPv4 socket gets
 * natively, the translated socket must get
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <linux/errqueue.h>

#include "hw/vmrpc/wire/cmsg.h"
#include "tests/fixtures/sockopt-fixture.h"

/* The guest's interface; no other number passes. */
#define GUEST_IFINDEX 0

static const int families[] = { AF_INET, AF_INET6 };

/* Ancillary data, built by hand in the guest's form. */

typedef struct Guest {
    uint8_t bytes[2 * VMRPC_CMSG_MAX];
    size_t len;
} Guest;

static void add(Guest *g, int level, int type, const void *payload, size_t len)
{
    uint64_t cmsg_len = 16 + len;

    memcpy(g->bytes + g->len, &cmsg_len, 8);
    memcpy(g->bytes + g->len + 8, &level, 4);
    memcpy(g->bytes + g->len + 12, &type, 4);
    memcpy(g->bytes + g->len + 16, payload, len);
    g->len += (cmsg_len + 7) & ~7;
}

/* The payload of a message, NULL if it is not there. */
static const uint8_t *find(const uint8_t *bytes, size_t len, int level,
                           int type, size_t size)
{
    while (len >= 16) {
        struct {
            uint64_t len;
            int level, type;
        } header;
        size_t step;

        memcpy(&header, bytes, sizeof(header));
        g_assert_cmpint(header.len, <=, len);
        if (header.level == level && header.type == type) {
            g_assert_cmpint(header.len, ==, 16 + size);
            return bytes + 16;
        }
        step = MIN((header.len + 7) & ~7ULL, len);
        bytes += step;
        len -= step;
    }
    return NULL;
}

static int find_int(const uint8_t *bytes, size_t len, int level, int type)
{
    const uint8_t *payload = find(bytes, len, level, type, sizeof(int));
    int v;

    g_assert_nonnull(payload);
    memcpy(&v, payload, sizeof(v));
    return v;
}

/* In these tests 10.0.0.1 is ::1, and nothing else is anything. */
static bool to6(void *opaque, struct in_addr addr4, struct in6_addr *addr6)
{
    *addr6 = in6addr_loopback;
    return addr4.s_addr == htonl(0x0a000001);
}

static bool to4(void *opaque, const struct in6_addr *addr6,
                struct in_addr *addr4)
{
    addr4->s_addr = htonl(0x0a000001);
    return IN6_IS_ADDR_LOOPBACK(addr6);
}

static bool is_source(void *opaque, struct in_addr addr4)
{
    return addr4.s_addr == htonl(INADDR_LOOPBACK);
}

static const VmrpcCmsgOps ops = {
    .to6 = to6, .to4 = to4, .is_source = is_source,
};

static struct in_pktinfo pktinfo(int ifindex, uint32_t source)
{
    return (struct in_pktinfo) {
        .ipi_ifindex = ifindex, .ipi_spec_dst.s_addr = htonl(source),
    };
}

/* Receives one message on @fd, as the guest would see it. */
static size_t receive(int fd, int family, int flags, Guest *g,
                      VmrpcCmsgDrops *drops)
{
    uint64_t control[VMRPC_CMSG_MAX / 8];
    char data[4096];
    struct iovec iov = { data, sizeof(data) };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control, .msg_controllen = sizeof(control),
    };
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    ssize_t n;
    int msg_flags = 0;

    g_assert_cmpint(poll(&pfd, 1, 5000), ==, 1);
    n = recvmsg(fd, &msg, flags);
    g_assert_cmpint(n, >=, 0);
    g->len = vmrpc_cmsg_from_host(family, control, msg.msg_controllen,
                                  g->bytes, sizeof(g->bytes), &ops,
                                  &msg_flags, drops);
    g_assert_cmpint(msg_flags, ==, 0);
    return n;
}

/* Sends and receives on loopback, with everything that travels both ways. */
static void round_trip(int family, uint32_t source)
{
    VmrpcSockKind kind = { family, SOCK_DGRAM };
    int from = new_socket(family, SOCK_DGRAM);
    int to = new_socket(family, SOCK_DGRAM);
    struct sockaddr_in sin = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct sockaddr_in6 sin6 = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    socklen_t sa_len = family == AF_INET ? sizeof(sin) : sizeof(sin6);
    struct sockaddr *sa = family == AF_INET ? (void *)&sin : (void *)&sin6;
    uint64_t control[VMRPC_CMSG_HOST_MAX / 8];
    struct in_pktinfo info = pktinfo(GUEST_IFINDEX, source), got;
    int one = 1, ttl = 33, tos = 0x28;
    struct iovec iov = { (char *)"x", 1 };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    VmrpcCmsgDrops drops = { 0 };
    const uint8_t *payload;
    struct timespec ts;
    Guest g = { .len = 0 };
    ssize_t n;

    our_set(to, kind, SOL_IP, IP_RECVTTL, &one, 4);
    our_set(to, kind, SOL_IP, IP_RECVTOS, &one, 4);
    our_set(to, kind, SOL_IP, IP_PKTINFO, &one, 4);
    our_set(to, kind, SOL_SOCKET, SO_TIMESTAMPNS, &one, 4);
    our_set(to, kind, SOL_SOCKET, SO_RXQ_OVFL, &one, 4);
    g_assert_cmpint(bind(to, sa, sa_len), ==, 0);
    g_assert_cmpint(getsockname(to, sa, &sa_len), ==, 0);

    add(&g, SOL_IP, IP_TTL, &ttl, sizeof(ttl));
    add(&g, SOL_IP, IP_TOS, &tos, sizeof(tos));
    add(&g, SOL_IP, IP_PKTINFO, &info, sizeof(info));
    n = vmrpc_cmsg_to_host(family, g.bytes, g.len, control, sizeof(control),
                           &ops);
    g_assert_cmpint(n, >, 0);
    msg.msg_name = sa;
    msg.msg_namelen = sa_len;
    msg.msg_control = control;
    msg.msg_controllen = n;
    g_assert_cmpint(sendmsg(from, &msg, 0), ==, 1);

    g_assert_cmpint(receive(to, family, 0, &g, &drops), ==, 1);
    g_assert_cmpint(find_int(g.bytes, g.len, SOL_IP, IP_TTL), ==, 33);
    payload = find(g.bytes, g.len, SOL_IP, IP_TOS, 1);
    g_assert_nonnull(payload);
    g_assert_cmpint(*payload, ==, 0x28);
    payload = find(g.bytes, g.len, SOL_IP, IP_PKTINFO, sizeof(got));
    g_assert_nonnull(payload);
    memcpy(&got, payload, sizeof(got));
    g_assert_cmpint(got.ipi_ifindex, ==, GUEST_IFINDEX);
    g_assert_cmphex(ntohl(got.ipi_addr.s_addr), ==, source);
    g_assert_cmphex(ntohl(got.ipi_spec_dst.s_addr), ==, source);
    payload = find(g.bytes, g.len, SOL_SOCKET, SO_TIMESTAMPNS, sizeof(ts));
    g_assert_nonnull(payload);
    memcpy(&ts, payload, sizeof(ts));
    g_assert_cmpint(ts.tv_sec, >, 1600000000);
    g_assert_cmpint(drops.unknown + drops.malformed + drops.no_address, ==, 0);
    close(from);
    close(to);
}

static void test_round_trip(void)
{
    round_trip(AF_INET, INADDR_LOOPBACK);
    round_trip(AF_INET6, 0x0a000001);
}

/* Segmented on the way out, coalesced on the way in. */
static void test_segments(void)
{
    VmrpcSockKind kind = { AF_INET6, SOCK_DGRAM };
    int from = new_socket(AF_INET6, SOCK_DGRAM);
    int to = new_socket(AF_INET6, SOCK_DGRAM), one = 1;
    struct sockaddr_in6 sa = bound_to_loopback(to);
    uint64_t control[VMRPC_CMSG_HOST_MAX / 8];
    uint16_t size = 1000;
    char data[3500] = "";
    struct iovec iov = { data, sizeof(data) };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
        .msg_name = &sa, .msg_namelen = sizeof(sa),
    };
    VmrpcCmsgDrops drops = { 0 };
    Guest g = { .len = 0 };
    ssize_t n;

    g_assert_cmpint(our_set(to, kind, SOL_UDP, UDP_GRO, &one, 4), ==, 0);
    add(&g, SOL_UDP, UDP_SEGMENT, &size, sizeof(size));
    n = vmrpc_cmsg_to_host(AF_INET6, g.bytes, g.len, control,
                           sizeof(control), &ops);
    g_assert_cmpint(n, >, 0);
    msg.msg_controllen = n;
    g_assert_cmpint(sendmsg(from, &msg, 0), ==, sizeof(data));
    g_assert_cmpint(receive(to, AF_INET6, 0, &g, &drops), ==, sizeof(data));
    g_assert_cmpint(find_int(g.bytes, g.len, SOL_UDP, UDP_GRO), ==, 1000);
    close(from);
    close(to);
}

typedef struct {
    struct sock_extended_err ee;
    struct sockaddr_in offender;
} RecvErr;

static RecvErr find_error(const Guest *g)
{
    const uint8_t *payload = find(g->bytes, g->len, SOL_IP, IP_RECVERR,
                                  sizeof(RecvErr));
    RecvErr err;

    g_assert_nonnull(payload);
    memcpy(&err, payload, sizeof(err));
    return err;
}

/* A closed port, natively and translated: the guest sees the same. */
static void test_error_queue(void)
{
    VmrpcSockKind kind = { AF_INET6, SOCK_DGRAM };
    int gone = new_socket(AF_INET6, SOCK_DGRAM);
    int fd = new_socket(AF_INET6, SOCK_DGRAM), one = 1;
    struct sockaddr_in6 sa = bound_to_loopback(gone);
    VmrpcCmsgDrops drops = { 0 };
    Guest g;
    RecvErr err;

    close(gone);
    g_assert_cmpint(our_set(fd, kind, SOL_IP, IP_RECVERR, &one, 4), ==, 0);
    g_assert_cmpint(sendto(fd, "x", 1, 0, (void *)&sa, sizeof(sa)), ==, 1);
    receive(fd, AF_INET6, MSG_ERRQUEUE, &g, &drops);
    err = find_error(&g);
    g_assert_cmpint(err.ee.ee_errno, ==, ECONNREFUSED);
    g_assert_cmpint(err.ee.ee_origin, ==, SO_EE_ORIGIN_ICMP);
    g_assert_cmpint(err.ee.ee_type, ==, 3);
    g_assert_cmpint(err.ee.ee_code, ==, 3);
    g_assert_cmpint(err.offender.sin_family, ==, AF_INET);
    g_assert_cmphex(ntohl(err.offender.sin_addr.s_addr), ==, 0x0a000001);
    close(fd);
}

static size_t from_host(const void *host, size_t len, Guest *g, size_t cap,
                        VmrpcCmsgDrops *drops, int *flags)
{
    g->len = vmrpc_cmsg_from_host(AF_INET6, host, len, g->bytes, cap, &ops,
                                  flags, drops);
    return g->len;
}

/* Type, code and errno are those of Linux's icmp_err_convert[]. */
static void test_icmp_mapping(void)
{
    enum { ICMP = SO_EE_ORIGIN_ICMP, ICMP6 = SO_EE_ORIGIN_ICMP6 };
    static const struct {
        uint8_t origin, type, code;
        uint32_t info;
        uint8_t origin4, type4, code4;
        uint32_t info4;
        int error4;
    } cases[] = {
        { ICMP6, 1, 0, 0, ICMP, 3, 0, 0, ENETUNREACH },
        { ICMP6, 1, 1, 0, ICMP, 3, 10, 0, EHOSTUNREACH },
        { ICMP6, 1, 2, 0, ICMP, 3, 1, 0, EHOSTUNREACH },
        { ICMP6, 1, 3, 0, ICMP, 3, 1, 0, EHOSTUNREACH },
        { ICMP6, 1, 4, 0, ICMP, 3, 3, 0, ECONNREFUSED },
        { ICMP6, 1, 5, 0, ICMP, 3, 10, 0, EHOSTUNREACH },
        { ICMP6, 1, 6, 0, ICMP, 3, 10, 0, EHOSTUNREACH },
        { ICMP6, 1, 7, 0, ICMP, 12, 0, 0, EPROTO },
        { ICMP6, 1, 255, 0, ICMP, 12, 0, 0, EPROTO },
        { ICMP6, 2, 0, 1280, ICMP, 3, 4, 1260, EMSGSIZE },
        { ICMP6, 2, 0, 10, ICMP, 3, 4, 0, EMSGSIZE },
        { ICMP6, 3, 0, 0, ICMP, 11, 0, 0, EHOSTUNREACH },
        { ICMP6, 3, 1, 0, ICMP, 11, 1, 0, EHOSTUNREACH },
        { ICMP6, 4, 0, 6, ICMP, 12, 0, 6, EPROTO },
        { ICMP6, 4, 1, 6, ICMP, 3, 2, 6, ENOPROTOOPT },
        { ICMP6, 4, 2, 6, ICMP, 12, 0, 6, EPROTO },
        { ICMP6, 99, 9, 0, ICMP, 12, 0, 0, EPROTO },
        /* the host's own, of no message */
        { SO_EE_ORIGIN_LOCAL, 0, 0, 1500, SO_EE_ORIGIN_LOCAL, 0, 0, 1480,
          EMSGSIZE },
        { SO_EE_ORIGIN_TIMESTAMPING, 0, 0, 1, SO_EE_ORIGIN_TIMESTAMPING, 0, 0,
          1, EMSGSIZE },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint8_t payload[44] = { 0 };
        struct sock_extended_err ee = {
            .ee_errno = EMSGSIZE, .ee_origin = cases[i].origin,
            .ee_type = cases[i].type, .ee_code = cases[i].code,
            .ee_info = cases[i].info, .ee_data = 42,
        };
        struct sockaddr_in6 unknown = { .sin6_family = AF_INET6 };
        VmrpcCmsgDrops drops = { 0 };
        Guest host = { .len = 0 }, g;
        RecvErr err;
        int flags = 0;

        memcpy(payload, &ee, sizeof(ee));
        memcpy(payload + sizeof(ee), &unknown, sizeof(unknown));
        add(&host, SOL_IPV6, IPV6_RECVERR, payload, sizeof(payload));
        from_host(host.bytes, host.len, &g, sizeof(g.bytes), &drops, &flags);
        err = find_error(&g);
        g_assert_cmpint(err.ee.ee_errno, ==, cases[i].error4);
        g_assert_cmpint(err.ee.ee_origin, ==, cases[i].origin4);
        g_assert_cmpint(err.ee.ee_type, ==, cases[i].type4);
        g_assert_cmpint(err.ee.ee_code, ==, cases[i].code4);
        g_assert_cmpint(err.ee.ee_info, ==, cases[i].info4);
        g_assert_cmpint(err.ee.ee_data, ==, 42);
        /* an offender without an address is told as Linux tells it */
        g_assert_cmpint(err.offender.sin_family, ==, AF_UNSPEC);
        g_assert_cmphex(err.offender.sin_addr.s_addr, ==, 0);
    }
}

/* The ancillary data of IPv6 packets, for a socket with IPv4-mapped peers. */
static void test_mapped(void)
{
    static const struct in6_addr own6 = {
        { { [10] = 0xff, 0xff, 10, 0, 0, 2 } }
    };
    static const struct in6_addr peer6 = {
        { { [10] = 0xff, 0xff, 10, 0, 0, 1 } }
    };
    struct {
        struct sock_extended_err ee;
        struct sockaddr_in6 offender;
    } err = {
        .ee = { .ee_errno = EACCES, .ee_origin = SO_EE_ORIGIN_ICMP6,
                .ee_type = 1, .ee_code = 1 },
        .offender = { .sin6_family = AF_INET6,
                      .sin6_addr = IN6ADDR_LOOPBACK_INIT },
    };
    struct in6_pktinfo info = { .ipi6_addr = IN6ADDR_LOOPBACK_INIT,
                                .ipi6_ifindex = 3 };
    VmrpcCmsgOps mapped = ops;
    VmrpcCmsgDrops drops = { 0 };
    uint64_t control[VMRPC_CMSG_HOST_MAX / sizeof(uint64_t)];
    int ttl = 7, tos = 0x28, flags = 0;
    Guest host = { .len = 0 }, g;
    const uint8_t *found;

    mapped.own6 = own6;
    add(&host, SOL_IPV6, IPV6_HOPLIMIT, &ttl, sizeof(ttl));
    add(&host, SOL_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
    add(&host, SOL_IPV6, IPV6_PKTINFO, &info, sizeof(info));
    add(&host, SOL_IPV6, IPV6_RECVERR, &err, sizeof(err));
    g.len = vmrpc_cmsg_from_host(VMRPC_CMSG_MAPPED6, host.bytes, host.len,
                                 g.bytes, sizeof(g.bytes), &mapped, &flags,
                                 &drops);
    g_assert_cmpint(find_int(g.bytes, g.len, SOL_IP, IP_TTL), ==, ttl);
    g_assert_cmpint(*find(g.bytes, g.len, SOL_IP, IP_TOS, 1), ==, tos);
    found = find(g.bytes, g.len, SOL_IPV6, IPV6_PKTINFO, sizeof(info));
    g_assert_cmpmem(found, sizeof(own6), &own6, sizeof(own6));
    found = find(g.bytes, g.len, SOL_IPV6, IPV6_RECVERR, sizeof(err));
    memcpy(&err, found, sizeof(err));
    g_assert_cmpint(err.ee.ee_errno, ==, EHOSTUNREACH);
    g_assert_cmpint(err.ee.ee_origin, ==, SO_EE_ORIGIN_ICMP);
    g_assert_cmpint(err.ee.ee_type, ==, 3);
    g_assert_cmpint(err.ee.ee_code, ==, 10);
    g_assert_cmpint(err.offender.sin6_family, ==, AF_INET6);
    g_assert_cmpmem(&err.offender.sin6_addr, sizeof(peer6), &peer6,
                    sizeof(peer6));

    /* It gives those of either family. */
    host.len = 0;
    add(&host, SOL_IP, IP_TTL, &ttl, sizeof(ttl));
    add(&host, SOL_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
    g_assert_cmpint(vmrpc_cmsg_to_host(VMRPC_CMSG_MAPPED6, host.bytes, host.len,
                                       control, sizeof(control), &mapped), ==,
                    2 * CMSG_SPACE(sizeof(int)));
}

/* All that has a time, as the host's kernel gives it; software's first. */
typedef struct Stamps {
    int64_t tv[2], ts[2], all[6];
} Stamps;

static void add_stamps(Guest *host, const Stamps *stamps)
{
    host->len = 0;
    add(host, SOL_SOCKET, SO_TIMESTAMP_OLD, stamps->tv, 16);
    add(host, SOL_SOCKET, SO_TIMESTAMP_NEW, stamps->tv, 16);
    add(host, SOL_SOCKET, SO_TIMESTAMPNS_OLD, stamps->ts, 16);
    add(host, SOL_SOCKET, SO_TIMESTAMPNS_NEW, stamps->ts, 16);
    add(host, SOL_SOCKET, SO_TIMESTAMPING_OLD, stamps->all, 48);
    add(host, SOL_SOCKET, SO_TIMESTAMPING_NEW, stamps->all, 48);
}

static void assert_time(const Guest *g, int type, size_t size,
                        const int64_t *expected)
{
    const uint8_t *payload = find(g->bytes, g->len, SOL_SOCKET, type, size);

    g_assert_nonnull(payload);
    g_assert_cmpmem(payload, size, expected, size);
}

static void convert_stamps(const Stamps *stamps, const VmrpcClock *clock,
                           Guest *g)
{
    VmrpcCmsgOps with_clock = ops;
    VmrpcCmsgDrops drops = { 0 };
    Guest host;
    int flags = 0;

    with_clock.clock = clock;
    add_stamps(&host, stamps);
    g->len = vmrpc_cmsg_from_host(AF_INET6, host.bytes, host.len, g->bytes,
                                  sizeof(g->bytes), &with_clock, &flags,
                                  &drops);
    g_assert_cmpuint(g->len, ==, host.len);
    g_assert_cmpint(flags, ==, 0);
}

/* Of a guest that knows nothing of moments: its host's time. */
static void test_stamps(void)
{
    static const Stamps stamps = {
        { 1700000000, 999999 }, { 1700000000, 999999999 },
        { 1700000000, 5, 0, 0, 42, 77 },
    };
    Guest g;

    convert_stamps(&stamps, NULL, &g);
    assert_time(&g, SO_TIMESTAMP_OLD, 16, stamps.tv);
    assert_time(&g, SO_TIMESTAMP_NEW, 16, stamps.tv);
    assert_time(&g, SO_TIMESTAMPNS_OLD, 16, stamps.ts);
    assert_time(&g, SO_TIMESTAMPNS_NEW, 16, stamps.ts);
    assert_time(&g, SO_TIMESTAMPING_OLD, 48, stamps.all);
    assert_time(&g, SO_TIMESTAMPING_NEW, 48, stamps.all);
}

/* When it was, and when the clock was seen; a card's time as it is. */
static void test_moments(void)
{
    enum { NOW = 1000000000 };
    static const Stamps cases[][2] = {
        { { { 1699999999, 250000 }, { 1699999999, 999999999 },
            { 1700000000, 0, 0, 0, 42, 77 } },
          { { NOW / 4, NOW }, { NOW - 1, NOW }, { NOW, NOW, 0, 0, 42, 77 } } },
        /* it seems to come; there is none of software; no sense at all */
        { { { 1700000001, 0 }, { INT64_MAX, INT64_MAX },
            { 0, 0, 0, 0, 42, 77 } },
          { { NOW, NOW }, { NOW, NOW }, { 0, 0, 0, 0, 42, 77 } } },
        { { { -1, INT64_MIN }, { INT64_MIN, -1 }, { 0, 1, -1, -1, -1, -1 } },
          { { 1, NOW }, { 1, NOW }, { 1, NOW, -1, -1, -1, -1 } } },
    };
    VmrpcClock clock = { };
    Guest g;

    vmrpc_clock_see(&clock, INT64_C(1700000000000000000), NOW);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Stamps *moment = &cases[i][1];

        convert_stamps(&cases[i][0], &clock, &g);
        assert_time(&g, SO_TIMESTAMP_OLD, 16, moment->tv);
        assert_time(&g, SO_TIMESTAMP_NEW, 16, moment->tv);
        assert_time(&g, SO_TIMESTAMPNS_OLD, 16, moment->ts);
        assert_time(&g, SO_TIMESTAMPNS_NEW, 16, moment->ts);
        assert_time(&g, SO_TIMESTAMPING_OLD, 48, moment->all);
        assert_time(&g, SO_TIMESTAMPING_NEW, 48, moment->all);
    }
}

static void test_send_refused(void)
{
    struct in_pktinfo foreign = pktinfo(0, 0x0a000002);
    struct in_pktinfo other_if = pktinfo(GUEST_IFINDEX + 1, 0);
    struct in_pktinfo plain = pktinfo(0, 0);
    const struct {
        int level, type;
        const void *payload;
        size_t len;
        int error;
    } cases[] = {
        { SOL_IP, IP_TTL, (int[]) { 0 }, 4, -EINVAL },
        { SOL_IP, IP_TTL, (int[]) { 256 }, 4, -EINVAL },
        { SOL_IP, IP_TTL, (int[]) { 1 }, 3, -EINVAL },
        { SOL_IP, IP_TTL, (int[]) { 255 }, 4, 0 },
        { SOL_IP, IP_TOS, (int[]) { 256 }, 4, -EINVAL },
        { SOL_IP, IP_TOS, (int[]) { -1 }, 4, -EINVAL },
        { SOL_IP, IP_TOS, (int[]) { 255 }, 4, 0 },
        { SOL_IP, IP_TOS, (int[]) { 255 }, 1, 0 },
        { SOL_IP, IP_TOS, (int[]) { 255 }, 2, -EINVAL },
        { SOL_IP, IP_PKTINFO, &foreign, sizeof(foreign), -EINVAL },
        { SOL_IP, IP_PKTINFO, &other_if, sizeof(other_if), -ENODEV },
        { SOL_IP, IP_PKTINFO, &plain, sizeof(plain), 0 },
        { SOL_IP, IP_RETOPTS, &plain, 4, -EINVAL },
        { SOL_SOCKET, SCM_RIGHTS, (int[]) { 0 }, 4, -EINVAL },
        { SOL_IPV6, IPV6_PKTINFO, &plain, 12, -EINVAL },
        { SOL_UDP, UDP_SEGMENT, (int[]) { 1 }, 4, -EINVAL },
    };
    uint64_t control[VMRPC_CMSG_HOST_MAX / 8];
    size_t i, f;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (f = 0; f < G_N_ELEMENTS(families); f++) {
            Guest g = { .len = 0 };
            ssize_t n;

            add(&g, cases[i].level, cases[i].type, cases[i].payload,
                cases[i].len);
            n = vmrpc_cmsg_to_host(families[f], g.bytes, g.len, control,
                                   sizeof(control), &ops);
            g_assert_cmpint(MIN(n, 0), ==, cases[i].error);
        }
    }
}

static void test_send_malformed(void)
{
    static const uint64_t lens[] = {
        0, 1, 15, 25, 1000, UINT32_MAX, UINT64_MAX, UINT64_MAX - 7,
        (uint64_t)INT64_MAX,
    };
    uint64_t control[VMRPC_CMSG_HOST_MAX / 8];
    struct in_pktinfo info = pktinfo(0, 0x0a000001);
    int ttl = 9;
    g_autofree uint8_t *cut = g_malloc(16);
    Guest g = { .len = 0 };
    ssize_t n;
    size_t i;

    add(&g, SOL_IP, IP_TTL, &ttl, sizeof(ttl));
    /* the right length, but the buffer ends before it */
    memcpy(cut, g.bytes, 16);
    g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, cut, 16, control,
                                       sizeof(control), &ops), ==, -EINVAL);
    for (i = 0; i < G_N_ELEMENTS(lens); i++) {
        memcpy(g.bytes, &lens[i], 8);
        g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, g.bytes, g.len, control,
                                           sizeof(control), &ops), ==,
                        -EINVAL);
    }
    /* too short for a header: as good as nothing */
    g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, g.bytes, 15, control,
                                       sizeof(control), &ops), ==, 0);
    g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, NULL, 0, control,
                                       sizeof(control), &ops), ==, 0);
    /* the last one need not be padded */
    g.len = 0;
    add(&g, SOL_IP, IP_TTL, &ttl, sizeof(ttl));
    g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, g.bytes, 20, control,
                                       sizeof(control), &ops), ==,
                    CMSG_SPACE(sizeof(int)));

    /* as much as is allowed fits, one byte more is refused */
    for (g.len = 0; g.len < VMRPC_CMSG_MAX;) {
        add(&g, SOL_IP, IP_PKTINFO, &info, sizeof(info));
    }
    g_assert_cmpint(g.len, ==, VMRPC_CMSG_MAX);
    n = vmrpc_cmsg_to_host(AF_INET6, g.bytes, g.len, control,
                           sizeof(control), &ops);
    g_assert_cmpint(n, ==, VMRPC_CMSG_HOST_MAX);
    g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, g.bytes, g.len, control,
                                       sizeof(control) - 1, &ops), ==,
                    -ENOBUFS);
    g_assert_cmpint(vmrpc_cmsg_to_host(AF_INET6, g.bytes, g.len + 1, control,
                                       sizeof(control), &ops), ==, -ENOBUFS);
}

static void test_receive_drops(void)
{
    struct in6_pktinfo stranger = {
        .ipi6_addr = { .s6_addr = { 0x20, 0x01 } },
    };
    VmrpcCmsgDrops drops = { 0 };
    Guest host = { .len = 0 }, g;
    uint64_t huge = 4096;
    int hops = 5, flags = 0;

    add(&host, SOL_IPV6, IPV6_HOPOPTS, &hops, 4);
    add(&host, SOL_IPV6, IPV6_HOPLIMIT, &hops, 3);
    add(&host, SOL_IPV6, IPV6_PKTINFO, &stranger, sizeof(stranger));
    add(&host, SOL_IP, IP_TTL, &hops, 4);
    add(&host, SOL_IPV6, IPV6_HOPLIMIT, &hops, 4);
    from_host(host.bytes, host.len, &g, sizeof(g.bytes), &drops, &flags);
    g_assert_cmpint(g.len, ==, 24);
    g_assert_cmpint(find_int(g.bytes, g.len, SOL_IP, IP_TTL), ==, 5);
    g_assert_cmpint(drops.unknown, ==, 2);
    g_assert_cmpint(drops.malformed, ==, 1);
    g_assert_cmpint(drops.no_address, ==, 1);
    g_assert_cmpint(flags, ==, 0);

    /* room for the message but not for its padding, and for less */
    host.len = 0;
    add(&host, SOL_IPV6, IPV6_HOPLIMIT, &hops, 4);
    g_assert_cmpint(from_host(host.bytes, host.len, &g, 20, &drops, &flags),
                    ==, 20);
    g_assert_cmpint(flags, ==, 0);
    g_assert_cmpint(from_host(host.bytes, host.len, &g, 19, &drops, &flags),
                    ==, 0);
    g_assert_cmpint(flags, ==, MSG_CTRUNC);
    g_assert_cmpint(drops.no_room, ==, 1);

    /* the right length, but the buffer ends before it */
    g_assert_cmpint(from_host(host.bytes, 18, &g, 64, &drops, &flags), ==, 0);
    g_assert_cmpint(drops.malformed, ==, 2);
    memcpy(host.bytes, &huge, sizeof(huge));
    g_assert_cmpint(from_host(host.bytes, host.len, &g, 64, &drops, &flags),
                    ==, 0);
    g_assert_cmpint(drops.malformed, ==, 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cmsg/round-trip", test_round_trip);
    g_test_add_func("/cmsg/segments", test_segments);
    g_test_add_func("/cmsg/error-queue", test_error_queue);
    g_test_add_func("/cmsg/icmp-mapping", test_icmp_mapping);
    g_test_add_func("/cmsg/mapped", test_mapped);
    g_test_add_func("/cmsg/stamps", test_stamps);
    g_test_add_func("/cmsg/moments", test_moments);
    g_test_add_func("/cmsg/send-refused", test_send_refused);
    g_test_add_func("/cmsg/send-malformed", test_send_malformed);
    g_test_add_func("/cmsg/receive-drops", test_receive_drops);
    return g_test_run();
}
