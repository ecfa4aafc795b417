/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the resolver that a worker keeps
 *
 * A question may be in any of four places.  A new answer takes the place of an
 * expired one, or else of the least recently used one.  Memory is allocated
 * when a page is first used.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dnsd/server/serve/replies.h"
#include "net/packet/siphash.h"

#define PLACE_LEN       1024
#define PLACES          8192
#define WAYS            4

typedef struct Place {
    uint64_t hash;
    uint64_t since_ms, until_ms;    /* 0: free */
    uint64_t used_ms;
    uint32_t generation;
    uint16_t type;
    uint8_t name_len;
    bool dnssec_ok;
    /* A DnsdResolved with its records, then the name */
    _Alignas(DnsdResolved) uint8_t data[];
} Place;

#define DATA_LEN        (PLACE_LEN - sizeof(Place))

struct DnsdReplies {
    uint64_t key[2];
    uint8_t *places;
};

DnsdReplies *dnsd_replies_new(const uint64_t key[2])
{
    DnsdReplies *r = calloc(1, sizeof(*r));

    if (!r) {
        return NULL;
    }
    memcpy(r->key, key, sizeof(r->key));
    r->places = mmap(NULL, (size_t)PLACES * PLACE_LEN, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->places == MAP_FAILED) {
        free(r);
        return NULL;
    }
    return r;
}

void dnsd_replies_free(DnsdReplies *r)
{
    if (r) {
        munmap(r->places, (size_t)PLACES * PLACE_LEN);
        free(r);
    }
}

static Place *place_at(const DnsdReplies *r, uint64_t hash, unsigned way)
{
    size_t set = (hash >> 32) % (PLACES / WAYS);

    return (Place *)(r->places + (set * WAYS + way) * PLACE_LEN);
}

static const DnsdResolved *resolved_of(const Place *p)
{
    return (const DnsdResolved *)p->data;
}

static const uint8_t *name_of(const Place *p)
{
    return p->data + sizeof(DnsdResolved) + resolved_of(p)->len;
}

static uint64_t hash_of(const DnsdReplies *r, const DnsQuery *q)
{
    uint64_t key[2] = { r->key[0] ^ q->type, r->key[1] ^ q->dnssec_ok };

    return siphash_1_3(key, q->name.wire, q->name.len);
}

static bool is_of(const Place *p, uint64_t hash, const DnsQuery *q)
{
    return p->hash == hash && p->until_ms && p->type == q->type &&
           p->dnssec_ok == q->dnssec_ok && p->name_len == q->name.len &&
           !memcmp(name_of(p), q->name.wire, q->name.len);
}

const DnsdResolved *dnsd_replies_find(DnsdReplies *r, const DnsQuery *q,
                                      uint32_t generation, uint64_t now_ms,
                                      uint32_t *age)
{
    uint64_t hash = hash_of(r, q);

    for (unsigned way = 0; way < WAYS; way++) {
        Place *p = place_at(r, hash, way);

        if (is_of(p, hash, q)) {
            if (p->until_ms <= now_ms || p->generation != generation) {
                return NULL;
            }
            p->used_ms = now_ms;
            *age = (now_ms - p->since_ms) / 1000;
            return resolved_of(p);
        }
    }
    return NULL;
}

/* The place of this question, or the one with the least value */
static Place *choose(DnsdReplies *r, uint64_t hash, const DnsQuery *q,
                     uint64_t now_ms)
{
    Place *least = place_at(r, hash, 0);

    for (unsigned way = 0; way < WAYS; way++) {
        Place *p = place_at(r, hash, way);

        if (is_of(p, hash, q)) {
            return p;
        }
        if (p->until_ms <= now_ms) {
            p->used_ms = 0;
        }
        if (p->used_ms < least->used_ms) {
            least = p;
        }
    }
    return least;
}

void dnsd_replies_put(DnsdReplies *r, const DnsQuery *q,
                      const DnsdResolved *resolved, uint32_t generation,
                      uint64_t now_ms)
{
    size_t len = sizeof(*resolved) + resolved->len;
    uint64_t hash = hash_of(r, q);
    Place *p;

    if (!resolved->ttl || len + q->name.len > DATA_LEN) {
        return;
    }
    p = choose(r, hash, q, now_ms);
    *p = (Place) {
        .hash = hash, .since_ms = now_ms, .used_ms = now_ms,
        .until_ms = now_ms + resolved->ttl * 1000ull,
        .generation = generation, .type = q->type, .name_len = q->name.len,
        .dnssec_ok = q->dnssec_ok,
    };
    memcpy(p->data, resolved, len);
    memcpy(p->data + len, q->name.wire, q->name.len);
}
