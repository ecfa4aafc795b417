// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What arrives by TCP
 *
 * One call of a program may take several requests: the host gives what there
 * is, up to a mark of urgent data.  Where the program's call would have ended
 * had the socket been the kernel's own, no further request is made.
 */
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/sock.h>

#include "internal.h"

#define RX_WINDOW_MIN		16384u

/* Bytes in one answer that make a stream one that more is to be expected of. */
#define RX_BULK_MIN		32768u

/* What a reader waits for. */
#define READABLE		(VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP)

/* How much of @left is worth looking up the pages of, if it has to be done. */
static size_t rx_room(const struct vmrpc_sock *vs, size_t left, int flags)
{
	size_t max = VMRPC_DATA_MAX;

	/* Only one request can look at the same bytes. */
	if (!(flags & (MSG_PEEK | MSG_TRUNC)))
		max = READ_ONCE(vs->rx_window);
	return min(left, max);
}

static void rx_learn(struct vmrpc_sock *vs, size_t room, size_t got)
{
	size_t window = READ_ONCE(vs->rx_window);

	if (got >= RX_BULK_MIN)
		WRITE_ONCE(vs->rx_bulk, jiffies);
	if (got == room && room == window)
		window = min_t(size_t, window * 2, VMRPC_DATA_MAX);
	else if (got < window / 4)
		window = max_t(size_t, window / 2, RX_WINDOW_MIN);
	WRITE_ONCE(vs->rx_window, window);
}

/* Is there anything the host could say that we do not know? */
static bool rx_worth_asking(const struct vmrpc_sock *vs, int flags)
{
	if (vmrpc_sock_ready(vs) & (READABLE | VMRPC_ERR | VMRPC_PRI))
		return true;
	/*
	 * Below SO_RCVLOWAT there may be data without VMRPC_IN, and so may an
	 * urgent byte be that has been fetched: a read steps over it.
	 */
	return (flags & (MSG_OOB | MSG_ERRQUEUE)) || READ_ONCE(vs->urgent) ||
	       READ_ONCE(vs->sk->sk_rcvlowat) > 1;
}

/* For how long may the host wait, for a task that has @timeo to wait? */
static u32 rx_patience(const struct vmrpc_sock *vs, int flags, long timeo)
{
	if (!timeo || (flags & (MSG_OOB | MSG_ERRQUEUE)) ||
	    (vs->shutdown & RCV_SHUTDOWN) || READ_ONCE(vs->sk->sk_err))
		return 0;
	return vmrpc_device_patience(vs->dev);
}

/*
 * Tasks that want the CPU get it before this one, which has nothing to read,
 * goes to sleep: when they have had their turn, its peer has mostly answered,
 * and it need not be woken up, which takes an event and an interrupt.  True if
 * they have had it.
 */
static bool rx_step_aside(const struct vmrpc_sock *vs, long timeo)
{
	if (!timeo || READ_ONCE(vs->watched) || single_task_running())
		return false;
	yield();
	return true;
}

/**
 * vmrpc_stream_at_mark - is the urgent byte next?
 * @vs: in mode VMRPC_REMOTE
 *
 * Even if MSG_OOB has fetched it already.
 */
bool vmrpc_stream_at_mark(struct vmrpc_sock *vs)
{
	int value;

	return READ_ONCE(vs->urgent) &&
	       !vmrpc_sock_ioctl(vs, SIOCATMARK, &value) && value;
}

/* Sleeps until there may be something to read: 0 or a negative errno. */
static int rx_sleep(struct vmrpc_sock *vs, u32 readable, size_t size,
		    long *timeo)
{
	bool sleeps = *timeo && !signal_pending(current);
	int err;

	if (vmrpc_sock_ready(vs) & readable)
		err = vmrpc_sock_pause(timeo);
	else
		err = vmrpc_sock_wait(vs, readable, NULL, timeo);
	/* Who wants no bytes has them when tcp_recvmsg() wakes up, whatever for. */
	return !size && sleeps ? 0 : err;
}

/**
 * struct rx - a recvmsg() under way
 * @vs: the socket
 * @msg: where the data go
 * @size: bytes at most
 * @flags: MSG_...
 * @target: bytes that the program is content with
 * @timeo: jiffies left to wait
 * @disconnects: dissolved connections when it began
 * @copied: bytes so far
 * @room: what the last request asked for
 * @readable: what it waits for
 * @stepped_aside: other tasks have had their turn
 */
struct rx {
	struct vmrpc_sock *vs;
	struct msghdr *msg;
	size_t size;
	int flags;
	size_t target;
	long timeo;
	unsigned int disconnects;
	size_t copied;
	size_t room;
	u32 readable;
	bool stepped_aside;
};

/*
 * Is MSG_PEEK to look again for more than @n bytes, as MSG_WAITALL demands?
 * The host does not tell when data come to data, hence the pause.
 */
static bool peek_again(struct rx *rx, size_t n)
{
	struct vmrpc_sock *vs = rx->vs;

	/* More may not fit into one request, however long we wait, or into memory. */
	if (n >= min3(rx->target, rx->room, (size_t)VMRPC_BOUNCE_MAX) ||
	    (vmrpc_sock_ready(vs) & (VMRPC_RDHUP | VMRPC_HUP | VMRPC_ERR)) ||
	    READ_ONCE(vs->sk->sk_err) || (vs->shutdown & RCV_SHUTDOWN) ||
	    vmrpc_sock_pause(&rx->timeo))
		return false;
	/* It looks beyond the urgent byte only if that is the first. */
	if ((vmrpc_sock_ready(vs) & VMRPC_PRI) && !vmrpc_stream_at_mark(vs))
		return false;
	/* With MSG_TRUNC none of the @n bytes are in the buffer of @size. */
	iov_iter_revert(&rx->msg->msg_iter,
			rx->size - msg_data_left(rx->msg));
	return true;
}

/* One request, if it is worth it: the bytes, 0 at the end, negative errno. */
static ssize_t rx_request(struct rx *rx)
{
	struct vmrpc_sock *vs = rx->vs;
	u32 wait_us = 0;
	ssize_t n = -EAGAIN;

	if (rx->copied)
		rx->readable |= VMRPC_PRI;
	if (rx->copied < rx->target)
		wait_us = rx_patience(vs, rx->flags, rx->timeo);
	if (wait_us || rx->stepped_aside || rx_worth_asking(vs, rx->flags))
		n = vmrpc_message_recv(vs, rx->msg,
				       min_t(size_t, rx->size - rx->copied,
					     VMRPC_DATA_MAX),
				       &rx->room, rx->flags, wait_us);
	if (n < 0 && rx->copied)
		vmrpc_sock_keep_error(vs, n);
	return n;
}

/* A request has brought @n bytes: is that all? */
static bool rx_is_done(struct rx *rx, size_t n)
{
	struct vmrpc_sock *vs = rx->vs;

	if ((rx->flags & MSG_PEEK) && peek_again(rx, n))
		return false;
	rx->copied += n;
	rx_learn(vs, rx->room, n);
	if (rx->flags & MSG_OOB)
		WRITE_ONCE(vs->urgent, true);
	if (rx->copied >= rx->size ||
	    (rx->flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)))
		return true;
	/* A short read tells programs that there is no more. */
	return n != rx->room && rx->copied >= rx->target &&
	       !(vmrpc_sock_ready(vs) & VMRPC_IN);
}

/* Nothing was to be read of what there is; an error behind it is not met. */
static bool is_nothing_wanted(struct rx *rx)
{
	int unread;

	return !rx->size && !vmrpc_sock_ioctl(rx->vs, SIOCINQ, &unread) &&
	       unread > 0;
}

/*
 * A request has brought nothing, but @n: 0 or a negative errno.  Waits if the
 * program does.  True if it is over; *@n is what the call returns then, if
 * there are no bytes.
 */
static bool rx_is_over(struct rx *rx, ssize_t *n)
{
	struct vmrpc_sock *vs = rx->vs;
	struct sock *sk = vs->sk;

	/* What comes with an error may have no bytes. */
	if (*n == 0 && (rx->flags & MSG_ERRQUEUE))
		return true;
	/* The end, unless broken off; with EPIPE, the end came first. */
	if (*n == 0 && !is_nothing_wanted(rx))
		*n = rx->copied || READ_ONCE(sk->sk_err) == EPIPE ?
		     0 : sock_error(sk);
	if (*n != -EAGAIN || rx->copied >= rx->target ||
	    (rx->flags & (MSG_OOB | MSG_ERRQUEUE)))
		return true;
	*n = rx->copied ? -READ_ONCE(sk->sk_err) : sock_error(sk);
	if (*n || (vs->shutdown & RCV_SHUTDOWN))
		return true;
	if (!rx->stepped_aside && rx_step_aside(vs, rx->timeo)) {
		rx->stepped_aside = true;
		return false;
	}
	*n = rx_sleep(vs, rx->readable, rx->size, &rx->timeo);
	return *n || !rx->size;
}

/*
 * What MSG_PEEK has seen is kept in the guest; what the host has comes behind
 * it, unless the mark of urgent data is between.
 */
static void peek_behind(struct rx *rx)
{
	size_t len = min_t(size_t, rx->size - rx->copied, VMRPC_DATA_MAX);
	size_t room = len;
	ssize_t n;

	if (!len || vmrpc_stream_at_mark(rx->vs))
		return;
	n = vmrpc_message_recv(rx->vs, rx->msg, len, &room, rx->flags, 0);
	if (n > 0)
		rx->copied += n;
	else if (n < 0)
		vmrpc_sock_keep_error(rx->vs, n);
}

/**
 * vmrpc_stream_receive - recvmsg() of a connected socket
 * @vs: in mode VMRPC_REMOTE
 * @msg: where the data go
 * @size: bytes at most
 * @flags: MSG_...
 *
 * Returns how much has been received, 0 at the end, or a negative errno.
 */
int vmrpc_stream_receive(struct vmrpc_sock *vs, struct msghdr *msg,
			 size_t size, int flags)
{
	struct rx rx = {
		.vs = vs,
		.msg = msg,
		.size = size,
		.flags = flags,
		.target = sock_rcvlowat(vs->sk, flags & MSG_WAITALL, size),
		.timeo = sock_rcvtimeo(vs->sk, flags & MSG_DONTWAIT),
		.disconnects = READ_ONCE(vs->disconnects),
		.readable = READABLE,
	};
	ssize_t n = -EAGAIN;

	for (;;) {
		if (vmrpc_sock_mode(vs) != VMRPC_REMOTE) {
			n = READ_ONCE(vs->disconnects) == rx.disconnects ?
			    -ENOTCONN : -EPIPE;
			break;
		}
		rx.room = rx_room(vs, size - rx.copied, flags);
		if (vmrpc_message_kept(vs) &&
		    !(flags & (MSG_OOB | MSG_ERRQUEUE))) {
			n = vmrpc_message_recv_kept(vs, msg, rx.room, flags);
			if (n > 0)
				rx.copied += n;
			if (n > 0 && (flags & MSG_PEEK))
				peek_behind(&rx);
			if (n < 0 || rx.copied >= size || (flags & MSG_PEEK))
				break;
			continue;
		}
		/* The next request would leave the urgent byte out. */
		if (rx.copied && vmrpc_stream_at_mark(vs))
			break;
		n = rx_request(&rx);
		if (n > 0 ? rx_is_done(&rx, n) : rx_is_over(&rx, &n))
			break;
	}
	return rx.copied ? rx.copied : n;
}
