/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that are answered without servers: addresses, localhost, hosts(5) */

#ifndef VMMNET_DNS_CLIENT_LOCAL_H
#define VMMNET_DNS_CLIENT_LOCAL_H

#include "vmmnet/dns.h"

#define DNSC_LOCAL_MAX  64      /* limit of the addresses of a name */

typedef struct DnscLocal {
    bool no_such_name;          /* the name does not exist: ask no server */
    size_t count;
    VmmnetDnsAddress addrs[DNSC_LOCAL_MAX];
    char canonical[256];
} DnscLocal;

/*
 * hosts is the file, of len octets, or NULL.  Returns false if servers must be
 * asked.  True without an address means that the name has none of that family.
 */
bool dnsc_local(const char *name, int family, const char *hosts, size_t len,
                DnscLocal *local);

/* Only parse an address; true if name is one. */
bool dnsc_local_literal(const char *name, int family, DnscLocal *local);

#endif
