// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of the host; SIGIO and SIGURG, which follow them
 *
 * Natively every arrival is a signal to a program that wants them, whether or
 * not it has read what came before.  So the host tells of urgent data again while
 * there are any.  Of other data it tells only changes, unless it is asked for
 * edges, which wakes everybody for every segment; so it is asked for sockets whose
 * program wants SIGIO.
 *
 * The core tells nobody that a program wants it from now on (O_ASYNC).  What tells
 * is the next event, poll() or read.  An event comes as an interrupt, which cannot
 * call the host: it marks the socket in the table, and a work asks for all that
 * are marked.
 */
#include "internal.h"

/* In vmrpc_device.socks: the host is to be asked for edges. */
#define MARK_WANTS_EDGES	XA_MARK_1

/*
 * What of an event is worth telling, although it may be known.  With edges it is
 * what has arrived; room to send is told once, and alone it means that the state
 * has changed, for which who lingers waits.
 */
static u32 news_of(const struct vmrpc_sock *vs, u32 ready)
{
	if (!READ_ONCE(vs->edge))
		return VMRPC_PRI;
	return ready & ~VMRPC_OUT ? : VMRPC_OUT;
}

/*
 * @vs has had an event: have further arrivals told, too, if its program wants
 * them.  The caller holds the table's xa_lock, which keeps the socket.
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
 * vmrpc_sock_event - take over an event
 * @dev: the device
 * @ev: written by the device, believed only after checking
 *
 * Called from the interrupt.
 */
void vmrpc_sock_event(struct vmrpc_device *dev, const struct vmrpc_event *ev)
{
	u32 ready = le32_to_cpu(ev->ready);
	struct vmrpc_sock *vs;
	unsigned long flags;

	/* Whoever takes a socket out of the table waits for us here. */
	xa_lock_irqsave(&dev->socks, flags);
	vs = xa_load(&dev->socks, le32_to_cpu(ev->sock));
	if (vs && vs->gen == le32_to_cpu(ev->gen)) {
		vmrpc_sock_report(vs, vs->gen, ready,
				  le32_to_cpu(ev->ready_seq),
				  le32_to_cpu(ev->so_error),
				  news_of(vs, ready), true);
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
		/* What is in the table has its first reference. */
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
			vmrpc_sock_watch_edges(vs);
		mutex_unlock(&vs->lock);
		vmrpc_sock_put(vs);
		cond_resched();
	}
}

/**
 * vmrpc_event_init - before the device's first event
 * @dev: the device
 */
void vmrpc_event_init(struct vmrpc_device *dev)
{
	INIT_WORK(&dev->event_work, ask_for_edges);
}

/**
 * vmrpc_event_stop - after the device's last event
 * @dev: the device, dead, with no call under way
 *
 * Sleeps.
 */
void vmrpc_event_stop(struct vmrpc_device *dev)
{
	cancel_work_sync(&dev->event_work);
}
