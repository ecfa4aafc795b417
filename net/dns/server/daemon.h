/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-dnsd as a process */
#ifndef NET_DNS_SERVER_DAEMON_H
#define NET_DNS_SERVER_DAEMON_H

#include <stdbool.h>

/** dnsd_run: serve until SIGTERM or SIGINT; false if it could not begin. */
bool dnsd_run(const char *path);

/** dnsd_check: tell what is wrong with a configuration and its images. */
bool dnsd_check(const char *path);

#endif /* NET_DNS_SERVER_DAEMON_H */
