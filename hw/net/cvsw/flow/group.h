/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: what several flows do with their frames (OpenFlow 1.3.5 section 5.6)
 *
 * Theory of operation
 * ===================
 *
 * A group has buckets, and each of them acts on a copy of the frame: of ALL
 * there are any number, of INDIRECT there is one.  A bucket that goes on to
 * another group does nothing else, and that group has no such buckets: so the
 * way of a copy ends after two groups, and no loop can be made.
 *
 * Groups and buckets are bounded.  Memory is taken when a group is made, never
 * when a frame comes.  A table (table.h) has the groups that its flows name,
 * and carries out all commands about them.
 */
#ifndef CVSW_FLOW_GROUP_H
#define CVSW_FLOW_GROUP_H

#include <glib.h>

#include "hw/net/cvsw/flow/action.h"

/* Of one table, buckets of all groups together. */
#define CVSW_GROUPS_MAX         64u
#define CVSW_BUCKETS_MAX        1024u

/* The last number of a group; all of them, to be deleted; any one (OFPG_). */
#define CVSW_GROUP_LAST         0xffffff00u
#define CVSW_ALL_GROUPS         0xfffffffcu
#define CVSW_ANY_GROUP          0xffffffffu

typedef enum CvswGroupType {
    CVSW_GROUP_ALL,
    CVSW_GROUP_INDIRECT,
} CvswGroupType;

typedef struct CvswGroupBucket {
    unsigned actions_len;
    CvswAction *actions;        /* its own */
    uint64_t packets, octets;
} CvswGroupBucket;

typedef struct CvswGroup {
    uint32_t id;
    CvswGroupType type;
    uint64_t made_ms;           /* the table's clock */
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
    uint32_t id;                /* up to CVSW_GROUP_LAST; of DELETE also all */
    unsigned buckets_len;
    CvswGroupBucket *buckets;   /* its own; of DELETE none */
} CvswGroupMod;

typedef enum CvswGroupFault {
    CVSW_GROUP_OK,
    CVSW_GROUP_EXISTS,
    CVSW_GROUP_UNKNOWN,         /* to be modified */
    CVSW_GROUP_OUT_OF_GROUPS,
    CVSW_GROUP_OUT_OF_BUCKETS,
    CVSW_GROUP_CHAINING,        /* over more than two, or with other actions */
    CVSW_GROUP_LOOP,
    CVSW_GROUP_CHAINED,         /* to be deleted, and a bucket goes there */
    CVSW_GROUP_NOWHERE,         /* a bucket goes to one that is not there */
} CvswGroupFault;

/** cvsw_group_mod_clear: free what a GROUP_MOD has */
void cvsw_group_mod_clear(CvswGroupMod *mod);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CvswGroupMod, cvsw_group_mod_clear)

typedef struct CvswGroups CvswGroups;

CvswGroups *cvsw_groups_new(void);
void cvsw_groups_free(CvswGroups *groups);

/** cvsw_groups_find: that of a number, or NULL; does not allocate */
CvswGroup *cvsw_groups_find(const CvswGroups *groups, uint32_t id);

/**
 * cvsw_groups_set: ADD or MODIFY (section 6.5)
 * @mod: its buckets become the group's where it is carried out
 *
 * A MODIFY leaves duration and counters of the group as they are; those of its
 * buckets begin at 0.
 */
CvswGroupFault cvsw_groups_set(CvswGroups *groups, CvswGroupMod *mod,
                               uint64_t now_ms);

/**
 * cvsw_groups_delete: one, or CVSW_ALL_GROUPS; one that is not there is no
 * fault
 */
CvswGroupFault cvsw_groups_delete(CvswGroups *groups, uint32_t id);

/** cvsw_groups_naming: how many buckets go to a group */
unsigned cvsw_groups_naming(const CvswGroups *groups, uint32_t id);

/**
 * cvsw_groups_foreach: all of them, by number, but for those that go on to
 * others, which come behind those
 *
 * They can be added in that order.  @func must not add or delete any.
 */
void cvsw_groups_foreach(const CvswGroups *groups,
                         void (*func)(const CvswGroup *group, void *data),
                         void *data);

typedef struct CvswGroupsStats {
    unsigned groups, buckets;
    uint64_t changes;           /* commands that were carried out */
} CvswGroupsStats;

CvswGroupsStats cvsw_groups_stats(const CvswGroups *groups);

/** cvsw_actions_name_group: does a list have GROUP to @id, or to any (ALL)? */
bool cvsw_actions_name_group(const CvswAction *actions, unsigned len,
                             uint32_t id);

#endif /* CVSW_FLOW_GROUP_H */
