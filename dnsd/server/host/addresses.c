/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows the addresses of server.listen
 *
 * A socket of an address that leaves this host stays as it is, and gets
 * queries again when the address is back: all that is missing is a line of the
 * log.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "dnsd/server/core/local.h"
#include "dnsd/server/host/addresses.h"

typedef struct Address {
    DnsdListen at;
    bool is_missing;
} Address;

struct DnsdAddresses {
    Rtnl host;
    unsigned count;
    Address address[DNSD_LISTEN_MAX];
};

/* Neither a wildcard address nor one of the loopback interface */
static bool is_followed(const DnsdListen *at)
{
    const struct sockaddr_in *four = (const void *)&at->addr;
    const struct sockaddr_in6 *six = (const void *)&at->addr;

    return at->addr.ss_family == AF_INET
           ? four->sin_addr.s_addr != htonl(INADDR_ANY) &&
             ntohl(four->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET
           : !IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) &&
             !IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool is_link_local(const DnsdListen *at)
{
    const struct sockaddr_in6 *six = (const void *)&at->addr;

    return at->addr.ss_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static DnsdLocal ask(DnsdAddresses *all, const DnsdListen *at, unsigned link)
{
    RtnlRequest question;
    RtnlAnswer answer;

    dnsd_local_ask(&question, &at->addr, link);
    return dnsd_local_hear(rtnl_ask(&all->host, &question, &answer),
                           &answer.head);
}

/* Without an interface any VRF of this host may have it. */
static DnsdLocal ask_anywhere(DnsdAddresses *all, const DnsdListen *at,
                              const DnsdLinks *links)
{
    DnsdLocal heard = ask(all, at, 0);
    unsigned vrf = 0;

    while (heard == DNSD_LOCAL_NO && (vrf = dnsd_links_next_vrf(links, vrf))) {
        if (ask(all, at, vrf) == DNSD_LOCAL_YES) {
            heard = DNSD_LOCAL_YES;
        }
    }
    return heard;
}

/* An interface that is missing is told elsewhere. */
static DnsdLocal find(DnsdAddresses *all, const DnsdListen *at,
                      const DnsdLinks *links)
{
    unsigned index;

    if (!*at->device) {
        return ask_anywhere(all, at, links);
    }
    index = dnsd_links_index(links, at->device);
    if (!index) {
        return DNSD_LOCAL_UNKNOWN;
    }
    return ask(all, at, is_link_local(at) ? index
                        : dnsd_links_vrf(links, index));
}

DnsdAddresses *dnsd_addresses_new(const DnsdConfig *config,
                                  const DnsdLinks *links)
{
    DnsdAddresses *all = calloc(1, sizeof(*all));
    int ret;

    if (!all) {
        return NULL;
    }
    ret = rtnl_open(&all->host);
    for (unsigned i = 0; ret == 0 && i < config->listens; i++) {
        Address *address = &all->address[all->count];

        if (!is_followed(&config->listen[i])) {
            continue;
        }
        address->at = config->listen[i];
        address->at.text = strdup(config->listen[i].text);
        if (!address->at.text) {
            break;
        }
        address->is_missing = find(all, &address->at, links) == DNSD_LOCAL_NO;
        all->count++;
    }
    if (ret < 0) {
        dnsd_addresses_free(all);
        errno = -ret;
        return NULL;
    }
    return all;
}

void dnsd_addresses_free(DnsdAddresses *all)
{
    if (all) {
        for (unsigned i = 0; i < all->count; i++) {
            free((char *)all->address[i].at.text);
        }
        rtnl_close(&all->host);
        free(all);
    }
}

static void set_missing(Address *address, bool is_missing)
{
    if (is_missing == address->is_missing) {
        return;
    }
    address->is_missing = is_missing;
    if (is_missing) {
        base_log(LOG_WARNING, "server.listen: %s is no address of this host "
                 "any more; queries to it cannot come: waiting for it",
                 address->at.text);
    } else {
        base_log(LOG_NOTICE, "server.listen: %s is an address of this host",
                 address->at.text);
    }
}

void dnsd_addresses_look(DnsdAddresses *all, const DnsdLinks *links)
{
    for (unsigned i = 0; i < all->count; i++) {
        DnsdLocal found = find(all, &all->address[i].at, links);

        if (found) {
            set_missing(&all->address[i], found == DNSD_LOCAL_NO);
        }
    }
}
