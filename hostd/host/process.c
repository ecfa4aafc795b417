/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identifies processes: a socket's peer, and the process of a pid file */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostd/core/registry.h"
#include "hostd/host/process.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD    77
#endif

#define PID_TEXT_MAX    16u

static int open_pidfd(pid_t pid)
{
    return syscall(SYS_pidfd_open, pid, 0);
}

static bool has_ended(int pidfd)
{
    struct pollfd poller = { .fd = pidfd, .events = POLLIN };

    return pidfd < 0 || poll(&poller, 1, 0) != 0;
}

/* --- peer ----------------------------------------------------------------- */

bool hostd_peer_of(HostdPeer *peer, int fd)
{
    socklen_t len = sizeof(struct ucred), fd_len = sizeof(peer->pidfd);
    struct ucred cred;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
        return false;
    }
    *peer = (HostdPeer) { .uid = cred.uid, .pid = cred.pid, .pidfd = -1 };
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &fd_len) < 0) {
        peer->pidfd = errno == ENOPROTOOPT && cred.pid > 0
                      ? open_pidfd(cred.pid) : -1;
    }
    return true;
}

void hostd_peer_close(HostdPeer *peer)
{
    if (peer->pidfd >= 0) {
        close(peer->pidfd);
    }
}

/* --- pid files ------------------------------------------------------------ */

static bool process_fail(GError **errp, const char *pid_file, const char *why)
{
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "the pid file %s %s",
                pid_file, why);
    return false;
}

/* Checks that only root could have written the file. */
static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Accepts digits, and optionally a newline. */
static bool parse_pid(const char *text, pid_t *pid)
{
    guint64 number;
    g_autofree char *digits = g_strchomp(g_strdup(text));

    if (!g_ascii_string_to_unsigned(digits, 10, 1, G_MAXINT, &number, NULL)) {
        return false;
    }
    *pid = number;
    return true;
}

static bool read_pid(const char *pid_file, pid_t *pid, GError **errp)
{
    int fd = open(pid_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[PID_TEXT_MAX + 1];
    ssize_t len;
    bool ours;

    if (fd < 0) {
        g_autofree char *why = g_strdup_printf("cannot be opened: %s",
                                               strerror(errno));

        return process_fail(errp, pid_file, why);
    }
    ours = is_ours(fd);
    len = read(fd, text, PID_TEXT_MAX);
    close(fd);
    if (!ours) {
        return process_fail(errp, pid_file,
                            "is not a file that only root can write");
    }
    text[MAX(len, 0)] = '\0';
    return parse_pid(text, pid) ||
           process_fail(errp, pid_file, "does not contain a number");
}

bool hostd_peer_is(const HostdPeer *peer, const char *pid_file, GError **errp)
{
    pid_t pid;

    if (!read_pid(pid_file, &pid, errp)) {
        return false;
    }
    if (pid != peer->pid) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "process %d, "
                    "which asks, is not the VM's process, which is %d in %s",
                    peer->pid, pid, pid_file);
        return false;
    }
    /* Checked after the file was read: the pid was not reused before. */
    if (has_ended(peer->pidfd)) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "process %d, "
                    "which asked, has ended", peer->pid);
        return false;
    }
    return true;
}

int hostd_process_open(const char *pid_file, GError **errp)
{
    pid_t pid;
    int fd;

    if (!read_pid(pid_file, &pid, errp)) {
        return -1;
    }
    fd = open_pidfd(pid);
    if (has_ended(fd)) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "the process %d of "
                    "the pid file %s has ended", pid, pid_file);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}
