/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VM has left: packets that still come for it are not lost, and none is sent
 * where it would come back
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-world.h"

static const uint8_t agent_mac[] = { 0x02, 0xcc, 0, 0, 0, 1 };

static Mip6Verdict offer(World *w, const void *buf, size_t len,
                         const PacketOffload *offload)
{
    static const PacketOffload nothing;
    struct iovec iov = { (void *)buf, len };

    return mip6_port_from_link(&w->port, w->now, &iov, 1,
                               offload ? offload : &nothing);
}

/* --- what has been sent on since forget() --------------------------------- */

static void forget(World *w)
{
    w->logged = 0;
}

static bool is_nd(const Frame *f)
{
    return f->buf[20] == PACKET_PROTO_ICMP6 && f->buf[21] == 255;
}

/* Frame @i of those that are no neighbour discovery; NULL: there is none. */
static const Frame *sent_on(const World *w, unsigned i)
{
    g_assert_cmpuint(w->logged, <=, WORLD_LOG);
    for (unsigned at = 0; at < w->logged; at++) {
        if (!is_nd(&w->log[at]) && !i--) {
            return &w->log[at];
        }
    }
    return NULL;
}

static unsigned sent(const World *w)
{
    unsigned num = 0;

    while (sent_on(w, num)) {
        g_assert_cmpmem(sent_on(w, num)->buf + 6, 6, own_mac, 6);
        num++;
    }
    return num;
}

/* @mac advertises @addr. */
static void announce(World *w, const char *addr, const uint8_t *mac)
{
    struct in6_addr target = address(addr);
    uint8_t frame[128];
    size_t len = packet_nd_build_na(frame + PACKET_ETH_LEN, &target,
                                    &packet_ip6_all_nodes, &target,
                                    PACKET_NA_OVERRIDE, mac);

    packet_eth_build(frame, (uint8_t[]) { 0x33, 0x33, 0, 0, 0, 1 }, mac,
                     PACKET_ETH_IP6);
    offer(w, frame, PACKET_ETH_LEN + len, NULL);
}

/* A frame for the guest, with a packet that has @number as its payload. */
static size_t numbered(uint8_t *frame, const char *src, const char *dst,
                       uint32_t number)
{
    size_t len = packet(frame, src, dst, 100);

    packet_eth_build(frame, guest_mac, router_mac, PACKET_ETH_IP6);
    put_be32(frame + 54, number);
    return len;
}

/* The same in the agent's tunnel to the care-of address. */
static size_t tunnelled(World *w, uint8_t *frame, uint32_t number)
{
    uint8_t inner[256];
    size_t len = numbered(inner, FAR, HOME, number) - PACKET_ETH_LEN;

    memcpy(frame + 54, inner + PACKET_ETH_LEN, len);
    return to_care_of(w, frame, AGENT, PACKET_PROTO_IP6, len);
}

/* At home, where the VM runs and then stops. */
static World *stopped_at_home(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise(w, "2001:db8:2000::", router_mac);
    pass(w, 2 * SECOND);
    mip6_port_pause(&w->port);
    forget(w);
    return w;
}

static World *left_home(void)
{
    World *w = stopped_at_home();

    mip6_port_leave(&w->port, w->now);
    return w;
}

/* The agent has answered, and sends nothing more; the VM has left. */
static World *stopped_abroad(void)
{
    World *w = away();

    w->deaf = true;
    mip6_port_pause(&w->port);
    w->to_guest = 0;
    return w;
}

static World *left_abroad(void)
{
    World *w = stopped_abroad();

    mip6_port_leave(&w->port, w->now);
    forget(w);
    return w;
}

static void end(World *w)
{
    g_assert_cmpint(w->to_guest, ==, 0);
    world_free(w);
}

static void give(World *w, uint32_t number)
{
    uint8_t frame[256];
    size_t len = numbered(frame, FAR, HOME, number);

    g_assert_cmpint(offer(w, frame, len, NULL), ==, MIP6_DONE);
}

static uint64_t late(const World *w)
{
    return w->port.dropped[MIP6_DROP_LATE];
}

/* Frame @i is packet @number of the guest, sent on to @mac. */
static void expect_forwarded(const World *w, unsigned i, uint32_t number,
                             const uint8_t *mac)
{
    const Frame *f = sent_on(w, i);
    const uint8_t *frame = f->buf;

    g_assert_cmpint(f->len, ==, 154);
    g_assert_cmpmem(frame, 6, mac, 6);
    g_assert_cmpint(frame[14 + 7], ==, 63);
    g_assert_cmpint(get_be32(frame + 54), ==, number);
}

/* --- at home -------------------------------------------------------------- */

/* Nothing is sent before the VM has left, and before a new owner exists. */
static void test_home(void)
{
    World *w = stopped_at_home();
    uint8_t frame[256];
    size_t len = numbered(frame, FAR, HOME, 0);

    announce(w, "2001:db8:2000::99", agent_mac);
    g_assert_cmpint(offer(w, frame, len, NULL), ==, MIP6_HELD);
    w->changes = 0;
    mip6_port_leave(&w->port, w->now);
    g_assert_cmpint(w->changes, ==, 1);         /* it is offered again */
    for (unsigned i = 0; i < 20; i++) {
        give(w, i);
    }
    announce(w, "2001:db8:2000::99", agent_mac);        /* of somebody else */
    pass(w, SECOND);
    g_assert_cmpint(sent(w), ==, 0);
    announce(w, HOME, agent_mac);
    g_assert_cmpint(sent(w), ==, 20);
    give(w, 20);                /* at once now */
    g_assert_cmpint(sent(w), ==, 21);
    for (unsigned i = 0; i <= 20; i++) {
        expect_forwarded(w, i, i, agent_mac);
    }
    g_assert_cmpint(w->port.forwarded, ==, 21);
    g_assert_cmpint(late(w), ==, 0);
    end(w);
}

/*
 * The home agent is the router, too: packets from before its binding go back to
 * it.
 */
static void test_no_loop(void)
{
    World *w = left_home();

    give(w, 1);
    announce(w, HOME, router_mac);
    g_assert_cmpint(sent(w), ==, 1);
    expect_forwarded(w, 0, 1, router_mac);
    give(w, 1);                 /* it comes again */
    g_assert_cmpint(sent(w), ==, 1);
    g_assert_cmpint(late(w), ==, 1);
    end(w);
}

/* The VM is on another host of the home link, and advertises its address. */
static void test_neighbour_host(void)
{
    World *w = left_home();

    give(w, 1);
    announce(w, HOME, guest_mac);
    g_assert_cmpint(sent(w), ==, 1);
    expect_forwarded(w, 0, 1, guest_mac);
    end(w);
}

static void expect_late(World *w, const uint8_t *frame, size_t len)
{
    uint64_t before = late(w);

    g_assert_cmpint(offer(w, frame, len, NULL), ==, MIP6_DONE);
    g_assert_cmpint(late(w), ==, before + 1);
    g_assert_cmpint(sent(w), ==, 0);
}

/* Only routed packets, and only to the guest's addresses. */
static void test_not_routed(void)
{
    World *w = left_home();
    struct in6_addr home = address(HOME), src = address("2001:db8:2000::7");
    uint8_t frame[256];
    size_t len;

    announce(w, HOME, agent_mac);
    len = numbered(frame, FAR, "2001:db8:2000::99", 0);
    expect_late(w, frame, len);
    len = numbered(frame, "fe80::1", HOME, 0);
    expect_late(w, frame, len);
    len = numbered(frame, "ff02::1", HOME, 0);
    expect_late(w, frame, len);
    len = numbered(frame, "::", HOME, 0);
    expect_late(w, frame, len);
    len = numbered(frame, FAR, HOME, 0);
    frame[14 + 7] = 1;
    expect_late(w, frame, len);
    frame[14 + 7] = 64;
    for (size_t cut = 14; cut < len; cut++) {
        expect_late(w, frame, cut);
    }
    frame[14] = 0x45;
    expect_late(w, frame, len);
    numbered(frame, FAR, HOME, 0);
    put_be16(frame + 12, PACKET_ETH_ARP);
    expect_late(w, frame, len);
    put_be16(frame + 12, PACKET_ETH_VLAN);
    expect_late(w, frame, len);
    len = packet_nd_build_ns(frame + 14, &src, &home, &home, router_mac);
    packet_eth_build(frame, guest_mac, router_mac, PACKET_ETH_IP6);
    expect_late(w, frame, 14 + len);
    end(w);
}

/* Padding is kept, and offload fields are forwarded. */
static void test_offload(void)
{
    World *w = left_home();
    const PacketOffload offload = {
        .needs_csum = true, .csum_start = 54, .csum_offset = 6,
        .gso = PACKET_GSO_UDP, .gso_size = 50,
    };
    uint8_t frame[256] = { 0 };
    size_t len = numbered(frame, FAR, HOME, 7);

    announce(w, HOME, agent_mac);
    g_assert_cmpint(offer(w, frame, len + 20, &offload), ==, MIP6_DONE);
    expect_forwarded(w, 0, 7, agent_mac);
    g_assert_true(w->link.offload.needs_csum);
    g_assert_cmpint(w->link.offload.csum_start, ==, 54);
    g_assert_cmpint(w->link.offload.csum_offset, ==, 6);
    g_assert_cmpint(w->link.offload.gso, ==, PACKET_GSO_UDP);
    g_assert_cmpint(w->link.offload.gso_size, ==, 50);
    end(w);
}

/*
 * Packets without an owner are counted as late at the end; memory is bounded.
 */
static void test_end(void)
{
    World *w = left_home();
    unsigned given = 20000;

    for (unsigned i = 0; i < given; i++) {
        give(w, i);
    }
    g_assert_cmpint(late(w), >, 0);             /* of which there is no room */
    g_assert_cmpint(late(w), <, given - 3000);
    pass(w, 9900 * MS);
    g_assert_cmpint(late(w), <, given - 3000);
    pass(w, 200 * MS);
    g_assert_cmpint(late(w), ==, given);
    announce(w, HOME, agent_mac);
    give(w, 1);
    g_assert_cmpint(late(w), ==, given + 1);
    g_assert_cmpint(sent(w), ==, 0);
    end(w);
}

/* The VM continues here; then its frames pass. */
static void test_back(void)
{
    World *w = left_home();
    uint8_t frame[256];
    size_t len = numbered(frame, FAR, HOME, 0);

    give(w, 1);
    announce(w, HOME, agent_mac);
    give(w, 2);
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(offer(w, frame, len, NULL), ==, MIP6_PASS);
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    forget(w);
    give(w, 3);                 /* the earlier owner is ignored */
    g_assert_cmpint(sent(w), ==, 0);
    announce(w, HOME, guest_mac);
    expect_forwarded(w, 0, 3, guest_mac);
    end(w);
}

/* Each address of the guest has its own time. */
static void test_addresses(void)
{
    World *w = stopped_at_home();
    Mip6HomeLearned *l = &w->port.home.learned;
    uint8_t frame[256];
    size_t len = numbered(frame, FAR, "2001:db8:2000::11", 2);

    l->address[l->addresses++] = address("2001:db8:2000::11");
    mip6_port_leave(&w->port, w->now);
    give(w, 1);
    offer(w, frame, len, NULL);
    give(w, 3);
    announce(w, "2001:db8:2000::11", agent_mac);
    g_assert_cmpint(sent(w), ==, 1);
    expect_forwarded(w, 0, 2, agent_mac);
    announce(w, HOME, agent_mac);
    g_assert_cmpint(sent(w), ==, 3);
    expect_forwarded(w, 1, 1, agent_mac);
    expect_forwarded(w, 2, 3, agent_mac);
    end(w);
}

/* --- away ----------------------------------------------------------------- */

/* The agent refuses: no binding for this address. */
static void refuse(World *w, const char *home)
{
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING,
                  .home = address(home) };
    struct in6_addr agent = address(AGENT);
    uint8_t frame[256];
    size_t len = mip6_mh_build(frame + 54, 128, &agent,
                               &w->port.binding[0].care_of, &be);

    len = to_care_of(w, frame, AGENT, PACKET_PROTO_MH, len);
    offer(w, frame, len, NULL);
}

/* An agent with a short round trip is tried again sooner. */
static void test_abroad_near(void)
{
    World *w = stopped_abroad();
    uint8_t frame[256];
    size_t len;

    w->port.binding[0].trip = 2 * MS;
    mip6_port_leave(&w->port, w->now);
    forget(w);
    for (unsigned i = 0; i < 3; i++) {
        len = tunnelled(w, frame, i);
        offer(w, frame, len, NULL);
    }
    pass(w, 25 * MS);
    g_assert_cmpint(sent(w), ==, 0);
    pass(w, MS);
    g_assert_cmpint(sent(w), ==, 1);
    pass(w, 25 * MS);
    refuse(w, FAR);
    pass(w, MS);
    g_assert_cmpint(sent(w), ==, 2);
    pass(w, 25 * MS);
    g_assert_cmpint(sent(w), ==, 2);
    pass(w, MS);
    g_assert_cmpint(sent(w), ==, 4);
    end(w);
}

/* Back, from the care-of address, when the new binding is there. */
static void test_abroad(void)
{
    World *w = left_abroad();
    const PacketOffload partial = {
        .needs_csum = true, .csum_start = 94, .csum_offset = 6,
    };
    struct in6_addr agent = address(AGENT);
    uint8_t frame[256];
    PacketIp6 outer;
    size_t len;

    for (unsigned i = 0; i < 5; i++) {
        len = tunnelled(w, frame, i);
        g_assert_cmpint(offer(w, frame, len, NULL), ==, MIP6_DONE);
    }
    /* The first one alone, as long as the agent refuses it. */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(sent(w), ==, 0);
        pass(w, 200 * MS);
        g_assert_cmpint(sent(w), ==, 1);
        pass(w, 100 * MS);
        refuse(w, HOME);        /* not this one */
        refuse(w, FAR);
        pass(w, 100 * MS);
        g_assert_cmpint(sent(w), ==, 2);
        refuse(w, FAR);
        forget(w);
    }
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 3);
    g_assert_cmpint(w->port.forwarded, ==, 0);
    pass(w, 200 * MS);
    g_assert_cmpint(sent(w), ==, 1);
    pass(w, 200 * MS);
    g_assert_cmpint(sent(w), ==, 5);
    refuse(w, FAR);             /* too late */
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 4);
    /* A checksum that is still to be made is at the same place afterwards. */
    len = tunnelled(w, frame, 5);
    offer(w, frame, len, &partial);
    g_assert_cmpint(sent(w), ==, 6);
    g_assert_true(w->link.offload.needs_csum);
    g_assert_cmpint(w->link.offload.csum_start, ==, 94);
    for (unsigned i = 0; i <= 5; i++) {
        const Frame *f = sent_on(w, i);
        const uint8_t *packet = f->buf + 14;

        g_assert_cmpint(f->len, ==, len);
        g_assert_cmpmem(f->buf, 6, router_mac, 6);
        packet_ip6_parse(&outer, packet, len - 14);
        g_assert_cmpint(outer.next, ==, PACKET_PROTO_IP6);
        g_assert_cmpmem(&outer.dst, 16, &agent, 16);
        g_assert_cmpmem(&outer.src, 16, &w->port.binding[0].care_of, 16);
        packet_ip6_parse(&outer, packet + 40, len - 54);
        g_assert_cmpint(outer.hops, ==, 63);
        g_assert_cmpint(get_be32(packet + 80), ==, i);
    }
    g_assert_cmpint(w->port.forwarded, ==, 6);
    /* No forwarding for other sources, and only for a limited time. */
    frame[14 + 8 + 15] ^= 1;
    offer(w, frame, len, NULL);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 1);
    frame[14 + 8 + 15] ^= 1;
    pass(w, 10 * SECOND);
    offer(w, frame, len, NULL);
    g_assert_cmpint(late(w), ==, 1);
    g_assert_cmpint(sent(w), ==, 6);
    end(w);
}

/* The VM was at home, without a binding: there is no tunnel to try. */
static void test_no_tunnel(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    give(w, 1);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 3 * SECOND);
    g_assert_true(mip6_port_is_away(&w->port));
    g_assert_cmpint(sent(w), ==, 0);
    g_assert_cmpint(late(w), ==, 1);
    end(w);
}

/* No error is sent about a packet that is too big. */
static void test_too_big(void)
{
    World *w = left_abroad();
    uint8_t frame[2048] = { 0 };
    size_t len = tunnelled(w, frame, 0);

    w->port.tunnel.path_mtu = 1300;
    w->port.tunnel.path_until = INT64_MAX;
    put_be16(frame + 14 + 4, 1400);
    put_be16(frame + 54 + 4, 1360);
    g_assert_cmpint(len, <, 1454);
    offer(w, frame, 1454, NULL);
    pass(w, SECOND);
    g_assert_cmpint(sent(w), ==, 0);
    g_assert_cmpint(late(w), ==, 1);
    end(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/late/home", test_home);
    g_test_add_func("/mip6/late/no-loop", test_no_loop);
    g_test_add_func("/mip6/late/neighbour-host", test_neighbour_host);
    g_test_add_func("/mip6/late/not-routed", test_not_routed);
    g_test_add_func("/mip6/late/offload", test_offload);
    g_test_add_func("/mip6/late/end", test_end);
    g_test_add_func("/mip6/late/back", test_back);
    g_test_add_func("/mip6/late/addresses", test_addresses);
    g_test_add_func("/mip6/late/abroad", test_abroad);
    g_test_add_func("/mip6/late/abroad-near", test_abroad_near);
    g_test_add_func("/mip6/late/no-tunnel", test_no_tunnel);
    g_test_add_func("/mip6/late/too-big", test_too_big);
    return g_test_run();
}
