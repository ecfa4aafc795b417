// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio-vmrpc: the device, its queues, calls on it
 *
 * Theory of operation
 * ===================
 *
 * The module runs the IPv4 sockets of the guest's programs on the host.  This
 * file moves requests there; what they mean is in the other files.
 *
 * A call (struct vmrpc_call) is a request with its answer.  It goes onto the
 * request queue of the CPU, so that CPUs share neither a lock nor a ring.
 *
 * Notifying the device of a request executes it, like a system call of the
 * host; the answer is there when the notification returns.  So several calls
 * at once would save little: each is submitted and waited for, one after the
 * other, but for CLOSE, whose answer nobody needs.  The queue's
 * interrupt is off, except for who finds that the device had more to do than
 * that.  Waiting for an answer is uninterruptible, which keeps user pages that
 * are on the ring from being given back too early.
 *
 * What would have to wait for a peer is answered with EAGAIN, and an event
 * follows when the socket is ready: tasks sleep on their socket, interruptibly,
 * and never on a call.  But if a CPU has nothing else to do, it may as well
 * wait on the host for a moment (wait_us), where it learns first of what
 * comes.  Whether that pays depends on the peer, so a queue whose waiting was
 * in vain lately only tries now and then.
 *
 * When the device goes away, dead is set under each queue's lock; from then on
 * nothing is submitted, and everything under way is answered with ENETDOWN.
 * Sockets may outlive the device: they hold a reference to its structure.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "internal.h"

/* Events that can wait for us. */
#define EVENTS_MAX		256u

#define CREDIT_MAX		8
#define CREDIT_LOSS		4
/* Without credit, one call in so many waits, to see whether it pays again. */
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

/* Only one device: there is one PF_INET to take. */
static DEFINE_MUTEX(the_device_lock);
static struct vmrpc_device *the_device;

/* --- calls ------------------------------------------------------------------ */

static struct vmrpc_call *call_alloc(struct vmrpc_device *dev,
				     enum vmrpc_op op, gfp_t flags)
{
	struct vmrpc_call *call = kmem_cache_alloc(call_cache, flags);

	if (!call)
		return NULL;
	/* What is not cleared here is written before it is read. */
	memset(call, 0, offsetof(struct vmrpc_call, resp));
	call->resp.error = 0;
	call->resp.flags = 0;
	call->dev = dev;
	init_completion(&call->done);
	call->req.op = cpu_to_le16(op);
	return call;
}

/**
 * vmrpc_call_new - a call for a socket
 * @vs: the socket; its handle and generation go into the request
 * @op: the operation
 *
 * Returns the call, everything else zero; free it with vmrpc_call_free().
 * NULL: no memory; there always is for VMRPC_CLOSE and VMRPC_SHUTDOWN.
 */
struct vmrpc_call *vmrpc_call_new(struct vmrpc_sock *vs, enum vmrpc_op op)
{
	/* Nobody can be told that ending does not work now. */
	bool must = op == VMRPC_CLOSE || op == VMRPC_SHUTDOWN;
	gfp_t gfp = vmrpc_sock_gfp(vs);
	struct vmrpc_call *call;

	call = call_alloc(vs->dev, op, must ? gfp | __GFP_NOFAIL : gfp);
	if (!call)
		return NULL;
	call->vs = vs;
	call->req.sock = cpu_to_le32(vs->handle);
	call->req.gen = cpu_to_le32(vs->gen);
	return call;
}

/**
 * vmrpc_call_new_device - a call that is about no socket
 * @dev: the device
 * @op: the operation
 *
 * Returns as vmrpc_call_new().
 */
struct vmrpc_call *vmrpc_call_new_device(struct vmrpc_device *dev,
					 enum vmrpc_op op)
{
	struct vmrpc_call *call = call_alloc(dev, op, GFP_KERNEL);

	if (call)
		call->req.sock = cpu_to_le32(U32_MAX);
	return call;
}

/**
 * vmrpc_call_free - end of a call that is not on the ring
 * @call: its data have been unmapped; NULL is allowed
 */
void vmrpc_call_free(struct vmrpc_call *call)
{
	if (!call)
		return;
	kfree(call->control);
	kmem_cache_free(call_cache, call);
}

/* The answer is there, or never will be.  Caller must hold call->q->lock. */
static void call_finish(struct vmrpc_call *call, int status, u32 used)
{
	if (!status && used < sizeof(call->resp))
		status = -EIO;
	call->status = status;
	call->used = used;
	/* At once: any delay here makes a stamp late (clock.c). */
	if (call->timed)
		ktime_get_snapshot(&call->answered);
	if (!call->async) {
		complete(&call->done);
		return;
	}
	call->q->irq_users--;
	vmrpc_sock_handle_free(call->dev, le32_to_cpu(call->req.sock));
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

	/* Waiters enter the list under q->lock, so none is missed. */
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
	/* An empty ring will not have more room later. */
	if (err == -ENOSPC &&
	    q->vq->num_free == virtqueue_get_vring_size(q->vq))
		err = -ENOMEM;
	return err;
}

/*
 * Takes the answers that a notification has left.  If there is none yet, and
 * nobody will come to look for it, the interrupt is on afterwards.
 */
static void queue_collect(struct vmrpc_queue *q)
{
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->vq)
		queue_drain(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* Sleeps until an answer has been taken off @q. */
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
	/* The drain above wakes us as well if there was anything. */
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
 * The parts of a request, in the order of the wire.  Returns how many are
 * readable, and the number of writable ones in *@in.
 */
static unsigned int call_parts(struct vmrpc_call *call,
			       struct scatterlist **sgs, unsigned int *in)
{
	bool recv = le16_to_cpu(call->req.op) == VMRPC_RECVMSG;
	unsigned int n = 0, out;

	sg_init_one(&call->req_sg, &call->req, sizeof(call->req));
	sg_init_one(&call->resp_sg, &call->resp, sizeof(call->resp));
	if (call->control)
		sg_init_one(&call->control_sg, call->control,
			    call->control_len);
	call->req.control_len = cpu_to_le32(call->control ? call->control_len
							  : 0);
	if (call->data.buffer) {
		call->req.flags |= cpu_to_le16(VMRPC_REQ_BUFFER);
		call->req.u.msg.buffer =
			cpu_to_le32(vmrpc_buffer_id(call->data.buffer));
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
 * @call: with request, control and data set; an async call belongs to the
 *        device from here on if this succeeds
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
		ktime_get_snapshot(&call->asked);
	for (;;) {
		/* The ring stays while it is notified: see device_stop(). */
		rcu_read_lock();
		spin_lock_irqsave(&q->lock, flags);
		err = queue_add(q, call, sgs, out, in);
		if (!err) {
			struct virtqueue *vq = q->vq;
			bool async = call->async;
			bool kick;

			q->irq_users += async;
			kick = virtqueue_kick_prepare(vq);
			spin_unlock_irqrestore(&q->lock, flags);
			if (kick)
				virtqueue_notify(vq);
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
 * vmrpc_device_patience - for how long may a call wait on the host?
 * @dev: the device
 *
 * Asked by a task that would have to sleep otherwise.  Returns microseconds
 * for vmrpc_req.wait_us; 0: it is better to sleep.
 */
u32 vmrpc_device_patience(struct vmrpc_device *dev)
{
	struct vmrpc_queue *q = &dev->queue[raw_smp_processor_id() %
					    dev->num_queues];

	if (!single_task_running() || signal_pending(current))
		return 0;
	/* A lost update only shifts the next attempt. */
	if (READ_ONCE(q->wait_credit) <= 0 &&
	    ++q->wait_skipped % CREDIT_PROBE)
		return 0;
	return READ_ONCE(wait_us);
}

/* Has the host waited for nothing? */
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
 * @call: not async
 *
 * Also takes over what the answer says of the socket's readiness.
 * Returns 0 or the host's error; -EIO if the answer makes no sense, -ENETDOWN
 * if the device has gone.
 */
int vmrpc_call_wait(struct vmrpc_call *call)
{
	const struct vmrpc_resp *resp = &call->resp;
	u32 error;

	queue_collect(call->q);
	if (!try_wait_for_completion(&call->done))
		call_sleep(call);
	if (call->status)
		return call->status;
	if (call->req.wait_us)
		account_wait(call);
	if (call->vs)
		vmrpc_sock_report(call->vs, le32_to_cpu(call->req.gen),
				  le32_to_cpu(resp->ready),
				  le32_to_cpu(resp->ready_seq),
				  le32_to_cpu(resp->so_error), 0,
				  le32_to_cpu(resp->flags) & VMRPC_RESP_WATCHED);
	error = le32_to_cpu(resp->error);
	if (error > MAX_ERRNO)
		return -EIO;
	return -(int)error;
}

/**
 * vmrpc_call_run - submit a call and wait for its answer
 * @call: not async
 *
 * Returns as vmrpc_call_submit() or vmrpc_call_wait().
 */
int vmrpc_call_run(struct vmrpc_call *call)
{
	int err = vmrpc_call_submit(call);

	return err ? err : vmrpc_call_wait(call);
}

/* --- events ----------------------------------------------------------------- */

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
			if (used >= sizeof(*ev))
				vmrpc_sock_event(dev, ev);
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

/* --- life ------------------------------------------------------------------- */

static void device_release(struct kref *ref)
{
	struct vmrpc_device *dev = container_of(ref, struct vmrpc_device, ref);

	xa_destroy(&dev->socks);
	ida_destroy(&dev->buffer_ids);
	kfree(dev->events);
	kfree_rcu(dev, rcu);
}

/**
 * vmrpc_device_get - take a reference; the caller has one already
 * @dev: the device
 */
void vmrpc_device_get(struct vmrpc_device *dev)
{
	kref_get(&dev->ref);
}

/**
 * vmrpc_device_put - drop a reference
 * @dev: the device
 */
void vmrpc_device_put(struct vmrpc_device *dev)
{
	kref_put(&dev->ref, device_release);
}

static int config_read(struct virtio_device *vdev, struct vmrpc_device *dev)
{
	u16 version, mtu;
	u32 max_sockets;

	virtio_cread_le(vdev, struct vmrpc_config, version, &version);
	if (version != VMRPC_VERSION) {
		dev_err(&vdev->dev, "wire format %u, need %u\n", version,
			VMRPC_VERSION);
		return -EINVAL;
	}
	virtio_cread_le(vdev, struct vmrpc_config, max_sockets, &max_sockets);
	if (!max_sockets || max_sockets > VMRPC_SOCKETS_MAX) {
		dev_err(&vdev->dev, "max_sockets %u out of range\n",
			max_sockets);
		return -EINVAL;
	}
	dev->max_sockets = max_sockets;
	virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, guest4),
			   &dev->guest4, sizeof(dev->guest4));
	virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, guest4_prefix),
			   &dev->guest4_prefix, sizeof(dev->guest4_prefix));
	dev->guest4_prefix = min_t(u8, dev->guest4_prefix, 32);
	virtio_cread_le(vdev, struct vmrpc_config, mtu, &mtu);
	dev->mtu = mtu;
	dev->translate = virtio_has_feature(vdev, VMRPC_F_TRANSLATE);
	dev->moments = virtio_has_feature(vdev, VMRPC_F_MOMENTS);
	if (!dev->moments)
		dev_notice(&vdev->dev,
			   "kernel timestamps will be in the host's clock\n");
	return 0;
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
	if (dev->max_sg < VMRPC_BOUNCE_MAX / PAGE_SIZE + 2) {
		dev_err(&vdev->dev, "rings too short for a datagram\n");
		vdev->config->del_vqs(vdev);
		err = -EINVAL;
	}
out:
	kfree(info);
	kfree(vqs);
	return err;
}

static struct vmrpc_device *device_alloc(struct virtio_device *vdev)
{
	struct vmrpc_device *dev;
	unsigned int i;
	u16 n;

	virtio_cread_le(vdev, struct vmrpc_config, num_queues, &n);
	n = min_t(unsigned int, n, min(nr_cpu_ids, VMRPC_QUEUES_MAX));
	if (!n) {
		dev_err(&vdev->dev, "no request queue\n");
		return ERR_PTR(-EINVAL);
	}
	dev = kzalloc(struct_size(dev, queue, n), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	kref_init(&dev->ref);
	dev->vdev = vdev;
	xa_init_flags(&dev->socks, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	atomic_set(&dev->generation, 0);
	ida_init(&dev->buffer_ids);
	vmrpc_event_init(dev);
	vmrpc_clock_init(&dev->clock);
	dev->takes_buffers = !virtio_has_feature(vdev,
						 VIRTIO_F_ACCESS_PLATFORM);
	spin_lock_init(&dev->event_lock);
	dev->num_queues = n;
	for (i = 0; i < n; i++) {
		spin_lock_init(&dev->queue[i].lock);
		init_waitqueue_head(&dev->queue[i].space);
		dev->queue[i].wait_credit = CREDIT_MAX;
	}
	return dev;
}

/* Stops all traffic: afterwards no call is under way, nor can be. */
static void device_stop(struct vmrpc_device *dev)
{
	struct vmrpc_call *call;
	struct virtqueue *vqs;
	unsigned int i;

	WRITE_ONCE(dev->dead, true);
	/* From here on the device touches no memory of ours. */
	virtio_reset_device(dev->vdev);

	spin_lock_irq(&dev->event_lock);
	vqs = dev->event_vq;
	dev->event_vq = NULL;
	spin_unlock_irq(&dev->event_lock);
	while (virtqueue_detach_unused_buf(vqs))
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
	/* Who saw q->vq before may still be notifying it. */
	synchronize_rcu();
	/* It may have waited for one of those calls. */
	vmrpc_event_stop(dev);
	dev->vdev->config->del_vqs(dev->vdev);
}

static int probe(struct virtio_device *vdev)
{
	struct vmrpc_device *dev;
	int err;

	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1))
		return -ENODEV;

	mutex_lock(&the_device_lock);
	if (the_device) {
		dev_err(&vdev->dev, "there can be only one vmrpc device\n");
		err = -EBUSY;
		goto out;
	}
	dev = device_alloc(vdev);
	if (IS_ERR(dev)) {
		err = PTR_ERR(dev);
		goto out;
	}
	vdev->priv = dev;
	err = config_read(vdev, dev);
	if (err)
		goto out_put;
	err = queues_find(vdev, dev);
	if (err)
		goto out_put;
	err = events_start(dev);
	if (err)
		goto out_del_vqs;
	virtio_device_ready(vdev);
	virtqueue_kick(dev->event_vq);

	err = vmrpc_netdev_add(dev);
	if (err)
		goto out_stop;
	err = vmrpc_family_take(dev);
	if (err)
		goto out_netdev;
	vmrpc_proc_add(dev);

	the_device = dev;
	dev_info(&vdev->dev, "IPv4 sockets run on the host as %pI4/%u\n",
		 &dev->guest4, dev->guest4_prefix);
	vmrpc_inet6_add(dev);
	goto out;

out_netdev:
	vmrpc_netdev_remove(dev);
out_stop:
	device_stop(dev);
	goto out_put;
out_del_vqs:
	vdev->config->del_vqs(vdev);
out_put:
	vmrpc_device_put(dev);
out:
	mutex_unlock(&the_device_lock);
	return err;
}

static void remove(struct virtio_device *vdev)
{
	struct vmrpc_device *dev = vdev->priv;

	mutex_lock(&the_device_lock);
	vmrpc_inet6_remove();
	vmrpc_proc_remove();
	/*
	 * With vmrpc0 its route goes: nothing native from here on sends into a
	 * hole, and waits there for as long as a connection attempt does.
	 */
	vmrpc_netdev_remove(dev);
	vmrpc_family_give_back();
	device_stop(dev);
	vmrpc_sock_kill_all(dev);
	the_device = NULL;
	vmrpc_device_put(dev);
	mutex_unlock(&the_device_lock);
}

#ifdef CONFIG_PM_SLEEP
/* The host's sockets would not survive; refuse rather than lose them. */
static int freeze(struct virtio_device *vdev)
{
	return -EBUSY;
}
#endif

static const struct virtio_device_id id_table[] = {
	{ VIRTIO_ID_VMRPC, VIRTIO_DEV_ANY_ID },
	{ 0 },
};
MODULE_DEVICE_TABLE(virtio, id_table);

/*
 * A call is on the ring for as long as its notification takes, so there is
 * room; a table of descriptors of its own would have to be allocated for it.
 */
static int validate(struct virtio_device *vdev)
{
	__virtio_clear_bit(vdev, VIRTIO_RING_F_INDIRECT_DESC);
	return 0;
}

static const unsigned int features[] = {
	VMRPC_F_TRANSLATE,
	VMRPC_F_MOMENTS,
};

static struct virtio_driver driver = {
	.feature_table = features,
	.feature_table_size = ARRAY_SIZE(features),
	.driver.name = KBUILD_MODNAME,
	.driver.owner = THIS_MODULE,
	.id_table = id_table,
	.validate = validate,
	.probe = probe,
	.remove = remove,
#ifdef CONFIG_PM_SLEEP
	.freeze = freeze,
#endif
};

/* That there is one keeps init_on_alloc from clearing every call. */
static void call_construct(void *object)
{
}

static int __init vmrpc_init(void)
{
	int err;

	call_cache = kmem_cache_create_usercopy("vmrpc_call",
				sizeof(struct vmrpc_call), 0,
				SLAB_HWCACHE_ALIGN,
				offsetof(struct vmrpc_call, inline_buf),
				sizeof_field(struct vmrpc_call, inline_buf),
				call_construct);
	if (!call_cache)
		return -ENOMEM;
	err = vmrpc_data_init();
	if (err)
		goto out_call_cache;
	vmrpc_ready_init();
	vmrpc_prot_init();
	vmrpc_family_init();
	err = register_virtio_driver(&driver);
	if (err)
		goto out_data;
	return 0;

out_data:
	vmrpc_data_exit();
out_call_cache:
	kmem_cache_destroy(call_cache);
	return err;
}

static void __exit vmrpc_exit(void)
{
	unregister_virtio_driver(&driver);
	/* device structures go by RCU */
	rcu_barrier();
	vmrpc_data_exit();
	kmem_cache_destroy(call_cache);
}

module_init(vmrpc_init);
module_exit(vmrpc_exit);

MODULE_DESCRIPTION("IPv4 sockets executed on the host (virtio-vmrpc)");
MODULE_LICENSE("GPL");
