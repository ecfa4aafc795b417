/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups: from the name that a program gives to the answer */

#ifndef VMMNET_DNS_CLIENT_LOOKUP_H
#define VMMNET_DNS_CLIENT_LOOKUP_H

#include "net/dns/client/core/race.h"
#include "net/dns/client/face/context.h"
#include "net/dns/client/face/local.h"

#define DNSC_ADDRESSES_MAX      256     /* of a family; the rest is left out */

typedef struct DnscPart {
    DnscWaiter waiter;          /* must be first, to find the part from it */
    DnscLookup *lookup;
    DnscResult *result;         /* NULL: no outcome yet */
    uint32_t ttl;
    bool stale;
    bool handed;
} DnscPart;

struct DnscLookup {
    DnscLookup *next, **at;
    VmmnetDns *dns;
    VmmnetDnsId id;
    uint16_t type;              /* 0: addresses of a host */
    int family;
    unsigned flags;
    VmmnetDnsAnswerFn *told;
    void *opaque;
    size_t candidate;           /* index in the search list */
    DnsName name;               /* of this candidate */
    VmmnetDnsError failed;      /* error of an earlier candidate, or OK */
    bool wanted[2];             /* indexed by DnscFamily */
    DnscRace race;
    DnscPart part[2];           /* for records only the first is used */
    DnscTimer timer;
    DnscLocal *local;           /* the timer delivers it; NULL: the race */
    bool out_of_memory;         /* the timer reports it */
    bool telling;               /* in a callback: do not free it yet */
    bool cancelled;
    char text[];                /* the name as the program gave it */
};

/*
 * Make a look-up.  The caller sets type or families, and the name or the local
 * answer.  Returns NULL with errno set.
 */
DnscLookup *dnsc_lookup_new(VmmnetDns *dns, const char *text, unsigned flags,
                            VmmnetDnsAnswerFn *told, void *opaque);

/* Begin the look-up; the context owns it from here on. */
VmmnetDnsId dnsc_lookup_begin(DnscLookup *l);

void dnsc_lookup_cancel_all(VmmnetDns *dns);

/* Free a look-up, which is in no list. */
void dnsc_lookup_free(DnscLookup *l);

/*
 * Append the addresses of a part, which has a result, to addrs; there is room
 * for DNSC_ADDRESSES_MAX.
 */
void dnsc_lookup_addresses(const DnscPart *part, DnscFamily family,
                           VmmnetDnsAddress *addrs, size_t *count);

/*
 * Report what the parts have and what was not reported before, or the local
 * answer.  If more is false, the look-up is freed before the callback.
 */
void dnsc_lookup_tell(DnscLookup *l, bool more);

#endif
