/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of a flow table, by number */
#include "hw/net/cvsw/flow/group.h"

struct CvswGroups {
    GHashTable *by_id;          /* CvswGroup by number */
    CvswGroupsStats stats;
};

static void free_buckets(CvswGroupBucket *buckets, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        g_free(buckets[i].actions);
    }
    g_free(buckets);
}

void cvsw_group_mod_clear(CvswGroupMod *mod)
{
    free_buckets(mod->buckets, mod->buckets_len);
    mod->buckets = NULL;
    mod->buckets_len = 0;
}

static void free_group(void *data)
{
    CvswGroup *group = data;

    free_buckets(group->buckets, group->buckets_len);
    g_free(group);
}

CvswGroups *cvsw_groups_new(void)
{
    CvswGroups *groups = g_new0(CvswGroups, 1);

    groups->by_id = g_hash_table_new_full(NULL, NULL, NULL, free_group);
    return groups;
}

void cvsw_groups_free(CvswGroups *groups)
{
    g_hash_table_destroy(groups->by_id);
    g_free(groups);
}

CvswGroup *cvsw_groups_find(const CvswGroups *groups, uint32_t id)
{
    return g_hash_table_lookup(groups->by_id, GUINT_TO_POINTER(id));
}

bool cvsw_actions_name_group(const CvswAction *actions, unsigned len,
                             uint32_t id)
{
    for (unsigned i = 0; i < len; i++) {
        if (actions[i].type == CVSW_ACTION_GROUP &&
            (id == CVSW_ALL_GROUPS || actions[i].group == id)) {
            return true;
        }
    }
    return false;
}

static unsigned count_naming(const CvswGroupBucket *buckets, unsigned len,
                             uint32_t id)
{
    unsigned count = 0;

    for (unsigned i = 0; i < len; i++) {
        count += cvsw_actions_name_group(buckets[i].actions,
                                         buckets[i].actions_len, id);
    }
    return count;
}

static bool names(const CvswGroup *group, uint32_t id)
{
    return count_naming(group->buckets, group->buckets_len, id) > 0;
}

unsigned cvsw_groups_naming(const CvswGroups *groups, uint32_t id)
{
    unsigned count = 0;
    GHashTableIter iter;
    void *group;

    g_hash_table_iter_init(&iter, groups->by_id);
    while (g_hash_table_iter_next(&iter, NULL, &group)) {
        count += count_naming(((CvswGroup *)group)->buckets,
                              ((CvswGroup *)group)->buckets_len, id);
    }
    return count;
}

/* Checks the actions of a bucket of group @id. */
static CvswGroupFault check_bucket(const CvswGroups *groups, uint32_t id,
                                   const CvswGroupBucket *bucket)
{
    for (unsigned i = 0; i < bucket->actions_len; i++) {
        const CvswAction *action = &bucket->actions[i];
        const CvswGroup *next;

        if (action->type != CVSW_ACTION_GROUP) {
            continue;
        }
        next = cvsw_groups_find(groups, action->group);
        if (action->group == id || (next && names(next, id))) {
            return CVSW_GROUP_LOOP;
        }
        if (!next) {
            return CVSW_GROUP_NOWHERE;
        }
        if (bucket->actions_len != 1 || names(next, CVSW_ALL_GROUPS)) {
            return CVSW_GROUP_CHAINING;
        }
    }
    return CVSW_GROUP_OK;
}

static CvswGroupFault check_chains(const CvswGroups *groups,
                                   const CvswGroupMod *mod)
{
    for (unsigned i = 0; i < mod->buckets_len; i++) {
        CvswGroupFault fault = check_bucket(groups, mod->id,
                                            &mod->buckets[i]);

        if (fault != CVSW_GROUP_OK) {
            return fault;
        }
    }
    return count_naming(mod->buckets, mod->buckets_len, CVSW_ALL_GROUPS) &&
           cvsw_groups_naming(groups, mod->id) ? CVSW_GROUP_CHAINING
                                               : CVSW_GROUP_OK;
}

static CvswGroupFault check(const CvswGroups *groups, const CvswGroupMod *mod,
                            const CvswGroup *old)
{
    unsigned buckets = groups->stats.buckets - (old ? old->buckets_len : 0);

    if (mod->command == CVSW_GROUP_ADD && old) {
        return CVSW_GROUP_EXISTS;
    }
    if (mod->command == CVSW_GROUP_MODIFY && !old) {
        return CVSW_GROUP_UNKNOWN;
    }
    if (!old && groups->stats.groups >= CVSW_GROUPS_MAX) {
        return CVSW_GROUP_OUT_OF_GROUPS;
    }
    if (mod->buckets_len > CVSW_BUCKETS_MAX - buckets) {
        return CVSW_GROUP_OUT_OF_BUCKETS;
    }
    return check_chains(groups, mod);
}

static CvswGroup *insert(CvswGroups *groups, uint32_t id, uint64_t now_ms)
{
    CvswGroup *group = g_new0(CvswGroup, 1);

    group->id = id;
    group->made_ms = now_ms;
    g_hash_table_insert(groups->by_id, GUINT_TO_POINTER(id), group);
    groups->stats.groups++;
    return group;
}

CvswGroupFault cvsw_groups_set(CvswGroups *groups, CvswGroupMod *mod,
                               uint64_t now_ms)
{
    CvswGroup *group = cvsw_groups_find(groups, mod->id);
    CvswGroupFault fault = check(groups, mod, group);

    if (fault != CVSW_GROUP_OK) {
        return fault;
    }
    if (!group) {
        group = insert(groups, mod->id, now_ms);
    }
    groups->stats.buckets += mod->buckets_len - group->buckets_len;
    groups->stats.changes++;
    free_buckets(group->buckets, group->buckets_len);
    group->type = mod->type;
    group->buckets_len = mod->buckets_len;
    group->buckets = g_steal_pointer(&mod->buckets);
    mod->buckets_len = 0;
    return CVSW_GROUP_OK;
}

CvswGroupFault cvsw_groups_delete(CvswGroups *groups, uint32_t id)
{
    const CvswGroup *group = cvsw_groups_find(groups, id);

    if (id == CVSW_ALL_GROUPS) {
        g_hash_table_remove_all(groups->by_id);
        groups->stats.groups = groups->stats.buckets = 0;
    } else if (cvsw_groups_naming(groups, id)) {
        return CVSW_GROUP_CHAINED;
    } else if (group) {
        groups->stats.groups--;
        groups->stats.buckets -= group->buckets_len;
        g_hash_table_remove(groups->by_id, GUINT_TO_POINTER(id));
    }
    groups->stats.changes++;
    return CVSW_GROUP_OK;
}

static int compare(const void *a, const void *b)
{
    const CvswGroup *one = *(CvswGroup *const *)a;
    const CvswGroup *other = *(CvswGroup *const *)b;
    bool goes_on = names(one, CVSW_ALL_GROUPS);

    if (goes_on != names(other, CVSW_ALL_GROUPS)) {
        return goes_on ? 1 : -1;
    }
    return one->id < other->id ? -1 : one->id > other->id;
}

void cvsw_groups_foreach(const CvswGroups *groups,
                         void (*func)(const CvswGroup *group, void *data),
                         void *data)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    GHashTableIter iter;
    void *group;

    g_hash_table_iter_init(&iter, groups->by_id);
    while (g_hash_table_iter_next(&iter, NULL, &group)) {
        g_ptr_array_add(all, group);
    }
    g_ptr_array_sort(all, compare);
    for (unsigned i = 0; i < all->len; i++) {
        func(all->pdata[i], data);
    }
}

CvswGroupsStats cvsw_groups_stats(const CvswGroups *groups)
{
    return groups->stats;
}
