/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer section: RFC 1034 section 4.3.2, RFC 4592, RFC 6672
 *
 * An alias is followed within its zone, as in BIND and Knot.  NSD continues in
 * other zones that it serves, but resolvers discard those records and ask
 * again.
 */
#include "base/octets.h"
#include "net/dns/answer/answering.h"

#define RR_HEAD     12
#define RR_TTL      6

static ReplyPut put_for(const Answering *a, ReplyOwner owner)
{
    return (ReplyPut) {
        .section = DNS_SECTION_ANSWER,
        .with_sigs = a->dnssec,
        .ttl_max = UINT32_MAX,
        .owner = owner,
    };
}

static ReplyPut put_for_name(const Answering *a)
{
    ReplyPut put = put_for(a, (ReplyOwner) { a->name_at, a->name->len });

    put.expanded = a->is_expanded;
    return put;
}

/* --- aliases -------------------------------------------------------------- */

/* Was the name at @at looked up before?  Then the aliases are a loop. */
static bool is_known(const Answering *a, const DnsName *name)
{
    for (unsigned i = 0; i < a->aliases; i++) {
        size_t at = a->alias_at[i];
        DnsName before;

        if (dns_name_parse(a->reply.out, a->reply.len, &at, &before) ||
            dns_name_equal(&before, name)) {
            return true;
        }
    }
    return false;
}

/* The next name to look up is at offset @at of the message. */
static AnswerEnd follow(Answering *a, const DnsName *name, size_t at)
{
    if (a->aliases == ALIASES_MAX || at > 0x3fff) {
        return END_ELSEWHERE;
    }
    a->alias_at[a->aliases++] = a->name_at;
    if (is_known(a, name) ||
        !zone_key_read(&a->alias, name->wire, name->len)) {
        return END_ELSEWHERE;
    }
    a->name = &a->alias;
    a->name_at = at;
    return END_NOT;
}

static AnswerEnd answer_cname(Answering *a, const ZoneNode *node,
                              const ZoneRrset *rrset)
{
    ReplyPut put = put_for_name(a);
    size_t at = a->reply.len + RR_HEAD;
    ReplyResult result = reply_put(&a->reply, &put, node, rrset);
    DnsName target;

    if (result != REPLY_OK) {
        return answer_end_of(result, END_NOT);
    }
    return zone_rrset_name(node, rrset, RR_HEAD, &target) ?
           follow(a, &target, at) : END_FAILED;
}

/* Replace the suffix that the name shares with @owner by @target. */
static bool replace_end(const Answering *a, const ZoneNode *owner,
                        const DnsName *target, DnsName *name)
{
    size_t at = a->name_at;
    unsigned keep;

    if (dns_name_parse(a->reply.out, a->reply.len, &at, name)) {
        return false;
    }
    keep = name->len - owner->name_len;
    if (keep + target->len > DNS_NAME_MAX) {
        return false;
    }
    memcpy(name->wire + keep, target->wire, target->len);
    name->len = keep + target->len;
    name->labels += target->labels - owner->labels;
    return true;
}

/* The target is below the DNAME itself, so each new name is below it again. */
static bool is_endless(const ZoneNode *node, const DnsName *target)
{
    DnsName owner = { .len = node->name_len, .labels = node->labels };

    memcpy(owner.wire, node->name, node->name_len);
    return dns_name_within(target, &owner);
}

/* Put a DNAME record, unless an alias before has done so. */
static ReplyResult put_dname(Answering *a, const ZoneNode *node,
                             const ZoneRrset *rrset, size_t *target_at)
{
    ReplyPut put = put_for(a, answer_owner(a, node->labels));
    ReplyResult result;

    for (unsigned i = 0; i < a->renamings; i++) {
        if (a->renaming[i].node == node->at) {
            *target_at = a->renaming[i].target_at;
            return REPLY_OK;
        }
    }
    *target_at = put.owner.at ? a->reply.len + RR_HEAD : 0;
    result = reply_put(&a->reply, &put, node, rrset);
    a->renaming[a->renamings++] = (Renaming) { node->at, *target_at };
    return result;
}

/* RFC 6672 section 3.1: the CNAME has the TTL of the DNAME. */
static AnswerEnd answer_dname(Answering *a)
{
    const ZoneNode *node = &a->found.node;
    ReplyOwner next, suffix;
    ReplyResult result;
    size_t at;
    DnsName target, name;
    ZoneRrset rrset;

    if (!zone_rrset_find(node, DNS_TYPE_DNAME, &rrset) ||
        !zone_rrset_name(node, &rrset, RR_HEAD, &target)) {
        zone_image_fail(node->image);
        return END_FAILED;
    }
    result = put_dname(a, node, &rrset, &at);
    if (result != REPLY_OK) {
        return answer_end_of(result, END_NOT);
    }
    if (!replace_end(a, node, &target, &name)) {
        return END_YXDOMAIN;
    }
    suffix = (ReplyOwner) { at <= 0x3fff ? at : 0, target.len };
    result = reply_put_cname(&a->reply, put_for_name(a).owner,
                             a->zone->rrclass,
                             get_be32(rrset.at + RR_TTL), &name, suffix,
                             &next);
    if (result != REPLY_OK) {
        return answer_end_of(result, END_NOT);
    }
    if (a->query->type == DNS_TYPE_CNAME) {
        return END_RECORDS;
    }
    return is_endless(node, &target) ? END_ELSEWHERE
                                     : follow(a, &name, next.at);
}

/* --- a node --------------------------------------------------------------- */

/*
 * ANY: RFC 8482 section 4.1 allows one RRset instead of all, which makes the
 * server useless for amplification.  Over TCP all are sent.
 */
static AnswerEnd answer_any(Answering *a, const ZoneNode *node)
{
    bool all = a->answerer->flags & DNS_ANSWER_STREAM;
    ReplyPut put = put_for_name(a);
    ReplyResult result = REPLY_OK;
    AnswerEnd end = END_NODATA;
    ZoneCursor cursor;
    ZoneRrset rrset;

    put.with_sigs |= all;
    zone_rrset_first(node, &cursor);
    while (result == REPLY_OK && (all || end == END_NODATA) &&
           zone_rrset_next(&cursor, &rrset)) {
        if (rrset.type != DNS_TYPE_NSEC3) {
            result = reply_put(&a->reply, &put, node, &rrset);
            end = END_RECORDS;
        }
    }
    return answer_end_of(result, end);
}

/* RRSIG as a type: those of one RRset; over TCP all */
static AnswerEnd answer_rrsig(Answering *a, const ZoneNode *node)
{
    bool all = a->answerer->flags & DNS_ANSWER_STREAM;
    ReplyPut put = put_for_name(a);
    ReplyResult result = REPLY_OK;
    AnswerEnd end = END_NODATA;
    ZoneCursor cursor;
    ZoneRrset rrset;

    zone_rrset_first(node, &cursor);
    while (result == REPLY_OK && (all || end == END_NODATA) &&
           zone_rrset_next(&cursor, &rrset)) {
        if (rrset.sigs) {
            result = reply_put_sigs(&a->reply, &put, node, &rrset);
            end = END_RECORDS;
        }
    }
    return answer_end_of(result, end);
}

/*
 * NSEC and RRSIG may exist beside a CNAME (RFC 4035 section 2.5), so the alias
 * does not apply to these types.
 */
static AnswerEnd answer_node(Answering *a, const ZoneNode *node)
{
    uint16_t type = a->query->type;
    size_t at = a->reply.len;
    ReplyPut put = put_for_name(a);
    ReplyResult result;
    ZoneRrset rrset;

    if (type == DNS_TYPE_ANY) {
        return answer_any(a, node);
    }
    if (type == DNS_TYPE_RRSIG) {
        return answer_rrsig(a, node);
    }
    /* NSEC3 is not data of the name, RFC 5155 section 7.2.8. */
    if (type == DNS_TYPE_NSEC3 || !zone_rrset_find(node, type, &rrset)) {
        return type != DNS_TYPE_NSEC &&
               zone_rrset_find(node, DNS_TYPE_CNAME, &rrset) ?
               answer_cname(a, node, &rrset) : END_NODATA;
    }
    result = reply_put(&a->reply, &put, node, &rrset);
    if (rrset.targets) {
        a->referring = (Referring) { true, put.in_full ? 0 : at, *node, rrset };
    }
    return answer_end_of(result, END_RECORDS);
}

/* --- a name --------------------------------------------------------------- */

/* DS belongs to the parent, if it is served: RFC 4035 section 3.1.4.1. */
const DnsServedZone *answer_zone(const DnsAnswerer *answerer,
                                 const DnsQuery *q, const ZoneKey *name)
{
    const DnsServedZone *zone = dns_zone_table_find(answerer->zones, q->qclass,
                                                    name, DNS_LABELS_MAX);
    const DnsServedZone *above;

    if (q->type != DNS_TYPE_DS || !zone || zone->origin.len != name->len ||
        !name->labels) {
        return zone;
    }
    above = dns_zone_table_find(answerer->zones, q->qclass, name,
                                name->labels - 1);
    return above ? above : zone;
}

static void note_expansion(Answering *a)
{
    a->expansion[a->expansions++] = (Expansion) {
        a->name_at, a->found.encloser.labels,
    };
}

/* Only for the name asked, not for aliases: see DnsAnswerInfo. */
static void note_common(Answering *a, unsigned labels)
{
    if (!a->aliases) {
        a->info->common_at = a->name->start[a->name->labels - labels];
    }
}

static AnswerEnd answer_from_zone(Answering *a)
{
    ZoneFound *found = &a->found;
    ZoneFind find = zone_find_key(a->view, a->name, found);

    a->is_expanded = find == ZONE_FIND_WILDCARD;
    switch (find) {
    case ZONE_FIND_EXACT:
        return answer_node(a, &found->node);
    case ZONE_FIND_WILDCARD:
        note_expansion(a);
        note_common(a, found->encloser.labels);
        a->info->wildcard |= !a->aliases;
        return answer_node(a, &found->node);
    case ZONE_FIND_CUT:
        if (a->query->type == DNS_TYPE_DS &&
            found->node.name_len == a->name->len) {
            return answer_node(a, &found->node);
        }
        note_common(a, found->node.labels);
        return END_REFERRAL;
    case ZONE_FIND_DNAME:
        return answer_dname(a);
    case ZONE_FIND_NONE:
        note_common(a, a->zone->origin.labels);
        return END_NXDOMAIN;
    default:
        return END_FAILED;
    }
}

/* Returns: END_NOT if the zone can be searched. */
static AnswerEnd enter_zone(Answering *a)
{
    if (a->aliases) {
        return answer_zone(a->answerer, a->query, a->name) == a->zone
               ? END_NOT : END_ELSEWHERE;
    }
    a->info->zone = a->zone;
    if (!a->zone) {
        return END_REFUSED;
    }
    a->view = dns_served_view(a->zone);
    return a->view->layers ? END_NOT : END_NOT_READY;
}

AnswerEnd answer_name(Answering *a)
{
    AnswerEnd end;

    do {
        end = enter_zone(a);
        if (end != END_NOT) {
            return end;
        }
        end = answer_from_zone(a);
        if (zone_view_failed(a->view)) {
            return END_FAILED;
        }
        a->is_authoritative |= end != END_REFERRAL;
    } while (end == END_NOT);
    return end;
}
