/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that a worker does not answer by itself, on their way to the control
 * thread or to the resolver
 *
 * A worker copies the request and goes on.  A connection may have some of them
 * under way, and has their replies in whatever order they are made (RFC 7766
 * section 6.2.1.1).  A transfer is written by the control thread, so that the
 * connection is away meanwhile: its worker neither reads nor writes there.
 */
#ifndef NET_DNS_SERVER_WORKERS_REQUEST_H
#define NET_DNS_SERVER_WORKERS_REQUEST_H

#include <pthread.h>
#include <sys/socket.h>

#include "net/dns/server/serve/serve.h"

#define DNSD_REQUESTS_MAX   1024    /* that wait, of all threads */
#define DNSD_REQUESTS_LEN   (16u << 20)     /* octets of those */
#define DNSD_PKTINFO_MAX    64      /* octets of control data */

typedef struct DnsdRequest DnsdRequest;
struct DnsdWorker;

struct DnsdRequest {
    DnsdRequest *next;
    DnsdClient client;
    struct sockaddr_storage peer;
    socklen_t peer_len;
    int fd;                     /* of the connection, or the UDP socket */
    /* UDP: from which address the reply goes */
    size_t pktinfo_len;
    _Alignas(struct cmsghdr) uint8_t pktinfo[DNSD_PKTINFO_MAX];
    /* TCP: whose connection it is, and the reply on its way back */
    struct DnsdWorker *worker;
    unsigned connection;
    uint32_t generation;        /* of that connection */
    uint8_t *reply;
    size_t reply_len;           /* 0: close the connection */
    bool is_sent;               /* all replies are, by somebody else */
    /* With the resolver: of what cache's time it is, and the answer */
    uint32_t asked_of;
    bool is_resolved;
    DnsdResolved *resolved;
    size_t len;
    uint8_t msg[];
};

/* A queue that any thread fills and one empties */
typedef struct DnsdRequests {
    pthread_mutex_t lock;
    DnsdRequest *first, *last;
    unsigned count;
    size_t len;                 /* octets of their messages */
    int wake;                   /* an eventfd */
} DnsdRequests;

int dnsd_requests_init(DnsdRequests *requests);
void dnsd_requests_destroy(DnsdRequests *requests);

/** dnsd_request_new: with a copy of the message; NULL without memory. */
DnsdRequest *dnsd_request_new(const uint8_t *msg, size_t len);
void dnsd_request_free(DnsdRequest *request);

/** dnsd_requests_free: it, and all that are behind it; or NULL. */
void dnsd_requests_free(DnsdRequest *first);

/**
 * dnsd_requests_put: add one
 * @is_bounded: no more than DNSD_REQUESTS_MAX, and _LEN, may wait
 *
 * Returns: false, and @request is still the caller's, if there are more.
 */
bool dnsd_requests_put(DnsdRequests *requests, DnsdRequest *request,
                       bool is_bounded);

/**
 * dnsd_requests_put_all: add a chain of them, with one look at the queue
 *
 * Bounded as above.
 *
 * Returns: those that may not wait, which are still the caller's, or NULL.
 */
DnsdRequest *dnsd_requests_put_all(DnsdRequests *requests,
                                   DnsdRequest *first);

/** dnsd_requests_take: all that wait, the oldest first. */
DnsdRequest *dnsd_requests_take(DnsdRequests *requests);

/**
 * dnsd_request_reply: the only reply; @request is freed, now or later
 * @len: 0: none, and a connection is closed
 *
 * By any thread.
 */
void dnsd_request_reply(DnsdRequest *request, const uint8_t *reply,
                        size_t len);

/**
 * dnsd_request_sent: the caller has written all replies to request->fd
 * @keep: the connection may go on
 *
 * For TCP; such as a transfer, which is many messages.
 */
void dnsd_request_sent(DnsdRequest *request, bool keep);

/**
 * dnsd_request_resolved: back to its worker, with what the resolver has found
 * @resolved: malloc()ed; NULL: there is no memory, and no reply
 *
 * By any thread.
 */
void dnsd_request_resolved(DnsdRequest *request, DnsdResolved *resolved);

#endif /* NET_DNS_SERVER_WORKERS_REQUEST_H */
