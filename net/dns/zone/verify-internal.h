/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that verify an image */
#ifndef NET_DNS_ZONE_VERIFY_INTERNAL_H
#define NET_DNS_ZONE_VERIFY_INTERNAL_H

#include "net/dns/zone/expand.h"
#include "net/dns/zone/find.h"
#include "net/dns/zone/order.h"

typedef struct ZoneVerify {
    ZoneImage *image;
    ZoneView view;
    ZoneFault *fault;
    /* counted during the walk */
    uint64_t nodes;
    uint64_t rrsets;
    uint64_t records;
    uint64_t nsec3;
    uint32_t flags;
    uint32_t serial;
    bool has_soa;
    uint8_t labels_max;
    DnsName last;
    /* the last node and its ancestors, indexed by labels */
    uint64_t at[DNS_LABELS_MAX + 1];
    bool says_wildcard[DNS_LABELS_MAX + 1];
    bool has_wildcard[DNS_LABELS_MAX + 1];
    uint8_t rdata[ZONE_EXPANDED_MAX];
} ZoneVerify;

/**
 * zone_verify_fault: note the fault that ends the verification
 * @what: a constant sentence
 * @offset: octets from the start of the section
 *
 * Returns: false.
 */
static inline bool zone_verify_fault(ZoneVerify *v, const char *what,
                                     ZoneSection section, uint64_t offset)
{
    *v->fault = (ZoneFault) {
        what, zone_section_name(section),
        v->image->section[section].offset + offset,
    };
    return false;
}

/** zone_verify_records: verify the node at offset @at of NODES on its own */
bool zone_verify_records(ZoneVerify *verify, const ZoneNode *node,
                         uint64_t at);

#endif /* NET_DNS_ZONE_VERIFY_INTERNAL_H */
