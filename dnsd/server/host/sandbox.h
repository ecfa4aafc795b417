/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The privileges of this process */
#ifndef DNSD_SERVER_HOST_SANDBOX_H
#define DNSD_SERVER_HOST_SANDBOX_H

#include "dnsd/server/host/sockets.h"

/**
 * dnsd_sandbox_files: raise the limit of descriptors
 *
 * Returns: false, and @error has the limit.
 */
bool dnsd_sandbox_files(uint64_t wanted, DnsdError *error);

/**
 * dnsd_sandbox_uid: look up the user that this process becomes
 *
 * Returns: false, and @error says what would be right.
 */
bool dnsd_sandbox_uid(const char *user, uid_t *uid, DnsdError *error);

/**
 * dnsd_sandbox_user: become @user if this is root, and drop capabilities
 * @keep_ports: keep CAP_NET_BIND_SERVICE, if this process has it
 *
 * Returns: false, and @error says what would be right.
 */
bool dnsd_sandbox_user(const char *user, bool keep_ports,
                       DnsdError *error);

/* Calls besides those of a server of images; any combination */
enum {
    DNSD_CALLS_JOURNAL = 1,     /* write files of zones */
    DNSD_CALLS_CONNECT = 2,     /* connect over TCP */
    DNSD_CALLS_RESOLVE = 4,     /* ask other servers */
    DNSD_CALLS_LISTEN = 8,      /* listen at more sockets */
    DNSD_CALLS_CONTROL = 16,    /* make the control socket again */
    DNSD_CALLS_INTERFACES = 32, /* look up interfaces, and peers of sockets */
};

/**
 * dnsd_sandbox_calls: allow only the system calls of a server
 *
 * @more: DNSD_CALLS_...
 *
 * All others fail with EPERM, in all threads and those that they start.
 */
bool dnsd_sandbox_calls(unsigned more, DnsdError *error);

#endif /* DNSD_SERVER_HOST_SANDBOX_H */
