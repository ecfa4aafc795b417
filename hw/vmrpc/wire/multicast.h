/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 multicast groups and the IPv6 groups that stand for them
 *
 *   224.0.0.0/24     ff02::/120      the link; the same number as IANA gives
 *                                    the group's IPv6 counterpart
 *   239.255.0.0/16   ff15::a.b.c.d   the site (RFC 2365, 6.1)
 *   239.192.0.0/14   ff18::a.b.c.d   the organisation (RFC 2365, 6.2)
 *   any other        ff1e::a.b.c.d   everywhere
 *
 * The IPv4 group is in the last 32 bits. All but the first are transient
 * groups (RFC 4291, 2.7): nobody has assigned them, and 224 and more in the
 * first octet of a group ID is what RFC 3307 leaves to programs.
 */
#ifndef HW_VMRPC_MULTICAST_H
#define HW_VMRPC_MULTICAST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Groups that one socket can be a member of, as many as Linux allows. */
#define VMRPC_GROUPS_MAX 20

/**
 * vmrpc_group_to6: the IPv6 group for an IPv4 group
 *
 * Returns: false if @group4 is no multicast address.
 */
bool vmrpc_group_to6(struct in_addr group4, struct in6_addr *group6);

/**
 * vmrpc_group_to4: the IPv4 group that an IPv6 group stands for
 *
 * Returns: false if vmrpc_group_to6() makes @group6 of no IPv4 group.
 */
bool vmrpc_group_to4(const struct in6_addr *group6, struct in_addr *group4);

/* What the guest asks for: IP_ADD_MEMBERSHIP, IP_DROP_MEMBERSHIP. */
typedef struct VmrpcMembership {
    struct in_addr group4;
    bool join;                  /* or leave */
} VmrpcMembership;

/**
 * vmrpc_membership_parse: an option of the guest
 * @level, @optname: as the guest gave them
 * @value: its bytes, struct ip_mreq or ip_mreqn; @len of them
 * @guest4: the address that may stand for the guest's one interface
 * @membership: filled in if it is a good one
 *
 * Returns: 1 if it is; 0 if the option is not about membership; -EINVAL,
 * -ENODEV or -EADDRNOTAVAIL as Linux gives for what is wrong with it.
 */
int vmrpc_membership_parse(int level, int optname, const void *value,
                           size_t len, struct in_addr guest4,
                           VmrpcMembership *membership);

#endif /* HW_VMRPC_MULTICAST_H */
