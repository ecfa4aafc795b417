/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of one thread (RFC 7766)
 *
 * Their number is fixed, and so is the memory of each.  A connection takes at
 * most 192 KiB, and the connections of one client are limited.
 */
#ifndef DNSD_SERVER_WORKERS_TCP_H
#define DNSD_SERVER_WORKERS_TCP_H

#include <stdatomic.h>
#include <stdint.h>

#include "dnsd/server/config/config.h"

struct DnsdWorker;
struct DnsdRequest;
typedef struct DnsdConnection DnsdConnection;

typedef struct DnsdTcp {
    DnsdConnection *connection;
    uint8_t *buffers;
    unsigned max;
    unsigned idlest, busiest;   /* the list by last activity */
    unsigned free;              /* the list of free ones */
    atomic_uint used;
} DnsdTcp;

/** dnsd_tcp_init: returns 0 or -ENOMEM. */
int dnsd_tcp_init(DnsdTcp *tcp, unsigned max);

/** dnsd_tcp_destroy: close all connections */
void dnsd_tcp_destroy(DnsdTcp *tcp);

/** dnsd_tcp_accept: accept connections of a listening socket */
void dnsd_tcp_accept(struct DnsdWorker *worker, int listener);

/** dnsd_tcp_ready: a connection is readable or writable */
void dnsd_tcp_ready(struct DnsdWorker *worker, unsigned which,
                    uint32_t events);

/** dnsd_tcp_returned: other threads have completed these requests, or NULL */
void dnsd_tcp_returned(struct DnsdWorker *worker, struct DnsdRequest *first);

/**
 * dnsd_tcp_expire: close connections that are idle for too long
 *
 * Returns: milliseconds until the next one may expire; -1: there is none.
 */
int dnsd_tcp_expire(struct DnsdWorker *worker);

#endif /* DNSD_SERVER_WORKERS_TCP_H */
