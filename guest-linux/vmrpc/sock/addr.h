/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses: on the wire, and whether the host can serve them
 */
#ifndef VMRPC_ADDR_H
#define VMRPC_ADDR_H

#include <net/ipv6.h>

#include "sock/sock.h"
#include "transport/transport.h"

/*
 * A name has the family of its socket's operations; functions below take names
 * of this family only, unless they say otherwise.
 */
static inline bool vmrpc_sk_is_inet6(const struct sock *sk)
{
	return sk->sk_family == AF_INET6;
}

/* Bytes of a name, as getsockname() returns it. */
static inline int vmrpc_addr_len(const struct vmrpc_sock *vs)
{
	return vmrpc_sk_is_inet6(vs->sk) ? sizeof(struct sockaddr_in6)
					 : sizeof(struct sockaddr_in);
}

/* Bytes that bind() and connect() need. */
static inline int vmrpc_addr_min(const struct vmrpc_sock *vs)
{
	return vmrpc_sk_is_inet6(vs->sk) ? SIN6_LEN_RFC2133
					 : sizeof(struct sockaddr_in);
}

void vmrpc_addr_put(struct vmrpc_call *call, const union vmrpc_name *from);
bool vmrpc_addr_get(struct vmrpc_call *call, union vmrpc_name *to);

union vmrpc_name vmrpc_addr_any(const struct vmrpc_sock *vs);
union vmrpc_name vmrpc_addr_self(const struct vmrpc_sock *vs);
union vmrpc_name vmrpc_addr_bound(const struct vmrpc_sock *vs);
union vmrpc_name vmrpc_addr_native_peer(const struct vmrpc_sock *vs);
void vmrpc_addr_fill(const struct vmrpc_sock *vs, union vmrpc_name *to,
		     const void *from, int len);

bool vmrpc_addr_is_any(const union vmrpc_name *name);
bool vmrpc_addr_get4(const union vmrpc_name *name, __be32 *addr);
bool vmrpc_addr_is_multicast(const union vmrpc_name *name);
bool vmrpc_addr_is_of_interface(const union vmrpc_name *name);
int vmrpc_addr_scope(const union vmrpc_name *name);

bool vmrpc_addr_has_native_peer(const struct sock *sk);
bool vmrpc_addr_is_native(const struct vmrpc_sock *vs,
			  const union vmrpc_name *to);
bool vmrpc_addr_is_native4(const struct vmrpc_sock *vs, __be32 addr);
bool vmrpc_addr_is_shared(const struct vmrpc_sock *vs,
			  const union vmrpc_name *name);
__be32 vmrpc_addr_chosen_source(const struct vmrpc_sock *vs);
int vmrpc_addr_chosen_device(const struct vmrpc_sock *vs);
bool vmrpc_addr_device_is_other(const struct vmrpc_sock *vs);
bool vmrpc_addr_bound_elsewhere(const struct vmrpc_sock *vs);

#endif /* VMRPC_ADDR_H */
