// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UDP and ping sockets
 *
 * A ping socket has an identifier where the others have a port, and its peers
 * have none.
 *
 * Without a peer a socket lives on both sides (VMRPC_BOTH) as soon as it is
 * bound or has sent to the host: it has one port, its datagrams come from
 * either side, and each that it sends goes where its destination is.
 *
 * With a peer it belongs to one side.  A local peer: the host socket is closed
 * and made again when the peer is given up; if something is queued there it
 * stays for that (VMRPC_BOTH), but takes no more.  A peer beyond the host: the native
 * sock is connected to it as well, so that it takes nothing from elsewhere, and
 * names, ss(8) and shutdown() are right; nothing is ever sent there.
 */
#include <linux/module.h>
#include <linux/sockios.h>
#include <linux/udp.h>
#include <asm/ioctls.h>
#include <net/ip.h>
#include <net/udp.h>

#include "internal.h"

/* "Not ours to decide": an answer of functions that return 0 or an errno. */
#define USE_NATIVE		1

/* What a reader waits for. */
#define READABLE		(VMRPC_IN | VMRPC_HUP)
#define WRITABLE		(VMRPC_OUT | VMRPC_HUP)

/* --- one port on two sides --------------------------------------------------- */

static bool is_bound(const struct vmrpc_sock *vs)
{
	return inet_sk(vs->sk)->inet_num != 0;
}

/* A host socket with the port of the native one.  No lock is held. */
static int open_bound(struct socket *sock, struct vmrpc_sock *vs)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int err = 0;

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE && is_bound(vs))
		return 0;
	if (!is_bound(vs)) {
		err = vmrpc_sock_bind(sock, (struct sockaddr *)&any,
				      sizeof(any));
		/* Another task may have been faster. */
		if (err != -EINVAL || !is_bound(vs))
			return err;
	}
	mutex_lock(&vs->lock);
	err = vmrpc_sock_open(vs);
	mutex_unlock(&vs->lock);
	return err;
}

/* --- connect ---------------------------------------------------------------- */

/* A broadcast that the program has not asked to be allowed. */
static bool needs_broadcast(const struct vmrpc_sock *vs,
			    const struct sockaddr_in *to)
{
	return to->sin_addr.s_addr == htonl(INADDR_BROADCAST) &&
	       !sock_flag(vs->sk, SOCK_BROADCAST);
}

/* Gives the native sock a port that the host has chosen. */
static int bind_native(struct socket *sock, struct vmrpc_sock *vs, __be16 port)
{
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_port = port,
	};
	int err = inet_bind(sock, (struct sockaddr *)&local, sizeof(local));

	if (!err)
		vmrpc_sock_hold_port(vs, false);
	return err;
}

/* Connects the native sock to a peer it will never send to. */
static void mirror_peer(struct socket *sock, struct vmrpc_sock *vs)
{
	struct sockaddr_in peer = vs->peer;
	int err = 0;

	if (!is_bound(vs))
		err = bind_native(sock, vs, vs->local.sin_port);
	if (!err)
		err = inet_dgram_connect(sock, (struct sockaddr *)&peer,
					 sizeof(peer), 0);
	/* Names are known without it; for the rest see came_before(). */
	if (err)
		pr_debug("vmrpc: no native mirror of a peer: %d\n", err);
}

/* Takes the peer from the native sock, and a port that came with it. */
static int unspec(struct socket *sock)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	return inet_dgram_connect(sock, &none, sizeof(none), 0);
}

/* The same before another peer: the port stays. */
static int unspec_but_port(struct socket *sock, struct vmrpc_sock *vs)
{
	bool held = vmrpc_sock_hold_port(vs, true);
	int err = unspec(sock);

	vmrpc_sock_hold_port(vs, held);
	return err;
}

/* And still a host socket, for what is queued there or to send elsewhere. */
static bool has_local_peer(const struct vmrpc_sock *vs)
{
	return vmrpc_sock_mode(vs) == VMRPC_BOTH && inet_sk(vs->sk)->inet_daddr;
}

/* Does a program still have something to fetch from the host, or to end? */
static bool is_needed(const struct vmrpc_sock *vs)
{
	return (vmrpc_sock_ready(vs) & (VMRPC_IN | VMRPC_ERR)) ||
	       READ_ONCE(vs->unfinished);
}

/*
 * Takes the peer from the host socket, whose queue stays.  The native side has
 * lost its own already, and its port unless the program has chosen it.  Caller
 * must hold vs->lock.  Returns false if the host socket is of no use now.
 */
static bool dissolve_host(struct socket *sock, struct vmrpc_sock *vs)
{
	struct sockaddr_in local;

	if (vmrpc_sock_connect(vs, NULL, 0, false) ||
	    (!is_bound(vs) && !is_needed(vs)) ||
	    vmrpc_sock_name(vs, VMRPC_GETSOCKNAME, &local))
		return false;
	if (is_bound(vs))
		return local.sin_port == htons(inet_sk(vs->sk)->inet_num);
	/* It was told by number, once: so the port stays on both sides. */
	return !local.sin_port || !bind_native(sock, vs, local.sin_port);
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
		vmrpc_sock_close(vs);
	if (remote) {
		if (vmrpc_sock_mode(vs) == VMRPC_REMOTE)
			vmrpc_sock_set_mode(vs, VMRPC_BOTH);
		WRITE_ONCE(vs->disconnects, vs->disconnects + 1);
		vmrpc_sock_wake(vs, VMRPC_OUT);
	}
	if (is_bound(vs) && !vmrpc_sock_bound_elsewhere(vs))
		err = vmrpc_sock_open(vs);
	return err;
}

/*
 * What has been queued, errors too, can still be received; nothing more comes.
 * Without anything queued the host socket is not needed.  Caller must hold
 * vs->lock.
 */
static void close_to_strangers(struct vmrpc_sock *vs)
{
	bool remote = vmrpc_sock_mode(vs) == VMRPC_REMOTE;

	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return;
	if (!vmrpc_sock_connect_self(vs) &&
	    (vmrpc_sock_ready(vs) & (VMRPC_IN | VMRPC_ERR)))
		vmrpc_sock_set_mode(vs, VMRPC_BOTH);
	else
		vmrpc_sock_close(vs);
	if (remote) {
		WRITE_ONCE(vs->disconnects, vs->disconnects + 1);
		vmrpc_sock_wake(vs, VMRPC_OUT);
	}
}

/* 0.0.0.0, which Linux takes for the source address that the socket has. */
static bool is_unspecified(const struct sockaddr *uaddr, int len)
{
	return len >= (int)sizeof(struct sockaddr_in) &&
	       uaddr->sa_family == AF_INET &&
	       !((const struct sockaddr_in *)uaddr)->sin_addr.s_addr;
}

/* Caller must hold vs->lock. */
static int connect_local(struct socket *sock, struct vmrpc_sock *vs,
			 struct sockaddr *uaddr, int len)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct sockaddr_in self;
	int err;

	/* A mirrored peer's source address would not do. */
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
		if (is_unspecified(uaddr, len)) {
			memcpy(&self, uaddr, sizeof(self));
			self.sin_addr.s_addr = inet_sk(vs->sk)->inet_saddr;
			uaddr = (struct sockaddr *)&self;
			len = sizeof(self);
		}
		unspec_but_port(sock, vs);
	}
	/* A host socket that has kept its queue, but no port. */
	else if (vmrpc_sock_mode(vs) == VMRPC_BOTH && !is_bound(vs))
		vmrpc_sock_bind_locked(sock, vs, (struct sockaddr *)&any,
				       sizeof(any));
	err = inet_dgram_connect(sock, uaddr, len, 0);
	if (!err)
		close_to_strangers(vs);
	return err;
}

/* The native sock's peer. */
static struct sockaddr_in native_peer(const struct vmrpc_sock *vs)
{
	const struct inet_sock *inet = inet_sk(vs->sk);

	return (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet->inet_daddr,
		.sin_port = inet->inet_dport,
	};
}

/* inet_dgram_connect() binds a socket before it looks where to. */
static int refuse(struct socket *sock, struct vmrpc_sock *vs, int err)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	if (!is_bound(vs) && vmrpc_sock_mode(vs) != VMRPC_REMOTE &&
	    !vmrpc_sk_is_ping(vs->sk))
		vmrpc_sock_bind_locked(sock, vs, (struct sockaddr *)&any,
				       sizeof(any));
	return err;
}

/*
 * Caller must hold vs->lock.  Leaves the socket native if it has just been
 * bound to another interface.
 */
static int open_remote(struct socket *sock, struct vmrpc_sock *vs,
		       const struct sockaddr_in *to)
{
	enum vmrpc_mode before = vmrpc_sock_mode(vs);
	int err = vmrpc_sock_open_with(vs);

	if (err)
		return err;
	vmrpc_sol_sync(vs);
	if (!vmrpc_sock_is_open(vs))
		return 0;
	err = vmrpc_sock_connect(vs, to, 0, false);
	if (err && vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return err;
	if (err) {
		if (before == VMRPC_NATIVE && !is_bound(vs))
			vmrpc_sock_close(vs);
		return refuse(sock, vs, err);
	}
	mirror_peer(sock, vs);
	vmrpc_sock_set_mode(vs, VMRPC_REMOTE);
	return 0;
}

/* The same for a socket that may have a local peer, which it keeps on error. */
static int connect_remote(struct socket *sock, struct vmrpc_sock *vs,
			  const struct sockaddr_in *to)
{
	struct sockaddr_in peer = native_peer(vs);
	bool local = has_local_peer(vs) ||
		     (vmrpc_sock_mode(vs) == VMRPC_NATIVE &&
		      peer.sin_addr.s_addr);
	int err;

	/* Its source address would not do. */
	if (local || (vmrpc_sock_mode(vs) == VMRPC_NATIVE && is_bound(vs))) {
		err = unspec_but_port(sock, vs);
		if (err)
			return err;
	}
	err = open_remote(sock, vs, to);
	if (err && local)
		connect_local(sock, vs, (struct sockaddr *)&peer, sizeof(peer));
	return err;
}

static bool is_native(const struct vmrpc_sock *vs, __be32 addr)
{
	if (ipv4_is_multicast(addr))
		return vmrpc_group_is_native(vs, addr);
	return vmrpc_addr_is_native(vs, addr);
}

static int connect_locked(struct socket *sock, struct vmrpc_sock *vs,
			  struct sockaddr *uaddr, int len)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)uaddr;
	int err;

	if (len < sizeof(uaddr->sa_family))
		return -EINVAL;
	if (uaddr->sa_family == AF_UNSPEC)
		return dissolve(sock, vs);
	if (len < sizeof(*to))
		return refuse(sock, vs, -EINVAL);
	if (to->sin_family != AF_INET)
		return refuse(sock, vs, -EAFNOSUPPORT);
	if (is_native(vs, to->sin_addr.s_addr) ||
	    (vmrpc_sock_mode(vs) == VMRPC_NATIVE &&
	     inet_sk(vs->sk)->inet_rcv_saddr && !inet_sk(vs->sk)->inet_daddr &&
	     vmrpc_sock_bound_elsewhere(vs)))
		return connect_local(sock, vs, uaddr, len);
	if (needs_broadcast(vs, to))
		return refuse(sock, vs, -EACCES);
	err = connect_remote(sock, vs, to);
	if (!err && vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		err = connect_local(sock, vs, uaddr, len);
	return err;
}

static int dgram_connect(struct socket *sock, struct sockaddr *uaddr, int len,
			 int flags)
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

/* --- send ------------------------------------------------------------------- */

/*
 * Is the datagram that @n tells of one that the host goes on building?  An
 * error throws away what there was of it; those of the guest, the host does not
 * know of.
 */
static void note_unfinished(struct vmrpc_sock *vs, const struct msghdr *msg,
			    ssize_t n)
{
	if (vmrpc_sk_is_ping(vs->sk))
		return;
	if ((n == -EFAULT || n == -ENOMEM) && READ_ONCE(vs->unfinished))
		vmrpc_message_discard(vs);
	WRITE_ONCE(vs->unfinished, n >= 0 && ((msg->msg_flags & MSG_MORE) ||
					      READ_ONCE(vs->corked)));
}

/* Has the host not known the socket because it serves it no more? */
static bool is_served_elsewhere(const struct vmrpc_sock *vs, ssize_t n, u32 gen)
{
	return n == -EBADF && (vmrpc_sock_mode(vs) == VMRPC_NATIVE ||
			       READ_ONCE(vs->gen) != gen);
}

/* -ESTALE: the host does not serve the socket any more. */
static int send_remote(struct vmrpc_sock *vs, struct msghdr *msg, size_t size,
		       const struct sockaddr_in *to)
{
	struct sock *sk = vs->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	bool tried = false;
	ssize_t n;
	u32 gen;

	if (size > (vmrpc_sk_is_ping(sk) ? VMRPC_PING_MAX : VMRPC_DATAGRAM_MAX))
		return -EMSGSIZE;
	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	for (;;) {
		n = sock_error(sk);
		if (n)
			return n;
		/* Another task has given its peer up, or moved it: who serves it? */
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
			return -ESTALE;
		gen = READ_ONCE(vs->gen);
		/* What is being built may still have room. */
		if ((READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN) &&
		    !READ_ONCE(vs->unfinished))
			return -EPIPE;
		n = -EAGAIN;
		/*
		 * A half full buffer is not writable, but takes more.  What
		 * MSG_MORE holds back would wait there for ever.
		 */
		if (!tried || (vmrpc_sock_ready(vs) & WRITABLE))
			n = vmrpc_message_send(vs, msg, size, to, 0);
		note_unfinished(vs, msg, n);
		if (is_served_elsewhere(vs, n, gen))
			return -ESTALE;
		if (n != -EAGAIN)
			return n;
		tried = true;
		if (vmrpc_sock_ready(vs) & WRITABLE)
			n = vmrpc_sock_pause(&timeo);
		else
			n = vmrpc_sock_wait(vs, WRITABLE, NULL, &timeo);
		if (n)
			return n;
	}
}

/* Would UDP take it? */
static bool is_destination(const struct sockaddr_in *sin)
{
	return sin->sin_port && (sin->sin_family == AF_INET ||
				 sin->sin_family == AF_UNSPEC);
}

/*
 * The destination of a datagram that is to go through the host.
 * Returns 1, 0 for one that is not, or a negative errno.
 */
static int remote_destination(struct vmrpc_sock *vs, const struct msghdr *msg,
			      const struct sockaddr_in **to)
{
	const struct sockaddr_in *sin = msg->msg_name;

	*to = sin;
	/* Where a datagram goes that is being built was said at its beginning. */
	if (READ_ONCE(vs->unfinished)) {
		*to = NULL;
		return 1;
	}
	if (!vmrpc_sk_is_ping(vs->sk) && READ_ONCE(udp_sk(vs->sk)->pending))
		return 0;
	if (!sin)
		return vmrpc_sock_mode(vs) == VMRPC_REMOTE;
	/* What is wrong with these, the native side says best. */
	if (msg->msg_namelen < sizeof(*sin) ||
	    (vmrpc_sk_is_ping(vs->sk) ? sin->sin_family != AF_INET
				      : !is_destination(sin)))
		return 0;
	if (is_native(vs, sin->sin_addr.s_addr))
		return 0;
	return !vmrpc_sock_bound_elsewhere(vs) ||
	       vmrpc_sock_mode(vs) == VMRPC_REMOTE;
}

/*
 * To a peer within the guest, or to nobody.  In the latter case, too, UDP gets a
 * port, by which peers outside can reach it.
 */
static int send_native(struct socket *sock, struct vmrpc_sock *vs,
		       struct msghdr *msg, size_t size)
{
	const struct sockaddr_in *sin = msg->msg_name;
	int err;

	if (!inet_sk(vs->sk)->inet_num && !vmrpc_sk_is_ping(vs->sk) &&
	    (!sin || !is_destination(sin))) {
		err = open_bound(sock, vs);
		if (err)
			return err;
	}
	return inet_sendmsg(sock, msg, size);
}

/* As sendmsg(2); -ESTALE: to be tried again, as it is served by another now. */
static int send_either(struct socket *sock, struct vmrpc_sock *vs,
		       struct msghdr *msg, size_t size)
{
	const struct sockaddr_in *to;
	struct ubuf_info *uarg;
	int err;

	if (!remote_destination(vs, msg, &to))
		return send_native(sock, vs, msg, size);
	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE) {
		err = open_bound(sock, vs);
		if (err)
			return err;
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
			return inet_sendmsg(sock, msg, size);
	}
	/* It has its port, as natively. */
	if (to && needs_broadcast(vs, to))
		return -EACCES;
	err = vmrpc_zerocopy_begin(vs->sk, msg, size, &uarg);
	if (err)
		return err;
	vmrpc_sol_refresh(vs);
	err = send_remote(vs, msg, size, to);
	vmrpc_zerocopy_end(uarg, err >= 0);
	return err;
}

static int dgram_sendmsg(struct socket *sock, struct msghdr *msg, size_t size)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs)
		return inet_sendmsg(sock, msg, size);
	do {
		err = send_either(sock, vs, msg, size);
	} while (err == -ESTALE && !signal_pending(current));
	return err == -ESTALE ? -ERESTARTSYS : err;
}

/* --- receive ---------------------------------------------------------------- */

static bool native_shut(struct sock *sk)
{
	return READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN;
}

static bool native_queued(struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) ||
	       (!vmrpc_sk_is_ping(sk) &&
		!skb_queue_empty_lockless(&udp_sk(sk)->reader_queue));
}

/*
 * Has something come from inside before there was a peer beyond the host?  If
 * the native sock could not be connected to that, it may be a stranger's.
 */
static bool came_before(struct sock *sk)
{
	return native_queued(sk) && READ_ONCE(inet_sk(sk)->inet_daddr);
}

static bool native_readable(struct sock *sk)
{
	return native_queued(sk) || native_shut(sk);
}

/* With a peer beyond the host. */
static bool mirror_readable(struct sock *sk)
{
	return came_before(sk) || native_shut(sk);
}

/* Another task may give the peer up while this one waits. */
static bool inside_readable(struct sock *sk)
{
	struct vmrpc_sock *vs = vmrpc_sk(sk);

	/* A service of the kernel may have taken the socket. */
	return vs && vmrpc_sock_mode(vs) == VMRPC_REMOTE ?
	       mirror_readable(sk) : native_readable(sk);
}

static ssize_t recv_native(struct socket *sock, struct msghdr *msg,
			   size_t size, int flags)
{
	if (!native_readable(sock->sk) && !(flags & MSG_ERRQUEUE))
		return -EAGAIN;
	return inet_recvmsg(sock, msg, size, flags | MSG_DONTWAIT);
}

static ssize_t recv_host(struct vmrpc_sock *vs, struct msghdr *msg,
			 size_t size, int flags, u32 wait_us)
{
	/* No datagram is longer. */
	size_t room = min_t(size_t, size, 65536);
	ssize_t n;

	if (!(vmrpc_sock_ready(vs) & (READABLE | VMRPC_ERR)) && !wait_us &&
	    !(flags & MSG_ERRQUEUE))
		return -EAGAIN;
	n = vmrpc_message_recv(vs, msg, room, &room, flags, wait_us);
	if (n >= 0 && !(flags & MSG_ERRQUEUE))
		vmrpc_sol_peeked(vs, flags & MSG_PEEK ? -n : n);
	return n;
}

/* A socket with a peer reads one side, one without reads both in turn. */
static ssize_t recv_either(struct socket *sock, struct vmrpc_sock *vs,
			   struct msghdr *msg, size_t size, int flags,
			   long timeo)
{
	bool native = vs->native_turn;
	ssize_t n = -EAGAIN;
	unsigned int i;

	if ((flags & MSG_ERRQUEUE) && vmrpc_has_native_errors(vs->sk))
		return inet_recvmsg(sock, msg, size, flags);
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_NATIVE:
		return recv_native(sock, msg, size, flags);
	case VMRPC_REMOTE:
		if (came_before(vs->sk))
			return recv_native(sock, msg, size, flags);
		return recv_host(vs, msg, size, flags, timeo ?
				 vmrpc_device_patience(vs->dev) : 0);
	case VMRPC_BOTH:
		break;
	}
	/* Looking at a datagram must not change which one comes next. */
	if (!(flags & MSG_PEEK))
		vs->native_turn = !native;
	for (i = 0; i < 2 && n == -EAGAIN; i++) {
		n = native ? recv_native(sock, msg, size, flags)
			   : recv_host(vs, msg, size, flags, 0);
		native = !native;
	}
	return n;
}

/* Do stamps come with the data, and so not to SIOCGSTAMP? */
static bool wants_stamps(const struct sock *sk)
{
	return sock_flag(sk, SOCK_RCVTSTAMP) ||
	       (READ_ONCE(sk->sk_tsflags) & SOF_TIMESTAMPING_RX_SOFTWARE);
}

static ssize_t recv_any(struct socket *sock, struct vmrpc_sock *vs,
			struct msghdr *msg, size_t size, int flags, long timeo)
{
	ssize_t n;
	u32 gen;

	do {
		gen = READ_ONCE(vs->gen);
		n = recv_either(sock, vs, msg, size, flags, timeo);
	} while (is_served_elsewhere(vs, n, gen));
	/* SIOCGSTAMP: something came, and there is no stamp of when. */
	if (n >= 0 && !wants_stamps(sock->sk) &&
	    sock_read_timestamp(sock->sk) == SK_DEFAULT_STAMP)
		sock_write_timestamp(sock->sk, 0);
	return n;
}

static int recv_loop(struct socket *sock, struct vmrpc_sock *vs,
		     struct msghdr *msg, size_t size, int flags)
{
	struct sock *sk = vs->sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	ssize_t n;

	if (flags & MSG_ERRQUEUE)
		return recv_any(sock, vs, msg, size, flags, 0);
	for (;;) {
		n = sock_error(sk);
		if (n)
			return n;
		n = recv_any(sock, vs, msg, size, flags, timeo);
		if (n != -EAGAIN)
			return n;
		/* Without a time to wait that is not even noticed. */
		if (native_shut(sk))
			return timeo ? 0 : -EAGAIN;
		/* SO_PEEK_OFF may be behind all that there is. */
		if (inside_readable(sk) || (vmrpc_sock_mode(vs) != VMRPC_NATIVE &&
				   (vmrpc_sock_ready(vs) & READABLE)))
			n = vmrpc_sock_pause(&timeo);
		else
			n = vmrpc_sock_wait(vs, READABLE, inside_readable,
					    &timeo);
		if (n)
			return n;
	}
}

static int dgram_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
			 int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	/* With a handle, another task may lead it to the host meanwhile. */
	if (!vs || !READ_ONCE(vs->has_handle))
		return inet_recvmsg(sock, msg, size, flags);
	if (vmrpc_sk_is_ping(sock->sk) && (flags & MSG_OOB))
		return -EOPNOTSUPP;
	vmrpc_sock_reads(vs);
	return recv_loop(sock, vs, msg, size, flags);
}

/* --- the rest --------------------------------------------------------------- */

static __poll_t dgram_poll(struct file *file, struct socket *sock,
			   poll_table *wait)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	/* Registers us with the wait queue that both sides use. */
	__poll_t native = vmrpc_sk_is_ping(sock->sk) ?
			  datagram_poll(file, sock, wait) :
			  udp_poll(file, sock, wait);
	__poll_t kept = EPOLLHUP | EPOLLRDHUP;

	if (!vs)
		return native;
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE) {
		/* What comes from here on has the room and the stamps asked for. */
		vmrpc_sol_refresh(vs);
		vmrpc_sock_watch(vs, wait);
	}
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_REMOTE:
		/* There shutdown() is kept, which makes it readable, too. */
		if (mirror_readable(sock->sk))
			kept |= EPOLLIN | EPOLLRDNORM;
		return vmrpc_sock_mask(vs) | (native & kept);
	case VMRPC_BOTH:
		/* A sender who waits for room may wait for the host's. */
		if (!(vmrpc_sock_ready(vs) & WRITABLE))
			native &= ~(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
		return native | (vmrpc_sock_mask(vs) &
				 (EPOLLIN | EPOLLRDNORM | EPOLLERR | EPOLLPRI));
	default:
		return native;
	}
}

static int dgram_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	struct sockaddr_in *sin = (struct sockaddr_in *)uaddr;

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return inet_getname(sock, uaddr, peer);
	/* As natively: that is how no peer is told from one. */
	if (peer && !vs->peer.sin_port)
		return -ENOTCONN;
	*sin = peer ? vs->peer : vs->local;
	return sizeof(*sin);
}

/* Is it a question to the host? */
static bool is_hosts(const struct vmrpc_sock *vs, unsigned int cmd)
{
	enum vmrpc_mode mode = vs ? vmrpc_sock_mode(vs) : VMRPC_NATIVE;

	if (mode == VMRPC_NATIVE || vmrpc_sk_is_ping(vs->sk) ||
	    (cmd != SIOCINQ && cmd != SIOCOUTQ))
		return false;
	/* The next datagram is the one that recv() would give. */
	return cmd != SIOCINQ || !(mode == VMRPC_BOTH ? native_queued(vs->sk)
						      : came_before(vs->sk));
}

/* Returns USE_NATIVE, 0 or a negative errno. */
static int host_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value)
{
	u32 gen;
	int err;

	do {
		gen = vs ? READ_ONCE(vs->gen) : 0;
		if (!is_hosts(vs, cmd))
			return USE_NATIVE;
		err = vmrpc_sock_ioctl(vs, cmd, value);
	} while (is_served_elsewhere(vs, err, gen));
	return err;
}

static int dgram_ioctl(struct socket *sock, unsigned int cmd,
		       unsigned long arg)
{
	int value, err;

	err = host_ioctl(vmrpc_sk(sock->sk), cmd, &value);
	if (err == USE_NATIVE)
		return inet_ioctl(sock, cmd, arg);
	return err ? err : put_user(value, (int __user *)arg);
}

#ifdef VMRPC_HAVE_URING_CMD
/**
 * vmrpc_dgram_prot_ioctl - what io_uring asks past the socket's operations
 * @sk: of UDP, with an outsourced side
 * @cmd: command
 * @value: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_dgram_prot_ioctl(struct sock *sk, int cmd, int *value)
{
	int err = host_ioctl(vmrpc_sk(sk), cmd, value);

	return err == USE_NATIVE ? udp_prot.ioctl(sk, cmd, value) : err;
}
#endif

static int dgram_shutdown(struct socket *sock, int how)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (vs && vmrpc_sock_mode(vs) == VMRPC_REMOTE &&
	    how >= SHUT_RD && how <= SHUT_RDWR) {
		err = vmrpc_sock_shutdown(vs, how);
		/* wakes everybody; the mirror may be unconnected */
		inet_shutdown(sock, how);
		return err;
	}
	return inet_shutdown(sock, how);
}

static int dgram_release(struct socket *sock)
{
	struct vmrpc_sock *vs = sock->sk ? vmrpc_sock_release(sock->sk) : NULL;

	if (vs)
		vmrpc_sock_detach(vs);
	return inet_release(sock);
}

#ifdef VMRPC_HAVE_SPLICE_EOF
static void dgram_splice_eof(struct socket *sock)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		inet_splice_eof(sock);
	else
		vmrpc_option_push(vs);
}
#endif

#ifdef VMRPC_HAVE_SENDPAGE
static ssize_t dgram_sendpage(struct socket *sock, struct page *page,
			      int offset, size_t size, int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	/* What is not bound gets a port in dgram_sendmsg(). */
	if (!vs || (vmrpc_sock_mode(vs) != VMRPC_REMOTE && is_bound(vs)))
		return inet_sendpage(sock, page, offset, size, flags);
	return vmrpc_no_sendpage(sock, page, offset, size, flags);
}
#endif

/* What is not here, vmrpc_family_init() adds. */
struct proto_ops vmrpc_dgram_ops __ro_after_init = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= dgram_release,
	.bind		= vmrpc_sock_bind,
	.connect	= dgram_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sock_no_accept,
	.getname	= dgram_getname,
	.poll		= dgram_poll,
	.ioctl		= dgram_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= vmrpc_compat_ioctl,
#endif
	.gettstamp	= sock_gettstamp,
	.listen		= sock_no_listen,
	.shutdown	= dgram_shutdown,
	.setsockopt	= vmrpc_setsockopt,
	.getsockopt	= vmrpc_getsockopt,
	.sendmsg	= dgram_sendmsg,
	.recvmsg	= dgram_recvmsg,
	.mmap		= sock_no_mmap,
#ifdef VMRPC_HAVE_SPLICE_EOF
	.splice_eof	= dgram_splice_eof,
#endif
#ifdef VMRPC_HAVE_SENDPAGE
	.sendpage	= dgram_sendpage,
#endif
};
