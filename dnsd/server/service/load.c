/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read a configuration from its file */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dnsd/server/service/load.h"

static DnsdConfig *load_fail(DnsdErrors *m, const char *path, const char *why)
{
    *m = (DnsdErrors) { .count = 1 };
    m->len = snprintf(m->text, sizeof(m->text), "%s: %s", path, why);
    return NULL;
}

/* Returns octets, or -1 and errno. */
static ssize_t read_all(int fd, char *to, size_t len)
{
    size_t at = 0;
    ssize_t got = 1;

    while (at < len && got > 0) {
        got = read(fd, to + at, len - at);
        at += got > 0 ? got : 0;
    }
    return got < 0 ? -1 : (ssize_t)at;
}

ssize_t dnsd_load_small(const char *path, char *to, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read_all(fd, to, room);

    if (fd >= 0) {
        close(fd);
    }
    return len;
}

DnsdConfig *dnsd_load(const char *path, DnsdErrors *errors)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    DnsdConfig *config = NULL;
    char *text = NULL;
    struct stat st;
    ssize_t len;

    if (fd < 0 || fstat(fd, &st) < 0) {
        load_fail(errors, path, strerror(errno));
        goto close_fd;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > DNSD_CONFIG_MAX) {
        load_fail(errors, path, "is no file of at most 64 MiB");
        goto close_fd;
    }
    text = malloc(st.st_size + 1);
    len = text ? read_all(fd, text, st.st_size) : -1;
    if (len < 0) {
        load_fail(errors, path, strerror(errno));
    } else {
        config = dnsd_config_read(path, text, len, errors);
    }
    free(text);
close_fd:
    if (fd >= 0) {
        close(fd);
    }
    return config;
}
