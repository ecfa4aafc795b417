/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches a path for changes, with inotify on all folders and links on the way
 */
#ifndef NET_WATCH_WATCH_H
#define NET_WATCH_WATCH_H

#include <stdbool.h>

/* Maximum number of folders and links; more make the watch incomplete. */
#define PATH_WATCH_MAX          64

/* Events; several can occur at once. */
enum {
    /* The file was created or written, or its attributes changed. */
    PATH_WATCH_PART = 1,
    /*
     * A writer has closed the file; or the path has another file, or none; or
     * the way to it has changed; or events were lost.
     */
    PATH_WATCH_WHOLE = 2,
};

typedef struct PathWatchPlace {
    int wd;
    bool is_folder;             /* the file, or its last link, is in it */
    char *path;                 /* path of the watched name; or NULL */
} PathWatchPlace;

typedef struct PathWatch {
    int fd;                     /* readable when events exist; -1: none */
    bool complete;
    char *path;
    unsigned num;
    PathWatchPlace place[PATH_WATCH_MAX];
} PathWatch;

/**
 * path_watch_init: start to watch a path
 * @path: absolute; it need not exist
 *
 * This cannot fail: if the system has no inotify instance left, or a folder is
 * not readable, path_watch_is_complete() returns false.
 */
void path_watch_init(PathWatch *w, const char *path);

void path_watch_destroy(PathWatch *w);

/** path_watch_set: resolve and watch the path, unless the watch is complete */
void path_watch_set(PathWatch *w);

/**
 * path_watch_is_complete: is every folder and link on the way watched?
 *
 * If not, look at the path again from time to time, after path_watch_set().
 * Changes that other hosts make on a shared file system, and mounts over a
 * folder on the way, cause no events.
 */
static inline bool path_watch_is_complete(const PathWatch *w)
{
    return w->complete;
}

/**
 * path_watch_read: read the pending events; does not block
 *
 * Look at the path after this call, not before, because the call may start to
 * watch another folder.  If more events are pending than one call reads, @fd
 * stays readable.
 *
 * Returns: PATH_WATCH_*; 0 if no event was relevant
 */
unsigned path_watch_read(PathWatch *w);

#endif /* NET_WATCH_WATCH_H */
