// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Taking over PF_INET and PF_INET6
 *
 * Theory of operation
 * ===================
 *
 * A program's socket(AF_INET, ...) ends in the create function of the family
 * that is registered for PF_INET.  When the device appears we unregister the
 * kernel's own family and register ours.  A guest without the device is not
 * changed.  PF_INET6 is the same, if the device takes its sockets.
 *
 * Our create function first makes a native socket, in every case, by the
 * kernel's own inet_create() or inet6_create() (native/native.c).  TCP, UDP
 * and ping sockets of programs then get our operations on top (struct
 * vmrpc_sock).  All others (raw, SCTP, most sockets of the kernel) stay native.
 * sock/netns.c says what the host serves in other namespaces than the first.
 * So every operation within the guest is a call
 * of the native operation on the native sock, which is always there.
 *
 * When the device goes we cannot register the kernel's own struct
 * net_proto_family again, as it is static: a copy of it, with the same function
 * and no owner, takes its place for ever.  It is never freed, because nothing
 * tells when the core has stopped using it.
 *
 * Between unregistering one family and registering the other a program gets
 * EAFNOSUPPORT.  sock_unregister() waits for an RCU grace period in between,
 * which we expedite: the gap is some ten microseconds.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "family.h"
#include "host/attach.h"
#include "native/kernel.h"
#include "native/native.h"
#include "native/ping.h"
#include "native/prot.h"
#include "ops/dgram.h"
#include "ops/stream.h"
#include "sock/netns.h"
#include "transport/compat.h"

/* The device that new sockets belong to. */
static struct vmrpc_device __rcu *family_device;

/* Our operations for sockets of AF_INET6. */
static struct proto_ops stream_ops6 __ro_after_init;
static struct proto_ops dgram_ops6 __ro_after_init;

static bool is_outsourced(const struct net *net, const struct socket *sock)
{
	const struct sock *sk = sock->sk;
	const struct vmrpc_native *native = vmrpc_native(sk->sk_family);

	if (!vmrpc_netns_is_served(net))
		return false;
	return (sock->type == SOCK_STREAM && sock->ops == native->stream &&
		sk->sk_protocol == IPPROTO_TCP) ||
	       (sock->type == SOCK_DGRAM && sock->ops == native->dgram &&
		sk->sk_protocol == IPPROTO_UDP) ||
	       vmrpc_sk_is_ping(sk);
}

/* The device that new sockets belong to, with a reference, or NULL. */
static struct vmrpc_device *current_device(void)
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
 * Some programs use MPTCP without configuration (Go 1.24 for each listener), and
 * fall back to TCP.  As a native socket it would be a listener that no peer
 * outside can reach.
 */
static bool is_mptcp(const struct net *net, const struct socket *sock,
		     int protocol)
{
	return net_eq(net, &init_net) && sock->type == SOCK_STREAM &&
	       protocol == IPPROTO_MPTCP && rcu_access_pointer(family_device);
}

/*
 * Services of the kernel set TCP_NODELAY on the native side of their streams
 * (tcp_sock_set_nodelay()), which the host does not see.  Without it, a service
 * that waits for an answer would also wait for the peer's delayed
 * acknowledgement.
 */
static int send_at_once(struct socket *sock)
{
	int on = 1;

	if (sock->type != SOCK_STREAM)
		return 0;
	return sock->ops->setsockopt(sock, SOL_TCP, TCP_NODELAY,
				     KERNEL_SOCKPTR(&on), sizeof(on));
}

static const struct proto_ops *our_ops(const struct socket *sock)
{
	bool inet6 = sock->sk->sk_family == PF_INET6;

	if (sock->type == SOCK_STREAM)
		return inet6 ? &stream_ops6 : &vmrpc_stream_ops;
	return inet6 ? &dgram_ops6 : &vmrpc_dgram_ops;
}

static int create(int family, struct net *net, struct socket *sock,
		  int protocol, int kern)
{
	struct vmrpc_device *dev;
	int err;

	if (!kern && is_mptcp(net, sock, protocol))
		return -EPROTONOSUPPORT;
	err = vmrpc_native(family)->create(net, sock, protocol, kern);
	if (err || !is_outsourced(net, sock) ||
	    (kern && !(net_eq(net, &init_net) && vmrpc_kernel_is_outsourced())))
		return err;
	dev = current_device();
	if (!dev)
		return 0;
	err = vmrpc_attach(dev, sock, our_ops(sock));
	if (!err && kern)
		err = send_at_once(sock);
	if (err)
		sock->ops->release(sock);
	vmrpc_device_put(dev);
	return err;
}

static int create4(struct net *net, struct socket *sock, int protocol, int kern)
{
	return create(PF_INET, net, sock, protocol, kern);
}

static int create6(struct net *net, struct socket *sock, int protocol, int kern)
{
	return create(PF_INET6, net, sock, protocol, kern);
}

static const struct net_proto_family ours[] = {
	{ .family = PF_INET, .create = create4, .owner = THIS_MODULE },
	{ .family = PF_INET6, .create = create6, .owner = THIS_MODULE },
};

/* Expedited, to keep the gap short. */
static int family_replace(const struct net_proto_family *family)
{
	int err;

	rcu_expedite_gp();
	sock_unregister(family->family);
	err = sock_register(family);
	rcu_unexpedite_gp();
	return err;
}

/*
 * Replace ours; made beforehand so that giving back cannot fail.  NULL: that
 * family is not taken.
 */
static struct net_proto_family *theirs[ARRAY_SIZE(ours)];

/* As vmrpc_family_take(), for one of the families. */
static int take(unsigned int i)
{
	struct net_proto_family *family;
	int err;

	family = kzalloc(sizeof(*family), GFP_KERNEL);
	if (!family)
		return -ENOMEM;
	family->family = ours[i].family;
	family->create = vmrpc_native_find(ours[i].family);
	err = family->create ? family_replace(&ours[i]) : -ENOENT;
	if (err)
		kfree(family);
	else
		theirs[i] = family;
	return err;
}

static void give_back(unsigned int i)
{
	if (theirs[i] && family_replace(theirs[i]))
		pr_err("vmrpc: another module has taken family %d\n",
		       ours[i].family);
	theirs[i] = NULL;
}

static void __init ops_complete(struct proto_ops *ops,
				const struct proto_ops *native)
{
#ifdef CONFIG_COMPAT
	ops->compat_ioctl = native->compat_ioctl;
#endif
	ops->read_sock = native->read_sock;
	ops->read_skb = native->read_skb;
	ops->peek_len = native->peek_len;
	ops->set_rcvlowat = native->set_rcvlowat;
	vmrpc_copy_set_rcvbuf(ops, native);
	ops->sendmsg_locked = native->sendmsg_locked;
#ifdef VMRPC_HAVE_SENDPAGE
	ops->sendpage_locked = native->sendpage_locked;
#endif
}

/**
 * vmrpc_family_init - to be called once, before there are sockets and after
 * vmrpc_native_init()
 *
 * Copies the kernel's operations that only concern the native side, as far as
 * this kernel has them.  SO_PEEK_OFF is supported for datagrams only.
 */
void __init vmrpc_family_init(void)
{
	ops_complete(&vmrpc_stream_ops, &inet_stream_ops);
	ops_complete(&vmrpc_dgram_ops, &inet_dgram_ops);
	vmrpc_dgram_ops.set_peek_off = inet_dgram_ops.set_peek_off;
	stream_ops6 = vmrpc_stream_ops;
	stream_ops6.family = PF_INET6;
	dgram_ops6 = vmrpc_dgram_ops;
	dgram_ops6.family = PF_INET6;
	if (vmrpc_native_has_inet6()) {
		ops_complete(&stream_ops6, vmrpc_native(PF_INET6)->stream);
		ops_complete(&dgram_ops6, vmrpc_native(PF_INET6)->dgram);
	}
#ifdef VMRPC_HAVE_URING_CMD
	vmrpc_prot_init(vmrpc_stream_prot_ioctl, vmrpc_dgram_prot_ioctl);
#endif
}

/*
 * A server that is older than the module, as one that a socket unit started,
 * seems to run, and nobody outside reaches it.
 */
static void tell_older_sockets(unsigned int families)
{
	int streams = 0, datagrams = 0;
	unsigned int i;

	for (i = 0; i < families; i++) {
		streams += sock_prot_inuse_get(&init_net, vmrpc_natives[i].tcp);
		datagrams += sock_prot_inuse_get(&init_net,
						 vmrpc_natives[i].udp);
	}
	if (streams > 0 || datagrams > 0)
		pr_info("vmrpc: %d TCP and %d UDP sockets are older than the module: they are reached only from inside the guest\n",
			streams, datagrams);
}

/**
 * vmrpc_family_take - make new sockets ours
 * @dev: the device they belong to
 *
 * Returns 0, -ENOENT if the kernel's create function was not found, -ENOMEM, or
 * -EEXIST if another module has registered a family in the gap; then it keeps
 * it.
 */
int vmrpc_family_take(struct vmrpc_device *dev)
{
	int err;

	if (!vmrpc_native_find(PF_INET))
		pr_err("vmrpc: inet_create not found; are kprobes on?\n");
	rcu_assign_pointer(family_device, dev);
	err = take(0);
	if (!err && dev->inet6)
		err = take(1);
	if (err) {
		RCU_INIT_POINTER(family_device, NULL);
		give_back(0);
		return err;
	}
	vmrpc_ping_take(vmrpc_netns_is_served, dev->inet6);
	tell_older_sockets(dev->inet6 ? 2 : 1);
	return 0;
}

/**
 * vmrpc_family_give_back - make new sockets native again
 *
 * Sockets that are ours already stay ours.
 */
void vmrpc_family_give_back(void)
{
	RCU_INIT_POINTER(family_device, NULL);
	vmrpc_ping_give_back();
	give_back(0);
	give_back(1);
}
