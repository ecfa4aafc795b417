/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/net/vmrpc_refused
 */
#ifndef VMRPC_REFUSED_H
#define VMRPC_REFUSED_H

#include "transport/device.h"

void vmrpc_refused_add(struct vmrpc_device *dev);
void vmrpc_refused_remove(void);

#endif /* VMRPC_REFUSED_H */
