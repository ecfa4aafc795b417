/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has something happened to a path? inotify on all that leads to it */
#ifndef NET_WATCH_WATCH_H
#define NET_WATCH_WATCH_H

#include <stdbool.h>

/* Folders and links on the way; a path with more is not watched whole. */
#define PATH_WATCH_MAX          64

/* Things that may have happened, any number of them at once. */
enum {
    /* The file was created, written to, or has other attributes. */
    PATH_WATCH_PART = 1,
    /*
     * A writer has closed the file, another file is at the path, none is, or
     * the way there is another; or events were lost.
     */
    PATH_WATCH_WHOLE = 2,
};

typedef struct PathWatchPlace {
    int wd;
    bool is_folder;             /* the file, or its last link, is looked up */
    char *path;                 /* of the name that matters; NULL: none */
} PathWatchPlace;

typedef struct PathWatch {
    int fd;                     /* readable when there is news; -1: none */
    bool complete;
    char *path;
    unsigned num;
    PathWatchPlace place[PATH_WATCH_MAX];
} PathWatch;

/**
 * path_watch_init: begin
 * @path: absolute; nothing need be there
 *
 * There is no error: where the system has no inotify left, or a folder may not
 * be read, path_watch_is_complete() is false.
 */
void path_watch_init(PathWatch *w, const char *path);

void path_watch_destroy(PathWatch *w);

/** path_watch_set: watch what is on the way now, unless all of it is watched */
void path_watch_set(PathWatch *w);

/**
 * path_watch_is_complete: is every folder and link on the way watched?
 *
 * If not, look at the path again now and then, after path_watch_set().  File
 * systems that other hosts change as well, and what is mounted over a folder on
 * the way, tell nobody.
 */
static inline bool path_watch_is_complete(const PathWatch *w)
{
    return w->complete;
}

/**
 * path_watch_read: take what has come; does not wait
 *
 * Look at the path after it, not before: it may have begun to watch another
 * folder.  When more has come than a call takes, @fd stays readable.
 *
 * Returns: PATH_WATCH_*, 0 if it was about something else
 */
unsigned path_watch_read(PathWatch *w);

#endif /* NET_WATCH_WATCH_H */
