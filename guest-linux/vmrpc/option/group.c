// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Membership in multicast groups
 *
 * A program joins a group on an interface: the one it names, that of an address
 * it names, or that of its route to the group.  The native side joins in every
 * case, which checks the option and limits the number.  If the interface is
 * vmrpc0, the host joins as well, on the interface of its choice.  The
 * datagrams of the group then come from the host only: what the guest sends to
 * the group also leaves by the host, and comes back.
 *
 * All forms of the option are one on the wire: IP_ADD_MEMBERSHIP and
 * IP_DROP_MEMBERSHIP with a struct ip_mreqn without an interface, or those of
 * IPv6 with a struct ipv6_mreq.  Membership that depends on the source stays
 * native; on vmrpc0 there is none.  In another network namespace all stays
 * native, and so do groups of IPv6 that do not leave the interface.
 */
#include <linux/compat.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "host/host.h"
#include "host/optlist.h"
#include "option/group.h"
#include "option/option.h"
#include "sock/addr.h"

/* All forms of the option fit, or the beginning that is read. */
#define PEEK_MAX	(sizeof(struct group_req))

/**
 * struct membership - an option of any form
 * @group: the group, of AF_INET or AF_INET6
 * @address: address of the interface; INADDR_ANY: not given
 * @ifindex: index of the interface; 0: use @address
 */
struct membership {
	union vmrpc_name group;
	__be32 address;
	int ifindex;
};

/**
 * struct plain - the option that joins, its opposite, and the value of both
 * @level: of both
 * @join: name of the option
 * @leave: name of its opposite
 * @len: length of the value
 * @value: of either family
 */
struct plain {
	int level;
	int join;
	int leave;
	unsigned int len;
	union {
		struct ip_mreqn mreqn;
		struct ipv6_mreq mreq6;
	} value;
};

/* @ifindex, @address: of the interface; both 0 on the wire */
static struct plain plain(const struct membership *m, int ifindex,
			  __be32 address)
{
	if (m->group.family == AF_INET6)
		return (struct plain) {
			.level = IPPROTO_IPV6,
			.join = IPV6_ADD_MEMBERSHIP,
			.leave = IPV6_DROP_MEMBERSHIP,
			.len = sizeof(struct ipv6_mreq),
			.value.mreq6.ipv6mr_multiaddr =
				m->group.in6.sin6_addr,
			.value.mreq6.ipv6mr_ifindex = ifindex,
		};
	return (struct plain) {
		.level = IPPROTO_IP,
		.join = IP_ADD_MEMBERSHIP,
		.leave = IP_DROP_MEMBERSHIP,
		.len = sizeof(struct ip_mreqn),
		.value.mreqn.imr_multiaddr = m->group.in.sin_addr,
		.value.mreqn.imr_address.s_addr = address,
		.value.mreqn.imr_ifindex = ifindex,
	};
}

/**
 * vmrpc_group_is_option - is an option about membership?
 * @level: from the program
 * @name: from the program
 */
bool vmrpc_group_is_option(int level, int name)
{
	switch (name) {
	case IPV6_ADD_MEMBERSHIP:
	case IPV6_DROP_MEMBERSHIP:
		return level == IPPROTO_IPV6;
	case IP_ADD_MEMBERSHIP:
	case IP_DROP_MEMBERSHIP:
	case IP_UNBLOCK_SOURCE:
	case IP_BLOCK_SOURCE:
	case IP_ADD_SOURCE_MEMBERSHIP:
	case IP_DROP_SOURCE_MEMBERSHIP:
	case IP_MSFILTER:
		return level == IPPROTO_IP;
	case MCAST_JOIN_GROUP:
	case MCAST_BLOCK_SOURCE:
	case MCAST_UNBLOCK_SOURCE:
	case MCAST_LEAVE_GROUP:
	case MCAST_JOIN_SOURCE_GROUP:
	case MCAST_LEAVE_SOURCE_GROUP:
	case MCAST_MSFILTER:
		return level == IPPROTO_IP || level == IPPROTO_IPV6;
	default:
		return false;
	}
}

static bool joins(int level, int name)
{
	return name == MCAST_JOIN_GROUP ||
	       name == (level == IPPROTO_IPV6 ? IPV6_ADD_MEMBERSHIP
					      : IP_ADD_MEMBERSHIP);
}

/* Can it be the first option for a group?  The others change a membership. */
static bool joins_for_source(int name)
{
	return name == IP_ADD_SOURCE_MEMBERSHIP ||
	       name == MCAST_JOIN_SOURCE_GROUP;
}

static bool leaves(int level, int name)
{
	return name == MCAST_LEAVE_GROUP ||
	       name == (level == IPPROTO_IPV6 ? IPV6_DROP_MEMBERSHIP
					      : IP_DROP_MEMBERSHIP);
}

static void set_group6(struct membership *m, const struct in6_addr *group)
{
	m->group.in6.sin6_family = AF_INET6;
	m->group.in6.sin6_addr = *group;
}

/* Reads any form.  Returns false if the native side refuses it. */
static bool parse(int level, int name, const u8 *value, size_t len,
		  struct membership *m)
{
	const struct ip_mreqn *mreqn = (const struct ip_mreqn *)value;
	const struct ipv6_mreq *mreq6 = (const struct ipv6_mreq *)value;
	/* 32-bit programs pack struct group_req. */
	size_t at = in_compat_syscall() ? sizeof(u32)
					: offsetof(struct group_req, gr_group);
	const union vmrpc_name *name6 = (const union vmrpc_name *)(value + at);

	memset(m, 0, sizeof(*m));
	if (name >= MCAST_JOIN_GROUP) {
		if (len < at + sizeof(*name6))
			return false;
		m->ifindex = *(const u32 *)value;
		if (level == IPPROTO_IPV6)
			set_group6(m, &name6->in6.sin6_addr);
		else
			m->group.in = name6->in;
		return name6->family == m->group.family;
	}
	if (level == IPPROTO_IPV6) {
		if (len < sizeof(*mreq6))
			return false;
		set_group6(m, &mreq6->ipv6mr_multiaddr);
		m->ifindex = mreq6->ipv6mr_ifindex;
		return true;
	}
	if (len < sizeof(struct ip_mreq))
		return false;
	m->group.in.sin_family = AF_INET;
	m->group.in.sin_addr = mreqn->imr_multiaddr;
	m->address = mreqn->imr_address.s_addr;
	if (len >= sizeof(*mreqn) &&
	    (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP))
		m->ifindex = mreqn->imr_ifindex;
	return true;
}

/*
 * Is the interface, found as ip_mc_find_dev() and ipv6_sock_mc_join() do,
 * vmrpc0?
 */
static bool is_ours(const struct vmrpc_sock *vs, const struct membership *m)
{
	struct net_device *dev;
	int ifindex;

	if (vmrpc_sock_is_contained(vs) ||
	    vmrpc_addr_is_of_interface(&m->group))
		return false;
	if (m->ifindex)
		return m->ifindex == vs->dev->ifindex;
	if (m->address) {
		rcu_read_lock();
		dev = __ip_dev_find(&init_net, m->address, false);
		ifindex = dev ? dev->ifindex : 0;
		rcu_read_unlock();
		return ifindex == vs->dev->ifindex;
	}
	return !vmrpc_addr_is_native(vs, &m->group);
}

/**
 * vmrpc_group_is_native - does a socket send to a group natively?
 * @vs: the socket
 * @group: a multicast address
 */
bool vmrpc_group_is_native(const struct vmrpc_sock *vs,
			   const union vmrpc_name *group)
{
	int ifindex = READ_ONCE(inet_sk(vs->sk)->mc_index);
	__be32 addr;

	if (vmrpc_addr_device_is_other(vs) || vmrpc_addr_is_of_interface(group))
		return true;
#if IS_ENABLED(CONFIG_IPV6)
	if (!vmrpc_addr_get4(group, &addr))
		ifindex = vmrpc_addr_scope(group) ? :
			  READ_ONCE(inet6_sk(vs->sk)->mcast_oif);
#endif
	if (ifindex)
		return ifindex != vs->dev->ifindex;
	return vmrpc_addr_is_native(vs, group);
}

static int native_leave(struct socket *sock, const struct membership *m)
{
	struct plain option = plain(m, m->ifindex, m->address);

	return sock_common_setsockopt(sock, option.level, option.leave,
				      KERNEL_SOCKPTR(&option.value),
				      option.len);
}

/* Caller must hold vs->lock. */
static int host_join(struct socket *sock, struct vmrpc_sock *vs,
		     const struct membership *m)
{
	struct plain wire = plain(m, 0, 0);
	int err = 0;

	/* A socket that is bound to another address receives from no group. */
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE ||
	    (vs->has_handle && !vmrpc_addr_bound_elsewhere(vs)))
		err = vmrpc_option_set(vs, VMRPC_OPTION_NOW, wire.level,
				       wire.join, &wire.value, wire.len);
	if (err == VMRPC_USE_NATIVE) {
		vmrpc_host_turn_native(vs);
		return 0;
	}
	if (err)
		native_leave(sock, m);
	return err;
}

/* Caller must hold vs->lock. */
static void host_leave(struct vmrpc_sock *vs, const struct membership *m)
{
	struct plain wire = plain(m, 0, 0);

	vmrpc_option_undo(vs, wire.level, wire.join, wire.leave, &wire.value,
			  wire.len);
}

static int change(struct socket *sock, struct vmrpc_sock *vs, int level,
		  int name, sockptr_t optval, unsigned int optlen,
		  const struct membership *m)
{
	int err;

	mutex_lock(&vs->lock);
	err = sock_common_setsockopt(sock, level, name, optval, optlen);
	if (!err && joins(level, name))
		err = host_join(sock, vs, m);
	else if (!err)
		host_leave(vs, m);
	mutex_unlock(&vs->lock);
	return err;
}

/*
 * On vmrpc0 there is no filter by source.  If there is no membership to change,
 * the native side returns the error.
 */
static int change_sources(struct socket *sock, struct vmrpc_sock *vs,
			  int level, int name, sockptr_t optval,
			  unsigned int optlen, const struct membership *m)
{
	struct plain wire = plain(m, 0, 0);
	int err = -ENOPROTOOPT;

	mutex_lock(&vs->lock);
	if (!joins_for_source(name) &&
	    !vmrpc_optlist_has(vs, wire.level, wire.join, &wire.value))
		err = sock_common_setsockopt(sock, level, name, optval, optlen);
	mutex_unlock(&vs->lock);
	return err;
}

/**
 * vmrpc_group_setsockopt - setsockopt(2) for membership in groups
 * @sock: a datagram socket
 * @vs: its outsourced side
 * @level: IPPROTO_IP or IPPROTO_IPV6
 * @name: option
 * @optval: value
 * @optlen: its length
 *
 * Returns 0 or a negative errno, also the host's.
 */
int vmrpc_group_setsockopt(struct socket *sock, struct vmrpc_sock *vs,
			   int level, int name, sockptr_t optval,
			   unsigned int optlen)
{
	u8 value[PEEK_MAX] __aligned(8);
	unsigned int len = min_t(unsigned int, optlen,
				 name >= MCAST_JOIN_GROUP ? sizeof(value) :
				 level == IPPROTO_IPV6 ?
				 sizeof(struct ipv6_mreq) :
				 sizeof(struct ip_mreqn));
	struct membership m;

	/* If it cannot be read, the kernel may find another error first. */
	if (copy_from_sockptr(value, optval, len) ||
	    !parse(level, name, value, len, &m) ||
	    !vmrpc_addr_is_multicast(&m.group) || !is_ours(vs, &m))
		return sock_common_setsockopt(sock, level, name, optval,
					      optlen);
	if (!joins(level, name) && !leaves(level, name))
		return change_sources(sock, vs, level, name, optval, optlen,
				      &m);
	/*
	 * Both sides use one copy: the program could change its memory in
	 * between.
	 */
	return change(sock, vs, level, name, KERNEL_SOCKPTR(value), len, &m);
}
