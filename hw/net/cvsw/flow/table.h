/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow table: what to do with which frames (OpenFlow 1.0 and 1.3)
 *
 * Theory of operation
 * ===================
 *
 * Entries that have the same mask are one tuple: a hash table of masked keys.
 * Tuples are tried in the order of their greatest priority, so that a search
 * ends where no better one can come.  A tuple keeps which words of the key its
 * mask touches, and looks at no others.  There are at most @masks_max tuples:
 * one that would be more is refused as "table full", so that a look-up has a
 * bound that no set of flows moves.  The hash is keyed by a random number of
 * the table's own, so that nobody can choose keys that meet (index.h).
 *
 * Memory is taken when an entry is made, never at a look-up.  A command costs
 * at most one walk through the table.
 *
 * Entries that have a timeout are in the order of their deadlines.  A frame
 * moves the end of an idle timeout, but not the entry: when the deadline comes
 * it is looked at, and gets a new one if it was used meanwhile.  So a frame
 * costs nothing more, and of each entry one look an idle timeout is all.
 *
 * A table has the groups that its flows name (group.h), so that a flow never
 * names one that is not there: what would is refused, and flows end with their
 * group.
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
 * Flags of a FLOW_MOD.  OpenFlow 1.0's ADD has RESET_COUNTS always, its two
 * MODIFYs have MODIFY_ADDS and MODIFY_COOKIE; 1.3 has neither of those.
 */
enum {
    CVSW_FLOW_SEND_REMOVED = 1 << 0,
    CVSW_FLOW_CHECK_OVERLAP = 1 << 1,   /* of ADD */
    /* Counters begin at 0, also those of what an ADD replaces. */
    CVSW_FLOW_RESET_COUNTS = 1 << 2,
    CVSW_FLOW_MODIFY_ADDS = 1 << 3,     /* where it finds none */
    CVSW_FLOW_MODIFY_COOKIE = 1 << 4,   /* the cookie becomes the command's */
    CVSW_FLOW_OPENFLOW10 = 1 << 5,      /* who made it speaks OpenFlow 1.0 */
};

/* Port of a filter that takes any. */
#define CVSW_ANY_PORT           0xffffffffu

/* A FLOW_MOD of either version. */
typedef struct CvswFlowMod {
    CvswCommand command;
    CvswMatch match;
    uint16_t priority;
    uint64_t cookie, cookie_mask;       /* the mask: of MODIFY and DELETE */
    uint16_t idle_timeout, hard_timeout;        /* seconds; 0: none */
    unsigned flags;             /* CVSW_FLOW_... */
    uint32_t out_port;          /* of DELETE; or CVSW_ANY_PORT */
    uint32_t out_group;         /* of DELETE; or CVSW_ANY_GROUP */
    unsigned actions_len;
    CvswAction actions[CVSW_ACTIONS_MAX];
} CvswFlowMod;

typedef enum CvswFlowFault {
    CVSW_FLOW_OK,
    CVSW_FLOW_TABLE_FULL,       /* of entries, or of masks */
    CVSW_FLOW_OVERLAP,
    CVSW_FLOW_NO_GROUP,         /* an action goes to one that is not there */
} CvswFlowFault;

/* An entry of a table.  Only the table changes it. */
typedef struct CvswEntry {
    CvswMatch match;
    uint16_t priority;
    uint64_t cookie;
    uint16_t idle_timeout, hard_timeout;
    unsigned flags;             /* of the command that made it */
    uint64_t made_ms, used_ms;  /* the table's clock */
    uint64_t packets, octets;
    unsigned actions_len;
    CvswAction *actions;
} CvswEntry;

typedef enum CvswRemovedWhy {
    CVSW_REMOVED_IDLE,
    CVSW_REMOVED_HARD,
    CVSW_REMOVED_DELETED,
    CVSW_REMOVED_GROUP,         /* one that it names was deleted */
} CvswRemovedWhy;

typedef void CvswRemoved(void *opaque, const CvswEntry *entry,
                         CvswRemovedWhy why);

typedef struct CvswTable CvswTable;

/**
 * cvsw_table_new: an empty table
 * @entries_max: more are refused
 * @masks_max: more masks are refused; a bound of a look-up
 * @seed: random, of the hash
 * @removed: called for each entry that has CVSW_FLOW_SEND_REMOVED and ends;
 *           it must not change the table. NULL: nobody wants to know
 */
CvswTable *cvsw_table_new(unsigned entries_max, unsigned masks_max,
                          uint64_t seed, CvswRemoved *removed, void *opaque);

/** cvsw_table_free: NULL is welcome; nobody is told of the entries */
void cvsw_table_free(CvswTable *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CvswTable, cvsw_table_free)

/**
 * cvsw_table_mod: carry out a FLOW_MOD (OpenFlow 1.3.5 section 6.4, 1.0.1
 * section 4.6)
 * @mod: whose match is one that cvsw_match_check() takes; of no more than
 *       CVSW_ACTIONS_MAX actions
 *
 * An ADD takes the place of the entry that has the same match and priority; it
 * counts as made now, and nobody is told of the other.  With
 * CVSW_FLOW_CHECK_OVERLAP such an entry is an overlap, as the specification has
 * it.  A MODIFY leaves timeouts, flags and duration of an entry as they are.
 *
 * Returns: CVSW_FLOW_OK, or why nothing was changed
 */
CvswFlowFault cvsw_table_mod(CvswTable *table, const CvswFlowMod *mod,
                             uint64_t now_ms);

/**
 * cvsw_table_group_mod: carry out a GROUP_MOD (OpenFlow 1.3.5 section 6.5)
 * @mod: its buckets are taken where it is carried out
 *
 * The flows that name a group end with it.
 */
CvswGroupFault cvsw_table_group_mod(CvswTable *table, CvswGroupMod *mod,
                                    uint64_t now_ms);

/** cvsw_table_groups: its groups; cvsw_table_group_mod() changes them */
CvswGroups *cvsw_table_groups(const CvswTable *table);

/** cvsw_table_group_refs: how many flows and groups go to a group */
unsigned cvsw_table_group_refs(const CvswTable *table, uint32_t id);

/* An entry's life in another table. */
typedef struct CvswPast {
    uint64_t age_ms;            /* since it was made; at most @now_ms */
    uint64_t idle_ms;           /* since its last frame; at most @age_ms */
    uint64_t packets, octets;
} CvswPast;

/**
 * cvsw_table_take_over: add an entry that comes from another table
 * @mod: what would add it
 *
 * Entries that come in the order of cvsw_table_foreach() keep it.
 *
 * Returns: CVSW_FLOW_OVERLAP if its match and priority are there already
 */
CvswFlowFault cvsw_table_take_over(CvswTable *table, const CvswFlowMod *mod,
                                   const CvswPast *past, uint64_t now_ms);

/**
 * cvsw_table_find: the entry of the greatest priority that meets a key
 *
 * Of several with the same priority any is found (as OpenFlow has it), the
 * same for the same key while the table does not change.
 *
 * Returns: NULL if none does
 */
CvswEntry *cvsw_table_find(CvswTable *table, const CvswKey *key);

/** cvsw_entry_hit: a frame of @octets was found to belong to @entry */
void cvsw_entry_hit(CvswEntry *entry, size_t octets, uint64_t now_ms);

/**
 * cvsw_table_expire: end the entries whose time has come
 *
 * If both timeouts of an entry are over, the one that ended first is the
 * reason, and of two that ended together the hard one.
 *
 * Returns: when to call again, on the table's clock; UINT64_MAX: never, until
 * the table is changed
 */
uint64_t cvsw_table_expire(CvswTable *table, uint64_t now_ms);

/* The entries within @match, by cookie, port and group as for DELETE. */
typedef struct CvswFilter {
    CvswMatch match;
    bool strict;                /* @match and @priority are the entry's own */
    uint16_t priority;
    uint64_t cookie, cookie_mask;
    uint32_t out_port;          /* or CVSW_ANY_PORT */
    uint32_t out_group;         /* or CVSW_ANY_GROUP; or CVSW_ALL_GROUPS */
} CvswFilter;

/**
 * cvsw_table_foreach: the entries that a filter takes; @filter NULL: all
 *
 * They come from the greatest priority to the least, those of one priority in
 * the order in which they were made.  @func must not change the table.
 */
void cvsw_table_foreach(const CvswTable *table, const CvswFilter *filter,
                        void (*func)(const CvswEntry *entry, void *data),
                        void *data);

/* Counters of a table. */
typedef struct CvswTableStats {
    unsigned entries, entries_max, masks, masks_max;
    uint64_t lookups, matched;
} CvswTableStats;

/** cvsw_table_stats: how full it is, and how often it was asked */
CvswTableStats cvsw_table_stats(const CvswTable *table);

#endif /* CVSW_FLOW_TABLE_H */
