/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's FLOW_MODs: their meaning, and reasons for refusal */
#include <glib.h>
#include <string.h>

#include "tests/fixtures/cvsw-of13-pieces.h"
#include "tests/fixtures/cvsw-openflow-fixture.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

/* --- matches ------------------------------------------------------------- */

static void test_fields(void)
{
    static const struct {
        const char *hex, *want;
    } all[] = {
        { "", "" },
        { "80000004 00000001", "in_port=1" },
        { "80000606 020000000001", "dl_dst=02:00:00:00:00:01" },
        { "8000070c 010000000000 010000000000",
          "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00" },
        { "80000806 020000000001", "dl_src=02:00:00:00:00:01" },
        { "80000a02 88cc", "dl_type=0x88cc" },
        { "80000c02 0000", "vlan_tci=0x0000/0x1fff" },
        { "80000d04 1000 1000", "vlan_tci=0x1000/0x1000" },
        { "80000d04 1001 1001", "vlan_tci=0x1001/0x1001" },
        { TAGGED "80000e01 07", "dl_vlan=100,dl_vlan_pcp=7" },
        { IP4 "80001001 3f" "80001201 03", "ip,nw_tos=252,nw_ecn=3" },
        { IP6 "80001001 01", "ipv6,nw_tos=4" },
        { IP4 PROTO("32"), "ip,nw_proto=50" },
        { IP4 "80001604 0a000001" "80001908 0a000000 ff000000",
          "ip,nw_src=10.0.0.1,nw_dst=10.0.0.0/8" },
        { IP4 "80001708 00000001 000000ff", "ip,nw_src=0.0.0.1/0.0.0.255" },
        { IP4 PROTO("06") "80001a02 0050" "80001c02 ffff",
          "tcp,tp_src=80,tp_dst=65535" },
        { IP6 PROTO("11") "80001e02 0050" "80002002 ffff",
          "udp6,tp_src=80,tp_dst=65535" },
        { IP4 PROTO("84") "80002202 0050" "80002402 ffff",
          "sctp,tp_src=80,tp_dst=65535" },
        { IP4 PROTO("01") "80002601 08" "80002801 00",
          "icmp,icmp_type=8,icmp_code=0" },
        { ARP "80002a02 0001" "80002c04 0a000001" "80002f08 0a000000 ffffff00"
          "80003006 020000000001" "80003206 020000000002",
          "arp,arp_spa=10.0.0.1,arp_tpa=10.0.0.0/24,arp_op=1,"
          "arp_sha=02:00:00:00:00:01,arp_tha=02:00:00:00:00:02" },
        { IP6 "80003410 20010db8000000000000000000000001"
          "80003720 fe800000000000000000000000000000"
          "ffc00000000000000000000000000000" "80003804 000fffff",
          "ipv6,ipv6_src=2001:db8::1,ipv6_dst=fe80::/10,ipv6_label=0xfffff" },
        { IP6 "80003908 00000060 000ffff0", "ipv6,ipv6_label=0x00060/0xffff0" },
        { ND_NS "80003c01 00" "80003e10 fe800000000000000000000000000001"
          "80004006 020000000001",
          "icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1,"
          "nd_sll=02:00:00:00:00:01" },
        { ND_NA "80004206 020000000001",
          "icmp6,icmp_type=136,nd_tll=02:00:00:00:00:01" },
        { "80004c08 0000000000000064", "tun_id=0x64" },
        { "80004d10 0000000000000064 00000000000000ff", "tun_id=0x64/0xff" },
        { IP6 "80004e02 0001", "ipv6,ipv6_exthdr=0x1" },
        { IP6 "80004f04 0010 0010", "ipv6,ipv6_exthdr=0x10/0x10" },
        /*
         * For each field: a mask of ones is as no mask, a mask of zeros as no
         * field.
         */
        { "80000b04 88cc ffff", "dl_type=0x88cc" },
        { "80000b04 0000 0000", "" },
        { "8000070c 020000000001 ffffffffffff", "dl_dst=02:00:00:00:00:01" },
        { "8000070c 000000000000 000000000000", "" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_takes(of13(all[i].hex, ""), all[i].want, "drop");
    }
}

/* A prerequisite may follow its field. */
static void test_order(void)
{
    of_takes(of13("80001a02 0050" PROTO("06") IP4, ""), "tcp,tp_src=80",
             "drop");
}

static void test_bad_match(void)
{
    static const struct {
        const char *hex;
        unsigned code;
        const char *name;
    } all[] = {
        { "800000", 1, "OFPBMC_BAD_LEN" },
        { "80000004 000000", 1, "OFPBMC_BAD_LEN" },
        { "80000003 000001", 1, "OFPBMC_BAD_LEN" },
        { "80000608 0000000000010000", 1, "OFPBMC_BAD_LEN" },
        { "80000706 020000000001", 1, "OFPBMC_BAD_LEN" },
        { "80000c00", 1, "OFPBMC_BAD_LEN" },
        { "80000204 00000001", 6, "OFPBMC_BAD_FIELD" },
        { "80000408 0000000000000001", 6, "OFPBMC_BAD_FIELD" },
        { "80004404 00000001", 6, "OFPBMC_BAD_FIELD" },
        { "80004a03 000001", 6, "OFPBMC_BAD_FIELD" },
        { "80005002 0001", 6, "OFPBMC_BAD_FIELD" },
        { "00010004 00000001", 6, "OFPBMC_BAD_FIELD" },
        { "ffff0008 00002320 00000001", 6, "OFPBMC_BAD_FIELD" },
        { "80000004 00000003", 7, "OFPBMC_BAD_VALUE" },
        { "80000c02 3000", 7, "OFPBMC_BAD_VALUE" },
        { "80000c02 0064", 7, "OFPBMC_BAD_VALUE" },
        { TAGGED "80000e01 08", 7, "OFPBMC_BAD_VALUE" },
        { IP4 "80001001 40", 7, "OFPBMC_BAD_VALUE" },
        { "80000b04 0800 ff00", 8, "OFPBMC_BAD_MASK" },
        { "80000108 00000001 00000001", 8, "OFPBMC_BAD_MASK" },
        { IP4 "80001502 06 06", 8, "OFPBMC_BAD_MASK" },
        { IP4 "80001708 0a000001 ffffff00", 5, "OFPBMC_BAD_WILDCARDS" },
        { "80000004 00000001" "80000004 00000001", 10, "OFPBMC_DUP_FIELD" },
        { "80000004 00000001" "80000004 00000002", 10, "OFPBMC_DUP_FIELD" },
        { "80001604 0a000001", 9, "OFPBMC_BAD_PREREQ" },
        { IP6 "80001604 0a000001", 9, "OFPBMC_BAD_PREREQ" },
        { IP4 "80001a02 0050", 9, "OFPBMC_BAD_PREREQ" },
        { IP4 PROTO("11") "80001a02 0050", 9, "OFPBMC_BAD_PREREQ" },
        { "80000c02 0000" "80000e01 01", 9, "OFPBMC_BAD_PREREQ" },
        { ND_NA "80004006 020000000001", 9, "OFPBMC_BAD_PREREQ" },
    };
    GByteArray *msg = of13("80000004 00000001", "");

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_refuses(of13(all[i].hex, ""), 4, all[i].code, all[i].name);
    }
    of_put(msg, OFM13_MATCH, "0000");
    of_refuses(msg, 4, 0, "OFPBMC_BAD_TYPE");
    for (unsigned size = 0; size < 4; size++) {
        msg = of13("", "");
        put_be16(msg->data + OFM13_MATCH + 2, size);
        of_refuses(msg, 4, 1, "OFPBMC_BAD_LEN");
    }
    msg = of13("", "");
    of_put(msg, OFM13_MATCH + 2, "0009");
    of_refuses(msg, 4, 1, "OFPBMC_BAD_LEN");
}

/* --- the rest of the message --------------------------------------------- */

static GByteArray *with(size_t at, const char *hex)
{
    GByteArray *msg = of13("", "");

    of_put(msg, at, hex);
    return msg;
}

static void test_head(void)
{
    g_autoptr(GByteArray) msg = with(OFM13_COOKIE, "0123456789abcdef"
                                     "ffffffffffffffff 00 00 0005 0007 0009"
                                     "ffffffff 00000001 00000001 001f");
    CvswFlowMod mod = of_parse(msg);

    g_assert_cmpint(mod.command, ==, CVSW_ADD);
    g_assert_cmpuint(mod.cookie, ==, UINT64_C(0x0123456789abcdef));
    g_assert_cmpuint(mod.cookie_mask, ==, 0);
    g_assert_cmpuint(mod.idle_timeout, ==, 5);
    g_assert_cmpuint(mod.hard_timeout, ==, 7);
    g_assert_cmpuint(mod.priority, ==, 9);
    g_assert_cmpuint(mod.out_port, ==, CVSW_ANY_PORT);
    g_assert_cmpuint(mod.flags, ==, CVSW_FLOW_SEND_REMOVED |
                     CVSW_FLOW_CHECK_OVERLAP | CVSW_FLOW_RESET_COUNTS);
    of_takes(g_steal_pointer(&msg), "priority=9", "drop");
}

static void test_commands(void)
{
    static const CvswCommand all[] = {
        CVSW_ADD, CVSW_MODIFY, CVSW_MODIFY_STRICT, CVSW_DELETE,
        CVSW_DELETE_STRICT,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autoptr(GByteArray) msg = with(OFM13_COOKIE_MASK,
                                         "00000000000000ff");
        CvswFlowMod mod;

        msg->data[OFM13_COMMAND] = i;
        mod = of_parse(msg);
        g_assert_cmpint(mod.command, ==, all[i]);
        g_assert_cmpuint(mod.cookie_mask, ==, i ? 255 : 0);
        g_assert_cmpuint(mod.flags, ==, 0);
    }
}

/* For DELETE, port and group are filters. */
static void test_delete(void)
{
    g_autoptr(GByteArray) msg = with(OFM13_TABLE_ID, "ff 03 0001 0001 0001"
                                     "00000001 00000002 ffffffff 0001");
    CvswFlowMod mod = of_parse(msg);

    g_assert_cmpuint(mod.out_port, ==, CVSW_PORT_WIRE);
    g_assert_cmpuint(mod.out_group, ==, CVSW_ANY_GROUP);
    g_assert_cmpuint(mod.idle_timeout + mod.hard_timeout + mod.flags, ==, 0);
    of_put(msg, OFM13_OUT_PORT, "ffffffff");
    mod = of_parse(msg);
    g_assert_cmpuint(mod.out_port, ==, CVSW_ANY_PORT);
    of_put(msg, OFM13_OUT_GROUP, "00000001");
    mod = of_parse(msg);
    g_assert_cmpuint(mod.out_group, ==, 1);
}

static void test_bad_message(void)
{
    of_refuses(with(0, "05"), 1, 0, "OFPBRC_BAD_VERSION");
    of_refuses(with(1, "0f"), 1, 1, "OFPBRC_BAD_TYPE");
    of_refuses(with(2, "0037"), 1, 6, "OFPBRC_BAD_LEN");
    of_refuses(with(2, "0039"), 1, 6, "OFPBRC_BAD_LEN");
    of_refuses(with(OFM13_BUFFER_ID, "00000000"), 1, 8,
               "OFPBRC_BUFFER_UNKNOWN");
    of_refuses(with(OFM13_TABLE_ID, "01"), 5, 2, "OFPFMFC_BAD_TABLE_ID");
    of_refuses(with(OFM13_TABLE_ID, "ff"), 5, 2, "OFPFMFC_BAD_TABLE_ID");
    of_refuses(with(OFM13_TABLE_ID, "ff02"), 5, 2, "OFPFMFC_BAD_TABLE_ID");
    of_refuses(with(OFM13_COMMAND, "05"), 5, 6, "OFPFMFC_BAD_COMMAND");
    of_refuses(with(OFM13_FLAGS, "0020"), 5, 7, "OFPFMFC_BAD_FLAGS");
}

/* --- telling ------------------------------------------------------------- */

/* A flow is written in 1.0 if 1.0 can express all of it, else in 1.3. */
static void test_told(void)
{
    static const struct {
        const char *fields, *actions;
        unsigned version;
    } all[] = {
        { "", OUTPUT_WIRE, 1 },
        { TAGGED, POP_VLAN, 1 },
        { IP4 PROTO("06") "80001a02 0050" "80001708 0a000000 ff000000", "",
          1 },
        { ARP "80002a02 0001", "", 1 },
        { ARP "80002a02 0101", "", 4 },
        { IP4 "80001708 00000001 000000ff", "", 4 },
        { IP4 "80001201 01", "", 4 },
        { "80000d04 1000 1000", "", 4 },
        { "8000070c 010000000000 010000000000", "", 4 },
        { "80004c08 0000000000000064", "", 4 },
        { "", PUSH_VLAN, 4 },
        { IP4, DEC_TTL, 4 },
        { IP4, "0019 0010 80001604 0a000001 00000000", 4 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autoptr(GByteArray) msg = of13_flow(all[i].fields, all[i].actions);

        g_assert_cmpuint(of_told_as(msg, 1), ==, all[i].version);
        g_assert_cmpuint(of_told_as(msg, 4), ==, 4);
    }
}

/* A MODIFY of 1.0 also changes flows of 1.3. */
static void test_told_mixed(void)
{
    g_autoptr(GByteArray) new = of13(IP6 "80003908 00000060 000ffff0", "");
    g_autoptr(GByteArray) old = of10();
    CvswFlowMod mod, actions;

    of_add(old, "0003 0008 00000000" "0001 0008 0064 0000"
           "0006 0008 0a000001" "0009 0008 0050 0000" "0003 0008 00000000");
    mod = of_parse(new);
    actions = of_parse(old);
    memcpy(mod.actions, actions.actions, sizeof(mod.actions));
    mod.actions_len = actions.actions_len;
    g_assert_cmpuint(of_tell(&mod, 1), ==, 4);
}

/* 1.0 would change the priority of a match without wildcards. */
static void test_told_exact(void)
{
    g_autoptr(GByteArray) msg = of13_flow(
        "80000004 00000001" "80000606 020000000001" "80000806 020000000002"
        TAGGED "80000e01 01" IP4 "80001001 01" PROTO("06")
        "80001604 0a000001" "80001804 0a000002" "80001a02 0001"
        "80001c02 0002", OUTPUT_WIRE);

    g_assert_cmpuint(of_told_as(msg, 1), ==, 4);
    of_put(msg, OFM13_PRIORITY, "ffff");
    g_assert_cmpuint(of_told_as(msg, 1), ==, 1);
}

static void test_removed(void)
{
    g_autoptr(GByteArray) msg = of13(IP4 "80001201 01", "");
    g_autoptr(GByteArray) told = g_byte_array_new();
    CvswFlowMod mod = of_parse(msg);
    CvswEntry entry = of_entry(&mod);

    entry.cookie = 0x12;
    entry.idle_timeout = 5;
    entry.hard_timeout = 7;
    entry.packets = 3;
    entry.octets = 300;
    entry.made_ms = 1000;
    /* 1.0 has no ECN. */
    cvsw_of_removed_build(told, 1, 9, &entry, CVSW_REMOVED_DELETED, 3001);
    g_assert_cmpuint(told->len, ==, 64);
    g_assert_cmpmem(told->data, 8, "\4\13\0\x40\0\0\0\11", 8);
    g_assert_cmpuint(get_be64(told->data + 8), ==, 0x12);
    g_assert_cmpuint(get_be16(told->data + 16), ==, 32768);
    g_assert_cmpuint(told->data[18], ==, OFPRR_DELETE);
    g_assert_cmpuint(told->data[19], ==, 0);
    g_assert_cmpuint(get_be32(told->data + 20), ==, 2);
    g_assert_cmpuint(get_be32(told->data + 24), ==, 1000000);
    g_assert_cmpuint(get_be16(told->data + 28), ==, 5);
    g_assert_cmpuint(get_be16(told->data + 30), ==, 7);
    g_assert_cmpuint(get_be64(told->data + 32), ==, 3);
    g_assert_cmpuint(get_be64(told->data + 40), ==, 300);
    g_assert_cmpmem(told->data + 48, 16, msg->data + OFM13_MATCH, 16);
}

static void test_table(void)
{
    const CvswOfError *error;

    error = cvsw_of_error(4, cvsw_of_table_fault(CVSW_FLOW_TABLE_FULL));
    g_assert_cmpstr(error->name, ==, "OFPFMFC_TABLE_FULL");
    g_assert_cmpuint(error->type << 16 | error->code, ==, 0x50001);
    error = cvsw_of_error(4, cvsw_of_table_fault(CVSW_FLOW_OVERLAP));
    g_assert_cmpstr(error->name, ==, "OFPFMFC_OVERLAP");
    g_assert_cmpuint(error->type << 16 | error->code, ==, 0x50003);
}

static void test_hostile(void)
{
    g_autofree char *set = of13_write(DEC_TTL);
    g_autofree char *both = of13_apply(ENCAP6 "0019 0010 80001e02 0050"
                                       "0000 00000000" OUTPUT_WIRE);
    g_autofree char *all = g_strconcat(both, set, NULL);

    of_hostile(of13(TAGGED IP4 PROTO("06") "80001a02 0050"
                    "80001708 0a000000 ff000000", all));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/of13/fields", test_fields);
    g_test_add_func("/cvsw/of13/order", test_order);
    g_test_add_func("/cvsw/of13/bad-match", test_bad_match);
    g_test_add_func("/cvsw/of13/head", test_head);
    g_test_add_func("/cvsw/of13/commands", test_commands);
    g_test_add_func("/cvsw/of13/delete", test_delete);
    g_test_add_func("/cvsw/of13/bad-message", test_bad_message);
    g_test_add_func("/cvsw/of13/told", test_told);
    g_test_add_func("/cvsw/of13/told-mixed", test_told_mixed);
    g_test_add_func("/cvsw/of13/told-exact", test_told_exact);
    g_test_add_func("/cvsw/of13/removed", test_removed);
    g_test_add_func("/cvsw/of13/table", test_table);
    g_test_add_func("/cvsw/of13/hostile", test_hostile);
    return g_test_run();
}
