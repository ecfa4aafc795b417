/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a call: copies and lists of pages
 */
#ifndef VMRPC_PAGES_H
#define VMRPC_PAGES_H

#include <linux/uio.h>

#include "transport/transport.h"

int vmrpc_pages_init(void);
void vmrpc_pages_exit(void);
void *vmrpc_pages_inline(struct vmrpc_call *call, size_t len, bool in);
int vmrpc_pages_copy(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t len, bool in);
int vmrpc_pages_map(struct vmrpc_call *call, struct iov_iter *iter, size_t len,
		    bool in);
int vmrpc_pages_unmap(struct vmrpc_call *call, struct iov_iter *iter,
		      size_t done);
void vmrpc_pages_drop(struct vmrpc_call *call);

#endif /* VMRPC_PAGES_H */
