// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel asks past the operations of a socket
 *
 * io_uring's commands SIOCINQ and SIOCOUTQ call sk_prot->ioctl of the sock
 * itself.  So a sock that the host serves has a copy of its protocol, in which
 * only this function is ours.  Everything else of the copy is what the
 * original's is, or points to it: counters, tables, the slab.  The sock goes
 * back by sk_prot_creator, which stays.
 *
 * A stream has the copy only while it is connected on the host: connections
 * that a listener accepts natively are clones of it, and would outlive us.  Of
 * a datagram socket there are no clones, and with it the host may have the
 * answer at any time.  Both lose it before they are released: the sock may live
 * on, while the socket, and so our module, stays for as long as one asks.
 */
#include <net/ping.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "internal.h"

#ifdef VMRPC_HAVE_URING_CMD
static struct proto tcp_copy __ro_after_init;
static struct proto udp_copy __ro_after_init;

/**
 * vmrpc_prot_init - to be called once, before there are sockets
 */
void __init vmrpc_prot_init(void)
{
	tcp_copy = tcp_prot;
	tcp_copy.ioctl = vmrpc_stream_prot_ioctl;
	udp_copy = udp_prot;
	udp_copy.ioctl = vmrpc_dgram_prot_ioctl;
}

/**
 * vmrpc_prot_set - have questions about a sock come to us, or not any more
 * @sk: with an outsourced side
 * @ours: a stream's must have no native listener
 *
 * Ping sockets cannot be asked.
 */
void vmrpc_prot_set(struct sock *sk, bool ours)
{
	if (sk->sk_protocol == IPPROTO_TCP)
		WRITE_ONCE(sk->sk_prot, ours ? &tcp_copy : &tcp_prot);
	else if (sk->sk_protocol == IPPROTO_UDP)
		WRITE_ONCE(sk->sk_prot, ours ? &udp_copy : &udp_prot);
}
#endif
