/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnss_vmmnet: name resolution for programs that do not use this library
 *
 * The C library calls these functions for "hosts: … vmmnet" in
 * nsswitch.conf(5).  It reads /etc/hosts itself ("files"), so this module does
 * not.  Results go into the caller's buffer.  If it is too small, the result is
 * ERANGE, and the C library calls again.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns/client/face/context.h"
#include "net/dns/client/face/pool.h"
#include "net/dns/client/nss.h"

/* A copy of an answer, which is valid only during the callback */
typedef struct Got {
    bool done;
    VmmnetDnsError error;
    bool validates;
    int32_t ttl;
    char name[1025];            /* canonical; for an address, its first name */
    size_t count;
    VmmnetDnsAddress *addrs;
} Got;

/* The rest of the caller's buffer */
typedef struct Room {
    char *at;
    size_t left;
    bool short_of;
} Room;

static void *reserve(Room *room, size_t size, size_t align)
{
    size_t pad = -(uintptr_t)room->at & (align - 1);
    char *at = room->at + pad;

    if (room->left < pad || room->left - pad < size) {
        room->short_of = true;
        return NULL;
    }
    room->at = at + size;
    room->left -= pad + size;
    return at;
}

static char *keep(Room *room, const char *text)
{
    size_t size = strlen(text) + 1;
    char *at = reserve(room, size, 1);

    return at ? memcpy(at, text, size) : NULL;
}

static void take(Got *got, const VmmnetDnsAnswer *answer)
{
    got->done = !answer->more;
    got->error = answer->error;
    got->ttl = answer->ttl < INT32_MAX ? answer->ttl : INT32_MAX;
}

static void told_addresses(void *opaque, const VmmnetDnsAnswer *answer)
{
    Got *got = opaque;

    take(got, answer);
    if (!answer->count) {
        return;
    }
    got->addrs = malloc(answer->count * sizeof(*got->addrs));
    if (!got->addrs) {
        got->error = VMMNET_DNS_RESOURCES;
        return;
    }
    memcpy(got->addrs, answer->addresses, answer->count * sizeof(*got->addrs));
    got->count = answer->count;
    strncpy(got->name, answer->canonical, sizeof(got->name) - 1);
}

static void told_names(void *opaque, const VmmnetDnsAnswer *answer)
{
    Got *got = opaque;
    size_t used;

    take(got, answer);
    if (answer->count && vmmnet_dns_name_text(answer->records[0].rdata,
                                              answer->records[0].len,
                                              got->name, sizeof(got->name),
                                              &used)) {
        got->error = VMMNET_DNS_FAILED;
    }
}

static enum nss_status nss_fail(const Got *got, int *errnop, int *herrnop)
{
    switch (got->error) {
    case VMMNET_DNS_NO_NAME:
        *errnop = ENOENT;
        *herrnop = HOST_NOT_FOUND;
        return NSS_STATUS_NOTFOUND;
    case VMMNET_DNS_NO_DATA:
        *errnop = ENOENT;
        *herrnop = NO_DATA;
        return NSS_STATUS_NOTFOUND;
    /*
     * Never UNAVAIL where we validate: with "vmmnet [!UNAVAIL=return] dns" the
     * C library would continue with a module that accepts forged answers.
     * Never NOTFOUND: with NO_RECOVERY, too, the C library reports that there
     * is no such name, which nobody has said.
     */
    default:
        *errnop = got->error == VMMNET_DNS_BOGUS ? EBADMSG : EAGAIN;
        *herrnop = TRY_AGAIN;
        return got->error == VMMNET_DNS_RESOURCES && !got->validates ?
               NSS_STATUS_UNAVAIL : NSS_STATUS_TRYAGAIN;
    }
}

static enum nss_status too_small(int *errnop, int *herrnop)
{
    *errnop = ERANGE;
    *herrnop = NETDB_INTERNAL;
    return NSS_STATUS_TRYAGAIN;
}

/*
 * Fill @got.  Without a context the error is VMMNET_DNS_RESOURCES, and it is
 * taken to validate.  Returns false if there is an error.
 */
static bool ask(Got *got, const char *name, int family,
                const struct sockaddr *addr)
{
    VmmnetDns *dns = dnsc_pool_get();
    VmmnetDnsId id;

    *got = (Got){ .error = VMMNET_DNS_RESOURCES, .validates = true };
    if (!dns) {
        return false;
    }
    got->validates = dns->flags & VMMNET_DNS_VALIDATE;
    if (addr) {
        id = vmmnet_dns_names(dns, addr, 0, told_names, got);
    } else {
        id = vmmnet_dns_addresses(dns, name, family, VMMNET_DNS_NO_HOSTS |
                                  VMMNET_DNS_ONCE, told_addresses, got);
    }
    if (id) {
        dnsc_pool_wait(dns, &got->done);
    } else {
        got->error = errno == EINVAL ? VMMNET_DNS_NO_NAME :
                     VMMNET_DNS_RESOURCES;
    }
    dnsc_pool_put(dns);
    return got->error == VMMNET_DNS_OK;
}

static size_t octets_of(const VmmnetDnsAddress *a, const void **octets)
{
    if (a->sa.sa_family == AF_INET6) {
        *octets = &a->in6.sin6_addr;
        return sizeof(a->in6.sin6_addr);
    }
    *octets = &a->in.sin_addr;
    return sizeof(a->in.sin_addr);
}

enum nss_status _nss_vmmnet_gethostbyname4_r(const char *name,
    struct gaih_addrtuple **pat, char *buffer, size_t buflen, int *errnop,
    int *herrnop, int32_t *ttlp)
{
    Room room = { .at = buffer, .left = buflen };
    struct gaih_addrtuple *first = NULL, **at = &first;
    Got got;
    char *canonical;
    size_t i;

    if (!ask(&got, name, AF_UNSPEC, NULL)) {
        free(got.addrs);
        return nss_fail(&got, errnop, herrnop);
    }
    canonical = keep(&room, got.name);
    for (i = 0; i < got.count && !room.short_of; i++) {
        struct gaih_addrtuple *tuple;
        const void *octets;
        size_t len = octets_of(&got.addrs[i], &octets);

        /* The caller may have provided the first tuple. */
        tuple = i == 0 && *pat ? *pat :
                reserve(&room, sizeof(*tuple), __alignof__(*tuple));
        if (tuple) {
            *tuple = (struct gaih_addrtuple){
                .name = i == 0 ? canonical : NULL,
                .family = got.addrs[i].sa.sa_family,
            };
            memcpy(tuple->addr, octets, len);
            if (tuple->family == AF_INET6) {
                tuple->scopeid = got.addrs[i].in6.sin6_scope_id;
            }
            *at = tuple;
            at = &tuple->next;
        }
    }
    free(got.addrs);
    if (room.short_of) {
        return too_small(errnop, herrnop);
    }
    *pat = first;
    if (ttlp) {
        *ttlp = got.ttl;
    }
    return NSS_STATUS_SUCCESS;
}

/* Make a list of @count pointers to @len octets each, and NULL. */
static char **make_list(Room *room, size_t count, size_t len)
{
    char **list = reserve(room, (count + 1) * sizeof(*list),
                          __alignof__(*list));
    char *octets = reserve(room, count * len, __alignof__(struct in6_addr));
    size_t i;

    if (!list || !octets) {
        return NULL;
    }
    for (i = 0; i < count; i++) {
        list[i] = octets + i * len;
    }
    list[count] = NULL;
    return list;
}

static bool fill(struct hostent *host, Room *room, const char *name, int af,
                 size_t count)
{
    host->h_addrtype = af;
    host->h_length = af == AF_INET6 ? 16 : 4;
    host->h_aliases = make_list(room, 0, 0);
    host->h_addr_list = make_list(room, count, host->h_length);
    host->h_name = keep(room, name);
    return !room->short_of;
}

enum nss_status _nss_vmmnet_gethostbyname3_r(const char *name, int af,
    struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop, int32_t *ttlp, char **canonp)
{
    Room room = { .at = buffer, .left = buflen };
    Got got;
    size_t i;

    if (af != AF_INET && af != AF_INET6) {
        *errnop = EAFNOSUPPORT;
        *herrnop = NO_DATA;
        return NSS_STATUS_UNAVAIL;
    }
    if (!ask(&got, name, af, NULL)) {
        free(got.addrs);
        return nss_fail(&got, errnop, herrnop);
    }
    if (fill(host, &room, got.name, af, got.count)) {
        for (i = 0; i < got.count; i++) {
            const void *octets;

            octets_of(&got.addrs[i], &octets);
            memcpy(host->h_addr_list[i], octets, host->h_length);
        }
    }
    free(got.addrs);
    if (room.short_of) {
        return too_small(errnop, herrnop);
    }
    if (ttlp) {
        *ttlp = got.ttl;
    }
    if (canonp) {
        *canonp = host->h_name;
    }
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_vmmnet_gethostbyname2_r(const char *name, int af,
    struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop)
{
    return _nss_vmmnet_gethostbyname3_r(name, af, host, buffer, buflen, errnop,
                                        herrnop, NULL, NULL);
}

enum nss_status _nss_vmmnet_gethostbyname_r(const char *name,
    struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop)
{
    return _nss_vmmnet_gethostbyname2_r(name, AF_INET, host, buffer, buflen,
                                        errnop, herrnop);
}

enum nss_status _nss_vmmnet_gethostbyaddr2_r(const void *addr, socklen_t len,
    int af, struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop, int32_t *ttlp)
{
    Room room = { .at = buffer, .left = buflen };
    VmmnetDnsAddress of = { .sa.sa_family = af };
    Got got;

    if (af == AF_INET && len == sizeof(of.in.sin_addr)) {
        memcpy(&of.in.sin_addr, addr, len);
    } else if (af == AF_INET6 && len == sizeof(of.in6.sin6_addr)) {
        memcpy(&of.in6.sin6_addr, addr, len);
    } else {
        *errnop = EAFNOSUPPORT;
        *herrnop = NO_DATA;
        return NSS_STATUS_UNAVAIL;
    }
    if (!ask(&got, NULL, 0, &of.sa)) {
        return nss_fail(&got, errnop, herrnop);
    }
    if (!fill(host, &room, got.name, af, 1)) {
        return too_small(errnop, herrnop);
    }
    memcpy(host->h_addr_list[0], addr, len);
    if (ttlp) {
        *ttlp = got.ttl;
    }
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_vmmnet_gethostbyaddr_r(const void *addr, socklen_t len,
    int af, struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop)
{
    return _nss_vmmnet_gethostbyaddr2_r(addr, len, af, host, buffer, buflen,
                                        errnop, herrnop, NULL);
}
