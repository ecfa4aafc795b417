/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket: "show", "show json" and "metrics" (base/control.h) */
#ifndef HA_CONTROL_H
#define HA_CONTROL_H

#include "ha/agent/agent.h"

#define MIP6_HA_CONTROL     "/run/vmmnet/ha.sock"

typedef struct Mip6HaControl Mip6HaControl;

/**
 * mip6_ha_control_new: listen
 * @path: of the socket, with access for its owner only; a stale socket is
 *        replaced.  NULL: MIP6_HA_CONTROL, if that can be had
 * @agent: not modified
 *
 * Returns: NULL without an error if it can do without: the log says why
 */
Mip6HaControl *mip6_ha_control_new(const char *path, const Mip6Agent *agent,
                                   GError **errp);

/** mip6_ha_control_tick: call it once a second; @c may be NULL */
void mip6_ha_control_tick(Mip6HaControl *c);

/** mip6_ha_control_free: close, and remove the socket; @c may be NULL */
void mip6_ha_control_free(Mip6HaControl *c);

#endif /* HA_CONTROL_H */
