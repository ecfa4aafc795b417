// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UDP and ping sockets
 *
 * A ping socket has an identifier where the others have a port, and its peers
 * have none.
 *
 * Without a peer a socket lives on both sides (VMRPC_BOTH) as soon as it is
 * bound or has sent to the host.  It has one port and receives datagrams from
 * either side.  Each datagram that it sends goes to the side of its
 * destination.  For sockets with a peer see peer.c.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <linux/udp.h>
#include <asm/ioctls.h>
#include <net/udp.h>

#include "data/message.h"
#include "host/attach.h"
#include "host/bind.h"
#include "host/host.h"
#include "host/wait.h"
#include "native/zerocopy.h"
#include "ops/dgram.h"
#include "ops/peer.h"
#include "option/option.h"
#include "option/sockopt.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/ready.h"
#include "sock/sol.h"
#include "transport/transport.h"

/* The largest payload of UDP over IPv4, and over IPv6. */
#define DATAGRAM_MAX		65507u
#define DATAGRAM_MAX6		65527u
/* An echo request with its header, which is part of the message. */
#define PING_MAX		65515u

/* Readiness that a reader waits for. */
#define READABLE		(VMRPC_IN | VMRPC_HUP)

/* --- send ----------------------------------------------------------------- */

/*
 * Notes whether the host still builds a datagram after a request with the
 * result @n.  An error of the host discards the part that it has.  The host
 * does not see errors of the guest.
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

/* Did the host not know the socket because another side serves it now? */
static bool is_served_elsewhere(const struct vmrpc_sock *vs, ssize_t n, u32 gen)
{
	return n == -EBADF && (vmrpc_sock_mode(vs) == VMRPC_NATIVE ||
			       READ_ONCE(vs->gen) != gen);
}

/* As the kernel's udp_cmsg_send(), which is not exported from 7.2 on. */
static int segment_size(struct msghdr *msg, u16 *size)
{
	struct cmsghdr *cmsg;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		if (cmsg->cmsg_level != SOL_UDP)
			continue;
		if (cmsg->cmsg_type != UDP_SEGMENT ||
		    cmsg->cmsg_len != CMSG_LEN(sizeof(*size)))
			return -EINVAL;
		*size = *(u16 *)CMSG_DATA(cmsg);
	}
	return 0;
}

/*
 * Natively segments without checksums are refused.  The host's socket, which is
 * one of IPv6, does not look at SO_NO_CHECK.  A datagram of several calls is
 * refused at the first of them.
 */
static int check_segments(struct vmrpc_sock *vs, struct msghdr *msg)
{
	u16 size;
	int err;

	if (likely(!vs->sk->sk_no_check_tx) || vmrpc_sk_is_ping(vs->sk))
		return 0;
	size = READ_ONCE(udp_sk(vs->sk)->gso_size);
	if (msg->msg_controllen) {
		err = segment_size(msg, &size);
		if (err)
			return err;
	}
	return size ? -EINVAL : 0;
}

/* @to: NULL: the peer */
static size_t largest(const struct vmrpc_sock *vs, const union vmrpc_name *to)
{
	__be32 addr;

	if (vmrpc_sk_is_ping(vs->sk))
		return PING_MAX;
	return vmrpc_addr_get4(to ? to : &vs->peer, &addr) ? DATAGRAM_MAX
							   : DATAGRAM_MAX6;
}

/*
 * Is the peer IPv4-mapped and without a port?  UDP of AF_INET6 gives it to that
 * of IPv4 as an address, which needs one.
 */
static bool lacks_port(const struct vmrpc_sock *vs)
{
	__be32 addr;

	return vmrpc_sk_is_inet6(vs->sk) && !vmrpc_sk_is_ping(vs->sk) &&
	       !vs->peer.in6.sin6_port && vmrpc_addr_get4(&vs->peer, &addr);
}

/* Returns -ESTALE if the host does not serve the socket any more. */
static int send_remote(struct vmrpc_sock *vs, struct msghdr *msg, size_t size,
		       const union vmrpc_name *to)
{
	struct sock *sk = vs->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	bool tried = false;
	ssize_t n;
	u32 gen;

	if (size > largest(vs, to))
		return -EMSGSIZE;
	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (!to && !READ_ONCE(vs->unfinished) && lacks_port(vs))
		return -EINVAL;
	n = check_segments(vs, msg);
	if (n)
		return n;
	for (;;) {
		n = sock_error(sk);
		if (n)
			return n;
		/*
		 * Another task has changed the peer: look again which side
		 * serves.
		 */
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
			return -ESTALE;
		gen = READ_ONCE(vs->gen);
		/* A datagram that is being built may still take data. */
		if ((READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN) &&
		    !READ_ONCE(vs->unfinished))
			return -EPIPE;
		n = -EAGAIN;
		/*
		 * A half full buffer is not writable, but takes more.  Data
		 * that MSG_MORE holds back would otherwise wait there for ever.
		 */
		if (!tried || (vmrpc_sock_ready(vs) & VMRPC_WRITABLE))
			n = vmrpc_message_send(vs, msg, size, to, 0);
		note_unfinished(vs, msg, n);
		if (is_served_elsewhere(vs, n, gen))
			return -ESTALE;
		if (n != -EAGAIN)
			return n;
		tried = true;
		if (vmrpc_sock_ready(vs) & VMRPC_WRITABLE)
			n = vmrpc_wait_pause(&timeo);
		else
			n = vmrpc_wait(vs, VMRPC_WRITABLE, NULL, &timeo);
		if (n)
			return n;
		vmrpc_host_refresh_or_turn_native(vs);
	}
}

/* To UDP sockets of AF_INET6, no family means no address. */
static bool is_no_address(const struct vmrpc_sock *vs,
			  const struct msghdr *msg)
{
	const struct sockaddr *sa = msg->msg_name;

	return vmrpc_sk_is_inet6(vs->sk) && !vmrpc_sk_is_ping(vs->sk) &&
	       msg->msg_namelen >= sizeof(sa->sa_family) &&
	       sa->sa_family == AF_UNSPEC;
}

/* Does UDP accept it as a destination?  To AF_INET, no family is its own. */
static bool is_destination(const struct vmrpc_sock *vs,
			   const struct msghdr *msg)
{
	const struct sockaddr_in *sin = msg->msg_name;
	bool inet6 = vmrpc_sk_is_inet6(vs->sk);

	/* An address of AF_INET will do for either. */
	if (msg->msg_namelen < sizeof(*sin))
		return false;
	if (inet6 && sin->sin_family == AF_INET6)
		return msg->msg_namelen >= SIN6_LEN_RFC2133 &&
		       (sin->sin_port || vmrpc_sk_is_ping(vs->sk));
	if (vmrpc_sk_is_ping(vs->sk))
		return !inet6 && sin->sin_family == AF_INET;
	return sin->sin_port && (sin->sin_family == AF_INET ||
				 (!inet6 && sin->sin_family == AF_UNSPEC));
}

/*
 * Finds the destination of a datagram.  Returns true if the host sends it; *@to
 * is NULL for the peer, or @name, which is filled in.
 */
static bool remote_destination(struct vmrpc_sock *vs, const struct msghdr *msg,
			       union vmrpc_name *name,
			       const union vmrpc_name **to)
{
	*to = NULL;
	/* The destination was set when the datagram was begun. */
	if (READ_ONCE(vs->unfinished))
		return true;
	if (!vmrpc_sk_is_ping(vs->sk) && READ_ONCE(udp_sk(vs->sk)->pending))
		return false;
	if (!msg->msg_name || is_no_address(vs, msg))
		return vmrpc_sock_mode(vs) == VMRPC_REMOTE;
	/* Invalid arguments: the native side returns the error. */
	if (!is_destination(vs, msg))
		return false;
	vmrpc_addr_fill(vs, name, msg->msg_name, msg->msg_namelen);
	name->family = vs->sk->sk_family;
	*to = name;
	if (vmrpc_peer_is_native(vs, name))
		return false;
	return !vmrpc_addr_bound_elsewhere(vs) ||
	       vmrpc_sock_mode(vs) == VMRPC_REMOTE;
}

/*
 * Sends to a peer within the guest, or fails without a valid destination.  In
 * that case, too, UDP gets a port, which peers outside can reach.
 */
static int send_native(struct socket *sock, struct vmrpc_sock *vs,
		       struct msghdr *msg, size_t size)
{
	int err;

	if (!inet_sk(vs->sk)->inet_num && !vmrpc_sk_is_ping(vs->sk) &&
	    (!msg->msg_name || !is_destination(vs, msg))) {
		err = vmrpc_peer_bind(sock, vs);
		if (err)
			return err;
	}
	return vmrpc_native_ops(sock->sk)->sendmsg(sock, msg, size);
}

/* As sendmsg(2); -ESTALE: try again, because another side serves it now. */
static int send_either(struct socket *sock, struct vmrpc_sock *vs,
		       struct msghdr *msg, size_t size)
{
	const union vmrpc_name *to;
	union vmrpc_name name;
	struct ubuf_info *uarg;
	int err;

	if (!remote_destination(vs, msg, &name, &to))
		return send_native(sock, vs, msg, size);
	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE) {
		err = vmrpc_peer_bind(sock, vs);
		if (err)
			return err;
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
			return vmrpc_native_ops(sock->sk)->sendmsg(sock, msg, size);
	}
	/* The socket has its port by now, as natively. */
	if (to && vmrpc_peer_needs_broadcast(vs, to))
		return -EACCES;
	err = vmrpc_zerocopy_begin(vs->sk, msg, size, &uarg);
	if (err)
		return err;
	vmrpc_host_refresh_or_turn_native(vs);
	err = send_remote(vs, msg, size, to);
	vmrpc_zerocopy_end(uarg, err >= 0);
	return err;
}

static int dgram_sendmsg(struct socket *sock, struct msghdr *msg, size_t size)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs)
		return vmrpc_native_ops(sock->sk)->sendmsg(sock, msg, size);
	do {
		err = send_either(sock, vs, msg, size);
	} while (err == -ESTALE && !signal_pending(current));
	return err == -ESTALE ? -ERESTARTSYS : err;
}

/* --- receive -------------------------------------------------------------- */

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
 * Has a datagram arrived from within the guest, before there was a peer beyond
 * the host?  If the native sock is not connected to the peer, it may come from
 * elsewhere: then the answer is no.
 */
static bool came_before(struct sock *sk)
{
	return native_queued(sk) && vmrpc_addr_has_native_peer(sk);
}

static bool native_readable(struct sock *sk)
{
	return native_queued(sk) || native_shut(sk);
}

/* The same for a socket with a peer beyond the host. */
static bool mirror_readable(struct sock *sk)
{
	return came_before(sk) || native_shut(sk);
}

/* Another task may dissolve the peer while this one waits. */
static bool inside_readable(struct sock *sk)
{
	struct vmrpc_sock *vs = vmrpc_sk(sk);

	/* A service of the kernel may have taken sk_user_data. */
	return vs && vmrpc_sock_mode(vs) == VMRPC_REMOTE ?
	       mirror_readable(sk) : native_readable(sk);
}

static ssize_t recv_native(struct socket *sock, struct msghdr *msg,
			   size_t size, int flags)
{
	if (!native_readable(sock->sk) && !(flags & MSG_ERRQUEUE))
		return -EAGAIN;
	return vmrpc_native_ops(sock->sk)->recvmsg(sock, msg, size,
						   flags | MSG_DONTWAIT);
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

/* A socket with a peer reads one side, a socket without reads both in turn. */
static ssize_t recv_either(struct socket *sock, struct vmrpc_sock *vs,
			   struct msghdr *msg, size_t size, int flags,
			   long timeo)
{
	bool native = vs->native_turn;
	ssize_t n = -EAGAIN;
	unsigned int i;

	if ((flags & MSG_ERRQUEUE) && vmrpc_sk_has_errors(vs->sk))
		return vmrpc_native_ops(sock->sk)->recvmsg(sock, msg, size, flags);
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_NATIVE:
		return recv_native(sock, msg, size, flags);
	case VMRPC_REMOTE:
		if (came_before(vs->sk))
			return recv_native(sock, msg, size, flags);
		return recv_host(vs, msg, size, flags, timeo ?
				 vmrpc_transport_patience(vs->dev) : 0);
	case VMRPC_BOTH:
		break;
	}
	/* MSG_PEEK must not change which datagram comes next. */
	if (!(flags & MSG_PEEK))
		vs->native_turn = !native;
	for (i = 0; i < 2 && n == -EAGAIN; i++) {
		n = native ? recv_native(sock, msg, size, flags)
			   : recv_host(vs, msg, size, flags, 0);
		native = !native;
	}
	return n;
}

/* Do timestamps come with the data, and so not to SIOCGSTAMP? */
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
	/* SIOCGSTAMP: a datagram has arrived, and has no timestamp. */
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
		/* As natively: without a timeout, a shutdown is not noticed. */
		if (native_shut(sk))
			return timeo ? 0 : -EAGAIN;
		/* SO_PEEK_OFF may be behind all data. */
		if (inside_readable(sk) ||
		    (vmrpc_sock_mode(vs) != VMRPC_NATIVE &&
		     (vmrpc_sock_ready(vs) & READABLE)))
			n = vmrpc_wait_pause(&timeo);
		else
			n = vmrpc_wait(vs, READABLE, inside_readable,
				       &timeo);
		if (n)
			return n;
		vmrpc_host_refresh_or_turn_native(vs);
	}
}

static int dgram_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
			 int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	/* With a handle, another task may open it on the host meanwhile. */
	if (!vs || !READ_ONCE(vs->has_handle))
		return vmrpc_native_ops(sock->sk)->recvmsg(sock, msg, size, flags);
	if (vmrpc_sk_is_ping(sock->sk) && (flags & MSG_OOB))
		return -EOPNOTSUPP;
	vmrpc_host_refresh_or_turn_native(vs);
	vmrpc_wait_before_read(vs);
	return recv_loop(sock, vs, msg, size, flags);
}

/* --- the other operations ------------------------------------------------- */

static __poll_t dgram_poll(struct file *file, struct socket *sock,
			   poll_table *wait)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	/* Registers with the wait queue, which both sides use. */
	__poll_t native = vmrpc_sk_is_ping(sock->sk) ?
			  datagram_poll(file, sock, wait) :
			  inet_dgram_ops.poll(file, sock, wait);
	__poll_t kept = EPOLLHUP | EPOLLRDHUP;

	if (!vs)
		return native;
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE) {
		/* Datagrams from here on need the program's options. */
		vmrpc_host_refresh_or_turn_native(vs);
		vmrpc_wait_watch(vs, wait);
	}
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_REMOTE:
		/*
		 * The native side has the state of shutdown(), which makes it
		 * readable.
		 */
		if (mirror_readable(sock->sk))
			kept |= EPOLLIN | EPOLLRDNORM;
		return vmrpc_ready_mask(vs) | (native & kept);
	case VMRPC_BOTH:
		/* A sender may be waiting for room on the host. */
		if (!(vmrpc_sock_ready(vs) & VMRPC_WRITABLE))
			native &= ~(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
		return native | (vmrpc_ready_mask(vs) &
				 (EPOLLIN | EPOLLRDNORM | EPOLLERR | EPOLLPRI));
	default:
		return native;
	}
}

static int dgram_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return vmrpc_native_ops(sock->sk)->getname(sock, uaddr, peer);
	/* As natively: without a port there is no peer. */
	if (peer && !vs->peer.in.sin_port)
		return -ENOTCONN;
	memcpy(uaddr, peer ? &vs->peer : &vs->local, vmrpc_addr_len(vs));
	return vmrpc_addr_len(vs);
}

/* Does the host answer this ioctl? */
static bool is_hosts(const struct vmrpc_sock *vs, unsigned int cmd)
{
	enum vmrpc_mode mode = vs ? vmrpc_sock_mode(vs) : VMRPC_NATIVE;

	if (mode == VMRPC_NATIVE || vmrpc_sk_is_ping(vs->sk) ||
	    (cmd != SIOCINQ && cmd != SIOCOUTQ))
		return false;
	/* The answer is about the datagram that recv() would return next. */
	return cmd != SIOCINQ || !(mode == VMRPC_BOTH ? native_queued(vs->sk)
						      : came_before(vs->sk));
}

/* Returns VMRPC_USE_NATIVE, 0 or a negative errno. */
static int host_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value)
{
	u32 gen;
	int err;

	do {
		gen = vs ? READ_ONCE(vs->gen) : 0;
		if (!is_hosts(vs, cmd))
			return VMRPC_USE_NATIVE;
		err = vmrpc_ask_ioctl(vs, cmd, value);
	} while (is_served_elsewhere(vs, err, gen));
	return err;
}

static int dgram_ioctl(struct socket *sock, unsigned int cmd,
		       unsigned long arg)
{
	int value, err;

	err = host_ioctl(vmrpc_sk(sock->sk), cmd, &value);
	if (err == VMRPC_USE_NATIVE)
		return vmrpc_native_ops(sock->sk)->ioctl(sock, cmd, arg);
	return err ? err : put_user(value, (int __user *)arg);
}

#ifdef VMRPC_HAVE_URING_CMD
/**
 * vmrpc_dgram_prot_ioctl - an ioctl of io_uring (native/prot.c)
 * @sk: a UDP sock with an outsourced side
 * @cmd: command
 * @value: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_dgram_prot_ioctl(struct sock *sk, int cmd, int *value)
{
	int err = host_ioctl(vmrpc_sk(sk), cmd, value);

	return err == VMRPC_USE_NATIVE ? udp_prot.ioctl(sk, cmd, value) : err;
}
#endif

static int dgram_shutdown(struct socket *sock, int how)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (vs && vmrpc_sock_mode(vs) == VMRPC_REMOTE &&
	    how >= SHUT_RD && how <= SHUT_RDWR) {
		err = vmrpc_ask_shutdown(vs, how);
		/* wakes all tasks; the native sock may have no peer */
		inet_shutdown(sock, how);
		return err;
	}
	return inet_shutdown(sock, how);
}

static int dgram_release(struct socket *sock)
{
	struct vmrpc_sock *vs = sock->sk ? vmrpc_sock_find(sock->sk) : NULL;

	if (vs)
		vmrpc_detach(vs);
	return sock->sk ? vmrpc_native_ops(sock->sk)->release(sock) : 0;
}

#ifdef VMRPC_HAVE_SPLICE_EOF
static void dgram_splice_eof(struct socket *sock)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		inet_dgram_ops.splice_eof(sock);
	else
		vmrpc_option_push(vs);
}
#endif

#ifdef VMRPC_HAVE_SENDPAGE
static ssize_t dgram_sendpage(struct socket *sock, struct page *page,
			      int offset, size_t size, int flags)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	/* A socket without a port gets one in dgram_sendmsg(). */
	if (!vs || (vmrpc_sock_mode(vs) != VMRPC_REMOTE &&
		    inet_sk(vs->sk)->inet_num))
		return vmrpc_native_ops(sock->sk)->sendpage(sock, page, offset,
						    size, flags);
	return vmrpc_no_sendpage(sock, page, offset, size, flags);
}
#endif

/* vmrpc_family_init() adds the operations that are missing here. */
struct proto_ops vmrpc_dgram_ops __ro_after_init = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= dgram_release,
	.bind		= vmrpc_bind,
	.connect	= vmrpc_peer_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sock_no_accept,
	.getname	= dgram_getname,
	.poll		= dgram_poll,
	.ioctl		= dgram_ioctl,
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
