// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Taking over PF_INET
 *
 * Theory of operation
 * ===================
 *
 * A program's socket(AF_INET, ...) ends in the create function of the family
 * that is registered for PF_INET.  When the device appears we unregister the
 * kernel's own and register ours; a guest without the device is untouched.
 *
 * Ours makes a native socket first, in every case, by the kernel's own
 * inet_create().  TCP, UDP and ping sockets of programs in the initial network
 * namespace then get our operations on top (struct vmrpc_sock); everything
 * else (raw, SCTP, most sockets of the kernel, other namespaces) stays
 * native.  So whatever is to be done within the guest is a call of the native
 * operation on the native sock, which is always there.
 *
 * inet_create() is static.  A kprobe on it, taken back before it could ever
 * fire, tells where it is; with IBT that is after the ENDBR instruction, so the
 * beginning is looked for.
 *
 * When the device goes we cannot register the kernel's own struct
 * net_proto_family again, as it is static as well: a copy of it, with the same
 * function and no owner, takes its place for good.  It is never freed, since
 * nothing tells when the core lets go of it.
 *
 * Between unregistering one family and registering the other a program gets
 * EAFNOSUPPORT.  sock_unregister() waits for an RCU grace period in between,
 * which we expedite: the gap is some ten microseconds.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/ping.h>

#include "internal.h"

typedef int (*create_fn)(struct net *net, struct socket *sock, int protocol,
			 int kern);

static create_fn inet_create;

/* The device that new sockets belong to. */
static struct vmrpc_device __rcu *family_device;

/* The first instruction of inet_create(), or NULL. */
static void *find_inet_create(void)
{
	struct kprobe probe = { .symbol_name = "inet_create" };
	char name[KSYM_SYMBOL_LEN];
	unsigned long addr;
	unsigned int back;

	if (register_kprobe(&probe))
		return NULL;
	addr = (unsigned long)probe.addr;
	unregister_kprobe(&probe);

	for (back = 0; back <= 16; back++) {
		sprint_symbol(name, addr - back);
		if (strstarts(name, "inet_create+0x0/"))
			return (void *)(addr - back);
	}
	return NULL;
}

static bool is_outsourced(const struct net *net, const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	if (!net_eq(net, &init_net))
		return false;
	return (sock->type == SOCK_STREAM && sock->ops == &inet_stream_ops &&
		sk->sk_protocol == IPPROTO_TCP) ||
	       (sock->type == SOCK_DGRAM && sock->ops == &inet_dgram_ops &&
		sk->sk_protocol == IPPROTO_UDP) ||
	       (vmrpc_sk_is_ping(sk) && sk->sk_prot == &ping_prot);
}

/**
 * vmrpc_family_device - the device that new sockets belong to
 *
 * Returns it with a reference, or NULL.
 */
struct vmrpc_device *vmrpc_family_device(void)
{
	struct vmrpc_device *dev;

	rcu_read_lock();
	dev = rcu_dereference(family_device);
	if (dev && !kref_get_unless_zero(&dev->ref))
		dev = NULL;
	rcu_read_unlock();
	return dev;
}

/*
 * Programs ask for it without being told to (Go 1.24 for each listener), and
 * take TCP where there is none.  Within the guest alone it would be a listener
 * that nobody reaches.
 */
static bool is_mptcp(const struct net *net, const struct socket *sock,
		     int protocol)
{
	return net_eq(net, &init_net) && sock->type == SOCK_STREAM &&
	       protocol == IPPROTO_MPTCP && rcu_access_pointer(family_device);
}

/*
 * Services set this on the native side of their streams (tcp_sock_set_nodelay()),
 * of which the host hears nothing: one that waits for its answer must not wait
 * for the peer's delayed acknowledgement, too.
 */
static int send_at_once(struct socket *sock)
{
	int on = 1;

	if (sock->type != SOCK_STREAM)
		return 0;
	return sock->ops->setsockopt(sock, SOL_TCP, TCP_NODELAY,
				     KERNEL_SOCKPTR(&on), sizeof(on));
}

static int create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct vmrpc_device *dev;
	int err;

	if (!kern && is_mptcp(net, sock, protocol))
		return -EPROTONOSUPPORT;
	err = inet_create(net, sock, protocol, kern);
	if (err || !is_outsourced(net, sock) ||
	    (kern && !vmrpc_kernel_is_outsourced()))
		return err;
	dev = vmrpc_family_device();
	if (!dev)
		return 0;
	err = vmrpc_sock_attach(dev, sock);
	if (!err && kern)
		err = send_at_once(sock);
	if (err)
		sock->ops->release(sock);
	vmrpc_device_put(dev);
	return err;
}

static const struct net_proto_family vmrpc_family = {
	.family = PF_INET,
	.create = create,
	.owner = THIS_MODULE,
};

/* Nobody is to see the gap for longer than it takes. */
static int family_replace(const struct net_proto_family *family)
{
	int err;

	rcu_expedite_gp();
	sock_unregister(PF_INET);
	err = sock_register(family);
	rcu_unexpedite_gp();
	return err;
}

static struct net_proto_family *native_family_new(void)
{
	struct net_proto_family *family;

	family = kzalloc(sizeof(*family), GFP_KERNEL);
	if (family) {
		family->family = PF_INET;
		family->create = inet_create;
	}
	return family;
}

/* What replaces ours; made beforehand so that giving back cannot fail. */
static struct net_proto_family *native_family;

static void __init ops_complete(struct proto_ops *ops,
				const struct proto_ops *native)
{
	ops->read_sock = native->read_sock;
	ops->read_skb = native->read_skb;
	ops->peek_len = native->peek_len;
	ops->set_rcvlowat = native->set_rcvlowat;
	ops->sendmsg_locked = native->sendmsg_locked;
#ifdef VMRPC_HAVE_SENDPAGE
	ops->sendpage_locked = native->sendpage_locked;
#endif
}

/**
 * vmrpc_family_init - to be called once, before there are sockets
 *
 * Gives our operations those of the kernel's that are for the native side
 * alone, as far as this kernel has them.  SO_PEEK_OFF is for datagrams only:
 * the host, which has the data, need not know it for streams.
 */
void __init vmrpc_family_init(void)
{
	ops_complete(&vmrpc_stream_ops, &inet_stream_ops);
	ops_complete(&vmrpc_dgram_ops, &inet_dgram_ops);
	vmrpc_dgram_ops.set_peek_off = inet_dgram_ops.set_peek_off;
}

/**
 * vmrpc_family_take - make new AF_INET sockets ours
 * @dev: the device they belong to
 *
 * Returns 0, -ENOENT if the kernel's create function was not found, -ENOMEM,
 * or -EEXIST if somebody else was faster; then PF_INET is theirs.
 */
int vmrpc_family_take(struct vmrpc_device *dev)
{
	int err;

	inet_create = find_inet_create();
	if (!inet_create) {
		pr_err("vmrpc: inet_create not found; are kprobes on?\n");
		return -ENOENT;
	}
	native_family = native_family_new();
	if (!native_family)
		return -ENOMEM;
	rcu_assign_pointer(family_device, dev);
	err = family_replace(&vmrpc_family);
	if (err) {
		RCU_INIT_POINTER(family_device, NULL);
		kfree(native_family);
	}
	return err;
}

/**
 * vmrpc_family_give_back - make new AF_INET sockets native again
 *
 * Sockets that are ours stay ours.
 */
void vmrpc_family_give_back(void)
{
	RCU_INIT_POINTER(family_device, NULL);
	if (family_replace(native_family))
		pr_err("vmrpc: PF_INET was taken by somebody else\n");
}

/**
 * vmrpc_family_create_native - the native side of an accepted connection
 * @sock: gets a sock and the native operations
 * @protocol: IPPROTO_TCP
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_family_create_native(struct socket *sock, int protocol)
{
	int err = inet_create(&init_net, sock, protocol, 0);

	/* Where a BPF program says no, some kernels leave what they have freed. */
	if (err)
		sock->sk = NULL;
	return err;
}
