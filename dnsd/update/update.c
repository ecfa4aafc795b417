/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic update, RFC 2136
 *
 * Theory of operation
 *
 * A request passes the steps of section 3: the zone (3.1), the prerequisites
 * (3.2), then the update section.  The whole update section is checked for
 * errors and permissions (3.3, 3.4.1) before anything is changed (3.4.2).  The
 * request is one edit of the store, so a failure at any step leaves the zone
 * unchanged.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/octets.h"
#include "dnsd/update/change/changes.h"
#include "dnsd/update/request.h"
#include "dnsd/update/update.h"
#include "net/dns/wire/fields.h"

#define WKS             11
#define WKS_KEY_LEN     5       /* octets of address and protocol */

/* --- pieces --------------------------------------------------------------- */

static uint16_t from_errno(UpdateRequest *r, int ret)
{
    switch (ret) {
    case 0:
    case -EEXIST:
    case -ENOENT:
        return DNS_RCODE_NOERROR;
    case -ENOSPC:
        return update_refuse(r, DNS_RCODE_REFUSED,
                             "an RRset would be too large for a message");
    default:
        return update_refuse(r, DNS_RCODE_SERVFAIL,
                             "the zone could not be changed");
    }
}

static bool is_of_dnssec(uint16_t type)
{
    return type == DNS_TYPE_RRSIG || type == DNS_TYPE_NSEC ||
           type == DNS_TYPE_NSEC3 || type == DNS_TYPE_NSEC3PARAM ||
           type == DNS_TYPE_DNSKEY;
}

static bool is_signed(const ZoneView *view)
{
    uint32_t flags = 0;

    for (unsigned i = 0; i < view->layers; i++) {
        flags |= view->layer[i]->flags;
    }
    return flags & (ZONE_HAS_NSEC | ZONE_HAS_NSEC3);
}

/* Call @each for records of the update section, until it returns an error. */
typedef uint16_t UpdateEach(UpdateRequest *r, const DnsRr *rr, void *opaque);

static uint16_t for_each(UpdateRequest *r, UpdateEach *each, void *opaque)
{
    uint16_t rcode = DNS_RCODE_NOERROR;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    dns_cursor_init(&cursor, r->msg, r->len);
    while (!rcode && (ret = dns_cursor_rr(&cursor, &rr)) > 0 &&
           rr.section != DNS_SECTION_ADDITIONAL) {
        if (rr.section == DNS_SECTION_AUTHORITY) {
            rcode = each(r, &rr, opaque);
        }
    }
    return rcode || ret >= 0 ? rcode
           : update_refuse(r, DNS_RCODE_FORMERR, "the message is malformed");
}

/* --- checks: sections 3.3 and 3.4.1 --------------------------------------- */

typedef struct Allowed {
    const DnsUpdatePolicy *policy;
    const TsigKey *key;
} Allowed;

static uint16_t check_form(UpdateRequest *r, const DnsRr *rr)
{
    bool is_meta = dns_rrtype_is_meta(rr->type);
    bool ok;

    if (rr->rrclass == r->zone.qclass) {
        ok = !is_meta;
    } else if (rr->rrclass == DNS_CLASS_ANY) {
        ok = !rr->raw_ttl && !rr->rdlength &&
             (!is_meta || rr->type == DNS_TYPE_ANY);
    } else {
        ok = rr->rrclass == DNS_CLASS_NONE && !rr->raw_ttl && !is_meta;
    }
    return ok ? DNS_RCODE_NOERROR
              : update_refuse(r, DNS_RCODE_FORMERR, "a record is malformed");
}

/* May all RRsets of the name that would be deleted be changed? */
static bool allows_all(UpdateRequest *r, const DnsName *name,
                       const Allowed *allowed, uint16_t *rcode)
{
    bool is_apex = update_is_apex(r, name), all = true;
    const DnsNode *node = update_node(r, name, rcode);

    for (size_t i = 0; node && i < node->count && all; i++) {
        uint16_t type = node->record[i].type;

        all = (is_apex && (type == DNS_TYPE_SOA || type == DNS_TYPE_NS)) ||
              dns_policy_allows(allowed->policy, allowed->key, name, is_apex,
                                type);
    }
    return all;
}

static uint16_t check_one(UpdateRequest *r, const DnsRr *rr, void *opaque)
{
    const Allowed *allowed = opaque;
    uint16_t rcode = check_form(r, rr);
    ZoneRecord record;
    bool ok;

    if (!dns_name_within(&rr->name, &r->zone.name)) {
        return update_refuse(r, DNS_RCODE_NOTZONE,
                             "a name is not within the zone");
    }
    if (!rcode && rr->rrclass != DNS_CLASS_ANY &&
        !update_take(r, rr, &record)) {
        return update_refuse(r, DNS_RCODE_FORMERR, "a record is malformed");
    }
    if (rcode) {
        return rcode;
    }
    ok = rr->type == DNS_TYPE_ANY ? allows_all(r, &rr->name, allowed, &rcode)
         : dns_policy_allows(allowed->policy, allowed->key, &rr->name,
                             update_is_apex(r, &rr->name), rr->type);
    if (!ok) {
        return update_refuse(r, DNS_RCODE_REFUSED,
                             "no rule allows the key that name and type");
    }
    if (rr->rrclass == r->zone.qclass && is_of_dnssec(rr->type)) {
        return update_refuse(r, DNS_RCODE_REFUSED, "the zone is not signed "
                             "here, so it takes no records of DNSSEC");
    }
    return rcode;
}

/* --- changes: section 3.4.2 ----------------------------------------------- */

static bool is_alone(uint16_t type)
{
    return type == DNS_TYPE_CNAME || type == DNS_TYPE_SOA ||
           type == DNS_TYPE_DNAME;
}

/*
 * A wildcard cannot be a zone cut: RFC 4592 section 4.2, RFC 6672 section 3.3.
 */
static bool is_wildcard_cut(const DnsName *name, const ZoneRecord *record)
{
    return name->wire[0] == 1 && name->wire[1] == '*' &&
           (record->type == DNS_TYPE_NS || record->type == DNS_TYPE_DNAME);
}

/*
 * Section 3.4.2.2: an update must not add a CNAME beside other records, or
 * other records beside a CNAME.  Such records, and those that no zone may have,
 * are ignored.
 */
static bool is_ignored(const UpdateRequest *r, const DnsNode *node,
                       const DnsName *name, const ZoneRecord *record)
{
    const ZoneRecord *soa;
    size_t count, cnames;

    dns_node_find(node, DNS_TYPE_CNAME, &cnames);
    if (node && (record->type == DNS_TYPE_CNAME ? cnames < node->count
                                                : cnames > 0)) {
        return true;
    }
    if (is_wildcard_cut(name, record)) {
        return true;
    }
    if (record->type != DNS_TYPE_SOA) {
        return false;
    }
    soa = dns_node_find(node, DNS_TYPE_SOA, &count);
    return !update_is_apex(r, name) || !soa ||
           (int32_t)(dns_soa_serial(record) - dns_soa_serial(soa)) <= 0;
}

/* The record that @record replaces, if there is one */
static const ZoneRecord *find_rival(const DnsNode *node,
                                    const ZoneRecord *record)
{
    size_t count;
    const ZoneRecord *first = dns_node_find(node, record->type, &count);

    if (is_alone(record->type)) {
        return first;
    }
    for (size_t i = 0; i < count && record->type == WKS; i++) {
        if (!memcmp(first[i].rdata, record->rdata, WKS_KEY_LEN)) {
            return &first[i];
        }
    }
    return NULL;
}

static uint16_t add(UpdateRequest *r, const DnsRr *rr)
{
    uint16_t rcode = DNS_RCODE_NOERROR;
    const ZoneRecord *rival;
    const DnsNode *node;
    ZoneRecord record;
    DnsNode *made;

    update_take(r, rr, &record);
    node = update_node(r, &rr->name, &rcode);
    if (rcode || is_ignored(r, node, &rr->name, &record)) {
        return rcode;
    }
    rival = find_rival(node, &record);
    if (!rival) {
        return from_errno(r, dns_edit_add(r->edit, &rr->name, &record));
    }
    made = dns_node_change(node, rival, &record);
    return from_errno(r, made ? dns_edit_set(r->edit, &rr->name, made)
                              : -ENOMEM);
}

/* Must this record of the apex stay? */
static bool stays(const UpdateRequest *r, const DnsRr *rr,
                  const ZoneRecord *record)
{
    return update_is_apex(r, &rr->name) &&
           (record->type == DNS_TYPE_SOA || record->type == DNS_TYPE_NS);
}

/* Sections 2.5.2 and 2.5.3: delete an RRset, or all RRsets of a name. */
static uint16_t remove_rrsets(UpdateRequest *r, const DnsRr *rr)
{
    uint16_t rcode = DNS_RCODE_NOERROR;
    const DnsNode *node = update_node(r, &rr->name, &rcode);
    ZoneRecord *kept;
    size_t count = 0;
    DnsNode *made;

    if (!node) {
        return rcode;
    }
    kept = malloc(node->count * sizeof(*kept));
    if (!kept) {
        return from_errno(r, -ENOMEM);
    }
    for (size_t i = 0; i < node->count; i++) {
        const ZoneRecord *record = &node->record[i];

        if (stays(r, rr, record) ||
            (rr->type != DNS_TYPE_ANY && rr->type != record->type)) {
            kept[count++] = *record;
        }
    }
    made = count < node->count ? dns_node_new(kept, count) : NULL;
    rcode = from_errno(r, count == node->count ? 0 : !made ? -ENOMEM
                       : dns_edit_set(r->edit, &rr->name, made));
    free(kept);
    return rcode;
}

/* Section 2.5.4; the SOA and the last NS of the zone stay. */
static uint16_t remove_record(UpdateRequest *r, const DnsRr *rr)
{
    uint16_t rcode = DNS_RCODE_NOERROR;
    const DnsNode *node = update_node(r, &rr->name, &rcode);
    ZoneRecord record;
    size_t count;

    update_take(r, rr, &record);
    dns_node_find(node, DNS_TYPE_NS, &count);
    if (rcode || rr->type == DNS_TYPE_SOA ||
        (stays(r, rr, &record) && count == 1)) {
        return rcode;
    }
    return from_errno(r, dns_edit_remove(r->edit, &rr->name, &record));
}

static uint16_t do_one(UpdateRequest *r, const DnsRr *rr, void *opaque)
{
    switch (rr->rrclass) {
    case DNS_CLASS_ANY:
        return remove_rrsets(r, rr);
    case DNS_CLASS_NONE:
        return remove_record(r, rr);
    default:
        return add(r, rr);
    }
}

/* Section 3.6: increase the serial, unless the update has done so. */
static int bump(UpdateRequest *r, uint32_t before)
{
    const DnsNode *apex = dns_edit_node(r->edit, &r->zone.name);
    size_t count;
    const ZoneRecord *soa = dns_node_find(apex, DNS_TYPE_SOA, &count);

    return soa && dns_soa_serial(soa) != before ? 0
                                                : dns_changes_bump(r->edit);
}

/* --- the request ---------------------------------------------------------- */

static uint16_t run(UpdateRequest *r, DnsStore *store, const Allowed *allowed)
{
    uint16_t rcode;

    if (dns_update_zone(r->msg, r->len, &r->zone)) {
        return update_refuse(r, DNS_RCODE_FORMERR,
                             "the zone section is not one SOA");
    }
    if (!update_is_apex(r, dns_edit_origin(r->edit))) {
        return update_refuse(r, DNS_RCODE_NOTAUTH, "it is another zone");
    }
    if (!dns_policy_allows_any(allowed->policy, allowed->key)) {
        return update_refuse(r, DNS_RCODE_REFUSED,
                             allowed->key ? "no rule is for the key"
                                          : "the request is not signed");
    }
    if (is_signed(dns_store_view(store))) {
        return update_refuse(r, DNS_RCODE_REFUSED, "the zone is signed, and "
                             "signatures are not made here");
    }
    rcode = update_check_prerequisites(r);
    rcode = rcode ? rcode : for_each(r, check_one, (void *)allowed);
    return rcode ? rcode : for_each(r, do_one, NULL);
}

int dns_update_zone(const uint8_t *msg, size_t len, DnsQuestion *zone)
{
    DnsHeader header;
    DnsCursor cursor;

    if (dns_header_parse(msg, len, &header) || header.qdcount != 1 ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, zone) <= 0 ||
        zone->type != DNS_TYPE_SOA) {
        return -EBADMSG;
    }
    return 0;
}

void dns_update(DnsStore *store, const DnsUpdatePolicy *policy,
                const uint8_t *msg, size_t len, const TsigKey *key,
                DnsUpdateResult *result)
{
    uint32_t before = dns_store_serial(store);
    Allowed allowed = { policy, key };
    UpdateRequest r;
    int ret = 0;

    r.msg = msg;
    r.len = len;
    r.why = NULL;
    r.edit = dns_store_begin(store);
    *result = (DnsUpdateResult) { .rcode = run(&r, store, &allowed) };
    result->has_changed = !result->rcode && dns_changes_any(r.edit);
    if (result->has_changed) {
        ret = bump(&r, before);
    }
    if (dns_store_end(store, result->has_changed && !ret) || ret) {
        result->rcode = update_refuse(&r, DNS_RCODE_SERVFAIL,
                                      "the zone could not be changed");
        result->has_changed = false;
    }
    result->why = r.why;
}
