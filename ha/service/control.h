/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: a client sends "text", "json" or "metrics" and a newline,
 * and gets the status in that format; then the connection is closed
 */
#ifndef HA_CONTROL_H
#define HA_CONTROL_H

#include "ha/service/show.h"

typedef struct Mip6HaControl Mip6HaControl;

/**
 * mip6_ha_control_new: listen
 * @path: of the socket, with access for its owner only; a stale socket is
 *        replaced
 * @agent: not modified
 */
Mip6HaControl *mip6_ha_control_new(const char *path, const Mip6Agent *agent,
                                   GError **errp);

/**
 * mip6_ha_control_look: make the socket again if somebody has removed it, and
 * log that; call it once a second
 */
void mip6_ha_control_look(Mip6HaControl *c);

/** mip6_ha_control_free: close, and remove the socket */
void mip6_ha_control_free(Mip6HaControl *c);

/** mip6_ha_control_ask: as a client, copy an answer to @fd */
bool mip6_ha_control_ask(const char *path, Mip6ShowFormat format, int fd,
                         GError **errp);

#endif /* HA_CONTROL_H */
