/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prerequisites of an update, RFC 2136 sections 2.4 and 3.2 */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/update/change/buffer.h"
#include "dnsd/update/request.h"
#include "net/dns/zone/order.h"

/* A record that must exist; the RRset must have no other (2.4.2) */
typedef struct Wanted {
    DnsName name;
    size_t at;                  /* offset of its RDATA */
    ZoneRecord record;
} Wanted;

typedef struct WantedList {
    size_t count;
    size_t room;
    Wanted *wanted;
    DnsBuffer rdata;
} WantedList;

static int compare(const void *a, const void *b)
{
    const Wanted *x = a, *y = b;
    unsigned common;
    int differ = zone_name_compare(&x->name, &y->name, &common);

    return differ ? differ : dns_record_compare(&x->record, &y->record);
}

static uint16_t want(UpdateRequest *r, const DnsRr *rr, WantedList *list)
{
    Wanted wanted = { .name = rr->name, .at = list->rdata.len };

    if (!update_take(r, rr, &wanted.record)) {
        return update_refuse(r, DNS_RCODE_FORMERR, "a record is malformed");
    }
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        Wanted *more = realloc(list->wanted, room * sizeof(*more));

        if (!more) {
            return update_refuse(r, DNS_RCODE_SERVFAIL, "there is no memory");
        }
        list->wanted = more;
        list->room = room;
    }
    if (dns_buffer_add(&list->rdata, r->rdata, wanted.record.rdlength)) {
        return update_refuse(r, DNS_RCODE_SERVFAIL, "there is no memory");
    }
    list->wanted[list->count++] = wanted;
    return DNS_RCODE_NOERROR;
}

/* Compare the wanted RRset from @from on with that of the zone. */
static uint16_t compare_rrset(UpdateRequest *r, const WantedList *list,
                              size_t from, size_t *behind)
{
    const Wanted *first = &list->wanted[from];
    uint16_t rcode = DNS_RCODE_NOERROR;
    const DnsNode *node = update_node(r, &first->name, &rcode);
    size_t have, distinct = 0, i = from;
    bool all = dns_node_find(node, first->record.type, &have);

    for (; i < list->count && list->wanted[i].record.type ==
         first->record.type && dns_name_equal(&list->wanted[i].name,
                                              &first->name); i++) {
        distinct += i == from || compare(&list->wanted[i - 1],
                                         &list->wanted[i]);
        all = all && dns_node_has(node, &list->wanted[i].record);
    }
    *behind = i;
    if (!rcode && (!all || distinct != have)) {
        return update_refuse(r, DNS_RCODE_NXRRSET,
                             "an RRset is not as the client wants it");
    }
    return rcode;
}

static uint16_t compare_rrsets(UpdateRequest *r, WantedList *list)
{
    uint16_t rcode = DNS_RCODE_NOERROR;

    for (size_t i = 0; i < list->count; i++) {
        list->wanted[i].record.rdata = list->rdata.octets + list->wanted[i].at;
    }
    if (list->count) {
        qsort(list->wanted, list->count, sizeof(*list->wanted), compare);
    }
    for (size_t i = 0; i < list->count && !rcode;) {
        rcode = compare_rrset(r, list, i, &i);
    }
    return rcode;
}

/* Sections 2.4.1, 2.4.3 to 2.4.5: the class tells which of them applies. */
static uint16_t check_existence(UpdateRequest *r, const DnsRr *rr)
{
    bool must_be = rr->rrclass == DNS_CLASS_ANY, is;
    uint16_t rcode = DNS_RCODE_NOERROR;
    const DnsNode *node;
    size_t count;

    if (rr->rdlength) {
        return update_refuse(r, DNS_RCODE_FORMERR, "a record is malformed");
    }
    node = update_node(r, &rr->name, &rcode);
    if (rcode) {
        return rcode;
    }
    if (rr->type == DNS_TYPE_ANY) {
        is = node;
        return is == must_be ? DNS_RCODE_NOERROR
               : update_refuse(r, must_be ? DNS_RCODE_NXDOMAIN
                                          : DNS_RCODE_YXDOMAIN,
                               must_be ? "a name is not in use"
                                       : "a name is in use");
    }
    is = dns_node_find(node, rr->type, &count);
    return is == must_be ? DNS_RCODE_NOERROR
           : update_refuse(r, must_be ? DNS_RCODE_NXRRSET : DNS_RCODE_YXRRSET,
                           must_be ? "an RRset does not exist"
                                   : "an RRset exists");
}

static uint16_t check_one(UpdateRequest *r, const DnsRr *rr, WantedList *list)
{
    if (rr->raw_ttl) {
        return update_refuse(r, DNS_RCODE_FORMERR, "a prerequisite has a TTL");
    }
    if (!dns_name_within(&rr->name, &r->zone.name)) {
        return update_refuse(r, DNS_RCODE_NOTZONE,
                             "a name is not within the zone");
    }
    if (rr->rrclass == DNS_CLASS_ANY || rr->rrclass == DNS_CLASS_NONE) {
        return check_existence(r, rr);
    }
    if (rr->rrclass != r->zone.qclass) {
        return update_refuse(r, DNS_RCODE_FORMERR,
                             "a prerequisite has another class");
    }
    return want(r, rr, list);
}

uint16_t update_check_prerequisites(UpdateRequest *r)
{
    WantedList list = { 0 };
    uint16_t rcode = DNS_RCODE_NOERROR;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    dns_cursor_init(&cursor, r->msg, r->len);
    while (!rcode && (ret = dns_cursor_rr(&cursor, &rr)) > 0 &&
           rr.section == DNS_SECTION_ANSWER) {
        rcode = check_one(r, &rr, &list);
    }
    if (!rcode && ret < 0) {
        rcode = update_refuse(r, DNS_RCODE_FORMERR, "the message is malformed");
    }
    rcode = rcode ? rcode : compare_rrsets(r, &list);
    free(list.wanted);
    dns_buffer_free(&list.rdata);
    return rcode;
}
