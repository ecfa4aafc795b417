/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is read at the start and again when it changes
 *
 * All that leads to the file is watched (net/watch), as a file is best replaced
 * by renaming another over it: then it is never half written.  One that is
 * written in place is read when the writer closes it.  That a file goes away
 * changes nothing.  Where not all can be watched, the owner's timer looks once
 * a second, and a file is read that has stayed the same for that long.
 */
#ifndef HW_VMRPC_WATCHED_FILE_H
#define HW_VMRPC_WATCHED_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "net/watch/watch.h"

/* A file at a time.  Numbers return, so they do not suffice. */
typedef struct WatchedStamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
} WatchedStamp;

typedef struct WatchedFile {
    pthread_mutex_t lock;       /* held by the reader of the file */
    char *name;                 /* as it was given; constant */
    char *path;                 /* absolute; constant; NULL: no file */
    WatchedStamp seen;          /* of what was read last */
    WatchedStamp looked;        /* of what was looked at and not read */
    bool unread;                /* it could not be read */
    PathWatch watch;            /* of the thread that follows it */
    int64_t due_ms;             /* when to look; -1: never; the owner's lock */
} WatchedFile;

/** watched_file_init: no file yet; watched_file_destroy() may follow. */
void watched_file_init(WatchedFile *file);

/** watched_file_open: watch @name from now on, which need not be there. */
void watched_file_open(WatchedFile *file, const char *name);

void watched_file_destroy(WatchedFile *file);

/**
 * watched_file_reading: the caller, who holds @file->lock, is about to read
 *
 * Until watched_file_read() follows, the file counts as one that cannot be
 * read, and is tried again at each news.
 */
void watched_file_reading(WatchedFile *file);
void watched_file_read(WatchedFile *file);

/**
 * watched_file_news: take what has happened to the file
 *
 * In the thread that follows it.  @by_time: its time has come.
 *
 * Returns: is there something to read that was not read last?
 */
bool watched_file_news(WatchedFile *file, bool by_time);

/**
 * watched_file_set_due: when to look again, from @now_ms on
 *
 * With the owner's lock, after opening and after each watched_file_news().
 */
void watched_file_set_due(WatchedFile *file, int64_t now_ms);

/** watched_file_timeout_ms: milliseconds until then, if @file->due_ms is set */
int watched_file_timeout_ms(const WatchedFile *file, int64_t now_ms);

#endif /* HW_VMRPC_WATCHED_FILE_H */
