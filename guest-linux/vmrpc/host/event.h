/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of the host
 */
#ifndef VMRPC_EVENT_H
#define VMRPC_EVENT_H

#include "sock/sock.h"

void vmrpc_event_init(struct vmrpc_device *dev);
void vmrpc_event_stop(struct vmrpc_device *dev);
void vmrpc_event_take(struct vmrpc_device *dev, const struct vmrpc_event *ev);

#endif /* VMRPC_EVENT_H */
