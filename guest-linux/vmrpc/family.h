/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PF_INET
 */
#ifndef VMRPC_FAMILY_H
#define VMRPC_FAMILY_H

#include "transport/device.h"

void vmrpc_family_init(void);
int vmrpc_family_take(struct vmrpc_device *dev);
void vmrpc_family_give_back(void);

#endif /* VMRPC_FAMILY_H */
