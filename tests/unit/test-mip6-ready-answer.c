/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv6 Ready, mobile node: receiving Binding Acknowledgements, Binding Errors,
 * Binding Refresh Requests and ICMPv6 errors
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-ready.h"
#include "net/packet/sum.h"

/* A first update is out. */
static World *registering(void)
{
    World *w = ready_begin();

    advertise(w, FOREIGN, router_mac);
    pass(w, 1100 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    return w;
}

/* Sections 6.1.8, 11.7.3: below 128 it is accepted. */
static void test_accepted(void)
{
    for (unsigned status = 0; status < 128; status += 1 + status / 2) {
        World *w = registering();
        Mip6Mh ba = ready_ack(w, status);

        from_agent(w, &ba);
        g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
        g_assert_cmpint(w->port.binding[0].status, ==, status);
        g_assert_cmpint(w->port.binding[0].expires, ==,
                        ready_update(w).at + 60 * SECOND);
        world_free(w);
    }
}

/* A refusal: no binding; it is reported, and retried, but slowly. */
static void test_refused(void)
{
    static const uint8_t statuses[] = {
        MIP6_BA_UNSPECIFIED, MIP6_BA_PROHIBITED, MIP6_BA_RESOURCES,
        MIP6_BA_NO_HOME_REGISTRATION, MIP6_BA_NOT_HOME_SUBNET,
        MIP6_BA_NOT_HOME_AGENT, MIP6_BA_DAD_FAILED, MIP6_BA_HOME_NONCE,
        MIP6_BA_CARE_OF_NONCE, MIP6_BA_NONCES, MIP6_BA_TYPE_CHANGE,
        MIP6_BA_INVALID_COA, 200, 255,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++) {
        World *w = registering();
        Mip6Mh ba = ready_ack(w, statuses[i]);

        from_agent(w, &ba);
        g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
        g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_REFUSED);
        g_assert_cmpint(w->port.binding[0].status, ==, statuses[i]);
        ready_forget(w);
        pass(w, 31 * SECOND);
        g_assert_cmpint(ready_updates(w), ==, 0);
        pass(w, 2 * SECOND);
        g_assert_cmpint(ready_updates(w), ==, 1);
        ready_accept(w);
        g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
        world_free(w);
    }
}

/* Status 135: continue from the agent's sequence, at once. */
static void test_sequence(void)
{
    World *w = registering();
    Mip6Mh ba = ready_ack(w, MIP6_BA_SEQUENCE);

    ba.sequence += 1000;
    from_agent(w, &ba);
    pass(w, 400 * MS);
    g_assert_cmpint(ready_update(w).mh.sequence, ==,
                    (uint16_t)(ba.sequence + 1));
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* Answers to other updates are ignored. */
static void test_other_sequence(void)
{
    World *w = registering();
    Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);

    ba.sequence--;
    from_agent(w, &ba);
    ba.sequence += 2;
    from_agent(w, &ba);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 2);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    /* It is repeated as before. */
    ready_forget(w);
    pass(w, 1500 * MS);
    g_assert_cmpint(ready_updates(w), ==, 1);
    ready_accept(w);
    from_agent(w, &ba);         /* and a second one answers nothing */
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 3);
    world_free(w);
}

/* A shorter lifetime is used; a longer one than requested is not. */
static void test_lifetime(void)
{
    World *w = registering();
    Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);
    int64_t sent = ready_update(w).at;

    ba.lifetime = 5;
    from_agent(w, &ba);
    g_assert_cmpint(w->port.binding[0].expires, ==, sent + 20 * SECOND);
    ready_forget(w);
    pass(w, 19 * SECOND);
    g_assert_cmpint(ready_updates(w), >=, 1);
    world_free(w);

    w = registering();
    ba = ready_ack(w, MIP6_BA_ACCEPTED);
    sent = ready_update(w).at;
    ba.lifetime = 1000;
    from_agent(w, &ba);
    g_assert_cmpint(w->port.binding[0].expires, ==, sent + 60 * SECOND);
    world_free(w);
}

/*
 * Section 6.2.4: advice for an earlier refresh is followed, for a later one
 * not.
 */
static void test_refresh_advice(void)
{
    static const struct {
        uint16_t advice;
        int64_t seconds;
    } cases[] = { { 3, 12 }, { 14, 50 }, { 1000, 50 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = registering();
        Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);
        int64_t sent = ready_update(w).at;

        ba.has_refresh = true;
        ba.refresh = cases[i].advice;
        from_agent(w, &ba);
        ready_forget(w);
        pass(w, 51 * SECOND);
        g_assert_cmpint(ready_update_at(w, 0).at - sent, ==,
                        cases[i].seconds * SECOND);
        world_free(w);
    }
}

/* A Binding Acknowledgement that is built by hand: @options behind it. */
static void give_options(World *w, const uint8_t *options, size_t len)
{
    struct in6_addr agent = address(AGENT), home = address(HOME);
    Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);
    uint8_t frame[256], *at = frame + 54, *mh = at + MIP6_RH2_LEN;
    PacketIp6 ip = {
        .src = agent, .dst = w->port.binding[0].care_of,
        .next = PACKET_PROTO_ROUTING, .hops = 64,
    };
    uint32_t sum;

    mip6_rh2_build(at, PACKET_PROTO_MH, &home);
    mip6_mh_build(mh, 128, &agent, &home, &ba);
    memcpy(mh + 12, options, len);
    mh[1] = (12 + len) / 8 - 1;
    put_be16(mh + 4, 0);
    sum = packet_sum_pseudo6(&agent, &home, PACKET_PROTO_MH, 12 + len);
    put_be16(mh + 4, packet_sum_fold(packet_sum_add(sum, mh, 12 + len)));
    ip.payload = MIP6_RH2_LEN + 12 + len;
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    from_link(w, frame, 54 + ip.payload);
}

/*
 * Section 6.2: unknown options are skipped, truncated ones make the message
 * invalid.
 */
static void test_options(void)
{
    const uint8_t unknown[] = { 77, 6, 1, 2, 3, 4, 5, 6, 0, 0, 1, 0 };
    const uint8_t cut[] = { 77, 20, 1, 2, 3, 4, 5, 6, 0, 0, 1, 0 };
    World *w = registering();

    give_options(w, cut, sizeof(cut));
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_MALFORMED], ==, 1);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    give_options(w, unknown, sizeof(unknown));
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* Wrong routing header, none, wrong checksum, wrong sender. */
static void test_unfit(void)
{
    World *w = registering();
    struct in6_addr home = address(HOME), far = address(FAR);
    const struct in6_addr care_of = w->port.binding[0].care_of;
    Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);
    uint64_t *dropped = w->port.dropped;

    ready_give_mh(w, AGENT, &care_of, &far, &far, &ba);
    g_assert_cmpint(dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 1);
    ready_give_mh(w, AGENT, &care_of, NULL, &care_of, &ba);
    g_assert_cmpint(dropped[MIP6_DROP_MH_UNEXPECTED], ==, 1);
    ready_give_mh(w, AGENT, &care_of, &home, &care_of, &ba);
    g_assert_cmpint(dropped[MIP6_DROP_MH_CHECKSUM], ==, 1);
    ready_give_mh(w, FAR, &care_of, &home, &home, &ba);
    g_assert_cmpint(dropped[MIP6_DROP_STRANGER], ==, 1);
    ready_give_mh(w, AGENT, &far, &home, &home, &ba);
    g_assert_cmpint(dropped[MIP6_DROP_NOT_FOR_US], ==, 1);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    ready_give_mh(w, AGENT, &care_of, &home, &home, &ba);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* A lifetime of 0 away from home: there is no binding. */
static void test_no_lifetime(void)
{
    World *w = registering();
    Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);

    ba.lifetime = 0;
    from_agent(w, &ba);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    g_assert_cmpint(w->port.binding[0].expires, ==, INT64_MAX);
    world_free(w);
}

/* Sections 9.3.3, 11.3.6: status 1 registers anew, others are shown. */
static void test_binding_error(void)
{
    struct in6_addr home = address(HOME);
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING,
                  .home = home };
    World *w = ready_bound();

    ready_give_mh(w, AGENT, &w->port.binding[0].care_of, &home, &home, &be);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    g_assert_cmpint(ready_updates(w), ==, 1);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    ready_forget(w);
    be.status = MIP6_BE_UNKNOWN_MH;
    ready_give_mh(w, AGENT, &w->port.binding[0].care_of, &home, &home, &be);
    be.status = 99;
    ready_give_mh(w, AGENT, &w->port.binding[0].care_of, &home, &home, &be);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_ERROR);
    g_assert_cmpint(ready_updates(w), ==, 0);
    world_free(w);
}

/* Section 11.7.4: a request causes a new registration, but not two at once. */
static void test_refresh_request(void)
{
    struct in6_addr home = address(HOME);
    Mip6Mh brr = { .type = MIP6_MH_BRR };
    World *w = ready_bound();

    for (unsigned i = 0; i < 5; i++) {
        ready_give_mh(w, AGENT, &w->port.binding[0].care_of, &home, &home,
                      &brr);
    }
    g_assert_cmpint(ready_updates(w), ==, 1);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);

    w = registering();          /* there is nothing to refresh */
    ready_forget(w);
    ready_give_mh(w, AGENT, &w->port.binding[0].care_of, &home, &home, &brr);
    g_assert_cmpint(ready_updates(w), ==, 0);
    world_free(w);
}

/* Section 11.3.5: an agent that knows no mobility header; and others. */
static void test_icmp(void)
{
    static const struct {
        uint8_t type, code;
        Mip6Why why;
    } cases[] = {
        { PACKET_ICMP6_PARAMETER, 1, MIP6_WHY_UNSUPPORTED },
        { PACKET_ICMP6_PARAMETER, 2, MIP6_WHY_UNSUPPORTED },
        { PACKET_ICMP6_UNREACHABLE, 0, MIP6_WHY_NO_ANSWER },
        { PACKET_ICMP6_UNREACHABLE, 1, MIP6_WHY_NO_ANSWER },
        { PACKET_ICMP6_TIME_EXCEEDED, 0, MIP6_WHY_NO_ANSWER },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = registering();
        uint8_t update[256];
        size_t len = w->link.len - PACKET_ETH_LEN;

        memcpy(update, w->link.buf + PACKET_ETH_LEN, len);
        ready_forget(w);
        give_error(w, cases[i].type, cases[i].code, 40, update, len);
        pass(w, 2 * SECOND);
        g_assert_cmpint(w->port.binding[0].why, ==, cases[i].why);
        /* Others than the first two may pass: repeated as if nothing came. */
        g_assert_cmpint(ready_updates(w), ==,
                        cases[i].why == MIP6_WHY_NO_ANSWER);
        pass(w, 40 * SECOND);
        g_assert_cmpint(ready_updates(w), >=, 1);       /* never given up */
        world_free(w);
    }
}

/* An error about an answered update is ignored. */
static void test_late_icmp(void)
{
    for (unsigned code = 1; code <= 2; code++) {
        World *w = registering();
        uint8_t update[256];
        size_t len = w->link.len - PACKET_ETH_LEN;

        memcpy(update, w->link.buf + PACKET_ETH_LEN, len);
        ready_accept(w);
        g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
        give_error(w, PACKET_ICMP6_PARAMETER, code, 40, update, len);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 1);
        g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
        g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NONE);
        world_free(w);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ready/answer/accepted", test_accepted);
    g_test_add_func("/mip6/ready/answer/refused", test_refused);
    g_test_add_func("/mip6/ready/answer/sequence", test_sequence);
    g_test_add_func("/mip6/ready/answer/other-sequence", test_other_sequence);
    g_test_add_func("/mip6/ready/answer/lifetime", test_lifetime);
    g_test_add_func("/mip6/ready/answer/refresh-advice",
                    test_refresh_advice);
    g_test_add_func("/mip6/ready/answer/options", test_options);
    g_test_add_func("/mip6/ready/answer/unfit", test_unfit);
    g_test_add_func("/mip6/ready/answer/no-lifetime", test_no_lifetime);
    g_test_add_func("/mip6/ready/answer/binding-error", test_binding_error);
    g_test_add_func("/mip6/ready/answer/refresh-request",
                    test_refresh_request);
    g_test_add_func("/mip6/ready/answer/icmp", test_icmp);
    g_test_add_func("/mip6/ready/answer/late-icmp", test_late_icmp);
    return g_test_run();
}
