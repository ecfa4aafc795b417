/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proofs that a name or a type does not exist
 *
 * With NSEC, one record proves that a name has no such type, or that there is
 * no such name: the record of the name itself or of the name before it.  With
 * NSEC3, a record matches a hash or covers it.  The closest encloser has to be
 * proved as well, as hashes do not show the hierarchy of names.
 *
 * In a zone with opt-out (RFC 5155 section 6), an existing name may have no
 * NSEC3 record: an unsigned delegation, or a name that is only above such ones.
 * The closest encloser that can be proved is used in its place.
 */
#include "net/dns/answer/denial.h"
#include "net/dns/answer/sha1.h"
#include "net/dns/zone/near.h"

/*
 * RFC 9276 section 3.2 allows resolvers to reject more iterations.  The limit
 * bounds the work of the server.
 */
#define ITERATIONS_MAX  150

typedef enum Signed {
    SIGNED_NOT,
    SIGNED_NSEC,
    SIGNED_NSEC3,
} Signed;

/* A name in a zone, and the parameters of that zone's proofs */
typedef struct Denial {
    Answering *a;
    const DnsServedZone *zone;
    const ZoneKey *name;
    uint16_t name_at;
    Signed how;
    ZoneNsec3 param;
} Denial;

/* Returns: END_NOT, also if the zone has nothing to prove with (d->how). */
static AnswerEnd begin(Denial *d, Answering *a, const ZoneKey *name,
                       uint16_t name_at)
{
    const DnsServedZone *zone = a->zone;
    ZoneNode apex;

    d->a = a;
    d->zone = zone;
    d->name = name;
    d->name_at = name_at;
    d->how = SIGNED_NOT;
    if (!zone_find_apex(a->view, &apex)) {
        return END_FAILED;
    }
    if (apex.flags & ZONE_NODE_NSEC) {
        d->how = SIGNED_NSEC;
    } else if (zone_nsec3_param(&apex, &d->param)) {
        d->how = SIGNED_NSEC3;
        return d->param.iterations > ITERATIONS_MAX ? END_NOT_PROVABLE
                                                    : END_NOT;
    }
    return END_NOT;
}

/* --- putting one record --------------------------------------------------- */

static bool is_put(Answering *a, const ZoneNode *node)
{
    for (unsigned i = 0; i < a->denials; i++) {
        if (a->denial[i] == node->at) {
            return true;
        }
    }
    if (a->denials < sizeof(a->denial) / sizeof(*a->denial)) {
        a->denial[a->denials++] = node->at;
    }
    return false;
}

/* The number of labels that a node's name and the name share, from the root */
static unsigned common_labels(const ZoneNode *node, const ZoneKey *name)
{
    ZoneKey key;
    unsigned common = 0;

    zone_key_read(&key, node->name, node->name_len);
    while (common < key.labels && common < name->labels) {
        unsigned n = common + 1;
        const uint8_t *one = key.wire + key.start[key.labels - n];
        const uint8_t *other = name->wire + name->start[name->labels - n];

        if (*one != *other || memcmp(one, other, 1 + *one)) {
            break;
        }
        common = n;
    }
    return common;
}

static AnswerEnd put_node(Denial *d, const ZoneNode *node, uint16_t type)
{
    Answering *a = d->a;
    ReplyPut put = {
        .section = DNS_SECTION_AUTHORITY,
        .with_sigs = true,
        .ttl_max = UINT32_MAX,
    };
    unsigned common, skip;
    ZoneRrset rrset;

    if (is_put(a, node)) {
        return END_NOT;
    }
    if (!zone_rrset_find(node, type, &rrset)) {
        return END_FAILED;
    }
    common = common_labels(node, d->name);
    skip = d->name->start[d->name->labels - common];
    put.suffix = (ReplyOwner) {
        reply_suffix(&a->reply, d->name_at, skip), d->name->len - skip,
    };
    if (common == node->labels) {
        put.owner = put.suffix;
    }
    return answer_end_of(reply_put(&a->reply, &put, node, &rrset), END_NOT);
}

/* --- NSEC ----------------------------------------------------------------- */

static AnswerEnd put_nsec(Denial *d, const ZoneKey *key)
{
    ZoneNode node;

    if (!zone_nsec_before(d->a->view, key, &node)) {
        return END_NOT_PROVABLE;
    }
    return put_node(d, &node, DNS_TYPE_NSEC);
}

/* Make "*" below the last @labels labels of a name; false if it is too long. */
static bool wildcard_below(const ZoneKey *name, unsigned labels, ZoneKey *key)
{
    unsigned skip = name->start[name->labels - labels];
    unsigned len = name->len - skip;
    uint8_t wire[2 + DNS_NAME_MAX] = { 1, '*' };

    memcpy(wire + 2, name->wire + skip, len);
    return zone_key_read(key, wire, 2 + len);
}

/* --- NSEC3 ---------------------------------------------------------------- */

static void hash_name(const Denial *d, const uint8_t *name, size_t len,
                      uint8_t hash[ZONE_HASH_LEN])
{
    const ZoneNsec3 *param = &d->param;
    uint8_t data[DNS_SHA1_DATA_MAX];

    memcpy(data, name, len);
    memcpy(data + len, param->salt, param->salt_len);
    dns_sha1(data, len + param->salt_len, hash);
    for (unsigned i = 0; i < param->iterations; i++) {
        memcpy(data, hash, DNS_SHA1_LEN);
        memcpy(data + DNS_SHA1_LEN, param->salt, param->salt_len);
        dns_sha1(data, DNS_SHA1_LEN + param->salt_len, hash);
    }
}

/* Find the record that matches or covers the hash of a name. */
static bool nsec3_of(const Denial *d, const uint8_t *name, size_t len,
                     ZoneNode *node, bool *is_match)
{
    uint8_t hash[ZONE_HASH_LEN];

    hash_name(d, name, len, hash);
    return zone_nsec3_before(d->a->view, &d->param, hash, node, is_match);
}

static AnswerEnd put_nsec3(Denial *d, const uint8_t *name, size_t len)
{
    bool is_match;
    ZoneNode node;

    if (!nsec3_of(d, name, len, &node, &is_match)) {
        return END_NOT_PROVABLE;
    }
    return put_node(d, &node, DNS_TYPE_NSEC3);
}

/* Put the record for the last @labels labels of the name. */
static AnswerEnd put_nsec3_of(Denial *d, unsigned labels)
{
    unsigned skip = d->name->start[d->name->labels - labels];

    return put_nsec3(d, d->name->wire + skip, d->name->len - skip);
}

/*
 * RFC 5155 section 7.2.1: prove an ancestor that exists, and that the next
 * closer name does not.  *labels: the first ancestor to try, then its
 * ancestors; on return, the ancestor that was proved.
 */
static AnswerEnd put_closest_encloser(Denial *d, unsigned *labels)
{
    for (;; --*labels) {
        unsigned skip = d->name->start[d->name->labels - *labels];
        bool is_match;
        ZoneNode node;
        AnswerEnd end;

        if (!nsec3_of(d, d->name->wire + skip, d->name->len - skip, &node,
                      &is_match)) {
            return END_NOT_PROVABLE;
        }
        if (!is_match) {
            if (*labels == d->zone->origin.labels) {
                return END_NOT_PROVABLE;
            }
            continue;
        }
        end = put_node(d, &node, DNS_TYPE_NSEC3);
        if (end != END_NOT || *labels == d->name->labels) {
            return end;
        }
        return put_nsec3_of(d, *labels + 1);
    }
}

/* --- proofs --------------------------------------------------------------- */

static AnswerEnd put_wildcard(Denial *d, unsigned encloser_labels)
{
    ZoneKey key;

    if (!wildcard_below(d->name, encloser_labels, &key)) {
        return END_NOT;
    }
    return d->how == SIGNED_NSEC ? put_nsec(d, &key)
                                 : put_nsec3(d, key.wire, key.len);
}

AnswerEnd deny_name(Answering *a)
{
    unsigned labels = a->found.encloser.labels;
    Denial d;
    AnswerEnd end = begin(&d, a, a->name, a->name_at);

    if (end != END_NOT || d.how == SIGNED_NOT) {
        return end;
    }
    end = d.how == SIGNED_NSEC ? put_nsec(&d, a->name)
                               : put_closest_encloser(&d, &labels);
    return end == END_NOT ? put_wildcard(&d, labels) : end;
}

AnswerEnd deny_type(Answering *a)
{
    unsigned labels = a->name->labels;
    Denial d;
    AnswerEnd end = begin(&d, a, a->name, a->name_at);

    if (end != END_NOT || d.how == SIGNED_NOT) {
        return end;
    }
    return d.how == SIGNED_NSEC ? put_nsec(&d, a->name)
                                : put_closest_encloser(&d, &labels);
}

AnswerEnd deny_wildcard_type(Answering *a)
{
    unsigned labels = a->found.encloser.labels;
    Denial d;
    AnswerEnd end = begin(&d, a, a->name, a->name_at);

    if (end != END_NOT || d.how == SIGNED_NOT) {
        return end;
    }
    end = d.how == SIGNED_NSEC ? put_nsec(&d, a->name)
                               : put_closest_encloser(&d, &labels);
    return end == END_NOT ? put_wildcard(&d, labels) : end;
}

AnswerEnd deny_delegation_ds(Answering *a)
{
    unsigned labels = a->found.node.labels;
    unsigned skip = a->name->start[a->name->labels - labels];
    ZoneKey cut;
    Denial d;
    AnswerEnd end;

    zone_key_read(&cut, a->name->wire + skip, a->name->len - skip);
    end = begin(&d, a, &cut, reply_suffix(&a->reply, a->name_at, skip));
    if (end != END_NOT || d.how == SIGNED_NOT) {
        return end;
    }
    return d.how == SIGNED_NSEC ? put_nsec(&d, &cut)
                                : put_closest_encloser(&d, &labels);
}

AnswerEnd deny_closer(Answering *a, const Expansion *expansion)
{
    size_t at = expansion->name_at;
    DnsName name;
    ZoneKey key;
    Denial d;
    AnswerEnd end;

    if (dns_name_parse(a->reply.out, a->reply.len, &at, &name) ||
        !zone_key_read(&key, name.wire, name.len)) {
        return END_FAILED;
    }
    end = begin(&d, a, &key, expansion->name_at);
    if (end != END_NOT || d.how == SIGNED_NOT) {
        return end;
    }
    return d.how == SIGNED_NSEC
           ? put_nsec(&d, &key)
           : put_nsec3_of(&d, expansion->encloser_labels + 1);
}
