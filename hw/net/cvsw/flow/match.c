/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of frames, and matches on keys */
#include <assert.h>
#include <endian.h>
#include <string.h>

#include "hw/net/cvsw/flow/match.h"
#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

/* The words of a key. */
enum {
    WORD_HEAD,                  /* header bits, tag, protocol */
    WORD_PORTS,                 /* switch port, transport ports */
    WORD_IP4,                   /* IPv4 or ARP addresses; IPv6 label, exthdr */
    WORD_ETH_DST,
    WORD_ETH_SRC,
    WORD_IP6_SRC,               /* two words; ARP: sender's MAC address */
    WORD_IP6_DST = WORD_IP6_SRC + 2,    /* two; ARP: target's MAC address */
    WORD_ND_TARGET = WORD_IP6_DST + 2,  /* two */
    WORD_ND_LL = WORD_ND_TARGET + 2,    /* SLL of type 135, TLL of type 136 */
    WORD_TUNNEL,
    WORDS,
};

/* Bits of WORD_HEAD: the frame has the complete header. */
#define HAS_L3          (UINT64_C(1) << 63)     /* IPv4, IPv6, ARP */
#define HAS_L4          (UINT64_C(1) << 62)     /* TCP, UDP, SCTP, ICMP */
#define HAS_ND          (UINT64_C(1) << 61)

/* Positions of fields in WORD_HEAD. */
enum {
    AT_ETH_TYPE = 0,
    AT_VLAN_VID = 16,
    AT_VLAN_PCP = 29,
    AT_IP_PROTO = 32,
    AT_IP_DSCP = 40,
    AT_IP_ECN = 46,
};

/* Positions in WORD_PORTS. */
enum {
    AT_TP_DST = 0,              /* ICMP: code */
    AT_TP_SRC = 16,             /* ICMP: type; ARP: operation */
    AT_IN_PORT = 32,
};

/* Positions in WORD_IP4. */
enum {
    AT_IP4_DST = 0,             /* ARP: target address */
    AT_IP4_SRC = 32,            /* ARP: sender address */
    AT_FLABEL = 0,
    AT_EXTHDR = 32,
};

/* The prerequisites of fields (OpenFlow 1.3.5 table 12). */
typedef enum Basis {
    ALONE,
    ON_TAG,
    ON_IP,
    ON_IP4,
    ON_IP6,
    ON_ARP,
    ON_TCP,
    ON_UDP,
    ON_SCTP,
    ON_ICMP4,
    ON_ICMP6,
    ON_ND,
    ON_ND_NS,
    ON_ND_NA,
} Basis;

/* The field @on must have one of @values; @values[1] may be 0: only one. */
static const struct {
    uint64_t has;               /* the header that contains the field */
    CvswField on;
    uint16_t values[2];
} bases[] = {
    [ON_IP] = { HAS_L3, CVSW_ETH_TYPE, { PACKET_ETH_IP4, PACKET_ETH_IP6 } },
    [ON_IP4] = { HAS_L3, CVSW_ETH_TYPE, { PACKET_ETH_IP4 } },
    [ON_IP6] = { HAS_L3, CVSW_ETH_TYPE, { PACKET_ETH_IP6 } },
    [ON_ARP] = { HAS_L3, CVSW_ETH_TYPE, { PACKET_ETH_ARP } },
    [ON_TCP] = { HAS_L4, CVSW_IP_PROTO, { IPPROTO_TCP } },
    [ON_UDP] = { HAS_L4, CVSW_IP_PROTO, { IPPROTO_UDP } },
    [ON_SCTP] = { HAS_L4, CVSW_IP_PROTO, { IPPROTO_SCTP } },
    [ON_ICMP4] = { HAS_L4, CVSW_IP_PROTO, { IPPROTO_ICMP } },
    [ON_ICMP6] = { HAS_L4, CVSW_IP_PROTO, { IPPROTO_ICMPV6 } },
    [ON_ND] = { HAS_ND, CVSW_ICMPV6_TYPE, { PACKET_ND_NS, PACKET_ND_NA } },
    [ON_ND_NS] = { HAS_ND, CVSW_ICMPV6_TYPE, { PACKET_ND_NS } },
    [ON_ND_NA] = { HAS_ND, CVSW_ICMPV6_TYPE, { PACKET_ND_NA } },
};

/* Position of a field in the key. */
typedef struct Place {
    uint8_t word, shift;
    Basis basis;
} Place;

static const Place places[CVSW_FIELDS] = {
    [CVSW_IN_PORT] = { WORD_PORTS, AT_IN_PORT, ALONE },
    [CVSW_ETH_DST] = { WORD_ETH_DST, 0, ALONE },
    [CVSW_ETH_SRC] = { WORD_ETH_SRC, 0, ALONE },
    [CVSW_ETH_TYPE] = { WORD_HEAD, AT_ETH_TYPE, ALONE },
    [CVSW_VLAN_VID] = { WORD_HEAD, AT_VLAN_VID, ALONE },
    [CVSW_VLAN_PCP] = { WORD_HEAD, AT_VLAN_PCP, ON_TAG },
    [CVSW_IP_DSCP] = { WORD_HEAD, AT_IP_DSCP, ON_IP },
    [CVSW_IP_ECN] = { WORD_HEAD, AT_IP_ECN, ON_IP },
    [CVSW_IP_PROTO] = { WORD_HEAD, AT_IP_PROTO, ON_IP },
    [CVSW_IPV4_SRC] = { WORD_IP4, AT_IP4_SRC, ON_IP4 },
    [CVSW_IPV4_DST] = { WORD_IP4, AT_IP4_DST, ON_IP4 },
    [CVSW_TCP_SRC] = { WORD_PORTS, AT_TP_SRC, ON_TCP },
    [CVSW_TCP_DST] = { WORD_PORTS, AT_TP_DST, ON_TCP },
    [CVSW_UDP_SRC] = { WORD_PORTS, AT_TP_SRC, ON_UDP },
    [CVSW_UDP_DST] = { WORD_PORTS, AT_TP_DST, ON_UDP },
    [CVSW_SCTP_SRC] = { WORD_PORTS, AT_TP_SRC, ON_SCTP },
    [CVSW_SCTP_DST] = { WORD_PORTS, AT_TP_DST, ON_SCTP },
    [CVSW_ICMPV4_TYPE] = { WORD_PORTS, AT_TP_SRC, ON_ICMP4 },
    [CVSW_ICMPV4_CODE] = { WORD_PORTS, AT_TP_DST, ON_ICMP4 },
    [CVSW_ARP_OP] = { WORD_PORTS, AT_TP_SRC, ON_ARP },
    [CVSW_ARP_SPA] = { WORD_IP4, AT_IP4_SRC, ON_ARP },
    [CVSW_ARP_TPA] = { WORD_IP4, AT_IP4_DST, ON_ARP },
    [CVSW_ARP_SHA] = { WORD_IP6_SRC, 0, ON_ARP },
    [CVSW_ARP_THA] = { WORD_IP6_DST, 0, ON_ARP },
    [CVSW_IPV6_SRC] = { WORD_IP6_SRC, 0, ON_IP6 },
    [CVSW_IPV6_DST] = { WORD_IP6_DST, 0, ON_IP6 },
    [CVSW_IPV6_FLABEL] = { WORD_IP4, AT_FLABEL, ON_IP6 },
    [CVSW_ICMPV6_TYPE] = { WORD_PORTS, AT_TP_SRC, ON_ICMP6 },
    [CVSW_ICMPV6_CODE] = { WORD_PORTS, AT_TP_DST, ON_ICMP6 },
    [CVSW_IPV6_ND_TARGET] = { WORD_ND_TARGET, 0, ON_ND },
    [CVSW_IPV6_ND_SLL] = { WORD_ND_LL, 0, ON_ND_NS },
    [CVSW_IPV6_ND_TLL] = { WORD_ND_LL, 0, ON_ND_NA },
    [CVSW_TUNNEL_ID] = { WORD_TUNNEL, 0, ALONE },
    [CVSW_IPV6_EXTHDR] = { WORD_IP4, AT_EXTHDR, ON_IP6 },
};

static_assert(WORDS == CVSW_KEY_WORDS, "match.h has another number of words");

/* A value or mask: two words for 128 bits; else only the first word. */
typedef struct Bits {
    uint64_t word[2];
} Bits;

static unsigned words_of(CvswField field)
{
    return cvsw_field_bits(field) > 64 ? 2 : 1;
}

static uint64_t load_mac(const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    uint32_t high;
    uint16_t low;

    memcpy(&high, mac, sizeof(high));
    memcpy(&low, mac + sizeof(high), sizeof(low));
    return (uint64_t)be32toh(high) << 16 | be16toh(low);
}

static Bits load(CvswField field, const CvswValue *from)
{
    size_t octets = cvsw_field_octets(field);
    Bits bits = { { 0, 0 } };

    if (words_of(field) == 2) {
        bits.word[0] = get_be64(from->octets);
        bits.word[1] = get_be64(from->octets + 8);
        return bits;
    }
    for (size_t i = 0; i < octets; i++) {
        bits.word[0] = bits.word[0] << 8 | from->octets[i];
    }
    return bits;
}

static void store(CvswField field, CvswValue *to, Bits bits)
{
    size_t octets = cvsw_field_octets(field);

    memset(to, 0, sizeof(*to));
    for (size_t i = 0; i < octets; i++) {
        size_t from_end = octets - 1 - i;

        to->octets[i] = bits.word[words_of(field) - 1 - from_end / 8] >>
                        8 * (from_end % 8);
    }
}

static Bits ones(CvswField field)
{
    unsigned bits = cvsw_field_bits(field);
    Bits all = { { UINT64_MAX, UINT64_MAX } };

    if (bits < 64) {
        all.word[0] = (UINT64_C(1) << bits) - 1;
    }
    if (bits <= 64) {
        all.word[1] = 0;
    }
    return all;
}

static bool is_none(Bits bits)
{
    return (bits.word[0] | bits.word[1]) == 0;
}

static Bits clear_bits(Bits a, Bits b)
{
    return (Bits) { { a.word[0] & ~b.word[0], a.word[1] & ~b.word[1] } };
}

static void put(CvswKey *key, CvswField field, Bits bits)
{
    for (unsigned i = 0; i < words_of(field); i++) {
        key->word[places[field].word + i] |= bits.word[i] <<
                                             places[field].shift;
    }
}

static Bits get(const CvswKey *key, CvswField field)
{
    Bits bits = { { 0, 0 } }, all = ones(field);

    for (unsigned i = 0; i < words_of(field); i++) {
        bits.word[i] = key->word[places[field].word + i] >>
                       places[field].shift & all.word[i];
    }
    return bits;
}

static uint64_t header_bits(const PacketFlow *flow)
{
    const unsigned l3 = PACKET_FLOW_IP4 | PACKET_FLOW_IP6 | PACKET_FLOW_ARP;
    const unsigned l4 = PACKET_FLOW_TCP | PACKET_FLOW_UDP | PACKET_FLOW_SCTP |
                        PACKET_FLOW_ICMP4 | PACKET_FLOW_ICMP6;

    return (flow->has & l3 ? HAS_L3 : 0) | (flow->has & l4 ? HAS_L4 : 0) |
           (flow->has & PACKET_FLOW_ND ? HAS_ND : 0);
}

/* Uses the outer tag if there are several. */
static uint64_t tag_of(const PacketEth *eth)
{
    uint64_t tci = eth->tci[0];

    return eth->tags ? (tci & 0xfff) << AT_VLAN_VID |
                       (uint64_t)CVSW_VID_PRESENT << AT_VLAN_VID |
                       tci >> 13 << AT_VLAN_PCP : 0;
}

static uint64_t head_of(const PacketFlow *flow)
{
    return header_bits(flow) | tag_of(&flow->eth) |
           (uint64_t)flow->eth.type << AT_ETH_TYPE |
           (uint64_t)flow->protocol << AT_IP_PROTO |
           (uint64_t)(flow->tos >> 2) << AT_IP_DSCP |
           (uint64_t)(flow->tos & 3) << AT_IP_ECN;
}

/* Only one of the fields that share these bits is not 0. */
static uint64_t ports_of(const PacketFlow *flow, uint32_t in_port)
{
    uint16_t src = flow->src_port | flow->icmp_type | flow->arp_operation;
    uint16_t dst = flow->dst_port | flow->icmp_code;

    return (uint64_t)in_port << AT_IN_PORT | (uint64_t)src << AT_TP_SRC |
           (uint64_t)dst << AT_TP_DST;
}

static uint64_t ip4_of(const PacketFlow *flow)
{
    uint32_t src = be32toh(flow->ip4_src.s_addr | flow->arp_spa.s_addr);
    uint32_t dst = be32toh(flow->ip4_dst.s_addr | flow->arp_tpa.s_addr);

    return (uint64_t)src << AT_IP4_SRC | (uint64_t)dst << AT_IP4_DST |
           (uint64_t)flow->ip6_label << AT_FLABEL |
           (uint64_t)flow->ip6_has << AT_EXTHDR;
}

void cvsw_key_of(CvswKey *key, const PacketFlow *flow, uint32_t in_port,
                 uint64_t tunnel_id)
{
    uint64_t *word = key->word;

    word[WORD_HEAD] = head_of(flow);
    word[WORD_PORTS] = ports_of(flow, in_port);
    word[WORD_IP4] = ip4_of(flow);
    word[WORD_ETH_DST] = load_mac(flow->eth.dst);
    word[WORD_ETH_SRC] = load_mac(flow->eth.src);
    word[WORD_IP6_SRC] = get_be64(&flow->ip6_src.s6_addr[0]) |
                         load_mac(flow->arp_sha);
    word[WORD_IP6_SRC + 1] = get_be64(&flow->ip6_src.s6_addr[8]);
    word[WORD_IP6_DST] = get_be64(&flow->ip6_dst.s6_addr[0]) |
                         load_mac(flow->arp_tha);
    word[WORD_IP6_DST + 1] = get_be64(&flow->ip6_dst.s6_addr[8]);
    word[WORD_ND_TARGET] = get_be64(&flow->nd_target.s6_addr[0]);
    word[WORD_ND_TARGET + 1] = get_be64(&flow->nd_target.s6_addr[8]);
    word[WORD_ND_LL] = load_mac(flow->nd_sll) | load_mac(flow->nd_tll);
    word[WORD_TUNNEL] = tunnel_id;
}

/* OpenFlow 1.3.5 section 7.2.3.7: only a frame with a tag has a VID. */
static bool is_bad_vid(CvswField field, uint64_t value, uint64_t mask)
{
    return field == CVSW_VLAN_VID && value && mask & CVSW_VID_PRESENT &&
           !(value & CVSW_VID_PRESENT);
}

static CvswMatchFault fault_of(CvswField field, Bits value, Bits mask)
{
    Bits all = ones(field);

    if (!is_none(clear_bits(value, all))) {
        return CVSW_MATCH_BAD_VALUE;
    }
    if (!is_none(clear_bits(all, mask)) && !is_none(mask) &&
        !cvsw_field_maskable(field)) {
        return CVSW_MATCH_BAD_MASK;
    }
    if (!is_none(clear_bits(value, mask))) {
        return CVSW_MATCH_BAD_WILDCARDS;
    }
    return is_bad_vid(field, value.word[0], mask.word[0]) ?
           CVSW_MATCH_BAD_VALUE : CVSW_MATCH_OK;
}

CvswMatchFault cvsw_match_add(CvswMatch *match, CvswField field,
                              const CvswValue *value, const CvswValue *mask)
{
    Bits value_bits = load(field, value), all = ones(field);
    Bits mask_bits = mask ? load(field, mask) : all;
    uint64_t has = bases[places[field].basis].has;
    CvswMatchFault fault;

    mask_bits = clear_bits(mask_bits, clear_bits(mask_bits, all));
    fault = fault_of(field, value_bits, mask_bits);
    if (fault != CVSW_MATCH_OK || is_none(mask_bits)) {
        return fault;
    }
    if (cvsw_match_has(match, field)) {
        return CVSW_MATCH_DUPLICATE;
    }
    match->fields |= UINT64_C(1) << field;
    match->value.word[WORD_HEAD] |= has;
    match->mask.word[WORD_HEAD] |= has;
    put(&match->value, field, value_bits);
    put(&match->mask, field, mask_bits);
    return CVSW_MATCH_OK;
}

static bool has_prerequisite(const CvswMatch *match, CvswField field)
{
    Basis basis = places[field].basis;
    CvswField on = bases[basis].on;
    const uint16_t *values = bases[basis].values;
    uint64_t value;

    if (basis == ALONE) {
        return true;
    }
    if (basis == ON_TAG) {
        return get(&match->value, CVSW_VLAN_VID).word[0] & CVSW_VID_PRESENT;
    }
    value = get(&match->value, on).word[0];
    return cvsw_match_has(match, on) && value &&
           (value == values[0] || value == values[1]);
}

CvswMatchFault cvsw_match_check(const CvswMatch *match)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        if (cvsw_match_has(match, field) && !has_prerequisite(match, field)) {
            return CVSW_MATCH_BAD_PREREQ;
        }
    }
    return CVSW_MATCH_OK;
}

bool cvsw_match_get(const CvswMatch *match, CvswField field,
                    CvswValue *value, CvswValue *mask)
{
    if (!cvsw_match_has(match, field)) {
        return false;
    }
    store(field, value, get(&match->value, field));
    store(field, mask, get(&match->mask, field));
    return true;
}

bool cvsw_match_meets(const CvswMatch *match, const CvswKey *key)
{
    uint64_t differ = 0;

    for (unsigned i = 0; i < CVSW_KEY_WORDS; i++) {
        differ |= (key->word[i] & match->mask.word[i]) ^ match->value.word[i];
    }
    return differ == 0;
}

bool cvsw_match_equal(const CvswMatch *a, const CvswMatch *b)
{
    return !memcmp(&a->value, &b->value, sizeof(a->value)) &&
           !memcmp(&a->mask, &b->mask, sizeof(a->mask));
}

bool cvsw_match_within(const CvswMatch *narrow, const CvswMatch *wide)
{
    uint64_t differ = 0;

    for (unsigned i = 0; i < CVSW_KEY_WORDS; i++) {
        uint64_t mask = wide->mask.word[i];

        differ |= (mask & ~narrow->mask.word[i]) |
                  ((narrow->value.word[i] & mask) ^ wide->value.word[i]);
    }
    return differ == 0;
}

bool cvsw_match_overlaps(const CvswMatch *a, const CvswMatch *b)
{
    uint64_t differ = 0;

    for (unsigned i = 0; i < CVSW_KEY_WORDS; i++) {
        differ |= (a->value.word[i] ^ b->value.word[i]) &
                  a->mask.word[i] & b->mask.word[i];
    }
    return differ == 0;
}
