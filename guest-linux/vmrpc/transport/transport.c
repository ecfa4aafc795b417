// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests and queues of the device
 *
 * Theory of operation
 * ===================
 *
 * A call (struct vmrpc_call) is a request with its answer.  This file moves it
 * to the host and back.  The meaning of requests is in other files.
 *
 * A call goes onto the request queue of its CPU, so that CPUs share neither a
 * lock nor a ring.
 *
 * The notification of the device executes the request, as a system call of the
 * host does; the answer is there when the notification returns.  Batching would
 * save little, so each call is submitted and waited for alone.  The exception
 * is CLOSE: no task needs its answer (vmrpc_call.finished).  The interrupt of a
 * queue is off, except while a call waits that the device did not finish during
 * the notification.  Waiting for an answer is uninterruptible: user pages on
 * the ring must stay pinned until the device has finished with them.
 *
 * The host answers EAGAIN to a request that would have to wait for a peer, and
 * sends an event when the socket is ready.  So tasks sleep on their socket,
 * interruptibly, and never on a call.  But if a CPU has nothing else to do, the
 * call may wait on the host for a moment (wait_us), where it learns of new data
 * first.  Whether this helps depends on the peer.  A queue whose recent waits
 * did not help tries again only now and then.
 *
 * Linux 6.13 and later can preempt the kernel's own code.  A call that was
 * preempted on its way does not wait on the host while other tasks want to run.
 * Between the ring and the notification no other task runs: its notification
 * would execute this call, too, and wait for this call's peer.
 *
 * When the device goes away, each queue loses its ring under its lock.  From
 * then on no call is submitted, and every call that is not finished gets
 * ENETDOWN.
 */
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "transport/compat.h"
#include "transport/trace.h"
#include "transport/transport.h"

/* Buffers for events that the guest has not taken yet. */
#define EVENTS_MAX		256u

#define CREDIT_MAX		8
#define CREDIT_LOSS		4
/*
 * Without credit, one call of this many waits, to see if waiting helps again.
 */
#define CREDIT_PROBE		32

static unsigned int wait_us = VMRPC_WAIT_MAX;

static int wait_us_set(const char *val, const struct kernel_param *kp)
{
	unsigned int us;
	int err = kstrtouint(val, 0, &us);

	if (err)
		return err;
	if (us > VMRPC_WAIT_MAX) {
		pr_notice("vmrpc: wait_us=%u is refused: %u at most\n", us,
			  VMRPC_WAIT_MAX);
		return -EINVAL;
	}
	WRITE_ONCE(wait_us, us);
	return 0;
}

static const struct kernel_param_ops wait_us_ops = {
	.set = wait_us_set,
	.get = param_get_uint,
};

module_param_cb(wait_us, &wait_us_ops, &wait_us, 0644);
MODULE_PARM_DESC(wait_us, "Microseconds to wait on the host before sleeping");

static struct kmem_cache *call_cache;

/* --- calls ---------------------------------------------------------------- */

/**
 * vmrpc_call_alloc - make a call
 * @dev: the device
 * @op: the operation
 * @gfp: how to allocate
 *
 * Returns the call, all other fields zero; free it with vmrpc_call_free().
 * NULL: no memory.
 */
struct vmrpc_call *vmrpc_call_alloc(struct vmrpc_device *dev,
				    enum vmrpc_op op, gfp_t gfp)
{
	struct vmrpc_call *call = kmem_cache_alloc(call_cache, gfp);

	if (!call)
		return NULL;
	/* The fields behind are written before they are read. */
	memset(call, 0, offsetof(struct vmrpc_call, resp));
	call->resp.error = 0;
	call->resp.flags = 0;
	call->dev = dev;
	call->gfp = GFP_KERNEL;
	init_completion(&call->done);
	call->req.op = cpu_to_le16(op);
	return call;
}

/**
 * vmrpc_call_free - end of a call that is not on the ring
 * @call: its data are unmapped
 */
void vmrpc_call_free(struct vmrpc_call *call)
{
	kfree(call->control);
	kmem_cache_free(call_cache, call);
}

/* The answer has arrived, or never will.  Caller must hold call->q->lock. */
static void call_finish(struct vmrpc_call *call, int status, u32 used)
{
	if (!status && used < vmrpc_call_answer_head(call))
		status = -EIO;
	call->status = status;
	call->used = used;
	if (trace_vmrpc_answer_enabled())
		trace_vmrpc_answer(&call->req, &call->resp, status,
				   call->traced ? ktime_get_ns() - call->traced
						: -1);
	/*
	 * Read the clocks first: a delay here makes a timestamp late (clock.c).
	 */
	if (call->timed)
		vmrpc_times_get(&call->answered);
	if (!call->finished) {
		complete(&call->done);
		return;
	}
	call->q->irq_users--;
	call->finished(call);
	vmrpc_call_free(call);
}

/* Takes answers off the ring.  Caller must hold q->lock; q->vq is there. */
static void queue_drain(struct vmrpc_queue *q)
{
	struct vmrpc_call *call;
	bool room = false;
	unsigned int used;

	do {
		virtqueue_disable_cb(q->vq);
		while ((call = virtqueue_get_buf(q->vq, &used))) {
			call_finish(call, 0, used);
			room = true;
		}
	} while (q->irq_users && !virtqueue_enable_cb(q->vq));

	/* Tasks enter the list under q->lock, so none is missed. */
	if (room && waitqueue_active(&q->space))
		wake_up_all(&q->space);
}

static void requests_interrupt(struct virtqueue *vq)
{
	struct vmrpc_device *dev = vq->vdev->priv;
	struct vmrpc_queue *q = &dev->queue[vq->index - VMRPC_QUEUE_REQUEST];
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->vq)
		queue_drain(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* Caller must hold q->lock.  Returns 0, -ENETDOWN, -ENOSPC or another errno. */
static int queue_add(struct vmrpc_queue *q, struct vmrpc_call *call,
		     struct scatterlist **sgs, unsigned int out,
		     unsigned int in)
{
	int err;

	if (!q->vq)
		return -ENETDOWN;
	err = virtqueue_add_sgs(q->vq, sgs, out, in, call, GFP_ATOMIC);
	if (err != -ENOSPC)
		return err;
	queue_drain(q);
	err = virtqueue_add_sgs(q->vq, sgs, out, in, call, GFP_ATOMIC);
	/* An empty ring will never have more room. */
	if (err == -ENOSPC &&
	    q->vq->num_free == virtqueue_get_vring_size(q->vq))
		err = -ENOMEM;
	return err;
}

/*
 * Takes the answers after a notification.  The interrupt is on afterwards if it
 * has users and the ring is empty.
 */
static void queue_collect(struct vmrpc_queue *q)
{
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->vq)
		queue_drain(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* Sleeps until an answer is taken off @q. */
static void queue_wait_space(struct vmrpc_queue *q)
{
	DEFINE_WAIT(wait);
	bool full;

	spin_lock_irq(&q->lock);
	q->irq_users++;
	prepare_to_wait(&q->space, &wait, TASK_UNINTERRUPTIBLE);
	full = q->vq && !q->vq->num_free;
	if (q->vq)
		queue_drain(q);
	spin_unlock_irq(&q->lock);
	/* The drain above has woken us if there was an answer. */
	if (full)
		schedule();
	else
		schedule_timeout(1);
	finish_wait(&q->space, &wait);
	spin_lock_irq(&q->lock);
	q->irq_users--;
	spin_unlock_irq(&q->lock);
}

/*
 * Collects the parts of a request, in the order of the wire.  Returns the
 * number of readable parts; *@in: the number of writable parts.
 */
static unsigned int call_parts(struct vmrpc_call *call,
			       struct scatterlist **sgs, unsigned int *in)
{
	bool recv = le16_to_cpu(call->req.op) == VMRPC_RECVMSG;
	unsigned int n = 0, out;

	/* The addresses follow without a gap. */
	BUILD_BUG_ON(offsetof(struct vmrpc_call, req6) !=
		     offsetofend(struct vmrpc_call, req));
	BUILD_BUG_ON(offsetof(struct vmrpc_call, resp6) !=
		     offsetofend(struct vmrpc_call, resp));
	sg_init_one(&call->req_sg, &call->req, sizeof(call->req) +
		    (call->inet6 ? sizeof(call->req6) : 0));
	sg_init_one(&call->resp_sg, &call->resp, vmrpc_call_answer_head(call));
	if (call->inet6)
		call->req.flags |= cpu_to_le16(VMRPC_REQ_INET6);
	if (call->control)
		sg_init_one(&call->control_sg, call->control,
			    call->control_len);
	call->req.control_len = cpu_to_le32(call->control ? call->control_len
							  : 0);
	if (call->data.buffer) {
		call->req.flags |= cpu_to_le16(VMRPC_REQ_BUFFER);
		call->req.u.msg.buffer =
			cpu_to_le32(call->data.buffer_id);
		call->req.u.msg.offset = cpu_to_le32(call->data.offset);
		call->req.u.msg.len = cpu_to_le32(call->data.len);
	}

	sgs[n++] = &call->req_sg;
	if (call->control && !recv)
		sgs[n++] = &call->control_sg;
	if (call->data.nsg && !call->data.in)
		sgs[n++] = call->data.sg;
	out = n;
	sgs[n++] = &call->resp_sg;
	if (call->control && recv)
		sgs[n++] = &call->control_sg;
	if (call->data.nsg && call->data.in)
		sgs[n++] = call->data.sg;
	*in = n - out;
	return out;
}

/**
 * vmrpc_call_submit - hand a call to the device
 * @call: with request, control and data set; with vmrpc_call.finished it
 *        belongs to the device if this succeeds
 *
 * Sleeps, uninterruptibly, while the ring is full.
 * Returns 0, -ENETDOWN (the device has gone), -ENOMEM or -EIO (it is broken);
 * after an error the call is not on the ring.
 */
int vmrpc_call_submit(struct vmrpc_call *call)
{
	struct vmrpc_device *dev = call->dev;
	struct vmrpc_queue *q = &dev->queue[raw_smp_processor_id() %
					    dev->num_queues];
	struct scatterlist *sgs[6];
	unsigned int out, in;
	unsigned long flags;
	int err;

	out = call_parts(call, sgs, &in);
	call->q = q;
	if (call->timed)
		vmrpc_times_get(&call->asked);
	if (trace_vmrpc_answer_enabled())
		call->traced = ktime_get_ns();
	trace_vmrpc_request(&call->req, call->data.len);
	for (;;) {
		/*
		 * Keeps the ring during its notification:
		 * vmrpc_transport_stop().
		 */
		rcu_read_lock();
		spin_lock_irqsave(&q->lock, flags);
		if (call->req.wait_us && !single_task_running())
			call->req.wait_us = 0;
		err = queue_add(q, call, sgs, out, in);
		if (!err) {
			struct virtqueue *vq = q->vq;
			bool async = call->finished;
			bool kick;

			q->irq_users += async;
			kick = virtqueue_kick_prepare(vq);
			preempt_disable();
			spin_unlock_irqrestore(&q->lock, flags);
			if (kick)
				virtqueue_notify(vq);
			preempt_enable();
			rcu_read_unlock();
			if (async)
				queue_collect(q);
			return 0;
		}
		spin_unlock_irqrestore(&q->lock, flags);
		rcu_read_unlock();
		if (err != -ENOSPC)
			return err;
		queue_wait_space(q);
	}
}

/**
 * vmrpc_transport_patience - how long may a call wait on the host?
 * @dev: the device
 *
 * For a task that would have to sleep otherwise.  Returns microseconds for
 * vmrpc_req.wait_us; 0: it is better to sleep.
 */
u32 vmrpc_transport_patience(struct vmrpc_device *dev)
{
	struct vmrpc_queue *q = &dev->queue[raw_smp_processor_id() %
					    dev->num_queues];

	if (!single_task_running() || signal_pending(current))
		return 0;
	/* Racy: a lost update only moves the next attempt. */
	if (READ_ONCE(q->wait_credit) <= 0 &&
	    ++q->wait_skipped % CREDIT_PROBE)
		return 0;
	return READ_ONCE(wait_us);
}

/* Has the host waited without a result? */
static bool waited_in_vain(const struct vmrpc_call *call)
{
	u32 ready = le32_to_cpu(call->resp.ready);

	switch (le32_to_cpu(call->resp.error)) {
	case VMRPC_EAGAIN:
		return true;
	case VMRPC_EINPROGRESS:
		return !(ready & VMRPC_OUT);
	default:
		return le16_to_cpu(call->req.op) == VMRPC_NOOP &&
		       !(ready & (VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP));
	}
}

static void account_wait(struct vmrpc_call *call)
{
	struct vmrpc_queue *q = call->q;

	if (waited_in_vain(call))
		WRITE_ONCE(q->wait_credit, max(q->wait_credit - CREDIT_LOSS,
					       0));
	else
		WRITE_ONCE(q->wait_credit, min(q->wait_credit + 1,
					       CREDIT_MAX));
}

static void call_sleep(struct vmrpc_call *call)
{
	struct vmrpc_queue *q = call->q;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->irq_users++;
	if (q->vq)
		queue_drain(q);
	spin_unlock_irqrestore(&q->lock, flags);

	wait_for_completion(&call->done);

	spin_lock_irqsave(&q->lock, flags);
	if (!--q->irq_users && q->vq)
		virtqueue_disable_cb(q->vq);
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * vmrpc_call_wait - wait for the answer of a submitted call
 * @call: without vmrpc_call.finished
 *
 * Returns 0 or the host's error; -EIO if the answer is invalid, -ENETDOWN if
 * the device has gone.  call->status is 0 if there is an answer.
 */
int vmrpc_call_wait(struct vmrpc_call *call)
{
	u32 error;

	queue_collect(call->q);
	if (!try_wait_for_completion(&call->done))
		call_sleep(call);
	if (call->status)
		return call->status;
	if (call->req.wait_us)
		account_wait(call);
	error = le32_to_cpu(call->resp.error);
	if (error > MAX_ERRNO)
		return -EIO;
	return -(int)error;
}

/* --- events --------------------------------------------------------------- */

static int event_post(struct vmrpc_device *dev, struct vmrpc_event *ev)
{
	struct scatterlist sg;

	sg_init_one(&sg, ev, sizeof(*ev));
	return virtqueue_add_inbuf(dev->event_vq, &sg, 1, ev, GFP_ATOMIC);
}

static void events_interrupt(struct virtqueue *vq)
{
	struct vmrpc_device *dev = vq->vdev->priv;
	struct vmrpc_event *ev;
	unsigned long flags;
	unsigned int used;

	spin_lock_irqsave(&dev->event_lock, flags);
	if (!dev->event_vq)
		goto out;
	do {
		virtqueue_disable_cb(vq);
		while ((ev = virtqueue_get_buf(vq, &used))) {
			if (used >= sizeof(*ev)) {
				trace_vmrpc_event(ev);
				dev->on_event(dev, ev);
			}
			event_post(dev, ev);
		}
	} while (!virtqueue_enable_cb(vq));
	virtqueue_kick(vq);
out:
	spin_unlock_irqrestore(&dev->event_lock, flags);
}

static int events_start(struct vmrpc_device *dev)
{
	unsigned int i, n;

	n = min(virtqueue_get_vring_size(dev->event_vq), EVENTS_MAX);
	dev->events = kcalloc(n, sizeof(*dev->events), GFP_KERNEL);
	if (!dev->events)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		int err = event_post(dev, &dev->events[i]);

		if (err)
			return err;
	}
	return 0;
}

/* --- life ----------------------------------------------------------------- */

static void queues_init(struct vmrpc_device *dev)
{
	unsigned int i;

	spin_lock_init(&dev->event_lock);
	for (i = 0; i < dev->num_queues; i++) {
		spin_lock_init(&dev->queue[i].lock);
		init_waitqueue_head(&dev->queue[i].space);
		dev->queue[i].wait_credit = CREDIT_MAX;
	}
}

static int queues_find(struct virtio_device *vdev, struct vmrpc_device *dev)
{
	unsigned int i, n = dev->num_queues + 1;
	struct virtqueue_info *info;
	struct virtqueue **vqs;
	int err = -ENOMEM;

	info = kcalloc(n, sizeof(*info), GFP_KERNEL);
	vqs = kcalloc(n, sizeof(*vqs), GFP_KERNEL);
	if (!info || !vqs)
		goto out;
	info[VMRPC_QUEUE_EVENT].name = "events";
	info[VMRPC_QUEUE_EVENT].callback = events_interrupt;
	for (i = VMRPC_QUEUE_REQUEST; i < n; i++) {
		info[i].name = "requests";
		info[i].callback = requests_interrupt;
	}
	err = vmrpc_find_vqs(vdev, n, vqs, info);
	if (err)
		goto out;
	dev->event_vq = vqs[VMRPC_QUEUE_EVENT];
	for (i = 0; i < dev->num_queues; i++) {
		struct vmrpc_queue *q = &dev->queue[i];

		q->vq = vqs[VMRPC_QUEUE_REQUEST + i];
		virtqueue_disable_cb(q->vq);
	}
	dev->max_sg = min_t(unsigned int, VMRPC_PAGES_MAX,
			    virtqueue_get_vring_size(dev->queue[0].vq) / 2);
	dev->max_segment = min_t(size_t, virtio_max_dma_size(vdev),
				 VMRPC_DATA_MAX);
	if (dev->max_sg < VMRPC_PAGES_DATAGRAM) {
		dev_err(&vdev->dev, "rings too short for a datagram\n");
		vdev->config->del_vqs(vdev);
		err = -EINVAL;
	}
out:
	kfree(info);
	kfree(vqs);
	return err;
}

/**
 * vmrpc_transport_start - find the queues and let the device work
 * @dev: new
 * @on_event: takes an event, in interrupt context
 *
 * Returns 0 or a negative errno; then the device does nothing.
 */
int vmrpc_transport_start(struct vmrpc_device *dev,
			  void (*on_event)(struct vmrpc_device *dev,
					   const struct vmrpc_event *ev))
{
	int err;

	queues_init(dev);
	dev->on_event = on_event;
	err = queues_find(dev->vdev, dev);
	if (err)
		return err;
	err = events_start(dev);
	if (err) {
		dev->vdev->config->del_vqs(dev->vdev);
		return err;
	}
	virtio_device_ready(dev->vdev);
	virtqueue_kick(dev->event_vq);
	trace_vmrpc_start(dev->num_queues);
	return 0;
}

/**
 * vmrpc_transport_stop - stop all traffic
 * @dev: was started
 *
 * When this returns no call is under way, and none can begin.  Sleeps.
 */
void vmrpc_transport_stop(struct vmrpc_device *dev)
{
	struct vmrpc_call *call;
	struct virtqueue *vq;
	unsigned int i;

	WRITE_ONCE(dev->dead, true);
	/* After the reset the device does not touch our memory. */
	virtio_reset_device(dev->vdev);

	spin_lock_irq(&dev->event_lock);
	vq = dev->event_vq;
	dev->event_vq = NULL;
	spin_unlock_irq(&dev->event_lock);
	while (virtqueue_detach_unused_buf(vq))
		;

	for (i = 0; i < dev->num_queues; i++) {
		struct vmrpc_queue *q = &dev->queue[i];

		spin_lock_irq(&q->lock);
		queue_drain(q);
		while ((call = virtqueue_detach_unused_buf(q->vq)))
			call_finish(call, -ENETDOWN, 0);
		q->vq = NULL;
		wake_up_all(&q->space);
		spin_unlock_irq(&q->lock);
	}
	/* A CPU that read q->vq before may still be notifying it. */
	synchronize_rcu();
	dev->vdev->config->del_vqs(dev->vdev);
	trace_vmrpc_stop(dev->num_queues);
}

/* With a constructor, init_on_alloc does not clear every call. */
static void call_construct(void *object)
{
}

/**
 * vmrpc_transport_init - to be called once, before everything else here
 *
 * Returns 0 or -ENOMEM.
 */
int __init vmrpc_transport_init(void)
{
	call_cache = kmem_cache_create_usercopy("vmrpc_call",
				sizeof(struct vmrpc_call), 0,
				SLAB_HWCACHE_ALIGN,
				offsetof(struct vmrpc_call, inline_buf),
				sizeof_field(struct vmrpc_call, inline_buf),
				call_construct);
	return call_cache ? 0 : -ENOMEM;
}

/**
 * vmrpc_transport_exit - end of vmrpc_transport_init()
 */
void vmrpc_transport_exit(void)
{
	kmem_cache_destroy(call_cache);
}
