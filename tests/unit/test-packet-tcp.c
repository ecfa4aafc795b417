/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segment size of a SYN is lowered, and its checksum corrected */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

/* A SYN with @options, its checksum made. Returns its length. */
static size_t syn(uint8_t *tcp, const uint8_t *options, size_t len)
{
    memset(tcp, 0, PACKET_TCP_LEN);
    put_be16(tcp, 40000);
    put_be16(tcp + 2, 80);
    put_be32(tcp + 4, 0xfedcba98);
    tcp[12] = (PACKET_TCP_LEN + len) / 4 << 4;
    tcp[13] = PACKET_TCP_SYN;
    memcpy(tcp + PACKET_TCP_LEN, options, len);
    put_be16(tcp + 16, packet_sum_fold(packet_sum_add(0, tcp,
                                           PACKET_TCP_LEN + len)));
    return PACKET_TCP_LEN + len;
}

static void assert_sum(const uint8_t *tcp, size_t len)
{
    g_assert_cmphex(packet_sum_fold(packet_sum_add(0, tcp, len)), ==, 0);
}

static void test_clamp(void)
{
    /* At an even and at an odd offset, behind others, twice. */
    static const uint8_t options[][8] = {
        { 2, 4, 0x05, 0xa0, 4, 2, 0, 0 },
        { 1, 2, 4, 0x05, 0xa0, 1, 1, 1 },
        { 3, 3, 7, 2, 4, 0xff, 0xff, 0 },
        { 2, 4, 0x05, 0xa0, 2, 4, 0x05, 0xa1 },
    };
    static const size_t at[] = { 2, 3, 5, 6 };
    uint8_t tcp[60], before[60];

    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        for (unsigned mss = 1; mss < 1440; mss++) {
            size_t len = syn(tcp, options[i], 8);

            g_assert_true(packet_tcp_clamp_mss(tcp, len, mss, false));
            g_assert_cmpint(get_be16(tcp + 20 + at[i]), ==, mss);
            assert_sum(tcp, len);
            memcpy(before, tcp, len);
            g_assert_false(packet_tcp_clamp_mss(tcp, len, mss, false));
            g_assert_cmpmem(before, len, tcp, len);
        }
    }
}

/* A partial checksum covers no option. */
static void test_partial(void)
{
    static const uint8_t options[] = { 2, 4, 0x05, 0xa0 };
    uint8_t tcp[60];
    size_t len = syn(tcp, options, sizeof(options));

    put_be16(tcp + 16, 0x1234);
    g_assert_true(packet_tcp_clamp_mss(tcp, len, 1220, true));
    g_assert_cmphex(get_be16(tcp + 16), ==, 0x1234);
    g_assert_cmpint(get_be16(tcp + 22), ==, 1220);
}

/* No SYN, a header that is cut, options that are no options. */
static void test_left(void)
{
    static const uint8_t good[] = { 2, 4, 0x05, 0xa0 };
    static const uint8_t bad[][8] = {
        { 0, 2, 4, 0x05, 0xa0, 0, 0, 0 },       /* behind the end */
        { 2, 3, 0x05, 2, 5, 0x05, 0xa0, 0 },    /* of other lengths */
        { 5, 0, 2, 4, 0x05, 0xa0, 0, 0 },       /* of none */
        { 5, 9, 2, 4, 0x05, 0xa0, 0, 0 },       /* longer than the rest */
        { 1, 1, 1, 1, 1, 1, 1, 2 },             /* cut */
    };
    uint8_t tcp[60];
    size_t len = syn(tcp, good, sizeof(good));

    for (size_t cut = 0; cut < len; cut++) {
        g_autofree uint8_t *copy = g_memdup2(tcp, cut + 1);

        g_assert_false(packet_tcp_clamp_mss(copy, cut, 1, false));
    }
    tcp[13] = 0x10;
    g_assert_false(packet_tcp_clamp_mss(tcp, len, 1, false));
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        len = syn(tcp, bad[i], 8);
        g_assert_false(packet_tcp_clamp_mss(tcp, len, 1, false));
        assert_sum(tcp, len);
    }
    tcp[12] = 4 << 4;           /* shorter than a header */
    g_assert_false(packet_tcp_clamp_mss(tcp, len, 1, false));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/tcp/clamp", test_clamp);
    g_test_add_func("/packet/tcp/partial", test_partial);
    g_test_add_func("/packet/tcp/left", test_left);
    return g_test_run();
}
