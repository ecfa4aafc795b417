/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of the kernel about interfaces, addresses and routes as events */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rtnl.h"

typedef struct Message {
    union {
        struct nlmsghdr head;
        uint8_t bytes[512];
    };
} Message;

static const uint8_t mac[RTNL_MAC_LEN] = { 2, 0, 0, 0, 0, 7 };

static void begin(Message *m, uint16_t type, const void *body, size_t len)
{
    memset(m, 0, sizeof(*m));
    m->head.nlmsg_type = type;
    m->head.nlmsg_len = NLMSG_LENGTH(len);
    memcpy(NLMSG_DATA(&m->head), body, len);
}

static void put(Message *m, uint16_t type, const void *data, size_t len)
{
    struct rtattr *rta = (void *)(m->bytes + NLMSG_ALIGN(m->head.nlmsg_len));

    rta->rta_type = type;
    rta->rta_len = RTA_LENGTH(len);
    memcpy(RTA_DATA(rta), data, len);
    m->head.nlmsg_len = NLMSG_ALIGN(m->head.nlmsg_len) + RTA_LENGTH(len);
}

static void begin_link(Message *m, uint16_t type, uint8_t family)
{
    const struct ifinfomsg msg = {
        .ifi_family = family, .ifi_index = 7, .ifi_flags = IFF_UP,
    };

    begin(m, type, &msg, sizeof(msg));
}

static void test_link(void)
{
    RtnlEvent event;
    Message m;

    begin_link(&m, RTM_NEWLINK, AF_UNSPEC);
    put(&m, IFLA_IFNAME, "br0", 4);
    put(&m, IFLA_ADDRESS, mac, sizeof(mac));
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpint(event.kind, ==, RTNL_LINK);
    g_assert_cmpuint(event.index, ==, 7);
    g_assert_cmpuint(event.link_flags, ==, IFF_UP);
    g_assert_cmpstr(event.name, ==, "br0");
    g_assert_true(event.has_mac);
    g_assert_cmpmem(event.mac, sizeof(mac), mac, sizeof(mac));

    begin_link(&m, RTM_DELLINK, AF_UNSPEC);
    put(&m, IFLA_IFNAME, "tun0", 5);
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpint(event.kind, ==, RTNL_LINK_GONE);
    g_assert_false(event.has_mac);
}

/* What a VRF or a bridge is, and what is in one */
static void test_kind(void)
{
    static const char *const kinds[] = { "vrf", "vrfs", "bridge", "bridg" };
    const unsigned master = 5;
    struct {
        struct rtattr rta;
        char text[8];
    } kind = { 0 };
    RtnlEvent event;
    Message m;

    begin_link(&m, RTM_NEWLINK, AF_UNSPEC);
    put(&m, IFLA_IFNAME, "eth0", 5);
    put(&m, IFLA_MASTER, &master, sizeof(master));
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpuint(event.master, ==, 5);
    g_assert_false(event.is_vrf);

    for (int i = 0; i < 4; i++) {
        begin_link(&m, RTM_NEWLINK, AF_UNSPEC);
        put(&m, IFLA_IFNAME, "red", 4);
        kind.rta.rta_type = IFLA_INFO_KIND;
        kind.rta.rta_len = RTA_LENGTH(strlen(kinds[i]) + 1);
        strcpy(kind.text, kinds[i]);
        put(&m, IFLA_LINKINFO, &kind, kind.rta.rta_len);
        g_assert_true(rtnl_parse(&m.head, &event));
        g_assert_cmpint(event.is_vrf, ==, i == 0);
        g_assert_cmpint(event.is_bridge, ==, i == 2);
    }
}

/* The end of a list, of one with an error, and of one with a gap */
static void test_listed(void)
{
    static const struct {
        int error;
        uint16_t flags;
        RtnlKind kind;
    } cases[] = {
        { 0, NLM_F_MULTI, RTNL_LISTED },
        { -ENOBUFS, NLM_F_MULTI, RTNL_LOST },
        { 0, NLM_F_MULTI | NLM_F_DUMP_INTR, RTNL_LOST },
    };
    RtnlEvent event;
    Message m;

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        begin(&m, NLMSG_DONE, &cases[i].error, sizeof(cases[i].error));
        m.head.nlmsg_flags = cases[i].flags;
        g_assert_true(rtnl_parse(&m.head, &event));
        g_assert_cmpint(event.kind, ==, cases[i].kind);
    }
}

/* The kernel's list has the loopback interface, and an end. */
static void test_list(void)
{
    bool has_loopback = false;
    RtnlEvent event;
    RtnlWatch w;

    g_assert_cmpint(rtnl_watch_open(&w, RTNL_LINKS), ==, 0);
    g_assert_cmpint(rtnl_watch_list(&w), ==, 0);
    do {
        g_assert_true(rtnl_watch_next(&w, &event));
        has_loopback |= event.kind == RTNL_LINK &&
                        g_str_equal(event.name, "lo");
    } while (event.kind == RTNL_LINK);
    g_assert_cmpint(event.kind, ==, RTNL_LISTED);
    g_assert_true(has_loopback);
    rtnl_watch_close(&w);
}

/* A port that leaves its bridge is still there. */
static void test_port_of_bridge(void)
{
    RtnlEvent event;
    Message m;

    begin_link(&m, RTM_DELLINK, AF_BRIDGE);
    put(&m, IFLA_IFNAME, "tap0", 5);
    g_assert_false(rtnl_parse(&m.head, &event));
}

static void test_address(void)
{
    const struct ifaddrmsg msg = {
        .ifa_family = AF_INET6, .ifa_prefixlen = 64, .ifa_index = 3,
        .ifa_flags = IFA_F_PERMANENT,
    };
    const uint32_t flags = IFA_F_TENTATIVE | IFA_F_NOPREFIXROUTE;
    struct in6_addr own, peer;
    RtnlEvent event;
    Message m;

    inet_pton(AF_INET6, "2001:db8::1", &own);
    inet_pton(AF_INET6, "2001:db8::2", &peer);
    begin(&m, RTM_DELADDR, &msg, sizeof(msg));
    put(&m, IFA_ADDRESS, &own, sizeof(own));
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpint(event.kind, ==, RTNL_ADDRESS_GONE);
    g_assert_cmpuint(event.index, ==, 3);
    g_assert_cmpuint(event.prefix_len, ==, 64);
    g_assert_cmpuint(event.addr_flags, ==, IFA_F_PERMANENT);
    g_assert_cmpmem(&event.addr, 16, &own, 16);

    /* IFA_ADDRESS of a point-to-point interface is the peer's. */
    for (int order = 0; order < 2; order++) {
        begin(&m, RTM_NEWADDR, &msg, sizeof(msg));
        put(&m, order ? IFA_ADDRESS : IFA_LOCAL, order ? &peer : &own, 16);
        put(&m, order ? IFA_LOCAL : IFA_ADDRESS, order ? &own : &peer, 16);
        put(&m, IFA_FLAGS, &flags, sizeof(flags));
        g_assert_true(rtnl_parse(&m.head, &event));
        g_assert_cmpint(event.kind, ==, RTNL_ADDRESS);
        g_assert_cmpuint(event.addr_flags, ==, flags);
        g_assert_cmpmem(&event.addr, 16, &own, 16);
    }

    begin(&m, RTM_NEWADDR, &msg, sizeof(msg));
    put(&m, IFA_ADDRESS, &own, 4);
    g_assert_false(rtnl_parse(&m.head, &event));
}

static void test_route(void)
{
    const struct rtmsg msg = {
        .rtm_family = AF_INET6, .rtm_dst_len = 128, .rtm_table = 254,
    };
    const uint32_t index = 9, table = 1000, metric = 1;
    struct in6_addr to;
    RtnlEvent event;
    Message m;

    inet_pton(AF_INET6, "2001:db8::10", &to);
    begin(&m, RTM_DELROUTE, &msg, sizeof(msg));
    put(&m, RTA_DST, &to, sizeof(to));
    put(&m, RTA_OIF, &index, sizeof(index));
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpint(event.kind, ==, RTNL_ROUTE_GONE);
    g_assert_cmpuint(event.index, ==, 9);
    g_assert_cmpuint(event.table, ==, 254);
    g_assert_cmpuint(event.prefix_len, ==, 128);
    g_assert_cmpmem(&event.addr, 16, &to, 16);

    put(&m, RTA_TABLE, &table, sizeof(table));
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpuint(event.table, ==, 1000);
    g_assert_false(event.replaces);

    put(&m, RTA_PRIORITY, &metric, sizeof(metric));
    m.head.nlmsg_flags = NLM_F_REPLACE;
    g_assert_true(rtnl_parse(&m.head, &event));
    g_assert_cmpuint(event.metric, ==, 1);
    g_assert_true(event.replaces);
}

static void test_others(void)
{
    RtnlEvent event;
    Message m;

    begin_link(&m, RTM_NEWLINK, AF_UNSPEC);
    g_assert_false(rtnl_parse(&m.head, &event));        /* without a name */
    m.head.nlmsg_len = NLMSG_LENGTH(4);
    g_assert_false(rtnl_parse(&m.head, &event));        /* cut */
    begin(&m, RTM_NEWNEIGH, "", 1);
    g_assert_false(rtnl_parse(&m.head, &event));
}

/* As the kernel has it: what a socket with a full buffer reads is ENOBUFS. */
static void test_socket(void)
{
    static const char text[] = "no message of the kernel";
    RtnlEvent event;
    RtnlWatch w;
    int pair[2];

    g_assert_cmpint(rtnl_watch_open(&w, RTNL_LINKS | RTNL_ADDRESSES |
                                    RTNL_ROUTES), ==, 0);
    g_assert_false(rtnl_watch_next(&w, &event));
    rtnl_watch_close(&w);
    rtnl_watch_close(&w);
    g_assert_false(rtnl_watch_next(&w, &event));

    /* The rest of a datagram is kept; a malformed one is skipped. */
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair),
                    ==, 0);
    w = (RtnlWatch) { .fd = pair[0] };
    {
        Message m[2];
        g_autoptr(GByteArray) both = g_byte_array_new();

        for (int i = 0; i < 2; i++) {
            begin_link(&m[i], i ? RTM_DELLINK : RTM_NEWLINK, AF_UNSPEC);
            put(&m[i], IFLA_IFNAME, "br0", 4);
            g_byte_array_append(both, m[i].bytes,
                                NLMSG_ALIGN(m[i].head.nlmsg_len));
        }
        g_assert_cmpint(send(pair[1], text, sizeof(text), 0), >, 0);
        g_assert_cmpint(send(pair[1], both->data, both->len, 0), >, 0);
    }
    g_assert_true(rtnl_watch_next(&w, &event));
    g_assert_cmpint(event.kind, ==, RTNL_LINK);
    g_assert_true(rtnl_watch_next(&w, &event));
    g_assert_cmpint(event.kind, ==, RTNL_LINK_GONE);
    g_assert_false(rtnl_watch_next(&w, &event));

    /* More than the buffer: the end of it is lost. */
    {
        g_autofree uint8_t *large = g_malloc0(RTNL_BUF + 1);

        g_assert_cmpint(send(pair[1], large, RTNL_BUF + 1, 0), >, 0);
    }
    g_assert_true(rtnl_watch_next(&w, &event));
    g_assert_cmpint(event.kind, ==, RTNL_LOST);
    rtnl_watch_close(&w);
    close(pair[1]);
}

/* --- requests ------------------------------------------------------------- */

static void test_request(void)
{
    const struct rtmsg msg = { .rtm_family = AF_INET6, .rtm_dst_len = 128 };
    const size_t body = sizeof(msg);
    const uint8_t proto = IPPROTO_UDP;
    const uint32_t index = 9;
    uint32_t found = 0;
    struct in6_addr to;
    RtnlEvent event;
    RtnlRequest r;

    inet_pton(AF_INET6, "2001:db8::10", &to);
    memset(&r, 0xa5, sizeof(r));
    rtnl_request(&r, RTM_NEWROUTE, NLM_F_CREATE, &msg, sizeof(msg));
    rtnl_put(&r, RTA_IP_PROTO, &proto, sizeof(proto));
    rtnl_put(&r, RTA_DST, &to, sizeof(to));
    rtnl_put(&r, RTA_OIF, &index, sizeof(index));
    g_assert_cmpuint(r.head.nlmsg_flags, ==, NLM_F_REQUEST | NLM_F_CREATE);
    g_assert_cmpuint(r.head.nlmsg_len, ==, NLMSG_LENGTH(sizeof(msg)) +
                     RTA_SPACE(1) + RTA_SPACE(16) + RTA_LENGTH(4));
    g_assert_true(rtnl_parse(&r.head, &event));
    g_assert_cmpmem(&event.addr, 16, &to, 16);
    g_assert_cmpuint(event.index, ==, 9);

    g_assert_true(rtnl_attribute(&r.head, body, RTA_OIF, &found, 4));
    g_assert_cmpuint(found, ==, 9);
    g_assert_false(rtnl_attribute(&r.head, body, RTA_IP_PROTO, &found, 4));
    g_assert_false(rtnl_attribute(&r.head, body, RTA_SRC, &found, 4));
    r.head.nlmsg_len--;                                 /* cut */
    g_assert_false(rtnl_attribute(&r.head, body, RTA_OIF, &found, 4));
    g_assert_cmpuint(found, ==, 9);
}

/* Reads @len octets as the answer to request 17, which asks for a route. */
static int hear(const void *octets, size_t len)
{
    g_autofree void *exact = g_memdup2(octets, len);

    return rtnl_answer(exact, len, 17, RTM_NEWROUTE, sizeof(struct rtmsg));
}

static void test_answer(void)
{
    const struct rtmsg route = { .rtm_type = RTN_LOCAL };
    struct nlmsgerr error = { .error = -ENETUNREACH };
    size_t len;
    Message m;

    begin(&m, RTM_NEWROUTE, &route, sizeof(route));
    len = m.head.nlmsg_len;
    m.head.nlmsg_seq = 17;
    g_assert_cmpint(hear(&m, len), ==, 0);
    for (size_t cut = 0; cut < len; cut++) {
        g_assert_cmpint(hear(&m, cut), ==, -EPROTO);
    }
    m.head.nlmsg_len = NLMSG_LENGTH(1);
    g_assert_cmpint(hear(&m, len), ==, -EPROTO);
    m.head.nlmsg_len = len;
    m.head.nlmsg_seq = 16;
    g_assert_cmpint(hear(&m, len), ==, -EAGAIN);
    m.head.nlmsg_seq = 17;
    m.head.nlmsg_type = RTM_NEWADDR;
    g_assert_cmpint(hear(&m, len), ==, -EPROTO);

    begin(&m, NLMSG_ERROR, &error, sizeof(error));
    m.head.nlmsg_seq = 17;
    g_assert_cmpint(hear(&m, m.head.nlmsg_len), ==, -ENETUNREACH);
    error.error = 0;                /* an acknowledgement is no route */
    begin(&m, NLMSG_ERROR, &error, sizeof(error));
    m.head.nlmsg_seq = 17;
    g_assert_cmpint(hear(&m, m.head.nlmsg_len), ==, -EPROTO);
    g_assert_cmpint(rtnl_answer(&m, m.head.nlmsg_len, 17, 0, 0), ==, 0);
}

static void look_for_loopback(void *opaque, const struct nlmsghdr *head)
{
    RtnlEvent event;

    *(bool *)opaque |= rtnl_parse(head, &event) &&
                       g_str_equal(event.name, "lo");
}

/* The kernel's own answers, one after another on one socket */
static void test_kernel(void)
{
    const struct ifinfomsg first = { .ifi_index = 1 }, none = { 0 };
    const struct ifinfomsg gone = { .ifi_index = INT_MAX };
    bool has_loopback = false;
    RtnlAnswer answer;
    RtnlEvent event;
    RtnlRequest r;
    Rtnl n;

    g_assert_cmpint(rtnl_open(&n), ==, 0);
    rtnl_request(&r, RTM_GETLINK, 0, &first, sizeof(first));
    /* Nobody reads the answer to this one. */
    g_assert_cmpint(send(n.fd, &r, r.head.nlmsg_len, 0), >, 0);
    g_assert_cmpint(rtnl_ask(&n, &r, &answer), ==, 0);
    g_assert_true(rtnl_parse(&answer.head, &event));
    g_assert_cmpstr(event.name, ==, "lo");
    g_assert_cmpuint(answer.head.nlmsg_seq, ==, n.serial);

    rtnl_request(&r, RTM_GETLINK, 0, &gone, sizeof(gone));
    g_assert_cmpint(rtnl_ask(&n, &r, &answer), ==, -ENODEV);
    rtnl_request(&r, RTM_NEWLINK, 0, &gone, sizeof(gone));
    g_assert_cmpint(rtnl_do(&n, &r), <, 0);

    rtnl_request(&r, RTM_GETLINK, 0, &none, sizeof(none));
    g_assert_cmpint(rtnl_list(&n, &r, look_for_loopback, &has_loopback), ==, 0);
    g_assert_true(has_loopback);
    rtnl_close(&n);
    rtnl_close(&n);
    rtnl_request(&r, RTM_GETLINK, 0, &first, sizeof(first));
    g_assert_cmpint(rtnl_ask(&n, &r, &answer), ==, -EBADF);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/rtnl/link", test_link);
    g_test_add_func("/base/rtnl/kind", test_kind);
    g_test_add_func("/base/rtnl/listed", test_listed);
    g_test_add_func("/base/rtnl/list", test_list);
    g_test_add_func("/base/rtnl/port-of-bridge", test_port_of_bridge);
    g_test_add_func("/base/rtnl/address", test_address);
    g_test_add_func("/base/rtnl/route", test_route);
    g_test_add_func("/base/rtnl/others", test_others);
    g_test_add_func("/base/rtnl/socket", test_socket);
    g_test_add_func("/base/rtnl/request", test_request);
    g_test_add_func("/base/rtnl/answer", test_answer);
    g_test_add_func("/base/rtnl/kernel", test_kernel);
    return g_test_run();
}
