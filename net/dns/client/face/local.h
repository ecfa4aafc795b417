/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that no server is asked for: addresses as text, localhost, hosts(5)
 */

#ifndef VMMNET_DNS_CLIENT_LOCAL_H
#define VMMNET_DNS_CLIENT_LOCAL_H

#include "vmmnet/dns.h"

#define DNSC_LOCAL_MAX  64      /* addresses of a name */

typedef struct DnscLocal {
    bool no_such_name;          /* and nobody is to be asked */
    size_t count;
    VmmnetDnsAddress addrs[DNSC_LOCAL_MAX];
    char canonical[256];
} DnscLocal;

/*
 * hosts, of len octets, is the file, or NULL.  Returns false if servers are
 * to be asked.  With true and no address: the name has none of that family.
 */
bool dnsc_local(const char *name, int family, const char *hosts, size_t len,
                DnscLocal *local);

/* The address alone, if name is one: true */
bool dnsc_local_literal(const char *name, int family, DnscLocal *local);

#endif
