/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints matches, with the order and the names of Open vSwitch's dump */
#include <netinet/in.h>

#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/text.h"
#include "net/packet/eth.h"

#define DEFAULT_PRIORITY        32768u
#define PCP_SHIFT               13
#define VID_BITS                0xfffu
#define PCP_BITS                0xe000u

/*
 * Fields after the tag; in_port and the fields before it are printed
 * separately.
 */
static const struct {
    CvswField field;
    const char *name;
} names[] = {
    { CVSW_ETH_SRC, "dl_src" },
    { CVSW_ETH_DST, "dl_dst" },
    { CVSW_ETH_TYPE, "dl_type" },
    { CVSW_IPV6_SRC, "ipv6_src" },
    { CVSW_IPV6_DST, "ipv6_dst" },
    { CVSW_IPV6_FLABEL, "ipv6_label" },
    { CVSW_IPV4_SRC, "nw_src" },
    { CVSW_IPV4_DST, "nw_dst" },
    { CVSW_ARP_SPA, "arp_spa" },
    { CVSW_ARP_TPA, "arp_tpa" },
    { CVSW_IP_PROTO, "nw_proto" },
    { CVSW_ARP_OP, "arp_op" },
    { CVSW_ARP_SHA, "arp_sha" },
    { CVSW_ARP_THA, "arp_tha" },
    { CVSW_IP_DSCP, "nw_tos" },
    { CVSW_IP_ECN, "nw_ecn" },
    { CVSW_ICMPV4_TYPE, "icmp_type" },
    { CVSW_ICMPV4_CODE, "icmp_code" },
    { CVSW_ICMPV6_TYPE, "icmp_type" },
    { CVSW_ICMPV6_CODE, "icmp_code" },
    { CVSW_TCP_SRC, "tp_src" },
    { CVSW_TCP_DST, "tp_dst" },
    { CVSW_UDP_SRC, "tp_src" },
    { CVSW_UDP_DST, "tp_dst" },
    { CVSW_SCTP_SRC, "tp_src" },
    { CVSW_SCTP_DST, "tp_dst" },
    { CVSW_IPV6_ND_TARGET, "nd_target" },
    { CVSW_IPV6_ND_SLL, "nd_sll" },
    { CVSW_IPV6_ND_TLL, "nd_tll" },
    { CVSW_IPV6_EXTHDR, "ipv6_exthdr" },
};

/* A keyword for an EtherType and a protocol; protocol -1 is any. */
static const struct {
    int eth_type, protocol;
    const char *word;
} words[] = {
    { PACKET_ETH_IP4, IPPROTO_ICMP, "icmp" },
    { PACKET_ETH_IP4, IPPROTO_TCP, "tcp" },
    { PACKET_ETH_IP4, IPPROTO_UDP, "udp" },
    { PACKET_ETH_IP4, IPPROTO_SCTP, "sctp" },
    { PACKET_ETH_IP4, -1, "ip" },
    { PACKET_ETH_IP6, IPPROTO_ICMPV6, "icmp6" },
    { PACKET_ETH_IP6, IPPROTO_TCP, "tcp6" },
    { PACKET_ETH_IP6, IPPROTO_UDP, "udp6" },
    { PACKET_ETH_IP6, IPPROTO_SCTP, "sctp6" },
    { PACKET_ETH_IP6, -1, "ipv6" },
    { PACKET_ETH_ARP, -1, "arp" },
    { 0x8035, -1, "rarp" },
    { 0x8847, -1, "mpls" },
    { 0x8848, -1, "mplsm" },
};

static int number_of(const CvswMatch *match, CvswField field)
{
    CvswValue value, mask;

    return cvsw_match_get(match, field, &value, &mask) ?
           (int)cvsw_of_text_number(field, &value) : -1;
}

/* Returns: the fields that the keyword covers, as bits */
static uint64_t dump_word(GString *out, const CvswMatch *match)
{
    int eth_type = number_of(match, CVSW_ETH_TYPE);
    int protocol = number_of(match, CVSW_IP_PROTO);

    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        bool is_any = words[i].protocol < 0;

        if (words[i].eth_type == eth_type &&
            (is_any || words[i].protocol == protocol)) {
            g_string_append_printf(out, "%s,", words[i].word);
            return UINT64_C(1) << CVSW_ETH_TYPE |
                   (is_any ? 0 : UINT64_C(1) << CVSW_IP_PROTO);
        }
    }
    return 0;
}

static void dump_field(GString *out, const CvswMatch *match, CvswField field,
                       const char *name)
{
    CvswValue value, mask;

    if (cvsw_match_get(match, field, &value, &mask)) {
        g_string_append_printf(out, "%s=", name);
        if (field == CVSW_IP_DSCP) {
            g_string_append_printf(out, "%u", value.octets[0] << 2);
        } else {
            cvsw_of_text(out, field, &value, &mask);
        }
        g_string_append_c(out, ',');
    }
}

static bool is_all_or_none(unsigned mask, unsigned bits)
{
    return (mask & bits) == 0 || (mask & bits) == bits;
}

static void dump_tag(GString *out, const CvswMatch *match)
{
    unsigned tci = 0, bits = 0;
    CvswValue value, mask;

    if (cvsw_match_get(match, CVSW_VLAN_VID, &value, &mask)) {
        tci = cvsw_of_text_number(CVSW_VLAN_VID, &value);
        bits = cvsw_of_text_number(CVSW_VLAN_VID, &mask);
    }
    if (cvsw_match_get(match, CVSW_VLAN_PCP, &value, &mask)) {
        tci |= value.octets[0] << PCP_SHIFT;
        bits |= PCP_BITS;
    }
    if (tci & CVSW_VID_PRESENT && is_all_or_none(bits, VID_BITS) &&
        bits & (VID_BITS | PCP_BITS)) {
        if (bits & VID_BITS) {
            g_string_append_printf(out, "dl_vlan=%u,", tci & VID_BITS);
        }
        if (bits & PCP_BITS) {
            g_string_append_printf(out, "dl_vlan_pcp=%u,", tci >> PCP_SHIFT);
        }
    } else if (bits) {
        g_string_append_printf(out, "vlan_tci=0x%04x/0x%04x,", tci, bits);
    }
}

void cvsw_of_dump_match(GString *out, const CvswMatch *match,
                        uint16_t priority)
{
    size_t from = out->len;
    uint64_t printed;

    if (priority != DEFAULT_PRIORITY) {
        g_string_append_printf(out, "priority=%u,", priority);
    }
    printed = dump_word(out, match);
    dump_field(out, match, CVSW_TUNNEL_ID, "tun_id");
    dump_field(out, match, CVSW_IN_PORT, "in_port");
    dump_tag(out, match);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!(printed >> names[i].field & 1)) {
            dump_field(out, match, names[i].field, names[i].name);
        }
    }
    /* Remove the last comma. */
    if (out->len > from) {
        g_string_truncate(out, out->len - 1);
    }
}
