/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: a destination before the policy
 *
 * Theory of operation
 * ===================
 *
 * The policy judges a destination after translation: the address that the
 * host would contact, with the names by which the guest got to know it.
 *
 * Behind a NAT64 the policy also sees the IPv4 address that the translator
 * would contact.  A network may have several prefixes, and an address may lie
 * in more than one of them: then each reading must be allowed.
 *
 * A prefix stays in the list for some days after the network has stopped
 * announcing it (nat64-list.h).  The translator may still be there: without
 * its prefix, a forged DNS answer could lift an IPv4 rule or open loopback.
 * The translator may also have gone, so such an address must be allowed as a
 * plain IPv6 address, too.  Of several rules that allow the readings, the terms
 * of the first that has any apply.
 *
 * A multicast group that the guest joins is judged as a destination, with the
 * port of the receiving socket.
 */
#include "hw/vmrpc/reach/judge.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/reach/dest-names.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/wire/uninitialized.h"

/* A name that the guest says, and those by which it leads to addresses */
typedef struct Said {
    const char *text;
    VmrpcNameFound ways[1 + VMRPC_TARGETS_VISITS];
    size_t num;
} Said;

/* A destination before the policy, with room for its names. */
typedef struct Judged {
    VmrpcDest dest;
    VmrpcVerdict why;
    VmrpcSays says;             /* what a reading demands */
    const Said *said;           /* the only name that counts; NULL: all */
    bool led;                   /* it has led to an address of a reading */
    VmrpcVerdict condition;     /* the first one with terms */
    size_t name_num;
    VmrpcNameFound found[VMRPC_POLICY_MAX_NAMES];
    const char *names[VMRPC_POLICY_MAX_NAMES];
    char text[VMRPC_POLICY_MAX_NAMES][DNS_NAME_TEXT_MAX];
} Judged;

static void fill_dest(VmrpcReach *reach, const struct sockaddr_storage *host,
                      int proto, VmrpcDest *dest)
{
    struct sockaddr_storage own;

    *dest = (VmrpcDest) {
        .family = host->ss_family,
        .proto = proto,
        .is_local = vmrpc_route_is_local(reach->route,
                                         (const struct sockaddr *)host,
                                         vmrpc_own_source(reach, &own),
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

/* Fills in the name that the guest says, if it has led to the destination. */
static void find_said(const VmrpcReach *reach, Judged *j,
                      const struct in_addr *behind)
{
    struct in6_addr mapped = behind ? vmrpc_names_key4(*behind)
                                    : j->dest.addr6;

    for (size_t i = 0; !j->name_num && i < j->said->num; i++) {
        const VmrpcNameFound *way = &j->said->ways[i];

        if (vmrpc_names_leads(reach->names, way, &j->dest.addr6) ||
            vmrpc_names_leads(reach->names, way, &mapped)) {
            j->found[0] = *way;
            j->names[0] = j->said->text;
            j->name_num = 1;
            j->led = true;
        }
    }
    j->dest.names = j->names;
    j->dest.num_names = j->name_num;
}

/*
 * Fills in at most @max names of the destination: first those of its IPv6
 * address, then those of the IPv4 address behind it.
 */
static void find_names(const VmrpcReach *reach, Judged *j, size_t max)
{
    const struct in_addr *behind = j->dest.nat64_len ? &j->dest.nat64_addr4
                                                     : NULL;

    if (j->dest.family != AF_INET6) {
        return;
    }
    if (j->said) {
        find_said(reach, j, behind);
        return;
    }
    j->name_num = vmrpc_dest_names_behind(reach, &j->dest.addr6, behind,
                                          j->found, max);
    for (size_t i = 0; i < j->name_num; i++) {
        dns_name_to_text(j->found[i].name, j->text[i]);
        j->names[i] = j->text[i];
    }
    j->dest.names = j->names;
    j->dest.num_names = j->name_num;
}

/* A name that has allowed a destination is not the next to be forgotten. */
static void use_name(VmrpcReach *reach, const Judged *j)
{
    for (size_t i = 0; i < j->name_num; i++) {
        if (j->why.name == j->names[i]) {
            vmrpc_names_use(reach->names, &j->found[i], reach->now_ms());
        }
    }
}

/* Returns 0, or a negative errno for the guest's call. */
static int judge_as(VmrpcReach *reach, const VmrpcDest *dest, Judged *j)
{
    int ret;

    j->name_num = 0;
    j->dest = *dest;
    if (j->said || vmrpc_policy_has_names(reach->policy)) {
        find_names(reach, j, VMRPC_POLICY_MAX_NAMES);
    }
    ret = vmrpc_policy_check(reach->policy, &j->dest, &j->why);
    if (ret == 0 && j->why.name) {
        use_name(reach, j);
    }
    j->says = MAX(j->says, j->why.says);
    if (ret == 0 && j->why.terms && !j->condition.terms) {
        j->condition = j->why;
    }
    return ret;
}

/*
 * Judges @dest as an address that a translator with @prefix forwards to IPv4.
 * The IPv4 address may be one of the host's own.
 *
 * A translator ignores octet 8 and the suffix (RFC 6052, section 2.2), so
 * several IPv6 addresses lead to one IPv4 address.  IPv4 rules see the IPv4
 * address in all of them.  IPv6 rules see @dest as it is, and then in the form
 * that RFC 6052 gives it; both must be allowed.  Otherwise a guest could evade
 * a rule by setting the ignored bits.
 */
static int judge_behind(VmrpcReach *reach, const VmrpcDest *dest,
                        const Nat64Prefix *prefix, Judged *j)
{
    VmrpcDest behind = *dest;
    struct sockaddr_in sin = { .sin_family = AF_INET,
                               .sin_port = htons(dest->port) };
    int ret;

    nat64_extract(prefix, &dest->addr6, &behind.nat64_addr4);
    behind.nat64_len = prefix->len;
    sin.sin_addr = behind.nat64_addr4;
    /* The packet's IPv4 source is the translator's, which is not known. */
    behind.is_local |= vmrpc_route_is_local(reach->route,
                                            (struct sockaddr *)&sin, NULL,
                                            dest->proto);
    ret = judge_as(reach, &behind, j);
    nat64_embed(prefix, behind.nat64_addr4, &behind.addr6);
    if (ret == 0 && !IN6_ARE_ADDR_EQUAL(&behind.addr6, &dest->addr6)) {
        ret = judge_as(reach, &behind, j);
    }
    return ret;
}

/* Does @prefix contain the destination? */
static bool is_behind(const VmrpcDest *dest, const Nat64Prefix *prefix)
{
    struct in_addr addr4;

    return dest->family == AF_INET6 &&
           nat64_extract(prefix, &dest->addr6, &addr4);
}

/* A prefix of the list; after the last, the well-known one of RFC 6052. */
static const Nat64Prefix *nth_prefix(const VmrpcNat64List *nat64, unsigned n)
{
    static const Nat64Prefix well_known = {
        .addr = { { { 0x00, 0x64, 0xff, 0x9b } } }, .len = 96,
    };

    return n < nat64->num ? &nat64->prefix[n] : &well_known;
}

/*
 * Judges each reading of @host; all must be allowed.
 * @any_port: the port is not known yet
 * @said: its only name that counts; NULL: all count
 * @j: the reading that was refused, or the last one
 *
 * Returns 0, or a negative errno for the guest's call.
 */
static int judge(VmrpcReach *reach, const struct sockaddr_storage *host,
                 int proto, bool any_port, const Said *said,
                 Judged *j)
{
    VmrpcNat64List *nat64 = &reach->nat64;
    bool translated = false;
    VmrpcDest dest;
    int ret = 0;

    j->condition.terms = NULL;
    fill_dest(reach, host, proto, &dest);
    dest.any_port = any_port;
    j->says = VMRPC_SAYS_ANYTHING;
    j->said = said;
    j->led = false;
    if (nat64->num > nat64->current) {
        vmrpc_nat64_forget(nat64, reach->now_ms());
    }
    for (unsigned i = 0; ret == 0 && i <= nat64->num; i++) {
        const Nat64Prefix *prefix = nth_prefix(nat64, i);

        if (is_behind(&dest, prefix)) {
            ret = judge_behind(reach, &dest, prefix, j);
            translated |= i < nat64->current;
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

    if (in_use && vmrpc_names_get_key4(addr6, &addr4)) {
        nat64_embed(in_use, addr4, &dest.addr6);
    }
    for (unsigned i = 0; i < reach->nat64.num; i++) {
        const Nat64Prefix *prefix = &reach->nat64.prefix[i];

        if (is_private_behind(reach, &dest.addr6, prefix, name, line)) {
            return true;
        }
        translated |= i < reach->nat64.current && is_behind(&dest, prefix);
    }
    /*
     * Behind a current prefix this is the verdict: a private prefix that is
     * shorter than the NAT64 prefix does not mean the IPv4 hosts behind it.
     */
    return !translated &&
           vmrpc_policy_is_private(reach->policy, &dest, name, line);
}

static void dest_refused(VmrpcReach *reach,
                         const struct sockaddr_storage *host, int error,
                         Judged *j)
{
    const char *name = j->why.name;

    /* Without rules by name, judge_as() has not looked for names. */
    if (!j->name_num && reach->tracer.refused) {
        find_names(reach, j, 1);
        name = j->name_num ? j->names[0] : NULL;
    }
    vmrpc_refused_by_policy(reach, host, error, &j->why, name);
}

/* A name with other octets than a host's cannot be said to a proxy. */
static bool is_host_name(const char *name)
{
    return strlen(name) <= VMRPC_VIA_NAME_MAX &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")];
}

/*
 * The name to say to the proxy: many names may share the address, and the guest
 * means the one that it asked for last.  Of those that a rule for this proxy
 * allows, that is the first.
 */
static const char *name_for_proxy(const VmrpcPolicy *policy, const Judged *j)
{
    for (size_t i = 0; i < j->name_num; i++) {
        VmrpcDest dest = j->dest;
        VmrpcVerdict why;

        dest.names = &j->names[i];
        dest.num_names = 1;
        if (is_host_name(j->names[i]) &&
            vmrpc_policy_check(policy, &dest, &why) == 0 && why.by_name &&
            why.terms && why.terms->via == j->condition.terms->via) {
            return j->names[i];
        }
    }
    return "";
}

static void write_pass(const VmrpcPolicy *policy, const Judged *j,
                       VmrpcPass *pass)
{
    VmrpcTerms *terms = j->condition.terms;

    pass->says = j->says;
    pass->terms = vmrpc_terms_ref(terms);
    pass->name[0] = '\0';
    if (terms && terms->via) {
        g_strlcpy(pass->name, name_for_proxy(policy, j), sizeof(pass->name));
    }
}

int vmrpc_dest_to_host(VmrpcReach *reach, const struct sockaddr_in *guest,
                       int proto, struct sockaddr_storage *host,
                       VmrpcPass *pass)
{
    int len = vmrpc_addr_to_host(reach, guest->sin_addr, guest->sin_port, host);
    Judged j VMRPC_UNINITIALIZED;
    int ret;

    if (len < 0) {
        /* No port of the resolver's address can refuse an echo request. */
        return proto == IPPROTO_ICMP && len == -ECONNREFUSED ? -EHOSTUNREACH
                                                             : len;
    }
    ret = judge(reach, host, proto, false, NULL, &j);
    vmrpc_policy_count(reach->policy, &j.why);
    reach->decided = (VmrpcDecided) { j.why.reason, j.why.line };
    if (ret < 0) {
        dest_refused(reach, host, -ret, &j);
        return ret;
    }
    write_pass(reach->policy, &j, pass);
    return len;
}

bool vmrpc_dest_is_allowed(VmrpcReach *reach,
                           const struct sockaddr_storage *host, int proto,
                           const VmrpcTerms *terms, VmrpcSays *says)
{
    Judged j VMRPC_UNINITIALIZED;
    bool allowed = judge(reach, host, proto, false, NULL, &j) == 0;

    if (says) {
        *says = j.says;
    }
    reach->decided = (VmrpcDecided) { j.why.reason, j.why.line };
    return allowed && j.condition.terms == terms;
}

int vmrpc_dest_says(VmrpcReach *reach, const struct sockaddr_storage *host,
                    int proto, const char *name, unsigned *line)
{
    const DnsName *targets[VMRPC_TARGETS_VISITS];
    Judged j VMRPC_UNINITIALIZED;
    Said said = { .text = name };
    DnsName wire;
    size_t num;
    int ret;

    *line = 0;
    if (!reach->names || dns_name_from_text(&wire, name) < 0) {
        return -ENOENT;
    }
    said.num = vmrpc_names_find(reach->names, &wire, &said.ways[0]);
    num = vmrpc_targets_walk(reach->targets, &wire, targets);
    for (size_t i = 0; i < num; i++) {
        said.num += vmrpc_names_find(reach->names, targets[i],
                                     &said.ways[said.num]);
    }
    if (!said.num) {
        return -ENOENT;
    }
    ret = judge(reach, host, proto, false, &said, &j);
    *line = j.why.line;
    return !j.led ? -ENOENT : ret < 0 ? -EACCES : 0;
}

int vmrpc_dest_terms(VmrpcReach *reach, const struct sockaddr_storage *host,
                     int proto, VmrpcTerms **terms, VmrpcSays *says)
{
    Judged j VMRPC_UNINITIALIZED;
    int ret = judge(reach, host, proto, false, NULL, &j);

    if (ret == 0) {
        *terms = vmrpc_terms_ref(j.condition.terms);
        *says = j.says;
    }
    return ret;
}

int vmrpc_group_check(VmrpcReach *reach, struct in_addr group4, in_port_t port)
{
    Judged j VMRPC_UNINITIALIZED;
    struct sockaddr_storage host;
    int ret = vmrpc_addr_to_host(reach, group4, port, &host);

    if (ret < 0) {
        return ret;
    }
    ret = judge(reach, &host, IPPROTO_UDP, !port, NULL, &j);
    /* "Some port may be allowed" is not a verdict yet: do not count it. */
    if (port || ret < 0) {
        vmrpc_policy_count(reach->policy, &j.why);
    }
    if (ret < 0) {
        dest_refused(reach, &host, -ret, &j);
    }
    return ret;
}
