/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface to systemd */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/systemd.h"

#define FDS_FIRST   3
#define FDS_MAX     256

/* The socket is opened once, as a sandbox may forbid it later. */
static int notify_fd = -1;
static struct sockaddr_un notify_addr;
static socklen_t notify_len;

static bool open_notify(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;

    if (notify_fd >= 0) {
        return true;
    }
    if (len < 2 || len >= sizeof(notify_addr.sun_path)) {
        return false;
    }
    notify_addr.sun_family = AF_UNIX;
    memcpy(notify_addr.sun_path, path, len);
    if (*path == '@') {
        notify_addr.sun_path[0] = 0;
    }
    notify_len = offsetof(struct sockaddr_un, sun_path) + len;
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return notify_fd >= 0;
}

void base_systemd_notify(const char *state)
{
    if (open_notify()) {
        sendto(notify_fd, state, strlen(state), MSG_NOSIGNAL,
               (struct sockaddr *)&notify_addr, notify_len);
    }
}

void base_systemd_reloading(void)
{
    char text[64];

    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
             base_clock(CLOCK_MONOTONIC) / 1000);
    base_systemd_notify(text);
}

unsigned base_systemd_fds(int *first)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    uint32_t fds, whose;

    if (!pid || !count || number_read(pid, 1, INT32_MAX, &whose) ||
        whose != (uint32_t)getpid() ||
        number_read(count, 0, FDS_MAX, &fds)) {
        return 0;
    }
    for (unsigned i = 0; i < fds; i++) {
        fcntl(FDS_FIRST + i, F_SETFD, FD_CLOEXEC);
    }
    *first = FDS_FIRST;
    return fds;
}
