/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records and errors of a master file, as lines */
#ifndef DNS_TEXT_FIXTURE_H
#define DNS_TEXT_FIXTURE_H

#include <glib.h>

#include "net/dns/text/master.h"

typedef struct DnsTextHeard {
    GString *records;           /* a line each, as printed */
    GString *errors;            /* "FILE:LINE:COLUMN: TEXT" each */
    unsigned count;             /* of records */
    /* then record() stops the reader; 0: no limit */
    unsigned records_max;
    unsigned errors_max;
} DnsTextHeard;

extern const DnsMasterOps dns_text_ops;     /* opaque: DnsTextHeard */

DnsTextHeard dns_text_heard(void);
void dns_text_forget(DnsTextHeard *heard);

DnsName dns_text_name(const char *text);

/* A zone "example" in memory, in the file "zone.db" */
int dns_text_parse(DnsTextHeard *heard, const char *text);

#endif /* DNS_TEXT_FIXTURE_H */
