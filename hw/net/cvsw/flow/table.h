/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow table: which actions apply to which frames (OpenFlow 1.0 and 1.3)
 *
 * Theory of operation
 * ===================
 *
 * Entries with the same mask form a tuple, which is a hash table of masked
 * keys.  A search visits the tuples in the order of their highest priority, so
 * it can stop as soon as no better entry is possible.  A tuple stores which
 * words of the key have mask bits, and a look-up reads only these.  There are
 * at most @masks_max tuples: an entry that needs one more is refused as "table
 * full", so a look-up has an upper bound whatever flows are added.  The hash is
 * keyed with a random number of the table, so an attacker cannot choose keys
 * that collide (index.h).
 *
 * Memory is allocated when an entry is added, never in a look-up.  A command
 * costs at most one walk through the table.
 *
 * Entries with a timeout are ordered by deadline.  A frame moves the end of an
 * idle timeout, but not the position of the entry: when the old deadline comes,
 * the entry is checked, and gets a new deadline if it was used.  So a frame
 * needs no extra work, and each entry is checked once in each idle timeout.
 *
 * A table owns the groups that its flows refer to (group.h).  So a flow never
 * refers to a group that does not exist: such a command is refused, and
 * deleting a group deletes its flows.
 */
#ifndef CVSW_FLOW_TABLE_H
#define CVSW_FLOW_TABLE_H

#include <glib.h>

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/flow/group.h"
#include "hw/net/cvsw/flow/match.h"

typedef enum CvswCommand {
    CVSW_ADD,
    CVSW_MODIFY,
    CVSW_MODIFY_STRICT,
    CVSW_DELETE,
    CVSW_DELETE_STRICT,
} CvswCommand;

/*
 * Flags of a FLOW_MOD.  ADD of OpenFlow 1.0 always has RESET_COUNTS; both
 * MODIFY commands of 1.0 have MODIFY_ADDS and MODIFY_COOKIE.  1.3 never has
 * those two.
 */
enum {
    CVSW_FLOW_SEND_REMOVED = 1 << 0,
    CVSW_FLOW_CHECK_OVERLAP = 1 << 1,   /* for ADD */
    /* Counters start at 0, also those of an entry that ADD replaces. */
    CVSW_FLOW_RESET_COUNTS = 1 << 2,
    CVSW_FLOW_MODIFY_ADDS = 1 << 3,     /* MODIFY adds if it finds no entry */
    CVSW_FLOW_MODIFY_COOKIE = 1 << 4,   /* MODIFY sets the cookie */
    CVSW_FLOW_OPENFLOW10 = 1 << 5, /* the flow was added with OpenFlow 1.0 */
};

/* Any port, in a filter. */
#define CVSW_ANY_PORT           0xffffffffu

/* A FLOW_MOD of either version. */
typedef struct CvswFlowMod {
    CvswCommand command;
    CvswMatch match;
    uint16_t priority;
    uint64_t cookie, cookie_mask;       /* the mask: for MODIFY and DELETE */
    uint16_t idle_timeout, hard_timeout;        /* seconds; 0: none */
    unsigned flags;             /* CVSW_FLOW_... */
    uint32_t out_port;          /* for DELETE; or CVSW_ANY_PORT */
    uint32_t out_group;         /* for DELETE; or CVSW_ANY_GROUP */
    unsigned actions_len;
    CvswAction actions[CVSW_ACTIONS_MAX];
} CvswFlowMod;

typedef enum CvswFlowFault {
    CVSW_FLOW_OK,
    CVSW_FLOW_TABLE_FULL,       /* too many entries, or masks */
    CVSW_FLOW_OVERLAP,
    CVSW_FLOW_NO_GROUP,         /* an action's group does not exist */
} CvswFlowFault;

/* An entry of a table.  Only the table writes it. */
typedef struct CvswEntry {
    CvswMatch match;
    uint16_t priority;
    uint16_t idle_timeout, hard_timeout;
    uint8_t flags;              /* from the command that added it */
    uint8_t actions_len;
    uint64_t cookie;
    uint64_t made_ms, used_ms;  /* on the table's clock */
    uint64_t packets, octets;
    CvswAction *actions;
} CvswEntry;

typedef enum CvswRemovedWhy {
    CVSW_REMOVED_IDLE,
    CVSW_REMOVED_HARD,
    CVSW_REMOVED_DELETED,
    CVSW_REMOVED_GROUP,         /* a group it refers to was deleted */
} CvswRemovedWhy;

typedef void CvswRemoved(void *opaque, const CvswEntry *entry,
                         CvswRemovedWhy why);

typedef struct CvswTable CvswTable;

/**
 * cvsw_table_new: create an empty table
 * @entries_max: upper bound of entries
 * @masks_max: upper bound of different masks; this bounds the time of a look-up
 * @seed: a random number, for the hash
 * @removed: called when an entry with CVSW_FLOW_SEND_REMOVED ends; must not
 *           change the table; may be NULL
 */
CvswTable *cvsw_table_new(unsigned entries_max, unsigned masks_max,
                          uint64_t seed, CvswRemoved *removed, void *opaque);

/** cvsw_table_free: @removed is not called; @table may be NULL */
void cvsw_table_free(CvswTable *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CvswTable, cvsw_table_free)

/**
 * cvsw_table_mod: execute a FLOW_MOD (OpenFlow 1.3.5 section 6.4, 1.0.1 section
 * 4.6)
 * @mod: its match must pass cvsw_match_check(); it has at most CVSW_ACTIONS_MAX
 *       actions
 *
 * ADD replaces an entry with the same match and priority.  The new entry counts
 * as created at @now_ms, and @removed is not called for the old one.  With
 * CVSW_FLOW_CHECK_OVERLAP the old entry is an overlap, as in the specification.
 * MODIFY keeps the timeouts, flags and duration of an entry.
 *
 * Returns: CVSW_FLOW_OK, or the fault; nothing is changed then
 */
CvswFlowFault cvsw_table_mod(CvswTable *table, const CvswFlowMod *mod,
                             uint64_t now_ms);

/**
 * cvsw_table_group_mod: execute a GROUP_MOD (OpenFlow 1.3.5 section 6.5)
 * @mod: on success, its buckets are taken over
 *
 * DELETE of a group also deletes the flows that refer to it.
 */
CvswGroupFault cvsw_table_group_mod(CvswTable *table, CvswGroupMod *mod,
                                    uint64_t now_ms);

/** cvsw_table_groups: the groups; only cvsw_table_group_mod() changes them */
CvswGroups *cvsw_table_groups(const CvswTable *table);

/** cvsw_table_group_refs: number of flows and groups that refer to a group */
unsigned cvsw_table_group_refs(const CvswTable *table, uint32_t id);

/* Times of an entry that comes from another table. */
typedef struct CvswPast {
    uint64_t age_ms;            /* since its creation; at most @now_ms */
    uint64_t idle_ms;           /* since its last frame; at most @age_ms */
    uint64_t packets, octets;
} CvswPast;

/**
 * cvsw_table_take_over: add an entry that comes from another table
 * @mod: the FLOW_MOD that would add it
 *
 * Entries that are added in the order of cvsw_table_foreach() keep that order.
 *
 * Returns: CVSW_FLOW_OVERLAP if its match and priority exist already
 */
CvswFlowFault cvsw_table_take_over(CvswTable *table, const CvswFlowMod *mod,
                                   const CvswPast *past, uint64_t now_ms);

/**
 * cvsw_table_find: find the entry of the highest priority that matches a key
 *
 * If several entries have the same priority, the result is any of them (as in
 * OpenFlow), but always the same one until the table changes.
 *
 * Returns: NULL if no entry matches
 */
CvswEntry *cvsw_table_find(CvswTable *table, const CvswKey *key);

/** cvsw_entry_hit: count a frame of @octets for @entry */
void cvsw_entry_hit(CvswEntry *entry, size_t octets, uint64_t now_ms);

/**
 * cvsw_table_expire: remove the entries whose timeouts are over
 *
 * If both timeouts of an entry are over, the reason is the earlier one, or the
 * hard timeout if both ended at the same time.
 *
 * Returns: time of the next call, on the table's clock; UINT64_MAX: none is
 * needed until the table changes
 */
uint64_t cvsw_table_expire(CvswTable *table, uint64_t now_ms);

/* The entries within @match, with cookie, port and group as in DELETE. */
typedef struct CvswFilter {
    CvswMatch match;
    bool strict; /* only the entry with this match and priority */
    uint16_t priority;
    uint64_t cookie, cookie_mask;
    uint32_t out_port;          /* or CVSW_ANY_PORT */
    uint32_t out_group;         /* or CVSW_ANY_GROUP or CVSW_ALL_GROUPS */
} CvswFilter;

/**
 * cvsw_table_foreach: call @func for entries that match a filter; @filter NULL:
 * all
 *
 * Entries are ordered by descending priority, and by age within a priority.
 * @func must not change the table.
 */
void cvsw_table_foreach(const CvswTable *table, const CvswFilter *filter,
                        void (*func)(const CvswEntry *entry, void *data),
                        void *data);

/* Counters of a table. */
typedef struct CvswTableStats {
    unsigned entries, entries_max, masks, masks_max;
    uint64_t lookups, matched;
} CvswTableStats;

/** cvsw_table_stats: number of entries, and of look-ups */
CvswTableStats cvsw_table_stats(const CvswTable *table);

#endif /* CVSW_FLOW_TABLE_H */
