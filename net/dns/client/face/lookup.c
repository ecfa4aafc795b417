/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-ups: from the name that a program gives to the answer
 *
 * Theory of operation
 *
 * A look-up tries the candidates of the search list.  For each, the questions
 * of both families are asked at the same time, and race.c decides when to
 * report addresses.  If a candidate does not exist, or has no such records, the
 * next one is tried.  The same applies if its server failed, but then the final
 * error is that failure, not NO_NAME.  A forged candidate, or one without any
 * answer, ends the look-up.  Otherwise a forger or a broken network could
 * choose which candidate is used.
 *
 * No callback is called within a call of the program: results that are known at
 * once are delivered by a timer that is due.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns/client/face/lookup.h"
#include "net/dns/client/face/tell.h"
#include "net/dns/client/net/source.h"

#define LOOKUPS_MAX     1024

static void unlink_lookup(DnscLookup *l)
{
    *l->at = l->next;
    if (l->next) {
        l->next->at = l->at;
    }
    l->dns->count--;
}

static void drop_parts(DnscLookup *l)
{
    size_t i;

    for (i = 0; i < 2; i++) {
        dnsc_fetch_cancel(&l->part[i].waiter);
        dnsc_result_unref(l->part[i].result);
        l->part[i].result = NULL;
        l->part[i].handed = false;
    }
    dnsc_timer_clear(&l->dns->loop, &l->timer);
}

void dnsc_lookup_free(DnscLookup *l)
{
    drop_parts(l);
    dnsc_loop_unreserve(&l->dns->loop);
    free(l->local);
    free(l);
}

/* If a callback cancels its own look-up, the look-up is freed afterwards. */
static void hand_on(DnscLookup *l, bool more)
{
    if (!more) {
        unlink_lookup(l);
        dnsc_lookup_tell(l, false);
        dnsc_lookup_free(l);
        return;
    }
    l->telling = true;
    dnsc_lookup_tell(l, true);
    l->telling = false;
    if (l->cancelled) {
        dnsc_lookup_free(l);
    }
}

static void start_candidate(DnscLookup *l);

static VmmnetDnsError error_of_all(const DnscLookup *l)
{
    VmmnetDnsError error = VMMNET_DNS_NO_NAME;
    size_t i;

    for (i = 0; i < 2; i++) {
        const DnscResult *r = l->part[i].result;

        if (!r || r->error == VMMNET_DNS_NO_NAME) {
            continue;
        }
        if (error == VMMNET_DNS_NO_NAME || error == VMMNET_DNS_NO_DATA ||
            r->error == VMMNET_DNS_BOGUS) {
            error = r->error;
        }
    }
    return error;
}

/* The candidate has ended, and nothing was reported for it. */
static void candidate_ended(DnscLookup *l)
{
    VmmnetDnsError error = error_of_all(l);
    DnsName next;
    bool more;

    more = dnsc_conf_candidate(&l->dns->conf, l->text,
                               !(l->flags & VMMNET_DNS_NO_SEARCH),
                               l->candidate + 1, &next) == 1;
    if (more && (error == VMMNET_DNS_NO_NAME || error == VMMNET_DNS_NO_DATA ||
                 error == VMMNET_DNS_FAILED || error == VMMNET_DNS_REFUSED)) {
        if (error == VMMNET_DNS_FAILED || error == VMMNET_DNS_REFUSED) {
            l->failed = error;
        }
        drop_parts(l);
        l->candidate++;
        l->name = next;
        start_candidate(l);
        return;
    }
    hand_on(l, false);
}

static bool is_usable(const DnscPart *part)
{
    return part->result && part->result->error == VMMNET_DNS_OK;
}

static void move(DnscLookup *l, DnscMove what)
{
    switch (what) {
    case DNSC_MOVE_WAIT:
        if (l->race.due == DNSC_NEVER) {
            dnsc_timer_clear(&l->dns->loop, &l->timer);
        } else {
            dnsc_timer_set(&l->dns->loop, &l->timer, l->race.due);
        }
        break;
    case DNSC_MOVE_FIRST:
        dnsc_timer_clear(&l->dns->loop, &l->timer);
        hand_on(l, true);
        break;
    case DNSC_MOVE_LAST:
        if (l->race.handed || is_usable(&l->part[0]) ||
            is_usable(&l->part[1])) {
            hand_on(l, false);
        } else {
            candidate_ended(l);
        }
        break;
    }
}

/* Without memory the answer is yes. */
static bool has_route(const DnscPart *part, DnscFamily family)
{
    VmmnetDnsAddress *addrs = calloc(DNSC_ADDRESSES_MAX, sizeof(*addrs));
    size_t count = 0;
    bool ret = true;

    if (addrs) {
        dnsc_lookup_addresses(part, family, addrs, &count);
        ret = dnsc_has_route(addrs, count);
        free(addrs);
    }
    return ret;
}

static DnscOutcome outcome_of(const DnscLookup *l, DnscFamily family)
{
    const DnscPart *part = &l->part[family];

    switch (part->result->error) {
    case VMMNET_DNS_OK:
        /* Only a caller that gets nothing later depends on the route. */
        return l->race.once && !l->type && !has_route(part, family) ?
               DNSC_OUTCOME_NO_ROUTE : DNSC_OUTCOME_USABLE;
    case VMMNET_DNS_NO_NAME:
        return DNSC_OUTCOME_NO_NAME;
    default:
        return DNSC_OUTCOME_UNUSABLE;
    }
}

/*
 * For a caller that is told once, an answer of the cache counts from when the
 * servers would have given it.  Otherwise a family whose TTL is the shorter
 * would be late each time, be dropped, and never be cached.
 */
static void settle(DnscLookup *l, DnscFamily family)
{
    int64_t ahead = l->race.once && l->part[family].waiter.cached ?
                    l->dns->fetcher.usual : 0;

    move(l, dnsc_race_settle(&l->race, family, outcome_of(l, family),
                             dnsc_now() + ahead));
}

static void fetched(DnscWaiter *waiter, DnscResult *result, uint32_t ttl,
                    bool stale)
{
    DnscPart *part = (DnscPart *)waiter;

    part->result = dnsc_result_ref(result);
    part->ttl = ttl;
    part->stale = stale;
    settle(part->lookup, part - part->lookup->part);
}

static void due(DnscTimer *timer)
{
    DnscLookup *l = (DnscLookup *)((char *)timer -
                                   offsetof(DnscLookup, timer));
    size_t i;

    if (l->local) {
        hand_on(l, false);
        return;
    }
    if (l->out_of_memory) {
        for (i = 0; i < 2; i++) {
            dnsc_fetch_cancel(&l->part[i].waiter);
        }
        dnsc_result_unref(l->part[0].result);
        l->part[0].result = dnsc_result_error(VMMNET_DNS_RESOURCES,
                                              "out of memory");
        hand_on(l, false);
        return;
    }
    move(l, dnsc_race_due(&l->race));
}

static void start_candidate(DnscLookup *l)
{
    static const uint16_t types[2] = { DNS_TYPE_AAAA, DNS_TYPE_A };
    size_t i;

    dnsc_race_init(&l->race, l->wanted[0], l->wanted[1],
                   l->type || l->flags & VMMNET_DNS_ONCE, l->dns->delay);
    for (i = 0; i < 2; i++) {
        DnsQuestion q = {
            .name = l->name,
            .type = l->type ? l->type : types[i],
            .qclass = DNS_CLASS_IN,
        };

        if (l->wanted[i] &&
            dnsc_fetch(&l->dns->fetcher, &q, &l->part[i].waiter)) {
            l->out_of_memory = true;
            dnsc_timer_set(&l->dns->loop, &l->timer, dnsc_now());
            return;
        }
    }
}

/*** Beginning ***/

DnscLookup *dnsc_lookup_new(VmmnetDns *dns, const char *text, unsigned flags,
                            VmmnetDnsAnswerFn *told, void *opaque)
{
    size_t len = strlen(text), i;
    DnscLookup *l;

    if (dns->count >= LOOKUPS_MAX) {
        errno = ENOBUFS;
        return NULL;
    }
    l = calloc(1, sizeof(*l) + len + 1);
    if (!l || dnsc_loop_reserve(&dns->loop)) {
        free(l);
        errno = ENOMEM;
        return NULL;
    }
    memcpy(l->text, text, len);
    l->dns = dns;
    l->flags = flags;
    l->told = told;
    l->opaque = opaque;
    l->timer.fire = due;
    for (i = 0; i < 2; i++) {
        l->part[i].lookup = l;
        l->part[i].waiter.done = fetched;
    }
    return l;
}

VmmnetDnsId dnsc_lookup_begin(DnscLookup *l)
{
    VmmnetDns *dns = l->dns;

    l->id = ++dns->last_id;
    l->next = dns->lookups;
    l->at = &dns->lookups;
    if (l->next) {
        l->next->at = &l->next;
    }
    dns->lookups = l;
    dns->count++;
    if (l->local) {
        dnsc_timer_set(&dns->loop, &l->timer, dnsc_now());
    } else {
        start_candidate(l);
    }
    return l->id;
}

/*** Ending ***/

static void cancel(DnscLookup *l)
{
    unlink_lookup(l);
    if (l->telling) {
        l->cancelled = true;
    } else {
        dnsc_lookup_free(l);
    }
}

bool vmmnet_dns_cancel(VmmnetDns *dns, VmmnetDnsId id)
{
    DnscLookup *l;

    for (l = dns->lookups; l; l = l->next) {
        if (l->id == id) {
            cancel(l);
            return true;
        }
    }
    return false;
}

void dnsc_lookup_cancel_all(VmmnetDns *dns)
{
    while (dns->lookups) {
        cancel(dns->lookups);
    }
}

void vmmnet_dns_cancel_all(VmmnetDns *dns)
{
    dnsc_lookup_cancel_all(dns);
}
