// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data of a call: copies and lists of pages
 *
 * Up to VMRPC_INLINE_MAX bytes are copied, because looking up their pages would
 * cost more.  Larger data are not copied: the pages of the program go onto the
 * ring, and the host's sendmsg() and recvmsg() work on them in place.
 * Neighbouring pages become one entry.  Data that are not in pages of user
 * space, or that consist of many small pieces, are copied, VMRPC_BOUNCE_MAX
 * bytes in a call.
 *
 * The pages are held only while the call runs.  It is never interrupted, and
 * never waits long for a peer.
 *
 * The lists of pages come from a cache whose free objects keep their state,
 * with all entries unmarked.  Clearing ten kilobytes for each call would cost
 * more than the rest of it.
 */
#include <linux/slab.h>
#include <linux/uio.h>

#include "transport/compat.h"
#include "transport/pages.h"

struct vmrpc_pages {
	struct scatterlist sg[VMRPC_PAGES_MAX];
	struct page *page[VMRPC_PAGES_MAX];
};

static struct kmem_cache *pages_cache;

static void pages_construct(void *object)
{
	struct vmrpc_pages *p = object;

	memset(p->sg, 0, sizeof(p->sg));
}

/**
 * vmrpc_pages_init - to be called once, before everything else here
 *
 * Returns 0 or -ENOMEM.
 */
int __init vmrpc_pages_init(void)
{
	/* With a constructor, init_on_alloc does not clear the objects. */
	pages_cache = kmem_cache_create("vmrpc_pages",
					sizeof(struct vmrpc_pages), 0, 0,
					pages_construct);
	return pages_cache ? 0 : -ENOMEM;
}

/**
 * vmrpc_pages_exit - end of vmrpc_pages_init()
 */
void vmrpc_pages_exit(void)
{
	kmem_cache_destroy(pages_cache);
}

static bool worth_mapping(const struct iov_iter *iter, size_t len)
{
	if (len <= VMRPC_INLINE_MAX)
		return false;
	if (!user_backed_iter(iter) && !iov_iter_is_bvec(iter))
		return false;
	return iov_iter_count(iter) / max(iter->nr_segs, 1ul) >=
	       VMRPC_INLINE_MAX;
}

/**
 * vmrpc_pages_inline - use the inline buffer of a call for its data
 * @call: has no data yet
 * @len: at most VMRPC_INLINE_MAX
 * @in: the device writes it
 *
 * Returns the buffer, for the caller to write or read; it lives as long as the
 * call.
 */
void *vmrpc_pages_inline(struct vmrpc_call *call, size_t len, bool in)
{
	struct vmrpc_data *d = &call->data;

	d->in = in;
	d->len = len;
	d->sg = &d->one;
	if (len) {
		sg_init_one(&d->one, call->inline_buf, len);
		d->nsg = 1;
	}
	return call->inline_buf;
}

/*
 * Memory for *@len bytes.  For a stream, less will do: the next request carries
 * the rest, and after long uptime large contiguous pieces are rare.
 */
static void *bounce_alloc(const struct vmrpc_call *call, size_t *len)
{
	gfp_t gfp = call->gfp | __GFP_NOWARN;
	void *buf;

	while (call->partial && *len > PAGE_SIZE) {
		buf = kmalloc(*len, gfp | __GFP_NORETRY);
		if (buf)
			return buf;
		*len = max_t(size_t, *len / 2, PAGE_SIZE);
	}
	return kmalloc(*len, gfp);
}

/**
 * vmrpc_pages_copy - as vmrpc_pages_map(), but always by a copy
 * @call: has no data yet
 * @iter: source of data to send; vmrpc_pages_unmap() copies received data to it
 * @len: at most iov_iter_count(@iter)
 * @in: the device writes the data
 *
 * As natively, -EFAULT for received data comes only at the end.  Returns 0,
 * -EFAULT or -ENOMEM.
 */
int vmrpc_pages_copy(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t len, bool in)
{
	struct vmrpc_data *d = &call->data;

	len = min_t(size_t, len, VMRPC_BOUNCE_MAX);
	if (len <= VMRPC_INLINE_MAX) {
		d->buf = vmrpc_pages_inline(call, len, in);
	} else {
		d->buf = bounce_alloc(call, &len);
		if (!d->buf)
			return -ENOMEM;
		d->in = in;
		d->len = len;
		d->sg = &d->one;
		sg_init_one(&d->one, d->buf, len);
		d->nsg = 1;
	}
	if (!in && !copy_from_iter_full(d->buf, len, iter)) {
		if (d->buf != call->inline_buf)
			kfree(d->buf);
		memset(d, 0, sizeof(*d));
		return -EFAULT;
	}
	return 0;
}

/* Adds @bytes of @pages, from @offset on, to the list; merges neighbours. */
static void append_pages(struct vmrpc_data *d, struct page **pages,
			 size_t offset, size_t bytes, size_t max_segment)
{
	while (bytes) {
		size_t part = min_t(size_t, bytes, PAGE_SIZE - offset);
		struct scatterlist *last = d->nsg ? &d->sg[d->nsg - 1] : NULL;

		if (last && !offset && last->length + part <= max_segment &&
		    sg_phys(last) + last->length == page_to_phys(*pages))
			last->length += part;
		else
			sg_set_page(&d->sg[d->nsg++], *pages, part, offset);
		d->len += part;
		bytes -= part;
		offset = 0;
		pages++;
	}
}

static void give_pages_back(struct vmrpc_data *d, bool dirty)
{
	vmrpc_pages_put(d->pages->page, d->npages, d->user, dirty);
	if (d->nsg)
		sg_unmark_end(&d->sg[d->nsg - 1]);
	kmem_cache_free(pages_cache, d->pages);
}

static int map_pages(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t len, bool in)
{
	struct vmrpc_data *d = &call->data;
	unsigned int max = call->dev->max_sg;
	ssize_t got = 0;

	len = min_t(size_t, len, VMRPC_DATA_MAX);
	d->pages = kmem_cache_alloc(pages_cache, call->gfp);
	if (!d->pages)
		return -ENOMEM;
	d->sg = d->pages->sg;
	d->in = in;
	d->user = user_backed_iter(iter);

	while (d->len < len && d->npages < max) {
		struct page **pages = &d->pages->page[d->npages];
		size_t offset;

		got = vmrpc_iter_pages(iter, pages, len - d->len,
				       max - d->npages, &offset);
		if (got <= 0)
			break;
		d->npages += DIV_ROUND_UP(offset + got, PAGE_SIZE);
		append_pages(d, pages, offset, got, call->dev->max_segment);
	}
	if (!d->len) {
		kmem_cache_free(pages_cache, d->pages);
		memset(d, 0, sizeof(*d));
		return got < 0 ? got : -EFAULT;
	}
	sg_mark_end(&d->sg[d->nsg - 1]);
	return 0;
}

/**
 * vmrpc_pages_map - make the next bytes of an iterator the data of a call
 * @call: has no data yet
 * @iter: advanced by call->data.len if the data are sent (@in false); do not
 *        use it before vmrpc_pages_unmap()
 * @len: at most iov_iter_count(@iter)
 * @in: the device writes the data
 *
 * Maps as much as a call can carry: call->data.len bytes.  @len 0 is allowed.
 * Returns 0, -EFAULT or -ENOMEM.
 */
int vmrpc_pages_map(struct vmrpc_call *call, struct iov_iter *iter, size_t len,
		    bool in)
{
	if (worth_mapping(iter, len))
		return map_pages(call, iter, len, in);
	return vmrpc_pages_copy(call, iter, len, in);
}

/**
 * vmrpc_pages_unmap - end of the data of a call
 * @call: completed, or never submitted
 * @iter: as it was given to vmrpc_pages_map(); afterwards it has advanced by
 *        @done bytes in total
 * @done: bytes sent or received, at most call->data.len
 *
 * Returns 0, or -EFAULT if received data could not be copied to the program:
 * then they stay in call->data.buf until vmrpc_pages_drop().
 */
int vmrpc_pages_unmap(struct vmrpc_call *call, struct iov_iter *iter,
		      size_t done)
{
	struct vmrpc_data *d = &call->data;
	size_t copied;

	if (d->pages) {
		give_pages_back(d, d->in);
		iov_iter_revert(iter, d->len - done);
	} else if (d->in) {
		copied = copy_to_iter(d->buf, done, iter);
		if (unlikely(copied != done)) {
			iov_iter_revert(iter, copied);
			return -EFAULT;
		}
	} else {
		iov_iter_revert(iter, d->len - done);
	}
	vmrpc_pages_drop(call);
	return 0;
}

/**
 * vmrpc_pages_drop - free data that vmrpc_pages_unmap() could not copy
 * @call: completed
 */
void vmrpc_pages_drop(struct vmrpc_call *call)
{
	struct vmrpc_data *d = &call->data;

	if (d->buf && d->buf != call->inline_buf)
		kfree(d->buf);
	memset(d, 0, sizeof(*d));
}
