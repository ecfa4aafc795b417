/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is read again when it has changed */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/client/config/file.h"

/* the rest of a longer file is ignored */
#define FILE_MAX        (16 << 20)

int dnsc_file_init(DnscFile *file, const char *path)
{
    memset(file, 0, sizeof(*file));
    file->path = strdup(path);
    return file->path ? 0 : -ENOMEM;
}

void dnsc_file_clear(DnscFile *file)
{
    free(file->path);
    free(file->text);
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static char *read_all(int fd, size_t size, size_t *len)
{
    char *text = malloc(size + 1);
    ssize_t n = 1;

    for (*len = 0; text && *len < size && n > 0; *len += n > 0 ? n : 0) {
        n = read(fd, text + *len, size - *len);
    }
    return text;
}

bool dnsc_file_refresh(DnscFile *file)
{
    struct stat now = { 0 };
    int fd;

    if (!*file->path) {
        return false;
    }
    if (stat(file->path, &now)) {
        memset(&now, 0, sizeof(now));
    }
    if (same(&now, &file->seen)) {
        return false;
    }
    fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        return false;           /* says nothing about the file */
    }
    free(file->text);
    file->text = NULL;
    file->len = 0;
    if (fd >= 0 && fstat(fd, &now)) {
        memset(&now, 0, sizeof(now));
    }
    /* One that cannot be read is not tried again until it changes. */
    file->seen = now;
    if (fd >= 0 && S_ISREG(now.st_mode)) {
        file->text = read_all(fd, now.st_size < FILE_MAX ? now.st_size :
                              FILE_MAX, &file->len);
    }
    if (fd >= 0) {
        close(fd);
    }
    return true;
}
