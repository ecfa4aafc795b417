// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bind(2)
 *
 * A socket that is bound to all addresses, or to the guest's own, has one port
 * on both sides (sock/sock.c); the host is asked first.  Other addresses are
 * only the guest's, and so is a socket that is bound to one.  In another network
 * namespace all are.
 */
#include <linux/capability.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "host/bind.h"
#include "host/host.h"
#include "sock/addr.h"

/* How often a port is chosen that must be free on both sides. */
#define BIND_ATTEMPTS		8

/**
 * vmrpc_bind_hold_port - set whether the native side keeps its port without a
 * peer
 * @vs: caller must hold vs->lock
 * @hold: keep it, as if the program had chosen the port by bind()
 *
 * bind() to a port number sets this, but the number may be the host's choice.
 * Returns the old value.
 */
bool vmrpc_bind_hold_port(struct vmrpc_sock *vs, bool hold)
{
	struct sock *sk = vs->sk;
	bool before;

	lock_sock(sk);
	before = sk->sk_userlocks & SOCK_BINDPORT_LOCK;
	if (hold)
		sk->sk_userlocks |= SOCK_BINDPORT_LOCK;
	else
		sk->sk_userlocks &= ~SOCK_BINDPORT_LOCK;
	release_sock(sk);
	return before;
}

/*
 * Binds both sides to one port.  Caller must hold vs->lock.  The host comes
 * first, because its ports are scarcer.
 */
static int bind_both(struct socket *sock, struct vmrpc_sock *vs,
		     const union vmrpc_name *to)
{
	union vmrpc_name native = *to;
	bool undo = vmrpc_sock_mode(vs) == VMRPC_NATIVE;
	int err;

	/* Before BIND the host needs SO_REUSEADDR and similar options. */
	err = vmrpc_host_open_with(vs);
	if (err < 0)
		return err;
	if (err == VMRPC_USE_NATIVE) {
		vmrpc_host_turn_native(vs);
		err = 0;
	} else {
		err = vmrpc_host_bind(vs, to, &native.in.sin_port);
		/* A host socket keeps its port until it is closed. */
		undo |= !err;
	}
	if (!err) {
		err = vmrpc_native_ops(vs->sk)->bind(sock,
				(struct vmrpc_sockaddr *)&native,
				vmrpc_addr_len(vs));
	}
	/*
	 * A stream keeps its port on the host, so the native side keeps it too.
	 */
	if (!err && !to->in.sin_port && vs->sk->sk_type == SOCK_DGRAM)
		vmrpc_bind_hold_port(vs, false);
	if (err && undo)
		vmrpc_host_close(vs);
	return err;
}

static bool may_bind_port(const struct vmrpc_sock *vs, unsigned short port)
{
	struct net *net = sock_net(vs->sk);

	/* A ping socket has an identifier, which needs no capability. */
	return !port || vmrpc_sk_is_ping(vs->sk) ||
	       !inet_port_requires_bind_service(net, port) ||
	       ns_capable(net->user_ns, CAP_NET_BIND_SERVICE);
}

/* Has it the family that bind() wants?  Of IPv4, none is as good for 0.0.0.0. */
static bool is_bindable(const struct vmrpc_sock *vs,
			const union vmrpc_name *to)
{
	return to->family == vs->sk->sk_family ||
	       (!vmrpc_sk_is_inet6(vs->sk) &&
		to->family == AF_UNSPEC && !to->in.sin_addr.s_addr);
}

/*
 * The errors of __inet_bind() for a connected socket, in its order.
 * __inet6_bind() looks at the address last.
 */
static int bind_too_late(struct vmrpc_sock *vs, const union vmrpc_name *to,
			 int len)
{
	struct net *net = sock_net(vs->sk);
	__be32 addr;

	if (len < vmrpc_addr_min(vs))
		return -EINVAL;
	if (!is_bindable(vs, to))
		return -EAFNOSUPPORT;
	if (!vmrpc_sk_is_inet6(vs->sk) && vmrpc_addr_get4(to, &addr) &&
	    !inet_addr_valid_or_nonlocal(net, inet_sk(vs->sk), addr,
					 inet_addr_type(net, addr)))
		return -EADDRNOTAVAIL;
	return may_bind_port(vs, ntohs(to->in.sin_port)) ? -EINVAL : -EACCES;
}

/* The native side refuses it. */
static bool is_mapped_for_v6only(const struct vmrpc_sock *vs,
				 const union vmrpc_name *to)
{
	__be32 addr;

	return vmrpc_sk_is_inet6(vs->sk) && ipv6_only_sock(vs->sk) &&
	       vmrpc_addr_get4(to, &addr);
}

/**
 * vmrpc_bind_locked - bind(2), within another operation
 * @sock: the socket
 * @vs: its outsourced side; caller must hold vs->lock
 * @uaddr: kernel copy of the address
 * @len: its length
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_bind_locked(struct socket *sock, struct vmrpc_sock *vs,
		      struct vmrpc_sockaddr *uaddr, int len)
{
	const union vmrpc_name *given = (const union vmrpc_name *)uaddr;
	union vmrpc_name to;
	unsigned short port;
	unsigned int i;
	int err;

	/* Connected: its native side may have no port. */
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE)
		return bind_too_late(vs, given, len);
	/* Invalid arguments: the native side returns the error. */
	if (len < vmrpc_addr_min(vs) || inet_sk(vs->sk)->inet_num ||
	    !is_bindable(vs, given) || is_mapped_for_v6only(vs, given) ||
	    vmrpc_sock_is_contained(vs))
		return vmrpc_native_ops(vs->sk)->bind(sock, uaddr, len);
	vmrpc_addr_fill(vs, &to, given, len);
	to.family = vs->sk->sk_family;
	if (!vmrpc_addr_is_shared(vs, &to) ||
	    vmrpc_addr_device_is_other(vs)) {
		err = vmrpc_native_ops(vs->sk)->bind(sock, uaddr, len);
		if (!err)
			vmrpc_host_turn_native(vs);
		return err;
	}

	port = ntohs(to.in.sin_port);
	if (!may_bind_port(vs, port))
		return -EACCES;
	for (i = 0; i < BIND_ATTEMPTS; i++) {
		err = bind_both(sock, vs, &to);
		if (port || err != -EADDRINUSE)
			break;
	}
	return err;
}

/**
 * vmrpc_bind - bind(2), streams and datagrams
 * @sock: the socket
 * @uaddr: kernel copy of the address
 * @len: its length
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_bind(struct socket *sock, struct vmrpc_sockaddr *uaddr, int len)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs)
		return vmrpc_native_ops(sock->sk)->bind(sock, uaddr, len);
	mutex_lock(&vs->lock);
	err = vmrpc_bind_locked(sock, vs, uaddr, len);
	mutex_unlock(&vs->lock);
	return err;
}
