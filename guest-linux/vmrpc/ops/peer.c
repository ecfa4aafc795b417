// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The peer of a datagram socket, and its port on both sides
 *
 * With a peer a socket belongs to one side.  A local peer: the host socket is
 * closed, and made again when the peer is dissolved.  If datagrams are queued
 * there, it stays for them (VMRPC_BOTH), but receives nothing more.  A peer
 * beyond the host: the native sock is connected to it as well, so that it
 * receives nothing from elsewhere, and so that names, ss(8) and shutdown() are
 * right.  The native sock never sends to it.
 */
#include <net/ip.h>
#include <net/udp.h>

#include "host/bind.h"
#include "host/host.h"
#include "ops/peer.h"
#include "option/group.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/netns.h"
#include "sock/ready.h"

/* --- one port on two sides ------------------------------------------------ */

static bool is_bound(const struct vmrpc_sock *vs)
{
	return inet_sk(vs->sk)->inet_num != 0;
}

/*
 * Makes the host socket.  The guest alone serves a socket that is bound to
 * another interface.  Caller must hold vs->lock.  Returns 0 or a negative
 * errno.
 */
static int open_if_possible(struct vmrpc_sock *vs)
{
	int err = vmrpc_host_open(vs);

	if (err != VMRPC_USE_NATIVE)
		return err;
	vmrpc_host_turn_native(vs);
	return 0;
}

/**
 * vmrpc_peer_bind - make a host socket with the port of the native one
 * @sock: the socket
 * @vs: its outsourced side; caller must not hold vs->lock
 *
 * Still VMRPC_NATIVE afterwards if the host cannot serve the socket.  Returns 0
 * or a negative errno.
 */
int vmrpc_peer_bind(struct socket *sock, struct vmrpc_sock *vs)
{
	union vmrpc_name any = vmrpc_addr_any(vs);
	int err = 0;

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE && is_bound(vs))
		return 0;
	if (!is_bound(vs)) {
		err = vmrpc_bind(sock, (struct vmrpc_sockaddr *)&any,
				 vmrpc_addr_len(vs));
		/* Another task may have bound it meanwhile. */
		if (err ? err != -EINVAL || !is_bound(vs)
			: !vmrpc_sock_is_contained(vs))
			return err;
	}
	mutex_lock(&vs->lock);
	err = open_if_possible(vs);
	mutex_unlock(&vs->lock);
	return err;
}

/* --- connect -------------------------------------------------------------- */

/**
 * vmrpc_peer_needs_broadcast - a broadcast without SO_BROADCAST?
 * @vs: the socket
 * @to: destination
 */
bool vmrpc_peer_needs_broadcast(const struct vmrpc_sock *vs,
				const union vmrpc_name *to)
{
	__be32 addr;

	return vmrpc_addr_get4(to, &addr) &&
	       addr == htonl(INADDR_BROADCAST) &&
	       !sock_flag(vs->sk, SOCK_BROADCAST);
}

/* Binds the native sock to a port that the host has chosen. */
static int bind_native(struct socket *sock, struct vmrpc_sock *vs, __be16 port)
{
	union vmrpc_name local = vmrpc_addr_any(vs);
	int err;

	local.in.sin_port = port;
	err = vmrpc_native_ops(vs->sk)->bind(sock,
					     (struct vmrpc_sockaddr *)&local,
					     vmrpc_addr_len(vs));

	if (!err)
		vmrpc_bind_hold_port(vs, false);
	return err;
}

/* Connects the native sock to a peer it will never send to. */
static void mirror_peer(struct socket *sock, struct vmrpc_sock *vs)
{
	union vmrpc_name peer = vs->peer;
	int err = 0;

	/* UDP of another namespace has a port there, and another on the host. */
	if (!is_bound(vs) &&
	    (!vmrpc_sock_is_contained(vs) || vmrpc_sk_is_ping(vs->sk)))
		err = bind_native(sock, vs, vs->local.in.sin_port);
	if (!err)
		err = inet_dgram_connect(sock, (struct vmrpc_sockaddr *)&peer,
					 vmrpc_addr_len(vs), 0);
	vmrpc_netns_name(vs, &vs->local);
	/* Names work without it; for the rest see came_before(). */
	if (err)
		pr_debug("vmrpc: no native mirror of a peer: %d\n", err);
}

/* Dissolves the peer of the native sock, and a port that came with it. */
static int unspec(struct socket *sock)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	return inet_dgram_connect(sock, (struct vmrpc_sockaddr *)&none,
				  sizeof(none), 0);
}

/* The same before a new peer: the port stays. */
static int unspec_but_port(struct socket *sock, struct vmrpc_sock *vs)
{
	bool held = vmrpc_bind_hold_port(vs, true);
	int err = unspec(sock);

	vmrpc_bind_hold_port(vs, held);
	return err;
}

/*
 * Does it have a local peer and a host socket?  The latter is for datagrams
 * that are queued there, or to send elsewhere.
 */
static bool has_local_peer(const struct vmrpc_sock *vs)
{
	return vmrpc_sock_mode(vs) == VMRPC_BOTH &&
	       vmrpc_addr_has_native_peer(vs->sk);
}

/* Is something queued on the host, or an unfinished datagram? */
static bool is_needed(const struct vmrpc_sock *vs)
{
	return (vmrpc_sock_ready(vs) & (VMRPC_IN | VMRPC_ERR)) ||
	       READ_ONCE(vs->unfinished);
}

/*
 * Dissolves the peer of the host socket, whose queue stays.  The native side
 * has no peer any more, and no port unless the program has chosen it.  Caller
 * must hold vs->lock.  Returns false if the host socket is of no use any more.
 */
static bool dissolve_host(struct socket *sock, struct vmrpc_sock *vs)
{
	union vmrpc_name local;

	if (vmrpc_host_connect(vs, NULL, 0, false) ||
	    (!is_bound(vs) && !is_needed(vs)) ||
	    vmrpc_ask_name(vs, VMRPC_GETSOCKNAME, &local))
		return false;
	if (is_bound(vs))
		return local.in.sin_port == htons(inet_sk(vs->sk)->inet_num);
	/* It was bound by number and keeps its port: on both sides, then. */
	return !local.in.sin_port || !bind_native(sock, vs, local.in.sin_port);
}

/* Caller must hold vs->lock. */
static int dissolve(struct socket *sock, struct vmrpc_sock *vs)
{
	bool remote = vmrpc_sock_mode(vs) == VMRPC_REMOTE;
	bool has_peer = remote || has_local_peer(vs);
	int err = unspec(sock);

	if (err)
		return err;
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE &&
	    (has_peer || !is_bound(vs)) && !dissolve_host(sock, vs))
		vmrpc_host_close(vs);
	if (remote) {
		if (vmrpc_sock_mode(vs) == VMRPC_REMOTE)
			vmrpc_sock_set_mode(vs, VMRPC_BOTH);
		WRITE_ONCE(vs->disconnects, vs->disconnects + 1);
		vmrpc_ready_wake(vs, VMRPC_OUT);
	}
	if (is_bound(vs) && !vmrpc_sock_is_contained(vs) &&
	    !vmrpc_addr_bound_elsewhere(vs))
		err = open_if_possible(vs);
	return err;
}

/*
 * Lets the host socket receive nothing more.  Queued datagrams and errors can
 * still be received; if there are none, the host socket is closed.  Caller must
 * hold vs->lock.
 */
static void stop_receiving(struct vmrpc_sock *vs)
{
	bool remote = vmrpc_sock_mode(vs) == VMRPC_REMOTE;

	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return;
	if (!vmrpc_host_connect_self(vs) &&
	    (vmrpc_sock_ready(vs) & (VMRPC_IN | VMRPC_ERR)))
		vmrpc_sock_set_mode(vs, VMRPC_BOTH);
	else
		vmrpc_host_close(vs);
	if (remote) {
		WRITE_ONCE(vs->disconnects, vs->disconnects + 1);
		vmrpc_ready_wake(vs, VMRPC_OUT);
	}
}

/* Caller must hold vs->lock. */
static int connect_local(struct socket *sock, struct vmrpc_sock *vs,
			 const union vmrpc_name *to)
{
	union vmrpc_name any = vmrpc_addr_any(vs);
	union vmrpc_name peer = *to;
	int err;

	/* The source address of the mirrored peer would be wrong. */
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
		/* For Linux 0.0.0.0 is the source address of the socket. */
		if (to->family == AF_INET && vmrpc_addr_is_any(to))
			peer.in.sin_addr.s_addr = inet_sk(vs->sk)->inet_saddr;
		unspec_but_port(sock, vs);
	}
	/* A host socket that has a queue, but no port. */
	else if (vmrpc_sock_mode(vs) == VMRPC_BOTH && !is_bound(vs))
		vmrpc_bind_locked(sock, vs, (struct vmrpc_sockaddr *)&any,
				  vmrpc_addr_len(vs));
	err = inet_dgram_connect(sock, (struct vmrpc_sockaddr *)&peer,
				 vmrpc_addr_len(vs), 0);
	if (!err)
		stop_receiving(vs);
	return err;
}

/* Fails with @err.  As inet_dgram_connect(), binds the socket first. */
static int refuse(struct socket *sock, struct vmrpc_sock *vs, int err)
{
	union vmrpc_name any = vmrpc_addr_any(vs);

	if (!is_bound(vs) && vmrpc_sock_mode(vs) != VMRPC_REMOTE &&
	    !vmrpc_sk_is_ping(vs->sk))
		vmrpc_bind_locked(sock, vs, (struct vmrpc_sockaddr *)&any,
				  vmrpc_addr_len(vs));
	return err;
}

/*
 * Caller must hold vs->lock.  Returns 0, VMRPC_USE_NATIVE if the socket is
 * bound to another interface, or a negative errno.
 */
static int open_remote(struct socket *sock, struct vmrpc_sock *vs,
		       const union vmrpc_name *to)
{
	enum vmrpc_mode before = vmrpc_sock_mode(vs);
	int err = vmrpc_host_open_with(vs);

	if (err)
		return err;
	err = vmrpc_host_connect(vs, to, 0, false);
	if (err && vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return err;
	if (err) {
		if (before == VMRPC_NATIVE && !is_bound(vs))
			vmrpc_host_close(vs);
		return refuse(sock, vs, err);
	}
	mirror_peer(sock, vs);
	vmrpc_sock_set_mode(vs, VMRPC_REMOTE);
	return 0;
}

/* As open_remote().  After an error the socket has its old local peer. */
static int connect_remote(struct socket *sock, struct vmrpc_sock *vs,
			  const union vmrpc_name *to)
{
	union vmrpc_name peer = vmrpc_addr_native_peer(vs);
	bool local = has_local_peer(vs) ||
		     (vmrpc_sock_mode(vs) == VMRPC_NATIVE &&
		      vmrpc_addr_has_native_peer(vs->sk));
	int err;

	/* The present source address would be wrong. */
	if (local || (vmrpc_sock_mode(vs) == VMRPC_NATIVE && is_bound(vs))) {
		err = unspec_but_port(sock, vs);
		if (err)
			return err;
	}
	err = open_remote(sock, vs, to);
	if (err < 0 && local)
		connect_local(sock, vs, &peer);
	return err;
}

/**
 * vmrpc_peer_is_native - is a destination reached without the host?
 * @vs: the socket
 * @to: destination
 */
bool vmrpc_peer_is_native(struct vmrpc_sock *vs, const union vmrpc_name *to)
{
	if (vmrpc_sock_is_contained(vs))
		return vmrpc_netns_is_native(vs, to);
	if (vmrpc_addr_is_multicast(to))
		return vmrpc_group_is_native(vs, to);
	return vmrpc_addr_is_native(vs, to);
}

static int connect_locked(struct socket *sock, struct vmrpc_sock *vs,
			  struct vmrpc_sockaddr *uaddr, int len)
{
	union vmrpc_name to, bound;
	int err;

	if (len < sizeof(uaddr->sa_family))
		return -EINVAL;
	if (uaddr->sa_family == AF_UNSPEC)
		return dissolve(sock, vs);
	if (len < (uaddr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					       : vmrpc_addr_min(vs)))
		return refuse(sock, vs, -EINVAL);
	vmrpc_addr_fill(vs, &to, uaddr, len);
	if (to.family != vs->sk->sk_family)
		return refuse(sock, vs, -EAFNOSUPPORT);
	bound = vmrpc_addr_bound(vs);
	if (vmrpc_peer_is_native(vs, &to) ||
	    (vmrpc_sock_mode(vs) == VMRPC_NATIVE &&
	     !vmrpc_addr_is_any(&bound) &&
	     !vmrpc_addr_has_native_peer(vs->sk) &&
	     vmrpc_addr_bound_elsewhere(vs)))
		return connect_local(sock, vs, &to);
	if (vmrpc_peer_needs_broadcast(vs, &to))
		return refuse(sock, vs, -EACCES);
	err = connect_remote(sock, vs, &to);
	if (err != VMRPC_USE_NATIVE)
		return err;
	vmrpc_host_turn_native(vs);
	return connect_local(sock, vs, &to);
}

/**
 * vmrpc_peer_connect - connect(2) of a datagram socket
 * @sock: the socket
 * @uaddr: kernel copy of the address
 * @len: its length
 * @flags: O_NONBLOCK
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_peer_connect(struct socket *sock, struct vmrpc_sockaddr *uaddr,
		       int len, int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs)
		return inet_dgram_connect(sock, uaddr, len, flags);
	mutex_lock(&vs->lock);
	err = connect_locked(sock, vs, uaddr, len);
	mutex_unlock(&vs->lock);
	return err;
}
