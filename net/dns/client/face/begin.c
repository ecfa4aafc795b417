/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that begin look-ups: they check and store the arguments */

#include <errno.h>
#include <stdlib.h>

#include "net/dns/client/face/lookup.h"
#include "net/dns/client/net/source.h"
#include "net/dns/client/face/context.h"

static VmmnetDnsId refuse(DnscLookup *l, int error)
{
    dnsc_lookup_free(l);
    errno = error;
    return 0;
}

/* Choose the families to ask; false: none, as the host has no such address. */
static bool choose_families(DnscLookup *l)
{
    bool ip4 = true, ip6 = true;

    if (l->flags & VMMNET_DNS_ADDRCONFIG) {
        dnsc_families(&ip4, &ip6);
    }
    ip6 = ip6 && !l->dns->conf.no_aaaa;
    l->wanted[DNSC_IP6] = l->family != AF_INET && ip6;
    l->wanted[DNSC_IP4] = l->family != AF_INET6 && ip4;
    return l->wanted[DNSC_IP6] || l->wanted[DNSC_IP4];
}

static bool is_local(DnscLookup *l)
{
    DnscFile *hosts = &l->dns->hosts;

    return l->flags & VMMNET_DNS_NO_HOSTS ?
           dnsc_local(l->text, l->family, NULL, 0, l->local) :
           dnsc_local(l->text, l->family, hosts->text, hosts->len, l->local);
}

VmmnetDnsId vmmnet_dns_addresses(VmmnetDns *dns, const char *name,
                                 int family, unsigned flags,
                                 VmmnetDnsAnswerFn *told, void *opaque)
{
    DnscLookup *l;

    if (family != AF_UNSPEC && family != AF_INET && family != AF_INET6) {
        errno = EAFNOSUPPORT;
        return 0;
    }
    dnsc_context_refresh(dns);
    l = dnsc_lookup_new(dns, name, flags, told, opaque);
    if (!l) {
        return 0;
    }
    l->family = family;
    l->local = calloc(1, sizeof(*l->local));
    if (!l->local) {
        return refuse(l, ENOMEM);
    }
    if (is_local(l)) {
        return dnsc_lookup_begin(l);
    }
    if (dnsc_conf_candidate(&dns->conf, name, !(flags & VMMNET_DNS_NO_SEARCH),
                            0, &l->name) != 1) {
        return refuse(l, EINVAL);
    }
    if (choose_families(l)) {
        free(l->local);
        l->local = NULL;
    }
    return dnsc_lookup_begin(l);
}

static bool is_record_type(uint16_t type)
{
    return type && type != DNS_TYPE_OPT &&
           (type < DNS_TYPE_TKEY || type > DNS_TYPE_ANY);
}

static VmmnetDnsId records(VmmnetDns *dns, const char *name, uint16_t type,
                           unsigned flags, VmmnetDnsAnswerFn *told,
                           void *opaque)
{
    DnscLookup *l = dnsc_lookup_new(dns, name, flags, told, opaque);

    if (!l) {
        return 0;
    }
    l->type = type;
    l->wanted[0] = true;
    if (dnsc_conf_candidate(&dns->conf, name, !(flags & VMMNET_DNS_NO_SEARCH),
                            0, &l->name) != 1) {
        return refuse(l, EINVAL);
    }
    return dnsc_lookup_begin(l);
}

VmmnetDnsId vmmnet_dns_records(VmmnetDns *dns, const char *name,
                               uint16_t type, unsigned flags,
                               VmmnetDnsAnswerFn *told, void *opaque)
{
    if (!is_record_type(type)) {
        errno = EINVAL;
        return 0;
    }
    dnsc_context_refresh(dns);
    return records(dns, name, type, flags, told, opaque);
}

VmmnetDnsId vmmnet_dns_names(VmmnetDns *dns, const struct sockaddr *address,
                             unsigned flags, VmmnetDnsAnswerFn *told,
                             void *opaque)
{
    char text[DNS_NAME_TEXT_MAX];
    DnsName name;

    if (address->sa_family == AF_INET) {
        dns_name_from_in_addr(&name,
                              ((const struct sockaddr_in *)address)->sin_addr);
    } else if (address->sa_family == AF_INET6) {
        dns_name_from_in6_addr(&name, &((const struct sockaddr_in6 *)address)->
                                      sin6_addr);
    } else {
        errno = EAFNOSUPPORT;
        return 0;
    }
    dns_name_to_text(&name, text);
    dnsc_context_refresh(dns);
    return records(dns, text, DNS_TYPE_PTR, flags | VMMNET_DNS_NO_SEARCH,
                   told, opaque);
}
