/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The authority section: SOA, referrals, proofs */
#include "base/octets.h"
#include "net/dns/answer/denial.h"

#define RR_HEAD         12
#define SOA_NUMBERS     20

static ReplyPut put_for(const Answering *a, unsigned labels)
{
    return (ReplyPut) {
        .section = DNS_SECTION_AUTHORITY,
        .with_sigs = a->dnssec,
        .ttl_max = UINT32_MAX,
        .owner = answer_owner(a, labels),
    };
}

/* RFC 2308 section 3: the TTL is at most the zone's MINIMUM. */
static AnswerEnd put_soa(Answering *a)
{
    ReplyPut put = put_for(a, a->zone->origin.labels);
    ZoneRrset rrset;
    ZoneNode apex;

    if (!zone_find_apex(a->view, &apex)) {
        return END_FAILED;
    }
    if (!zone_rrset_find(&apex, DNS_TYPE_SOA, &rrset) ||
        rrset.len < RR_HEAD + SOA_NUMBERS) {
        zone_image_fail(apex.image);
        return END_FAILED;
    }
    put.ttl_max = get_be32(rrset.at + rrset.len - sizeof(uint32_t));
    return answer_end_of(reply_put(&a->reply, &put, &apex, &rrset), END_NOT);
}

static bool last_is_expanded(const Answering *a)
{
    return a->expansions &&
           a->expansion[a->expansions - 1].name_at == a->name_at;
}

/* Prove the answers that wildcards gave, up to number @count. */
static AnswerEnd deny_all_closer(Answering *a, unsigned count)
{
    AnswerEnd end = END_NOT;

    for (unsigned i = 0; i < count && end == END_NOT; i++) {
        end = deny_closer(a, &a->expansion[i]);
    }
    return end;
}

static AnswerEnd prove(Answering *a, AnswerEnd how)
{
    bool is_wildcard = how == END_NODATA && last_is_expanded(a);
    AnswerEnd end = deny_all_closer(a, a->expansions - is_wildcard);

    if (end != END_NOT) {
        return end;
    }
    switch (how) {
    case END_NXDOMAIN:
        return deny_name(a);
    case END_NODATA:
        return is_wildcard ? deny_wildcard_type(a) : deny_type(a);
    default:
        return END_NOT;
    }
}

/* Put NS, and DS or the proof that there is none: RFC 4035 section 3.1.4.1. */
static AnswerEnd put_referral(Answering *a)
{
    const ZoneNode *cut = &a->found.node;
    ReplyPut put = put_for(a, cut->labels);
    size_t at = a->reply.len;
    ReplyResult result;
    ZoneRrset rrset;

    if (!zone_rrset_find(cut, DNS_TYPE_NS, &rrset)) {
        zone_image_fail(cut->image);
        return END_FAILED;
    }
    result = reply_put(&a->reply, &put, cut, &rrset);
    if (result != REPLY_OK) {
        return answer_end_of(result, END_NOT);
    }
    a->referring = (Referring) {
        rrset.targets, put.in_full ? 0 : at, *cut, rrset,
    };
    if (!a->dnssec) {
        return END_NOT;
    }
    if (!zone_rrset_find(cut, DNS_TYPE_DS, &rrset)) {
        return deny_delegation_ds(a);
    }
    /* A zone that is not signed proves nothing about DS. */
    if (!rrset.sigs) {
        return END_NOT;
    }
    result = reply_put(&a->reply, &put, cut, &rrset);
    return answer_end_of(result, END_NOT);
}

AnswerEnd answer_authority(Answering *a, AnswerEnd how)
{
    AnswerEnd end = END_NOT;

    if (how == END_NODATA || how == END_NXDOMAIN) {
        end = put_soa(a);
    } else if (how == END_REFERRAL) {
        end = put_referral(a);
    }
    if (end == END_NOT && a->dnssec && how <= END_ELSEWHERE) {
        end = prove(a, how);
    }
    return end == END_NOT ? how : end;
}
