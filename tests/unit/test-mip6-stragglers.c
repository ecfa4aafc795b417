/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets that come to where a mobile node was are sent to where it is */
#include <string.h>

#include "mip6-agent-fixture.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define THIRD   "2001:db8:5000::aa"

/* A packet for HOME, tunnelled by @from. Was it tunnelled on to @to? */
static bool sent_on(AgentFixture *f, const char *from, const char *to)
{
    struct in6_addr care_of = agent_address(to);
    PacketIp6 ip;

    agent_send_tunnelled(f, from, FAR, HOME, 64);
    return f->packets == 1 && packet_ip6_parse(&ip, f->packet, f->len) &&
           ip.next == PACKET_PROTO_IP6 && packet_ip6_equal(&ip.dst, &care_of);
}

static void test_sent_on(void)
{
    AgentFixture *f = agent_begin(NULL);

    agent_bind(f, HOME, CARE_OF);
    /* It has not moved: nobody tunnels to it by way of us. */
    g_assert_false(sent_on(f, CARE_OF, CARE_OF));
    agent_bind(f, HOME, NEXT);
    g_assert_true(sent_on(f, CARE_OF, NEXT));
    g_assert_cmpint(f->packet[PACKET_IP6_LEN + 7], ==, 63);
    g_assert_cmpuint(agent_binding(f, HOME)->stragglers, ==, 1);
    g_assert_cmpuint(f->a.stragglers, ==, 1);
    g_assert_cmpuint(f->a.sent, ==, 1);
    /* Never back to where it came from, nor from anywhere else. */
    g_assert_false(sent_on(f, NEXT, NEXT));
    g_assert_false(sent_on(f, THIRD, NEXT));
    g_assert_cmpuint(f->a.stragglers, ==, 1);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 3);
    agent_end(f);
}

/* For ten seconds, however often the binding is refreshed meanwhile. */
static void test_time(void)
{
    AgentFixture *f = agent_begin(NULL);

    agent_bind(f, HOME, CARE_OF);
    agent_bind(f, HOME, NEXT);
    f->now += 5 * SECOND;
    agent_bind(f, HOME, NEXT);
    f->now += 5 * SECOND - 1;
    g_assert_true(sent_on(f, CARE_OF, NEXT));
    f->now++;
    g_assert_false(sent_on(f, CARE_OF, NEXT));
    agent_end(f);
}

/* The one before the last is forgotten; and one that moves back is home. */
static void test_last_only(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu;

    agent_bind(f, HOME, CARE_OF);
    agent_bind(f, HOME, NEXT);
    agent_bind(f, HOME, THIRD);
    g_assert_false(sent_on(f, CARE_OF, THIRD));
    g_assert_true(sent_on(f, NEXT, THIRD));
    agent_bind(f, HOME, NEXT);
    g_assert_false(sent_on(f, NEXT, NEXT));
    g_assert_true(sent_on(f, THIRD, NEXT));
    /* Nor does another binding have it, nor one that is new. */
    agent_send_tunnelled(f, THIRD, FAR, OTHER, 64);
    g_assert_cmpint(f->packet[6], ==, PACKET_PROTO_MH);
    bu = agent_usual_update(f, NEXT, 0);
    agent_update(f, HOME, NEXT, &bu);
    g_assert_false(sent_on(f, THIRD, NEXT));
    agent_bind(f, HOME, NEXT);
    g_assert_false(sent_on(f, THIRD, NEXT));
    agent_end(f);
}

/* A loop of two hosts that each send on ends. */
static void test_hop_limit(void)
{
    AgentFixture *f = agent_begin(NULL);
    struct in6_addr far = agent_address(FAR);

    agent_bind(f, HOME, CARE_OF);
    agent_bind(f, HOME, NEXT);
    agent_send_tunnelled(f, CARE_OF, FAR, HOME, 2);
    g_assert_cmpint(f->packet[PACKET_IP6_LEN + 7], ==, 1);
    agent_send_tunnelled(f, CARE_OF, FAR, HOME, 1);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpint(f->packet[PACKET_IP6_LEN], ==, PACKET_ICMP6_TIME_EXCEEDED);
    g_assert_cmpmem(f->packet + 24, 16, &far, 16);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_HOP_LIMIT], ==, 1);
    g_assert_cmpuint(f->a.stragglers, ==, 1);
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/stragglers/sent-on", test_sent_on);
    g_test_add_func("/mip6/stragglers/time", test_time);
    g_test_add_func("/mip6/stragglers/last-only", test_last_only);
    g_test_add_func("/mip6/stragglers/hop-limit", test_hop_limit);
    return g_test_run();
}
