/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read FLOW_MODs and GROUP_MODs, one a line in hexadecimal digits
 *
 *   cvsw-openflow-peer show            for each, what it means: "ok", the match
 *                                      and the actions of the dump, with tabs
 *                                      between; or "refused", and the name
 *   cvsw-openflow-peer tell VERSION    the FLOW_MOD that tells the flow
 *   cvsw-openflow-peer remove VERSION  the FLOW_REMOVED of it, after 1.5 s and
 *                                      3 frames of 100 octets, deleted
 *   cvsw-openflow-peer dump            the dump's line, of the same
 *
 * The last three answer with the OFPT_ERROR to a message that is refused.  Of a
 * group, "show" has the line of dump-groups, "tell" the GROUP_MOD that adds it,
 * and "dump" the line of dump-group-stats; nothing is removed.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

#define MESSAGE_MAX     65535u
#define AGE_MS          1500u
#define XID             7u

static void print_octets(const GByteArray *octets)
{
    for (unsigned i = 0; i < octets->len; i++) {
        printf("%02x", octets->data[i]);
    }
    printf("\n");
}

static CvswEntry entry_of(CvswFlowMod *mod)
{
    return (CvswEntry) {
        .match = mod->match,
        .priority = mod->priority,
        .cookie = mod->cookie,
        .idle_timeout = mod->idle_timeout,
        .hard_timeout = mod->hard_timeout,
        .flags = mod->flags,
        .packets = 3,
        .octets = 300,
        .actions_len = mod->actions_len,
        .actions = mod->actions,
    };
}

static void show(const CvswEntry *entry)
{
    g_autoptr(GString) match = g_string_new(NULL);
    g_autoptr(GString) actions = g_string_new(NULL);

    cvsw_of_dump_match(match, &entry->match, entry->priority);
    cvsw_of_dump_actions(actions, entry->actions, entry->actions_len);
    printf("ok\t%s\t%s\n", match->str, actions->str);
}

static void answer(const char *what, uint8_t version, const CvswEntry *entry)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    g_autoptr(GString) line = g_string_new(NULL);

    if (!strcmp(what, "show")) {
        show(entry);
    } else if (!strcmp(what, "dump")) {
        cvsw_of_dump(line, entry, AGE_MS);
        printf("%s\n", line->str);
    } else if (!strcmp(what, "tell")) {
        cvsw_of_flow_mod_build(out, version, XID, entry);
        print_octets(out);
    } else {
        cvsw_of_removed_build(out, version, XID, entry, CVSW_REMOVED_DELETED,
                              AGE_MS);
        print_octets(out);
    }
}

static void refuse(const char *what, CvswOfFault fault, const uint8_t *msg,
                   size_t len)
{
    g_autoptr(GByteArray) out = g_byte_array_new();

    if (!strcmp(what, "show")) {
        printf("refused\t%s\n", cvsw_of_error(msg[0], fault)->name);
    } else {
        cvsw_of_error_build(out, fault, msg, len);
        print_octets(out);
    }
}

static void answer_flow(const char *what, uint8_t version, const uint8_t *msg,
                        size_t len)
{
    CvswFlowMod mod;
    CvswOfFault fault = cvsw_of_flow_mod_parse(&mod, msg, len);
    CvswEntry entry;

    if (fault == CVSW_OF_OK) {
        entry = entry_of(&mod);
        answer(what, version, &entry);
    } else {
        refuse(what, fault, msg, len);
    }
}

static void answer_group(const char *what, const uint8_t *msg, size_t len)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    g_autoptr(GString) line = g_string_new(NULL);
    g_auto(CvswGroupMod) mod = { 0 };
    CvswOfFault fault = cvsw_of_group_mod_parse(&mod, msg, len);
    CvswGroup group = {
        .id = mod.id,
        .type = mod.type,
        .packets = 3,
        .octets = 300,
        .buckets_len = mod.buckets_len,
        .buckets = mod.buckets,
    };

    if (fault != CVSW_OF_OK) {
        refuse(what, fault, msg, len);
    } else if (!strcmp(what, "tell")) {
        cvsw_of_group_mod_build(out, XID, &group);
        print_octets(out);
    } else if (!strcmp(what, "show")) {
        cvsw_of_dump_group(line, &group);
        printf("ok\t%s\n", line->str);
    } else {
        cvsw_of_dump_group_stats(line, &group, 1, AGE_MS);
        printf("%s\n", line->str);
    }
}

int main(int argc, char **argv)
{
    static uint8_t msg[MESSAGE_MAX];
    static char line[MESSAGE_MAX * 2 + 2];
    const char *what = argc > 1 ? argv[1] : "";
    uint8_t version = argc > 2 ? atoi(argv[2]) : 0;

    while (fgets(line, sizeof(line), stdin)) {
        size_t len = strcspn(line, "\n") / 2;

        for (size_t i = 0; i < len; i++) {
            msg[i] = g_ascii_xdigit_value(line[i * 2]) << 4 |
                     g_ascii_xdigit_value(line[i * 2 + 1]);
        }
        if (len >= OFP_HEADER_LEN && msg[OFP_HEADER_TYPE] == OFPT_GROUP_MOD) {
            answer_group(what, msg, len);
        } else {
            answer_flow(what, version, msg, len);
        }
    }
    return 0;
}
