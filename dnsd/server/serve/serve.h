/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and its reply: cookies, access lists, rate limits and options
 * around the reply of net/dns/answer
 *
 * This code uses no socket and no clock.
 */
#ifndef DNSD_SERVER_SERVE_SERVE_H
#define DNSD_SERVER_SERVE_SERVE_H

#include <stdatomic.h>

#include "net/dns/answer/answer.h"
#include "dnsd/server/config/config.h"
#include "dnsd/server/core/cookie.h"
#include "dnsd/server/core/counters.h"
#include "dnsd/server/core/limit.h"
#include "dnsd/server/serve/replies.h"

/* The "opaque" of a served zone */
typedef struct DnsdRules {
    const DnsdRanges *allow_query;      /* NULL: everybody */
    const atomic_bool *lost;            /* a page of its file is lost, or */
                                        /* it has expired; NULL: never */
} DnsdRules;

/* The data from which requests are answered; it does not change */
typedef struct DnsdServing {
    const DnsdConfig *config;
    DnsdSecrets secrets;
    DnsAnswerer udp;
    DnsAnswerer tcp;
    uint32_t generation;        /* of the resolver's cache */
} DnsdServing;

/* The state of one thread */
typedef struct DnsdThreadState {
    DnsdCounters counters;
    DnsdLimit *limit;           /* NULL: no limit */
    DnsdReplies *replies;       /* NULL: no resolver */
} DnsdThreadState;

typedef struct DnsdClient {
    DnsdAddr addr;
    bool is_stream;
    uint32_t now;               /* seconds since 1970 */
    uint64_t now_ms;            /* of a monotonic clock */
    uint16_t reserve;           /* octets to leave free behind the reply */
} DnsdClient;

typedef enum DnsdOutcome {
    DNSD_DROP,                  /* counted, no reply */
    DNSD_REPLY,
    DNSD_RESOLVE,               /* pass it to the resolver */
    DNSD_CONTROL,               /* pass it to the control thread: UPDATE, */
                                /* NOTIFY, and requests with TSIG */
    DNSD_TRANSFER,              /* the same for AXFR and IXFR */
} DnsdOutcome;

/**
 * dnsd_serve: make the reply to a request
 * @room: octets at @out: at least DNSD_UDP_MAX; DNS_MSG_MAX for a stream
 * @reply_len: set with DNSD_REPLY
 */
DnsdOutcome dnsd_serve(const DnsdServing *serving, DnsdThreadState *thread,
                       const DnsdClient *client, const uint8_t *msg,
                       size_t len, uint8_t *out, size_t room,
                       size_t *reply_len);

/**
 * dnsd_serve_resolved: make the reply to a query after the resolver has
 * answered
 * @generation: serving->generation when the query was passed on
 *
 * Other arguments and the result are as in dnsd_serve(), without DNSD_RESOLVE
 * and DNSD_CONTROL.
 */
DnsdOutcome dnsd_serve_resolved(const DnsdServing *serving,
                                DnsdThreadState *thread,
                                const DnsdClient *client, const uint8_t *msg,
                                size_t len, const DnsdResolved *resolved,
                                uint32_t generation, uint8_t *out, size_t room,
                                size_t *reply_len);

/**
 * dnsd_serve_error: make a reply that only has an RCODE
 *
 * Returns: its length; 0 if there is none.
 */
size_t dnsd_serve_error(const DnsdServing *serving, const DnsdClient *client,
                        const uint8_t *msg, size_t len, DnsRcode rcode,
                        uint8_t *out, size_t room);

#endif /* DNSD_SERVER_SERVE_SERVE_H */
