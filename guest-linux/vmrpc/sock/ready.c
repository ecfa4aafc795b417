// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Readiness of a socket
 *
 * Readiness is the latest report of the host (vmrpc_ready_report()) and, for a
 * stream, what the program itself has shut down (shut_bits()).  Answers and
 * events may overtake each other, so reports have a number: the newest wins.
 */
#include "sock/ready.h"

static __poll_t bits_to_poll(u32 bits)
{
	__poll_t mask = 0;

	if (bits & VMRPC_IN)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (bits & VMRPC_PRI)
		mask |= EPOLLPRI;
	if (bits & VMRPC_OUT)
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (bits & VMRPC_ERR)
		mask |= EPOLLERR;
	if (bits & VMRPC_HUP)
		mask |= EPOLLHUP;
	if (bits & VMRPC_RDHUP)
		mask |= EPOLLRDHUP;
	return mask;
}

/* The bits that a stream's own shutdown() sets; the host may not know them. */
static u32 shut_bits(const struct vmrpc_sock *vs)
{
	u8 shutdown = READ_ONCE(vs->shutdown);
	u32 bits = 0;

	if (shutdown & RCV_SHUTDOWN)
		bits |= VMRPC_IN | VMRPC_RDHUP;
	if (shutdown == SHUTDOWN_MASK)
		bits |= VMRPC_HUP;
	return bits;
}

/*
 * Do kept data (data/kept.c) make it readable, without data on the host?  Racy.
 */
static bool kept_suffices(const struct vmrpc_sock *vs)
{
	size_t kept = READ_ONCE(vs->kept_size);

	return unlikely(kept) && kept >= READ_ONCE(vs->sk->sk_rcvlowat);
}

/**
 * vmrpc_ready_mask - the result of poll() for the host's side
 * @vs: the socket, not in mode VMRPC_NATIVE
 */
__poll_t vmrpc_ready_mask(const struct vmrpc_sock *vs)
{
	__poll_t mask = bits_to_poll(vmrpc_sock_ready(vs) | shut_bits(vs));

	/* sk_err is set before vs->ready: see vmrpc_ready_report(). */
	smp_rmb();
	if (READ_ONCE(vs->sk->sk_err) || vmrpc_sk_has_errors(vs->sk))
		mask |= EPOLLERR;
	if (kept_suffices(vs))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (vs->sk->sk_type != SOCK_DGRAM)
		return mask;
	/* datagram_poll() also sets these bits, tcp_poll() does not. */
	if (mask & EPOLLOUT)
		mask |= EPOLLWRBAND;
	if ((mask & EPOLLERR) && sock_flag(vs->sk, SOCK_SELECT_ERR_QUEUE))
		mask |= EPOLLPRI;
	return mask;
}

/* The key of a wake-up, as in sock_def_readable(), sock_def_write_space(). */
static __poll_t bits_to_key(u32 bits)
{
	__poll_t key = bits_to_poll(bits);

	if (bits & VMRPC_IN)
		key |= EPOLLPRI | EPOLLRDBAND;
	if (bits & VMRPC_OUT)
		key |= EPOLLWRBAND;
	return key;
}

/**
 * vmrpc_ready_wake_tasks - wake the tasks that wait for the socket
 * @vs: the socket
 * @bits: VMRPC_IN ..., bits that are set, even if reported before
 *
 * Any context.
 */
void vmrpc_ready_wake_tasks(struct vmrpc_sock *vs, u32 bits)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(vs->sk->sk_wq);
	if (skwq_has_sleeper(wq)) {
		/* As sk_state_change(): an end concerns all tasks. */
		if (bits & (VMRPC_RDHUP | VMRPC_HUP))
			wake_up_interruptible_all(&wq->wait);
		else
			wake_up_interruptible_poll(&wq->wait,
						   bits_to_key(bits));
	}
	rcu_read_unlock();
}

static void send_signals(struct vmrpc_sock *vs, u32 bits)
{
	struct sock *sk = vs->sk;

	if (bits & VMRPC_PRI)
		sk_send_sigurg(sk);
	if (bits & (VMRPC_IN | VMRPC_RDHUP))
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	if (bits & VMRPC_OUT)
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	if (bits & VMRPC_ERR)
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_ERR);
	else if (bits & VMRPC_HUP)
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_HUP);
}

/**
 * vmrpc_ready_wake - wake the tasks that wait for the socket, and send signals
 * @vs: the socket
 * @bits: VMRPC_IN ..., bits that have become set
 *
 * Any context.
 */
void vmrpc_ready_wake(struct vmrpc_sock *vs, u32 bits)
{
	vmrpc_ready_wake_tasks(vs, bits);
	send_signals(vs, bits);
}

/**
 * vmrpc_ready_keep_error - keep an error for the next operation
 * @vs: the socket
 * @err: a negative errno
 *
 * The host reports an error once, to the request that meets it.  An operation
 * that has already moved data cannot return it: the next one does.
 */
void vmrpc_ready_keep_error(struct vmrpc_sock *vs, ssize_t err)
{
	switch (err) {
	case -EACCES:
	case -EAGAIN:
	case -EFAULT:
	case -ENOBUFS:
	case -ENOMEM:
	case -EPIPE:
		/* errors of the request, and errors that the host repeats */
		return;
	}
	WRITE_ONCE(vs->sk->sk_err, -err);
}

/*
 * The part of @bits that waiting tasks need: for a listener, new connections
 * and errors.
 */
static u32 relevant(const struct vmrpc_sock *vs, u32 bits)
{
	/* The native side reports the hang-up, once. */
	if (vmrpc_sock_mode(vs) == VMRPC_BOTH &&
	    vs->sk->sk_type == SOCK_STREAM &&
	    !(bits & (VMRPC_IN | VMRPC_ERR)))
		return 0;
	return bits;
}

/**
 * vmrpc_ready_begin - set the first readiness of an accepted connection
 * @vs: the connection; nobody else uses it yet
 * @ready: VMRPC_IN ...
 *
 * The host gave @ready before its first report.  An event may have arrived,
 * which is newer.
 */
void vmrpc_ready_begin(struct vmrpc_sock *vs, u32 ready)
{
	spin_lock_irq(&vs->ready_lock);
	if (!vs->ready_seq) {
		WRITE_ONCE(vs->ready, ready & VMRPC_READY_ALL);
		if (ready & VMRPC_PRI)
			WRITE_ONCE(vs->urgent, true);
	}
	spin_unlock_irq(&vs->ready_lock);
}

/**
 * vmrpc_ready_report - take a report of the host
 * @vs: the socket
 * @gen: generation of the host socket; a report for an earlier one is dropped
 * @ready: VMRPC_IN ...
 * @seq: number of the report
 * @error: so_error as on the wire: the latest error and its age; the error
 *         moves from the host to the guest
 * @edge_event: bits of @ready that are reported even if they were set before
 * @watched: events will follow
 *
 * Any context.
 */
void vmrpc_ready_report(struct vmrpc_sock *vs, u32 gen, u32 ready, u32 seq,
			u32 error, u32 edge_event, bool watched)
{
	u32 error_seq = seq - (error >> VMRPC_ERROR_AGE);
	unsigned long flags;
	u32 bits = 0;
	s32 newer;

	ready &= VMRPC_READY_ALL;
	error &= (1u << VMRPC_ERROR_AGE) - 1;
	if (error > MAX_ERRNO)
		error = EIO;

	spin_lock_irqsave(&vs->ready_lock, flags);
	if (gen != vs->gen)
		goto out;
	if (error && (s32)(error_seq - vs->error_seq) > 0) {
		vs->error_seq = error_seq;
		WRITE_ONCE(vs->sk->sk_err, error);
		bits = VMRPC_ERR;
	}
	/* pairs with vmrpc_ready_mask() */
	smp_wmb();
	newer = (s32)(seq - vs->ready_seq);
	if (newer > 0) {
		/*
		 * A bit that is set in both may have been clear in an overtaken
		 * report, and edge-triggered pollers need that edge.
		 */
		bits |= newer == 1 ? ready & (~vs->ready | edge_event) : ready;
		WRITE_ONCE(vs->ready, ready);
		WRITE_ONCE(vs->watched, watched);
		if (ready & VMRPC_PRI)
			WRITE_ONCE(vs->urgent, true);
		vs->ready_seq = seq;
		/*
		 * No older error can be reported any more.  If error_seq were
		 * far behind, it would compare as newer than later errors.
		 */
		if ((s32)(seq - VMRPC_ERROR_AGE_MAX - 1 - vs->error_seq) > 0)
			vs->error_seq = seq - VMRPC_ERROR_AGE_MAX - 1;
	}
	/* vmrpc_ready_show() reports these bits when it sets the mode. */
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE) {
		vs->unreported |= bits;
		bits = 0;
	}
	bits = relevant(vs, bits);
out:
	spin_unlock_irqrestore(&vs->ready_lock, flags);

	if (bits)
		vmrpc_ready_wake(vs, bits);
}

/*
 * The device has gone: sets ENETDOWN and a hang-up.  The number makes this
 * report newer than all others, also those that a task has not taken yet.  It
 * may be called twice, for a socket whose mode is being set.  Caller must hold
 * xa_lock, or be vmrpc_ready_show().
 */
static void kill_sock(struct vmrpc_sock *vs)
{
	vmrpc_ready_report(vs, vs->gen,
			   VMRPC_IN | VMRPC_OUT | VMRPC_HUP | VMRPC_RDHUP,
			   READ_ONCE(vs->ready_seq) + BIT(29), ENETDOWN, 0,
			   true);
}

/**
 * vmrpc_ready_show - make the host's side visible
 * @vs: VMRPC_NATIVE, but with a host socket already; caller must hold vs->lock
 *      or be its only user
 * @mode: another mode than VMRPC_NATIVE
 *
 * Tasks that wait for the native side now wait for both sides.  They get the
 * bits that became set before.
 */
void vmrpc_ready_show(struct vmrpc_sock *vs, enum vmrpc_mode mode)
{
	u32 unreported;
	bool dead;

	/* Either vmrpc_ready_kill_all() sees the mode, or we see dev->dead. */
	xa_lock_irq(&vs->dev->socks);
	spin_lock(&vs->ready_lock);
	vmrpc_sock_set_mode(vs, mode);
	unreported = vs->unreported;
	spin_unlock(&vs->ready_lock);
	dead = READ_ONCE(vs->dev->dead);
	xa_unlock_irq(&vs->dev->socks);
	if (dead)
		kill_sock(vs);
	/*
	 * One wake-up: an edge-triggered poller would see two as two changes.
	 */
	vmrpc_ready_wake_tasks(vs, unreported | VMRPC_IN);
	send_signals(vs, unreported);
}

/**
 * vmrpc_ready_kill_all - end all sockets of a device that has gone
 * @dev: the device, already dead
 *
 * Every socket with a host side gets ENETDOWN and hangs up.
 */
void vmrpc_ready_kill_all(struct vmrpc_device *dev)
{
	struct vmrpc_sock *vs;
	unsigned long handle;

	xa_lock_irq(&dev->socks);
	xa_for_each(&dev->socks, handle, vs) {
		if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
			kill_sock(vs);
	}
	xa_unlock_irq(&dev->socks);
}
