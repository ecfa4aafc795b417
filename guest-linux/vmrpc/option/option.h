/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of IPPROTO_IP, IPPROTO_TCP and IPPROTO_UDP on the host
 */
#ifndef VMRPC_OPTION_H
#define VMRPC_OPTION_H

#include "sock/sock.h"

/**
 * enum vmrpc_option_kind - what the host does with an option
 * @VMRPC_OPTION_LOCAL: it only has a meaning in the guest
 * @VMRPC_OPTION_DEFER: the host knows it; it is remembered until there is a
 *                      host socket, and then set there
 * @VMRPC_OPTION_NOW: the host may not know it: the host socket is made at once,
 *                    so that this setsockopt() returns the host's error
 */
enum vmrpc_option_kind {
	VMRPC_OPTION_LOCAL,
	VMRPC_OPTION_DEFER,
	VMRPC_OPTION_NOW,
};

int vmrpc_option_set(struct vmrpc_sock *vs, enum vmrpc_option_kind kind,
		     int level, int name, const void *value, unsigned int len);
void vmrpc_option_undo(struct vmrpc_sock *vs, int level, int name, int undo,
		       const void *value, unsigned int len);
void vmrpc_option_push(struct vmrpc_sock *vs);

#endif /* VMRPC_OPTION_H */
