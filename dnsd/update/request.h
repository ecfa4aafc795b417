/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One UPDATE request during the steps of RFC 2136 section 3 */
#ifndef DNSD_UPDATE_REQUEST_H
#define DNSD_UPDATE_REQUEST_H

#include "dnsd/update/change/rdata.h"
#include "dnsd/update/change/edit.h"

typedef struct UpdateRequest {
    const uint8_t *msg;
    size_t len;
    DnsQuestion zone;
    DnsEdit *edit;
    const char *why;            /* reason of refusal; constant */
    uint8_t rdata[UINT16_MAX];  /* of the current record */
} UpdateRequest;

/**
 * update_refuse: set the reason of the refusal
 *
 * Returns: @rcode.
 */
static inline uint16_t update_refuse(UpdateRequest *r, uint16_t rcode,
                                     const char *why)
{
    r->why = why;
    return rcode;
}

/**
 * update_take: take RDATA of a record of the message, with the class of the
 * zone
 *
 * Returns: false if RDATA does not have the shape of its type.
 */
bool update_take(UpdateRequest *r, const DnsRr *rr, ZoneRecord *record);

/** update_is_apex: is the name the origin of the zone? */
static inline bool update_is_apex(const UpdateRequest *r, const DnsName *name)
{
    return dns_name_equal(name, &r->zone.name);
}

/** update_check_prerequisites: section 3.2; returns an RCODE */
uint16_t update_check_prerequisites(UpdateRequest *r);

/**
 * update_node: the records of a name; NULL if there are none
 * @rcode: set to SERVFAIL if they cannot be read, otherwise unchanged
 */
const DnsNode *update_node(UpdateRequest *r, const DnsName *name,
                           uint16_t *rcode);

#endif /* DNSD_UPDATE_REQUEST_H */
