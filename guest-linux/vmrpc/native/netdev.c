// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmrpc0, the network interface that programs see
 *
 * Sockets of the guest need no interface.  But before programs connect, they
 * list interfaces and look for the host's address and a route.  vmrpc0 has the
 * guest's address and a default route, of IPv6, too, if sockets of AF_INET6 are
 * ours.  It carries no packets: packets of native sockets (raw, those of AF_INET6
 * otherwise, most of the kernel's own) and of containers with their own networks
 * are dropped, counted in tx_dropped, and refused:
 *
 *   sockets of the guest     the sending call returns the error of the
 *                            transmission: ENETUNREACH
 *   streams of the guest     connect() ignores that error: the connection
 *                            ends with it
 *   forwarded packets        an ICMP error
 *   services of the kernel   as sockets and streams above, and a message in
 *                            the kernel's log (kernel.c)
 *
 * Address and route are set as a program would do it, by rtnetlink messages
 * from a kernel socket; there is no other interface for modules.  The messages
 * have an explicit destination: the kernel then checks the caller's
 * capabilities only, as a kernel socket has no file.
 *
 * When IPv6 is switched off on vmrpc0 (disable_ipv6), or vmrpc0 is set down,
 * the kernel takes the IPv6 address away.  A second socket hears when IPv6 is on
 * again: it gets the messages that ip monitor shows.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/icmpv6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/icmp.h>
#include <net/if_inet6.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netlink.h>

#include "native/kernel.h"
#include "native/netdev.h"
#include "transport/compat.h"
#include "transport/device.h"

#define MTU_DEFAULT		1500

/*
 * Of the IPv6 default route; those of routers have 1024 and come first, or a
 * NIC's answers would leave by vmrpc0, which drops them.
 */
#define METRIC6			2048

/**
 * struct refusals - streams that wait for their error
 * @queue: packets of streams; each keeps its socket
 * @work: hands out the errors
 */
struct refusals {
	struct sk_buff_head queue;
	struct work_struct work;
};

/*
 * Sends an ICMP error, so that the sender does not wait for a timeout.  Of the
 * codes for ENETUNREACH, connected UDP sockets report this one.
 */
static void send_error(struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IPV6))
		icmpv6_ndo_send(skb, ICMPV6_DEST_UNREACH, ICMPV6_NOROUTE, 0);
	else
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_NET_ANO, 0);
}

/* Does the packet go to the peer of the socket? */
static bool is_to_peer(const struct sock *sk, const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (skb->protocol == htons(ETH_P_IPV6))
		return ipv6_addr_equal(&sk->sk_v6_daddr,
				       &ipv6_hdr(skb)->daddr);
#endif
	return inet_sk(sk)->inet_daddr == ip_hdr(skb)->daddr;
}

/*
 * Ends the connection that @skb was to open.  Not by an ICMP error: Linux
 * limits the rate of those, and of many streams some would wait until their
 * SYNs time out.
 *
 * Returns false if @skb opens no connection of TCP.
 */
static bool end_connection(const struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	if (sk->sk_protocol != IPPROTO_TCP || !sk->sk_prot->diag_destroy ||
	    READ_ONCE(sk->sk_state) != TCP_SYN_SENT || !is_to_peer(sk, skb))
		return false;
	sk->sk_prot->diag_destroy(sk, ENETUNREACH);
	return true;
}

static void send_errors(struct work_struct *work)
{
	struct refusals *refusals = container_of(work, struct refusals, work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&refusals->queue))) {
		if (!end_connection(skb))
			send_error(skb);
		kfree_skb(skb);
	}
}

/*
 * Hands out the error later: now the connecting task holds the lock of its
 * socket.  The queue is bounded: a socket retransmits nothing that is in it.
 *
 * Returns true if the packet has been taken over.
 */
static bool send_error_later(struct sk_buff *skb, struct net_device *netdev)
{
	struct refusals *refusals = netdev_priv(netdev);

	if (!skb_dst_force(skb))
		return false;
	skb_queue_tail(&refusals->queue, skb);
	schedule_work(&refusals->work);
	return true;
}

/* A program that ignores the error waits for answers that cannot come. */
static void tell_raw(const struct sock *sk)
{
	if (sk->sk_type == SOCK_RAW && !sk->sk_kern_sock)
		pr_notice_once("vmrpc: %s[%d] cannot send by a raw socket: these reach only the guest; see \"ping\" in docs/virtio-vmrpc.md of vmmnet\n",
			       current->comm, task_pid_nr(current));
}

static netdev_tx_t refuse(struct sk_buff *skb, struct net_device *netdev)
{
	const struct sock *sk = skb_to_full_sk(skb);
	bool inet = skb->protocol == htons(ETH_P_IP);
	bool taken = false;

	dev_core_stats_tx_dropped_inc(netdev);
	if (inet)
		vmrpc_kernel_refused(skb);
	if (inet || skb->protocol == htons(ETH_P_IPV6)) {
		if (inet && sk)
			tell_raw(sk);
		if (!sk)
			send_error(skb);
		else if (sk == skb->sk && (sk->sk_type == SOCK_STREAM ||
					   sk->sk_type == SOCK_SEQPACKET))
			taken = send_error_later(skb, netdev);
	}
	if (!taken)
		kfree_skb(skb);
	/* A transmit error; the packet has been consumed. */
	return (netdev_tx_t)-ENETUNREACH;
}

/* Called when nothing is transmitted any more. */
static void uninit(struct net_device *netdev)
{
	struct refusals *refusals = netdev_priv(netdev);

	cancel_work_sync(&refusals->work);
	skb_queue_purge(&refusals->queue);
}

static const struct net_device_ops netdev_ops = {
	.ndo_start_xmit = refuse,
	.ndo_uninit = uninit,
};

static void setup(struct net_device *netdev)
{
	struct refusals *refusals = netdev_priv(netdev);

	skb_queue_head_init(&refusals->queue);
	INIT_WORK(&refusals->work, send_errors);
	netdev->netdev_ops = &netdev_ops;
	netdev->type = ARPHRD_NONE;
	netdev->flags = IFF_NOARP | IFF_POINTOPOINT;
	netdev->mtu = MTU_DEFAULT;
	netdev->min_mtu = 68;
	netdev->max_mtu = 65535;
	netdev->tx_queue_len = 0;
	netdev->priv_flags |= IFF_NO_QUEUE;
	netdev->needs_free_netdev = true;
	/* An ICMP error needs the route of the packet that caused it. */
	netif_keep_dst(netdev);
}

/* Sends one request and returns the error code of its answer. */
static int request(struct socket *nl, struct sk_buff *skb)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct msghdr msg = {
		.msg_name = &kernel,
		.msg_namelen = sizeof(kernel),
	};
	struct kvec out = { .iov_base = skb->data, .iov_len = skb->len };
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char more[256];
	} ack;
	struct kvec in = { .iov_base = &ack, .iov_len = sizeof(ack) };
	int n;

	n = kernel_sendmsg(nl, &msg, &out, 1, out.iov_len);
	if (n < 0)
		return n;
	memset(&msg, 0, sizeof(msg));
	/* The kernel has answered before the send returned. */
	n = kernel_recvmsg(nl, &msg, &in, 1, in.iov_len, MSG_DONTWAIT);
	if (n < 0)
		return n;
	if (n < (int)offsetof(typeof(ack), more) ||
	    ack.nlh.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return ack.err.error;
}

/* An address with its length in bytes, and its prefix length. */
struct own {
	u8 family;
	u8 prefix;
	const void *addr;
	int len;
};

static int add_address(struct socket *nl, const struct vmrpc_device *dev,
		       const struct own *own)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct nlmsghdr *nlh;
	struct ifaddrmsg *ifa;
	int err = -EMSGSIZE;

	if (!skb)
		return -ENOMEM;
	nlh = nlmsg_put(skb, 0, 0, RTM_NEWADDR, sizeof(*ifa),
			NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
			NLM_F_REPLACE);
	if (nlh) {
		ifa = nlmsg_data(nlh);
		memset(ifa, 0, sizeof(*ifa));
		ifa->ifa_family = own->family;
		ifa->ifa_prefixlen = own->prefix;
		ifa->ifa_flags = own->family == AF_INET6 ? IFA_F_NODAD : 0;
		ifa->ifa_index = dev->netdev->ifindex;
		if (!nla_put(skb, IFA_LOCAL, own->len, own->addr) &&
		    !nla_put(skb, IFA_ADDRESS, own->len, own->addr)) {
			nlmsg_end(skb, nlh);
			err = request(nl, skb);
		}
	}
	kfree_skb(skb);
	return err;
}

/* The default route. */
static int add_route(struct socket *nl, const struct vmrpc_device *dev,
		     const struct own *own)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct nlmsghdr *nlh;
	struct rtmsg *rt;
	int err = -EMSGSIZE;

	if (!skb)
		return -ENOMEM;
	nlh = nlmsg_put(skb, 0, 0, RTM_NEWROUTE, sizeof(*rt),
			NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);
	if (nlh) {
		rt = nlmsg_data(nlh);
		memset(rt, 0, sizeof(*rt));
		rt->rtm_family = own->family;
		rt->rtm_table = RT_TABLE_MAIN;
		rt->rtm_protocol = RTPROT_BOOT;
		rt->rtm_scope = RT_SCOPE_LINK;
		rt->rtm_type = RTN_UNICAST;
		if (!nla_put_u32(skb, RTA_OIF, dev->netdev->ifindex) &&
		    !nla_put(skb, RTA_PREFSRC, own->len, own->addr) &&
		    (own->family != AF_INET6 ||
		     !nla_put_u32(skb, RTA_PRIORITY, METRIC6))) {
			nlmsg_end(skb, nlh);
			err = request(nl, skb);
		}
	}
	kfree_skb(skb);
	return err;
}

/* IPv6 must not add an address to an interface that carries no packets. */
static void no_link_local(struct net_device *netdev)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *idev = __in6_dev_get(netdev);

	if (idev)
		idev->cnf.addr_gen_mode = IN6_ADDR_GEN_MODE_NONE;
#endif
}

static int add_own(struct socket *nl, const struct vmrpc_device *dev,
		   const struct own *own)
{
	int err = add_address(nl, dev, own);

	if (!err)
		err = add_route(nl, dev, own);
	/* An existing default route is as good. */
	return err == -EEXIST ? 0 : err;
}

static int configure(const struct vmrpc_device *dev, const struct own *own)
{
	struct socket *nl;
	int err;

	err = sock_create_kern(&init_net, PF_NETLINK, SOCK_RAW, NETLINK_ROUTE,
			       &nl);
	if (err)
		return err;
	err = add_own(nl, dev, own);
	sock_release(nl);
	return err;
}

static int configure4(const struct vmrpc_device *dev)
{
	const struct own own4 = { AF_INET, dev->guest4_prefix, &dev->guest4,
				  sizeof(dev->guest4) };

	return dev->guest4 ? configure(dev, &own4) : 0;
}

#if IS_ENABLED(CONFIG_IPV6)
static int configure6(const struct vmrpc_device *dev)
{
	const struct own own6 = { AF_INET6, 128, &dev->guest6,
				  sizeof(dev->guest6) };

	return configure(dev, &own6);
}

/* Reads all messages that wait; is one of them about vmrpc0? */
static bool hear(const struct vmrpc_device *dev)
{
	struct {
		struct nlmsghdr nlh;
		struct ifinfomsg ifi;
	} heard;
	bool ours = false;
	int n;

	do {
		struct kvec in = { .iov_base = &heard,
				   .iov_len = sizeof(heard) };
		struct msghdr msg = { };

		n = kernel_recvmsg(dev->ipv6_watch, &msg, &in, 1, in.iov_len,
				   MSG_DONTWAIT);
		/* Of those that are lost, one may have been. */
		ours |= n == -ENOBUFS ||
			(n == sizeof(heard) &&
			 heard.ifi.ifi_index == dev->ifindex);
	} while (n >= 0 || n == -ENOBUFS);
	return ours;
}

/* Protects dev->ipv6_watch. */
static DEFINE_MUTEX(watch_lock);

static void ipv6_changed(struct work_struct *work)
{
	struct vmrpc_device *dev = container_of(work, struct vmrpc_device,
						ipv6_work);

	mutex_lock(&watch_lock);
	/* While IPv6 is off, the kernel refuses the address. */
	if (dev->ipv6_watch && hear(dev) &&
	    !ipv6_chk_addr(&init_net, &dev->guest6, dev->netdev, 0))
		configure6(dev);
	mutex_unlock(&watch_lock);
}

static void watch_ready(struct sock *sk)
{
	struct vmrpc_device *dev = sk->sk_user_data;

	schedule_work(&dev->ipv6_work);
}

static void add_ipv6(struct vmrpc_device *dev)
{
	struct sockaddr_nl changes = {
		.nl_family = AF_NETLINK,
		.nl_groups = BIT(RTNLGRP_IPV6_IFINFO - 1),
	};
	struct socket *nl;

	INIT_WORK(&dev->ipv6_work, ipv6_changed);
	/* Without it, programs of AF_INET6 name IPv4-mapped addresses only. */
	if (configure6(dev))
		pr_notice("vmrpc: IPv6 is off on vmrpc0: no IPv6 address is reached\n");
	if (sock_create_kern(&init_net, PF_NETLINK, SOCK_RAW, NETLINK_ROUTE,
			     &nl))
		return;
	dev->ipv6_watch = nl;
	nl->sk->sk_user_data = dev;
	nl->sk->sk_data_ready = watch_ready;
	kernel_bind(nl, (struct vmrpc_sockaddr *)&changes, sizeof(changes));
}

static void remove_ipv6(struct vmrpc_device *dev)
{
	struct socket *nl;

	mutex_lock(&watch_lock);
	nl = dev->ipv6_watch;
	dev->ipv6_watch = NULL;
	mutex_unlock(&watch_lock);
	if (!nl)
		return;
	/* From then on it schedules nothing. */
	sock_release(nl);
	cancel_work_sync(&dev->ipv6_work);
}
#else
static void add_ipv6(struct vmrpc_device *dev) { }
static void remove_ipv6(struct vmrpc_device *dev) { }
#endif

/**
 * vmrpc_netdev_add - make vmrpc0, bring it up and give it address and route
 * @dev: the device; dev->netdev is set
 *
 * Returns 0 or a negative errno; then there is no vmrpc0.
 */
int vmrpc_netdev_add(struct vmrpc_device *dev)
{
	struct net_device *netdev;
	int err;

	netdev = alloc_netdev(sizeof(struct refusals), "vmrpc%d", NET_NAME_ENUM,
			      setup);
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &dev->vdev->dev);
	if (dev->mtu >= netdev->min_mtu)
		netdev->mtu = dev->mtu;
	err = register_netdev(netdev);
	if (err) {
		free_netdev(netdev);
		return err;
	}
	dev->netdev = netdev;
	dev->ifindex = netdev->ifindex;

	rtnl_lock();
	no_link_local(netdev);
	err = dev_open(netdev, NULL);
	rtnl_unlock();
	if (!err)
		err = configure4(dev);
	if (!err && dev->inet6)
		add_ipv6(dev);
	if (err) {
		netdev_err(netdev, "cannot set address and route: %d\n", err);
		vmrpc_netdev_remove(dev);
	}
	return err;
}

/**
 * vmrpc_netdev_remove - remove vmrpc0 with its address and route
 * @dev: the device
 */
void vmrpc_netdev_remove(struct vmrpc_device *dev)
{
	if (dev->inet6)
		remove_ipv6(dev);
	unregister_netdev(dev->netdev);
	dev->netdev = NULL;
}
