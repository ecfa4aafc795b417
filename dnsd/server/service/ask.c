/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client of the control socket */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "dnsd/server/service/panel.h"

#define HEAD_MAX    4096

static int connect_to(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(path) >= sizeof(addr.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(addr.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t done = write(fd, text, len);

        if (done <= 0) {
            return false;
        }
        text += done;
        len -= done;
    }
    return true;
}

/*
 * Returns the length of the head, which may be followed by a part of the body.
 */
static size_t read_head(int fd, char *head, char **body)
{
    size_t len = 0;
    ssize_t got;

    do {
        got = read(fd, head + len, HEAD_MAX - len);
        len += got > 0 ? got : 0;
        *body = memmem(head, len, "\r\n\r\n", 4);
    } while (got > 0 && !*body && len < HEAD_MAX);
    return len;
}

bool dnsd_panel_ask(const char *path, const char *request, int to,
                    DnsdError *error)
{
    char text[HEAD_MAX], *body;
    int fd = connect_to(path);
    bool is_success = false;
    ssize_t len;

    *error = (DnsdError) { "" };
    if (fd < 0) {
        snprintf(error->text, sizeof(error->text), "no server answers at "
                 "'%s' (%s); --control names the path of server.control",
                 path, strerror(errno));
        return false;
    }
    len = snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
                   request);
    if (!write_all(fd, text, len)) {
        goto close_fd;
    }
    len = read_head(fd, text, &body);
    if (!body) {
        goto close_fd;
    }
    is_success = !memcmp(text, "HTTP/1.1 200", 12);
    body += 4;
    len -= body - text;
    do {
        is_success &= write_all(to, body, len);
        body = text;
        len = read(fd, text, sizeof(text));
    } while (len > 0);

close_fd:
    close(fd);
    return is_success;
}
