/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocking interface: getaddrinfo(3), RFC 3493 section 6.1 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns/client/face/local.h"
#include "net/dns/client/face/pool.h"
#include "net/dns/client/face/service.h"

#define FLAGS   (AI_PASSIVE | AI_CANONNAME | AI_NUMERICHOST | \
                 AI_NUMERICSERV | AI_ADDRCONFIG | AI_V4MAPPED | AI_ALL)

/* The addresses for the host argument */
typedef struct Found {
    bool done;
    VmmnetDnsError error;
    char *canonical;
    VmmnetDnsAddress *addrs;
    size_t count;
} Found;

static void take(Found *f, const VmmnetDnsAddress *addrs, size_t count,
                 const char *canonical)
{
    f->error = VMMNET_DNS_OK;
    f->addrs = malloc(count * sizeof(*addrs));
    f->canonical = strdup(canonical);
    if (!f->addrs || !f->canonical) {
        f->error = VMMNET_DNS_RESOURCES;
        return;
    }
    memcpy(f->addrs, addrs, count * sizeof(*addrs));
    f->count = count;
}

static void told(void *opaque, const VmmnetDnsAnswer *answer)
{
    Found *f = opaque;

    f->done = !answer->more;
    f->error = answer->error;
    if (answer->count) {
        take(f, answer->addresses, answer->count, answer->canonical);
    }
}

static void release(Found *f)
{
    free(f->addrs);
    free(f->canonical);
    *f = (Found){ 0 };
}

static int eai_of(VmmnetDnsError error)
{
    switch (error) {
    case VMMNET_DNS_OK:
        return 0;
    case VMMNET_DNS_NO_NAME:
    case VMMNET_DNS_NO_DATA:
        return EAI_NONAME;
    case VMMNET_DNS_RESOURCES:
        return EAI_MEMORY;
    case VMMNET_DNS_BOGUS:
    case VMMNET_DNS_CHAIN:
        return EAI_FAIL;
    default:
        return EAI_AGAIN;
    }
}

static int ask(VmmnetDns *dns, const char *node, int family, unsigned flags,
               Found *f)
{
    *f = (Found){ 0 };
    if (!vmmnet_dns_addresses(dns, node, family, flags | VMMNET_DNS_ONCE,
                              told, f)) {
        return errno == EINVAL ? EAI_NONAME : EAI_MEMORY;
    }
    dnsc_pool_wait(dns, &f->done);
    return eai_of(f->error);
}

static void map(VmmnetDnsAddress *addr)
{
    struct in_addr in = addr->in.sin_addr;

    if (addr->sa.sa_family == AF_INET) {
        memset(addr, 0, sizeof(*addr));
        addr->in6.sin6_family = AF_INET6;
        addr->in6.sin6_addr.s6_addr[10] = 0xff;
        addr->in6.sin6_addr.s6_addr[11] = 0xff;
        memcpy(addr->in6.sin6_addr.s6_addr + 12, &in, sizeof(in));
        addr->len = sizeof(addr->in6);
    }
}

/* AI_V4MAPPED: IPv4 addresses if there are no others; AI_ALL: in addition */
static int ask_mapped(VmmnetDns *dns, const char *node, int ai_flags,
                      unsigned flags, Found *f)
{
    size_t i;
    int ret;

    ret = ask(dns, node, ai_flags & AI_ALL ? AF_UNSPEC : AF_INET6, flags, f);
    if (ret == EAI_NONAME && !(ai_flags & AI_ALL)) {
        release(f);
        ret = ask(dns, node, AF_INET, flags, f);
    }
    for (i = 0; i < f->count; i++) {
        map(&f->addrs[i]);
    }
    return ret;
}

static int look_up(const char *node, const struct addrinfo *hints, Found *f)
{
    unsigned flags = hints->ai_flags & AI_ADDRCONFIG ? VMMNET_DNS_ADDRCONFIG :
                     0;
    VmmnetDns *dns = dnsc_pool_get();
    int ret;

    if (!dns) {
        return errno == ENOMEM ? EAI_MEMORY :
               errno == ENOENT || errno == ENOSYS || errno == EINVAL ?
               EAI_FAIL : EAI_SYSTEM;
    }
    if (hints->ai_family == AF_INET6 && hints->ai_flags & AI_V4MAPPED) {
        ret = ask_mapped(dns, node, hints->ai_flags, flags, f);
    } else {
        ret = ask(dns, node, hints->ai_family, flags, f);
    }
    dnsc_pool_put(dns);
    return ret;
}

/* Without a host: the wildcard address for a listener, or this host */
static int no_node(const struct addrinfo *hints, Found *f)
{
    VmmnetDnsAddress addrs[2] = { 0 };
    size_t count = 0;

    if (hints->ai_family != AF_INET) {
        addrs[count].in6.sin6_family = AF_INET6;
        addrs[count].in6.sin6_addr = hints->ai_flags & AI_PASSIVE ?
                                     in6addr_any : in6addr_loopback;
        addrs[count++].len = sizeof(struct sockaddr_in6);
    }
    if (hints->ai_family != AF_INET6) {
        addrs[count].in.sin_family = AF_INET;
        addrs[count].in.sin_addr.s_addr = hints->ai_flags & AI_PASSIVE ?
                                          htonl(INADDR_ANY) :
                                          htonl(INADDR_LOOPBACK);
        addrs[count++].len = sizeof(struct sockaddr_in);
    }
    take(f, addrs, count, "");
    return eai_of(f->error);
}

static int literal(const char *node, const struct addrinfo *hints, Found *f)
{
    bool mapped = hints->ai_family == AF_INET6 &&
                  hints->ai_flags & AI_V4MAPPED;
    DnscLocal *local = calloc(1, sizeof(*local));
    int ret = EAI_NONAME;

    if (!local) {
        return EAI_MEMORY;
    }
    if (dnsc_local_literal(node, mapped ? AF_UNSPEC : hints->ai_family,
                           local)) {
        if (local->count) {
            take(f, local->addrs, 1, node);
            ret = eai_of(f->error);
        } else if (!local->no_such_name) {
            ret = EAI_ADDRFAMILY;
        }
        if (!ret && mapped) {
            map(&f->addrs[0]);
        }
    } else if (!(hints->ai_flags & AI_NUMERICHOST)) {
        ret = 1;
    }
    free(local);
    return ret;
}

/* Combine each address with each service; one allocation for each entry. */
static int make(const Found *f, const DnscService *services, int count,
                const struct addrinfo *hints, struct addrinfo **res)
{
    struct addrinfo **at = res;
    size_t i;
    int s;

    for (i = 0; i < f->count; i++) {
        for (s = 0; s < count; s++) {
            struct {
                struct addrinfo info;
                VmmnetDnsAddress addr;
            } *entry = calloc(1, sizeof(*entry));

            if (!entry) {
                return EAI_MEMORY;
            }
            entry->addr = f->addrs[i];
            if (entry->addr.sa.sa_family == AF_INET) {
                entry->addr.in.sin_port = services[s].port;
            } else {
                entry->addr.in6.sin6_port = services[s].port;
            }
            entry->info.ai_flags = hints->ai_flags;
            entry->info.ai_family = entry->addr.sa.sa_family;
            entry->info.ai_socktype = services[s].socktype;
            entry->info.ai_protocol = services[s].protocol;
            entry->info.ai_addrlen = entry->addr.len;
            entry->info.ai_addr = &entry->addr.sa;
            *at = &entry->info;
            at = &entry->info.ai_next;
        }
    }
    return 0;
}

static int find(const char *node, const struct addrinfo *hints, Found *f)
{
    int ret;

    if (!node) {
        return no_node(hints, f);
    }
    ret = literal(node, hints, f);
    return ret > 0 ? look_up(node, hints, f) : ret;
}

static int check(const char *node, const char *service,
                 const struct addrinfo *hints)
{
    if (!node && !service) {
        return EAI_NONAME;
    }
    if (hints->ai_flags & ~FLAGS ||
        (!node && hints->ai_flags & AI_CANONNAME)) {
        return EAI_BADFLAGS;
    }
    return hints->ai_family == AF_UNSPEC || hints->ai_family == AF_INET ||
           hints->ai_family == AF_INET6 ? 0 : EAI_FAMILY;
}

int vmmnet_getaddrinfo(const char *node, const char *service,
                       const struct addrinfo *hints, struct addrinfo **res)
{
    static const struct addrinfo defaults = {
        .ai_flags = AI_V4MAPPED | AI_ADDRCONFIG,
    };
    DnscService services[DNSC_SERVICES_MAX];
    Found found = { 0 };
    int ret, count;

    *res = NULL;
    hints = hints ? hints : &defaults;
    ret = check(node, service, hints);
    if (ret) {
        return ret;
    }
    count = dnsc_services(service, hints, services);
    if (count < 0) {
        return count;
    }
    ret = find(node, hints, &found);
    if (!ret) {
        ret = make(&found, services, count, hints, res);
    }
    if (!ret && hints->ai_flags & AI_CANONNAME) {
        (*res)->ai_canonname = found.canonical;
        found.canonical = NULL;
    }
    release(&found);
    if (ret) {
        vmmnet_freeaddrinfo(*res);
        *res = NULL;
    }
    return ret;
}

void vmmnet_freeaddrinfo(struct addrinfo *res)
{
    while (res) {
        struct addrinfo *next = res->ai_next;

        free(res->ai_canonname);
        free(res);
        res = next;
    }
}
