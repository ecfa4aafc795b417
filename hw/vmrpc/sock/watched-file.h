/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is read at the start and again when it changes
 *
 * The whole path to the file is watched (net/watch): a file is best replaced by
 * renaming another over it, as it is never half written then.  A file that is
 * written in place is read when the writer closes it.  If the file is removed,
 * nothing changes.  Where a part of the path cannot be watched, the owner's
 * timer looks at the file once a second, and it is read after it has stayed the
 * same for that long.
 */
#ifndef HW_VMRPC_WATCHED_FILE_H
#define HW_VMRPC_WATCHED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "hw/vmrpc/sock/lock.h"
#include "net/watch/watch.h"

/* A file at a moment.  Inode numbers are used again, so more is compared. */
typedef struct WatchedStamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
} WatchedStamp;

typedef struct WatchedFile {
    VmrpcMutex lock;            /* held by the reader of the file */
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

/** watched_file_open: watch @name, which need not exist, from now on */
void watched_file_open(WatchedFile *file, const char *name);

void watched_file_destroy(WatchedFile *file);

/**
 * watched_file_reading: the caller, who holds @file->lock, is about to read
 *
 * Until watched_file_read() follows, the file counts as one that cannot be
 * read, and each event leads to another try.
 */
void watched_file_reading(WatchedFile *file) VMMNET_REQUIRES(file->lock);
void watched_file_read(WatchedFile *file) VMMNET_REQUIRES(file->lock);

/**
 * watched_file_news: take the events of the file
 * @by_time: the time of watched_file_set_due() has come
 *
 * In the thread that follows it.
 *
 * Returns: whether the file has changed since it was read last
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
