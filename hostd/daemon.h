/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-hostd as a process */
#ifndef HOSTD_DAEMON_H
#define HOSTD_DAEMON_H

#include <glib.h>
#include <stdbool.h>

/**
 * hostd_serve: answer at the UNIX socket @path until SIGINT or SIGTERM comes
 * @state: the file that keeps what is registered
 *
 * Addresses stay when it ends.
 *
 * Returns: false with @errp if it cannot begin
 */
bool hostd_serve(const char *path, const char *state, GError **errp);

#endif /* HOSTD_DAEMON_H */
