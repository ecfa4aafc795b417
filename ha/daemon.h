/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A home agent as a process */
#ifndef HA_DAEMON_H
#define HA_DAEMON_H

#include <glib.h>
#include <stdbool.h>

/**
 * mip6_ha_serve: run a home agent with the configuration @file until SIGINT or
 * SIGTERM
 *
 * Returns: false if it cannot start, or cannot write its state at the end
 */
bool mip6_ha_serve(const char *file, GError **errp);

#endif /* HA_DAEMON_H */
