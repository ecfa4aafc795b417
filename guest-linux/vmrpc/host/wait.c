// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks that wait for a socket
 *
 * poll() makes a request only for a socket that is not watched yet, or to wait
 * for input that should come soon.
 */
#include <linux/sched/signal.h>

#include "data/kept.h"
#include "host/wait.h"
#include "sock/call.h"
#include "sock/ready.h"

/* How long poll() may wait for input of a fast stream. */
#define POLL_WAIT_US		200u

/*
 * How poll() and select() queue; a caller that queues otherwise does not sleep.
 */
static poll_queue_proc queued_by_poll __ro_after_init;

/**
 * vmrpc_wait_init - to be called once, before there are sockets
 */
void __init vmrpc_wait_init(void)
{
	struct poll_wqueues table;

	poll_initwait(&table);
	queued_by_poll = table.pt._qproc;
	poll_freewait(&table);
}

static void watch(struct vmrpc_sock *vs, bool edge)
{
	struct vmrpc_call *call;
	u16 flags = VMRPC_REQ_WATCH;

	if (READ_ONCE(vs->watched) && (!edge || READ_ONCE(vs->edge)))
		return;
	/* Without memory: the host soon begins to report by itself. */
	call = vmrpc_call_new(vs, VMRPC_NOOP);
	if (!call)
		return;
	if (edge)
		flags |= VMRPC_REQ_EDGE;
	call->req.flags = cpu_to_le16(flags);
	if (!vmrpc_call_run(call) && edge) {
		spin_lock_irq(&vs->ready_lock);
		/* The handle may have a new generation. */
		if (call->req.gen == cpu_to_le32(vs->gen))
			WRITE_ONCE(vs->edge, true);
		spin_unlock_irq(&vs->ready_lock);
	}
	vmrpc_call_free(call);
}

/**
 * vmrpc_wait_ask - get one report of the readiness and of a pending error
 * @vs: has a host socket
 *
 * Without memory for the call, the readiness stays as it was.
 */
void vmrpc_wait_ask(struct vmrpc_sock *vs)
{
	vmrpc_call_run_simple(vs, VMRPC_NOOP);
}

/**
 * vmrpc_wait_watch_edges - let the host report every edge by events
 * @vs: has a host socket
 *
 * Also those that do not change the readiness.
 */
void vmrpc_wait_watch_edges(struct vmrpc_sock *vs)
{
	watch(vs, true);
}

/**
 * vmrpc_wait_watch - let the host report the readiness by events
 * @vs: has a host socket
 * @wait: table of a poll(); NULL: a task that is about to sleep or to read
 *
 * To be called before the last look at the readiness.  The first time it makes
 * a call.
 */
void vmrpc_wait_watch(struct vmrpc_sock *vs, const poll_table *wait)
{
	watch(vs, sock_flag(vs->sk, SOCK_FASYNC) ||
		  (wait && (poll_requested_events(wait) & EPOLLET)));
}

/**
 * vmrpc_wait_before_read - prepare a socket for a read
 * @vs: the socket
 *
 * If the program wants signals, the host reports later arrivals.
 */
void vmrpc_wait_before_read(struct vmrpc_sock *vs)
{
	if (sock_flag(vs->sk, SOCK_FASYNC) &&
	    vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		vmrpc_wait_watch(vs, NULL);
}

/**
 * vmrpc_wait_expect - wait on the host for input that should come soon
 * @vs: a stream with a peer
 * @wait: table of a poll()
 *
 * A program that polls between its reads of a fast stream would mostly sleep
 * for less time than a wake-up takes.  If its CPU has nothing else to do, it
 * waits on the host instead.  The wait is short, because the other descriptors
 * of the poll() have to wait meanwhile.  Returns true if there is input: poll()
 * will not sleep, and needs no event.
 */
bool vmrpc_wait_expect(struct vmrpc_sock *vs, const poll_table *wait)
{
	__poll_t events = poll_requested_events(wait);
	struct vmrpc_call *call;
	u32 wait_us;

	/* Not for epoll_ctl() and io_uring, which do not sleep here. */
	if (!wait || wait->_qproc != queued_by_poll || !(events & EPOLLIN) ||
	    time_after(jiffies, READ_ONCE(vs->rx_bulk) + 1) ||
	    (vmrpc_ready_mask(vs) & (events | EPOLLERR | EPOLLHUP)))
		return false;
	wait_us = min(vmrpc_transport_patience(vs->dev), POLL_WAIT_US);
	if (!wait_us)
		return false;
	call = vmrpc_call_new(vs, VMRPC_NOOP);
	if (!call)
		return false;
	call->req.wait_us = cpu_to_le32(wait_us);
	vmrpc_call_run(call);
	vmrpc_call_free(call);
	return vmrpc_ready_mask(vs) & events;
}

/* An error of a listener is from an earlier connection, not for accept(). */
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
	       ((mask & VMRPC_IN) && vmrpc_kept_exists(vs)) ||
	       has_error(vs) || vmrpc_sock_mode(vs) != mode ||
	       READ_ONCE(vs->disconnects) != disconnects ||
	       (native && native(vs->sk));
}

/**
 * vmrpc_wait - wait until a socket is ready
 * @vs: the socket
 * @mask: VMRPC_IN ...; any of these ends the wait
 * @native: is the native side ready?  NULL: it does not matter
 * @timeo: jiffies left, updated
 *
 * A pending error, a shutdown, a dissolved connection and a new mode also end
 * the wait.  Another task may have set options meanwhile: see
 * vmrpc_sol_refresh().  Returns 0, -EAGAIN after the timeout, or the errno for
 * a signal.  Sleeps; the caller must hold no lock.
 */
int vmrpc_wait(struct vmrpc_sock *vs, u32 mask,
	       bool (*native)(struct sock *sk), long *timeo)
{
	unsigned int disconnects = READ_ONCE(vs->disconnects);
	enum vmrpc_mode mode = vmrpc_sock_mode(vs);
	wait_queue_head_t *wq = sk_sleep(vs->sk);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	/*
	 * The latest answer may be enough: most connections are made at once.
	 */
	if (wait_is_over(vs, mask, mode, disconnects, native))
		return 0;
	/* Nothing would end the wait: the caller looks at the mode again. */
	if (mode == VMRPC_NATIVE && !native)
		return 0;
	if (*timeo && mode != VMRPC_NATIVE)
		vmrpc_wait_watch(vs, NULL);
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
	return err;
}

/**
 * vmrpc_wait_pause - sleep for one tick
 * @timeo: jiffies left, updated
 *
 * For a host that returns "ready" and EAGAIN at the same time.  Returns 0,
 * -EAGAIN or the errno for a signal.
 */
int vmrpc_wait_pause(long *timeo)
{
	if (!*timeo)
		return -EAGAIN;
	schedule_timeout_interruptible(1);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		(*timeo)--;
	return signal_pending(current) ? sock_intr_errno(*timeo) : 0;
}
