/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches a path for changes, with inotify on all folders and links on the way
 *
 * Theory of operation
 *
 * The file itself is not watched, because it may not exist, and because a
 * writer should replace it with rename().  Instead the code resolves the path
 * as the kernel does, from the root to the file, and watches
 *
 *   each folder and link on it    itself: it may be moved or deleted
 *   the folder of the file        for the file's name; if the file is a link,
 *                                 also the folder of its target, and so on
 *   the last folder that exists   for the name that is missing in it
 *
 * The contents of a folder that is only passed through are not watched, because
 * they may change often (/tmp) and are irrelevant.
 *
 * After a change on the way, the path is resolved again and the new way is
 * watched.  Each folder is watched before a name is looked up in it, so a
 * concurrent change causes an event that is read later.  If a folder cannot be
 * watched, because it is not readable or was just deleted, the watch is
 * incomplete, and path_watch_is_complete() returns false.
 *
 * Changes through a mapping of the file cause no events.
 */
#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/watch/watch.h"

/* Maximum number of links, as in the kernel. */
#define LINKS_MAX       40

/* Maximum number of event buffers that one call reads. */
#define READS_MAX       16

#define SELF    (IN_DELETE_SELF | IN_MOVE_SELF)
#define COMES   (IN_CREATE | IN_MOVED_TO)
#define GOES    (IN_DELETE | IN_MOVED_FROM)
#define CHANGES (IN_ATTRIB | IN_CLOSE_WRITE | IN_MODIFY)

/* --- path resolution ------------------------------------------------------ */

/* A path while it is resolved, from the root to the file. */
typedef struct Way {
    PathWatch *watch;
    GString *at;                /* the resolved part; "": the root */
    GString *rest;              /* the part that is not resolved yet */
    unsigned links;
} Way;

/* If this fails, the watch is incomplete. */
static void add(PathWatch *w, const char *where, uint32_t mask, bool is_folder,
                const char *path)
{
    int wd = -1;

    if (w->num < PATH_WATCH_MAX) {
        /* A folder that is passed twice is watched for both purposes. */
        wd = inotify_add_watch(w->fd, *where ? where : "/",
                               mask | IN_MASK_ADD);
    }
    if (wd < 0) {
        w->complete = false;
        return;
    }
    w->place[w->num++] = (PathWatchPlace) {
        .wd = wd,
        .is_folder = is_folder,
        .path = g_strdup(path),
    };
}

static void drop_places(PathWatch *w)
{
    for (unsigned i = 0; i < w->num; i++) {
        inotify_rm_watch(w->fd, w->place[i].wd);
        g_free(w->place[i].path);
    }
    w->num = 0;
}

/* Removes the next component from the rest; NULL: none is left. */
static char *next_part(Way *way)
{
    size_t begin = strspn(way->rest->str, "/");
    size_t len = strcspn(way->rest->str + begin, "/");
    char *part = len ? g_strndup(way->rest->str + begin, len) : NULL;

    g_string_erase(way->rest, 0, begin + len);
    return part;
}

static bool is_last(const Way *way)
{
    return strspn(way->rest->str, "/") == way->rest->len;
}

static void resolve_parent(Way *way)
{
    const char *slash = strrchr(way->at->str, '/');

    g_string_truncate(way->at, slash ? slash - way->at->str : 0);
}

/* @child is a link: its target is put before the rest. */
static bool follow_link(Way *way, const char *child, bool last)
{
    PathWatch *w = way->watch;
    char target[PATH_MAX];
    ssize_t len;

    /* Replacing a link changes its link count (IN_ATTRIB). */
    if (!last) {
        add(w, child, SELF | IN_ATTRIB | IN_DONT_FOLLOW, false, NULL);
    }
    len = readlink(child, target, sizeof(target));
    if (len <= 0 || (size_t)len == sizeof(target) ||
        ++way->links > LINKS_MAX) {
        w->complete = false;
        return false;
    }
    if (target[0] == '/') {
        g_string_truncate(way->at, 0);
    }
    g_string_prepend_c(way->rest, '/');
    g_string_prepend_len(way->rest, target, len);
    return true;
}

/* The path ends here: @name does not exist. */
static void watch_for_name(PathWatch *w, const char *folder, const char *child,
                           int error, bool last)
{
    if (error != ENOENT && error != ENOTDIR) {
        w->complete = false;
    } else if (!last) {
        add(w, folder, COMES | GOES | IN_ONLYDIR, false, child);
    }
}

/* Resolves @part, which is not "." or ".."; false: the path ends here. */
static bool resolve_child(Way *way, const char *part)
{
    g_autofree char *child = g_strconcat(way->at->str, "/", part, NULL);
    PathWatch *w = way->watch;
    bool last = is_last(way);
    struct stat st;

    if (last) {
        add(w, way->at->str, SELF | COMES | GOES | CHANGES | IN_ONLYDIR, true,
            child);
    }
    if (lstat(child, &st) < 0) {
        watch_for_name(w, way->at->str, child, errno, last);
        /* It may have been created before the watch was set. */
        if (last || lstat(child, &st) < 0) {
            return false;
        }
    }
    if (S_ISLNK(st.st_mode)) {
        return follow_link(way, child, last);
    }
    if (last) {
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        watch_for_name(w, way->at->str, child, ENOTDIR, false);
        return false;
    }
    add(w, child, SELF | IN_ONLYDIR | IN_DONT_FOLLOW, false, NULL);
    g_string_assign(way->at, child);
    return true;
}

/* Resolves the path and watches it. */
static void resolve(PathWatch *w)
{
    Way way = { .watch = w };
    bool goes_on = true;

    drop_places(w);
    w->complete = w->fd >= 0;
    if (!w->complete) {
        return;
    }
    way.at = g_string_new(NULL);
    way.rest = g_string_new(w->path);
    while (goes_on) {
        g_autofree char *part = next_part(&way);

        if (!part) {
            break;
        }
        if (strcmp(part, "..") == 0) {
            resolve_parent(&way);
        } else if (strcmp(part, ".") != 0) {
            goes_on = resolve_child(&way, part);
        }
    }
    g_string_free(way.at, TRUE);
    g_string_free(way.rest, TRUE);
}

/* --- events --------------------------------------------------------------- */

/* A created file is empty at first, but a link is complete. */
static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 &&
           (S_ISLNK(st.st_mode) || st.st_nlink > 1);
}

/* An event about the name that @place is watched for. */
static unsigned take_name(const PathWatchPlace *place, uint32_t mask,
                          bool *other_way)
{
    if (mask & (COMES | GOES)) {
        *other_way = true;
    }
    if (!place->is_folder || (mask & (IN_CLOSE_WRITE | IN_MOVED_TO | GOES)) ||
        (mask & IN_CREATE && is_link(place->path))) {
        return PATH_WATCH_WHOLE;
    }
    return PATH_WATCH_PART;
}

static unsigned take(const PathWatch *w, const struct inotify_event *ev,
                     bool *other_way)
{
    unsigned news = 0;

    if (ev->mask & IN_Q_OVERFLOW) {
        *other_way = true;
        return PATH_WATCH_WHOLE;
    }
    for (unsigned i = 0; i < w->num; i++) {
        const PathWatchPlace *place = &w->place[i];

        if (place->wd != ev->wd) {
            continue;           /* from a watch that was removed */
        }
        if (ev->mask & (SELF | IN_IGNORED | IN_UNMOUNT) ||
            (!ev->len && ev->mask & IN_ATTRIB)) {
            *other_way = true;
            news |= PATH_WATCH_WHOLE;
        } else if (place->path && ev->len &&
                   strcmp(ev->name, strrchr(place->path, '/') + 1) == 0) {
            news |= take_name(place, ev->mask, other_way);
        }
    }
    return news;
}

unsigned path_watch_read(PathWatch *w)
{
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool other_way = false;
    unsigned news = 0;

    for (unsigned i = 0; i < READS_MAX; i++) {
        ssize_t len = read(w->fd, buf, sizeof(buf));

        if (len <= 0) {
            break;
        }
        for (char *p = buf; p < buf + len;) {
            const struct inotify_event *ev = (const void *)p;

            news |= take(w, ev, &other_way);
            p += sizeof(*ev) + ev->len;
        }
    }
    if (other_way) {
        resolve(w);
    }
    return news;
}

/* --- life ----------------------------------------------------------------- */

void path_watch_set(PathWatch *w)
{
    if (!w->complete) {
        resolve(w);
    }
}

void path_watch_init(PathWatch *w, const char *path)
{
    *w = (PathWatch) {
        .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
        .path = g_strdup(path),
    };
    resolve(w);
}

void path_watch_destroy(PathWatch *w)
{
    if (w->fd >= 0) {
        drop_places(w);
        close(w->fd);
    }
    g_free(w->path);
    *w = (PathWatch) { .fd = -1 };
}
