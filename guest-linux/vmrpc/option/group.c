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
 * IP_DROP_MEMBERSHIP with a struct ip_mreqn without an interface.  Membership
 * that depends on the source stays native; on vmrpc0 there is none.  In another
 * network namespace all stays native.
 */
#include <linux/compat.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <net/ip.h>
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
 * @group: the group
 * @address: address of the interface; INADDR_ANY: not given
 * @ifindex: index of the interface; 0: use @address
 */
struct membership {
	__be32 group;
	__be32 address;
	int ifindex;
};

/**
 * vmrpc_group_is_option - is an option about membership?
 * @level: from the program
 * @name: from the program
 */
bool vmrpc_group_is_option(int level, int name)
{
	if (level != IPPROTO_IP)
		return false;
	switch (name) {
	case IP_ADD_MEMBERSHIP:
	case IP_DROP_MEMBERSHIP:
	case IP_UNBLOCK_SOURCE:
	case IP_BLOCK_SOURCE:
	case IP_ADD_SOURCE_MEMBERSHIP:
	case IP_DROP_SOURCE_MEMBERSHIP:
	case IP_MSFILTER:
	case MCAST_JOIN_GROUP:
	case MCAST_BLOCK_SOURCE:
	case MCAST_UNBLOCK_SOURCE:
	case MCAST_LEAVE_GROUP:
	case MCAST_JOIN_SOURCE_GROUP:
	case MCAST_LEAVE_SOURCE_GROUP:
	case MCAST_MSFILTER:
		return true;
	default:
		return false;
	}
}

static bool joins(int name)
{
	return name == IP_ADD_MEMBERSHIP || name == MCAST_JOIN_GROUP;
}

/* Can it be the first option for a group?  The others change a membership. */
static bool joins_for_source(int name)
{
	return name == IP_ADD_SOURCE_MEMBERSHIP ||
	       name == MCAST_JOIN_SOURCE_GROUP;
}

static bool leaves(int name)
{
	return name == IP_DROP_MEMBERSHIP || name == MCAST_LEAVE_GROUP;
}

/* Reads any form.  Returns false if the native side refuses it. */
static bool parse(int name, const u8 *value, size_t len, struct membership *m)
{
	const struct ip_mreqn *mreqn = (const struct ip_mreqn *)value;
	/* 32-bit programs pack struct group_req. */
	size_t at = in_compat_syscall() ? sizeof(u32)
					: offsetof(struct group_req, gr_group);
	const struct sockaddr_in *sin =
		(const struct sockaddr_in *)(value + at);

	memset(m, 0, sizeof(*m));
	if (name >= MCAST_JOIN_GROUP) {
		if (len < at + sizeof(*sin))
			return false;
		m->group = sin->sin_addr.s_addr;
		m->ifindex = *(const u32 *)value;
		return sin->sin_family == AF_INET;
	}
	if (len < sizeof(struct ip_mreq))
		return false;
	m->group = mreqn->imr_multiaddr.s_addr;
	m->address = mreqn->imr_address.s_addr;
	if (len >= sizeof(*mreqn) &&
	    (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP))
		m->ifindex = mreqn->imr_ifindex;
	return true;
}

/* Is the interface, found as ip_mc_find_dev() does, vmrpc0? */
static bool is_ours(const struct vmrpc_sock *vs, const struct membership *m)
{
	struct net_device *dev;
	int ifindex;

	if (vmrpc_sock_is_contained(vs))
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
	return !vmrpc_addr_is_native4(vs, m->group);
}

/**
 * vmrpc_group_is_native - does a socket send to a group natively?
 * @vs: the socket
 * @group: a multicast address
 */
bool vmrpc_group_is_native(const struct vmrpc_sock *vs, __be32 group)
{
	int ifindex = READ_ONCE(inet_sk(vs->sk)->mc_index);

	if (vmrpc_addr_device_is_other(vs))
		return true;
	if (ifindex)
		return ifindex != vs->dev->ifindex;
	return vmrpc_addr_is_native4(vs, group);
}

static int native_leave(struct socket *sock, const struct membership *m)
{
	struct ip_mreqn mreqn = {
		.imr_multiaddr.s_addr = m->group,
		.imr_address.s_addr = m->address,
		.imr_ifindex = m->ifindex,
	};

	return sock_common_setsockopt(sock, IPPROTO_IP, IP_DROP_MEMBERSHIP,
				      KERNEL_SOCKPTR(&mreqn), sizeof(mreqn));
}

/* Caller must hold vs->lock. */
static int host_join(struct socket *sock, struct vmrpc_sock *vs,
		     const struct membership *m)
{
	struct ip_mreqn wire = { .imr_multiaddr.s_addr = m->group };
	int err = 0;

	/* A socket that is bound to another address receives from no group. */
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE ||
	    (vs->has_handle && !vmrpc_addr_bound_elsewhere(vs)))
		err = vmrpc_option_set(vs, VMRPC_OPTION_NOW, IPPROTO_IP,
				       IP_ADD_MEMBERSHIP, &wire, sizeof(wire));
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
	struct ip_mreqn wire = { .imr_multiaddr.s_addr = m->group };

	vmrpc_option_undo(vs, IPPROTO_IP, IP_ADD_MEMBERSHIP, IP_DROP_MEMBERSHIP,
			  &wire, sizeof(wire));
}

static int change(struct socket *sock, struct vmrpc_sock *vs, int name,
		  sockptr_t optval, unsigned int optlen,
		  const struct membership *m)
{
	int err;

	mutex_lock(&vs->lock);
	err = sock_common_setsockopt(sock, IPPROTO_IP, name, optval, optlen);
	if (!err && joins(name))
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
static int change_sources(struct socket *sock, struct vmrpc_sock *vs, int name,
			  sockptr_t optval, unsigned int optlen,
			  const struct membership *m)
{
	struct ip_mreqn wire = { .imr_multiaddr.s_addr = m->group };
	int err = -ENOPROTOOPT;

	mutex_lock(&vs->lock);
	if (!joins_for_source(name) &&
	    !vmrpc_optlist_has(vs, IPPROTO_IP, IP_ADD_MEMBERSHIP, &wire))
		err = sock_common_setsockopt(sock, IPPROTO_IP, name, optval,
					     optlen);
	mutex_unlock(&vs->lock);
	return err;
}

/**
 * vmrpc_group_setsockopt - setsockopt(2) for membership in groups
 * @sock: a datagram socket
 * @vs: its outsourced side
 * @name: option of IPPROTO_IP
 * @optval: value
 * @optlen: its length
 *
 * Returns 0 or a negative errno, also the host's.
 */
int vmrpc_group_setsockopt(struct socket *sock, struct vmrpc_sock *vs,
			   int name, sockptr_t optval, unsigned int optlen)
{
	u8 value[PEEK_MAX] __aligned(8);
	unsigned int len = min_t(unsigned int, optlen,
				 name < MCAST_JOIN_GROUP ?
				 sizeof(struct ip_mreqn) : sizeof(value));
	struct membership m;

	/* If it cannot be read, the kernel may find another error first. */
	if (copy_from_sockptr(value, optval, len) ||
	    !parse(name, value, len, &m) || !ipv4_is_multicast(m.group) ||
	    !is_ours(vs, &m))
		return sock_common_setsockopt(sock, IPPROTO_IP, name, optval,
					      optlen);
	if (!joins(name) && !leaves(name))
		return change_sources(sock, vs, name, optval, optlen, &m);
	/*
	 * Both sides use one copy: the program could change its memory in
	 * between.
	 */
	return change(sock, vs, name, KERNEL_SOCKPTR(value), len, &m);
}
