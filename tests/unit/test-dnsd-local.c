/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a host have an address? Questions to the kernel, and its answers */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "dnsd/server/core/local.h"

static DnsdLocal hear_route(unsigned type)
{
    const struct rtmsg msg = { .rtm_type = type };
    RtnlRequest answer;

    rtnl_request(&answer, RTM_NEWROUTE, 0, &msg, sizeof(msg));
    return dnsd_local_hear(0, &answer.head);
}

static DnsdLocal hear_error(int error)
{
    return dnsd_local_hear(error, NULL);
}

static void test_hear(void)
{
    g_assert_cmpint(hear_route(RTN_LOCAL), ==, DNSD_LOCAL_YES);
    g_assert_cmpint(hear_route(RTN_ANYCAST), ==, DNSD_LOCAL_YES);
    g_assert_cmpint(hear_route(RTN_UNICAST), ==, DNSD_LOCAL_NO);
    g_assert_cmpint(hear_route(RTN_BLACKHOLE), ==, DNSD_LOCAL_NO);
    g_assert_cmpint(hear_error(-ENETUNREACH), ==, DNSD_LOCAL_NO);
    g_assert_cmpint(hear_error(-EINVAL), ==, DNSD_LOCAL_NO);
    /* The VRF has just gone, or the kernel has no memory. */
    g_assert_cmpint(hear_error(-ENODEV), ==, DNSD_LOCAL_UNKNOWN);
    g_assert_cmpint(hear_error(-ENOBUFS), ==, DNSD_LOCAL_UNKNOWN);
}

static void test_ask(void)
{
    static const struct {
        int family;
        const char *text;
        unsigned link;
    } cases[] = {
        { AF_INET, "192.0.2.1", 0 }, { AF_INET, "192.0.2.1", 7 },
        { AF_INET6, "2001:db8::1", 0 }, { AF_INET6, "fe80::1", 7 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct sockaddr_storage addr = { .ss_family = cases[i].family };
        bool is_four = cases[i].family == AF_INET;
        size_t len = is_four ? 4 : 16;
        const void *octets = is_four
            ? (const void *)&((struct sockaddr_in *)&addr)->sin_addr
            : &((struct sockaddr_in6 *)&addr)->sin6_addr;
        const size_t body = sizeof(struct rtmsg);
        const struct rtmsg *msg;
        uint8_t to[16];
        unsigned link = 0;
        RtnlRequest q;

        inet_pton(cases[i].family, cases[i].text, (void *)octets);
        dnsd_local_ask(&q, &addr, cases[i].link);
        msg = NLMSG_DATA(&q.head);
        g_assert_cmpuint(msg->rtm_family, ==, cases[i].family);
        g_assert_cmpuint(msg->rtm_dst_len, ==, 8 * len);
        g_assert_true(rtnl_attribute(&q.head, body, RTA_DST, to, len));
        g_assert_cmpmem(to, len, octets, len);
        g_assert_cmpint(rtnl_attribute(&q.head, body, RTA_OIF, &link,
                                       sizeof(link)), ==, cases[i].link != 0);
        g_assert_cmpuint(link, ==, cases[i].link);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/local/hear", test_hear);
    g_test_add_func("/dnsd/local/ask", test_ask);
    return g_test_run();
}
