/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ICMPv6 messages of Mobile IPv6: their octets, and what is refused */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/mip6/core/icmp.h"
#include "net/packet/sum.h"

static const struct in6_addr src = { .s6_addr = { 0x20, 1, [15] = 1 } };
static const struct in6_addr dst = { .s6_addr = { 0x20, 1, [15] = 2 } };

static Mip6Icmp advert(void)
{
    return (Mip6Icmp) {
        .type = MIP6_ICMP_PREFIX_ADVERT, .id = 0x1234, .other = true,
        .prefixes = 2,
        .prefix = {
            { .prefix = src, .len = 64, .on_link = true, .autonomous = true,
              .valid = 3600, .preferred = 1800 },
            { .prefix = dst, .len = 48, .valid = PACKET_ND_INFINITE },
        },
    };
}

/* Section 6.7: 8 octets; section 6.8: options of 32 behind 8. */
static void test_octets(void)
{
    const uint8_t solicit[] = { 146, 0, 0, 0, 0x12, 0x34, 0, 0 };
    const uint8_t head[] = { 147, 0, 0, 0, 0x12, 0x34, 0x40, 0, 3, 4, 64, 0xc0,
                             0, 0, 0x0e, 0x10, 0, 0, 0x07, 0x08 };
    Mip6Icmp m = { .type = MIP6_ICMP_PREFIX_SOLICIT, .id = 0x1234 };
    uint8_t buf[MIP6_ICMP_MAX];

    g_assert_cmpuint(mip6_icmp_build(buf, &src, &dst, &m), ==, 8);
    put_be16(buf + 2, 0);
    g_assert_cmpmem(buf, 8, solicit, 8);
    m = advert();
    g_assert_cmpuint(mip6_icmp_build(buf, &src, &dst, &m), ==, 72);
    put_be16(buf + 2, 0);
    g_assert_cmpmem(buf, sizeof(head), head, sizeof(head));
    m = (Mip6Icmp) { .type = MIP6_ICMP_AGENT_REPLY, .agents = 2,
                     .agent = { src, dst } };
    g_assert_cmpuint(mip6_icmp_build(buf, &src, &dst, &m), ==, 40);
    g_assert_cmpmem(buf + 24, 16, &dst, 16);
}

static void test_again(void)
{
    Mip6Icmp m = advert(), read;
    uint8_t buf[MIP6_ICMP_MAX];
    size_t len = mip6_icmp_build(buf, &src, &dst, &m);

    g_assert_true(mip6_icmp_parse(&read, &src, &dst, buf, len));
    g_assert_cmpmem(&read, sizeof(read), &m, sizeof(m));
    /* With other addresses, another checksum. */
    g_assert_false(mip6_icmp_parse(&read, &src, &src, buf, len));
    for (size_t i = 0; i < len; i++) {
        buf[i] ^= 0x10;
        g_assert_false(mip6_icmp_parse(&read, &src, &dst, buf, len));
        buf[i] ^= 0x10;
    }
}

/* The sum is right, but the message is not. */
static bool sealed(uint8_t *buf, size_t len)
{
    uint32_t sum = packet_sum_pseudo6(&src, &dst, 58, len);
    g_autofree uint8_t *exact = NULL;
    Mip6Icmp m;

    put_be16(buf + 2, 0);
    put_be16(buf + 2, packet_sum_fold(packet_sum_add(sum, buf, len)));
    exact = g_memdup2(buf, len);
    return mip6_icmp_parse(&m, &src, &dst, exact, len);
}

static void test_refused(void)
{
    Mip6Icmp m = advert();
    uint8_t buf[MIP6_ICMP_MAX];
    size_t len = mip6_icmp_build(buf, &src, &dst, &m);

    g_assert_true(sealed(buf, len));
    for (size_t cut = 4; cut < len; cut += 2) {
        g_assert_cmpint(sealed(buf, cut), ==, cut == 8 || cut == 40);
    }
    buf[1] = 1;
    g_assert_false(sealed(buf, len));
    buf[1] = 0;
    buf[9] = 0;                 /* an option without a length */
    g_assert_false(sealed(buf, len));
    buf[9] = 4;
    buf[8] = 99;                /* an unknown one is passed over */
    g_assert_true(sealed(buf, len));
    buf[0] = 148;
    g_assert_false(sealed(buf, len));
    buf[0] = MIP6_ICMP_AGENT_REPLY;
    g_assert_true(sealed(buf, 8 + 32));
    g_assert_false(sealed(buf, 8 + 24));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/icmp/octets", test_octets);
    g_test_add_func("/mip6/icmp/again", test_again);
    g_test_add_func("/mip6/icmp/refused", test_refused);
    return g_test_run();
}
