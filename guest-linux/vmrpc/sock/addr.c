// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses: on the wire, and whether the host can serve them
 *
 * Addresses within the guest never leave it: loopback, link-local ones, groups
 * of the interface alone, the guest's own address and all other addresses of its
 * interfaces.
 *
 * A socket of AF_INET6 names an IPv4 address as ::ffff:a.b.c.d, which here and
 * on the host means what a.b.c.d means to a socket of AF_INET.
 */
#include <linux/ipv6.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp_states.h>

#include "sock/addr.h"

/* --- on the wire ----------------------------------------------------------- */

/**
 * vmrpc_addr_put - write an address into a request
 * @call: a call for a socket
 * @from: an address
 */
void vmrpc_addr_put(struct vmrpc_call *call, const union vmrpc_name *from)
{
	struct vmrpc_addr *to = &call->req.addr;

	if (from->family == AF_INET6) {
		to->family = cpu_to_le16(VMRPC_AF_INET6);
		memcpy(call->req6.addr, &from->in6.sin6_addr,
		       sizeof(call->req6.addr));
		to->addr = from->in6.sin6_flowinfo & IPV6_FLOWINFO_MASK;
	} else {
		to->family = cpu_to_le16(VMRPC_AF_INET);
		to->addr = from->in.sin_addr.s_addr;
	}
	to->port = from->in.sin_port;
}

/**
 * vmrpc_addr_get - read an address from an answer
 * @call: a call for a socket, answered
 * @to: set, unless there is none
 *
 * Returns false if there is no address of the socket's family.
 */
bool vmrpc_addr_get(struct vmrpc_call *call, union vmrpc_name *to)
{
	const struct vmrpc_addr *from = &call->resp.addr;
	u16 family = le16_to_cpu(from->family);

	if (family != (call->inet6 ? VMRPC_AF_INET6 : VMRPC_AF_INET))
		return false;
	memset(to, 0, sizeof(*to));
	if (call->inet6) {
		to->in6.sin6_family = AF_INET6;
		memcpy(&to->in6.sin6_addr, call->resp6.addr,
		       sizeof(to->in6.sin6_addr));
		if (ipv6_addr_type(&to->in6.sin6_addr) & IPV6_ADDR_LINKLOCAL)
			to->in6.sin6_scope_id = call->dev->ifindex;
	} else {
		to->in.sin_family = AF_INET;
		to->in.sin_addr.s_addr = from->addr;
	}
	to->in.sin_port = from->port;
	return true;
}

/* --- names ----------------------------------------------------------------- */

static union vmrpc_name name4(__be32 addr, __be16 port)
{
	return (union vmrpc_name) { .in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = addr,
		.sin_port = port,
	} };
}

static union vmrpc_name name6(const struct in6_addr *addr, __be16 port)
{
	return (union vmrpc_name) { .in6 = {
		.sin6_family = AF_INET6,
		.sin6_addr = *addr,
		.sin6_port = port,
	} };
}

/**
 * vmrpc_addr_any - all addresses, no port
 * @vs: the socket
 */
union vmrpc_name vmrpc_addr_any(const struct vmrpc_sock *vs)
{
	/* The port has one place in both; see also vmrpc_addr_put(). */
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	if (vmrpc_sk_is_inet6(vs->sk))
		return name6(&in6addr_any, 0);
	return name4(htonl(INADDR_ANY), 0);
}

/**
 * vmrpc_addr_self - the guest's own IPv4 address, no port
 * @vs: the socket
 */
union vmrpc_name vmrpc_addr_self(const struct vmrpc_sock *vs)
{
	struct in6_addr mapped;

	if (!vmrpc_sk_is_inet6(vs->sk))
		return name4(vs->dev->guest4, 0);
	ipv6_addr_set_v4mapped(vs->dev->guest4, &mapped);
	return name6(&mapped, 0);
}

/**
 * vmrpc_addr_bound - the address and port that the native side is bound to
 * @vs: the socket
 */
union vmrpc_name vmrpc_addr_bound(const struct vmrpc_sock *vs)
{
	const struct inet_sock *inet = inet_sk(vs->sk);
	__be16 port = htons(inet->inet_num);

#if IS_ENABLED(CONFIG_IPV6)
	if (vmrpc_sk_is_inet6(vs->sk))
		return name6(&vs->sk->sk_v6_rcv_saddr, port);
#endif
	return name4(inet->inet_rcv_saddr, port);
}

/**
 * vmrpc_addr_has_native_peer - is the native side connected?
 * @sk: the native side of a datagram socket
 */
bool vmrpc_addr_has_native_peer(const struct sock *sk)
{
	/* The IPv6 address of a peer stays when it is dissolved. */
	if (vmrpc_sk_is_inet6(sk))
		return READ_ONCE(sk->sk_state) == TCP_ESTABLISHED;
	return READ_ONCE(inet_sk(sk)->inet_daddr);
}

/**
 * vmrpc_addr_native_peer - the peer of the native side, or all zero
 * @vs: the socket
 */
union vmrpc_name vmrpc_addr_native_peer(const struct vmrpc_sock *vs)
{
	const struct inet_sock *inet = inet_sk(vs->sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (vmrpc_sk_is_inet6(vs->sk))
		return name6(inet->inet_dport ||
			     vmrpc_addr_has_native_peer(vs->sk) ?
			     &vs->sk->sk_v6_daddr : &in6addr_any,
			     inet->inet_dport);
#endif
	return name4(inet->inet_daddr, inet->inet_dport);
}

/**
 * vmrpc_addr_scope - the interface that an address itself names
 * @name: an address
 *
 * 0: none.
 */
int vmrpc_addr_scope(const union vmrpc_name *name)
{
	return name->family == AF_INET6 &&
	       __ipv6_addr_needs_scope_id(__ipv6_addr_type(&name->in6.sin6_addr)) ?
	       name->in6.sin6_scope_id : 0;
}

/**
 * vmrpc_addr_fill - copy an address that a program gave
 * @vs: the socket
 * @to: set; zero behind @len
 * @from: kernel copy
 * @len: its length, at least that of a struct sockaddr_in
 *
 * Datagram sockets of AF_INET6 take addresses of AF_INET, too.
 */
void vmrpc_addr_fill(const struct vmrpc_sock *vs, union vmrpc_name *to,
		     const void *from, int len)
{
	struct in6_addr mapped;

	memset(to, 0, sizeof(*to));
	memcpy(to, from, min_t(int, len, sizeof(*to)));
	/* An interface counts where an address needs one, and is shown there. */
	if (to->family == AF_INET6)
		to->in6.sin6_scope_id = vmrpc_addr_scope(to);
	if (!vmrpc_sk_is_inet6(vs->sk))
		return;
	if (!vmrpc_sends_flow(vs->sk) && to->family == AF_INET6)
		to->in6.sin6_flowinfo = 0;
	if (to->family != AF_INET || vs->sk->sk_type != SOCK_DGRAM)
		return;
	ipv6_addr_set_v4mapped(to->in.sin_addr.s_addr, &mapped);
	*to = name6(&mapped, to->in.sin_port);
}

/**
 * vmrpc_addr_is_any - is it 0.0.0.0 or ::?
 * @name: an address
 */
bool vmrpc_addr_is_any(const union vmrpc_name *name)
{
	return name->family == AF_INET6 ?
	       ipv6_addr_any(&name->in6.sin6_addr) :
	       name->in.sin_addr.s_addr == htonl(INADDR_ANY);
}

/**
 * vmrpc_addr_get4 - is it an IPv4 address, in either family?
 * @name: an address
 * @addr: set if so
 */
bool vmrpc_addr_get4(const union vmrpc_name *name, __be32 *addr)
{
	if (name->family != AF_INET6) {
		*addr = name->in.sin_addr.s_addr;
		return true;
	}
	*addr = name->in6.sin6_addr.s6_addr32[3];
	return ipv6_addr_v4mapped(&name->in6.sin6_addr);
}

/**
 * vmrpc_addr_is_multicast - is it a group, of either family?
 * @name: an address
 */
bool vmrpc_addr_is_multicast(const union vmrpc_name *name)
{
	__be32 addr;

	if (vmrpc_addr_get4(name, &addr))
		return ipv4_is_multicast(addr);
	return ipv6_addr_is_multicast(&name->in6.sin6_addr);
}

/**
 * vmrpc_addr_is_of_interface - is it a group that leaves no interface?
 * @name: a multicast address
 *
 * IPv4 has none.
 */
bool vmrpc_addr_is_of_interface(const union vmrpc_name *name)
{
	return name->family == AF_INET6 &&
	       ipv6_addr_is_multicast(&name->in6.sin6_addr) &&
	       IPV6_ADDR_MC_SCOPE(&name->in6.sin6_addr) <=
	       IPV6_ADDR_SCOPE_NODELOCAL;
}

/* --- which side ------------------------------------------------------------ */

/**
 * vmrpc_addr_device_is_other - is it bound to another interface than vmrpc0?
 * @vs: the socket
 *
 * By SO_BINDTODEVICE.  In another namespace the route decides.
 */
bool vmrpc_addr_device_is_other(const struct vmrpc_sock *vs)
{
	int ifindex = READ_ONCE(vs->sk->sk_bound_dev_if);

	return ifindex && ifindex != vs->dev->ifindex &&
	       !vmrpc_sock_is_contained(vs);
}

/**
 * vmrpc_addr_chosen_device - the interface that it sends unicast on
 * @vs: a socket of AF_INET, or one that names an IPv4-mapped address
 *
 * 0: the routes decide.
 */
int vmrpc_addr_chosen_device(const struct vmrpc_sock *vs)
{
	int ifindex = READ_ONCE(vs->sk->sk_bound_dev_if);

	if (!ifindex && vs->sk->sk_type == SOCK_DGRAM)
		ifindex = READ_ONCE(inet_sk(vs->sk)->uc_index);
	return ifindex;
}

/**
 * vmrpc_addr_chosen_source - the IPv4 address that the program has bound it to
 * @vs: the socket
 *
 * 0: none.  One that is bound to an IPv6 address has one of loopback, as Linux
 * sets it.
 */
__be32 vmrpc_addr_chosen_source(const struct vmrpc_sock *vs)
{
	return vs->sk->sk_userlocks & SOCK_BINDADDR_LOCK ?
	       inet_sk(vs->sk)->inet_saddr : 0;
}

/*
 * Names lead to addresses of the pool, and a route of the guest's takes them
 * away: that of a VPN with "fake IP" DNS, which uses the same ones.
 */
static void tell_pool(const struct vmrpc_device *dev, __be32 addr,
		      const struct net_device *to)
{
	if (dev->pool4_mask && (addr & dev->pool4_mask) == dev->pool4)
		pr_notice_once("vmrpc: the guest's routes send %pI4 to %s and not to the host: it is one of the addresses that names get; give the device another pool4=, or the other program other addresses\n",
			       &addr, to->name);
}

/**
 * vmrpc_addr_is_native4 - is an IPv4 address reached without the host?
 * @vs: a socket of the first network namespace; its interface
 *      (SO_BINDTODEVICE, IP_UNICAST_IF) and mark are used for the route
 * @addr: destination; INADDR_ANY means loopback, as for connect()
 *
 * Native are the guest's own addresses, and all addresses whose route leaves by
 * another interface than vmrpc0: a container's, a second NIC's.  If there is no
 * route, the host decides.
 */
bool vmrpc_addr_is_native4(const struct vmrpc_sock *vs, __be32 addr)
{
	const struct vmrpc_device *dev = vs->dev;
	int chosen = vmrpc_addr_chosen_device(vs);
	struct flowi4 fl4 = {
		.daddr = addr,
		.flowi4_oif = chosen,
		.flowi4_mark = READ_ONCE(vs->sk->sk_mark),
	};
	struct rtable *rt;
	bool native;

	if (addr == htonl(INADDR_ANY) || ipv4_is_loopback(addr) ||
	    (dev->guest4 && addr == dev->guest4))
		return true;
	rt = ip_route_output_key(&init_net, &fl4);
	if (IS_ERR(rt))
		return chosen && chosen != dev->ifindex;
	native = rt->dst.dev != READ_ONCE(dev->netdev);
	if (unlikely(native) && !chosen)
		tell_pool(dev, addr, rt->dst.dev);
	ip_rt_put(rt);
	return native;
}

#if IS_ENABLED(CONFIG_IPV6)
/* Does it mean something inside the guest, whatever the routes? */
static bool is_inside6(const struct vmrpc_sock *vs, const struct in6_addr *addr)
{
	/* A stream to a group has no peer: the guest's own stack says so. */
	if (ipv6_addr_is_multicast(addr))
		return vs->sk->sk_type == SOCK_STREAM;
	return ipv6_addr_any(addr) ||
	       ipv6_addr_equal(addr, &vs->dev->guest6) ||
	       ipv6_addr_type(addr) & (IPV6_ADDR_LOOPBACK | IPV6_ADDR_LINKLOCAL);
}

/*
 * The same for an IPv6 address.  Without a route it is native, and the guest's
 * own stack gives the error: programs without IPv6 must take IPv4.
 */
static bool is_native6(const struct vmrpc_sock *vs, const struct in6_addr *addr)
{
	const struct ipv6_pinfo *np = inet6_sk(vs->sk);
	int chosen = READ_ONCE(vs->sk->sk_bound_dev_if);
	struct flowi6 fl6 = {
		.daddr = *addr,
		.flowi6_mark = READ_ONCE(vs->sk->sk_mark),
	};
	struct dst_entry *dst;
	bool native;

	if (is_inside6(vs, addr))
		return true;
	if (!chosen && vs->sk->sk_type == SOCK_DGRAM &&
	    !ipv6_addr_is_multicast(addr))
		chosen = READ_ONCE(np->ucast_oif);
	fl6.flowi6_oif = chosen;
	dst = ip6_route_output(&init_net, NULL, &fl6);
	native = dst->error || dst->dev != READ_ONCE(vs->dev->netdev);
	dst_release(dst);
	return native;
}
#endif

/**
 * vmrpc_addr_is_native - is an address reached without the host?
 * @vs: a socket
 * @to: destination
 *
 * As vmrpc_addr_is_native4().
 */
bool vmrpc_addr_is_native(const struct vmrpc_sock *vs,
			  const union vmrpc_name *to)
{
	__be32 addr;

	if (!vmrpc_addr_get4(to, &addr)) {
#if IS_ENABLED(CONFIG_IPV6)
		return is_native6(vs, &to->in6.sin6_addr);
#endif
	}
	/* With IPV6_V6ONLY, the native side returns the error. */
	return (vmrpc_sk_is_inet6(vs->sk) && ipv6_only_sock(vs->sk)) ||
	       vmrpc_addr_is_native4(vs, addr);
}

/* Is the group that of another interface, or of no other node? */
static bool is_group_elsewhere(const struct vmrpc_sock *vs,
			       const union vmrpc_name *group)
{
	int ifindex = vmrpc_addr_scope(group);

	return (ifindex && ifindex != vs->dev->ifindex) ||
	       vmrpc_addr_is_of_interface(group);
}

/**
 * vmrpc_addr_is_shared - can the host bind to an address as well?
 * @vs: a socket
 * @name: of bind()
 */
bool vmrpc_addr_is_shared(const struct vmrpc_sock *vs,
			  const union vmrpc_name *name)
{
	__be32 addr;

	/* No peer can reach a stream that is bound to a group. */
	if (vmrpc_addr_is_multicast(name))
		return vs->sk->sk_protocol == IPPROTO_UDP &&
		       !is_group_elsewhere(vs, name);
	if (!vmrpc_addr_get4(name, &addr))
		return vmrpc_addr_is_any(name) ||
		       ipv6_addr_equal(&name->in6.sin6_addr, &vs->dev->guest6);
	return addr == htonl(INADDR_ANY) ||
	       (vs->dev->guest4 && addr == vs->dev->guest4);
}

/**
 * vmrpc_addr_bound_elsewhere - is a socket bound where the host cannot serve it?
 * @vs: the socket
 *
 * To an address that the host does not have, or to another interface than
 * vmrpc0.  Such a socket can only have peers within the guest.  Of a container's,
 * that is one on loopback.
 */
bool vmrpc_addr_bound_elsewhere(const struct vmrpc_sock *vs)
{
	union vmrpc_name bound = vmrpc_addr_bound(vs);

	if (vmrpc_sock_is_contained(vs))
		return bound.family == AF_INET6 &&
		       !ipv6_addr_v4mapped(&bound.in6.sin6_addr) ?
		       ipv6_addr_loopback(&bound.in6.sin6_addr) :
		       ipv4_is_loopback(vmrpc_addr_chosen_source(vs));
	return vmrpc_addr_device_is_other(vs) ||
	       (bound.in.sin_port && !vmrpc_addr_is_shared(vs, &bound));
}
