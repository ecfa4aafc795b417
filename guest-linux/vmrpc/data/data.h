/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a call, in a buffer of the host if possible
 */
#ifndef VMRPC_DATA_H
#define VMRPC_DATA_H

#include <linux/uio.h>

#include "transport/transport.h"

int vmrpc_data_place(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t len, size_t window, bool in, bool whole);
int vmrpc_data_unmap(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t done);

#endif /* VMRPC_DATA_H */
