/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may have a ping socket
 */
#ifndef VMRPC_PING_H
#define VMRPC_PING_H

#include <linux/types.h>

struct net;

void vmrpc_ping_take(bool (*served)(const struct net *net), bool inet6);
void vmrpc_ping_give_back(void);

#endif /* VMRPC_PING_H */
