/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes a frame's headers and updates its checksums */
#include <string.h>

#include "hw/net/cvsw/frame/rewrite.h"
#include "base/octets.h"
#include "net/packet/crc32c.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

/* Offsets of fields in headers. */
enum {
    IP4_TOS = 1, IP4_TTL = 8, IP4_SUM = 10, IP4_SRC = 12, IP4_DST = 16,
    IP6_HOPS = 7, IP6_SRC = 8, IP6_DST = 24,
    ARP_OP = 6, ARP_SHA = 8, ARP_SPA = 14, ARP_THA = 18, ARP_TPA = 24,
    ARP_LEN = 28,
    ICMP_SUM = 2, ND_TARGET = 8, ND_OPTIONS = 24, SCTP_SUM = 8,
};

/* The checksums that include a field. */
enum {
    IN_IP4 = 1 << 0,            /* IPv4's checksum */
    IN_PSEUDO = 1 << 1,         /* the pseudo header */
    IN_L4 = 1 << 2,             /* the transport's header */
};

/* --- checksums ------------------------------------------------------------ */

/* The difference of two sums of 16-bit words, @old and @new. */
static uint32_t difference(const uint8_t *old, const uint8_t *new, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i += 2) {
        sum += (uint16_t)~get_be16(old + i) + get_be16(new + i);
    }
    return sum;
}

static uint16_t fold(uint32_t sum)
{
    return ~packet_sum_fold(sum);
}

static void change_sum(uint8_t *where, uint32_t by)
{
    put_be16(where, ~fold((uint16_t)~get_be16(where) + by));
}

/* The transport's checksum, or NULL: absent, or 0 (unused). */
static uint8_t *l4_sum(CvswFrame *f)
{
    uint8_t *l4 = f->head + f->flow.l4;

    if (!f->flow.l4 || f->flow.has & PACKET_FLOW_LATER) {
        return NULL;
    }
    if (f->flow.has & PACKET_FLOW_TCP) {
        return l4 + PACKET_TCP_CHECKSUM;
    }
    if (f->flow.has & PACKET_FLOW_UDP) {
        l4 += PACKET_UDP_CHECKSUM;
        return f->offload.needs_csum || get_be16(l4) ? l4 : NULL;
    }
    if (f->flow.has & (PACKET_FLOW_ICMP4 | PACKET_FLOW_ICMP6)) {
        return l4 + ICMP_SUM;
    }
    return NULL;
}

static void change_l4_sum(CvswFrame *f, unsigned in, uint32_t by)
{
    uint8_t *where = l4_sum(f);

    if (!where || (in & IN_PSEUDO && f->flow.has & PACKET_FLOW_ICMP4)) {
        return;
    }
    if (f->offload.needs_csum) {
        if (in & IN_PSEUDO) {
            put_be16(where, fold(get_be16(where) + by));
        }
        return;
    }
    change_sum(where, by);
    if (f->flow.has & PACKET_FLOW_UDP) {
        put_be16(where, packet_udp_sum(get_be16(where)));
    }
}

static bool has_sctp_sum(const CvswFrame *f, unsigned in)
{
    return in & IN_L4 && f->flow.has & PACKET_FLOW_SCTP &&
           !(f->flow.has & PACKET_FLOW_FRAGMENT);
}

/* Stops at the end of @iov. */
static uint32_t crc32c_iov(const struct iovec *iov, int iovcnt, size_t offset,
                           size_t len)
{
    uint32_t crc = 0;

    for (int i = 0; i < iovcnt && len; i++) {
        size_t skip = offset < iov[i].iov_len ? offset : iov[i].iov_len;
        size_t part = iov[i].iov_len - skip;

        offset -= skip;
        part = part < len ? part : len;
        crc = packet_crc32c(crc, (const uint8_t *)iov[i].iov_base + skip, part);
        len -= part;
    }
    return crc;
}

/*
 * The checksum of SCTP covers only its packet (RFC 9260 section 6.8).  It is a
 * CRC: the same bits are wrong after the update as before.
 */
static uint32_t sctp_sum(const CvswFrame *f)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];
    size_t l4 = f->flow.l4, end;

    end = f->flow.has & PACKET_FLOW_IP4 ?
          f->flow.l3 + get_be16(f->head + f->flow.l3 + 2) :
          f->flow.l3 + PACKET_IP6_LEN +
          get_be16(f->head + f->flow.l3 + 4);
    return crc32c_iov(iov, cvsw_frame_iov(f, iov), l4, end - l4);
}

static void change_sctp_sum(CvswFrame *f, uint32_t by)
{
    for (int i = 0; i < 4; i++) {
        f->head[f->flow.l4 + SCTP_SUM + i] ^= by >> 8 * i;
    }
}

/*
 * Overwrites @len octets, an even number, at an even offset from the start of
 * the header.
 */
static void put(CvswFrame *f, size_t at, const void *new, size_t len,
                unsigned in)
{
    uint8_t *old = f->head + at;
    uint32_t by = difference(old, new, len), crc = 0;
    bool is_sctp = has_sctp_sum(f, in);

    if (is_sctp) {
        crc = sctp_sum(f);
    }
    memcpy(old, new, len);
    if (in & IN_IP4) {
        change_sum(f->head + f->flow.l3 + IP4_SUM, by);
    }
    if (in & (IN_PSEUDO | IN_L4)) {
        change_l4_sum(f, in, by);
    }
    if (is_sctp) {
        change_sctp_sum(f, crc ^ sctp_sum(f));
    }
}

/* Overwrites the bits of @mask in the 16-bit word at @at. */
static void put_bits(CvswFrame *f, size_t at, uint16_t bits, uint16_t mask,
                     unsigned in)
{
    uint8_t word[2];

    put_be16(word, (get_be16(f->head + at) & ~mask) | (bits & mask));
    put(f, at, word, sizeof(word), in);
}

/* --- fields --------------------------------------------------------------- */

static bool has(const CvswFrame *f, unsigned what)
{
    return f->flow.has & what;
}

/* Sets those bits of an address or number that are in @mask. */
static void set_octets(CvswFrame *f, size_t at, const CvswAction *a,
                       size_t len, unsigned in)
{
    uint8_t new[CVSW_VALUE_MAX];

    for (size_t i = 0; i < len; i++) {
        new[i] = (f->head[at + i] & ~a->set.mask.octets[i]) |
                 (a->set.value.octets[i] & a->set.mask.octets[i]);
    }
    put(f, at, new, len, in);
}

static void set_tos(CvswFrame *f, uint8_t bits, uint8_t mask)
{
    if (has(f, PACKET_FLOW_IP4)) {
        put_bits(f, f->flow.l3, bits, mask, IN_IP4);
    } else if (has(f, PACKET_FLOW_IP6)) {
        put_bits(f, f->flow.l3, bits << 4, mask << 4, 0);
    }
}

static void set_label(CvswFrame *f, const CvswAction *a)
{
    uint8_t *p = f->head + f->flow.l3;
    uint32_t mask = get_be32(a->set.mask.octets) & 0xfffff;
    uint32_t bits = get_be32(a->set.value.octets) & mask;

    put_be32(p, (get_be32(p) & ~mask) | bits);
}

static CvswRewrite set_ttl(CvswFrame *f, bool by_one, uint8_t ttl)
{
    size_t at;

    if (!has(f, PACKET_FLOW_IP4 | PACKET_FLOW_IP6)) {
        return CVSW_REWRITE_DONE;
    }
    at = f->flow.l3 + (has(f, PACKET_FLOW_IP4) ? IP4_TTL : IP6_HOPS);
    if (by_one) {
        if (f->head[at] <= 1) {
            return CVSW_REWRITE_TTL;
        }
        ttl = f->head[at] - 1;
    }
    if (has(f, PACKET_FLOW_IP4)) {
        put_bits(f, at, ttl << 8, 0xff00, IN_IP4);
    } else {
        f->head[at] = ttl;
    }
    return CVSW_REWRITE_DONE;
}

static void set_ports(CvswFrame *f, const CvswAction *a, unsigned what,
                      size_t at)
{
    if (has(f, what)) {
        set_octets(f, f->flow.l4 + at, a, 2, IN_L4);
    }
}

static void set_icmp(CvswFrame *f, const CvswAction *a, unsigned what,
                     bool code)
{
    uint8_t value = a->set.value.octets[0], mask = a->set.mask.octets[0];

    if (has(f, what)) {
        put_bits(f, f->flow.l4, code ? value : value << 8,
                 code ? mask : mask << 8, IN_L4);
    }
}

static void set_nd_option(CvswFrame *f, const CvswAction *a, uint8_t want)
{
    const uint8_t *options = f->head + f->flow.l4 + ND_OPTIONS, *option;
    size_t pos = 0, len;

    if (!has(f, PACKET_FLOW_ND)) {
        return;
    }
    while ((option = packet_nd_option_next(options, f->head + f->head_len -
                                           options, &pos, &len))) {
        if (option[0] == want && len == 2 + PACKET_ETH_ADDR_LEN) {
            set_octets(f, option + 2 - f->head, a, PACKET_ETH_ADDR_LEN,
                       IN_L4);
        }
    }
}

static void set_arp(CvswFrame *f, const CvswAction *a, size_t at, size_t len)
{
    if (has(f, PACKET_FLOW_ARP) && f->head_len - f->flow.l3 >= ARP_LEN) {
        set_octets(f, f->flow.l3 + at, a, len, 0);
    }
}

static void set_link(CvswFrame *f, const CvswAction *a)
{
    switch (a->set.field) {
    case CVSW_ETH_DST:
        set_octets(f, 0, a, PACKET_ETH_ADDR_LEN, 0);
        break;
    case CVSW_ETH_SRC:
        set_octets(f, PACKET_ETH_ADDR_LEN, a, PACKET_ETH_ADDR_LEN, 0);
        break;
    case CVSW_VLAN_VID:
        if (f->flow.eth.tags) {
            put_bits(f, 14, get_be16(a->set.value.octets) & 0xfff,
                     get_be16(a->set.mask.octets) & 0xfff, 0);
        }
        break;
    case CVSW_VLAN_PCP:
        if (f->flow.eth.tags) {
            put_bits(f, 14, a->set.value.octets[0] << 13,
                     a->set.mask.octets[0] << 13, 0);
        }
        break;
    case CVSW_ARP_OP:
        set_arp(f, a, ARP_OP, 2);
        break;
    case CVSW_ARP_SPA:
        set_arp(f, a, ARP_SPA, 4);
        break;
    case CVSW_ARP_TPA:
        set_arp(f, a, ARP_TPA, 4);
        break;
    case CVSW_ARP_SHA:
        set_arp(f, a, ARP_SHA, PACKET_ETH_ADDR_LEN);
        break;
    case CVSW_ARP_THA:
        set_arp(f, a, ARP_THA, PACKET_ETH_ADDR_LEN);
        break;
    default:
        break;
    }
}

static void set_ip(CvswFrame *f, const CvswAction *a)
{
    const size_t l3 = f->flow.l3;
    const uint8_t value = a->set.value.octets[0], mask = a->set.mask.octets[0];

    switch (a->set.field) {
    case CVSW_IP_DSCP:
        set_tos(f, value << 2, mask << 2 & 0xfc);
        break;
    case CVSW_IP_ECN:
        set_tos(f, value, mask & 3);
        break;
    case CVSW_IPV4_SRC:
    case CVSW_IPV4_DST:
        if (has(f, PACKET_FLOW_IP4)) {
            set_octets(f, l3 + (a->set.field == CVSW_IPV4_SRC ? IP4_SRC :
                                IP4_DST), a, 4, IN_IP4 | IN_PSEUDO);
        }
        break;
    case CVSW_IPV6_SRC:
    case CVSW_IPV6_DST:
        if (has(f, PACKET_FLOW_IP6)) {
            set_octets(f, l3 + (a->set.field == CVSW_IPV6_SRC ? IP6_SRC :
                                IP6_DST), a, 16, IN_PSEUDO);
        }
        break;
    case CVSW_IPV6_FLABEL:
        if (has(f, PACKET_FLOW_IP6)) {
            set_label(f, a);
        }
        break;
    default:
        set_link(f, a);
    }
}

static void set_field(CvswFrame *f, const CvswAction *a)
{
    switch (a->set.field) {
    case CVSW_TCP_SRC:
        set_ports(f, a, PACKET_FLOW_TCP, 0);
        break;
    case CVSW_TCP_DST:
        set_ports(f, a, PACKET_FLOW_TCP, 2);
        break;
    case CVSW_UDP_SRC:
        set_ports(f, a, PACKET_FLOW_UDP, 0);
        break;
    case CVSW_UDP_DST:
        set_ports(f, a, PACKET_FLOW_UDP, 2);
        break;
    case CVSW_SCTP_SRC:
        set_ports(f, a, PACKET_FLOW_SCTP, 0);
        break;
    case CVSW_SCTP_DST:
        set_ports(f, a, PACKET_FLOW_SCTP, 2);
        break;
    case CVSW_ICMPV4_TYPE:
        set_icmp(f, a, PACKET_FLOW_ICMP4, false);
        break;
    case CVSW_ICMPV4_CODE:
        set_icmp(f, a, PACKET_FLOW_ICMP4, true);
        break;
    case CVSW_ICMPV6_TYPE:
        set_icmp(f, a, PACKET_FLOW_ICMP6, false);
        break;
    case CVSW_ICMPV6_CODE:
        set_icmp(f, a, PACKET_FLOW_ICMP6, true);
        break;
    case CVSW_IPV6_ND_TARGET:
        if (has(f, PACKET_FLOW_ND)) {
            set_octets(f, f->flow.l4 + ND_TARGET, a, 16, IN_L4);
        }
        break;
    case CVSW_IPV6_ND_SLL:
        set_nd_option(f, a, PACKET_ND_OPTION_SLLA);
        break;
    case CVSW_IPV6_ND_TLL:
        set_nd_option(f, a, PACKET_ND_OPTION_TLLA);
        break;
    default:
        set_ip(f, a);
    }
}

/* --- tags ----------------------------------------------------------------- */

static CvswRewrite push_tag(CvswFrame *f, uint16_t tpid, uint16_t tci)
{
    uint8_t *tag = cvsw_frame_push(f, 12, PACKET_ETH_TAG_LEN);

    if (!tag) {
        return CVSW_REWRITE_ROOM;
    }
    put_be16(tag, tpid);
    put_be16(tag + 2, tci);
    return CVSW_REWRITE_DONE;
}

/* OpenFlow 1.3.5 section 5.12: the new tag copies the TCI of the old one. */
static CvswRewrite push_vlan(CvswFrame *f, uint16_t tpid)
{
    return push_tag(f, tpid, f->flow.eth.tags ? f->flow.eth.tci[0] : 0);
}

/* OpenFlow 1.0.1 section 3.3: a frame without a tag gets one. */
static CvswRewrite set_tci(CvswFrame *f, uint16_t bits, uint16_t mask)
{
    if (!f->flow.eth.tags) {
        return push_tag(f, PACKET_ETH_VLAN, bits & mask);
    }
    put_bits(f, 14, bits, mask, 0);
    return CVSW_REWRITE_DONE;
}

/* --- OpenFlow 1.0's actions ----------------------------------------------- */

static void set_tp(CvswFrame *f, uint16_t number, bool destination)
{
    uint8_t octets[2];

    put_be16(octets, number);
    if (has(f, PACKET_FLOW_TCP | PACKET_FLOW_UDP)) {
        put(f, f->flow.l4 + (destination ? 2 : 0), octets, 2, IN_L4);
    } else if (has(f, PACKET_FLOW_ICMP4)) {
        put_bits(f, f->flow.l4, destination ? number : number << 8,
                 destination ? 0xff : 0xff00, IN_L4);
    }
}

static void set_nw(CvswFrame *f, struct in_addr addr, size_t at)
{
    if (has(f, PACKET_FLOW_IP4)) {
        put(f, f->flow.l3 + at, &addr, sizeof(addr), IN_IP4 | IN_PSEUDO);
    }
}

static CvswRewrite rewrite(CvswFrame *f, const CvswAction *a)
{
    switch (a->type) {
    case CVSW_ACTION_SET_FIELD:
        set_field(f, a);
        return CVSW_REWRITE_DONE;
    case CVSW_ACTION_PUSH_VLAN:
        return push_vlan(f, a->number);
    case CVSW_ACTION_POP_VLAN:
        if (f->flow.eth.tags) {
            cvsw_frame_pull(f, 12, PACKET_ETH_TAG_LEN);
        }
        return CVSW_REWRITE_DONE;
    case CVSW_ACTION_SET_VID:
        return set_tci(f, a->number, 0x0fff);
    case CVSW_ACTION_SET_PCP:
        return set_tci(f, a->number << 13, 0xe000);
    case CVSW_ACTION_SET_TOS:
        set_tos(f, a->number, 0xfc);
        return CVSW_REWRITE_DONE;
    case CVSW_ACTION_SET_TP_SRC:
    case CVSW_ACTION_SET_TP_DST:
        set_tp(f, a->number, a->type == CVSW_ACTION_SET_TP_DST);
        return CVSW_REWRITE_DONE;
    case CVSW_ACTION_SET_NW_SRC:
    case CVSW_ACTION_SET_NW_DST:
        set_nw(f, a->ip4, a->type == CVSW_ACTION_SET_NW_SRC ? IP4_SRC :
                          IP4_DST);
        return CVSW_REWRITE_DONE;
    case CVSW_ACTION_SET_TTL:
        return set_ttl(f, false, a->number);
    case CVSW_ACTION_DEC_TTL:
        return set_ttl(f, true, 0);
    default:
        return CVSW_REWRITE_DONE;
    }
}

CvswRewrite cvsw_rewrite(CvswFrame *frame, const CvswAction *action)
{
    CvswRewrite done = rewrite(frame, action);

    cvsw_frame_look(frame);
    return done;
}
