/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of an image, expanded to uncompressed form */
#ifndef NET_DNS_ZONE_EXPAND_H
#define NET_DNS_ZONE_EXPAND_H

#include "net/dns/zone/node.h"
#include "net/dns/zone/write.h"

/* RDATA has at most 65535 octets, and its two names may become longer. */
#define ZONE_EXPANDED_MAX   (UINT16_MAX + 2 * DNS_NAME_MAX)

/* A position between the records of an RRset */
typedef struct ZoneRecords {
    const ZoneNode *node;
    const ZoneRrset *rrset;
    uint32_t at;
    uint16_t left;
    bool are_sigs;
} ZoneRecords;

/**
 * zone_records_first: begin with the records, or the RRSIG records, of an RRset
 */
void zone_records_first(const ZoneNode *node, const ZoneRrset *rrset,
                        bool are_sigs, ZoneRecords *records);

/**
 * zone_records_next: read the next record
 * @rdata: memory for its RDATA
 *
 * Returns: false behind the last record, or if the node is inconsistent.  In
 * the latter case the image has failed.
 */
bool zone_records_next(ZoneRecords *records, ZoneRecord *record,
                       uint8_t rdata[ZONE_EXPANDED_MAX]);

#endif /* NET_DNS_ZONE_EXPAND_H */
