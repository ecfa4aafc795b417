/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A UNIX socket that clients find at a path
 *
 * A daemon's socket may be left by one that was killed, be in use by one that
 * lives, or be removed by somebody who empties /run.  In the last case it is
 * open and nobody finds it: the daemon looks once a second.
 */
#ifndef BASE_LISTENER_H
#define BASE_LISTENER_H

#include <sys/types.h>

typedef enum BaseListenerState {
    BASE_LISTENER_OURS,
    BASE_LISTENER_GONE,         /* removed, and cannot be made again */
    BASE_LISTENER_OTHERS,       /* another file is there */
} BaseListenerState;

typedef struct BaseListener {
    int fd;                     /* -1: closed; the number stays while it is open */
    char *path;
    mode_t mode;
    dev_t device;               /* of the file there that is ours */
    ino_t inode;
    BaseListenerState state;
} BaseListener;

/** The result of base_listener_look() */
typedef enum BaseListenerNews {
    BASE_LISTENER_AS_BEFORE,
    BASE_LISTENER_AGAIN,        /* removed, and made: epoll has to be told */
    BASE_LISTENER_CHANGED,      /* @state is another one */
} BaseListenerNews;

/**
 * base_listener_open: listen at @path
 * @mode: of the file, from its beginning
 *
 * A socket that nobody listens at is replaced.
 *
 * Returns: 0; -EADDRINUSE if somebody does, -EEXIST if there is another file,
 *          -ENAMETOOLONG; or what the system says
 */
int base_listener_open(BaseListener *l, const char *path, mode_t mode);

/**
 * base_listener_look: see whether clients find it, and make it again if not
 * @error: why it cannot be made, if the state changes to GONE
 */
BaseListenerNews base_listener_look(BaseListener *l, int *error);

/** base_listener_close: close it, and remove the file if it is still ours */
void base_listener_close(BaseListener *l);

/** base_listener_connect: as a client; returns a descriptor, or -errno */
int base_listener_connect(const char *path);

#endif /* BASE_LISTENER_H */
