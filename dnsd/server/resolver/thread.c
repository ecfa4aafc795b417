/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that resolves
 *
 * Theory of operation
 *
 * Resolving takes time on the network and on the processor: a signature costs
 * as much as a hundred answers.  So the workers do not resolve.  They answer
 * from zones and from kept answers, whatever the load of the resolver is.
 * There is also no resolver for each worker: each would ask for the same names,
 * and the memory of the cache would be divided among them.  If there are
 * several threads of this kind, each name belongs to one of them.
 *
 * An answer from the cache of libunbound costs more than 6 us in addition to
 * the reply.  4 us of them are here: libunbound allocates and runs a state
 * machine for each query, and the thread changes twice.  So the workers have a
 * table in front (serve/replies.c), with which an answer costs as much as one
 * from an image.
 *
 * A worker copies a query into the queue of a thread.  libunbound runs on the
 * loop of that thread by its event API, without threads or processes of its
 * own, and joins queries for the same question.  Its result goes back to the
 * worker in a form that only has to be copied into replies.
 *
 * If a query has no answer after some time, it is answered SERVFAIL, as no
 * client waits for longer.  libunbound continues, so the query counts as
 * waiting until libunbound has ended it.
 *
 * New settings take a new context.  The old one is freed after its last query.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dnsd/server/resolver/thread.h"
#include "base/units.h"
#include "net/dns/unbound/why.h"

#define PATIENCE    (10 * US_PER_S)

/* A query while libunbound works on it */
struct DnsdAsk {
    DnsdAsk *before, *after;
    DnsdResolverThread *thread;
    DnsdContext *context;
    DnsdRequest *request;       /* NULL: answered SERVFAIL after a timeout */
    DnsdAddr client;
    DnsQuestion question;
    bool dnssec_ok;
    DnscTimer timer;
};

/* --- asks ----------------------------------------------------------------- */

static DnsdAsk *begin(DnsdResolverThread *t, DnsdRequest *request)
{
    DnsdAsk *a = calloc(1, sizeof(*a));

    if (!a || dnsc_loop_reserve(&t->loop)) {
        free(a);
        return NULL;
    }
    a->thread = t;
    a->request = request;
    a->client = request->client.addr;
    a->context = t->context;
    a->context->asks++;
    a->after = t->asks;
    if (a->after) {
        a->after->before = a;
    }
    t->asks = a;
    return a;
}

static void answer(DnsdAsk *a, DnsdResolved *resolved)
{
    if (a->request) {
        dnsd_request_resolved(a->request, resolved);
        a->request = NULL;
    }
}

static void end(DnsdAsk *a)
{
    DnsdResolverThread *t = a->thread;

    if (a->before) {
        a->before->after = a->after;
    } else {
        t->asks = a->after;
    }
    if (a->after) {
        a->after->before = a->before;
    }
    a->context->asks--;
    dnsc_timer_clear(&t->loop, &a->timer);
    dnsc_loop_unreserve(&t->loop);
    dnsd_tally_leave(t->tally, &a->client);
    free(a);
}

static void due(DnscTimer *timer)
{
    DnsdAsk *a = (DnsdAsk *)((char *)timer - offsetof(DnsdAsk, timer));

    answer(a, dnsd_resolved_failed(DNS_EDE_NO_REACHABLE_AUTHORITY));
}

/* --- libunbound ----------------------------------------------------------- */

/* Values from the documentation of libunbound */
enum {
    UNBOUND_BOGUS = 1,
    UNBOUND_SECURE = 2,
};

static DnsdResolved *read_packet(const DnsdAsk *a, const uint8_t *packet,
                                 int len, int security, const char *why)
{
    DnsdResolved *r = packet && len > 0
        ? dnsd_resolved_new(&a->question, packet, len, a->dnssec_ok) : NULL;

    if (!r) {
        return dnsd_resolved_failed(DNS_EDE_INVALID_DATA);
    }
    if (security == UNBOUND_BOGUS) {
        r->security = DNSD_BOGUS;
        r->ede = dnsc_why_ede(why ? why : "");
    } else if (security == UNBOUND_SECURE) {
        r->security = DNSD_SECURE;
    }
    return r;
}

/* This may be called within ub_resolve_event(). */
static void resolved(void *opaque, int rcode, void *packet, int len,
                     int security, char *why, int was_ratelimited)
{
    DnsdAsk *a = opaque;

    if (a->request) {
        answer(a, rcode ? dnsd_resolved_failed(DNS_EDE_NO_REACHABLE_AUTHORITY)
                        : read_packet(a, packet, len, security, why));
    }
    end(a);
}

static void ask(DnsdResolverThread *t, DnsdRequest *request)
{
    DnsdAsk *a = begin(t, request);
    const DnsQuery *query = &request->query;
    char name[DNS_NAME_TEXT_MAX];

    if (!a) {
        dnsd_tally_leave(t->tally, &request->client.addr);
        dnsd_request_resolved(request, NULL);
        return;
    }
    a->question = (DnsQuestion) {
        dns_query_name(query), query->type, query->qclass,
    };
    a->dnssec_ok = query->dnssec_ok;
    a->timer.fire = due;
    dnsc_timer_set(&t->loop, &a->timer, dnsc_now() + PATIENCE);
    dns_name_to_text(&a->question.name, name);
    if (a->context->unbound->resolve(a->context->ctx, name, query->type,
                                     query->qclass, a, resolved, NULL)) {
        answer(a, dnsd_resolved_failed(DNS_EDE_OTHER));
        end(a);
    }
}

/* --- the thread ----------------------------------------------------------- */

static void take_context(DnsdResolverThread *t)
{
    DnsdContext *next = atomic_exchange(&t->next, NULL);

    if (next) {
        next->next = t->context;
        t->context = next;
    }
}

static void take_queue(DnscSource *source, uint32_t events)
{
    DnsdResolverThread *t = (DnsdResolverThread *)
        ((char *)source - offsetof(DnsdResolverThread, wake));

    take_context(t);
    for (DnsdRequest *r = dnsd_requests_take(t->queue), *next; r; r = next) {
        next = r->next;
        ask(t, r);
    }
}

/* Free contexts that are not in use and have no query any more. */
static void drop_contexts(DnsdResolverThread *t)
{
    DnsdContext **at = &t->context->next;

    while (*at) {
        DnsdContext *old = *at;

        if (old->asks) {
            at = &old->next;
        } else {
            *at = old->next;
            dnsd_context_free(old);
        }
    }
}

static void *run(void *opaque)
{
    DnsdResolverThread *t = opaque;
    struct epoll_event event;

    while (!atomic_load_explicit(&t->stop, memory_order_acquire)) {
        epoll_wait(t->loop.epoll, &event, 1, dnsc_loop_timeout_ms(&t->loop));
        dnsc_loop_run(&t->loop);
        drop_contexts(t);
    }
    return NULL;
}

/* --- life ----------------------------------------------------------------- */

int dnsd_resolver_thread_init(DnsdResolverThread *t, DnsdRequests *queue,
                              DnsdTally *tally)
{
    int ret;

    *t = (DnsdResolverThread) {
        .queue = queue, .tally = tally, .loop.epoll = -1,
        .wake = { .fd = -1, .ready = take_queue },
    };
    ret = dnsd_requests_init(queue);
    ret = ret ? ret : dnsc_loop_attach(&t->loop);
    t->wake.fd = queue->wake;
    return ret ? ret : dnsc_loop_watch(&t->loop, &t->wake, EPOLLIN);
}

static void wake(DnsdResolverThread *t)
{
    uint64_t one = 1;

    /* If the counter is full, the thread is awake. */
    while (write(t->queue->wake, &one, sizeof(one)) < 0 && errno == EINTR) {
        continue;
    }
}

void dnsd_resolver_thread_use(DnsdResolverThread *t, DnsdContext *context)
{
    DnsdContext *unused = atomic_exchange(&t->next, context);

    if (unused) {
        dnsd_context_free(unused);
    }
    wake(t);
}

int dnsd_resolver_thread_start(DnsdResolverThread *t)
{
    int ret;

    take_context(t);
    ret = pthread_create(&t->thread, NULL, run, t);
    t->is_running = !ret;
    return -ret;
}

void dnsd_resolver_thread_stop(DnsdResolverThread *t)
{
    if (t->is_running) {
        atomic_store_explicit(&t->stop, true, memory_order_release);
        wake(t);
        pthread_join(t->thread, NULL);
        t->is_running = false;
    }
}

void dnsd_resolver_thread_free(DnsdResolverThread *t)
{
    take_context(t);
    while (t->asks) {
        if (t->asks->request) {
            dnsd_request_free(t->asks->request);
        }
        end(t->asks);
    }
    for (DnsdContext *next; t->context; t->context = next) {
        next = t->context->next;
        dnsd_context_free(t->context);
    }
    if (t->loop.epoll >= 0) {
        dnsc_loop_detach(&t->loop);
    }
    dnsc_loop_free(&t->loop);
    dnsd_requests_destroy(t->queue);
}
