/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options, against the kernel this runs on: what an IPv4 socket does
 * natively, the translated socket must do
 */

#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <linux/net_tstamp.h>

#include "tests/fixtures/sockopt-fixture.h"

static const int levels[] = { SOL_SOCKET, SOL_IP, SOL_TCP, SOL_UDP };
static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
static const int families[] = { AF_INET, AF_INET6 };

static ssize_t native_get(int fd, int level, int name, void *v, size_t cap)
{
    socklen_t len = cap;

    return getsockopt(fd, level, name, v, &len) < 0 ? -errno : (ssize_t)len;
}

static ssize_t our_get(int fd, VmrpcSockKind kind, int level, int name,
                       void *v, size_t cap)
{
    VmrpcSockopt opt;
    ssize_t ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_GET, level, name,
                                        NULL, cap, &opt);

    if (ret < 0) {
        return ret;
    }
    ret = native_get(fd, opt.level, opt.optname, opt.bytes, opt.len);
    if (ret < 0) {
        return ret;
    }
    opt.len = ret;
    return vmrpc_sockopt_from_host(&opt, v, cap);
}

static int set_answer(VmrpcSockKind kind, int level, int name)
{
    int one = 1;
    VmrpcSockopt opt;

    return vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, level, name, &one,
                                 sizeof(one), &opt);
}

static int get_answer(VmrpcSockKind kind, int level, int name)
{
    VmrpcSockopt opt;

    return vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_GET, level, name, NULL,
                                 sizeof(int), &opt);
}

/* One value, on a new native socket and on a new one of ours. */
static void compare_set(VmrpcSockKind kind, int level, int name, int value,
                        size_t len)
{
    uint8_t bytes[8] = { 0 };
    int native = new_socket(AF_INET, kind.type);
    int ours = new_socket(kind.family, kind.type);
    int native_value = 0, our_value = 0, a, b;
    ssize_t c, d;

    memcpy(bytes, &value, sizeof(value));
    a = native_set(native, level, name, bytes, len);
    b = our_set(ours, kind, level, name, bytes, len);
    c = native_get(native, level, name, &native_value, sizeof(int));
    d = our_get(ours, kind, level, name, &our_value, sizeof(int));
    if (a != b || c != d || native_value != our_value) {
        g_error("family %d type %d: level %d option %d, value %d of %zu "
                "bytes: native %d, then %zd/%d; ours %d, then %zd/%d",
                kind.family, kind.type, level, name, value, len, a, c,
                native_value, b, d, our_value);
    }
    close(native);
    close(ours);
}

/* Every row, with every value that is the last good or the first bad one. */
static void compare_option(VmrpcSockKind kind, int level, int name)
{
    static const int values[] = {
        -2, -1, 0, 1, 2, 3, 5, 6, 7, 8, 63, 64, 87, 88, 100, 255, 256, 1000,
        1024, 32767, 32768, 65535, 65536, INT_MAX, INT_MIN,
    };
    static const size_t lens[] = { 0, 1, 3, 4, 8 };
    size_t i, j;

    for (i = 0; i < G_N_ELEMENTS(values); i++) {
        /* CAP_NET_ADMIN, if we have it, is not the guest's */
        if (level == SOL_SOCKET && name == SO_PRIORITY &&
            (values[i] < 0 || values[i] > 6)) {
            continue;
        }
        for (j = 0; j < G_N_ELEMENTS(lens); j++) {
            /* which of two errors a short value for no option is */
            if (lens[j] >= sizeof(int) || level == SOL_IP ||
                set_answer(kind, level, name) == 0) {
                compare_set(kind, level, name, values[i], lens[j]);
            }
        }
    }
}

static void test_same_as_native(void)
{
    int compared = 0, name;
    size_t f, t, l;

    for (f = 0; f < G_N_ELEMENTS(families); f++) {
        for (t = 0; t < G_N_ELEMENTS(types); t++) {
            VmrpcSockKind kind = { families[f], types[t] };

            for (l = 0; l < G_N_ELEMENTS(levels); l++) {
                for (name = 0; name < 128; name++) {
                    int set = set_answer(kind, levels[l], name);

                    /* the guest's kernel judges these: test_stamps() */
                    if (levels[l] == SOL_SOCKET &&
                        (name == SO_TIMESTAMPING_OLD ||
                         name == SO_TIMESTAMPING_NEW)) {
                        continue;
                    }
                    if (set != -EPERM &&
                        (set == 0 ||
                         get_answer(kind, levels[l], name) == 0)) {
                        compare_option(kind, levels[l], name);
                        compared++;
                    }
                }
            }
        }
    }
    g_test_message("%d options compared", compared);
    g_assert_cmpint(compared, >, 150);
}

/*
 * Timestamps of software are the host's; those of a card, and packets that
 * were sent, with headers of IPv6, are not for the guest.
 */
static void test_stamps(void)
{
    static const struct {
        int asked, set;
    } cases[] = {
        { 0, 0 },
        { SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE, 0 },
        { SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
          SOF_TIMESTAMPING_TX_HARDWARE,
          SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
          SOF_TIMESTAMPING_OPT_TSONLY },
        { SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID,
          SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
          SOF_TIMESTAMPING_OPT_TSONLY },
    };
    VmrpcSockKind kind = { AF_INET6, SOCK_DGRAM };
    int fd = new_socket(AF_INET6, SOCK_DGRAM);
    size_t i;
    int got;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(our_set(fd, kind, SOL_SOCKET, SO_TIMESTAMPING_OLD,
                                &cases[i].asked, sizeof(int)), ==, 0);
        g_assert_cmpint(native_get(fd, SOL_SOCKET, SO_TIMESTAMPING_OLD, &got,
                                   sizeof(got)), ==, sizeof(got));
        g_assert_cmpint(got, ==, cases[i].set);
    }
    close(fd);
}

static void test_refused(void)
{
    static const struct {
        int level, name, type, error;
    } cases[] = {
        { SOL_SOCKET, SO_BINDTODEVICE, SOCK_STREAM, -EPERM },
        { SOL_SOCKET, SO_MARK, SOCK_DGRAM, -EPERM },
        { SOL_SOCKET, SO_SNDBUFFORCE, SOCK_STREAM, -EPERM },
        { SOL_SOCKET, SO_RCVBUFFORCE, SOCK_STREAM, -EPERM },
        { SOL_IP, IP_TRANSPARENT, SOCK_STREAM, -EPERM },
        { SOL_IP, IP_FREEBIND, SOCK_STREAM, -EPERM },
        { SOL_TCP, TCP_REPAIR, SOCK_STREAM, -EPERM },
        { SOL_TCP, TCP_TIMESTAMP, SOCK_STREAM, -EPERM },
        { SOL_TCP, TCP_MD5SIG, SOCK_STREAM, -EPERM },
        { SOL_TCP, TCP_ULP, SOCK_STREAM, -ENOPROTOOPT },
        { SOL_SOCKET, SO_INCOMING_CPU, SOCK_STREAM, -ENOPROTOOPT },
        { SOL_SOCKET, SO_ATTACH_FILTER, SOCK_STREAM, -ENOPROTOOPT },
        { SOL_SOCKET, SO_PEERCRED, SOCK_STREAM, -ENOPROTOOPT },
        { SOL_SOCKET, SO_ERROR, SOCK_STREAM, -ENOPROTOOPT },
        { SOL_IP, IP_MTU, SOCK_DGRAM, -ENOPROTOOPT },
        { SOL_IP, IP_HDRINCL, SOCK_DGRAM, -ENOPROTOOPT },
        { SOL_IPV6, IPV6_V6ONLY, SOCK_DGRAM, -ENOPROTOOPT },
        { SOL_TCP, TCP_NODELAY, SOCK_DGRAM, -ENOPROTOOPT },
        { SOL_UDP, UDP_SEGMENT, SOCK_STREAM, -ENOPROTOOPT },
        { SOL_UDP, UDP_ENCAP, SOCK_DGRAM, -ENOPROTOOPT },
        { -1, -1, SOCK_DGRAM, -ENOPROTOOPT },
    };
    VmrpcSockKind stream = { AF_INET6, SOCK_STREAM };
    size_t i;
    int seven = 7;
    VmrpcSockopt opt;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        VmrpcSockKind kind = { AF_INET6, cases[i].type };

        g_assert_cmpint(set_answer(kind, cases[i].level, cases[i].name), ==,
                        cases[i].error);
    }
    g_assert_cmpint(vmrpc_sockopt_to_host(stream, VMRPC_SOCKOPT_SET,
                                          SOL_SOCKET, SO_PRIORITY, &seven,
                                          sizeof(seven), &opt), ==, -EPERM);
    g_assert_cmpint(get_answer(stream, SOL_SOCKET, SO_MARK), ==,
                    -ENOPROTOOPT);
}

/* On the IPv6 socket itself, what we set must be what we meant. */
static void test_reaches_ipv6(void)
{
    VmrpcSockKind kind = { AF_INET6, SOCK_DGRAM };
    static const struct {
        int name4, name6, value;
    } cases[] = {
        { IP_TTL, IPV6_UNICAST_HOPS, 17 },
        { IP_TOS, IPV6_TCLASS, 0xb8 },
        { IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, IP_PMTUDISC_DO },
        { IP_RECVERR, IPV6_RECVERR, 1 },
        { IP_PKTINFO, IPV6_RECVPKTINFO, 1 },
        { IP_RECVTTL, IPV6_RECVHOPLIMIT, 1 },
        { IP_RECVTOS, IPV6_RECVTCLASS, 1 },
        { IP_MINTTL, IPV6_MINHOPCOUNT, 3 },
        { IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, 9 },
        { IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, 0 },
    };
    int fd = new_socket(AF_INET6, SOCK_DGRAM), value;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(our_set(fd, kind, SOL_IP, cases[i].name4,
                                &cases[i].value, sizeof(int)), ==, 0);
        g_assert_cmpint(native_get(fd, SOL_IPV6, cases[i].name6, &value,
                                   sizeof(value)), ==, sizeof(value));
        g_assert_cmpint(value, ==, cases[i].value);
        g_assert_cmpint(our_get(fd, kind, SOL_IP, cases[i].name4, &value,
                                sizeof(value)), ==, sizeof(value));
        g_assert_cmpint(value, ==, cases[i].value);
    }
    /* -1 is the default again; 0 is no TTL, though it is a hop limit */
    value = -1;
    g_assert_cmpint(our_set(fd, kind, SOL_IP, IP_TTL, &value, 4), ==, 0);
    value = 0;
    g_assert_cmpint(our_set(fd, kind, SOL_IP, IP_TTL, &value, 4), ==,
                    -EINVAL);
    close(fd);
}

static void test_short_room(void)
{
    VmrpcSockKind kind = { AF_INET6, SOCK_STREAM };
    int native = new_socket(AF_INET, SOCK_STREAM);
    int ours = new_socket(AF_INET6, SOCK_STREAM);
    static const struct {
        int level, name;
    } options[] = {
        { SOL_IP, IP_TTL }, { SOL_IP, IP_TOS }, { SOL_IP, IP_RECVERR },
        { SOL_SOCKET, SO_TYPE }, { SOL_SOCKET, SO_RCVBUF },
        { SOL_SOCKET, SO_LINGER }, { SOL_TCP, TCP_NODELAY },
        { SOL_TCP, TCP_CONGESTION }, { SOL_SOCKET, SO_DOMAIN },
    };
    size_t i, cap;

    for (i = 0; i < G_N_ELEMENTS(options); i++) {
        for (cap = 0; cap <= 20; cap++) {
            uint8_t a[20], b[20];
            ssize_t n;

            memset(a, 0xaa, sizeof(a));
            memset(b, 0xaa, sizeof(b));
            n = native_get(native, options[i].level, options[i].name, a, cap);
            g_assert_cmpint(our_get(ours, kind, options[i].level,
                                    options[i].name, b, cap), ==, n);
            g_assert_cmpmem(a, sizeof(a), b, sizeof(b));
        }
    }
    close(native);
    close(ours);
}

static void test_linger_and_string(void)
{
    VmrpcSockKind kind = { AF_INET6, SOCK_STREAM };
    int fd = new_socket(AF_INET6, SOCK_STREAM);
    struct linger in = { 1, 30 }, out = { 0 };
    char name[VMRPC_SOCKOPT_MAX] = "", none[] = "no-such-algorithm-here";
    VmrpcSockopt opt;

    g_assert_cmpint(our_set(fd, kind, SOL_SOCKET, SO_LINGER, &in,
                            sizeof(in)), ==, 0);
    g_assert_cmpint(our_get(fd, kind, SOL_SOCKET, SO_LINGER, &out,
                            sizeof(out)), ==, sizeof(out));
    g_assert_cmpint(out.l_onoff, ==, 1);
    g_assert_cmpint(out.l_linger, ==, 30);
    g_assert_cmpint(our_set(fd, kind, SOL_SOCKET, SO_LINGER, &in, 7), ==,
                    -EINVAL);

    g_assert_cmpint(our_set(fd, kind, SOL_TCP, TCP_CONGESTION, "reno", 4), ==,
                    0);
    g_assert_cmpint(our_get(fd, kind, SOL_TCP, TCP_CONGESTION, name,
                            sizeof(name)), ==, 16);
    g_assert_cmpstr(name, ==, "reno");
    g_assert_cmpint(our_set(fd, kind, SOL_TCP, TCP_CONGESTION, "", 0), ==,
                    -EINVAL);
    g_assert_cmpint(vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, SOL_TCP,
                                          TCP_CONGESTION, none, sizeof(none),
                                          &opt), ==, 0);
    g_assert_cmpint(opt.len, ==, 16);
    g_assert_cmpint(opt.bytes[15], ==, '\0');
    close(fd);
}

static void test_mtu_and_info(void)
{
    VmrpcSockKind dgram = { AF_INET6, SOCK_DGRAM };
    VmrpcSockKind stream = { AF_INET6, SOCK_STREAM };
    int udp = new_socket(AF_INET6, SOCK_DGRAM);
    int server = new_socket(AF_INET6, SOCK_STREAM);
    int client = new_socket(AF_INET6, SOCK_STREAM);
    struct sockaddr_in6 sa = bound_to_loopback(udp);
    uint8_t info[VMRPC_SOCKOPT_MAX], raw[VMRPC_SOCKOPT_MAX];
    size_t pmtu = offsetof(struct tcp_info, tcpi_pmtu);
    int host = 0, guest = 0;
    ssize_t n;

    g_assert_cmpint(our_get(udp, dgram, SOL_IP, IP_MTU, &guest, 4), ==,
                    -ENOTCONN);
    g_assert_cmpint(connect(udp, (void *)&sa, sizeof(sa)), ==, 0);
    g_assert_cmpint(native_get(udp, SOL_IPV6, IPV6_MTU, &host, 4), ==, 4);
    g_assert_cmpint(our_get(udp, dgram, SOL_IP, IP_MTU, &guest, 4), ==, 4);
    g_assert_cmpint(guest, ==, host - 20);

    sa = bound_to_loopback(server);
    g_assert_cmpint(listen(server, 1), ==, 0);
    g_assert_cmpint(our_get(server, stream, SOL_SOCKET, SO_ACCEPTCONN, &guest,
                            4), ==, 4);
    g_assert_cmpint(guest, ==, 1);
    g_assert_cmpint(connect(client, (void *)&sa, sizeof(sa)), ==, 0);
    n = our_get(client, stream, SOL_TCP, TCP_INFO, info, sizeof(info));
    g_assert_cmpint(n, >=, (ssize_t)sizeof(struct tcp_info));
    g_assert_cmpint(native_get(client, SOL_TCP, TCP_INFO, raw, sizeof(raw)),
                    ==, n);
    g_assert_cmpint(info[0], ==, TCP_ESTABLISHED);
    memcpy(&host, raw + pmtu, 4);
    memcpy(&guest, info + pmtu, 4);
    g_assert_cmpint(guest, ==, host - 20);
    /* a room that ends inside the field leaves it alone */
    g_assert_cmpint(our_get(client, stream, SOL_TCP, TCP_INFO, info,
                            pmtu + 3), ==, pmtu + 3);
    g_assert_cmpmem(info + pmtu, 3, raw + pmtu, 3);
    close(udp);
    close(server);
    close(client);
}

static void test_error_and_domain(void)
{
    VmrpcSockKind kind = { AF_INET6, SOCK_DGRAM };
    int gone = new_socket(AF_INET6, SOCK_DGRAM);
    int fd = new_socket(AF_INET6, SOCK_DGRAM), value;
    struct sockaddr_in6 sa = bound_to_loopback(gone);
    struct pollfd pfd = { .fd = fd };
    VmrpcSockopt opt;

    close(gone);
    g_assert_cmpint(connect(fd, (void *)&sa, sizeof(sa)), ==, 0);
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    g_assert_cmpint(poll(&pfd, 1, 5000), ==, 1);
    g_assert_cmpint(our_get(fd, kind, SOL_SOCKET, SO_ERROR, &value, 4), ==, 4);
    g_assert_cmpint(value, ==, ECONNREFUSED);
    g_assert_cmpint(our_get(fd, kind, SOL_SOCKET, SO_DOMAIN, &value, 4), ==,
                    4);
    g_assert_cmpint(value, ==, AF_INET);

    /* what getsockopt() did not fill is not passed on */
    g_assert_cmpint(vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_GET, SOL_SOCKET,
                                          SO_TYPE, NULL, 4, &opt), ==, 0);
    opt.len = 3;
    g_assert_cmpint(vmrpc_sockopt_from_host(&opt, &value, 4), ==, -EINVAL);
    close(fd);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sockopt/same-as-native", test_same_as_native);
    g_test_add_func("/sockopt/refused", test_refused);
    g_test_add_func("/sockopt/reaches-ipv6", test_reaches_ipv6);
    g_test_add_func("/sockopt/short-room", test_short_room);
    g_test_add_func("/sockopt/linger-and-string", test_linger_and_string);
    g_test_add_func("/sockopt/stamps", test_stamps);
    g_test_add_func("/sockopt/mtu-and-info", test_mtu_and_info);
    g_test_add_func("/sockopt/error-and-domain", test_error_and_domain);
    return g_test_run();
}
