/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context: the state that its look-ups share */

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

/*
 * A context for callers that block: it has no descriptor of its own, and
 * dnsc_loop_wait() instead.  Otherwise as vmmnet_dns_new().
 */
VmmnetDns *dnsc_context_new_blocking(const VmmnetDnsOptions *options,
                                     const char **mistake);

/*
 * Read files again that have changed, and use them for the next questions.
 * Without memory the old state is kept.
 */
void dnsc_context_refresh(VmmnetDns *dns);

#endif
