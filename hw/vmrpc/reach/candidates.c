/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: the other addresses of a destination's name
 *
 * Theory of operation
 * ===================
 *
 * A guest that connects to an address does not say which name it has looked
 * up.  Anybody can publish a name of his own with another's address and one
 * more of his own.  So one name's addresses prove nothing about another name:
 * a connection may move to another address only if all names of the
 * destination have that address.  If a destination has more names than
 * VMRPC_POLICY_MAX_NAMES, there are no other candidates.
 *
 * The latest name must have the address now, within its TTL.  For the other
 * names it is enough that they had it once: most names are not asked for again
 * after their TTL, and an address has several names.
 */
#include "hw/vmrpc/reach/candidates.h"

#include "hw/vmrpc/reach/dest-names.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/translate.h"

/*
 * Fills in the candidate for @addr6, a key of the table of names.  Returns
 * false if no connection can go there, or the address is the VM's own: such a
 * connection stays inside the guest.
 */
static bool fill_candidate(const VmrpcReach *reach,
                           const struct in6_addr *addr6, in_port_t port,
                           VmrpcCandidate *candidate)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in_addr addr4;

    *candidate = (VmrpcCandidate) { .addr6 = *addr6, .port = port };
    if (vmrpc_names_get_key4(addr6, &addr4)) {
        if (!prefix || vmrpc_addr_is_group(addr4)) {
            return false;
        }
        nat64_embed(prefix, addr4, &candidate->addr6);
    }
    candidate->synthesized = prefix &&
                             nat64_extract(prefix, &candidate->addr6, &addr4);
    return !reach->config->has_address6 ||
           !IN6_ARE_ADDR_EQUAL(&candidate->addr6, &reach->config->address6);
}

bool vmrpc_candidate_is_allowed(VmrpcReach *reach,
                                const VmrpcCandidate *candidate,
                                const VmrpcTerms *terms, VmrpcSays *says)
{
    struct sockaddr_storage ss = { };
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;

    sin6->sin6_family = AF_INET6;
    sin6->sin6_addr = candidate->addr6;
    sin6->sin6_port = candidate->port;
    return vmrpc_dest_is_allowed(reach, &ss, IPPROTO_TCP, terms, says);
}

/*
 * The addresses of a name, at most VMRPC_NAMES_MAX_ADDRESSES; @now_ms is as
 * for vmrpc_names_siblings().
 */
static size_t list_siblings(const VmrpcReach *reach,
                            const VmrpcNameFound *found, in_port_t port,
                            int64_t now_ms, VmrpcCandidate *siblings)
{
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    size_t count, num = 0;

    count = vmrpc_names_siblings(reach->names, found, now_ms, addrs);
    for (size_t i = 0; i < count; i++) {
        num += fill_candidate(reach, &addrs[i], port, &siblings[num]);
    }
    return num;
}

/* Keeps those of @siblings that are in @others too.  Returns how many. */
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

/* The addresses that all names of @named have in common. */
static size_t common_siblings(const VmrpcReach *reach,
                              const struct sockaddr_in6 *named,
                              VmrpcCandidate *siblings)
{
    VmrpcCandidate others[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcNameFound found[VMRPC_POLICY_MAX_NAMES + 1];
    size_t names, num, count;

    names = vmrpc_dest_names(reach, &named->sin6_addr, found,
                             G_N_ELEMENTS(found));
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
                             VmrpcCandidate *candidates, size_t max,
                             const VmrpcTerms *terms)
{
    VmrpcCandidate siblings[VMRPC_NAMES_MAX_ADDRESSES];
    size_t num = 0, count = common_siblings(reach, named, siblings);

    fill_candidate(reach, &named->sin6_addr, named->sin6_port,
                   &candidates[num++]);
    for (size_t i = 0; count > 1 && i < count && num < max; i++) {
        if (!IN6_ARE_ADDR_EQUAL(&siblings[i].addr6, &named->sin6_addr) &&
            vmrpc_candidate_is_allowed(reach, &siblings[i], terms, NULL)) {
            candidates[num++] = siblings[i];
        }
    }
    return num;
}
