/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inet_create(), which makes native sockets
 */
#ifndef VMRPC_NATIVE_H
#define VMRPC_NATIVE_H

#include <linux/types.h>

struct net;
struct socket;

/* As the create function of struct net_proto_family. */
typedef int (*vmrpc_native_create_fn)(struct net *net, struct socket *sock,
				      int protocol, int kern);

vmrpc_native_create_fn vmrpc_native_find(void);
int vmrpc_native_create(struct net *net, struct socket *sock, int protocol,
			int kern);

#endif /* VMRPC_NATIVE_H */
