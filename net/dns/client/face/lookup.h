/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-ups: from a program's name to what it is told
 */

#ifndef VMMNET_DNS_CLIENT_LOOKUP_H
#define VMMNET_DNS_CLIENT_LOOKUP_H

#include "net/dns/client/core/race.h"
#include "net/dns/client/face/context.h"
#include "net/dns/client/face/local.h"

typedef struct DnscPart {
    DnscWaiter waiter;          /* first: it is how the part is found */
    DnscLookup *lookup;
    DnscResult *result;         /* the outcome, NULL while there is none */
    uint32_t ttl;
    bool stale;
    bool handed;
} DnscPart;

struct DnscLookup {
    DnscLookup *next, **at;
    VmmnetDns *dns;
    VmmnetDnsId id;
    uint16_t type;              /* 0: addresses */
    int family;
    unsigned flags;
    VmmnetDnsAnswerFn *told;
    void *opaque;
    size_t candidate;           /* of the search list */
    DnsName name;               /* asked now */
    VmmnetDnsError failed;      /* of a candidate before, or OK */
    bool wanted[2];             /* by DnscFamily */
    DnscRace race;
    DnscPart part[2];           /* of records: the first alone */
    DnscTimer timer;
    DnscLocal *local;           /* what the timer hands on; else the race's */
    bool out_of_memory;         /* what the timer tells */
    bool telling;               /* with more to come: not to be freed yet */
    bool cancelled;
    char text[];                /* as it was given */
};

/*
 * One that has not begun: the type or family, what is wanted, and the name or
 * what is local, are still to be set.  Returns NULL with errno set.
 */
DnscLookup *dnsc_lookup_new(VmmnetDns *dns, const char *text, unsigned flags,
                            VmmnetDnsAnswerFn *told, void *opaque);

/* From here on it is the context's. */
VmmnetDnsId dnsc_lookup_begin(DnscLookup *l);

void dnsc_lookup_cancel_all(VmmnetDns *dns);

/* Gives back what a look-up holds; it is in no list any more. */
void dnsc_lookup_free(DnscLookup *l);

/*
 * Tell what the parts have that was not handed on, or what is local.  With
 * more set the look-up goes on, else it has been freed before.
 */
void dnsc_lookup_tell(DnscLookup *l, bool more);

#endif
