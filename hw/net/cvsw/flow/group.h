/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: actions that several flows share (OpenFlow 1.3.5 section 5.6)
 *
 * Theory of operation
 * ===================
 *
 * A group has buckets, and each bucket acts on its own copy of the frame.  A
 * group of type ALL has any number of buckets, a group of type INDIRECT has
 * one.  A bucket that forwards to another group has no other action, and the
 * buckets of that second group must not forward to a group.  So a copy passes
 * at most two groups, and loops cannot occur.
 *
 * The number of groups and buckets is limited.  Memory is allocated when a
 * group is added, never when a frame is processed.  A flow table (table.h) owns
 * the groups that its flows refer to and executes all commands about them.
 */
#ifndef CVSW_FLOW_GROUP_H
#define CVSW_FLOW_GROUP_H

#include <glib.h>

#include "hw/net/cvsw/flow/action.h"

/* Limits for one table; buckets are counted over all groups. */
#define CVSW_GROUPS_MAX         64u
#define CVSW_BUCKETS_MAX        1024u

/* The last group number; all groups (DELETE only); any group (OFPG_...). */
#define CVSW_GROUP_LAST         0xffffff00u
#define CVSW_ALL_GROUPS         0xfffffffcu
#define CVSW_ANY_GROUP          0xffffffffu

typedef enum CvswGroupType {
    CVSW_GROUP_ALL,
    CVSW_GROUP_INDIRECT,
} CvswGroupType;

typedef struct CvswGroupBucket {
    unsigned actions_len;
    CvswAction *actions;        /* owned by the bucket */
    uint64_t packets, octets;
} CvswGroupBucket;

typedef struct CvswGroup {
    uint32_t id;
    CvswGroupType type;
    uint64_t made_ms;           /* on the table's clock */
    uint64_t packets, octets;
    unsigned buckets_len;
    CvswGroupBucket *buckets;
} CvswGroup;

typedef enum CvswGroupCommand {
    CVSW_GROUP_ADD,
    CVSW_GROUP_MODIFY,
    CVSW_GROUP_DELETE,
} CvswGroupCommand;

/* A GROUP_MOD. */
typedef struct CvswGroupMod {
    CvswGroupCommand command;
    CvswGroupType type;
    uint32_t id;                /* up to CVSW_GROUP_LAST; DELETE: also ALL */
    unsigned buckets_len;
    CvswGroupBucket *buckets;   /* owned by the GROUP_MOD; DELETE has none */
} CvswGroupMod;

typedef enum CvswGroupFault {
    CVSW_GROUP_OK,
    CVSW_GROUP_EXISTS,
    CVSW_GROUP_UNKNOWN,         /* MODIFY of a group that does not exist */
    CVSW_GROUP_OUT_OF_GROUPS,
    CVSW_GROUP_OUT_OF_BUCKETS,
    CVSW_GROUP_CHAINING,        /* more than two groups, or other actions */
    CVSW_GROUP_LOOP,
    CVSW_GROUP_CHAINED,         /* DELETE of a group that a bucket refers to */
    CVSW_GROUP_NOWHERE,         /* a bucket's group does not exist */
} CvswGroupFault;

/** cvsw_group_mod_clear: free the members of a GROUP_MOD */
void cvsw_group_mod_clear(CvswGroupMod *mod);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CvswGroupMod, cvsw_group_mod_clear)

typedef struct CvswGroups CvswGroups;

CvswGroups *cvsw_groups_new(void);
void cvsw_groups_free(CvswGroups *groups);

/** cvsw_groups_find: find a group, or NULL; allocates nothing */
CvswGroup *cvsw_groups_find(const CvswGroups *groups, uint32_t id);

/**
 * cvsw_groups_set: execute an ADD or MODIFY (section 6.5)
 * @mod: on success the group takes its buckets over
 *
 * MODIFY keeps the group's duration and counters; the counters of the buckets
 * start at 0.
 */
CvswGroupFault cvsw_groups_set(CvswGroups *groups, CvswGroupMod *mod,
                               uint64_t now_ms);

/**
 * cvsw_groups_delete: delete a group, or all (CVSW_ALL_GROUPS); deleting a
 * group that does not exist succeeds
 */
CvswGroupFault cvsw_groups_delete(CvswGroups *groups, uint32_t id);

/** cvsw_groups_naming: number of buckets that forward to a group */
unsigned cvsw_groups_naming(const CvswGroups *groups, uint32_t id);

/**
 * cvsw_groups_foreach: call @func for all groups, ordered by number, except
 * that groups which forward to another group come after it
 *
 * Adding the groups in this order succeeds.  @func must not add or delete
 * groups.
 */
void cvsw_groups_foreach(const CvswGroups *groups,
                         void (*func)(const CvswGroup *group, void *data),
                         void *data);

typedef struct CvswGroupsStats {
    unsigned groups, buckets;
    uint64_t changes;           /* number of commands executed */
} CvswGroupsStats;

CvswGroupsStats cvsw_groups_stats(const CvswGroups *groups);

/**
 * cvsw_actions_name_group: does a list have GROUP @id, or any if @id is ALL?
 */
bool cvsw_actions_name_group(const CvswAction *actions, unsigned len,
                             uint32_t id);

#endif /* CVSW_FLOW_GROUP_H */
