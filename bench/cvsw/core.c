/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a look-up in CVSW's flow table
 *
 *     core [ROUNDS]
 *
 * The table has 1,024 entries in 16 masks, four of them of Ethernet and tags,
 * twelve of IPv4 and TCP, each mask with a priority of its own.  Each line of
 * JSON is one case:
 *
 *   parse      a frame's headers are read
 *   key        a key is made of them
 *   first      the entry is in the first mask of the search
 *   any        the entry is in a random mask
 *   last       the entry is in the last mask of the search
 *   none       no entry matches: the search tries all masks
 *   waiting    as last, each look-up begins when the one before has ended, so
 *              that the processor cannot do parts of several at a time
 *   full       no entry matches, in a table of 64 masks (1,024 entries)
 *   glib-any, glib-last, glib-none
 *              the same keys, a GHashTable for each mask
 *
 * "ns" is the time of one look-up, for each round.  The fastest round shows the
 * program; other rounds include disturbances by the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/octets.h"
#include "hw/net/cvsw/flow/table.h"
#include "net/packet/ip4.h"

#define ENTRIES         1024u
#define MASKS           16u
#define MASKS_FULL      64u
#define LOOKUPS         (1u << 18)
#define FRAME_LEN       64u
#define ROUNDS_MAX      100

/* Groups of flows: table, GHashTables, keys that match them. */
typedef struct Flows {
    CvswTable *table;
    unsigned masks;
    CvswKey mask[MASKS_FULL];
    GHashTable *peer[MASKS_FULL];
    CvswKey keys[ENTRIES];      /* the entries of a mask follow another */
} Flows;

typedef struct Case {
    const char *name;
    Flows *flows;
    uint64_t (*run)(const Flows *flows, const CvswKey *keys);
    const CvswKey *keys;        /* ENTRIES of them, in a random order */
} Case;

static uint8_t frames[ENTRIES][FRAME_LEN];
static PacketFlow parsed[ENTRIES];

/* CPU time of this thread, as others may use the processor meanwhile. */
static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* A frame whose addresses and ports differ by @n in their low bits. */
static void make_frame(uint8_t *p, uint32_t n)
{
    const uint8_t dst[] = { 2, 0, n >> 24, n >> 16, n >> 8, n };
    const uint8_t src[] = { 6, 0, n >> 24, n >> 16, n >> 8, n };
    PacketIp4 ip = {
        .src.s_addr = htonl(0x0a000000 | n),
        .dst.s_addr = htonl(0x0b000000 | n),
        .ttl = 64, .protocol = IPPROTO_TCP,
        .total = FRAME_LEN - PACKET_ETH_LEN,
    };
    size_t at = packet_eth_build(p, dst, src, PACKET_ETH_IP4);

    at += packet_ip4_build(p + at, &ip);
    put_be16(p + at, 1024 + n % 60000);
    put_be16(p + at + 2, 80);
    p[at + 12] = 5 << 4;
}

static void name(CvswMatch *match, CvswField field, uint64_t value,
                 uint64_t mask)
{
    size_t octets = cvsw_field_octets(field);
    CvswValue v = { { 0 } }, m = { { 0 } };
    bool exact = mask == UINT64_MAX;

    value &= mask;
    for (size_t i = 0; i < octets; i++) {
        v.octets[octets - 1 - i] = value >> 8 * i;
        m.octets[octets - 1 - i] = mask >> 8 * i;
    }
    g_assert(cvsw_match_add(match, field, &v, exact ? NULL : &m) ==
             CVSW_MATCH_OK);
}

static uint64_t mac_at(const uint8_t *p)
{
    return (uint64_t)get_be16(p) << 32 | get_be32(p + 2);
}

/* Flows of Ethernet: by destination, source, both, and both and the type. */
static void match_ether(CvswMatch *match, unsigned kind, const uint8_t *frame)
{
    if (kind != 1) {
        name(match, CVSW_ETH_DST, mac_at(frame), UINT64_MAX);
    }
    if (kind != 0) {
        name(match, CVSW_ETH_SRC, mac_at(frame + 6), UINT64_MAX);
    }
    if (kind == 3) {
        name(match, CVSW_ETH_TYPE, PACKET_ETH_IP4, UINT64_MAX);
    }
}

/* Prefixes of both addresses, and the port: each mask differs. */
static void match_tcp(CvswMatch *match, unsigned kind, const uint8_t *frame)
{
    uint64_t src_mask = UINT32_MAX & ~((1ull << kind % 8) - 1);
    uint64_t dst_mask = UINT32_MAX & ~((1ull << kind / 8) - 1);

    name(match, CVSW_ETH_TYPE, PACKET_ETH_IP4, UINT64_MAX);
    name(match, CVSW_IP_PROTO, IPPROTO_TCP, UINT64_MAX);
    name(match, CVSW_IPV4_SRC, get_be32(frame + 26), src_mask);
    name(match, CVSW_IPV4_DST, get_be32(frame + 30), dst_mask);
    name(match, CVSW_TCP_SRC, get_be16(frame + 34), UINT64_MAX);
    g_assert(cvsw_match_check(match) == CVSW_MATCH_OK);
}

static unsigned key_hash(const void *key)
{
    const CvswKey *k = key;
    uint64_t hash = 0;

    for (unsigned i = 0; i < CVSW_KEY_WORDS; i++) {
        hash = (hash ^ k->word[i]) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return hash;
}

static gboolean key_equal(const void *a, const void *b)
{
    return !memcmp(a, b, sizeof(CvswKey));
}

static void add_flow(Flows *flows, unsigned mask, const CvswMatch *match)
{
    CvswFlowMod mod = {
        .command = CVSW_ADD, .match = *match, .priority = 1000 - mask,
    };

    g_assert(cvsw_table_mod(flows->table, &mod, 0) == CVSW_FLOW_OK);
    flows->mask[mask] = match->mask;
    g_hash_table_insert(flows->peer[mask],
                        g_memdup2(&match->value, sizeof(match->value)), flows);
}

/* The frames of entry @i have the number @first + @i * 256. */
static Flows *flows_new(unsigned masks, uint32_t first)
{
    Flows *flows = g_new0(Flows, 1);

    flows->masks = masks;
    flows->table = cvsw_table_new(ENTRIES, masks, first, NULL, NULL);
    for (unsigned i = 0; i < masks; i++) {
        flows->peer[i] = g_hash_table_new_full(key_hash, key_equal, g_free,
                                               NULL);
    }
    for (unsigned i = 0; i < ENTRIES; i++) {
        unsigned mask = i / (ENTRIES / masks);
        CvswMatch match = { .fields = 0 };
        uint8_t frame[FRAME_LEN] = { 0 };
        PacketFlow flow;

        make_frame(frame, first + i * 256);
        g_assert(packet_flow_parse(&flow, frame, FRAME_LEN, FRAME_LEN));
        cvsw_key_of(&flows->keys[i], &flow, CVSW_PORT_GUEST, 0);
        if (mask < 4) {
            match_ether(&match, mask, frame);
        } else {
            match_tcp(&match, mask - 4, frame);
        }
        add_flow(flows, mask, &match);
    }
    return flows;
}

static void flows_free(Flows *flows)
{
    for (unsigned i = 0; i < flows->masks; i++) {
        g_hash_table_destroy(flows->peer[i]);
    }
    cvsw_table_free(flows->table);
    g_free(flows);
}

/* Keys of the masks @from to @to, at random. */
static CvswKey *choose(GRand *rand, const Flows *flows, unsigned from,
                       unsigned to)
{
    unsigned each = ENTRIES / flows->masks;
    CvswKey *keys = g_new(CvswKey, ENTRIES);

    for (unsigned i = 0; i < ENTRIES; i++) {
        keys[i] = flows->keys[g_rand_int_range(rand, from * each, to * each)];
    }
    return keys;
}

static uint64_t look_up(const Flows *flows, const CvswKey *keys)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        found += cvsw_table_find(flows->table, &keys[i % ENTRIES]) != NULL;
    }
    return found;
}

/*
 * The index of the next key depends on the entry that was found, which adds 0.
 */
static uint64_t look_up_waiting(const Flows *flows, const CvswKey *keys)
{
    uint64_t last = 0, found = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        CvswEntry *entry = cvsw_table_find(flows->table,
                                           &keys[(i + last) % ENTRIES]);

        found += entry != NULL;
        last = entry ? entry->packets : 0;
    }
    return found;
}

static void *peer_find(const Flows *flows, const CvswKey *key)
{
    for (unsigned i = 0; i < flows->masks; i++) {
        CvswKey masked;
        void *found;

        for (unsigned at = 0; at < CVSW_KEY_WORDS; at++) {
            masked.word[at] = key->word[at] & flows->mask[i].word[at];
        }
        found = g_hash_table_lookup(flows->peer[i], &masked);
        if (found) {
            return found;
        }
    }
    return NULL;
}

static uint64_t look_up_glib(const Flows *flows, const CvswKey *keys)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        found += peer_find(flows, &keys[i % ENTRIES]) != NULL;
    }
    return found;
}

static uint64_t parse(const Flows *flows, const CvswKey *keys)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        unsigned at = i % ENTRIES;

        sum += packet_flow_parse(&parsed[at], frames[at], FRAME_LEN, FRAME_LEN);
    }
    return sum;
}

static uint64_t make_key(const Flows *flows, const CvswKey *keys)
{
    uint64_t sum = 0;
    CvswKey key;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        cvsw_key_of(&key, &parsed[i % ENTRIES], CVSW_PORT_GUEST, 0);
        sum += key.word[i % CVSW_KEY_WORDS];
    }
    return sum;
}

static void measure(const Case *c, unsigned rounds)
{
    volatile uint64_t result;   /* so that the compiler keeps the work */

    c->run(c->flows, c->keys);
    printf("{\"what\": \"%s\", \"masks\": %u, \"ns\": [", c->name,
           c->flows->masks);
    for (unsigned i = 0; i < rounds; i++) {
        double begin = now_ns();

        result = c->run(c->flows, c->keys);
        printf("%s%.2f", i ? ", " : "", (now_ns() - begin) / LOOKUPS);
    }
    (void)result;
    printf("]}\n");
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 5;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    Flows *flows = flows_new(MASKS, 0), *full = flows_new(MASKS_FULL, 0);
    Flows *others = flows_new(MASKS, 0x800000);
    g_autofree CvswKey *first = choose(rand, flows, 0, 1);
    g_autofree CvswKey *any = choose(rand, flows, 0, MASKS);
    g_autofree CvswKey *last = choose(rand, flows, MASKS - 1, MASKS);
    g_autofree CvswKey *none = choose(rand, others, 0, MASKS);
    const Case cases[] = {
        { "parse", flows, parse, NULL },
        { "key", flows, make_key, NULL },
        { "first", flows, look_up, first },
        { "any", flows, look_up, any },
        { "last", flows, look_up, last },
        { "none", flows, look_up, none },
        { "waiting", flows, look_up_waiting, last },
        { "full", full, look_up, none },
        { "glib-any", flows, look_up_glib, any },
        { "glib-last", flows, look_up_glib, last },
        { "glib-none", flows, look_up_glib, none },
    };

    if (rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
        return 2;
    }
    for (unsigned i = 0; i < ENTRIES; i++) {
        make_frame(frames[i], i);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        measure(&cases[i], rounds);
    }
    flows_free(others);
    flows_free(full);
    flows_free(flows);
    return 0;
}
