/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of servers, with the names of their interfaces
 *
 * An interface that is made again has another index, and one that does not
 * exist yet has none.  So the list keeps the name that a zone (RFC 4007 section
 * 11) was given by, and looks it up again.
 */

#ifndef VMMNET_DNS_CLIENT_LIST_H
#define VMMNET_DNS_CLIENT_LIST_H

#include <net/if.h>

#include "vmmnet/dns.h"

#define DNSC_SERVERS_MAX        8
/* ADDR%ZONE@PORT, with the final 0 */
#define DNSC_SERVER_TEXT_MAX    (INET6_ADDRSTRLEN + IF_NAMESIZE + 6)

typedef struct DnscServerList {
    size_t count;
    /*
     * Without an interface the scope is 0: then connect() refuses a link-local
     * address at once, and the next server is asked.
     */
    VmmnetDnsAddress addr[DNSC_SERVERS_MAX];
    /* of a link-local address; "": none, or an index was given */
    char zone[DNSC_SERVERS_MAX][IF_NAMESIZE];
} DnscServerList;

/*
 * Append "ADDR[%ZONE][@PORT]".  The interface need not exist.  Returns 0;
 * -EINVAL if it is not the address of a server; or -ENOSPC.
 */
int dnsc_list_add(DnscServerList *list, const char *text);

/*
 * Look up the interfaces again.  Returns whether one has another index, has
 * gone, or is there.
 */
bool dnsc_list_follow(DnscServerList *list);

/* Does the server have a zone whose interface is not there? */
bool dnsc_list_is_absent(const DnscServerList *list, size_t i);

/*
 * The servers that can be asked; all, if there is none of these: a validator
 * without servers would begin at the root.  Returns their number.
 */
size_t dnsc_list_present(const DnscServerList *list,
                         VmmnetDnsAddress present[DNSC_SERVERS_MAX]);

bool dnsc_list_same(const DnscServerList *a, const DnscServerList *b);

/* The server as ADDR[%ZONE][@PORT]; port 53 is left out. */
void dnsc_list_text(const DnscServerList *list, size_t i,
                    char text[DNSC_SERVER_TEXT_MAX]);

#endif
