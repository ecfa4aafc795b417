// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses: on the wire, and whether the host can serve them
 *
 * Addresses within the guest never leave it: loopback, the guest's own address
 * and all other addresses of its interfaces.
 */
#include <net/ip.h>
#include <net/route.h>

#include "sock/addr.h"

/**
 * vmrpc_addr_put - write an address for the wire
 * @to: in a request
 * @from: an AF_INET address
 */
void vmrpc_addr_put(struct vmrpc_addr *to, const struct sockaddr_in *from)
{
	to->family = cpu_to_le16(VMRPC_AF_INET);
	to->port = from->sin_port;
	to->addr = from->sin_addr.s_addr;
}

/**
 * vmrpc_addr_get - read an address from the wire
 * @to: set, unless there is none
 * @from: in an answer
 *
 * Returns false if there is no address.
 */
bool vmrpc_addr_get(struct sockaddr_in *to, const struct vmrpc_addr *from)
{
	if (le16_to_cpu(from->family) != VMRPC_AF_INET)
		return false;
	memset(to, 0, sizeof(*to));
	to->sin_family = AF_INET;
	to->sin_port = from->port;
	to->sin_addr.s_addr = from->addr;
	return true;
}

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
 * @vs: the socket
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
 * vmrpc_addr_chosen_source - the address that the program has bound it to
 * @vs: the socket
 *
 * 0: none.
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
 * vmrpc_addr_is_native - is an address reached without the host?
 * @vs: a socket of the first network namespace; its interface (SO_BINDTODEVICE, IP_UNICAST_IF) and mark are
 *      used for the route
 * @addr: destination; INADDR_ANY means loopback, as for connect()
 *
 * Native are the guest's own addresses, and all addresses whose route leaves by
 * another interface than vmrpc0: a container's, a second NIC's.  If there is no
 * route, the host decides.
 */
bool vmrpc_addr_is_native(const struct vmrpc_sock *vs, __be32 addr)
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

/**
 * vmrpc_addr_is_shared - can the host bind to an address as well?
 * @vs: a socket
 * @addr: of bind()
 */
bool vmrpc_addr_is_shared(const struct vmrpc_sock *vs, __be32 addr)
{
	/* No peer can reach a stream that is bound to a group. */
	if (ipv4_is_multicast(addr))
		return vs->sk->sk_protocol == IPPROTO_UDP;
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
	const struct inet_sock *inet = inet_sk(vs->sk);

	if (vmrpc_sock_is_contained(vs))
		return ipv4_is_loopback(vmrpc_addr_chosen_source(vs));
	return vmrpc_addr_device_is_other(vs) ||
	       (inet->inet_num &&
		!vmrpc_addr_is_shared(vs, inet->inet_rcv_saddr));
}
