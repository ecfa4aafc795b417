// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recvmsg(2) of a stream
 *
 * One recvmsg() may take several requests: each returns the available data, up
 * to a mark of urgent data.  No further request is made where tcp_recvmsg()
 * would return.
 */
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/sock.h>

#include "data/kept.h"
#include "data/message.h"
#include "host/wait.h"
#include "ops/receive.h"
#include "sock/ask.h"
#include "sock/ready.h"
#include "sock/sol.h"
#include "transport/transport.h"

#define RX_WINDOW_MIN		16384u

/* After this many bytes in one answer, more data are expected soon. */
#define RX_BULK_MIN		32768u

/* Readiness that a reader waits for. */
#define READABLE		(VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP)

/* How many bytes of @left to look up the pages of, if that is needed. */
static size_t rx_room(const struct vmrpc_sock *vs, size_t left, int flags)
{
	size_t max = VMRPC_DATA_MAX;

	/* These need all bytes in one request. */
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

/* Can a request return anything? */
static bool rx_worth_asking(const struct vmrpc_sock *vs, int flags)
{
	if (vmrpc_sock_ready(vs) & (READABLE | VMRPC_ERR | VMRPC_PRI))
		return true;
	/*
	 * Below SO_RCVLOWAT there may be data without VMRPC_IN.  The same is
	 * true after an urgent byte that has been fetched: a read skips it.
	 */
	return (flags & (MSG_OOB | MSG_ERRQUEUE)) || READ_ONCE(vs->urgent) ||
	       READ_ONCE(vs->sk->sk_rcvlowat) > 1;
}

/* How long may the host wait, for a task that may wait for @timeo? */
static u32 rx_patience(const struct vmrpc_sock *vs, int flags, long timeo)
{
	if (!timeo || (flags & (MSG_OOB | MSG_ERRQUEUE)) ||
	    (vs->shutdown & RCV_SHUTDOWN) || READ_ONCE(vs->sk->sk_err))
		return 0;
	return vmrpc_transport_patience(vs->dev);
}

/*
 * Lets other tasks run before this one, which has nothing to read, goes to
 * sleep.  Afterwards its peer has mostly answered, which saves the wake-up by
 * an event and an interrupt.  Returns true if other tasks could run.
 */
static bool rx_step_aside(const struct vmrpc_sock *vs, long timeo)
{
	if (!timeo || READ_ONCE(vs->watched) || single_task_running())
		return false;
	yield();
	return true;
}

/**
 * vmrpc_receive_at_mark - is the urgent byte the next byte?
 * @vs: in mode VMRPC_REMOTE
 *
 * Also true if MSG_OOB has already fetched it.
 */
bool vmrpc_receive_at_mark(struct vmrpc_sock *vs)
{
	int value;

	return READ_ONCE(vs->urgent) &&
	       !vmrpc_ask_ioctl(vs, SIOCATMARK, &value) && value;
}

/* Sleeps until there may be something to read: 0 or a negative errno. */
static int rx_sleep(struct vmrpc_sock *vs, u32 readable, size_t size,
		    long *timeo)
{
	bool sleeps = *timeo && !signal_pending(current);
	int err;

	if (vmrpc_sock_ready(vs) & readable)
		err = vmrpc_wait_pause(timeo);
	else
		err = vmrpc_wait(vs, readable, NULL, timeo);
	if (!err)
		vmrpc_sol_refresh(vs);
	/*
	 * A read of 0 bytes ends when it wakes up for any reason, as natively.
	 */
	return !size && sleeps ? 0 : err;
}

/**
 * struct rx - state of a recvmsg()
 * @vs: the socket
 * @msg: where the data go
 * @size: bytes at most
 * @flags: MSG_...
 * @target: return when this many bytes have been received
 * @timeo: jiffies left to wait
 * @disconnects: vs->disconnects when it began
 * @copied: bytes received so far
 * @room: bytes that the latest request asked for
 * @readable: readiness that it waits for
 * @stepped_aside: it has let other tasks run
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
 * Must MSG_PEEK with MSG_WAITALL look again for more than @n bytes?  The host
 * sends no event when more data arrive, so this pauses.
 */
static bool peek_again(struct rx *rx, size_t n)
{
	struct vmrpc_sock *vs = rx->vs;

	/* More may never fit into one request, or into memory. */
	if (n >= min3(rx->target, rx->room, (size_t)VMRPC_BOUNCE_MAX) ||
	    (vmrpc_sock_ready(vs) & (VMRPC_RDHUP | VMRPC_HUP | VMRPC_ERR)) ||
	    READ_ONCE(vs->sk->sk_err) || (vs->shutdown & RCV_SHUTDOWN) ||
	    vmrpc_wait_pause(&rx->timeo))
		return false;
	/* It looks beyond the urgent byte only if that is the first byte. */
	if ((vmrpc_sock_ready(vs) & VMRPC_PRI) && !vmrpc_receive_at_mark(vs))
		return false;
	/* With MSG_TRUNC none of the @n bytes are in the program's buffer. */
	iov_iter_revert(&rx->msg->msg_iter,
			rx->size - msg_data_left(rx->msg));
	return true;
}

/* Makes a request, if useful.  Returns the bytes, 0 at the end, or an errno. */
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
		vmrpc_ready_keep_error(vs, n);
	return n;
}

/* A request has returned @n bytes.  Returns true if recvmsg() is done. */
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
	/* Programs take a short read as a sign that there are no more data. */
	return n != rx->room && rx->copied >= rx->target &&
	       !(vmrpc_sock_ready(vs) & VMRPC_IN);
}

/* A read of 0 bytes with data available does not see an error behind them. */
static bool is_nothing_wanted(struct rx *rx)
{
	int unread;

	return !rx->size && !vmrpc_ask_ioctl(rx->vs, SIOCINQ, &unread) &&
	       unread > 0;
}

/*
 * A request has returned no bytes, but *@n: 0 or a negative errno.  Waits if
 * the program does.  Returns true if recvmsg() is over; *@n is then its result,
 * unless there are bytes.
 */
static bool rx_is_over(struct rx *rx, ssize_t *n)
{
	struct vmrpc_sock *vs = rx->vs;
	struct sock *sk = vs->sk;

	/* A message of the error queue may have no bytes. */
	if (*n == 0 && (rx->flags & MSG_ERRQUEUE))
		return true;
	/* The end, or an error; with EPIPE the end came first. */
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
 * MSG_PEEK has read the data that are kept in the guest.  The data of the host
 * follow them, unless the mark of urgent data is between.
 */
static void peek_behind(struct rx *rx)
{
	size_t len = min_t(size_t, rx->size - rx->copied, VMRPC_DATA_MAX);
	size_t room = len;
	ssize_t n;

	if (!len || vmrpc_receive_at_mark(rx->vs))
		return;
	n = vmrpc_message_recv(rx->vs, rx->msg, len, &room, rx->flags, 0);
	if (n > 0)
		rx->copied += n;
	else if (n < 0)
		vmrpc_ready_keep_error(rx->vs, n);
}

/**
 * vmrpc_receive - recvmsg(2) of a connected stream
 * @vs: in mode VMRPC_REMOTE
 * @msg: where the data go
 * @size: bytes at most
 * @flags: MSG_...
 *
 * Returns the bytes received, 0 at the end, or a negative errno.
 */
int vmrpc_receive(struct vmrpc_sock *vs, struct msghdr *msg,
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
		if (vmrpc_kept_exists(vs) &&
		    !(flags & (MSG_OOB | MSG_ERRQUEUE))) {
			n = vmrpc_kept_receive(vs, msg, rx.room, flags);
			if (n > 0)
				rx.copied += n;
			if (n > 0 && (flags & MSG_PEEK))
				peek_behind(&rx);
			if (n < 0 || rx.copied >= size || (flags & MSG_PEEK))
				break;
			continue;
		}
		/* The next request would skip the urgent byte. */
		if (rx.copied && vmrpc_receive_at_mark(vs))
			break;
		n = rx_request(&rx);
		if (n > 0 ? rx_is_done(&rx, n) : rx_is_over(&rx, &n))
			break;
	}
	return rx.copied ? rx.copied : n;
}
