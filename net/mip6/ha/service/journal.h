/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state file: each change is a line, and now and then the file is new */
#ifndef NET_MIP6_HA_JOURNAL_H
#define NET_MIP6_HA_JOURNAL_H

#include "net/mip6/ha/service/state.h"

typedef struct Mip6HaJournal {
    char *path;                 /* NULL: there is no state file */
    int fd;
    unsigned lines;             /* since the file was new */
    bool behind;                /* a line could not be written */
    char boot_id[MIP6_HA_BOOT_ID_LEN + 1];
    GString *line;
} Mip6HaJournal;

/** mip6_ha_clock: CLOCK_BOOTTIME in ns */
int64_t mip6_ha_clock(void);

/** mip6_ha_journal_init: @path is copied; with NULL, nothing is written */
void mip6_ha_journal_init(Mip6HaJournal *j, const char *path);

void mip6_ha_journal_destroy(Mip6HaJournal *j);

/**
 * mip6_ha_journal_load: the bindings that the file has
 * @seen: as for mip6_ha_state_parse()
 *
 * One that is damaged is copied beside it, with ".damaged" behind its name, and
 * what is wrong with it is told by warnings.
 *
 * Returns: as mip6_ha_state_parse(); empty if there is no file
 */
GHashTable *mip6_ha_journal_load(const Mip6HaJournal *j, GArray *seen,
                                 GError **errp);

/**
 * mip6_ha_journal_renew: write a new file in the place of the old one
 * @durable: wait until the disk has it
 */
bool mip6_ha_journal_renew(Mip6HaJournal *j, const Mip6Agent *a, bool durable,
                           GError **errp);

/**
 * mip6_ha_journal_append: a binding is made, changed, or has ended
 * @b: with a lifetime of 0, it has ended
 *
 * One write(). The line is not lost if the process ends. If the file cannot be
 * written, mip6_ha_journal_wants() is true until it can.
 */
void mip6_ha_journal_append(Mip6HaJournal *j, const Mip6AgentBinding *b);

/** mip6_ha_journal_seen: the same for a number that @keys have seen */
void mip6_ha_journal_seen(Mip6HaJournal *j, const Mip6Keys *keys);

/** mip6_ha_journal_wants: should the file be renewed? Ask once a second. */
bool mip6_ha_journal_wants(const Mip6HaJournal *j, const Mip6Agent *a);

#endif /* NET_MIP6_HA_JOURNAL_H */
