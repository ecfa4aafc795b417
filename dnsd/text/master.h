/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Master files, RFC 1035 section 5, with BIND's extensions
 *
 * Records are passed on one by one in the order of the file, and are not kept.
 * The parser only checks that each record has the shape of its type.  It does
 * not check which records a zone may have, or which must be together.
 *
 * Several threads can read one file in pieces: dns_master_split() finds where a
 * piece may begin and its state there, and dns_master_parse() reads the piece.
 * These functions keep no state except in their arguments.
 */
#ifndef DNSD_TEXT_MASTER_H
#define DNSD_TEXT_MASTER_H

#include "dnsd/text/lex.h"
#include "net/dns/wire/wire.h"

#define DNS_MASTER_INCLUDES_MAX     16          /* nesting of included files */
#define DNS_MASTER_GENERATE_MAX     (1 << 24)   /* lines of one $GENERATE */
/* octets of one record in the file */
#define DNS_MASTER_RECORD_MAX       (1 << 24)
#define DNS_MASTER_ERRORS_MAX       64          /* the default of errors_max */

typedef struct DnsMasterRecord {
    const DnsName *owner;
    uint16_t type;
    uint16_t rrclass;
    uint32_t ttl;
    uint16_t rdlength;
    const uint8_t *rdata;       /* uncompressed, checked */
    const char *file;
    uint64_t line;              /* of the record's first token */
} DnsMasterRecord;

typedef struct DnsMasterError {
    const char *file;
    uint64_t line;              /* 0: the file as a whole */
    uint32_t column;            /* from 1; 0: the whole line */
    bool is_warning;            /* the record or directive is accepted */
    const char *text;           /* one line, without path and line number */
} DnsMasterError;

typedef struct DnsMasterOps {
    /*
     * All pointers are valid during the call.  Return 0, or another value to
     * stop.
     */
    int (*record)(void *opaque, const DnsMasterRecord *record);
    /* Return true to continue and find further faults. */
    bool (*error)(void *opaque, const DnsMasterError *error);
    /*
     * Open a file for reading.  Returns a descriptor, which the reader closes,
     * or a negative errno.  NULL: use open(2).
     */
    int (*open)(void *opaque, const char *path);
} DnsMasterOps;

typedef struct DnsMasterOptions {
    const char *path;           /* the file; also for messages */
    const DnsName *origin;
    uint16_t rrclass;           /* other classes are an error */
    bool has_default_ttl;       /* as if $TTL preceded all records */
    uint32_t default_ttl;
    unsigned errors_max;        /* 0: DNS_MASTER_ERRORS_MAX */
} DnsMasterOptions;

/* The state that decides what a line means, besides its text */
typedef struct DnsMasterState {
    DnsName origin;
    DnsName owner;              /* of the last record */
    bool has_owner;
    bool has_default_ttl;       /* $TTL, RFC 2308 4; or from SOA without $TTL */
    bool has_last_ttl;          /* the last explicit TTL, RFC 1035 5.1 */
    bool is_open;               /* an included file may contain a $TTL */
    uint32_t default_ttl;
    uint32_t last_ttl;
    uint64_t line;              /* of the next octet, from 1 */
} DnsMasterState;

/**
 * dns_master_read: read a file, and the files that it includes
 *
 * Memory is bounded, as a file is read in pieces.  The path of an included file
 * is relative to the file that includes it.
 *
 * Returns: 0; the result of record() that stopped it; -ECANCELED if error()
 * stopped it; -EINVAL if errors were reported (warnings do not count); a
 * negative errno if a file cannot be read, which is reported as well; or
 * -ENOMEM.
 */
int dns_master_read(const DnsMasterOps *ops, void *opaque,
                    const DnsMasterOptions *options);

/** dns_master_state: set the state at the beginning of a file */
void dns_master_state(DnsMasterState *state, const DnsMasterOptions *options);

/**
 * dns_master_parse: parse a piece of a file in memory
 * @state: the state at the beginning of the piece; on return at its end
 * @text: begins and ends where a record or directive begins
 *
 * Returns: as dns_master_read().
 */
int dns_master_parse(const DnsMasterOps *ops, void *opaque,
                     const DnsMasterOptions *options, DnsMasterState *state,
                     const char *text, size_t len);

/**
 * dns_master_split: find where the next piece may begin
 * @state: the state at the beginning of @text; on return at that place
 * @at_least: octets before the place
 *
 * The place is a line with an explicit owner, and an explicit TTL unless there
 * is a $TTL.  So its meaning depends only on the directives before it, which
 * this function reads, and on the SOA record if that is first.  Other records
 * are skipped, at nearly the speed of memory.  After an $INCLUDE there is no
 * place until the next $TTL, as the included file may contain one.
 *
 * Nothing is reported: dns_master_parse() does that.
 *
 * Returns: octets before the place; @len if there is none.
 */
size_t dns_master_split(const DnsMasterOptions *options,
                        DnsMasterState *state, const char *text, size_t len,
                        size_t at_least);

#endif /* DNSD_TEXT_MASTER_H */
