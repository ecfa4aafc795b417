/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of an image as they were before they were compressed */
#ifndef NET_DNS_ZONE_EXPAND_H
#define NET_DNS_ZONE_EXPAND_H

#include "net/dns/zone/node.h"
#include "net/dns/zone/write.h"

/* Of RDATA of at most 65535 octets, whose names can become longer */
#define ZONE_EXPANDED_MAX   (UINT16_MAX + 2 * DNS_NAME_MAX)

/* A place between the records of an RRset */
typedef struct ZoneRecords {
    const ZoneNode *node;
    const ZoneRrset *rrset;
    uint32_t at;
    uint16_t left;
    bool are_sigs;
} ZoneRecords;

/** zone_records_first: the records of an RRset, or the RRSIG records of it. */
void zone_records_first(const ZoneNode *node, const ZoneRrset *rrset,
                        bool are_sigs, ZoneRecords *records);

/**
 * zone_records_next: the next one
 * @rdata: room for it
 *
 * Returns: false at the end, or when the node contradicts itself; the image
 * has failed then.
 */
bool zone_records_next(ZoneRecords *records, ZoneRecord *record,
                       uint8_t rdata[ZONE_EXPANDED_MAX]);

#endif /* NET_DNS_ZONE_EXPAND_H */
