/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has something happened to a path? inotify on its folder */
#ifndef NET_HOSTVLAN_WATCH_H
#define NET_HOSTVLAN_WATCH_H

#include <stdbool.h>

typedef struct HostvlanWatch {
    int fd;                     /* readable when there is news; -1: none */
    int folder_wd;              /* -1: the folder is not watched */
    char *folder, *name;
} HostvlanWatch;

/**
 * hostvlan_watch_init: begin
 * @path: absolute
 *
 * Where the system has no inotify left, or the folder is not there, nothing is
 * watched; hostvlan_watch_set() may do it later.
 */
void hostvlan_watch_init(HostvlanWatch *w, const char *path);

void hostvlan_watch_destroy(HostvlanWatch *w);

/** hostvlan_watch_set: watch the folder, if it is not watched and can be. */
void hostvlan_watch_set(HostvlanWatch *w);

/** hostvlan_watch_is_set: is the folder watched? */
static inline bool hostvlan_watch_is_set(const HostvlanWatch *w)
{
    return w->folder_wd >= 0;
}

/**
 * hostvlan_watch_read: take what has come; does not wait
 *
 * Returns: whether it may have been about the path. A folder that was moved or
 * deleted is not watched any more.
 */
bool hostvlan_watch_read(HostvlanWatch *w);

#endif /* NET_HOSTVLAN_WATCH_H */
