/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do the names in NS, MX and SRV records have addresses?  Is DS at delegations?
 */
#include <errno.h>
#include <stdlib.h>

#include "base/octets.h"
#include "base/threads.h"
#include "dnsd/text/print.h"
#include "dnsd/text/types.h"
#include "net/dns/zone/find.h"
#include "net/dns/zone/order.h"
#include "net/dns/zone/records.h"
#include "dnsd/zone/check-targets.h"

#define RR_HEAD     12
#define RR_LENGTH   10      /* offset of RDLENGTH */

/* The nodes that one thread checks */
typedef struct Walk {
    ZoneImage *image;
    ZoneView view;
    uint32_t ref;               /* of the first node */
    uint32_t end;               /* of the first node behind them; 0: none */
    PlacesReader places;
    Report report;              /* put behind that of the walk before */
    Progress *progress;
    bool has_dname;
    DnsName covers;             /* the last delegation or DNAME; len 0: none */
    bool is_dname;              /* it is a DNAME */
} Walk;

/* A record that refers to a name of the zone */
typedef struct Reference {
    const ZoneNode *node;
    uint16_t type;
    ZonePlace place;
    DnsName name;
    bool has_addresses;
} Reference;

static void tell(Walk *walk, const Reference *r, Severity severity,
                 const char *text)
{
    char owner[DNS_PRINT_NAME_MAX], name[DNS_PRINT_NAME_MAX];
    char type[DNS_MNEMONIC_MAX];
    DnsName from = { r->node->name_len, r->node->labels, { 0 } };

    memcpy(from.wire, r->node->name, r->node->name_len);
    dns_print_name(&from, owner);
    dns_print_name(&r->name, name);
    dns_type_to_text(r->type, type);
    report_at(&walk->report, severity, r->place, "%s %s: %s %s", owner, type,
              name, text);
}

static bool has(const ZoneNode *node, uint16_t type)
{
    ZoneRrset rrset;

    return zone_rrset_find(node, type, &rrset);
}

static const char *lacks(const ZoneNode *node)
{
    if (has(node, DNS_TYPE_A) || has(node, DNS_TYPE_AAAA)) {
        return NULL;
    }
    return has(node, DNS_TYPE_CNAME) ?
           "is an alias (CNAME): name the host itself (RFC 2181 section 10.3)"
           : "has no address: add an A or AAAA record";
}

/* The complaint about a name at or below a delegation, which needs glue */
static const char *lacks_glue(const Reference *r)
{
    DnsName owner = { r->node->name_len, r->node->labels, { 0 } };

    memcpy(owner.wire, r->node->name, r->node->name_len);
    if (r->has_addresses) {
        return NULL;
    }
    return dns_name_within(&r->name, &owner) ?
           "is below the delegation and has no address here: add glue, an A "
           "or AAAA record, or nobody can reach it" :
           "is below another delegation and has no address here: add glue, an "
           "A or AAAA record";
}

static const char *fault_of(Walk *walk, const Reference *r, bool is_apex)
{
    ZoneFound found;

    switch (zone_find(&walk->view, &r->name, &found)) {
    case ZONE_FIND_EXACT:
    case ZONE_FIND_WILDCARD:
        return lacks(&found.node);
    case ZONE_FIND_CUT:
        return r->type == DNS_TYPE_NS && !is_apex ? lacks_glue(r) : NULL;
    case ZONE_FIND_DNAME:
        return "is below a DNAME record: name the host itself (RFC 6672 "
               "section 5.2)";
    case ZONE_FIND_NONE:
        return "has no address: add an A or AAAA record";
    default:
        return NULL;
    }
}

/* Only a fault of the zone's own NS is an error: BIND loads the others. */
static void check(Walk *walk, const Reference *r)
{
    bool is_apex = r->node->labels == walk->image->origin.labels;
    const char *fault = r->name.labels ? fault_of(walk, r, is_apex) : NULL;

    if (fault) {
        tell(walk, r, is_apex && r->type == DNS_TYPE_NS ? SEVERITY_ERROR :
             SEVERITY_WARNING, fault);
    }
}

static void check_rrset(Walk *walk, const ZoneNode *node,
                        const ZoneRrset *rrset, bool is_hidden)
{
    const ZoneRecord of_type = { .type = rrset->type };
    int name_at = zone_target_of(&of_type);
    unsigned next = 0;
    Reference r;

    if (name_at < 0) {
        return;
    }
    r.node = node;
    r.type = rrset->type;
    for (uint32_t at = 0; at + RR_HEAD <= rrset->len;
         at += RR_HEAD + get_be16(rrset->at + at + RR_LENGTH)) {
        ZoneTarget target = { 0 };

        r.place = places_next(&walk->places);
        if (next < rrset->targets) {
            target = zone_rrset_target(rrset, next);
        }
        if (next == rrset->targets ||
            target.at != at + RR_HEAD + (unsigned)name_at) {
            continue;
        }
        next++;
        r.has_addresses = target.ref;
        if (!is_hidden && (!target.ref || walk->has_dname) &&
            zone_rrset_name(node, rrset, target.at, &r.name)) {
            check(walk, &r);
        }
    }
}

/* RFC 6672 section 2.4: a name below a DNAME cannot be reached. */
static void tell_hidden(Walk *walk, const ZoneNode *node, const DnsName *name)
{
    char shown[DNS_PRINT_NAME_MAX], by[DNS_PRINT_NAME_MAX];

    if (walk->is_dname && node->rrsets) {
        dns_print_name(name, shown);
        dns_print_name(&walk->covers, by);
        report_at(&walk->report, SEVERITY_WARNING, (ZonePlace) { 0 },
                  "%s: it is below the DNAME record of %s, and cannot be "
                  "reached: remove one of them (RFC 6672 section 2.4)", shown,
                  by);
    }
}

/* BIND 9.20 refuses a zone in which DS is elsewhere (RFC 4035 section 2.4). */
static void tell_stray_ds(Walk *walk, const ZoneNode *node)
{
    char shown[DNS_PRINT_NAME_MAX];
    DnsName name = { node->name_len, node->labels, { 0 } };

    memcpy(name.wire, node->name, node->name_len);
    dns_print_name(&name, shown);
    report_at(&walk->report, SEVERITY_WARNING, (ZonePlace) { 0 },
              "%s DS: the name has no NS record, so it is no delegation; BIND "
              "from 9.20 on refuses the zone (RFC 4035 section 2.4): remove "
              "it, or add the servers", shown);
}

static void note_cover(Walk *walk, const ZoneNode *node, const DnsName *name)
{
    if (node->flags & (ZONE_NODE_CUT | ZONE_NODE_DNAME)) {
        walk->covers = *name;
        walk->is_dname = !(node->flags & ZONE_NODE_CUT);
    }
}

/*
 * Names below a delegation or a DNAME are hidden.  At a delegation only NS is
 * visible.  In the order of the image they follow the delegation.
 */
static bool is_below(Walk *walk, const ZoneNode *node)
{
    DnsName name;

    name.len = node->name_len;
    name.labels = node->labels;
    memcpy(name.wire, node->name, node->name_len);
    if (walk->covers.len && dns_name_within(&name, &walk->covers)) {
        tell_hidden(walk, node, &name);
        return true;
    }
    note_cover(walk, node, &name);
    return false;
}

static void check_node(Walk *walk, const ZoneNode *node)
{
    bool is_hidden = is_below(walk, node);
    bool is_cut = node->flags & ZONE_NODE_CUT;
    ZoneCursor cursor;
    ZoneRrset rrset;

    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, &rrset)) {
        if (rrset.type == DNS_TYPE_DS && !is_hidden && !is_cut) {
            tell_stray_ds(walk, node);
        }
        check_rrset(walk, node, &rrset, is_hidden ||
                    (is_cut && rrset.type != DNS_TYPE_NS));
    }
}

/* The first node may be below a delegation or DNAME of the part before. */
static void find_cover(Walk *walk)
{
    ZoneNode node, up;
    DnsName name;

    if (!zone_node_get(walk->image, walk->ref, &node)) {
        return;
    }
    name.len = node.name_len;
    name.labels = node.labels;
    memcpy(name.wire, node.name, node.name_len);
    for (unsigned labels = walk->image->origin.labels;
         labels < node.labels && !walk->covers.len; labels++) {
        DnsName above = zone_name_ancestor(&name, labels);

        if (zone_find_exact(&walk->view, above.wire, above.len, &up)) {
            note_cover(walk, &up, &above);
        }
    }
}

static void *check_part(void *opaque)
{
    Walk *walk = opaque;
    ZoneNode node;

    find_cover(walk);
    for (uint32_t ref = walk->ref; ref != walk->end;
         ref = zone_node_next(&node)) {
        if (!zone_node_get(walk->image, ref, &node)) {
            break;
        }
        check_node(walk, &node);
        progress_add(walk->progress, 1);
    }
    return NULL;
}

/* The mark where part @number of @count begins; NULL: at the first node */
static const PlaceMark *part_begins(const Places *places, unsigned number,
                                    unsigned count)
{
    return number ? &places->mark[places->marks * number / count] : NULL;
}

int check_targets(ZoneImage *image, const Places *places, unsigned threads,
                  Report *report, Progress *progress)
{
    unsigned count = threads < places->marks ? threads : places->marks;
    Walk *walks = calloc(count, sizeof(*walks));

    if (!walks) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < count; i++) {
        const PlaceMark *mark = part_begins(places, i, count);

        walks[i] = (Walk) {
            .image = image,
            .view = { .layers = 1, .layer = { image } },
            .ref = mark ? mark->ref : 1,
            .end = i + 1 == count ? 0 : part_begins(places, i + 1, count)->ref,
            .progress = progress,
            .has_dname = places->has_dname,
        };
        places_read(places, mark, &walks[i].places);
        report_init(&walks[i].report, NULL, "", report->limit);
    }
    threads_run(check_part, walks, sizeof(*walks), count);
    for (unsigned i = 0; i < count; i++) {
        report_take(report, &walks[i].report);
    }
    free(walks);
    return 0;
}
