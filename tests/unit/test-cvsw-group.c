/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table's groups: the rules of OpenFlow 1.3.5 (sections 5.6 and 6.5) by name
 */
#include "tests/fixtures/cvsw-table-fixture.h"

/* A bucket with the action GROUP or OUTPUT. */
static CvswGroupBucket bucket_of(CvswActionType type, uint32_t number)
{
    CvswGroupBucket bucket = { .actions_len = 1 };

    bucket.actions = g_new0(CvswAction, 1);
    bucket.actions[0].type = type;
    if (type == CVSW_ACTION_GROUP) {
        bucket.actions[0].group = number;
    } else {
        bucket.actions[0].output.port = number;
    }
    return bucket;
}

/* @num buckets: the first names group @next, unless that is 0. */
static CvswGroupFault group(Fixture *f, CvswGroupCommand command, uint32_t id,
                            unsigned num, uint32_t next)
{
    g_auto(CvswGroupMod) mod = { .command = command, .id = id };

    mod.buckets_len = num;
    mod.buckets = g_new0(CvswGroupBucket, num);
    for (unsigned i = 0; i < num; i++) {
        mod.buckets[i] = i || !next ?
                         bucket_of(CVSW_ACTION_OUTPUT, CVSW_PORT_WIRE) :
                         bucket_of(CVSW_ACTION_GROUP, next);
    }
    return cvsw_table_group_mod(f->table, &mod, 500);
}

static CvswGroup *get(Fixture *f, uint32_t id)
{
    return cvsw_groups_find(cvsw_table_groups(f->table), id);
}

static CvswGroupsStats stats(Fixture *f)
{
    return cvsw_groups_stats(cvsw_table_groups(f->table));
}

static CvswFlowMod to_group(CvswCommand command, uint64_t dst, uint32_t id)
{
    CvswFlowMod mod = mod_of(command, dst, 5, dst);

    mod.actions[0] = (CvswAction) { .type = CVSW_ACTION_GROUP, .group = id };
    return mod;
}

static void test_commands(Fixture *f, const void *unused)
{
    CvswGroup *g;

    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 7, 1, 0), ==,
                    CVSW_GROUP_UNKNOWN);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 7, 2, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 7, 1, 0), ==, CVSW_GROUP_EXISTS);
    g = get(f, 7);
    g_assert_cmpuint(g->buckets_len, ==, 2);
    g->packets = 9;
    g->buckets[0].packets = 9;
    /* Section 6.5: a modified group keeps its counters and duration. */
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 7, 3, 0), ==, CVSW_GROUP_OK);
    g = get(f, 7);
    g_assert_cmpuint(g->buckets_len, ==, 3);
    g_assert_cmpuint(g->packets, ==, 9);
    g_assert_cmpuint(g->made_ms, ==, 500);
    g_assert_cmpuint(g->buckets[0].packets, ==, 0);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, 8, 0, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, 7, 0, 0), ==, CVSW_GROUP_OK);
    g_assert_null(get(f, 7));
    g_assert_cmpuint(stats(f).groups, ==, 0);
    g_assert_cmpuint(stats(f).buckets, ==, 0);
    /* It drops. */
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 0, 0, 0), ==, CVSW_GROUP_OK);
    g_assert_nonnull(get(f, 0));
}

static void test_room(Fixture *f, const void *unused)
{
    for (unsigned i = 0; i < CVSW_GROUPS_MAX; i++) {
        g_assert_cmpint(group(f, CVSW_GROUP_ADD, i, 16, 0), ==, CVSW_GROUP_OK);
    }
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 99, 0, 0), ==,
                    CVSW_GROUP_OUT_OF_GROUPS);
    g_assert_cmpuint(stats(f).buckets, ==, CVSW_BUCKETS_MAX);
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 5, 17, 0), ==,
                    CVSW_GROUP_OUT_OF_BUCKETS);
    g_assert_cmpuint(get(f, 5)->buckets_len, ==, 16);
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 5, 15, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 6, 17, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, 6, 0, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 99, 18, 0), ==,
                    CVSW_GROUP_OUT_OF_BUCKETS);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 99, 17, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, CVSW_ALL_GROUPS, 0, 0), ==,
                    CVSW_GROUP_OK);
    g_assert_cmpuint(stats(f).groups, ==, 0);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 1, CVSW_BUCKETS_MAX + 1, 0), ==,
                    CVSW_GROUP_OUT_OF_BUCKETS);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 1, CVSW_BUCKETS_MAX, 0), ==,
                    CVSW_GROUP_OK);
}

/* Chains of more than two groups, and loops, are refused. */
static void test_chains(Fixture *f, const void *unused)
{
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 1, 1, 1), ==, CVSW_GROUP_LOOP);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 1, 1, 2), ==, CVSW_GROUP_NOWHERE);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 2, 2, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 1, 2, 2), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 3, 1, 1), ==,
                    CVSW_GROUP_CHAINING);
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 2, 1, 1), ==, CVSW_GROUP_LOOP);
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 2, 1, 2), ==, CVSW_GROUP_LOOP);
    g_assert_cmpint(group(f, CVSW_GROUP_ADD, 3, 1, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 2, 1, 3), ==,
                    CVSW_GROUP_CHAINING);
    g_assert_cmpuint(get(f, 2)->buckets_len, ==, 2);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, 2, 0, 0), ==,
                    CVSW_GROUP_CHAINED);
    g_assert_nonnull(get(f, 2));
    g_assert_cmpint(group(f, CVSW_GROUP_MODIFY, 1, 1, 3), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, 2, 0, 0), ==, CVSW_GROUP_OK);
    g_assert_cmpint(group(f, CVSW_GROUP_DELETE, CVSW_ALL_GROUPS, 0, 0), ==,
                    CVSW_GROUP_OK);
    g_assert_cmpuint(stats(f).groups, ==, 0);
}

/* A bucket with GROUP must have no other action. */
static void test_mixed(Fixture *f, const void *unused)
{
    for (unsigned at = 0; at < 2; at++) {
        g_auto(CvswGroupMod) mod = { .command = CVSW_GROUP_ADD, .id = 1 };

        group(f, CVSW_GROUP_ADD, 2, 1, 0);
        mod.buckets_len = 1;
        mod.buckets = g_new0(CvswGroupBucket, 1);
        mod.buckets[0].actions_len = 2;
        mod.buckets[0].actions = g_new0(CvswAction, 2);
        mod.buckets[0].actions[at].type = CVSW_ACTION_GROUP;
        mod.buckets[0].actions[at].group = 2;
        mod.buckets[0].actions[!at].type = CVSW_ACTION_POP_VLAN;
        g_assert_cmpint(cvsw_table_group_mod(f->table, &mod, 0), ==,
                        CVSW_GROUP_CHAINING);
    }
}

static void list_id(const CvswGroup *g, void *data)
{
    g_string_append_printf(data, " %u", g->id);
}

/* Groups are listed in an order in which they can be added. */
static void test_order(Fixture *f, const void *unused)
{
    g_autoptr(GString) order = g_string_new(NULL);

    group(f, CVSW_GROUP_ADD, 9, 1, 0);
    group(f, CVSW_GROUP_ADD, 1, 1, 9);
    group(f, CVSW_GROUP_ADD, 4, 1, 0);
    group(f, CVSW_GROUP_ADD, 0, 2, 4);
    cvsw_groups_foreach(cvsw_table_groups(f->table), list_id, order);
    g_assert_cmpstr(order->str, ==, " 4 9 0 1");
}

/* A flow may only name an existing group, and is deleted with it. */
static void test_flows(Fixture *f, const void *unused)
{
    CvswFlowMod mod = to_group(CVSW_ADD, 1, 7);

    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_NO_GROUP);
    group(f, CVSW_GROUP_ADD, 7, 1, 0);
    group(f, CVSW_GROUP_ADD, 8, 1, 0);
    mod.flags = CVSW_FLOW_SEND_REMOVED;
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_OK);
    g_assert_cmpint(run(f, to_group(CVSW_ADD, 2, 8), 0), ==, CVSW_FLOW_OK);
    add(f, 3, 5, 3);
    mod = to_group(CVSW_MODIFY, 3, 9);
    g_assert_cmpint(run(f, mod, 0), ==, CVSW_FLOW_NO_GROUP);
    g_assert_cmpuint(cvsw_table_group_refs(f->table, 7), ==, 1);
    group(f, CVSW_GROUP_ADD, 1, 1, 7);
    g_assert_cmpuint(cvsw_table_group_refs(f->table, 7), ==, 2);
    group(f, CVSW_GROUP_DELETE, 1, 0, 0);
    g_assert_cmpuint(f->told.num, ==, 0);
    group(f, CVSW_GROUP_DELETE, 7, 0, 0);
    g_assert_cmpuint(f->told.num, ==, 1);
    g_assert_cmpint(f->told.why, ==, CVSW_REMOVED_GROUP);
    g_assert_cmpuint(found(f, 1), ==, 0);
    g_assert_cmpuint(found(f, 2), ==, 2);
    g_assert_cmpuint(found(f, 3), ==, 3);
    group(f, CVSW_GROUP_DELETE, CVSW_ALL_GROUPS, 0, 0);
    g_assert_cmpuint(found(f, 2), ==, 0);
    g_assert_cmpuint(found(f, 3), ==, 3);
}

/* A flow from another host needs its groups, too. */
static void test_take_over(Fixture *f, const void *unused)
{
    static const CvswPast past;
    CvswFlowMod mod = to_group(CVSW_ADD, 1, 7);

    g_assert_cmpint(cvsw_table_take_over(f->table, &mod, &past, 0), ==,
                    CVSW_FLOW_NO_GROUP);
    group(f, CVSW_GROUP_ADD, 7, 1, 0);
    g_assert_cmpint(cvsw_table_take_over(f->table, &mod, &past, 0), ==,
                    CVSW_FLOW_OK);
}

/* Section 6.4: out_group restricts DELETE. */
static void test_out_group(Fixture *f, const void *unused)
{
    CvswFlowMod all = mod_of(CVSW_DELETE, 0, 0, 0);

    group(f, CVSW_GROUP_ADD, 7, 1, 0);
    group(f, CVSW_GROUP_ADD, 8, 1, 0);
    run(f, to_group(CVSW_ADD, 1, 7), 0);
    run(f, to_group(CVSW_ADD, 2, 8), 0);
    add(f, 3, 5, 3);
    all.out_group = 9;
    run(f, all, 0);
    g_assert_cmpuint(num_entries(f), ==, 3);
    all.out_group = 8;
    run(f, all, 0);
    g_assert_cmpuint(found(f, 1), ==, 1);
    g_assert_cmpuint(found(f, 2), ==, 0);
    g_assert_cmpuint(found(f, 3), ==, 3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(Fixture *f, const void *unused);
    } tests[] = {
        { "commands", test_commands },
        { "room", test_room },
        { "chains", test_chains },
        { "mixed", test_mixed },
        { "order", test_order },
        { "flows", test_flows },
        { "take-over", test_take_over },
        { "out-group", test_out_group },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/cvsw/group/%s",
                                                tests[i].name);

        g_test_add(path, Fixture, NULL, begin, tests[i].test, end);
    }
    return g_test_run();
}
