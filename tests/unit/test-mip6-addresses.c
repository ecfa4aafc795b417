/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VM with several home addresses: a binding for each */
#include <glib.h>
#include <string.h>

#include "tests/fixtures/mip6-world.h"

#define SECOND_HOME     "2001:db8:2000::11"
#define THIRD_HOME      "2001:db8:2000::12"
#define HEARD           "2001:db8:2000::abcd"

/* An arriving VM, with HOME and @more further addresses. */
static World *world_of(unsigned more, bool heard_addresses)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    Mip6PortConfig config = w->port.config;

    config.heard_addresses = heard_addresses;
    config.home.more = more;
    for (unsigned i = 0; i < more; i++) {
        config.home.more_address[i] = address(HOME);
        config.home.more_address[i].s6_addr[15] += 1 + i;
    }
    mip6_port_init(&w->port, &config, w->port.ops, w, true);
    return w;
}

static void leave_home(World *w)
{
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    mip6_port_run(&w->port, w->now);
    deliver(w);
}

static World *away_with(unsigned more)
{
    World *w = world_of(more, false);

    leave_home(w);
    pass(w, 3 * SECOND);
    for (unsigned i = 0; i <= more; i++) {
        g_assert_cmpint(w->port.binding[i].state, ==, MIP6_BOUND);
    }
    return w;
}

static void allow_only(World *w, const struct in6_addr *home)
{
    w->agent.config.allowed = g_hash_table_new(mip6_addr_hash,
                                               mip6_addr_equal);
    g_hash_table_add(w->agent.config.allowed, (void *)home);
}

static Mip6Verdict send_from(World *w, const char *src)
{
    uint8_t frame[256];
    Mip6Verdict verdict = from_guest(w, frame, packet(frame, src, FAR, 8));

    w->queued = 0;
    return verdict;
}

/* The agent sends @mh to the care-of address, for @home. */
static void give(World *w, const char *home, const Mip6Mh *mh)
{
    struct in6_addr agent = address(AGENT), to = address(home);
    uint8_t frame[256], mh_buf[128], rh[MIP6_RH2_LEN];
    size_t rh_len = mip6_rh2_build(rh, PACKET_PROTO_MH, &to);
    size_t len = mip6_mh_build(mh_buf, sizeof(mh_buf), &agent, &to, mh);

    to_care_of(w, frame, AGENT, PACKET_PROTO_ROUTING, rh_len + len);
    memcpy(frame + 54, rh, rh_len);
    memcpy(frame + 54 + rh_len, mh_buf, len);
    from_link(w, frame, 54 + rh_len + len);
}

/* The guest probes @addr. */
static void probe(World *w, const char *text)
{
    struct in6_addr addr = address(text), group = packet_ip6_solicited(&addr);
    uint8_t frame[128];
    size_t len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &in6addr_any,
                                    &group, &addr, NULL);

    packet_eth_group6(frame, &group);
    packet_eth_build(frame, (uint8_t[]) { 0x33, 0x33, 0xff, 0, 0, 1 },
                     guest_mac, PACKET_ETH_IP6);
    from_guest(w, frame, PACKET_ETH_LEN + len);
}

/* Binding Updates from log entry @from on. */
static unsigned updates(const World *w, unsigned from)
{
    unsigned n = 0;

    for (unsigned i = from; i < w->logged; i++) {
        const uint8_t *packet = w->log[i % WORLD_LOG].buf + PACKET_ETH_LEN;

        n += packet[6] == PACKET_PROTO_DSTOPTS &&
             packet[PACKET_IP6_LEN] == PACKET_PROTO_MH;
    }
    return n;
}

static void test_bound(void)
{
    World *w = away_with(2);
    const char *homes[] = { HOME, SECOND_HOME, THIRD_HOME };
    uint8_t frame[256], inner[256];

    for (unsigned i = 0; i < G_N_ELEMENTS(homes); i++) {
        struct in6_addr home = address(homes[i]);
        const Mip6AgentBinding *b = mip6_agent_binding(&w->agent, &home);
        uint64_t received, sent;
        size_t len;

        g_assert_nonnull(b);
        g_assert_cmpmem(&b->care_of, 16, &w->port.binding[0].care_of, 16);
        received = b->received;         /* a probe of the node */
        g_assert_cmpint(send_from(w, homes[i]), ==, MIP6_DONE);
        g_assert_cmpint(b->received, ==, received + 1);
        len = packet(inner, FAR, homes[i], 8) - PACKET_ETH_LEN;
        sent = b->sent;
        mip6_agent_packet(&w->agent, w->now, inner + PACKET_ETH_LEN, len);
        g_assert_cmpint(b->sent, ==, sent + 1);
        w->to_guest = 0;
        deliver(w);
        g_assert_cmpint(w->to_guest, ==, 1);
        g_assert_cmpmem(w->guest.buf + PACKET_ETH_LEN + 24, 16, &home, 16);
    }
    send_from(w, HEARD);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_FOREIGN_SOURCE], ==, 1);
    /* A packet for another address is not decapsulated, either. */
    w->to_guest = 0;
    packet(inner, FAR, HEARD, 8);
    to_care_of(w, frame, AGENT, PACKET_PROTO_IP6, 48);
    memcpy(frame + 54, inner + PACKET_ETH_LEN, 48);
    from_link(w, frame, 54 + 48);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 1);
    g_assert_cmpint(w->to_guest, ==, 0);
    world_free(w);
}

/* Section 11.8: three updates a second, for all addresses together. */
static void test_rate(void)
{
    World *w = world_of(MIP6_HOME_ADDRESSES - 1, false);
    unsigned begin;

    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    hear_router(w);
    begin = w->logged;
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(w->logged, ==, begin + 3);
    deliver(w);
    g_assert_cmpint(w->port.binding[2].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.binding[3].state, ==, MIP6_REGISTERING);
    pass(w, 3 * SECOND - 1);
    g_assert_cmpint(w->logged, ==, begin + MIP6_HOME_ADDRESSES);
    for (unsigned i = 0; i < MIP6_HOME_ADDRESSES; i++) {
        g_assert_cmpint(w->port.binding[i].state, ==, MIP6_BOUND);
        g_assert_cmpint(w->port.binding[i].sequence, ==, 1001);
        if (i >= 3) {
            g_assert_cmpint(w->log_at[(begin + i) % WORLD_LOG], >=,
                            w->log_at[(begin + i - 3) % WORLD_LOG] +
                            SECOND - 3);
        }
    }
    /* Each is refreshed in time, and none expires. */
    for (unsigned i = 0; i < 600; i++) {
        pass(w, SECOND);
        for (unsigned j = 0; j < MIP6_HOME_ADDRESSES; j++) {
            g_assert_cmpint(w->port.binding[j].state, ==, MIP6_BOUND);
        }
    }
    world_free(w);
}

/* A silent agent gets no more than this from all of them, either. */
static void test_rate_unanswered(void)
{
    World *w = world_of(MIP6_HOME_ADDRESSES - 1, false);
    struct in6_addr router = packet_ip6_link_local(router_mac);
    unsigned begin, sent = 0;

    w->deaf = true;
    leave_home(w);
    for (unsigned i = 0; i < 120; i++) {
        answer_for(w, &router);
        begin = w->logged;
        pass(w, SECOND - 3);
        g_assert_cmpint(updates(w, begin), <=, 3);
        sent += updates(w, begin);
    }
    /* Each waits for 1.5 s, 3 s, … 32 s. */
    g_assert_cmpint(sent, >=, 5 * MIP6_HOME_ADDRESSES);
    g_assert_cmpint(sent, <=, 8 * MIP6_HOME_ADDRESSES);
    world_free(w);
}

/* An address that the agent refuses does not affect the others. */
static void test_refused(void)
{
    World *w = world_of(1, false);
    struct in6_addr home = address(HOME);
    unsigned begin, changes;

    allow_only(w, &home);
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    hear_router(w);
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(send_from(w, HOME), ==, MIP6_HELD);
    changes = w->changes;
    w->queued = 0;              /* those answers are lost */
    pass(w, 2 * SECOND);
    g_assert_cmpint(w->changes, >, changes);    /* what is held is offered */
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_REGISTERING);
    g_assert_cmpint(w->port.binding[1].why, ==, MIP6_WHY_REFUSED);
    g_assert_cmpint(w->port.binding[1].status, ==, MIP6_BA_PROHIBITED);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NONE);
    g_assert_cmpint(send_from(w, SECOND_HOME), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNBOUND], ==, 1);
    g_assert_cmpint(send_from(w, HOME), ==, MIP6_DONE);
    g_assert_cmpint(w->port.sent, ==, 1);
    /* It is registered again, with long intervals. */
    begin = w->logged;
    pass(w, 31 * SECOND);
    g_assert_cmpint(updates(w, begin), ==, 0);  /* HOME's tunnel works */
    g_hash_table_destroy(w->agent.config.allowed);
    w->agent.config.allowed = NULL;
    pass(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_BOUND);
    g_assert_cmpint(send_from(w, SECOND_HOME), ==, MIP6_DONE);
    g_assert_cmpint(w->port.sent, ==, 2);
    world_free(w);
}

/* Nor an address without an answer: soon it does not delay the others. */
static void test_unanswered(void)
{
    World *w = world_of(1, false);
    Mip6Mh ba = { .type = MIP6_MH_BA, .lifetime = 15 };
    unsigned changes;

    w->deaf = true;
    leave_home(w);
    ba.sequence = w->port.binding[0].sequence;
    give(w, HOME, &ba);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_REGISTERING);
    g_assert_cmpint(send_from(w, HOME), ==, MIP6_DONE);
    g_assert_cmpint(send_from(w, SECOND_HOME), ==, MIP6_HELD);
    changes = w->changes;
    pass(w, 3 * SECOND);
    g_assert_cmpint(w->changes, >, changes);
    g_assert_cmpint(send_from(w, SECOND_HOME), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNBOUND], ==, 1);
    world_free(w);
}

/* The agent's messages apply to the home address in them. */
static void test_messages(void)
{
    World *w = away_with(1);
    Mip6Binding *first = &w->port.binding[0], *second = &w->port.binding[1];
    Mip6Mh ba = { .type = MIP6_MH_BA, .lifetime = 15 };
    Mip6Mh brr = { .type = MIP6_MH_BRR };
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING,
                  .home = address(SECOND_HOME) };

    w->deaf = true;
    give(w, SECOND_HOME, &brr);
    g_assert_cmpint(first->sequence, ==, 1001);
    g_assert_cmpint(second->sequence, ==, 1002);
    /* The answer to the other address's update does not count for this one. */
    ba.sequence = 1002;
    give(w, HOME, &ba);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 1);
    g_assert_cmpint(second->tries, ==, 1);
    give(w, SECOND_HOME, &ba);
    g_assert_cmpint(second->tries, ==, 0);
    give(w, HEARD, &ba);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 1);
    pass(w, SECOND);
    give(w, SECOND_HOME, &be);
    g_assert_cmpint(first->state, ==, MIP6_BOUND);
    g_assert_cmpint(second->state, ==, MIP6_REGISTERING);
    g_assert_cmpint(second->sequence, ==, 1003);
    ba.sequence = 1003;
    give(w, SECOND_HOME, &ba);
    g_assert_cmpint(second->state, ==, MIP6_BOUND);
    /* A message without an address is about the agent. */
    be.status = MIP6_BE_UNKNOWN_MH;
    be.home = in6addr_any;
    give(w, SECOND_HOME, &be);
    g_assert_cmpint(first->why, ==, MIP6_WHY_ERROR);
    g_assert_cmpint(second->why, ==, MIP6_WHY_ERROR);
    world_free(w);
}

/* An ICMPv6 error is about the binding whose update it quotes. */
static void test_icmp(void)
{
    World *w = away_with(1);
    uint8_t update[256];
    size_t len;

    w->deaf = true;
    mip6_binding_refresh(&w->port.binding[0], w->now);
    mip6_binding_refresh(&w->port.binding[1], w->now);
    pass(w, SECOND / 2);
    len = w->link.len - PACKET_ETH_LEN;
    memcpy(update, w->link.buf + PACKET_ETH_LEN, len);
    g_assert_cmpint(update[6], ==, PACKET_PROTO_DSTOPTS);
    give_error(w, PACKET_ICMP6_PARAMETER, 1, 64, update, 56);   /* cut */
    g_assert_cmpint(w->port.binding[1].why, !=, MIP6_WHY_UNSUPPORTED);
    give_error(w, PACKET_ICMP6_PARAMETER, 1, 64, update, len);
    g_assert_cmpint(w->port.binding[0].why, !=, MIP6_WHY_UNSUPPORTED);
    g_assert_cmpint(w->port.binding[1].why, ==, MIP6_WHY_UNSUPPORTED);
    world_free(w);
}

/* The last message with the guest's address as source. */
static PacketNd last_on_home(const World *w)
{
    unsigned i = w->logged;
    PacketNd nd;
    const Frame *f;

    do {
        g_assert_cmpint(i, >, 0);
        f = &w->log[--i % WORLD_LOG];
    } while (memcmp(f->buf + 6, guest_mac, 6));
    g_assert_true(packet_nd_parse(&nd, f->buf + PACKET_ETH_LEN,
                                  f->len - PACKET_ETH_LEN));
    return nd;
}

/* Back at home each binding ends, and then its address is announced. */
static void test_return(void)
{
    World *w = away_with(2);
    struct in6_addr second = address(SECOND_HOME), home = address(HOME);
    struct in6_addr third = address(THIRD_HOME);
    PacketNd nd;

    allow_only(w, &home);
    send_from(w, HOME);         /* tells its MAC address */
    advertise(w, "2001:db8:2000::", home_router_mac);
    g_assert_false(mip6_port_passes(&w->port, false, guest_mac));
    w->on_home = 0;
    answer_for(w, &w->port.config.agent);
    g_assert_cmpint(w->queued, ==, 3);
    g_assert_cmpint(w->on_home, ==, 0);
    w->from_agent_len[1] = 0;   /* one answer is lost */
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_RETURNING);
    g_assert_cmpint(w->port.binding[2].state, ==, MIP6_HOME);
    g_assert_cmpint(w->on_home, ==, 2);
    g_assert_true(packet_nd_parse(&nd, w->link.buf + 14, w->link.len - 14));
    g_assert_cmpmem(&nd.target, 16, &third, 16);
    g_assert_false(mip6_port_passes(&w->port, false, guest_mac));
    pass(w, 2 * SECOND);        /* the agent has no binding */
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_HOME);
    g_assert_cmpint(w->on_home, ==, 3);
    nd = last_on_home(w);
    g_assert_cmpint(nd.type, ==, PACKET_ND_NA);
    g_assert_cmpmem(&nd.target, 16, &second, 16);
    g_assert_true(mip6_port_passes(&w->port, false, guest_mac));
    g_assert_cmpint(g_hash_table_size(w->agent.bindings), ==, 0);
    g_hash_table_destroy(w->agent.config.allowed);
    world_free(w);
}

/* A VM at home whose guest uses HEARD, and its number of bindings away. */
static World *heard(bool registered)
{
    World *w = world_of(0, registered);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise(w, "2001:db8:2000::", home_router_mac);
    probe(w, HEARD);
    probe(w, AGENT);            /* a guest cannot claim another address */
    g_assert_cmpint(w->port.bindings, ==, 1);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 13 * SECOND);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    return w;
}

static void test_heard(void)
{
    World *w = heard(true);
    struct in6_addr addr = address(HEARD);

    g_assert_cmpint(w->port.bindings, ==, 2);
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_BOUND);
    g_assert_nonnull(mip6_agent_binding(&w->agent, &addr));
    send_from(w, HEARD);
    g_assert_cmpint(w->port.sent, ==, 1);
    /* It makes another address during the move, and then many. */
    probe(w, THIRD_HOME);
    deliver(w);
    g_assert_cmpint(w->port.bindings, ==, 3);
    g_assert_cmpint(w->port.binding[2].state, ==, MIP6_BOUND);
    for (unsigned i = 0; i < 200; i++) {
        g_autofree char *text = g_strdup_printf("2001:db8:2000::5:%x", i);

        probe(w, text);
    }
    g_assert_cmpint(w->port.bindings, <=, MIP6_HOME_ADDRESSES);
    pass(w, 10 * SECOND);
    g_assert_cmpint(w->port.binding[w->port.bindings - 1].state, ==,
                    MIP6_BOUND);
    /* At home they need no binding. */
    advertise(w, "2001:db8:2000::", home_router_mac);
    answer_for(w, &w->port.config.agent);
    deliver(w);
    pass(w, 5 * SECOND);
    g_assert_cmpint(g_hash_table_size(w->agent.bindings), ==, 0);
    g_assert_cmpint(w->port.bindings, ==, 1);
    world_free(w);

    w = heard(false);
    g_assert_cmpint(w->port.bindings, ==, 1);
    g_assert_cmpint(send_from(w, HEARD), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNBOUND], ==, 1);
    g_assert_cmpint(w->port.sent, ==, 0);
    world_free(w);
}

static unsigned saved_homes(const uint8_t *saved, size_t len)
{
    struct in6_addr home[MIP6_HOME_ADDRESSES];

    return mip6_port_saved_homes(saved, len, home);
}

static void test_migration(void)
{
    World *w = world_of(1, true), *v = world_of(1, true);
    uint8_t saved[MIP6_PORT_SAVED_MAX];
    struct in6_addr home[MIP6_HOME_ADDRESSES], second = address(SECOND_HOME);
    size_t len;

    leave_home(w);
    probe(w, HEARD);
    deliver(w);
    pass(w, 5 * SECOND);
    mip6_binding_refresh(&w->port.binding[1], w->now);
    deliver(w);
    g_assert_cmpint(w->port.bindings, ==, 3);
    w->port.home.learned.has_ra = true;
    w->port.home.learned.ra.prefixes = PACKET_ND_PREFIX_MAX;
    len = mip6_port_save(&w->port, w->now, saved);
    for (size_t cut = 0; cut < len; cut++) {
        g_assert_false(mip6_port_load(&v->port, v->now, saved, cut));
        g_assert_cmpint(saved_homes(saved, cut), ==, 0);
    }
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    g_assert_cmpint(v->port.bindings, ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        const Mip6Binding *b = &v->port.binding[i];

        g_assert_cmpint(b->sequence, ==, w->port.binding[i].sequence);
        g_assert_cmpint(b->expires, !=, INT64_MAX);
        g_assert_cmpmem(&b->care_of, 16, &w->port.binding[i].care_of, 16);
    }
    world_free(v);
    /* Addresses in another order are the same ones. */
    v = world_of(1, false);
    {
        Mip6PortConfig config = v->port.config;

        config.home.address = second;
        config.home.more_address[0] = address(HOME);
        mip6_port_init(&v->port, &config, v->port.ops, v, true);
    }
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    g_assert_cmpint(v->port.bindings, ==, 2);   /* no learned address */
    g_assert_cmpint(v->port.binding[0].sequence, ==, 1002);
    g_assert_cmpint(v->port.binding[1].sequence, ==, 1001);
    g_assert_cmpmem(&v->port.home.learned.address[0], 16, &second, 16);
    world_free(v);
    /* One more, one less: the error names the addresses of the other side. */
    for (unsigned more = 0; more < 3; more += 2) {
        v = world_of(more, true);
        g_assert_false(mip6_port_load(&v->port, v->now, saved, len));
        g_assert_cmpint(v->port.bindings, ==, 1 + more);
        g_assert_cmpint(v->port.binding[0].sequence, ==, 1000);
        g_assert_cmpint(mip6_port_saved_homes(saved, len, home), ==, 2);
        g_assert_cmpmem(&home[1], 16, &second, 16);
        world_free(v);
    }
    world_free(w);
}

/* The port's deadline is the earliest of all. */
static void test_deadline(void)
{
    World *w = away_with(2);

    for (unsigned i = 0; i < 3; i++) {
        int64_t next = w->port.binding[i].next;

        w->port.binding[i].next = w->now + 1;
        g_assert_cmpint(mip6_port_deadline(&w->port), ==, w->now + 1);
        w->port.binding[i].next = next;
    }
    world_free(w);
}

/* The largest state fits. */
static void test_room(void)
{
    World *w = away_with(MIP6_HOME_ADDRESSES - 1);
    World *v = world_of(MIP6_HOME_ADDRESSES - 1, false);
    uint8_t saved[MIP6_PORT_SAVED_MAX];
    size_t len;

    w->port.home.learned.has_ra = true;
    w->port.home.learned.ra.prefixes = PACKET_ND_PREFIX_MAX;
    len = mip6_port_save(&w->port, w->now, saved);
    g_assert_cmpint(len, >, 0);
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    world_free(v);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/addresses/bound", test_bound);
    g_test_add_func("/mip6/addresses/rate", test_rate);
    g_test_add_func("/mip6/addresses/rate-unanswered", test_rate_unanswered);
    g_test_add_func("/mip6/addresses/refused", test_refused);
    g_test_add_func("/mip6/addresses/unanswered", test_unanswered);
    g_test_add_func("/mip6/addresses/messages", test_messages);
    g_test_add_func("/mip6/addresses/icmp", test_icmp);
    g_test_add_func("/mip6/addresses/return", test_return);
    g_test_add_func("/mip6/addresses/heard", test_heard);
    g_test_add_func("/mip6/addresses/migration", test_migration);
    g_test_add_func("/mip6/addresses/deadline", test_deadline);
    g_test_add_func("/mip6/addresses/room", test_room);
    return g_test_run();
}
