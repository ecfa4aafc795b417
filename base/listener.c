/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/listener.h"

#define BACKLOG         256

static bool listener_address(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un) { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address->sun_path)) {
        return false;
    }
    strcpy(address->sun_path, path);
    return true;
}

static int listener_connect(const char *path, int flags)
{
    struct sockaddr_un address;
    int fd, error;

    if (!listener_address(&address, path)) {
        return -ENAMETOOLONG;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, (const void *)&address, sizeof(address)) < 0) {
        error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int base_listener_connect(const char *path)
{
    return listener_connect(path, 0);
}

/*
 * Connections to a file that is no socket are refused, too: it is not ours to
 * remove.  Returns 0 if the socket there is nobody's.
 */
static int listener_is_left(const char *path)
{
    struct stat there;
    int fd;

    if (lstat(path, &there) < 0 || !S_ISSOCK(there.st_mode)) {
        return -EEXIST;
    }
    /* A server with a full backlog does not let this process wait. */
    fd = listener_connect(path, SOCK_NONBLOCK);
    if (fd >= 0) {
        close(fd);
    }
    return fd == -ECONNREFUSED ? 0 : -EADDRINUSE;
}

static int listener_bind(int fd, const BaseListener *l)
{
    struct sockaddr_un address;
    int error;

    if (!listener_address(&address, l->path)) {
        return -ENAMETOOLONG;
    }
    if (bind(fd, (const void *)&address, sizeof(address)) == 0) {
        return 0;
    }
    if (errno != EADDRINUSE) {
        return -errno;
    }
    error = listener_is_left(l->path);
    if (error) {
        return error;
    }
    unlink(l->path);
    return bind(fd, (const void *)&address, sizeof(address)) < 0 ? -errno : 0;
}

/* Returns a descriptor that listens at the path, or -errno. */
static int listener_make(BaseListener *l)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat there;
    int error;

    if (fd < 0) {
        return -errno;
    }
    /* The file has this mode from its beginning, but for the umask's bits. */
    error = fchmod(fd, l->mode) < 0 ? -errno : listener_bind(fd, l);
    if (!error && ((l->mode & 077 && chmod(l->path, l->mode) < 0) ||
                   listen(fd, BACKLOG) < 0 || lstat(l->path, &there) < 0)) {
        error = -errno;
    }
    if (error) {
        close(fd);
        return error;
    }
    l->device = there.st_dev;
    l->inode = there.st_ino;
    return fd;
}

int base_listener_open(BaseListener *l, const char *path, mode_t mode)
{
    int fd;

    *l = (BaseListener) { .fd = -1, .mode = mode, .path = strdup(path) };
    if (!l->path) {
        return -ENOMEM;
    }
    fd = listener_make(l);
    if (fd < 0) {
        free(l->path);
        l->path = NULL;
        return fd;
    }
    l->fd = fd;
    return 0;
}

/* A file that cannot be seen counts as ours. */
static BaseListenerState listener_state(const BaseListener *l)
{
    struct stat there;

    if (lstat(l->path, &there) < 0) {
        return errno == ENOENT || errno == ENOTDIR ? BASE_LISTENER_GONE
                                                   : BASE_LISTENER_OURS;
    }
    return there.st_dev == l->device && there.st_ino == l->inode
           ? BASE_LISTENER_OURS : BASE_LISTENER_OTHERS;
}

BaseListenerNews base_listener_look(BaseListener *l, int *error)
{
    BaseListenerState state = listener_state(l);
    int fd;

    if (state == BASE_LISTENER_GONE) {
        fd = listener_make(l);
        *error = fd < 0 ? -fd : dup3(fd, l->fd, O_CLOEXEC) < 0 ? errno : 0;
        if (fd >= 0) {
            close(fd);
        }
        if (!*error) {
            l->state = BASE_LISTENER_OURS;
            return BASE_LISTENER_AGAIN;
        }
    }
    if (state == l->state) {
        return BASE_LISTENER_AS_BEFORE;
    }
    l->state = state;
    return BASE_LISTENER_CHANGED;
}

void base_listener_close(BaseListener *l)
{
    if (!l->path) {
        return;
    }
    close(l->fd);
    if (listener_state(l) == BASE_LISTENER_OURS) {
        unlink(l->path);
    }
    free(l->path);
    *l = (BaseListener) { .fd = -1 };
}
