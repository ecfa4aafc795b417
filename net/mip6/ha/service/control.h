/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: who connects and sends "text", "json" or "metrics" with a
 * line's end gets that, and the connection's end
 */
#ifndef NET_MIP6_HA_CONTROL_H
#define NET_MIP6_HA_CONTROL_H

#include "net/mip6/ha/service/show.h"

typedef struct Mip6HaControl Mip6HaControl;

/**
 * mip6_ha_control_new: listen
 * @path: of the socket, which only its owner can connect to; one that nobody
 *        listens on is replaced
 * @agent: not modified
 */
Mip6HaControl *mip6_ha_control_new(const char *path, const Mip6Agent *agent,
                                   GError **errp);

/** mip6_ha_control_free: and remove the socket */
void mip6_ha_control_free(Mip6HaControl *c);

/** mip6_ha_control_ask: the other end: copy an answer to @fd */
bool mip6_ha_control_ask(const char *path, Mip6ShowFormat format, int fd,
                         GError **errp);

#endif /* NET_MIP6_HA_CONTROL_H */
