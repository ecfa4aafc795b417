// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sockets of other network namespaces: what of them the host serves
 *
 * Theory of operation
 * ===================
 *
 * A container's packets for the outside leave by a pair of veth for a bridge of
 * the first namespace, which forwards them to vmrpc0.  vmrpc0 carries no
 * packets.  So what the first namespace would forward there is the host's, and
 * all else stays native: the container's own addresses, its neighbours,
 * published ports, what its or the guest's packet filters drop or divert.
 *
 * The kernel itself answers which it is, for each destination: a first packet,
 * which is never sent, goes through the hooks of the packet filters and the
 * route lookups on that way.  A container cannot reach more than by packets,
 * whatever it does to its own interfaces and routes.  The answer holds for a
 * socket's further datagrams to the same destination for a second.
 *
 * Only a peer can be the host's.  Such a socket takes no port of the virtual
 * machine: bind() and listen() are native, and the host chooses the port that
 * the peer sees.  The program sees its own address, as behind masquerading.
 *
 * For IPv6 addresses the same is asked of IPv6's filters and routes.
 *
 * A socket belongs to the namespace that it was made in, wherever the task is.
 * It keeps that namespace, even if all its interfaces have gone.
 */
#include <linux/icmp.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/ipv6_route.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/rtnetlink.h>

#include "sock/addr.h"
#include "sock/netns.h"

/*
 * The source port of a socket that has none yet: the first of the dynamic ones.
 */
#define SOME_PORT		49152

/**
 * enum policy - sockets of which namespaces does the host serve?
 * @OFF: only of the first
 * @ROUTED: also of those whose packets the first one forwards to vmrpc0
 * @ALL: of all, whatever leaves their own network
 */
enum policy {
	OFF,
	ROUTED,
	ALL,
};

static const char *const policy_names[] = {
	[OFF]		= "off",
	[ROUTED]	= "routed",
	[ALL]		= "all",
};

static int policy = ROUTED;

static int policy_set(const char *val, const struct kernel_param *kp)
{
	int chosen = sysfs_match_string(policy_names, val);

	if (chosen < 0) {
		pr_notice("vmrpc: namespaces=%s is refused: it is one of off, routed, all\n",
			  val);
		return chosen;
	}
	WRITE_ONCE(policy, chosen);
	return 0;
}

static int policy_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", policy_names[READ_ONCE(policy)]);
}

static const struct kernel_param_ops policy_ops = {
	.set = policy_set,
	.get = policy_get,
};

module_param_cb(namespaces, &policy_ops, NULL, 0644);
MODULE_PARM_DESC(namespaces,
		 "Other network namespaces the host serves: off, routed, all");

/* --- a first packet ------------------------------------------------------- */

/* The beginning of all headers behind that of IP. */
struct ports {
	__be16 source;
	__be16 dest;
};

static struct ports *ports_of(const struct sk_buff *skb)
{
	return (struct ports *)skb_transport_header(skb);
}

static void put_transport(struct sk_buff *skb, u8 protocol, __be16 source,
			  __be16 dest)
{
	struct icmphdr *icmp;
	struct tcphdr *tcp;
	struct udphdr *udp;

	skb_set_transport_header(skb, skb->len);
	switch (protocol) {
	case IPPROTO_TCP:
		tcp = skb_put_zero(skb, sizeof(*tcp));
		tcp->source = source;
		tcp->dest = dest;
		tcp->doff = sizeof(*tcp) / 4;
		tcp->syn = 1;
		break;
	case IPPROTO_UDP:
		udp = skb_put_zero(skb, sizeof(*udp));
		udp->source = source;
		udp->dest = dest;
		udp->len = htons(sizeof(*udp));
		break;
	default:
		/* The headers of both families begin alike. */
		icmp = skb_put_zero(skb, sizeof(*icmp));
		icmp->type = protocol == IPPROTO_ICMP ? ICMP_ECHO
						      : ICMPV6_ECHO_REQUEST;
	}
}

static void put_header4(struct sk_buff *skb, u8 protocol, __be32 from,
			__be32 to)
{
	struct iphdr *iph = ip_hdr(skb);

	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tot_len = htons(skb->len);
	iph->ttl = IPDEFTTL;
	iph->protocol = protocol;
	iph->saddr = from;
	iph->daddr = to;
	ip_send_check(iph);
	skb->protocol = htons(ETH_P_IP);
}

static void put_header6(struct sk_buff *skb, u8 protocol,
			const struct in6_addr *from, const struct in6_addr *to)
{
	struct ipv6hdr *iph = ipv6_hdr(skb);

	ip6_flow_hdr(iph, 0, 0);
	iph->payload_len = htons(skb->len - sizeof(*iph));
	iph->nexthdr = protocol;
	iph->hop_limit = IPDEFTTL;
	iph->saddr = *from;
	iph->daddr = *to;
	skb->protocol = htons(ETH_P_IPV6);
}

/*
 * The packet that would open a connection, or carry a datagram; or NULL.
 * @source: IPv4-mapped, if @to is of AF_INET
 */
static struct sk_buff *first_packet(const struct vmrpc_sock *vs,
				    const union vmrpc_name *to,
				    const struct in6_addr *source)
{
	__be16 port = htons(inet_sk(vs->sk)->inet_num ? : SOME_PORT);
	u8 protocol = vs->sk->sk_protocol;
	bool inet6 = to->family == AF_INET6;
	int header = inet6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	struct sk_buff *skb;

	skb = alloc_skb(LL_MAX_HEADER + header + sizeof(struct tcphdr),
			vmrpc_sock_gfp(vs));
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	skb_put_zero(skb, header);
	put_transport(skb, protocol, port, to->in.sin_port);
	if (inet6)
		put_header6(skb, protocol, source, &to->in6.sin6_addr);
	else
		put_header4(skb, protocol, source->s6_addr32[3],
			    to->in.sin_addr.s_addr);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->mark = READ_ONCE(vs->sk->sk_mark);
	/* For rules about owners. */
	sock_hold(vs->sk);
	skb->sk = vs->sk;
	skb->destructor = sock_efree;
	return skb;
}

/* Is it still a packet for the destination?  An echo request has no port. */
static bool is_for(const struct sk_buff *skb, const union vmrpc_name *to)
{
	if (to->family == AF_INET6)
		return ipv6_addr_equal(&ipv6_hdr(skb)->daddr,
				       &to->in6.sin6_addr) &&
		       (ipv6_hdr(skb)->nexthdr == IPPROTO_ICMPV6 ||
			ports_of(skb)->dest == to->in.sin_port);
	return ip_hdr(skb)->daddr == to->in.sin_addr.s_addr &&
	       (ip_hdr(skb)->protocol == IPPROTO_ICMP ||
		ports_of(skb)->dest == to->in.sin_port);
}

/*
 * Does the packet pass a hook, with its destination?  If not, *@skb may be
 * NULL: dropped, or queued for a program.
 */
static bool passes(struct net *net, unsigned int hook, struct sk_buff **skb,
		   struct net_device *in, struct net_device *out,
		   const union vmrpc_name *to)
{
	u8 pf = to->family == AF_INET6 ? NFPROTO_IPV6 : NFPROTO_IPV4;

	/* The packet of a program that answers later leads nowhere. */
	if (nf_hook(pf, hook, net, (*skb)->sk, *skb, in, out,
		    dst_discard_out) != 1) {
		*skb = NULL;
		return false;
	}
	return is_for(*skb, to);
}

/*
 * The interface of the first namespace on which the packets of a veth arrive:
 * its other end, or the bridge of that; or NULL.  Caller must be in an RCU
 * read-side section.
 */
static struct net_device *arrival(const struct net_device *dev)
{
	const struct rtnl_link_ops *ops = dev->rtnl_link_ops;
	struct net_device *end;

	/* Of other kinds the link is not where packets arrive. */
	if (!ops || strcmp(ops->kind, "veth") || !ops->get_link_net ||
	    !net_eq(ops->get_link_net(dev), &init_net))
		return NULL;
	end = dev_get_by_index_rcu(&init_net, dev_get_iflink(dev));
	return end ? netdev_master_upper_dev_get_rcu(end) ? : end : NULL;
}

static bool is_routed4(struct sk_buff *skb, struct net_device *in)
{
	return !ip_route_input(skb, ip_hdr(skb)->daddr, ip_hdr(skb)->saddr, 0,
			       in) &&
	       skb_rtable(skb)->rt_type == RTN_UNICAST;
}

#if IS_ENABLED(CONFIG_IPV6)
/* Is it a route to another node? */
static bool is_unicast6(const struct dst_entry *dst)
{
	const struct rt6_info *rt;

	rt = container_of(dst, const struct rt6_info, dst);
	return !dst->error &&
	       !(rt->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST | RTF_REJECT));
}

static bool is_routed6(struct sk_buff *skb, struct net_device *in)
{
	const struct ipv6hdr *iph = ipv6_hdr(skb);
	struct flowi6 fl6 = {
		.daddr = iph->daddr,
		.saddr = iph->saddr,
		.flowi6_iif = in->ifindex,
		.flowi6_mark = skb->mark,
		.flowi6_proto = iph->nexthdr,
	};
	struct dst_entry *dst;

	/* As ip6_forward(). */
	if (!READ_ONCE(init_net.ipv6.devconf_all->forwarding) ||
	    ipv6_addr_type(&iph->saddr) & IPV6_ADDR_LINKLOCAL)
		return false;
	dst = ip6_route_input_lookup(&init_net, in, &fl6, skb,
				     RT6_LOOKUP_F_HAS_SADDR);
	skb_dst_set(skb, dst);
	return is_unicast6(dst);
}
#else
static bool is_routed6(struct sk_buff *skb, struct net_device *in)
{
	return false;
}
#endif

/* In the first namespace: would it be forwarded to vmrpc0? */
static bool is_forwarded(struct vmrpc_sock *vs, struct sk_buff **skb,
			 struct net_device *in, const union vmrpc_name *to)
{
	struct net_device *out = READ_ONCE(vs->dev->netdev);

	/* As a veth does with a packet for another namespace. */
	skb_scrub_packet(*skb, true);
	skb_orphan(*skb);
	(*skb)->dev = in;
	(*skb)->skb_iif = in->ifindex;
	if (to->family == AF_INET6)
		IP6CB(*skb)->iif = in->ifindex;
	return passes(&init_net, NF_INET_PRE_ROUTING, skb, in, NULL, to) &&
	       (to->family == AF_INET6 ? is_routed6(*skb, in)
				       : is_routed4(*skb, in)) &&
	       skb_dst(*skb)->dev == out &&
	       passes(&init_net, NF_INET_FORWARD, skb, in, out, to);
}

/* --- the route of a socket ------------------------------------------------ */

/* NULL: none to another node. */
static struct dst_entry *route4(struct vmrpc_sock *vs, __be32 to,
				struct in6_addr *source)
{
	struct flowi4 fl4 = {
		.daddr = to,
		.saddr = vmrpc_addr_chosen_source(vs),
		.flowi4_oif = vmrpc_addr_chosen_device(vs),
		.flowi4_mark = READ_ONCE(vs->sk->sk_mark),
		.flowi4_proto = vs->sk->sk_protocol,
	};
	struct rtable *rt;

	if (ipv4_is_zeronet(to) || ipv4_is_loopback(to) ||
	    ipv4_is_multicast(to) || ipv4_is_loopback(fl4.saddr))
		return NULL;
	rt = ip_route_output_key(sock_net(vs->sk), &fl4);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_type != RTN_UNICAST) {
		ip_rt_put(rt);
		return NULL;
	}
	ipv6_addr_set_v4mapped(fl4.saddr, source);
	return &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *route6(struct vmrpc_sock *vs,
				const struct in6_addr *to,
				struct in6_addr *source)
{
	struct flowi6 fl6 = {
		.daddr = *to,
		.flowi6_oif = READ_ONCE(vs->sk->sk_bound_dev_if),
		.flowi6_mark = READ_ONCE(vs->sk->sk_mark),
		.flowi6_proto = vs->sk->sk_protocol,
	};
	struct dst_entry *dst;
	int err;

	if (ipv6_addr_any(to) ||
	    ipv6_addr_type(to) & (IPV6_ADDR_LOOPBACK | IPV6_ADDR_LINKLOCAL |
				  IPV6_ADDR_MULTICAST))
		return NULL;
	if (vs->sk->sk_userlocks & SOCK_BINDADDR_LOCK)
		fl6.saddr = inet6_sk(vs->sk)->saddr;
	/* A source of IPv4 has no way there. */
	if (ipv6_addr_v4mapped(&fl6.saddr) || ipv6_addr_loopback(&fl6.saddr))
		return NULL;
	if (!fl6.flowi6_oif && vs->sk->sk_type == SOCK_DGRAM)
		fl6.flowi6_oif = READ_ONCE(inet6_sk(vs->sk)->ucast_oif);
	err = ip6_dst_lookup(sock_net(vs->sk), vs->sk, &dst, &fl6);
	if (err)
		return ERR_PTR(err);
	if (!is_unicast6(dst)) {
		dst_release(dst);
		return NULL;
	}
	*source = fl6.saddr;
	return dst;
}

/* The next hop is an address of the guest, as it is seen from an interface. */
static bool is_gateway6(const struct dst_entry *dst,
			const struct net_device *in)
{
	const struct rt6_info *rt;

	rt = container_of(dst, const struct rt6_info, dst);
	/* It may be tentative: that of a new bridge is, for a second or two. */
	return ipv6_chk_addr_and_flags(&init_net, &rt->rt6i_gateway, in, false,
				       0, IFA_F_DADFAILED);
}

static bool has_gateway6(const struct dst_entry *dst)
{
	return container_of(dst, const struct rt6_info, dst)->rt6i_flags &
	       RTF_GATEWAY;
}
#else
static struct dst_entry *route6(struct vmrpc_sock *vs,
				const struct in6_addr *to,
				struct in6_addr *source)
{
	return NULL;
}

static bool is_gateway6(const struct dst_entry *dst,
			const struct net_device *in)
{
	return false;
}

static bool has_gateway6(const struct dst_entry *dst)
{
	return false;
}
#endif

static const struct rtable *rtable_of(const struct dst_entry *dst)
{
	return container_of(dst, const struct rtable, dst);
}

/* The next hop may be another container, which routes. */
static bool is_gateway(const struct dst_entry *dst, sa_family_t family,
		       const struct net_device *in)
{
	if (family == AF_INET6)
		return is_gateway6(dst, in);
	return rtable_of(dst)->rt_gw_family == AF_INET &&
	       inet_addr_type(&init_net, rtable_of(dst)->rt_gw4) == RTN_LOCAL;
}

static bool has_gateway(const struct dst_entry *dst, sa_family_t family)
{
	return family == AF_INET6 ? has_gateway6(dst)
				  : rtable_of(dst)->rt_gw_family;
}

/* Would a packet of the socket leave by vmrpc0?  @dst: its route. */
static bool leaves(struct vmrpc_sock *vs, struct dst_entry *dst,
		   const union vmrpc_name *to, const struct in6_addr *source)
{
	struct net_device *dev = dst->dev, *in;
	struct sk_buff *skb;
	bool yes = false;

	skb = first_packet(vs, to, source);
	if (!skb)
		return false;
	/* As packets that arrive. */
	local_bh_disable();
	rcu_read_lock();
	in = arrival(dev);
	if (in && is_gateway(dst, to->family, in)) {
		skb->dev = dev;
		skb_dst_set(skb, dst_clone(dst));
		yes = passes(sock_net(vs->sk), NF_INET_LOCAL_OUT, &skb, NULL,
			     dev, to) &&
		      skb_dst(skb)->dev == dev &&
		      is_forwarded(vs, &skb, in, to);
	}
	rcu_read_unlock();
	local_bh_enable();
	kfree_skb(skb);
	return yes;
}

/* --- the interface of this file ------------------------------------------- */

/**
 * vmrpc_netns_is_served - may sockets of a namespace have a host socket?
 * @net: the namespace
 */
bool vmrpc_netns_is_served(const struct net *net)
{
	return net_eq(net, &init_net) || READ_ONCE(policy) != OFF;
}

/*
 * A destination with the second in which it was found to be the host's.  A
 * program cannot find another with the same number.
 */
static u64 way_of(const union vmrpc_name *to)
{
	static siphash_key_t key __read_mostly;
	struct {
		struct in6_addr addr;
		__be16 port;
		u16 family;
		u32 second;
	} __aligned(8) way = {
		.port = to->in.sin_port,
		.family = to->family,
		.second = jiffies / HZ,
	};

	if (to->family == AF_INET6)
		way.addr = to->in6.sin6_addr;
	else
		way.addr.s6_addr32[0] = to->in.sin_addr.s_addr;
	net_get_random_once(&key, sizeof(key));
	return siphash(&way, sizeof(way), &key);
}

/* @to: of AF_INET, or an IPv6 address that is not IPv4-mapped */
static bool is_native(struct vmrpc_sock *vs, const union vmrpc_name *to)
{
	bool dgram = vs->sk->sk_type == SOCK_DGRAM;
	int now = READ_ONCE(policy);
	struct in6_addr source = {};
	struct dst_entry *dst;
	bool yes;

	if (now == OFF)
		return true;
	if (dgram && READ_ONCE(vs->way) == way_of(to))
		return false;
	dst = to->family == AF_INET6 ?
	      route6(vs, &to->in6.sin6_addr, &source) :
	      route4(vs, to->in.sin_addr.s_addr, &source);
	if (!dst)
		return true;
	if (IS_ERR(dst)) {
		yes = now == ALL && PTR_ERR(dst) == -ENETUNREACH;
	} else {
		yes = has_gateway(dst, to->family) &&
		      (now == ALL || leaves(vs, dst, to, &source));
		dst_release(dst);
	}
	if (!yes)
		return true;
	vs->source = source;
	if (dgram)
		WRITE_ONCE(vs->way, way_of(to));
	return false;
}

/**
 * vmrpc_netns_is_native - is a destination reached without the host?
 * @vs: a socket of another namespace; its interface and mark are used for the
 *      route
 * @to: destination
 *
 * If it is not, the address of the namespace that packets would have is
 * remembered for vmrpc_netns_name().
 */
bool vmrpc_netns_is_native(struct vmrpc_sock *vs, const union vmrpc_name *to)
{
	union vmrpc_name to4 = { .in = {
		.sin_family = AF_INET,
		.sin_port = to->in.sin_port,
	} };

	if (!vmrpc_addr_get4(to, &to4.in.sin_addr.s_addr))
		return is_native(vs, to);
	/* With IPV6_V6ONLY, the native side returns the error. */
	return (vmrpc_sk_is_inet6(vs->sk) && ipv6_only_sock(vs->sk)) ||
	       is_native(vs, &to4);
}

/**
 * vmrpc_netns_name - show a program of another namespace its own address
 * @vs: any socket
 * @name: address and port of its host socket; changed unless the socket belongs
 *        to the first namespace
 *
 * A socket that the program has not bound shows the port of the host.
 */
void vmrpc_netns_name(const struct vmrpc_sock *vs, union vmrpc_name *name)
{
	unsigned short port = inet_sk(vs->sk)->inet_num;

	if (!vmrpc_sock_is_contained(vs))
		return;
	if (!ipv6_addr_any(&vs->source)) {
		if (vmrpc_sk_is_inet6(vs->sk))
			name->in6.sin6_addr = vs->source;
		else
			name->in.sin_addr.s_addr = vs->source.s6_addr32[3];
	}
	if (port)
		name->in.sin_port = htons(port);
}
