// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of the host; SIGIO and SIGURG, which follow them
 *
 * Natively every arrival of data sends a signal to a program that wants
 * signals, whether or not it has read the earlier data.  So the host repeats
 * its event for urgent data while there are any.  For other data it sends an
 * event only when the readiness changes, unless it is asked for edges, which
 * wakes all waiters for every segment.  So it is asked for edges only if the
 * program wants SIGIO.
 *
 * The core does not call us when a program sets O_ASYNC.  We see it at the next
 * event, poll() or read.  An event comes in interrupt context and cannot make a
 * call: it marks the socket in the table, and a work item makes the calls for
 * all marked sockets.
 */
#include "host/event.h"
#include "host/wait.h"
#include "sock/ready.h"

/* Mark in vmrpc_device.socks: ask the host for edges. */
#define MARK_WANTS_EDGES	XA_MARK_1

/*
 * The bits of an event that are reported even if they were set before.  With
 * edges these are all bits of arrived data.  VMRPC_OUT is reported once; alone
 * it means that the state has changed, for which vmrpc_linger() waits.
 */
static u32 edge_event(const struct vmrpc_sock *vs, u32 ready)
{
	if (!READ_ONCE(vs->edge))
		return VMRPC_PRI;
	return ready & ~VMRPC_OUT ? : VMRPC_OUT;
}

/*
 * @vs has had an event: request edges if its program wants signals.  The caller
 * holds xa_lock of the table, which keeps the socket.
 */
static void expect_signals(struct vmrpc_sock *vs)
{
	struct vmrpc_device *dev = vs->dev;

	if (READ_ONCE(vs->edge) || !sock_flag(vs->sk, SOCK_FASYNC))
		return;
	__xa_set_mark(&dev->socks, vs->handle, MARK_WANTS_EDGES);
	schedule_work(&dev->event_work);
}

/**
 * vmrpc_event_take - take an event of the host
 * @dev: the device
 * @ev: written by the device; checked here
 *
 * Called in interrupt context.
 */
void vmrpc_event_take(struct vmrpc_device *dev, const struct vmrpc_event *ev)
{
	u32 ready = le32_to_cpu(ev->ready);
	struct vmrpc_sock *vs;
	unsigned long flags;

	/* A task that removes a socket from the table waits for this lock. */
	xa_lock_irqsave(&dev->socks, flags);
	vs = xa_load(&dev->socks, le32_to_cpu(ev->sock));
	if (vs && vs->gen == le32_to_cpu(ev->gen)) {
		vmrpc_ready_report(vs, vs->gen, ready,
				   le32_to_cpu(ev->ready_seq),
				   le32_to_cpu(ev->so_error),
				   edge_event(vs, ready), true);
		expect_signals(vs);
	}
	xa_unlock_irqrestore(&dev->socks, flags);
}

static struct vmrpc_sock *next_marked(struct vmrpc_device *dev)
{
	struct vmrpc_sock *vs;
	unsigned long handle = 0;

	xa_lock_irq(&dev->socks);
	vs = xa_find(&dev->socks, &handle, ULONG_MAX, MARK_WANTS_EDGES);
	if (vs) {
		__xa_clear_mark(&dev->socks, handle, MARK_WANTS_EDGES);
		/* A socket in the table has its first reference. */
		refcount_inc(&vs->ref);
	}
	xa_unlock_irq(&dev->socks);
	return vs;
}

static void ask_for_edges(struct work_struct *work)
{
	struct vmrpc_device *dev = container_of(work, struct vmrpc_device,
						event_work);
	struct vmrpc_sock *vs;

	while ((vs = next_marked(dev))) {
		mutex_lock(&vs->lock);
		if (!vs->released)
			vmrpc_wait_watch_edges(vs);
		mutex_unlock(&vs->lock);
		vmrpc_sock_put(vs);
		cond_resched();
	}
}

/**
 * vmrpc_event_init - to be called before the device's first event
 * @dev: the device
 */
void vmrpc_event_init(struct vmrpc_device *dev)
{
	INIT_WORK(&dev->event_work, ask_for_edges);
}

/**
 * vmrpc_event_stop - to be called after the device's last event
 * @dev: the device, dead, with no call under way
 *
 * Sleeps.
 */
void vmrpc_event_stop(struct vmrpc_device *dev)
{
	cancel_work_sync(&dev->event_work);
}
