/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CVSW's flow table: the rules of OpenFlow 1.0.1 (section 4.6) and 1.3.5
 * (sections 5.5 and 6.4) by name
 */
#include "tests/fixtures/cvsw-table-fixture.h"

static void test_priority(Fixture *f, const void *unused)
{
    CvswFlowMod all = mod_of(CVSW_ADD, 0, 5, 50);
    CvswFlowMod last = mod_of(CVSW_DELETE_STRICT, 1, 9, 0);

    run(f, all, 0);
    add(f, 1, 4, 14);
    add(f, 1, 9, 19);
    add(f, 1, 6, 16);
    add(f, 2, 4, 24);
    add(f, 3, 6, 36);
    g_assert_cmpuint(found(f, 1), ==, 19);
    g_assert_cmpuint(found(f, 2), ==, 50);
    g_assert_cmpuint(found(f, 3), ==, 36);
    g_assert_cmpuint(found(f, 4), ==, 50);
    run(f, last, 0);
    g_assert_cmpuint(found(f, 1), ==, 16);
    last.priority = 6;
    run(f, last, 0);
    g_assert_cmpuint(found(f, 1), ==, 50);
    all.command = CVSW_DELETE_STRICT;
    run(f, all, 0);
    g_assert_cmpuint(found(f, 1), ==, 14);
    g_assert_cmpuint(found(f, 2), ==, 24);
    g_assert_cmpuint(found(f, 4), ==, 0);
}

/* 1.3.5 section 6.4: counters are copied; and 1.0.1: they are cleared. */
static void test_add_replaces(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 1, 5, 2);
    CvswEntry *entry;

    mod.flags = CVSW_FLOW_SEND_REMOVED;
    mod.hard_timeout = 1;
    run(f, mod, 0);
    cvsw_entry_hit(find(f, 1, 0), 60, 10);
    mod.hard_timeout = 0;
    mod.idle_timeout = 7;
    mod.cookie = 3;
    mod.actions[0].output.port = 33;
    g_assert_cmpint(run(f, mod, 100), ==, CVSW_FLOW_OK);
    entry = find(f, 1, 0);
    g_assert_cmpuint(entry->packets, ==, 1);
    g_assert_cmpuint(entry->octets, ==, 60);
    g_assert_cmpuint(entry->cookie, ==, 3);
    g_assert_cmpuint(entry->made_ms, ==, 100);
    g_assert_cmpuint(entry->used_ms, ==, 100);
    g_assert_cmpuint(entry->actions[0].output.port, ==, 33);
    /* The old timeout is deleted, too. */
    g_assert_cmpuint(cvsw_table_expire(f->table, 1000), ==, 7100);

    mod.flags |= CVSW_FLOW_RESET_COUNTS;
    run(f, mod, 200);
    entry = find(f, 1, 0);
    g_assert_cmpuint(entry->packets, ==, 0);
    g_assert_cmpuint(entry->octets, ==, 0);
    g_assert_cmpuint(num_entries(f), ==, 1);
    g_assert_cmpuint(f->told.num, ==, 0);
}

/* "Cookie, timeouts, flags, counters and duration are left unchanged." */
static void test_modify(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 1, 5, 2);
    CvswEntry *entry;

    mod.idle_timeout = 3;
    mod.flags = CVSW_FLOW_SEND_REMOVED;
    run(f, mod, 100);
    cvsw_entry_hit(find(f, 1, 0), 60, 200);
    mod = mod_of(CVSW_MODIFY, 0, 77, 9);
    mod.actions_len = 2;
    mod.actions[1].type = CVSW_ACTION_POP_VLAN;
    g_assert_cmpint(run(f, mod, 300), ==, CVSW_FLOW_OK);
    entry = find(f, 1, 0);
    g_assert_cmpuint(entry->actions_len, ==, 2);
    g_assert_cmpint(entry->actions[1].type, ==, CVSW_ACTION_POP_VLAN);
    g_assert_cmpuint(entry->cookie, ==, 2);
    g_assert_cmpuint(entry->idle_timeout, ==, 3);
    g_assert_cmpuint(entry->flags, ==, CVSW_FLOW_SEND_REMOVED);
    g_assert_cmpuint(entry->packets, ==, 1);
    g_assert_cmpuint(entry->made_ms, ==, 100);
    g_assert_cmpuint(entry->used_ms, ==, 200);
    g_assert_cmpuint(entry->priority, ==, 5);

    mod.flags = CVSW_FLOW_RESET_COUNTS;
    mod.actions_len = 0;
    run(f, mod, 300);
    g_assert_cmpuint(entry->packets, ==, 0);
    g_assert_cmpuint(entry->octets, ==, 0);
    g_assert_cmpuint(entry->actions_len, ==, 0);

    /* No entry matches: nothing happens, without an error. */
    mod = mod_of(CVSW_MODIFY, 2, 5, 9);
    g_assert_cmpint(run(f, mod, 300), ==, CVSW_FLOW_OK);
    mod = mod_of(CVSW_MODIFY_STRICT, 1, 6, 9);
    g_assert_cmpint(run(f, mod, 300), ==, CVSW_FLOW_OK);
    g_assert_cmpuint(num_entries(f), ==, 1);
    g_assert_cmpuint(find(f, 1, 0)->actions_len, ==, 0);
    /* By cookie. */
    mod = mod_of(CVSW_MODIFY, 1, 0, 3);
    mod.cookie_mask = 1;
    run(f, mod, 300);
    g_assert_cmpuint(find(f, 1, 0)->actions_len, ==, 0);
    mod.cookie_mask = 2;
    run(f, mod, 300);
    g_assert_cmpuint(find(f, 1, 0)->actions_len, ==, 1);
}

/* OpenFlow 1.0: an existing entry gets the cookie; otherwise it is an ADD. */
static void test_modify_adds(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_MODIFY, 1, 5, 2);

    mod.flags = CVSW_FLOW_MODIFY_ADDS | CVSW_FLOW_MODIFY_COOKIE;
    g_assert_cmpint(run(f, mod, 100), ==, CVSW_FLOW_OK);
    g_assert_cmpuint(found(f, 1), ==, 2);
    g_assert_cmpuint(find(f, 1, 0)->made_ms, ==, 100);
    mod.cookie = 3;
    mod.priority = 6;           /* does not count, as it is not strict */
    run(f, mod, 200);
    g_assert_cmpuint(num_entries(f), ==, 1);
    g_assert_cmpuint(found(f, 1), ==, 3);
    g_assert_cmpuint(find(f, 1, 0)->made_ms, ==, 100);
    mod.command = CVSW_MODIFY_STRICT;
    mod.cookie = 4;
    run(f, mod, 300);
    g_assert_cmpuint(num_entries(f), ==, 2);
    g_assert_cmpuint(found(f, 1), ==, 4);
    /* As an ADD, it may be refused. */
    mod.priority = 7;
    mod.flags |= CVSW_FLOW_CHECK_OVERLAP;
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    mod.match = (CvswMatch) { .fields = 0 };
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OVERLAP);
}

static void test_delete(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 1, 5, 2), narrow = mod;

    mod.flags = CVSW_FLOW_SEND_REMOVED;
    run(f, mod, 0);
    name(&narrow.match, CVSW_ETH_SRC, 7, UINT64_MAX >> 16);
    narrow.cookie = 3;
    narrow.priority = 1;
    run(f, narrow, 0);
    add(f, 2, 5, 4);
    /* Strict: exactly this match and priority. */
    mod.command = CVSW_DELETE_STRICT;
    mod.priority = 6;
    run(f, mod, 0);
    g_assert_cmpuint(num_entries(f), ==, 3);
    mod.priority = 5;
    run(f, mod, 0);
    g_assert_cmpuint(num_entries(f), ==, 2);
    g_assert_cmpuint(f->told.num, ==, 1);
    g_assert_cmpint(f->told.why, ==, CVSW_REMOVED_DELETED);
    g_assert_cmpuint(f->told.entry.cookie, ==, 2);
    g_assert_null(find(f, 1, 0));
    /* Not strict: also more specific matches, with any priority. */
    mod.command = CVSW_ADD;
    run(f, mod, 0);
    mod.command = CVSW_DELETE;
    mod.priority = 99;
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    g_assert_cmpuint(num_entries(f), ==, 1);
    g_assert_null(find(f, 1, 7));
    g_assert_cmpuint(found(f, 2), ==, 4);
    /* An entry without the flag is not reported. */
    g_assert_cmpuint(f->told.num, ==, 2);
    /* Less specific matches do not count. */
    run(f, narrow, 0);
    name(&mod.match, CVSW_ETH_SRC, 7, UINT64_MAX >> 16);
    add(f, 1, 5, 2);
    run(f, mod, 0);
    g_assert_cmpuint(found(f, 1), ==, 2);
    /* An empty match: all entries. */
    run(f, mod_of(CVSW_DELETE, 0, 0, 0), 0);
    g_assert_cmpuint(num_entries(f), ==, 0);
    g_assert_cmpuint(cvsw_table_stats(f->table).masks, ==, 0);
}

static void test_delete_filtered(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_DELETE, 0, 0, 0x10);

    add(f, 1, 5, 0x11);
    add(f, 2, 5, 0x12);
    add(f, 3, 5, 0x22);
    mod.cookie_mask = 0xf0;
    mod.out_port = 0x12;
    run(f, mod, 0);
    g_assert_null(find(f, 2, 0));
    g_assert_cmpuint(num_entries(f), ==, 2);
    mod.out_port = 0x22;
    run(f, mod, 0);
    g_assert_cmpuint(num_entries(f), ==, 2);
    mod.out_port = CVSW_ANY_PORT;
    run(f, mod, 0);
    g_assert_null(find(f, 1, 0));
    g_assert_cmpuint(found(f, 3), ==, 0x22);
    mod = mod_of(CVSW_DELETE_STRICT, 3, 5, 0);
    mod.cookie_mask = 2;
    run(f, mod, 0);
    g_assert_cmpuint(found(f, 3), ==, 0x22);
    mod.cookie_mask = 1;
    run(f, mod, 0);
    g_assert_cmpuint(num_entries(f), ==, 0);
}

static void test_overlap(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 0, 5, 9);

    add(f, 1, 5, 1);
    mod.flags = CVSW_FLOW_CHECK_OVERLAP;
    name(&mod.match, CVSW_ETH_SRC, 7, UINT64_MAX >> 16);
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OVERLAP);
    g_assert_cmpuint(num_entries(f), ==, 1);
    /* Another priority, or another station: no overlap. */
    mod.priority = 4;
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    mod.priority = 5;
    name(&mod.match, CVSW_ETH_DST, 2, UINT64_MAX >> 16);
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    /* An equal match overlaps. */
    mod = mod_of(CVSW_ADD, 1, 5, 9);
    mod.flags = CVSW_FLOW_CHECK_OVERLAP;
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OVERLAP);
    g_assert_cmpuint(found(f, 1), ==, 1);
    mod.flags = 0;
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    g_assert_cmpuint(found(f, 1), ==, 9);
}

static void test_full(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 9, 5, 9);
    CvswTableStats stats;

    for (unsigned i = 1; i <= 8; i++) {
        add(f, i, 5, i);
    }
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_TABLE_FULL);
    g_assert_cmpuint(found(f, 9), ==, 0);
    /* Existing entries can be replaced, modified and deleted. */
    add(f, 8, 5, 88);
    g_assert_cmpuint(found(f, 8), ==, 88);
    run(f, mod_of(CVSW_DELETE, 1, 0, 0), 0);
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    stats = cvsw_table_stats(f->table);
    g_assert_cmpuint(stats.entries, ==, 8);
    g_assert_cmpuint(stats.entries_max, ==, 8);
    g_assert_cmpuint(stats.masks, ==, 1);
    g_assert_cmpuint(stats.masks_max, ==, 4);
    g_assert_cmpuint(stats.lookups, ==, 2);
    g_assert_cmpuint(stats.matched, ==, 1);
}

static CvswFlowFault add_prefix(Fixture *f, unsigned bits)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 0, bits, bits);

    name(&mod.match, CVSW_ETH_TYPE, PACKET_ETH_IP4, UINT16_MAX);
    name(&mod.match, CVSW_IPV4_DST, 0x0a000000, 0xffffffff << (32 - bits));
    return run(f, mod, 0);
}

/* The number of masks that a look-up tries is limited. */
static void test_masks(Fixture *f, const void *unused)
{
    for (unsigned bits = 8; bits < 12; bits++) {
        g_assert_cmpint(add_prefix(f, bits), ==, CVSW_FLOW_OK);
    }
    g_assert_cmpint(add_prefix(f, 12), ==, CVSW_FLOW_TABLE_FULL);
    g_assert_cmpuint(cvsw_table_stats(f->table).masks, ==, 4);
    g_assert_cmpuint(num_entries(f), ==, 4);
    /* An existing mask may get more entries. */
    g_assert_cmpint(add_prefix(f, 11), ==, CVSW_FLOW_OK);
    run(f, mod_of(CVSW_DELETE, 0, 0, 0), 0);
    g_assert_cmpint(add_prefix(f, 12), ==, CVSW_FLOW_OK);
}

static void note_cookie(const CvswEntry *entry, void *data)
{
    g_string_append_printf(data, "%u ", (unsigned)entry->cookie);
}

static void test_foreach(Fixture *f, const void *unused)
{
    g_autoptr(GString) order = g_string_new(NULL);
    CvswFilter filter = { .cookie_mask = 1, .out_port = CVSW_ANY_PORT,
                          .out_group = CVSW_ANY_GROUP };

    add(f, 0, 5, 4);
    add(f, 2, 5, 1);
    add(f, 1, 9, 2);
    add(f, 1, 5, 3);
    cvsw_table_foreach(f->table, NULL, note_cookie, order);
    g_assert_cmpstr(order->str, ==, "2 4 1 3 ");
    g_string_truncate(order, 0);
    /* A new entry is the last one. */
    add(f, 0, 5, 4);
    cvsw_table_foreach(f->table, &filter, note_cookie, order);
    g_assert_cmpstr(order->str, ==, "2 4 ");
    g_string_truncate(order, 0);
    cvsw_table_foreach(f->table, NULL, note_cookie, order);
    g_assert_cmpstr(order->str, ==, "2 1 3 4 ");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *f, const void *unused);
    } tests[] = {
        { "/cvsw/table/priority", test_priority },
        { "/cvsw/table/add-replaces", test_add_replaces },
        { "/cvsw/table/modify", test_modify },
        { "/cvsw/table/modify-adds", test_modify_adds },
        { "/cvsw/table/delete", test_delete },
        { "/cvsw/table/delete-filtered", test_delete_filtered },
        { "/cvsw/table/overlap", test_overlap },
        { "/cvsw/table/full", test_full },
        { "/cvsw/table/masks", test_masks },
        { "/cvsw/table/foreach", test_foreach },
    };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].path, Fixture, NULL, begin, tests[i].test, end);
    }
    return g_test_run();
}
