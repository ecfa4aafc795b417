/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 headers, extension headers and their options (RFC 8200) */
#include <string.h>

#include "net/packet/ip6.h"
#include "base/octets.h"

#define NEXT_AT 6u              /* offset of the next header */
#define DST_AT  24u             /* offset of the destination */

enum {
    OPTION_PAD1 = 0,
    OPTION_PADN = 1,
};

const struct in6_addr packet_ip6_all_nodes = {
    .s6_addr = { 0xff, 0x02, [15] = 1 },
};
const struct in6_addr packet_ip6_all_routers = {
    .s6_addr = { 0xff, 0x02, [15] = 2 },
};

bool packet_ip6_parse(PacketIp6 *ip, const void *packet, size_t len)
{
    const uint8_t *p = packet;
    uint32_t first;

    if (len < PACKET_IP6_LEN || p[0] >> 4 != 6) {
        return false;
    }
    first = get_be32(p);
    ip->tclass = first >> 20 & 0xff;
    ip->flow = first & 0xfffff;
    ip->payload = get_be16(p + 4);
    ip->next = p[6];
    ip->hops = p[7];
    memcpy(&ip->src, p + 8, sizeof(ip->src));
    memcpy(&ip->dst, p + 24, sizeof(ip->dst));
    return ip->payload <= len - PACKET_IP6_LEN;
}

size_t packet_ip6_build(void *buf, const PacketIp6 *ip)
{
    uint8_t *p = buf;

    put_be32(p, 6u << 28 | (uint32_t)ip->tclass << 20 |
             (ip->flow & 0xfffff));
    put_be16(p + 4, ip->payload);
    p[6] = ip->next;
    p[7] = ip->hops;
    memcpy(p + 8, &ip->src, sizeof(ip->src));
    memcpy(p + 24, &ip->dst, sizeof(ip->dst));
    return PACKET_IP6_LEN;
}

size_t packet_ip6_ext_len(uint8_t number, const void *header)
{
    const uint8_t *p = header;

    switch (number) {
    case PACKET_PROTO_FRAGMENT:
        return PACKET_IP6_FRAGMENT_LEN;
    case PACKET_PROTO_AH:
        return (p[1] + 2u) * 4;
    default:
        return (p[1] + 1u) * 8;
    }
}

static bool is_extension(uint8_t number)
{
    switch (number) {
    case PACKET_PROTO_HOPOPTS:
    case PACKET_PROTO_ROUTING:
    case PACKET_PROTO_FRAGMENT:
    case PACKET_PROTO_AH:
    case PACKET_PROTO_DSTOPTS:
        return true;
    default:
        return false;
    }
}

/* Notes the position of a header. Returns: false if it is not allowed there. */
static bool note_header(PacketIp6Ext *ext, const uint8_t *p)
{
    switch (ext->next) {
    case PACKET_PROTO_HOPOPTS:
        ext->hopopts = ext->offset;
        return ext->offset == PACKET_IP6_LEN;
    case PACKET_PROTO_DSTOPTS:
        ext->dst2 = ext->offset;
        return true;
    case PACKET_PROTO_ROUTING:
        ext->routing = ext->offset;
        ext->dst1 = ext->dst2;
        ext->dst2 = 0;
        return true;
    case PACKET_PROTO_FRAGMENT:
        ext->fragment = ext->offset;
        ext->fragment_offset = get_be16(p + 2) & 0xfff8;
        ext->more = p[3] & 1;
        ext->fragment_id = get_be32(p + 4);
        return true;
    default:
        return true;
    }
}

/*
 * Checks the order of RFC 8200 section 4.1. Destination options may come before
 * a routing header, and again at the end.
 */
static void note_order(PacketIp6Ext *ext, uint8_t number)
{
    static const struct {
        uint8_t number, rank;
        uint16_t has;
    } order[] = {
        { PACKET_PROTO_HOPOPTS, 1, PACKET_IP6_HAS_HOPOPTS },
        { PACKET_PROTO_DSTOPTS, 2, PACKET_IP6_HAS_DSTOPTS },
        { PACKET_PROTO_ROUTING, 3, PACKET_IP6_HAS_ROUTING },
        { PACKET_PROTO_FRAGMENT, 4, PACKET_IP6_HAS_FRAGMENT },
        { PACKET_PROTO_AH, 5, PACKET_IP6_HAS_AH },
        { PACKET_PROTO_ESP, 6, PACKET_IP6_HAS_ESP },
        { PACKET_PROTO_NONE, 8, PACKET_IP6_HAS_NONE_NEXT },
    };
    enum { RANK_DSTOPTS_LAST = 7 };

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        uint8_t rank = order[i].rank;
        bool again = ext->has & order[i].has;

        if (order[i].number != number) {
            continue;
        }
        if (number == PACKET_PROTO_DSTOPTS && ext->last_rank > rank) {
            again = ext->last_rank == RANK_DSTOPTS_LAST;
            rank = RANK_DSTOPTS_LAST;
        }
        ext->has |= order[i].has | (again ? PACKET_IP6_REPEATED : 0) |
                    (rank < ext->last_rank ? PACKET_IP6_UNORDERED : 0);
        ext->last_rank = rank;
    }
}

bool packet_ip6_walk(PacketIp6Ext *ext, const void *packet, size_t len)
{
    const uint8_t *p = packet;
    unsigned headers = 0;
    size_t size;

    memset(ext, 0, sizeof(*ext));
    if (len < PACKET_IP6_LEN) {
        return false;
    }
    ext->next = p[6];
    ext->offset = PACKET_IP6_LEN;
    while (is_extension(ext->next)) {
        const uint8_t *header = p + ext->offset;

        if (headers++ == PACKET_IP6_EXT_MAX || len - ext->offset < 8) {
            return false;
        }
        size = packet_ip6_ext_len(ext->next, header);
        if (size > len - ext->offset || !note_header(ext, header)) {
            return false;
        }
        note_order(ext, ext->next);
        ext->next = header[0];
        ext->offset += size;
        if (ext->fragment_offset) {
            return true;
        }
    }
    note_order(ext, ext->next);
    return true;
}

bool packet_ip6_option_next(const void *header, size_t len, size_t *pos,
                            PacketIp6Option *option)
{
    const uint8_t *p = header;

    if (*pos < 2) {
        *pos = 2;               /* skip "next header" and "length" */
    }
    while (*pos < len) {
        if (p[*pos] == OPTION_PAD1) {
            ++*pos;
            continue;
        }
        if (len - *pos < 2 || p[*pos + 1] > len - *pos - 2) {
            return false;
        }
        option->type = p[*pos];
        option->len = p[*pos + 1];
        option->data = p + *pos + 2;
        *pos += 2u + option->len;
        if (option->type != OPTION_PADN) {
            return true;
        }
    }
    return false;
}

static bool refuse(PacketIp6Fault *fault, uint8_t code, size_t pointer)
{
    *fault = (PacketIp6Fault) { true, code, pointer };
    return false;
}

/*
 * Options of the header at @at.  @known: counts those that the node processes.
 */
static bool accept_options(PacketIp6Fault *fault, uint8_t known_type,
                           unsigned *known, const uint8_t *p, size_t at,
                           size_t len)
{
    PacketIp6Option option;
    size_t pos = 0;

    while (packet_ip6_option_next(p + at, len, &pos, &option)) {
        size_t pointer = option.data - 2 - p;

        if (known_type && option.type == known_type) {
            ++*known;
            continue;
        }
        switch (option.type >> 6) {
        case 0:                 /* skip it */
            break;
        case 1:
            return false;
        case 2:
            return refuse(fault, PACKET_IP6_UNKNOWN_OPTION, pointer);
        case 3:
            /* Not if it was sent to a group. */
            return p[DST_AT] != 0xff &&
                   refuse(fault, PACKET_IP6_UNKNOWN_OPTION, pointer);
        }
    }
    return pos == len && *known <= 1;
}

bool packet_ip6_accept(PacketIp6Fault *fault, const PacketIp6Known *known,
                       const PacketIp6Ext *ext, const void *packet)
{
    const uint8_t *p = packet;
    size_t at = PACKET_IP6_LEN, number_at = NEXT_AT, size;
    unsigned options = 0;

    *fault = (PacketIp6Fault) { 0 };
    for (; at < ext->offset; number_at = at, at += size) {
        uint8_t number = p[number_at];

        size = packet_ip6_ext_len(number, p + at);
        switch (number) {
        case PACKET_PROTO_HOPOPTS:
        case PACKET_PROTO_DSTOPTS:
            if (!accept_options(fault, number == PACKET_PROTO_DSTOPTS
                                       ? known->option : 0,
                                &options, p, at, size)) {
                return false;
            }
            break;
        case PACKET_PROTO_ROUTING:
            if (p[at + 3] && (!known->routing || p[at + 2] != known->routing)) {
                return refuse(fault, PACKET_IP6_WRONG_FIELD, at + 2);
            }
            break;
        case PACKET_PROTO_AH:
            return refuse(fault, PACKET_IP6_UNKNOWN_HEADER, number_at);
        }
    }
    return true;
}

bool packet_ip6_in_prefix(const struct in6_addr *addr,
                          const struct in6_addr *prefix, unsigned len)
{
    unsigned octets = len / 8, bits = len % 8;

    return memcmp(addr, prefix, octets) == 0 &&
           (bits == 0 ||
            (addr->s6_addr[octets] ^ prefix->s6_addr[octets]) >> (8 - bits)
            == 0);
}

bool packet_ip6_is_routable(const struct in6_addr *addr)
{
    static const struct in6_addr discard = { .s6_addr = { 0x01, 0x00 } };

    return !packet_ip6_in_prefix(addr, &in6addr_any, 64) &&
           !packet_ip6_in_prefix(addr, &discard, 64) &&
           !IN6_IS_ADDR_LINKLOCAL(addr) && !IN6_IS_ADDR_MULTICAST(addr);
}

struct in6_addr packet_ip6_solicited(const struct in6_addr *addr)
{
    struct in6_addr group = {
        .s6_addr = { 0xff, 0x02, [11] = 1, [12] = 0xff },
    };

    memcpy(group.s6_addr + 13, addr->s6_addr + 13, 3);
    return group;
}

struct in6_addr packet_ip6_from_mac(const struct in6_addr *prefix,
                                    const uint8_t mac[6])
{
    struct in6_addr addr = *prefix;

    memcpy(addr.s6_addr + 8, mac, 3);
    addr.s6_addr[8] ^= 2;       /* the universal/local bit is inverted */
    addr.s6_addr[11] = 0xff;
    addr.s6_addr[12] = 0xfe;
    memcpy(addr.s6_addr + 13, mac + 3, 3);
    return addr;
}

struct in6_addr packet_ip6_link_local(const uint8_t mac[6])
{
    static const struct in6_addr prefix = { .s6_addr = { 0xfe, 0x80 } };

    return packet_ip6_from_mac(&prefix, mac);
}
