/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the DNS proxy share: proxy.c (queries, the table of those
 * under way, what a reply means), proxy-reply.c (what a reply says),
 * proxy-judge.c (to which addresses the guest may be led), proxy-answer.c (what
 * the guest is told), proxy-memory.c (what it was told).
 */
#ifndef NET_DNS_PROXY_INTERNAL_H
#define NET_DNS_PROXY_INTERNAL_H

#include <glib.h>

#include "net/dns/proxy/local-names.h"
#include "net/dns/proxy/memory.h"
#include "net/dns/proxy/proxy.h"
#include "net/dns/wire/wire.h"

/* For what -ftrivial-auto-var-init would clear, query after query */
#define DNS_UNINITIALIZED   __attribute__((uninitialized))

/* Records of an answer section that are looked at, or addresses in them */
#define DNS_REPLY_MAX_RECORDS 1024

typedef enum RequestKind {
    REQUEST_ADDRESS,        /* AAAA for A, perhaps with A beside it */
    REQUEST_STRIP,          /* only whether the name exists */
    REQUEST_ANY,            /* likewise, with proof of it: RFC 8482 */
    REQUEST_SERVICE,        /* HTTPS, SVCB without their address hints */
    REQUEST_PTR,            /* name of a virtual address */
    REQUEST_PASS,
} RequestKind;

/* The requests upstream that a slot can have */
typedef enum Ask {
    ASK_MAIN,
    ASK_PLAIN,              /* A, beside the AAAA of REQUEST_ADDRESS */
} Ask;

typedef enum AskState {
    ASK_UNUSED,
    ASK_WAITING,
    ASK_FAILED,
    ASK_EMPTY,              /* NODATA, or nothing of use */
    ASK_HELD,               /* ASK_PLAIN has records and waits for AAAA */
} AskState;

/* What the guest sent, as far as answers depend on it */
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
    DnsEde failure;         /* why ASK_MAIN failed */
    bool blocked;           /* a private address was left out */
    bool left_out;          /* one was, for whatever reason */
    bool answered;          /* only ASK_PLAIN is left, for ops->resolved */
    uint32_t lease;         /* REQUEST_PTR: of the mapping */
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
    /* Apart from the requests: to cancel a token's walks over these */
    bool used[DNS_PROXY_MAX_REQUESTS];
    void *tokens[DNS_PROXY_MAX_REQUESTS];
    uint16_t free_slots[DNS_PROXY_MAX_REQUESTS];
    size_t free_count;
    size_t answered_count;  /* slots that make_room() can free */
    uint64_t generation;
    size_t held_count;
    size_t held_bytes;

    DnsMemory *memory;
    const uint8_t *query;   /* in dns_proxy_query(): the guest's */
    size_t query_len;
    const Request *of_query;        /* the request that came of it, or NULL */

    uint8_t out[DNS_MSG_MAX];
    uint8_t rdata[DNS_MSG_MAX];     /* of one record, on its way to out */
};

/* A reply that was walked from end to end and belongs to its question */
typedef struct Reply {
    const uint8_t *msg;
    size_t len;
    uint16_t type;          /* that was asked */
    uint16_t flags;
    uint16_t rcode;         /* all 12 bits */
    bool exists;            /* rcode is NOERROR where the server's is not */
    bool has_edns;
    DnsEdns edns;
    size_t plain_len;       /* up to the additional section */
} Reply;

/*** reply.c ***/

/* Returns 0, or -EBADMSG for what is not a whole reply to that question. */
int dns_reply_parse(Reply *reply, const DnsQuestion *asked,
                    const uint8_t *msg, size_t len);

/*
 * Next record of the answer section with that owner and type, class IN;
 * cursor moves on.
 */
bool dns_reply_find(DnsCursor *cursor, const DnsName *owner, uint16_t type,
                    DnsRr *rr);

/* name is an alias of target. */
typedef void DnsAliasFunc(void *opaque, const DnsName *name, uint32_t ttl,
                          const DnsName *target);

/*
 * Follows the aliases from *name on, which is their end then, and lowers *ttl
 * to the least of theirs; func may be NULL.  Returns 0, or -ELOOP.
 */
int dns_reply_follow(const Reply *reply, DnsName *name, uint32_t *ttl,
                     DnsAliasFunc *func, void *opaque);

/*
 * The SOA of the zone that this name is in, for how long a "no" holds is in
 * rr->ttl (RFC 2308 section 5).  False if there is none.
 */
bool dns_reply_soa(const Reply *reply, const DnsName *name, DnsRr *rr,
                   DnsSoa *soa);

/* Has its answer section nothing but aliases and signatures? */
bool dns_reply_is_negative(const Reply *reply);

/* A records, but for those that are no use */
typedef struct PlainAddresses {
    DnsProxyAddress addr[DNS_PROXY_MAX_ADDRESSES];
    size_t num;
    size_t unusable;
    size_t over_limit;      /* of addr or of private */
    struct in6_addr private[DNS_PROXY_MAX_ADDRESSES];
    size_t num_private;
} PlainAddresses;

/* Those that the name leads to which the guest asked for. */
void dns_proxy_plain_addresses(const DnsProxy *p, const Request *r,
                               const Reply *reply, PlainAddresses *found);

/*** requests.c ***/

/* The number by which the upstream knows one of the questions of r */
uint64_t dns_proxy_request_number(const DnsProxy *p, const Request *r,
                                  Ask ask);

/* The live request with that number, or NULL if it has ended. */
Request *dns_proxy_find_request(DnsProxy *p, uint64_t number);

/* A request of the client.  The caller has checked that a slot is free. */
Request *dns_proxy_new_request(DnsProxy *p, const Client *client);

/* Frees the slot of r and cancels its questions upstream. */
void dns_proxy_end_request(DnsProxy *p, Request *r);

/* Ends answered requests, which only wait for an A, until a slot is free. */
void dns_proxy_make_room(DnsProxy *p);

/* The held A reply of r.  It was checked when it came. */
void dns_proxy_parse_held(const Request *r, Reply *reply);

/* Reports these A records to the owner, if there are any. */
void dns_proxy_tell_plain(DnsProxy *p, const Request *r,
                          const PlainAddresses *found);

/* Reports the A records of a reply to the owner; r goes on. */
void dns_proxy_note_plain(DnsProxy *p, const Request *r, const Reply *reply);

/*
 * The AAAA of r was answered.  Ends r, or keeps it until the A reply has come
 * and the owner has been told of it.
 */
void dns_proxy_answered(DnsProxy *p, Request *r);

/*** judge.c ***/

/* May the guest be led to this address?  If not, that is counted. */
bool dns_proxy_lets(DnsProxy *p, Request *r, const struct in6_addr *addr6);

/* Counts what is not among these addresses, once for a reply. */
void dns_proxy_leave_out(DnsProxy *p, Request *r, const PlainAddresses *found);

/*
 * May a reply pass as it is?  What is signed passes whole or not at all: one
 * address that the guest may not be led to is enough.
 */
bool dns_proxy_lets_pass(DnsProxy *p, Request *r, const Reply *reply);

/*** answer.c ***/

/*
 * An answer without records to a query that has no slot.  ede: a DnsEde, or -1
 * for none.
 */
void dns_proxy_answer_bare(DnsProxy *p, const Client *client, DnsRcode rcode,
                           int ede);

/*
 * These answer, and end, a request.
 */

/* SERVFAIL, counted where counter says */
void dns_proxy_fail(DnsProxy *p, Request *r, DnsEde ede, uint64_t *counter);

/* NXDOMAIN, of our own knowledge */
void dns_proxy_answer_nothing(DnsProxy *p, Request *r);

/* A special-use name's */
void dns_proxy_answer_local(DnsProxy *p, Request *r,
                            const DnsLocalAnswer *local);

/*
 * NXDOMAIN or NODATA with the reply's aliases, and its SOA; one of ours, if the
 * "no" is ours and the reply has none.  To who asks for signatures, the reply
 * as it came, if that is the whole answer.  ANY of a name that exists gets its
 * alias or HINFO (RFC 8482 section 4.2).
 */
void dns_proxy_answer_negative(DnsProxy *p, Request *r, const Reply *reply);

/*
 * The reply as it came, behind the guest's id and question; if it has
 * addresses that the guest may not be led to, NODATA
 */
void dns_proxy_answer_passed(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Virtual addresses for those of a reply with NOERROR.  Returns false, with
 * nothing done, if it has none that could be handed out.
 */
bool dns_proxy_answer_virtual(DnsProxy *p, Request *r, const Reply *reply);

/* The A records of a reply, to be reached through NAT64 */
void dns_proxy_answer_plain(DnsProxy *p, Request *r, const Reply *reply);

/*
 * The records of HTTPS or SVCB, without address hints: they would be connected
 * to around the translation.  A reply that has none passes as it came.
 */
void dns_proxy_answer_service(DnsProxy *p, Request *r, const Reply *reply);

/* Names of a virtual address, or that there are none of the type asked for */
void dns_proxy_answer_ptr(DnsProxy *p, Request *r, const Reply *reply);

#endif /* NET_DNS_PROXY_INTERNAL_H */
