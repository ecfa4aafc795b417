/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verification of one node of an image against docs/dns-image.md */
#include "base/octets.h"
#include "net/dns/wire/fields.h"
#include "net/dns/zone/records.h"
#include "net/dns/zone/verify-internal.h"

#define RR_HEAD     12
#define OWNER       0xc00c
#define SERIAL_END  20      /* octets from the serial to the end of a SOA */

typedef struct Check {
    ZoneVerify *v;
    const ZoneNode *node;
    const ZoneRrset *rrset;
    unsigned next_target;
} Check;

static bool fault_at(const Check *c, const char *what, const uint8_t *at)
{
    return zone_verify_fault(c->v, what, ZONE_NODES, at - c->v->image->file -
                             c->v->image->section[ZONE_NODES].offset);
}

/* --- targets -------------------------------------------------------------- */

static uint32_t ref_with_addresses(const Check *c, const DnsName *name)
{
    ZoneRrset rrset;
    ZoneNode node;

    return zone_find_exact(&c->v->view, name->wire, name->len, &node) &&
           (zone_rrset_find(&node, DNS_TYPE_A, &rrset) ||
            zone_rrset_find(&node, DNS_TYPE_AAAA, &rrset)) ? node.ref : 0;
}

static bool is_below(const ZoneNode *node, const DnsName *name)
{
    DnsName owner = { .len = node->name_len, .labels = node->labels };

    memcpy(owner.wire, node->name, node->name_len);
    return dns_name_within(name, &owner);
}

/* A record that refers to a name of the zone uses the next target. */
static bool check_target(Check *c, const ZoneRecord *record,
                         const uint8_t *head)
{
    int at = zone_target_of(record);
    ZoneTarget target;
    DnsName name;

    if (at < 0 || zone_wire_name(record->rdata + at, record->rdlength - at,
                                 &name) ||
        !dns_name_within(&name, &c->v->image->origin)) {
        return true;
    }
    if (c->next_target == c->rrset->targets) {
        return fault_at(c, "the record has no target", head);
    }
    target = zone_rrset_target(c->rrset, c->next_target++);
    if (target.at != head + RR_HEAD + at - c->rrset->at) {
        return fault_at(c, "the record's target is not where its name begins",
                        head);
    }
    if (target.is_glue != (record->type == DNS_TYPE_NS &&
                           is_below(c->node, &name))) {
        return fault_at(c, "the flag of the record's target, glue, is wrong",
                        head);
    }
    if (!(c->v->image->flags & ZONE_IS_DELTA) &&
        target.ref != ref_with_addresses(c, &name)) {
        return fault_at(c, "the record's target is another node, or has no "
                        "address", head);
    }
    return true;
}

/* --- records -------------------------------------------------------------- */

static bool check_head(const Check *c, const uint8_t *head, uint16_t type)
{
    if (get_be16(head) != OWNER) {
        return fault_at(c, "the record's owner is not the node", head);
    }
    if (get_be16(head + 2) != type) {
        return fault_at(c, "the record's type is not the RRset's", head);
    }
    return get_be16(head + 4) == c->v->image->rrclass ? true :
           fault_at(c, "the record's class is not the zone's", head);
}

static bool check_sig(const Check *c, const ZoneRecord *sig,
                      const uint8_t *head)
{
    return get_be16(sig->rdata) == c->rrset->type ? true :
           fault_at(c, "the RRSIG record covers another type", head);
}

static void note_soa(const Check *c, const ZoneRecord *soa)
{
    if (soa->type == DNS_TYPE_SOA && soa->rdlength >= SERIAL_END &&
        c->node->labels == c->v->image->origin.labels) {
        c->v->has_soa = true;
        c->v->serial = get_be32(soa->rdata + soa->rdlength - SERIAL_END);
    }
}

static bool check_records(Check *c, bool are_sigs)
{
    uint16_t type = are_sigs ? DNS_TYPE_RRSIG : c->rrset->type;
    const uint8_t *begin = are_sigs ? c->rrset->sigs_at : c->rrset->at;
    uint32_t len = are_sigs ? c->rrset->sigs_len : c->rrset->len;
    ZoneRecords records;
    ZoneRecord record;
    unsigned count = 0;

    zone_records_first(c->node, c->rrset, are_sigs, &records);
    for (;; count++) {
        const uint8_t *head = begin + records.at;

        if (!zone_records_next(&records, &record, c->v->rdata)) {
            break;
        }
        if (!check_head(c, head, type)) {
            return false;
        }
        if (dns_rdata_check(type, c->v->image->rrclass, record.rdata,
                            record.rdlength)) {
            return fault_at(c, "the RDATA is not one of its type", head);
        }
        if (are_sigs ? !check_sig(c, &record, head)
                     : !check_target(c, &record, head)) {
            return false;
        }
        note_soa(c, &record);
    }
    c->v->records += count;
    return !records.left && records.at == len ? true :
           fault_at(c, "the records are not as long as the RRset says", begin);
}

/* --- RRsets and the node -------------------------------------------------- */

static uint8_t flag_of(Check *c)
{
    switch (c->rrset->type) {
    case DNS_TYPE_NS:
        return c->node->labels > c->v->image->origin.labels ? ZONE_NODE_CUT
                                                            : 0;
    case DNS_TYPE_DNAME:
        return ZONE_NODE_DNAME;
    case DNS_TYPE_NSEC:
        c->v->flags |= ZONE_HAS_NSEC;
        return ZONE_NODE_NSEC;
    case DNS_TYPE_NSEC3:
        c->v->flags |= ZONE_HAS_NSEC3;
        return ZONE_NODE_NSEC3;
    default:
        return 0;
    }
}

static bool check_rrset(Check *c, int last_type)
{
    const uint8_t *at = c->rrset->targets_at - ZONE_R_SIZE;

    if (c->rrset->type <= last_type) {
        return fault_at(c, "the RRset's type does not come behind the one "
                        "before", at);
    }
    if (c->rrset->type == DNS_TYPE_RRSIG || !c->rrset->records) {
        return fault_at(c, "there is no RRset of this type, or one without "
                        "records", at);
    }
    c->next_target = 0;
    if (!check_records(c, false) || !check_records(c, true)) {
        return false;
    }
    c->v->rrsets++;
    return c->next_target == c->rrset->targets ? true :
           fault_at(c, "the RRset has a target without a record", at);
}

bool zone_verify_records(ZoneVerify *v, const ZoneNode *node, uint64_t at)
{
    const uint8_t known = ZONE_NODE_WILDCARD |
        (v->image->flags & ZONE_IS_DELTA ? ZONE_NODE_GONE : 0);
    ZoneCursor cursor;
    ZoneRrset rrset;
    Check c = { v, node, &rrset, 0 };
    uint8_t flags = 0;
    int last_type = 0;

    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, &rrset)) {
        if (!check_rrset(&c, last_type)) {
            return false;
        }
        flags |= flag_of(&c);
        last_type = rrset.type;
    }
    if (cursor.left) {
        return zone_verify_fault(v, "the RRsets are not within the node",
                                 ZONE_NODES, at);
    }
    if ((node->flags & ~known) != flags) {
        return zone_verify_fault(v, "the flags are not those of the RRsets",
                                 ZONE_NODES, at + ZONE_N_FLAGS);
    }
    return (cursor.next + 7) / 8 * 8 == node->len ? true :
           zone_verify_fault(v, "the node is longer than its RRsets",
                             ZONE_NODES, at + ZONE_N_LEN);
}
