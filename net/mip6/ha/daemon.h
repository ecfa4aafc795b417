/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A home agent as a process */
#ifndef NET_MIP6_HA_DAEMON_H
#define NET_MIP6_HA_DAEMON_H

#include <glib.h>
#include <stdbool.h>

/**
 * mip6_ha_serve: be the home agent that the configuration @file describes,
 * until SIGINT or SIGTERM comes
 *
 * Returns: false if it cannot begin, or cannot write its state at the end
 */
bool mip6_ha_serve(const char *file, GError **errp);

#endif /* NET_MIP6_HA_DAEMON_H */
