/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of a worker */
#ifndef NET_DNS_SERVER_WORKERS_CONNECTION_H
#define NET_DNS_SERVER_WORKERS_CONNECTION_H

#include "net/dns/server/core/prefix.h"
#include "net/dns/server/core/stream.h"

struct DnsdWorker;

typedef struct DnsdConnection {
    int fd;                     /* -1: free */
    unsigned before, after;     /* in a list */
    uint32_t watched;           /* events */
    uint64_t active_ms;
    DnsdAddr peer;
    DnsdStream stream;
    bool is_away;
    bool has_ended;             /* the client sends no more */
    /* A request for the control thread, until replies before it are sent */
    const uint8_t *held;
    size_t held_len;
} DnsdConnection;

/** dnsd_connection_active: it is now the last to be closed. */
void dnsd_connection_active(struct DnsdWorker *worker, unsigned which);

/** dnsd_connection_watch: for these events of epoll; 0 for none. */
void dnsd_connection_watch(struct DnsdWorker *worker, unsigned which,
                           uint32_t events);

/** dnsd_connection_leave, _return: to the control thread, and back. */
void dnsd_connection_leave(struct DnsdWorker *worker, unsigned which);
void dnsd_connection_return(struct DnsdWorker *worker, unsigned which);

/** dnsd_connection_drop: close it; @why is counted (DNSD_TCP_...). */
void dnsd_connection_drop(struct DnsdWorker *worker, unsigned which,
                          unsigned why);

#endif /* NET_DNS_SERVER_WORKERS_CONNECTION_H */
