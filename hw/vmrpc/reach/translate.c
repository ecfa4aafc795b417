/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: addresses of the guest and of the host
 *
 * Theory of operation
 * ===================
 *
 * The one place of the server that knows both families (paper, section 4.3).
 * Towards the host a guest's IPv4 address becomes
 *
 *   INADDR_ANY, guest4    the VM's own address6
 *   in pool4              what the address map says; else EHOSTUNREACH
 *   a multicast group     the group that stands for it (multicast.h)
 *   any other             the address inside the NAT64 prefix (RFC 6052);
 *                         ENETUNREACH at once when there is none
 *
 * and back, with the map giving a peer that it does not know a new virtual
 * address.  With translate=off the host side is IPv4 and only INADDR_ANY
 * changes, into guest4.
 *
 * What comes back must lead back: an address inside the NAT64 prefix is shown
 * as the IPv4 address in it only if that address would be translated to the
 * same again.  Else anybody who can send from that prefix could appear in the
 * guest as its loopback, its resolver or another peer's virtual address.
 * Addresses are made and shown with the one prefix that is in use.
 *
 * A destination is checked against the policy after translation, as the
 * address that would really be contacted, together with the names by which
 * the guest got to know it, and, behind a NAT64, with the IPv4 address that
 * the translator will contact.  What several translators might take must be
 * allowed for each of them; what might be behind one that is not told of any
 * more, as an address of IPv6 alone, too (nat64-list.h).  A group that the
 * guest wants to hear is checked as if it were a destination, with the port at
 * which it is heard.
 */
#include "hw/vmrpc/reach/translate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/wire/icmp-error.h"
#include "hw/vmrpc/wire/multicast.h"
#include "hw/vmrpc/wire/uninitialized.h"

static int put_in6(struct sockaddr_storage *ss, const struct in6_addr *addr,
                   in_port_t port)
{
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

    memset(sin6, 0, sizeof(*sin6));
    sin6->sin6_family = AF_INET6;
    sin6->sin6_addr = *addr;
    sin6->sin6_port = port;
    return sizeof(*sin6);
}

static int put_in4(struct sockaddr_storage *ss, struct in_addr addr,
                   in_port_t port)
{
    struct sockaddr_in *sin = (struct sockaddr_in *)ss;

    memset(sin, 0, sizeof(*sin));
    sin->sin_family = AF_INET;
    sin->sin_addr = addr;
    sin->sin_port = port;
    return sizeof(*sin);
}

int vmrpc_own_address(const VmrpcReach *reach, in_port_t port,
                      struct sockaddr_storage *host)
{
    if (!reach->config->translate) {
        return put_in4(host, reach->config->guest4, port);
    }
    if (!reach->config->has_address6) {
        return -EADDRNOTAVAIL;
    }
    return put_in6(host, &reach->config->address6, port);
}

static bool is_own(const VmrpcReach *reach, struct in_addr addr)
{
    return addr.s_addr == INADDR_ANY ||
           addr.s_addr == reach->config->guest4.s_addr;
}

/* An address that is not unicast. */
static bool is_group(struct in_addr addr)
{
    uint32_t host = ntohl(addr.s_addr);

    return IN_MULTICAST(host) || host == INADDR_BROADCAST;
}

static bool is_resolver4(const VmrpcReach *reach, struct in_addr addr)
{
    return reach->config->resolver4.s_addr &&
           addr.s_addr == reach->config->resolver4.s_addr;
}

bool vmrpc_addr_nat64_eligible(const VmrpcReach *reach, struct in_addr addr4)
{
    uint8_t net = ntohl(addr4.s_addr) >> 24;

    return net != 0 && net != IN_LOOPBACKNET && !is_group(addr4) &&
           !is_own(reach, addr4) && !is_resolver4(reach, addr4) &&
           !vmrpc_addrmap_contains(reach->map, addr4);
}

bool vmrpc_nat64_peer(const VmrpcReach *reach, const struct in6_addr *addr6,
                      struct in_addr *addr4)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in6_addr back;

    if (!prefix || !nat64_extract(prefix, addr6, addr4) ||
        !vmrpc_addr_nat64_eligible(reach, *addr4)) {
        return false;
    }
    nat64_embed(prefix, *addr4, &back);
    return IN6_ARE_ADDR_EQUAL(&back, addr6);
}

/* As vmrpc_addr_to_host(); it is to add one to *@counter, if that is set. */
static int to_host(VmrpcReach *reach, struct in_addr guest, in_port_t port,
                   struct sockaddr_storage *host, uint64_t **counter)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in6_addr addr6;

    if (is_own(reach, guest)) {
        return vmrpc_own_address(reach, port, host);
    }
    if (!reach->config->translate) {
        return put_in4(host, guest, port);
    }
    if (is_resolver4(reach, guest)) {
        return -ECONNREFUSED;   /* only port 53 is there, never the network */
    }
    if (is_group(guest)) {
        return vmrpc_group_to6(guest, &addr6) ? put_in6(host, &addr6, port)
                                              : -ENETUNREACH;
    }
    if (vmrpc_addrmap_contains(reach->map, guest)) {
        if (vmrpc_addrmap_lookup4(reach->map, guest, &addr6) < 0) {
            *counter = &reach->counters.unreachable_no_mapping;
            return -EHOSTUNREACH;
        }
        return put_in6(host, &addr6, port);
    }
    if (!prefix) {
        *counter = &reach->counters.unreachable_no_nat64;
        return -ENETUNREACH;
    }
    nat64_embed(prefix, guest, &addr6);
    return put_in6(host, &addr6, port);
}

int vmrpc_addr_to_host(VmrpcReach *reach, struct in_addr guest,
                       in_port_t port, struct sockaddr_storage *host)
{
    uint64_t *counter = NULL;
    int ret = to_host(reach, guest, port, host, &counter);

    if (counter) {
        (*counter)++;
    }
    return ret;
}

bool vmrpc_addr_named(VmrpcReach *reach, struct in_addr guest,
                      struct in6_addr *addr6)
{
    struct sockaddr_storage host;
    uint64_t *counter;

    if (guest.s_addr == INADDR_ANY) {
        *addr6 = in6addr_any;
        return true;
    }
    if (to_host(reach, guest, 0, &host, &counter) < 0 ||
        host.ss_family != AF_INET6) {
        return false;
    }
    *addr6 = ((struct sockaddr_in6 *)&host)->sin6_addr;
    return true;
}

/* A destination before the policy, with room for its names. */
typedef struct Judged {
    VmrpcDest dest;
    VmrpcVerdict why;
    size_t name_num;
    VmrpcNameFound found[VMRPC_POLICY_MAX_NAMES];
    const char *names[VMRPC_POLICY_MAX_NAMES];
    char text[VMRPC_POLICY_MAX_NAMES][DNS_NAME_TEXT_MAX];
} Judged;

/* The VM's own address, in @own, where packets come from; NULL: it has none. */
static const struct sockaddr *source_of(const VmrpcReach *reach,
                                        struct sockaddr_storage *own)
{
    return vmrpc_own_address(reach, 0, own) < 0 ? NULL : (struct sockaddr *)own;
}

static void fill_dest(VmrpcReach *reach, const struct sockaddr_storage *host,
                      int proto, VmrpcDest *dest)
{
    struct sockaddr_storage own;

    *dest = (VmrpcDest) {
        .family = host->ss_family,
        .proto = proto,
        .is_local = vmrpc_route_is_local(reach->route,
                                         (const struct sockaddr *)host,
                                         source_of(reach, &own),
                                         vmrpc_host_proto(host->ss_family,
                                                          proto)),
    };
    if (host->ss_family == AF_INET6) {
        const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)host;

        dest->addr6 = sin6->sin6_addr;
        dest->port = ntohs(sin6->sin6_port);
    } else {
        const struct sockaddr_in *sin = (const struct sockaddr_in *)host;

        dest->addr4 = sin->sin_addr;
        dest->port = ntohs(sin->sin_port);
    }
}

/* The names of both addresses, at most @max, those of the first before. */
static void find_names(VmrpcReach *reach, Judged *j, size_t max)
{
    struct in6_addr mapped = { .s6_addr = { [10] = 0xff, 0xff } };
    size_t num;

    if (!reach->names || j->dest.family != AF_INET6) {
        return;
    }
    num = vmrpc_names_lookup(reach->names, &j->dest.addr6, j->found, max);
    if (j->dest.nat64_len) {
        memcpy(&mapped.s6_addr[12], &j->dest.nat64_addr4, 4);
        num += vmrpc_names_lookup(reach->names, &mapped, j->found + num,
                                  max - num);
    }
    for (size_t i = 0; i < num; i++) {
        dns_name_to_text(j->found[i].name, j->text[i]);
        j->names[i] = j->text[i];
    }
    j->dest.names = j->names;
    j->dest.num_names = j->name_num = num;
}

/* A name that opens a way is not the next to be forgotten. */
static void use_name(VmrpcReach *reach, const Judged *j)
{
    for (size_t i = 0; i < j->name_num; i++) {
        if (j->why.name == j->names[i]) {
            vmrpc_names_use(reach->names, &j->found[i], reach->now_ms());
        }
    }
}

/* Returns 0 or what the guest's call gives. */
static int judge_as(VmrpcReach *reach, const VmrpcDest *dest, Judged *j)
{
    int ret;

    j->name_num = 0;
    j->dest = *dest;
    if (vmrpc_policy_has_names(reach->policy)) {
        find_names(reach, j, VMRPC_POLICY_MAX_NAMES);
    }
    ret = vmrpc_policy_check(reach->policy, &j->dest, &j->why);
    if (ret == 0 && j->why.name) {
        use_name(reach, j);
    }
    return ret;
}

/*
 * The same if a translator with @prefix takes it.  The address behind it may be
 * the host's own as well.
 *
 * A translator does not look at octet 8 and suffix.  So that no rule is passed
 * by putting something there, IPv4 rules see what is behind however @dest is
 * written, and IPv6 rules see it as RFC 6052 writes it, too.  Both must be
 * allowed: who opens the one does not open all that leads to the same.
 */
static int judge_behind(VmrpcReach *reach, const VmrpcDest *dest,
                        const Nat64Prefix *prefix, Judged *j)
{
    VmrpcDest behind = *dest;
    struct sockaddr_storage ss4;
    int ret;

    nat64_extract(prefix, &dest->addr6, &behind.nat64_addr4);
    behind.nat64_len = prefix->len;
    /* From there on it has the translator's address, whatever that is. */
    put_in4(&ss4, behind.nat64_addr4, htons(dest->port));
    behind.is_local |= vmrpc_route_is_local(reach->route,
                                            (struct sockaddr *)&ss4, NULL,
                                            dest->proto);
    ret = judge_as(reach, &behind, j);
    nat64_embed(prefix, behind.nat64_addr4, &behind.addr6);
    if (ret == 0 && !IN6_ARE_ADDR_EQUAL(&behind.addr6, &dest->addr6)) {
        ret = judge_as(reach, &behind, j);
    }
    return ret;
}

/* Whether an address of the host's side is of @prefix. */
static bool is_behind(const VmrpcDest *dest, const Nat64Prefix *prefix)
{
    struct in_addr addr4;

    return dest->family == AF_INET6 &&
           nat64_extract(prefix, &dest->addr6, &addr4);
}

/* Where a translator may be: the list, and the prefix of RFC 6052. */
static const Nat64Prefix *nth_prefix(const VmrpcNat64List *nat64, unsigned n)
{
    static const Nat64Prefix well_known = {
        .addr = { { { 0x00, 0x64, 0xff, 0x9b } } }, .len = 96,
    };

    return n < nat64->num ? &nat64->prefix[n] : &well_known;
}

/*
 * Who has once been behind a NAT64 is judged so as long as its prefix is known:
 * that the name servers tell of another or of none does not prove that the
 * translator has gone, and nobody shall get past a rule, or loopback, by such
 * an answer.  Nor does it prove that it is still there: what an IPv4 rule
 * allows then must be allowed as the IPv6 address that it may be, too.
 *
 * All that can be meant must be allowed; @j is of what is not, or of the last.
 */
static int judge(VmrpcReach *reach, const struct sockaddr_storage *host,
                 int proto, bool any_port, Judged *j)
{
    VmrpcNat64List *nat64 = &reach->nat64;
    bool translated = false;
    VmrpcDest dest;
    int ret = 0;

    fill_dest(reach, host, proto, &dest);
    dest.any_port = any_port;
    if (nat64->num > nat64->told) {
        vmrpc_nat64_forget(nat64, reach->now_ms());
    }
    for (unsigned i = 0; ret == 0 && i <= nat64->num; i++) {
        const Nat64Prefix *prefix = nth_prefix(nat64, i);

        if (is_behind(&dest, prefix)) {
            ret = judge_behind(reach, &dest, prefix, j);
            translated |= i < nat64->told;
        }
    }
    return ret == 0 && !translated ? judge_as(reach, &dest, j) : ret;
}

static bool is_private_behind(const VmrpcReach *reach,
                              const struct in6_addr *addr6,
                              const Nat64Prefix *prefix, const char *name,
                              unsigned *line)
{
    VmrpcDest dest = { .family = AF_INET6, .addr6 = *addr6 };

    if (!nat64_extract(prefix, addr6, &dest.nat64_addr4)) {
        return false;
    }
    dest.nat64_len = prefix->len;
    return vmrpc_policy_is_private(reach->policy, &dest, name, line);
}

bool vmrpc_addr_is_private(const VmrpcReach *reach,
                           const struct in6_addr *addr6, const char *name,
                           unsigned *line)
{
    const Nat64Prefix *in_use = vmrpc_nat64_in_use(&reach->nat64);
    VmrpcDest dest = { .family = AF_INET6, .addr6 = *addr6 };
    bool translated = false;
    struct in_addr addr4;

    if (IN6_IS_ADDR_V4MAPPED(addr6) && in_use) {
        memcpy(&addr4, &addr6->s6_addr[12], sizeof(addr4));
        nat64_embed(in_use, addr4, &dest.addr6);
    }
    for (unsigned i = 0; i < reach->nat64.num; i++) {
        const Nat64Prefix *prefix = &reach->nat64.prefix[i];

        if (is_private_behind(reach, &dest.addr6, prefix, name, line)) {
            return true;
        }
        translated |= i < reach->nat64.told && is_behind(&dest, prefix);
    }
    /* Behind one of today the addresses are private, not the prefix. */
    return !translated &&
           vmrpc_policy_is_private(reach->policy, &dest, name, line);
}

static uint64_t *refusal_counter(VmrpcReach *reach, VmrpcVerdictReason reason)
{
    switch (reason) {
    case VMRPC_VERDICT_DENY_RULE:
        return &reach->counters.refused_policy;
    case VMRPC_VERDICT_DENY_DEFAULT:
        return &reach->counters.refused_default;
    case VMRPC_VERDICT_HOST:
        return &reach->counters.refused_host_address;
    default:
        return &reach->counters.refused_builtin;
    }
}

void vmrpc_refused(VmrpcReach *reach, const VmrpcRefusal *refusal,
                   uint64_t *counter)
{
    (*counter)++;
    if (reach->tracer.refused) {
        reach->tracer.refused(reach->tracer.opaque, refusal);
    }
}

static void dest_refused(VmrpcReach *reach, const struct sockaddr_storage *host,
                         Judged *j)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)host;
    const struct sockaddr_in *sin = (const struct sockaddr_in *)host;
    char text[INET6_ADDRSTRLEN];
    VmrpcRefusal refusal = {
        .dest = text,
        .port = j->dest.port,
        .name = j->why.name,
        .reason = vmrpc_verdict_name(j->why.reason),
        .line = j->why.line,
    };

    inet_ntop(host->ss_family, host->ss_family == AF_INET6
              ? (const void *)&sin6->sin6_addr : &sin->sin_addr, text,
              sizeof(text));
    /* Without rules by name there was no need to know it yet. */
    if (!j->name_num && reach->tracer.refused) {
        find_names(reach, j, 1);
        refusal.name = j->name_num ? j->names[0] : NULL;
    }
    vmrpc_refused(reach, &refusal, refusal_counter(reach, j->why.reason));
}

int vmrpc_dest_to_host(VmrpcReach *reach, const struct sockaddr_in *guest,
                       int proto, struct sockaddr_storage *host)
{
    int len = vmrpc_addr_to_host(reach, guest->sin_addr, guest->sin_port, host);
    Judged j VMRPC_UNINITIALIZED;
    int ret;

    if (len < 0) {
        /* Nothing is there that could refuse a connection, or answer. */
        return proto == IPPROTO_ICMP && len == -ECONNREFUSED ? -EHOSTUNREACH
                                                             : len;
    }
    ret = judge(reach, host, proto, false, &j);
    vmrpc_policy_count(reach->policy, &j.why);
    if (ret < 0) {
        dest_refused(reach, host, &j);
        return ret;
    }
    return len;
}

int vmrpc_group_check(VmrpcReach *reach, struct in_addr group4, in_port_t port)
{
    Judged j VMRPC_UNINITIALIZED;
    struct sockaddr_storage host;
    int ret = vmrpc_addr_to_host(reach, group4, port, &host);

    if (ret < 0) {
        return ret;
    }
    ret = judge(reach, &host, IPPROTO_UDP, !port, &j);
    /* That some port may be allowed is no verdict yet. */
    if (port || ret < 0) {
        vmrpc_policy_count(reach->policy, &j.why);
    }
    if (ret < 0) {
        dest_refused(reach, &host, &j);
    }
    return ret;
}

int vmrpc_peer_error(VmrpcReach *reach, const struct sockaddr_storage *dest,
                     int proto, int error)
{
    struct sockaddr_storage own;

    if (error != -EACCES || !reach->config->translate) {
        return error;
    }
    /*
     * Left by an ICMPv6 message, or the host's own no, which is EACCES in IPv4
     * too?  The way is looked for before a pending error is: who finds it
     * closed now has the second.
     */
    if (dest && vmrpc_route_is_prohibited(reach->route,
                                          (const struct sockaddr *)dest,
                                          source_of(reach, &own),
                                          vmrpc_host_proto(dest->ss_family,
                                                           proto))) {
        return error;
    }
    return -vmrpc_icmp_pending(-error);
}

/* The names that led to @addr6, the latest first, then those of A records. */
static size_t names_of(VmrpcReach *reach, const struct in6_addr *addr6,
                       VmrpcNameFound *found, size_t max)
{
    struct in6_addr mapped = { .s6_addr = { [10] = 0xff, 0xff } };
    size_t num = vmrpc_names_lookup(reach->names, addr6, found, max);
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in_addr addr4;

    if (!prefix || !nat64_extract(prefix, addr6, &addr4)) {
        return num;
    }
    memcpy(&mapped.s6_addr[12], &addr4, sizeof(addr4));
    return num + vmrpc_names_lookup(reach->names, &mapped, found + num,
                                    max - num);
}

void vmrpc_refused_by_limit(VmrpcReach *reach,
                            const struct sockaddr_storage *dest,
                            const char *reason, uint64_t *counter)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)dest;
    char addr[INET6_ADDRSTRLEN], name[DNS_NAME_TEXT_MAX];
    VmrpcRefusal refusal = { .reason = reason };
    VmrpcNameFound found;

    if (dest && reach->tracer.refused) {
        bool is6 = dest->ss_family == AF_INET6;

        inet_ntop(dest->ss_family, is6 ? (const void *)&sin6->sin6_addr
                  : &((const struct sockaddr_in *)dest)->sin_addr, addr,
                  sizeof(addr));
        refusal.dest = addr;
        refusal.port = ntohs(sin6->sin6_port);  /* at the same place in both */
        if (is6 && reach->names &&
            names_of(reach, &sin6->sin6_addr, &found, 1)) {
            dns_name_to_text(found.name, name);
            refusal.name = name;
        }
    }
    vmrpc_refused(reach, &refusal, counter);
}

/* The way to @addr6, which is as names.h has it; false if there is none. */
static bool fill_candidate(VmrpcReach *reach, const struct in6_addr *addr6,
                           in_port_t port, VmrpcCandidate *candidate)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in_addr addr4;

    *candidate = (VmrpcCandidate) { .addr6 = *addr6, .port = port };
    if (IN6_IS_ADDR_V4MAPPED(addr6)) {
        memcpy(&addr4, &addr6->s6_addr[12], sizeof(addr4));
        if (!prefix || is_group(addr4)) {
            return false;
        }
        nat64_embed(prefix, addr4, &candidate->addr6);
    }
    candidate->synthesized = prefix &&
                             nat64_extract(prefix, &candidate->addr6, &addr4);
    /* The VM's own is inside the guest. */
    return !reach->config->has_address6 ||
           !IN6_ARE_ADDR_EQUAL(&candidate->addr6, &reach->config->address6);
}

bool vmrpc_candidate_is_allowed(VmrpcReach *reach,
                                const VmrpcCandidate *candidate)
{
    Judged j VMRPC_UNINITIALIZED;
    struct sockaddr_storage ss;

    put_in6(&ss, &candidate->addr6, candidate->port);
    return judge(reach, &ss, IPPROTO_TCP, false, &j) == 0;
}

/*
 * The addresses of a name, at most VMRPC_NAMES_MAX_ADDRESSES; @now_ms is as for
 * vmrpc_names_siblings().
 */
static size_t list_siblings(VmrpcReach *reach, const VmrpcNameFound *found,
                            in_port_t port, int64_t now_ms,
                            VmrpcCandidate *siblings)
{
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    size_t count, num = 0;

    count = vmrpc_names_siblings(reach->names, found, now_ms, addrs);
    for (size_t i = 0; i < count; i++) {
        num += fill_candidate(reach, &addrs[i], port, &siblings[num]);
    }
    return num;
}

/* Leaves of @siblings what is among @others, too.  Returns how many. */
static size_t keep_common(VmrpcCandidate *siblings, size_t num,
                          const VmrpcCandidate *others, size_t other_num)
{
    size_t kept = 0;

    for (size_t i = 0; i < num; i++) {
        for (size_t j = 0; j < other_num; j++) {
            if (IN6_ARE_ADDR_EQUAL(&siblings[i].addr6, &others[j].addr6)) {
                siblings[kept++] = siblings[i];
                break;
            }
        }
    }
    return kept;
}

/*
 * The addresses that every name of @named has.  The guest does not tell which
 * of the names it means, and anybody can give a name of his own the address of
 * another's, with one of his beside: what one name leads to is no proof of what
 * another does.  So there must be no name more than can be asked.  The latest
 * says which addresses there are now; that they belonged to another is good
 * enough if it was so once: most names are not asked for again when their TTL
 * is over, and an address has more names than one.
 */
static size_t common_siblings(VmrpcReach *reach,
                              const struct sockaddr_in6 *named,
                              VmrpcCandidate *siblings)
{
    VmrpcCandidate others[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcNameFound found[VMRPC_POLICY_MAX_NAMES + 1];
    size_t names, num, count;

    names = names_of(reach, &named->sin6_addr, found, G_N_ELEMENTS(found));
    if (names == 0 || names > VMRPC_POLICY_MAX_NAMES) {
        return 0;
    }
    num = list_siblings(reach, &found[0], named->sin6_port, reach->now_ms(),
                        siblings);
    for (size_t i = 1; i < names && num > 0; i++) {
        count = list_siblings(reach, &found[i], named->sin6_port, INT64_MIN,
                              others);
        num = keep_common(siblings, num, others, count);
    }
    return num;
}

size_t vmrpc_dest_candidates(VmrpcReach *reach,
                             const struct sockaddr_in6 *named,
                             VmrpcCandidate *candidates, size_t max)
{
    VmrpcCandidate siblings[VMRPC_NAMES_MAX_ADDRESSES];
    size_t num = 0, count = common_siblings(reach, named, siblings);

    fill_candidate(reach, &named->sin6_addr, named->sin6_port,
                   &candidates[num++]);
    for (size_t i = 0; count > 1 && i < count && num < max; i++) {
        if (!IN6_ARE_ADDR_EQUAL(&siblings[i].addr6, &named->sin6_addr) &&
            vmrpc_candidate_is_allowed(reach, &siblings[i])) {
            candidates[num++] = siblings[i];
        }
    }
    return num;
}

int vmrpc_addr_to_guest(VmrpcReach *reach, const struct sockaddr_storage *host,
                        struct sockaddr_in *guest)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)host;
    struct in_addr addr4;

    memset(guest, 0, sizeof(*guest));
    if (host->ss_family == AF_INET) {
        memcpy(guest, host, sizeof(*guest));
        return 0;
    }
    if (host->ss_family != AF_INET6) {
        return 0;
    }
    guest->sin_family = AF_INET;
    guest->sin_port = sin6->sin6_port;
    if (IN6_IS_ADDR_UNSPECIFIED(&sin6->sin6_addr)) {
        return 0;
    }
    if (reach->config->has_address6 &&
        IN6_ARE_ADDR_EQUAL(&sin6->sin6_addr, &reach->config->address6)) {
        guest->sin_addr = reach->config->guest4;
        return 0;
    }
    if (IN6_IS_ADDR_MULTICAST(&sin6->sin6_addr)) {
        return vmrpc_group_to4(&sin6->sin6_addr, &guest->sin_addr) ? 0
                                                                   : -ENOSPC;
    }
    if (vmrpc_nat64_peer(reach, &sin6->sin6_addr, &addr4)) {
        guest->sin_addr = addr4;
        return 0;
    }
    /*
     * No promise: a flood of peers takes addresses from one another, never
     * from a name that was looked up, also long after its TTL.  A socket that
     * talks holds its own.
     */
    if (vmrpc_addrmap_lease(reach->map, &sin6->sin6_addr, 0, reach->now_ms(),
                            &addr4, NULL) < 0) {
        return -ENOSPC;
    }
    guest->sin_addr = addr4;
    return 0;
}
