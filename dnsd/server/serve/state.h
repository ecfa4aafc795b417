/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data for an answer: what is served, its thread, its client */
#ifndef DNSD_SERVER_SERVE_STATE_H
#define DNSD_SERVER_SERVE_STATE_H

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

#endif /* DNSD_SERVER_SERVE_STATE_H */
