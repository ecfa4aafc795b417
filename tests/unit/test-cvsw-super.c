/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Super-frames in a tunnel
 *
 * A sent super-frame is equivalent to the frames that would have been sent,
 * octet for octet, except the outer IPv4 identification.  A received
 * super-frame is decapsulated whole, or arrives as its frames.  An invalid
 * super-frame is dropped.
 */
#include "base/octets.h"
#include "tests/fixtures/cvsw-nic.h"
#include "hw/net/cvsw/tunnel/super.h"
#include "net/packet/ip4.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

enum { MSS = NIC_MSS, MANY = 40 * MSS + 7 };

static bool always(void *opaque)
{
    return true;
}

static Nic *nic_whole(void)
{
    Nic *nic = nic_new();

    nic->run.wire_cuts = always;
    return nic;
}

static const NicFrame *only(GPtrArray *frames)
{
    g_assert_cmpuint(frames->len, ==, 1);
    return g_ptr_array_index(frames, 0);
}

/* The outer super-frame of a guest's super-frame. */
static NicFrame *make(bool is_ip4, bool outer6, size_t payload)
{
    g_autofree NicFrame *f = nic_tcp(is_ip4, payload, true);
    Nic *a = nic_whole(), *b = nic_new();
    NicFrame *made;

    nic_connect(a, b, outer6, false);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    made = g_memdup2(only(a->wire), sizeof(*made));
    g_assert_cmpint(made->offload.tunnel, ==,
                    outer6 ? PACKET_TUNNEL_UDP6 : PACKET_TUNNEL_UDP4);
    g_assert_cmpuint(a->run.sent_whole, ==, 1);
    nic_free(a);
    nic_free(b);
    return made;
}

/* Linux increments the identification, which has no meaning here (RFC 6864). */
static void forget_id(uint8_t *frame, bool outer6)
{
    if (!outer6) {
        put_be16(frame + PACKET_ETH_LEN + 4, 0);
        packet_ip4_seal(frame + PACKET_ETH_LEN, PACKET_IP4_LEN);
    }
}

static void assert_same(GPtrArray *some, GPtrArray *others, bool outer6)
{
    g_assert_cmpuint(some->len, ==, others->len);
    for (unsigned i = 0; i < some->len; i++) {
        NicFrame *a = g_ptr_array_index(some, i);
        NicFrame *b = g_ptr_array_index(others, i);

        forget_id(a->data, outer6);
        forget_id(b->data, outer6);
        g_assert_cmpmem(a->data, a->len, b->data, b->len);
        g_assert_false(a->offload.needs_csum || b->offload.needs_csum);
        g_assert_cmpint(a->offload.gso, ==, PACKET_GSO_NONE);
    }
}

/* The frames if the NIC itself cuts. */
static Nic *cut(bool is_ip4, bool outer6, size_t payload)
{
    g_autofree NicFrame *f = nic_tcp(is_ip4, payload, true);
    Nic *a = nic_new(), *b = nic_new();

    nic_connect(a, b, outer6, false);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    nic_free(b);
    return a;
}

/* A NIC without flows passes the frames of a super-frame. */
static void test_pieces(void)
{
    static const size_t sizes[] = { MSS + 1, 2 * MSS, 2 * MSS + 1, MANY };

    for (unsigned way = 0; way < 4; way++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
            bool is_ip4 = way & 1, outer6 = way & 2;
            g_autofree NicFrame *super = make(is_ip4, outer6, sizes[i]);
            Nic *want = cut(is_ip4, outer6, sizes[i]), *got = nic_new();

            g_assert_true(nic_put_in(got, CVSW_PORT_WIRE, super));
            g_assert_cmpuint(got->out_of_tunnel, ==, 0);
            assert_same(got->guest, want->wire, outer6);
            nic_free(want);
            nic_free(got);
        }
    }
}

/* A guest's large segment reaches the other guest unchanged. */
static void test_whole(void)
{
    for (unsigned way = 0; way < 4; way++) {
        bool is_ip4 = way & 1, outer6 = way & 2;
        g_autofree NicFrame *f = nic_tcp(is_ip4, MANY, true);
        Nic *a = nic_whole(), *b = nic_new();
        const NicFrame *came;

        nic_connect(a, b, outer6, false);
        g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
        nic_carry(a, b);
        came = only(b->guest);
        g_assert_cmpmem(came->data, came->len, f->data, f->len);
        g_assert_cmpint(came->offload.gso, ==, f->offload.gso);
        g_assert_cmpuint(came->offload.gso_size, ==, MSS);
        g_assert_cmpuint(came->offload.csum_start, ==, f->offload.csum_start);
        g_assert_true(came->offload.needs_csum);
        g_assert_cmpint(came->offload.tunnel, ==, PACKET_TUNNEL_NONE);
        g_assert_cmpuint(b->out_of_tunnel, ==, 1);
        nic_free(a);
        nic_free(b);
    }
}

/* Flows with other actions before the tunnel get and count pieces. */
static void test_other_flow(void)
{
    g_autofree NicFrame *super = make(true, false, 3 * MSS);
    CvswAction list[2] = {
        { .type = CVSW_ACTION_DEC_TTL }, nic_output(CVSW_PORT_GUEST),
    };
    Nic *nic = nic_new();

    nic_flow_from(nic, CVSW_PORT_WIRE, list, 2);
    g_assert_true(nic_put_in(nic, CVSW_PORT_WIRE, super));
    g_assert_cmpuint(nic->guest->len, ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        const NicFrame *f = g_ptr_array_index(nic->guest, i);

        g_assert_cmpuint(f->data[PACKET_ETH_LEN + 8], ==, 63);
        g_assert_true(packet_ip4_sum_is_good(f->data + PACKET_ETH_LEN,
                                             PACKET_IP4_LEN));
    }
    nic_free(nic);
    nic = nic_new();
    nic->run.drop_misses = true;
    g_assert_true(nic_put_in(nic, CVSW_PORT_WIRE, super));
    g_assert_cmpuint(nic->guest->len, ==, 0);
    g_assert_cmpuint(nic_dropped(nic, CVSW_PORT_WIRE, CVSW_DROP_MISS), ==, 3);
    nic_free(nic);
}

static unsigned outers(Nic *a, size_t payload, bool sealed)
{
    g_autofree NicFrame *f = nic_tcp(true, payload, true);
    Nic *b = nic_new();
    unsigned num;

    nic_connect(a, b, false, sealed);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(a->run.sent_whole, ==, 0);
    num = a->wire->len;
    nic_free(a);
    nic_free(b);
    return num;
}

static bool never(void *opaque)
{
    return false;
}

/* Frames that nobody else can cut, or too long for IP, are cut here. */
static void test_cut_here(void)
{
    size_t longest = UINT16_MAX - PACKET_IP4_LEN - PACKET_TCP_LEN;
    Nic *a = nic_new();

    a->run.wire_cuts = never;
    g_assert_cmpuint(outers(a, 3 * MSS, false), ==, 3);
    g_assert_cmpuint(outers(nic_new(), 3 * MSS, false), ==, 3);
    g_assert_cmpuint(outers(nic_whole(), 3 * MSS, true), ==, 3);
    g_assert_cmpuint(outers(nic_whole(), MSS, false), ==, 1);
    g_assert_cmpuint(outers(nic_whole(), longest, false), ==,
                     (longest + MSS - 1) / MSS);
}

/* Pieces fit the wire's MTU, on each side that cuts. */
static void test_mtu(void)
{
    g_autofree NicFrame *f = nic_tcp(true, MANY, true);
    Nic *a = nic_whole(), *b = nic_new();
    const NicFrame *super;

    nic_connect(a, b, false, false);
    a->run.link_mtu = 1300;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    super = only(a->wire);
    g_assert_cmpuint(super->offload.gso_size, ==, 1300 - 20 - 16 - 14 - 40);
    nic_free(a);
    nic_free(b);
}

/* --- hostile -------------------------------------------------------------- */

/* The frame is dropped, with and without an end of a tunnel. */
static void refused(const NicFrame *f, CvswDrop by_tunnel)
{
    Nic *a = nic_new(), *b = nic_new(), *plain = nic_new();

    nic_connect(a, b, f->offload.tunnel == PACKET_TUNNEL_UDP6, false);
    g_assert_true(nic_put_in(b, CVSW_PORT_WIRE, f));
    g_assert_cmpuint(b->guest->len, ==, 0);
    g_assert_cmpuint(nic_dropped(b, CVSW_PORT_WIRE, by_tunnel), ==, 1);
    g_assert_true(nic_put_in(plain, CVSW_PORT_WIRE, f));
    g_assert_cmpuint(plain->guest->len, ==, 0);
    g_assert_cmpuint(nic_dropped(plain, CVSW_PORT_WIRE, CVSW_DROP_SEGMENT), ==,
                     1);
    nic_free(a);
    nic_free(b);
    nic_free(plain);
}

typedef void Spoil(NicFrame *f);

static void other_ip(NicFrame *f)
{
    f->offload.tunnel = f->offload.tunnel == PACKET_TUNNEL_UDP4
                        ? PACKET_TUNNEL_UDP6 : PACKET_TUNNEL_UDP4;
}

static void other_gso(NicFrame *f)
{
    f->offload.gso = f->offload.gso == PACKET_GSO_TCP4 ? PACKET_GSO_TCP6
                                                       : PACKET_GSO_TCP4;
}

static void datagrams(NicFrame *f)
{
    f->offload.gso = PACKET_GSO_UDP;
}

static void no_size(NicFrame *f)
{
    f->offload.gso_size = 0;
}

static void early_outer(NicFrame *f)
{
    f->offload.outer_l4 -= 2;
}

static void no_offsets(NicFrame *f)
{
    f->offload.outer_l4 = f->offload.inner_l3 = 0;
}

static void early_inner(NicFrame *f)
{
    f->offload.inner_l3 = f->offload.outer_l4 + 4;
}

static void late_inner(NicFrame *f)
{
    f->offload.inner_l3 += 2;
}

static void inner_at_end(NicFrame *f)
{
    f->offload.inner_l3 = f->offload.csum_start = f->len - 1;
}

static void other_csum(NicFrame *f)
{
    f->offload.csum_start += 2;
}

static void a_fragment(NicFrame *f)
{
    if (f->offload.tunnel == PACKET_TUNNEL_UDP4) {
        put_be16(f->data + PACKET_ETH_LEN + 6, 0x2000);
    } else {
        f->data[PACKET_ETH_LEN + 6] = 44;
    }
}

static void a_syn(NicFrame *f)
{
    f->data[f->offload.csum_start + PACKET_TCP_FLAGS] |= PACKET_TCP_SYN;
}

static void long_tcp(NicFrame *f)
{
    f->len = f->offload.csum_start + PACKET_TCP_LEN + 8;
    f->data[f->offload.csum_start + 12] = 15 << 4;
}

static void test_hostile(void)
{
    static Spoil *const ways[] = {
        other_ip, other_gso, datagrams, no_size, early_outer, no_offsets,
        early_inner, late_inner, inner_at_end, other_csum, a_fragment, a_syn,
        long_tcp,
    };

    for (unsigned way = 0; way < 4; way++) {
        for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
            g_autofree NicFrame *f = make(way & 1, way & 2, 4 * MSS);

            ways[i](f);
            refused(f, CVSW_DROP_NOT_TUNNEL);
        }
    }
}

/* No super-frame becomes too many pieces. */
static void test_many(void)
{
    enum { SIZE = 160 };
    g_autofree NicFrame *f = nic_tcp(true, CVSW_PIECES_MAX * SIZE, true);
    g_autofree NicFrame *super = NULL;
    Nic *a = nic_whole(), *b = nic_new(), *plain = nic_new();

    f->offload.gso_size = SIZE;
    nic_connect(a, b, false, false);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    super = g_memdup2(only(a->wire), sizeof(*super));
    g_assert_true(nic_put_in(plain, CVSW_PORT_WIRE, super));
    g_assert_cmpuint(plain->guest->len, ==, CVSW_PIECES_MAX);
    super->offload.gso_size--;
    g_assert_true(nic_put_in(plain, CVSW_PORT_WIRE, super));
    g_assert_cmpuint(plain->guest->len, ==, CVSW_PIECES_MAX);
    g_assert_cmpuint(nic_dropped(plain, CVSW_PORT_WIRE, CVSW_DROP_SEGMENT), ==,
                     1);
    f->offload.gso_size--;
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(a->wire->len, ==, 1 + CVSW_PIECES_MAX + 2);
    nic_free(a);
    nic_free(b);
    nic_free(plain);
}

/* UDP's length only matters to the tunnel's end: pieces get their own. */
static void test_udp_length(void)
{
    g_autofree NicFrame *f = make(true, false, 4 * MSS);
    Nic *a = nic_new(), *b = nic_new();

    put_be16(f->data + f->offload.outer_l4 + 4, 200);
    nic_connect(a, b, false, false);
    g_assert_true(nic_put_in(b, CVSW_PORT_WIRE, f));
    g_assert_cmpuint(b->guest->len, ==, 0);
    g_assert_cmpuint(nic_dropped(b, CVSW_PORT_WIRE, CVSW_DROP_NOT_TUNNEL), ==,
                     1);
    nic_free(a);
    nic_free(b);
}

/* With any offload fields, output frames are valid. */
static void test_any(void)
{
    for (unsigned i = 0; i < 3000; i++) {
        g_autofree NicFrame *f = make(i & 1, i & 2, 2 * MSS);
        Nic *a = nic_new(), *b = nic_new();
        uint16_t *const fields[] = {
            &f->offload.csum_start, &f->offload.csum_offset,
            &f->offload.gso_size, &f->offload.head_len, &f->offload.outer_l4,
            &f->offload.inner_l3,
        };

        *fields[g_test_rand_int_range(0, 6)] = g_test_rand_int_range(0, 200);
        f->data[g_test_rand_int_range(0, 130)] = g_test_rand_int();
        if (g_test_rand_bit()) {
            nic_connect(a, b, i & 2, false);
        }
        g_assert_true(nic_put_in(b, CVSW_PORT_WIRE, f));
        for (unsigned j = 0; j < b->guest->len; j++) {
            const NicFrame *out = g_ptr_array_index(b->guest, j);

            g_assert_cmpuint(out->len, >=, PACKET_ETH_LEN);
            g_assert_cmpint(out->offload.tunnel, ==, PACKET_TUNNEL_NONE);
            g_assert_cmpuint(out->len, <=, f->len);
        }
        nic_free(a);
        nic_free(b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/super/pieces", test_pieces);
    g_test_add_func("/cvsw/super/whole", test_whole);
    g_test_add_func("/cvsw/super/other-flow", test_other_flow);
    g_test_add_func("/cvsw/super/cut-here", test_cut_here);
    g_test_add_func("/cvsw/super/mtu", test_mtu);
    g_test_add_func("/cvsw/super/hostile", test_hostile);
    g_test_add_func("/cvsw/super/many", test_many);
    g_test_add_func("/cvsw/super/udp-length", test_udp_length);
    g_test_add_func("/cvsw/super/any", test_any);
    return g_test_run();
}
