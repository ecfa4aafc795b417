/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VM between two links, and a home agent */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-world.h"
#include "net/packet/mld.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

/* --- tests ---------------------------------------------------------------- */

static void test_home(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);
    uint8_t frame[256];
    size_t len = packet(frame, HOME, FAR, 8);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_PASS);
    g_assert_cmpint(advertise(w, "2001:db8:2000::", home_router_mac), ==,
                    MIP6_PASS);
    g_assert_true(w->port.home.learned.has_router);
    g_assert_cmpmem(w->port.home.learned.router_mac, 6, home_router_mac, 6);
    memcpy(frame, guest_mac, 6);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_PASS);
    pass(w, 100 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_cmpint(w->to_guest, ==, 0);
    world_free(w);
}

/* Only at home the destination address alone decides that a frame passes. */
static void test_first_look(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);
    const uint8_t group[] = { 0x33, 0x33, 0, 0, 0, 1 };

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise(w, "2001:db8:2000::", home_router_mac);
    for (int from_guest = 0; from_guest < 2; from_guest++) {
        g_assert_true(mip6_port_passes(&w->port, from_guest, guest_mac));
        g_assert_false(mip6_port_passes(&w->port, from_guest, group));
    }
    g_assert_true(mip6_port_passes(&w->port, true, own_mac));
    g_assert_false(mip6_port_passes(&w->port, false, own_mac));
    /* The answer that ends a binding comes to the guest's MAC address. */
    w->port.binding[0].state = MIP6_RETURNING;
    g_assert_false(mip6_port_passes(&w->port, false, guest_mac));
    g_assert_true(mip6_port_passes(&w->port, true, home_router_mac));
    world_free(w);

    w = world_new(MIP6_LOCATION_AUTO, true);
    mip6_port_run(&w->port, w->now);
    g_assert_false(mip6_port_passes(&w->port, true, home_router_mac));
    g_assert_false(mip6_port_passes(&w->port, false, guest_mac));
    world_free(w);
    w = away();
    g_assert_false(mip6_port_passes(&w->port, true, home_router_mac));
    g_assert_false(mip6_port_passes(&w->port, false, guest_mac));
    world_free(w);
}

/* On the foreign link the guest's packets are only in the tunnel. */
static void test_tunnel(void)
{
    World *w = away();
    const Mip6AgentBinding *b;
    struct in6_addr home = address(HOME), agent = address(AGENT);
    uint8_t frame[2048];
    size_t len = packet(frame, HOME, FAR, 100);
    PacketIp6 outer;

    b = mip6_agent_binding(&w->agent, &home);
    g_assert_nonnull(b);
    g_assert_cmpint(b->care_of.s6_addr[4], ==, 0x30);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(b->received, ==, 1);
    g_assert_true(packet_ip6_parse(&outer, w->link.buf + PACKET_ETH_LEN,
                                   w->link.len - PACKET_ETH_LEN));
    g_assert_cmpmem(&outer.dst, 16, &agent, 16);
    g_assert_cmpmem(&outer.src, 16, &b->care_of, 16);
    g_assert_cmpint(outer.next, ==, PACKET_PROTO_IP6);
    g_assert_cmpmem(w->link.buf + 54, w->link.len - 54, frame + 14, len - 14);
    g_assert_cmpmem(w->from_agent[0], w->from_agent_len[0], frame + 14,
                    len - 14);
    w->queued = 0;
    /* And in the other direction. */
    len = packet(frame, FAR, HOME, 100);
    mip6_agent_packet(&w->agent, w->now, frame + 14, len - 14);
    g_assert_cmpint(w->queued, ==, 1);
    w->to_guest = 0;
    deliver(w);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpmem(w->guest.buf + 14, w->guest.len - 14, frame + 14,
                    len - 14);
    g_assert_cmpmem(w->guest.buf, 6, guest_mac, 6);
    g_assert_cmpint(w->on_home, ==, 0);
    world_free(w);
}

static void expect_drop(World *w, Mip6Drop why, const uint8_t *frame,
                        size_t len)
{
    uint64_t before = w->port.dropped[why];
    unsigned sent = w->to_link;

    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[why], ==, before + 1);
    g_assert_cmpint(w->to_link, ==, sent);
}

/* A report of version 1 about @group. Returns its frame's length. */
static size_t report(uint8_t *frame, const char *src, const char *group)
{
    static const uint8_t alert[] = { PACKET_PROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0 };
    size_t len = packet(frame, src, group, 32);
    uint8_t *p = frame + PACKET_ETH_LEN, *icmp = p + PACKET_IP6_LEN + 8;
    struct in6_addr from = address(src), to = address(group);
    uint32_t sum;

    p[6] = PACKET_PROTO_HOPOPTS;
    p[7] = 1;
    memcpy(p + PACKET_IP6_LEN, alert, sizeof(alert));
    memset(icmp, 0, 24);
    icmp[0] = PACKET_MLD_REPORT;
    memcpy(icmp + 8, &to, sizeof(to));
    sum = packet_sum_pseudo6(&from, &to, PACKET_PROTO_ICMP6, 24);
    put_be16(icmp + 2, packet_sum_fold(packet_sum_add(sum, icmp, 24)));
    return len;
}

/* Groups beyond the link are reached through the home agent. */
static void test_groups(void)
{
    World *w = away();
    struct in6_addr group = address("ff0e::7");
    uint8_t frame[2048];
    size_t len;

    /* The guest got a query for its groups when the agent had the binding. */
    g_assert_true(packet_mld_is_query(w->guest.buf + PACKET_ETH_LEN,
                                      w->guest.len - PACKET_ETH_LEN));
    len = report(frame, "fe80::10", "ff0e::7");
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_nonnull(mip6_groups_nodes(&w->agent.groups, &group));
    len = report(frame, "fe80::10", "ff02::1:ff00:10");
    expect_drop(w, MIP6_DROP_MULTICAST, frame, len);
    len = report(frame, FAR, "ff0e::7");
    expect_drop(w, MIP6_DROP_FOREIGN_SOURCE, frame, len);
    /* To the group, and from it. */
    len = packet(frame, HOME, "ff0e::7", 8);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->on_home_link, ==, 1);
    len = packet(frame, FAR, "ff0e::7", 8);
    w->to_guest = 0;
    mip6_agent_group_packet(&w->agent, w->now, frame + PACKET_ETH_LEN,
                            len - PACKET_ETH_LEN);
    deliver(w);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpmem(w->guest.buf, 6, "\x33\x33\0\0\0\7", 6);
    /* The agent's own query reaches the guest, too. */
    pass(w, 130 * SECOND);
    mip6_agent_tick(&w->agent, w->now);
    deliver(w);
    g_assert_true(packet_mld_is_query(w->guest.buf + PACKET_ETH_LEN,
                                      w->guest.len - PACKET_ETH_LEN));
    world_free(w);
}

static void test_guest_drops(void)
{
    World *w = away();
    uint8_t frame[2048];
    size_t len;

    len = packet(frame, "2001:db8:7::1", FAR, 8);
    expect_drop(w, MIP6_DROP_FOREIGN_SOURCE, frame, len);
    len = packet(frame, "fe80::1", FAR, 8);
    expect_drop(w, MIP6_DROP_LINK_LOCAL, frame, len);
    len = packet(frame, HOME, "ff02::16", 8);
    expect_drop(w, MIP6_DROP_MULTICAST, frame, len);
    put_be16(frame + 12, PACKET_ETH_ARP);
    expect_drop(w, MIP6_DROP_IP4, frame, 60);
    put_be16(frame + 12, 0x88cc);
    expect_drop(w, MIP6_DROP_OTHER_PROTOCOL, frame, 60);
    len = packet(frame, HOME, FAR, 100);
    for (size_t cut = 14; cut < len; cut++) {
        expect_drop(w, MIP6_DROP_MALFORMED, frame, cut);
    }
    world_free(w);
}

/* The guest gets errors from its router about packets that do not fit. */
static void test_too_big(void)
{
    World *w = away();
    uint8_t frame[2048];
    size_t len = packet(frame, HOME, FAR, 1420);

    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->port.sent, ==, 1);
    w->queued = 0;
    w->to_guest = 0;
    len = packet(frame, HOME, FAR, 1421);
    expect_drop(w, MIP6_DROP_TOO_BIG, frame, len);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(w->guest.buf[14 + 40], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(get_be32(w->guest.buf + 14 + 44), ==, 1460);
    world_free(w);
}

/* A SYN of the guest, or to it, that announces 1440. Returns its length. */
static size_t syn(uint8_t *frame, const char *src, const char *dst)
{
    size_t len = packet(frame, src, dst, 24);
    uint8_t *ip = frame + PACKET_ETH_LEN, *tcp = ip + PACKET_IP6_LEN;
    struct in6_addr from = address(src), to = address(dst);
    uint32_t sum = packet_sum_pseudo6(&from, &to, PACKET_PROTO_TCP, 24);

    ip[6] = PACKET_PROTO_TCP;
    memset(tcp, 0, 24);
    tcp[12] = 6 << 4;
    tcp[13] = PACKET_TCP_SYN;
    memcpy(tcp + 20, (uint8_t[]) { 2, 4, 1440 >> 8, 1440 & 0xff }, 4);
    put_be16(tcp + 16, packet_sum_fold(packet_sum_add(sum, tcp, 24)));
    return len;
}

static void assert_clamped(const uint8_t *ip, unsigned mss)
{
    struct in6_addr src, dst;
    uint32_t sum;

    memcpy(&src, ip + 8, 16);
    memcpy(&dst, ip + 24, 16);
    sum = packet_sum_pseudo6(&src, &dst, PACKET_PROTO_TCP, 24);
    g_assert_cmpint(get_be16(ip + 40 + 22), ==, mss);
    g_assert_cmphex(packet_sum_fold(packet_sum_add(sum, ip + 40, 24)), ==, 0);
}

/* Connections in both directions get an MSS that fits into the tunnel. */
static void test_segment_size(void)
{
    World *w = away();
    uint8_t frame[256];
    size_t len = syn(frame, HOME, FAR);
    PacketOffload partial = { .needs_csum = true, .csum_start = 54,
                              .csum_offset = 16 };
    struct iovec iov = { frame, len };

    from_guest(w, frame, len);
    g_assert_cmpint(w->link.len, ==, len + PACKET_IP6_LEN);
    assert_clamped(w->link.buf + 54, 1400);
    /* A checksum that the NIC makes is not touched. */
    w->queued = 0;
    put_be16(frame + 54 + 16, 0x1234);
    mip6_port_from_guest(&w->port, w->now, &iov, 1, &partial);
    g_assert_cmpint(get_be16(w->link.buf + 94 + 22), ==, 1400);
    g_assert_cmphex(get_be16(w->link.buf + 94 + 16), ==, 0x1234);
    g_assert_cmpint(w->link.offload.csum_start, ==, 94);
    w->queued = 0;
    len = syn(frame, FAR, HOME);
    mip6_agent_packet(&w->agent, w->now, frame + 14, len - 14);
    deliver(w);
    g_assert_cmpint(w->guest.len, ==, len);
    assert_clamped(w->guest.buf + 14, 1400);
    world_free(w);
}

/*
 * A link of the minimum MTU: packets of 1280 octets go in fragments, longer
 * ones do not.
 */
static void test_small_path(void)
{
    World *w = away();
    uint8_t frame[2048];
    size_t len;

    w->deaf = true;
    mip6_tunnel_set(&w->port.tunnel, &w->port.binding[0].care_of,
                    &w->port.config.agent, 1280, 64);
    len = packet(frame, HOME, FAR, 1200);
    from_guest(w, frame, len);
    g_assert_cmpint(w->link.len, ==, PACKET_ETH_LEN + 1280);
    g_assert_cmpint(w->port.tunnel.fragmented, ==, 0);
    w->to_link = 0;
    len = packet(frame, HOME, FAR, 1201);
    from_guest(w, frame, len);
    g_assert_cmpint(w->to_link, ==, 2);
    g_assert_cmpint(w->port.tunnel.fragmented, ==, 1);
    len = packet(frame, HOME, FAR, 1241);
    expect_drop(w, MIP6_DROP_TOO_BIG, frame, len);
    g_assert_cmpint(get_be32(w->guest.buf + 14 + 44), ==, 1280);
    len = syn(frame, HOME, FAR);
    from_guest(w, frame, len);
    assert_clamped(w->link.buf + 54, 1180);
    world_free(w);
}

/* A frame with a fragment of @packet, from @src to the care-of address. */
static void give_fragment(World *w, const char *src, const uint8_t *packet,
                          size_t offset, size_t len, bool more, uint8_t next)
{
    uint8_t frame[2048], *header = frame + 54;
    PacketIp6 ip = { .src = address(src), .dst = w->port.binding[0].care_of,
                     .next = PACKET_PROTO_FRAGMENT, .hops = 64,
                     .payload = 8 + len };

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + 14, &ip);
    memset(header, 0, 8);
    header[0] = next;
    put_be16(header + 2, offset | more);
    memcpy(header + 8, packet + offset, len);
    g_assert_cmpint(from_link(w, frame, 62 + len), ==, MIP6_DONE);
}

/* The agent's fragments become one packet; strangers' do not. */
static void test_fragments(void)
{
    World *w = away();
    uint8_t frame[2048], *inner = frame + 14;
    size_t len = packet(frame, HOME, FAR, 8);

    from_guest(w, frame, len);  /* tells its MAC address */
    len = packet(frame, FAR, HOME, 1240) - 14;
    w->to_guest = 0;
    give_fragment(w, AGENT, inner, 1232, len - 1232, false, PACKET_PROTO_IP6);
    g_assert_cmpint(w->to_guest, ==, 0);
    give_fragment(w, AGENT, inner, 0, 1232, true, PACKET_PROTO_IP6);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpmem(w->guest.buf + 14, w->guest.len - 14, inner, len);
    g_assert_cmpmem(w->guest.buf, 6, guest_mac, 6);
    /* A packet in a single fragment. */
    give_fragment(w, AGENT, inner, 0, len, false, PACKET_PROTO_IP6);
    g_assert_cmpint(w->to_guest, ==, 2);
    give_fragment(w, FAR, inner, 0, 1232, true, PACKET_PROTO_IP6);
    give_fragment(w, FAR, inner, 1232, len - 1232, false, PACKET_PROTO_IP6);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 2);
    /* The same octets twice; and fragments in fragments. */
    give_fragment(w, AGENT, inner, 0, 1232, true, PACKET_PROTO_IP6);
    give_fragment(w, AGENT, inner, 0, 1232, true, PACKET_PROTO_IP6);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_FRAGMENT], ==, 2);
    memset(inner, 0, 16);
    inner[0] = PACKET_PROTO_IP6;
    give_fragment(w, AGENT, inner, 8, 64, false, PACKET_PROTO_FRAGMENT);
    give_fragment(w, AGENT, inner, 0, 8, true, PACKET_PROTO_FRAGMENT);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MALFORMED], ==, 1);
    g_assert_cmpint(w->to_guest, ==, 2);
    world_free(w);
}

/*
 * A router's error about the tunnel reaches the guest as an error about its
 * packet.
 */
static void test_tunnel_errors(void)
{
    static const struct {
        uint8_t type, code, told, told_code;
    } errors[] = {
        { PACKET_ICMP6_UNREACHABLE, 0, PACKET_ICMP6_UNREACHABLE, 3 },
        { PACKET_ICMP6_UNREACHABLE, 1, PACKET_ICMP6_UNREACHABLE, 3 },
        { PACKET_ICMP6_TIME_EXCEEDED, 0, PACKET_ICMP6_UNREACHABLE, 3 },
        { PACKET_ICMP6_TIME_EXCEEDED, 1, 0, 0 },
        { PACKET_ICMP6_PARAMETER, 1, 0, 0 },
    };
    World *w = away();
    struct in6_addr home = address(HOME);
    uint8_t frame[2048], outer[2048];
    size_t len = packet(frame, HOME, FAR, 1420), outer_len;
    uint64_t ignored;

    from_guest(w, frame, len);
    outer_len = w->link.len - PACKET_ETH_LEN;
    memcpy(outer, w->link.buf + PACKET_ETH_LEN, outer_len);
    w->queued = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(errors); i++) {
        w->to_guest = 0;
        give_error(w, errors[i].type, errors[i].code, 0, outer, outer_len);
        g_assert_cmpint(w->to_guest, ==, errors[i].told ? 1 : 0);
        if (errors[i].told) {
            g_assert_cmpint(w->guest.buf[54], ==, errors[i].told);
            g_assert_cmpint(w->guest.buf[55], ==, errors[i].told_code);
            g_assert_cmpmem(w->guest.buf + 14 + 24, 16, &home, 16);
            g_assert_cmpmem(w->guest.buf + 62, 1000, frame + 14, 1000);
        }
    }
    g_assert_cmpint(w->port.reported, ==, 3);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 2);
    /* A smaller MTU: it is stored, and packets that do not fit cause errors. */
    w->to_guest = 0;
    give_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, outer_len);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(get_be32(w->guest.buf + 14 + 44), ==, 1360);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1360);
    pass(w, 601 * SECOND);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1460);
    /* Not ours: another tunnel, another's packet. */
    ignored = w->port.dropped[MIP6_DROP_ICMP6];
    w->to_guest = 0;
    outer[24] ^= 1;
    give_error(w, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, outer_len);
    outer[24] ^= 1;
    outer[40 + 8] ^= 1;
    give_error(w, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, outer_len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, ignored + 2);
    g_assert_cmpint(w->to_guest, ==, 0);
    world_free(w);
}

/* An error about a packet that was never sent does not end a binding. */
static void test_binding_errors(void)
{
    World *w = away();
    uint8_t update[256];
    size_t len;

    w->deaf = true;
    mip6_binding_refresh(&w->port.binding[0], w->now);
    pass(w, SECOND);
    len = w->link.len - PACKET_ETH_LEN;
    memcpy(update, w->link.buf + PACKET_ETH_LEN, len);
    g_assert_cmpint(update[6], ==, PACKET_PROTO_DSTOPTS);
    update[24 + 15] ^= 1;
    give_error(w, PACKET_ICMP6_PARAMETER, 1, 64, update, len);
    g_assert_cmpint(w->port.binding[0].why, !=, MIP6_WHY_UNSUPPORTED);
    update[24 + 15] ^= 1;
    give_error(w, PACKET_ICMP6_PARAMETER, 0, 64, update, len);
    g_assert_cmpint(w->port.binding[0].why, !=, MIP6_WHY_UNSUPPORTED);
    give_error(w, PACKET_ICMP6_PARAMETER, 1, 64, update, len);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_UNSUPPORTED);
    world_free(w);
}

/* The care-of address answers pings, and keeps no state about them. */
static void test_echo(void)
{
    World *w = away();
    uint8_t frame[2048], *icmp = frame + 54;
    uint64_t malformed = w->port.dropped[MIP6_DROP_MALFORMED];

    for (unsigned size = 8; size <= 1460; size += 121) {
        size_t len = to_care_of(w, frame, FAR, PACKET_PROTO_ICMP6, size);

        memset(icmp, 0x5a, size);
        icmp[0] = PACKET_ICMP6_ECHO;
        icmp[1] = 0;
        packet_icmp6_seal(frame + 14, len - 14);
        w->to_link = 0;
        g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
        g_assert_cmpint(w->to_link, ==, 1);
        g_assert_cmpint(w->link.len, ==, len);
        g_assert_cmpmem(w->link.buf, 6, router_mac, 6);
        g_assert_cmpmem(w->link.buf + 6, 6, own_mac, 6);
        g_assert_cmpmem(w->link.buf + 14 + 8, 16, frame + 14 + 24, 16);
        g_assert_cmpmem(w->link.buf + 14 + 24, 16, frame + 14 + 8, 16);
        g_assert_cmpint(w->link.buf[54], ==, PACKET_ICMP6_ECHO_REPLY);
        g_assert_cmpmem(w->link.buf + 58, size - 4, icmp + 4, size - 4);
        memcpy(frame, w->link.buf, len);
        packet_icmp6_seal(frame + 14, len - 14);
        g_assert_cmpmem(frame, len, w->link.buf, len);
        len = to_care_of(w, frame, FAR, PACKET_PROTO_ICMP6, size);
        icmp[0] = PACKET_ICMP6_ECHO;
        from_link(w, frame, len);       /* its checksum is the answer's */
        g_assert_cmpint(w->to_link, ==, 1);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_MALFORMED], ==, ++malformed);
    }
    world_free(w);
}

/* A mobility header from @src, its checksum made again. */
static void give_mh(World *w, const char *src, const Mip6Mh *mh, uint8_t type,
                    uint8_t proto, int units)
{
    struct in6_addr from = address(src), *to = &w->port.binding[0].care_of;
    uint8_t frame[256], *at = frame + 54;
    size_t len = mip6_mh_build(at, 128, &from, to, mh);
    uint32_t sum;

    at[0] = proto;
    at[1] += units;
    at[2] = type;
    len += units * 8;
    put_be16(at + 4, 0);
    sum = packet_sum_pseudo6(&from, to, PACKET_PROTO_MH, len);
    put_be16(at + 4, packet_sum_fold(packet_sum_add(sum, at, len)));
    to_care_of(w, frame, src, PACKET_PROTO_MH, len);
    w->to_link = 0;
    g_assert_cmpint(from_link(w, frame, 54 + len), ==, MIP6_DONE);
}

/* Section 9.2: wrong mobility headers are answered, some of them. */
static void test_wrong_mh(void)
{
    World *w = away();
    Mip6Mh brr = { .type = MIP6_MH_BRR }, ba = { .type = MIP6_MH_BA }, be;
    struct in6_addr far = address(FAR);
    unsigned sent = 0;

    w->deaf = true;
    give_mh(w, FAR, &brr, 77, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->to_link, ==, 1);
    g_assert_cmpint(mip6_mh_parse(&be, &w->port.binding[0].care_of, &far,
                                  w->link.buf + 54, w->link.len - 54), ==,
                    MIP6_MH_GOOD);
    g_assert_cmpint(be.type, ==, MIP6_MH_BE);
    g_assert_cmpint(be.status, ==, MIP6_BE_UNKNOWN_MH);
    give_mh(w, AGENT, &brr, MIP6_MH_BRR, PACKET_PROTO_TCP, 0);
    g_assert_cmpint(w->to_link, ==, 1);
    g_assert_cmpint(w->link.buf[54], ==, PACKET_ICMP6_PARAMETER);
    g_assert_cmpint(w->link.buf[55], ==, 0);
    g_assert_cmpint(get_be32(w->link.buf + 58), ==, 40);
    give_mh(w, AGENT, &ba, MIP6_MH_BA, PACKET_PROTO_NONE, -1);
    g_assert_cmpint(w->to_link, ==, 1);
    g_assert_cmpint(get_be32(w->link.buf + 58), ==, 41);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_MALFORMED], ==, 3);
    /* Not for ever: ten at once, then ten a second. */
    w->now += 10 * SECOND;
    for (unsigned i = 0; i < 100; i++) {
        give_mh(w, FAR, &brr, 77, PACKET_PROTO_NONE, 0);
        sent += w->to_link;
    }
    g_assert_cmpint(sent, ==, 10);
    w->now += SECOND / 10;
    give_mh(w, FAR, &brr, 77, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->to_link, ==, 1);
    world_free(w);
}

/*
 * RFC 8200 sections 4.2 and 4.4: what extension headers want of a node, as by
 * a Binding Refresh Request behind them.
 */
static void test_extensions(void)
{
    static const struct {
        uint8_t next, head[24], len;
        int code;               /* of an error; -1: none, -2: accepted */
        uint32_t pointer;
    } cases[] = {
        { PACKET_PROTO_DSTOPTS, { PACKET_PROTO_MH, 0, 0x03, 4 }, 8, -2, 0 },
        { PACKET_PROTO_DSTOPTS, { PACKET_PROTO_MH, 0, 0x43, 4 }, 8, -1, 0 },
        { PACKET_PROTO_DSTOPTS, { PACKET_PROTO_MH, 0, 0xc3, 4 }, 8, 2, 42 },
        { PACKET_PROTO_DSTOPTS,
          { PACKET_PROTO_MH, 2, 1, 2, 0, 0, MIP6_OPTION_HAO, 16 }, 24, 2, 46 },
        { PACKET_PROTO_ROUTING, { PACKET_PROTO_MH, 2, 0, 1 }, 24, 0, 42 },
        { PACKET_PROTO_AH, { PACKET_PROTO_MH, 4 }, 24, 1, 6 },
    };
    World *w = away();
    struct in6_addr from = address(AGENT), *to = &w->port.binding[0].care_of;
    Mip6Mh brr = { .type = MIP6_MH_BRR };
    uint64_t dropped = w->port.dropped[MIP6_DROP_UNKNOWN_PROTOCOL];

    pass(w, SECOND);            /* the rate of updates */
    w->deaf = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint16_t sequence = w->port.binding[0].sequence;
        uint8_t frame[256], *at = frame + 54;
        bool taken = cases[i].code == -2;
        size_t len;

        memcpy(at, cases[i].head, cases[i].len);
        len = cases[i].len + mip6_mh_build(at + cases[i].len, 128, &from, to,
                                           &brr);
        g_assert_cmpuint(to_care_of(w, frame, AGENT, cases[i].next, len), ==,
                         54 + len);
        w->to_link = 0;
        g_assert_cmpint(from_link(w, frame, 54 + len), ==, MIP6_DONE);
        g_assert_cmpint(w->to_link, ==, cases[i].code != -1);
        g_assert_cmpint(w->port.binding[0].sequence != sequence, ==, taken);
        dropped += !taken;
        g_assert_cmpint(w->port.dropped[MIP6_DROP_UNKNOWN_PROTOCOL], ==,
                        dropped);
        if (cases[i].code >= 0) {
            g_assert_cmpint(w->link.buf[54], ==, PACKET_ICMP6_PARAMETER);
            g_assert_cmpint(w->link.buf[55], ==, cases[i].code);
            g_assert_cmpint(get_be32(w->link.buf + 58), ==,
                            cases[i].pointer);
        }
    }
    world_free(w);
}

/* Messages of the agent count; those of other nodes do not. */
static void test_agent_messages(void)
{
    World *w = away();
    Mip6Mh brr = { .type = MIP6_MH_BRR };
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING,
                  .home = address(FAR) };
    uint16_t sequence = w->port.binding[0].sequence;

    pass(w, SECOND);
    give_mh(w, FAR, &brr, MIP6_MH_BRR, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 1);
    g_assert_cmpint(w->port.binding[0].sequence, ==, sequence);
    give_mh(w, AGENT, &brr, MIP6_MH_BRR, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->port.binding[0].sequence, ==, ++sequence);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    pass(w, SECOND);
    /* A Binding Error about another address is ignored. */
    give_mh(w, AGENT, &be, MIP6_MH_BE, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 1);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    be.home = address(HOME);
    give_mh(w, FAR, &be, MIP6_MH_BE, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    give_mh(w, AGENT, &be, MIP6_MH_BE, PACKET_PROTO_NONE, 0);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    g_assert_cmpint(w->port.binding[0].sequence, ==, ++sequence);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

static void test_neighbours(void)
{
    World *w = away();
    struct in6_addr home = address(HOME), target = address("2001:db8:2000::7");
    struct in6_addr group = packet_ip6_solicited(&target);
    uint8_t frame[256], mac[] = { 0x02, 0xdd, 0, 0, 0, 7 };
    PacketNd nd;
    size_t len;

    /* Every neighbour has the router's MAC address. */
    packet_eth_group6(mac, &group);
    packet_eth_build(frame, mac, guest_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + 14, &home, &group, &target, guest_mac);
    w->to_guest = 0;
    g_assert_cmpint(from_guest(w, frame, 14 + len), ==, MIP6_DONE);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_true(packet_nd_parse(&nd, w->guest.buf + 14, w->guest.len - 14));
    g_assert_cmpint(nd.type, ==, PACKET_ND_NA);
    g_assert_cmpmem(&nd.target, 16, &target, 16);
    /* A neighbour whose MAC address the guest knows keeps it. */
    memcpy(mac, (uint8_t[]) { 0x02, 0xdd, 0, 0, 0, 7 }, 6);
    packet_eth_build(frame, mac, guest_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + 14, &home, &target, &target, guest_mac);
    from_guest(w, frame, 14 + len);
    g_assert_cmpint(w->to_guest, ==, 2);
    g_assert_true(packet_nd_parse(&nd, w->guest.buf + 14, w->guest.len - 14));
    g_assert_cmpmem(nd.tlla, 6, mac, 6);
    /*
     * No answer to duplicate address detection, and none for the guest itself.
     */
    group = packet_ip6_solicited(&home);
    packet_eth_group6(mac, &group);
    packet_eth_build(frame, mac, guest_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + 14, &in6addr_any, &group, &home, NULL);
    from_guest(w, frame, 14 + len);
    g_assert_cmpint(w->to_guest, ==, 2);
    world_free(w);
}

/* Frames wait for the binding, but only for a limited time. */
static void test_wait(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    uint8_t frame[256];
    size_t len = packet(frame, HOME, FAR, 8);
    unsigned changes;

    mip6_port_start(&w->port, w->now);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_HELD);
    w->deaf = true;
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_HELD);
    changes = w->changes;
    w->deaf = false;
    pass(w, 2 * SECOND);        /* the update is repeated */
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->changes, >, changes);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->port.sent, ==, 1);
    world_free(w);

    w = world_new(MIP6_LOCATION_AUTO, true);
    w->deaf = true;
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    mip6_port_run(&w->port, w->now);
    pass(w, 20 * SECOND);
    expect_drop(w, MIP6_DROP_UNBOUND, frame, len);
    world_free(w);
}

/* Other packets: not from the agent, not for the home address. */
static void test_strangers(void)
{
    World *w = away();
    const struct in6_addr *care_of = &w->port.binding[0].care_of;
    struct in6_addr stranger = address("2001:db8:6::6");
    struct in6_addr agent = address(AGENT), home = address(HOME);
    uint8_t frame[512];
    PacketIp6 ip = { .src = stranger, .dst = *care_of, .hops = 64,
                     .next = PACKET_PROTO_IP6 };
    Mip6Mh ba = { .type = MIP6_MH_BA, .status = 129, .sequence = 1 };
    size_t inner = packet(frame + PACKET_IP6_LEN, FAR, HOME, 8) - 14, len;

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    ip.payload = inner;
    memmove(frame + 54, frame + PACKET_IP6_LEN + 14, inner);
    packet_ip6_build(frame + 14, &ip);
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    w->to_guest = 0;
    from_link(w, frame, 54 + inner);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 1);
    /* From the agent, but for another address. */
    ip.src = agent;
    packet_ip6_build(frame + 14, &ip);
    frame[54 + 39] ^= 1;
    from_link(w, frame, 54 + inner);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 1);
    /* An acknowledgement without an update. */
    ip.next = PACKET_PROTO_ROUTING;
    len = mip6_rh2_build(frame + 54, PACKET_PROTO_MH, &home);
    len += mip6_mh_build(frame + 54 + len, 64, &agent, &home, &ba);
    ip.payload = len;
    packet_ip6_build(frame + 14, &ip);
    from_link(w, frame, 54 + len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 1);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    frame[54 + 24 + 6] ^= 1;
    from_link(w, frame, 54 + len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_CHECKSUM], ==, 1);
    g_assert_cmpint(w->to_guest, ==, 0);
    world_free(w);
}

/* A frame with a packet of the agent's; @len octets for the guest. */
static size_t tunnelled(World *w, uint8_t *frame, size_t len)
{
    uint8_t inner[2048];
    PacketIp6 ip = {
        .src = address(AGENT), .dst = w->port.binding[0].care_of,
        .next = PACKET_PROTO_IP6, .hops = 64,
    };

    ip.payload = packet(inner, FAR, HOME, len) - PACKET_ETH_LEN;
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    memcpy(frame + MIP6_TUNNEL_HEAD_LEN, inner + PACKET_ETH_LEN, ip.payload);
    return MIP6_TUNNEL_HEAD_LEN + ip.payload;
}

/*
 * Only the packet is decapsulated, without padding, and only if it is complete.
 */
static void test_tunnel_end(void)
{
    World *w = away();
    uint8_t frame[2048] = { 0 };
    size_t len = packet(frame, HOME, FAR, 8);

    from_guest(w, frame, len);  /* the guest is known from now on */
    w->queued = w->to_guest = 0;
    len = tunnelled(w, frame, 100);
    from_link(w, frame, len + 30);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(w->guest.len, ==, 14 + 40 + 100);
    for (size_t cut = 54; cut < len; cut++) {
        from_link(w, frame, cut);
    }
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MALFORMED], ==, len - 54);
    /* A first fragment of a wrong length, and one whose others are missing. */
    memmove(frame + 62, frame + 54, len - 54);
    memset(frame + 54, 0, 8);
    frame[14 + 6] = PACKET_PROTO_FRAGMENT;
    frame[54] = PACKET_PROTO_IP6;
    put_be16(frame + 14 + 4, len - 54 + 8);
    from_link(w, frame, len + 8);
    g_assert_cmpint(w->to_guest, ==, 2);        /* one that is whole */
    frame[57] = 1;
    from_link(w, frame, len + 8);
    put_be16(frame + 56, 8);
    from_link(w, frame, len + 8);
    g_assert_cmpint(w->to_guest, ==, 2);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MALFORMED], ==, len - 54);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_FRAGMENT], ==, 1);
    world_free(w);
}

/* A partial checksum that comes out of the tunnel is of the inner packet. */
static void test_tunnel_checksum(void)
{
    World *w = away();
    uint8_t frame[2048] = { 0 };
    size_t len = packet(frame, HOME, FAR, 8);
    PacketOffload offload = { .needs_csum = true, .csum_offset = 6 };
    struct iovec iov = { frame, 0 };
    unsigned before;

    from_guest(w, frame, len);
    w->queued = 0;
    len = tunnelled(w, frame, 100);
    iov.iov_len = len + 20;
    for (unsigned start = 0; start <= 65535; start++) {
        bool good = start >= 94 && start + 8 <= len;

        offload.csum_start = start;
        before = w->to_guest;
        mip6_port_from_link(&w->port, w->now, &iov, 1, &offload);
        g_assert_cmpint(w->to_guest, ==, before + good);
        if (good) {
            g_assert_true(w->guest.offload.needs_csum);
            g_assert_cmpint(w->guest.offload.csum_start, ==, start - 40);
        }
    }
    world_free(w);
}

/* The destination continues the source's binding; back at home it ends it. */
static void test_migration(void)
{
    World *w = away(), *v;
    uint8_t saved[MIP6_PORT_SAVED_MAX];
    struct in6_addr home = address(HOME);
    size_t len;

    w->port.home.learned.has_ra = true;
    w->port.home.learned.ra.prefixes = PACKET_ND_PREFIX_MAX;
    len = mip6_port_save(&w->port, w->now, saved);
    g_assert_cmpint(len, >, 0);
    v = world_new(MIP6_LOCATION_AUTO, true);
    for (size_t cut = 0; cut < len; cut++) {
        g_assert_false(mip6_port_load(&v->port, v->now, saved, cut));
    }
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    mip6_agent_destroy(&v->agent);
    v->agent = w->agent;        /* of the same agent */
    v->agent.opaque = v;
    mip6_agent_init(&w->agent, &v->agent.config, &agent_ops, w);
    mip6_port_start(&v->port, v->now);
    advertise(v, "2001:db8:4000::", router_mac);
    pass(v, 2 * SECOND);
    g_assert_cmpint(mip6_agent_binding(&v->agent, &home)->care_of.s6_addr[4],
                    ==, 0x30);
    mip6_port_run(&v->port, v->now);
    deliver(v);
    g_assert_cmpint(v->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(mip6_agent_binding(&v->agent, &home)->care_of.s6_addr[4],
                    ==, 0x40);
    world_free(v);
    world_free(w);
}

/* A stream with any octet changed is accepted or refused, without a crash. */
static void test_damage(void)
{
    static const uint8_t changes[] = { 0x01, 0x80, 0xff };
    World *w = away(), *v = world_new(MIP6_LOCATION_AUTO, true);
    uint8_t saved[MIP6_PORT_SAVED_MAX], again[MIP6_PORT_SAVED_MAX];
    size_t len;

    w->port.home.learned.has_ra = true;
    w->port.home.learned.ra.prefixes = 2;
    w->port.home.learned.ra.preference = -1;
    len = mip6_port_save(&w->port, w->now, saved);
    for (size_t i = 0; i < len; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(changes); j++) {
            saved[i] ^= changes[j];
            if (mip6_port_load(&v->port, v->now, saved, len)) {
                g_assert_cmpint(mip6_port_save(&v->port, v->now, again), ==,
                                len);
            }
            saved[i] ^= changes[j];
        }
    }
    world_free(v);
    world_free(w);
}

/* The agent reports changed prefixes; the guest's router advertises them. */
static void test_prefixes(void)
{
    World *w = away();
    Mip6HomeLearned *learned = &w->port.home.learned;
    PacketNd nd = {
        .type = PACKET_ND_RA, .src = address("fe80::1"),
        .ra = {
            .lifetime = 1800, .prefixes = 1,
            .prefix[0] = { address(HOME), 64, true, true, false, 2592000,
                           604800 },
        },
    };

    learned->has_ra = learned->has_router = true;
    learned->ra = nd.ra;
    learned->ra.prefixes = 2;
    learned->ra.prefix[1] = nd.ra.prefix[0];
    learned->ra.prefix[1].prefix = address("2001:db8:2001::");
    mip6_agent_heard(&w->agent, w->now, &nd);
    nd.ra.prefix[0].valid = 86400;
    nd.ra.prefix[0].preferred = 43200;
    mip6_agent_heard(&w->agent, w->now, &nd);
    pass(w, 56 * SECOND);
    g_assert_cmpuint(w->port.prefixes.solicited, ==, 1);
    g_assert_cmpuint(w->port.prefixes.advertised, ==, 1);
    g_assert_cmpuint(w->agent.solicited, ==, 1);
    g_assert_cmpint(learned->ra.prefixes, ==, 2);
    g_assert_cmpuint(learned->ra.prefix[0].valid, <=, 86400);
    g_assert_cmpuint(learned->ra.prefix[0].valid, >, 86300);
    /* The agent does not know this one: it is gone. */
    g_assert_cmpuint(learned->ra.prefix[1].valid, ==, 0);
    world_free(w);
}

/* An agent that has not heard its router says nothing; it is asked again. */
static void test_no_prefix(void)
{
    World *w = away();
    Mip6HomeLearned *learned = &w->port.home.learned;
    PacketNd nd = {
        .type = PACKET_ND_RA, .src = address("fe80::1"),
        .ra = {
            .lifetime = 1800, .prefixes = 1,
            .prefix[0] = { address(HOME), 64, true, true, false, 7200, 3600 },
        },
    };

    learned->has_ra = learned->has_router = true;
    learned->ra = nd.ra;
    mip6_prefixes_lifetime(&w->port.prefixes, w->now, 60);
    pass(w, 31 * SECOND);
    g_assert_cmpuint(w->agent.solicited, ==, 1);
    g_assert_cmpuint(w->port.prefixes.advertised, ==, 0);
    g_assert_cmpuint(learned->ra.prefix[0].valid, ==, 7200);
    mip6_agent_heard(&w->agent, w->now, &nd);
    pass(w, 3 * SECOND);
    g_assert_cmpuint(w->agent.solicited, ==, 2);
    g_assert_cmpuint(w->port.prefixes.advertised, ==, 1);
    g_assert_cmpuint(learned->ra.prefix[0].valid, >, 7000);
    world_free(w);
}

/* The host was away before the VM came, with the lifetime of its prefix. */
static void test_prefix_arrives(void)
{
    World *w = away();
    Mip6HomeLearned *learned = &w->port.home.learned;

    hear_router(w);
    learned->ra.prefixes = 1;
    learned->ra.prefix[0] = (PacketNdPrefix) {
        address(HOME), 64, true, true, false, 120, 60,
    };
    w->port.prefixes.solicited = 0;
    mip6_port_run(&w->port, w->now);
    pass(w, 29 * SECOND);
    g_assert_cmpuint(w->port.prefixes.solicited, ==, 0);
    pass(w, 2 * SECOND);
    g_assert_cmpuint(w->port.prefixes.solicited, ==, 1);
    world_free(w);
}

/* Also ignore the agent: the VM may have registered from another host. */
static void test_pause_agent(void)
{
    World *w = away();
    Mip6Mh be = {
        .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING,
        .home = address(HOME),
    };
    Mip6Mh ba = { .type = MIP6_MH_BA, .status = MIP6_BA_SEQUENCE };

    w->deaf = true;
    hear_router(w);
    mip6_binding_refresh(&w->port.binding[0], w->now);
    mip6_port_pause(&w->port);
    w->now += SECOND;
    w->to_link = 0;
    ba.sequence = w->port.binding[0].sequence + 10;
    from_agent(w, &ba);
    from_agent(w, &be);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_MH_UNEXPECTED], ==, 2);
    g_assert_cmpint(w->to_link, ==, 0);
    /* It counts again when the VM runs again. */
    mip6_port_run(&w->port, w->now);
    w->to_link = 0;
    from_agent(w, &ba);
    pass(w, SECOND / 2);        /* not more than three in a second */
    g_assert_cmpint(w->to_link, ==, 1);
    g_assert_cmpint(w->port.binding[0].sequence, ==, ba.sequence + 1);
    world_free(w);
}

/* A stopped source registers nothing, after any event of its link. */
static void test_pause(void)
{
    World *w = away();
    struct in6_addr home = address(HOME);
    uint64_t registered = w->agent.registered;

    w->alive = true;
    mip6_port_pause(&w->port);
    advertise(w, "2001:db8:5000::", router_mac);
    pass(w, 100 * SECOND);
    g_assert_cmpint(w->agent.registered, ==, registered);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    pass(w, SECOND);
    g_assert_cmpint(w->agent.registered, >, registered);
    g_assert_nonnull(mip6_agent_binding(&w->agent, &home));
    world_free(w);
}

/* Frames for a stopped VM wait; when it has left they count as late. */
static void test_late(void)
{
    World *w = away();
    uint8_t frame[256], inner[256];
    size_t len = packet(inner, HOME, FAR, 8) - 14;
    unsigned changes;

    from_guest(w, inner, 14 + len);     /* tells its MAC address */
    w->queued = 0;
    packet(inner, FAR, HOME, 8);
    to_care_of(w, frame, AGENT, PACKET_PROTO_IP6, len);
    memcpy(frame + 54, inner + 14, len);
    len += 54;
    w->to_guest = 0;
    mip6_port_pause(&w->port);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_HELD);
    mip6_port_run(&w->port, w->now);    /* it stays */
    w->to_guest = 0;
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->to_guest, ==, 1);
    mip6_port_pause(&w->port);
    changes = w->changes;
    mip6_port_leave(&w->port, w->now);
    g_assert_cmpint(w->changes, >, changes);
    w->now += 11 * SECOND;      /* nobody forwards it any more */
    mip6_port_tick(&w->port, w->now);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_LATE], ==, 1);
    g_assert_cmpint(w->to_guest, ==, 1);
    mip6_port_run(&w->port, w->now);    /* the administrator enters "cont" */
    w->to_guest = 0;
    from_link(w, frame, len);
    g_assert_cmpint(w->to_guest, ==, 1);
    world_free(w);

    w = world_new(MIP6_LOCATION_AUTO, false);
    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    memcpy(frame, guest_mac, 6);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_PASS);
    mip6_port_pause(&w->port);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_HELD);
    mip6_port_leave(&w->port, w->now);
    w->now += 11 * SECOND;
    mip6_port_tick(&w->port, w->now);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_LATE], ==, 1);
    world_free(w);
}

/* A router advertises without its MAC address. */
static void advertise_without_mac(World *w, const char *prefix, uint32_t mtu)
{
    struct in6_addr src = packet_ip6_link_local(router_mac);
    PacketNdRa ra = {
        .hop_limit = 64, .lifetime = 1800, .prefixes = 1, .mtu = mtu,
        .prefix[0] = { address(prefix), 64, true, true, false, 7200, 3600 },
    };
    uint8_t frame[512];
    size_t len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                                    sizeof(frame) - PACKET_ETH_LEN, &src,
                                    &packet_ip6_all_nodes, &ra, NULL);

    packet_eth_build(frame, (uint8_t[]) { 0x33, 0x33, 0, 0, 0, 1 }, router_mac,
                     PACKET_ETH_IP6);
    from_link(w, frame, PACKET_ETH_LEN + len);
}

static void answer_for_router(World *w)
{
    struct in6_addr router = packet_ip6_link_local(router_mac);

    answer_for(w, &router);
}

/* An unsent update is sent as soon as possible, not at its next time. */
static void test_unsent(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);

    mip6_port_start(&w->port, w->now);
    advertise_without_mac(w, "2001:db8:3000::", 0);
    pass(w, 1100 * MS);
    g_assert_true(mip6_careof_address(&w->port.careof, w->now));
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    pass(w, 10 * MS);
    answer_for_router(w);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* During the migration, its host resolves the router, too. */
static void test_resolve_early(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);

    mip6_port_start(&w->port, w->now);
    advertise_without_mac(w, "2001:db8:3000::", 0);
    pass(w, 1100 * MS);
    answer_for_router(w);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_NO_NEXT_HOP], ==, 0);
    world_free(w);
}

/* The tunnel follows later advertisements of the link's MTU. */
static void test_link_mtu(void)
{
    World *w = away();

    advertise_without_mac(w, "2001:db8:3000::", 1400);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1360);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* The path's MTU is known (RFC 2473 section 6.7); no router tells it. */
static void test_path_mtu(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    Mip6PortConfig config = w->port.config;
    const Mip6PortOps *ops = w->port.ops;
    uint8_t frame[2048];

    config.mtu = 1400;
    mip6_port_destroy(&w->port);
    mip6_port_init(&w->port, &config, ops, w, true);
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1360);
    advertise_without_mac(w, "2001:db8:3000::", 1500);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1360);
    w->to_guest = 0;
    from_guest(w, frame, packet(frame, HOME, FAR, 1360 - PACKET_IP6_LEN));
    g_assert_cmpint(w->to_guest, ==, 0);
    g_assert_cmpint(w->link.len, ==, PACKET_ETH_LEN + 1400);
    from_guest(w, frame, packet(frame, HOME, FAR, 1361 - PACKET_IP6_LEN));
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(get_be32(w->guest.buf + 14 + 44), ==, 1360);
    advertise_without_mac(w, "2001:db8:3000::", 1300);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1280);
    advertise_without_mac(w, "2001:db8:3000::", 1500);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1360);
    world_free(w);
}

/* A second router at home, with another prefix, moves nobody. */
static void test_two_routers(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise(w, "2001:db8:2000::", home_router_mac);
    for (unsigned i = 0; i < 10; i++) {
        unsigned sent;

        g_assert_cmpint(advertise(w, "fd00::", router_mac), ==, MIP6_PASS);
        g_assert_false(mip6_port_is_away(&w->port));
        sent = w->to_link;
        pass(w, SECOND);
        g_assert_cmpint(w->to_link, >, sent);   /* the routers are asked */
        g_assert_cmpint(advertise(w, "2001:db8:2000::", home_router_mac), ==,
                        MIP6_PASS);
        pass(w, 100 * SECOND);
        g_assert_false(mip6_port_is_away(&w->port));
    }
    /* Another link, where no router advertises the home prefix. */
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 11 * SECOND);
    g_assert_false(mip6_port_is_away(&w->port));
    pass(w, 2 * SECOND);
    g_assert_true(mip6_port_is_away(&w->port));
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* Frames do not wait for a silent link, and not longer than the limit. */
static void test_hold_ends(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    uint8_t frame[256];
    size_t len = packet(frame, HOME, FAR, 8);
    unsigned changes;

    mip6_port_start(&w->port, w->now);
    pass(w, 60 * SECOND);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_HELD);
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_HELD);
    pass(w, 9 * SECOND);
    changes = w->changes;
    pass(w, SECOND);            /* who holds it is told to ask again */
    g_assert_cmpint(w->changes, >, changes);
    expect_drop(w, MIP6_DROP_UNBOUND, frame, len);
    world_free(w);
}

/* While the agent defends the guest's address, probes of it are held back. */
static void test_probe_at_home(void)
{
    World *w = away();
    struct in6_addr home = address(HOME), other = address("2001:db8:2000::7");
    struct in6_addr group = packet_ip6_solicited(&home);
    uint8_t frame[256], mac[6];
    size_t len = packet(frame, HOME, FAR, 8);

    from_guest(w, frame, len);
    w->queued = 0;
    w->deaf = true;
    advertise(w, "2001:db8:2000::", home_router_mac);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    packet_eth_group6(mac, &group);
    packet_eth_build(frame, mac, guest_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + 14, &in6addr_any, &group, &home, NULL);
    g_assert_cmpint(from_guest(w, frame, 14 + len), ==, MIP6_DONE);
    /* Others are asked for; and so is its own when the binding has ended. */
    len = packet_nd_build_ns(frame + 14, &home, &group, &other, guest_mac);
    g_assert_cmpint(from_guest(w, frame, 14 + len), ==, MIP6_PASS);
    w->port.binding[0].state = MIP6_HOME;
    len = packet_nd_build_ns(frame + 14, &in6addr_any, &group, &home, NULL);
    g_assert_cmpint(from_guest(w, frame, 14 + len), ==, MIP6_PASS);
    world_free(w);
}

/* Back at home, the guest's addresses are announced on the link. */
static void test_return(void)
{
    World *w = away();
    struct in6_addr home = address(HOME);
    uint8_t frame[256];
    PacketNd nd;
    size_t len = packet(frame, HOME, FAR, 8);

    from_guest(w, frame, len);  /* tells its MAC address */
    w->queued = 0;
    advertise(w, "2001:db8:2000::", home_router_mac);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    pass(w, SECOND / 2);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    w->on_home = 0;
    answer_for(w, &w->port.config.agent);       /* it is on the link now */
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_null(mip6_agent_binding(&w->agent, &home));
    g_assert_cmpint(w->on_home, ==, 1);
    g_assert_cmpmem(w->link.buf + 6, 6, guest_mac, 6);
    g_assert_true(packet_nd_parse(&nd, w->link.buf + 14, w->link.len - 14));
    g_assert_cmpint(nd.type, ==, PACKET_ND_NA);
    g_assert_cmpint(nd.flags, ==, PACKET_NA_OVERRIDE);
    g_assert_cmpmem(&nd.target, 16, &home, 16);
    g_assert_cmpmem(nd.tlla, 6, guest_mac, 6);
    world_free(w);
}

/* A frame of the guest to @mac goes to the router of the home link. */
static void leads_to_router(World *w, const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    uint8_t frame[256], wanted[256];
    size_t len = packet(frame, HOME, FAR, 100);

    g_assert_true(mip6_port_passes(&w->port, true, frame));
    memcpy(wanted, frame, len);
    memcpy(frame, mac, PACKET_ETH_ADDR_LEN);
    g_assert_false(mip6_port_passes(&w->port, true, frame));
    w->to_link = 0;
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_cmpint(w->to_link, ==, 1);
    g_assert_cmpmem(w->link.buf, w->link.len, wanted, len);
}

/* A VM that left before it knew a router uses the current router at home. */
static void test_router_made_up(void)
{
    World *w = away(), *v = world_new(MIP6_LOCATION_AUTO, true);
    struct in6_addr home = address(HOME), target = address("2001:db8:2000::f");
    struct in6_addr group = packet_ip6_solicited(&target);
    uint8_t frame[256], mac[PACKET_ETH_ADDR_LEN], saved[MIP6_PORT_SAVED_MAX];
    PacketNd nd;
    size_t len;

    packet_eth_group6(mac, &group);
    packet_eth_build(frame, mac, guest_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + 14, &home, &group, &target, guest_mac);
    from_guest(w, frame, 14 + len);
    g_assert_true(packet_nd_parse(&nd, w->guest.buf + 14, w->guest.len - 14));
    /* With a migration: its router advertises before the VM arrives. */
    len = mip6_port_save(&w->port, w->now, saved);
    mip6_port_start(&v->port, v->now);
    advertise(v, "2001:db8:2000::", home_router_mac);
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    mip6_port_run(&v->port, v->now);
    leads_to_router(v, nd.tlla);
    /* The link that it is on becomes its home link. */
    advertise(w, "2001:db8:2000::", home_router_mac);
    leads_to_router(w, nd.tlla);
    world_free(v);
    world_free(w);
}

/*
 * Nothing was heard at home: the agent is asked for what is advertised there.
 * The foreign router's advertisements are not the guest's, not even the first.
 */
static void test_started_away(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);
    PacketNd nd;

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    g_assert_cmpint(advertise(w, "2001:db8:3000::", router_mac), ==,
                    MIP6_DONE);
    g_assert_true(packet_nd_parse(&nd, w->guest.buf + PACKET_ETH_LEN,
                                  w->guest.len - PACKET_ETH_LEN));
    g_assert_cmpint(w->port.prefixes.solicited, ==, 0);
    pass(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.prefixes.solicited, >=, 1);
    g_assert_true(mip6_home_is_made_up(&w->port.home));
    world_free(w);
}

/* The first router that is heard answers the guest alone: it does not get it. */
static void test_guest_asks_away(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);
    PacketNdRa ra = {
        .lifetime = 1800, .prefixes = 1,
        .prefix[0] = { address("2001:db8:3000::"), 64, true, true, false, 7200,
                       3600 },
    };
    struct in6_addr src = packet_ip6_link_local(router_mac);
    struct in6_addr dst = packet_ip6_link_local(guest_mac);
    uint8_t frame[512];
    size_t len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                                    sizeof(frame) - PACKET_ETH_LEN, &src, &dst,
                                    &ra, router_mac);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    packet_eth_build(frame, guest_mac, router_mac, PACKET_ETH_IP6);
    g_assert_false(mip6_port_passes(&w->port, false, guest_mac));
    g_assert_cmpint(from_link(w, frame, PACKET_ETH_LEN + len), ==, MIP6_DONE);
    g_assert_true(mip6_port_is_away(&w->port));
    world_free(w);

    /* At home, where the router was heard, nothing is looked at. */
    w = world_new(MIP6_LOCATION_AUTO, false);
    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise(w, "2001:db8:2000::", home_router_mac);
    g_assert_true(mip6_port_passes(&w->port, false, guest_mac));
    world_free(w);
}

/* While the VM was away its router was replaced; the old one's MAC leads on. */
static void test_router_replaced(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);

    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    advertise(w, "2001:db8:2000::", own_mac);   /* of some other router */
    advertise(w, "2001:db8:3000::", router_mac);        /* the cable is moved */
    pass(w, 13 * SECOND);
    g_assert_true(mip6_port_is_away(&w->port));
    w->to_guest = 0;
    advertise(w, "2001:db8:2000::", home_router_mac);
    g_assert_false(mip6_port_is_away(&w->port));
    g_assert_cmpint(w->to_guest, ==, 3);
    leads_to_router(w, own_mac);
    /* A guest that stays at home is told nothing, */
    w->to_guest = 0;
    advertise(w, "2001:db8:2000::", router_mac);
    g_assert_cmpint(w->to_guest, ==, 0);
    /* except of what another router answers to us. */
    {
        PacketNdRa ra = {
            .lifetime = 1800, .prefixes = 1,
            .prefix[0] = { address(HOME), 64, true, true, false, 7200, 3600 },
        };
        struct in6_addr src = packet_ip6_link_local(home_router_mac);
        struct in6_addr dst = packet_ip6_link_local(own_mac);
        uint8_t frame[512];
        size_t len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                                        sizeof(frame) - PACKET_ETH_LEN, &src,
                                        &dst, &ra, home_router_mac);

        packet_eth_build(frame, own_mac, home_router_mac, PACKET_ETH_IP6);
        from_link(w, frame, PACKET_ETH_LEN + len);
        g_assert_cmpint(w->to_guest, ==, 1);
    }
    world_free(w);
}

/* A DHCPv6 server's answer of two messages. Returns the frame's length. */
static size_t leased(World *w, uint8_t *frame, const struct in6_addr *src,
                     const char *addr)
{
    uint8_t *udp = frame + PACKET_ETH_LEN + PACKET_IP6_LEN, *p = udp + 8;
    const size_t len = PACKET_UDP_LEN + 74;
    struct in6_addr dst = packet_ip6_link_local(own_mac), given = address(addr);
    PacketIp6 ip = { .src = *src, .dst = dst, .next = PACKET_PROTO_UDP,
                     .hops = 64, .payload = len };

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    packet_udp_build(udp, &(PacketUdp) { .src = 547, .dst = 546, .len = len });
    put_be32(p, 7 << 24 | w->port.careof.dhcp.id);
    memcpy(p + 4, "\0\1\0\xa\0\3\0\1", 8);
    memcpy(p + 12, own_mac, 6);
    memcpy(p + 18, "\0\2\0\4abcd\0\xe\0\0\0\3\0\x28", 16);
    memcpy(p + 34, own_mac + 2, 4);
    memset(p + 38, 0, 8);
    memcpy(p + 46, "\0\5\0\x18", 4);
    memcpy(p + 50, &given, 16);
    put_be32(p + 66, 600);
    put_be32(p + 70, 900);
    packet_udp_seal(udp, len, packet_sum_pseudo6(src, &dst, PACKET_PROTO_UDP,
                                                 len));
    return PACKET_ETH_LEN + PACKET_IP6_LEN + len;
}

/* A foreign link with DHCPv6 only: asked, bound, and left. */
static void test_managed(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    struct in6_addr server = packet_ip6_link_local(router_mac);
    struct in6_addr far = address(FAR), want = address("2001:db8:3000::77");
    uint64_t *dropped = w->port.dropped;
    uint8_t frame[256];
    size_t len;
    PacketNdRa ra = {
        .lifetime = 1800, .managed = true, .prefixes = 1,
        .prefix[0] = { address("2001:db8:3000::"), 64, true, false, false,
                       7200, 3600 },
    };

    hear_router(w);
    mip6_port_start(&w->port, w->now);
    advertise_ra(w, &ra, router_mac);
    pass(w, 1100 * MS);
    g_assert_cmpmem(w->link.buf, 6, "\x33\x33\0\1\0\2", 6);
    g_assert_cmpint(w->link.buf[PACKET_ETH_LEN + PACKET_IP6_LEN + 8], ==, 1);
    /* Of a neighbour only, and undamaged. */
    len = leased(w, frame, &far, "2001:db8:3000::77");
    from_link(w, frame, len);
    g_assert_cmpint(dropped[MIP6_DROP_UNKNOWN_PROTOCOL], ==, 1);
    len = leased(w, frame, &server, "2001:db8:3000::77");
    frame[len - 1] ^= 1;
    from_link(w, frame, len);
    g_assert_cmpint(dropped[MIP6_DROP_MALFORMED], ==, 1);
    frame[len - 1] ^= 1;
    for (size_t cut = PACKET_ETH_LEN + PACKET_IP6_LEN; cut < len; cut++) {
        from_link(w, frame, cut);
    }
    g_assert_false(w->port.careof.dhcp.has_address);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
    pass(w, 1100 * MS);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpmem(&w->port.binding[0].care_of, 16, &want, 16);
    /* The lease is kept while late packets are forwarded, then released. */
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    pass(w, 9 * SECOND);
    g_assert_true(w->port.careof.dhcp.has_address);
    pass(w, 2 * SECOND);
    g_assert_cmpint(w->port.careof.dhcp.state, ==, MIP6_DHCP6_OFF);
    g_assert_cmpint(w->link.buf[PACKET_ETH_LEN + PACKET_IP6_LEN + 8], ==, 8);
    pass(w, 100 * SECOND);
    g_assert_cmpint(w->port.careof.dhcp.state, ==, MIP6_DHCP6_OFF);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/port/home", test_home);
    g_test_add_func("/mip6/port/first-look", test_first_look);
    g_test_add_func("/mip6/port/tunnel", test_tunnel);
    g_test_add_func("/mip6/port/groups", test_groups);
    g_test_add_func("/mip6/port/guest-drops", test_guest_drops);
    g_test_add_func("/mip6/port/too-big", test_too_big);
    g_test_add_func("/mip6/port/segment-size", test_segment_size);
    g_test_add_func("/mip6/port/small-path", test_small_path);
    g_test_add_func("/mip6/port/fragments", test_fragments);
    g_test_add_func("/mip6/port/tunnel-errors", test_tunnel_errors);
    g_test_add_func("/mip6/port/binding-errors", test_binding_errors);
    g_test_add_func("/mip6/port/echo", test_echo);
    g_test_add_func("/mip6/port/wrong-mh", test_wrong_mh);
    g_test_add_func("/mip6/port/extensions", test_extensions);
    g_test_add_func("/mip6/port/agent-messages", test_agent_messages);
    g_test_add_func("/mip6/port/neighbours", test_neighbours);
    g_test_add_func("/mip6/port/wait", test_wait);
    g_test_add_func("/mip6/port/strangers", test_strangers);
    g_test_add_func("/mip6/port/tunnel-end", test_tunnel_end);
    g_test_add_func("/mip6/port/tunnel-checksum", test_tunnel_checksum);
    g_test_add_func("/mip6/port/migration", test_migration);
    g_test_add_func("/mip6/port/damage", test_damage);
    g_test_add_func("/mip6/port/pause", test_pause);
    g_test_add_func("/mip6/port/late", test_late);
    g_test_add_func("/mip6/port/unsent", test_unsent);
    g_test_add_func("/mip6/port/resolve-early", test_resolve_early);
    g_test_add_func("/mip6/port/link-mtu", test_link_mtu);
    g_test_add_func("/mip6/port/path-mtu", test_path_mtu);
    g_test_add_func("/mip6/port/two-routers", test_two_routers);
    g_test_add_func("/mip6/port/hold-ends", test_hold_ends);
    g_test_add_func("/mip6/port/return", test_return);
    g_test_add_func("/mip6/port/router-made-up", test_router_made_up);
    g_test_add_func("/mip6/port/started-away", test_started_away);
    g_test_add_func("/mip6/port/guest-asks-away", test_guest_asks_away);
    g_test_add_func("/mip6/port/managed", test_managed);
    g_test_add_func("/mip6/port/router-replaced", test_router_replaced);
    g_test_add_func("/mip6/port/probe-at-home", test_probe_at_home);
    g_test_add_func("/mip6/port/pause-agent", test_pause_agent);
    g_test_add_func("/mip6/port/prefixes", test_prefixes);
    g_test_add_func("/mip6/port/no-prefix", test_no_prefix);
    g_test_add_func("/mip6/port/prefix-arrives", test_prefix_arrives);
    return g_test_run();
}
