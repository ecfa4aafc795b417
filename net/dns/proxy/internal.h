/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of the DNS proxy: proxy.c (queries, and what follows from
 * a reply), requests.c (the table of requests), reply.c (what a reply says),
 * judge.c (which addresses the guest may use), answer.c (answers to the guest),
 * memory.c (answers that can be repeated).
 */
#ifndef NET_DNS_PROXY_INTERNAL_H
#define NET_DNS_PROXY_INTERNAL_H

#include <glib.h>

#include "net/dns/proxy/local-names.h"
#include "net/dns/proxy/memory.h"
#include "net/dns/proxy/proxy.h"
#include "net/dns/wire/wire.h"

/* Skip the clearing by -ftrivial-auto-var-init, which costs time per query. */
#define DNS_UNINITIALIZED   __attribute__((uninitialized))

/* The limit of answer records that are examined, and of addresses in them */
#define DNS_REPLY_MAX_RECORDS 1024

typedef enum RequestKind {
    REQUEST_ADDRESS,        /* AAAA for A, and perhaps A as well */
    REQUEST_STRIP,          /* only learn whether the name exists */
    REQUEST_ANY,            /* the same, and prove it: RFC 8482 */
    REQUEST_SERVICE,        /* HTTPS, SVCB without address hints */
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

/* A reply that is well-formed and belongs to its question */
typedef struct Reply {
    const uint8_t *msg;
    size_t len;
    uint16_t type;          /* the type that was asked */
    uint16_t flags;
    uint16_t rcode;         /* with the upper bits of OPT */
    bool exists;            /* rcode was changed to NOERROR */
    bool has_edns;
    DnsEdns edns;
    size_t plain_len;       /* octets before the additional section */
} Reply;

/*** reply.c ***/

/* Returns 0, or -EBADMSG if msg is not a whole reply to that question. */
int dns_reply_parse(Reply *reply, const DnsQuestion *asked,
                    const uint8_t *msg, size_t len);

/*
 * Find the next record of the answer section with that owner and type, class
 * IN, and move the cursor behind it.
 */
bool dns_reply_find(DnsCursor *cursor, const DnsName *owner, uint16_t type,
                    DnsRr *rr);

/* Called for each alias: target is the CNAME or DNAME target of name. */
typedef void DnsAliasFunc(void *opaque, const DnsName *name, uint32_t ttl,
                          const DnsName *target);

/*
 * Follow the aliases from *name on.  On return *name is their end, and *ttl is
 * lowered to the least of their TTLs.  func may be NULL.  Returns 0, or -ELOOP.
 */
int dns_reply_follow(const Reply *reply, DnsName *name, uint32_t *ttl,
                     DnsAliasFunc *func, void *opaque);

/*
 * Find the SOA of the zone of this name.  rr->ttl becomes the time for which
 * the negative answer holds (RFC 2308 section 5).  Returns false if there is no
 * SOA.
 */
bool dns_reply_soa(const Reply *reply, const DnsName *name, DnsRr *rr,
                   DnsSoa *soa);

/* Has the answer section only aliases and signatures? */
bool dns_reply_is_negative(const Reply *reply);

/* The usable A records of a reply */
typedef struct PlainAddresses {
    DnsProxyAddress addr[DNS_PROXY_MAX_ADDRESSES];
    size_t num;
    size_t unusable;
    /* addresses that did not fit into addr or private */
    size_t over_limit;
    struct in6_addr private[DNS_PROXY_MAX_ADDRESSES];
    size_t num_private;
} PlainAddresses;

/* Find the A records at the end of the aliases of the name of r. */
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

/* Free the slot of r and cancel its questions upstream. */
void dns_proxy_end_request(DnsProxy *p, Request *r);

/* End answered requests, which only wait for an A, until a slot is free. */
void dns_proxy_make_room(DnsProxy *p);

/* Parse the held A reply of r.  It was checked when it came. */
void dns_proxy_parse_held(const Request *r, Reply *reply);

/* Report these A records to the owner, if there are any. */
void dns_proxy_tell_plain(DnsProxy *p, const Request *r,
                          const PlainAddresses *found);

/* Report the A records of a reply to the owner; r goes on. */
void dns_proxy_note_plain(DnsProxy *p, const Request *r, const Reply *reply);

/*
 * The AAAA of r was answered.  Ends r, or keeps it until the A reply has come
 * and the owner has been told of it.
 */
void dns_proxy_answered(DnsProxy *p, Request *r);

/*** judge.c ***/

/* May the guest be led to this address?  If not, count it. */
bool dns_proxy_lets(DnsProxy *p, Request *r, const struct in6_addr *addr6);

/* Count the addresses of a reply that are withheld.  Call it once a reply. */
void dns_proxy_leave_out(DnsProxy *p, Request *r, const PlainAddresses *found);

/*
 * May a reply pass unchanged?  A signed reply passes whole or not at all: one
 * address that the guest may not be led to is enough to stop it.
 */
bool dns_proxy_lets_pass(DnsProxy *p, Request *r, const Reply *reply);

/*** answer.c ***/

/*
 * Answer a query that has no request; the answer has no records.  @ede: a
 * DnsEde, or -1 for none.
 */
void dns_proxy_answer_bare(DnsProxy *p, const Client *client, DnsRcode rcode,
                           int ede);

/* Each function below answers and ends a request. */

/* Answer SERVFAIL and increment *counter. */
void dns_proxy_fail(DnsProxy *p, Request *r, DnsEde ede, uint64_t *counter);

/* Answer NXDOMAIN without a reply of the upstream. */
void dns_proxy_answer_nothing(DnsProxy *p, Request *r);

/* Answer for a special-use name. */
void dns_proxy_answer_local(DnsProxy *p, Request *r,
                            const DnsLocalAnswer *local);

/*
 * Answer NXDOMAIN or NODATA, with the aliases and the SOA of the reply.  If the
 * proxy withholds records and the reply has no SOA, add one of the proxy.  If
 * the client sets DO and the reply is the whole answer, pass it unchanged.  ANY
 * of a name that exists gets its alias or HINFO (RFC 8482 section 4.2).
 */
void dns_proxy_answer_negative(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with the unchanged reply, behind the id and question of the guest.  If
 * it has an address that the guest may not be led to, answer NODATA.
 */
void dns_proxy_answer_passed(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with virtual addresses for the AAAA records of a reply.  The reply has
 * NOERROR.  Returns false, and does nothing, if no address can be handed out.
 */
bool dns_proxy_answer_virtual(DnsProxy *p, Request *r, const Reply *reply);

/* Answer with the A records of a reply, which the guest reaches by NAT64. */
void dns_proxy_answer_plain(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with HTTPS or SVCB records without their address hints: a client would
 * connect to these addresses without the translation.  A reply without hints
 * passes unchanged.
 */
void dns_proxy_answer_service(DnsProxy *p, Request *r, const Reply *reply);

/* Answer with the names of a virtual address, or NODATA for other types. */
void dns_proxy_answer_ptr(DnsProxy *p, Request *r, const Reply *reply);

#endif /* NET_DNS_PROXY_INTERNAL_H */
