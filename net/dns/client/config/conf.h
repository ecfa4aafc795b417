/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resolv.conf(5), and the candidates of the search list for a name */

#ifndef VMMNET_DNS_CLIENT_CONF_H
#define VMMNET_DNS_CLIENT_CONF_H

#include "net/dns/client/config/list.h"
#include "net/dns/wire/wire.h"

#define DNSC_SEARCH_MAX         16

typedef struct DnscConf {
    DnscServerList servers;
    bool names_none;            /* no server: servers has this host's */
    size_t searches;
    DnsName search[DNSC_SEARCH_MAX];
    unsigned ndots;             /* 0 to 15 */
    unsigned timeout;           /* seconds, 1 to 30 */
    unsigned attempts;          /* 1 to 5 */
    bool no_aaaa;               /* ask for no IPv6 addresses */
    bool rotate;
    bool trust_ad;
    bool use_vc;
} DnscConf;

/*
 * Parse the file, text of len octets.  localdomain is the name of the host or
 * NULL; its domain is searched if the file has no search list.  Unknown and
 * wrong lines are ignored, as by other libraries that read this file of the
 * host.  If there is no server, the server is on this host.
 */
void dnsc_conf_parse(DnscConf *conf, const char *text, size_t len,
                     const char *hostname);

/*
 * Make candidate number index (from 0) for the name text.  If it has a final
 * dot, or search is false, the only candidate is the name itself.  A name with
 * fewer dots than ndots is tried last without a suffix, any other name first.
 * Returns 1; 0 behind the last candidate; or -EINVAL if text is not a name.
 */
int dnsc_conf_candidate(const DnscConf *conf, const char *text, bool search,
                        size_t index, DnsName *name);

#endif
