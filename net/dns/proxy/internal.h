/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: the types that its files share */
#ifndef NET_DNS_PROXY_INTERNAL_H
#define NET_DNS_PROXY_INTERNAL_H

#include <glib.h>

#include "net/dns/proxy/memory.h"
#include "net/dns/proxy/types.h"
#include "net/dns/wire/wire.h"

/* Skip the clearing by -ftrivial-auto-var-init, which costs time per query. */
#define DNS_UNINITIALIZED   __attribute__((uninitialized))

typedef enum RequestKind {
    REQUEST_ADDRESS,        /* AAAA for A, and perhaps A as well */
    REQUEST_REAL,           /* AAAA for AAAA */
    REQUEST_STRIP,          /* only learn whether the name exists */
    REQUEST_ANY,            /* the same, and prove it: RFC 8482 */
    REQUEST_SERVICE,        /* HTTPS, SVCB with hints made right */
    REQUEST_PTR,            /* the name of a virtual address */
    REQUEST_PASS,
} RequestKind;

/* The questions upstream that a request can have */
typedef enum Ask {
    ASK_MAIN,
    ASK_PLAIN,              /* A, asked together with AAAA */
} Ask;

typedef enum AskState {
    ASK_UNUSED,
    ASK_WAITING,
    ASK_FAILED,
    ASK_EMPTY,              /* NODATA, or no usable record */
    ASK_HELD,               /* ASK_PLAIN has an answer and waits for AAAA */
} AskState;

/* The parts of the guest's query that its answer depends on */
typedef struct Client {
    void *token;
    DnsTransport transport;
    uint16_t id;
    uint16_t flags;
    bool has_question;
    bool has_edns;
    DnsEdns edns;
    DnsQuestion question;
} Client;

typedef struct Request {
    Client client;
    RequestKind kind;
    uint64_t generation;
    AskState state[2];
    DnsQuestion asked[2];
    DnsEde failure;         /* the reason why ASK_MAIN failed */
    bool blocked;           /* a private address was withheld */
    bool left_out;          /* an address was withheld for any reason */
    bool has_hints;         /* the answer has address hints */
    bool answered;          /* only ASK_PLAIN is left, for ops->resolved */
    uint32_t lease;         /* REQUEST_PTR: lease of the mapping, seconds */
    uint8_t *held;          /* ASK_HELD: the reply */
    size_t held_len;
    int64_t held_until;
} Request;

struct DnsProxy {
    const DnsProxyOps *ops;
    void *opaque;
    const DnsUpstreamOps *upstream_ops;
    void *upstream;
    DnsProxyCounters counters;

    Request requests[DNS_PROXY_MAX_REQUESTS];
    /* Separate from the requests: dns_proxy_cancel() walks over these. */
    bool used[DNS_PROXY_MAX_REQUESTS];
    void *tokens[DNS_PROXY_MAX_REQUESTS];
    uint16_t free_slots[DNS_PROXY_MAX_REQUESTS];
    size_t free_count;
    size_t answered_count;  /* slots that dns_proxy_make_room() can free */
    uint64_t generation;
    size_t held_count;
    size_t held_bytes;

    DnsMemory *memory;
    const uint8_t *query;   /* the guest's, during dns_proxy_query() */
    size_t query_len;
    const Request *of_query;        /* the request of that query, or NULL */

    uint8_t out[DNS_MSG_MAX];
    /* of one record, before it is copied to out */
    uint8_t rdata[DNS_MSG_MAX];
};

#endif /* NET_DNS_PROXY_INTERNAL_H */
