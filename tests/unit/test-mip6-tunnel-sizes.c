/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tunnel: sizes, checksums, and errors of the path
 *
 * The checksums are made here octet by octet, not by net/packet/sum.c.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/core/tunnel.h"
#include "net/packet/nd.h"

static const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t router_mac[] = { 0x02, 0xbb, 0, 0, 0, 1 };
static const uint8_t guest_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };

#define CARE_OF "2001:db8:3000::aa"
#define AGENT   "2001:db8:2000::1"
#define HOME    "2001:db8:2000::10"
#define FAR     "2001:db8:9000::c"
#define ROUTER  "fe80::1"

#define HEAD    (PACKET_ETH_LEN + PACKET_IP6_LEN)       /* inner, of a frame */
#define OUTER   MIP6_TUNNEL_HEAD_LEN

typedef struct Fixture {
    Mip6Tunnel t;
    int64_t now;
    unsigned frames, packets;   /* to the link, to the guest */
    uint8_t frame[70000];       /* the last one to the link */
    size_t len, longest;
    PacketOffload offload;
    uint8_t packet[1600];       /* the last one to the guest */
    size_t packet_len;
    /* The pieces of a super-frame together. */
    uint8_t all[70000];
    size_t all_len;
    uint8_t l4;                 /* 0: no super-frame */
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static uint32_t add(uint32_t sum, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum += i & 1 ? p[i] : p[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* Of the IPv6 packet at @p, whose L4 header is the next. */
static uint16_t checksum(const uint8_t *p)
{
    size_t len = get_be16(p + 4);
    uint32_t sum = add(len + p[6], p + 8, 32);

    return add(sum, p + PACKET_IP6_LEN, len);
}

/* An outer packet, as it is in every case. */
static void check_outer(const Fixture *f)
{
    const uint8_t *outer = f->frame + PACKET_ETH_LEN;
    const uint8_t *inner = f->frame + OUTER;

    g_assert_cmpmem(f->frame, 6, router_mac, 6);
    g_assert_cmpmem(f->frame + 6, 6, own_mac, 6);
    g_assert_cmpint(get_be16(f->frame + 12), ==, PACKET_ETH_IP6);
    g_assert_cmpint(get_be16(outer + 4), ==, f->len - OUTER);
    g_assert_cmpint(outer[6], ==, PACKET_PROTO_IP6);    /* no fragment */
    g_assert_cmpint(outer[7], ==, f->t.hop_limit);
    g_assert_cmpmem(outer, 4, inner, 4);        /* class and flow label */
    g_assert_cmpmem(outer + 8, 16, &f->t.local, 16);
    g_assert_cmpmem(outer + 24, 16, &f->t.remote, 16);
    g_assert_cmpint(get_be16(inner + 4), ==,
                    f->len - OUTER - PACKET_IP6_LEN);
}

static void collect(Fixture *f)
{
    const uint8_t *inner = f->frame + OUTER;
    size_t head = PACKET_IP6_LEN + (f->l4 == PACKET_PROTO_UDP ? 8 : 20);
    size_t len = f->len - OUTER - head;

    g_assert_cmpint(checksum(inner), ==, 0xffff);
    if (f->l4 == PACKET_PROTO_TCP) {
        g_assert_cmpint(get_be32(inner + 44), ==, 7000 + f->all_len);
    } else {
        g_assert_cmpint(get_be16(inner + 44), ==, 8 + len);
    }
    memcpy(f->all + f->all_len, inner + head, len);
    f->all_len += len;
}

static void to_link(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload)
{
    Fixture *f = opaque;

    f->len = packet_iov_copy(iov, iovcnt, 0, f->frame, sizeof(f->frame));
    g_assert_cmpint(f->len, ==, packet_iov_len(iov, iovcnt));
    f->longest = MAX(f->longest, f->len);
    f->offload = *offload;
    f->frames++;
    check_outer(f);
    if (f->l4) {
        g_assert_cmpint(offload->gso, ==, PACKET_GSO_NONE);
        g_assert_false(offload->needs_csum);
        collect(f);
    }
}

static void to_guest(void *opaque, const void *packet, size_t len)
{
    Fixture *f = opaque;

    g_assert_cmpint(len, <=, PACKET_IP6_MTU_MIN);
    memcpy(f->packet, packet, len);
    f->packet_len = len;
    f->packets++;
}

static const Mip6TunnelOps ops = {
    .transmit = to_link,
    .to_guest = to_guest,
};

static Fixture *begin(uint32_t mtu)
{
    Fixture *f = g_new0(Fixture, 1);
    struct in6_addr local = address(CARE_OF), remote = address(AGENT);

    f->now = 1000 * SECOND;
    mip6_tunnel_init(&f->t, &ops, f, NULL, 0);
    mip6_tunnel_set(&f->t, &local, &remote, mtu, 61);
    return f;
}

/* A frame of the guest with @payload octets behind the IPv6 header. */
static uint8_t *frame_new(uint8_t next, size_t payload)
{
    uint8_t *frame = g_malloc(HEAD + payload);
    PacketIp6 ip = {
        .src = address(HOME), .dst = address(FAR), .tclass = 0xa5,
        .flow = 0x54321, .next = next, .hops = 64,
        .payload = payload > 65535 ? 0 : payload,
    };

    packet_eth_build(frame, router_mac, guest_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    for (size_t i = 0; i < payload; i++) {
        frame[HEAD + i] = i * 7 + (i >> 8);
    }
    return frame;
}

/* In parts of @step octets. */
static Mip6Drop send_parts(Fixture *f, uint8_t *frame, size_t len,
                           const PacketOffload *offload, size_t step)
{
    struct in6_addr router = address(ROUTER);
    g_autofree struct iovec *iov = g_new(struct iovec, len / step + 1);
    int num = 0;

    for (size_t at = 0; at < len; at += step) {
        iov[num++] = (struct iovec) { frame + at, MIN(step, len - at) };
    }
    f->frames = f->packets = f->longest = f->all_len = 0;
    return mip6_tunnel_send(&f->t, f->now, router_mac, own_mac, iov, num,
                            PACKET_ETH_LEN, offload, &router);
}

static Mip6Drop send_frame(Fixture *f, uint8_t *frame, size_t len,
                           const PacketOffload *offload)
{
    return send_parts(f, frame, len, offload, len);
}

static const PacketOffload nothing;

/* --- sizes ---------------------------------------------------------------- */

/* No packet becomes a fragment: it is sent, or the guest gets an error. */
static void test_sizes(void)
{
    static const uint32_t mtus[] = { 1320, 1500, 9000, 65535 };
    uint8_t *frame = frame_new(PACKET_PROTO_UDP, 65535);

    for (unsigned i = 0; i < G_N_ELEMENTS(mtus); i++) {
        Fixture *f = begin(mtus[i]);

        for (size_t size = 0; size <= 65535; size++) {
            bool fits = PACKET_IP6_LEN * 2 + size <= mtus[i];
            Mip6Drop why;

            put_be16(frame + PACKET_ETH_LEN + 4, size);
            why = send_frame(f, frame, HEAD + size, &nothing);
            g_assert_cmpint(why, ==, fits ? MIP6_DROP_NONE
                                          : MIP6_DROP_TOO_BIG);
            g_assert_cmpint(f->frames, ==, fits);
            g_assert_cmpint(f->packets, ==, !fits);
            g_assert_cmpint(f->longest, <=, PACKET_ETH_LEN + mtus[i]);
            if (fits) {
                g_assert_cmpmem(f->frame + OUTER, f->len - OUTER,
                                frame + PACKET_ETH_LEN, PACKET_IP6_LEN + size);
            }
        }
        g_free(f);
    }
    g_free(frame);
}

/* Section 7.1: the guest's error, and its source. */
static void test_too_big(void)
{
    Fixture *f = begin(1500);
    uint8_t *frame = frame_new(PACKET_PROTO_UDP, 1421);
    uint8_t *p = f->packet;
    struct in6_addr router = address(ROUTER), home = address(HOME);

    g_assert_cmpint(send_frame(f, frame, HEAD + 1421, &nothing), ==,
                    MIP6_DROP_TOO_BIG);
    g_assert_cmpint(f->packet_len, ==, PACKET_IP6_MTU_MIN);
    g_assert_cmpmem(p + 8, 16, &router, 16);
    g_assert_cmpmem(p + 24, 16, &home, 16);
    g_assert_cmpint(p[PACKET_IP6_LEN], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(get_be32(p + PACKET_IP6_LEN + 4), ==, 1460);
    g_assert_cmpint(checksum(p), ==, 0xffff);
    g_assert_cmpmem(p + 48, f->packet_len - 48, frame + PACKET_ETH_LEN,
                    PACKET_IP6_MTU_MIN - 48);
    g_free(frame);
    g_free(f);
}

/* --- the path ------------------------------------------------------------- */

#define QUOTE   (2 * PACKET_IP6_LEN + 8)        /* octets of a packet */

/* The guest sends a packet that has just room. */
static void send_big(Fixture *f, uint8_t outer[QUOTE])
{
    uint8_t *frame = frame_new(PACKET_PROTO_UDP, 1420);

    g_assert_cmpint(send_frame(f, frame, HEAD + 1420, &nothing), ==,
                    MIP6_DROP_NONE);
    memcpy(outer, f->frame + PACKET_ETH_LEN, QUOTE);
    g_free(frame);
}

/* "Packet too big" about a packet whose octet @wrong is another. */
static void expect_ignored(Fixture *f, uint8_t outer[QUOTE], size_t wrong)
{
    outer[wrong] ^= 1;
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1400, outer, QUOTE));
    outer[wrong] ^= 1;
}

static void test_path(void)
{
    Fixture *f = begin(1500);
    struct in6_addr local = address(CARE_OF), remote = address(AGENT);
    uint8_t outer[QUOTE];

    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1460);
    send_big(f, outer);
    /* Not one of ours: another end, another protocol, cut. */
    expect_ignored(f, outer, 39);
    expect_ignored(f, outer, 23);
    expect_ignored(f, outer, 6);
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1400, outer, 39));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1460);
    /* It only shrinks. */
    g_assert_true(mip6_tunnel_too_big(&f->t, f->now, 1400, outer, QUOTE));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1360);
    g_assert_true(mip6_tunnel_too_big(&f->t, f->now, 1450, outer, QUOTE));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1360);
    f->now += 5 * SECOND;
    g_assert_true(mip6_tunnel_too_big(&f->t, f->now, 1280, outer, QUOTE));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1280);
    /* After ten minutes a larger one is tried (RFC 8201 section 4). */
    f->now += 600 * SECOND - 1;
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1280);
    f->now++;
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1460);
    send_big(f, outer);
    g_assert_true(mip6_tunnel_too_big(&f->t, f->now, 1400, outer, QUOTE));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1360);
    /* Another path has its own MTU. */
    mip6_tunnel_set(&f->t, &remote, &local, 1500, 64);
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1460);
    g_free(f);
}

/* An attacker off the path knows the addresses, and guesses the rest. */
static void test_forged(void)
{
    static const size_t guessed[] = {
        PACKET_IP6_LEN + 3,                     /* the flow label */
        PACKET_IP6_LEN + 6,                     /* the protocol */
        PACKET_IP6_LEN + 23, PACKET_IP6_LEN + 39,       /* addresses */
        2 * PACKET_IP6_LEN + 1, 2 * PACKET_IP6_LEN + 3, /* ports */
    };
    Fixture *f = begin(1500);
    uint8_t outer[QUOTE], *frame;

    send_big(f, outer);
    for (unsigned i = 0; i < G_N_ELEMENTS(guessed); i++) {
        expect_ignored(f, outer, guessed[i]);
    }
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1400, outer,
                                       2 * PACKET_IP6_LEN + 3));
    /* It would have fitted; and no path has such a small MTU. */
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1500, outer, QUOTE));
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1279, outer, QUOTE));
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 0, outer, QUOTE));
    put_be16(outer + 4, 1400 - PACKET_IP6_LEN);
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1400, outer, QUOTE));
    put_be16(outer + 4, 1401 - PACKET_IP6_LEN);
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1460);
    g_assert_true(mip6_tunnel_too_big(&f->t, f->now, 1400, outer, QUOTE));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1360);
    /* For a flow without large packets for ten seconds, or ever. */
    f->now += 10 * SECOND;
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1300, outer, QUOTE));
    frame = frame_new(PACKET_PROTO_UDP, 1200);
    send_frame(f, frame, HEAD + 1200, &nothing);
    g_free(frame);
    g_assert_false(mip6_tunnel_too_big(&f->t, f->now, 1300, outer, QUOTE));
    g_assert_cmpint(mip6_tunnel_mtu(&f->t, f->now), ==, 1360);
    g_free(f);
}

/* --- super-frames --------------------------------------------------------- */

static void put_l4(uint8_t *frame, uint8_t l4, size_t l4_len)
{
    uint8_t *p = frame + HEAD;

    put_be16(p, 40000);
    put_be16(p + 2, 443);
    if (l4 == PACKET_PROTO_TCP) {
        put_be32(p + 4, 7000);
        put_be32(p + 8, 1);
        put_be16(p + 12, 0x5018);
        put_be16(p + 14, 500);
    } else {
        put_be16(p + 4, l4_len);
    }
}

/* Cut into pieces; all of it arrives. */
static void check_super(uint8_t l4, uint16_t gso_size, size_t payload,
                        uint32_t mtu, size_t step)
{
    size_t head = l4 == PACKET_PROTO_TCP ? 20 : 8, size;
    uint8_t *frame = frame_new(l4, head + payload);
    Fixture *f = begin(mtu);
    PacketOffload offload = {
        .needs_csum = true, .csum_start = HEAD,
        .csum_offset = l4 == PACKET_PROTO_TCP ? 16 : 6,
        .gso = l4 == PACKET_PROTO_TCP ? PACKET_GSO_TCP6 : PACKET_GSO_UDP,
        .gso_size = gso_size,
    };

    f->l4 = l4;
    put_l4(frame, l4, head + payload);
    g_assert_cmpint(send_parts(f, frame, HEAD + head + payload, &offload,
                               step), ==, MIP6_DROP_NONE);
    size = MIN(gso_size, mtu - PACKET_IP6_LEN * 2 - head);
    g_assert_cmpint(f->frames, ==, payload ? (payload + size - 1) / size : 1);
    g_assert_cmpint(f->longest, <=, PACKET_ETH_LEN + mtu);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpmem(f->all, f->all_len, frame + HEAD + head, payload);
    g_free(frame);
    g_free(f);
}

static void test_super(void)
{
    static const uint8_t l4[] = { PACKET_PROTO_TCP, PACKET_PROTO_UDP };
    static const size_t payloads[] = {
        0, 1, 1379, 1380, 1381, 1399, 1400, 1401, 2801, 9000, 65495,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(l4); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(payloads); j++) {
            check_super(l4[i], 1232, payloads[j], 1320, 4096);
            check_super(l4[i], 536, payloads[j], 1500, 1021);
        }
        /* One octet each, odd ends everywhere. */
        check_super(l4[i], 1, 999, 1500, 77);
    }
    /* TCP is cut to the fitting size, for any size of its own. */
    for (unsigned j = 0; j < G_N_ELEMENTS(payloads); j++) {
        check_super(PACKET_PROTO_TCP, 1440, payloads[j], 1500, 100000);
        check_super(PACKET_PROTO_TCP, 65535, payloads[j], 9000, 333);
    }
}

/* Each length from nothing to the longest is cut rightly. */
static void test_super_sizes(void)
{
    for (size_t payload = 1; payload <= 65515; payload += 251) {
        check_super(PACKET_PROTO_TCP, 1428, payload, 1500, 4099);
    }
}

static void test_super_wrong(void)
{
    Fixture *f = begin(1500);
    uint8_t *frame = frame_new(PACKET_PROTO_TCP, 5000);
    PacketOffload offload = { .gso = PACKET_GSO_TCP6, .gso_size = 1000 };

    put_l4(frame, PACKET_PROTO_TCP, 5000);
    for (size_t cut = PACKET_ETH_LEN; cut < HEAD + 20; cut++) {
        g_assert_cmpint(send_frame(f, frame, cut, &offload), ==,
                        MIP6_DROP_MALFORMED);
    }
    offload.gso = PACKET_GSO_UDP;
    g_assert_cmpint(send_frame(f, frame, HEAD + 5000, &offload), ==,
                    MIP6_DROP_MALFORMED);
    offload.gso = PACKET_GSO_TCP4;
    g_assert_cmpint(send_frame(f, frame, HEAD + 5000, &offload), ==,
                    MIP6_DROP_MALFORMED);
    offload.gso = PACKET_GSO_TCP6;
    offload.gso_size = 0;
    g_assert_cmpint(send_frame(f, frame, HEAD + 5000, &offload), ==,
                    MIP6_DROP_MALFORMED);
    g_assert_cmpint(f->frames, ==, 0);
    g_assert_cmpint(f->packets, ==, 0);
    g_free(frame);
    g_free(f);
}

/* --- checksums and padding ------------------------------------------------ */

/* A checksum that is left to the NIC stays so, 40 octets later. */
static void test_partial(void)
{
    Fixture *f = begin(1500);
    uint8_t *frame = frame_new(PACKET_PROTO_UDP, 100);
    PacketOffload offload = {
        .needs_csum = true, .csum_start = HEAD, .csum_offset = 6,
    };

    g_assert_cmpint(send_parts(f, frame, HEAD + 100, &offload, 9), ==,
                    MIP6_DROP_NONE);
    g_assert_true(f->offload.needs_csum);
    g_assert_cmpint(f->offload.csum_start, ==, HEAD + PACKET_IP6_LEN);
    g_assert_cmpint(f->offload.csum_offset, ==, 6);
    g_free(frame);
    g_free(f);
}

/*
 * A NIC that makes the checksum on the foreign link writes it at the guest's
 * offset: never into a header that is not the guest's.
 */
static void test_partial_wrong(void)
{
    Fixture *f = begin(1500);
    uint8_t *frame = frame_new(PACKET_PROTO_UDP, 100);
    PacketOffload offload = { .needs_csum = true };
    size_t len = HEAD + 100;

    for (unsigned start = 0; start <= 65535; start++) {
        static const uint16_t offsets[] = {
            0, 6, 16, 40, 97, 98, 99, 32768, 65535,
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(offsets); i++) {
            bool good = start >= HEAD && start + offsets[i] + 2u <= len;

            offload.csum_start = start;
            offload.csum_offset = offsets[i];
            g_assert_cmpint(send_frame(f, frame, len, &offload), ==,
                            good ? MIP6_DROP_NONE : MIP6_DROP_MALFORMED);
            g_assert_cmpint(f->frames, ==, good);
            if (good) {
                g_assert_cmpint(f->offload.csum_start, ==,
                                start + PACKET_IP6_LEN);
            }
        }
    }
    /* Padding behind the packet is not sent. */
    put_be16(frame + PACKET_ETH_LEN + 4, 50);
    offload.csum_start = HEAD;
    offload.csum_offset = 49;
    g_assert_cmpint(send_frame(f, frame, len, &offload), ==,
                    MIP6_DROP_MALFORMED);
    g_free(frame);
    g_free(f);
}

/* Padding of a short frame is not sent, nor is a cut packet. */
static void test_padding(void)
{
    Fixture *f = begin(1500);
    uint8_t *frame = frame_new(PACKET_PROTO_NONE, 64);

    put_be16(frame + PACKET_ETH_LEN + 4, 3);
    g_assert_cmpint(send_frame(f, frame, HEAD + 64, &nothing), ==,
                    MIP6_DROP_NONE);
    g_assert_cmpint(f->len, ==, OUTER + PACKET_IP6_LEN + 3);
    put_be16(frame + PACKET_ETH_LEN + 4, 65);
    g_assert_cmpint(send_frame(f, frame, HEAD + 64, &nothing), ==,
                    MIP6_DROP_MALFORMED);
    put_be16(frame + PACKET_ETH_LEN + 4, 0);
    for (size_t cut = PACKET_ETH_LEN; cut < HEAD; cut++) {
        g_assert_cmpint(send_frame(f, frame, cut, &nothing), ==,
                        MIP6_DROP_MALFORMED);
    }
    frame[PACKET_ETH_LEN] = 0x45;
    g_assert_cmpint(send_frame(f, frame, HEAD + 64, &nothing), ==,
                    MIP6_DROP_MALFORMED);
    g_free(frame);
    g_free(f);
}

/* A frame in more parts than are taken is dropped, not cut. */
static void test_parts(void)
{
    Fixture *f = begin(1500);
    uint8_t *frame = frame_new(PACKET_PROTO_UDP, 1000);

    g_assert_cmpint(send_parts(f, frame, HEAD + 1000, &nothing, 17), ==,
                    MIP6_DROP_NONE);
    g_assert_cmpmem(f->frame + OUTER, f->len - OUTER, frame + PACKET_ETH_LEN,
                    PACKET_IP6_LEN + 1000);
    g_assert_cmpint(send_parts(f, frame, HEAD + 1000, &nothing, 1), ==,
                    MIP6_DROP_MALFORMED);
    g_assert_cmpint(f->frames, ==, 0);
    g_free(frame);
    g_free(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/tunnel-sizes/sizes", test_sizes);
    g_test_add_func("/mip6/tunnel-sizes/too-big", test_too_big);
    g_test_add_func("/mip6/tunnel-sizes/path", test_path);
    g_test_add_func("/mip6/tunnel-sizes/forged", test_forged);
    g_test_add_func("/mip6/tunnel-sizes/super", test_super);
    g_test_add_func("/mip6/tunnel-sizes/super-sizes", test_super_sizes);
    g_test_add_func("/mip6/tunnel-sizes/super-wrong", test_super_wrong);
    g_test_add_func("/mip6/tunnel-sizes/partial", test_partial);
    g_test_add_func("/mip6/tunnel-sizes/partial-wrong", test_partial_wrong);
    g_test_add_func("/mip6/tunnel-sizes/padding", test_padding);
    g_test_add_func("/mip6/tunnel-sizes/parts", test_parts);
    return g_test_run();
}
