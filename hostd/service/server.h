/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket (docs/hostd.md)
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

/** hostd_server_tick: call it once a second */
void hostd_server_tick(HostdServer *server);

#endif /* HOSTD_SERVER_H */
