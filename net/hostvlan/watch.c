/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has something happened to a path? inotify on its folder
 *
 * The folder is watched and not the file: the file may be missing, and a table
 * is replaced by rename(). Changes that a writer makes through its mapping are
 * no events, and need none.
 *
 * A folder that is moved away is watched where it has gone, which is of no use:
 * the watch is given up, and set again on what is at the path then.
 */
#include <glib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "net/hostvlan/watch.h"

#define EVENTS  (IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | \
                 IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | \
                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

void hostvlan_watch_init(HostvlanWatch *w, const char *path)
{
    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    w->folder_wd = -1;
    w->folder = g_path_get_dirname(path);
    w->name = g_path_get_basename(path);
    hostvlan_watch_set(w);
}

void hostvlan_watch_destroy(HostvlanWatch *w)
{
    if (w->fd >= 0) {
        close(w->fd);
    }
    g_free(w->folder);
    g_free(w->name);
}

void hostvlan_watch_set(HostvlanWatch *w)
{
    if (w->folder_wd < 0 && w->fd >= 0) {
        w->folder_wd = inotify_add_watch(w->fd, w->folder, EVENTS);
    }
}

/* Whether it may be about the path. */
static bool take(HostvlanWatch *w, const struct inotify_event *ev)
{
    if (ev->mask & IN_Q_OVERFLOW) {
        return true;
    }
    if (ev->wd != w->folder_wd) {
        return false;           /* of a watch that was given up */
    }
    if (ev->mask & IN_MOVE_SELF) {
        inotify_rm_watch(w->fd, w->folder_wd);
    }
    if (ev->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)) {
        w->folder_wd = -1;
        return true;
    }
    return ev->len && strcmp(ev->name, w->name) == 0;
}

bool hostvlan_watch_read(HostvlanWatch *w)
{
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool about = false;
    ssize_t len;

    while ((len = read(w->fd, buf, sizeof(buf))) > 0) {
        for (char *p = buf; p < buf + len;) {
            const struct inotify_event *ev = (const void *)p;

            about |= take(w, ev);
            p += sizeof(*ev) + ev->len;
        }
    }
    return about;
}
