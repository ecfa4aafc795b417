/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the DNS proxy that are given again to an identical query
 *
 * The memory is a hash table of sets of WAYS entries.  The hash has a secret
 * key, as the guest chooses the queries.  A look-up compares tags first.  Tags
 * are stored apart from the answers, so that the tags of a set take two cache
 * lines.  With this many ways, few of a thousand names evict one another.
 */
#include <glib.h>
#include <string.h>
#include <sys/random.h>

#include "net/dns/proxy/memory.h"
#include "base/octets.h"
#include "net/packet/siphash.h"

#define WAYS        8
#define SETS        256         /* power of two; 3 MiB in all, if it is used */
#define ID_LEN      2
#define TTL_BEFORE  6           /* octets from a record's TTL to its RDATA */

typedef struct Tag {
    int64_t until_ms;           /* 0: empty */
    uint64_t hash;
} Tag;

typedef struct Entry {
    int64_t at_ms;
    DnsTransport transport;
    uint16_t query_len;
    uint16_t ttls;
    uint16_t ttl_at[DNS_MEMORY_RECORDS];
    uint8_t query[DNS_MEMORY_QUERY_MAX];
    DnsRemembered told;
} Entry;

struct DnsMemory {
    uint64_t key[2];
    Tag tag[SETS][WAYS];
    Entry entry[SETS][WAYS];
};

DnsMemory *dns_memory_new(void)
{
    DnsMemory *memory = g_new0(DnsMemory, 1);

    /*
     * Early in boot the kernel has no random numbers: then the key is
     * guessable.
     */
    if (getrandom(memory->key, sizeof(memory->key), GRND_NONBLOCK) < 0) {
        memory->key[0] = g_get_monotonic_time();
    }
    return memory;
}

void dns_memory_free(DnsMemory *memory)
{
    g_free(memory);
}

void dns_memory_clear(DnsMemory *memory)
{
    memset(memory->tag, 0, sizeof(memory->tag));
}

static uint64_t hash_of(const DnsMemory *memory, const uint8_t *query,
                        size_t len)
{
    return siphash_1_3(memory->key, query + ID_LEN, len - ID_LEN);
}

static bool is_of(const Entry *e, const uint8_t *query, size_t len,
                  DnsTransport transport)
{
    return e->query_len == len && e->transport == transport &&
           !memcmp(e->query + ID_LEN, query + ID_LEN, len - ID_LEN);
}

/* Copy only the octets in use: the array is larger than most names. */
static void copy_question(DnsQuestion *to, const DnsQuestion *from)
{
    to->name.len = from->name.len;
    to->name.labels = from->name.labels;
    memcpy(to->name.wire, from->name.wire, from->name.len);
    to->type = from->type;
    to->qclass = from->qclass;
}

static void tell(const Entry *e, const uint8_t *query, int64_t now_ms,
                 DnsRemembered *told)
{
    uint32_t seconds = (now_ms - e->at_ms) / 1000;

    copy_question(&told->question, &e->told.question);
    told->counter = e->told.counter;
    told->num = e->told.num;
    for (size_t i = 0; i < e->told.num; i++) {
        told->addr[i] = e->told.addr[i];
        told->addr[i].ttl -= MIN(seconds, told->addr[i].ttl);
    }
    told->len = e->told.len;
    memcpy(told->answer, e->told.answer, e->told.len);
    memcpy(told->answer, query, ID_LEN);
    for (unsigned i = 0; seconds && i < e->ttls; i++) {
        uint8_t *at = told->answer + e->ttl_at[i];

        put_be32(at, get_be32(at) - seconds);
    }
}

bool dns_memory_recall(const DnsMemory *memory, const uint8_t *query,
                       size_t len, DnsTransport transport, int64_t now_ms,
                       DnsRemembered *told)
{
    const Entry *set;
    const Tag *tag;
    uint64_t hash;

    if (len > DNS_MEMORY_QUERY_MAX || len < DNS_HEADER_LEN) {
        return false;
    }
    hash = hash_of(memory, query, len);
    set = memory->entry[hash % SETS];
    tag = memory->tag[hash % SETS];
    for (unsigned i = 0; i < WAYS; i++) {
        if (tag[i].hash == hash && now_ms < tag[i].until_ms &&
            is_of(&set[i], query, len, transport)) {
            tell(&set[i], query, now_ms, told);
            return true;
        }
    }
    return false;
}

/* Note the offsets of all TTLs.  Returns the least TTL; 0: none can be used. */
static uint32_t find_ttls(Entry *e, const uint8_t *answer, size_t len)
{
    uint32_t least = UINT32_MAX;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    e->ttls = 0;
    if (dns_cursor_init(&cursor, answer, len) ||
        dns_cursor_question(&cursor, &e->told.question) <= 0) {
        return 0;
    }
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.type == DNS_TYPE_OPT) {
            continue;
        }
        if (e->ttls == DNS_MEMORY_RECORDS) {
            return 0;
        }
        e->ttl_at[e->ttls++] = rr.rdata - TTL_BEFORE;
        least = MIN(least, rr.ttl);
    }
    return ret || !e->ttls ? 0 : least;
}

/* The entry of a set whose answer expires first */
static unsigned oldest_of(const Tag *tag)
{
    unsigned oldest = 0;

    for (unsigned i = 1; i < WAYS; i++) {
        if (tag[i].until_ms < tag[oldest].until_ms) {
            oldest = i;
        }
    }
    return oldest;
}

void dns_memory_keep(DnsMemory *memory, const uint8_t *query, size_t len,
                     DnsTransport transport, int64_t now_ms,
                     const uint8_t *answer, size_t answer_len,
                     const DnsProxyAddress *addrs, size_t num,
                     uint64_t *counter)
{
    uint64_t hash;
    unsigned way;
    uint32_t ttl;
    Entry *e;
    Tag *tag;

    if (len > DNS_MEMORY_QUERY_MAX || len < DNS_HEADER_LEN ||
        answer_len > DNS_MEMORY_ANSWER_MAX || num > DNS_MEMORY_ADDRESSES) {
        return;
    }
    hash = hash_of(memory, query, len);
    way = oldest_of(memory->tag[hash % SETS]);
    tag = &memory->tag[hash % SETS][way];
    e = &memory->entry[hash % SETS][way];
    tag->until_ms = 0;
    ttl = find_ttls(e, answer, answer_len);
    if (!ttl) {
        return;
    }
    e->at_ms = now_ms;
    tag->until_ms = now_ms + 1000LL * ttl;
    tag->hash = hash;
    e->transport = transport;
    e->query_len = len;
    memcpy(e->query, query, len);
    e->told.counter = counter;
    e->told.num = num;
    if (num) {
        memcpy(e->told.addr, addrs, num * sizeof(*addrs));
    }
    e->told.len = answer_len;
    memcpy(e->told.answer, answer, answer_len);
}
