// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MSG_ZEROCOPY
 *
 * The host has taken the data, or copied them, when a request completes: the
 * program may use its memory again at once.  So the completion follows at once
 * as well, and says that the data were copied (SO_EE_CODE_ZEROCOPY_COPIED).
 * It goes into the native side's error queue, which is read before the host's;
 * numbers, merging and the limit of locked memory are the kernel's own.
 *
 * io_uring brings a completion of its own, which is its business: it has a
 * reference until sendmsg() returns, and nobody else needs one.
 */
#include <linux/skbuff.h>

#include "internal.h"

/**
 * vmrpc_zerocopy_begin - a program sends
 * @sk: the native side
 * @msg: with the program's flags
 * @size: bytes to send
 * @uarg: set to what vmrpc_zerocopy_end() wants
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
	*uarg = msg_zerocopy_realloc(sk, size, NULL);
	if (!*uarg)
		return -ENOBUFS;
	uarg_to_msgzc(*uarg)->zerocopy = 0;
	return 0;
}

/**
 * vmrpc_zerocopy_end - it has sent
 * @uarg: from vmrpc_zerocopy_begin()
 * @sent: something; otherwise there is no completion
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
