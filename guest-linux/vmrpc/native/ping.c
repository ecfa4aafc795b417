// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who may have a ping socket
 *
 * By default net.ipv4.ping_group_range lets nobody have one.  ping(8) of root
 * then takes a raw socket, which is not outsourced.  So whoever may have a raw
 * socket may have a ping socket: the init function of the protocol is ours.
 *
 * From Linux 7.2 on ping_prot is not exported.  It is in the table of protocols
 * of datagram sockets: an entry of ours, which no program can ask for, leads to
 * its neighbours there.
 */
#include <linux/capability.h>
#include <linux/rculist.h>
#include <net/inet_common.h>
#include <net/net_namespace.h>
#include <net/ping.h>
#include <net/protocol.h>
#include <net/transp_v6.h>
#include <net/udp.h>

#include "native/ping.h"

/* [0]: of AF_INET, [1]: of AF_INET6, with the same function */
static struct proto *ping[2];
static int (*native_init)(struct sock *sk);
static bool (*is_served)(const struct net *net);

static int init_sock(struct sock *sk)
{
	int err = native_init(sk);

	return err == -EACCES && is_served(sock_net(sk)) &&
	       ns_capable(sock_net(sk)->user_ns, CAP_NET_RAW) ? 0 : err;
}

/* The protocol of ping sockets, or NULL. */
static struct proto *find(void)
{
	static struct inet_protosw probe = {
		.type = SOCK_DGRAM,
		.protocol = U16_MAX,	/* socket() refuses it */
		.prot = &udp_prot,
		.ops = &inet_dgram_ops,
	};
	struct inet_protosw *entry = &probe;
	struct proto *found = NULL;

	inet_register_protosw(&probe);
	rcu_read_lock();
	/*
	 * The list is a circle with a head that is no entry.  After the head in
	 * memory are the pointers of the next one, which are aligned: none
	 * looks like this type and protocol.
	 */
	list_for_each_entry_continue_rcu(entry, &probe.list, list)
		if (entry->type == SOCK_DGRAM &&
		    entry->protocol == IPPROTO_ICMP) {
			found = entry->prot;
			break;
		}
	rcu_read_unlock();
	inet_unregister_protosw(&probe);
	return found;
}

/**
 * vmrpc_ping_take - let whoever may have a raw socket have a ping socket
 * @served: in which namespaces?
 * @inet6: of AF_INET6, too
 *
 * Until vmrpc_ping_give_back(), sockets must be made by our create function
 * only, which has a reference to this module.
 */
void vmrpc_ping_take(bool (*served)(const struct net *net), bool inet6)
{
	is_served = served;
	ping[0] = find();
	if (!ping[0]) {
		pr_warn("vmrpc: this kernel has no ping sockets\n");
		return;
	}
	native_init = ping[0]->init;
	WRITE_ONCE(ping[0]->init, init_sock);
#if IS_ENABLED(CONFIG_IPV6)
	if (!inet6 || pingv6_prot.init != native_init)
		return;
	ping[1] = &pingv6_prot;
	WRITE_ONCE(ping[1]->init, init_sock);
#endif
}

/**
 * vmrpc_ping_give_back - who may have a ping socket is the kernel's again
 */
void vmrpc_ping_give_back(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ping); i++) {
		if (ping[i])
			WRITE_ONCE(ping[i]->init, native_init);
		ping[i] = NULL;
	}
}
