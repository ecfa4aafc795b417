/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the records of one name, the same as those of named-checkzone */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dnsd/text/print.h"
#include "dnsd/text/types.h"
#include "net/dns/zone/records.h"
#include "dnsd/zone/check-node.h"
#include "dnsd/zone/hostname.h"

#define SPF_TYPE    99          /* RFC 4408; RFC 7208 has none */

typedef struct Look {
    const ZoneRules *rules;
    const Batch *batch;
    const BatchNode *node;
    Report *report;
    DnsName name;
    char owner[DNS_PRINT_NAME_MAX];     /* empty until it is used */
} Look;

static const Bundled *record_at(const Look *look, size_t index)
{
    return batch_record(look->batch,
                        &look->batch->item[look->node->first + index]);
}

static const char *owner(Look *look)
{
    if (!look->owner[0]) {
        dns_print_name(&look->name, look->owner);
    }
    return look->owner;
}

static void tell(Look *look, Severity severity, const Bundled *record,
                 const char *text)
{
    char type[DNS_MNEMONIC_MAX];

    dns_type_to_text(record->type, type);
    report_at(look->report, severity, bundled_place(record), "%s %s: %s",
              owner(look), type, text);
}

static void tell_name(Look *look, const Bundled *record, const DnsName *name,
                      const char *text)
{
    char type[DNS_MNEMONIC_MAX], shown[DNS_PRINT_NAME_MAX];

    dns_type_to_text(record->type, type);
    dns_print_name(name, shown);
    report_at(look->report, SEVERITY_WARNING, bundled_place(record),
              "%s %s: %s %s", owner(look), type, shown, text);
}

/* --- combinations of records ---------------------------------------------- */

/* May the type be beside a CNAME?  RFC 4035 section 2.5, and RFC 2535 */
static bool may_be_with_cname(uint16_t type)
{
    return type == DNS_TYPE_CNAME || type == DNS_TYPE_RRSIG ||
           type == DNS_TYPE_NSEC || type == 24 || type == 25 || type == 30;
}

static void check_cname(Look *look, const Bundled *cname)
{
    for (size_t i = 0; i < look->node->count; i++) {
        const Bundled *other = record_at(look, i);
        char type[DNS_MNEMONIC_MAX];

        if (may_be_with_cname(other->type)) {
            continue;
        }
        dns_type_to_text(other->type, type);
        report_at(look->report, SEVERITY_ERROR, bundled_place(cname),
                  "%s CNAME: the name has other data, too: %s in line %"
                  PRIu32 "; a CNAME must be alone (RFC 1034 section 3.6.2): "
                  "remove one of them", owner(look), type, other->line);
        return;
    }
}

static bool is_singleton(uint16_t type)
{
    return type == DNS_TYPE_CNAME || type == DNS_TYPE_SOA ||
           type == DNS_TYPE_DNAME;
}

static void refuse_second(Look *look, const Bundled *a, const Bundled *b)
{
    const Bundled *first = a->line < b->line ? a : b;
    const Bundled *second = first == a ? b : a;
    char type[DNS_MNEMONIC_MAX];

    dns_type_to_text(second->type, type);
    report_at(look->report, SEVERITY_ERROR, bundled_place(second),
              "%s %s: a name has one such record at most, and there is "
              "another one in line %" PRIu32 ": remove one of them",
              owner(look), type, first->line);
}

static void check_apex(Look *look)
{
    static const ZonePlace nowhere;
    bool has_soa = false, has_ns = false;

    for (size_t i = 0; i < look->node->count; i++) {
        has_soa |= record_at(look, i)->type == DNS_TYPE_SOA;
        has_ns |= record_at(look, i)->type == DNS_TYPE_NS;
    }
    if (!has_soa) {
        report_at(look->report, SEVERITY_ERROR, nowhere,
                  "there is no SOA record at %s: a zone has one at its "
                  "origin", owner(look));
    }
    if (!has_ns) {
        report_at(look->report, SEVERITY_ERROR, nowhere,
                  "there is no NS record at %s: name the zone's servers there",
                  owner(look));
    }
}

static void check_wildcard(Look *look, const Bundled *record)
{
    if (look->name.wire[0] != 1 || look->name.wire[1] != '*') {
        return;
    }
    if (record->type == DNS_TYPE_NS) {
        tell(look, SEVERITY_ERROR, record, "a wildcard cannot be a "
             "delegation (RFC 4592 section 4.2): name what is delegated");
    } else if (record->type == DNS_TYPE_NSEC3) {
        tell(look, SEVERITY_ERROR, record, "a wildcard cannot own an NSEC3 "
             "record (RFC 5155 section 3): sign the zone anew");
    }
}

/* Check the RRset whose first record is at @index. */
static void check_rrset(Look *look, size_t index, bool is_apex)
{
    const Bundled *record = record_at(look, index);

    if (index && record_at(look, index - 1)->type == record->type) {
        if (is_singleton(record->type)) {
            refuse_second(look, record_at(look, index - 1), record);
        }
        return;
    }
    if (record->type == DNS_TYPE_CNAME) {
        check_cname(look, record);
    }
    if (record->type == DNS_TYPE_SOA && !is_apex) {
        tell(look, SEVERITY_ERROR, record, "it is not at the zone's origin: "
             "remove it, or name another origin");
    }
    if (record->type == DNS_TYPE_DS && is_apex) {
        tell(look, SEVERITY_ERROR, record, "it is at the zone's origin, but "
             "belongs into the zone above (RFC 4035 section 2.4): remove it");
    }
    check_wildcard(look, record);
}

/* --- how much there is ----------------------------------------------------- */

#define RR_HEAD         12      /* owner as a pointer, type, class, TTL, length */
#define MESSAGE_ROOM    (UINT16_MAX - 12 - 11)  /* beside header and OPT */
#define BIND_RECORDS    100     /* max-records-per-type of BIND 9.20 */

/* Warn of an RRset that begins at @index and that others do not take. */
static void check_size(Look *look, size_t index)
{
    const Bundled *first = record_at(look, index);
    uint64_t octets = look->name.len + 4, count = 0;
    char text[160];

    if (first->type == DNS_TYPE_RRSIG ||
        (index && record_at(look, index - 1)->type == first->type)) {
        return;
    }
    for (size_t i = index; i < look->node->count &&
         record_at(look, i)->type == first->type; i++, count++) {
        octets += RR_HEAD + record_at(look, i)->rdlength;
    }
    if (octets > MESSAGE_ROOM) {
        snprintf(text, sizeof(text), "the %" PRIu64 " records have %" PRIu64
                 " octets, and a message has 65535: nobody gets all of them",
                 count, octets);
        tell(look, SEVERITY_WARNING, first, text);
    } else if (count > BIND_RECORDS) {
        snprintf(text, sizeof(text), "there are %" PRIu64 " records: BIND takes "
                 "no more than %u of a type unless its 'max-records-per-type' "
                 "is higher", count, BIND_RECORDS);
        tell(look, SEVERITY_WARNING, first, text);
    }
}

/* --- names of hosts ------------------------------------------------------- */

static void check_owner(Look *look, const Bundled *record)
{
    if ((record->type == DNS_TYPE_A || record->type == DNS_TYPE_AAAA ||
         record->type == DNS_TYPE_MX) && !name_is_host_owner(&look->name)) {
        tell(look, SEVERITY_WARNING, record, "the owner is no host name: "
             "letters, digits and inner hyphens are good (RFC 1123 section "
             "2.1)");
    }
}

static void check_address(Look *look, const Bundled *record,
                          const DnsName *name)
{
    if ((record->type == DNS_TYPE_NS || record->type == DNS_TYPE_MX) &&
        name_is_address(name, &look->rules->origin)) {
        tell_name(look, record, name, "looks like an address: write a name "
                  "that has this address");
    }
}

static void check_soa(Look *look, const Bundled *soa)
{
    DnsName mname, rname;

    if (zone_wire_name(soa->rdata, soa->rdlength, &mname) ||
        zone_wire_name(soa->rdata + mname.len, soa->rdlength - mname.len,
                       &rname)) {
        return;
    }
    if (!name_is_host(&mname)) {
        tell_name(look, soa, &mname, "is no host name: it is that of the "
                  "primary server");
    }
    if (!name_is_mailbox(&rname)) {
        tell_name(look, soa, &rname, "is no mailbox: write user@example.net "
                  "as user.example.net.");
    }
}

/*
 * A name that ends with the origin twice: in the file it had the origin, and no
 * final dot.
 */
static void check_dot(Look *look, const Bundled *record, const DnsName *name)
{
    const DnsName *origin = &look->rules->origin;
    char shown[DNS_PRINT_NAME_MAX], text[2 * DNS_PRINT_NAME_MAX];
    DnsName inner;

    if (origin->len == 1 || !dns_name_within(name, origin)) {
        return;
    }
    inner.len = name->len - origin->len + 1;
    inner.labels = name->labels - origin->labels;
    memcpy(inner.wire, name->wire, inner.len - 1);
    inner.wire[inner.len - 1] = 0;
    if (dns_name_within(&inner, origin)) {
        dns_print_name(&inner, shown);
        snprintf(text, sizeof(text), "has the origin twice: write '%s' with "
                 "its final dot if that is meant", shown);
        tell_name(look, record, name, text);
    }
}

/* Is the name in the record that of a host? */
static bool is_of_host(const Look *look, uint16_t type)
{
    const ZoneRecord of_type = { .type = type };

    return zone_target_of(&of_type) >= 0 ||
           (type == DNS_TYPE_PTR && name_is_reverse(&look->name));
}

/* Names in RDATA that a zone's author writes, each at the end of it */
static void check_end(Look *look, const Bundled *record)
{
    size_t at = record->type == DNS_TYPE_MX ? 2
                : record->type == DNS_TYPE_SRV ? 6 : 0;
    DnsName name;

    if (record->type != DNS_TYPE_CNAME && record->type != DNS_TYPE_NS &&
        record->type != DNS_TYPE_PTR && record->type != DNS_TYPE_DNAME && !at) {
        return;
    }
    if (record->rdlength <= at ||
        zone_wire_name(record->rdata + at, record->rdlength - at, &name)) {
        return;
    }
    check_dot(look, record, &name);
    if (!is_of_host(look, record->type)) {
        return;
    }
    if (!name_is_host(&name)) {
        tell_name(look, record, &name, "is no host name: letters, digits and "
                  "inner hyphens are good (RFC 1123 section 2.1)");
    }
    check_address(look, record, &name);
}

static void check_names(Look *look, const Bundled *record)
{
    check_owner(look, record);
    if (record->type == DNS_TYPE_SOA) {
        check_soa(look, record);
    } else {
        check_end(look, record);
    }
}

/* --- texts ---------------------------------------------------------------- */

static bool is_spf_text(const Bundled *record)
{
    static const char head[] = "v=spf1";
    size_t len = sizeof(head) - 1;

    return record->type == DNS_TYPE_TXT && record->rdlength > len &&
           record->rdata[0] >= len && !memcmp(record->rdata + 1, head, len) &&
           (record->rdata[0] == len || record->rdata[1 + len] == ' ');
}

static void check_spf(Look *look)
{
    const Bundled *spf = NULL;
    bool has_text = false;

    for (size_t i = 0; i < look->node->count; i++) {
        const Bundled *record = record_at(look, i);

        spf = record->type == SPF_TYPE ? record : spf;
        has_text |= is_spf_text(record);
    }
    if (spf && !has_text) {
        tell(look, SEVERITY_WARNING, spf, "nobody asks for this type any "
             "more (RFC 7208 section 3.1): add the same as TXT");
    }
}

void check_settled_node(const ZoneRules *rules, const Batch *batch,
                const BatchNode *node, Report *report)
{
    bool is_apex = node->labels == rules->origin.labels;
    Look look;

    /* Field by field: an initializer would clear all of @owner, too. */
    look.rules = rules;
    look.batch = batch;
    look.node = node;
    look.report = report;
    look.name = batch_name(batch, node);
    look.owner[0] = 0;
    if (is_apex) {
        check_apex(&look);
    }
    if (name_has_wildcard_inside(&look.name)) {
        tell(&look, SEVERITY_WARNING, record_at(&look, 0), "a '*' that is "
             "not the first label is no wildcard (RFC 4592 section 2.1.1)");
    }
    for (size_t i = 0; i < node->count; i++) {
        check_rrset(&look, i, is_apex);
        check_size(&look, i);
        check_names(&look, record_at(&look, i));
    }
    check_spf(&look);
}
