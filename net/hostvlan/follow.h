/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table in force: what is at a path, as long as it is good
 *
 * One thread uses a HostvlanFollow, or a lock does.
 */
#ifndef NET_HOSTVLAN_FOLLOW_H
#define NET_HOSTVLAN_FOLLOW_H

#include "net/hostvlan/table.h"

/* A file as it was looked at last, so as not to check it twice. */
typedef struct HostvlanStamp {
    int error;                  /* errno of stat(); 0: the rest is valid */
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified, changed;
} HostvlanStamp;

typedef struct HostvlanFollow {
    char *path;
    HostvlanTable *table;       /* in force; NULL: none, nothing passes */
    /* Why what is at the path is not in force; NULL: it is. */
    GError *error;
    bool looked;                /* at the path, ever */
    bool was_superseded;        /* @table, before the look began */
    bool stays;                 /* @table is superseded and nothing newer */
    HostvlanStamp stamp;        /* if @looked */
} HostvlanFollow;

/* What a look at the path has changed; for those who tell people. */
typedef enum HostvlanFollowNews {
    HOSTVLAN_FOLLOW_NOTHING,
    HOSTVLAN_FOLLOW_TAKEN,      /* a table has come into force */
    HOSTVLAN_FOLLOW_KEPT,       /* @error; the table read last stays */
    HOSTVLAN_FOLLOW_NONE,       /* @error; none is in force */
} HostvlanFollowNews;

/**
 * hostvlan_follow_init: follow a path; does not look at it yet
 * @path: made absolute, as the program may leave its folder
 */
void hostvlan_follow_init(HostvlanFollow *f, const char *path);

/** hostvlan_follow_destroy: nobody reads the table any more. */
void hostvlan_follow_destroy(HostvlanFollow *f);

/**
 * hostvlan_follow_look: look at the path and take what is good into force
 *
 * Costs a stat() if nothing has changed, and the checks of the whole file
 * (hostvlan_table_open()) if something has. The table that was in force before
 * is closed when another takes its place.
 */
HostvlanFollowNews hostvlan_follow_look(HostvlanFollow *f);

/**
 * hostvlan_follow_begin: the first half of a look, which costs a stat()
 * @news: of the look, if that was all of it
 *
 * Returns: whether there is a file to be checked. If so, another thread may do
 * hostvlan_table_open(@f->path), and what it returns is for
 * hostvlan_follow_end(). Until then the table before it stays in force, and
 * there is no other look.
 */
bool hostvlan_follow_begin(HostvlanFollow *f, HostvlanFollowNews *news);

/**
 * hostvlan_follow_end: the second half, which costs nothing
 * @table: checked, comes into force; NULL: refused, with @error
 *
 * Takes over both.
 */
HostvlanFollowNews hostvlan_follow_end(HostvlanFollow *f, HostvlanTable *table,
                                       GError *error);

/**
 * hostvlan_follow_is_due: does the table itself say that it is to be looked?
 *
 * It has been superseded or lost. For data paths: a few loads, no call of the
 * system. True once for each reason, until the next hostvlan_follow_look().
 */
static inline bool hostvlan_follow_is_due(const HostvlanFollow *f)
{
    return f->table && !f->stays && (hostvlan_table_superseded(f->table) ||
                                     hostvlan_table_lost(f->table));
}

/**
 * hostvlan_follow_is_settled: is there nothing to wait for?
 *
 * The table at the path is in force. If not, look again now and then: what
 * mends it may be where no watch sees it.
 */
static inline bool hostvlan_follow_is_settled(const HostvlanFollow *f)
{
    return f->table && !f->error && !f->stays;
}

#endif /* NET_HOSTVLAN_FOLLOW_H */
