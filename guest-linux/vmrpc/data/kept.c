// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Received data that could not be copied to the program
 *
 * The host has no copy of them any more.  The next reader gets them.
 */
#include <linux/mm.h>
#include <linux/uio.h>

#include "data/kept.h"
#include "sock/ask.h"
#include "sock/ready.h"
#include "sock/sol.h"

struct vmrpc_kept {
	struct list_head list;
	size_t len, used;
	u8 data[];
};

/**
 * vmrpc_kept_add - keep a part of a stream
 * @vs: the stream; caller must not hold vs->lock
 * @data: received, and not copied to the program
 * @len: bytes
 */
void vmrpc_kept_add(struct vmrpc_sock *vs, const void *data, size_t len)
{
	struct vmrpc_kept *kept = kvmalloc(struct_size(kept, data, len),
					   GFP_KERNEL);

	if (!kept) {
		/* A gap in a stream would be worse than its end. */
		WRITE_ONCE(vs->sk->sk_err, ENOBUFS);
		vmrpc_ask_shutdown(vs, SHUT_RDWR);
		return;
	}
	kept->len = len;
	kept->used = 0;
	memcpy(kept->data, data, len);
	mutex_lock(&vs->lock);
	list_add_tail(&kept->list, &vs->kept);
	WRITE_ONCE(vs->kept_size, vs->kept_size + len);
	mutex_unlock(&vs->lock);
	/* The host needs less data now to reach SO_RCVLOWAT. */
	vmrpc_sol_refresh(vs);
	/* Other tasks may wait for the data that woke this reader. */
	vmrpc_ready_wake_tasks(vs, VMRPC_IN);
}

/* Caller must hold vs->lock.  Returns the bytes received, or -EFAULT. */
static ssize_t kept_take(struct vmrpc_sock *vs, struct vmrpc_kept *kept,
			 struct msghdr *msg, size_t len, int flags)
{
	size_t n = min(len, kept->len - kept->used), copied;

	if (!(flags & MSG_TRUNC)) {
		copied = copy_to_iter(kept->data + kept->used, n,
				      &msg->msg_iter);
		if (copied != n) {
			iov_iter_revert(&msg->msg_iter, copied);
			return -EFAULT;
		}
	}
	if (flags & MSG_PEEK)
		return n;
	kept->used += n;
	WRITE_ONCE(vs->kept_size, vs->kept_size - n);
	if (kept->used == kept->len) {
		list_del(&kept->list);
		kvfree(kept);
	}
	return n;
}

/**
 * vmrpc_kept_receive - receive data that an earlier reader could not take
 * @vs: a stream for which vmrpc_kept_exists() is true
 * @msg: gets the data
 * @len: room to use, at most msg_data_left(@msg)
 * @flags: MSG_PEEK ..., from the program
 *
 * Returns the bytes received, -EAGAIN if another task was faster, or -EFAULT.
 */
ssize_t vmrpc_kept_receive(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, int flags)
{
	struct vmrpc_kept *kept, *next;
	ssize_t n = 0, err;

	mutex_lock(&vs->lock);
	err = list_empty(&vs->kept) ? -EAGAIN : 0;
	list_for_each_entry_safe(kept, next, &vs->kept, list) {
		if (n == len)
			break;
		err = kept_take(vs, kept, msg, len - n, flags);
		if (err < 0)
			break;
		n += err;
	}
	mutex_unlock(&vs->lock);
	/* The host needs more data again to reach SO_RCVLOWAT. */
	vmrpc_sol_refresh(vs);
	return n ? : err;
}

/**
 * vmrpc_kept_forget - drop kept data: their connection has gone
 * @vs: caller must hold vs->lock or be its only user
 */
void vmrpc_kept_forget(struct vmrpc_sock *vs)
{
	struct vmrpc_kept *kept, *next;

	list_for_each_entry_safe(kept, next, &vs->kept, list)
		kvfree(kept);
	INIT_LIST_HEAD(&vs->kept);
	WRITE_ONCE(vs->kept_size, 0);
}
