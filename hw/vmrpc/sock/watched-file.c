/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is read at the start and again when it changes */
#include <glib.h>
#include <sys/stat.h>

#include "hw/vmrpc/sock/watched-file.h"

#define LOOK_EVERY_MS   1000

/* Returns false if there is no file. */
static bool look(const WatchedFile *file, WatchedStamp *stamp)
{
    struct stat st;

    *stamp = (WatchedStamp) { };
    if (stat(file->path, &st) < 0) {
        return false;
    }
    *stamp = (WatchedStamp) {
        .dev = st.st_dev,
        .ino = st.st_ino,
        .size = st.st_size,
        .changed = st.st_ctim,
    };
    return true;
}

static bool is_same(const WatchedStamp *a, const WatchedStamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

void watched_file_init(WatchedFile *file)
{
    *file = (WatchedFile) { .watch.fd = -1, .due_ms = -1 };
    pthread_mutex_init(&file->lock.mutex, NULL);
}

void watched_file_open(WatchedFile *file, const char *name)
{
    /* A daemon changes its directory. */
    file->name = g_strdup(name);
    file->path = g_canonicalize_filename(name, NULL);
    path_watch_init(&file->watch, file->path);
}

void watched_file_destroy(WatchedFile *file)
{
    path_watch_destroy(&file->watch);
    g_free(file->name);
    g_free(file->path);
    pthread_mutex_destroy(&file->lock.mutex);
}

void watched_file_reading(WatchedFile *file)
{
    /* Before the file is read: if it changes now, it is read once more. */
    look(file, &file->seen);
    file->unread = true;
}

void watched_file_read(WatchedFile *file)
{
    file->unread = false;
}

/* Caller must hold file->lock. */
static bool is_due(WatchedFile *file, unsigned news, bool by_time)
{
    WatchedStamp stamp;

    if (!look(file, &stamp) || is_same(&stamp, &file->seen)) {
        return false;
    }
    /* A file that may be half written is read if it can be read at all now. */
    if (news & PATH_WATCH_WHOLE || (news && file->unread)) {
        return true;
    }
    if (by_time && is_same(&stamp, &file->looked)) {
        return true;
    }
    file->looked = stamp;
    return false;
}

bool watched_file_news(WatchedFile *file, bool by_time)
{
    unsigned news = path_watch_read(&file->watch);
    bool due;

    if (by_time) {
        path_watch_set(&file->watch);
        /* Changes before it was watched have raised no event. */
        news |= path_watch_is_complete(&file->watch) ? PATH_WATCH_WHOLE : 0;
    }
    vmrpc_mutex_lock(&file->lock);
    due = is_due(file, news, by_time);
    vmrpc_mutex_unlock(&file->lock);
    return due;
}

void watched_file_set_due(WatchedFile *file, int64_t now_ms)
{
    bool looks = file->path && !path_watch_is_complete(&file->watch);

    file->due_ms = looks ? now_ms + LOOK_EVERY_MS : -1;
}

int watched_file_timeout_ms(const WatchedFile *file, int64_t now_ms)
{
    return CLAMP(file->due_ms - now_ms, 0, LOOK_EVERY_MS);
}
