/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of every size and kind pass a tunnel unchanged */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/mip6/core/tunnel.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define PATH_MTU        1280u
#define INNER_AT        MIP6_TUNNEL_HEAD_LEN

static const uint8_t mac[] = { 2, 0, 0, 0, 0, 1 };

/* The packets that the far end reassembles. */
typedef struct World {
    Mip6Tunnel tunnel;
    unsigned frames, fragments, errors;
    size_t longest;             /* packet on the link */
    uint8_t inner[65536];       /* the last packet */
    size_t len;
    uint32_t id;
    PacketOffload offload;
    uint8_t error[PACKET_IP6_MTU_MIN];
    GArray *sizes;              /* of inner packets, unsigned */
} World;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void take_fragment(World *w, const uint8_t *frame, size_t len)
{
    const uint8_t *header = frame + INNER_AT;
    size_t offset = get_be16(header + 2) & ~7u;

    g_assert_cmpint(header[0], ==, PACKET_PROTO_IP6);
    g_assert_cmpint(offset, ==, offset ? w->len : 0);
    if (offset) {
        g_assert_cmphex(get_be32(header + 4), ==, w->id);
    }
    w->id = get_be32(header + 4);
    len -= INNER_AT + PACKET_IP6_FRAGMENT_LEN;
    memcpy(w->inner + offset, header + PACKET_IP6_FRAGMENT_LEN, len);
    w->len = offset + len;
    w->fragments++;
    if (!(header[3] & 1)) {
        unsigned size = w->len;

        g_array_append_val(w->sizes, size);
    }
}

static void transmit(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload)
{
    World *w = opaque;
    uint8_t frame[65600];
    size_t len = packet_iov_copy(iov, iovcnt, 0, frame, sizeof(frame));
    PacketIp6 outer;

    g_assert_true(packet_ip6_parse(&outer, frame + PACKET_ETH_LEN,
                                   len - PACKET_ETH_LEN));
    g_assert_cmpint(outer.payload, ==, len - INNER_AT);
    w->frames++;
    w->offload = *offload;
    w->longest = MAX(w->longest, len - PACKET_ETH_LEN);
    if (outer.next == PACKET_PROTO_FRAGMENT) {
        take_fragment(w, frame, len);
    } else {
        unsigned size = w->len = len - INNER_AT;

        g_assert_cmpint(outer.next, ==, PACKET_PROTO_IP6);
        memcpy(w->inner, frame + INNER_AT, w->len);
        g_array_append_val(w->sizes, size);
    }
}

static void to_guest(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;

    w->errors++;
    memcpy(w->error, packet, len);
}

static const Mip6TunnelOps ops = {
    .transmit = transmit,
    .to_guest = to_guest,
};

static World *world_new(unsigned mtu)
{
    struct in6_addr local = address("2001:db8:3000::1");
    struct in6_addr remote = address("2001:db8:2000::1");
    World *w = g_new0(World, 1);

    w->sizes = g_array_new(false, false, sizeof(unsigned));
    mip6_tunnel_init(&w->tunnel, &ops, w, NULL, 0);
    mip6_tunnel_set(&w->tunnel, &local, &remote, mtu, 64);
    return w;
}

static void world_free(World *w)
{
    g_array_free(w->sizes, true);
    g_free(w);
}

/* A UDP packet, or one of TCP, with @len octets behind the IPv6 header. */
static size_t packet(uint8_t *frame, uint8_t next, size_t len)
{
    PacketIp6 ip = {
        .src = address("2001:db8:2000::10"),
        .dst = address("2001:db8:9000::c"),
        .next = next,
        .hops = 64,
        .payload = len,
    };

    packet_eth_build(frame, mac, mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    for (size_t i = 0; i < len; i++) {
        frame[54 + i] = i * 7 + 1;
    }
    if (next == PACKET_PROTO_TCP && len >= 20) {
        frame[54 + 12] = 5 << 4;
        frame[54 + 13] = 0x10;
    }
    return 54 + len;
}

/* The frame stands in several parts, cut at odd places. */
static Mip6Drop send_frame(World *w, uint8_t *frame, size_t len,
                           const PacketOffload *offload)
{
    struct in6_addr router = address("fe80::1");
    size_t a = MIN(len, 17), b = MIN(len - a, 301);
    struct iovec iov[] = {
        { frame, a }, { frame + a, b }, { frame, 0 },
        { frame + a + b, len - a - b },
    };

    w->frames = w->fragments = w->errors = w->longest = 0;
    g_array_set_size(w->sizes, 0);
    return mip6_tunnel_send(&w->tunnel, 0, mac, mac, iov, 4, PACKET_ETH_LEN,
                            offload, &router);
}

static uint16_t l4_sum(const uint8_t *ip, size_t len, uint8_t next)
{
    struct in6_addr src, dst;

    memcpy(&src, ip + 8, 16);
    memcpy(&dst, ip + 24, 16);
    return packet_sum_fold(packet_sum_add(packet_sum_pseudo6(&src, &dst, next,
                                                             len - 40),
                                          ip + 40, len - 40));
}

/*
 * A path with an MTU of at least 1280 octets takes all packets that a guest may
 * send.
 */
static void test_every_size(void)
{
    static const PacketOffload nothing;
    static const unsigned paths[] = { 1280, 1281, 1287, 1319, 1320, 1500 };
    uint8_t frame[2048];

    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        World *w = world_new(paths[i]);
        unsigned mtu = MAX(paths[i] - 40, 1280);

        g_assert_cmpint(mip6_tunnel_mtu(&w->tunnel, 0), ==, mtu);
        for (unsigned size = 0; size <= 1460; size++) {
            size_t len = packet(frame, PACKET_PROTO_UDP, size);
            bool fits = size + 40 <= mtu;

            g_assert_cmpint(send_frame(w, frame, len, &nothing), ==,
                            fits ? MIP6_DROP_NONE : MIP6_DROP_TOO_BIG);
            g_assert_cmpint(w->errors, ==, !fits);
            g_assert_cmpint(w->longest, <=, paths[i]);
            g_assert_cmpint(w->fragments, ==,
                            fits && size + 80 > paths[i] ? 2 : 0);
            if (fits) {
                g_assert_cmpmem(w->inner, w->len, frame + 14, len - 14);
            }
        }
        world_free(w);
    }
}

/* Fragments have no checksum that a NIC could still make. */
static void test_partial_sum(void)
{
    World *w = world_new(PATH_MTU);
    PacketOffload offload = { .needs_csum = true, .csum_start = 54,
                              .csum_offset = 6 };
    uint8_t frame[2048];

    for (unsigned size = 1201; size <= 1240; size++) {
        size_t len = packet(frame, PACKET_PROTO_UDP, size);
        struct in6_addr src = address("2001:db8:2000::10");
        struct in6_addr dst = address("2001:db8:9000::c");

        put_be16(frame + 54 + 6,
                 ~packet_sum_fold(packet_sum_pseudo6(&src, &dst,
                                                     PACKET_PROTO_UDP,
                                                     size)));
        g_assert_cmpint(send_frame(w, frame, len, &offload), ==,
                        MIP6_DROP_NONE);
        g_assert_cmpint(w->fragments, ==, 2);
        g_assert_false(w->offload.needs_csum);
        g_assert_cmpint(w->len, ==, size + 40);
        g_assert_cmphex(l4_sum(w->inner, w->len, PACKET_PROTO_UDP), ==, 0);
    }
    /* Places where no checksum can be. */
    for (unsigned start = 0; start < 1400; start++) {
        size_t len = packet(frame, PACKET_PROTO_UDP, 1240);

        offload.csum_start = start;
        offload.csum_offset = start * 31;
        send_frame(w, frame, len, &offload);
    }
    world_free(w);
}

/* TCP is cut so that nothing needs a fragment. */
static void test_super_tcp(void)
{
    PacketOffload offload = { .needs_csum = true, .csum_start = 54,
                              .csum_offset = 16, .gso = PACKET_GSO_TCP6,
                              .gso_size = 1440 };
    g_autofree uint8_t *frame = g_malloc(66000);

    for (unsigned path = 1280; path <= 1500; path += 20) {
        World *w = world_new(path);
        size_t len = packet(frame, PACKET_PROTO_TCP, 20 + 50000);

        g_assert_cmpint(send_frame(w, frame, len, &offload), ==,
                        MIP6_DROP_NONE);
        g_assert_cmpint(w->fragments, ==, 0);
        g_assert_cmpint(w->longest, ==, path);
        g_assert_cmpint(w->frames, ==, (50000 + path - 101) / (path - 100));
        g_assert_cmphex(l4_sum(w->inner, w->len, PACKET_PROTO_TCP), ==, 0);
        world_free(w);
    }
}

/* Datagrams keep their size, or none of them goes. */
static void test_super_udp(void)
{
    PacketOffload offload = { .needs_csum = true, .csum_start = 54,
                              .csum_offset = 6, .gso = PACKET_GSO_UDP };
    g_autofree uint8_t *frame = g_malloc(66000);

    for (unsigned path = 1280; path <= 1500; path += 220) {
        World *w = world_new(path);
        unsigned most = MAX(path - 40, 1280) - 48;

        for (unsigned size = 1000; size <= 1500; size++) {
            size_t len = packet(frame, PACKET_PROTO_UDP, 8 + 3 * size + 1);

            offload.gso_size = size;
            if (size > most) {
                g_assert_cmpint(send_frame(w, frame, len, &offload), ==,
                                MIP6_DROP_TOO_BIG);
                g_assert_cmpint(w->frames, ==, 0);
                g_assert_cmpint(w->errors, ==, 1);
                g_assert_cmpint(get_be32(w->error + 44), ==, most + 48);
                continue;
            }
            g_assert_cmpint(send_frame(w, frame, len, &offload), ==,
                            MIP6_DROP_NONE);
            g_assert_cmpint(w->sizes->len, ==, 4);
            for (unsigned i = 0; i < 4; i++) {
                g_assert_cmpint(g_array_index(w->sizes, unsigned, i), ==,
                                48 + (i < 3 ? size : 1));
            }
            g_assert_cmpint(w->longest, <=, path);
            g_assert_cmphex(l4_sum(w->inner, w->len, PACKET_PROTO_UDP), ==, 0);
        }
        world_free(w);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/tunnel/every-size", test_every_size);
    g_test_add_func("/mip6/tunnel/partial-sum", test_partial_sum);
    g_test_add_func("/mip6/tunnel/super-tcp", test_super_tcp);
    g_test_add_func("/mip6/tunnel/super-udp", test_super_udp);
    return g_test_run();
}
