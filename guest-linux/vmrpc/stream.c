// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP sockets
 *
 * Each operation asks the mode of the socket (sock.c) and then is either the
 * kernel's own or done on the host.  A listener does both: it listens on one
 * port in the guest and on the host, and accept() takes from either queue.
 *
 * Nothing is locked while a task waits: senders and readers may come from
 * several tasks, and a request is the unit that is not interleaved.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <asm/ioctls.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "internal.h"

/* "Not ours to decide": an answer of functions that return 0 or an errno. */
#define USE_NATIVE		1

/* What a writer, or a task that connects, waits for. */
#define WRITABLE		(VMRPC_OUT | VMRPC_HUP)

/* --- connect ---------------------------------------------------------------- */

/* The host socket has no peer any more.  Caller must hold vs->lock. */
static void unconnected(struct socket *sock, struct vmrpc_sock *vs)
{
	sock->state = SS_UNCONNECTED;
	vs->shutdown = 0;
	/* As tcp_disconnect() does it: shutdown() has been before. */
	WRITE_ONCE(vs->sk->sk_shutdown, 0);
	vmrpc_message_forget(vs);
	vmrpc_sock_set_mode(vs, VMRPC_BOTH);
	WRITE_ONCE(vs->disconnects, vs->disconnects + 1);
	vmrpc_sock_wake(vs, VMRPC_HUP);
}

/*
 * Linux goes on telling the port of a connection that has failed or been given
 * up, though the socket has lost it.  Caller must hold vs->lock; the host has not
 * forgotten the connection yet.
 */
static void remember_port(struct vmrpc_sock *vs)
{
	struct inet_sock *inet = inet_sk(vs->sk);
	struct sockaddr_in local;

	/* One that has not begun had no port. */
	if (!inet->inet_num &&
	    !vmrpc_sock_name(vs, VMRPC_GETSOCKNAME, &local) && local.sin_port)
		inet->inet_sport = local.sin_port;
}

/*
 * The connection is no more, and the host's socket can be used again, as the
 * program's can; unless a migration has lost it: then another will be made.
 * Caller must hold vs->lock.  @err: the host's answer to being asked for that.
 */
static void dissolved(struct socket *sock, struct vmrpc_sock *vs, int err)
{
	unconnected(sock, vs);
	if (err == -ECONNRESET)
		vmrpc_sock_close(vs);
}

/* connect(AF_UNSPEC).  Caller must hold vs->lock. */
static int dissolve(struct socket *sock, struct vmrpc_sock *vs)
{
	enum vmrpc_mode mode = vmrpc_sock_mode(vs);
	bool ended;
	int err;

	if (mode == VMRPC_NATIVE)
		return USE_NATIVE;
	if (mode == VMRPC_REMOTE) {
		/* Perhaps it has failed, of which nothing has been told yet. */
		vmrpc_sock_ask(vs);
		remember_port(vs);
	}
	ended = vmrpc_sock_ready(vs) & VMRPC_HUP;
	err = vmrpc_sock_connect(vs, NULL, 0, false);
	if (mode == VMRPC_BOTH) {
		if (err == -ECONNRESET)
			vmrpc_sock_close(vs);
		return USE_NATIVE;
	}
	if (err && err != -ECONNRESET)
		return err;
	/* As tcp_disconnect() does it, for who reads on. */
	if (!err && !ended)
		WRITE_ONCE(vs->sk->sk_err, ECONNRESET);
	dissolved(sock, vs, err);
	return 0;
}

/*
 * Caller must hold vs->lock.  Returns USE_NATIVE if the socket has just been
 * bound to another interface.
 */
static int connect_host(struct socket *sock, struct vmrpc_sock *vs,
			const struct sockaddr_in *to, bool may_wait)
{
	u32 wait_us = may_wait ? vmrpc_device_patience(vs->dev) : 0;
	int err;

	vmrpc_sol_sync(vs);
	if (!vmrpc_sock_is_open(vs))
		return USE_NATIVE;
	/*
	 * From here on, or once it is opened, pollers see the host's readiness;
	 * it has none yet, and the error of a former connection says nothing
	 * about this one.
	 */
	spin_lock_irq(&vs->ready_lock);
	WRITE_ONCE(vs->ready, 0);
	WRITE_ONCE(vs->sk->sk_err, 0);
	spin_unlock_irq(&vs->ready_lock);
	if (!vs->opening)
		vmrpc_sock_set_mode(vs, VMRPC_REMOTE);

	err = vmrpc_sock_connect(vs, to, wait_us, !may_wait);
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
		/* A migration has lost it; the next attempt makes another. */
		if (err == -ECONNRESET)
			vmrpc_sock_close(vs);
		else
			remember_port(vs);
		if (err == -ECONNREFUSED)
			WRITE_ONCE(vs->sk->sk_shutdown, 0);
		return err;
	}
	/*
	 * shutdown() without a connection has said ENOTCONN, but counts for this
	 * one.  Its peer is not told, so the host need not know.
	 */
	vs->shutdown = vs->sk->sk_shutdown;
	/* Who wants signals will not wait in a call to be told. */
	if (sock_flag(vs->sk, SOCK_FASYNC))
		vmrpc_sock_watch(vs, NULL);
	return err;
}

/*
 * Caller must hold vs->lock.  Returns USE_NATIVE, 0, -EINPROGRESS (on its way
 * now), -EALREADY (on its way before) or another negative errno.
 */
static int connect_start(struct socket *sock, struct vmrpc_sock *vs,
			 struct sockaddr *uaddr, int len, int flags)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)uaddr;
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
		return USE_NATIVE;
	if (len < sizeof(*to))
		return -EINVAL;
	if (to->sin_family != AF_INET)
		return -EAFNOSUPPORT;
	if (vmrpc_addr_is_native(vs, to->sin_addr.s_addr) ||
	    vmrpc_sock_bound_elsewhere(vs)) {
		vmrpc_sock_turn_native(vs);
		return USE_NATIVE;
	}
	err = vmrpc_sock_open_with(vs);
	if (err)
		return err;
	return connect_host(sock, vs, to,
			    sock_sndtimeo(vs->sk, flags & O_NONBLOCK));
}

/* Caller must hold vs->lock.  The connection has been made, or not. */
static int connect_finish(struct socket *sock, struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return -EPIPE;		/* another task gave it up */
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
	dissolved(sock, vs, vmrpc_sock_connect(vs, NULL, 0, false));
	return err;
}

static bool connect_is_over(struct vmrpc_sock *vs)
{
	u8 state;

	if ((vmrpc_sock_ready(vs) & WRITABLE) || READ_ONCE(vs->sk->sk_err))
		return true;
	/* What has been sent since may have filled the buffer. */
	state = vmrpc_sock_tcp_state(vs);
	return state && state != TCP_SYN_SENT && state != TCP_SYN_RECV;
}

/* @err: what to say if it does not end, -EINPROGRESS or -EALREADY */
static int connect_wait(struct socket *sock, struct vmrpc_sock *vs, int flags,
			int err)
{
	long timeo = sock_sndtimeo(vs->sk, flags & O_NONBLOCK);
	int ret;

	/* Programs wait for the event even if the host has been faster. */
	if ((flags & O_NONBLOCK) && err == -EINPROGRESS)
		return err;
	if (err == -EINPROGRESS || !connect_is_over(vs)) {
		ret = vmrpc_sock_wait(vs, WRITABLE, NULL, &timeo);
		if (ret)
			return ret == -EAGAIN ? err : ret;
	}
	mutex_lock(&vs->lock);
	ret = connect_finish(sock, vs);
	mutex_unlock(&vs->lock);
	return ret;
}

static int stream_connect(struct socket *sock, struct sockaddr *uaddr, int len,
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
	case USE_NATIVE:
		return inet_stream_connect(sock, uaddr, len, flags);
	case -EINPROGRESS:
	case -EALREADY:
		return connect_wait(sock, vs, flags, err);
	default:
		return err;
	}
}

/* --- listen, accept --------------------------------------------------------- */

/* Caller must hold vs->lock.  If it fails, nobody can call. */
static int host_listen(struct vmrpc_sock *vs, int backlog)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_LISTEN);
	struct sockaddr_in local;
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.listen.backlog = cpu_to_le32(backlog);
	err = vmrpc_call_run(call);
	/* The host may have lost the port to connections of a former listener. */
	if (!err && (!vmrpc_addr_get(&local, &call->resp.addr) ||
		     local.sin_port != htons(inet_sk(vs->sk)->inet_num))) {
		vmrpc_sock_close(vs);
		err = -EADDRINUSE;
	}
	vmrpc_call_free(call);
	return err;
}

/* Caller must hold vs->lock; the socket has a port.  Both sides or none. */
static int listen_both(struct socket *sock, struct vmrpc_sock *vs, int backlog)
{
	int err;

	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE)
		return -EINVAL;
	if (vmrpc_sock_bound_elsewhere(vs) || sock->state != SS_UNCONNECTED)
		return inet_listen(sock, backlog);
	err = vmrpc_sock_open(vs);
	if (err)
		return err;
	vmrpc_sol_sync(vs);
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return inet_listen(sock, backlog);
	/* What was shut down before stays so for those who will call. */
	if (vs->sk->sk_shutdown && vs->sk->sk_state != TCP_LISTEN)
		vmrpc_sock_shutdown(vs, vs->sk->sk_shutdown - 1);
	err = host_listen(vs, backlog);
	if (err)
		return err;
	err = inet_listen(sock, backlog);
	if (err)
		vmrpc_sock_shutdown(vs, SHUT_RDWR);
	return err;
}

static int stream_listen(struct socket *sock, int backlog)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	struct sockaddr_in any = { .sin_family = AF_INET };
	int err;

	if (!vs)
		return inet_listen(sock, backlog);
	/* Both sides must choose the same port. */
	if (!inet_sk(sock->sk)->inet_num &&
	    vmrpc_sock_mode(vs) != VMRPC_REMOTE &&
	    sock->state == SS_UNCONNECTED) {
		err = vmrpc_sock_bind(sock, (struct sockaddr *)&any,
				      sizeof(any));
		if (err)
			return err;
	}
	mutex_lock(&vs->lock);
	err = listen_both(sock, vs, backlog);
	mutex_unlock(&vs->lock);
	return err;
}

static bool native_acceptable(struct sock *sk)
{
	return !reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue) ||
	       READ_ONCE(sk->sk_state) != TCP_LISTEN;
}

/* A connection within the guest is native in every respect. */
static int accept_native(struct socket *sock, struct socket *newsock,
			 struct proto_accept_arg *arg)
{
	int err = vmrpc_inet_accept(sock, newsock, arg);

	/* Of the kernel's own it will have the listener's, and a module then. */
	if (!err && !arg->kern) {
		newsock->ops = &inet_stream_ops;
		/* The core took it for newsock; the listener has its own. */
		module_put(THIS_MODULE);
	}
	return err;
}

static int try_accept_native(struct socket *sock, struct socket *newsock,
			     const struct proto_accept_arg *arg)
{
	struct proto_accept_arg once = *arg;

	if (!native_acceptable(sock->sk))
		return -EAGAIN;
	once.flags |= O_NONBLOCK;
	return accept_native(sock, newsock, &once);
}

/* Asks the host for a connection and its peer. */
static int host_accept(struct vmrpc_sock *vs, struct vmrpc_sock *child)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_ACCEPT);
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.accept.sock = cpu_to_le32(child->handle);
	call->req.u.accept.gen = cpu_to_le32(child->gen);
	err = vmrpc_call_run(call);
	if (!err) {
		vmrpc_sock_begin(child, le32_to_cpu(call->resp.value));
		/* From here on there is a host socket to close. */
		vmrpc_sock_show(child, VMRPC_REMOTE);
		/* It may have been reset already; why is not told with that. */
		if (vmrpc_sock_ready(child) & (VMRPC_HUP | VMRPC_ERR))
			vmrpc_sock_ask(child);
		if (!vmrpc_addr_get(&child->peer, &call->resp.addr))
			err = -EIO;
	}
	vmrpc_call_free(call);
	return err;
}

static int try_accept_remote(struct vmrpc_sock *vs, struct socket *newsock,
			     const struct proto_accept_arg *arg)
{
	struct vmrpc_sock *child;
	int err;

	if (!(vmrpc_sock_ready(vs) & VMRPC_IN))
		return -EAGAIN;
	/* Everything that can fail comes before the connection is taken. */
	err = vmrpc_family_create_native(newsock, IPPROTO_TCP);
	if (err)
		goto out;
	err = vmrpc_sock_attach(vs->dev, newsock);
	if (err)
		goto out_release;
	child = vmrpc_sk(newsock->sk);
	err = host_accept(vs, child);
	if (err)
		goto out_detach;
	vmrpc_sol_inherit(child, vs);
	/* As of a connection that the guest's TCP has made: its listener's label. */
	security_sk_clone(vs->sk, newsock->sk);
	security_sock_graft(newsock->sk, newsock);
	newsock->state = SS_CONNECTED;
	return 0;

out_detach:
	vmrpc_sock_detach(child);
	/* It may become that of a connection within the guest. */
	vmrpc_disclaim_sol_socket(newsock);
out_release:
	inet_release(newsock);
out:
	/*
	 * The core puts the module of these when it releases newsock; for one
	 * of the kernel's own it has not taken it yet.
	 */
	newsock->ops = arg->kern ? NULL : &vmrpc_stream_ops;
	return err;
}

/* One attempt on each side, beginning with the one whose turn it is. */
static int accept_either(struct socket *sock, struct vmrpc_sock *vs,
			 struct socket *newsock, struct proto_accept_arg *arg)
{
	bool native = vs->native_turn;
	unsigned int i;
	int err = -EAGAIN;

	vs->native_turn = !native;
	for (i = 0; i < 2 && err == -EAGAIN; i++) {
		err = native ? try_accept_native(sock, newsock, arg)
			     : try_accept_remote(vs, newsock, arg);
		native = !native;
	}
	return err;
}

static int stream_accept(struct socket *sock, struct socket *newsock,
			 struct proto_accept_arg *arg)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	struct sock *sk = sock->sk;
	bool again = false;
	long timeo;
	int err;

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_BOTH)
		return accept_native(sock, newsock, arg);
	vmrpc_sol_refresh(vs);
	timeo = sock_rcvtimeo(sk, arg->flags & O_NONBLOCK);
	for (;;) {
		if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
			return -EINVAL;
		if (vmrpc_sock_mode(vs) != VMRPC_BOTH)
			return accept_native(sock, newsock, arg);
		err = accept_either(sock, vs, newsock, arg);
		if (err != -EAGAIN)
			return err;
		/* Another task may have been faster, but not every time. */
		if (again && (vmrpc_sock_ready(vs) & VMRPC_IN)) {
			err = vmrpc_sock_pause(&timeo);
			if (err)
				return err;
		}
		err = vmrpc_sock_wait(vs, VMRPC_IN, native_acceptable, &timeo);
		if (err)
			return err;
		again = true;
	}
}

VMRPC_ACCEPT_OP(stream_accept_op, stream_accept)

/* --- send, receive ---------------------------------------------------------- */

/* Who has shut down before there was a connection is told when it is made. */
static bool is_shut_for_sending(struct vmrpc_sock *vs)
{
	return (vs->shutdown & SEND_SHUTDOWN) && connect_is_over(vs);
}

/*
 * What is wrong with the ancillary data is told before room is waited for, but
 * not before the connection is.
 */
static int no_room(struct vmrpc_sock *vs, struct msghdr *msg)
{
	int err = 0;

	if (msg->msg_controllen && connect_is_over(vs))
		err = vmrpc_message_check(vs, msg);
	return err ? err : -EAGAIN;
}

/*
 * Send as much as fits into a request, if there may be room, for which only the
 * host waits.  A buffer of which less than a third is free is not writable to
 * poll(), and takes more (sk_stream_is_writeable()): so each call asks once.
 * Returns bytes, -EAGAIN or another negative errno.
 */
static ssize_t send_part(struct vmrpc_sock *vs, struct msghdr *msg, long timeo,
			 bool first)
{
	bool writable = vmrpc_sock_ready(vs) & WRITABLE;
	size_t left = msg_data_left(msg);
	u32 wait_us = 0;

	/* Shut before there was a connection, which is on its way still. */
	if (vs->shutdown & SEND_SHUTDOWN)
		return -EAGAIN;
	/* No bytes need no room, only a connection. */
	if (timeo && left && !writable)
		wait_us = vmrpc_device_patience(vs->dev);
	if (!wait_us && !writable && left &&
	    !(first && (!msg->msg_controllen || connect_is_over(vs))))
		return no_room(vs, msg);
	return vmrpc_message_send(vs, msg, min_t(size_t, left, VMRPC_DATA_MAX),
				  NULL, wait_us);
}

static int send_remote(struct vmrpc_sock *vs, struct msghdr *msg)
{
	struct sock *sk = vs->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	bool first = true;
	size_t sent = 0;
	ssize_t n;

	for (;;) {
		n = -EPIPE;
		if (READ_ONCE(sk->sk_err) || is_shut_for_sending(vs) ||
		    (vmrpc_sock_ready(vs) & VMRPC_HUP) ||
		    vmrpc_sock_mode(vs) != VMRPC_REMOTE)
			break;
		n = send_part(vs, msg, timeo, first);
		first = false;
		if (n < 0 && sent)
			vmrpc_sock_keep_error(vs, n);
		if (n >= 0) {
			sent += n;
			if (!msg_data_left(msg))
				return sent;
			if (n)
				continue;
			n = -EAGAIN;
		}
		if (n != -EAGAIN)
			break;
		if (vmrpc_sock_ready(vs) & WRITABLE)
			n = vmrpc_sock_pause(&timeo);
		else
			n = vmrpc_sock_wait(vs, WRITABLE, NULL, &timeo);
		if (n)
			break;
	}
	return sent ? sent : sk_stream_error(sk, msg->msg_flags, n);
}

/* sendto(MSG_FASTOPEN): saves the program a call, not the host a round trip */
static int connect_first(struct socket *sock, struct msghdr *msg)
{
	int flags = msg->msg_flags & MSG_DONTWAIT ? O_NONBLOCK : 0;
	struct sockaddr *to = msg->msg_name;

	msg->msg_flags &= ~MSG_FASTOPEN;
	if (to && msg->msg_namelen >= sizeof(to->sa_family) &&
	    to->sa_family == AF_UNSPEC)
		return -EOPNOTSUPP;
	if (to)
		return stream_connect(sock, to, msg->msg_namelen, flags);
	if (sock->state == SS_CONNECTING)
		return connect_wait(sock, vmrpc_sk(sock->sk), flags,
				    -EALREADY);
	return sock->state == SS_CONNECTED || sock->sk->sk_state == TCP_LISTEN ?
	       -EISCONN : -EINVAL;
}

static int stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t size)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	struct ubuf_info *uarg;
	int err;

	if (!vs)
		return inet_sendmsg(sock, msg, size);
	if ((msg->msg_flags & MSG_FASTOPEN) &&
	    (vmrpc_sock_mode(vs) == VMRPC_REMOTE ||
	     sock->state == SS_UNCONNECTED)) {
		err = connect_first(sock, msg);
		if (err)
			return sk_stream_error(sock->sk, msg->msg_flags, err);
	}
	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return inet_sendmsg(sock, msg, size);
	err = vmrpc_zerocopy_begin(sock->sk, msg, size, &uarg);
	if (err)
		return err;
	vmrpc_sol_refresh(vs);
	err = send_remote(vs, msg);
	vmrpc_zerocopy_end(uarg, err >= 0);
	return err;
}

static int stream_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
			  int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE ||
	    ((flags & MSG_ERRQUEUE) && vmrpc_has_native_errors(sock->sk)))
		return inet_recvmsg(sock, msg, size, flags);
	vmrpc_sock_reads(vs);
	return vmrpc_stream_receive(vs, msg, size, flags);
}

/* --- the rest --------------------------------------------------------------- */

static __poll_t stream_poll(struct file *file, struct socket *sock,
			    poll_table *wait)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	__poll_t mask = 0;

	if (!vs)
		return tcp_poll(file, sock, wait);
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
		/* SO_RCVLOWAT decides on what is readable. */
		vmrpc_sol_refresh(vs);
		sock_poll_wait(file, sock, wait);
		if (!vmrpc_sock_expect(vs, wait))
			vmrpc_sock_watch(vs, wait);
	} else {
		mask = tcp_poll(file, sock, wait);
		if (vmrpc_sock_mode(vs) == VMRPC_BOTH)
			vmrpc_sock_watch(vs, wait);
	}
	/* Only now that we are woken by changes, look what is the case. */
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_REMOTE:
		return vmrpc_sock_mask(vs);
	case VMRPC_BOTH:
		if (READ_ONCE(sock->sk->sk_state) == TCP_LISTEN)
			mask |= vmrpc_sock_mask(vs) &
				(EPOLLIN | EPOLLRDNORM);
		fallthrough;
	default:
		return mask;
	}
}

/**
 * vmrpc_stream_local - the address of a stream that the host serves
 * @vs: caller must hold vs->lock
 * @sin: set on success
 *
 * An accepted connection's is asked for when somebody wants it, and kept.  Of
 * several attempts to connect any may win, with an address of its own.
 * Returns 0 or a negative errno.
 */
int vmrpc_stream_local(struct vmrpc_sock *vs, struct sockaddr_in *sin)
{
	/* Before it is asked for: another attempt may win meanwhile. */
	bool settled = vmrpc_sock_ready(vs);
	int err = 0;

	if (vs->local.sin_family)
		*sin = vs->local;
	else
		err = vmrpc_sock_name(vs, VMRPC_GETSOCKNAME, sin);
	if (!err && settled)
		vs->local = *sin;
	return err;
}

static int local_name(struct vmrpc_sock *vs, struct sockaddr_in *sin)
{
	int err;

	mutex_lock(&vs->lock);
	err = vmrpc_stream_local(vs, sin);
	mutex_unlock(&vs->lock);
	return err;
}

static int stream_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	struct sockaddr_in *sin = (struct sockaddr_in *)uaddr;
	int err = 0;

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return inet_getname(sock, uaddr, peer);
	if (!peer)
		err = local_name(vs, sin);
	else if (peer == 1)
		/* Connected already, or still?  Only the host knows. */
		err = vmrpc_sock_name(vs, VMRPC_GETPEERNAME, sin);
	else if (vs->peer.sin_port)
		*sin = vs->peer;
	else
		/* As natively: that is how no peer is told from one. */
		err = -ENOTCONN;
	return err ? err : sizeof(*sin);
}

/* Is it a question to the host? */
static bool is_hosts(const struct vmrpc_sock *vs, unsigned int cmd)
{
	return vs && vmrpc_sock_mode(vs) == VMRPC_REMOTE &&
	       (cmd == SIOCINQ || cmd == SIOCOUTQ || cmd == SIOCOUTQNSD ||
		cmd == SIOCATMARK);
}

static int host_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value)
{
	int err = vmrpc_sock_ioctl(vs, cmd, value);

	if (!err && cmd == SIOCINQ)
		*value += READ_ONCE(vs->kept_size);
	return err;
}

static int stream_ioctl(struct socket *sock, unsigned int cmd,
			unsigned long arg)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int value, err;

	if (!is_hosts(vs, cmd))
		return inet_ioctl(sock, cmd, arg);
	err = host_ioctl(vs, cmd, &value);
	return err ? err : put_user(value, (int __user *)arg);
}

#ifdef VMRPC_HAVE_URING_CMD
/**
 * vmrpc_stream_prot_ioctl - what io_uring asks past the socket's operations
 * @sk: with an outsourced side
 * @cmd: command
 * @value: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_stream_prot_ioctl(struct sock *sk, int cmd, int *value)
{
	struct vmrpc_sock *vs = vmrpc_sk(sk);

	return is_hosts(vs, cmd) ? host_ioctl(vs, cmd, value)
				 : tcp_prot.ioctl(sk, cmd, value);
}
#endif

/*
 * As inet_shutdown() does it: a connection that is not made yet is given up,
 * one that has failed cannot be tried again, and one that nobody has asked for
 * counts as made.  Caller must hold vs->lock.
 */
static int shutdown_remote(struct socket *sock, struct vmrpc_sock *vs, int how)
{
	bool connecting = sock->state == SS_CONNECTING;
	bool on_its_way = connecting && !connect_is_over(vs);
	int err = vmrpc_sock_shutdown(vs, how);

	/* Then the host gives it up, unless it was faster. */
	if (on_its_way && vmrpc_sock_tcp_state(vs) == TCP_CLOSE) {
		unconnected(sock, vs);
		return err;
	}
	if (connecting)
		sock->state = err ? SS_DISCONNECTING : SS_CONNECTED;
	vs->shutdown |= how + 1;
	vmrpc_sock_wake(vs, VMRPC_HUP);
	return err;
}

static int stream_shutdown(struct socket *sock, int how)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs)
		return inet_shutdown(sock, how);
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	mutex_lock(&vs->lock);
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
		err = shutdown_remote(sock, vs, how);
	} else {
		/* Ends listening; otherwise the host would say ENOTCONN too. */
		if (vmrpc_sock_mode(vs) == VMRPC_BOTH &&
		    sock->sk->sk_state == TCP_LISTEN)
			vmrpc_sock_shutdown(vs, how);
		err = inet_shutdown(sock, how);
	}
	mutex_unlock(&vs->lock);
	return err;
}

/* Data that nobody has read make the end a reset; here the host has none. */
static void reset_unread(struct vmrpc_sock *vs)
{
	struct linger reset = { .l_onoff = 1 };

	if (!vmrpc_message_kept(vs))
		return;
	mutex_lock(&vs->lock);
	vmrpc_option_now(vs, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	mutex_unlock(&vs->lock);
}

static int stream_release(struct socket *sock)
{
	struct vmrpc_sock *vs = sock->sk ? vmrpc_sock_release(sock->sk) : NULL;

	if (vs) {
		if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
			vmrpc_sol_refresh(vs);
			reset_unread(vs);
			vmrpc_linger(vs);
		}
		vmrpc_sock_detach(vs);
	}
	return inet_release(sock);
}

/* As tcp_splice_read() does it, which never gets past the mark. */
static ssize_t splice_at_mark(struct socket *sock, struct vmrpc_sock *vs)
{
	u32 ready = vmrpc_sock_ready(vs);
	int err;

	/* The end came before the error that tells of it. */
	if ((ready & VMRPC_RDHUP) && READ_ONCE(sock->sk->sk_err) == EPIPE)
		return 0;
	err = sock_error(sock->sk);
	if (err || (ready & VMRPC_RDHUP))
		return err;
	return sock->file->f_flags & O_NONBLOCK ? -EAGAIN : 0;
}

static ssize_t stream_splice_read(struct socket *sock, loff_t *ppos,
				  struct pipe_inode_info *pipe, size_t len,
				  unsigned int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return inet_stream_ops.splice_read(sock, ppos, pipe, len,
						   flags);
	/* What is kept comes before the mark. */
	if (!vmrpc_message_kept(vs) && vmrpc_stream_at_mark(vs))
		return splice_at_mark(sock, vs);
	return vmrpc_splice_read(sock, ppos, pipe, len, flags);
}

#ifdef VMRPC_HAVE_SPLICE_EOF
static void stream_splice_eof(struct socket *sock)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		inet_splice_eof(sock);
	else
		vmrpc_option_push(vs);
}
#endif

#ifdef VMRPC_HAVE_SENDPAGE
static ssize_t stream_sendpage(struct socket *sock, struct page *page,
			       int offset, size_t size, int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return inet_sendpage(sock, page, offset, size, flags);
	return vmrpc_no_sendpage(sock, page, offset, size, flags);
}
#endif

/* What is not here, vmrpc_family_init() adds. */
struct proto_ops vmrpc_stream_ops __ro_after_init = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= stream_release,
	.bind		= vmrpc_sock_bind,
	.connect	= stream_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= stream_accept_op,
	.getname	= stream_getname,
	.poll		= stream_poll,
	.ioctl		= stream_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= vmrpc_compat_ioctl,
#endif
	.gettstamp	= sock_gettstamp,
	.listen		= stream_listen,
	.shutdown	= stream_shutdown,
	.setsockopt	= vmrpc_setsockopt,
	.getsockopt	= vmrpc_getsockopt,
	.sendmsg	= stream_sendmsg,
	.recvmsg	= stream_recvmsg,
	.mmap		= sock_no_mmap,
	.splice_read	= stream_splice_read,
#ifdef VMRPC_HAVE_SPLICE_EOF
	.splice_eof	= stream_splice_eof,
#endif
#ifdef VMRPC_HAVE_SENDPAGE
	.sendpage	= stream_sendpage,
#endif
};
