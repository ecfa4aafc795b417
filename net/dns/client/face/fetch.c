/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer to a question
 */

#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "net/dns/client/core/reply.h"
#include "net/dns/client/face/fetch.h"

#define STALE_AFTER     (18 * US_PER_S / 10)    /* RFC 8767 section 5 */
#define STALE_TTL       30
#define USUAL_MAX       (US_PER_S / 2)

struct DnscFetch {
    DnscFetch *next, **at;
    DnscFetcher *fetcher;
    DnsQuestion question;
    DnscWaiter *waiting;
    DnscAsk *ask;               /* Either of these is under way */
    DnscValidation *validation;
    DnscResult *result;         /* known: from the cache, or a failure */
    uint32_t ttl;
    DnscTimer timer;
    int64_t begun;
    bool cached;                /* the result is the cache's */
    unsigned hops;              /* aliases that took a question each */
    uint32_t chain_ttl;
    bool ended;                 /* waiters are being told */
};

static void drop(DnscFetch *f)
{
    *f->at = f->next;
    if (f->next) {
        f->next->at = f->at;
    }
    if (f->ask) {
        dnsc_ask_cancel(f->ask);
    }
    if (f->validation) {
        dnsc_validation_cancel(f->validation);
    }
    dnsc_timer_clear(f->fetcher->loop, &f->timer);
    dnsc_loop_unreserve(f->fetcher->loop);
    dnsc_result_unref(f->result);
    free(f);
}

/* A callback may cancel other waiters, and ask again. */
static void tell(DnscFetch *f, DnscResult *result, uint32_t ttl, bool stale)
{
    DnscWaiter *w;

    while ((w = f->waiting)) {
        f->waiting = w->next;
        w->fetch = NULL;
        w->cached = f->cached;
        w->done(w, result, ttl, stale);
    }
}

static DnscResult *stale_of(DnscFetch *f)
{
    DnscFetcher *fetcher = f->fetcher;

    return fetcher->stale && fetcher->cache ?
           dnsc_cache_get_stale(fetcher->cache, &f->question, dnsc_now()) :
           NULL;
}

/* The longest of the last times: each answer lowers it a little at most. */
static void measure(DnscFetch *f)
{
    int64_t took = dnsc_now() - f->begun, *usual = &f->fetcher->usual;

    took = took < USUAL_MAX ? took : USUAL_MAX;
    *usual = took > *usual ? took : *usual - (*usual - took) / 8;
}

static void end(DnscFetch *f, DnscResult *result)
{
    DnscResult *old = NULL;

    f->ended = true;
    dnsc_result_unref(f->result);
    f->result = result;
    if (!dnsc_error_is_failure(result->error)) {
        measure(f);
    }
    if (f->fetcher->cache) {
        dnsc_cache_put(f->fetcher->cache, &f->question, result, dnsc_now());
    }
    /* A bogus answer must not look like a missing one. */
    if (dnsc_error_is_failure(result->error) &&
        result->error != VMMNET_DNS_BOGUS) {
        old = stale_of(f);
    }
    tell(f, old ? old : result, old ? STALE_TTL : result->ttl, old);
    dnsc_result_unref(old);
    drop(f);
}

static int go_out(DnscFetch *f, const DnsQuestion *question);

/* The end of the alias is missing: the server does not follow aliases. */
static void answered(DnscFetch *f, DnscResult *result)
{
    DnsQuestion next = { .type = f->question.type, .qclass = DNS_CLASS_IN };

    f->hops += result->hops;
    if (result->refs && f->chain_ttl < result->ttl) {
        result->ttl = f->chain_ttl;
    }
    if (!result->follow) {
        end(f, result);
        return;
    }
    f->chain_ttl = result->ttl && result->ttl < f->chain_ttl ? result->ttl :
                   f->chain_ttl;
    next.name = result->canonical;
    dnsc_result_unref(result);
    if (f->hops > DNSC_CHAIN_MAX) {
        end(f, dnsc_result_error(VMMNET_DNS_CHAIN, "more than 16 aliases"));
    } else if (go_out(f, &next)) {
        end(f, dnsc_result_error(VMMNET_DNS_RESOURCES, "out of memory"));
    }
}

static void asked(void *opaque, DnscResult *result)
{
    DnscFetch *f = opaque;

    f->ask = NULL;
    answered(f, result);
}

static void validated(void *opaque, DnscResult *result)
{
    DnscFetch *f = opaque;

    f->validation = NULL;
    answered(f, result);
}

static int go_out(DnscFetch *f, const DnsQuestion *question)
{
    DnscFetcher *fetcher = f->fetcher;

    if (fetcher->validator) {
        f->validation = dnsc_validate(fetcher->validator, question, validated,
                                      f);
    } else {
        f->ask = dnsc_ask(fetcher->asker, question, asked, f);
    }
    return f->validation || f->ask ? 0 : -ENOMEM;
}

/* Deliver the answer of the cache; or the time without an answer is over. */
static void due(DnscTimer *timer)
{
    DnscFetch *f = (DnscFetch *)((char *)timer - offsetof(DnscFetch, timer));
    DnscResult *old;

    if (f->result) {
        f->ended = true;
        tell(f, f->result, f->ttl, false);
        drop(f);
        return;
    }
    old = stale_of(f);
    if (old) {
        f->ended = true;        /* a callback must not free it */
        tell(f, old, STALE_TTL, true);
        f->ended = false;
        dnsc_result_unref(old);
    }
}

static DnscFetch *find(DnscFetcher *fetcher, const DnsQuestion *question)
{
    DnscFetch *f;

    for (f = fetcher->out; f; f = f->next) {
        if (!f->ended && !f->result && f->question.type == question->type &&
            dns_name_equal(&f->question.name, &question->name)) {
            return f;
        }
    }
    return NULL;
}

static DnscFetch *new_fetch(DnscFetcher *fetcher, const DnsQuestion *question)
{
    DnscFetch *f = calloc(1, sizeof(*f));

    if (!f || dnsc_loop_reserve(fetcher->loop)) {
        free(f);
        return NULL;
    }
    f->fetcher = fetcher;
    f->question = *question;
    f->timer.fire = due;
    f->begun = dnsc_now();
    f->chain_ttl = DNSC_TTL_MAX;
    f->next = fetcher->out;
    f->at = &fetcher->out;
    if (f->next) {
        f->next->at = &f->next;
    }
    fetcher->out = f;
    return f;
}

static int start(DnscFetcher *fetcher, DnscFetch *f)
{
    if (fetcher->cache) {
        f->result = dnsc_cache_get(fetcher->cache, &f->question, dnsc_now(),
                                   &f->ttl);
    }
    f->cached = f->result != NULL;
    if (f->cached) {
        fetcher->counters->cache_hits++;
        dnsc_timer_set(fetcher->loop, &f->timer, dnsc_now());
        return 0;
    }
    if (go_out(f, &f->question)) {
        return -ENOMEM;
    }
    if (fetcher->stale) {
        dnsc_timer_set(fetcher->loop, &f->timer, dnsc_now() + STALE_AFTER);
    }
    return 0;
}

int dnsc_fetch(DnscFetcher *fetcher, const DnsQuestion *question,
               DnscWaiter *waiter)
{
    DnscFetch *f = find(fetcher, question);

    if (!f) {
        f = new_fetch(fetcher, question);
        if (!f) {
            return -ENOMEM;
        }
        if (start(fetcher, f)) {
            drop(f);
            return -ENOMEM;
        }
    }
    waiter->fetch = f;
    waiter->next = f->waiting;
    f->waiting = waiter;
    return 0;
}

void dnsc_fetch_cancel(DnscWaiter *waiter)
{
    DnscFetch *f = waiter->fetch;
    DnscWaiter **at;

    if (!f) {
        return;
    }
    at = &f->waiting;
    while (*at != waiter) {
        at = &(*at)->next;
    }
    *at = waiter->next;
    waiter->fetch = NULL;
    if (!f->waiting && !f->ended) {
        drop(f);
    }
}

void dnsc_fetcher_close(DnscFetcher *fetcher)
{
    while (fetcher->out) {
        drop(fetcher->out);
    }
}
