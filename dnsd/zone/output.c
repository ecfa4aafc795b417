/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a new image
 *
 * Theory of operation
 *
 * The file is created without a name (O_TMPFILE), so it vanishes if this
 * program is killed.  Its space is allocated before it is mapped and written,
 * so a full disk is an error of fallocate() and not a signal.  The file gets a
 * name after it has been written to the disk.  link() does not replace a file,
 * so the name is NAME.new for a moment; then rename() replaces the old file.
 * The folder is locked meanwhile.  A process that holds the lock may remove a
 * NAME.new that it finds: a process was killed at that moment.
 *
 * On file systems without O_TMPFILE the name is NAME.new from the start.  It
 * stays if the program is killed; the next program removes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dnsd/zone/output.h"

#define MODE    0644

static int grow(ZoneOut *out, uint64_t room)
{
    Output *output = (Output *)out;
    int ret = posix_fallocate(output->fd, out->room, room - out->room);
    void *base;

    if (ret) {
        return -ret;
    }
    base = out->base ? mremap(out->base, out->room, room, MREMAP_MAYMOVE)
                     : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED,
                            output->fd, 0);
    if (base == MAP_FAILED) {
        return -errno;
    }
    out->base = base;
    out->room = room;
    return 0;
}

/* Begin to write, so that fsync() at the end has less to wait for. */
static void settled(ZoneOut *out, uint64_t offset, uint64_t len)
{
    const Output *output = (const Output *)out;

    sync_file_range(output->fd, offset, len, SYNC_FILE_RANGE_WRITE);
}

static int split_path(Output *output, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    output->folder = slash ? strndup(path, slash - path + 1) : strdup(".");
    output->name = strdup(name);
    if (asprintf(&output->fresh, "%s.new", name) < 0) {
        output->fresh = NULL;
    }
    if (!output->folder || !output->name || !output->fresh) {
        return -ENOMEM;
    }
    return *name ? 0 : -EISDIR;
}

/* If the file exists and is locked, another process uses it. */
static int open_named(Output *output)
{
    int fd = openat(output->dir, output->fresh,
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, MODE);

    if (fd < 0) {
        return -errno;
    }
    output->fd = fd;
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    }
    output->is_named = true;
    return ftruncate(fd, 0) ? -errno : 0;
}

int output_open(Output *output, const char *path)
{
    struct stat old;
    int ret;

    *output = (Output) { .out.grow = grow, .out.settled = settled,
                         .fd = -1, .dir = -1 };
    ret = split_path(output, path);
    if (ret) {
        return ret;
    }
    output->dir = open(output->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->dir < 0) {
        return -errno;
    }
    if (!fstatat(output->dir, output->name, &old, 0) &&
        !S_ISREG(old.st_mode)) {
        return S_ISDIR(old.st_mode) ? -EISDIR : -EINVAL;
    }
    output->fd = openat(output->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
                        MODE);
    if (output->fd >= 0) {
        return 0;
    }
    return errno == EOPNOTSUPP || errno == EISDIR ? open_named(output)
                                                  : -errno;
}

/* The caller has locked the folder. */
static int give_name(Output *output)
{
    char self[64];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", output->fd);
    unlinkat(output->dir, output->fresh, 0);
    if (linkat(AT_FDCWD, self, output->dir, output->fresh,
               AT_SYMLINK_FOLLOW)) {
        return -errno;
    }
    output->is_named = true;
    return 0;
}

static int replace(Output *output)
{
    if (renameat(output->dir, output->fresh, output->dir, output->name)) {
        return -errno;
    }
    output->is_named = false;
    return fsync(output->dir) ? -errno : 0;
}

int output_commit(Output *output, uint64_t len)
{
    int ret = 0;

    if (ftruncate(output->fd, len) || fsync(output->fd)) {
        return -errno;
    }
    if (flock(output->dir, LOCK_EX)) {
        return -errno;
    }
    ret = output->is_named ? 0 : give_name(output);
    ret = ret ? ret : replace(output);
    flock(output->dir, LOCK_UN);
    return ret;
}

void output_close(Output *output)
{
    if (output->is_named) {
        unlinkat(output->dir, output->fresh, 0);
    }
    if (output->out.base) {
        munmap(output->out.base, output->out.room);
    }
    if (output->fd >= 0) {
        close(output->fd);
    }
    if (output->dir >= 0) {
        close(output->dir);
    }
    free(output->folder);
    free(output->name);
    free(output->fresh);
    *output = (Output) { .fd = -1, .dir = -1 };
}
