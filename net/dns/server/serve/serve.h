/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and its reply: cookies, access lists, rate limits, and options
 * around what net/dns/answer says
 *
 * Knows no socket and no clock.
 */
#ifndef NET_DNS_SERVER_SERVE_SERVE_H
#define NET_DNS_SERVER_SERVE_SERVE_H

#include <stdatomic.h>

#include "net/dns/answer/answer.h"
#include "net/dns/server/config/config.h"
#include "net/dns/server/core/cookie.h"
#include "net/dns/server/core/counters.h"
#include "net/dns/server/core/limit.h"
#include "net/dns/server/serve/replies.h"

/* The "opaque" of a served zone */
typedef struct DnsdRules {
    const DnsdRanges *allow_query;      /* NULL: everybody */
    const atomic_bool *lost;            /* a page of its file is gone, or */
                                        /* it has expired; NULL: never */
} DnsdRules;

/* The data that requests are answered from; they do not change */
typedef struct DnsdServing {
    const DnsdConfig *config;
    DnsdSecrets secrets;
    DnsAnswerer udp;
    DnsAnswerer tcp;
    uint32_t generation;        /* of the resolver's cache */
} DnsdServing;

/* A thread's own state */
typedef struct DnsdDesk {
    DnsdCounters counters;
    DnsdLimit *limit;           /* NULL: no limit */
    DnsdReplies *replies;       /* NULL: it does not ask the resolver */
} DnsdDesk;

typedef struct DnsdClient {
    DnsdAddr addr;
    bool is_stream;
    uint32_t now;               /* seconds since 1970 */
    uint64_t now_ms;            /* of a clock that does not go back */
    uint16_t reserve;           /* octets to leave free behind the reply */
} DnsdClient;

typedef enum DnsdOutcome {
    DNSD_DROP,                  /* counted, no reply */
    DNSD_REPLY,
    DNSD_RESOLVE,               /* for the resolver */
    DNSD_CONTROL,               /* for the control thread: UPDATE, NOTIFY, */
                                /* and what TSIG signs */
    DNSD_TRANSFER,              /* likewise: AXFR, IXFR */
} DnsdOutcome;

/**
 * dnsd_serve: the reply to a request
 * @room: octets at @out, DNSD_UDP_MAX at least; DNS_MSG_MAX for a stream
 * @reply_len: set with DNSD_REPLY
 */
DnsdOutcome dnsd_serve(const DnsdServing *serving, DnsdDesk *desk,
                       const DnsdClient *client, const uint8_t *msg,
                       size_t len, uint8_t *out, size_t room,
                       size_t *reply_len);

/**
 * dnsd_serve_resolved: the reply to a query that has been to the resolver
 * @generation: serving->generation when it went there
 *
 * Other arguments and return value as those of dnsd_serve(), but never
 * DNSD_RESOLVE or DNSD_CONTROL.
 */
DnsdOutcome dnsd_serve_resolved(const DnsdServing *serving, DnsdDesk *desk,
                                const DnsdClient *client, const uint8_t *msg,
                                size_t len, const DnsdResolved *resolved,
                                uint32_t generation, uint8_t *out, size_t room,
                                size_t *reply_len);

/**
 * dnsd_serve_error: a reply that says nothing but its RCODE
 *
 * Returns: its length, 0 if there is none.
 */
size_t dnsd_serve_error(const DnsdServing *serving, const DnsdClient *client,
                        const uint8_t *msg, size_t len, DnsRcode rcode,
                        uint8_t *out, size_t room);

#endif /* NET_DNS_SERVER_SERVE_SERVE_H */
