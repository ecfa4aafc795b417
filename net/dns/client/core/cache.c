/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of answers
 *
 * A hash table of chains, and a ring from the entry that was used last to the
 * one that is evicted next.  The hash has a secret key, so that a hostile page
 * cannot choose names that share one chain.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "net/dns/client/core/cache.h"
#include "base/units.h"

#define STALE           (86400 * US_PER_S)      /* RFC 8767: 1 to 3 days */
/* RFC 9520 section 3.2: 1 s, back-off, at most 5 min; this limit is lower. */
#define FAILURE_MAX     (8 * US_PER_S)

typedef struct Entry {
    struct Entry *next;         /* of the chain */
    struct Entry *older, *newer;        /* of the ring */
    DnsQuestion question;
    DnscResult *known;          /* NULL: there was only a failure */
    int64_t until;
    DnscResult *failure;
    int64_t failure_until;
    int64_t failure_time;       /* lifetime of the next failure */
} Entry;

struct DnscCache {
    Entry ring;                 /* older: the newest; newer: the oldest */
    size_t count;
    size_t max;
    size_t octets;              /* of all entries */
    size_t octets_max;          /* 0: no limit */
    size_t chains;              /* power of two */
    uint64_t key;
    Entry *chain[];
};

DnscCache *dnsc_cache_new(size_t entries)
{
    DnscCache *cache;
    size_t chains = 16;

    while (chains < entries) {
        chains *= 2;
    }
    cache = calloc(1, sizeof(*cache) + chains * sizeof(cache->chain[0]));
    if (!cache) {
        return NULL;
    }
    cache->max = entries;
    cache->chains = chains;
    cache->ring.older = cache->ring.newer = &cache->ring;
    if (getrandom(&cache->key, sizeof(cache->key), GRND_NONBLOCK) < 0) {
        cache->key = (uintptr_t)cache;
    }
    return cache;
}

static size_t hash(const DnscCache *cache, const DnsQuestion *q)
{
    uint64_t h = cache->key ^ q->type ^ q->qclass << 16;
    size_t i;

    for (i = 0; i < q->name.len; i++) {
        uint8_t c = q->name.wire[i];

        c |= c >= 'A' && c <= 'Z' ? 0x20 : 0;
        h = (h ^ c) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h & (cache->chains - 1);
}

static Entry **find(DnscCache *cache, const DnsQuestion *q)
{
    Entry **at = &cache->chain[hash(cache, q)];

    while (*at && ((*at)->question.type != q->type ||
                   (*at)->question.qclass != q->qclass ||
                   !dns_name_equal(&(*at)->question.name, &q->name))) {
        at = &(*at)->next;
    }
    return at;
}

static void ring_remove(Entry *e)
{
    e->older->newer = e->newer;
    e->newer->older = e->older;
}

static void ring_add(DnscCache *cache, Entry *e)
{
    e->newer = &cache->ring;
    e->older = cache->ring.older;
    e->older->newer = e;
    cache->ring.older = e;
}

static size_t size_of(const DnscResult *r)
{
    return r ? r->octets : 0;
}

static void drop(DnscCache *cache, Entry **at)
{
    Entry *e = *at;

    *at = e->next;
    ring_remove(e);
    cache->octets -= sizeof(*e) + size_of(e->known) + size_of(e->failure);
    dnsc_result_unref(e->known);
    dnsc_result_unref(e->failure);
    free(e);
    cache->count--;
}

void dnsc_cache_clear(DnscCache *cache)
{
    while (cache->count) {
        drop(cache, find(cache, &cache->ring.newer->question));
    }
}

void dnsc_cache_free(DnscCache *cache)
{
    if (cache) {
        dnsc_cache_clear(cache);
        free(cache);
    }
}

static uint32_t seconds_left(int64_t until, int64_t now)
{
    return (until - now + US_PER_S - 1) / US_PER_S;
}

DnscResult *dnsc_cache_get(DnscCache *cache, const DnsQuestion *question,
                           int64_t now, uint32_t *ttl)
{
    Entry *e = *find(cache, question);

    if (!e) {
        return NULL;
    }
    ring_remove(e);
    ring_add(cache, e);
    if (e->known && now < e->until) {
        *ttl = seconds_left(e->until, now);
        return dnsc_result_ref(e->known);
    }
    if (e->failure && now < e->failure_until) {
        *ttl = seconds_left(e->failure_until, now);
        return dnsc_result_ref(e->failure);
    }
    return NULL;
}

DnscResult *dnsc_cache_get_stale(DnscCache *cache,
                                 const DnsQuestion *question, int64_t now)
{
    Entry *e = *find(cache, question);

    if (!e || !e->known || now >= e->until + STALE) {
        return NULL;
    }
    return dnsc_result_ref(e->known);
}

static Entry *entry_for(DnscCache *cache, const DnsQuestion *question)
{
    Entry **at = find(cache, question);
    Entry *e = *at;

    if (e) {
        ring_remove(e);
    } else {
        if (cache->count >= cache->max) {
            drop(cache, find(cache, &cache->ring.newer->question));
            at = find(cache, question);
        }
        e = calloc(1, sizeof(*e));
        if (!e) {
            return NULL;
        }
        e->question = *question;
        *at = e;
        cache->count++;
        cache->octets += sizeof(*e);
    }
    ring_add(cache, e);
    return e;
}

static void replace(DnscCache *cache, DnscResult **at, DnscResult *r)
{
    cache->octets += size_of(r) - size_of(*at);
    dnsc_result_unref(*at);
    *at = r ? dnsc_result_ref(r) : NULL;
}

/* The newest entry may be the one that is evicted. */
static void keep_bound(DnscCache *cache)
{
    while (cache->octets_max && cache->octets > cache->octets_max) {
        drop(cache, find(cache, &cache->ring.newer->question));
    }
}

void dnsc_cache_bound(DnscCache *cache, size_t octets)
{
    cache->octets_max = octets;
    keep_bound(cache);
}

void dnsc_cache_put(DnscCache *cache, const DnsQuestion *question,
                    DnscResult *result, int64_t now)
{
    bool failure = dnsc_error_is_failure(result->error);
    Entry *e;

    /* A lack of memory, or of a network, may be over at any moment. */
    if (result->error == VMMNET_DNS_RESOURCES || result->local || !cache->max ||
        (!failure && !result->ttl)) {
        return;
    }
    e = entry_for(cache, question);
    if (!e) {
        return;
    }
    if (!failure) {
        replace(cache, &e->known, result);
        replace(cache, &e->failure, NULL);
        e->until = now + result->ttl * US_PER_S;
        e->failure_time = 0;
        keep_bound(cache);
        return;
    }
    replace(cache, &e->failure, result);
    e->failure_time = e->failure_time ? 2 * e->failure_time : US_PER_S;
    if (e->failure_time > FAILURE_MAX) {
        e->failure_time = FAILURE_MAX;
    }
    e->failure_until = now + e->failure_time;
    keep_bound(cache);
}
