/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that use AF_INET6 for IPv4
 */
#ifndef VMRPC_INET6_H
#define VMRPC_INET6_H

#include "transport/device.h"

void vmrpc_inet6_add(struct vmrpc_device *dev);
void vmrpc_inet6_remove(void);

#endif /* VMRPC_INET6_H */
