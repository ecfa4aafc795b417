/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of a worker */
#ifndef DNSD_SERVER_WORKERS_CONNECTION_H
#define DNSD_SERVER_WORKERS_CONNECTION_H

#include "dnsd/server/core/prefix.h"
#include "dnsd/server/core/stream.h"
#include "dnsd/server/workers/request.h"

/* Limits of the requests of a connection in other threads, and their octets */
#define DNSD_UNDER_WAY_MAX  32
#define DNSD_UNDER_WAY_LEN  DNSD_STREAM_IN

struct DnsdWorker;

typedef struct DnsdConnection {
    int fd;                     /* -1: free */
    unsigned before, after;     /* in a list */
    uint32_t watched;           /* events of epoll */
    uint64_t active_ms;
    DnsdAddr peer;
    DnsdStream stream;
    bool has_ended;             /* the client sends no more */
    uint32_t generation;        /* of this place */
    /* Requests in other threads; if there are any, it is in no list. */
    unsigned under_way;
    size_t under_way_len;
    bool is_away;               /* for a transfer */
    bool has_failed;            /* close it after a failed request */
    DnsdRequest *back, *back_last;  /* their replies wait for room */
    bool is_touched;
    unsigned touched;           /* link of connections with returned ones */
    /* A request in the stream's buffer that must wait */
    const uint8_t *held;
    size_t held_len;
    bool is_transfer;
    bool is_for_resolver;
} DnsdConnection;

/** dnsd_connection_active: make it the last one to be closed */
void dnsd_connection_active(struct DnsdWorker *worker, unsigned which);

/** dnsd_connection_watch: watch for these events of epoll; 0: none */
void dnsd_connection_watch(struct DnsdWorker *worker, unsigned which,
                           uint32_t events);

/** dnsd_connection_busy: set whether it must not be closed for being idle */
void dnsd_connection_busy(struct DnsdWorker *worker, unsigned which,
                          bool is_busy);

/** dnsd_connection_drop: close it, and count @why (DNSD_TCP_...) */
void dnsd_connection_drop(struct DnsdWorker *worker, unsigned which,
                          unsigned why);

#endif /* DNSD_SERVER_WORKERS_CONNECTION_H */
