/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's own stack: how it makes sockets, and their operations
 */
#ifndef VMRPC_NATIVE_H
#define VMRPC_NATIVE_H

#include <linux/types.h>
#include <net/sock.h>

/* Creates a sock for @sock, as net_proto_family.create does. */
typedef int (*vmrpc_native_create_fn)(struct net *net, struct socket *sock,
				      int protocol, int kern);

/**
 * struct vmrpc_native - a family of the guest's own stack
 * @create: the kernel's create function; NULL: not found yet
 * @stream: operations of TCP sockets; NULL: the kernel has not this family
 * @dgram: operations of UDP sockets
 * @tcp: protocol of TCP sockets
 * @udp: protocol of UDP sockets
 */
struct vmrpc_native {
	vmrpc_native_create_fn create;
	const struct proto_ops *stream;
	const struct proto_ops *dgram;
	struct proto *tcp;
	struct proto *udp;
};

/* [0]: PF_INET, [1]: PF_INET6 */
extern struct vmrpc_native vmrpc_natives[2];

static inline const struct vmrpc_native *vmrpc_native(int family)
{
	return &vmrpc_natives[family == PF_INET6];
}

/* The operations of the guest's own stack. */
static inline const struct proto_ops *vmrpc_native_ops(const struct sock *sk)
{
	const struct vmrpc_native *native = vmrpc_native(sk->sk_family);

	return sk->sk_type == SOCK_STREAM ? native->stream : native->dgram;
}

/* Has the kernel sockets of AF_INET6 (CONFIG_IPV6, without ipv6.disable=1)? */
static inline bool vmrpc_native_has_inet6(void)
{
	return vmrpc_native(PF_INET6)->stream;
}

void vmrpc_native_init(void);
vmrpc_native_create_fn vmrpc_native_find(int family);

#endif /* VMRPC_NATIVE_H */
