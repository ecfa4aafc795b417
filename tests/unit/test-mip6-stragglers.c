/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that reach the former place of a mobile node are sent to its current
 * one
 */
#include <string.h>

#include "tests/fixtures/mip6-agent-fixture.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define THIRD   "2001:db8:5000::aa"

/*
 * Sends a packet for HOME, tunnelled by @from.  Returns: was it tunnelled to
 * @to?
 */
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
    /* It has not moved: no tunnel to it goes through the agent. */
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

/* For ten seconds, with any number of refreshes meanwhile. */
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
    /* Other bindings, and new ones, do not have it. */
    agent_send_tunnelled(f, THIRD, FAR, OTHER, 64);
    g_assert_cmpint(f->packet[6], ==, PACKET_PROTO_MH);
    bu = agent_usual_update(f, NEXT, 0);
    agent_update(f, HOME, NEXT, &bu);
    g_assert_false(sent_on(f, THIRD, NEXT));
    agent_bind(f, HOME, NEXT);
    g_assert_false(sent_on(f, THIRD, NEXT));
    agent_end(f);
}

/* A loop between two forwarding hosts ends. */
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

/* The node of @home is at home again, and says so from there. */
static void returns(AgentFixture *f, const char *home)
{
    Mip6Mh bu = agent_usual_update(f, home, 0);

    agent_update(f, home, home, &bu);
    agent_expect(f, home, home, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(agent_binding(f, home));
}

/* The host forwards packets to the node, and packets from it. */
static void test_returned(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t inner[512];
    size_t len = agent_build_packet(inner, FAR, HOME, 50);

    agent_bind(f, HOME, CARE_OF);
    g_assert_false(agent_send_tunnelled(f, CARE_OF, FAR, HOME, 64));
    returns(f, HOME);
    g_assert_true(agent_send_tunnelled(f, CARE_OF, FAR, HOME, 64));
    /* The host counts the hop. */
    g_assert_cmpmem(f->packet, f->len, inner, len);
    g_assert_true(agent_from_tunnel(f, CARE_OF, HOME));
    g_assert_cmpuint(f->a.stragglers, ==, 2);
    g_assert_cmpuint(f->a.received, ==, 1);
    g_assert_cmpuint(f->a.sent, ==, 0);
    /* From no other source, and no other packets. */
    g_assert_false(agent_send_tunnelled(f, NEXT, FAR, HOME, 64));
    g_assert_false(agent_from_tunnel(f, NEXT, HOME));
    g_assert_false(agent_send_tunnelled(f, CARE_OF, FAR, OTHER, 64));
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 4);
    f->now += 10 * SECOND - 1;
    g_assert_true(agent_from_tunnel(f, CARE_OF, HOME));
    f->now++;
    g_assert_false(agent_from_tunnel(f, CARE_OF, HOME));
    g_assert_cmpint(mip6_agent_deadline(&f->a), <=, f->now);
    mip6_agent_tick(&f->a, f->now);
    g_assert_cmpint(mip6_agent_deadline(&f->a), ==, INT64_MAX);
    agent_end(f);
}

/*
 * The host has queued packets for the agent behind the update; they need
 * another path now.
 */
static void test_waited(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t packet[512];
    size_t len = agent_build_packet(packet, FAR, HOME, 50);

    agent_bind(f, HOME, CARE_OF);
    returns(f, HOME);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    /* The host decrements the hop limit, so that no packet loops for ever. */
    g_assert_cmpmem(f->packet, f->len, packet, len);
    g_assert_cmpuint(f->a.stragglers, ==, 1);
    f->now += 10 * SECOND;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 1);
    agent_end(f);
}

/* One that ends its binding where it is, is not at home. */
static void test_not_returned(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu;

    agent_bind(f, HOME, CARE_OF);
    bu = agent_usual_update(f, CARE_OF, 0);
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_null(agent_binding(f, HOME));
    g_assert_false(agent_from_tunnel(f, CARE_OF, HOME));
    g_assert_false(agent_send_tunnelled(f, CARE_OF, FAR, HOME, 64));
    agent_end(f);
}

/* It moves away again, and late packets go to its new place. */
static void test_away_again(void)
{
    AgentFixture *f = agent_begin(NULL);

    agent_bind(f, HOME, CARE_OF);
    returns(f, HOME);
    f->now += SECOND;
    agent_bind(f, HOME, NEXT);
    g_assert_true(sent_on(f, CARE_OF, NEXT));
    /* As that of one that has moved on, its source is wrong now. */
    g_assert_false(agent_from_tunnel(f, CARE_OF, HOME));
    f->now += 9 * SECOND;
    g_assert_false(sent_on(f, CARE_OF, NEXT));
    returns(f, HOME);
    agent_bind(f, HOME, NEXT);
    g_assert_true(agent_from_tunnel(f, NEXT, HOME));
    g_assert_cmpuint(f->a.stragglers, ==, 1);
    agent_end(f);
}

/* Not more addresses are remembered than there can be bindings. */
static void test_bounded(void)
{
    AgentFixture *f = agent_begin(NULL);
    const char *const homes[] = { HOME, OTHER, "2001:db8:2000::12" };

    for (unsigned i = 0; i < G_N_ELEMENTS(homes); i++) {
        agent_bind(f, homes[i], CARE_OF);
        returns(f, homes[i]);
        g_assert_true(agent_from_tunnel(f, CARE_OF, homes[i]) == (i < 2));
    }
    /* There is room when their time is over. */
    f->now += 10 * SECOND;
    mip6_agent_tick(&f->a, f->now);
    agent_bind(f, homes[2], CARE_OF);
    returns(f, homes[2]);
    g_assert_true(agent_from_tunnel(f, CARE_OF, homes[2]));
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/stragglers/sent-on", test_sent_on);
    g_test_add_func("/mip6/stragglers/time", test_time);
    g_test_add_func("/mip6/stragglers/last-only", test_last_only);
    g_test_add_func("/mip6/stragglers/hop-limit", test_hop_limit);
    g_test_add_func("/mip6/stragglers/returned", test_returned);
    g_test_add_func("/mip6/stragglers/waited", test_waited);
    g_test_add_func("/mip6/stragglers/not-returned", test_not_returned);
    g_test_add_func("/mip6/stragglers/away-again", test_away_again);
    g_test_add_func("/mip6/stragglers/bounded", test_bounded);
    return g_test_run();
}
