/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-net's header: what is written is what the kernel reads, and back */
#include <glib.h>
#include <string.h>

#include "net/packet/eth.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"
#include "net/stage/vnet.h"

static PacketOffload in_tunnel(bool outer6, PacketGso gso, bool csum)
{
    PacketOffload o = {
        .needs_csum = true,
        .gso = gso,
        .gso_size = 1300,
        .csum_offset = gso == PACKET_GSO_UDP ? PACKET_UDP_CHECKSUM
                                             : PACKET_TCP_CHECKSUM,
        .tunnel = outer6 ? PACKET_TUNNEL_UDP6 : PACKET_TUNNEL_UDP4,
        .tunnel_csum = csum,
    };

    o.outer_l4 = PACKET_ETH_LEN + (outer6 ? PACKET_IP6_LEN : PACKET_IP4_LEN);
    o.inner_l3 = o.outer_l4 + 8 + 8 + PACKET_ETH_LEN;
    o.csum_start = o.inner_l3 + (gso == PACKET_GSO_TCP6 ? PACKET_IP6_LEN
                                                        : PACKET_IP4_LEN);
    o.head_len = o.csum_start + 20;
    return o;
}

static void assert_same(const PacketOffload *a, const PacketOffload *b)
{
    g_assert_cmpint(a->needs_csum, ==, b->needs_csum);
    g_assert_cmpuint(a->csum_start, ==, b->csum_start);
    g_assert_cmpuint(a->csum_offset, ==, b->csum_offset);
    g_assert_cmpint(a->gso, ==, b->gso);
    g_assert_cmpint(a->ecn, ==, b->ecn);
    g_assert_cmpuint(a->gso_size, ==, b->gso_size);
    g_assert_cmpuint(a->head_len, ==, b->head_len);
    g_assert_cmpint(a->tunnel, ==, b->tunnel);
    g_assert_cmpint(a->tunnel_csum, ==, b->tunnel_csum);
    g_assert_cmpuint(a->outer_l4, ==, b->outer_l4);
    g_assert_cmpuint(a->inner_l3, ==, b->inner_l3);
}

/* As Linux 6.18 gives them for VXLAN that carries TCP. */
static void test_kernel(void)
{
    static const struct {
        bool outer6;
        PacketGso gso;
        uint8_t header[NET_STAGE_VNET_TUNNEL];
    } seen[] = {
        { false, PACKET_GSO_TCP4,
          { 0x01, 0x21, 0x68, 0, 0x14, 0x05, 0x54, 0, 0x10, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0x22, 0, 0x40, 0 } },
        { false, PACKET_GSO_TCP6,
          { 0x01, 0x24, 0x7c, 0, 0x14, 0x05, 0x68, 0, 0x10, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0x22, 0, 0x40, 0 } },
        { true, PACKET_GSO_TCP4,
          { 0x09, 0x41, 0x7c, 0, 0x14, 0x05, 0x68, 0, 0x10, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0x36, 0, 0x54, 0 } },
        { true, PACKET_GSO_TCP6,
          { 0x09, 0x44, 0x90, 0, 0x14, 0x05, 0x7c, 0, 0x10, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0x36, 0, 0x54, 0 } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(seen); i++) {
        PacketOffload want = in_tunnel(seen[i].outer6, seen[i].gso,
                                       seen[i].outer6);
        PacketOffload got = net_stage_vnet_read(seen[i].header,
                                                NET_STAGE_VNET_TUNNEL);
        uint8_t header[NET_STAGE_VNET_TUNNEL] = { 0 };

        assert_same(&got, &want);
        net_stage_vnet_write(header, sizeof(header), &want);
        g_assert_cmpmem(header, sizeof(header), seen[i].header,
                        sizeof(header));
    }
}

static void both_ways(const PacketOffload *o, size_t len)
{
    uint8_t header[NET_STAGE_VNET_TUNNEL + 1] = { 0 };
    PacketOffload got;

    net_stage_vnet_write(header, len, o);
    for (size_t i = len; i < sizeof(header); i++) {
        g_assert_cmphex(header[i], ==, 0);
    }
    got = net_stage_vnet_read(header, len);
    assert_same(&got, o);
}

static void test_both_ways(void)
{
    static const size_t lens[] = { 10, 12, 20, NET_STAGE_VNET_TUNNEL };

    for (unsigned way = 0; way < 32; way++) {
        PacketGso gso = way & 3;
        PacketOffload o = in_tunnel(way & 8, gso, way & 16);

        o.ecn = way & 4 && (gso == PACKET_GSO_TCP4 || gso == PACKET_GSO_TCP6);
        if (gso != PACKET_GSO_NONE) {
            both_ways(&o, NET_STAGE_VNET_TUNNEL);
        } else {
            o.gso_size = o.head_len = 0;
        }
        o.tunnel = PACKET_TUNNEL_NONE;
        o.tunnel_csum = false;
        o.outer_l4 = o.inner_l3 = 0;
        for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
            both_ways(&o, lens[i]);
        }
    }
}

/* A header that a guest has, which knows no tunnels, cannot say one. */
static void test_shorter(void)
{
    PacketOffload o = in_tunnel(false, PACKET_GSO_TCP4, false), got;
    uint8_t header[NET_STAGE_VNET_TUNNEL] = { 0 };

    net_stage_vnet_write(header, sizeof(header), &o);
    for (size_t len = 0; len < sizeof(header); len++) {
        got = net_stage_vnet_read(header, len);
        g_assert_cmpint(got.tunnel, ==, PACKET_TUNNEL_NONE);
        g_assert_cmpint(got.gso, ==, PACKET_GSO_NONE);
    }
}

static void refused(PacketOffload o, uint8_t type)
{
    uint8_t header[NET_STAGE_VNET_TUNNEL] = { 0 };
    PacketOffload got;

    net_stage_vnet_write(header, sizeof(header), &o);
    header[1] |= type;
    got = net_stage_vnet_read(header, sizeof(header));
    g_assert_cmpint(got.tunnel, !=, PACKET_TUNNEL_NONE);
    g_assert_cmpuint(got.outer_l4, ==, 0);
    g_assert_cmpuint(got.inner_l3, ==, 0);
}

/* Each offset one octet before the end of what is before it. */
static void test_hostile(void)
{
    for (unsigned way = 0; way < 4; way++) {
        PacketGso gso = way & 1 ? PACKET_GSO_TCP6 : PACKET_GSO_TCP4;
        PacketOffload good = in_tunnel(way & 2, gso, false), o = good;

        o.outer_l4--;
        refused(o, 0);
        o = good;
        o.inner_l3 = o.outer_l4 + PACKET_UDP_LEN - 1;
        refused(o, 0);
        o = good;
        o.csum_start--;
        refused(o, 0);
        o = good;
        o.needs_csum = false;
        refused(o, 0);
        refused(good, 0x60);            /* over both versions of IP */
        o = good;
        o.gso = PACKET_GSO_NONE;
        refused(o, 0x20);
        refused(o, 0x23);               /* UFO */
    }
}

static void test_any(void)
{
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t header[NET_STAGE_VNET_TUNNEL];
        PacketOffload o;

        for (size_t j = 0; j < sizeof(header); j++) {
            header[j] = g_test_rand_int();
        }
        header[7] &= g_test_rand_bit() ? 0 : 0xff;
        header[21] = header[23] = 0;
        o = net_stage_vnet_read(header, sizeof(header));
        if (o.outer_l4) {
            g_assert_true(o.tunnel && o.gso && o.needs_csum);
            g_assert_cmpuint(o.outer_l4, >=, 34);
            g_assert_cmpuint(o.inner_l3, >=, o.outer_l4 + 8);
            g_assert_cmpuint(o.csum_start, >=, o.inner_l3 + 20);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stage/vnet/kernel", test_kernel);
    g_test_add_func("/stage/vnet/both-ways", test_both_ways);
    g_test_add_func("/stage/vnet/shorter", test_shorter);
    g_test_add_func("/stage/vnet/hostile", test_hostile);
    g_test_add_func("/stage/vnet/any", test_any);
    return g_test_run();
}
