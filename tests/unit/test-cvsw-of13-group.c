/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's GROUP_MODs, and why they are refused */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/cvsw-of13-pieces.h"
#include "tests/fixtures/cvsw-openflow-fixture.h"
#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

#define ANY             "ffffffff ffffffff 00000000"
#define BUCKET(len)     len "0000" ANY
#define TO_WIRE         BUCKET("0020") OUTPUT_WIRE
#define TO_GROUP(id)    BUCKET("0018") "0016 0008" id
#define ENCRYPT         "ffff 0010 00525400 0003 0000 00000001"

/* A GROUP_MOD of group 5. */
static GByteArray *message(const char *command, const char *type,
                           const char *buckets)
{
    GByteArray *msg = g_byte_array_new();

    g_byte_array_append(msg, (const uint8_t *)"\4\17\0\0\0\0\0\7", 8);
    of_add(msg, command);
    of_add(msg, type);
    of_add(msg, "00 00000005");
    of_add(msg, buckets);
    return msg;
}

static GByteArray *all(const char *buckets)
{
    return message("0000", "00", buckets);
}

static CvswGroup group_of(const CvswGroupMod *mod)
{
    return (CvswGroup) {
        .id = mod->id,
        .type = mod->type,
        .buckets_len = mod->buckets_len,
        .buckets = mod->buckets,
    };
}

/* Returns: its dump, or the name of the error. */
static char *read_message(const uint8_t *octets, size_t len)
{
    g_auto(CvswGroupMod) mod = { 0 };
    CvswOfFault fault = cvsw_of_group_mod_parse(&mod, octets, len);
    CvswGroup group = group_of(&mod);
    GString *text;

    if (fault != CVSW_OF_OK) {
        return g_strdup(cvsw_of_error(OFP13_VERSION, fault)->name);
    }
    text = g_string_new(NULL);
    cvsw_of_dump_group(text, &group);
    return g_string_free(text, false);
}

static GByteArray *tell(const uint8_t *octets, size_t len)
{
    GByteArray *told = g_byte_array_new();
    g_auto(CvswGroupMod) mod = { 0 };
    CvswGroup group;

    g_assert_cmpint(cvsw_of_group_mod_parse(&mod, octets, len), ==,
                    CVSW_OF_OK);
    group = group_of(&mod);
    cvsw_of_group_mod_build(told, 9, &group);
    g_assert_cmpuint(get_be16(told->data + 2), ==, told->len);
    return told;
}

/* It has this dump; written again it means the same and is not longer. */
static void takes(GByteArray *msg, const char *want)
{
    g_autofree char *got = read_message(msg->data, msg->len);
    g_autofree char *again = NULL;
    g_autoptr(GByteArray) told = NULL, twice = NULL;

    g_assert_cmpstr(got, ==, want);
    told = tell(msg->data, msg->len);
    again = read_message(told->data, told->len);
    g_assert_cmpstr(again, ==, want);
    g_assert_cmpuint(told->len, <=, msg->len);
    twice = tell(told->data, told->len);
    g_assert_cmpmem(told->data, told->len, twice->data, twice->len);
    g_byte_array_unref(msg);
}

static void test_takes(void)
{
    takes(all(""), " group_id=5,type=all");
    takes(all(TO_WIRE BUCKET("0010") TO_GROUP("00000007")),
          " group_id=5,type=all,bucket=actions=output:2,bucket=actions=drop,"
          "bucket=actions=group:7");
    takes(message("0001", "02", TO_WIRE),
          " group_id=5,type=indirect,bucket=actions=output:2");
    takes(all(BUCKET("0070") ENCAP6 ENCRYPT OUTPUT_WIRE),
          " group_id=5,type=all,bucket=actions="
          "tunnel_encap(vni=16777215,local=2001:db8::1,remote=ff05::1,"
          "local_mac=02:00:00:00:00:01,remote_mac=33:33:00:00:00:01,"
          "port=4789,tos=0,ttl=32),encrypt(sa=1),output:2");
}

/* Section 5.10: a bucket's actions are a set, whatever their order is. */
static void test_set(void)
{
    takes(all(BUCKET("0040") OUTPUT_WIRE DEC_TTL
              "0000 0010 00000001 0000 000000000000" POP_VLAN),
          " group_id=5,type=all,bucket=actions=pop_vlan,dec_ttl,output:1");
    /* OUTPUT is ignored beside GROUP. */
    takes(all(BUCKET("0028") OUTPUT_WIRE "0016 0008 00000007"),
          " group_id=5,type=all,bucket=actions=group:7");
    /* Actions of 1.0, and actions without prerequisites. */
    takes(all(BUCKET("0050") "ffff 0010 00525400 0005 0001 00000064"
              "0019 0010 80001604 0a000001 00000000"
              "0019 0010 80001a02 0050 0000 00000000" OUTPUT_WIRE),
          " group_id=5,type=all,bucket=actions=mod_vlan_vid:100,"
          "set_field:10.0.0.1->ip_src,set_field:80->tcp_src,output:2");
}

static void test_deletes(void)
{
    static const char *const ids[] = { "00000000", "ffffff00", "fffffffc" };

    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        /* Type and buckets are ignored. */
        GByteArray *msg = message("0002", "09", "1234");
        g_auto(CvswGroupMod) mod = { 0 };

        of_put(msg, OGM13_GROUP_ID, ids[i]);
        g_assert_cmpint(cvsw_of_group_mod_parse(&mod, msg->data, msg->len),
                        ==, CVSW_OF_OK);
        g_assert_cmpint(mod.command, ==, CVSW_GROUP_DELETE);
        g_assert_cmphex(mod.id, ==, get_be32(msg->data + OGM13_GROUP_ID));
        g_assert_cmpuint(mod.buckets_len, ==, 0);
        g_byte_array_unref(msg);
    }
}

static void refuses(GByteArray *msg, unsigned type, unsigned code,
                    const char *name)
{
    g_autoptr(GByteArray) told = g_byte_array_new();
    g_auto(CvswGroupMod) mod = { 0 };
    CvswOfFault fault = cvsw_of_group_mod_parse(&mod, msg->data, msg->len);

    g_assert_cmpint(fault, !=, CVSW_OF_OK);
    g_assert_cmpstr(cvsw_of_error(OFP13_VERSION, fault)->name, ==, name);
    cvsw_of_error_build(told, fault, msg->data, msg->len);
    g_assert_cmpuint(get_be16(told->data + 8), ==, type);
    g_assert_cmpuint(get_be16(told->data + 10), ==, code);
    g_byte_array_unref(msg);
}

static GByteArray *numbered(const char *command, const char *id)
{
    GByteArray *msg = message(command, "00", "");

    of_put(msg, OGM13_GROUP_ID, id);
    return msg;
}

static void test_refuses(void)
{
    static const struct {
        const char *buckets;
        unsigned type, code;
        const char *name;
    } bad[] = {
        { "0010 0001" ANY, 6, 1, "OFPGMFC_INVALID_GROUP" },
        { "0010 0000 00000001 ffffffff 00000000", 6, 6,
          "OFPGMFC_WATCH_UNSUPPORTED" },
        { "0010 0000 ffffffff 00000001 00000000", 6, 6,
          "OFPGMFC_WATCH_UNSUPPORTED" },
        { BUCKET("0008"), 6, 12, "OFPGMFC_BAD_BUCKET" },
        { BUCKET("0018"), 6, 12, "OFPGMFC_BAD_BUCKET" },
        { BUCKET("0014") "00000000", 6, 12, "OFPGMFC_BAD_BUCKET" },
        { BUCKET("0010") "0010", 6, 12, "OFPGMFC_BAD_BUCKET" },
        { BUCKET("0020") "0000 0010 00000003 0000 000000000000", 2, 4,
          "OFPBAC_BAD_OUT_PORT" },
        { BUCKET("0020") "0016 0010 00000003 00000000 00000000", 2, 1,
          "OFPBAC_BAD_LEN" },
        { TO_GROUP("ffffff01"), 2, 9, "OFPBAC_BAD_OUT_GROUP" },
        { BUCKET("0020") "ffff 0010 00525400 0002 000000000000", 2, 0,
          "OFPBAC_BAD_TYPE" },
        { BUCKET("0020") "ffff 0010 00525400 0004 0000 00000000", 2, 0,
          "OFPBAC_BAD_TYPE" },
    };
    g_autoptr(GString) many = g_string_new(TO_WIRE);

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *behind = g_strconcat(TO_WIRE, bad[i].buckets, NULL);

        refuses(all(bad[i].buckets), bad[i].type, bad[i].code, bad[i].name);
        refuses(all(behind), bad[i].type, bad[i].code, bad[i].name);
    }
    for (unsigned i = 0; i < CVSW_BUCKETS_MAX; i++) {
        g_string_append(many, TO_WIRE);
    }
    refuses(all(many->str), 6, 4, "OFPGMFC_OUT_OF_BUCKETS");
    refuses(message("0000", "01", ""), 6, 10, "OFPGMFC_BAD_TYPE");
    refuses(message("0000", "03", ""), 6, 10, "OFPGMFC_BAD_TYPE");
    refuses(message("0003", "00", ""), 6, 11, "OFPGMFC_BAD_COMMAND");
    refuses(message("0000", "02", ""), 6, 1, "OFPGMFC_INVALID_GROUP");
    refuses(message("0000", "02", TO_WIRE TO_WIRE), 6, 1,
            "OFPGMFC_INVALID_GROUP");
    refuses(numbered("0000", "ffffff01"), 6, 1, "OFPGMFC_INVALID_GROUP");
    refuses(numbered("0002", "ffffffff"), 6, 1, "OFPGMFC_INVALID_GROUP");
}

/* Errors of the table have names, too. */
static void test_names(void)
{
    static const struct {
        CvswGroupFault fault;
        unsigned type, code;
        const char *name;
    } names[] = {
        { CVSW_GROUP_EXISTS, 6, 0, "OFPGMFC_GROUP_EXISTS" },
        { CVSW_GROUP_OUT_OF_GROUPS, 6, 3, "OFPGMFC_OUT_OF_GROUPS" },
        { CVSW_GROUP_OUT_OF_BUCKETS, 6, 4, "OFPGMFC_OUT_OF_BUCKETS" },
        { CVSW_GROUP_CHAINING, 6, 5, "OFPGMFC_CHAINING_UNSUPPORTED" },
        { CVSW_GROUP_LOOP, 6, 7, "OFPGMFC_LOOP" },
        { CVSW_GROUP_UNKNOWN, 6, 8, "OFPGMFC_UNKNOWN_GROUP" },
        { CVSW_GROUP_CHAINED, 6, 9, "OFPGMFC_CHAINED_GROUP" },
        { CVSW_GROUP_NOWHERE, 2, 9, "OFPBAC_BAD_OUT_GROUP" },
    };

    g_assert_cmpint(cvsw_of_group_fault(CVSW_GROUP_OK), ==, CVSW_OF_OK);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const CvswOfError *error = cvsw_of_error(
            OFP13_VERSION, cvsw_of_group_fault(names[i].fault));

        g_assert_cmpuint(error->type, ==, names[i].type);
        g_assert_cmpuint(error->code, ==, names[i].code);
        g_assert_cmpstr(error->name, ==, names[i].name);
    }
}

/* A flow's GROUP, written again, and in an action set. */
static void test_flow(void)
{
    g_autofree char *set = of13_write(OUTPUT_WIRE "0016 0008 00000007"
                                      POP_VLAN);
    GByteArray *deletion = of13("", "");
    CvswFlowMod mod;

    of_takes(of13_flow("", "0016 0008 00000007" OUTPUT_WIRE), "",
             "group:7,output:2");
    of_takes(of13(TAGGED, set), "dl_vlan=100", "pop_vlan,group:7");
    of_refuses(of13_flow("", "0016 0008 fffffffc"), 2, 9,
               "OFPBAC_BAD_OUT_GROUP");
    of_put(deletion, OFM13_COMMAND, "03");
    of_put(deletion, OFM13_OUT_GROUP, "00000007");
    mod = of_parse(deletion);
    g_assert_cmpuint(mod.out_group, ==, 7);
    g_assert_cmpuint(mod.out_port, ==, CVSW_ANY_PORT);
    g_byte_array_unref(deletion);
}

/* A copy of the exact length, so that a sanitizer finds overruns. */
static void try(const uint8_t *octets, size_t len)
{
    g_autofree uint8_t *copy = g_memdup2(octets, len);
    g_autofree char *text = read_message(copy, len);

    if (text[0] == ' ' && get_be16(copy + OGM13_COMMAND) != OFPGC_DELETE) {
        g_autoptr(GByteArray) told = tell(copy, len);
        g_autofree char *again = read_message(told->data, told->len);

        g_assert_cmpstr(again, ==, text);
    }
}

static void test_hostile(void)
{
    GByteArray *msg = all(TO_WIRE BUCKET("0070") ENCAP6 ENCRYPT OUTPUT_WIRE
                          TO_GROUP("00000007"));
    uint8_t *p = msg->data;

    for (size_t len = 0; len < msg->len; len++) {
        g_autofree char *why = read_message(p, len);

        g_assert_cmpstr(why, ==, "OFPBRC_BAD_LEN");
    }
    for (size_t size = 0; size <= UINT16_MAX; size++) {
        put_be16(p + OFP_HEADER_LENGTH, size);
        try(p, msg->len);
    }
    put_be16(p + OFP_HEADER_LENGTH, msg->len);
    for (size_t at = 0; at < msg->len; at++) {
        uint8_t was = p[at];

        for (unsigned value = 0; value < 256; value++) {
            p[at] = value;
            try(p, msg->len);
        }
        p[at] = was;
    }
    g_byte_array_unref(msg);
}

static void test_stats(void)
{
    g_autoptr(GByteArray) msg = all(TO_WIRE TO_WIRE);
    g_autoptr(GString) text = g_string_new(NULL);
    g_auto(CvswGroupMod) mod = { 0 };
    CvswGroup group;

    cvsw_of_group_mod_parse(&mod, msg->data, msg->len);
    mod.buckets[1].packets = 3;
    mod.buckets[1].octets = 300;
    group = group_of(&mod);
    group.made_ms = 1000;
    group.packets = 4;
    group.octets = 400;
    cvsw_of_dump_group_stats(text, &group, 2, 2500);
    g_assert_cmpstr(text->str, ==,
                    " group_id=5,duration=1.500s,ref_count=2,packet_count=4,"
                    "byte_count=400,bucket0:packet_count=0,byte_count=0,"
                    "bucket1:packet_count=3,byte_count=300");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/group13/takes", test_takes);
    g_test_add_func("/cvsw/group13/set", test_set);
    g_test_add_func("/cvsw/group13/deletes", test_deletes);
    g_test_add_func("/cvsw/group13/refuses", test_refuses);
    g_test_add_func("/cvsw/group13/names", test_names);
    g_test_add_func("/cvsw/group13/flow", test_flow);
    g_test_add_func("/cvsw/group13/hostile", test_hostile);
    g_test_add_func("/cvsw/group13/stats", test_stats);
    return g_test_run();
}
