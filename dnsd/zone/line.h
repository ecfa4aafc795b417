/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of an image as lines of a master file */
#ifndef DNSD_ZONE_LINE_H
#define DNSD_ZONE_LINE_H

#include "dnsd/text/print.h"
#include "net/dns/zone/expand.h"

/* The buffers for one line */
typedef struct Line {
    char text[DNS_PRINT_RECORD_MAX];
    uint8_t rdata[ZONE_EXPANDED_MAX];
} Line;

/** line_owner: the name of a node */
DnsName line_owner(const ZoneNode *node);

/**
 * line_print: write "OWNER TTL CLASS TYPE RDATA" into line->text
 *
 * Returns: its length.
 */
int line_print(Line *line, const ZoneNode *node, const ZoneRecord *record);

/** line_rrset: pass all records of an RRset and their signatures to @put */
void line_rrset(Line *line, const ZoneNode *node, const ZoneRrset *rrset,
                void (*put)(void *opaque, const char *text, size_t len),
                void *opaque);

#endif /* DNSD_ZONE_LINE_H */
