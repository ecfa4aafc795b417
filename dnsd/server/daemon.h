/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of vmmnet-dnsd */
#ifndef DNSD_SERVER_DAEMON_H
#define DNSD_SERVER_DAEMON_H

#include <stdbool.h>

/** dnsd_run: serve until SIGTERM or SIGINT; false if the start failed */
bool dnsd_run(const char *path);

/** dnsd_check: print the errors of a configuration and its images */
bool dnsd_check(const char *path);

#endif /* DNSD_SERVER_DAEMON_H */
