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
 * All this is of IPv4, which sockets of AF_INET6 reach by IPv4-mapped addresses.
 *
 * A socket belongs to the namespace that it was made in, wherever the task is.
 * It keeps that namespace, even if all its interfaces have gone.
 */
#include <linux/icmp.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/moduleparam.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/ip.h>
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
		icmp = skb_put_zero(skb, sizeof(*icmp));
		icmp->type = ICMP_ECHO;
	}
}

/* The packet that would open a connection, or carry a datagram; or NULL. */
static struct sk_buff *first_packet(const struct vmrpc_sock *vs,
				    const struct sockaddr_in *to, __be32 source)
{
	__be16 port = htons(inet_sk(vs->sk)->inet_num ? : SOME_PORT);
	u8 protocol = vs->sk->sk_protocol;
	struct sk_buff *skb;
	struct iphdr *iph;

	skb = alloc_skb(LL_MAX_HEADER + sizeof(*iph) + sizeof(struct tcphdr),
			vmrpc_sock_gfp(vs));
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	iph = skb_put_zero(skb, sizeof(*iph));
	put_transport(skb, protocol, port, to->sin_port);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tot_len = htons(skb->len);
	iph->ttl = IPDEFTTL;
	iph->protocol = protocol;
	iph->saddr = source;
	iph->daddr = to->sin_addr.s_addr;
	ip_send_check(iph);
	skb->protocol = htons(ETH_P_IP);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->mark = READ_ONCE(vs->sk->sk_mark);
	/* For rules about owners. */
	sock_hold(vs->sk);
	skb->sk = vs->sk;
	skb->destructor = sock_efree;
	return skb;
}

/*
 * Does the packet pass a hook, with its destination?  If not, *@skb may be
 * NULL: dropped, or queued for a program.
 */
static bool passes(struct net *net, unsigned int hook, struct sk_buff **skb,
		   struct net_device *in, struct net_device *out,
		   const struct sockaddr_in *to)
{
	/* The packet of a program that answers later leads nowhere. */
	if (nf_hook(NFPROTO_IPV4, hook, net, (*skb)->sk, *skb, in, out,
		    dst_discard_out) != 1) {
		*skb = NULL;
		return false;
	}
	return ip_hdr(*skb)->daddr == to->sin_addr.s_addr &&
	       (ip_hdr(*skb)->protocol == IPPROTO_ICMP ||
		ports_of(*skb)->dest == to->sin_port);
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

/* In the first namespace: would it be forwarded to vmrpc0? */
static bool is_forwarded(struct vmrpc_sock *vs, struct sk_buff **skb,
			 struct net_device *in, const struct sockaddr_in *to)
{
	struct net_device *out = READ_ONCE(vs->dev->netdev);

	/* As a veth does with a packet for another namespace. */
	skb_scrub_packet(*skb, true);
	skb_orphan(*skb);
	(*skb)->dev = in;
	(*skb)->skb_iif = in->ifindex;
	return passes(&init_net, NF_INET_PRE_ROUTING, skb, in, NULL, to) &&
	       !ip_route_input(*skb, ip_hdr(*skb)->daddr, ip_hdr(*skb)->saddr,
			       0, in) &&
	       skb_rtable(*skb)->rt_type == RTN_UNICAST &&
	       skb_dst(*skb)->dev == out &&
	       passes(&init_net, NF_INET_FORWARD, skb, in, out, to);
}

/* Would a packet of the socket leave by vmrpc0?  @rt: its route. */
static bool leaves(struct vmrpc_sock *vs, struct rtable *rt,
		   const struct sockaddr_in *to, __be32 source)
{
	struct net_device *dev = rt->dst.dev, *in;
	struct sk_buff *skb;
	bool yes = false;

	/* The next hop may be another container, which routes. */
	if (rt->rt_gw_family != AF_INET ||
	    inet_addr_type(&init_net, rt->rt_gw4) != RTN_LOCAL)
		return false;
	skb = first_packet(vs, to, source);
	if (!skb)
		return false;
	/* As packets that arrive. */
	local_bh_disable();
	rcu_read_lock();
	in = arrival(dev);
	if (in) {
		skb->dev = dev;
		skb_dst_set(skb, dst_clone(&rt->dst));
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

/* A destination with the second in which it was found to be the host's. */
static u64 way_of(const struct sockaddr_in *to)
{
	return (u64)(__force u32)to->sin_addr.s_addr << 32 |
	       (u32)(__force u16)to->sin_port << 16 | (u16)(jiffies / HZ);
}

static bool is_native4(struct vmrpc_sock *vs, const struct sockaddr_in *to)
{
	bool dgram = vs->sk->sk_type == SOCK_DGRAM;
	struct flowi4 fl4 = {
		.daddr = to->sin_addr.s_addr,
		.saddr = vmrpc_addr_chosen_source(vs),
		.flowi4_oif = vmrpc_addr_chosen_device(vs),
		.flowi4_mark = READ_ONCE(vs->sk->sk_mark),
		.flowi4_proto = vs->sk->sk_protocol,
	};
	int now = READ_ONCE(policy);
	struct rtable *rt;
	bool yes;

	if (now == OFF || ipv4_is_zeronet(fl4.daddr) ||
	    ipv4_is_loopback(fl4.daddr) || ipv4_is_multicast(fl4.daddr) ||
	    ipv4_is_loopback(fl4.saddr))
		return true;
	if (dgram && READ_ONCE(vs->way) == way_of(to))
		return false;
	rt = ip_route_output_key(sock_net(vs->sk), &fl4);
	if (IS_ERR(rt)) {
		yes = now == ALL && PTR_ERR(rt) == -ENETUNREACH;
	} else {
		yes = rt->rt_type == RTN_UNICAST &&
		      (now == ALL ? rt->rt_gw_family != 0
				  : leaves(vs, rt, to, fl4.saddr));
		ip_rt_put(rt);
	}
	if (!yes)
		return true;
	WRITE_ONCE(vs->source, fl4.saddr);
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
	struct sockaddr_in to4 = {
		.sin_family = AF_INET,
		.sin_port = to->in.sin_port,
	};

	/* With IPV6_V6ONLY, the native side returns the error. */
	if (!vmrpc_addr_get4(to, &to4.sin_addr.s_addr) ||
	    (vmrpc_sk_is_inet6(vs->sk) &&
	     (vmrpc_sk_is_ping(vs->sk) || ipv6_only_sock(vs->sk))))
		return true;
	return is_native4(vs, &to4);
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
	__be32 source = READ_ONCE(vs->source);

	if (!vmrpc_sock_is_contained(vs))
		return;
	if (source && vmrpc_sk_is_inet6(vs->sk))
		ipv6_addr_set_v4mapped(source, &name->in6.sin6_addr);
	else if (source)
		name->in.sin_addr.s_addr = source;
	if (port)
		name->in.sin_port = htons(port);
}
