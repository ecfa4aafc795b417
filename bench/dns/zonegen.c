/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone in the shape of .NET, as a master file on standard output
 *
 *     zonegen [--records N] [--origin NAME] [--seed N] [--random-order]
 *
 * Four of five records are NS records of delegations, two for each.  One
 * delegation of eight has both servers below itself, with an A and an AAAA
 * record each; the others are at servers of these, or at some in another zone.
 * The same arguments give the same octets.  Lines are in the order of the
 * names, as registries publish them, or in a random order.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_GLUE        8       /* one of this many delegations */
#define HOSTERS         50000   /* that serve the other delegations */
#define LINES_EIGHT     20      /* records of eight delegations */
#define PREFIX          6       /* letters that give the names their order */
#define TAIL_MOST       10      /* letters after them */
#define TTL             172800

typedef struct Zone {
    const char *origin;
    uint64_t seed;
    uint64_t delegations;
    bool is_random;
} Zone;

/* SplitMix64, as a function of a position */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static char *put(char *to, const char *text)
{
    size_t len = strlen(text);

    memcpy(to, text, len);
    return to + len;
}

/* The label of a delegation, in the order of numbers up to 26^6. */
static char *put_label(const Zone *zone, char *to, uint64_t number)
{
    uint64_t scaled = (uint64_t)((double)number / zone->delegations *
                                 308915776);    /* 26^6 */
    uint64_t random = mix(zone->seed ^ number);
    unsigned tail = 1 + random % TAIL_MOST;

    for (unsigned i = PREFIX; i-- > 0; scaled /= 26) {
        to[i] = 'a' + scaled % 26;
    }
    to += PREFIX;
    for (random >>= 8; tail-- > 0; random /= 36) {
        *to++ = "abcdefghijklmnopqrstuvwxyz0123456789"[random % 36];
    }
    return to;
}

static char *put_number(char *to, uint64_t number)
{
    return to + sprintf(to, "%" PRIu64, number);
}

/* The second server of a delegation belongs to the same hoster. */
static char *put_server(const Zone *zone, char *to, uint64_t number,
                        unsigned server)
{
    uint64_t random = mix(zone->seed + 1 + number);
    uint64_t groups = (zone->delegations + OWN_GLUE - 1) / OWN_GLUE;
    uint64_t hosters = groups < HOSTERS ? groups : HOSTERS;
    /* Few hosters have most of the delegations. */
    double share = (random >> 11) / (UINT64_C(1) << 53);
    uint64_t hoster = (uint64_t)(share * share * share * hosters);

    to = put(to, "ns");
    to = put_number(to, server);
    *to++ = '.';
    if (random & 1) {
        return put_label(zone, to, hoster * (groups / hosters) * OWN_GLUE);
    }
    to = put(to, "dns");
    to = put_number(to, hoster);
    return put(to, ".example.com.");
}

static char *put_glue(const Zone *zone, char *to, uint64_t number,
                      unsigned server)
{
    uint64_t random = mix(zone->seed + 2 * number + server);

    for (unsigned six = 0; six < 2; six++) {
        to = put(to, "ns");
        to = put_number(to, server);
        *to++ = '.';
        to = put_label(zone, to, number);
        to += six ? sprintf(to, " AAAA 2001:db8:%x:%x::%u\n",
                            (unsigned)(random >> 16 & 0xffff),
                            (unsigned)(random >> 32 & 0xffff), server)
                  : sprintf(to, " A 192.%u.%u.%u\n",
                            (unsigned)(random & 0xff),
                            (unsigned)(random >> 8 & 0xff),
                            (unsigned)(random >> 16 & 0xff));
    }
    return to;
}

static char *put_delegation(const Zone *zone, char *to, uint64_t number)
{
    bool has_glue = number % OWN_GLUE == 0;

    for (unsigned server = 1; server <= 2; server++) {
        to = put_label(zone, to, number);
        to = put(to, " NS ");
        if (has_glue) {
            to = put(to, server == 1 ? "ns1." : "ns2.");
            to = put_label(zone, to, number);
        } else {
            to = put_server(zone, to, number, server);
        }
        *to++ = '\n';
    }
    for (unsigned server = 1; has_glue && server <= 2; server++) {
        to = put_glue(zone, to, number, server);
    }
    return to;
}

static void print_head(const Zone *zone)
{
    printf("$ORIGIN %s\n$TTL %d\n"
           "@ 900 SOA a.gtld-servers.example.com. nstld.example.com. "
           "%" PRIu64 " 1800 900 604800 86400\n"
           "@ NS a.gtld-servers.example.com.\n"
           "@ NS b.gtld-servers.example.com.\n", zone->origin, TTL,
           zone->seed);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Returns: a step that visits all delegations once, in a mixed order. */
static uint64_t stride(const Zone *zone)
{
    uint64_t step = (uint64_t)(zone->delegations * 0.6180339887) | 1;

    while (zone->is_random && common_divisor(step, zone->delegations) > 1) {
        step += 2;
    }
    return zone->is_random ? step : 1;
}

static void print_zone(const Zone *zone)
{
    uint64_t step = stride(zone), number = 0;
    char lines[1024];

    print_head(zone);
    for (uint64_t i = 0; i < zone->delegations; i++) {
        char *end = put_delegation(zone, lines, number);

        fwrite_unlocked(lines, 1, end - lines, stdout);
        number = (number + step) % zone->delegations;
    }
}

static bool read_number(const char *text, uint64_t *number)
{
    return sscanf(text, "%" SCNu64, number) == 1;
}

static bool take(Zone *zone, int *at, int argc, char **argv, uint64_t *records)
{
    const char *value = *at + 1 < argc ? argv[*at + 1] : NULL;

    if (!strcmp(argv[*at], "--random-order")) {
        zone->is_random = true;
        return true;
    }
    ++*at;
    if (!value) {
        return false;
    }
    if (!strcmp(argv[*at - 1], "--records")) {
        return read_number(value, records);
    }
    if (!strcmp(argv[*at - 1], "--seed")) {
        return read_number(value, &zone->seed);
    }
    if (!strcmp(argv[*at - 1], "--origin")) {
        zone->origin = value;
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    Zone zone = { .origin = "net.", .seed = 1 };
    uint64_t records = 8500000;

    for (int i = 1; i < argc; i++) {
        if (!take(&zone, &i, argc, argv, &records)) {
            fputs("usage: zonegen [--records N] [--origin NAME.] [--seed N] "
                  "[--random-order]\n", stderr);
            return 2;
        }
    }
    zone.delegations = records * 8 / LINES_EIGHT;
    zone.delegations += !zone.delegations;
    print_zone(&zone);
    return fflush(stdout) || ferror(stdout);
}
