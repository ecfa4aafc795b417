// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a socket is ready for, and who waits for it
 *
 * Readiness is what the host reported last (vmrpc_sock_report), and of a stream
 * what the program itself has ended (shut_bits).  poll() makes a
 * request only to have a socket watched that is not, or to wait for input that
 * should come at any moment.  Reports carry a number, because answers and events
 * overtake one another; the newest wins.
 */
#include <linux/sched/signal.h>

#include "internal.h"

/* For how long poll() may wait for input of a fast stream. */
#define POLL_WAIT_US		200u

/* How poll() and select() queue; who queues otherwise will not sleep there. */
static poll_queue_proc queued_by_poll __ro_after_init;

/**
 * vmrpc_ready_init - to be called once, before there are sockets
 */
void __init vmrpc_ready_init(void)
{
	struct poll_wqueues table;

	poll_initwait(&table);
	queued_by_poll = table.pt._qproc;
	poll_freewait(&table);
}

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

/* What a stream is by its own shutdown(), of which the host need not know. */
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

/**
 * vmrpc_sock_mask - what poll() says of the host's side
 * @vs: the socket, not in mode VMRPC_NATIVE
 */
__poll_t vmrpc_sock_mask(const struct vmrpc_sock *vs)
{
	__poll_t mask = bits_to_poll(vmrpc_sock_ready(vs) | shut_bits(vs));

	/* Set before ready is: see vmrpc_sock_report(). */
	smp_rmb();
	if (READ_ONCE(vs->sk->sk_err) || vmrpc_has_native_errors(vs->sk))
		mask |= EPOLLERR;
	if (vmrpc_message_kept_suffices(vs))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (vs->sk->sk_type != SOCK_DGRAM)
		return mask;
	/* What datagram_poll() says beyond tcp_poll(). */
	if (mask & EPOLLOUT)
		mask |= EPOLLWRBAND;
	if ((mask & EPOLLERR) && sock_flag(vs->sk, SOCK_SELECT_ERR_QUEUE))
		mask |= EPOLLPRI;
	return mask;
}

/* The key of a wake-up, as sock_def_readable() and sock_def_write_space() have it. */
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
 * vmrpc_sock_wake_tasks - wake the tasks that wait for the socket
 * @vs: the socket
 * @bits: VMRPC_IN ..., what is true, which may be known to others
 *
 * Any context.
 */
void vmrpc_sock_wake_tasks(struct vmrpc_sock *vs, u32 bits)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(vs->sk->sk_wq);
	if (skwq_has_sleeper(wq)) {
		/* As sk_state_change(): an end concerns everybody. */
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
 * vmrpc_sock_wake - tell whoever waits for the socket, also for a signal
 * @vs: the socket
 * @bits: VMRPC_IN ..., what has become true
 *
 * Any context.
 */
void vmrpc_sock_wake(struct vmrpc_sock *vs, u32 bits)
{
	vmrpc_sock_wake_tasks(vs, bits);
	send_signals(vs, bits);
}

/**
 * vmrpc_sock_keep_error - leave an error to the next call
 * @vs: the socket
 * @err: a negative errno
 *
 * The host gives an error away with the request that meets it.  A call that
 * has moved a part already cannot tell it: the next one will.
 */
void vmrpc_sock_keep_error(struct vmrpc_sock *vs, ssize_t err)
{
	switch (err) {
	case -EAGAIN:
	case -EFAULT:
	case -ENOBUFS:
	case -ENOMEM:
	case -EPIPE:
		/* of the request; or the host will say so again */
		return;
	}
	WRITE_ONCE(vs->sk->sk_err, -err);
}

/* Of @bits, what is new for those who wait: of a listener, callers and errors. */
static u32 concerns(const struct vmrpc_sock *vs, u32 bits)
{
	/* Its end the native side tells, once. */
	if (vmrpc_sock_mode(vs) == VMRPC_BOTH &&
	    vs->sk->sk_type == SOCK_STREAM &&
	    !(bits & (VMRPC_IN | VMRPC_ERR)))
		return 0;
	return bits;
}

/**
 * vmrpc_sock_begin - take over what an accepted connection is ready for
 * @vs: nobody else has it yet
 * @ready: VMRPC_IN ...
 *
 * The host told this before its reports.  Events may have come, which know more.
 */
void vmrpc_sock_begin(struct vmrpc_sock *vs, u32 ready)
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
 * vmrpc_sock_report - take over what the host says of a socket
 * @vs: the socket
 * @gen: which of its host sockets this is about; of a former one it is dropped
 * @ready: VMRPC_IN ...
 * @seq: number of the report
 * @error: so_error as on the wire: the latest error, which is the guest's from
 *         now on, and its age
 * @news: of @ready, what is worth telling even if it has been reported before
 * @watched: events will follow
 *
 * Any context.
 */
void vmrpc_sock_report(struct vmrpc_sock *vs, u32 gen, u32 ready, u32 seq,
		       u32 error, u32 news, bool watched)
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
	/* pairs with vmrpc_sock_mask() */
	smp_wmb();
	newer = (s32)(seq - vs->ready_seq);
	if (newer > 0) {
		/*
		 * A bit that is set in both may have been clear in a report
		 * that was overtaken; edge-triggered pollers want to know.
		 */
		bits |= newer == 1 ? ready & (~vs->ready | news) : ready;
		WRITE_ONCE(vs->ready, ready);
		WRITE_ONCE(vs->watched, watched);
		if (ready & VMRPC_PRI)
			WRITE_ONCE(vs->urgent, true);
		vs->ready_seq = seq;
		/*
		 * No older error can be told any more.  Far behind, it would
		 * seem to be newer than all that come.
		 */
		if ((s32)(seq - VMRPC_ERROR_AGE_MAX - 1 - vs->error_seq) > 0)
			vs->error_seq = seq - VMRPC_ERROR_AGE_MAX - 1;
	}
	/* It is about to be seen: who sets the mode tells. */
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE) {
		vs->untold |= bits;
		bits = 0;
	}
	bits = concerns(vs, bits);
out:
	spin_unlock_irqrestore(&vs->ready_lock, flags);

	if (bits)
		vmrpc_sock_wake(vs, bits);
}

/*
 * The device has gone: ENETDOWN and a hang-up.  That is later than all that it
 * has said, also what a task has yet to report.  It may come twice, to a socket
 * that is being shown meanwhile.  Caller must hold xa_lock, or show the socket.
 */
static void kill_sock(struct vmrpc_sock *vs)
{
	vmrpc_sock_report(vs, vs->gen,
			  VMRPC_IN | VMRPC_OUT | VMRPC_HUP | VMRPC_RDHUP,
			  READ_ONCE(vs->ready_seq) + BIT(29), ENETDOWN, 0, true);
}

/**
 * vmrpc_sock_show - from now on the host's side can be seen
 * @vs: VMRPC_NATIVE, but with a host socket already; caller must hold vs->lock
 *      or be its only user
 * @mode: any other
 *
 * Who waits for the native side waits for both from now on, and is told what has
 * become true meanwhile.
 */
void vmrpc_sock_show(struct vmrpc_sock *vs, enum vmrpc_mode mode)
{
	u32 untold;
	bool dead;

	/* vmrpc_sock_kill_all() has seen the mode, or we see that it was there. */
	xa_lock_irq(&vs->dev->socks);
	spin_lock(&vs->ready_lock);
	vmrpc_sock_set_mode(vs, mode);
	untold = vs->untold;
	spin_unlock(&vs->ready_lock);
	dead = READ_ONCE(vs->dev->dead);
	xa_unlock_irq(&vs->dev->socks);
	if (dead)
		kill_sock(vs);
	/* Once: an edge-triggered poller would take it for two changes. */
	vmrpc_sock_wake_tasks(vs, untold | VMRPC_IN);
	send_signals(vs, untold);
}

/**
 * vmrpc_sock_kill_all - the device has gone
 * @dev: the device, already dead
 *
 * Every socket with a host side gets ENETDOWN and hangs up.
 */
void vmrpc_sock_kill_all(struct vmrpc_device *dev)
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

static void watch(struct vmrpc_sock *vs, bool edge)
{
	struct vmrpc_call *call;
	u16 flags = VMRPC_REQ_WATCH;

	if (READ_ONCE(vs->watched) && (!edge || READ_ONCE(vs->edge)))
		return;
	/* Without memory for it: the host begins by itself soon. */
	call = vmrpc_call_new(vs, VMRPC_NOOP);
	if (!call)
		return;
	if (edge)
		flags |= VMRPC_REQ_EDGE;
	call->req.flags = cpu_to_le16(flags);
	if (!vmrpc_call_run(call) && edge) {
		spin_lock_irq(&vs->ready_lock);
		/* Not of another life of the handle. */
		if (call->req.gen == cpu_to_le32(vs->gen))
			WRITE_ONCE(vs->edge, true);
		spin_unlock_irq(&vs->ready_lock);
	}
	vmrpc_call_free(call);
}

/**
 * vmrpc_sock_ask - have the host report the readiness, and a pending error, once
 * @vs: has a host socket
 *
 * Without memory for the call, what is known has to do.
 */
void vmrpc_sock_ask(struct vmrpc_sock *vs)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_NOOP);

	if (call)
		vmrpc_call_run(call);
	vmrpc_call_free(call);
}

/**
 * vmrpc_sock_watch_edges - have the host report whatever happens
 * @vs: has a host socket
 *
 * Also what makes no difference to what the socket is ready for.
 */
void vmrpc_sock_watch_edges(struct vmrpc_sock *vs)
{
	watch(vs, true);
}

/**
 * vmrpc_sock_watch - have the host report the readiness by events
 * @vs: has a host socket
 * @wait: poll() as it looks for readiness; NULL: a task about to sleep, or to
 *        read
 *
 * To be called before readiness is looked at for the last time.  Costs a call,
 * the first time.
 */
void vmrpc_sock_watch(struct vmrpc_sock *vs, const poll_table *wait)
{
	watch(vs, sock_flag(vs->sk, SOCK_FASYNC) ||
		  (wait && (poll_requested_events(wait) & EPOLLET)));
}

/**
 * vmrpc_sock_reads - a program is about to read
 * @vs: its socket
 *
 * What it has set by setsockopt() takes effect; and if it wants a signal for what
 * comes after this, the host will tell.
 */
void vmrpc_sock_reads(struct vmrpc_sock *vs)
{
	vmrpc_sol_refresh(vs);
	if (sock_flag(vs->sk, SOCK_FASYNC) &&
	    vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		vmrpc_sock_watch(vs, NULL);
}

/**
 * vmrpc_sock_expect - wait for input that should come at any moment
 * @vs: a stream with a peer
 * @wait: poll() as it looks for readiness
 *
 * A program that polls between its reads of a fast stream would mostly sleep
 * for less than it takes to be woken up.  If its CPU has nothing else to do,
 * it waits on the host instead, not for long: the other descriptors that it
 * polls have to wait meanwhile.  Returns true if there is input now, so that
 * poll() will not sleep and nobody need be told.
 */
bool vmrpc_sock_expect(struct vmrpc_sock *vs, const poll_table *wait)
{
	__poll_t events = poll_requested_events(wait);
	struct vmrpc_call *call;
	u32 wait_us;

	/* Not epoll_ctl() or io_uring, which only want to be told. */
	if (!wait || wait->_qproc != queued_by_poll || !(events & EPOLLIN) ||
	    time_after(jiffies, READ_ONCE(vs->rx_bulk) + 1) ||
	    (vmrpc_sock_mask(vs) & (events | EPOLLERR | EPOLLHUP)))
		return false;
	wait_us = min(vmrpc_device_patience(vs->dev), POLL_WAIT_US);
	if (!wait_us)
		return false;
	call = vmrpc_call_new(vs, VMRPC_NOOP);
	if (!call)
		return false;
	call->req.wait_us = cpu_to_le32(wait_us);
	vmrpc_call_run(call);
	vmrpc_call_free(call);
	return vmrpc_sock_mask(vs) & events;
}

/* The error that a listener has is one of a former connection, not of accept(). */
static bool has_error(const struct vmrpc_sock *vs)
{
	return READ_ONCE(vs->sk->sk_err) &&
	       READ_ONCE(vs->sk->sk_state) != TCP_LISTEN;
}

static bool wait_is_over(struct vmrpc_sock *vs, u32 mask,
			 enum vmrpc_mode mode, unsigned int disconnects,
			 bool (*native)(struct sock *sk))
{
	return (mode != VMRPC_NATIVE && (vmrpc_sock_ready(vs) & mask)) ||
	       ((mask & VMRPC_IN) && vmrpc_message_kept(vs)) ||
	       has_error(vs) || vmrpc_sock_mode(vs) != mode ||
	       READ_ONCE(vs->disconnects) != disconnects ||
	       (native && native(vs->sk));
}

/**
 * vmrpc_sock_wait - wait until a socket is ready
 * @vs: the socket
 * @mask: VMRPC_IN ...; any of these ends it
 * @native: tells if the native side is ready; NULL: it does not matter
 * @timeo: jiffies left, updated
 *
 * A pending error, a shutdown, a dissolved connection and another mode end it
 * as well.  What another task has set meanwhile by setsockopt() holds for what
 * has ended it.
 * Returns 0, -EAGAIN when the time is over, or what a signal means.
 * Sleeps; the caller must hold no lock.
 */
int vmrpc_sock_wait(struct vmrpc_sock *vs, u32 mask,
		    bool (*native)(struct sock *sk), long *timeo)
{
	unsigned int disconnects = READ_ONCE(vs->disconnects);
	enum vmrpc_mode mode = vmrpc_sock_mode(vs);
	wait_queue_head_t *wq = sk_sleep(vs->sk);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	/* The answer that led here may have told: most connections are made at once. */
	if (wait_is_over(vs, mask, mode, disconnects, native))
		return 0;
	/* Nothing would end it: the caller looks again who serves the socket. */
	if (mode == VMRPC_NATIVE && !native)
		return 0;
	if (*timeo && mode != VMRPC_NATIVE)
		vmrpc_sock_watch(vs, NULL);
	add_wait_queue(wq, &wait);
	/* pairs with skwq_has_sleeper() */
	smp_mb();
	while (!wait_is_over(vs, mask, mode, disconnects, native)) {
		if (!*timeo) {
			err = -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(*timeo);
			break;
		}
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	}
	remove_wait_queue(wq, &wait);
	if (!err)
		vmrpc_sol_refresh(vs);
	return err;
}

/**
 * vmrpc_sock_pause - let a moment pass
 * @timeo: jiffies left, updated
 *
 * For a host that says "ready" and "try again" at the same time.
 * Returns 0, -EAGAIN or what a signal means.
 */
int vmrpc_sock_pause(long *timeo)
{
	if (!*timeo)
		return -EAGAIN;
	schedule_timeout_interruptible(1);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		(*timeo)--;
	return signal_pending(current) ? sock_intr_errno(*timeo) : 0;
}
