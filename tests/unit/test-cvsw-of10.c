/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.0's FLOW_MODs: their meaning, and reasons for refusal */
#include <glib.h>
#include <string.h>

#include "tests/fixtures/cvsw-openflow-fixture.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

#define WILDCARDS       (OFM10_MATCH + OFM10_WILDCARDS)

#define OUTPUT_WIRE     "0000 0008 0002 0000"
#define ALL_OPEN        OFPFW_ALL

/* @open: wildcards; the named fields are octets at @at */
static GByteArray *match(uint32_t open, size_t at, const char *hex)
{
    GByteArray *msg = of10();

    put_be32(msg->data + WILDCARDS, open);
    of_put(msg, OFM10_MATCH + at, hex);
    return msg;
}

/* --- matches ------------------------------------------------------------- */

static void test_link(void)
{
    of_takes(of10(), "", "drop");
    of_takes(match(ALL_OPEN & ~OFPFW_IN_PORT, OFM10_IN_PORT, "0002"),
             "in_port=2", "drop");
    of_takes(match(ALL_OPEN & ~OFPFW_DL_SRC, OFM10_DL_SRC, "020000000001"),
             "dl_src=02:00:00:00:00:01", "drop");
    of_takes(match(ALL_OPEN & ~OFPFW_DL_DST, OFM10_DL_DST, "ffffffffffff"),
             "dl_dst=ff:ff:ff:ff:ff:ff", "drop");
    of_takes(match(ALL_OPEN & ~OFPFW_DL_TYPE, OFM10_DL_TYPE, "88cc"),
             "dl_type=0x88cc", "drop");
    /* A frame of IEEE 802.3 without SNAP. */
    of_takes(match(ALL_OPEN & ~OFPFW_DL_TYPE, OFM10_DL_TYPE, "05ff"),
             "dl_type=0x05ff", "drop");
}

static void test_tags(void)
{
    const uint32_t both = OFPFW_DL_VLAN | OFPFW_DL_VLAN_PCP;

    of_takes(match(ALL_OPEN & ~OFPFW_DL_VLAN, OFM10_DL_VLAN, "0064"),
             "dl_vlan=100", "drop");
    of_takes(match(ALL_OPEN & ~OFPFW_DL_VLAN, OFM10_DL_VLAN, "0000"),
             "dl_vlan=0", "drop");
    of_takes(match(ALL_OPEN & ~OFPFW_DL_VLAN, OFM10_DL_VLAN, "ffff"),
             "vlan_tci=0x0000/0x1fff", "drop");
    of_takes(match(ALL_OPEN & ~both, OFM10_DL_VLAN, "0fff 05"),
             "dl_vlan=4095,dl_vlan_pcp=5", "drop");
    /* A PCP alone matches any tag; without a tag it does not exist. */
    of_takes(match(ALL_OPEN & ~OFPFW_DL_VLAN_PCP, OFM10_DL_VLAN, "0005 03"),
             "dl_vlan_pcp=3", "drop");
    of_takes(match(ALL_OPEN & ~both, OFM10_DL_VLAN, "ffff 03"),
             "vlan_tci=0x0000/0x1fff", "drop");
}

/* All fields of IPv4, with the wildcards @open. */
static GByteArray *ip(const char *type, uint32_t open, const char *protocol)
{
    GByteArray *msg = match(open, OFM10_DL_TYPE, type);

    of_put(msg, OFM10_MATCH + OFM10_NW_TOS, "b8");
    of_put(msg, OFM10_MATCH + OFM10_NW_PROTO, protocol);
    of_put(msg, OFM10_MATCH + OFM10_NW_SRC, "0a010203 c0a80102 0008 0003");
    return msg;
}

#define LINK_OPEN       (OFPFW_IN_PORT | OFPFW_DL_VLAN | OFPFW_DL_SRC | \
                         OFPFW_DL_DST | OFPFW_DL_VLAN_PCP)

static void test_ip4(void)
{
    const uint32_t addresses = 8 << OFPFW_NW_SRC_SHIFT;

    of_takes(ip("0800", LINK_OPEN | addresses, "06"),
             "tcp,nw_src=10.1.2.0/24,nw_dst=192.168.1.2,nw_tos=184,tp_src=8,"
             "tp_dst=3", "drop");
    of_takes(ip("0800", LINK_OPEN, "11"),
             "udp,nw_src=10.1.2.3,nw_dst=192.168.1.2,nw_tos=184,tp_src=8,"
             "tp_dst=3", "drop");
    of_takes(ip("0800", LINK_OPEN, "84"),
             "sctp,nw_src=10.1.2.3,nw_dst=192.168.1.2,nw_tos=184,tp_src=8,"
             "tp_dst=3", "drop");
    of_takes(ip("0800", LINK_OPEN, "01"),
             "icmp,nw_src=10.1.2.3,nw_dst=192.168.1.2,nw_tos=184,icmp_type=8,"
             "icmp_code=3", "drop");
    /* ESP has no ports: they are ignored. */
    of_takes(ip("0800", LINK_OPEN, "32"),
             "ip,nw_src=10.1.2.3,nw_dst=192.168.1.2,nw_proto=50,nw_tos=184",
             "drop");
}

static void test_prefixes(void)
{
    for (unsigned open = 0; open < 64; open++) {
        g_autofree char *want = open >= 32 ? g_strdup("ip") :
            open == 31 ? g_strdup("ip,nw_dst=128.0.0.0/1") :
            open == 0 ? g_strdup("ip,nw_dst=192.168.1.2") : NULL;
        GByteArray *msg = ip("0800", (ALL_OPEN & ~OFPFW_DL_TYPE &
                                      ~(OFPFW_NW_BITS << OFPFW_NW_DST_SHIFT)) |
                             open << OFPFW_NW_DST_SHIFT, "00");

        if (want) {
            of_takes(msg, want, "drop");
        } else {
            g_assert_cmpuint(of_told_as(msg, 1), ==, 1);
            g_byte_array_unref(msg);
        }
    }
}

static void test_arp(void)
{
    of_takes(ip("0806", LINK_OPEN | 4 << OFPFW_NW_DST_SHIFT, "02"),
             "arp,arp_spa=10.1.2.3,arp_tpa=192.168.1.0/28,arp_op=2", "drop");
}

/* Fields that IPv6 shares with IPv4 match there, too. */
static void test_ip6(void)
{
    of_takes(ip("86dd", LINK_OPEN, "06"), "tcp6,nw_tos=184,tp_src=8,tp_dst=3",
             "drop");
    of_takes(ip("86dd", LINK_OPEN, "3a"),
             "icmp6,nw_tos=184,icmp_type=8,icmp_code=3", "drop");
    of_takes(ip("86dd", LINK_OPEN, "01"), "ipv6,nw_proto=1,nw_tos=184",
             "drop");
}

static void test_ignored(void)
{
    const uint32_t open = LINK_OPEN | OFPFW_DL_TYPE;

    /* Without an EtherType, or with another one, all IP fields are ignored. */
    of_takes(ip("0800", open, "06"), "", "drop");
    of_takes(ip("88cc", LINK_OPEN, "06"), "dl_type=0x88cc", "drop");
    of_takes(ip("0800", LINK_OPEN | OFPFW_NW_PROTO |
                32 << OFPFW_NW_SRC_SHIFT | 63 << OFPFW_NW_DST_SHIFT, "06"),
             "ip,nw_tos=184", "drop");
    /* Bits that no field has. */
    of_takes(match(0xffffffff, OFM10_IN_PORT, "0001"), "", "drop");
}

static void test_exact(void)
{
    GByteArray *msg = ip("0800", 0, "06");

    of_put(msg, OFM10_MATCH + OFM10_IN_PORT, "0001");
    of_takes(msg, "priority=65535,tcp,in_port=1,dl_vlan=0,dl_vlan_pcp=0,"
             "dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,"
             "nw_src=10.1.2.3,nw_dst=192.168.1.2,nw_tos=184,tp_src=8,tp_dst=3",
             "drop");
}

/* --- the rest of the message --------------------------------------------- */

static GByteArray *with(size_t at, const char *hex)
{
    GByteArray *msg = of10();

    of_put(msg, at, hex);
    return msg;
}

static void test_head(void)
{
    g_autoptr(GByteArray) msg = with(OFM10_COOKIE, "0123456789abcdef 0000"
                                     "0005 0007 0009 ffffffff 0002 0003");
    CvswFlowMod mod = of_parse(msg);

    g_assert_cmpint(mod.command, ==, CVSW_ADD);
    g_assert_cmpuint(mod.cookie, ==, UINT64_C(0x0123456789abcdef));
    g_assert_cmpuint(mod.cookie_mask, ==, 0);
    g_assert_cmpuint(mod.idle_timeout, ==, 5);
    g_assert_cmpuint(mod.hard_timeout, ==, 7);
    g_assert_cmpuint(mod.priority, ==, 9);
    g_assert_cmpuint(mod.out_port, ==, CVSW_ANY_PORT);
    g_assert_cmpuint(mod.flags, ==, CVSW_FLOW_SEND_REMOVED |
                     CVSW_FLOW_CHECK_OVERLAP | CVSW_FLOW_RESET_COUNTS |
                     CVSW_FLOW_OPENFLOW10);
    of_takes(g_steal_pointer(&msg), "priority=9", "drop");
}

static void test_commands(void)
{
    const unsigned modify = CVSW_FLOW_MODIFY_ADDS | CVSW_FLOW_MODIFY_COOKIE |
                            CVSW_FLOW_OPENFLOW10;
    const struct {
        const char *hex;
        CvswCommand command;
        unsigned flags;
    } all[] = {
        { "0001", CVSW_MODIFY, modify },
        { "0002", CVSW_MODIFY_STRICT, modify },
        { "0003", CVSW_DELETE, 0 },
        { "0004", CVSW_DELETE_STRICT, 0 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autoptr(GByteArray) msg = with(OFM10_COMMAND, all[i].hex);
        CvswFlowMod mod = of_parse(msg);

        g_assert_cmpint(mod.command, ==, all[i].command);
        g_assert_cmpuint(mod.flags, ==, all[i].flags);
    }
}

/* For DELETE, a port is a filter, and the actions do not matter. */
static void test_delete(void)
{
    g_autoptr(GByteArray) msg = with(OFM10_COMMAND, "0003 0001 0001 0001"
                                     "00000001 fffd");
    CvswFlowMod mod;

    of_add(msg, OUTPUT_WIRE);
    mod = of_parse(msg);
    g_assert_cmpuint(mod.out_port, ==, CVSW_OUT_CONTROLLER);
    g_assert_cmpuint(mod.actions_len, ==, 0);
    g_assert_cmpuint(mod.idle_timeout + mod.hard_timeout, ==, 0);
    of_put(msg, OFM10_OUT_PORT, "0002");
    mod = of_parse(msg);
    g_assert_cmpuint(mod.out_port, ==, CVSW_PORT_WIRE);
    of_put(msg, OFM10_OUT_PORT, "ffff");
    mod = of_parse(msg);
    g_assert_cmpuint(mod.out_port, ==, CVSW_ANY_PORT);
}

/* --- actions ------------------------------------------------------------- */

static GByteArray *action(const char *hex)
{
    GByteArray *msg = of10();

    of_add(msg, hex);
    return msg;
}

static void test_actions(void)
{
    static const struct {
        const char *hex, *want;
    } all[] = {
        { "0000 0008 0001 ffff", "output:1" },
        { "0000 0008 fff8 0000", "IN_PORT" },
        { "0000 0008 fffa 0000", "NORMAL" },
        { "0000 0008 fffb 0000", "FLOOD" },
        { "0000 0008 fffc 0000", "ALL" },
        { "0000 0008 fffd 0080", "CONTROLLER:128" },
        { "0001 0008 0fff 0000", "mod_vlan_vid:4095" },
        { "0002 0008 07 000000", "mod_vlan_pcp:7" },
        { "0003 0008 00000000", "pop_vlan" },
        { "0004 0010 020000000001 000000000000",
          "set_field:02:00:00:00:00:01->eth_src" },
        { "0005 0010 020000000002 000000000000",
          "set_field:02:00:00:00:00:02->eth_dst" },
        { "0006 0008 0a000001", "mod_nw_src:10.0.0.1" },
        { "0007 0008 0a000002", "mod_nw_dst:10.0.0.2" },
        { "0008 0008 fc 000000", "mod_nw_tos:252" },
        { "0009 0008 ffff 0000", "mod_tp_src:65535" },
        { "000a 0008 0050 0000", "mod_tp_dst:80" },
        { "ffff 0010 00525400 0002 000000000000", "tunnel_decap" },
        { "ffff 0010 00525400 0003 0000 00000007", "encrypt(sa=7)" },
        { "ffff 0010 00525400 0004 0000 00000000", "decrypt" },
        { "ffff 0010 00525400 0007 525400000001",
          "answer_arp(mac=52:54:00:00:00:01)" },
        { "ffff 0028 00525400 0001 04 b8 00 00 12b5 00000064 020000000001"
          "020000000002 0a000001 0a000002",
          "tunnel_encap(vni=100,local=10.0.0.1,remote=10.0.0.2,"
          "local_mac=02:00:00:00:00:01,remote_mac=02:00:00:00:00:02,"
          "port=4789,tos=184,ttl=64)" },
    };
    g_autoptr(GByteArray) list = of10();
    g_autoptr(GString) want = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_takes(action(all[i].hex), "", all[i].want);
        of_add(list, all[i].hex);
        g_string_append_printf(want, "%s%s", i ? "," : "", all[i].want);
        /* Flows of 1.0 can be written in 1.0. */
        g_assert_cmpuint(of_told_as(list, 1), ==, 1);
    }
    of_takes(g_steal_pointer(&list), "", want->str);
}

/* --- what is refused ----------------------------------------------------- */

static void test_bad_message(void)
{
    of_refuses(with(0, "02"), 1, 0, "OFPBRC_BAD_VERSION");
    of_refuses(with(0, "00"), 1, 0, "OFPBRC_BAD_VERSION");
    of_refuses(with(1, "0d"), 1, 1, "OFPBRC_BAD_TYPE");
    of_refuses(with(2, "0047"), 1, 6, "OFPBRC_BAD_LEN");
    of_refuses(with(2, "0049"), 1, 6, "OFPBRC_BAD_LEN");
    of_refuses(g_byte_array_new(), 1, 6, "OFPBRC_BAD_LEN");
    of_refuses(with(OFM10_BUFFER_ID, "00000001"), 1, 8,
               "OFPBRC_BUFFER_UNKNOWN");
    of_refuses(with(OFM10_COMMAND, "0005"), 3, 4, "OFPFMFC_BAD_COMMAND");
    of_refuses(with(OFM10_COMMAND, "0100"), 3, 4, "OFPFMFC_BAD_COMMAND");
    of_refuses(with(OFM10_FLAGS, "0008"), 3, 2, "OFPFMFC_EPERM");
    of_refuses(with(OFM10_FLAGS, "0004"), 3, 0, "OFPFMFC_ALL_TABLES_FULL");
    of_refuses(with(OFM10_COMMAND, "0000 0001 0000 8000 ffffffff ffff 0004"),
               3, 3, "OFPFMFC_BAD_EMERG_TIMEOUT");
}

static void test_bad_match(void)
{
    const uint32_t tag = ALL_OPEN & ~OFPFW_DL_VLAN;
    GByteArray *msg;

    of_refuses(match(ALL_OPEN & ~OFPFW_IN_PORT, OFM10_IN_PORT, "0003"), 3, 2,
               "OFPFMFC_EPERM");
    of_refuses(match(tag, OFM10_DL_VLAN, "1000"), 3, 2, "OFPFMFC_EPERM");
    of_refuses(match(tag & ~OFPFW_DL_VLAN_PCP, OFM10_DL_VLAN, "0001 08"),
               3, 2, "OFPFMFC_EPERM");
    /* ICMP's types have 8 bits. */
    msg = ip("0800", LINK_OPEN, "01");
    of_put(msg, OFM10_MATCH + OFM10_TP_SRC, "0108");
    of_refuses(msg, 3, 2, "OFPFMFC_EPERM");
}

static void test_bad_actions(void)
{
    static const struct {
        const char *hex;
        unsigned code;
        const char *name;
    } all[] = {
        { "000b 0010 0001 000000000000 00000001", 8, "OFPBAC_BAD_QUEUE" },
        { "000c 0008 00000000", 0, "OFPBAC_BAD_TYPE" },
        { "0000 0010 0001 0000 00000000 00000000", 1, "OFPBAC_BAD_LEN" },
        { "0000 0000 0001 0000", 1, "OFPBAC_BAD_LEN" },
        { "0000 0009 0001 0000", 1, "OFPBAC_BAD_LEN" },
        { "0000 0004", 1, "OFPBAC_BAD_LEN" },
        { "0000 0010 0001 0000", 1, "OFPBAC_BAD_LEN" },
        { "0001 0010 0001 0000 00000000 00000000", 1, "OFPBAC_BAD_LEN" },
        { "0004 0008 02000000", 1, "OFPBAC_BAD_LEN" },
        { "0000 0008 0000 0000", 4, "OFPBAC_BAD_OUT_PORT" },
        { "0000 0008 0003 0000", 4, "OFPBAC_BAD_OUT_PORT" },
        { "0000 0008 fff9 0000", 4, "OFPBAC_BAD_OUT_PORT" },
        { "0000 0008 fffe 0000", 4, "OFPBAC_BAD_OUT_PORT" },
        { "0000 0008 ffff 0000", 4, "OFPBAC_BAD_OUT_PORT" },
        { "0001 0008 1000 0000", 5, "OFPBAC_BAD_ARGUMENT" },
        { "0002 0008 08 000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { "0008 0008 01 000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { "ffff 0010 00002320 0002 000000000000", 2, "OFPBAC_BAD_VENDOR" },
        { "ffff 0008 00525400", 1, "OFPBAC_BAD_LEN" },
        { "ffff 0010 00525400 0008 000000000000", 3,
          "OFPBAC_BAD_VENDOR_TYPE" },
        /* 1.0 needs no vendor action for its own actions. */
        { "ffff 0010 00525400 0005 0003 00000000", 3,
          "OFPBAC_BAD_VENDOR_TYPE" },
    };
    GByteArray *many = of10();

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_refuses(action(all[i].hex), 2, all[i].code, all[i].name);
    }
    for (unsigned i = 0; i < CVSW_ACTIONS_MAX; i++) {
        of_add(many, OUTPUT_WIRE);
    }
    g_assert_cmpuint(of_parse(many).actions_len, ==, CVSW_ACTIONS_MAX);
    of_add(many, OUTPUT_WIRE);
    of_refuses(many, 2, 7, "OFPBAC_TOO_MANY");
}

static void test_table(void)
{
    const CvswOfError *error;

    g_assert_cmpint(cvsw_of_table_fault(CVSW_FLOW_OK), ==, CVSW_OF_OK);
    error = cvsw_of_error(1, cvsw_of_table_fault(CVSW_FLOW_TABLE_FULL));
    g_assert_cmpstr(error->name, ==, "OFPFMFC_ALL_TABLES_FULL");
    g_assert_cmpuint(error->type << 16 | error->code, ==, 0x30000);
    error = cvsw_of_error(1, cvsw_of_table_fault(CVSW_FLOW_OVERLAP));
    g_assert_cmpstr(error->name, ==, "OFPFMFC_OVERLAP");
    g_assert_cmpuint(error->type << 16 | error->code, ==, 0x30001);
}

static void test_hostile(void)
{
    GByteArray *msg = ip("0800", LINK_OPEN, "06");

    of_add(msg, "0004 0010 020000000001 000000000000" "0003 0008 00000000"
           "ffff 0028 00525400 0001 04 b8 00 00 12b5 00000064 020000000001"
           "020000000002 0a000001 0a000002" OUTPUT_WIRE);
    of_hostile(msg);
}

/* --- what goes out ------------------------------------------------------- */

static void test_removed(void)
{
    g_autoptr(GByteArray) msg = ip("0800", LINK_OPEN, "06");
    g_autoptr(GByteArray) told = g_byte_array_new();
    CvswFlowMod mod = of_parse(msg);
    CvswEntry entry = of_entry(&mod);

    entry.cookie = 0x12;
    entry.idle_timeout = 5;
    entry.packets = 3;
    entry.octets = 300;
    entry.made_ms = 1000;
    cvsw_of_removed_build(told, 1, 9, &entry, CVSW_REMOVED_HARD, 3250);
    g_assert_cmpuint(told->len, ==, 88);
    g_assert_cmpmem(told->data, 8, "\1\13\0\x58\0\0\0\11", 8);
    /* The match has the requested fields. */
    g_assert_cmpmem(told->data + 8, 40, msg->data + 8, 40);
    g_assert_cmpuint(get_be64(told->data + 48), ==, 0x12);
    g_assert_cmpuint(get_be16(told->data + 56), ==, 32768);
    g_assert_cmpuint(told->data[58], ==, OFPRR_HARD_TIMEOUT);
    g_assert_cmpuint(get_be32(told->data + 60), ==, 2);
    g_assert_cmpuint(get_be32(told->data + 64), ==, 250000000);
    g_assert_cmpuint(get_be16(told->data + 68), ==, 5);
    g_assert_cmpuint(get_be64(told->data + 72), ==, 3);
    g_assert_cmpuint(get_be64(told->data + 80), ==, 300);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/of10/link", test_link);
    g_test_add_func("/cvsw/of10/tags", test_tags);
    g_test_add_func("/cvsw/of10/ip4", test_ip4);
    g_test_add_func("/cvsw/of10/prefixes", test_prefixes);
    g_test_add_func("/cvsw/of10/arp", test_arp);
    g_test_add_func("/cvsw/of10/ip6", test_ip6);
    g_test_add_func("/cvsw/of10/ignored", test_ignored);
    g_test_add_func("/cvsw/of10/exact", test_exact);
    g_test_add_func("/cvsw/of10/head", test_head);
    g_test_add_func("/cvsw/of10/commands", test_commands);
    g_test_add_func("/cvsw/of10/delete", test_delete);
    g_test_add_func("/cvsw/of10/actions", test_actions);
    g_test_add_func("/cvsw/of10/bad-message", test_bad_message);
    g_test_add_func("/cvsw/of10/bad-match", test_bad_match);
    g_test_add_func("/cvsw/of10/bad-actions", test_bad_actions);
    g_test_add_func("/cvsw/of10/table", test_table);
    g_test_add_func("/cvsw/of10/hostile", test_hostile);
    g_test_add_func("/cvsw/of10/removed", test_removed);
    return g_test_run();
}
