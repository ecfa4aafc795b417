/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Master files, RFC 1035 section 5, as BIND takes them
 *
 * Records are handed out one by one in the order of the file; nothing is
 * kept of them.  Which records a zone may have, and which belong together, is
 * not looked at here, only that each is one of its type.
 *
 * A file can be read by several threads, a piece each: dns_master_split()
 * finds where a piece may begin and in which state, dns_master_parse() reads
 * it.  These functions keep no state but in their arguments.
 */
#ifndef NET_DNS_TEXT_MASTER_H
#define NET_DNS_TEXT_MASTER_H

#include "net/dns/text/lex.h"
#include "net/dns/wire/wire.h"

#define DNS_MASTER_INCLUDES_MAX     16          /* files within one another */
#define DNS_MASTER_GENERATE_MAX     (1 << 24)   /* lines of one $GENERATE */
#define DNS_MASTER_RECORD_MAX       (1 << 24)   /* octets of one in the file */
#define DNS_MASTER_ERRORS_MAX       64          /* unless told otherwise */

typedef struct DnsMasterRecord {
    const DnsName *owner;
    uint16_t type;
    uint16_t rrclass;
    uint32_t ttl;
    uint16_t rdlength;
    const uint8_t *rdata;       /* uncompressed, of its type */
    const char *file;
    uint64_t line;              /* in which the record begins */
} DnsMasterRecord;

typedef struct DnsMasterError {
    const char *file;
    uint64_t line;              /* 0: it is about the file as a whole */
    uint32_t column;            /* from 1; 0: it is about the line */
    bool is_warning;            /* what it is about was taken nevertheless */
    const char *text;           /* one line, without the place */
} DnsMasterError;

typedef struct DnsMasterOps {
    /* All pointers are good during the call.  0, or not 0 to stop. */
    int (*record)(void *opaque, const DnsMasterRecord *record);
    /* true: go on, to see what else is wrong */
    bool (*error)(void *opaque, const DnsMasterError *error);
    /*
     * A descriptor, from which the file is read and which is closed then, or
     * a negative errno.  NULL: open(2) for reading.
     */
    int (*open)(void *opaque, const char *path);
} DnsMasterOps;

typedef struct DnsMasterOptions {
    const char *path;           /* for messages, and of the file itself */
    const DnsName *origin;
    uint16_t rrclass;           /* of all records; another one is an error */
    bool has_default_ttl;       /* as if a $TTL stood before all */
    uint32_t default_ttl;
    unsigned errors_max;        /* 0: DNS_MASTER_ERRORS_MAX */
} DnsMasterOptions;

/* The state on which the meaning of a line depends, beside its text */
typedef struct DnsMasterState {
    DnsName origin;
    DnsName owner;              /* of the last record */
    bool has_owner;
    bool has_default_ttl;       /* $TTL, RFC 2308 4; or of a SOA without one */
    bool has_last_ttl;          /* the last one stated, RFC 1035 5.1 */
    bool is_open;               /* an included file may have a $TTL */
    uint32_t default_ttl;
    uint32_t last_ttl;
    uint64_t line;              /* of what comes next, from 1 */
} DnsMasterState;

/**
 * dns_master_read: all of a file and of those that it includes
 *
 * Memory is bounded: a file is read in big pieces.  A file that is included
 * is looked for beside the one that includes it.
 *
 * Returns: 0; what record() stopped it with; -ECANCELED if error() did;
 * -EINVAL if errors were reported (warnings are none); a negative errno if the
 * file cannot be read, which is reported as well; or -ENOMEM.
 */
int dns_master_read(const DnsMasterOps *ops, void *opaque,
                    const DnsMasterOptions *options);

/** dns_master_state: that of the beginning of a file. */
void dns_master_state(DnsMasterState *state, const DnsMasterOptions *options);

/**
 * dns_master_parse: a piece of a file that is in memory
 * @state: as the piece begins; on return as it ends
 * @text: begins where a record or a directive does, ends where one does
 *
 * Returns: as dns_master_read().
 */
int dns_master_parse(const DnsMasterOps *ops, void *opaque,
                     const DnsMasterOptions *options, DnsMasterState *state,
                     const char *text, size_t len);

/**
 * dns_master_split: where the next piece may begin
 * @state: that of the beginning of @text; on return of the place found
 * @at_least: octets before it
 *
 * The place is a line that states its owner, and its TTL unless there is a
 * $TTL: so only directives before it matter, which this reads, and the SOA
 * record if that comes first.  Other records are not looked into: text is gone
 * over at nearly memory's speed.  Behind an $INCLUDE there is no place up to
 * the next $TTL, as the included file may have one.
 *
 * Nothing is reported: dns_master_parse() does that.
 *
 * Returns: octets before the place; @len if there is none.
 */
size_t dns_master_split(const DnsMasterOptions *options,
                        DnsMasterState *state, const char *text, size_t len,
                        size_t at_least);

#endif /* NET_DNS_TEXT_MASTER_H */
