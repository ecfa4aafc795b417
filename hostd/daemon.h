/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-hostd as a process */
#ifndef HOSTD_DAEMON_H
#define HOSTD_DAEMON_H

#include <glib.h>
#include <stdbool.h>

/**
 * hostd_serve: serve the UNIX socket @path until SIGINT or SIGTERM
 * @state: the state file
 *
 * The host keeps the addresses when the process ends.
 *
 * Returns: false with @errp if it cannot start
 */
bool hostd_serve(const char *path, const char *state, GError **errp);

#endif /* HOSTD_DAEMON_H */
