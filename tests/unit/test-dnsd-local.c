/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a host have an address? Questions to the kernel, and its answers */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>

#include "dnsd/server/core/local.h"

typedef union Answer {
    struct nlmsghdr head;
    uint8_t octets[256];
} Answer;

static const uint32_t number = 17;

static DnsdLocal hear_route(unsigned type)
{
    Answer a = {
        .head = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
            .nlmsg_type = RTM_NEWROUTE, .nlmsg_seq = number,
        },
    };

    ((struct rtmsg *)NLMSG_DATA(&a.head))->rtm_type = type;
    return dnsd_local_hear(&a, a.head.nlmsg_len, number);
}

static DnsdLocal hear_error(int error)
{
    Answer a = {
        .head = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct nlmsgerr)),
            .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = number,
        },
    };

    ((struct nlmsgerr *)NLMSG_DATA(&a.head))->error = error;
    return dnsd_local_hear(&a, a.head.nlmsg_len, number);
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

static void test_malformed(void)
{
    Answer a = {
        .head = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
            .nlmsg_type = RTM_NEWROUTE, .nlmsg_seq = number,
        },
    };

    for (size_t len = 0; len < a.head.nlmsg_len; len++) {
        uint8_t *exact = g_memdup2(&a, len);

        g_assert_cmpint(dnsd_local_hear(exact, len, number), ==,
                        DNSD_LOCAL_UNKNOWN);
        g_free(exact);
    }
    g_assert_cmpint(dnsd_local_hear(&a, sizeof(a), number + 1), ==,
                    DNSD_LOCAL_UNKNOWN);
    a.head.nlmsg_len = NLMSG_LENGTH(1);
    g_assert_cmpint(dnsd_local_hear(&a, sizeof(a), number), ==,
                    DNSD_LOCAL_UNKNOWN);
    a.head.nlmsg_type = NLMSG_ERROR;
    g_assert_cmpint(dnsd_local_hear(&a, sizeof(a), number), ==,
                    DNSD_LOCAL_UNKNOWN);
}

/* The attribute @type of a question, with @len octets */
static const void *attribute(const DnsdLocalQuestion *q, uint16_t type,
                             size_t len)
{
    const struct rtattr *rta = RTM_RTA(&q->msg);
    int left = RTM_PAYLOAD(&q->head);

    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        if (rta->rta_type == type) {
            g_assert_cmpuint(RTA_PAYLOAD(rta), ==, len);
            return RTA_DATA(rta);
        }
    }
    return NULL;
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
        const unsigned *link;
        DnsdLocalQuestion q;

        inet_pton(cases[i].family, cases[i].text, (void *)octets);
        dnsd_local_ask(&q, &addr, cases[i].link, number);
        g_assert_cmpuint(q.head.nlmsg_len, <=, sizeof(q));
        g_assert_cmpuint(q.head.nlmsg_seq, ==, number);
        g_assert_cmpuint(q.msg.rtm_family, ==, cases[i].family);
        g_assert_cmpuint(q.msg.rtm_dst_len, ==, 8 * len);
        g_assert_cmpmem(attribute(&q, RTA_DST, len), len, octets, len);
        link = attribute(&q, RTA_OIF, sizeof(*link));
        g_assert_cmpuint(link ? *link : 0, ==, cases[i].link);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/local/hear", test_hear);
    g_test_add_func("/dnsd/local/malformed", test_malformed);
    g_test_add_func("/dnsd/local/ask", test_ask);
    return g_test_run();
}
