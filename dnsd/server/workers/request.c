/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests, passed to other threads and returned */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dnsd/server/host/unsent.h"
#include "dnsd/server/workers/request.h"

int dnsd_requests_init(DnsdRequests *requests)
{
    *requests = (DnsdRequests) {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
    };
    return requests->wake < 0 ? -errno : 0;
}

void dnsd_requests_destroy(DnsdRequests *requests)
{
    dnsd_requests_free(requests->first);
    if (requests->wake >= 0) {
        close(requests->wake);
    }
    pthread_mutex_destroy(&requests->lock);
}

DnsdRequest *dnsd_request_new(const DnsQuery *query)
{
    DnsdRequest *request = calloc(1, sizeof(*request) + query->len);

    if (request) {
        request->len = query->len;
        memcpy(request->msg, query->message, query->len);
        request->query = *query;
        request->query.message = request->msg;
        if (query->options) {
            request->query.options = request->msg +
                                     (query->options - query->message);
        }
    }
    return request;
}

void dnsd_request_free(DnsdRequest *request)
{
    free(request->reply);
    free(request->resolved);
    free(request);
}

void dnsd_requests_free(DnsdRequest *first)
{
    for (DnsdRequest *next; first; first = next) {
        next = first->next;
        dnsd_request_free(first);
    }
}

static void append(DnsdRequests *requests, DnsdRequest *request)
{
    request->next = NULL;
    if (requests->last) {
        requests->last->next = request;
    } else {
        requests->first = request;
    }
    requests->last = request;
    requests->count++;
    requests->len += request->len;
}

static bool has_room(const DnsdRequests *requests)
{
    return requests->count < DNSD_REQUESTS_MAX &&
           requests->len < DNSD_REQUESTS_LEN;
}

static void wake(const DnsdRequests *requests)
{
    uint64_t one = 1;

    if (write(requests->wake, &one, sizeof(one)) < 0) {
        /* the counter is full, so the reader is awake */
        return;
    }
}

bool dnsd_requests_put(DnsdRequests *requests, DnsdRequest *request,
                       bool is_bounded)
{
    bool taken, is_first;

    pthread_mutex_lock(&requests->lock);
    is_first = !requests->first;
    taken = !is_bounded || has_room(requests);
    if (taken) {
        append(requests, request);
    }
    pthread_mutex_unlock(&requests->lock);
    /* Otherwise the reader was woken for earlier requests. */
    if (taken && is_first) {
        wake(requests);
    }
    return taken;
}

DnsdRequest *dnsd_requests_put_all(DnsdRequests *requests, DnsdRequest *first)
{
    bool is_first;

    pthread_mutex_lock(&requests->lock);
    is_first = !requests->first;
    for (DnsdRequest *next; first && has_room(requests); first = next) {
        next = first->next;
        append(requests, first);
    }
    is_first = is_first && requests->first;
    pthread_mutex_unlock(&requests->lock);
    if (is_first) {
        wake(requests);
    }
    return first;
}

DnsdRequest *dnsd_requests_take(DnsdRequests *requests)
{
    DnsdRequest *first;
    uint64_t count;

    if (read(requests->wake, &count, sizeof(count)) < 0 && errno != EAGAIN) {
        return NULL;
    }
    pthread_mutex_lock(&requests->lock);
    first = requests->first;
    requests->first = requests->last = NULL;
    requests->count = 0;
    requests->len = 0;
    pthread_mutex_unlock(&requests->lock);
    return first;
}

/* --- replies -------------------------------------------------------------- */

static void send_datagram(const DnsdRequest *r, const uint8_t *reply,
                          size_t len)
{
    struct iovec iov = { (void *)reply, len };
    struct msghdr msg = {
        .msg_name = (void *)&r->peer, .msg_namelen = r->peer_len,
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = r->pktinfo_len ? (void *)r->pktinfo : NULL,
        .msg_controllen = r->pktinfo_len,
    };

    if (len && sendmsg(r->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        dnsd_unsent(errno);
    }
}

static void give_back(DnsdRequest *request)
{
    dnsd_requests_put(request->home, request, false);
}

void dnsd_request_reply(DnsdRequest *request, const uint8_t *reply,
                        size_t len)
{
    if (!request->client.is_stream) {
        send_datagram(request, reply, len);
        dnsd_request_free(request);
        return;
    }
    request->reply = len ? malloc(len) : NULL;
    if (request->reply) {
        memcpy(request->reply, reply, len);
        request->reply_len = len;
    }
    give_back(request);
}

void dnsd_request_sent(DnsdRequest *request, bool keep)
{
    request->is_sent = keep;
    give_back(request);
}

void dnsd_request_resolved(DnsdRequest *request, DnsdResolved *resolved)
{
    request->is_resolved = true;
    request->resolved = resolved;
    give_back(request);
}
