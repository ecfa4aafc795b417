/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev hostvlan: which frames pass */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>

#include "hostvlan-bed.h"
#include "standard-headers/linux/virtio_net.h"
#include "tests/fixtures/hostvlan-frames.h"

/* --- verdicts ------------------------------------------------------------- */

static void check_verdicts(const NicKind *kind)
{
    Bed bed;

    bed_begin(&bed, kind, "");
    bed_converse(&bed);
    received_from(&bed, ROUTER, "passed");
    received_from(&bed, OTHER, "other-tenant");
    received_from(&bed, STRANGER, "unknown-source");
    received_from(&bed, BROADCAST, "unknown-source");
    received_from(&bed, 0, "unknown-source");
    sent_as(&bed, PEER, "spoofed");
    sent_as(&bed, GUEST ^ 1, "spoofed");
    sent_as(&bed, BROADCAST, "spoofed");
    bed_converse(&bed);
    bed_end(&bed);
}

static void test_verdicts_virtio(void)
{
    check_verdicts(&nic_virtio12);
}

static void test_verdicts_e1000(void)
{
    check_verdicts(&nic_e1000);
}

/* --- senders -------------------------------------------------------------- */

/* An ARP reply by the guest, that @ip4 is at @sha; behind @tags VLAN tags. */
static size_t make_arp(uint8_t *frame, uint64_t sha, uint32_t ip4,
                       unsigned tags)
{
    static const uint8_t head[] = { 0, 1, 8, 0, 6, 4, 0, 2 };
    uint8_t *p = frame + 12;

    frame_make(frame, 100, GUEST, BROADCAST, 0);
    for (unsigned i = 0; i < tags; i++, p += 4) {
        stl_be_p(p, 0x81000000 | (i + 1));
    }
    stw_be_p(p, 0x0806);
    memcpy(p + 2, head, sizeof(head));
    frame_put_mac(p + 10, sha);
    stl_be_p(p + 16, ip4);
    return 100;
}

static void test_senders(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 }, .num_ip4 = 1, .ip4 = { 0xc0000201 },
    };
    uint8_t frame[FRAME_MAX];
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",check-sender=on");
    for (unsigned tags = 0; tags <= 2; tags++) {
        make_arp(frame, OTHER, 0xc0000201, tags);
        frame_sent(&bed, NULL, frame, 100, "forged-address");
        /* Without addresses in the table, the guest may use any. */
        make_arp(frame, GUEST, 0xc0000202, tags);
        frame_sent(&bed, NULL, frame, 100, "passed");
    }
    g_assert_true(hv_set(bed.table, GUEST, &e));
    for (unsigned tags = 0; tags <= 2; tags++) {
        make_arp(frame, GUEST, 0xc0000201, tags);
        frame_sent(&bed, NULL, frame, 100, "passed");
        make_arp(frame, GUEST, 0xc0000202, tags);
        frame_sent(&bed, NULL, frame, 100, "forged-address");
    }
    make_arp(frame, GUEST, 0xc0000201, 3);
    frame_sent(&bed, NULL, frame, 100, "malformed");
    /* Longer than the checked part. */
    frame_make(frame, 1900, GUEST, PEER, 0x0800);
    frame[14] = 0x45;
    stl_be_p(frame + 26, 0xc0000201);
    frame_sent(&bed, NULL, frame, 1900, "passed");
    stl_be_p(frame + 26, 0xc0000202);
    frame_sent(&bed, NULL, frame, 1900, "forged-address");
    bed_converse(&bed);
    bed_end(&bed);
}

/* A router's: every address of a prefix is its own. */
static void test_prefixes(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 }, .num_ip4 = 2, .num_ip6 = 1,
        .ip4 = { 0xc0000201, 0x0a080000 }, .host_bits4 = { 0, 8 },
        .ip6 = { { 0x20010db8, 1 } }, .host_bits6 = { 64 },
    };
    uint8_t frame[FRAME_MAX];
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",check-sender=on");
    g_assert_true(hv_set(bed.table, GUEST, &e));
    make_arp(frame, GUEST, 0x0a080000, 0);
    frame_sent(&bed, NULL, frame, 100, "passed");
    make_arp(frame, GUEST, 0x0a0800ff, 1);
    frame_sent(&bed, NULL, frame, 100, "passed");
    make_arp(frame, GUEST, 0x0a080100, 0);
    frame_sent(&bed, NULL, frame, 100, "forged-address");
    make_arp(frame, GUEST, 0xc0000202, 0);
    frame_sent(&bed, NULL, frame, 100, "forged-address");
    /* IPv6 without a payload, from 2001:db8:0:1:c0de:: and :2:c0de:: */
    frame_make(frame, 100, GUEST, PEER, 0x86dd);
    memset(frame + 14, 0, 86);
    stl_be_p(frame + 14, 0x60000000);
    frame[20] = 59;
    stl_be_p(frame + 22, 0x20010db8);
    stl_be_p(frame + 26, 1);
    stl_be_p(frame + 30, 0xc0de0000);
    frame_sent(&bed, NULL, frame, 100, "passed");
    stl_be_p(frame + 26, 2);
    frame_sent(&bed, NULL, frame, 100, "forged-address");
    bed_converse(&bed);
    bed_end(&bed);
}

/* Without the option there is no check. */
static void test_senders_off(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 }, .num_ip4 = 1, .ip4 = { 0xc0000201 },
    };
    uint8_t frame[FRAME_MAX];
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    g_assert_true(hv_set(bed.table, GUEST, &e));
    make_arp(frame, OTHER, 0xc0000202, 0);
    frame_sent(&bed, NULL, frame, 100, "passed");
    bed_end(&bed);
}

/* --- switches ------------------------------------------------------------- */

/* STP, LLDP, MVRP, CDP and PVST+, with tags and without. */
static void control_sent(Bed *bed, const char *reason)
{
    static const uint64_t to[] = {
        0x0180c2000000ull, 0x0180c200000eull, 0x0180c2000021ull,
        0x01000cccccccull, 0x01000ccccccdull,
    };
    uint8_t frame[FRAME_MAX];

    for (unsigned i = 0; i < ARRAY_SIZE(to); i++) {
        frame_make(frame, 64, GUEST, to[i], ETHERTYPE);
        frame_sent(bed, NULL, frame, 64, reason);
        stl_be_p(frame + 12, 0x81000001);
        frame_sent(bed, NULL, frame, 64, reason);
    }
}

static void test_l2_control(void)
{
    uint8_t frame[FRAME_MAX];
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",check-sender=on");
    control_sent(&bed, "l2-control");
    /* Routers' protocols do not count as control frames. */
    frame_make(frame, 64, GUEST, 0x0180c2000014ull, ETHERTYPE);
    frame_sent(&bed, NULL, frame, 64, "passed");
    /* Those of a switch are checked by their sender. */
    frame_make(frame, 64, STRANGER, 0x0180c200000eull, ETHERTYPE);
    frame_received(&bed, frame, 64, "unknown-source");
    bed_converse(&bed);
    bed_end(&bed);
    bed_begin(&bed, &nic_e1000, ",l2-control=on");
    control_sent(&bed, "passed");
    bed_end(&bed);
}

static unsigned all_queries(uint8_t frames[][FRAME_MAX], size_t *lengths,
                            uint64_t source)
{
    unsigned num = 0;

    for (unsigned tags = 0; tags <= 2; tags++) {
        for (unsigned version = 1; version <= 3; version++, num++) {
            lengths[num] = hv_igmp_query(frames[num], source, tags, version, 0,
                                         0);
            /* With the length after a NIC's padding. */
            while (lengths[num] < 60) {
                frames[num][lengths[num]++] = 0;
            }
        }
        for (unsigned version = 1; version <= 2; version++, num++) {
            lengths[num] = hv_mld_query(frames[num], source, tags, version,
                                        0xff123456, 0);
        }
    }
    return num;
}

static void check_queries(const NicKind *kind, const char *options)
{
    uint8_t frames[15][FRAME_MAX];
    size_t lengths[ARRAY_SIZE(frames)];
    unsigned num;
    Bed bed;

    bed_begin(&bed, kind, options);
    num = all_queries(frames, lengths, GUEST);
    g_assert_cmpuint(num, ==, ARRAY_SIZE(frames));
    for (unsigned i = 0; i < num; i++) {
        frame_sent(&bed, NULL, frames[i], lengths[i], "multicast-query");
    }
    hv_set_lnids(bed.table, GUEST, 1, HOSTVLAN_LNID_GLOBAL);
    for (unsigned i = 0; i < num; i++) {
        frame_sent(&bed, NULL, frames[i], lengths[i], "passed");
    }
    hv_set_lnids(bed.table, GUEST, 1, 1);
    all_queries(frames, lengths, STRANGER);
    for (unsigned i = 0; i < num; i++) {
        frame_received(&bed, frames[i], lengths[i], "passed");
        /* A frame that only resembles a query counts as a stranger's. */
        frames[i][lengths[i] - 1] = 1;
        frame_received(&bed, frames[i], lengths[i] + 70, "unknown-source");
    }
    all_queries(frames, lengths, OTHER);
    frame_received(&bed, frames[0], lengths[0], "other-tenant");
    /* A report is no query. */
    hv_igmp_query(frames[0], GUEST, 0, 2, 0xe1020304, 0);
    frames[0][14 + 24] = 0x16;
    frame_sent(&bed, NULL, frames[0], lengths[0], "passed");
    bed_converse(&bed);
    bed_end(&bed);
}

static void test_queries(void)
{
    check_queries(&nic_virtio12, "");
    check_queries(&nic_e1000, ",check-sender=on");
}

/* --- offers, other MAC addresses ------------------------------------------ */

static const uint32_t local[4] = { 0xfe800000u, 0, 0, 1 };

/* ICMPv6 of a type by the guest, behind destination options. */
static size_t make_icmp6(uint8_t *frame, uint8_t type)
{
    frame_make(frame, 100, GUEST, BROADCAST, 0x86dd);
    hv_ip6(frame, 14, 60, 46, local, local);
    hv_put(frame, 54, 58 << 8, 2);
    hv_put(frame, 62, type, 1);
    return 100;
}

/* UDP by the guest to a port, over IPv4. */
static size_t make_udp(uint8_t *frame, uint16_t port)
{
    frame_make(frame, 100, GUEST, PEER, 0x0800);
    memset(frame + 14, 0, 28);
    hv_put(frame, 14, 0x45000056, 4);
    hv_put(frame, 23, 17, 1);
    hv_put(frame, 36, port, 2);
    return 100;
}

static void offers_sent(Bed *bed, uint32_t offers, const char *ra,
                        const char *dhcp)
{
    HvEntry e = { .num_lnids = 1, .lnid = { 1 }, .offers = offers };
    uint8_t frame[FRAME_MAX];

    g_assert_true(hv_set(bed->table, GUEST, &e));
    frame_sent(bed, NULL, frame, make_icmp6(frame, 134), ra);
    frame_sent(bed, NULL, frame, make_udp(frame, 68), dhcp);
    frame_sent(bed, NULL, frame, make_icmp6(frame, 136), "passed");
    frame_sent(bed, NULL, frame, make_udp(frame, 67), "passed");
}

static void test_offers(void)
{
    QDict *info;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    offers_sent(&bed, 0, "passed", "passed");
    bed_end(&bed);
    bed_begin(&bed, &nic_virtio12, ",ra-guard=on,dhcp-guard=on");
    info = bed_query(&bed);
    g_assert_true(qdict_get_bool(info, "ra-guard"));
    g_assert_true(qdict_get_bool(info, "dhcp-guard"));
    qobject_unref(info);
    offers_sent(&bed, 0, "ra-guard", "dhcp-guard");
    offers_sent(&bed, HOSTVLAN_OFFER_ROUTER, "passed", "dhcp-guard");
    offers_sent(&bed, HOSTVLAN_OFFER_DHCP, "ra-guard", "passed");
    offers_sent(&bed, HOSTVLAN_OFFER_ROUTER | HOSTVLAN_OFFER_DHCP, "passed",
                "passed");
    bed_converse(&bed);
    bed_end(&bed);
    bed_begin(&bed, &nic_e1000, ",ra-guard=on");
    offers_sent(&bed, 0, "ra-guard", "passed");
    bed_end(&bed);
}

/* With another MAC address that the table permits, and its own addresses. */
static void test_also(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 }, .num_also = 2,
        .also = { OTHER, STRANGER },
    };
    HvEntry other = {
        .num_lnids = 1, .lnid = { 2 }, .num_ip4 = 1, .ip4 = { 0xc0000201u },
    };
    uint8_t frame[FRAME_MAX];
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",check-sender=on");
    sent_as(&bed, OTHER, "spoofed");
    g_assert_true(hv_set(bed.table, GUEST, &e));
    g_assert_true(hv_set(bed.table, OTHER, &other));
    sent_as(&bed, OTHER, "passed");
    sent_as(&bed, STRANGER, "passed");
    sent_as(&bed, PEER, "spoofed");
    make_arp(frame, OTHER, 0xc0000201u, 0);
    frame_put_mac(frame + 6, OTHER);
    frame_sent(&bed, NULL, frame, 100, "passed");
    make_arp(frame, OTHER, 0xc0000202u, 0);
    frame_put_mac(frame + 6, OTHER);
    frame_sent(&bed, NULL, frame, 100, "forged-address");
    make_arp(frame, GUEST, 0xc0000201u, 0);
    frame_put_mac(frame + 6, OTHER);
    frame_sent(&bed, NULL, frame, 100, "forged-address");
    hv_set_lnids(bed.table, GUEST, 1, 1);
    sent_as(&bed, OTHER, "spoofed");
    bed_converse(&bed);
    bed_end(&bed);
}

/*
 * The host writes the requested checksum at the guest's offset: not over the
 * source address, nor over octets that make a frame no query.
 */
static void checksum_sent(Bed *bed, const uint8_t *frame, size_t len,
                          unsigned start, unsigned offset, const char *reason)
{
    struct virtio_net_hdr vnet = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = cpu_to_le16(start), .csum_offset = cpu_to_le16(offset),
    };
    uint8_t header[NIC_VNET_MAX] = { }, got[FRAME_MAX];
    uint64_t before = bed_counter(bed, "send", reason);

    memcpy(header, &vnet, sizeof(vnet));
    nic_send(bed->nic, 0, header, frame, len);
    bed_wait_counter(bed, "send", reason, before + 1);
    if (strcmp(reason, "passed") == 0) {
        g_assert_cmpuint(peer_wait(bed, got, sizeof(got)), ==, len);
        g_assert_cmpmem(got, start, frame, start);
    }
    peer_has_nothing(bed);
}

static void test_checksum(void)
{
    static const struct {
        unsigned start, offset;
        const char *reason;
    } cases[] = {
        { 0, 6, "malformed" }, { 6, 0, "malformed" }, { 0, 10, "malformed" },
        { 13, 0, "malformed" }, { 34, 6, "passed" },
    };
    Bed bed = { .kind = &nic_virtio12, .tap = true };
    uint8_t frame[FRAME_MAX];
    QDict *info;

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = bed_make_table(bed.path);
    bed_start(&bed, bed.kind->driver, "");
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        frame_make(frame, 600, GUEST, PEER, ETHERTYPE);
        checksum_sent(&bed, frame, 600, cases[i].start, cases[i].offset,
                      cases[i].reason);
    }
    /* An IGMP report whose type the checksum would overwrite. */
    hv_igmp_query(frame, GUEST, 0, 2, 0xe1020304, 0);
    memset(frame + 46, 0, 100);
    frame[38] = 0x16;
    checksum_sent(&bed, frame, 100, 38, 0, "malformed");
    checksum_sent(&bed, frame, 100, 23, 0, "malformed");
    checksum_sent(&bed, frame, 100, 38, 2, "passed");
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "interface"), ==, "tap0");
    qobject_unref(info);
    bed_converse(&bed);
    bed_end(&bed);
}

#define DHCP_LEN        283

/* A discovery of DHCPv4 for @chaddr, through the relay agent @giaddr. */
static void make_dhcp(uint8_t *frame, uint64_t chaddr, uint32_t giaddr)
{
    frame_make(frame, DHCP_LEN, GUEST, PEER, 0x0800);
    memset(frame + 14, 0, DHCP_LEN - 14);
    frame[14] = 0x45;
    stw_be_p(frame + 16, DHCP_LEN - 14);
    frame[23] = 17;
    stl_be_p(frame + 34, 68 << 16 | 67);
    stw_be_p(frame + 38, DHCP_LEN - 34);
    stl_be_p(frame + 42, 0x01010600);
    stl_be_p(frame + 66, giaddr);
    frame_put_mac(frame + 70, chaddr);
    stl_be_p(frame + 278, 0x63825363);
    frame[282] = 0xff;
}

/* A client names only itself to servers; relay agents name others. */
static void test_dhcp(void)
{
    HvEntry relay = {
        .num_lnids = 1, .lnid = { 1 }, .offers = HOSTVLAN_OFFER_DHCP,
    };
    Bed bed = { .kind = &nic_virtio12, .tap = true };
    uint8_t frame[FRAME_MAX];

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = bed_make_table(bed.path);
    bed_start(&bed, bed.kind->driver, ",check-sender=on");
    make_dhcp(frame, GUEST, 0);
    frame_sent(&bed, NULL, frame, DHCP_LEN, "passed");
    /* By offload UDP's checksum may be written, but not chaddr. */
    checksum_sent(&bed, frame, DHCP_LEN, 34, 6, "passed");
    checksum_sent(&bed, frame, DHCP_LEN, 34, 36, "malformed");
    make_dhcp(frame, OTHER, 0);
    frame_sent(&bed, NULL, frame, DHCP_LEN, "forged-address");
    make_dhcp(frame, GUEST, 0xc0000201);
    frame_sent(&bed, NULL, frame, DHCP_LEN, "forged-address");
    g_assert_true(hv_set(bed.table, GUEST, &relay));
    frame_sent(&bed, NULL, frame, DHCP_LEN, "passed");
    make_dhcp(frame, OTHER, 0xc0000201);
    frame_sent(&bed, NULL, frame, DHCP_LEN, "passed");
    bed_converse(&bed);
    bed_end(&bed);
}

static void add_tests(void)
{
    qtest_add_func("/hostvlan/verdicts/virtio", test_verdicts_virtio);
    qtest_add_func("/hostvlan/verdicts/e1000", test_verdicts_e1000);
    qtest_add_func("/hostvlan/senders", test_senders);
    qtest_add_func("/hostvlan/prefixes", test_prefixes);
    qtest_add_func("/hostvlan/senders-off", test_senders_off);
    qtest_add_func("/hostvlan/l2-control", test_l2_control);
    qtest_add_func("/hostvlan/queries", test_queries);
    qtest_add_func("/hostvlan/checksum", test_checksum);
    qtest_add_func("/hostvlan/offers", test_offers);
    qtest_add_func("/hostvlan/also", test_also);
    qtest_add_func("/hostvlan/dhcp", test_dhcp);
}

int main(int argc, char **argv)
{
    return hostvlan_test_main(argc, argv, add_tests);
}
