/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of every size go through a tunnel
 *
 * For every packet of the guest: no outer packet is a fragment, or longer than
 * the wire's MTU; all checksums are correct, the outer ones, too; and the other
 * end gets the same packet, or else nothing was sent and the guest got an
 * error. With "-m slow" every size is tried, else those around which something
 * changes, and some of the others. Where the wire cuts, it is asked for no more
 * than the NIC would do: its pieces are looked at.
 */
#include "base/octets.h"
#include "tests/fixtures/cvsw-nic.h"
#include "hw/net/cvsw/tunnel/super.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"
#include "tests/fixtures/packet-frames.h"

enum {
    LINK_MTU = 1500,
    GUEST_MTU = 1500,           /* the guest's MTU */
    SIZE_MIN = 64,
    SIZE_LAST = 65535,
    DENSE = 1700,               /* up to here each size is tried */
    STRIDE = 997,
    /* SPI, number, IV, ICV, pad length, next header, padding to 4 octets. */
    ESP_WORST = 4 + 4 + 8 + 16 + 2 + 3,
};

typedef struct Kind {
    const char *name;
    FrameSpec spec;
    bool offload;               /* the guest leaves work to its NIC */
} Kind;

static const Kind kinds[] = {
    { "tcp4", { .is_ip4 = true, .dont_fragment = true }, true },
    { "tcp6", { 0 }, true },
    { "tagged", { .is_ip4 = true, .dont_fragment = true, .tagged = true },
      true },
    { "plain-tcp4", { .is_ip4 = true, .dont_fragment = true }, false },
    { "plain-tcp6", { 0 }, false },
    { "udp4", { .is_ip4 = true, .is_udp = true }, true },
    { "udp4-df", { .is_ip4 = true, .is_udp = true, .dont_fragment = true },
      false },
    { "udp6", { .is_udp = true }, true },
};

typedef struct World {
    Nic *a, *b;
    const Kind *kind;
    bool outer6, sealed;
    uint64_t now;
    /* The sent frame, and the same with all checksums. */
    uint8_t sent[PACKET_ETH_LEN + 8 + 65536], whole[PACKET_ETH_LEN + 8 + 65536];
    size_t len, l3, l4, head_len;
    PacketOffload offload;
    size_t came;                /* of the payload, or of IP's if it is cut */
    unsigned outers, told, supers;
    size_t longest;             /* outer packet */
} World;

static uint8_t payload[65536];

/* --- the wire ------------------------------------------------------------- */

static void assert_udp6(const uint8_t *packet, const struct iovec *iov,
                        int parts, size_t len)
{
    uint32_t sum = packet_sum_pseudo(packet, PACKET_PROTO_UDP,
                                     len - PACKET_IP6_LEN);

    g_assert_cmphex(get_be16(packet + PACKET_IP6_LEN +
                             PACKET_UDP_CHECKSUM), !=, 0);
    sum = packet_sum_iov(sum, iov, parts, PACKET_ETH_LEN + PACKET_IP6_LEN,
                         len - PACKET_IP6_LEN);
    g_assert_cmphex(packet_sum_fold(sum), ==, 0);
}

static void assert_outer(World *w, const struct iovec *iov, int parts,
                         const PacketOffload *offload)
{
    uint8_t head[PACKET_FLOW_LOOK], *packet = head + PACKET_ETH_LEN;
    size_t len = packet_iov_len(iov, parts) - PACKET_ETH_LEN;
    size_t have = packet_iov_copy(iov, parts, 0, head, sizeof(head));
    PacketFlow flow;

    g_assert_false(offload->needs_csum);
    g_assert_cmpint(offload->gso, ==, PACKET_GSO_NONE);
    g_assert_cmpuint(len, <=, LINK_MTU);
    g_assert_true(packet_flow_parse(&flow, head, have, PACKET_ETH_LEN + len));
    g_assert_false(flow.has & PACKET_FLOW_FRAGMENT);
    g_assert_cmpint(flow.protocol, ==,
                    w->sealed ? ESP_PROTOCOL : PACKET_PROTO_UDP);
    if (w->outer6) {
        g_assert_cmpuint(get_be16(packet + 4), ==, len - PACKET_IP6_LEN);
    } else {
        g_assert_cmpuint(get_be16(packet + 2), ==, len);
        g_assert_true(packet_ip4_sum_is_good(packet, PACKET_IP4_LEN));
        g_assert_true(packet[6] & 0x40);
    }
    if (w->outer6 && !w->sealed) {
        assert_udp6(packet, iov, parts, len);
    }
    w->outers++;
    w->longest = MAX(w->longest, len);
}

static void emit_a(void *opaque, uint32_t port, const struct iovec *iov,
                   int parts, const PacketOffload *offload);

static bool wire_cuts(void *opaque)
{
    return true;
}

static void cut_whole(World *w, const struct iovec *iov, int parts,
                      const PacketOffload *offload)
{
    static const PacketOffload none;
    struct iovec piece[CVSW_PARTS_MAX];
    CvswPieces p;

    g_assert_true(w->a->run.wire_cuts && !w->sealed);
    g_assert_true(cvsw_frame_take(&w->a->run.inner, iov, parts, offload));
    g_assert_true(cvsw_pieces_begin(&p, &w->a->run.inner, iov, parts));
    while ((parts = cvsw_pieces_next(&p, piece)) >= 0) {
        emit_a(w, CVSW_PORT_WIRE, piece, parts, &none);
    }
    w->supers++;
}

static void emit_a(void *opaque, uint32_t port, const struct iovec *iov,
                   int parts, const PacketOffload *offload)
{
    World *w = opaque;

    if (offload->tunnel != PACKET_TUNNEL_NONE) {
        cut_whole(w, iov, parts, offload);
        return;
    }
    if (port == CVSW_PORT_GUEST) {
        w->told++;
        return;
    }
    assert_outer(w, iov, parts, offload);
    g_assert_true(cvsw_run(&w->b->run, CVSW_PORT_WIRE, iov, parts, offload,
                           w->now));
}

/* --- the other guest ------------------------------------------------------ */

static void take_fragment(World *w, const uint8_t *frame, size_t len)
{
    const uint8_t *ip = frame + w->l3;
    uint16_t field = get_be16(ip + 6);
    size_t part = len - w->l4;

    g_assert_true(packet_ip4_sum_is_good(ip, PACKET_IP4_LEN));
    g_assert_cmpuint(get_be16(ip + 2), ==, len - w->l3);
    g_assert_cmpuint((field & 0x1fff) * 8u, ==, w->came);
    g_assert_cmpint(memcmp(frame + w->l4, w->whole + w->l4 + w->came, part),
                    ==, 0);
    w->came += part;
    g_assert_cmpint(!!(field & 0x2000), ==, w->l4 + w->came < w->len);
}

static void take_segment(World *w, const uint8_t *frame, size_t len)
{
    const uint8_t *ip = frame + w->l3, *tcp = frame + w->l4;
    size_t part = len - w->head_len;
    uint32_t sum = packet_sum_pseudo(ip, PACKET_PROTO_TCP, len - w->l4);

    g_assert_cmphex(packet_sum_fold(packet_sum_add(sum, tcp, len - w->l4)), ==,
                    0);
    g_assert_cmpuint(get_be32(tcp + 4), ==,
                     w->kind->spec.sequence + w->came);
    if (w->kind->spec.is_ip4) {
        g_assert_true(packet_ip4_sum_is_good(ip, PACKET_IP4_LEN));
        g_assert_cmpuint(get_be16(ip + 2), ==, len - w->l3);
    } else {
        g_assert_cmpuint(get_be16(ip + 4), ==, len - w->l4);
    }
    g_assert_cmpint(memcmp(frame + w->head_len,
                           w->whole + w->head_len + w->came, part), ==, 0);
    w->came += part;
}

static void emit_b(void *opaque, uint32_t port, const struct iovec *iov,
                   int parts, const PacketOffload *offload)
{
    static uint8_t frame[65536 + 64];
    World *w = opaque;
    size_t len = packet_iov_copy(iov, parts, 0, frame, sizeof(frame));

    g_assert_cmpint(port, ==, CVSW_PORT_GUEST);
    g_assert_false(offload->needs_csum);
    g_assert_true(w->b->run.out_of_tunnel);
    if (len == w->len) {
        g_assert_cmpint(memcmp(frame, w->whole, len), ==, 0);
        w->came = len - (w->kind->spec.is_udp ? w->l4 : w->head_len);
    } else if (w->kind->spec.is_udp) {
        take_fragment(w, frame, len);
    } else {
        take_segment(w, frame, len);
    }
}

/* --- sizes ---------------------------------------------------------------- */

/* An IP packet of @size octets, if possible. */
static bool make(World *w, size_t size)
{
    FrameSpec spec = w->kind->spec;
    size_t mss;

    w->l3 = PACKET_ETH_LEN + (spec.tagged ? PACKET_ETH_TAG_LEN : 0);
    w->l4 = w->l3 + (spec.is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN);
    w->head_len = w->l4 + (spec.is_udp ? PACKET_UDP_LEN : PACKET_TCP_LEN);
    if (w->l3 + size < w->head_len) {
        return false;
    }
    spec.payload = payload;
    spec.flags = PACKET_TCP_ACK;
    spec.len = w->l3 + size - w->head_len;
    w->len = frame_make(w->whole, &spec);
    memcpy(w->sent, w->whole, w->len);
    w->offload = (PacketOffload) { 0 };
    if (w->kind->offload) {
        w->offload = frame_partial(w->sent, &spec);
        mss = GUEST_MTU - (w->head_len - w->l3);
        if (!spec.is_udp && spec.len > mss) {
            w->offload.gso = spec.is_ip4 ? PACKET_GSO_TCP4 : PACKET_GSO_TCP6;
            w->offload.gso_size = mss;
            w->offload.head_len = w->head_len;
        }
    }
    w->came = w->outers = w->told = w->supers = 0;
    w->longest = 0;
    return true;
}

/* The MTU in the tunnel: the link's without the outer headers. */
static size_t exact_room(const World *w)
{
    size_t room = LINK_MTU - (w->outer6 ? PACKET_IP6_LEN : PACKET_IP4_LEN);

    if (w->sealed) {
        /* The plaintext with its two octets of trailer is padded. */
        room = ((room - 4 - 4 - 8 - 16) & ~(size_t)3) - 2;
    }
    return room - 8 - 8 - w->l3;
}

/* The MTU by the controller, which does not know the frame. */
static size_t worst_room(const World *w)
{
    return LINK_MTU - (w->outer6 ? PACKET_IP6_LEN : PACKET_IP4_LEN) - 8 - 8 -
           PACKET_ETH_LEN - (w->sealed ? ESP_WORST : 0);
}

/* The length in the outer IP header of an uncut packet. */
static size_t outer_length(const World *w, size_t size)
{
    return (w->outer6 ? 0 : PACKET_IP4_LEN) + 8 + 8 + w->l3 + size;
}

static void try_size(World *w, size_t size, bool exact)
{
    struct iovec iov[2];
    size_t room;
    bool cut;

    if (!make(w, size)) {
        return;
    }
    room = exact ? exact_room(w) : worst_room(w);
    w->a->run.link_mtu = exact ? LINK_MTU : 0;
    w->a->run.mtu = exact ? 0 : room;
    w->now += 1000;
    iov[0] = (struct iovec) { w->sent, w->len / 3 };
    iov[1] = (struct iovec) { w->sent + w->len / 3, w->len - w->len / 3 };
    g_assert_true(cvsw_run(&w->a->run, CVSW_PORT_GUEST, iov, 2, &w->offload,
                           w->now));
    cut = w->offload.gso != PACKET_GSO_NONE ||
          (w->kind->spec.is_ip4 && !w->kind->spec.dont_fragment);
    if (size > room && !cut) {
        g_assert_cmpuint(w->outers, ==, 0);
        /* IPv6 packets longer than 1280 octets. */
        g_assert_cmpuint(w->told, ==, 1);
        return;
    }
    g_assert_cmpuint(w->told, ==, 0);
    g_assert_cmpuint(w->came, ==,
                     w->len - (w->kind->spec.is_udp ? w->l4 : w->head_len));
    g_assert_cmpuint(w->outers, >=, size > room ? 2 : 1);
    if (w->a->run.wire_cuts && w->offload.gso != PACKET_GSO_NONE) {
        g_assert_cmpuint(w->supers, ==, outer_length(w, size) <= SIZE_LAST);
    }
    if (exact && !w->kind->spec.is_udp && size > 2 * GUEST_MTU) {
        /* Pieces fill the wire's MTU, except for ESP's padding. */
        g_assert_cmpuint(w->longest, >, LINK_MTU - 4);
    }
}

static void try_kind(World *w)
{
    size_t size = SIZE_MIN;

    while (size <= SIZE_LAST) {
        try_size(w, size, true);
        if (!w->kind->spec.tagged) {
            try_size(w, size, false);
        }
        if (size == SIZE_LAST) {
            break;
        }
        size += size < DENSE || g_test_slow() ? 1 : STRIDE;
        size = MIN(size, SIZE_LAST);
    }
}

static void test_way(gconstpointer data)
{
    unsigned way = GPOINTER_TO_UINT(data);
    World *w = g_new0(World, 1);
    bool whole;

    w->outer6 = way & 1;
    w->sealed = way & 2;
    whole = way & 4;
    w->a = nic_new();
    w->b = nic_new();
    nic_connect(w->a, w->b, w->outer6, w->sealed);
    w->a->run.emit = emit_a;
    w->b->run.emit = emit_b;
    w->a->run.wire_cuts = whole ? wire_cuts : NULL;
    w->a->run.opaque = w->b->run.opaque = w;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_test_message("%s", kinds[i].name);
        w->kind = &kinds[i];
        try_kind(w);
    }
    nic_free(w->a);
    nic_free(w->b);
    g_free(w);
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {
        "v4", "v6", "v4-esp", "v6-esp", "v4-whole", "v6-whole",
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = i * 31 + (i >> 8);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *name = g_strdup_printf("/cvsw/sizes/%s", ways[i]);

        g_test_add_data_func(name, GUINT_TO_POINTER(i), test_way);
    }
    return g_test_run();
}
