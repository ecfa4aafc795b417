// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP sockets
 *
 * Each operation looks at the mode of the socket (sock/sock.c) and then is
 * either the kernel's own or done on the host.
 *
 * No lock is held while a task waits: several tasks may send and receive at the
 * same time.  A request is the unit that is not interleaved.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <asm/ioctls.h>
#include <net/tcp.h>

#include "data/kept.h"
#include "data/message.h"
#include "host/attach.h"
#include "host/bind.h"
#include "host/wait.h"
#include "native/zerocopy.h"
#include "ops/accept.h"
#include "ops/connect.h"
#include "ops/linger.h"
#include "ops/receive.h"
#include "ops/stream.h"
#include "option/option.h"
#include "option/sockopt.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/ready.h"
#include "sock/sol.h"
#include "transport/transport.h"

VMRPC_ACCEPT_OP(stream_accept, vmrpc_accept)

/* --- send, receive -------------------------------------------------------- */

/* A shutdown() before the connection only has an effect once it is made. */
static bool is_shut_for_sending(struct vmrpc_sock *vs)
{
	return (vs->shutdown & SEND_SHUTDOWN) && vmrpc_connect_is_over(vs);
}

/*
 * Invalid ancillary data are an error before a task waits for room, but only
 * when the connection is made.
 */
static int no_room(struct vmrpc_sock *vs, struct msghdr *msg)
{
	int err = 0;

	if (msg->msg_controllen && vmrpc_connect_is_over(vs))
		err = vmrpc_message_check(vs, msg);
	return err ? err : -EAGAIN;
}

/*
 * Sends as much as fits into a request, if there may be room.  A buffer with
 * less than a third free is not writable for poll(), but takes more data
 * (sk_stream_is_writeable()): so each sendmsg() tries once.  Returns bytes,
 * -EAGAIN or another negative errno.
 */
static ssize_t send_part(struct vmrpc_sock *vs, struct msghdr *msg, long timeo,
			 bool first)
{
	bool writable = vmrpc_sock_ready(vs) & VMRPC_WRITABLE;
	size_t left = msg_data_left(msg);
	u32 wait_us = 0;

	/* Shut down before the connection, which is not made yet. */
	if (vs->shutdown & SEND_SHUTDOWN)
		return -EAGAIN;
	/* Zero bytes need no room, only a connection. */
	if (timeo && left && !writable)
		wait_us = vmrpc_transport_patience(vs->dev);
	if (!wait_us && !writable && left &&
	    !(first && (!msg->msg_controllen || vmrpc_connect_is_over(vs))))
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
			vmrpc_ready_keep_error(vs, n);
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
		if (vmrpc_sock_ready(vs) & VMRPC_WRITABLE)
			n = vmrpc_wait_pause(&timeo);
		else
			n = vmrpc_wait(vs, VMRPC_WRITABLE, NULL, &timeo);
		if (n)
			break;
		vmrpc_sol_refresh(vs);
	}
	return sent ? sent : sk_stream_error(sk, msg->msg_flags, n);
}

/* sendto(MSG_FASTOPEN) connects first: no TCP Fast Open on the wire. */
static int connect_first(struct socket *sock, struct msghdr *msg)
{
	int flags = msg->msg_flags & MSG_DONTWAIT ? O_NONBLOCK : 0;
	struct vmrpc_sockaddr *to = msg->msg_name;

	msg->msg_flags &= ~MSG_FASTOPEN;
	if (to && msg->msg_namelen >= sizeof(to->sa_family) &&
	    to->sa_family == AF_UNSPEC)
		return -EOPNOTSUPP;
	if (to)
		return vmrpc_connect(sock, to, msg->msg_namelen, flags);
	if (sock->state == SS_CONNECTING)
		return vmrpc_connect_wait(sock, vmrpc_sk(sock->sk), flags,
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
		return vmrpc_native_ops(sock->sk)->sendmsg(sock, msg, size);
	if ((msg->msg_flags & MSG_FASTOPEN) &&
	    (vmrpc_sock_mode(vs) == VMRPC_REMOTE ||
	     sock->state == SS_UNCONNECTED)) {
		err = connect_first(sock, msg);
		if (err)
			return sk_stream_error(sock->sk, msg->msg_flags, err);
	}
	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return vmrpc_native_ops(sock->sk)->sendmsg(sock, msg, size);
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
	    ((flags & MSG_ERRQUEUE) && vmrpc_sk_has_errors(sock->sk)))
		return vmrpc_native_ops(sock->sk)->recvmsg(sock, msg, size, flags);
	vmrpc_sol_refresh(vs);
	vmrpc_wait_before_read(vs);
	return vmrpc_receive(vs, msg, size, flags);
}

/* --- the other operations ------------------------------------------------- */

static __poll_t stream_poll(struct file *file, struct socket *sock,
			    poll_table *wait)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	__poll_t mask = 0;

	if (!vs)
		return tcp_poll(file, sock, wait);
	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
		/* SO_RCVLOWAT decides what is readable. */
		vmrpc_sol_refresh(vs);
		sock_poll_wait(file, sock, wait);
		if (!vmrpc_wait_expect(vs, wait))
			vmrpc_wait_watch(vs, wait);
	} else {
		mask = tcp_poll(file, sock, wait);
		if (vmrpc_sock_mode(vs) == VMRPC_BOTH)
			vmrpc_wait_watch(vs, wait);
	}
	/* Look at the readiness only now, when changes wake us. */
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_REMOTE:
		return vmrpc_ready_mask(vs);
	case VMRPC_BOTH:
		if (READ_ONCE(sock->sk->sk_state) == TCP_LISTEN)
			mask |= vmrpc_ready_mask(vs) &
				(EPOLLIN | EPOLLRDNORM);
		fallthrough;
	default:
		return mask;
	}
}

static int local_name(struct vmrpc_sock *vs, union vmrpc_name *name)
{
	int err;

	mutex_lock(&vs->lock);
	err = vmrpc_connect_local(vs, name);
	mutex_unlock(&vs->lock);
	return err;
}

static int stream_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	union vmrpc_name name;
	int err = 0;

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		return vmrpc_native_ops(sock->sk)->getname(sock, uaddr, peer);
	if (!peer)
		err = local_name(vs, &name);
	else if (peer == 1)
		/* Only the host knows whether it is connected. */
		err = vmrpc_ask_name(vs, VMRPC_GETPEERNAME, &name);
	else if (vs->peer.in.sin_port)
		name = vs->peer;
	else
		/* As natively: without a port there is no peer. */
		err = -ENOTCONN;
	if (err)
		return err;
	memcpy(uaddr, &name, vmrpc_addr_len(vs));
	return vmrpc_addr_len(vs);
}

/* Does the host answer this ioctl? */
static bool is_hosts(const struct vmrpc_sock *vs, unsigned int cmd)
{
	return vs && vmrpc_sock_mode(vs) == VMRPC_REMOTE &&
	       (cmd == SIOCINQ || cmd == SIOCOUTQ || cmd == SIOCOUTQNSD ||
		cmd == SIOCATMARK);
}

static int host_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value)
{
	int err = vmrpc_ask_ioctl(vs, cmd, value);

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
		return vmrpc_native_ops(sock->sk)->ioctl(sock, cmd, arg);
	err = host_ioctl(vs, cmd, &value);
	return err ? err : put_user(value, (int __user *)arg);
}

#ifdef VMRPC_HAVE_URING_CMD
/**
 * vmrpc_stream_prot_ioctl - an ioctl of io_uring (native/prot.c)
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
 * As inet_shutdown(): a connection that is not made yet is aborted, a failed
 * one cannot be tried again, and one whose result the program has not seen
 * counts as made.  Caller must hold vs->lock.
 */
static int shutdown_remote(struct socket *sock, struct vmrpc_sock *vs, int how)
{
	bool connecting = sock->state == SS_CONNECTING;
	bool on_its_way = connecting && !vmrpc_connect_is_over(vs);
	int err = vmrpc_ask_shutdown(vs, how);

	/* The host has aborted it, unless it was made before. */
	if (on_its_way && vmrpc_ask_tcp_state(vs) == TCP_CLOSE) {
		vmrpc_connect_undo(sock, vs);
		return err;
	}
	if (connecting)
		sock->state = err ? SS_DISCONNECTING : SS_CONNECTED;
	vs->shutdown |= how + 1;
	vmrpc_ready_wake(vs, VMRPC_HUP);
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
		/*
		 * Ends listening; otherwise the host would return ENOTCONN too.
		 */
		if (vmrpc_sock_mode(vs) == VMRPC_BOTH &&
		    sock->sk->sk_state == TCP_LISTEN)
			vmrpc_ask_shutdown(vs, how);
		err = inet_shutdown(sock, how);
	}
	mutex_unlock(&vs->lock);
	return err;
}

/*
 * close() with unread data sends a reset.  The host has no unread data if they
 * are kept here, so SO_LINGER makes it send one.
 */
static void reset_unread(struct vmrpc_sock *vs)
{
	struct linger reset = { .l_onoff = 1 };

	if (!vmrpc_kept_exists(vs))
		return;
	mutex_lock(&vs->lock);
	vmrpc_option_set(vs, VMRPC_OPTION_NOW, SOL_SOCKET, SO_LINGER, &reset,
			 sizeof(reset));
	mutex_unlock(&vs->lock);
}

static int stream_release(struct socket *sock)
{
	struct vmrpc_sock *vs = sock->sk ? vmrpc_sock_find(sock->sk) : NULL;

	if (vs) {
		if (vmrpc_sock_mode(vs) == VMRPC_REMOTE) {
			vmrpc_sol_refresh(vs);
			reset_unread(vs);
			vmrpc_linger(vs);
		}
		vmrpc_detach(vs);
	}
	return sock->sk ? vmrpc_native_ops(sock->sk)->release(sock) : 0;
}

/* As tcp_splice_read(), which never reads beyond the mark. */
static ssize_t splice_at_mark(struct socket *sock, struct vmrpc_sock *vs)
{
	u32 ready = vmrpc_sock_ready(vs);
	int err;

	/* The end came before the error. */
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
	/* Kept data come before the mark. */
	if (!vmrpc_kept_exists(vs) && vmrpc_receive_at_mark(vs))
		return splice_at_mark(sock, vs);
	return vmrpc_splice_read(sock, ppos, pipe, len, flags);
}

#ifdef VMRPC_HAVE_SPLICE_EOF
static void stream_splice_eof(struct socket *sock)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE)
		inet_stream_ops.splice_eof(sock);
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
		return vmrpc_native_ops(sock->sk)->sendpage(sock, page, offset,
						    size, flags);
	return vmrpc_no_sendpage(sock, page, offset, size, flags);
}
#endif

/* vmrpc_family_init() adds the operations that are missing here. */
struct proto_ops vmrpc_stream_ops __ro_after_init = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= stream_release,
	.bind		= vmrpc_bind,
	.connect	= vmrpc_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= stream_accept,
	.getname	= stream_getname,
	.poll		= stream_poll,
	.ioctl		= stream_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= vmrpc_listen,
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
