/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expiry of entries in CVSW's flow table (OpenFlow 1.3.5 section 5.5), and many
 * entries that are added and deleted
 */
#include "tests/fixtures/cvsw-table-fixture.h"

static void test_idle(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 1, 5, 1);

    mod.idle_timeout = 2;
    mod.flags = CVSW_FLOW_SEND_REMOVED;
    run(f, mod, 500);
    g_assert_cmpuint(cvsw_table_expire(f->table, 500), ==, 2500);
    cvsw_entry_hit(find(f, 1, 0), 60, 2499);
    cvsw_entry_hit(find(f, 1, 0), 40, 2499);
    g_assert_cmpuint(cvsw_table_expire(f->table, 2500), ==, 4499);
    g_assert_cmpuint(f->told.num, ==, 0);
    g_assert_cmpuint(cvsw_table_expire(f->table, 4498), ==, 4499);
    g_assert_cmpuint(num_entries(f), ==, 1);
    g_assert_cmpuint(cvsw_table_expire(f->table, 4499), ==, UINT64_MAX);
    g_assert_cmpuint(f->told.num, ==, 1);
    g_assert_cmpint(f->told.why, ==, CVSW_REMOVED_IDLE);
    g_assert_cmpuint(f->told.entry.packets, ==, 2);
    g_assert_cmpuint(f->told.entry.octets, ==, 100);
    g_assert_cmpuint(num_entries(f), ==, 0);
    g_assert_null(find(f, 1, 0));
}

static void test_hard(Fixture *f, const void *unused)
{
    CvswFlowMod mod = mod_of(CVSW_ADD, 1, 5, 1);

    mod.idle_timeout = 2;
    mod.hard_timeout = 3;
    mod.flags = CVSW_FLOW_SEND_REMOVED;
    run(f, mod, 0);
    cvsw_entry_hit(find(f, 1, 0), 60, 1999);
    g_assert_cmpuint(cvsw_table_expire(f->table, 2000), ==, 3000);
    cvsw_entry_hit(find(f, 1, 0), 60, 2999);
    cvsw_table_expire(f->table, 3000);
    g_assert_cmpint(f->told.why, ==, CVSW_REMOVED_HARD);
    /* Both timeouts have passed at the check: the earlier one is the reason. */
    run(f, mod, 0);
    cvsw_table_expire(f->table, 9000);
    g_assert_cmpuint(f->told.num, ==, 2);
    g_assert_cmpint(f->told.why, ==, CVSW_REMOVED_IDLE);
    /* The longest timeout. */
    mod.idle_timeout = 0;
    mod.hard_timeout = UINT16_MAX;
    run(f, mod, 0);
    g_assert_cmpuint(cvsw_table_expire(f->table, 65534999), ==, 65535000);
    g_assert_cmpuint(cvsw_table_expire(f->table, 65535000), ==, UINT64_MAX);
    /* An entry without timeouts stays. */
    add(f, 1, 5, 1);
    g_assert_cmpuint(cvsw_table_expire(f->table, UINT64_MAX - 1), ==,
                     UINT64_MAX);
    g_assert_cmpuint(num_entries(f), ==, 1);
}

enum { KEYS = 5000, PRIORITIES = 300, FIRST = 0x10000 };

static CvswEntry *find_key(Fixture *f, unsigned i)
{
    PacketFlow flow = { .eth.dst = { [3] = 1, [4] = i >> 8, [5] = i } };
    CvswKey key;

    cvsw_key_of(&key, &flow, 1, 0);
    return cvsw_table_find(f->table, &key);
}

/* More keys than buckets, some of which are deleted again. */
static void test_many_keys(Fixture *f, const void *unused)
{
    cvsw_table_free(f->table);
    f->table = cvsw_table_new(KEYS, 4, 3, tell, &f->told);
    for (unsigned i = 0; i < KEYS; i++) {
        add(f, FIRST + i, 5, i);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        g_assert_cmpuint(find_key(f, i)->cookie, ==, i);
    }
    for (unsigned i = 0; i < KEYS; i += 3) {
        run(f, mod_of(CVSW_DELETE_STRICT, FIRST + i, 5, 0), 0);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        g_assert_true(!find_key(f, i) == (i % 3 == 0));
    }
}

/* One key with many priorities: added in any order, found by priority. */
static void test_many_priorities(Fixture *f, const void *unused)
{
    cvsw_table_free(f->table);
    f->table = cvsw_table_new(PRIORITIES, 4, 3, tell, &f->told);
    for (unsigned i = 0; i < PRIORITIES; i++) {
        add(f, 1, i * 7 % PRIORITIES, 1000 + i * 7 % PRIORITIES);
    }
    for (unsigned i = PRIORITIES; i-- > 0;) {
        g_assert_cmpuint(found(f, 1), ==, 1000 + i);
        run(f, mod_of(CVSW_DELETE_STRICT, 1, i, 0), 0);
    }
    g_assert_cmpuint(num_entries(f), ==, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *f, const void *unused);
    } tests[] = {
        { "/cvsw/expiry/idle-timeout", test_idle },
        { "/cvsw/expiry/hard-timeout", test_hard },
        { "/cvsw/expiry/many-keys", test_many_keys },
        { "/cvsw/expiry/many-priorities", test_many_priorities },
    };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].path, Fixture, NULL, begin, tests[i].test, end);
    }
    return g_test_run();
}
