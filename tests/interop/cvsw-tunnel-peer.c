/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two NICs' switches and the kernel between their taps, which are on a bridge
 *
 *   cvsw-tunnel-peer probe  TAP TAP   does the kernel know tunnels? status 0
 *   cvsw-tunnel-peer cut    TAP TAP   the second tap takes no super-frames
 *   cvsw-tunnel-peer whole  TAP TAP   the second tap takes them
 *   cvsw-tunnel-peer time   TAP TAP   what it costs; nanoseconds an octet
 *
 * cut: what the kernel makes of the super-frames in tunnels that one NIC leaves
 * to it are the frames that another NIC makes, which cuts by itself: octet for
 * octet, but for the outer IPv4 identification.  So it is for all sizes and
 * both versions of IP, outside and inside.
 *
 * whole: what comes out of the other tap, a NIC takes out of its tunnel as the
 * guest has sent it; one without tunnels makes of it the frames of cut.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/octets.h"
#include "net/packet/ip4.h"
#include "net/packet/tcp.h"
#include "net/stage/vnet.h"
#include "tests/fixtures/cvsw-nic.h"

/* Only a failure takes so long. */
#define PATIENCE_MS     180000
#define HEADER          NET_STAGE_VNET_TUNNEL
#define SOURCE          "\x02\0\0\0\0\x0a"      /* of all outer frames */
/* A receiver takes nothing, large segments, or those in tunnels, too. */
#define NONE            0ul
#define PLAIN           (TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)
/* TUN_F_UDP_TUNNEL_GSO, TUN_F_UDP_TUNNEL_GSO_CSUM: since 6.17 */
#define TUNNELS         (PLAIN | 0x080 | 0x100)

enum {
    MSS = NIC_MSS,
    PAYLOAD_MAX = 65535 - PACKET_IP4_LEN - PACKET_TCP_LEN,
    STRIDE = 997,
    ROUNDS = 5,
    ROUND = 400,                /* super-frames */
    LARGE = 64000,
};

typedef struct Got {
    uint8_t data[HEADER + sizeof(((NicFrame *)NULL)->data)];
    size_t len;
} Got;

/* --- taps ----------------------------------------------------------------- */

static int tap_open(const char *name)
{
    struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    int len = HEADER;

    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) ||
        ioctl(fd, TUNSETVNETHDRSZ, &len) || ioctl(fd, TUNSETOFFLOAD, 0)) {
        perror(name);
        exit(EXIT_FAILURE);
    }
    return fd;
}

static bool tap_take(int fd, unsigned long offload)
{
    return !ioctl(fd, TUNSETOFFLOAD, offload);
}

static void tap_write(int fd, const struct iovec *iov, int parts,
                      const PacketOffload *offload)
{
    struct iovec all[CVSW_PARTS_MAX + 4];
    uint8_t header[HEADER] = { 0 };
    size_t len = HEADER + packet_iov_len(iov, parts);

    net_stage_vnet_write(header, sizeof(header), offload);
    all[0] = (struct iovec) { header, sizeof(header) };
    memcpy(all + 1, iov, parts * sizeof(*iov));
    if (writev(fd, all, parts + 1) != (ssize_t)len) {
        g_error("a frame of %zu octets: %s", len, g_strerror(errno));
    }
}

static bool is_ours(const Got *got)
{
    return got->len > HEADER + PACKET_ETH_LEN &&
           !memcmp(got->data + HEADER + PACKET_ETH_ADDR_LEN, SOURCE,
                   PACKET_ETH_ADDR_LEN);
}

/* The next frame of ours. */
static void tap_read(int fd, Got *got)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    do {
        ssize_t len = read(fd, got->data, sizeof(got->data));

        if (len < 0 && poll(&p, 1, PATIENCE_MS) != 1) {
            g_error("nothing has come");
        }
        got->len = len < 0 ? 0 : len;
    } while (!is_ours(got));
}

/* --- frames --------------------------------------------------------------- */

static bool always(void *opaque)
{
    return true;
}

static void forget_id(uint8_t *frame)
{
    if (get_be16(frame + 2 * PACKET_ETH_ADDR_LEN) == PACKET_ETH_IP4) {
        put_be16(frame + PACKET_ETH_LEN + 4, 0);
        packet_ip4_seal(frame + PACKET_ETH_LEN, PACKET_IP4_LEN);
    }
}

static void assert_same(uint8_t *a, size_t a_len, uint8_t *b, size_t b_len)
{
    forget_id(a);
    forget_id(b);
    g_assert_cmpmem(a, a_len, b, b_len);
}

typedef struct Bed {
    int one, other;
    Nic *leaves, *cuts;         /* of the guest that sends */
    Nic *opens, *passes;        /* of who gets it */
    bool tagged;                /* what is in the tunnel */
    unsigned whole;             /* super-frames that came */
    unsigned pieces;
    Got got;
} Bed;

/* A bridge forwards soon after its ports have got their carriers. */
static void meet(Bed *bed)
{
    uint8_t hello[60] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 };
    struct pollfd p = { .fd = bed->other, .events = POLLIN };
    struct iovec iov = { hello, sizeof(hello) };
    PacketOffload none = { 0 };
    int waited = 0;

    do {
        tap_write(bed->one, &iov, 1, &none);
        if (waited++ > PATIENCE_MS / 20) {
            g_error("the bridge forwards nothing");
        }
    } while (poll(&p, 1, 20) != 1);
}

static void send_whole(Bed *bed)
{
    for (unsigned i = 0; i < bed->leaves->wire->len; i++) {
        NicFrame *f = g_ptr_array_index(bed->leaves->wire, i);
        struct iovec iov = { f->data, f->len };

        tap_write(bed->one, &iov, 1, &f->offload);
    }
}

static void forget_frames(Nic *nic)
{
    g_ptr_array_set_size(nic->wire, 0);
    g_ptr_array_set_size(nic->guest, 0);
}

static void expect_cut(Bed *bed)
{
    for (unsigned i = 0; i < bed->cuts->wire->len; i++) {
        NicFrame *want = g_ptr_array_index(bed->cuts->wire, i);

        tap_read(bed->other, &bed->got);
        assert_same(bed->got.data + HEADER, bed->got.len - HEADER, want->data,
                    want->len);
        bed->pieces++;
    }
}

/* It comes to the guest as it was sent, but for a tag. */
static void expect_inside(Bed *bed, const NicFrame *sent)
{
    size_t at = 2 * PACKET_ETH_ADDR_LEN;
    const NicFrame *came;

    g_assert_cmpuint(bed->opens->guest->len, ==, 1);
    came = g_ptr_array_index(bed->opens->guest, 0);
    g_assert_cmpmem(came->data, at, sent->data, at);
    g_assert_cmpmem(came->data + at + (bed->tagged ? PACKET_ETH_TAG_LEN : 0),
                    came->len - at - (bed->tagged ? PACKET_ETH_TAG_LEN : 0),
                    sent->data + at, sent->len - at);
    g_assert_cmpint(came->offload.gso, ==, sent->offload.gso);
    g_assert_cmpuint(came->offload.gso_size, ==, MSS);
}

/* The frame that came is the one sent, and stands for its segments. */
static void expect_whole(Bed *bed, const NicFrame *sent)
{
    NicFrame *f = g_new0(NicFrame, 1);

    tap_read(bed->other, &bed->got);
    f->len = bed->got.len - HEADER;
    memcpy(f->data, bed->got.data + HEADER, f->len);
    f->offload = net_stage_vnet_read(bed->got.data, HEADER);
    g_assert_true(f->offload.tunnel);
    g_assert_true(nic_put_in(bed->opens, CVSW_PORT_WIRE, f));
    expect_inside(bed, sent);
    g_assert_true(nic_put_in(bed->passes, CVSW_PORT_WIRE, f));
    g_assert_cmpuint(bed->passes->guest->len, ==, bed->cuts->wire->len);
    for (unsigned i = 0; i < bed->cuts->wire->len; i++) {
        NicFrame *piece = g_ptr_array_index(bed->passes->guest, i);
        NicFrame *want = g_ptr_array_index(bed->cuts->wire, i);

        assert_same(piece->data, piece->len, want->data, want->len);
    }
    bed->whole++;
    g_free(f);
}

static void try_size(Bed *bed, bool is_ip4, size_t payload, bool whole)
{
    NicFrame *f = nic_tcp(is_ip4, payload, true);

    g_assert_true(nic_put_in(bed->leaves, CVSW_PORT_GUEST, f));
    g_assert_true(nic_put_in(bed->cuts, CVSW_PORT_GUEST, f));
    send_whole(bed);
    if (whole && bed->leaves->wire->len == 1 && payload > MSS) {
        expect_whole(bed, f);
    } else {
        expect_cut(bed);
    }
    forget_frames(bed->leaves);
    forget_frames(bed->cuts);
    forget_frames(bed->opens);
    forget_frames(bed->passes);
    g_free(f);
}

static void try_sizes(Bed *bed, bool is_ip4, bool whole)
{
    for (size_t size = 10; size <= PAYLOAD_MAX; size += STRIDE) {
        try_size(bed, is_ip4, size, whole);
    }
    for (size_t n = 1; n * MSS < PAYLOAD_MAX; n++) {
        for (int by = -1; by <= 1; by++) {
            try_size(bed, is_ip4, n * MSS + by, whole);
        }
    }
    try_size(bed, is_ip4, PAYLOAD_MAX, whole);
}

static void into_tunnel(const Bed *bed, Nic *nic, bool outer6)
{
    CvswAction list[3] = {
        { .type = CVSW_ACTION_PUSH_VLAN, .number = PACKET_ETH_VLAN },
        nic_into_tunnel(outer6), nic_output(CVSW_PORT_WIRE),
    };

    nic_flow_from(nic, CVSW_PORT_GUEST, list + !bed->tagged,
                  3 - !bed->tagged);
}

static void try_all(Bed *bed, bool whole)
{
    Nic *nobody = nic_new();

    for (unsigned way = 0; way < 8; way++) {
        bed->tagged = way & 4;
        bed->leaves = nic_new();
        bed->cuts = nic_new();
        bed->opens = nic_new();
        bed->passes = nic_new();
        bed->leaves->run.wire_cuts = always;
        into_tunnel(bed, bed->leaves, way & 2);
        into_tunnel(bed, bed->cuts, way & 2);
        nic_connect(nobody, bed->opens, way & 2, false);
        try_sizes(bed, way & 1, whole);
        g_assert_cmpuint(bed->leaves->run.sent_whole, >, 100);
        nic_free(bed->leaves);
        nic_free(bed->cuts);
        nic_free(bed->opens);
        nic_free(bed->passes);
    }
    nic_free(nobody);
    printf("%u super-frames, %u frames\n", bed->whole, bed->pieces);
}

/* --- time ----------------------------------------------------------------- */

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void emit_to_tap(void *opaque, uint32_t port, const struct iovec *iov,
                        int parts, const PacketOffload *offload)
{
    tap_write(*(int *)opaque, iov, parts, offload);
}

static void emit_nowhere(void *opaque, uint32_t port, const struct iovec *iov,
                         int parts, const PacketOffload *offload)
{
    (*(size_t *)opaque) += packet_iov_len(iov, parts);
}

/* All that is there, through the other NIC; returns octets for its guest. */
static size_t receive_all(Bed *bed)
{
    size_t octets = 0;
    ssize_t len;

    bed->opens->run.emit = emit_nowhere;
    bed->opens->run.opaque = &octets;
    while ((len = read(bed->other, bed->got.data, sizeof(bed->got.data))) > 0) {
        PacketOffload o = net_stage_vnet_read(bed->got.data, HEADER);
        struct iovec iov = { bed->got.data + HEADER, len - HEADER };

        cvsw_run(&bed->opens->run, CVSW_PORT_WIRE, &iov, 1, &o, 0);
    }
    return octets;
}

static void time_way(Bed *bed, const char *name, bool cuts,
                     unsigned long takes)
{
    g_autofree NicFrame *f = nic_tcp(true, LARGE, true);
    double sends, begin, takes_in;

    g_assert_true(tap_take(bed->other, takes));
    bed->leaves = nic_new();
    bed->opens = nic_new();
    bed->leaves->run.wire_cuts = cuts ? always : NULL;
    nic_connect(bed->leaves, bed->opens, false, false);
    bed->leaves->run.emit = emit_to_tap;
    bed->leaves->run.opaque = &bed->one;
    for (unsigned round = 0; round < ROUNDS; round++) {
        sends = takes_in = 0;
        for (unsigned i = 0; i < ROUND; i++) {
            begin = cpu_ns();
            nic_put_in(bed->leaves, CVSW_PORT_GUEST, f);
            sends += cpu_ns() - begin;
            begin = cpu_ns();
            g_assert_cmpuint(receive_all(bed), >=, LARGE);
            takes_in += cpu_ns() - begin;
        }
        printf("{\"name\": \"%s\", \"send\": %.3f, \"receive\": %.3f}\n", name,
               sends / ROUND / LARGE, takes_in / ROUND / LARGE);
    }
    nic_free(bed->leaves);
    nic_free(bed->opens);
}

static void time_all(Bed *bed)
{
    time_way(bed, "cut by the NIC", false, PLAIN);
    time_way(bed, "cut by the kernel", true, PLAIN);
    time_way(bed, "not cut", true, TUNNELS);
}

int main(int argc, char **argv)
{
    static Bed bed;
    const char *what = argc == 4 ? argv[1] : "";

    if (argc != 4) {
        fprintf(stderr, "usage: %s probe|cut|whole|time TAP TAP\n", argv[0]);
        return 2;
    }
    bed.one = tap_open(argv[2]);
    bed.other = tap_open(argv[3]);
    if (!tap_take(bed.other, TUNNELS)) {
        fprintf(stderr, "no tunnels: %s\n", g_strerror(errno));
        return EXIT_FAILURE;
    }
    meet(&bed);
    if (!strcmp(what, "cut")) {
        g_assert_true(tap_take(bed.other, NONE));
        try_all(&bed, false);
        g_assert_cmpuint(bed.pieces, >, 10000);
    } else if (!strcmp(what, "whole")) {
        try_all(&bed, true);
        g_assert_cmpuint(bed.whole, >, 400);
    } else if (!strcmp(what, "time")) {
        time_all(&bed);
    }
    return EXIT_SUCCESS;
}
