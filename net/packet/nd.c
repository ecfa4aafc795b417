/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Neighbour discovery (RFC 4861), with the additions to router advertisements
 * of RFC 6275 section 7, and ICMPv6 errors (RFC 4443)
 */
#include <string.h>

#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

enum {
    OPTION_PREFIX = PACKET_ND_PREFIX_OPTION,
    OPTION_MTU = 5,
    OPTION_INTERVAL = 7,
    OPTION_HA_INFO = 8,
};

enum {
    RA_MANAGED = 0x80,
    RA_OTHER = 0x40,
    RA_HOME_AGENT = 0x20,
    PREFIX_ON_LINK = 0x80,
    PREFIX_AUTONOMOUS = 0x40,
    PREFIX_ROUTER = 0x20,
};

#define ND_HOPS         255
#define ICMP6_LEN       8u
#define CHECKSUM_AT     (PACKET_IP6_LEN + 2)

/* --- parsing -------------------------------------------------------------- */

/* Length before the options, by type; 0: not a message of ND. */
static size_t fixed_len(uint8_t type)
{
    switch (type) {
    case PACKET_ND_RS:
        return 8;
    case PACKET_ND_RA:
        return 16;
    case PACKET_ND_NS:
    case PACKET_ND_NA:
        return 24;
    case PACKET_ND_REDIRECT:
        return 40;
    default:
        return 0;
    }
}

static void read_mac(bool *has, uint8_t *mac, const uint8_t *option,
                     size_t len)
{
    if (len == 8) {
        *has = true;
        memcpy(mac, option + 2, PACKET_ND_MAC_LEN);
    }
}

bool packet_nd_read_prefix(PacketNdPrefix *prefix, const void *buf, size_t len)
{
    const uint8_t *option = buf;

    if (len != PACKET_ND_PREFIX_LEN || option[2] > 128) {
        return false;
    }
    prefix->len = option[2];
    prefix->on_link = option[3] & PREFIX_ON_LINK;
    prefix->autonomous = option[3] & PREFIX_AUTONOMOUS;
    prefix->router_address = option[3] & PREFIX_ROUTER;
    prefix->valid = get_be32(option + 4);
    prefix->preferred = get_be32(option + 8);
    memcpy(&prefix->prefix, option + 16, sizeof(prefix->prefix));
    return true;
}

static void read_ra_option(PacketNdRa *ra, const uint8_t *option, size_t len)
{
    switch (option[0]) {
    case OPTION_PREFIX:
        if (ra->prefixes < PACKET_ND_PREFIX_MAX &&
            packet_nd_read_prefix(&ra->prefix[ra->prefixes], option, len)) {
            ra->prefixes++;
        }
        break;
    case OPTION_MTU:
        if (len == 8) {
            ra->mtu = get_be32(option + 4);
        }
        break;
    case OPTION_INTERVAL:
        if (len == 8) {
            ra->interval = get_be32(option + 4);
        }
        break;
    case OPTION_HA_INFO:
        if (len == 8) {
            ra->has_ha_info = true;
            ra->ha_preference = (int16_t)get_be16(option + 4);
            ra->ha_lifetime = get_be16(option + 6);
        }
        break;
    }
}

const uint8_t *packet_nd_option_next(const void *options, size_t len,
                                     size_t *pos, size_t *option_len)
{
    const uint8_t *option = (const uint8_t *)options + *pos;
    size_t size = len - *pos < 2 ? 0 : option[1] * 8u;

    if (size == 0 || size > len - *pos) {
        return NULL;
    }
    *pos += size;
    *option_len = size;
    return option;
}

static bool read_options(PacketNd *nd, const uint8_t *p, size_t len)
{
    const uint8_t *option;
    size_t pos = 0, size;

    for (unsigned i = 0; i < PACKET_ND_OPTIONS_MAX; i++) {
        option = packet_nd_option_next(p, len, &pos, &size);
        if (!option) {
            break;
        }
        if (option[0] == PACKET_ND_OPTION_SLLA) {
            read_mac(&nd->has_slla, nd->slla, option, size);
        } else if (option[0] == PACKET_ND_OPTION_TLLA) {
            read_mac(&nd->has_tlla, nd->tlla, option, size);
        } else if (nd->type == PACKET_ND_RA) {
            read_ra_option(&nd->ra, option, size);
        }
    }
    return pos == len;
}

static void read_ra(PacketNdRa *ra, const uint8_t *p)
{
    static const int8_t preferences[] = { 0, 1, 0, -1 };

    ra->hop_limit = p[4];
    ra->managed = p[5] & RA_MANAGED;
    ra->other = p[5] & RA_OTHER;
    ra->home_agent = p[5] & RA_HOME_AGENT;
    ra->preference = preferences[p[5] >> 3 & 3];
    ra->lifetime = get_be16(p + 6);
    ra->reachable = get_be32(p + 8);
    ra->retrans = get_be32(p + 12);
}

static void read_fixed(PacketNd *nd, const uint8_t *p)
{
    switch (nd->type) {
    case PACKET_ND_RA:
        read_ra(&nd->ra, p);
        break;
    case PACKET_ND_NA:
        nd->flags = (p[4] & 0x80 ? PACKET_NA_ROUTER : 0) |
                    (p[4] & 0x40 ? PACKET_NA_SOLICITED : 0) |
                    (p[4] & 0x20 ? PACKET_NA_OVERRIDE : 0);
        memcpy(&nd->target, p + 8, sizeof(nd->target));
        break;
    case PACKET_ND_REDIRECT:
        memcpy(&nd->redirected, p + 24, sizeof(nd->redirected));
        /* fall through */
    case PACKET_ND_NS:
        memcpy(&nd->target, p + 8, sizeof(nd->target));
        break;
    }
}

static bool is_group(const struct in6_addr *addr)
{
    return IN6_IS_ADDR_MULTICAST(addr);
}

static bool is_none(const struct in6_addr *addr)
{
    return IN6_IS_ADDR_UNSPECIFIED(addr);
}

/* Section 7.1.1: requirements for a solicitation from "::". */
static bool ns_is_valid(const PacketNd *nd)
{
    struct in6_addr group = packet_ip6_solicited(&nd->target);

    return !is_group(&nd->target) &&
           (!is_none(&nd->src) ||
            (packet_ip6_equal(&nd->dst, &group) && !nd->has_slla));
}

static bool is_valid(const PacketNd *nd)
{
    switch (nd->type) {
    case PACKET_ND_RS:
        return !is_none(&nd->src) || !nd->has_slla;
    case PACKET_ND_RA:
        return IN6_IS_ADDR_LINKLOCAL(&nd->src);
    case PACKET_ND_NS:
        return ns_is_valid(nd);
    case PACKET_ND_NA:
        return !is_group(&nd->target) &&
               (!is_group(&nd->dst) || !(nd->flags & PACKET_NA_SOLICITED));
    default:
        return IN6_IS_ADDR_LINKLOCAL(&nd->src) &&
               !is_group(&nd->redirected) &&
               (IN6_IS_ADDR_LINKLOCAL(&nd->target) ||
                packet_ip6_equal(&nd->target, &nd->redirected));
    }
}

bool packet_nd_parse(PacketNd *nd, const void *packet, size_t len)
{
    const uint8_t *icmp = (const uint8_t *)packet + PACKET_IP6_LEN;
    PacketIp6 ip;
    uint32_t sum;
    size_t fixed;

    if (!packet_ip6_parse(&ip, packet, len) || ip.next != PACKET_PROTO_ICMP6 ||
        ip.hops != ND_HOPS || ip.payload < ICMP6_LEN || icmp[1] != 0) {
        return false;
    }
    fixed = fixed_len(icmp[0]);
    if (fixed == 0 || ip.payload < fixed || is_group(&ip.src)) {
        return false;
    }
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, ip.payload);
    if (packet_sum_fold(packet_sum_add(sum, icmp, ip.payload)) != 0) {
        return false;
    }
    memset(nd, 0, sizeof(*nd));
    nd->type = icmp[0];
    nd->src = ip.src;
    nd->dst = ip.dst;
    read_fixed(nd, icmp);
    return read_options(nd, icmp + fixed, ip.payload - fixed) && is_valid(nd);
}

/* --- building ------------------------------------------------------------- */

void packet_icmp6_seal(void *packet, size_t len)
{
    uint8_t *p = packet;
    struct in6_addr src, dst;
    size_t payload = len - PACKET_IP6_LEN;
    uint32_t sum;

    memcpy(&src, p + 8, sizeof(src));
    memcpy(&dst, p + 24, sizeof(dst));
    put_be16(p + CHECKSUM_AT, 0);
    sum = packet_sum_pseudo6(&src, &dst, PACKET_PROTO_ICMP6, payload);
    sum = packet_sum_add(sum, p + PACKET_IP6_LEN, payload);
    put_be16(p + CHECKSUM_AT, packet_sum_fold(sum));
}

/*
 * Writes the IPv6 header and the first four octets after it; zeroes the rest.
 */
static void begin(uint8_t *p, const struct in6_addr *src,
                  const struct in6_addr *dst, uint8_t hops, uint8_t type,
                  uint8_t code)
{
    PacketIp6 ip = {
        .src = *src,
        .dst = *dst,
        .next = PACKET_PROTO_ICMP6,
        .hops = hops,
    };

    packet_ip6_build(p, &ip);
    p[PACKET_IP6_LEN] = type;
    p[PACKET_IP6_LEN + 1] = code;
}

/* Writes length and checksum. Returns: @len */
static size_t end(uint8_t *p, size_t len)
{
    put_be16(p + 4, len - PACKET_IP6_LEN);
    packet_icmp6_seal(p, len);
    return len;
}

static size_t put_mac(uint8_t *p, uint8_t option, const uint8_t *mac)
{
    if (!mac) {
        return 0;
    }
    p[0] = option;
    p[1] = 1;
    memcpy(p + 2, mac, PACKET_ND_MAC_LEN);
    return 8;
}

/* Builds NS and NA. */
static size_t build_neighbour(uint8_t *p, const struct in6_addr *src,
                              const struct in6_addr *dst, uint8_t type,
                              uint32_t flags, const struct in6_addr *target,
                              uint8_t option, const uint8_t *mac)
{
    size_t len = PACKET_IP6_LEN + fixed_len(type);

    begin(p, src, dst, ND_HOPS, type, 0);
    put_be32(p + PACKET_IP6_LEN + 4, flags);
    memcpy(p + PACKET_IP6_LEN + 8, target, sizeof(*target));
    return end(p, len + put_mac(p + len, option, mac));
}

size_t packet_nd_build_ns(void *buf, const struct in6_addr *src,
                          const struct in6_addr *dst,
                          const struct in6_addr *target, const uint8_t *slla)
{
    return build_neighbour(buf, src, dst, PACKET_ND_NS, 0, target,
                           PACKET_ND_OPTION_SLLA, slla);
}

size_t packet_nd_build_na(void *buf, const struct in6_addr *src,
                          const struct in6_addr *dst,
                          const struct in6_addr *target, unsigned flags,
                          const uint8_t *tlla)
{
    uint32_t bits = (flags & PACKET_NA_ROUTER ? 0x80000000 : 0) |
                    (flags & PACKET_NA_SOLICITED ? 0x40000000 : 0) |
                    (flags & PACKET_NA_OVERRIDE ? 0x20000000 : 0);

    return build_neighbour(buf, src, dst, PACKET_ND_NA, bits, target,
                           PACKET_ND_OPTION_TLLA, tlla);
}

size_t packet_nd_build_rs(void *buf, const struct in6_addr *src,
                          const uint8_t *slla)
{
    uint8_t *p = buf;
    size_t len = PACKET_IP6_LEN + fixed_len(PACKET_ND_RS);

    begin(p, src, &packet_ip6_all_routers, ND_HOPS, PACKET_ND_RS, 0);
    put_be32(p + PACKET_IP6_LEN + 4, 0);
    return end(p, len + put_mac(p + len, PACKET_ND_OPTION_SLLA, slla));
}

void packet_nd_put_prefix(void *buf, const PacketNdPrefix *prefix)
{
    uint8_t *p = buf;

    memset(p, 0, PACKET_ND_PREFIX_LEN);
    p[0] = OPTION_PREFIX;
    p[1] = 4;
    p[2] = prefix->len;
    p[3] = (prefix->on_link ? PREFIX_ON_LINK : 0) |
           (prefix->autonomous ? PREFIX_AUTONOMOUS : 0) |
           (prefix->router_address ? PREFIX_ROUTER : 0);
    put_be32(p + 4, prefix->valid);
    put_be32(p + 8, prefix->preferred);
    memcpy(p + 16, &prefix->prefix, sizeof(prefix->prefix));
}

static size_t put_ra_options(uint8_t *p, const PacketNdRa *ra,
                             const uint8_t *slla)
{
    size_t len = put_mac(p, PACKET_ND_OPTION_SLLA, slla);

    if (ra->mtu) {
        p[len] = OPTION_MTU;
        p[len + 1] = 1;
        put_be16(p + len + 2, 0);
        put_be32(p + len + 4, ra->mtu);
        len += 8;
    }
    for (unsigned i = 0; i < ra->prefixes; i++) {
        packet_nd_put_prefix(p + len, &ra->prefix[i]);
        len += PACKET_ND_PREFIX_LEN;
    }
    if (ra->interval) {
        p[len] = OPTION_INTERVAL;
        p[len + 1] = 1;
        put_be16(p + len + 2, 0);
        put_be32(p + len + 4, ra->interval);
        len += 8;
    }
    if (ra->has_ha_info) {
        p[len] = OPTION_HA_INFO;
        p[len + 1] = 1;
        put_be16(p + len + 2, 0);
        put_be16(p + len + 4, ra->ha_preference);
        put_be16(p + len + 6, ra->ha_lifetime);
        len += 8;
    }
    return len;
}

size_t packet_nd_build_ra(void *buf, size_t room, const struct in6_addr *src,
                          const struct in6_addr *dst, const PacketNdRa *ra,
                          const uint8_t *slla)
{
    static const uint8_t preferences[] = { 3, 0, 1 };
    size_t len = PACKET_IP6_LEN + fixed_len(PACKET_ND_RA);
    size_t options = (slla ? 8 : 0) + (ra->mtu ? 8 : 0) +
                     (ra->interval ? 8 : 0) + (ra->has_ha_info ? 8 : 0) +
                     ra->prefixes * 32u;
    uint8_t *p = buf, *icmp = p + PACKET_IP6_LEN;

    if (ra->prefixes > PACKET_ND_PREFIX_MAX || len + options > room) {
        return 0;
    }
    begin(p, src, dst, ND_HOPS, PACKET_ND_RA, 0);
    icmp[4] = ra->hop_limit;
    icmp[5] = (ra->managed ? RA_MANAGED : 0) | (ra->other ? RA_OTHER : 0) |
              (ra->home_agent ? RA_HOME_AGENT : 0) |
              preferences[ra->preference + 1] << 3;
    put_be16(icmp + 6, ra->lifetime);
    put_be32(icmp + 8, ra->reachable);
    put_be32(icmp + 12, ra->retrans);
    return end(p, len + put_ra_options(p + len, ra, slla));
}

/* --- errors --------------------------------------------------------------- */

/* RFC 4443 section 2.4 (e): when no error may be sent. */
static bool may_answer(const PacketIp6 *ip, uint8_t type, uint8_t code,
                       const void *cause, size_t len)
{
    bool to_group = type == PACKET_ICMP6_TOO_BIG ||
                    (type == PACKET_ICMP6_PARAMETER && code == 2);
    PacketIp6Ext ext;
    uint8_t first;

    if (is_group(&ip->src) || is_none(&ip->src) ||
        (is_group(&ip->dst) && !to_group)) {
        return false;
    }
    if (!packet_ip6_walk(&ext, cause, len) ||
        ext.next != PACKET_PROTO_ICMP6 || ext.fragment_offset) {
        return true;
    }
    if (ext.offset >= len) {
        return false;
    }
    first = ((const uint8_t *)cause)[ext.offset];
    return first >= PACKET_ICMP6_ECHO && first != PACKET_ND_REDIRECT;
}

size_t packet_icmp6_error(void *buf, size_t room, const struct in6_addr *src,
                          uint8_t hops, uint8_t type, uint8_t code,
                          uint32_t arg, const void *cause, size_t cause_len)
{
    const size_t head = PACKET_IP6_LEN + ICMP6_LEN;
    uint8_t *p = buf;
    PacketIp6 ip;

    if (room < PACKET_IP6_MTU_MIN || cause_len < PACKET_IP6_LEN ||
        ((const uint8_t *)cause)[0] >> 4 != 6) {
        return 0;
    }
    /*
     * @cause may be truncated; its header has the address that gets the error.
     */
    packet_ip6_parse(&ip, cause, cause_len);
    if (!may_answer(&ip, type, code, cause, cause_len)) {
        return 0;
    }
    if (cause_len > PACKET_IP6_MTU_MIN - head) {
        cause_len = PACKET_IP6_MTU_MIN - head;
    }
    begin(p, src, &ip.src, hops, type, code);
    put_be32(p + PACKET_IP6_LEN + 4, arg);
    memcpy(p + head, cause, cause_len);
    return end(p, head + cause_len);
}
