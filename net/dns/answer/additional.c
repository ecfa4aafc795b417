/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The additional section: addresses of the names that records refer to
 *
 * A referral is useless without its glue, so TC is set if glue has no room (RFC
 * 9471).  All other addresses are added only if they fit.
 */
#include "net/dns/answer/answering.h"

/* Nodes that are noted per reply; beyond these, a node may be put twice. */
#define NODES_MAX   32

typedef struct Additional {
    Answering *a;
    const Referring *from;
    unsigned count;
    const uint8_t *node[NODES_MAX];
} Additional;

static bool is_there(const Additional *add, const ZoneNode *node)
{
    for (unsigned i = 0; i < add->count; i++) {
        if (add->node[i] == node->at) {
            return true;
        }
    }
    return false;
}

/* Only a referral has glue: otherwise names below a delegation are omitted. */
static bool find_by_name(const Additional *add, const DnsName *name,
                         bool is_referral, ZoneNode *node)
{
    const ZoneView *view = add->a->view;
    ZoneFound found;
    ZoneKey key;

    if (is_referral) {
        return zone_find_exact(view, name->wire, name->len, node);
    }
    if (!dns_name_within(name, &add->a->zone->origin) ||
        !zone_key_read(&key, name->wire, name->len) ||
        zone_find_key(view, &key, &found) != ZONE_FIND_EXACT) {
        return false;
    }
    *node = found.node;
    return true;
}

/* Read the name even if the node is known: owners will point to it. */
static bool find_target(const Additional *add, const ZoneTarget *target,
                        bool is_referral, ZoneNode *node, uint8_t *len)
{
    const Referring *from = add->from;
    bool is_linked = add->a->view->layers == 1;
    DnsName name;

    if ((is_linked && !target->ref) ||
        !zone_rrset_name(&from->node, &from->rrset, target->at, &name)) {
        return false;
    }
    *len = name.len;
    return is_linked && is_referral
           ? zone_node_get(from->node.image, target->ref, node)
           : find_by_name(add, &name, is_referral, node);
}

static bool put_addresses(Additional *add, const ZoneNode *node,
                          ReplyOwner owner)
{
    static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA };
    Answering *a = add->a;
    ReplyPut put = {
        .section = DNS_SECTION_ADDITIONAL,
        .with_sigs = a->dnssec,
        .ttl_max = UINT32_MAX,
        .owner = owner,
    };
    bool all = true;

    for (unsigned i = 0; i < 2; i++) {
        ZoneRrset rrset;

        if (zone_rrset_find(node, types[i], &rrset) &&
            reply_put(&a->reply, &put, node, &rrset) != REPLY_OK) {
            all = false;
        }
    }
    return all;
}

/* Returns: false if there is no room. */
static bool put_target(Additional *add, const ZoneTarget *target,
                       bool is_referral)
{
    size_t at = add->from->at ? add->from->at + target->at : 0;
    ReplyOwner owner = { at <= 0x3fff ? at : 0, 0 };
    ZoneNode node;

    if (!find_target(add, target, is_referral, &node, &owner.len) ||
        is_there(add, &node)) {
        return true;
    }
    if (add->count < NODES_MAX) {
        add->node[add->count++] = node.at;
    }
    return put_addresses(add, &node, owner);
}

/* Glue comes first; in an answer it may be missing. */
static bool put_targets(Additional *add, bool glue, bool is_referral)
{
    const ZoneRrset *rrset = &add->from->rrset;
    bool all = true;

    for (unsigned i = 0; i < rrset->targets; i++) {
        ZoneTarget target = zone_rrset_target(rrset, i);

        if (target.is_glue == glue) {
            all &= put_target(add, &target, is_referral);
        }
    }
    return all;
}

/* The nodes are spread over the image, so all are prefetched at once. */
static void expect_targets(const Additional *add)
{
    const ZoneRrset *rrset = &add->from->rrset;

    for (unsigned i = 0; i < rrset->targets && i < NODES_MAX; i++) {
        zone_node_expect(add->from->node.image,
                         zone_rrset_target(rrset, i).ref);
    }
}

void answer_additional(Answering *a, AnswerEnd end)
{
    bool is_referral = end == END_REFERRAL;
    Additional add;

    if (!a->referring.is_there || end == END_FULL ||
        (!is_referral && a->query->type != DNS_TYPE_NS &&
         a->answerer->flags & DNS_ANSWER_MINIMAL)) {
        return;
    }
    add.a = a;
    add.from = &a->referring;
    add.count = 0;
    if (a->view->layers == 1) {
        expect_targets(&add);
    }
    if (!put_targets(&add, true, is_referral) && is_referral) {
        a->truncated = true;
        return;
    }
    put_targets(&add, false, is_referral);
}
