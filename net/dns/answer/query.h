/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The question of a client, parsed once from its message */
#ifndef NET_DNS_ANSWER_QUERY_H
#define NET_DNS_ANSWER_QUERY_H

#include "net/dns/zone/find.h"

typedef enum DnsQueryKind {
    DNS_QUERY_IGNORE,   /* shorter than a header, or a response: no reply */
    DNS_QUERY_WRONG,    /* dns_answer() tells the client @rcode */
    DNS_QUERY_ASK,      /* opcode QUERY, one question */
    DNS_QUERY_EMPTY,    /* opcode QUERY, no question, a COOKIE option */
                        /* (RFC 7873 section 5.4) */
    DNS_QUERY_NOTIFY,   /* only the question is parsed */
    DNS_QUERY_UPDATE,   /* the same: the question is the zone */
} DnsQueryKind;

typedef struct DnsQuery {
    const uint8_t *message;
    size_t len;
    DnsQueryKind kind;
    uint16_t rcode;         /* DNS_RCODE_... of _WRONG */
    uint16_t flags;         /* DNS_FLAG_... with opcode, as sent */
    uint16_t type;          /* of the question; 0 without a question, */
    uint16_t qclass;        /* like qclass */
    uint16_t question_end;  /* offset; DNS_HEADER_LEN if there is none */
    /* EDNS, RFC 6891 */
    bool has_edns;
    bool dnssec_ok;
    uint8_t version;
    uint16_t udp_size;      /* as sent */
    uint16_t options_len;
    const uint8_t *options; /* for dns_edns_next(), within @message */
    size_t tsig_at;         /* offset of TSIG, the last record; or 0 */
    /*
     * The caller sets this; dns_query_read() sets 0.  dns_answer() leaves this
     * many octets free behind the reply, within every limit, for EDNS options
     * and TSIG.
     */
    uint16_t reserve;
    ZoneKey name;           /* of the question, in lower case */
} DnsQuery;

/**
 * dns_query_read: parse header, question and OPT, and find TSIG
 * @message: must outlive @query, which points into it
 *
 * The name of a question is never compressed: nothing precedes it that a
 * pointer could lead to.
 */
void dns_query_read(const uint8_t *message, size_t len, DnsQuery *query);

/** dns_query_id: as sent, in host byte order. */
static inline uint16_t dns_query_id(const DnsQuery *query)
{
    return query->message[0] << 8 | query->message[1];
}

/** dns_query_name: the name with its original case */
DnsName dns_query_name(const DnsQuery *query);

#endif /* NET_DNS_ANSWER_QUERY_H */
