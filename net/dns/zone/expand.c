/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of an image, expanded to uncompressed form */
#include "base/octets.h"
#include "net/dns/wire/rrtype.h"
#include "net/dns/zone/expand.h"

#define RR_HEAD         12
#define POINTER_LEN     2

void zone_records_first(const ZoneNode *node, const ZoneRrset *rrset,
                        bool are_sigs, ZoneRecords *records)
{
    *records = (ZoneRecords) {
        .node = node,
        .rrset = rrset,
        .left = are_sigs ? rrset->sigs : rrset->records,
        .are_sigs = are_sigs,
    };
}

/* The octets of the name at @at, up to its pointer or the root */
static uint32_t name_len(const uint8_t *name, uint32_t room)
{
    uint32_t at = 0;

    while (at < room && name[at] && name[at] <= DNS_LABEL_MAX) {
        at += 1 + name[at];
    }
    return at + (at < room && name[at] ? POINTER_LEN : 1);
}

/* The octets of a field of fixed size; 0 for other fields */
static unsigned fixed_len(DnsFieldKind kind)
{
    switch (kind) {
    case DNS_FIELD_U16:
        return 2;
    case DNS_FIELD_U32:
    case DNS_FIELD_TTL:
        return 4;
    default:
        return 0;
    }
}

/* Only names and numbers precede a name that may be compressed. */
static bool expand(const ZoneRecords *r, const uint8_t *fields, uint32_t at,
                   uint32_t end, ZoneRecord *record, uint8_t *rdata)
{
    unsigned to = 0, len;

    for (; at < end && *fields != DNS_FIELD_END; at += len, fields++) {
        if (*fields == DNS_FIELD_NAME_1035) {
            DnsName name;

            len = name_len(r->rrset->at + at, end - at);
            if (len > end - at ||
                !zone_rrset_name(r->node, r->rrset, at, &name)) {
                return false;
            }
            memcpy(rdata + to, name.wire, name.len);
            to += name.len;
        } else {
            len = fixed_len(*fields);
            len = len && len <= end - at ? len : end - at;
            memcpy(rdata + to, r->rrset->at + at, len);
            to += len;
        }
    }
    memcpy(rdata + to, r->rrset->at + at, end - at);
    to += end - at;
    record->rdata = rdata;
    record->rdlength = to;
    return to <= UINT16_MAX;
}

bool zone_records_next(ZoneRecords *r, ZoneRecord *record,
                       uint8_t rdata[ZONE_EXPANDED_MAX])
{
    const uint8_t *all = r->are_sigs ? r->rrset->sigs_at : r->rrset->at;
    uint32_t len = r->are_sigs ? r->rrset->sigs_len : r->rrset->len;
    const uint8_t *head = all + r->at;
    uint32_t end;

    if (!r->left) {
        return false;
    }
    if (len - r->at < RR_HEAD ||
        len - r->at - RR_HEAD < get_be16(head + 10)) {
        zone_image_fail(r->node->image);
        return false;
    }
    end = r->at + RR_HEAD + get_be16(head + 10);
    *record = (ZoneRecord) {
        .type = get_be16(head + 2),
        .ttl = get_be32(head + 6),
        .rdlength = end - r->at - RR_HEAD,
        .rdata = head + RR_HEAD,
    };
    if (!r->are_sigs &&
        !expand(r, dns_rrtype(r->rrset->type, r->node->image->rrclass)->fields,
                r->at + RR_HEAD, end, record, rdata)) {
        zone_image_fail(r->node->image);
        return false;
    }
    r->at = end;
    r->left--;
    return true;
}
