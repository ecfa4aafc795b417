// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sockets of the guest's kernel
 *
 * Theory of operation
 * ===================
 *
 * A service of the kernel may use its socket as a program does, by the socket's
 * operations (kernel_connect(), sock_sendmsg()); then the host can serve it.
 * Most services access the native side directly: NFS, Ceph, NVMe and RDS read
 * its TCP state and replace its callbacks, and tunnels (WireGuard, VXLAN) get
 * the packets themselves.  Their sockets stay native.  Packets that they send
 * out of vmrpc0 are refused.  As WireGuard and similar services ignore errors,
 * a message goes to the kernel's log, once for each service.
 *
 * Neither the create function of a family nor the transmit function of an
 * interface gets the owner of a socket.  The call stack shows it: the service
 * is the innermost module there that does not belong to the network itself.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/skbuff.h>
#include <linux/stacktrace.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "native/kernel.h"

/* Enough from vmrpc0 up to a tunnel in several other tunnels. */
#define DEPTH			32

/* At most this many services are logged. */
#define LOGGED_MAX		16

/* Pause between two searches, for services that send many packets. */
#define PAUSE			(HZ / 10)

/*
 * Services that only use the operations of their sockets, on all supported
 * kernels, and only wait within these.
 */
static const char *const outsourced[] = { "cifs" };

/* Modules of the network, which act for other modules. */
static const char *const helpers[] = {
	KBUILD_MODNAME, "udp_tunnel", "ip6_udp_tunnel", "ip_tunnel",
};

/* Guards all variables below.  They are too large for a deep stack. */
static DEFINE_SPINLOCK(lock);
static unsigned long trace[DEPTH];
static char symbol[KSYM_SYMBOL_LEN];
static char logged[LOGGED_MAX][MODULE_NAME_LEN];
static unsigned int num_logged;
static unsigned long next_look;

static bool is_among(const char *name, const char *const names[],
		     unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/*
 * The module that has the code at @addr, or NULL.  Caller must hold the lock.
 */
static const char *module_at(unsigned long addr)
{
	char *begin, *end;

	/* "function [module]"; addr - 1, as a call may end its function. */
	sprint_symbol_no_offset(symbol, addr - 1);
	begin = strchr(symbol, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	return begin + 1;
}

/*
 * The service that runs on this stack, or NULL if it is not in a module.
 * Caller must hold the lock; the name is valid while it does.
 */
static const char *service(void)
{
	unsigned int i, num = stack_trace_save(trace, DEPTH, 0);

	for (i = 0; i < num; i++) {
		const char *name = module_at(trace[i]);

		if (name && !is_among(name, helpers, ARRAY_SIZE(helpers)))
			return name;
	}
	return NULL;
}

/**
 * vmrpc_kernel_is_outsourced - can the host serve this service's socket?
 *
 * To be called by the family's create function, for a socket of the kernel.
 */
bool vmrpc_kernel_is_outsourced(void)
{
	const char *name;
	bool yes;

	spin_lock_bh(&lock);
	name = service();
	yes = name && is_among(name, outsourced, ARRAY_SIZE(outsourced));
	spin_unlock_bh(&lock);
	return yes;
}

/* Remembers a service; true if it is new.  Caller must hold the lock. */
static bool is_to_be_told(const char *name)
{
	unsigned int i;

	for (i = 0; i < num_logged; i++)
		if (!strcmp(logged[i], name))
			return false;
	if (num_logged == LOGGED_MAX)
		return false;
	strscpy(logged[num_logged++], name, MODULE_NAME_LEN);
	return true;
}

/* Does it answer a packet on its own, without a service? */
static bool is_reply(const struct sk_buff *skb)
{
	u8 protocol = ip_hdr(skb)->protocol;

	return in_serving_softirq() &&
	       (protocol == IPPROTO_TCP || protocol == IPPROTO_ICMP);
}

/* Neither from a program nor forwarded by the guest. */
static bool is_kernels(const struct sk_buff *skb)
{
	const struct sock *sk = skb_to_full_sk(skb);

	return !skb->skb_iif && (!sk || sk->sk_kern_sock) && !is_reply(skb);
}

/**
 * vmrpc_kernel_refused - vmrpc0 refuses to send a packet
 * @skb: an IPv4 packet
 *
 * Logs the first packet of each service of the kernel.  To be called in the
 * transmit function, with BHs disabled.
 */
void vmrpc_kernel_refused(const struct sk_buff *skb)
{
	const char *name;

	if (!is_kernels(skb))
		return;
	spin_lock(&lock);
	if (time_before(jiffies, next_look))
		goto out;
	next_look = jiffies + PAUSE;
	name = service();
	if (name && is_to_be_told(name))
		pr_warn("vmrpc: %s cannot send to %pI4: sockets of the kernel stay in the guest; see docs/virtio-vmrpc.md of vmmnet\n",
			name, &ip_hdr(skb)->daddr);
out:
	spin_unlock(&lock);
}
