/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands and timeouts of a flow table (theory of operation: table.h) */
#include "base/units.h"
#include "hw/net/cvsw/flow/index.h"

struct CvswTable {
    CvswIndex index;
    CvswGroups *groups;
    GSequence *deadlines;       /* of nodes, earliest deadline first */
    CvswTableStats stats;
    CvswRemoved *removed;
    void *opaque;
};

CvswTable *cvsw_table_new(unsigned entries_max, unsigned masks_max,
                          uint64_t seed, CvswRemoved *removed, void *opaque)
{
    CvswTable *table = g_new0(CvswTable, 1);

    cvsw_index_init(&table->index, masks_max, seed);
    table->groups = cvsw_groups_new();
    table->deadlines = g_sequence_new(NULL);
    table->stats.entries_max = entries_max;
    table->stats.masks_max = masks_max;
    table->removed = removed;
    table->opaque = opaque;
    return table;
}

static void node_free(CvswNode *node)
{
    g_free(node->entry.actions);
    g_free(node);
}

static void end_node(void *node, void *unused)
{
    node_free(node);
}

void cvsw_table_free(CvswTable *table)
{
    if (!table) {
        return;
    }
    cvsw_index_clear(&table->index, end_node);
    cvsw_groups_free(table->groups);
    g_sequence_free(table->deadlines);
    g_free(table);
}

static uint64_t hard_end(const CvswEntry *entry)
{
    return entry->hard_timeout ?
           entry->made_ms + entry->hard_timeout * MS_PER_S : UINT64_MAX;
}

static uint64_t idle_end(const CvswEntry *entry)
{
    return entry->idle_timeout ?
           entry->used_ms + entry->idle_timeout * MS_PER_S : UINT64_MAX;
}

static int compare_deadlines(const void *a, const void *b, void *unused)
{
    const CvswNode *one = a, *other = b;

    return one->deadline < other->deadline ? -1 :
           one->deadline > other->deadline;
}

static void unschedule(CvswNode *node)
{
    if (node->due) {
        g_sequence_remove(node->due);
        node->due = NULL;
    }
}

/* Updates the deadline after the timeouts or their start times changed. */
static void schedule(CvswTable *table, CvswNode *node)
{
    unschedule(node);
    node->deadline = MIN(hard_end(&node->entry), idle_end(&node->entry));
    if (node->deadline != UINT64_MAX) {
        node->due = g_sequence_insert_sorted(table->deadlines, node,
                                             compare_deadlines, NULL);
    }
}

static void end(CvswTable *table, CvswNode *node, CvswRemovedWhy why)
{
    unschedule(node);
    cvsw_index_remove(&table->index, node);
    table->stats.entries--;
    if (table->removed && node->entry.flags & CVSW_FLOW_SEND_REMOVED) {
        table->removed(table->opaque, &node->entry, why);
    }
    node_free(node);
}

static void reset_counts(CvswEntry *entry)
{
    entry->packets = 0;
    entry->octets = 0;
}

static void set_actions(CvswEntry *entry, const CvswFlowMod *mod)
{
    g_assert(mod->actions_len <= CVSW_ACTIONS_MAX);
    g_free(entry->actions);
    entry->actions_len = mod->actions_len;
    entry->actions = g_memdup2(mod->actions,
                               mod->actions_len * sizeof(*mod->actions));
}

/* Initializes an entry, except for match, priority and counters. */
static void begin(CvswTable *table, CvswNode *node, const CvswFlowMod *mod,
                  uint64_t now_ms)
{
    CvswEntry *entry = &node->entry;

    entry->cookie = mod->cookie;
    entry->idle_timeout = mod->idle_timeout;
    entry->hard_timeout = mod->hard_timeout;
    entry->flags = mod->flags;
    entry->made_ms = entry->used_ms = now_ms;
    set_actions(entry, mod);
    schedule(table, node);
}

static void replace(CvswTable *table, CvswNode *node, const CvswFlowMod *mod,
                    uint64_t now_ms)
{
    if (mod->flags & CVSW_FLOW_RESET_COUNTS) {
        reset_counts(&node->entry);
    }
    cvsw_index_renew(&table->index, node);
    begin(table, node, mod, now_ms);
}

/* Returns: NULL if there are too many entries or masks */
static CvswNode *insert(CvswTable *table, const CvswFlowMod *mod,
                        uint64_t now_ms)
{
    CvswNode *node;

    if (table->stats.entries >= table->stats.entries_max) {
        return NULL;
    }
    node = g_new0(CvswNode, 1);
    node->entry.match = mod->match;
    node->entry.priority = mod->priority;
    if (!cvsw_index_insert(&table->index, node)) {
        node_free(node);
        return NULL;
    }
    table->stats.entries++;
    begin(table, node, mod, now_ms);
    return node;
}

static CvswFlowFault add(CvswTable *table, const CvswFlowMod *mod,
                         uint64_t now_ms)
{
    CvswNode *node;

    if (mod->flags & CVSW_FLOW_CHECK_OVERLAP &&
        cvsw_index_overlaps(&table->index, &mod->match, mod->priority)) {
        return CVSW_FLOW_OVERLAP;
    }
    node = cvsw_index_exact(&table->index, &mod->match, mod->priority);
    if (node) {
        replace(table, node, mod, now_ms);
        return CVSW_FLOW_OK;
    }
    return insert(table, mod, now_ms) ? CVSW_FLOW_OK : CVSW_FLOW_TABLE_FULL;
}

/* @out_port, @out_group: a number, or CVSW_ANY_... */
static GPtrArray *select_by(CvswTable *table, const CvswFlowMod *mod,
                            bool strict, uint32_t out_port,
                            uint32_t out_group)
{
    CvswFilter filter = {
        .match = mod->match,
        .strict = strict,
        .priority = mod->priority,
        .cookie = mod->cookie,
        .cookie_mask = mod->cookie_mask,
        .out_port = out_port,
        .out_group = out_group,
    };

    return cvsw_index_select(&table->index, &filter);
}

static CvswFlowFault modify(CvswTable *table, const CvswFlowMod *mod,
                            bool strict, uint64_t now_ms)
{
    g_autoptr(GPtrArray) found = select_by(table, mod, strict, CVSW_ANY_PORT,
                                           CVSW_ANY_GROUP);

    if (found->len == 0 && mod->flags & CVSW_FLOW_MODIFY_ADDS) {
        return add(table, mod, now_ms);
    }
    for (unsigned i = 0; i < found->len; i++) {
        CvswEntry *entry = &((CvswNode *)found->pdata[i])->entry;

        set_actions(entry, mod);
        if (mod->flags & CVSW_FLOW_RESET_COUNTS) {
            reset_counts(entry);
        }
        if (mod->flags & CVSW_FLOW_MODIFY_COOKIE) {
            entry->cookie = mod->cookie;
        }
    }
    return CVSW_FLOW_OK;
}

static CvswFlowFault delete(CvswTable *table, const CvswFlowMod *mod,
                            bool strict)
{
    g_autoptr(GPtrArray) found = select_by(table, mod, strict, mod->out_port,
                                           mod->out_group);

    for (unsigned i = 0; i < found->len; i++) {
        end(table, found->pdata[i], CVSW_REMOVED_DELETED);
    }
    return CVSW_FLOW_OK;
}

static bool has_its_groups(const CvswTable *table, const CvswFlowMod *mod)
{
    for (unsigned i = 0; i < mod->actions_len; i++) {
        const CvswAction *action = &mod->actions[i];

        if (action->type == CVSW_ACTION_GROUP &&
            !cvsw_groups_find(table->groups, action->group)) {
            return false;
        }
    }
    return true;
}

CvswFlowFault cvsw_table_mod(CvswTable *table, const CvswFlowMod *mod,
                             uint64_t now_ms)
{
    if (!has_its_groups(table, mod)) {
        return CVSW_FLOW_NO_GROUP;
    }
    switch (mod->command) {
    case CVSW_ADD:
        return add(table, mod, now_ms);
    case CVSW_MODIFY:
    case CVSW_MODIFY_STRICT:
        return modify(table, mod, mod->command == CVSW_MODIFY_STRICT, now_ms);
    case CVSW_DELETE:
    case CVSW_DELETE_STRICT:
        return delete(table, mod, mod->command == CVSW_DELETE_STRICT);
    }
    g_assert_not_reached();
}

static GPtrArray *select_naming(const CvswTable *table, uint32_t id)
{
    CvswFilter filter = { .out_port = CVSW_ANY_PORT, .out_group = id };

    return cvsw_index_select(&table->index, &filter);
}

CvswGroupFault cvsw_table_group_mod(CvswTable *table, CvswGroupMod *mod,
                                    uint64_t now_ms)
{
    g_autoptr(GPtrArray) found = NULL;
    CvswGroupFault fault;

    if (mod->command != CVSW_GROUP_DELETE) {
        return cvsw_groups_set(table->groups, mod, now_ms);
    }
    fault = cvsw_groups_delete(table->groups, mod->id);
    if (fault != CVSW_GROUP_OK) {
        return fault;
    }
    found = select_naming(table, mod->id);
    for (unsigned i = 0; i < found->len; i++) {
        end(table, found->pdata[i], CVSW_REMOVED_GROUP);
    }
    return CVSW_GROUP_OK;
}

CvswGroups *cvsw_table_groups(const CvswTable *table)
{
    return table->groups;
}

unsigned cvsw_table_group_refs(const CvswTable *table, uint32_t id)
{
    g_autoptr(GPtrArray) found = select_naming(table, id);

    return found->len + cvsw_groups_naming(table->groups, id);
}

CvswFlowFault cvsw_table_take_over(CvswTable *table, const CvswFlowMod *mod,
                                   const CvswPast *past, uint64_t now_ms)
{
    CvswNode *node;

    if (!has_its_groups(table, mod)) {
        return CVSW_FLOW_NO_GROUP;
    }
    if (cvsw_index_exact(&table->index, &mod->match, mod->priority)) {
        return CVSW_FLOW_OVERLAP;
    }
    node = insert(table, mod, now_ms);
    if (!node) {
        return CVSW_FLOW_TABLE_FULL;
    }
    node->entry.made_ms = now_ms - past->age_ms;
    node->entry.used_ms = now_ms - past->idle_ms;
    node->entry.packets = past->packets;
    node->entry.octets = past->octets;
    schedule(table, node);
    return CVSW_FLOW_OK;
}

CvswEntry *cvsw_table_find(CvswTable *table, const CvswKey *key)
{
    CvswNode *node = cvsw_index_find(&table->index, key);

    table->stats.lookups++;
    if (!node) {
        return NULL;
    }
    table->stats.matched++;
    return &node->entry;
}

void cvsw_entry_hit(CvswEntry *entry, size_t octets, uint64_t now_ms)
{
    entry->packets++;
    entry->octets += octets;
    entry->used_ms = now_ms;
}

/* A node's deadline has come; the entry's real deadline may be later. */
static void end_if_over(CvswTable *table, CvswNode *node, uint64_t now_ms)
{
    uint64_t hard = hard_end(&node->entry), idle = idle_end(&node->entry);

    if (MIN(hard, idle) > now_ms) {
        schedule(table, node);
    } else {
        end(table, node, hard <= idle ? CVSW_REMOVED_HARD : CVSW_REMOVED_IDLE);
    }
}

uint64_t cvsw_table_expire(CvswTable *table, uint64_t now_ms)
{
    while (!g_sequence_is_empty(table->deadlines)) {
        GSequenceIter *first = g_sequence_get_begin_iter(table->deadlines);
        CvswNode *node = g_sequence_get(first);

        if (node->deadline > now_ms) {
            return node->deadline;
        }
        end_if_over(table, node, now_ms);
    }
    return UINT64_MAX;
}

void cvsw_table_foreach(const CvswTable *table, const CvswFilter *filter,
                        void (*func)(const CvswEntry *entry, void *data),
                        void *data)
{
    g_autoptr(GPtrArray) found = cvsw_index_select(&table->index, filter);

    for (unsigned i = 0; i < found->len; i++) {
        func(&((CvswNode *)found->pdata[i])->entry, data);
    }
}

CvswTableStats cvsw_table_stats(const CvswTable *table)
{
    CvswTableStats stats = table->stats;

    stats.masks = table->index.tuples->len;
    return stats;
}
