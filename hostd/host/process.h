/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifies processes: a socket's peer, and the process of a pid file
 *
 * The kernel reuses pids. A pidfd always stands for the same process, and
 * becomes readable when that process has ended.
 */
#ifndef HOSTD_PROCESS_H
#define HOSTD_PROCESS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct HostdPeer {
    uid_t uid;
    pid_t pid;                  /* 0: in another PID namespace */
    int pidfd;                  /* -1: the process has ended already */
} HostdPeer;

/**
 * hostd_peer_of: identify the process that has connected
 * @fd: from accept()
 *
 * Call it at once: before Linux 6.5, which has SO_PEERPIDFD, the pid of a
 * process that has ended may belong to another process.
 *
 * Returns: false with errno set if the kernel does not tell
 */
bool hostd_peer_of(HostdPeer *peer, int fd);
void hostd_peer_close(HostdPeer *peer);

/**
 * hostd_peer_is: is it the process of that pid file, and does it still run?
 *
 * Returns: false with @errp, which has the details
 */
bool hostd_peer_is(const HostdPeer *peer, const char *pid_file, GError **errp);

/**
 * hostd_process_open: open a pidfd for the process of a pid file
 *
 * Returns: -1 with @errp if there is none
 */
int hostd_process_open(const char *pid_file, GError **errp);

#endif /* HOSTD_PROCESS_H */
