// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * connect(2) of a stream
 */
#include <linux/tcp.h>
#include <net/tcp_states.h>

#include "data/kept.h"
#include "host/host.h"
#include "host/wait.h"
#include "ops/connect.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/netns.h"
#include "sock/ready.h"
#include "transport/transport.h"

/**
 * vmrpc_connect_undo - the host socket has no peer any more
 * @sock: the socket
 * @vs: its outsourced side; caller must hold vs->lock
 */
void vmrpc_connect_undo(struct socket *sock, struct vmrpc_sock *vs)
{
	sock->state = SS_UNCONNECTED;
	vs->shutdown = 0;
	/*
	 * As tcp_disconnect(): an earlier shutdown() does not apply any more.
	 */
	WRITE_ONCE(vs->sk->sk_shutdown, 0);
	vmrpc_kept_forget(vs);
	vmrpc_sock_set_mode(vs, VMRPC_BOTH);
	WRITE_ONCE(vs->disconnects, vs->disconnects + 1);
	vmrpc_ready_wake(vs, VMRPC_HUP);
}

/*
 * After a failed or dissolved connection, getsockname() of Linux still returns
 * the port, although the socket does not have it any more.  Caller must hold
 * vs->lock; the host still has the connection.
 */
static void remember_port(struct vmrpc_sock *vs)
{
	struct inet_sock *inet = inet_sk(vs->sk);
	union vmrpc_name local;

	/* A connection that has not begun had no port. */
	if (!inet->inet_num &&
	    !vmrpc_ask_name(vs, VMRPC_GETSOCKNAME, &local) &&
	    local.in.sin_port)
		inet->inet_sport = local.in.sin_port;
}

/*
 * The connection is dissolved; the host socket can be used again.  If a
 * migration has lost the host socket, the next attempt makes another.  Caller
 * must hold vs->lock.  @err: result of dissolving it on the host.
 */
static void dissolved(struct socket *sock, struct vmrpc_sock *vs, int err)
{
	vmrpc_connect_undo(sock, vs);
	if (err == -ECONNRESET)
		vmrpc_host_close(vs);
}

/* connect(AF_UNSPEC).  Caller must hold vs->lock. */
static int dissolve(struct socket *sock, struct vmrpc_sock *vs)
{
	enum vmrpc_mode mode = vmrpc_sock_mode(vs);
	bool ended;
	int err;

	if (mode == VMRPC_NATIVE)
		return VMRPC_USE_NATIVE;
	if (mode == VMRPC_REMOTE) {
		/* It may have failed, and the host has not reported it yet. */
		vmrpc_wait_ask(vs);
		remember_port(vs);
	}
	ended = vmrpc_sock_ready(vs) & VMRPC_HUP;
	err = vmrpc_host_connect(vs, NULL, 0, false);
	if (mode == VMRPC_BOTH) {
		if (err == -ECONNRESET)
			vmrpc_host_close(vs);
		return VMRPC_USE_NATIVE;
	}
	if (err && err != -ECONNRESET)
		return err;
	/* As tcp_disconnect(): tasks that still read get this error. */
	if (!err && !ended)
		WRITE_ONCE(vs->sk->sk_err, ECONNRESET);
	dissolved(sock, vs, err);
	return 0;
}

/* Caller must hold vs->lock; the host socket is open, or is being opened. */
static int connect_host(struct socket *sock, struct vmrpc_sock *vs,
			const union vmrpc_name *to, bool may_wait)
{
	u32 wait_us = may_wait ? vmrpc_transport_patience(vs->dev) : 0;
	int err;

	/*
	 * From here on, or once the host socket is open, pollers see the host's
	 * readiness.  There is none yet, and the error of an earlier connection
	 * has no meaning for this one.
	 */
	spin_lock_irq(&vs->ready_lock);
	WRITE_ONCE(vs->ready, 0);
	WRITE_ONCE(vs->sk->sk_err, 0);
	spin_unlock_irq(&vs->ready_lock);
	if (!vs->opening)
		vmrpc_sock_set_mode(vs, VMRPC_REMOTE);

	err = vmrpc_host_connect(vs, to, wait_us, !may_wait);
	switch (err) {
	case 0:
		sock->state = SS_CONNECTED;
		break;
	case -EINPROGRESS:
		sock->state = SS_CONNECTING;
		break;
	default:
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
			return err;
		vmrpc_sock_set_mode(vs, VMRPC_BOTH);
		/* Lost by a migration: the next attempt makes another. */
		if (err == -ECONNRESET)
			vmrpc_host_close(vs);
		else
			remember_port(vs);
		if (err == -ECONNREFUSED)
			WRITE_ONCE(vs->sk->sk_shutdown, 0);
		return err;
	}
	/*
	 * An earlier shutdown() without a connection has returned ENOTCONN, but
	 * applies to this connection.  It sends nothing to the peer, so the
	 * host does not need to know.
	 */
	vs->shutdown = vs->sk->sk_shutdown;
	/* A program that wants signals may never wait in a call. */
	if (sock_flag(vs->sk, SOCK_FASYNC))
		vmrpc_wait_watch(vs, NULL);
	return err;
}

/*
 * Caller must hold vs->lock.  Returns VMRPC_USE_NATIVE, 0, -EINPROGRESS (begun
 * by this call), -EALREADY (begun before) or another negative errno.
 */
static int connect_start(struct socket *sock, struct vmrpc_sock *vs,
			 struct vmrpc_sockaddr *uaddr, int len, int flags)
{
	union vmrpc_name to;
	int err;

	if (len < sizeof(uaddr->sa_family))
		return -EINVAL;
	if (uaddr->sa_family == AF_UNSPEC)
		return dissolve(sock, vs);
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
		if (sock->state == SS_DISCONNECTING)
			return -EINVAL;
		return sock->state == SS_CONNECTED ? -EISCONN : -EALREADY;
	}
	if (sock->state != SS_UNCONNECTED || vs->sk->sk_state != TCP_CLOSE)
		return VMRPC_USE_NATIVE;
	if (len < vmrpc_addr_min(vs))
		return -EINVAL;
	vmrpc_addr_fill(vs, &to, uaddr, len);
	if (to.family != vs->sk->sk_family)
		return -EAFNOSUPPORT;
	if (vmrpc_sock_is_contained(vs)) {
		if (vmrpc_netns_is_native(vs, &to)) {
			vmrpc_host_close(vs);
			return VMRPC_USE_NATIVE;
		}
	} else if (vmrpc_addr_is_native(vs, &to) ||
		   vmrpc_addr_bound_elsewhere(vs)) {
		vmrpc_host_turn_native(vs);
		return VMRPC_USE_NATIVE;
	}
	err = vmrpc_host_open_with(vs);
	if (err == VMRPC_USE_NATIVE)
		vmrpc_host_turn_native(vs);
	if (err)
		return err;
	return connect_host(sock, vs, &to,
			    sock_sndtimeo(vs->sk, flags & O_NONBLOCK));
}

/* The attempt has ended.  Caller must hold vs->lock.  Returns its result. */
static int connect_finish(struct socket *sock, struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return -EPIPE;		/* another task dissolved it */
	if (sock->state == SS_CONNECTED)
		return 0;
	err = sock_error(vs->sk);
	if (!err && (vmrpc_sock_ready(vs) & VMRPC_HUP))
		err = -ECONNABORTED;
	if (!err) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	remember_port(vs);
	dissolved(sock, vs, vmrpc_host_connect(vs, NULL, 0, false));
	return err;
}

/**
 * vmrpc_connect_is_over - has the connection been made, or failed?
 * @vs: a stream in mode VMRPC_REMOTE
 */
bool vmrpc_connect_is_over(struct vmrpc_sock *vs)
{
	u8 state;

	if ((vmrpc_sock_ready(vs) & VMRPC_WRITABLE) ||
	    READ_ONCE(vs->sk->sk_err))
		return true;
	/* It may be connected with a full send buffer: not writable. */
	state = vmrpc_ask_tcp_state(vs);
	return state && state != TCP_SYN_SENT && state != TCP_SYN_RECV;
}

/**
 * vmrpc_connect_wait - wait until the connection is made, or has failed
 * @sock: the socket
 * @vs: its outsourced side
 * @flags: O_NONBLOCK: do not wait
 * @err: what to return if it is still under way: -EINPROGRESS or -EALREADY
 *
 * Returns 0, @err or another negative errno.
 */
int vmrpc_connect_wait(struct socket *sock, struct vmrpc_sock *vs, int flags,
		       int err)
{
	long timeo = sock_sndtimeo(vs->sk, flags & O_NONBLOCK);
	int ret;

	/* Programs expect this, even if the connection has been made. */
	if ((flags & O_NONBLOCK) && err == -EINPROGRESS)
		return err;
	if (err == -EINPROGRESS || !vmrpc_connect_is_over(vs)) {
		ret = vmrpc_wait(vs, VMRPC_WRITABLE, NULL, &timeo);
		if (ret)
			return ret == -EAGAIN ? err : ret;
	}
	mutex_lock(&vs->lock);
	ret = connect_finish(sock, vs);
	mutex_unlock(&vs->lock);
	return ret;
}

/**
 * vmrpc_connect - connect(2) of a stream
 * @sock: the socket
 * @uaddr: kernel copy of the address
 * @len: its length
 * @flags: O_NONBLOCK
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_connect(struct socket *sock, struct vmrpc_sockaddr *uaddr, int len,
		  int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs)
		return inet_stream_connect(sock, uaddr, len, flags);
	mutex_lock(&vs->lock);
	err = connect_start(sock, vs, uaddr, len, flags);
	mutex_unlock(&vs->lock);
	switch (err) {
	case VMRPC_USE_NATIVE:
		return inet_stream_connect(sock, uaddr, len, flags);
	case -EINPROGRESS:
	case -EALREADY:
		return vmrpc_connect_wait(sock, vs, flags, err);
	default:
		return err;
	}
}

/**
 * vmrpc_connect_local - the address of a stream that the host serves
 * @vs: caller must hold vs->lock
 * @name: set on success
 *
 * For an accepted connection the host is asked when the address is first
 * needed.  The host may try several addresses at the same time; the address is
 * final when one attempt has won.  Returns 0 or a negative errno.
 */
int vmrpc_connect_local(struct vmrpc_sock *vs, union vmrpc_name *name)
{
	/* Read this before the request: another attempt may win meanwhile. */
	bool settled = vmrpc_sock_ready(vs);
	int err = 0;

	if (vs->local.family)
		*name = vs->local;
	else
		err = vmrpc_ask_name(vs, VMRPC_GETSOCKNAME, name);
	if (!err && settled)
		vs->local = *name;
	return err;
}
