/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explicit congestion notification in the tunnels of a mobile node and its home
 * agent (RFC 6040): marks of routers arrive; and DSCPs (RFC 2983)
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-world.h"
#include "net/packet/ecn.h"

#define DSCP_INNER      0xb8u   /* expedited forwarding */
#define DSCP_OUTER      0x28u   /* another one, of a network in between */
#define DROPPED         (-1)
#define INNER           (PACKET_ETH_LEN + PACKET_IP6_LEN)
#define FIELDS          4u

/* RFC 6040 figure 4: the inner field that comes out, [inner][outer]. */
static const int out[FIELDS][FIELDS] = {
    /* outer: Not-ECT, ECT(1), ECT(0), CE */
    [PACKET_ECN_NOT_ECT] = { 0, 0, 0, DROPPED },
    [PACKET_ECN_ECT_1] = { 1, 1, 1, 3 },
    [PACKET_ECN_ECT_0] = { 2, 1, 2, 3 },
    [PACKET_ECN_CE] = { 3, 3, 3, 3 },
};

static void set_class(uint8_t *header, uint8_t class)
{
    uint32_t first = get_be32(header) & ~(0xffu << 20);

    put_be32(header, first | (uint32_t)class << 20);
}

static uint8_t class_of(const uint8_t *header)
{
    return get_be32(header) >> 20 & 0xff;
}

/* A tunnel's packet behind 14 octets: outer header, inner packet. */
static size_t build(uint8_t *frame, const PacketIp6 *outer, const char *src,
                    const char *dst, unsigned outer_ecn, unsigned inner_ecn)
{
    uint8_t inner[512];
    size_t len = packet(inner, src, dst, 64) - PACKET_ETH_LEN;
    PacketIp6 ip = *outer;

    memcpy(frame + INNER, inner + PACKET_ETH_LEN, len);
    set_class(frame + INNER, DSCP_INNER | inner_ecn);
    ip.next = PACKET_PROTO_IP6;
    ip.hops = 64;
    ip.payload = len;
    ip.tclass = DSCP_OUTER | outer_ecn;
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    return INNER + len;
}

/* The rest of the packet at @got is as it was at @inner. */
static void expect(const uint8_t *got, const uint8_t *inner, size_t len,
                   int field)
{
    uint8_t want[512];

    memcpy(want, inner, len);
    set_class(want, DSCP_INNER | field);
    g_assert_cmpmem(got, len, want, len);
}

static PacketIp6 to_node(const World *w)
{
    return (PacketIp6) {
        .src = address(AGENT), .dst = w->port.binding[0].care_of,
    };
}

static PacketIp6 to_agent(const World *w)
{
    return (PacketIp6) {
        .src = w->port.binding[0].care_of, .dst = address(AGENT),
    };
}

/* All 16 combinations, to the guest. */
static void test_to_guest(void)
{
    World *w = away();
    PacketIp6 outer = to_node(w);
    uint8_t frame[512];
    unsigned drops = 0;

    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    for (unsigned i = 0; i < FIELDS * FIELDS; i++) {
        unsigned in = i / FIELDS, on = i % FIELDS;
        size_t len = build(frame, &outer, FAR, HOME, on, in);

        w->to_guest = 0;
        g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
        drops += out[in][on] == DROPPED;
        g_assert_cmpint(w->to_guest, ==, out[in][on] != DROPPED);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_ECN], ==, drops);
        if (w->to_guest) {
            expect(w->guest.buf + PACKET_ETH_LEN, frame + INNER, len - INNER,
                   out[in][on]);
        }
    }
    g_assert_cmpint(drops, ==, 1);
    world_free(w);
}

/* All 16 combinations, from the mobile node to its correspondent. */
static void test_at_agent(void)
{
    World *w = away();
    PacketIp6 outer = to_agent(w);
    uint8_t frame[512], copy[512];
    unsigned drops = 0;

    for (unsigned i = 0; i < FIELDS * FIELDS; i++) {
        unsigned in = i / FIELDS, on = i % FIELDS;
        size_t len = build(frame, &outer, HOME, FAR, on, in);

        w->queued = 0;
        memcpy(copy, frame, len);
        mip6_agent_packet(&w->agent, w->now, copy + PACKET_ETH_LEN,
                          len - PACKET_ETH_LEN);
        drops += out[in][on] == DROPPED;
        g_assert_cmpint(w->queued, ==, out[in][on] != DROPPED);
        g_assert_cmpint(w->agent.dropped[MIP6_AGENT_ECN], ==, drops);
        if (w->queued) {
            expect(w->from_agent[0], frame + INNER, len - INNER, out[in][on]);
        }
    }
    g_assert_cmpint(drops, ==, 1);
    world_free(w);
}

/* Section 4.1: into a tunnel goes a copy, of the DSCP too, at both ends. */
static void test_into_tunnel(void)
{
    World *w = away();
    uint8_t frame[2048], size[] = { 64, 255 };

    w->deaf = true;
    for (unsigned i = 0; i < FIELDS * G_N_ELEMENTS(size); i++) {
        uint8_t class = DSCP_INNER | i % FIELDS;
        size_t len = packet(frame, HOME, FAR, size[i / FIELDS]);

        set_class(frame + PACKET_ETH_LEN, class);
        from_guest(w, frame, len);
        g_assert_cmphex(class_of(w->link.buf + PACKET_ETH_LEN), ==, class);
        g_assert_cmphex(class_of(w->link.buf + INNER), ==, class);
        packet(frame, FAR, HOME, size[i / FIELDS]);
        set_class(frame + PACKET_ETH_LEN, class);
        w->queued = 0;
        mip6_agent_packet(&w->agent, w->now, frame + PACKET_ETH_LEN,
                          len - PACKET_ETH_LEN);
        g_assert_cmpint(w->queued, ==, 1);
        g_assert_cmphex(class_of(w->from_agent[0]), ==, class);
        g_assert_cmphex(class_of(w->from_agent[0] + PACKET_IP6_LEN), ==,
                        class);
    }
    world_free(w);
}

/* The segment size of a SYN and its mark change in one copy. */
static void test_syn(void)
{
    World *w = away();
    PacketIp6 outer = to_node(w);
    uint8_t frame[512] = { 0 }, *tcp = frame + INNER + PACKET_IP6_LEN;
    size_t len = build(frame, &outer, FAR, HOME, PACKET_ECN_CE,
                       PACKET_ECN_ECT_0);

    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    frame[INNER + 6] = PACKET_PROTO_TCP;
    memset(tcp, 0, 64);
    tcp[12] = 6 << 4;
    tcp[13] = 2;                /* SYN */
    memcpy(tcp + 20, (uint8_t[]) { 2, 4, 0x05, 0xa0 }, 4);
    w->to_guest = 0;
    from_link(w, frame, len);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmphex(class_of(w->guest.buf + PACKET_ETH_LEN), ==,
                    DSCP_INNER | PACKET_ECN_CE);
    g_assert_cmpint(get_be16(w->guest.buf + INNER + 22), ==, 1400);
    world_free(w);
}

/* A packet for a VM that has left keeps the mark when it is forwarded. */
static void test_late(void)
{
    World *w = away();
    PacketIp6 outer = to_node(w);
    uint8_t frame[512];
    size_t len;

    w->deaf = true;
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    len = build(frame, &outer, FAR, HOME, PACKET_ECN_CE, PACKET_ECN_NOT_ECT);
    from_link(w, frame, len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ECN], ==, 1);
    len = build(frame, &outer, FAR, HOME, PACKET_ECN_CE, PACKET_ECN_ECT_0);
    from_link(w, frame, len);
    w->logged = 0;
    pass(w, SECOND / 5);
    g_assert_cmpint(w->link.len, ==, len);
    g_assert_cmpint(w->link.buf[PACKET_ETH_LEN + 6], ==, PACKET_PROTO_IP6);
    frame[INNER + 7]--;         /* the hop limit */
    expect(w->link.buf + INNER, frame + INNER, len - INNER, PACKET_ECN_CE);
    g_assert_cmphex(class_of(w->link.buf + PACKET_ETH_LEN), ==,
                    DSCP_INNER | PACKET_ECN_CE);
    world_free(w);
}

/* Give the agent a tunnelled packet in two fragments with these fields. */
static void give_fragments(World *w, const uint8_t *frame, size_t len,
                           unsigned first, unsigned second, uint32_t id)
{
    static const size_t most = 48;
    PacketIp6 ip = to_agent(w);
    uint8_t part[512], *header = part + PACKET_IP6_LEN;

    ip.next = PACKET_PROTO_FRAGMENT;
    ip.hops = 64;
    for (size_t done = 0, size; done < len; done += size) {
        size = MIN(len - done, done ? len : most);
        ip.tclass = DSCP_OUTER | (done ? second : first);
        ip.payload = PACKET_IP6_FRAGMENT_LEN + size;
        packet_ip6_build(part, &ip);
        header[0] = PACKET_PROTO_IP6;
        header[1] = 0;
        put_be16(header + 2, done | (done + size < len));
        put_be32(header + 4, id);
        memcpy(header + PACKET_IP6_FRAGMENT_LEN, frame + done, size);
        mip6_agent_packet(&w->agent, w->now, part,
                          PACKET_IP6_LEN + ip.payload);
    }
}

/* A mark on either fragment is the packet's (RFC 3168 section 5.3). */
static void test_fragments(void)
{
    static const struct {
        unsigned first, second;
        int field;
    } cases[] = {
        { PACKET_ECN_ECT_0, PACKET_ECN_ECT_0, PACKET_ECN_ECT_0 },
        { PACKET_ECN_ECT_0, PACKET_ECN_CE, PACKET_ECN_CE },
        { PACKET_ECN_CE, PACKET_ECN_ECT_0, PACKET_ECN_CE },
        { PACKET_ECN_NOT_ECT, PACKET_ECN_CE, DROPPED },
        { PACKET_ECN_CE, PACKET_ECN_NOT_ECT, DROPPED },
    };
    World *w = away();
    PacketIp6 outer = to_agent(w);
    uint8_t frame[512];

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        size_t len = build(frame, &outer, HOME, FAR, 0, PACKET_ECN_ECT_0);

        w->queued = 0;
        give_fragments(w, frame + INNER, len - INNER, cases[i].first,
                       cases[i].second, i);
        g_assert_cmpint(w->queued, ==, cases[i].field != DROPPED);
        if (w->queued) {
            expect(w->from_agent[0], frame + INNER, len - INNER,
                   cases[i].field);
        }
    }
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_MALFORMED], ==, 4);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ecn/to-guest", test_to_guest);
    g_test_add_func("/mip6/ecn/at-agent", test_at_agent);
    g_test_add_func("/mip6/ecn/into-tunnel", test_into_tunnel);
    g_test_add_func("/mip6/ecn/syn", test_syn);
    g_test_add_func("/mip6/ecn/late", test_late);
    g_test_add_func("/mip6/ecn/fragments", test_fragments);
    return g_test_run();
}
