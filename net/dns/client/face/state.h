/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context, which is the state that its look-ups share, and a look-up */

#ifndef VMMNET_DNS_CLIENT_STATE_H
#define VMMNET_DNS_CLIENT_STATE_H

#include "net/dns/client/config/file.h"
#include "net/dns/client/core/race.h"
#include "net/dns/client/face/fetch.h"
#include "net/dns/client/face/local.h"

typedef struct DnscLookup DnscLookup;

struct VmmnetDns {
    DnscLoop loop;
    DnscFetcher fetcher;
    DnscConf conf;
    DnscFile resolv_conf;
    DnscFile hosts;
    char *trust_anchor;
    unsigned flags;
    DnsName *insecure;          /* names below which nothing is validated */
    size_t insecures;
    bool own_servers;           /* from the program, not from resolv.conf */
    DnscServerList servers;
    bool stale;                 /* files or interfaces have changed */
    unsigned timeout_ms;        /* 0: the value of resolv.conf */
    unsigned attempts;
    int64_t delay;              /* microseconds */
    bool trust_ad;
    DnscLookup *lookups;
    size_t count;               /* of the look-ups */
    uint64_t last_id;
    VmmnetDnsCounters counters;
    VmmnetDns *next_forgotten;  /* see pool.c */
};

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

#endif
