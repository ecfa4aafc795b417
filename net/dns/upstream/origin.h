/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the DNS servers come from: given ones, or those of resolv.conf(5)
 *
 * A file is read again when it has changed, and so are the indices of
 * interfaces that servers have as their zone.  If a file names a server no more
 * (it is empty, gone, cannot be read), the former ones are kept: programs that
 * write it in place empty it first.
 */

#ifndef NET_DNS_UPSTREAM_ORIGIN_H
#define NET_DNS_UPSTREAM_ORIGIN_H

#include "net/dns/client/config/file.h"
#include "net/dns/client/config/list.h"

typedef enum DnsServersFrom {
    DNS_SERVERS_GIVEN,
    DNS_SERVERS_FILE,
    /* the file has named none yet: 127.0.0.1, resolv.conf(5) */
    DNS_SERVERS_LOOPBACK,
    DNS_SERVERS_KEPT,           /* the file has named them, and does no more */
} DnsServersFrom;

typedef struct DnsOrigin {
    DnsServersFrom from;
    DnscServerList list;
    DnscFile file;              /* path is NULL: the servers are given */
} DnsOrigin;

/* The servers are given.  dns_origin_clear() may follow. */
void dns_origin_give(DnsOrigin *origin, const DnscServerList *list);

/* Read the servers from a file, which need not exist.  Returns 0 or -ENOMEM. */
int dns_origin_read(DnsOrigin *origin, const char *path);

/* All zeros may be cleared, too. */
void dns_origin_clear(DnsOrigin *origin);

/* May dns_origin_look() find a change? */
bool dns_origin_may_change(const DnsOrigin *origin);

/*
 * Look at the file and the interfaces again.  Returns whether the servers or
 * their state have changed.
 */
bool dns_origin_look(DnsOrigin *origin);

#endif /* NET_DNS_UPSTREAM_ORIGIN_H */
