/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reporting answers to the program */

#include <stdlib.h>
#include <string.h>

#include "net/dns/client/face/tell.h"
#include "net/dns/client/net/source.h"

/*
 * The error to report if there are several: a forged answer ranks above no
 * answer, and a temporary error above a permanent one.
 */
static int weight(VmmnetDnsError error)
{
    static const uint8_t weights[] = {
        [VMMNET_DNS_NO_NAME] = 1, [VMMNET_DNS_NO_DATA] = 2,
        [VMMNET_DNS_UNREACHABLE] = 3, [VMMNET_DNS_TIMEOUT] = 4,
        [VMMNET_DNS_REFUSED] = 5, [VMMNET_DNS_FAILED] = 6,
        [VMMNET_DNS_CHAIN] = 7, [VMMNET_DNS_RESOURCES] = 8,
        [VMMNET_DNS_BOGUS] = 9,
    };

    return weights[error];
}

/* The order of trust: forged, unknown, proved */
static int trust(VmmnetDnsSecurity s)
{
    return s == VMMNET_DNS_BOGUS_DATA ? -1 : (int)s;
}

static bool has_records(const DnscLookup *l, const DnscPart *part)
{
    return part->result && !part->handed && part->result->count &&
           (part->result->error == VMMNET_DNS_OK ||
            l->flags & VMMNET_DNS_SHOW_BOGUS);
}

/* The part that provides the error and the names */
static const DnscPart *main_part(const DnscLookup *l)
{
    const DnscPart *best = NULL;
    size_t i;

    for (i = 0; i < 2; i++) {
        const DnscPart *part = &l->part[i];

        if (has_records(l, part) && part->result->error == VMMNET_DNS_OK) {
            return part;
        }
        if (part->result && !part->handed &&
            (!best || weight(part->result->error) >
                      weight(best->result->error))) {
            best = part;
        }
    }
    return best;
}

void dnsc_lookup_addresses(const DnscPart *part, DnscFamily family,
                           VmmnetDnsAddress *addrs, size_t *count)
{
    size_t i;

    for (i = 0; i < part->result->count && i < DNSC_ADDRESSES_MAX; i++) {
        VmmnetDnsAddress *a = &addrs[(*count)++];
        const uint8_t *rdata = part->result->records[i].rdata;

        if (family == DNSC_IP6) {
            a->in6.sin6_family = AF_INET6;
            memcpy(&a->in6.sin6_addr, rdata, sizeof(a->in6.sin6_addr));
            a->len = sizeof(a->in6);
        } else {
            a->in.sin_family = AF_INET;
            memcpy(&a->in.sin_addr, rdata, sizeof(a->in.sin_addr));
            a->len = sizeof(a->in);
        }
    }
}

/* Lower the values of the answer to those of this part. */
static void lower(VmmnetDnsAnswer *answer, const DnscPart *part, bool first)
{
    const DnscResult *r = part->result;

    if (first || trust(r->security) < trust(answer->security)) {
        answer->security = r->security;
    }
    answer->ttl = first || part->ttl < answer->ttl ? part->ttl : answer->ttl;
    answer->authenticated = (first || answer->authenticated) &&
                            r->authenticated;
    answer->stale |= part->stale;
}

static void collect(DnscLookup *l, VmmnetDnsAnswer *answer,
                    VmmnetDnsAddress *addrs)
{
    bool first = true;
    size_t i;

    for (i = 0; i < 2; i++) {
        DnscPart *part = &l->part[i];

        if (!has_records(l, part) ||
            (part->result->error != VMMNET_DNS_OK &&
             answer->error == VMMNET_DNS_OK)) {
            continue;
        }
        lower(answer, part, first);
        first = false;
        if (l->type) {
            answer->records = part->result->records;
            answer->count = part->result->count;
        } else {
            dnsc_lookup_addresses(part, i, addrs, &answer->count);
            answer->addresses = addrs;
        }
    }
    for (i = 0; i < 2; i++) {
        l->part[i].handed |= l->part[i].result != NULL;
    }
}

/* Call the callback with a copy, after the look-up has left the lists. */
static void call(DnscLookup *l, VmmnetDnsAnswer *answer, bool more)
{
    answer->more = more;
    if (answer->addresses && dnsc_sort((VmmnetDnsAddress *)answer->addresses,
                                       answer->count)) {
        answer->error = VMMNET_DNS_RESOURCES;
        answer->count = 0;
    }
    l->told(l->opaque, answer);
}

static void tell_local(DnscLookup *l)
{
    DnscLocal *local = l->local;
    VmmnetDnsAnswer answer = {
        .error = local->no_such_name ? VMMNET_DNS_NO_NAME :
                 local->count ? VMMNET_DNS_OK : VMMNET_DNS_NO_DATA,
        .ede = VMMNET_DNS_NO_EDE,
        .reason = "",
        .name = l->text,
        .canonical = local->canonical,
        .count = local->count,
        .addresses = local->count ? local->addrs : NULL,
    };

    call(l, &answer, false);
}

static size_t addresses_of(const DnscLookup *l)
{
    size_t i, count = 0;

    for (i = 0; i < 2; i++) {
        if (has_records(l, &l->part[i]) && !l->type) {
            count += l->part[i].result->count < DNSC_ADDRESSES_MAX ?
                     l->part[i].result->count : DNSC_ADDRESSES_MAX;
        }
    }
    return count;
}

static void tell_parts(DnscLookup *l, bool more)
{
    char name[DNS_NAME_TEXT_MAX], canonical[DNS_NAME_TEXT_MAX];
    size_t room = addresses_of(l);
    VmmnetDnsAddress *addrs = NULL;
    const DnscPart *part = main_part(l);
    DnscResult *result = dnsc_result_ref(part->result);
    VmmnetDnsAnswer answer = {
        .error = result->error,
        .security = result->security,
        .ede = result->ede,
        .reason = result->reason,
        .name = name,
        .canonical = canonical,
        .ttl = part->ttl,
        .authenticated = result->authenticated,
        .stale = part->stale,
    };

    dns_name_to_text(&l->name, name);
    dns_name_to_text(result->canonical.labels ? &result->canonical : &l->name,
                     canonical);
    if (room) {
        addrs = calloc(room, sizeof(*addrs));
    }
    if (room && !addrs) {
        answer.error = VMMNET_DNS_RESOURCES;
    } else {
        collect(l, &answer, addrs);
    }
    /* An earlier candidate has failed, so NO_NAME is not certain. */
    if (l->failed && (answer.error == VMMNET_DNS_NO_NAME ||
                      answer.error == VMMNET_DNS_NO_DATA)) {
        answer.error = l->failed;
    }
    call(l, &answer, more);
    dnsc_result_unref(result);
    free(addrs);
}

void dnsc_lookup_tell(DnscLookup *l, bool more)
{
    if (l->local) {
        tell_local(l);
    } else {
        tell_parts(l, more);
    }
}
