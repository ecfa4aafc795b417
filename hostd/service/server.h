/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UNIX socket and its clients (docs/hostd.md)
 *
 * It runs in GLib's default main context.
 */
#ifndef HOSTD_SERVER_H
#define HOSTD_SERVER_H

#include "hostd/core/hostd.h"

typedef struct HostdServer HostdServer;

/**
 * hostd_server_new: listen
 * @path: of the socket, mode 0666; a stale socket is replaced
 * @h: executes the requests; its HostdOps.is_vm gets a HostdPeer
 */
HostdServer *hostd_server_new(const char *path, Hostd *h, GError **errp);

/** hostd_server_free: close all, and remove the socket; may be NULL */
void hostd_server_free(HostdServer *server);

/**
 * hostd_server_ask: as a client, send @request and copy the answer to @out,
 * without the final line "ok"
 */
bool hostd_server_ask(const char *path, const char *request, GString *out,
                      GError **errp);

#endif /* HOSTD_SERVER_H */
