/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world around a DNS proxy: scripted upstream, fake address pool */
#ifndef TESTS_DNS_PROXY_FIXTURE_H
#define TESTS_DNS_PROXY_FIXTURE_H

#include <glib.h>

#include "net/dns/proxy/proxy.h"
#include "net/dns/wire/wire.h"

#define MAX_SENT (2 * DNS_PROXY_MAX_REQUESTS + 64)
#define NO_EDE (-1)

typedef struct Sent {
    uint8_t query[DNS_QUERY_MAX];
    size_t len;
    DnsReplyFn *reply;
    void *opaque;
    uint64_t request;
    bool cancelled;
} Sent;

/* The world around the proxy, and the last answer */
typedef struct World World;
struct World {
    DnsProxy *proxy;

    Sent sent[MAX_SENT];
    size_t sent_count;
    int send_error;
    bool timeout_at_once;   /* the reply comes within send */
    bool nxdomain_at_once;
    void (*at_once)(World *w, size_t i);     /* or this is called */

    struct in6_addr pool[64];
    size_t pool_used;
    size_t pool_size;
    uint32_t lease;
    int map_error;
    bool nat64;
    int64_t now;

    uint8_t answer[DNS_MSG_MAX];
    size_t answer_len;
    void *answer_token;
    size_t answers;
    void *cancel_in_answer;

    int admit;              /* the result of admit() */
    bool local;             /* its argument */
    char resolved[512];     /* "name: address ttl ...;" of all calls */
    char blocked[256];      /* "address, " of all calls */
};

/* A message that a test writes as the guest or as the upstream */
typedef struct Msg {
    uint8_t buf[DNS_MSG_MAX];
    DnsBuilder b;
} Msg;

#define COUNTER(w, name) (dns_proxy_counters((w)->proxy)->name)

extern Msg msg;

/*** The world ***/

World *world_new(void);
void world_free(World *w);

/*** Script ***/

DnsName name_of(const char *text);
void begin_query(const char *name, uint16_t type);
void add_edns(uint16_t size, bool dnssec_ok, uint8_t version);
void query(World *w);
void ask(World *w, const char *name, uint16_t type);
/* Upstream's reply to the query sent as number i, question copied from it */
void begin_reply(World *w, size_t i, uint16_t flags);
void add_aaaa(const char *owner, uint32_t ttl, const char *text);
void add_a(const char *owner, uint32_t ttl, const char *text);
void add_name(const char *owner, DnsType type, uint32_t ttl,
              const char *target);
void add_soa(const char *zone, uint32_t ttl);
void deliver(World *w, size_t i, DnsUpstreamStatus status);

/*** Expectations ***/

void assert_sent(World *w, size_t i, const char *name, uint16_t type);
/*
 * Check the common parts of an answer: the guest's id and question, QR, RA.
 * Returns flags.
 */
uint16_t assert_answer(World *w, DnsRcode rcode, const char *name,
                       uint16_t type);
/*
 * All records as "owner ttl TYPE rdata;" against expected; of a SOA, rdata is
 * MNAME and MINIMUM.
 */
void assert_records(World *w, const char *expected);
/* Check that every query has ended in exactly one counter. */
void assert_balance(World *w, size_t outstanding);

/*** NAT64 ***/

void reply_aaaa(World *w, bool data);
void reply_a(World *w, bool data);

#endif
