/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simple flow table that follows the specification: lists of fields, and a
 * search through all entries.  Tests compare CVSW's table with it.
 */
#ifndef TESTS_UNIT_CVSW_NAIVE_H
#define TESTS_UNIT_CVSW_NAIVE_H

#include "hw/net/cvsw/flow/table.h"

/* A field's value, and for a match its mask. */
typedef struct NaiveField {
    bool is;                    /* a match names it; a frame has it */
    CvswValue value, mask;
} NaiveField;

/* A match, or a frame. */
typedef struct NaiveFields {
    NaiveField field[CVSW_FIELDS];
} NaiveFields;

typedef struct NaiveEntry {
    NaiveFields match;
    uint16_t priority, idle_timeout, hard_timeout;
    uint64_t cookie, made_ms, used_ms, packets, octets;
    unsigned flags;
    uint32_t port;              /* of its only action */
} NaiveEntry;

typedef struct NaiveRemoved {
    uint64_t cookie;
    uint16_t priority;
    uint64_t packets;
    CvswRemovedWhy why;
} NaiveRemoved;

typedef struct NaiveTable {
    unsigned entries_max;
    GPtrArray *entries;         /* NaiveEntry, in the order of their making */
    GArray *removed;            /* NaiveRemoved */
} NaiveTable;

/** naive_new: an empty table, to be freed with naive_free() */
NaiveTable *naive_new(unsigned entries_max);
void naive_free(NaiveTable *table);

/** naive_frame: the fields of a frame */
void naive_frame(NaiveFields *frame, const PacketFlow *flow, uint32_t in_port,
                 uint64_t tunnel_id);

/** naive_value: write a value of up to 64 bits */
CvswValue naive_value(CvswField field, uint64_t number);

/** naive_match: the same match, with cvsw_match_add() */
CvswMatch naive_match(const NaiveFields *match);

/* The same as the functions cvsw_match_... */
bool naive_meets(const NaiveFields *match, const NaiveFields *frame);
bool naive_equal(const NaiveFields *a, const NaiveFields *b);
bool naive_within(const NaiveFields *narrow, const NaiveFields *wide);
bool naive_overlaps(const NaiveFields *a, const NaiveFields *b);

/**
 * naive_mod: execute a command
 * @mod: without its match, which is @match; one action, OUTPUT
 */
CvswFlowFault naive_mod(NaiveTable *table, const CvswFlowMod *mod,
                        const NaiveFields *match, uint64_t now_ms);

/** naive_find: an entry of the highest priority that matches, or NULL */
NaiveEntry *naive_find(const NaiveTable *table, const NaiveFields *frame);

/** naive_same: the entry of this match and priority, or NULL */
NaiveEntry *naive_same(const NaiveTable *table, const NaiveFields *match,
                       uint16_t priority);

/** naive_takes: does MODIFY or DELETE select the entry? */
bool naive_takes(const NaiveEntry *entry, const CvswFlowMod *mod,
                 const NaiveFields *match);

/** naive_expire: Returns: the next time of expiry, or UINT64_MAX */
uint64_t naive_expire(NaiveTable *table, uint64_t now_ms);

#endif /* TESTS_UNIT_CVSW_NAIVE_H */
