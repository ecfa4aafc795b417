/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FLOW_MODs and GROUP_MODs from any sender
 *
 * Input: a message.  Its length is made right unless the first octet, which is
 * in front of it, is odd.
 *
 * An accepted message can be written in both versions, and these are accepted
 * and mean the same; an error has a name and an OFPT_ERROR.
 */
#include <glib.h>
#include <string.h>

#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_told(const CvswEntry *entry, uint8_t version)
{
    g_autoptr(GByteArray) told = g_byte_array_new();
    g_autoptr(GByteArray) removed = g_byte_array_new();
    CvswFlowMod again;

    cvsw_of_flow_mod_build(told, version, 1, entry);
    g_assert(told->data[0] == version || told->data[0] == OFP13_VERSION);
    g_assert(cvsw_of_flow_mod_parse(&again, told->data, told->len) ==
             CVSW_OF_OK);
    g_assert(cvsw_match_equal(&again.match, &entry->match));
    g_assert(again.priority == entry->priority);
    g_assert(again.cookie == entry->cookie);
    g_assert(again.actions_len == entry->actions_len);
    g_assert(!memcmp(again.actions, entry->actions,
                     entry->actions_len * sizeof(*entry->actions)));
    cvsw_of_removed_build(removed, version, 1, entry, CVSW_REMOVED_IDLE, 7);
    g_assert(removed->data[0] == told->data[0]);
    g_assert(get_be16(removed->data + 2) == removed->len);
}

static void check_taken(CvswFlowMod *mod)
{
    g_autoptr(GString) text = g_string_new(NULL);
    CvswEntry entry = {
        .match = mod->match,
        .priority = mod->priority,
        .cookie = mod->cookie,
        .idle_timeout = mod->idle_timeout,
        .hard_timeout = mod->hard_timeout,
        .flags = mod->flags,
        .actions_len = mod->actions_len,
        .actions = mod->actions,
    };

    g_assert(mod->actions_len <= CVSW_ACTIONS_MAX);
    g_assert(cvsw_match_check(&mod->match) == CVSW_MATCH_OK);
    check_told(&entry, OFP10_VERSION);
    check_told(&entry, OFP13_VERSION);
    cvsw_of_dump(text, &entry, 7);
    g_assert(strstr(text->str, "actions="));
}

static void check_refused(CvswOfFault fault, const uint8_t *msg, size_t len)
{
    g_autoptr(GByteArray) told = g_byte_array_new();

    g_assert(g_str_has_prefix(cvsw_of_error(msg[0], fault)->name, "OFP"));
    cvsw_of_error_build(told, fault, msg, len);
    g_assert(told->len == 12 + MIN(len, OFP_ERROR_QUOTE));
    g_assert(get_be16(told->data + 2) == told->len);
}

static void check_flow(const uint8_t *msg, size_t len)
{
    CvswFlowMod mod;
    CvswOfFault fault = cvsw_of_flow_mod_parse(&mod, msg, len);

    if (fault == CVSW_OF_OK) {
        check_taken(&mod);
    } else {
        check_refused(fault, msg, len);
    }
}

/* --- groups --------------------------------------------------------------- */

static void tell_group(GByteArray *told, GString *text,
                       const CvswGroupMod *mod)
{
    CvswGroup group = {
        .id = mod->id,
        .type = mod->type,
        .buckets_len = mod->buckets_len,
        .buckets = mod->buckets,
    };

    g_assert(mod->buckets_len <= CVSW_BUCKETS_MAX);
    cvsw_of_group_mod_build(told, 1, &group);
    cvsw_of_dump_group(text, &group);
    cvsw_of_dump_group_stats(text, &group, 1, 7);
}

static void check_group_taken(const CvswGroupMod *mod, size_t len)
{
    g_autoptr(GByteArray) told = g_byte_array_new();
    g_autoptr(GByteArray) twice = g_byte_array_new();
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GString) same = g_string_new(NULL);
    g_auto(CvswGroupMod) again = { 0 };

    tell_group(told, text, mod);
    g_assert(told->len <= len && get_be16(told->data + 2) == told->len);
    g_assert(cvsw_of_group_mod_parse(&again, told->data, told->len) ==
             CVSW_OF_OK);
    tell_group(twice, same, &again);
    g_assert(told->len == twice->len);
    g_assert(!memcmp(told->data, twice->data, told->len));
    g_assert(!strcmp(text->str, same->str));
}

static void check_group(const uint8_t *msg, size_t len)
{
    g_auto(CvswGroupMod) mod = { 0 };
    CvswOfFault fault = cvsw_of_group_mod_parse(&mod, msg, len);

    if (fault != CVSW_OF_OK) {
        check_refused(fault, msg, len);
    } else if (mod.command == CVSW_GROUP_DELETE) {
        g_assert(!mod.buckets_len);
    } else {
        check_group_taken(&mod, get_be16(msg + OFP_HEADER_LENGTH));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *msg = NULL;
    size_t len;

    if (size < 2 || size > UINT16_MAX) {
        return 0;
    }
    len = size - 1;
    msg = g_memdup2(data + 1, len);
    if (!(data[0] & 1) && len >= OFP_HEADER_LEN) {
        put_be16(msg + OFP_HEADER_LENGTH, len);
    }
    if (len >= OFP_HEADER_LEN && msg[OFP_HEADER_TYPE] == OFPT_GROUP_MOD) {
        check_group(msg, len);
    } else {
        check_flow(msg, len);
    }
    return 0;
}
