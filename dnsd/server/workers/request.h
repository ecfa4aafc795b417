/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that a worker does not answer itself, but passes to the control
 * thread or the resolver
 *
 * A worker copies the request and continues.  A connection may have some of
 * them under way, and gets the replies in any order (RFC 7766 section 6.2.1.1).
 * The control thread itself writes a transfer; meanwhile the connection is
 * away, and its worker neither reads nor writes there.
 */
#ifndef DNSD_SERVER_WORKERS_REQUEST_H
#define DNSD_SERVER_WORKERS_REQUEST_H

#include <pthread.h>
#include <sys/socket.h>

#include "dnsd/server/core/tally.h"
#include "dnsd/server/serve/state.h"

#define DNSD_REQUESTS_MAX   1024    /* that wait, in all threads */
#define DNSD_REQUESTS_LEN   (16u << 20)     /* octets of their messages */
#define DNSD_PKTINFO_MAX    64      /* octets of control messages */

typedef struct DnsdRequest DnsdRequest;

struct DnsdRequest {
    DnsdRequest *next;
    DnsdClient client;
    struct sockaddr_storage peer;
    socklen_t peer_len;
    int fd;                     /* the connection, or the UDP socket */
    /* UDP: the source address of the reply */
    size_t pktinfo_len;
    _Alignas(struct cmsghdr) uint8_t pktinfo[DNSD_PKTINFO_MAX];
    struct DnsdRequests *home;  /* the queue of its worker, to return to */
    /* TCP: the connection, and the reply */
    unsigned connection;
    uint32_t generation;        /* of that connection */
    uint8_t *reply;
    size_t reply_len;           /* 0: close the connection */
    bool is_sent;               /* another thread has sent all replies */
    /* For the resolver: the generation of the cache, and the answer */
    uint32_t asked_of;
    bool is_resolved;
    DnsdResolved *resolved;
    DnsQuery query;             /* points into @msg */
    size_t len;
    uint8_t msg[];
};

/* A queue that any thread fills and one thread empties */
typedef struct DnsdRequests {
    pthread_mutex_t lock;
    DnsdRequest *first, *last;
    unsigned count;
    size_t len;                 /* octets of their messages */
    int wake;                   /* an eventfd */
} DnsdRequests;

/* The interface of the resolver for workers */
typedef struct DnsdResolvers {
    unsigned count;
    DnsdRequests *queue;        /* one for each thread */
    DnsdTally *tally;           /* of the waiting queries */
    uint64_t key[2];            /* random */
} DnsdResolvers;

int dnsd_requests_init(DnsdRequests *requests);
void dnsd_requests_destroy(DnsdRequests *requests);

/** dnsd_request_new: copies the query and its message; NULL without memory */
DnsdRequest *dnsd_request_new(const DnsQuery *query);
void dnsd_request_free(DnsdRequest *request);

/** dnsd_requests_free: free a chain of requests, or NULL */
void dnsd_requests_free(DnsdRequest *first);

/**
 * dnsd_requests_put: add a request
 * @is_bounded: apply the limits DNSD_REQUESTS_MAX and _LEN
 *
 * Returns: false at the limit, and the caller keeps @request.
 */
bool dnsd_requests_put(DnsdRequests *requests, DnsdRequest *request,
                       bool is_bounded);

/**
 * dnsd_requests_put_all: add a chain of requests with one access to the queue
 *
 * The limits apply.
 *
 * Returns: the requests beyond the limit, which the caller keeps; or NULL.
 */
DnsdRequest *dnsd_requests_put_all(DnsdRequests *requests,
                                   DnsdRequest *first);

/** dnsd_requests_take: take all requests, the oldest first */
DnsdRequest *dnsd_requests_take(DnsdRequests *requests);

/**
 * dnsd_request_reply: send the only reply; @request is freed, now or later
 * @len: 0: no reply; a connection is closed
 *
 * Any thread may call it.
 */
void dnsd_request_reply(DnsdRequest *request, const uint8_t *reply,
                        size_t len);

/**
 * dnsd_request_sent: the caller has written all replies to request->fd
 * @keep: the connection may be used further
 *
 * For TCP, for example for a transfer, which has many messages.
 */
void dnsd_request_sent(DnsdRequest *request, bool keep);

/**
 * dnsd_request_resolved: return a request to its worker with the answer of the
 * resolver
 * @resolved: from malloc(); NULL: without memory there is no reply
 *
 * Any thread may call it.
 */
void dnsd_request_resolved(DnsdRequest *request, DnsdResolved *resolved);

#endif /* DNSD_SERVER_WORKERS_REQUEST_H */
