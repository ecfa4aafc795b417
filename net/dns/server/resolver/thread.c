/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that resolves
 *
 * Theory of operation
 * ===================
 *
 * Resolving takes time, and not only of the network: a signature costs what a
 * hundred answers do.  So it is not the workers' thread that does it: these
 * answer zones, and what they have kept, whatever somebody asks the resolver.
 * Nor has each worker a resolver of its own: a name would be asked for by each
 * of them, and memory for a cache would be divided by their number.  With
 * several threads of this kind a name is always the same one's.
 *
 * An answer from libunbound's cache costs more than 6 us beside what a reply
 * costs anyway, 4 of them here: its query is a state machine that is allocated
 * and run, and there are two changes of thread.  Hence the table in front
 * (serve/replies.c), by which an answer costs as much as one from an image.
 *
 * A query is copied by its worker into the queue of a thread.  libunbound runs
 * on the loop here by its event API, without a thread or process of its own,
 * and joins queries for the same question.  What it finds goes back to the
 * worker in a form that only needs to be copied into replies.
 *
 * A query that has no answer after a while is answered SERVFAIL, since no
 * client waits for longer.  libunbound goes on, and so the query counts as one
 * that waits until libunbound has ended it.
 *
 * With new settings there is a new context.  The old one ends with the last
 * of its queries.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/dns/server/resolver/thread.h"
#include "net/dns/unbound/why.h"

#define PATIENCE    (10 * DNSC_SECOND)

/* A query, for as long as libunbound has it */
struct DnsdAsk {
    DnsdAsk *before, *after;
    DnsdResolverThread *thread;
    DnsdContext *context;
    DnsdRequest *request;       /* NULL: it took too long, and is answered */
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

/* As its documentation has them */
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

/* It may come from within ub_resolve_event(). */
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
    char name[DNS_NAME_TEXT_MAX];
    DnsQuery query;

    if (!a) {
        dnsd_tally_leave(t->tally, &request->client.addr);
        dnsd_request_resolved(request, NULL);
        return;
    }
    dns_query_read(request->msg, request->len, &query);
    a->question = (DnsQuestion) {
        dns_query_name(&query), query.type, query.qclass,
    };
    a->dnssec_ok = query.dnssec_ok;
    a->timer.fire = due;
    dnsc_timer_set(&t->loop, &a->timer, dnsc_now() + PATIENCE);
    dns_name_to_text(&a->question.name, name);
    if (a->context->unbound->resolve(a->context->ctx, name, query.type,
                                     query.qclass, a, resolved, NULL)) {
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

/* Those before the one in use whose last ask has ended */
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

    /* If the counter is full, it is awake. */
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
