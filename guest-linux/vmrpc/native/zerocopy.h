/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MSG_ZEROCOPY
 */
#ifndef VMRPC_ZEROCOPY_H
#define VMRPC_ZEROCOPY_H

#include <net/sock.h>

int vmrpc_zerocopy_begin(struct sock *sk, const struct msghdr *msg,
			 size_t size, struct ubuf_info **uarg);
void vmrpc_zerocopy_end(struct ubuf_info *uarg, bool sent);

#endif /* VMRPC_ZEROCOPY_H */
