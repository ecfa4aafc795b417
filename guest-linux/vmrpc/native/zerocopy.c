// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MSG_ZEROCOPY
 *
 * When a request completes, the host does not need the program's memory any
 * more.  So the completion of MSG_ZEROCOPY follows at once, and reports that
 * the data were copied (SO_EE_CODE_ZEROCOPY_COPIED).  It goes into the error
 * queue of the native side, which is read before the host's.  Numbers, merging
 * and the limit of locked memory are the kernel's own.
 *
 * io_uring brings a completion of its own and handles it: it has a reference
 * until sendmsg() returns, and no other is needed.
 */
#include <linux/skbuff.h>

#include "native/zerocopy.h"
#include "transport/compat.h"

/**
 * vmrpc_zerocopy_begin - before sending
 * @sk: the native side
 * @msg: with the flags of the program
 * @size: bytes to send
 * @uarg: set to the argument of vmrpc_zerocopy_end()
 *
 * Returns 0 or -ENOBUFS.
 */
int vmrpc_zerocopy_begin(struct sock *sk, const struct msghdr *msg,
			 size_t size, struct ubuf_info **uarg)
{
	*uarg = NULL;
	if (likely(!(msg->msg_flags & MSG_ZEROCOPY)) || !size ||
	    msg->msg_ubuf || !sock_flag(sk, SOCK_ZEROCOPY))
		return 0;
	*uarg = vmrpc_zerocopy_new(sk, size);
	if (!*uarg)
		return -ENOBUFS;
	uarg_to_msgzc(*uarg)->zerocopy = 0;
	return 0;
}

/**
 * vmrpc_zerocopy_end - after sending
 * @uarg: from vmrpc_zerocopy_begin()
 * @sent: data were sent; otherwise there is no completion
 */
void vmrpc_zerocopy_end(struct ubuf_info *uarg, bool sent)
{
	if (likely(!uarg))
		return;
	if (sent)
		net_zcopy_put(uarg);
	else
		net_zcopy_put_abort(uarg, true);
}
