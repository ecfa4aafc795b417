// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buffers that programs use again and again
 *
 * Theory of operation
 * ===================
 *
 * To look up the pages of a large buffer and to put each onto the ring costs
 * more than all the rest of a call, and most programs use one buffer for all
 * that they send or receive.  Such a buffer is mapped on the host once
 * (VMRPC_MAP); calls then name a part of it (VMRPC_REQ_BUFFER).
 *
 * A socket has at most one for each direction, made when a large buffer has
 * come BUFFER_USES times.  Nothing is pinned for it: as KVM does with the
 * memory of its guests, we ask to be told before the kernel changes a mapping
 * of the range (mmu_interval_notifier), be it munmap, fork, swapping or a page
 * that moves.  The buffer is invalid from then on, and who is told waits for
 * calls that still use it (vmrpc_buffer.use), which are short as calls never
 * wait for a peer for long.  While a call uses a buffer it must neither
 * allocate memory nor touch the program's: both can wait for that very call.
 *
 * Pages that the host writes are marked dirty once, when they are mapped: the
 * kernel does not clean them without telling us.
 *
 * A thread changes its own rights to pages with a protection key without telling
 * anybody.  A buffer is for threads that have the rights of the one that it was
 * made for; others have their pages looked up, which checks.
 *
 * Buffers that become invalid quickly are not worth it: each one makes the
 * next wait twice as long.
 *
 * It is not done if the device sees memory through an IOMMU, or if the kernel
 * has no notifiers.
 */
#include <linux/idr.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/virtio_config.h>

#ifdef CONFIG_X86
#include <asm/pkru.h>
#endif

#include "internal.h"

#define BUFFER_MIN		32768u
/* A buffer is worth it when it has come so often ... */
#define BUFFER_USES		4
/* ... and at most so often, if former ones were not. */
#define BUFFER_USES_MAX		4096u

/**
 * struct vmrpc_buffer - memory of a program, mapped on the host
 * @ref: held by the socket and by calls
 * @notifier: tells us when the range changes
 * @use: read: a call uses it; write: it becomes valid or invalid
 * @valid: the host's pages are the program's
 * @mapped: the host has it as buffer @id
 * @uses: calls that used it
 * @start: address in @notifier.mm, @len bytes
 * @rights: of the thread that it was made for
 */
struct vmrpc_buffer {
	refcount_t ref;
	struct vmrpc_device *dev;
	struct mmu_interval_notifier notifier;
	struct rw_semaphore use;
	bool valid;
	bool mapped;
	int id;
	unsigned int uses;
	unsigned long start;
	size_t len;
	u32 rights;
};

/* What current may do with pages that have a protection key. */
static u32 current_rights(void)
{
#ifdef CONFIG_X86
	return read_pkru();
#else
	return 0;
#endif
}

static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct vmrpc_buffer *b = container_of(notifier, struct vmrpc_buffer,
					      notifier);

	if (mmu_notifier_range_blockable(range))
		down_write(&b->use);
	else if (!down_write_trylock(&b->use))
		return false;
	mmu_interval_set_seq(notifier, seq);
	b->valid = false;
	up_write(&b->use);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

static void unmap_on_host(struct vmrpc_buffer *b)
{
	struct vmrpc_call *call = vmrpc_call_new_device(b->dev, VMRPC_UNMAP);

	/* If there is no memory the host keeps it, and we the number. */
	if (!call)
		return;
	call->req.u.map.buffer = cpu_to_le32(b->id);
	if (vmrpc_call_run(call) != -ENOMEM)
		b->mapped = false;
	vmrpc_call_free(call);
}

static void buffer_put(struct vmrpc_buffer *b)
{
	if (!refcount_dec_and_test(&b->ref))
		return;
	mmu_interval_notifier_remove(&b->notifier);
	if (b->mapped)
		unmap_on_host(b);
	if (!b->mapped)
		ida_free(&b->dev->buffer_ids, b->id);
	vmrpc_device_put(b->dev);
	kfree(b);
}

/* The socket's buffer, with a reference, or NULL. */
static struct vmrpc_buffer *buffer_of(struct vmrpc_reuse *reuse)
{
	struct vmrpc_buffer *b;

	/* Most sockets never have one. */
	if (!READ_ONCE(reuse->buffer))
		return NULL;
	spin_lock(&reuse->lock);
	b = reuse->buffer;
	if (b)
		refcount_inc(&b->ref);
	spin_unlock(&reuse->lock);
	return b;
}

/* Takes @b, if it is still the one, from the socket. */
static void buffer_forget(struct vmrpc_reuse *reuse, struct vmrpc_buffer *b)
{
	bool ours;

	spin_lock(&reuse->lock);
	ours = reuse->buffer == b;
	if (ours) {
		reuse->buffer = NULL;
		reuse->start = 0;
		/* It did not last: be slower next time. */
		if (b->uses < reuse->wanted * 4)
			reuse->wanted = min(reuse->wanted * 2, BUFFER_USES_MAX);
		else
			reuse->wanted = BUFFER_USES;
	}
	spin_unlock(&reuse->lock);
	if (ours)
		buffer_put(b);
}

static struct vmrpc_buffer *buffer_alloc(struct vmrpc_device *dev,
					 unsigned long start, size_t len)
{
	unsigned long first = start & PAGE_MASK;
	unsigned long last = PAGE_ALIGN(start + len);
	struct vmrpc_buffer *b;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return NULL;
	b->id = ida_alloc_max(&dev->buffer_ids, VMRPC_BUFFERS_MAX - 1,
			      GFP_KERNEL);
	if (b->id < 0)
		goto out_free;
	refcount_set(&b->ref, 1);
	init_rwsem(&b->use);
	b->dev = dev;
	b->start = start;
	b->len = len;
	b->rights = current_rights();
	if (mmu_interval_notifier_insert(&b->notifier, current->mm, first,
					 last - first, &notifier_ops))
		goto out_id;
	vmrpc_device_get(dev);
	return b;

out_id:
	ida_free(&dev->buffer_ids, b->id);
out_free:
	kfree(b);
	return NULL;
}

/* The host gets the pages as they are now; returns 0 or a negative errno. */
static int buffer_map(struct vmrpc_buffer *b, struct vmrpc_sock *vs,
		      struct iov_iter iter, bool in)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_MAP);
	unsigned long seq;
	int err;

	if (!call)
		return -ENOMEM;
	seq = mmu_interval_read_begin(&b->notifier);
	err = vmrpc_data_map(call, &iter, b->len, in);
	if (err)
		goto out;
	err = -EAGAIN;
	if (call->data.len < b->len || !call->data.pages)
		goto out_unmap;
	call->req.u.map.buffer = cpu_to_le32(b->id);
	err = vmrpc_call_run(call);
	if (err)
		goto out_unmap;
	b->mapped = true;
	down_write(&b->use);
	b->valid = !mmu_interval_read_retry(&b->notifier, seq);
	up_write(&b->use);
out_unmap:
	vmrpc_data_unmap(call, &iter, 0);
out:
	vmrpc_call_free(call);
	return err;
}

static void buffer_make(struct vmrpc_sock *vs, struct vmrpc_reuse *reuse,
			const struct iov_iter *iter, size_t len, bool in)
{
	struct vmrpc_device *dev = vs->dev;
	struct vmrpc_buffer *b;

	b = buffer_alloc(dev, vmrpc_iter_address(iter), len);
	if (b && buffer_map(b, vs, *iter, in) == -EOPNOTSUPP)
		WRITE_ONCE(dev->takes_buffers, false);
	spin_lock(&reuse->lock);
	reuse->seen = 0;
	if (b && b->valid && !reuse->buffer)
		swap(reuse->buffer, b);
	else
		reuse->wanted = min(reuse->wanted * 2, BUFFER_USES_MAX);
	spin_unlock(&reuse->lock);
	if (b)
		buffer_put(b);
}

/* Has this memory come often enough?  Racy, as it is only a guess. */
static bool worth_making(struct vmrpc_reuse *reuse, unsigned long start,
			 size_t len)
{
	if (start == reuse->start)
		return ++reuse->seen >= reuse->wanted;
	/* The rest of a buffer that was partly filled or sent. */
	if (start > reuse->start && start - reuse->start < reuse->len)
		return false;
	reuse->start = start;
	reuse->len = len;
	reuse->seen = 1;
	return false;
}

static bool covers(const struct vmrpc_buffer *b, unsigned long start)
{
	return b->notifier.mm == current->mm && start >= b->start &&
	       start - b->start < b->len && b->rights == current_rights();
}

/* @b for the bytes from @start on; it is in use if this returns true. */
static bool buffer_use(struct vmrpc_buffer *b, unsigned long start)
{
	down_read(&b->use);
	if (b->valid) {
		b->uses++;
		return true;
	}
	up_read(&b->use);
	return false;
}

/**
 * vmrpc_buffer_get - the buffer that the next bytes of an iterator are in
 * @vs: the socket
 * @iter: the program's memory
 * @len: bytes wanted; set to those that are in the buffer
 * @in: the host writes them
 * @offset: set to where they are
 *
 * Returns the buffer, to be given back with vmrpc_buffer_put() before anything
 * that may allocate memory or touch the program's, or NULL.
 */
struct vmrpc_buffer *vmrpc_buffer_get(struct vmrpc_sock *vs,
				      const struct iov_iter *iter, size_t *len,
				      bool in, u32 *offset)
{
	struct vmrpc_reuse *reuse = &vs->reuse[in];
	struct vmrpc_buffer *b;
	unsigned long start;
	size_t size;

	if (!READ_ONCE(vs->dev->takes_buffers) || *len < BUFFER_MIN ||
	    !vmrpc_iter_is_user(iter))
		return NULL;
	start = vmrpc_iter_address(iter);
	size = min3(*len, iov_iter_single_seg_count(iter),
		    (size_t)VMRPC_DATA_MAX);
	/* writev() may begin with nothing; that would be no data. */
	if (!size)
		return NULL;
	b = buffer_of(reuse);
	if (b && covers(b, start) && buffer_use(b, start)) {
		*offset = start - b->start;
		*len = min(size, b->len - *offset);
		return b;
	}
	if (b && !READ_ONCE(b->valid))
		buffer_forget(reuse, b);
	/* Another buffer has taken its place in the program. */
	if (worth_making(reuse, start, size) && size >= BUFFER_MIN) {
		if (b)
			buffer_forget(reuse, b);
		buffer_make(vs, reuse, iter, size, in);
	}
	if (b)
		buffer_put(b);
	return NULL;
}

/**
 * vmrpc_buffer_put - a call does not use a buffer any more
 * @b: of vmrpc_buffer_get()
 * @stale: the host does not have it: nobody is to use it again
 */
void vmrpc_buffer_put(struct vmrpc_buffer *b, bool stale)
{
	if (stale) {
		WRITE_ONCE(b->mapped, false);
		WRITE_ONCE(b->valid, false);
	}
	up_read(&b->use);
	buffer_put(b);
}

/**
 * vmrpc_buffer_id - its number on the wire
 * @b: a buffer
 */
u32 vmrpc_buffer_id(const struct vmrpc_buffer *b)
{
	return b->id;
}

/**
 * vmrpc_buffer_init - a socket that may have buffers
 * @vs: new
 */
void vmrpc_buffer_init(struct vmrpc_sock *vs)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vs->reuse); i++) {
		spin_lock_init(&vs->reuse[i].lock);
		vs->reuse[i].wanted = BUFFER_USES;
	}
}

/**
 * vmrpc_buffer_drop - a socket that needs none any more
 * @vs: the socket, which no call uses
 */
void vmrpc_buffer_drop(struct vmrpc_sock *vs)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vs->reuse); i++) {
		if (vs->reuse[i].buffer)
			buffer_put(vs->reuse[i].buffer);
		vs->reuse[i].buffer = NULL;
	}
}
