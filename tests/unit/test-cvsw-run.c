/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of frames through two NICs, back to back
 *
 * One decapsulates the frames that the other one encapsulates.
 */
#include "base/octets.h"
#include "tests/fixtures/cvsw-nic.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

enum { MTU = 1500, MSS = NIC_MSS };

/* A segment out of the tunnel: complete, with correct checksums. */
static size_t assert_segment(const NicFrame *f, bool is_ip4, size_t at)
{
    size_t ip_len = is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN;
    const uint8_t *l3 = f->data + PACKET_ETH_LEN, *l4 = l3 + ip_len;
    size_t l4_len = f->len - PACKET_ETH_LEN - ip_len;
    uint32_t sum = packet_sum_pseudo(l3, 6, l4_len);

    if (is_ip4) {
        g_assert_true(packet_ip4_sum_is_good(l3, ip_len));
        g_assert_cmpuint(get_be16(l3 + 2), ==, ip_len + l4_len);
    } else {
        g_assert_cmpuint(get_be16(l3 + 4), ==, l4_len);
    }
    g_assert_cmphex(packet_sum_fold(packet_sum_add(sum, l4, l4_len)), ==, 0);
    g_assert_cmpuint(get_be32(l4 + 4), ==, at);
    for (size_t i = PACKET_TCP_LEN; i < l4_len; i++) {
        size_t n = at + i - PACKET_TCP_LEN;

        g_assert_cmphex(l4[i], ==, (uint8_t)(n * 31 + (n >> 8)));
    }
    return l4_len - PACKET_TCP_LEN;
}

static void assert_arrived(Nic *nic, bool is_ip4, size_t payload)
{
    size_t at = 0;

    g_assert_cmpint(nic->guest->len, >, 0);
    for (unsigned i = 0; i < nic->guest->len; i++) {
        at += assert_segment(g_ptr_array_index(nic->guest, i), is_ip4, at);
    }
    g_assert_cmpuint(at, ==, payload);
}

/* No outer packet is longer than the link takes, or a fragment. */
static void assert_outer(Nic *nic, bool is_ip6, bool sealed)
{
    for (unsigned i = 0; i < nic->wire->len; i++) {
        const NicFrame *f = g_ptr_array_index(nic->wire, i);
        PacketFlow flow;

        g_assert_cmpuint(f->len, <=, MTU + PACKET_ETH_LEN);
        g_assert_true(packet_flow_parse(&flow, f->data, MIN(f->len, 512),
                                        f->len));
        g_assert_true(flow.has & (is_ip6 ? PACKET_FLOW_IP6
                                         : PACKET_FLOW_IP4));
        g_assert_false(flow.has & PACKET_FLOW_FRAGMENT);
        g_assert_cmpint(flow.protocol, ==, sealed ? ESP_PROTOCOL
                                                  : PACKET_PROTO_UDP);
        if (!sealed) {
            g_assert_cmpint(flow.dst_port, ==, 4789);
            g_assert_cmpint(flow.src_port, >=, 0xc000);
        }
    }
}

static void through(bool is_ip4, bool outer_ip6, bool sealed, size_t payload,
                    bool partial)
{
    Nic *a = nic_new(), *b = nic_new();
    g_autofree NicFrame *f = nic_tcp(is_ip4, payload, partial || payload > MSS);

    nic_connect(a, b, outer_ip6, sealed);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, payload ? (payload + MSS - 1) / MSS : 1);
    assert_outer(a, outer_ip6, sealed);
    nic_carry(a, b);
    assert_arrived(b, is_ip4, payload);
    nic_free(a);
    nic_free(b);
}

static void test_tunnel(void)
{
    static const size_t sizes[] = {
        0, 1, 2, 63, 64, 511, 1000, MSS - 1, MSS, MSS + 1, 2 * MSS,
        2 * MSS + 1, 32768, 65535 - PACKET_IP4_LEN - PACKET_TCP_LEN,
    };

    for (unsigned way = 0; way < 16; way++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
            through(way & 1, way & 2, way & 4, sizes[i], way & 8);
        }
    }
}

/* The host's kernel leaves the inner checksum to its NIC. */
static void test_partial_inside(void)
{
    Nic *a = nic_new(), *b = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);
    size_t at = PACKET_ETH_LEN + PACKET_IP4_LEN + 8 + 8, l4 = 14 + 20;
    const NicFrame *inner;
    NicFrame *outer;
    uint8_t *tcp;

    nic_connect(a, b, false, false);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    outer = g_ptr_array_index(a->wire, 0);
    tcp = outer->data + at + l4;
    put_be16(tcp + PACKET_TCP_CHECKSUM, packet_sum_partial(
        packet_sum_pseudo(tcp - 20, 6, PACKET_TCP_LEN + 100)));
    outer->offload.needs_csum = true;
    outer->offload.csum_start = at + l4;
    outer->offload.csum_offset = PACKET_TCP_CHECKSUM;
    nic_carry(a, b);
    inner = g_ptr_array_index(b->guest, 0);
    g_assert_true(inner->offload.needs_csum);
    g_assert_cmpint(inner->offload.csum_start, ==, l4);
    g_assert_cmpint(inner->offload.csum_offset, ==, PACKET_TCP_CHECKSUM);
    /* The outer checksum does not depend on the inner frame. */
    outer->offload.csum_start = PACKET_ETH_LEN + PACKET_IP4_LEN;
    nic_carry(a, b);
    inner = g_ptr_array_index(b->guest, 1);
    g_assert_false(inner->offload.needs_csum);
    /* A checksum over missing octets is impossible. */
    outer->offload.csum_start = outer->len - 10;
    nic_carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 2);
    nic_free(a);
    nic_free(b);
}

/* A frame whose flow encrypts never leaves in clear. */
static void test_no_sa(void)
{
    Nic *a = nic_new(), *b = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);

    nic_connect(a, b, false, true);
    g_assert_true(cvsw_sas_delete(a->run.sas, 1));
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 0);
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_NO_SA), ==, 1);
    /* Also with a flow without the tunnel. */
    {
        CvswAction bare[2] = {
            nic_with_sa(CVSW_ACTION_ENCRYPT, 1), nic_output(CVSW_PORT_WIRE),
        };

        nic_flow_from(a, CVSW_PORT_GUEST, bare, 2);
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->wire->len, ==, 0);
    }
    nic_free(a);
    nic_free(b);
}

/* Another key, a repeated frame, a frame in clear: all are refused. */
static void test_intruder(void)
{
    Nic *a = nic_new(), *b = nic_new(), *c = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);

    nic_connect(a, b, false, true);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    nic_carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    nic_carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    g_assert_cmpuint(b->run.esp[ESP_REPLAYED], ==, 1);
    nic_add_sa(a, 1, ESP_OUTBOUND, 8);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_ptr_array_set_size(a->wire, 0);   /* with a number that was seen */
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    nic_carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    g_assert_cmpuint(b->run.esp[ESP_ICV], ==, 1);
    nic_connect(c, b, false, false);
    {
        CvswAction in[2] = {
            nic_with_sa(CVSW_ACTION_DECRYPT, 0),
            { .type = CVSW_ACTION_TUNNEL_DECAP },
        };

        nic_flow_from(b, CVSW_PORT_WIRE, in, 2);
    }
    g_assert_true(nic_put_in(c, CVSW_PORT_GUEST, f));
    nic_carry(c, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    g_assert_cmpuint(nic_dropped(b, CVSW_PORT_WIRE, CVSW_DROP_NOT_SEALED), ==,
                     1);
    nic_free(a);
    nic_free(b);
    nic_free(c);
}

/* Any octet of an outer frame may be wrong. */
static void test_damaged(void)
{
    for (unsigned sealed = 0; sealed < 2; sealed++) {
        Nic *a = nic_new(), *b = nic_new();
        g_autofree NicFrame *f = nic_tcp(true, 60, false);
        NicFrame *outer;

        nic_connect(a, b, sealed, sealed);
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        outer = g_ptr_array_index(a->wire, 0);
        for (size_t i = 0; i < outer->len; i++) {
            outer->data[i] ^= 0xff;
            nic_put_in(b, CVSW_PORT_WIRE, outer);
            outer->data[i] ^= 0xff;
        }
        for (size_t len = 40; len < outer->len; len++) {
            NicFrame cut = *outer;

            cut.len = len;
            nic_put_in(b, CVSW_PORT_WIRE, &cut);
        }
        if (sealed) {
            /* The outer Ethernet and IPv6 addresses are not covered. */
            g_assert_cmpuint(b->run.esp[ESP_GOOD], ==, 0);
        }
        nic_free(a);
        nic_free(b);
    }
}

/* No flow: to the other side unchanged, or dropped if configured so. */
static void test_miss(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);

    g_assert_false(nic_put_in(a, CVSW_PORT_GUEST, f));
    a->run.drop_misses = true;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_MISS), ==, 1);
    g_assert_cmpint(a->wire->len, ==, 0);
    nic_free(a);
}

static void test_outputs(void)
{
    static const struct {
        uint32_t port;
        unsigned guest, wire, punted;
    } cases[] = {
        { CVSW_PORT_WIRE, 0, 1, 0 },
        { CVSW_PORT_GUEST, 0, 0, 0 },           /* where it came from */
        { CVSW_OUT_IN_PORT, 1, 0, 0 },
        { CVSW_OUT_NORMAL, 0, 1, 0 },
        { CVSW_OUT_ALL, 0, 1, 0 },
        { CVSW_OUT_FLOOD, 0, 1, 0 },
        { CVSW_OUT_CONTROLLER, 0, 0, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Nic *a = nic_new();
        g_autofree NicFrame *f = nic_tcp(true, 100, false);
        CvswAction action = nic_output(cases[i].port);

        nic_flow_from(a, CVSW_PORT_GUEST, &action, 1);
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->guest->len, ==, cases[i].guest);
        g_assert_cmpint(a->wire->len, ==, cases[i].wire);
        g_assert_cmpint(a->punted, ==, cases[i].punted);
        g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_FLOW), ==,
                         cases[i].port == CVSW_PORT_GUEST);
        nic_free(a);
    }
}

/* An empty list drops, and counts for its flow. */
static void test_drop(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);

    nic_flow_from(a, CVSW_PORT_GUEST, NULL, 0);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_FLOW), ==, 1);
    nic_free(a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/run/tunnel", test_tunnel);
    g_test_add_func("/cvsw/run/partial-inside", test_partial_inside);
    g_test_add_func("/cvsw/run/no-sa", test_no_sa);
    g_test_add_func("/cvsw/run/intruder", test_intruder);
    g_test_add_func("/cvsw/run/damaged", test_damaged);
    g_test_add_func("/cvsw/run/miss", test_miss);
    g_test_add_func("/cvsw/run/outputs", test_outputs);
    g_test_add_func("/cvsw/run/drop", test_drop);
    return g_test_run();
}
