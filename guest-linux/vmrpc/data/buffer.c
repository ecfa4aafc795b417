// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buffers that programs use again and again
 *
 * Theory of operation
 * ===================
 *
 * Looking up the pages of a large buffer and putting each onto the ring costs
 * more than the rest of a call, and most programs use one buffer for all data
 * that they send or receive.  Such a buffer is mapped on the host once
 * (VMRPC_MAP); calls then name a part of it (VMRPC_REQ_BUFFER).
 *
 * A socket has at most one buffer for each direction.  It is made when the
 * program has used a large buffer BUFFER_USES times.  Its pages are not pinned.
 * As KVM does for guest memory, we register an mmu_interval_notifier: the
 * kernel calls it before it changes a mapping of the range, by munmap, fork,
 * swapping or page migration.  The notifier makes the buffer invalid and waits
 * for calls that still use it (vmrpc_buffer.use).  They are short, as calls
 * never wait long for a peer.  While a call uses a buffer it must not allocate
 * memory and must not touch the program's memory: both may wait for this very
 * call.
 *
 * Pages that the host writes are marked dirty once, when they are mapped: the
 * kernel calls the notifier before it cleans them.
 *
 * A thread can change its own rights to pages with a protection key, and no
 * notifier is called.  So a buffer is only for threads with the same rights as
 * the thread that it was made for.  For other threads the pages are looked up,
 * which checks the rights.
 *
 * A buffer that becomes invalid quickly costs more than it saves: after it, the
 * next one is made only after twice as many uses.
 *
 * There are no buffers if the device accesses memory through an IOMMU, or if
 * the kernel has no notifiers.
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

#include "data/buffer.h"
#include "sock/call.h"
#include "transport/compat.h"
#include "transport/pages.h"

#define BUFFER_MIN		32768u
/* A buffer is made after this many uses ... */
#define BUFFER_USES		4
/* ... and after this many at most, if earlier buffers did not last. */
#define BUFFER_USES_MAX		4096u

/**
 * struct vmrpc_buffer - memory of a program, mapped on the host
 * @ref: held by the socket and by calls
 * @dev: a reference
 * @notifier: called before the range changes
 * @use: held for reading by a call that uses the buffer, for writing to change
 *       @valid
 * @valid: the host's pages are the pages of the program
 * @mapped: the host has it, as buffer @id
 * @id: number on the wire
 * @uses: number of calls that used it
 * @start: address in @notifier.mm
 * @len: bytes
 * @rights: rights of the thread that it was made for
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

/* The rights of current to pages that have a protection key. */
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

	/*
	 * Without memory the host keeps the buffer, and its number stays in
	 * use.
	 */
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

	/* Fast path: most sockets never have one. */
	if (!READ_ONCE(reuse->buffer))
		return NULL;
	spin_lock(&reuse->lock);
	b = reuse->buffer;
	if (b)
		refcount_inc(&b->ref);
	spin_unlock(&reuse->lock);
	return b;
}

/* Removes @b from the socket, unless another has replaced it. */
static void buffer_forget(struct vmrpc_reuse *reuse, struct vmrpc_buffer *b)
{
	bool ours;

	spin_lock(&reuse->lock);
	ours = reuse->buffer == b;
	if (ours) {
		reuse->buffer = NULL;
		reuse->start = 0;
		/* It did not last: the next one needs more uses. */
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

/* Maps the pages on the host.  Returns 0 or a negative errno. */
static int buffer_map(struct vmrpc_buffer *b, struct vmrpc_sock *vs,
		      struct iov_iter iter, bool in)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_MAP);
	unsigned long seq;
	int err;

	if (!call)
		return -ENOMEM;
	seq = mmu_interval_read_begin(&b->notifier);
	err = vmrpc_pages_map(call, &iter, b->len, in);
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
	vmrpc_pages_unmap(call, &iter, 0);
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

/* Has the program used this memory often enough?  A racy guess. */
static bool worth_making(struct vmrpc_reuse *reuse, unsigned long start,
			 size_t len)
{
	if (start == reuse->start)
		return ++reuse->seen >= reuse->wanted;
	/* The rest of a buffer of which a part was filled or sent. */
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

/* Begins a use of @b for the bytes from @start on; false: it is invalid. */
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
 * vmrpc_buffer_get - get the buffer that holds the next bytes of an iterator
 * @vs: the socket
 * @iter: the program's memory
 * @len: bytes wanted; set to the number that is in the buffer
 * @in: the host writes them
 * @offset: set to their position in the buffer
 *
 * Returns the buffer or NULL.  The caller gives it back with
 * vmrpc_buffer_put(), and until then must not allocate memory or touch the
 * program's memory.
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
	/* The first part of a writev() may be empty. */
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
	/* The program uses another buffer instead. */
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
 * vmrpc_buffer_put - end the use of a buffer by a call
 * @b: of vmrpc_buffer_get()
 * @stale: the host does not know the buffer: it must not be used again
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
 * vmrpc_buffer_id - the number of a buffer on the wire
 * @b: a buffer
 */
u32 vmrpc_buffer_id(const struct vmrpc_buffer *b)
{
	return b->id;
}

/**
 * vmrpc_buffer_init - prepare a socket for buffers
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
 * vmrpc_buffer_drop - free the buffers of a socket
 * @vs: the socket; no call uses it
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
