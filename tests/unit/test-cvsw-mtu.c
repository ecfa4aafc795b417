/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose MTU is too large
 *
 * It gets ICMP errors, at a limited rate; its connections announce a fitting
 * MSS; its segments become smaller.
 */
#include <arpa/inet.h>

#include "base/octets.h"
#include "tests/fixtures/cvsw-nic.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "tests/fixtures/packet-frames.h"

enum { GUEST_MTU = 1500, MTU = 1450 };

static uint8_t payload[2048];

static const FrameSpec big4 = {
    .is_ip4 = true, .is_udp = true, .dont_fragment = true, .payload = payload,
    .len = GUEST_MTU - 28,
};
static const FrameSpec big6 = {
    .is_udp = true, .payload = payload, .len = GUEST_MTU - 48,
};

static NicFrame *make(const FrameSpec *spec)
{
    NicFrame *f = g_new0(NicFrame, 1);

    f->len = frame_make(f->data, spec);
    return f;
}

static const NicFrame *last(GPtrArray *frames)
{
    return g_ptr_array_index(frames, frames->len - 1);
}

/* --- telling -------------------------------------------------------------- */

/* An ICMP error for the guest that has sent @f, about its packet. */
static void assert_told(const NicFrame *told, const NicFrame *f, bool is_ip4,
                        unsigned mtu)
{
    bool tagged = get_be16(f->data + 12) == PACKET_ETH_VLAN;
    size_t l3 = tagged ? 18 : 14, quote;
    const uint8_t *icmp = told->data + l3 + (is_ip4 ? PACKET_IP4_LEN
                                                    : PACKET_IP6_LEN);

    g_assert_cmpmem(told->data, 6, f->data + 6, 6);
    g_assert_cmpmem(told->data + 6, 6, f->data, 6);
    g_assert_cmpmem(told->data + 12, l3 - 12, f->data + 12, l3 - 12);
    g_assert_cmpint(icmp[0], ==, is_ip4 ? 3 : 2);
    g_assert_cmpuint(get_be32(icmp + 4), ==, mtu);
    quote = told->data + told->len - icmp - 8;
    g_assert_cmpuint(quote, >, 500);
    g_assert_cmpmem(icmp + 8, quote, f->data + l3, quote);
}

/* The error quotes the guest's packet, before changes by its flow. */
static void test_told(void)
{
    for (unsigned way = 0; way < 8; way++) {
        bool is_ip4 = way & 1;
        Nic *a = nic_new();
        FrameSpec spec = is_ip4 ? big4 : big6;
        g_autofree NicFrame *f = NULL;
        CvswAction actions[3] = {
            { .type = CVSW_ACTION_SET_NW_SRC, .ip4.s_addr = htonl(1) },
            nic_into_tunnel(false),
            nic_output(CVSW_PORT_WIRE),
        };

        spec.tagged = way & 4;
        f = make(&spec);
        a->run.mtu = MTU;
        if (way & 2) {
            nic_flow_from(a, CVSW_PORT_GUEST, actions, 3);
        }
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->wire->len, ==, 0);
        g_assert_cmpint(a->guest->len, ==, 1);
        assert_told(last(a->guest), f, is_ip4, MTU);
        g_assert_cmpuint(a->run.icmp_errors, ==, 1);
        g_assert_cmpint(a->out_of_tunnel, ==, 0);
        g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_TOO_BIG),
                         ==, 1);
        nic_free(a);
    }
}

/* Without an MTU, and towards the guest, all packets pass. */
static void test_not_told(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = make(&big4);

    g_assert_false(nic_put_in(a, CVSW_PORT_GUEST, f));
    a->run.mtu = MTU;
    g_assert_false(nic_put_in(a, CVSW_PORT_WIRE, f));
    a->run.mtu = GUEST_MTU;
    g_assert_false(nic_put_in(a, CVSW_PORT_GUEST, f));
    /* No error about packets to or from a group, which are dropped, too. */
    a->run.mtu = MTU;
    f->data[0] |= 1;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    f->data[0] &= ~1;
    f->data[6] |= 1;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    /* No error about frames without IP. */
    f->data[6] &= ~1;
    put_be16(f->data + 12, 0x88b6);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len + a->guest->len, ==, 0);
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_TOO_BIG), ==,
                     3);
    nic_free(a);
}

static void put_at(Nic *nic, const NicFrame *f, uint64_t ms)
{
    struct iovec iov = { (void *)f->data, f->len };

    g_assert_true(cvsw_run(&nic->run, CVSW_PORT_GUEST, &iov, 1, &f->offload,
                           ms));
}

/* 50 at once, then 100 a second. */
static void test_bounded(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = make(&big4);

    a->run.mtu = MTU;
    for (unsigned i = 0; i < 80; i++) {
        put_at(a, f, 1000);
    }
    g_assert_cmpint(a->guest->len, ==, 50);
    put_at(a, f, 1009);
    g_assert_cmpint(a->guest->len, ==, 50);
    put_at(a, f, 1010);
    put_at(a, f, 1010);
    g_assert_cmpint(a->guest->len, ==, 51);
    for (unsigned ms = 1011; ms <= 3010; ms++) {
        put_at(a, f, ms);
    }
    g_assert_cmpint(a->guest->len, ==, 251);
    for (unsigned i = 0; i < 80; i++) {
        put_at(a, f, 100000);
    }
    g_assert_cmpint(a->guest->len, ==, 301);
    g_assert_cmpuint(a->run.icmp_errors, ==, 301);
    nic_free(a);
}

/* The wire's MTU includes the outer headers of the flow. */
static void test_link(void)
{
    static const struct {
        bool tunnel, outer6, sealed;
        unsigned room;
    } cases[] = {
        { false, false, false, 1400 },
        { true, false, false, 1400 - 50 },
        { true, true, false, 1400 - 70 },
        { true, false, true, 1400 - 20 - 32 - 2 - 30 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Nic *a = nic_new(), *b = nic_new();
        g_autofree NicFrame *f = make(&big4);

        a->run.link_mtu = 1400;
        if (cases[i].tunnel) {
            nic_connect(a, b, cases[i].outer6, cases[i].sealed);
        }
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        assert_told(last(a->guest), f, true, cases[i].room);
        /* The smaller MTU counts. */
        a->run.mtu = 1300;
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        assert_told(last(a->guest), f, true, 1300);
        nic_free(a);
        nic_free(b);
    }
}

/* --- TCP ------------------------------------------------------------------ */

/* A SYN that announces 1460. */
static NicFrame *make_syn(bool is_ip4, uint8_t flags)
{
    static const uint8_t option[] = { 2, 4, 0x05, 0xb4 };
    FrameSpec spec = {
        .is_ip4 = is_ip4, .flags = flags, .payload = option, .len = 4,
    };
    NicFrame *f = make(&spec);
    uint8_t *ip = f->data + PACKET_ETH_LEN;
    uint8_t *tcp = ip + (is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN);

    tcp[12] = 6 << 4;
    put_be16(tcp + PACKET_TCP_CHECKSUM, 0);
    put_be16(tcp + PACKET_TCP_CHECKSUM, packet_sum_fold(packet_sum_add(
        packet_sum_pseudo(ip, PACKET_PROTO_TCP, 24), tcp, 24)));
    return f;
}

static void assert_announces(const NicFrame *f, bool is_ip4, unsigned mss)
{
    const uint8_t *ip = f->data + PACKET_ETH_LEN;
    const uint8_t *tcp = ip + (is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN);

    g_assert_cmpint(get_be16(tcp + 22), ==, mss);
    g_assert_cmphex(packet_sum_fold(packet_sum_add(
        packet_sum_pseudo(ip, PACKET_PROTO_TCP, 24), tcp, 24)), ==, 0);
}

static void test_syn(void)
{
    static const uint8_t flags[] = {
        PACKET_TCP_SYN, PACKET_TCP_SYN | PACKET_TCP_ACK,
    };

    for (unsigned way = 0; way < 8; way++) {
        bool is_ip4 = way & 1, tunnel = way & 4;
        Nic *a = nic_new(), *b = nic_new();
        g_autofree NicFrame *f = make_syn(is_ip4, flags[way >> 1 & 1]);
        unsigned mss = MTU - (is_ip4 ? 40 : 60);

        if (tunnel) {
            nic_connect(a, b, false, false);
        }
        a->run.mtu = MTU;
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->wire->len, ==, 1);
        if (tunnel) {
            nic_carry(a, b);
            assert_announces(last(b->guest), is_ip4, mss);
            g_assert_cmpint(b->out_of_tunnel, ==, 1);
        } else {
            assert_announces(last(a->wire), is_ip4, mss);
            /* The answer's, too. */
            g_assert_true(nic_put_in(a, CVSW_PORT_WIRE, f));
            assert_announces(last(a->guest), is_ip4, mss);
        }
        nic_free(a);
        nic_free(b);
    }
}

/* Packets out of a tunnel, for a guest with a smaller MTU. */
static void test_syn_inside(void)
{
    Nic *a = nic_new(), *b = nic_new();
    g_autofree NicFrame *f = make_syn(true, PACKET_TCP_SYN);

    nic_connect(a, b, false, false);
    b->run.mtu = MTU;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    nic_carry(a, b);
    assert_announces(last(b->guest), true, MTU - 40);
    nic_free(a);
    nic_free(b);
}

/* A super-frame that the wire's side cuts gets a smaller segment size. */
static void test_super(void)
{
    for (unsigned is_ip4 = 0; is_ip4 < 2; is_ip4++) {
        Nic *a = nic_new();
        g_autofree NicFrame *f = nic_tcp(is_ip4, 20000, true);
        const NicFrame *out;

        a->run.mtu = 1200;
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        out = last(a->wire);
        g_assert_cmpint(out->offload.gso, ==, f->offload.gso);
        g_assert_cmpint(out->offload.gso_size, ==, 1200 - (is_ip4 ? 40 : 60));
        g_assert_true(out->offload.needs_csum);
        g_assert_cmpmem(out->data, out->len, f->data, f->len);
        /* Fitting frames stay unchanged. */
        a->run.mtu = 1400;
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(last(a->wire)->offload.gso_size, ==, NIC_MSS);
        nic_free(a);
    }
}

/* The size of datagrams is their sender's. */
static void test_datagrams(void)
{
    for (unsigned tunnel = 0; tunnel < 2; tunnel++) {
        Nic *a = nic_new(), *b = nic_new();
        FrameSpec spec = big4;
        g_autofree NicFrame *f = NULL;

        spec.len = 2000;
        f = make(&spec);
        f->offload = frame_partial(f->data, &spec);
        f->offload.gso = PACKET_GSO_UDP;
        f->offload.gso_size = 1000;
        if (tunnel) {
            nic_connect(a, b, false, false);
        }
        a->run.mtu = 1028;
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->wire->len, ==, tunnel ? 2 : 1);
        a->run.mtu = 1027;
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->wire->len, ==, tunnel ? 2 : 1);
        assert_told(last(a->guest), f, true, 1027);
        nic_free(a);
        nic_free(b);
    }
}

/* A packet that allows fragments is cut, also outside tunnels. */
static void test_fragments(void)
{
    Nic *a = nic_new();
    FrameSpec spec = big4;
    g_autofree NicFrame *f = NULL;

    spec.dont_fragment = false;
    f = make(&spec);
    a->run.mtu = MTU;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->guest->len, ==, 0);
    g_assert_cmpint(a->wire->len, ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        const NicFrame *out = g_ptr_array_index(a->wire, i);

        g_assert_cmpuint(out->len, <=, PACKET_ETH_LEN + MTU);
        g_assert_false(out->offload.needs_csum);
    }
    nic_free(a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = i * 31 + (i >> 8);
    }
    g_test_add_func("/cvsw/mtu/told", test_told);
    g_test_add_func("/cvsw/mtu/not-told", test_not_told);
    g_test_add_func("/cvsw/mtu/bounded", test_bounded);
    g_test_add_func("/cvsw/mtu/link", test_link);
    g_test_add_func("/cvsw/mtu/syn", test_syn);
    g_test_add_func("/cvsw/mtu/syn-inside", test_syn_inside);
    g_test_add_func("/cvsw/mtu/super", test_super);
    g_test_add_func("/cvsw/mtu/datagrams", test_datagrams);
    g_test_add_func("/cvsw/mtu/fragments", test_fragments);
    return g_test_run();
}
