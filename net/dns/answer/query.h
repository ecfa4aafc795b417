/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The question of a client, taken from its message once */
#ifndef NET_DNS_ANSWER_QUERY_H
#define NET_DNS_ANSWER_QUERY_H

#include "net/dns/zone/find.h"

typedef enum DnsQueryKind {
    DNS_QUERY_IGNORE,   /* shorter than a header, or a response: no reply */
    DNS_QUERY_WRONG,    /* @rcode says how; dns_answer() tells the client */
    DNS_QUERY_ASK,      /* opcode QUERY, one question */
    DNS_QUERY_EMPTY,    /* opcode QUERY, no question, a COOKIE option */
                        /* (RFC 7873 section 5.4) */
    DNS_QUERY_NOTIFY,   /* the question only; the rest is the caller's */
    DNS_QUERY_UPDATE,   /* the same: "question" is the zone */
} DnsQueryKind;

typedef struct DnsQuery {
    const uint8_t *message;
    size_t len;
    DnsQueryKind kind;
    uint16_t rcode;         /* DNS_RCODE_... of _WRONG */
    uint16_t flags;         /* DNS_FLAG_... with opcode, as sent */
    uint16_t type;          /* of the question; this and the next are 0 */
    uint16_t qclass;        /* without one */
    uint16_t question_end;  /* offset; DNS_HEADER_LEN without one */
    /* EDNS, RFC 6891 */
    bool has_edns;
    bool dnssec_ok;
    uint8_t version;
    uint16_t udp_size;      /* as sent */
    uint16_t options_len;
    const uint8_t *options; /* for dns_edns_next(), within @message */
    size_t tsig_at;         /* offset of the TSIG record, the last one; or 0 */
    /*
     * The caller's, 0 after dns_query_read(): octets that dns_answer() leaves
     * free behind the reply, within every limit, for EDNS options and TSIG.
     */
    uint16_t reserve;
    ZoneKey name;           /* of the question, in lower case */
} DnsQuery;

/**
 * dns_query_read: header, question, OPT and the place of TSIG
 * @message: must outlive @query, which points into it
 *
 * A name in a question is never compressed here: there is nothing before it
 * that a pointer may lead to.
 */
void dns_query_read(const uint8_t *message, size_t len, DnsQuery *query);

/** dns_query_id: as sent, in host byte order. */
static inline uint16_t dns_query_id(const DnsQuery *query)
{
    return query->message[0] << 8 | query->message[1];
}

/** dns_query_name: the name with the case that it came with. */
DnsName dns_query_name(const DnsQuery *query);

#endif /* NET_DNS_ANSWER_QUERY_H */
