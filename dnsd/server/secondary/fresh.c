/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a secondary's last success, in a file beside the image */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnsd/server/secondary/fresh.h"

#define LINE_MAX_LEN    32

uint64_t dnsd_fresh_read(const char *image)
{
    char line[LINE_MAX_LEN] = "", *path = NULL, end;
    uint64_t when = 0;
    ssize_t len;
    int fd;

    if (asprintf(&path, "%s.time", image) < 0) {
        return 0;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0) {
        return 0;
    }
    len = read(fd, line, sizeof(line) - 1);
    close(fd);
    return len > 0 && sscanf(line, "%" SCNu64 "%c", &when, &end) == 2 &&
           end == '\n' ? when : 0;
}

static int write_line(const char *path, uint64_t when)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char line[LINE_MAX_LEN];
    int len = snprintf(line, sizeof(line), "%" PRIu64 "\n", when);
    int ret = 0;

    if (fd < 0) {
        return -errno;
    }
    if (write(fd, line, len) != len) {
        ret = -ENOSPC;
    } else if (fdatasync(fd)) {
        ret = -errno;
    }
    close(fd);
    return ret;
}

int dnsd_fresh_write(const char *image, uint64_t when)
{
    char *path = NULL, *path_new = NULL;
    int ret = -ENOMEM;

    if (asprintf(&path, "%s.time", image) < 0) {
        return ret;
    }
    if (asprintf(&path_new, "%s.new", path) > 0) {
        ret = write_line(path_new, when);
        if (!ret && rename(path_new, path)) {
            ret = -errno;
        }
        free(path_new);
    }
    free(path);
    return ret;
}
