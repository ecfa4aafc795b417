/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's instructions and actions, and why they are refused */
#include <glib.h>

#include "tests/fixtures/cvsw-of13-pieces.h"
#include "tests/fixtures/cvsw-openflow-fixture.h"
#include "hw/net/cvsw/flow/action.h"

/* --- instructions and actions -------------------------------------------- */

static void test_actions(void)
{
    static const struct {
        const char *fields, *actions, *match, *want;
    } all[] = {
        { "", OUTPUT_WIRE, "", "output:2" },
        { "", "0000 0010 fffffffd 0080 000000000000", "", "CONTROLLER:128" },
        { "", "0000 0010 fffffff8 0000 000000000000", "", "IN_PORT" },
        { "", PUSH_VLAN "0019 0010 80000c02 1064 0000 00000000", "",
          "push_vlan:0x8100,set_field:4196->vlan_vid" },
        { TAGGED, "0019 0010 80000e01 07 000000 00000000" POP_VLAN,
          "dl_vlan=100", "set_field:7->vlan_pcp,pop_vlan" },
        { IP4, "0017 0008 05 000000" DEC_TTL, "ip", "mod_nw_ttl:5,dec_ttl" },
        { IP6, DEC_TTL, "ipv6", "dec_ttl" },
        { IP4, "0019 0010 80001604 0a000001 00000000", "ip",
          "set_field:10.0.0.1->ip_src" },
        { IP4 PROTO("06"), "0019 0010 80001a02 0050 0000 00000000", "tcp",
          "set_field:80->tcp_src" },
        { ND_NS, "0019 0010 80004006 020000000001 0000", "icmp6,icmp_type=135",
          "set_field:02:00:00:00:00:01->nd_sll" },
        { IP6, "0019 0018 80003610 20010db8000000000000000000000001", "ipv6",
          "set_field:2001:db8::1->ipv6_dst" },
        { IP6, "0019 0010 80003804 00000005 00000000", "ipv6",
          "set_field:0x5->ipv6_label" },
        { "", "0019 0010 80004c08 0000000000000064", "",
          "set_field:0x64->tun_id" },
        { "", "ffff 0010 00525400 0004 0000 00000009"
          "ffff 0010 00525400 0002 000000000000", "",
          "decrypt(sa=9),tunnel_decap" },
        { "", "ffff 0010 00525400 0006 525400000001", "",
          "answer_nd(mac=52:54:00:00:00:01)" },
        /* The result is an advertisement. */
        { "", "ffff 0010 00525400 0006 525400000001"
          "0019 0010 80004206 020000000001 0000", "",
          "answer_nd(mac=52:54:00:00:00:01),"
          "set_field:02:00:00:00:00:01->nd_tll" },
        { "", "ffff 0010 00525400 0007 525400000001"
          "0019 0010 80002a02 0001 0000 00000000", "",
          "answer_arp(mac=52:54:00:00:00:01),set_field:1->arp_op" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_takes(of13_flow(all[i].fields, all[i].actions), all[i].match,
                 all[i].want);
    }
}

/* The outer headers exist after the action. */
static void test_encap(void)
{
    of_takes(of13_flow("", ENCAP6 "0019 0010 80001e02 0050 0000 00000000"
                       DEC_TTL "ffff 0010 00525400 0003 0000 00000001"
                       OUTPUT_WIRE), "",
             "tunnel_encap(vni=16777215,local=2001:db8::1,remote=ff05::1,"
             "local_mac=02:00:00:00:00:01,remote_mac=33:33:00:00:00:01,"
             "port=4789,tos=0,ttl=32),set_field:80->udp_src,dec_ttl,"
             "encrypt(sa=1),output:2");
}

/* Actions that only 1.0 has are written in 1.3, without prerequisites. */
static void test_openflow10(void)
{
    of_takes(of13_flow("", "ffff 0010 00525400 0005 0003 00000000"), "",
             "pop_vlan");
    of_takes(of13_flow("", "ffff 0010 00525400 0005 0001 00000064" POP_VLAN),
             "", "mod_vlan_vid:100,pop_vlan");
    of_takes(of13_flow("", "ffff 0010 00525400 0005 0006 0a000001"), "",
             "mod_nw_src:10.0.0.1");
}

static void test_instructions(void)
{
    g_autofree char *list = of13_apply(PUSH_VLAN);
    /* In the order of section 5.10, the last action of each type. */
    g_autofree char *set = of13_write(
        OUTPUT_WIRE "0019 0010 80000e01 05 000000 00000000" DEC_TTL POP_VLAN
        "0019 0010 80000e01 06 000000 00000000" PUSH_VLAN
        "0000 0010 00000001 0000 000000000000");
    g_autofree char *both = g_strconcat(set, "0005 0008 00000000", list,
                                        NULL);

    of_takes(of13("", ""), "", "drop");
    of_takes(of13("", "0005 0008 00000000"), "", "drop");
    of_takes(of13("", "0004 0008 00000000"), "", "drop");
    of_takes(of13(IP4, both), "ip", "push_vlan:0x8100,pop_vlan,"
             "push_vlan:0x8100,dec_ttl,set_field:6->vlan_pcp,output:1");
}

static void test_bad_instructions(void)
{
    static const struct {
        const char *hex;
        unsigned code;
        const char *name;
    } all[] = {
        { "0001 0008 01 000000", 2, "OFPBIC_BAD_TABLE_ID" },
        { "0002 0018 00000000 0000000000000001 00000000000000ff", 1,
          "OFPBIC_UNSUP_INST" },
        { "0006 0008 00000001", 1, "OFPBIC_UNSUP_INST" },
        { "0007 0008 00000000", 0, "OFPBIC_UNKNOWN_INST" },
        { "0000 0008 00000000", 0, "OFPBIC_UNKNOWN_INST" },
        { "ffff 0008 00525400", 5, "OFPBIC_BAD_EXPERIMENTER" },
        { "0005 0008 00000000" "0005 0008 00000000", 1, "OFPBIC_UNSUP_INST" },
        { "0004 0008 00000000" "0004 0008 00000000", 1, "OFPBIC_UNSUP_INST" },
        { "0005 0010 00000000 0000000000000000", 7, "OFPBIC_BAD_LEN" },
        { "0004 0000 00000000", 7, "OFPBIC_BAD_LEN" },
        { "0004 0004", 7, "OFPBIC_BAD_LEN" },
        { "0004 000c 00000000 00000000", 7, "OFPBIC_BAD_LEN" },
        { "0004 0010 00000000", 7, "OFPBIC_BAD_LEN" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_refuses(of13("", all[i].hex), 3, all[i].code, all[i].name);
    }
}

static void test_bad_actions(void)
{
    static const struct {
        const char *fields, *actions;
        unsigned code;
        const char *name;
    } all[] = {
        { "", "0016 0008 ffffff01", 9, "OFPBAC_BAD_OUT_GROUP" },
        { "", "0015 0008 00000001", 8, "OFPBAC_BAD_QUEUE" },
        { "", "000b 0008 00000000", 0, "OFPBAC_BAD_TYPE" },
        { "", "000c 0008 00000000", 0, "OFPBAC_BAD_TYPE" },
        { "", "0013 0008 8847 0000", 0, "OFPBAC_BAD_TYPE" },
        { "", "0014 0008 0800 0000", 0, "OFPBAC_BAD_TYPE" },
        { "", "001a 0008 88e7 0000", 0, "OFPBAC_BAD_TYPE" },
        { "", "001b 0008 00000000", 0, "OFPBAC_BAD_TYPE" },
        { "", "0000 0008 00000002", 1, "OFPBAC_BAD_LEN" },
        { "", "0000 0010 00000002", 1, "OFPBAC_BAD_LEN" },
        { "", "0012 0010 00000000 0000000000000000", 1, "OFPBAC_BAD_LEN" },
        { "", "0012 0000 00000000", 1, "OFPBAC_BAD_LEN" },
        { "", "0000 0010 00000000 0000 000000000000", 4,
          "OFPBAC_BAD_OUT_PORT" },
        { "", "0000 0010 00000003 0000 000000000000", 4,
          "OFPBAC_BAD_OUT_PORT" },
        { "", "0000 0010 fffffff9 0000 000000000000", 4,
          "OFPBAC_BAD_OUT_PORT" },
        { "", "0000 0010 fffffffe 0000 000000000000", 4,
          "OFPBAC_BAD_OUT_PORT" },
        { "", "0000 0010 ffffffff 0000 000000000000", 4,
          "OFPBAC_BAD_OUT_PORT" },
        { "", "0011 0008 0800 0000", 5, "OFPBAC_BAD_ARGUMENT" },
        { "", "0019 0010 80000004 00000001 00000000", 13,
          "OFPBAC_BAD_SET_TYPE" },
        { "", "0019 0010 80000408 0000000000000001", 13,
          "OFPBAC_BAD_SET_TYPE" },
        { IP4, "0019 0010 80001708 0a000000 ff000000", 13,
          "OFPBAC_BAD_SET_TYPE" },
        { "", "0019 0010 00010004 00000001 00000000", 13,
          "OFPBAC_BAD_SET_TYPE" },
        { "", "0019 0010 80000605 0200000001 000000", 14,
          "OFPBAC_BAD_SET_LEN" },
        { "", "0019 0010 80000610 020000000001 0000", 14,
          "OFPBAC_BAD_SET_LEN" },
        { "", "0019 0018 80000606 020000000001 0000 0000000000000000", 14,
          "OFPBAC_BAD_SET_LEN" },
        { TAGGED, "0019 0010 80000c02 0064 0000 00000000", 15,
          "OFPBAC_BAD_SET_ARGUMENT" },
        { TAGGED, "0019 0010 80000c02 3064 0000 00000000", 15,
          "OFPBAC_BAD_SET_ARGUMENT" },
        { IP4, "0019 0010 80001001 40 000000 00000000", 15,
          "OFPBAC_BAD_SET_ARGUMENT" },
        { "", "0019 0010 80001a02 0050 0000 00000000", 10,
          "OFPBAC_MATCH_INCONSISTENT" },
        { IP4 PROTO("11"), "0019 0010 80001a02 0050 0000 00000000", 10,
          "OFPBAC_MATCH_INCONSISTENT" },
        { IP6, "0019 0010 80001604 0a000001 00000000", 10,
          "OFPBAC_MATCH_INCONSISTENT" },
        { "", POP_VLAN, 10, "OFPBAC_MATCH_INCONSISTENT" },
        { TAGGED, POP_VLAN POP_VLAN, 10, "OFPBAC_MATCH_INCONSISTENT" },
        { "80000c02 0000", "0019 0010 80000c02 1064 0000 00000000", 10,
          "OFPBAC_MATCH_INCONSISTENT" },
        { ARP, DEC_TTL, 10, "OFPBAC_MATCH_INCONSISTENT" },
        /* No match guarantees the headers inside of a tunnel. */
        { IP4, "ffff 0010 00525400 0002 000000000000" DEC_TTL, 10,
          "OFPBAC_MATCH_INCONSISTENT" },
        { IP4 PROTO("11"), "ffff 0010 00525400 0003 0000 00000001"
          "0019 0010 80001e02 0050 0000 00000000", 10,
          "OFPBAC_MATCH_INCONSISTENT" },
    };
    g_autoptr(GString) many = g_string_new(OUTPUT_WIRE);

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_refuses(of13_flow(all[i].fields, all[i].actions), 2, all[i].code,
                   all[i].name);
    }
    for (unsigned i = 0; i < CVSW_ACTIONS_MAX; i++) {
        g_string_append(many, OUTPUT_WIRE);
    }
    of_refuses(of13_flow("", many->str), 2, 7, "OFPBAC_TOO_MANY");
}

/* --- our own actions ----------------------------------------------------- */

/* A valid TUNNEL_ENCAP of IPv4 with other octets at one place. */
static GByteArray *encap4_with(size_t at, const char *hex)
{
    GByteArray *msg = of13_flow("", "ffff 0028 00525400 0001 04 00 40 00 12b5"
                            "00000064 020000000001 020000000002 0a000001"
                            "0a000002");

    of_put(msg, msg->len - 40 + at, hex);
    return msg;
}

static void test_bad_own(void)
{
    static const struct {
        size_t at;
        const char *hex;
        unsigned code;
        const char *name;
    } all[] = {
        { 4, "00002320", 2, "OFPBAC_BAD_EXPERIMENTER" },
        { 8, "0000", 3, "OFPBAC_BAD_EXP_TYPE" },
        { 8, "0006", 1, "OFPBAC_BAD_LEN" },
        { 8, "0008", 3, "OFPBAC_BAD_EXP_TYPE" },
        { 8, "0002", 1, "OFPBAC_BAD_LEN" },
        { 8, "0003", 1, "OFPBAC_BAD_LEN" },
        { 8, "0005", 1, "OFPBAC_BAD_LEN" },
        { 10, "06", 1, "OFPBAC_BAD_LEN" },
        { 10, "05", 5, "OFPBAC_BAD_ARGUMENT" },
        { 13, "01", 5, "OFPBAC_BAD_ARGUMENT" },
        { 14, "0000", 5, "OFPBAC_BAD_ARGUMENT" },
        { 16, "01000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { 20, "030000000001", 5, "OFPBAC_BAD_ARGUMENT" },
        { 20, "000000000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { 26, "000000000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { 26, "01005e000001", 5, "OFPBAC_BAD_ARGUMENT" },
        { 32, "00000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { 32, "e0000001", 5, "OFPBAC_BAD_ARGUMENT" },
        { 36, "00000000", 5, "OFPBAC_BAD_ARGUMENT" },
        { 36, "e0000001", 5, "OFPBAC_BAD_ARGUMENT" },
    };
    static const char *const arguments[] = {
        "ffff 0010 00525400 0002 000000000001",
        "ffff 0010 00525400 0003 0000 00000000",
        "ffff 0010 00525400 0003 0001 00000001",
        "ffff 0010 00525400 0005 0001 00001000",
        "ffff 0010 00525400 0005 0003 00000001",
        "ffff 0010 00525400 0006 000000000000",
        "ffff 0010 00525400 0006 030000000001",
        "ffff 0010 00525400 0007 000000000000",
        "ffff 0010 00525400 0007 030000000001",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_refuses(encap4_with(all[i].at, all[i].hex), 2, all[i].code,
                   all[i].name);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(arguments); i++) {
        of_refuses(of13_flow("", arguments[i]), 2, 5, "OFPBAC_BAD_ARGUMENT");
    }
    of_refuses(of13_flow("", "ffff 0010 00525400 0005 0000 00000001"), 2, 0,
               "OFPBAC_BAD_TYPE");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/act13/actions", test_actions);
    g_test_add_func("/cvsw/act13/encap", test_encap);
    g_test_add_func("/cvsw/act13/openflow10", test_openflow10);
    g_test_add_func("/cvsw/act13/instructions", test_instructions);
    g_test_add_func("/cvsw/act13/bad-instructions", test_bad_instructions);
    g_test_add_func("/cvsw/act13/bad-actions", test_bad_actions);
    g_test_add_func("/cvsw/act13/bad-own", test_bad_own);
    return g_test_run();
}
