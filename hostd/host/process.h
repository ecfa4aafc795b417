/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes: who is at the other end, and who is in a pid file
 *
 * A number of a process may be another's a moment later. A pidfd stands for one
 * process, and tells when that has ended.
 */
#ifndef HOSTD_PROCESS_H
#define HOSTD_PROCESS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct HostdPeer {
    uid_t uid;
    pid_t pid;                  /* 0: of another PID namespace */
    int pidfd;                  /* -1: it had gone already */
} HostdPeer;

/**
 * hostd_peer_of: the process that has connected
 * @fd: what accept() gave
 *
 * Call it at once: before Linux 6.5, which has SO_PEERPIDFD, a process that
 * ends before this is called may be taken for one that has its number since.
 *
 * Returns: false with errno set if the kernel does not say
 */
bool hostd_peer_of(HostdPeer *peer, int fd);
void hostd_peer_close(HostdPeer *peer);

/**
 * hostd_peer_is: is it the process of that pid file, and still there?
 *
 * Returns: false with @errp, which says who it is instead
 */
bool hostd_peer_is(const HostdPeer *peer, const char *pid_file, GError **errp);

/**
 * hostd_process_open: a pidfd of the process of a pid file
 *
 * Returns: -1 with @errp if there is none
 */
int hostd_process_open(const char *pid_file, GError **errp);

#endif /* HOSTD_PROCESS_H */
