// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data of a call, in a buffer of the host if possible
 *
 * The pages of a large buffer that a program uses again and again are not
 * looked up for each call (buffer.c).
 */
#include "data/buffer.h"
#include "data/data.h"
#include "transport/pages.h"

/**
 * vmrpc_data_place - make the next bytes of an iterator the data of a call
 * @call: has no data yet
 * @iter: as for vmrpc_pages_map()
 * @len: at most iov_iter_count(@iter)
 * @window: look up the pages of at most this many bytes
 * @in: the device writes the data
 * @whole: no later call can carry the rest: a datagram, and MSG_PEEK on a
 *         stream
 *
 * Returns 0, -EFAULT or -ENOMEM.
 */
int vmrpc_data_place(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t len, size_t window, bool in, bool whole)
{
	struct vmrpc_data *d = &call->data;
	size_t part = len;

	d->buffer = vmrpc_buffer_get(call->vs, iter, &part, in, &d->offset);
	if (d->buffer && part < len && whole) {
		vmrpc_buffer_put(d->buffer, false);
		d->buffer = NULL;
	}
	if (!d->buffer)
		return vmrpc_pages_map(call, iter, min(len, window), in);
	d->buffer_id = vmrpc_buffer_id(d->buffer);
	d->in = in;
	d->len = part;
	return 0;
}

/**
 * vmrpc_data_unmap - end of the data of a call
 * @call: completed, or never submitted
 * @iter: as it was given to vmrpc_data_place(); afterwards it has advanced by
 *        @done bytes in total
 * @done: bytes sent or received, at most call->data.len
 *
 * Returns as vmrpc_pages_unmap().
 */
int vmrpc_data_unmap(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t done)
{
	struct vmrpc_data *d = &call->data;
	u32 error = le32_to_cpu(call->resp.error);

	if (!d->buffer)
		return vmrpc_pages_unmap(call, iter, done);
	vmrpc_buffer_put(d->buffer, !call->status && error == VMRPC_ESTALE);
	iov_iter_advance(iter, done);
	vmrpc_pages_drop(call);
	return 0;
}
