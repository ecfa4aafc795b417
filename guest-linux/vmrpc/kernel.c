// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sockets of the guest's kernel
 *
 * Theory of operation
 * ===================
 *
 * A service of the kernel may use its socket as a program does, by the socket's
 * operations (kernel_connect(), sock_sendmsg()); then the host can serve it.
 * Most reach past them, to what the native side alone has: NFS, Ceph, NVMe and
 * RDS look at the state of its TCP and replace its callbacks, and tunnels
 * (WireGuard, VXLAN) are called with the packets themselves.  Their sockets stay
 * native.  What these send out of vmrpc0 is refused, but WireGuard and its like
 * look at no error, so the kernel's log says it, once for each service.
 *
 * Neither the family that makes a socket nor the interface that gets a packet
 * is told the owner.  The stack shows it: the service is the innermost module
 * there that is not one of the network's own.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/skbuff.h>
#include <linux/stacktrace.h>
#include <net/sock.h>

#include "internal.h"

/* From vmrpc0 to a tunnel that is below several others. */
#define DEPTH			32

/* Services that the log has room for; of more it says nothing. */
#define TOLD_MAX		16

/* A service that sends a lot is not looked for with each packet. */
#define PAUSE			(HZ / 10)

/*
 * They use their sockets by operations alone, on all kernels that this module
 * is for, and only wait for what they want in calls.
 */
static const char *const outsourced[] = { "cifs" };

/* In whose functions others do what they do. */
static const char *const helpers[] = {
	KBUILD_MODNAME, "udp_tunnel", "ip6_udp_tunnel", "ip_tunnel",
};

/* All below, which is too large for a stack that is deep already. */
static DEFINE_SPINLOCK(lock);
static unsigned long trace[DEPTH];
static char symbol[KSYM_SYMBOL_LEN];
static char told[TOLD_MAX][MODULE_NAME_LEN];
static unsigned int num_told;
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

/* The module that has the code at @addr, or NULL.  Caller must hold the lock. */
static const char *module_at(unsigned long addr)
{
	char *begin, *end;

	/* "function [module]"; a call may be the last instruction of its function. */
	sprint_symbol_no_offset(symbol, addr - 1);
	begin = strchr(symbol, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	return begin + 1;
}

/*
 * The service that is under way on this stack, or NULL if it is none of a
 * module's.  Caller must hold the lock, under which the name is good.
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
 * vmrpc_kernel_is_outsourced - does a service make a socket that can be served?
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

/* Is it new?  Then it is remembered.  Caller must hold the lock. */
static bool is_to_be_told(const char *name)
{
	unsigned int i;

	for (i = 0; i < num_told; i++)
		if (!strcmp(told[i], name))
			return false;
	if (num_told == TOLD_MAX)
		return false;
	strscpy(told[num_told++], name, MODULE_NAME_LEN);
	return true;
}

/* Does it answer a packet, for which no service is called? */
static bool is_reply(const struct sk_buff *skb)
{
	u8 protocol = ip_hdr(skb)->protocol;

	return in_serving_softirq() &&
	       (protocol == IPPROTO_TCP || protocol == IPPROTO_ICMP);
}

/* Of no program, and none that somebody else has sent through the guest. */
static bool is_kernels(const struct sk_buff *skb)
{
	const struct sock *sk = skb_to_full_sk(skb);

	return !skb->skb_iif && (!sk || sk->sk_kern_sock) && !is_reply(skb);
}

/**
 * vmrpc_kernel_refused - vmrpc0 does not send a packet
 * @skb: of IPv4
 *
 * If it is a service's of the kernel, the log says so, for the first of each
 * service.  To be called where the packet is sent, with BHs disabled.
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
		pr_warn("vmrpc: %s cannot send to %pI4: sockets of the kernel stay in the guest; docs/virtio-vmrpc.md of vmmnet has what helps\n",
			name, &ip_hdr(skb)->daddr);
out:
	spin_unlock(&lock);
}
