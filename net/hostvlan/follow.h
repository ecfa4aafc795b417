/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table in force: the last valid file at a path
 *
 * A HostvlanFollow may be used by one thread only, or under a lock.
 */
#ifndef NET_HOSTVLAN_FOLLOW_H
#define NET_HOSTVLAN_FOLLOW_H

#include "net/hostvlan/table.h"

/* The state of the path at the last look, to avoid a second check. */
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
    /* Why the file at the path is not in force; NULL: it is in force. */
    GError *error;
    bool looked;                /* there was a look at the path */
    bool was_superseded;        /* @table had the mark before the look */
    bool keep_superseded;       /* @table has the mark, no newer file exists */
    HostvlanStamp stamp;        /* valid if @looked */
} HostvlanFollow;

/* The result of a look, for messages. */
typedef enum HostvlanFollowResult {
    HOSTVLAN_FOLLOW_NOTHING,
    HOSTVLAN_FOLLOW_TAKEN,      /* a new table is in force */
    HOSTVLAN_FOLLOW_KEPT,       /* @error; the previous table stays */
    HOSTVLAN_FOLLOW_NONE,       /* @error; no table is in force */
} HostvlanFollowResult;

/**
 * hostvlan_follow_init: follow a path, without a look at it
 * @path: converted to an absolute path, because the program may change its
 *        working folder
 */
void hostvlan_follow_init(HostvlanFollow *f, const char *path);

/** hostvlan_follow_destroy: no thread may read the table any more. */
void hostvlan_follow_destroy(HostvlanFollow *f);

/**
 * hostvlan_follow_look: look at the path and put a valid file into force
 *
 * It costs a stat() if nothing has changed, and the checks of the whole file
 * (hostvlan_table_open()) otherwise. The previous table is closed when a new
 * one comes into force.
 */
HostvlanFollowResult hostvlan_follow_look(HostvlanFollow *f);

/**
 * hostvlan_follow_begin: the first half of a look, which costs a stat()
 * @result: the result, if the look is complete
 *
 * Returns: true if a file must be checked. Another thread may then call
 * hostvlan_table_open(@f->path), and the result must be passed to
 * hostvlan_follow_end(). Until then the previous table stays in force, and no
 * other look may begin.
 */
bool hostvlan_follow_begin(HostvlanFollow *f, HostvlanFollowResult *result);

/**
 * hostvlan_follow_end: the second half of a look, which never blocks
 * @table: a checked table, comes into force; NULL: refused, with @error
 *
 * The function takes ownership of both.
 */
HostvlanFollowResult hostvlan_follow_end(HostvlanFollow *f,
                                         HostvlanTable *table, GError *error);

/**
 * hostvlan_follow_is_due: does the table in force ask for a look?
 *
 * That is: it is superseded or lost. The function is for data paths: a few
 * loads, no system call. It is true once for each reason, until the next
 * hostvlan_follow_look().
 */
static inline bool hostvlan_follow_is_due(const HostvlanFollow *f)
{
    return f->table && !f->keep_superseded &&
           (hostvlan_table_superseded(f->table) ||
            hostvlan_table_lost(f->table));
}

/**
 * hostvlan_follow_is_settled: is the file at the path in force?
 *
 * If not, look again from time to time: the watch may miss the event that
 * repairs it.
 */
static inline bool hostvlan_follow_is_settled(const HostvlanFollow *f)
{
    return f->table && !f->error && !f->keep_superseded;
}

#endif /* NET_HOSTVLAN_FOLLOW_H */
