/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state file: a line for each change, and rewritten from time to time */
#ifndef HA_JOURNAL_H
#define HA_JOURNAL_H

#include "ha/service/state.h"

typedef struct Mip6HaJournal {
    char *path;                 /* NULL: no state file */
    int fd;
    unsigned lines;             /* written since the last rewrite */
    bool behind;                /* a write has failed */
    uint32_t sent;              /* its line "sent"; 0: none */
    char boot_id[MIP6_HA_BOOT_ID_LEN + 1];
    GString *line;
} Mip6HaJournal;

/** mip6_ha_clock: CLOCK_BOOTTIME in ns */
int64_t mip6_ha_clock(void);

/** mip6_ha_journal_init: @path is copied; NULL: nothing is written */
void mip6_ha_journal_init(Mip6HaJournal *j, const char *path);

void mip6_ha_journal_destroy(Mip6HaJournal *j);

/**
 * mip6_ha_journal_load: read the bindings from the file
 * @seen: see mip6_ha_state_parse(), which also sets j->sent
 *
 * A damaged file is copied to a file with the suffix ".damaged", and the damage
 * is reported in warnings.
 *
 * Returns: as mip6_ha_state_parse(); empty if there is no file
 */
GHashTable *mip6_ha_journal_load(Mip6HaJournal *j, GArray *seen,
                                 GError **errp);

/**
 * mip6_ha_journal_renew: replace the file by a new one
 * @durable: sync it to disk
 */
bool mip6_ha_journal_renew(Mip6HaJournal *j, const Mip6Agent *a, bool durable,
                           GError **errp);

/**
 * mip6_ha_journal_append: save that a binding was made, changed, or has ended
 * @b: lifetime 0 means that it has ended
 *
 * It uses one write(), so the line is kept if the process ends. After a failed
 * write, mip6_ha_journal_wants() returns true until a write succeeds.
 */
void mip6_ha_journal_append(Mip6HaJournal *j, const Mip6AgentBinding *b);

/** mip6_ha_journal_seen: save the highest number that @keys have accepted */
void mip6_ha_journal_seen(Mip6HaJournal *j, const Mip6Keys *keys);

/**
 * mip6_ha_journal_sent: save that ESP numbers up to @number may have been sent
 *
 * It saves a little more, so few calls write.
 */
void mip6_ha_journal_sent(Mip6HaJournal *j, uint64_t number);

/** mip6_ha_journal_is_lost: have others removed the file, or replaced it? */
bool mip6_ha_journal_is_lost(const Mip6HaJournal *j);

/** mip6_ha_journal_wants: must the file be rewritten? Call once a second. */
bool mip6_ha_journal_wants(const Mip6HaJournal *j, const Mip6Agent *a);

#endif /* HA_JOURNAL_H */
