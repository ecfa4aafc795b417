/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SO_LINGER with a time
 */
#ifndef VMRPC_LINGER_H
#define VMRPC_LINGER_H

struct vmrpc_sock;

void vmrpc_linger(struct vmrpc_sock *vs);

#endif /* VMRPC_LINGER_H */
