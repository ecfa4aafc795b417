/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 Ready, mobile node: home agent address discovery (section 11.4.1) */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "tests/fixtures/mip6-ready.h"

#define FIRST   "2001:db8:2000::a1"
#define OTHER "2001:db8:2000::a2"
#define ANYCAST "2001:db8:2000:0:fdff:ffff:ffff:fffe"

/* A node without an agent, that runs on a link of which it knows nothing. */
static World *begin(bool deaf)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);

    w->deaf = deaf;
    w->alive = true;
    world_discover(w, true);
    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    return w;
}

/* On a foreign link, without an answer yet. */
static World *asking(void)
{
    World *w = begin(true);

    advertise(w, FOREIGN, router_mac);
    pass(w, 1100 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_DISCOVERING);
    return w;
}

/* Requests in the log, the last with its packet's header. */
static unsigned requests(const World *w, Mip6Icmp *m, PacketIp6 *ip)
{
    unsigned found = 0;

    g_assert_cmpint(w->logged, <=, WORLD_LOG);
    for (unsigned i = 0; i < w->logged; i++) {
        const uint8_t *packet = w->log[i].buf + PACKET_ETH_LEN;
        size_t len = w->log[i].len - PACKET_ETH_LEN;
        PacketIp6 one;
        Mip6Icmp icmp;

        if (packet_ip6_parse(&one, packet, len) &&
            one.next == PACKET_PROTO_ICMP6 &&
            mip6_icmp_parse(&icmp, &one.src, &one.dst, packet + PACKET_IP6_LEN,
                            one.payload) &&
            icmp.type == MIP6_ICMP_AGENT_REQUEST) {
            found++;
            *m = icmp;
            *ip = one;
        }
    }
    return found;
}

static unsigned count(const World *w)
{
    PacketIp6 ip;
    Mip6Icmp m;

    return requests(w, &m, &ip);
}

/*
 * A reply to the last request. @list: addresses, and NULL at the end; @off is
 * added to its identifier, and @cut taken from its end.
 */
static void reply_as(World *w, const char *const *list, unsigned off,
                     size_t cut)
{
    Mip6Icmp m = { .type = MIP6_ICMP_AGENT_REPLY }, asked;
    PacketIp6 ip = { .next = PACKET_PROTO_ICMP6, .hops = 64 }, last;
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + MIP6_ICMP_MAX];

    g_assert_cmpint(requests(w, &asked, &last), >, 0);
    m.id = asked.id + off;
    for (; *list; list++) {
        m.agent[m.agents++] = address(*list);
    }
    ip.src = address(FIRST);
    ip.dst = last.src;
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    ip.payload = mip6_icmp_build(frame + PACKET_ETH_LEN + PACKET_IP6_LEN,
                                 &ip.src, &ip.dst, &m) - cut;
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    if (cut) {
        packet_icmp6_seal(frame + PACKET_ETH_LEN,
                          PACKET_IP6_LEN + ip.payload);
    }
    from_link(w, frame, PACKET_ETH_LEN + PACKET_IP6_LEN + ip.payload);
}

static void reply(World *w, const char *const *list)
{
    reply_as(w, list, 0, 0);
}

static const char *const one[] = { FIRST, NULL };
static const char *const second[] = { OTHER, NULL };
static const char *const two[] = { FIRST, OTHER, NULL };

/* The agent @from answers the last update. */
static void acknowledge(World *w, const char *from, uint8_t status)
{
    Mip6Mh ba = ready_ack(w, status);
    struct in6_addr home = address(HOME);

    ready_give_mh(w, from, &w->port.binding[0].care_of, &home, &home, &ba);
}

static void expect_update_to(const World *w, const char *agent)
{
    struct in6_addr addr = address(agent);
    Update u = ready_update(w);

    g_assert_true(packet_ip6_equal(&u.ip.dst, &addr));
}

/* Registered with the first of two. */
static World *bound(void)
{
    World *w = asking();

    reply(w, two);
    acknowledge(w, FIRST, MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    pass(w, SECOND);
    ready_forget(w);
    return w;
}

/* Is the last request from an address of @prefix? */
static bool asks_from(const World *w, const char *prefix)
{
    struct in6_addr addr = address(prefix);
    PacketIp6 ip;
    Mip6Icmp m;

    return requests(w, &m, &ip) && packet_ip6_in_prefix(&ip.src, &addr, 64);
}

/* The first address leads nowhere: the other one asks, and they take turns. */
static void test_other_address(void)
{
    World *w = asking();

    ready_advertise(w, router_mac, 9000, FOREIGN_2, 7200, 3600);
    pass(w, 5 * SECOND);
    g_assert_true(asks_from(w, FOREIGN));
    pass(w, 10 * SECOND);
    g_assert_true(asks_from(w, FOREIGN_2));
    reply(w, one);
    acknowledge(w, FIRST, MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    /* Later it is this one. The agent that has the binding is kept. */
    ready_forget(w);
    mip6_binding_refresh(&w->port.binding[0], w->now);
    pass(w, 6 * SECOND);
    g_assert_true(ready_care_of_in(w, FOREIGN));
    expect_update_to(w, FIRST);
    world_free(w);
}

static void test_turns(void)
{
    World *w = asking();
    bool was_second = false;
    unsigned turns = 0;

    ready_advertise(w, router_mac, 9000, FOREIGN_2, 7200, 3600);
    for (unsigned i = 0; i < 600; i++) {
        bool is_second;

        ready_forget(w);
        pass(w, SECOND);
        if (count(w)) {
            is_second = asks_from(w, FOREIGN_2);
            turns += is_second != was_second;
            was_second = is_second;
        }
    }
    g_assert_cmpint(turns, >=, 5);
    g_assert_cmpint(turns, <=, 20);
    world_free(w);
}

/* With vmmnet-ha's own answers: found, and registered. */
static void test_found(void)
{
    struct in6_addr anycast = address(ANYCAST), agent = address(AGENT);
    World *w = begin(false);
    uint8_t frame[256];
    PacketIp6 ip;
    Mip6Icmp m;

    advertise(w, FOREIGN, router_mac);
    g_assert_cmpint(count(w), ==, 0);           /* no care-of address yet */
    pass(w, 1100 * MS);
    g_assert_cmpint(requests(w, &m, &ip), ==, 1);
    g_assert_true(packet_ip6_equal(&ip.dst, &anycast));
    g_assert_true(packet_ip6_equal(&ip.src, &w->port.binding[0].care_of));
    pass(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    expect_update_to(w, AGENT);
    from_guest(w, frame, packet(frame, HOME, FAR, 100));
    g_assert_cmpint(w->port.sent, ==, 1);
    g_assert_cmpmem(w->link.buf + PACKET_ETH_LEN + 24, 16, &agent, 16);
    pass(w, 100 * SECOND);
    g_assert_cmpint(count(w), ==, 1);
    world_free(w);
}

/*
 * Without an answer: requests are repeated, the state is reported, and the
 * guest's frames wait.
 */
static void test_unanswered(void)
{
    World *w = asking();
    uint8_t frame[256];
    size_t len = packet(frame, HOME, FAR, 100);

    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NONE);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_HELD);
    pass(w, 3 * SECOND);
    g_assert_cmpint(count(w), ==, 2);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_DISCOVERING);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NO_ANSWER);
    pass(w, 42 * SECOND);
    g_assert_cmpint(count(w), ==, 5);
    g_assert_cmpint(ready_updates(w), ==, 0);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNBOUND], ==, 1);
    reply(w, one);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    expect_update_to(w, FIRST);
    acknowledge(w, FIRST, MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/*
 * On another link it sends a new request, and ignores answers to the old one.
 */
static void test_moves(void)
{
    World *w = asking();
    struct in6_addr before = w->port.binding[0].care_of;
    PacketIp6 ip;
    Mip6Icmp m;

    w->alive = false;
    ready_advertise(w, router_2_mac, 1800, FOREIGN_2, 7200, 3600);
    pass(w, 10 * SECOND);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    g_assert_cmpint(requests(w, &m, &ip), >, 1);
    g_assert_false(packet_ip6_equal(&ip.src, &before));
    g_assert_true(packet_ip6_equal(&ip.src, &w->port.binding[0].care_of));
    world_free(w);
}

/* Invalid replies change nothing, and are counted. */
static void test_hostile(void)
{
    static const char *const nobody[] = {
        HOME, "2001:db8:2000::", ANYCAST, "2001:db8:3000::1", "::", NULL
    };
    World *w = asking();
    uint8_t frame[256];

    reply_as(w, one, 1, 0);
    reply(w, nobody);
    reply(w, nobody + 5);               /* an empty list */
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 3);
    reply_as(w, two, 0, 5);
    reply_as(w, two, 0, 32 + 4);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MALFORMED], ==, 2);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_DISCOVERING);
    /* Without an agent, no source counts as the agent. */
    from_link(w, frame, to_care_of(w, frame, ANYCAST, PACKET_PROTO_IP6, 40));
    from_link(w, frame, to_care_of(w, frame, "::", PACKET_PROTO_IP6, 40));
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 2);
    reply(w, one);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    reply(w, two);                      /* once */
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 4);
    world_free(w);
}

/* The first refuses: the second one is used, and the first is ignored. */
static void test_refused(void)
{
    World *w = asking();
    uint8_t frame[256];

    reply(w, two);
    expect_update_to(w, FIRST);
    acknowledge(w, FIRST, MIP6_BA_RESOURCES);
    pass(w, 400 * MS);                  /* the rate of updates */
    g_assert_cmpint(ready_updates(w), ==, 2);
    expect_update_to(w, OTHER);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NEXT_AGENT);
    acknowledge(w, FIRST, MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 1);
    acknowledge(w, OTHER, MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    from_link(w, frame, to_care_of(w, frame, FIRST, PACKET_PROTO_IP6, 40));
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 2);
    g_assert_cmpint(count(w), ==, 1);
    world_free(w);
}

/* A VM that is paused sends no update; the agent found meanwhile gets it. */
static void test_paused(void)
{
    World *w = asking();
    unsigned updates;

    reply(w, one);
    acknowledge(w, FIRST, MIP6_BA_RESOURCES);
    pass(w, 33 * SECOND);
    g_assert_cmpint(count(w), ==, 2);
    updates = ready_updates(w);
    mip6_port_pause(&w->port);
    reply(w, second);
    pass(w, 10 * SECOND);
    g_assert_cmpint(ready_updates(w), ==, updates);
    mip6_port_run(&w->port, w->now);
    pass(w, SECOND);
    g_assert_cmpint(ready_updates(w), ==, updates + 1);
    expect_update_to(w, OTHER);
    world_free(w);
}

/*
 * The first does not answer: the second one gets the update before frames are
 * dropped.
 */
static void test_silent(void)
{
    static const char *const list[] = { FIRST, AGENT, NULL };
    World *w = asking();
    uint8_t frame[256];

    reply(w, list);
    w->deaf = false;                    /* AGENT answers */
    g_assert_cmpint(from_guest(w, frame, packet(frame, HOME, FAR, 100)), ==,
                    MIP6_HELD);
    pass(w, 4 * SECOND);
    g_assert_cmpint(ready_updates(w), ==, 2);
    expect_update_to(w, FIRST);
    pass(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    expect_update_to(w, AGENT);
    g_assert_cmpint(from_guest(w, frame, packet(frame, HOME, FAR, 100)), ==,
                    MIP6_DONE);
    g_assert_cmpint(w->port.sent, ==, 1);
    world_free(w);
}

/* The last one refuses, too: discovery starts again, but not too often. */
static void test_all_refuse(void)
{
    static const char *const other[] = { "2001:db8:2000::a3", NULL };
    World *w = asking();
    int64_t replied = w->now;

    reply(w, two);
    acknowledge(w, FIRST, MIP6_BA_PROHIBITED);
    pass(w, 400 * MS);
    acknowledge(w, OTHER, MIP6_BA_PROHIBITED);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_REFUSED);
    pass(w, 31 * SECOND);
    g_assert_cmpint(count(w), ==, 1);
    pass(w, replied + 33 * SECOND - w->now);
    g_assert_cmpint(count(w), ==, 2);
    reply(w, other);
    pass(w, 400 * MS);
    expect_update_to(w, other[0]);
    acknowledge(w, other[0], MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* An agent with the binding is kept until its end, and tried first. */
static void test_kept(void)
{
    World *w = bound();

    w->alive = false;
    ready_advertise(w, router_2_mac, 1800, FOREIGN_2, 7200, 3600);
    while (!ready_care_of_in(w, FOREIGN_2)) {
        pass(w, 100 * MS);
    }
    g_assert_cmpint(count(w), ==, 0);
    g_assert_cmpint(ready_updates(w), >, 0);
    expect_update_to(w, FIRST);
    world_free(w);

    w = bound();
    pass(w, 57 * SECOND);               /* refreshing, in vain */
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(ready_updates(w), >, 2);
    expect_update_to(w, FIRST);
    pass(w, 5 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    expect_update_to(w, OTHER);
    world_free(w);
}

/* The agent in use migrates with the VM, which needs no discovery. */
static void test_migration(void)
{
    World *w = bound(), *other = world_new(MIP6_LOCATION_AUTO, true);
    uint8_t buf[MIP6_PORT_SAVED_MAX];
    size_t len;

    mip6_port_pause(&w->port);
    len = mip6_port_save(&w->port, w->now, buf);
    other->deaf = other->alive = true;
    world_discover(other, true);
    mip6_port_start(&other->port, other->now);
    g_assert_true(mip6_port_load(&other->port, other->now, buf, len));
    mip6_port_run(&other->port, other->now);
    advertise(other, FOREIGN_2, router_mac);
    pass(other, 1100 * MS);
    g_assert_cmpint(count(other), ==, 0);
    expect_update_to(other, FIRST);
    world_free(w);
    world_free(other);
}

/*
 * The destination starts discovery before the VM arrives, if it knows no agent.
 */
static void test_ahead(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    PacketIp6 ip;
    Mip6Icmp m;

    w->alive = true;
    world_discover(w, true);
    mip6_port_start(&w->port, w->now);
    advertise(w, FOREIGN, router_mac);
    pass(w, 2 * SECOND);
    g_assert_cmpint(requests(w, &m, &ip), ==, 1);
    g_assert_cmpint(w->port.dhaad.agents, ==, 1);
    g_assert_cmpint(ready_updates(w), ==, 0);
    ready_forget(w);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(count(w), ==, 0);
    world_free(w);
}

/* An invalid state of a VM: refused, and nothing is changed. */
static void test_damaged(void)
{
    World *w = bound(), *other = world_new(MIP6_LOCATION_AUTO, true);
    static const char *const agents[] = { "::", HOME, "2001:db8:3000::1" };

    world_discover(other, true);
    for (unsigned i = 0; i < G_N_ELEMENTS(agents); i++) {
        uint8_t buf[MIP6_PORT_SAVED_MAX];
        size_t len;

        w->port.dhaad.agent[0] = address(agents[i]);
        len = mip6_port_save(&w->port, w->now, buf);
        g_assert_false(mip6_port_load(&other->port, other->now, buf, len));
        g_assert_cmpint(other->port.dhaad.agents, ==, 0);
    }
    world_free(w);
    world_free(other);
}

/* Section 7: the home link's router advertises that it is an agent. */
static void test_heard_at_home(void)
{
    PacketNdRa ra = {
        .hop_limit = 64, .lifetime = 1800, .home_agent = true, .prefixes = 1,
        .prefix[0] = { address(FIRST), 64, true, true, true, 7200, 3600 },
    };
    World *w = begin(true);

    advertise_ra(w, &ra, home_router_mac);
    g_assert_cmpint(w->port.place, ==, MIP6_PLACE_HOME);
    advertise_ra(w, &ra, home_router_mac);
    pass(w, SECOND);
    advertise(w, FOREIGN, router_mac);
    pass(w, 13 * SECOND);
    g_assert_true(mip6_port_is_away(&w->port));
    ready_forget(w);
    advertise(w, FOREIGN, router_mac);
    pass(w, 2 * SECOND);
    g_assert_cmpint(ready_updates(w), >, 0);
    expect_update_to(w, FIRST);
    g_assert_cmpint(count(w), ==, 0);
    /* It does not answer: then the agents are asked. */
    pass(w, 5 * SECOND);
    g_assert_cmpint(count(w), >, 0);
    world_free(w);
}

/* Back at home, and no agent is known: there is nothing to end. */
static void test_home(void)
{
    World *w = asking();

    advertise(w, HOME_PREFIX, home_router_mac);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    ready_forget(w);
    pass(w, 100 * SECOND);
    g_assert_cmpint(count(w) + ready_updates(w), ==, 0);
    world_free(w);

    /* With a binding, the agent in use gets the final update. */
    w = bound();
    advertise(w, HOME_PREFIX, home_router_mac);
    answer_for(w, &w->port.dhaad.agent[0]);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    pass(w, 500 * MS);
    expect_update_to(w, FIRST);
    g_assert_cmpint(ready_update(w).mh.lifetime, ==, 0);
    pass(w, 50 * SECOND);
    expect_update_to(w, FIRST);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ready/discovery/found", test_found);
    g_test_add_func("/mip6/ready/discovery/unanswered", test_unanswered);
    g_test_add_func("/mip6/ready/discovery/other-address", test_other_address);
    g_test_add_func("/mip6/ready/discovery/turns", test_turns);
    g_test_add_func("/mip6/ready/discovery/moves", test_moves);
    g_test_add_func("/mip6/ready/discovery/hostile", test_hostile);
    g_test_add_func("/mip6/ready/discovery/refused", test_refused);
    g_test_add_func("/mip6/ready/discovery/paused", test_paused);
    g_test_add_func("/mip6/ready/discovery/silent", test_silent);
    g_test_add_func("/mip6/ready/discovery/all-refuse", test_all_refuse);
    g_test_add_func("/mip6/ready/discovery/kept", test_kept);
    g_test_add_func("/mip6/ready/discovery/migration", test_migration);
    g_test_add_func("/mip6/ready/discovery/ahead", test_ahead);
    g_test_add_func("/mip6/ready/discovery/damaged", test_damaged);
    g_test_add_func("/mip6/ready/discovery/heard-at-home", test_heard_at_home);
    g_test_add_func("/mip6/ready/discovery/home", test_home);
    return g_test_run();
}
