/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records, errors and the state of a reader of master files */
#ifndef DNSD_TEXT_MASTER_TYPES_H
#define DNSD_TEXT_MASTER_TYPES_H

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

#endif /* DNSD_TEXT_MASTER_TYPES_H */
