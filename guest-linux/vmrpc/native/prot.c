// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions of the kernel that do not use the operations of a socket
 *
 * The commands SIOCINQ and SIOCOUTQ of io_uring call sk_prot->ioctl of the sock
 * itself.  So a sock that the host serves has a copy of its protocol, in which
 * only this function is ours.  All other members are the original's values or
 * pointers: counters, tables, the slab.  The sock goes back by sk_prot_creator,
 * which stays.
 *
 * A stream has the copy only while it is connected on the host: connections
 * that a listener accepts natively are clones of the listener, and would
 * outlive this module.  Datagram sockets have no clones, and the host may have
 * the answer at any time.  Both lose the copy before they are released: the
 * sock may live on, but the socket, and so this module, stays while a call is
 * under way.
 */
#include <net/ping.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "native/native.h"
#include "native/prot.h"

#ifdef VMRPC_HAVE_URING_CMD
/* [0]: of AF_INET, [1]: of AF_INET6 */
static struct proto tcp_copy[2] __ro_after_init;
static struct proto udp_copy[2] __ro_after_init;

/**
 * vmrpc_prot_init - to be called once, before there are sockets and after
 * vmrpc_native_init()
 * @stream: answers for TCP sockets
 * @dgram: answers for UDP sockets
 */
void __init vmrpc_prot_init(vmrpc_prot_ioctl stream, vmrpc_prot_ioctl dgram)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmrpc_natives); i++) {
		if (!vmrpc_natives[i].stream)
			continue;
		tcp_copy[i] = *vmrpc_natives[i].tcp;
		tcp_copy[i].ioctl = stream;
		udp_copy[i] = *vmrpc_natives[i].udp;
		udp_copy[i].ioctl = dgram;
	}
}

/**
 * vmrpc_prot_set - let our function answer for a sock, or the kernel's own
 * @sk: with an outsourced side
 * @ours: our function; a stream must have no native listener then
 *
 * Does nothing for ping sockets.
 */
void vmrpc_prot_set(struct sock *sk, bool ours)
{
	const struct vmrpc_native *native = vmrpc_native(sk->sk_family);
	unsigned int i = native - vmrpc_natives;

	if (sk->sk_protocol == IPPROTO_TCP)
		WRITE_ONCE(sk->sk_prot, ours ? &tcp_copy[i] : native->tcp);
	else if (sk->sk_protocol == IPPROTO_UDP)
		WRITE_ONCE(sk->sk_prot, ours ? &udp_copy[i] : native->udp);
}
#endif
