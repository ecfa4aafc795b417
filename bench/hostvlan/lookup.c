/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a look-up in the LNID table
 *
 *     lookup TABLE MACS [ROUNDS]
 *
 * Looks up 2^20 times in a random order in the table at TABLE, which has the
 * MACS addresses of mac_of(FIRST, ...), and prints a line each of JSON:
 *
 *   hit        addresses that exist
 *   chained    the same, each address known only when the lookup before has
 *              ended, so that the processor cannot do several at a time
 *   ahead      as chained, but the bucket of the address AHEAD look-ups later is
 *              prefetched, as if so many frames were visible at a time
 *   miss       addresses that do not exist
 *   receive    the whole verdict about a frame to a port
 *   glib       addresses that exist, in a GHashTable with the same content
 *   glib-chained
 *              the same, each address known only when the look-up before has
 *              ended
 *
 * "ns" is the time of one look-up, for each round.  The fastest round shows the
 * program; other rounds include disturbances by the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "net/hostvlan/verdict.h"

#define LOOKUPS         (1u << 20)
#define FIRST           0x020000000000ull
#define STRANGERS       0x060000000000ull
#define ROUNDS_MAX      100
#define AHEAD           12u

static HostvlanTable *table;
static GHashTable *peer;
static uint64_t *macs;                  /* LOOKUPS elements */

/* CPU time of this thread, as others may use the processor meanwhile. */
static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t look_up(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        sum += hostvlan_table_lookup(table, macs[i]);
    }
    return sum;
}

/* The next address depends on the result, but the result does not change it. */
static uint64_t look_up_chained(void)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        value = hostvlan_table_lookup(table, macs[i] ^ (value & 1ull << 63));
    }
    return value;
}

static uint64_t look_up_ahead(void)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        hostvlan_table_prefetch(table, macs[(i + AHEAD) % LOOKUPS]);
        value = hostvlan_table_lookup(table, macs[i] ^ (value & 1ull << 63));
    }
    return value;
}

static uint64_t receive(void)
{
    uint8_t frame[HOSTVLAN_ETH_LEN] = { 0 };
    uint64_t passed = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        uint64_t mac = macs[i];

        for (int n = 0; n < 6; n++) {
            frame[6 + n] = mac >> (40 - 8 * n) & 0xff;
        }
        passed += hostvlan_verdict_receive(table, FIRST, frame, sizeof(frame),
                                           sizeof(frame)) == HOSTVLAN_PASSED;
    }
    return passed;
}

static uint64_t look_up_glib(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        sum += GPOINTER_TO_SIZE(g_hash_table_lookup(peer,
                                                    GSIZE_TO_POINTER(macs[i])));
    }
    return sum;
}

static uint64_t look_up_glib_chained(void)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < LOOKUPS; i++) {
        uint64_t mac = macs[i] ^ (value & 1ull << 63);

        value = GPOINTER_TO_SIZE(g_hash_table_lookup(peer,
                                                     GSIZE_TO_POINTER(mac)));
    }
    return value;
}

static void measure(const char *what, uint64_t (*run)(void), unsigned num,
                    unsigned rounds)
{
    volatile uint64_t result;   /* so that the compiler keeps the work */

    run();
    printf("{\"what\": \"%s\", \"macs\": %u, \"ns\": [", what, num);
    for (unsigned i = 0; i < rounds; i++) {
        double begin = now_ns();

        result = run();
        printf("%s%.2f", i ? ", " : "", (now_ns() - begin) / LOOKUPS);
    }
    (void)result;
    printf("]}\n");
}

/* A permutation of 32 bits, as MACs are assigned at random (lookup.py). */
static uint64_t mac_of(uint64_t first, uint32_t i)
{
    return first + (uint32_t)(i * 0x9e3779b1u);
}

static void choose(GRand *rand, uint64_t first, unsigned num)
{
    for (unsigned i = 0; i < LOOKUPS; i++) {
        macs[i] = mac_of(first, g_rand_int_range(rand, 0, num));
    }
}

/* The key is the address itself, so that only the table's memory is read. */
static GHashTable *fill_glib(unsigned num)
{
    GHashTable *hash = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < num; i++) {
        g_hash_table_insert(hash, GSIZE_TO_POINTER(mac_of(FIRST, i)),
                            GSIZE_TO_POINTER(1 + i / 64));
    }
    return hash;
}

int main(int argc, char **argv)
{
    unsigned num = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 5;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autoptr(GError) err = NULL;

    if (num == 0 || num > 4u << 20 || rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: %s TABLE MACS [ROUNDS]\n", argv[0]);
        return 2;
    }
    table = hostvlan_table_open(argv[1], &err);
    if (!table) {
        fprintf(stderr, "lookup: %s\n", err->message);
        return 1;
    }
    macs = g_new(uint64_t, LOOKUPS);
    choose(rand, FIRST, num);
    measure("hit", look_up, num, rounds);
    measure("chained", look_up_chained, num, rounds);
    measure("ahead", look_up_ahead, num, rounds);
    measure("receive", receive, num, rounds);
    peer = fill_glib(num);
    measure("glib", look_up_glib, num, rounds);
    measure("glib-chained", look_up_glib_chained, num, rounds);
    g_hash_table_destroy(peer);
    choose(rand, STRANGERS, num);
    measure("miss", look_up, num, rounds);
    g_free(macs);
    hostvlan_table_close(table);
    return 0;
}
