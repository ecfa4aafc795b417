/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolv.conf(5), and the names to try for the one that a program gave
 */

#ifndef VMMNET_DNS_CLIENT_CONF_H
#define VMMNET_DNS_CLIENT_CONF_H

#include "net/dns/wire/wire.h"
#include "vmmnet/dns.h"

#define DNSC_SERVERS_MAX        8
#define DNSC_SEARCH_MAX         16

typedef struct DnscConf {
    size_t servers;
    VmmnetDnsAddress server[DNSC_SERVERS_MAX];
    size_t searches;
    DnsName search[DNSC_SEARCH_MAX];
    unsigned ndots;             /* 0 to 15 */
    unsigned timeout;           /* seconds, 1 to 30 */
    unsigned attempts;          /* 1 to 5 */
    bool rotate;
    bool trust_ad;
    bool use_vc;
} DnscConf;

/*
 * text, of len octets, is the file; localdomain is the host's name, whose
 * domain is searched where the file says nothing, or NULL.  What is
 * unknown or wrong is passed over, as everywhere: the file is the host's, and
 * other libraries read it, too.  No server means one on this host.
 */
void dnsc_conf_parse(DnscConf *conf, const char *text, size_t len,
                     const char *hostname);

/*
 * The index-th name to try (from 0) for text.  A final dot, and search being
 * false, mean the name alone.  One with fewer dots than ndots is tried last
 * without a suffix, any other one first.
 * Returns 1, 0 when there are no more, or -EINVAL: text is no name.
 */
int dnsc_conf_candidate(const DnscConf *conf, const char *text, bool search,
                        size_t index, DnsName *name);

#endif
