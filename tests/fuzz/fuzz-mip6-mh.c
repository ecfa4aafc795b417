/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mobility headers, Home Address options, type 2 routing headers, and the
 * ICMPv6 messages of Mobile IPv6
 *
 * Input: a mobility header, whose checksum is made right unless the first
 * octet of the input is odd.
 *
 * A parsed message must come out of the builder and the parser again as the
 * same message.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/mip6/core/icmp.h"
#include "net/mip6/core/mh.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"

#define CHECKSUM_AT     4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct in6_addr src = { .s6_addr = { 0x20, 1, [15] = 1 } };
static const struct in6_addr dst = { .s6_addr = { 0x20, 1, [15] = 2 } };

static void seal(uint8_t *p, size_t len)
{
    size_t size = len < 8 ? 0 : (p[1] + 1u) * 8;
    uint32_t sum = packet_sum_pseudo6(&src, &dst, PACKET_PROTO_MH, size);

    if (size && size <= len) {
        put_be16(p + CHECKSUM_AT, 0);
        put_be16(p + CHECKSUM_AT,
                 packet_sum_fold(packet_sum_add(sum, p, size)));
    }
}

static void check_message(const uint8_t *p, size_t len)
{
    uint8_t buf[256];
    Mip6Mh mh, again;
    size_t size;

    if (mip6_mh_parse(&mh, &src, &dst, p, len) != MIP6_MH_GOOD) {
        return;
    }
    g_assert(mh.authenticator_len <= MIP6_AUTHENTICATOR_MAX);
    size = mip6_mh_build(buf, sizeof(buf), &src, &dst, &mh);
    g_assert(size && size % 8 == 0 && size <= sizeof(buf));
    g_assert(mip6_mh_parse(&again, &src, &dst, buf, size) == MIP6_MH_GOOD);
    g_assert(!memcmp(&mh, &again, sizeof(mh)));
    /* It is refused if there is not enough room, otherwise written. */
    for (size_t room = 0; room < size; room++) {
        g_assert(mip6_mh_build(buf, room, &src, &dst, &mh) == 0);
    }
}

/* Each alone, with its length as its second octet says. */
static void check_beside(const uint8_t *p, size_t len)
{
    struct in6_addr home, again;
    uint8_t buf[MIP6_HAO_LEN];

    if (len < 8 || packet_ip6_ext_len(PACKET_PROTO_DSTOPTS, p) > len) {
        return;
    }
    len = packet_ip6_ext_len(PACKET_PROTO_DSTOPTS, p);
    if (mip6_hao_parse(&home, p, len)) {
        g_assert(mip6_hao_build(buf, p[0], &home) == MIP6_HAO_LEN);
        g_assert(mip6_hao_parse(&again, buf, MIP6_HAO_LEN));
        g_assert(packet_ip6_equal(&home, &again));
    }
    if (mip6_rh2_parse(&home, p, len)) {
        g_assert(mip6_rh2_build(buf, p[0], &home) == MIP6_RH2_LEN);
        g_assert(mip6_rh2_parse(&again, buf, MIP6_RH2_LEN));
        g_assert(packet_ip6_equal(&home, &again));
    }
}

/* The octets as an ICMPv6 message with a correct checksum. */
static void check_icmp(const uint8_t *data, size_t len)
{
    uint32_t sum = packet_sum_pseudo6(&src, &dst, PACKET_PROTO_ICMP6, len);
    g_autofree uint8_t *p = g_memdup2(data, len);
    uint8_t buf[MIP6_ICMP_MAX];
    Mip6Icmp m, again;
    size_t size;

    if (len < 4) {
        return;
    }
    put_be16(p + 2, 0);
    put_be16(p + 2, packet_sum_fold(packet_sum_add(sum, p, len)));
    if (mip6_icmp_parse(&m, &src, &dst, p, len)) {
        g_assert(m.agents <= MIP6_ICMP_AGENTS_MAX);
        g_assert(m.prefixes <= PACKET_ND_PREFIX_MAX);
        size = mip6_icmp_build(buf, &src, &dst, &m);
        g_assert(size <= sizeof(buf));
        g_assert(mip6_icmp_parse(&again, &src, &dst, buf, size));
        g_assert(!memcmp(&m, &again, sizeof(m)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *p = NULL;

    if (size < 2 || size > MIP6_MH_MAX + 64) {
        return 0;
    }
    p = g_memdup2(data + 1, size - 1);
    check_beside(p, size - 1);
    check_icmp(p, size - 1);
    if (!(data[0] & 1)) {
        seal(p, size - 1);
    }
    check_message(p, size - 1);
    return 0;
}
