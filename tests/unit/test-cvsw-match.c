/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields, matches and keys of CVSW, against OpenFlow 1.3.5's table 12 */
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/cvsw-play.h"
#include "net/packet/ip4.h"

/* Section 7.2.3.7: bits, octets of an OXM, mask; and settable by an action. */
static const struct {
    const char *name;
    uint8_t bits, octets;
    bool masks, sets;
} fields[CVSW_FIELDS] = {
    { "in_port", 32, 4, false, false },
    { "eth_dst", 48, 6, true, true },
    { "eth_src", 48, 6, true, true },
    { "eth_type", 16, 2, false, false },
    { "vlan_vid", 13, 2, true, true },
    { "vlan_pcp", 3, 1, false, true },
    { "ip_dscp", 6, 1, false, true },
    { "ip_ecn", 2, 1, false, true },
    { "ip_proto", 8, 1, false, false },
    { "ipv4_src", 32, 4, true, true },
    { "ipv4_dst", 32, 4, true, true },
    { "tcp_src", 16, 2, false, true },
    { "tcp_dst", 16, 2, false, true },
    { "udp_src", 16, 2, false, true },
    { "udp_dst", 16, 2, false, true },
    { "sctp_src", 16, 2, false, true },
    { "sctp_dst", 16, 2, false, true },
    { "icmpv4_type", 8, 1, false, true },
    { "icmpv4_code", 8, 1, false, true },
    { "arp_op", 16, 2, false, true },
    { "arp_spa", 32, 4, true, true },
    { "arp_tpa", 32, 4, true, true },
    { "arp_sha", 48, 6, true, true },
    { "arp_tha", 48, 6, true, true },
    { "ipv6_src", 128, 16, true, true },
    { "ipv6_dst", 128, 16, true, true },
    { "ipv6_flabel", 20, 4, true, true },
    { "icmpv6_type", 8, 1, false, true },
    { "icmpv6_code", 8, 1, false, true },
    { "ipv6_nd_target", 128, 16, false, true },
    { "ipv6_nd_sll", 48, 6, false, true },
    { "ipv6_nd_tll", 48, 6, false, true },
    { "tunnel_id", 64, 8, true, true },
    { "ipv6_exthdr", 9, 2, true, false },
};

/* Prerequisites: the field @on has one of @values; 0: no more values. */
static const struct {
    CvswField field, on;
    uint16_t values[2];
} needs[] = {
    { CVSW_VLAN_PCP, CVSW_VLAN_VID, { 0x1000, 0x1005 } },
    { CVSW_IP_DSCP, CVSW_ETH_TYPE, { 0x0800, 0x86dd } },
    { CVSW_IP_ECN, CVSW_ETH_TYPE, { 0x0800, 0x86dd } },
    { CVSW_IP_PROTO, CVSW_ETH_TYPE, { 0x0800, 0x86dd } },
    { CVSW_IPV4_SRC, CVSW_ETH_TYPE, { 0x0800 } },
    { CVSW_IPV4_DST, CVSW_ETH_TYPE, { 0x0800 } },
    { CVSW_TCP_SRC, CVSW_IP_PROTO, { 6 } },
    { CVSW_TCP_DST, CVSW_IP_PROTO, { 6 } },
    { CVSW_UDP_SRC, CVSW_IP_PROTO, { 17 } },
    { CVSW_UDP_DST, CVSW_IP_PROTO, { 17 } },
    { CVSW_SCTP_SRC, CVSW_IP_PROTO, { 132 } },
    { CVSW_SCTP_DST, CVSW_IP_PROTO, { 132 } },
    { CVSW_ICMPV4_TYPE, CVSW_IP_PROTO, { 1 } },
    { CVSW_ICMPV4_CODE, CVSW_IP_PROTO, { 1 } },
    { CVSW_ARP_OP, CVSW_ETH_TYPE, { 0x0806 } },
    { CVSW_ARP_SPA, CVSW_ETH_TYPE, { 0x0806 } },
    { CVSW_ARP_TPA, CVSW_ETH_TYPE, { 0x0806 } },
    { CVSW_ARP_SHA, CVSW_ETH_TYPE, { 0x0806 } },
    { CVSW_ARP_THA, CVSW_ETH_TYPE, { 0x0806 } },
    { CVSW_IPV6_SRC, CVSW_ETH_TYPE, { 0x86dd } },
    { CVSW_IPV6_DST, CVSW_ETH_TYPE, { 0x86dd } },
    { CVSW_IPV6_FLABEL, CVSW_ETH_TYPE, { 0x86dd } },
    { CVSW_IPV6_EXTHDR, CVSW_ETH_TYPE, { 0x86dd } },
    { CVSW_ICMPV6_TYPE, CVSW_IP_PROTO, { 58 } },
    { CVSW_ICMPV6_CODE, CVSW_IP_PROTO, { 58 } },
    { CVSW_IPV6_ND_TARGET, CVSW_ICMPV6_TYPE, { 135, 136 } },
    { CVSW_IPV6_ND_SLL, CVSW_ICMPV6_TYPE, { 135 } },
    { CVSW_IPV6_ND_TLL, CVSW_ICMPV6_TYPE, { 136 } },
};

static CvswMatchFault add(CvswMatch *match, CvswField field, uint64_t number)
{
    CvswValue value = naive_value(field, number);

    return cvsw_match_add(match, field, &value, NULL);
}

static CvswMatchFault add_masked(CvswMatch *match, CvswField field,
                                 uint64_t number, uint64_t bits)
{
    CvswValue value = naive_value(field, number);
    CvswValue mask = naive_value(field, bits);

    return cvsw_match_add(match, field, &value, &mask);
}

static void test_fields(void)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        g_assert_cmpstr(cvsw_field_name(field), ==, fields[field].name);
        g_assert_cmpuint(cvsw_field_bits(field), ==, fields[field].bits);
        g_assert_cmpuint(cvsw_field_octets(field), ==, fields[field].octets);
        g_assert_true(cvsw_field_maskable(field) == fields[field].masks);
        g_assert_true(cvsw_field_settable(field) == fields[field].sets);
    }
}

/* Add a field, and all its prerequisites. */
static void add_bases(CvswMatch *match, CvswField field, uint64_t number)
{
    g_assert_cmpint(add(match, field, number), ==, CVSW_MATCH_OK);
    for (unsigned i = 0; i < G_N_ELEMENTS(needs); i++) {
        if (needs[i].field == field) {
            add_bases(match, needs[i].on, needs[i].values[0]);
        }
    }
}

static CvswMatchFault check_on(CvswField field, CvswField on, uint64_t value)
{
    CvswMatch match = { .fields = 0 };

    /* In an order that differs from the specification's. */
    g_assert_cmpint(add(&match, field, 0), ==, CVSW_MATCH_OK);
    add_bases(&match, on, value);
    return cvsw_match_check(&match);
}

static void test_prerequisites(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(needs); i++) {
        CvswField field = needs[i].field, on = needs[i].on;
        unsigned all = on == CVSW_IP_PROTO || on == CVSW_ICMPV6_TYPE ? 0x100 :
                       on == CVSW_VLAN_VID ? 1 : 0x10000;
        CvswMatch alone = { .fields = 0 };

        g_test_message("%s", cvsw_field_name(field));
        g_assert_cmpint(add(&alone, field, 1), ==, CVSW_MATCH_OK);
        g_assert_cmpint(cvsw_match_check(&alone), ==, CVSW_MATCH_BAD_PREREQ);
        g_assert_cmpint(check_on(field, on, needs[i].values[0]), ==,
                        CVSW_MATCH_OK);
        for (unsigned value = 0; value < all; value++) {
            bool right = value == needs[i].values[0] ||
                         (needs[i].values[1] && value == needs[i].values[1]);

            g_assert_cmpint(check_on(field, on, value), ==,
                            right ? CVSW_MATCH_OK : CVSW_MATCH_BAD_PREREQ);
        }
    }
}

/* A frame never has two fields that share bits of the key. */
static void test_both(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(needs); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(needs); j++) {
            CvswMatch match = { .fields = 0 };

            if (needs[i].on != needs[j].on || needs[i].values[1] ||
                needs[j].values[1] ||
                needs[i].values[0] == needs[j].values[0]) {
                continue;
            }
            add_bases(&match, needs[i].field, 1);
            g_assert_cmpint(cvsw_match_check(&match), ==, CVSW_MATCH_OK);
            g_assert_cmpint(add(&match, needs[j].field, 2), ==, CVSW_MATCH_OK);
            g_assert_cmpint(cvsw_match_check(&match), ==,
                            CVSW_MATCH_BAD_PREREQ);
        }
    }
}

static void test_values(void)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        unsigned bits = fields[field].bits, octets = fields[field].octets;
        CvswMatch match = { .fields = 0 }, none = { .fields = 0 };
        CvswValue value, mask;

        memset(&value, 0, sizeof(value));
        memset(value.octets, 0xff, octets);
        if (bits < 8 * octets) {
            g_assert_cmpint(cvsw_match_add(&match, field, &value, NULL), ==,
                            CVSW_MATCH_BAD_VALUE);
            g_assert_cmpmem(&match, sizeof(match), &none, sizeof(none));
            value = naive_value(field, (UINT64_C(1) << bits) - 1);
        }
        g_assert_cmpint(cvsw_match_add(&match, field, &value, NULL), ==,
                        CVSW_MATCH_OK);
        g_assert_cmpuint(match.fields, ==, UINT64_C(1) << field);
        g_assert_true(cvsw_match_get(&match, field, &value, &mask));
        g_assert_cmpmem(&value, sizeof(value), &mask, sizeof(mask));
        for (unsigned bit = 0; bit < 8 * CVSW_VALUE_MAX; bit++) {
            bool set = value.octets[bit / 8] >> (7 - bit % 8) & 1;

            g_assert_true(set == (bit >= 8 * octets - bits &&
                                  bit < 8 * octets));
        }
        /* A second value for the same field is ignored. */
        none = match;
        g_assert_cmpint(add(&match, field, 1), ==,
                        field == CVSW_VLAN_VID ? CVSW_MATCH_BAD_VALUE
                                               : CVSW_MATCH_DUPLICATE);
        g_assert_cmpmem(&match, sizeof(match), &none, sizeof(none));
    }
}

static void test_masks(void)
{
    for (CvswField field = 0; field < CVSW_FIELDS; field++) {
        CvswMatchFault part = fields[field].masks ? CVSW_MATCH_OK
                                                  : CVSW_MATCH_BAD_MASK;
        CvswMatch match = { .fields = 0 }, exact = { .fields = 0 };
        CvswValue value, ones, mask;

        /* A mask of zeros: as without the field. */
        g_assert_cmpint(add_masked(&match, field, 0, 0), ==, CVSW_MATCH_OK);
        g_assert_cmpuint(match.fields, ==, 0);
        g_assert_cmpint(add_masked(&match, field, 1, 0), ==,
                        CVSW_MATCH_BAD_WILDCARDS);
        /* A mask of some bits. */
        g_assert_cmpint(add_masked(&match, field, 0, 1), ==, part);
        if (part == CVSW_MATCH_OK) {
            g_assert_true(cvsw_match_get(&match, field, &value, &mask));
            ones = naive_value(field, 1);
            g_assert_cmpmem(&mask, sizeof(mask), &ones, sizeof(ones));
            memset(&match, 0, sizeof(match));
            g_assert_cmpint(add_masked(&match, field, 2, 1), ==,
                            CVSW_MATCH_BAD_WILDCARDS);
        }
        /* A mask of ones, also in padding bits: as without a mask. */
        memset(&ones, 0xff, sizeof(ones));
        value = naive_value(field, field == CVSW_VLAN_VID ? 0x1001 : 1);
        g_assert_cmpint(cvsw_match_add(&match, field, &value, &ones), ==,
                        CVSW_MATCH_OK);
        g_assert_cmpint(cvsw_match_add(&exact, field, &value, NULL), ==,
                        CVSW_MATCH_OK);
        g_assert_true(cvsw_match_equal(&match, &exact));
    }
}

static bool meets_tag(const CvswMatch *match, unsigned tags, uint16_t tci)
{
    PacketFlow flow = { .eth = { .tags = tags, .tci = { tci, 0x3fff } } };
    CvswKey key;

    cvsw_key_of(&key, &flow, 1, 0);
    return cvsw_match_meets(match, &key);
}

static void test_vlan(void)
{
    CvswMatch untagged = { .fields = 0 }, any = { .fields = 0 };
    CvswMatch five = { .fields = 0 }, odd = { .fields = 0 };

    g_assert_cmpint(add(&untagged, CVSW_VLAN_VID, 0), ==, CVSW_MATCH_OK);
    g_assert_true(meets_tag(&untagged, 0, 0));
    g_assert_false(meets_tag(&untagged, 1, 0));

    g_assert_cmpint(add_masked(&any, CVSW_VLAN_VID, 0x1000, 0x1000), ==,
                    CVSW_MATCH_OK);
    g_assert_false(meets_tag(&any, 0, 0));
    g_assert_true(meets_tag(&any, 1, 0));
    g_assert_true(meets_tag(&any, 2, 0xffff));

    g_assert_cmpint(add(&five, CVSW_VLAN_VID, 0x1005), ==, CVSW_MATCH_OK);
    g_assert_true(meets_tag(&five, 1, 5));
    g_assert_true(meets_tag(&five, 2, 0xf005));
    g_assert_false(meets_tag(&five, 1, 6));
    g_assert_false(meets_tag(&five, 0, 5));
    /* The priority of that tag. */
    g_assert_cmpint(add(&five, CVSW_VLAN_PCP, 3), ==, CVSW_MATCH_OK);
    g_assert_cmpint(cvsw_match_check(&five), ==, CVSW_MATCH_OK);
    g_assert_true(meets_tag(&five, 1, 0x6005));
    g_assert_false(meets_tag(&five, 1, 0x2005));

    /* A VID needs the bit for a tag; without the bit, tags do not matter. */
    g_assert_cmpint(add(&odd, CVSW_VLAN_VID, 5), ==, CVSW_MATCH_BAD_VALUE);
    g_assert_cmpint(add_masked(&odd, CVSW_VLAN_VID, 0, 0x1000), ==,
                    CVSW_MATCH_OK);
    g_assert_true(meets_tag(&odd, 0, 0));
    g_assert_false(meets_tag(&odd, 1, 0));
    g_assert_cmpint(add(&odd, CVSW_VLAN_PCP, 0), ==, CVSW_MATCH_OK);
    g_assert_cmpint(cvsw_match_check(&odd), ==, CVSW_MATCH_BAD_PREREQ);
}

/* TCP from port 0 of 10.0.0.1, truncated or a later fragment. */
static CvswKey key_of_ip4(uint16_t offset, size_t have)
{
    static const uint8_t mac[6] = { 2 };
    PacketIp4 ip = {
        .src.s_addr = htonl(0x0a000001), .protocol = IPPROTO_TCP, .ttl = 9,
        .fragment_offset = offset, .total = 80,
    };
    uint8_t frame[94] = { 0 };
    PacketFlow flow;
    CvswKey key;

    packet_eth_build(frame, mac, mac, PACKET_ETH_IP4);
    packet_ip4_build(frame + 14, &ip);
    frame[14 + 20 + 12] = 0x50;
    packet_flow_parse(&flow, frame, have, have);
    cvsw_key_of(&key, &flow, 1, 0);
    return key;
}

/*
 * Sections 5.3.2 of OpenFlow 1.0.1, 7.3.2.1 of 1.3.5: a field that is not
 * there has no value, not even 0.
 */
static void test_missing(void)
{
    CvswKey whole = key_of_ip4(0, 94), later = key_of_ip4(80, 94);
    CvswKey no_tcp = key_of_ip4(0, 40), no_ip = key_of_ip4(0, 20);
    CvswMatch type = { .fields = 0 }, proto, source, ip;

    add(&type, CVSW_ETH_TYPE, 0x0800);
    ip = type;
    g_assert_cmpint(add_masked(&ip, CVSW_IPV4_SRC, 0, 0xff000000), ==,
                    CVSW_MATCH_OK);
    proto = type;
    g_assert_cmpint(add(&proto, CVSW_IP_PROTO, 6), ==, CVSW_MATCH_OK);
    source = proto;
    g_assert_cmpint(add(&source, CVSW_TCP_SRC, 0), ==, CVSW_MATCH_OK);
    g_assert_cmpint(cvsw_match_check(&source), ==, CVSW_MATCH_OK);

    g_assert_true(cvsw_match_meets(&source, &whole));
    g_assert_false(cvsw_match_meets(&source, &later));
    g_assert_false(cvsw_match_meets(&source, &no_tcp));
    g_assert_true(cvsw_match_meets(&proto, &later));
    g_assert_true(cvsw_match_meets(&proto, &no_tcp));
    g_assert_false(cvsw_match_meets(&proto, &no_ip));
    g_assert_false(cvsw_match_meets(&ip, &no_ip));
    g_assert_true(cvsw_match_meets(&type, &no_ip));
}

/* The usual five fields, and the port, cost three words; MAC addresses two. */
static void test_words(void)
{
    static const CvswField connection[] = {
        CVSW_IN_PORT, CVSW_IPV4_SRC, CVSW_IPV4_DST, CVSW_TCP_SRC, CVSW_TCP_DST,
    };
    static const CvswField station[] = { CVSW_ETH_DST, CVSW_ETH_SRC };
    CvswMatch match = { .fields = 0 }, macs = { .fields = 0 };
    unsigned words = 0, mac_words = 0;

    add_bases(&match, CVSW_IP_PROTO, 6);
    for (unsigned i = 0; i < G_N_ELEMENTS(connection); i++) {
        add(&match, connection[i], 1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(station); i++) {
        add(&macs, station[i], 1);
    }
    for (unsigned i = 0; i < CVSW_KEY_WORDS; i++) {
        words += match.mask.word[i] != 0;
        mac_words += macs.mask.word[i] != 0;
    }
    g_assert_cmpuint(words, ==, 3);
    g_assert_cmpuint(mac_words, ==, 2);
}

/* Random matches and frames, compared field by field, octet by octet. */
static void test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(29);
    PlaySource source = { .rand = rand };
    unsigned met = 0, within = 0, overlaps = 0, equal = 0;

    for (unsigned i = 0; i < 100000; i++) {
        uint32_t in_port = 1 + play_choose(&source, 2);
        uint64_t tunnel_id = play_choose(&source, 2);
        NaiveFields frame, other, a, b;
        CvswMatch x, y;
        PacketFlow flow;
        CvswKey key;

        play_flow(&source, &flow);
        naive_frame(&other, &flow, 1, 1);
        play_match(&source, &b, &other);
        play_flow(&source, &flow);
        naive_frame(&frame, &flow, in_port, tunnel_id);
        play_match(&source, &a, &frame);
        cvsw_key_of(&key, &flow, in_port, tunnel_id);
        x = naive_match(&a);
        y = naive_match(&b);
        g_assert_true(cvsw_match_meets(&x, &key));
        g_assert_true(cvsw_match_meets(&y, &key) == naive_meets(&b, &frame));
        g_assert_true(cvsw_match_within(&x, &y) == naive_within(&a, &b));
        g_assert_true(cvsw_match_overlaps(&x, &y) == naive_overlaps(&a, &b));
        g_assert_true(cvsw_match_equal(&x, &y) == naive_equal(&a, &b));
        met += naive_meets(&b, &frame);
        within += naive_within(&a, &b);
        overlaps += naive_overlaps(&a, &b);
        equal += naive_equal(&a, &b);
    }
    /* The random choice had matches and mismatches. */
    g_assert_cmpuint(MIN(met, within), >, 1000);
    g_assert_cmpuint(MIN(overlaps, equal), >, 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/match/fields", test_fields);
    g_test_add_func("/cvsw/match/prerequisites", test_prerequisites);
    g_test_add_func("/cvsw/match/both", test_both);
    g_test_add_func("/cvsw/match/values", test_values);
    g_test_add_func("/cvsw/match/masks", test_masks);
    g_test_add_func("/cvsw/match/vlan", test_vlan);
    g_test_add_func("/cvsw/match/missing", test_missing);
    g_test_add_func("/cvsw/match/words", test_words);
    g_test_add_func("/cvsw/match/random", test_random);
    return g_test_run();
}
