/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the DNS servers come from */

#include <string.h>

#include "net/dns/client/config/conf.h"
#include "net/dns/upstream/origin.h"

/* The only place that sets the state.  Returns whether anything changed. */
static bool set(DnsOrigin *origin, DnsServersFrom from,
                const DnscServerList *list)
{
    bool changed = origin->from != from || !dnsc_list_same(&origin->list, list);

    origin->from = from;
    origin->list = *list;
    return changed;
}

/* What the file says now */
static bool take_file(DnsOrigin *origin)
{
    DnscConf conf;

    dnsc_conf_parse(&conf, origin->file.text, origin->file.len, NULL);
    if (!conf.names_none) {
        return set(origin, DNS_SERVERS_FILE, &conf.servers);
    }
    if (origin->from == DNS_SERVERS_FILE || origin->from == DNS_SERVERS_KEPT) {
        conf.servers = origin->list;
        return set(origin, DNS_SERVERS_KEPT, &conf.servers);
    }
    return set(origin, DNS_SERVERS_LOOPBACK, &conf.servers);
}

void dns_origin_give(DnsOrigin *origin, const DnscServerList *list)
{
    *origin = (DnsOrigin) { 0 };
    set(origin, DNS_SERVERS_GIVEN, list);
}

int dns_origin_read(DnsOrigin *origin, const char *path)
{
    int ret;

    *origin = (DnsOrigin) { 0 };
    ret = dnsc_file_init(&origin->file, path);
    if (!ret) {
        dnsc_file_refresh(&origin->file);
        take_file(origin);
    }
    return ret;
}

void dns_origin_clear(DnsOrigin *origin)
{
    dnsc_file_clear(&origin->file);
}

bool dns_origin_may_change(const DnsOrigin *origin)
{
    bool zones = false;

    for (size_t i = 0; i < origin->list.count; i++) {
        zones |= *origin->list.zone[i];
    }
    return origin->file.path || zones;
}

bool dns_origin_look(DnsOrigin *origin)
{
    bool followed = dnsc_list_follow(&origin->list);

    return origin->file.path && dnsc_file_refresh(&origin->file)
           ? take_file(origin) || followed : followed;
}
