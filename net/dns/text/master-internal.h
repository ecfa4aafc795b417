/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that read master files */
#ifndef NET_DNS_TEXT_MASTER_INTERNAL_H
#define NET_DNS_TEXT_MASTER_INTERNAL_H

#include <limits.h>

#include "net/dns/text/master.h"
#include "net/dns/text/rdata.h"

#define DNS_TTL_MAX     INT32_MAX   /* RFC 2181 section 8 */

typedef struct DnsMasterReader {
    const DnsMasterOps *ops;
    void *opaque;
    const DnsMasterOptions *options;
    DnsMasterState *state;
    const char *path;           /* of the file that is being read */
    unsigned depth;             /* of files within one another */
    unsigned errors;
    bool owner_is_bad;          /* records without one are left out */
    bool has_warned;            /* of RFC 1035's TTLs */
    DnsFault fault;
    /* A $INCLUDE that is to be followed, if not empty */
    char include[PATH_MAX];
    DnsName include_origin;
    DnsName name;
    uint8_t rdata[DNS_RDATA_MAX];
    char generated[DNS_RDATA_MAX];
} DnsMasterReader;

/* The fields before the data of a record */
typedef struct DnsMasterHead {
    uint16_t type;
    bool has_ttl;
    uint32_t ttl;
} DnsMasterHead;

/*** Reports ***/

/* The reader's fault, and go on: 0, or a negative errno to stop */
int dns_master_report(DnsMasterReader *reader);

/* A warning of the line @line: 0, or -ECANCELED */
int dns_master_warn(DnsMasterReader *reader, uint64_t line, const char *text);

/*** Records ***/

/* 0 with a warning for a TTL that is too large: 0, or -ECANCELED */
int dns_master_limit_ttl(DnsMasterReader *reader, uint64_t line,
                         uint32_t *ttl);

/* [TTL] [CLASS] TYPE in any order; @token is the first of them. */
int dns_master_head(DnsMasterReader *reader, DnsLex *lex, DnsToken *token,
                    DnsMasterHead *head);

/* Hand out the record whose RDATA is in the reader, with the right TTL. */
int dns_master_emit(DnsMasterReader *reader, const DnsName *owner,
                    const DnsMasterHead *head, size_t rdlength, uint64_t line);

/*** Directives ***/

/* $ORIGIN, $TTL: their value, up to the end of the line */
int dns_master_origin(DnsLex *lex, DnsMasterState *state);
int dns_master_ttl(DnsLex *lex, uint32_t *ttl);

int dns_master_generate(DnsMasterReader *reader, DnsLex *lex);

/*** Lines ***/

/*
 * A record or a directive.  0; -EINVAL with a fault to be reported; another
 * negative errno, or what record() returned, to stop.
 */
int dns_master_line(DnsMasterReader *reader, DnsLex *lex);

/* The records and directives of a text as far as they are whole in it. */
int dns_master_lines(DnsMasterReader *reader, DnsLex *lex);

#endif /* NET_DNS_TEXT_MASTER_INTERNAL_H */
