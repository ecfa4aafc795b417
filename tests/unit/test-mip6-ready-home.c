/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 Ready, mobile node: returning home (RFC 6275 section 11.5.5) */
#include <arpa/inet.h>
#include <glib.h>

#include "tests/fixtures/mip6-ready.h"

/* The agent answers at home: to the home address, without a routing header. */
static Mip6Verdict answer_at_home(World *w, const Mip6Mh *mh)
{
    struct in6_addr agent = address(AGENT), home = address(HOME);
    uint8_t frame[128];
    PacketIp6 ip = { .src = agent, .dst = home, .next = PACKET_PROTO_MH,
                     .hops = 64 };

    ip.payload = mip6_mh_build(frame + 54, 64, &agent, &home, mh);
    packet_eth_build(frame, guest_mac, home_router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    return from_link(w, frame, 54 + ip.payload);
}

/* The update that ends the binding: from home, lifetime 0, no option. */
static void test_update(void)
{
    World *w = ready_returning();
    struct in6_addr home = address(HOME), agent = address(AGENT);
    Update u = ready_update(w);

    g_assert_cmpmem(&u.ip.src, 16, &home, 16);
    g_assert_cmpmem(&u.ip.dst, 16, &agent, 16);
    g_assert_false(u.has_hao);
    g_assert_cmphex(u.mh.flags, ==, MIP6_BU_ACK | MIP6_BU_HOME);
    g_assert_cmpint(u.mh.lifetime, ==, 0);
    if (u.mh.has_alternate) {
        g_assert_cmpmem(&u.mh.alternate, 16, &home, 16);
    }
    world_free(w);
}

/*
 * The agent defends the home address until it has the update: so the node does
 * not probe it, nor use it to resolve the agent.
 */
static void test_neighbours(void)
{
    World *w = ready_bound();
    struct in6_addr home = address(HOME), agent = address(AGENT);
    PacketNd nd;

    advertise(w, HOME_PREFIX, home_router_mac);
    pass(w, 100 * MS);
    g_assert_cmpint(ready_nd(w, PACKET_ND_NS, &nd), >=, 1);
    for (unsigned i = 0; i < w->logged; i++) {
        const Frame *f = &w->log[i];

        if (packet_nd_parse(&nd, f->buf + PACKET_ETH_LEN,
                            f->len - PACKET_ETH_LEN)) {
            g_assert_false(packet_ip6_equal(&nd.src, &home));
            g_assert_false(packet_ip6_equal(&nd.target, &home));
            g_assert_cmpint(nd.type, !=, PACKET_ND_NA);
        }
    }
    g_assert_cmpint(ready_updates(w), ==, 0);
    answer_for(w, &agent);
    pass(w, 500 * MS);
    g_assert_cmpint(ready_updates(w), ==, 1);
    world_free(w);
}

/* After the answer, once, to all nodes: O set, S not, the guest's MAC. */
static void test_announce(void)
{
    World *w = ready_bound();
    struct in6_addr home = address(HOME);
    uint8_t frame[128];
    PacketNd nd;
    Mip6Mh ba;

    from_guest(w, frame, packet(frame, HOME, FAR, 8));  /* its MAC address */
    advertise(w, HOME_PREFIX, home_router_mac);
    answer_for(w, &w->port.config.agent);
    pass(w, 500 * MS);
    g_assert_cmpint(ready_nd(w, PACKET_ND_NA, &nd), ==, 0);
    ba = ready_ack(w, MIP6_BA_ACCEPTED);
    g_assert_cmpint(answer_at_home(w, &ba), ==, MIP6_DONE);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_cmpint(ready_nd(w, PACKET_ND_NA, &nd), ==, 1);
    g_assert_cmpmem(&nd.src, 16, &home, 16);
    g_assert_cmpmem(&nd.dst, 16, &packet_ip6_all_nodes, 16);
    g_assert_cmpmem(&nd.target, 16, &home, 16);
    g_assert_cmpint(nd.flags, ==, PACKET_NA_OVERRIDE);
    g_assert_cmpmem(nd.tlla, 6, guest_mac, 6);
    world_free(w);
}

/* No answer: repeated with a new sequence, until the binding is over. */
static void test_unanswered(void)
{
    World *w = ready_returning();
    Update first = ready_update_at(w, 0), second;

    pass(w, SECOND);
    second = ready_update_at(w, 1);
    g_assert_cmpint((second.at - first.at) / MS, ==, 1000);
    g_assert_cmpint(second.mh.sequence, ==,
                    (uint16_t)(first.mh.sequence + 1));
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NO_ANSWER);
    pass(w, 60 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    ready_forget(w);
    pass(w, 100 * SECOND);
    g_assert_cmpint(ready_updates(w), ==, 0);
    world_free(w);
}

/* Refusals: of the sequence, of an agent that has none, and any other. */
static void test_refused(void)
{
    World *w = ready_returning();
    Mip6Mh ba = ready_ack(w, MIP6_BA_SEQUENCE);

    ba.sequence += 500;
    answer_at_home(w, &ba);
    pass(w, 500 * MS);
    g_assert_cmpint(ready_update(w).mh.sequence, ==,
                    (uint16_t)(ba.sequence + 1));
    g_assert_cmpint(ready_update(w).mh.lifetime, ==, 0);
    ba = ready_ack(w, MIP6_BA_UNSPECIFIED);
    answer_at_home(w, &ba);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_REFUSED);
    pass(w, 33 * SECOND);
    ba = ready_ack(w, MIP6_BA_NOT_HOME_AGENT);
    answer_at_home(w, &ba);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    world_free(w);
}

/* Away again before the answer: registered there. */
static void test_away_again(void)
{
    World *w = ready_returning();

    advertise(w, FOREIGN_2, router_2_mac);
    pass(w, 13 * SECOND);
    advertise(w, FOREIGN_2, router_2_mac);
    ready_forget(w);
    pass(w, 1500 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    g_assert_true(ready_update(w).has_hao);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ready/home/update", test_update);
    g_test_add_func("/mip6/ready/home/neighbours", test_neighbours);
    g_test_add_func("/mip6/ready/home/announce", test_announce);
    g_test_add_func("/mip6/ready/home/unanswered", test_unanswered);
    g_test_add_func("/mip6/ready/home/refused", test_refused);
    g_test_add_func("/mip6/ready/home/away-again", test_away_again);
    return g_test_run();
}
