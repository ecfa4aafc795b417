/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev hostvlan: which frames pass */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>

#include "hostvlan-bed.h"
#include "standard-headers/linux/virtio_net.h"

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
        /* Without addresses in the table, any is the guest's. */
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
    /* Longer than what is looked at. */
    frame_make(frame, 1900, GUEST, PEER, 0x0800);
    frame[14] = 0x45;
    stl_be_p(frame + 26, 0xc0000201);
    frame_sent(&bed, NULL, frame, 1900, "passed");
    stl_be_p(frame + 26, 0xc0000202);
    frame_sent(&bed, NULL, frame, 1900, "forged-address");
    bed_converse(&bed);
    bed_end(&bed);
}

/* Without the option, nobody looks. */
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

/*
 * The host writes the checksum that the guest asks for where the guest says:
 * not over the source address.
 */
static void test_checksum(void)
{
    struct virtio_net_hdr vnet = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM };
    uint8_t header[NIC_VNET_MAX] = { }, frame[FRAME_MAX], got[FRAME_MAX];
    static const struct {
        unsigned start, offset;
        const char *reason;
    } cases[] = {
        { 0, 6, "malformed" }, { 6, 0, "malformed" }, { 0, 10, "malformed" },
        { 13, 0, "malformed" }, { 34, 6, "passed" },
    };
    Bed bed = { .kind = &nic_virtio12, .tap = true };

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = bed_make_table(bed.path);
    bed_start(&bed, bed.kind->driver, "");
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t before = bed_counter(&bed, "send", cases[i].reason);

        vnet.csum_start = cpu_to_le16(cases[i].start);
        vnet.csum_offset = cpu_to_le16(cases[i].offset);
        memcpy(header, &vnet, sizeof(vnet));
        frame_make(frame, 600, GUEST, PEER, ETHERTYPE);
        nic_send(bed.nic, 0, header, frame, 600);
        bed_wait_counter(&bed, "send", cases[i].reason, before + 1);
        if (strcmp(cases[i].reason, "passed") == 0) {
            g_assert_cmpuint(peer_wait(&bed, got, sizeof(got)), ==, 600);
            g_assert_cmpmem(got, 34, frame, 34);
        }
        peer_has_nothing(&bed);
    }
    bed_converse(&bed);
    bed_end(&bed);
}

static void add_tests(void)
{
    qtest_add_func("/hostvlan/verdicts/virtio", test_verdicts_virtio);
    qtest_add_func("/hostvlan/verdicts/e1000", test_verdicts_e1000);
    qtest_add_func("/hostvlan/senders", test_senders);
    qtest_add_func("/hostvlan/senders-off", test_senders_off);
    qtest_add_func("/hostvlan/checksum", test_checksum);
}

int main(int argc, char **argv)
{
    return hostvlan_test_main(argc, argv, add_tests);
}
