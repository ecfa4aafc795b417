/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 multicast groups and the IPv6 groups that represent them
 *
 *   224.0.0.0/24     ff02::/120      the link; same number as IANA's IPv6
 *                                    counterpart of the group
 *   239.255.0.0/16   ff15::a.b.c.d   the site (RFC 2365, 6.1)
 *   239.192.0.0/14   ff18::a.b.c.d   the organisation (RFC 2365, 6.2)
 *   any other        ff1e::a.b.c.d   global
 *
 * The last 32 bits hold the IPv4 group.  All but the first are transient
 * groups (RFC 4291, 2.7), which no registry assigns.  RFC 3307 leaves group
 * ids whose first octet is 224 or more to programs.
 */
#ifndef HW_VMRPC_MULTICAST_H
#define HW_VMRPC_MULTICAST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most groups of one socket, as in Linux */
#define VMRPC_GROUPS_MAX 20

/**
 * vmrpc_group_to6: the IPv6 group for an IPv4 group
 *
 * Returns: whether @group4 is a multicast address.
 */
bool vmrpc_group_to6(struct in_addr group4, struct in6_addr *group6);

/**
 * vmrpc_group_to4: the IPv4 group that an IPv6 group represents
 *
 * Returns: false if vmrpc_group_to6() never gives @group6.
 */
bool vmrpc_group_to4(const struct in6_addr *group6, struct in_addr *group4);

/* IP_ADD_MEMBERSHIP, IPV6_ADD_MEMBERSHIP, or their opposites */
typedef struct VmrpcMembership {
    struct in6_addr group;      /* of IPv4: IPv4-mapped */
    bool join;                  /* false: leave */
} VmrpcMembership;

/** vmrpc_membership_is_option: does an option of the guest join or leave? */
bool vmrpc_membership_is_option(int level, int optname);

/**
 * vmrpc_membership_parse: parse an option of the guest
 * @level, @optname: as the guest gave them
 * @value: struct ip_mreq, ip_mreqn or ipv6_mreq, @len bytes
 * @guest4: the address of the guest's one interface
 * @membership: filled in if the option is valid
 *
 * Returns: 1 if @membership is filled in; 0 for any other option; -EINVAL,
 * -ENODEV or -EADDRNOTAVAIL where Linux gives the same error.
 */
int vmrpc_membership_parse(int level, int optname, const void *value,
                           size_t len, struct in_addr guest4,
                           VmrpcMembership *membership);

#endif /* HW_VMRPC_MULTICAST_H */
