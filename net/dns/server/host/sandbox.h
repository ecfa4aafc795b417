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

/**
 * dnsd_sandbox_calls: from now on only the system calls of a server
 *
 * @has_journal: also those that write files of zones
 *
 * All others fail with EPERM.  For all threads, and those that they start.
 */
bool dnsd_sandbox_calls(bool has_journal, DnsdMistake *mistake);

#endif /* NET_DNS_SERVER_HOST_SANDBOX_H */
