/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv6 packets from any sender: extension headers and their options, neighbour
 * discovery, listener discovery, and errors about them
 *
 * Input: a packet, from the IPv6 header on. An ICMPv6 checksum is made right,
 * unless the first octet of the input is odd; behind hop-by-hop options it is
 * if that octet's next bit is set.
 *
 * A parsed message must come out of the builder and the parser again as the
 * same message.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/mld.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define LONGEST 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const uint8_t *p, size_t len)
{
    PacketIp6Option option;
    PacketIp6Ext ext;
    size_t pos = 0, where, size;

    if (!packet_ip6_walk(&ext, p, len)) {
        return;
    }
    g_assert(ext.offset >= PACKET_IP6_LEN && ext.offset <= len);
    g_assert(ext.hopopts == 0 || ext.hopopts == PACKET_IP6_LEN);
    where = ext.dst2 ? ext.dst2 : ext.hopopts;
    if (where) {
        size = packet_ip6_ext_len(PACKET_PROTO_DSTOPTS, p + where);
        g_assert(where + size <= ext.offset);
        while (packet_ip6_option_next(p + where, size, &pos, &option)) {
            g_assert(option.type > 1 && pos <= size);
            g_assert(option.data + option.len == p + where + pos);
        }
    }
}

static bool is_sealed(const uint8_t *p, size_t len)
{
    PacketIp6 ip;
    uint32_t sum;

    g_assert(packet_ip6_parse(&ip, p, len));
    g_assert(PACKET_IP6_LEN + ip.payload == len);
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, ip.next, ip.payload);
    return !packet_sum_fold(packet_sum_add(sum, p + PACKET_IP6_LEN,
                                           ip.payload));
}

/* No error is about an error, and none is longer than the minimum MTU. */
static void complain(const uint8_t *p, size_t len)
{
    static const struct in6_addr router = {
        .s6_addr = { 0xfe, 0x80, [15] = 1 },
    };
    uint8_t error[PACKET_IP6_MTU_MIN], again[PACKET_IP6_MTU_MIN];
    size_t size = packet_icmp6_error(error, sizeof(error), &router, 64,
                                     PACKET_ICMP6_TOO_BIG, 0, 1280, p, len);

    if (size) {
        g_assert(size <= PACKET_IP6_MTU_MIN && is_sealed(error, size));
        g_assert(!packet_icmp6_error(again, sizeof(again), &router, 64,
                                     PACKET_ICMP6_TOO_BIG, 0, 1280, error,
                                     size));
    }
}

static size_t rebuild(uint8_t *buf, size_t room, const PacketNd *nd)
{
    const uint8_t *slla = nd->has_slla ? nd->slla : NULL;
    const uint8_t *tlla = nd->has_tlla ? nd->tlla : NULL;

    switch (nd->type) {
    case PACKET_ND_RS:
        return packet_nd_build_rs(buf, &nd->src, slla);
    case PACKET_ND_RA:
        return packet_nd_build_ra(buf, room, &nd->src, &nd->dst, &nd->ra,
                                  slla);
    case PACKET_ND_NS:
        return packet_nd_build_ns(buf, &nd->src, &nd->dst, &nd->target, slla);
    case PACKET_ND_NA:
        return packet_nd_build_na(buf, &nd->src, &nd->dst, &nd->target,
                                  nd->flags, tlla);
    default:
        return 0;
    }
}

/* Options that our builders do not put into this message are removed. */
static void forget_others(PacketNd *nd)
{
    if (nd->type == PACKET_ND_NA) {
        nd->has_slla = false;
    } else {
        nd->has_tlla = false;
    }
    if (!nd->has_slla) {
        memset(nd->slla, 0, sizeof(nd->slla));
    }
    if (!nd->has_tlla) {
        memset(nd->tlla, 0, sizeof(nd->tlla));
    }
    if (nd->type == PACKET_ND_RS) {
        nd->dst = packet_ip6_all_routers;
    }
}

static void discover(const uint8_t *p, size_t len)
{
    uint8_t buf[1500];
    PacketNd nd, again;
    size_t size;

    if (!packet_nd_parse(&nd, p, len)) {
        return;
    }
    g_assert(nd.ra.prefixes <= PACKET_ND_PREFIX_MAX);
    for (unsigned i = 0; i < nd.ra.prefixes; i++) {
        g_assert(nd.ra.prefix[i].len <= 128);
    }
    g_assert(!IN6_IS_ADDR_MULTICAST(&nd.src));
    forget_others(&nd);
    size = rebuild(buf, sizeof(buf), &nd);
    if (nd.type == PACKET_ND_REDIRECT) {
        return;
    }
    g_assert(size && is_sealed(buf, size));
    g_assert(packet_nd_parse(&again, buf, size));
    g_assert(again.flags == nd.flags && again.has_slla == nd.has_slla &&
             again.has_tlla == nd.has_tlla);
    g_assert(!memcmp(again.slla, nd.slla, 6) &&
             !memcmp(again.tlla, nd.tlla, 6));
    g_assert(packet_ip6_equal(&again.target, &nd.target) &&
             packet_ip6_equal(&again.dst, &nd.dst));
    g_assert(again.ra.prefixes == nd.ra.prefixes &&
             again.ra.mtu == nd.ra.mtu &&
             again.ra.preference == nd.ra.preference &&
             again.ra.interval == nd.ra.interval &&
             again.ra.ha_preference == nd.ra.ha_preference);
    for (unsigned i = 0; i < nd.ra.prefixes; i++) {
        g_assert(!memcmp(&again.ra.prefix[i], &nd.ra.prefix[i],
                         sizeof(nd.ra.prefix[i])));
    }
}

/* Behind a hop-by-hop options header the checksum is elsewhere. */
static void listeners(uint8_t *p, size_t len, bool seal)
{
    const size_t at = PACKET_IP6_LEN + 8;
    PacketMld mld;
    PacketIp6 ip;

    if (seal && packet_ip6_parse(&ip, p, len) && ip.payload >= 12) {
        uint32_t sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6,
                                          ip.payload - 8);

        put_be16(p + at + 2, 0);
        sum = packet_sum_add(sum, p + at, ip.payload - 8);
        put_be16(p + at + 2, packet_sum_fold(sum));
    }
    packet_mld_is_query(p, len);
    if (packet_mld_parse(&mld, p, len)) {
        bool beyond = false;

        g_assert(mld.records <= PACKET_MLD_RECORDS_MAX);
        for (unsigned i = 0; i < mld.records; i++) {
            beyond |= packet_mld_forwards(&mld.record[i].group);
        }
        g_assert(packet_mld_is_beyond_link(p, len) ==
                 (beyond && mld.type != PACKET_MLD_QUERY));
    } else {
        packet_mld_is_beyond_link(p, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *p = NULL;
    PacketEth eth;
    PacketIp6 ip;
    size_t len;

    if (size < 2 || size > LONGEST) {
        return 0;
    }
    len = size - 1;
    p = g_memdup2(data + 1, len);
    packet_eth_parse(&eth, p, len);
    if (!(data[0] & 1) && packet_ip6_parse(&ip, p, len) &&
        ip.next == PACKET_PROTO_ICMP6 && ip.payload >= 4) {
        packet_icmp6_seal(p, PACKET_IP6_LEN + ip.payload);
    }
    walk(p, len);
    complain(p, len);
    discover(p, len);
    listeners(p, len, data[0] & 2);
    return 0;
}
