/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rights of this process: less and less */
#ifndef NET_DNS_SERVER_HOST_SANDBOX_H
#define NET_DNS_SERVER_HOST_SANDBOX_H

#include "net/dns/server/host/sockets.h"

/**
 * dnsd_sandbox_files: let this process have so many descriptors
 *
 * Returns: false, and @mistake says how many it may have.
 */
bool dnsd_sandbox_files(uint64_t wanted, DnsdMistake *mistake);

/**
 * dnsd_sandbox_user: become @user if this is root, and give up capabilities
 *
 * Returns: false, and @mistake says what would be right.
 */
bool dnsd_sandbox_user(const char *user, DnsdMistake *mistake);

/* More than a server of images needs; 0 or more of them */
enum {
    DNSD_CALLS_JOURNAL = 1,     /* write files of zones */
    DNSD_CALLS_CONNECT = 2,     /* be a client, over TCP */
    DNSD_CALLS_RESOLVE = 4,     /* ask other servers */
};

/**
 * dnsd_sandbox_calls: from now on only the system calls of a server
 *
 * @more: DNSD_CALLS_...
 *
 * All others fail with EPERM.  For all threads, and those that they start.
 */
bool dnsd_sandbox_calls(unsigned more, DnsdMistake *mistake);

#endif /* NET_DNS_SERVER_HOST_SANDBOX_H */
