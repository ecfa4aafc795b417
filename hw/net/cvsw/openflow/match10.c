/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.0's match: twelve fields at fixed offsets, and wildcards */
#include <string.h>

#include "hw/net/cvsw/openflow/match10.h"
#include "base/octets.h"
#include "hw/net/cvsw/openflow/port.h"

#define VALUE_LEN       4u      /* all values except MAC addresses */

/* The fields for tp_src and tp_dst, by protocol. */
typedef struct Transport {
    bool is_ip6, is_any_ip;
    uint8_t protocol;
    CvswField src, dst;
} Transport;

static const Transport transports[] = {
    { .is_any_ip = true, .protocol = IPPROTO_TCP,
      .src = CVSW_TCP_SRC, .dst = CVSW_TCP_DST },
    { .is_any_ip = true, .protocol = IPPROTO_UDP,
      .src = CVSW_UDP_SRC, .dst = CVSW_UDP_DST },
    { .is_any_ip = true, .protocol = IPPROTO_SCTP,
      .src = CVSW_SCTP_SRC, .dst = CVSW_SCTP_DST },
    { .protocol = IPPROTO_ICMP,
      .src = CVSW_ICMPV4_TYPE, .dst = CVSW_ICMPV4_CODE },
    { .is_ip6 = true, .protocol = IPPROTO_ICMPV6,
      .src = CVSW_ICMPV6_TYPE, .dst = CVSW_ICMPV6_CODE },
};

/* --- parse --------------------------------------------------------------- */

/* A parser of an ofp_match; keeps the first fault. */
typedef struct Reader {
    const uint8_t *buf;
    uint32_t wildcards;
    CvswMatch *match;
    CvswMatchFault fault;
} Reader;

static bool names(const Reader *r, uint32_t wildcard)
{
    return !(r->wildcards & wildcard);
}

static CvswValue value_of(CvswField field, uint32_t number)
{
    size_t octets = cvsw_field_octets(field);
    uint8_t buf[VALUE_LEN];
    CvswValue value = { { 0 } };

    put_be32(buf, number);
    memcpy(value.octets, buf + VALUE_LEN - octets, octets);
    return value;
}

/* A number with bits outside of the field is a bad value. */
static void add_masked(Reader *r, CvswField field, uint32_t number,
                       uint32_t mask)
{
    CvswValue v = value_of(field, number), m = value_of(field, mask);
    unsigned bits = cvsw_field_bits(field);

    if (r->fault != CVSW_MATCH_OK) {
        return;
    }
    r->fault = bits < 32 && number >> bits ? CVSW_MATCH_BAD_VALUE :
               cvsw_match_add(r->match, field, &v, &m);
}

static void add(Reader *r, CvswField field, uint32_t number)
{
    add_masked(r, field, number, UINT32_MAX);
}

static void add_mac(Reader *r, CvswField field, size_t at)
{
    CvswValue value = { { 0 } };

    memcpy(value.octets, r->buf + at, PACKET_ETH_ADDR_LEN);
    if (r->fault == CVSW_MATCH_OK) {
        r->fault = cvsw_match_add(r->match, field, &value, NULL);
    }
}

static void read_link(Reader *r)
{
    if (names(r, OFPFW_IN_PORT)) {
        uint16_t port = get_be16(r->buf + OFM10_IN_PORT);

        add(r, CVSW_IN_PORT, port);
        if (!cvsw_of_port_is_ours(port)) {
            r->fault = CVSW_MATCH_BAD_VALUE;
        }
    }
    if (names(r, OFPFW_DL_SRC)) {
        add_mac(r, CVSW_ETH_SRC, OFM10_DL_SRC);
    }
    if (names(r, OFPFW_DL_DST)) {
        add_mac(r, CVSW_ETH_DST, OFM10_DL_DST);
    }
    if (names(r, OFPFW_DL_TYPE)) {
        add(r, CVSW_ETH_TYPE, get_be16(r->buf + OFM10_DL_TYPE));
    }
}

/* A frame without a tag has no PCP. */
static void read_tag(Reader *r)
{
    uint16_t vid = get_be16(r->buf + OFM10_DL_VLAN);
    bool has_vid = names(r, OFPFW_DL_VLAN);

    if (has_vid && vid == OFP_VLAN_NONE) {
        add(r, CVSW_VLAN_VID, 0);
        return;
    }
    if (has_vid && vid >= CVSW_VID_PRESENT) {
        r->fault = CVSW_MATCH_BAD_VALUE;
    } else if (has_vid) {
        add(r, CVSW_VLAN_VID, CVSW_VID_PRESENT | vid);
    }
    if (names(r, OFPFW_DL_VLAN_PCP)) {
        if (!has_vid) {
            add_masked(r, CVSW_VLAN_VID, CVSW_VID_PRESENT, CVSW_VID_PRESENT);
        }
        add(r, CVSW_VLAN_PCP, r->buf[OFM10_DL_VLAN_PCP]);
    }
}

/* @shift: position of the prefix wildcard bits */
static void read_address(Reader *r, CvswField field, size_t at, unsigned shift)
{
    unsigned open = r->wildcards >> shift & OFPFW_NW_BITS;
    uint32_t mask;

    if (open < 32) {
        mask = UINT32_MAX << open;
        add_masked(r, field, get_be32(r->buf + at) & mask, mask);
    }
}

static void read_addresses(Reader *r, CvswField src, CvswField dst)
{
    read_address(r, src, OFM10_NW_SRC, OFPFW_NW_SRC_SHIFT);
    read_address(r, dst, OFM10_NW_DST, OFPFW_NW_DST_SHIFT);
}

static const Transport *transport_of(bool is_ip6, uint8_t protocol)
{
    for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++) {
        const Transport *t = &transports[i];

        if (t->protocol == protocol && (t->is_any_ip || t->is_ip6 == is_ip6)) {
            return t;
        }
    }
    return NULL;
}

static void read_transport(Reader *r, bool is_ip6, uint8_t protocol)
{
    const Transport *t = transport_of(is_ip6, protocol);

    if (t && names(r, OFPFW_TP_SRC)) {
        add(r, t->src, get_be16(r->buf + OFM10_TP_SRC));
    }
    if (t && names(r, OFPFW_TP_DST)) {
        add(r, t->dst, get_be16(r->buf + OFM10_TP_DST));
    }
}

static void read_ip(Reader *r, bool is_ip6)
{
    uint8_t protocol = r->buf[OFM10_NW_PROTO];

    if (names(r, OFPFW_NW_TOS)) {
        add(r, CVSW_IP_DSCP, r->buf[OFM10_NW_TOS] >> 2);
    }
    if (!is_ip6) {
        read_addresses(r, CVSW_IPV4_SRC, CVSW_IPV4_DST);
    }
    if (names(r, OFPFW_NW_PROTO)) {
        add(r, CVSW_IP_PROTO, protocol);
        read_transport(r, is_ip6, protocol);
    }
}

static void read_arp(Reader *r)
{
    if (names(r, OFPFW_NW_PROTO)) {
        add(r, CVSW_ARP_OP, r->buf[OFM10_NW_PROTO]);
    }
    read_addresses(r, CVSW_ARP_SPA, CVSW_ARP_TPA);
}

CvswOfFault cvsw_of_match10_parse(CvswMatch *match,
                                  const uint8_t buf[OFM10_MATCH_LEN])
{
    Reader r = {
        .buf = buf,
        .wildcards = get_be32(buf + OFM10_WILDCARDS),
        .match = match,
    };
    uint16_t type = get_be16(buf + OFM10_DL_TYPE);

    read_link(&r);
    read_tag(&r);
    if (names(&r, OFPFW_DL_TYPE)) {
        if (type == PACKET_ETH_IP4 || type == PACKET_ETH_IP6) {
            read_ip(&r, type == PACKET_ETH_IP6);
        } else if (type == PACKET_ETH_ARP) {
            read_arp(&r);
        }
    }
    return cvsw_of_match_fault(r.fault);
}

/* --- build --------------------------------------------------------------- */

/* Returns: false if @match does not have @field; else its value as a number */
static bool number_of(const CvswMatch *match, CvswField field,
                      uint32_t *number, uint32_t *mask)
{
    CvswValue v, m;
    size_t octets = cvsw_field_octets(field);

    if (!cvsw_match_get(match, field, &v, &m)) {
        return false;
    }
    *number = *mask = 0;
    for (size_t i = 0; i < octets; i++) {
        *number = *number << 8 | v.octets[i];
        *mask = *mask << 8 | m.octets[i];
    }
    return true;
}

static void write16(uint8_t *buf, const CvswMatch *match, CvswField field,
                    size_t at, uint32_t *open, uint32_t wildcard)
{
    uint32_t number, mask;

    if (number_of(match, field, &number, &mask)) {
        put_be16(buf + at, number);
        *open &= ~wildcard;
    }
}

static void write8(uint8_t *buf, const CvswMatch *match, CvswField field,
                   size_t at, uint32_t *open, uint32_t wildcard)
{
    uint32_t number, mask;

    if (number_of(match, field, &number, &mask)) {
        buf[at] = number;
        *open &= ~wildcard;
    }
}

static void write_mac(uint8_t *buf, const CvswMatch *match, CvswField field,
                      size_t at, uint32_t *open, uint32_t wildcard)
{
    CvswValue value, mask;

    if (cvsw_match_get(match, field, &value, &mask)) {
        memcpy(buf + at, value.octets, PACKET_ETH_ADDR_LEN);
        *open &= ~wildcard;
    }
}

/* A match on PCP but not on VID has only OFPVID_PRESENT of the VID. */
static void write_tag(uint8_t *buf, const CvswMatch *match, uint32_t *open)
{
    uint32_t number, mask;

    if (number_of(match, CVSW_VLAN_VID, &number, &mask) &&
        mask != CVSW_VID_PRESENT) {
        put_be16(buf + OFM10_DL_VLAN,
                 number & CVSW_VID_PRESENT ? number & ~CVSW_VID_PRESENT
                                           : OFP_VLAN_NONE);
        *open &= ~OFPFW_DL_VLAN;
    }
    write8(buf, match, CVSW_VLAN_PCP, OFM10_DL_VLAN_PCP, open,
           OFPFW_DL_VLAN_PCP);
}

static void write_address(uint8_t *buf, const CvswMatch *match,
                          CvswField field, size_t at, uint32_t *open,
                          unsigned shift)
{
    uint32_t number, mask;

    if (number_of(match, field, &number, &mask)) {
        put_be32(buf + at, number);
        *open &= ~((uint32_t)OFPFW_NW_BITS << shift);
        *open |= (mask ? (uint32_t)__builtin_ctz(mask) : 32) << shift;
    }
}

static void write_ip(uint8_t *buf, const CvswMatch *match, uint32_t *open)
{
    uint32_t dscp, mask;

    if (number_of(match, CVSW_IP_DSCP, &dscp, &mask)) {
        buf[OFM10_NW_TOS] = dscp << 2;
        *open &= ~OFPFW_NW_TOS;
    }
    write8(buf, match, CVSW_IP_PROTO, OFM10_NW_PROTO, open, OFPFW_NW_PROTO);
    write_address(buf, match, CVSW_IPV4_SRC, OFM10_NW_SRC, open,
                  OFPFW_NW_SRC_SHIFT);
    write_address(buf, match, CVSW_IPV4_DST, OFM10_NW_DST, open,
                  OFPFW_NW_DST_SHIFT);
    for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++) {
        write16(buf, match, transports[i].src, OFM10_TP_SRC, open,
                OFPFW_TP_SRC);
        write16(buf, match, transports[i].dst, OFM10_TP_DST, open,
                OFPFW_TP_DST);
    }
}

static void write_arp(uint8_t *buf, const CvswMatch *match, uint32_t *open)
{
    uint32_t operation, mask;

    if (number_of(match, CVSW_ARP_OP, &operation, &mask)) {
        buf[OFM10_NW_PROTO] = operation;
        *open &= ~OFPFW_NW_PROTO;
    }
    write_address(buf, match, CVSW_ARP_SPA, OFM10_NW_SRC, open,
                  OFPFW_NW_SRC_SHIFT);
    write_address(buf, match, CVSW_ARP_TPA, OFM10_NW_DST, open,
                  OFPFW_NW_DST_SHIFT);
}

void cvsw_of_match10_build(uint8_t buf[OFM10_MATCH_LEN],
                           const CvswMatch *match)
{
    uint32_t open = (OFPFW_ALL & ~(OFPFW_NW_BITS << OFPFW_NW_SRC_SHIFT) &
                     ~(OFPFW_NW_BITS << OFPFW_NW_DST_SHIFT)) |
                    32 << OFPFW_NW_SRC_SHIFT | 32 << OFPFW_NW_DST_SHIFT;

    memset(buf, 0, OFM10_MATCH_LEN);
    write16(buf, match, CVSW_IN_PORT, OFM10_IN_PORT, &open, OFPFW_IN_PORT);
    write_mac(buf, match, CVSW_ETH_SRC, OFM10_DL_SRC, &open, OFPFW_DL_SRC);
    write_mac(buf, match, CVSW_ETH_DST, OFM10_DL_DST, &open, OFPFW_DL_DST);
    write_tag(buf, match, &open);
    write16(buf, match, CVSW_ETH_TYPE, OFM10_DL_TYPE, &open, OFPFW_DL_TYPE);
    write_ip(buf, match, &open);
    write_arp(buf, match, &open);
    put_be32(buf + OFM10_WILDCARDS, open);
}
