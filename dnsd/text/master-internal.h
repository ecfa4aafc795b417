/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that read master files */
#ifndef DNSD_TEXT_MASTER_INTERNAL_H
#define DNSD_TEXT_MASTER_INTERNAL_H

#include <limits.h>

#include "dnsd/text/master-types.h"
#include "dnsd/text/rdata.h"

#define DNS_TTL_MAX     INT32_MAX   /* RFC 2181 section 8 */

typedef struct DnsMasterReader {
    const DnsMasterOps *ops;
    void *opaque;
    const DnsMasterOptions *options;
    DnsMasterState *state;
    const char *path;           /* of the file being read */
    unsigned depth;             /* nesting of included files */
    unsigned errors;
    bool owner_is_bad;          /* skip records without an owner */
    bool has_warned;            /* about TTLs by the rule of RFC 1035 */
    DnsFault fault;
    /* The file of a $INCLUDE that must be read next; empty: none */
    char include[PATH_MAX];
    DnsName include_origin;
    DnsName name;
    uint8_t rdata[DNS_RDATA_MAX];
    char generated[DNS_RDATA_MAX];
} DnsMasterReader;

/* The fields of a record before its RDATA */
typedef struct DnsMasterHead {
    uint16_t type;
    bool has_ttl;
    uint32_t ttl;
} DnsMasterHead;

/*** Reports ***/

/*
 * Report the fault of the reader.  Returns 0 to continue, or a negative errno
 * to stop.
 */
int dns_master_report(DnsMasterReader *reader);

/* Report a warning for line @line.  Returns 0 or -ECANCELED. */
int dns_master_warn(DnsMasterReader *reader, uint64_t line, const char *text);

/*** Records ***/

/* Replace a TTL that is too large by 0 and warn.  Returns 0 or -ECANCELED. */
int dns_master_limit_ttl(DnsMasterReader *reader, uint64_t line,
                         uint32_t *ttl);

/* Read [TTL] [CLASS] TYPE in any order; @token is the first of them. */
int dns_master_head(DnsMasterReader *reader, DnsLex *lex, DnsToken *token,
                    DnsMasterHead *head);

/* Pass on the record whose RDATA is in the reader, with the right TTL. */
int dns_master_emit(DnsMasterReader *reader, const DnsName *owner,
                    const DnsMasterHead *head, size_t rdlength, uint64_t line);

/*** Directives ***/

/* Read the value of $ORIGIN or $TTL, up to the end of the line. */
int dns_master_origin(DnsLex *lex, DnsMasterState *state);
int dns_master_ttl(DnsLex *lex, uint32_t *ttl);

int dns_master_generate(DnsMasterReader *reader, DnsLex *lex);

/*** Lines ***/

/*
 * Read a record or a directive.  Returns 0; -EINVAL, with a fault to report;
 * or, to stop, another negative errno or the result of record().
 */
int dns_master_line(DnsMasterReader *reader, DnsLex *lex);

/* Read all records and directives that are complete in a text. */
int dns_master_lines(DnsMasterReader *reader, DnsLex *lex);

#endif /* DNSD_TEXT_MASTER_INTERNAL_H */
