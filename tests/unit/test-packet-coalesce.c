/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Super-frames of frames: the inverse of cutting them, and order is kept */
#include <string.h>

#include "base/octets.h"
#include "net/packet/ip4.h"
#include "net/packet/tcp.h"
#include "tests/fixtures/packet-frames.h"

#define ALL     (PACKET_COALESCE_TCP4 | PACKET_COALESCE_TCP6 | \
                 PACKET_COALESCE_ECN | PACKET_COALESCE_UDP4 | \
                 PACKET_COALESCE_UDP6)
#define ACK     PACKET_TCP_ACK
#define SIZE    1000u

static uint8_t octets[70000];

static FrameSpec spec_of(bool is_ip4, bool is_udp)
{
    return (FrameSpec) {
        .is_ip4 = is_ip4, .is_udp = is_udp, .sequence = 0xffffff00,
        .stamp = 5, .window = 500, .flags = ACK, .payload = octets,
        .len = SIZE, .id = 0xfffe,
    };
}

static void send_one(Stream *s, unsigned takes, const FrameSpec *spec)
{
    uint8_t frame[FRAME_MAX];
    size_t len = frame_make(frame, spec);

    stream_send(s, takes, frame, len, NULL, NULL);
}

/* The next packet of the same flow. */
static void advance(FrameSpec *spec)
{
    spec->sequence += spec->len;
    spec->payload += spec->len;
    spec->id++;
}

/* Cutting restores the original frames: the stream's receiver compares. */
static void test_inverse(void)
{
    for (unsigned i = 0; i < 32; i++) {
        FrameSpec spec = spec_of(i & 1, i & 2);
        Stream *s = stream_new();

        spec.tagged = i & 4;
        spec.dont_fragment = i & 8;
        spec.stamp = i & 16 ? 9 : 0;
        spec.flags = ACK | PACKET_TCP_CWR | PACKET_TCP_ECE;
        for (unsigned n = 0; n < 10; n++) {
            if (n == 9) {
                spec.len = 321;
                spec.flags |= PACKET_TCP_PSH | PACKET_TCP_FIN;
            }
            g_assert_cmpint(s->frames, ==, 0);
            send_one(s, ALL, &spec);
            advance(&spec);
            spec.flags &= ~PACKET_TCP_CWR;
        }
        g_assert_cmpint(s->frames, ==, 1);
        g_assert_cmpint(s->super, ==, 1);
        g_assert_cmpint(s->coalesce.coalesced, ==, 10);
        g_assert_cmpint(s->last.gso_size, ==, SIZE);
        g_assert_cmpint(s->last.ecn, ==, !spec.is_udp);
        stream_free(s);
    }
}

/* Returns: false if there is no such change */
static bool change(FrameSpec *spec, unsigned number)
{
    switch (number) {
    case 0:
        spec->window++;
        return true;
    case 1:
        spec->stamp++;
        return true;
    case 2:
        spec->stamp = 0;
        return true;
    case 3:
        spec->sequence++;
        return true;
    case 4:
        spec->sequence -= SIZE; /* again */
        return true;
    case 5:
        spec->tos = 3;
        return true;
    case 6:
        spec->len++;
        return true;
    case 7:
        spec->vlan = 1;
        return true;
    case 8:
        spec->tagged = false;
        return true;
    case 9:
        spec->ttl = 1;
        return true;
    case 10:
        spec->ack = 1;
        return true;
    case 11:
        spec->flags |= PACKET_TCP_ECE;
        return true;
    case 12:
        spec->flags |= PACKET_TCP_CWR;
        return true;
    default:
        return false;
    }
}

/* A packet that does not follow starts a new frame, and does not overtake. */
static void test_next_but_other(void)
{
    FrameSpec spec = spec_of(true, false);

    for (unsigned i = 0; change(&spec, i / 2); i++) {
        Stream *s = stream_new();

        spec = spec_of(i % 2 == 0, false);
        spec.tagged = true;
        send_one(s, ALL, &spec);
        advance(&spec);
        send_one(s, ALL, &spec);
        advance(&spec);
        change(&spec, i / 2);
        g_assert_cmpint(s->frames, ==, 0);
        send_one(s, ALL, &spec);
        g_assert_cmpint(s->frames, ==, 1);
        g_assert_cmpint(s->coalesce.held, ==, 1);
        stream_free(s);
    }
}

/* The identification increments, except where fragments are forbidden. */
static void test_identification(void)
{
    for (unsigned i = 0; i < 2; i++) {
        FrameSpec spec = spec_of(true, false);
        Stream *s = stream_new();

        spec.dont_fragment = i;
        send_one(s, ALL, &spec);
        advance(&spec);
        spec.id++;
        send_one(s, ALL, &spec);
        g_assert_cmpint(s->frames, ==, i ? 0 : 1);
        stream_free(s);
    }
}

/* A packet that is never held comes at once, after those that were held. */
static void test_never_held(void)
{
    static const uint8_t flags[] = {
        ACK | PACKET_TCP_PSH, ACK | PACKET_TCP_FIN, PACKET_TCP_SYN,
        ACK | PACKET_TCP_RST, ACK | PACKET_TCP_URG,
    };

    for (unsigned i = 0; i <= G_N_ELEMENTS(flags); i++) {
        FrameSpec spec = spec_of(true, false);
        Stream *s = stream_new();

        if (i < G_N_ELEMENTS(flags)) {
            spec.flags = flags[i];
        } else {
            spec.len = 0;       /* an acknowledgement alone */
        }
        send_one(s, ALL, &spec);
        g_assert_cmpint(s->frames, ==, 1);
        spec.flags = ACK;
        spec.len = SIZE;
        send_one(s, ALL, &spec);
        g_assert_cmpint(s->frames, ==, 1);
        advance(&spec);
        spec.len = i < G_N_ELEMENTS(flags) ? SIZE : 0;
        spec.flags = i < G_N_ELEMENTS(flags) ? flags[i] : ACK;
        send_one(s, ALL, &spec);
        g_assert_cmpint(s->frames, ==, i < 2 ? 2 : 3);
        g_assert_cmpint(s->coalesce.held, ==, 0);
        stream_free(s);
    }
}

/* Damaged, cut, padded, a fragment: unchanged, after all that was held. */
static void test_damaged(void)
{
    for (unsigned i = 0; i < 6; i++) {
        FrameSpec spec = spec_of(true, false);
        Stream *s = stream_new();
        uint8_t frame[FRAME_MAX];
        size_t len;

        send_one(s, ALL, &spec);
        advance(&spec);
        len = frame_make(frame, &spec);
        switch (i) {
        case 0:
            frame[len - 1] ^= 1;        /* TCP's checksum is wrong */
            break;
        case 1:
            frame[14 + 10] ^= 1;        /* IPv4's */
            break;
        case 2:
            frame[14 + 6] = 0x20;       /* a fragment */
            packet_ip4_seal(frame + 14, PACKET_IP4_LEN);
            break;
        case 3:
            frame[len++] = 0;           /* padding */
            break;
        case 4:
            len--;
            break;
        default:
            put_be16(frame + 12, 0x806);    /* no IP at all */
        }
        stream_send(s, ALL, frame, len, NULL, NULL);
        g_assert_cmpint(s->frames, ==, 2);
        g_assert_cmpint(s->super, ==, 0);
        stream_free(s);
    }
}

/* Without an offload of the receiver's nothing is held. */
static void test_takes(void)
{
    static const unsigned wants[] = {
        PACKET_COALESCE_TCP6, PACKET_COALESCE_TCP4,
        PACKET_COALESCE_UDP6, PACKET_COALESCE_UDP4,
    };

    for (unsigned i = 0; i < 4; i++) {
        FrameSpec spec = spec_of(i & 1, i & 2);
        Stream *s = stream_new();

        send_one(s, 0, &spec);
        advance(&spec);
        send_one(s, ALL & ~wants[i], &spec);
        advance(&spec);
        g_assert_cmpint(s->frames, ==, 2);
        spec.flags |= PACKET_TCP_CWR;
        send_one(s, wants[i], &spec);
        g_assert_cmpint(s->frames, ==, spec.is_udp ? 2 : 3);
        advance(&spec);
        spec.flags = ACK;
        send_one(s, wants[i], &spec);
        advance(&spec);
        send_one(s, wants[i], &spec);
        stream_free(s);
    }
}

/* Datagrams without a checksum stay alone. */
static void test_no_checksum(void)
{
    FrameSpec spec = spec_of(true, true);
    Stream *s = stream_new();
    uint8_t frame[FRAME_MAX];
    size_t len = frame_make(frame, &spec);

    put_be16(frame + 14 + 20 + 6, 0);
    stream_send(s, ALL, frame, len, NULL, NULL);
    stream_send(s, ALL, frame, len, NULL, NULL);
    g_assert_cmpint(s->frames, ==, 2);
    stream_free(s);
}

static void send_partial(Stream *s, const FrameSpec *spec)
{
    uint8_t frame[FRAME_MAX], full[FRAME_MAX];
    size_t len = frame_make(full, spec);
    PacketOffload offload;

    memcpy(frame, full, len);
    offload = frame_partial(frame, spec);
    stream_send(s, ALL, frame, len, &offload, full);
}

/* A checksum left to the receiver is not checked, and stays so. */
static void test_partial(void)
{
    for (unsigned i = 0; i < 4; i++) {
        FrameSpec spec = spec_of(i & 1, i & 2);
        Stream *s = stream_new();

        for (unsigned n = 0; n < 3; n++) {
            send_partial(s, &spec);
            advance(&spec);
        }
        packet_coalesce_flush(&s->coalesce);
        g_assert_cmpint(s->super, ==, 1);
        spec.len = 99;
        send_partial(s, &spec); /* alone */
        packet_coalesce_flush(&s->coalesce);
        g_assert_true(s->last.needs_csum && s->last.gso == PACKET_GSO_NONE);
        stream_free(s);
    }
}

/* A full frame is sent; so is the oldest flow, when there is no room. */
static void test_bounds(void)
{
    FrameSpec spec = spec_of(false, false);
    Stream *s;

    for (spec.len = SIZE; spec.len < SIZE + 32; spec.len++) {
        s = stream_new();
        for (unsigned i = 0; i < 70; i++) {
            send_one(s, ALL, &spec);
            advance(&spec);
            spec.payload = octets;
        }
        g_assert_cmpint(s->longest, >, PACKET_COALESCE_MAX - spec.len);
        stream_free(s);
    }

    spec.len = SIZE;
    s = stream_new();
    for (unsigned i = 0; i < PACKET_COALESCE_FLOWS + 3; i++) {
        spec.flow = i;
        send_one(s, ALL, &spec);
    }
    g_assert_cmpint(s->frames, ==, 3);
    g_assert_null(g_ptr_array_index(s->sent, 2));
    g_assert_cmpint(packet_coalesce_discard(&s->coalesce), ==,
                    PACKET_COALESCE_FLOWS);
    g_assert_cmpint(s->coalesce.held, ==, 0);
    for (unsigned i = 0; i < s->sent->len; i++) {
        g_clear_pointer(&g_ptr_array_index(s->sent, i), g_bytes_unref);
    }
    stream_free(s);

    spec = spec_of(false, true);
    spec.len = 10;
    s = stream_new();
    for (unsigned i = 0; i < PACKET_COALESCE_DATAGRAMS_MAX; i++) {
        g_assert_cmpint(s->frames, ==, 0);
        send_one(s, ALL, &spec);
    }
    g_assert_cmpint(s->frames, ==, 1);
    stream_free(s);
}

/* Several flows, with random operations. */
static void test_random(void)
{
    Stream *s = stream_new();
    FrameSpec flow[6];

    for (unsigned i = 0; i < 6; i++) {
        flow[i] = spec_of(i & 1, i & 2);
        flow[i].flow = i;
    }
    for (unsigned i = 0; i < 3000; i++) {
        FrameSpec *spec = &flow[g_test_rand_int_range(0, 6)];
        unsigned takes = g_test_rand_int_range(0, 40) ? ALL
                         : g_test_rand_int_range(0, ALL + 1);

        spec->payload = octets + g_test_rand_int_range(0, SIZE);
        if (g_test_rand_int_range(0, 8) == 0) {
            spec->len = g_test_rand_int_range(0, SIZE + 200);
            spec->window += g_test_rand_bit();
            spec->flags = ACK | (g_test_rand_int() & 0xff);
        }
        send_one(s, takes, spec);
        spec->sequence += spec->len;
        spec->id++;
        spec->len = SIZE;
        spec->flags = ACK;
        if (g_test_rand_int_range(0, 50) == 0) {
            packet_coalesce_flush(&s->coalesce);
        }
    }
    g_assert_cmpint(s->super, >, 100);
    stream_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < sizeof(octets); i++) {
        octets[i] = g_test_rand_int();
    }
    g_test_add_func("/packet/coalesce/inverse", test_inverse);
    g_test_add_func("/packet/coalesce/next-but-other", test_next_but_other);
    g_test_add_func("/packet/coalesce/identification", test_identification);
    g_test_add_func("/packet/coalesce/never-held", test_never_held);
    g_test_add_func("/packet/coalesce/damaged", test_damaged);
    g_test_add_func("/packet/coalesce/takes", test_takes);
    g_test_add_func("/packet/coalesce/no-checksum", test_no_checksum);
    g_test_add_func("/packet/coalesce/partial", test_partial);
    g_test_add_func("/packet/coalesce/bounds", test_bounds);
    g_test_add_func("/packet/coalesce/random", test_random);
    return g_test_run();
}
