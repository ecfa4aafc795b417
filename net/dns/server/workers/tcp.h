/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of one thread (RFC 7766)
 *
 * Their number is fixed, and so is the memory of each: a client that holds a
 * connection holds 192 KiB at most, and no client holds more than some.
 */
#ifndef NET_DNS_SERVER_WORKERS_TCP_H
#define NET_DNS_SERVER_WORKERS_TCP_H

#include <stdatomic.h>
#include <stdint.h>

#include "net/dns/server/config/config.h"

struct DnsdWorker;
struct DnsdRequest;
typedef struct DnsdConnection DnsdConnection;

typedef struct DnsdTcp {
    DnsdConnection *connection;
    uint8_t *buffers;
    unsigned max;
    unsigned idlest, busiest;   /* a list in the order of last activity */
    unsigned free;              /* a list of those that are not in use */
    atomic_uint used;
} DnsdTcp;

/** dnsd_tcp_init: returns 0 or -ENOMEM. */
int dnsd_tcp_init(DnsdTcp *tcp, unsigned max);

/** dnsd_tcp_destroy: closes all connections. */
void dnsd_tcp_destroy(DnsdTcp *tcp);

/** dnsd_tcp_accept: those that wait at a listening socket. */
void dnsd_tcp_accept(struct DnsdWorker *worker, int listener);

/** dnsd_tcp_ready: a connection can be read, or written. */
void dnsd_tcp_ready(struct DnsdWorker *worker, unsigned which,
                    uint32_t events);

/** dnsd_tcp_returned: other threads have done these, or NULL. */
void dnsd_tcp_returned(struct DnsdWorker *worker, struct DnsdRequest *first);

/**
 * dnsd_tcp_expire: close those that are idle for too long
 *
 * Returns: milliseconds until the next one may be, -1 if there is none.
 */
int dnsd_tcp_expire(struct DnsdWorker *worker);

#endif /* NET_DNS_SERVER_WORKERS_TCP_H */
