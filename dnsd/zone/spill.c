/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file without a name, for data that memory has no room for */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnsd/zone/spill.h"

#define AT_ONCE         (1u << 20)

/* Without O_TMPFILE the file has a name for a moment. */
static int open_named(const char *dir)
{
    char path[4096];
    int fd;

    if (snprintf(path, sizeof(path), "%s/.vmmnet-zone-XXXXXX", dir) >=
        (int)sizeof(path)) {
        return -ENAMETOOLONG;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    unlink(path);
    return fd;
}

int spill_open(Spill *spill, const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0) {
        fd = errno == EOPNOTSUPP || errno == EISDIR ? open_named(dir) : -errno;
    }
    spill->fd = fd < 0 ? -1 : fd;
    atomic_init(&spill->end, 0);
    return fd < 0 ? fd : 0;
}

void spill_close(Spill *spill)
{
    if (spill->fd >= 0) {
        close(spill->fd);
    }
    spill->fd = -1;
}

static int write_all(int fd, const uint8_t *from, size_t len, uint64_t offset)
{
    while (len) {
        ssize_t done = pwrite(fd, from, len, offset);

        if (done < 0 && errno != EINTR) {
            return -errno;
        }
        if (done > 0) {
            from += done;
            len -= done;
            offset += done;
        }
    }
    return 0;
}

static uint64_t octets_of(const Chunk *chunk)
{
    uint64_t len = 0;

    for (size_t i = 0; i < chunk->count; i++) {
        len += chunk_bundle(chunk, i)->len;
    }
    return len;
}

int spill_chunk(Spill *spill, const Chunk *chunk, uint64_t *offset,
                uint64_t *len)
{
    uint8_t *buffer = malloc(AT_ONCE + BUNDLE_MAX);
    size_t used = 0;
    uint64_t at;
    int ret = 0;

    if (!buffer) {
        return -ENOMEM;
    }
    *len = octets_of(chunk);
    *offset = at = atomic_fetch_add(&spill->end, *len);
    for (size_t i = 0; i < chunk->count && !ret; i++) {
        const Bundle *bundle = chunk_bundle(chunk, i);

        memcpy(buffer + used, bundle, bundle->len);
        used += bundle->len;
        if (used >= AT_ONCE) {
            ret = write_all(spill->fd, buffer, used, at);
            at += used;
            used = 0;
        }
    }
    ret = ret ? ret : write_all(spill->fd, buffer, used, at);
    free(buffer);
    return ret;
}

int spill_read(const Spill *spill, void *to, size_t len, uint64_t offset)
{
    uint8_t *at = to;

    while (len) {
        ssize_t done = pread(spill->fd, at, len, offset);

        if (done < 0 && errno != EINTR) {
            return -errno;
        }
        if (!done) {
            return -EIO;
        }
        if (done > 0) {
            at += done;
            len -= done;
            offset += done;
        }
    }
    return 0;
}
