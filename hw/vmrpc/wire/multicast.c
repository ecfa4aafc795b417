/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 multicast groups and the IPv6 groups that represent them
 *
 * No RFC maps every IPv4 group to an IPv6 group: RFC 6052 excludes multicast,
 * RFC 8115 lets each site choose a prefix.  The scopes here are those that both
 * families define, so a datagram that does not leave a site as IPv4 does not
 * leave it as IPv6.
 */
#include "hw/vmrpc/wire/multicast.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/wire/guest-numbers.h"

enum {
    G_MREQ = 8,                 /* struct ip_mreq: group, address */
    G_MREQN = 12,               /* struct ip_mreqn: and s32 ifindex */
    G_MREQ6 = 20,               /* struct ipv6_mreq: group, s32 ifindex */
};

/* The IPv6 scope of an IPv4 prefix; the first match counts. */
typedef struct Scope {
    uint32_t net, mask;         /* IPv4, host byte order */
    uint8_t second;             /* octet of the IPv6 group: flags and scope */
    uint32_t keep;              /* bits of the IPv4 group that it keeps */
} Scope;

static const Scope scopes[] = {
    { 0xe0000000, 0xffffff00, 0x02, 0x000000ff },
    { 0xefff0000, 0xffff0000, 0x15, 0xffffffff },
    { 0xefc00000, 0xfffc0000, 0x18, 0xffffffff },
    { 0xe0000000, 0xf0000000, 0x1e, 0xffffffff },
};

bool vmrpc_group_to6(struct in_addr group4, struct in6_addr *group6)
{
    uint32_t group = ntohl(group4.s_addr), low;

    for (size_t i = 0; i < G_N_ELEMENTS(scopes); i++) {
        if ((group & scopes[i].mask) == scopes[i].net) {
            memset(group6, 0, sizeof(*group6));
            group6->s6_addr[0] = 0xff;
            group6->s6_addr[1] = scopes[i].second;
            low = htonl(group & scopes[i].keep);
            memcpy(&group6->s6_addr[12], &low, sizeof(low));
            return true;
        }
    }
    return false;
}

bool vmrpc_group_to4(const struct in6_addr *group6, struct in_addr *group4)
{
    struct in6_addr back;
    uint32_t low;

    memcpy(&low, &group6->s6_addr[12], sizeof(low));
    if (group6->s6_addr[1] == scopes[0].second) {
        low = htonl(ntohl(low) | scopes[0].net);
    }
    group4->s_addr = low;
    return vmrpc_group_to6(*group4, &back) &&
           memcmp(&back, group6, sizeof(back)) == 0;
}

bool vmrpc_membership_is_option(int level, int optname)
{
    return level == SOL_IP
           ? optname == IP_ADD_MEMBERSHIP || optname == IP_DROP_MEMBERSHIP
           : level == SOL_IPV6 && (optname == IPV6_ADD_MEMBERSHIP ||
                                   optname == IPV6_DROP_MEMBERSHIP);
}

static int parse6(int optname, const uint8_t *from, size_t len,
                  VmrpcMembership *membership)
{
    if (len < G_MREQ6) {
        return -EINVAL;
    }
    memcpy(&membership->group, from, sizeof(membership->group));
    membership->join = optname == IPV6_ADD_MEMBERSHIP;
    if (!IN6_IS_ADDR_MULTICAST(&membership->group)) {
        return membership->join ? -EINVAL : -EADDRNOTAVAIL;
    }
    return get_le32(from + sizeof(membership->group)) ? -ENODEV : 1;
}

int vmrpc_membership_parse(int level, int optname, const void *value,
                           size_t len, struct in_addr guest4,
                           VmrpcMembership *membership)
{
    const uint8_t *from = value;
    struct in_addr group4, interface;

    if (!vmrpc_membership_is_option(level, optname)) {
        return 0;
    }
    if (level == SOL_IPV6) {
        return parse6(optname, from, len, membership);
    }
    if (len < G_MREQ) {
        return -EINVAL;
    }
    memcpy(&group4, from, sizeof(group4));
    memcpy(&interface, from + 4, sizeof(interface));
    membership->group = (struct in6_addr) { { { [10] = 0xff, [11] = 0xff } } };
    memcpy(&membership->group.s6_addr[12], &group4, sizeof(group4));
    membership->join = optname == IP_ADD_MEMBERSHIP;
    if (!IN_MULTICAST(ntohl(group4.s_addr))) {
        return membership->join ? -EINVAL : -EADDRNOTAVAIL;
    }
    /* The number of an interface never passes, only the guest's address. */
    if ((len >= G_MREQN && get_le32(from + G_MREQ)) ||
        (interface.s_addr != INADDR_ANY &&
         interface.s_addr != guest4.s_addr)) {
        return -ENODEV;
    }
    return 1;
}
