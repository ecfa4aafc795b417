/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc0
 */
#ifndef VMRPC_NETDEV_H
#define VMRPC_NETDEV_H

#include "transport/device.h"

int vmrpc_netdev_add(struct vmrpc_device *dev);
void vmrpc_netdev_remove(struct vmrpc_device *dev);

#endif /* VMRPC_NETDEV_H */
