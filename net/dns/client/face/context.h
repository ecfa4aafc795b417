/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A context: what its look-ups share
 */

#ifndef VMMNET_DNS_CLIENT_CONTEXT_H
#define VMMNET_DNS_CLIENT_CONTEXT_H

#include "net/dns/client/config/file.h"
#include "net/dns/client/face/fetch.h"

typedef struct DnscLookup DnscLookup;

struct VmmnetDns {
    DnscLoop loop;
    DnscFetcher fetcher;
    DnscConf conf;
    DnscFile resolv_conf;
    DnscFile hosts;
    char *trust_anchor;
    unsigned flags;
    bool own_servers;           /* the program's, not resolv.conf's */
    size_t servers;             /* those */
    VmmnetDnsAddress server[DNSC_SERVERS_MAX];
    unsigned timeout_ms;        /* 0: of resolv.conf */
    unsigned attempts;
    int64_t delay;              /* microseconds */
    bool trust_ad;
    DnscLookup *lookups;
    size_t count;               /* of them */
    uint64_t last_id;
    VmmnetDnsCounters counters;
};

/*
 * Read the files again that have changed, and have the next questions go by
 * what they say now.  What cannot be had (memory) stays as it was.
 */
void dnsc_context_refresh(VmmnetDns *dns);

#endif
