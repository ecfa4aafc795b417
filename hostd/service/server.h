/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UNIX socket and those who connect to it (docs/hostd.md)
 *
 * In the default main context of GLib.
 */
#ifndef HOSTD_SERVER_H
#define HOSTD_SERVER_H

#include "hostd/core/hostd.h"

typedef struct HostdServer HostdServer;

/**
 * hostd_server_new: listen
 * @path: of the socket, to which anybody may connect; one that nobody listens
 *        on is replaced
 * @h: what is asked for; its HostdOps.believe gets a HostdPeer
 */
HostdServer *hostd_server_new(const char *path, Hostd *h, GError **errp);

/** hostd_server_free: hang up, and remove the socket; NULL is allowed */
void hostd_server_free(HostdServer *server);

/**
 * hostd_server_ask: the other end: send @request and copy the answer to @out,
 * without the line "ok" at its end
 */
bool hostd_server_ask(const char *path, const char *request, GString *out,
                      GError **errp);

#endif /* HOSTD_SERVER_H */
