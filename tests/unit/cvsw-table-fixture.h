/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flow table, and commands about frames to one station */
#ifndef TESTS_UNIT_CVSW_TABLE_FIXTURE_H
#define TESTS_UNIT_CVSW_TABLE_FIXTURE_H

#include "cvsw-naive.h"

/* The last entry that the table reported. */
typedef struct Told {
    unsigned num;
    CvswEntry entry;
    CvswRemovedWhy why;
} Told;

typedef struct Fixture {
    CvswTable *table;
    Told told;
} Fixture;

static inline void tell(void *opaque, const CvswEntry *entry,
                        CvswRemovedWhy why)
{
    Told *told = opaque;

    told->num++;
    told->entry = *entry;
    told->why = why;
}

static inline void begin(Fixture *f, const void *unused)
{
    f->table = cvsw_table_new(8, 4, 29, tell, &f->told);
}

static inline void end(Fixture *f, const void *unused)
{
    cvsw_table_free(f->table);
}

static inline void name(CvswMatch *match, CvswField field, uint64_t number,
                        uint64_t bits)
{
    CvswValue value = naive_value(field, number & bits);
    CvswValue mask = naive_value(field, bits);

    g_assert_cmpint(cvsw_match_add(match, field, &value, &mask), ==,
                    CVSW_MATCH_OK);
}

/* A command about frames to a station, or to all if @dst is 0. */
static inline CvswFlowMod mod_of(CvswCommand command, uint64_t dst,
                                 uint16_t priority, uint64_t cookie)
{
    CvswFlowMod mod = {
        .command = command, .priority = priority, .cookie = cookie,
        .out_port = CVSW_ANY_PORT, .out_group = CVSW_ANY_GROUP,
        .actions_len = 1,
        .actions[0] = { .type = CVSW_ACTION_OUTPUT, .output.port = cookie },
    };

    if (dst) {
        name(&mod.match, CVSW_ETH_DST, dst, UINT64_MAX >> 16);
    }
    return mod;
}

static inline CvswFlowFault run(Fixture *f, CvswFlowMod mod, uint64_t now_ms)
{
    return cvsw_table_mod(f->table, &mod, now_ms);
}

static inline void add(Fixture *f, uint64_t dst, uint16_t priority,
                       uint64_t cookie)
{
    g_assert_cmpint(run(f, mod_of(CVSW_ADD, dst, priority, cookie), 0), ==,
                    CVSW_FLOW_OK);
}

static inline CvswEntry *find(Fixture *f, uint8_t dst, uint8_t src)
{
    PacketFlow flow = { .eth = { .dst = { [5] = dst }, .src = { [5] = src } } };
    CvswKey key;

    cvsw_key_of(&key, &flow, CVSW_PORT_WIRE, 0);
    return cvsw_table_find(f->table, &key);
}

/* Cookie of the entry for frames to a station; 0: there is none. */
static inline uint64_t found(Fixture *f, uint8_t dst)
{
    CvswEntry *entry = find(f, dst, 0);

    return entry ? entry->cookie : 0;
}

static inline unsigned num_entries(const Fixture *f)
{
    return cvsw_table_stats(f->table).entries;
}

#endif /* TESTS_UNIT_CVSW_TABLE_FIXTURE_H */
