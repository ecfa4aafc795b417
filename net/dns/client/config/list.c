/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of servers, with the names of their interfaces */

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/dns/client/config/address.h"
#include "net/dns/client/config/list.h"

#define DEFAULT_PORT    53

static bool is_link_local(const VmmnetDnsAddress *addr)
{
    return addr->sa.sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&addr->in6.sin6_addr);
}

/* Returns false if no interface can have that name. */
static bool keep_zone(const char *text, char zone[IF_NAMESIZE])
{
    const char *name = strchr(text, '%') + 1;
    size_t len = strcspn(name, "@");

    if (!len || len >= IF_NAMESIZE || memchr(name, '/', len)) {
        return false;
    }
    memcpy(zone, name, len);
    zone[len] = '\0';
    return true;
}

int dnsc_list_add(DnscServerList *list, const char *text)
{
    VmmnetDnsAddress addr;
    char zone[IF_NAMESIZE] = "";
    int ret = dnsc_address_parse_server(text, &addr);

    if (ret && ret != -ENXIO) {
        return -EINVAL;
    }
    /* The kernel ignores the zone of any other address. */
    if (is_link_local(&addr) && strchr(text, '%') && !keep_zone(text, zone)) {
        return -EINVAL;
    }
    if (list->count == DNSC_SERVERS_MAX) {
        return -ENOSPC;
    }
    if (!ret && *zone && !if_nametoindex(zone)) {
        zone[0] = '\0';         /* an index */
    }
    list->addr[list->count] = addr;
    memcpy(list->zone[list->count], zone, sizeof(zone));
    list->count++;
    return 0;
}

bool dnsc_list_follow(DnscServerList *list)
{
    bool changed = false;
    size_t i;

    for (i = 0; i < list->count; i++) {
        unsigned index = *list->zone[i] ? if_nametoindex(list->zone[i]) : 0;

        /* A process without descriptors cannot tell. */
        if (*list->zone[i] && (index || errno == ENODEV) &&
            index != list->addr[i].in6.sin6_scope_id) {
            list->addr[i].in6.sin6_scope_id = index;
            changed = true;
        }
    }
    return changed;
}

bool dnsc_list_is_absent(const DnscServerList *list, size_t i)
{
    return *list->zone[i] && !list->addr[i].in6.sin6_scope_id;
}

size_t dnsc_list_present(const DnscServerList *list,
                         VmmnetDnsAddress present[DNSC_SERVERS_MAX])
{
    size_t count = 0, i;

    for (i = 0; i < list->count; i++) {
        if (!dnsc_list_is_absent(list, i)) {
            present[count++] = list->addr[i];
        }
    }
    if (!count) {
        memcpy(present, list->addr, sizeof(list->addr));
        count = list->count;
    }
    return count;
}

bool dnsc_list_same(const DnscServerList *a, const DnscServerList *b)
{
    size_t i;

    for (i = 0; i < a->count && i < b->count; i++) {
        if (a->addr[i].len != b->addr[i].len ||
            memcmp(&a->addr[i].storage, &b->addr[i].storage, a->addr[i].len) ||
            strcmp(a->zone[i], b->zone[i])) {
            return false;
        }
    }
    return a->count == b->count;
}

void dnsc_list_text(const DnscServerList *list, size_t i,
                    char text[DNSC_SERVER_TEXT_MAX])
{
    const VmmnetDnsAddress *addr = &list->addr[i];
    char host[INET6_ADDRSTRLEN], zone[IF_NAMESIZE + 1] = "", port[7] = "";
    bool is_6 = addr->sa.sa_family == AF_INET6;
    unsigned number = ntohs(is_6 ? addr->in6.sin6_port : addr->in.sin_port);

    inet_ntop(addr->sa.sa_family, is_6 ? (const void *)&addr->in6.sin6_addr
                                       : (const void *)&addr->in.sin_addr,
              host, sizeof(host));
    if (*list->zone[i]) {
        snprintf(zone, sizeof(zone), "%%%s", list->zone[i]);
    } else if (is_6 && addr->in6.sin6_scope_id) {
        snprintf(zone, sizeof(zone), "%%%u", addr->in6.sin6_scope_id);
    }
    if (number != DEFAULT_PORT) {
        snprintf(port, sizeof(port), "@%u", number);
    }
    snprintf(text, DNSC_SERVER_TEXT_MAX, "%s%s%s", host, zone, port);
}
