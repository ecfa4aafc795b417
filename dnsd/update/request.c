/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One UPDATE request: what all steps of RFC 2136 section 3 need */
#include <errno.h>

#include "dnsd/update/request.h"

bool update_take(UpdateRequest *r, const DnsRr *rr, ZoneRecord *record)
{
    int len = dns_rdata_take(r->msg, rr, r->zone.qclass, r->rdata);

    *record = (ZoneRecord) { rr->type, len, rr->ttl, r->rdata };
    return len >= 0;
}

const DnsNode *update_node(UpdateRequest *r, const DnsName *name,
                           uint16_t *rcode)
{
    const DnsNode *node = dns_edit_node(r->edit, name);

    if (!node && errno) {
        *rcode = update_refuse(r, DNS_RCODE_SERVFAIL,
                               "the zone cannot be read");
    }
    return node;
}
