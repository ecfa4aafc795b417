/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a reply: dns_query_read() and dns_answer() without a socket
 *
 *     bench-dns-answer [DELEGATIONS [WORD]]
 *
 * A zone "net" of .NET's shape (two NS each, one delegation in eight with two
 * addresses of its own) and a signed zone "signed" with NSEC3 (no iterations,
 * no salt: RFC 9276).  Questions are made beforehand.  Each line is the median
 * of several runs, in nanoseconds a reply: "again" repeats a few names,
 * "anywhere" asks for all names of the zone.  With WORD, only lines that
 * contain it are measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/octets.h"
#include "net/dns/answer/answer.h"
#include "net/dns/answer/sha1.h"
#include "net/dns/zone/near.h"
#include "net/dns/zone/write.h"

#define QUERIES     (1u << 18)
#define QUERY_ROOM  80
#define FEW         64
#define RUNS        7
#define HOSTS       100000u     /* of the signed zone */
#define ROOM        (UINT64_C(12) << 30)    /* of address space */

typedef struct Asked {
    uint8_t *message;           /* QUERIES of QUERY_ROOM octets */
    uint16_t *len;
} Asked;

static uint64_t random_state = 88172645463325252;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void *need(void *memory)
{
    if (!memory || memory == MAP_FAILED) {
        perror("memory");
        exit(1);
    }
    return memory;
}

static void must(int ret)
{
    if (ret) {
        fprintf(stderr, "the zone cannot be written: %d\n", ret);
        exit(1);
    }
}

/* --- zones ---------------------------------------------------------------- */

/*
 * The mapping reserves addresses; the kernel adds pages when they are written.
 */
static int grow(ZoneOut *out, uint64_t room)
{
    if (room > ROOM) {
        return -1;
    }
    out->room = room;
    return 0;
}

static ZoneWriter *begin_zone(ZoneOut *out, const char *origin)
{
    ZoneAbout about = { .rrclass = DNS_CLASS_IN, .identity = 1, .seed = 42 };

    dns_name_from_text(&about.origin, origin);
    *out = (ZoneOut) { .grow = grow };
    out->base = need(mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                          0));
    return need(zone_writer_new(&about, out));
}

static DnsServedZone end_zone(ZoneWriter *w, ZoneOut *out)
{
    DnsServedZone zone = { .rrclass = DNS_CLASS_IN };
    ZoneFault fault;
    uint64_t len;

    must(zone_writer_finish(w, &len));
    zone_writer_free(w);
    zone.view.layers = 1;
    zone.view.layer[0] = need(zone_image_open(out->base, len, &fault));
    zone.origin = zone.view.layer[0]->origin;
    printf("%s: %llu records, %llu octets each\n",
           zone.origin.len == 5 ? "net" : "signed",
           (unsigned long long)zone.view.layer[0]->records,
           (unsigned long long)(len / zone.view.layer[0]->records));
    return zone;
}

static DnsName name_of(const char *format, unsigned number)
{
    char text[64];
    DnsName name;

    snprintf(text, sizeof(text), format, number);
    dns_name_from_text(&name, text);
    return name;
}

static ZoneRecord record_of(uint16_t type, const void *rdata, uint16_t len)
{
    return (ZoneRecord) { type, len, 86400, rdata };
}

static void put_apex(ZoneWriter *w, const char *origin,
                     const ZoneRecord *more)
{
    DnsName name = name_of(origin, 0), ns = name_of("a.gtld-servers.test", 0);
    uint8_t soa[64] = { 0 };
    uint8_t len = 2 * ns.len + 20;
    ZoneRecord records[3];

    memcpy(soa, ns.wire, ns.len);
    memcpy(soa + ns.len, ns.wire, ns.len);
    put_be32(soa + len - 4, 900);
    records[0] = record_of(DNS_TYPE_NS, ns.wire, ns.len);
    records[1] = record_of(DNS_TYPE_SOA, soa, len);
    if (more) {
        records[2] = *more;
    }
    must(zone_writer_node(w, &name, records, more ? 3 : 2));
}

static void put_delegation(ZoneWriter *w, unsigned number)
{
    bool own = number % 8 == 0;
    DnsName name = name_of("n%07u.net", number), ns[2];
    ZoneRecord records[2];

    for (unsigned i = 0; i < 2; i++) {
        const char *format = own ? i ? "ns2.n%07u.net" : "ns1.n%07u.net"
                             : i ? "ns2.provider%u.test"
                                 : "ns1.provider%u.test";

        ns[i] = name_of(format, own ? number : number % 5000);
        records[i] = record_of(DNS_TYPE_NS, ns[i].wire, ns[i].len);
    }
    must(zone_writer_node(w, &name, records, 2));
    for (unsigned i = 0; own && i < 2; i++) {
        uint8_t address[4] = { 192, 0, 2, i };
        ZoneRecord a = record_of(DNS_TYPE_A, address, 4);

        must(zone_writer_node(w, &ns[i], &a, 1));
    }
}

static DnsServedZone make_net(unsigned delegations)
{
    ZoneOut out;
    ZoneWriter *w = begin_zone(&out, "net");

    put_apex(w, "net", NULL);
    for (unsigned i = 0; i < delegations; i++) {
        put_delegation(w, i);
    }
    return end_zone(w, &out);
}

typedef struct Hash {
    uint8_t hash[DNS_SHA1_LEN];
} Hash;

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, DNS_SHA1_LEN);
}

static void text_of_hash(const uint8_t hash[DNS_SHA1_LEN], char *text)
{
    unsigned bits = 0, value = 0;

    for (unsigned i = 0; i < DNS_SHA1_LEN; i++) {
        value = value << 8 | hash[i];
        for (bits += 8; bits >= 5; bits -= 5) {
            *text++ = "0123456789abcdefghijklmnopqrstuv"
                      [value >> (bits - 5) & 31];
        }
    }
    *text = 0;
}

static void put_sig(uint16_t type, uint8_t sig[90], ZoneRecord *record)
{
    memset(sig, 0xaa, 90);
    put_be16(sig, type);
    sig[18] = 0;
    *record = record_of(DNS_TYPE_RRSIG, sig, 19 + 64);
}

static void put_nsec3(ZoneWriter *w, const Hash *hash, const Hash *next)
{
    uint8_t rdata[40] = { 1, 0, 0, 0, 0, 20 }, sig[90];
    ZoneRecord records[2];
    char text[33], owner[64];
    DnsName name;

    memcpy(rdata + 6, next->hash, sizeof(next->hash));
    memcpy(rdata + 26, "\0\6\x40\0\0\0\0\2", 8);
    records[0] = record_of(DNS_TYPE_NSEC3, rdata, 34);
    put_sig(DNS_TYPE_NSEC3, sig, &records[1]);
    text_of_hash(hash->hash, text);
    snprintf(owner, sizeof(owner), "%s.signed", text);
    dns_name_from_text(&name, owner);
    must(zone_writer_node(w, &name, records, 2));
}

/* Hosts are "z0000000" and so on: they sort after all hashes. */
static DnsServedZone make_signed(void)
{
    static const uint8_t param[5] = { 1 };
    ZoneRecord nsec3param = record_of(DNS_TYPE_NSEC3PARAM, param, 5);
    Hash *hashes = need(calloc(HOSTS + 1, sizeof(*hashes)));
    ZoneOut out;
    ZoneWriter *w = begin_zone(&out, "signed");

    for (unsigned i = 0; i <= HOSTS; i++) {
        DnsName name = i ? name_of("z%07u.signed", i - 1)
                         : name_of("signed", 0);

        dns_sha1(name.wire, name.len, hashes[i].hash);
    }
    qsort(hashes, HOSTS + 1, sizeof(*hashes), compare_hashes);
    put_apex(w, "signed", &nsec3param);
    for (unsigned i = 0; i <= HOSTS; i++) {
        put_nsec3(w, &hashes[i], &hashes[i == HOSTS ? 0 : i + 1]);
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        DnsName name = name_of("z%07u.signed", i);
        uint8_t address[4] = { 192, 0, 2, i }, sig[90];
        ZoneRecord records[2];

        records[0] = record_of(DNS_TYPE_A, address, 4);
        put_sig(DNS_TYPE_A, sig, &records[1]);
        must(zone_writer_node(w, &name, records, 2));
    }
    free(hashes);
    return end_zone(w, &out);
}

/* --- questions ------------------------------------------------------------ */

static Asked ask(const char *format, unsigned from, unsigned step,
                 unsigned count, uint16_t type, bool dnssec_ok)
{
    Asked asked = {
        need(malloc((size_t)QUERIES * QUERY_ROOM)),
        need(calloc(QUERIES, sizeof(uint16_t))),
    };

    for (unsigned i = 0; i < QUERIES; i++) {
        uint8_t message[DNS_QUERY_MAX];
        DnsQuestion question = {
            .name = name_of(format, from + next_random() % count * step),
            .type = type,
            .qclass = DNS_CLASS_IN,
        };

        asked.len[i] = dns_query_build(message, &question, 0, dnssec_ok);
        memcpy(asked.message + (size_t)i * QUERY_ROOM, message,
               asked.len[i]);
    }
    return asked;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double differ = *(const double *)a - *(const double *)b;

    return (differ > 0) - (differ < 0);
}

/* Returns: nanoseconds a reply. */
static double run(const DnsAnswerer *answerer, const Asked *asked,
                  DnsAnswerKind want)
{
    static uint8_t out[4096];
    uint64_t begin = now();
    DnsAnswerInfo info;
    DnsQuery query;

    for (unsigned i = 0; i < QUERIES; i++) {
        dns_query_read(asked->message + (size_t)i * QUERY_ROOM,
                       asked->len[i], &query);
        dns_answer(answerer, &query, out, sizeof(out), &info);
        if (info.kind != want || info.truncated) {
            fprintf(stderr, "the reply is of kind %d\n", info.kind);
            exit(1);
        }
    }
    return (double)(now() - begin) / QUERIES;
}

static const char *word = "";

static void measure(const DnsAnswerer *answerer, const char *what,
                    Asked asked, DnsAnswerKind want)
{
    double runs[RUNS];

    if (!strstr(what, word)) {
        return;
    }
    run(answerer, &asked, want);
    for (unsigned i = 0; i < RUNS; i++) {
        runs[i] = run(answerer, &asked, want);
    }
    qsort(runs, RUNS, sizeof(*runs), compare_doubles);
    printf("%-46s %7.0f  (%.0f to %.0f)\n", what, runs[RUNS / 2], runs[0],
           runs[RUNS - 1]);
    free(asked.message);
    free(asked.len);
}

int main(int argc, char **argv)
{
    static const uint64_t key[2] = { 1, 2 };
    unsigned n = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000;
    DnsServedZone zones[2] = { make_net(n), make_signed() };
    DnsAnswerer a = {
        .zones = need(dns_zone_table_new(key, zones, 2)),
        .flags = DNS_ANSWER_MINIMAL,
        .udp_size = DNS_UDP_ADVERTISED,
    };

    word = argc > 2 ? argv[2] : "";
    printf("%-46s nanoseconds a reply\n", "");
    measure(&a, "answer, again", ask("z%07u.signed", 0, 1, FEW, DNS_TYPE_A,
                                     false), DNS_ANSWER_RECORDS);
    measure(&a, "answer, anywhere", ask("z%07u.signed", 0, 1, HOSTS,
                                        DNS_TYPE_A, false),
            DNS_ANSWER_RECORDS);
    measure(&a, "answer with RRSIG, again",
            ask("z%07u.signed", 0, 1, FEW, DNS_TYPE_A, true),
            DNS_ANSWER_RECORDS);
    measure(&a, "referral, 2 NS, again",
            ask("www.n%07u.net", 1, 8, FEW, DNS_TYPE_A, false),
            DNS_ANSWER_REFERRAL);
    measure(&a, "referral, 2 NS, anywhere",
            ask("www.n%07u.net", 1, 8, n / 8, DNS_TYPE_A, false),
            DNS_ANSWER_REFERRAL);
    measure(&a, "referral, 2 NS and glue, again",
            ask("www.n%07u.net", 0, 8, FEW, DNS_TYPE_A, false),
            DNS_ANSWER_REFERRAL);
    measure(&a, "referral, 2 NS and glue, anywhere",
            ask("www.n%07u.net", 0, 8, n / 8, DNS_TYPE_A, false),
            DNS_ANSWER_REFERRAL);
    measure(&a, "NXDOMAIN, anywhere",
            ask("www.x%07u.net", 0, 1, n, DNS_TYPE_A, false),
            DNS_ANSWER_NXDOMAIN);
    measure(&a, "NXDOMAIN with NSEC3, few names",
            ask("x%07u.signed", 0, 1, FEW, DNS_TYPE_A, true),
            DNS_ANSWER_NXDOMAIN);
    measure(&a, "NXDOMAIN with NSEC3, any name",
            ask("x%07u.signed", 0, 1, 1u << 30, DNS_TYPE_A, true),
            DNS_ANSWER_NXDOMAIN);
    return 0;
}
