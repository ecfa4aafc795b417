/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FLOW_MODs in hexadecimal digits, and their expected results */
#include <string.h>

#include "cvsw-openflow-fixture.h"
#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

/* Blanks are ignored. */
static GByteArray *octets_of(const char *hex)
{
    GByteArray *octets = g_byte_array_new();
    int high = -1;

    for (; *hex; hex++) {
        int digit = g_ascii_xdigit_value(*hex);

        if (digit >= 0 && high >= 0) {
            cvsw_of_put8(octets, high << 4 | digit);
            high = -1;
        } else if (digit >= 0) {
            high = digit;
        }
    }
    g_assert_cmpint(high, ==, -1);
    return octets;
}

void of_add(GByteArray *msg, const char *hex)
{
    g_autoptr(GByteArray) octets = octets_of(hex);

    cvsw_of_put(msg, octets->data, octets->len);
    cvsw_of_put_at(msg, OFP_HEADER_LENGTH, msg->len);
}

void of_put(GByteArray *msg, size_t at, const char *hex)
{
    g_autoptr(GByteArray) octets = octets_of(hex);

    g_assert_cmpuint(at + octets->len, <=, msg->len);
    memcpy(msg->data + at, octets->data, octets->len);
}

GByteArray *of10(void)
{
    GByteArray *msg = octets_of("010e0000 00000007 003fffff");

    while (msg->len < OFM10_ACTIONS) {
        cvsw_of_put8(msg, 0);
    }
    of_put(msg, OFM10_PRIORITY, "8000 ffffffff ffff");
    of_add(msg, "");
    return msg;
}

GByteArray *of13(const char *fields, const char *instructions)
{
    GByteArray *msg = octets_of("040e0000 00000007");

    while (msg->len < OFM13_MATCH) {
        cvsw_of_put8(msg, 0);
    }
    of_put(msg, OFM13_PRIORITY, "8000 ffffffff ffffffff ffffffff");
    of_add(msg, "00010000");
    of_add(msg, fields);
    cvsw_of_put_at(msg, OFM13_MATCH + 2, msg->len - OFM13_MATCH);
    cvsw_of_pad(msg, OFM13_MATCH);
    of_add(msg, instructions);
    return msg;
}

static char *instruction(unsigned type, const char *actions)
{
    g_autoptr(GByteArray) octets = octets_of(actions);

    return g_strdup_printf("%04x%04x00000000%s", type, octets->len + 8,
                           actions);
}

char *of13_apply(const char *actions)
{
    return instruction(OFPIT_APPLY_ACTIONS, actions);
}

char *of13_write(const char *actions)
{
    return instruction(OFPIT_WRITE_ACTIONS, actions);
}

GByteArray *of13_flow(const char *fields, const char *actions)
{
    g_autofree char *instructions = of13_apply(actions);

    return of13(fields, instructions);
}

CvswEntry of_entry(CvswFlowMod *mod)
{
    return (CvswEntry) {
        .match = mod->match,
        .priority = mod->priority,
        .cookie = mod->cookie,
        .idle_timeout = mod->idle_timeout,
        .hard_timeout = mod->hard_timeout,
        .flags = mod->flags,
        .actions_len = mod->actions_len,
        .actions = mod->actions,
    };
}

CvswFlowMod of_parse(const GByteArray *msg)
{
    CvswFlowMod mod;

    g_assert_cmpint(cvsw_of_flow_mod_parse(&mod, msg->data, msg->len), ==,
                    CVSW_OF_OK);
    return mod;
}

static void same_actions(const CvswFlowMod *a, const CvswFlowMod *b)
{
    g_assert_cmpuint(a->actions_len, ==, b->actions_len);
    for (unsigned i = 0; i < a->actions_len; i++) {
        g_assert_cmpmem(&a->actions[i], sizeof(a->actions[i]),
                        &b->actions[i], sizeof(b->actions[i]));
    }
}

unsigned of_tell(CvswFlowMod *mod, unsigned version)
{
    g_autoptr(GByteArray) told = g_byte_array_new();
    CvswEntry entry = of_entry(mod);
    CvswFlowMod again;

    cvsw_of_flow_mod_build(told, version, 9, &entry);
    g_assert_cmpuint(packet_get16(told->data + OFP_HEADER_LENGTH), ==,
                     told->len);
    g_assert_cmpuint(packet_get32(told->data + OFP_HEADER_XID), ==, 9);
    again = of_parse(told);
    g_assert_true(cvsw_match_equal(&mod->match, &again.match));
    g_assert_cmpuint(again.match.fields, ==, mod->match.fields);
    g_assert_cmpuint(again.priority, ==, mod->priority);
    g_assert_cmpuint(again.cookie, ==, mod->cookie);
    g_assert_cmpuint(again.idle_timeout, ==, mod->idle_timeout);
    g_assert_cmpuint(again.hard_timeout, ==, mod->hard_timeout);
    g_assert_cmpuint(again.flags & (CVSW_FLOW_SEND_REMOVED |
                                    CVSW_FLOW_CHECK_OVERLAP), ==,
                     mod->flags & CVSW_FLOW_SEND_REMOVED);
    same_actions(&again, mod);
    return told->data[0];
}

unsigned of_told_as(const GByteArray *msg, unsigned asked)
{
    CvswFlowMod mod = of_parse(msg);

    return of_tell(&mod, asked);
}

void of_takes(GByteArray *msg, const char *match, const char *actions)
{
    g_autoptr(GString) got_match = g_string_new(NULL);
    g_autoptr(GString) got_actions = g_string_new(NULL);
    CvswFlowMod mod = of_parse(msg);
    unsigned told;

    cvsw_of_dump_match(got_match, &mod.match, mod.priority);
    cvsw_of_dump_actions(got_actions, mod.actions, mod.actions_len);
    g_assert_cmpstr(got_match->str, ==, match);
    g_assert_cmpstr(got_actions->str, ==, actions);
    g_assert_cmpuint(of_tell(&mod, OFP13_VERSION), ==, OFP13_VERSION);
    told = of_tell(&mod, OFP10_VERSION);
    /* Each flow made by 1.0 can be written in 1.0. */
    g_assert_true(told == OFP10_VERSION || msg->data[0] == OFP13_VERSION);
    g_byte_array_unref(msg);
}

void of_refuses(GByteArray *msg, unsigned type, unsigned code,
                const char *name)
{
    g_autoptr(GByteArray) told = g_byte_array_new();
    uint8_t version = msg->len ? msg->data[0] : 0;
    size_t quote = MIN(msg->len, 64);
    CvswOfFault fault;
    CvswFlowMod mod;

    fault = cvsw_of_flow_mod_parse(&mod, msg->data, msg->len);
    g_assert_cmpint(fault, !=, CVSW_OF_OK);
    g_assert_cmpstr(cvsw_of_error(version, fault)->name, ==, name);
    cvsw_of_error_build(told, fault, msg->data, msg->len);
    g_assert_cmpuint(told->len, ==, 12 + quote);
    g_assert_cmpuint(told->data[0], ==, version == 4 ? 4 : 1);
    g_assert_cmpuint(told->data[1], ==, OFPT_ERROR);
    g_assert_cmpuint(packet_get16(told->data + 2), ==, told->len);
    g_assert_cmpuint(packet_get32(told->data + 4), ==,
                     msg->len < 8 ? 0 : packet_get32(msg->data + 4));
    g_assert_cmpuint(packet_get16(told->data + 8), ==, type);
    g_assert_cmpuint(packet_get16(told->data + 10), ==, code);
    g_assert_cmpmem(told->data + 12, quote, msg->data, quote);
    g_byte_array_unref(msg);
}

/* A copy of the exact length, so that a sanitizer finds overruns. */
static CvswOfFault try(const uint8_t *octets, size_t len)
{
    g_autofree uint8_t *copy = g_memdup2(octets, len);
    CvswFlowMod mod;
    CvswOfFault fault = cvsw_of_flow_mod_parse(&mod, copy, len);

    if (fault == CVSW_OF_OK) {
        of_tell(&mod, OFP10_VERSION);
        of_tell(&mod, OFP13_VERSION);
    }
    return fault;
}

void of_hostile(GByteArray *msg)
{
    uint8_t *p = msg->data;

    g_assert_cmpint(try(p, msg->len), ==, CVSW_OF_OK);
    for (size_t len = 0; len < msg->len; len++) {
        g_assert_cmpint(try(p, len), ==, CVSW_OF_BAD_LEN);
    }
    for (size_t size = 0; size <= UINT16_MAX; size += size < 600 ? 1 : 251) {
        packet_put16(p + OFP_HEADER_LENGTH, size);
        if (size > msg->len) {
            g_assert_cmpint(try(p, msg->len), ==, CVSW_OF_BAD_LEN);
        } else {
            try(p, msg->len);
        }
    }
    packet_put16(p + OFP_HEADER_LENGTH, msg->len);
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
