/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mobility headers: the octets of a Linux node and agent, and invalid ones */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/mip6/core/mh.h"
#include "net/packet/sum.h"

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static size_t octets(uint8_t *buf, const char *hex)
{
    size_t len = strlen(hex) / 2;

    for (size_t i = 0; i < len; i++) {
        buf[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                 g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return len;
}

#define HOME    "20010db8000100000000000000001234"
#define COA     "20010db8000200000000000000005678"

/* Write the checksum of a message that was written by hand. */
static void seal(uint8_t *mh, size_t len, const struct in6_addr *src,
                 const struct in6_addr *dst)
{
    uint32_t sum;

    put_be16(mh + 4, 0);
    sum = packet_sum_pseudo6(src, dst, 135, len);
    put_be16(mh + 4, packet_sum_fold(packet_sum_add(sum, mh, len)));
}

/* The layout that a Linux node and agent send, with our own care-of address. */
static void test_golden_update(void)
{
    struct in6_addr home = address("2001:db8:1::1234");
    struct in6_addr agent = address("2001:db8:1::1");
    Mip6Mh bu = {
        .type = MIP6_MH_BU,
        .sequence = 0xd390,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
        .lifetime = 0x545f,
        .has_alternate = true,
        .alternate = address("2001:db8:2::5678"),
    };
    uint8_t want[40], got[128];
    size_t len = octets(want, "3b0305000000d390c000545f01000310" COA);

    g_assert_cmpint(len, ==, 32);
    seal(want, len, &home, &agent);
    g_assert_cmpmem(got, mip6_mh_build(got, sizeof(got), &home, &agent, &bu),
                    want, len);
}

static void test_golden_ack(void)
{
    struct in6_addr home = address("2001:db8:1::1234");
    struct in6_addr agent = address("2001:db8:1::1");
    uint8_t buf[16];
    size_t len = octets(buf, "3b01060000000000d390545f01020000");
    Mip6Mh ba;

    seal(buf, len, &agent, &home);
    g_assert_cmpint(mip6_mh_parse(&ba, &agent, &home, buf, len), ==,
                    MIP6_MH_GOOD);
    g_assert_cmpint(ba.type, ==, MIP6_MH_BA);
    g_assert_cmpint(ba.status, ==, 0);
    g_assert_cmpint(ba.sequence, ==, 0xd390);
    g_assert_cmpint(ba.lifetime, ==, 21599);
}

static void test_golden_beside(void)
{
    struct in6_addr home = address("2001:db8:1::1234"), got;
    uint8_t want[24], buf[24];

    octets(want, "870201020000c910" HOME);
    g_assert_cmpmem(buf, mip6_hao_build(buf, 135, &home), want, 24);
    g_assert_true(mip6_hao_parse(&got, buf, 24));
    g_assert_cmpmem(&got, 16, &home, 16);
    octets(want, "8702020100000000" HOME);
    g_assert_cmpmem(buf, mip6_rh2_build(buf, 135, &home), want, 24);
    g_assert_true(mip6_rh2_parse(&got, buf, 24));
    g_assert_cmpmem(&got, 16, &home, 16);
}

/* The agent's own answer as it was on the wire, checksum included. */
static void test_golden_checksum(void)
{
    struct in6_addr home = address("2001:db8:1::1234");
    uint8_t buf[16];
    Mip6Mh ba;
    size_t len = octets(buf, "3b01060027cc0000d390545f01020000");
    bool found = false;

    /* The agent's address is not in the capture; it is on the same link. */
    for (unsigned i = 0; i < 0x10000 && !found; i++) {
        struct in6_addr agent = address("2001:db8:1::");

        agent.s6_addr[14] = i >> 8;
        agent.s6_addr[15] = i;
        found = mip6_mh_parse(&ba, &agent, &home, buf, len) == MIP6_MH_GOOD;
    }
    g_assert_true(found);
}

/* Each type, each option: written and parsed again. */
static void test_both_ways(void)
{
    struct in6_addr src = address("2001:db8:1::1"), dst = address("::2");

    for (unsigned type = MIP6_MH_BRR; type <= MIP6_MH_BE; type++) {
        for (unsigned options = 0; options < 16; options++) {
            Mip6Mh mh = {
                .type = type,
                .has_refresh = options & 1,
                .has_alternate = options & 2,
                .has_nonces = options & 4,
                .has_authenticator = options & 8,
            };
            uint8_t buf[256];
            size_t len;
            Mip6Mh got;

            mh.refresh = mh.has_refresh ? 0x1234 : 0;
            mh.alternate = mh.has_alternate ? dst : in6addr_any;
            mh.home_nonce = mh.has_nonces ? 7 : 0;
            mh.care_of_nonce = mh.has_nonces ? 9 : 0;
            mh.authenticator_len = mh.has_authenticator ? 12 : 0;
            memset(mh.authenticator, mh.has_authenticator ? 0xa5 : 0, 12);
            if (type >= MIP6_MH_HOTI && type <= MIP6_MH_COT) {
                mh.cookie = 0x0102030405060708;
            }
            if (type == MIP6_MH_HOT || type == MIP6_MH_COT) {
                mh.token = 0x1112131415161718;
                mh.nonce_index = 99;
            }
            if (type == MIP6_MH_BU || type == MIP6_MH_BA) {
                mh.sequence = 0xfffe;
                mh.lifetime = 0xabcd;
                mh.flags = type == MIP6_MH_BU ? MIP6_BU_KEY : MIP6_BA_KEY;
            }
            if (type == MIP6_MH_BA || type == MIP6_MH_BE) {
                mh.status = 135;
            }
            if (type == MIP6_MH_BE) {
                mh.home = src;
            }
            len = mip6_mh_build(buf, sizeof(buf), &src, &dst, &mh);
            g_assert_cmpint(len, >, 0);
            g_assert_cmpint(len % 8, ==, 0);
            g_assert_cmpint(mip6_mh_parse(&got, &src, &dst, buf, len), ==,
                            MIP6_MH_GOOD);
            g_assert_cmpmem(&got, sizeof(got), &mh, sizeof(mh));
        }
    }
}

static void test_bad(void)
{
    struct in6_addr src = address("2001:db8:1::1"), dst = address("::2");
    Mip6Mh mh = { .type = MIP6_MH_BA, .sequence = 1 };
    uint8_t buf[64], bad[64];
    size_t len = mip6_mh_build(buf, sizeof(buf), &src, &dst, &mh);

    for (size_t cut = 0; cut < len; cut++) {
        g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, buf, cut), ==,
                        MIP6_MH_SHORT);
    }
    /* Every bit is covered by the checksum. */
    for (size_t bit = 0; bit < len * 8; bit++) {
        memcpy(bad, buf, len);
        bad[bit / 8] ^= 1 << bit % 8;
        g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, bad, len), !=,
                        MIP6_MH_GOOD);
    }
    memcpy(bad, buf, len);
    bad[2] = 77;
    seal(bad, len, &src, &dst);
    g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, bad, len), ==,
                    MIP6_MH_UNKNOWN);
    g_assert_cmpint(mh.type, ==, 77);
    memcpy(bad, buf, len);
    bad[0] = 41;
    seal(bad, len, &src, &dst);
    g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, bad, len), ==,
                    MIP6_MH_PAYLOAD_PROTO);
    memcpy(bad, buf, len);
    bad[12] = 200;              /* an option that goes beyond the end */
    bad[13] = 200;
    seal(bad, len, &src, &dst);
    g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, bad, len), ==,
                    MIP6_MH_OPTION);
}

/* An unknown option, and a known one of a wrong length. */
static void test_unknown_option(void)
{
    struct in6_addr src = address("2001:db8:1::1"), dst = address("::2");
    uint8_t buf[24];
    Mip6Mh mh;

    octets(buf, "3b020600000000000001001e" "2002aabb" "0202000901010203");
    buf[20] = 1;                /* PadN to the end */
    buf[21] = 2;
    seal(buf, 24, &src, &dst);
    g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, buf, 24), ==,
                    MIP6_MH_GOOD);
    g_assert_true(mh.has_refresh);
    g_assert_cmpint(mh.refresh, ==, 9);
    buf[17] = 1;
    buf[19] = 0;                /* Pad1 behind the short option */
    seal(buf, 24, &src, &dst);
    g_assert_cmpint(mip6_mh_parse(&mh, &src, &dst, buf, 24), ==,
                    MIP6_MH_GOOD);
    g_assert_false(mh.has_refresh);
}

/* RFC 6275 section 9.5.1 has this example. */
static void test_sequence(void)
{
    g_assert_false(mip6_sequence_is_newer(15, 15));
    g_assert_false(mip6_sequence_is_newer(0, 15));
    g_assert_true(mip6_sequence_is_newer(16, 15));
    g_assert_true(mip6_sequence_is_newer(32782, 15));
    g_assert_false(mip6_sequence_is_newer(32783, 15));
    g_assert_false(mip6_sequence_is_newer(65535, 15));
    g_assert_true(mip6_sequence_is_newer(0, 65535));
}

static void test_bad_beside(void)
{
    struct in6_addr home = address("2001:db8:1::1234"), got;
    uint8_t buf[48];

    mip6_hao_build(buf, 135, &home);
    buf[7] = 15;                /* one octet short, the last one behind it */
    g_assert_false(mip6_hao_parse(&got, buf, 24));
    mip6_hao_build(buf, 135, &home);
    mip6_hao_build(buf + 22, 135, &home);       /* twice */
    buf[1] = 5;
    memmove(buf + 24, buf + 28, 18);
    buf[42] = 1;
    buf[43] = 4;
    memset(buf + 44, 0, 4);
    g_assert_false(mip6_hao_parse(&got, buf, 48));
    for (unsigned i = 1; i < 4; i++) {
        mip6_rh2_build(buf, 135, &home);
        buf[i]++;
        g_assert_false(mip6_rh2_parse(&got, buf, 24));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/mh/golden/update", test_golden_update);
    g_test_add_func("/mip6/mh/golden/ack", test_golden_ack);
    g_test_add_func("/mip6/mh/golden/beside", test_golden_beside);
    g_test_add_func("/mip6/mh/golden/checksum", test_golden_checksum);
    g_test_add_func("/mip6/mh/both-ways", test_both_ways);
    g_test_add_func("/mip6/mh/bad", test_bad);
    g_test_add_func("/mip6/mh/unknown-option", test_unknown_option);
    g_test_add_func("/mip6/mh/sequence", test_sequence);
    g_test_add_func("/mip6/mh/bad-beside", test_bad_beside);
    return g_test_run();
}
