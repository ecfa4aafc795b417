/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of a worker: their life, and the list by activity */
#ifndef DNSD_SERVER_WORKERS_CONNECTION_H
#define DNSD_SERVER_WORKERS_CONNECTION_H

#include "dnsd/server/workers/state.h"

/** dnsd_connections_init: returns 0 or -ENOMEM. */
int dnsd_connections_init(DnsdTcp *tcp, unsigned max);

/** dnsd_connections_destroy: close all */
void dnsd_connections_destroy(DnsdTcp *tcp);

/** dnsd_connections_accept: accept connections of a listening socket */
void dnsd_connections_accept(DnsdWorker *worker, int listener);

/**
 * dnsd_connections_expire: close connections that are idle for too long
 *
 * Returns: milliseconds until the next one may expire; -1: there is none.
 */
int dnsd_connections_expire(DnsdWorker *worker);

/**
 * dnsd_connection_set: change its state, and trace the change
 *
 * A change that is impossible is a bug: the program ends.
 */
void dnsd_connection_set(DnsdConnection *connection, DnsdConnectionState state);

/** dnsd_connection_is_away: does another thread use it, or nobody? */
bool dnsd_connection_is_away(const DnsdConnection *connection);

/** dnsd_connection_active: make it the last one to be closed */
void dnsd_connection_active(DnsdWorker *worker, unsigned which);

/** dnsd_connection_watch: watch for these events of epoll; 0: none */
void dnsd_connection_watch(DnsdWorker *worker, unsigned which,
                           uint32_t events);

/** dnsd_connection_busy: set whether it must not be closed for being idle */
void dnsd_connection_busy(DnsdWorker *worker, unsigned which, bool is_busy);

/** dnsd_connection_drop: close it, and count @why (DNSD_TCP_...) */
void dnsd_connection_drop(DnsdWorker *worker, unsigned which, unsigned why);

#endif /* DNSD_SERVER_WORKERS_CONNECTION_H */
