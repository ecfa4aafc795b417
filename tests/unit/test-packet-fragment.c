/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fragments become packets: in any order, few at a time, none of overlaps */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/packet/fragment.h"

/* Octets [@offset, @offset + @len) of packet @id, which is of UDP. */
static uint8_t *give(PacketReassembly *r, int64_t now, uint32_t id,
                     size_t offset, size_t len, bool more, size_t *whole)
{
    g_autofree uint8_t *packet = g_malloc(48 + len);
    PacketIp6 ip = { .next = PACKET_PROTO_FRAGMENT, .hops = 64,
                     .payload = 8 + len };
    PacketIp6Ext ext;

    ip.src.s6_addr[0] = ip.dst.s6_addr[0] = 0x20;
    packet_ip6_build(packet, &ip);
    packet[40] = PACKET_PROTO_UDP;
    packet[41] = 0;
    put_be16(packet + 42, offset | more);
    put_be32(packet + 44, id);
    for (size_t i = 0; i < len; i++) {
        packet[48 + i] = (offset + i) * 3 + id;
    }
    g_assert_true(packet_ip6_walk(&ext, packet, 48 + len));
    return packet_reassemble(r, now, packet, 48 + len, &ext, whole);
}

static void assert_whole(const uint8_t *packet, size_t len, uint32_t id,
                         size_t want)
{
    PacketIp6 ip;

    g_assert_nonnull(packet);
    g_assert_cmpint(len, ==, PACKET_IP6_LEN + want);
    g_assert_true(packet_ip6_parse(&ip, packet, len));
    g_assert_cmpint(ip.payload, ==, want);
    g_assert_cmpint(ip.next, ==, PACKET_PROTO_UDP);
    for (size_t i = 0; i < want; i++) {
        g_assert_cmpint(packet[40 + i], ==, (uint8_t)(i * 3 + id));
    }
}

static void test_orders(void)
{
    static const unsigned orders[][3] = {
        { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
        { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
    };
    g_autofree PacketReassembly *r = g_new0(PacketReassembly, 1);
    uint8_t *packet = NULL;
    size_t len;

    for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
        for (unsigned j = 0; j < 3; j++) {
            unsigned at = orders[i][j];

            g_assert_null(packet);
            packet = give(r, 0, i, at * 504, at == 2 ? 333 : 504, at < 2,
                          &len);
        }
        assert_whole(packet, len, i, 1341);
        packet = NULL;
    }
    packet = give(r, 0, 9, 0, PACKET_REASSEMBLY_MAX - 8, true, &len);
    g_assert_null(packet);
    packet = give(r, 0, 9, PACKET_REASSEMBLY_MAX - 8, 8, false, &len);
    assert_whole(packet, len, 9, PACKET_REASSEMBLY_MAX);
    g_assert_cmpint(r->lost, ==, 0);
}

static void test_overlaps(void)
{
    static const struct {
        size_t offset, len;
        bool more;
    } bad[] = {
        { 0, 16, true }, { 8, 8, true }, { 8, 24, true }, { 0, 9, false },
        { 8, 1, false },
        { 4096, 8, true },          /* too far */
        { 2040, 9, false },
        { 32, 12, true },           /* not a multiple of 8 */
    };
    g_autofree PacketReassembly *r = g_new0(PacketReassembly, 1);
    size_t len;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        r->lost = 0;
        g_assert_null(give(r, 0, i, 0, 16, true, &len));
        g_assert_null(give(r, 0, i, bad[i].offset, bad[i].len, bad[i].more,
                           &len));
        g_assert_cmpint(r->lost, ==, i < 5 ? 2 : 1);
    }
    /* Two ends, and octets behind the end. */
    memset(r, 0, sizeof(*r));
    g_assert_null(give(r, 0, 1, 16, 8, false, &len));
    g_assert_null(give(r, 0, 1, 24, 8, true, &len));
    g_assert_cmpint(r->lost, ==, 2);
    g_assert_null(give(r, 0, 1, 16, 8, false, &len));
    g_assert_null(give(r, 0, 1, 32, 8, false, &len));
    g_assert_cmpint(r->lost, ==, 4);
    g_assert_null(give(r, 0, 1, 24, 8, true, &len));
    g_assert_null(give(r, 0, 1, 16, 4, false, &len));
    g_assert_cmpint(r->lost, ==, 6);
}

/* The oldest makes room; what has waited for too long counts as lost. */
static void test_bounds(void)
{
    g_autofree PacketReassembly *r = g_new0(PacketReassembly, 1);
    const uint8_t *packet;
    size_t len;

    for (unsigned i = 0; i <= PACKET_REASSEMBLY_SLOTS; i++) {
        g_assert_null(give(r, i, i, 0, 8, true, &len));
    }
    g_assert_cmpint(r->lost, ==, 1);
    packet = give(r, 20, 1, 8, 8, false, &len);
    assert_whole(packet, len, 1, 16);
    g_assert_null(give(r, 20, 0, 8, 8, false, &len));
    g_assert_null(give(r, 61 * SECOND, 2, 8, 8, false, &len));
    g_assert_cmpint(r->lost, ==, 1 + 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/fragment/orders", test_orders);
    g_test_add_func("/packet/fragment/overlaps", test_overlaps);
    g_test_add_func("/packet/fragment/bounds", test_bounds);
    return g_test_run();
}
