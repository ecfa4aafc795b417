/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/net/vmrpc
 */
#ifndef VMRPC_PROC_H
#define VMRPC_PROC_H

#include "transport/device.h"

int vmrpc_proc_add(struct vmrpc_device *dev);
void vmrpc_proc_remove(void);

#endif /* VMRPC_PROC_H */
