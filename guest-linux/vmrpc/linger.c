// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SO_LINGER with a time
 *
 * A host socket never lingers, since it would hold up whoever closes it, and so
 * the vCPU.  The guest's close() shuts it down instead and waits, as tcp_close()
 * does, until its state says that the peer has acknowledged the end.  Each change
 * of the state is an edge, of which the host tells.
 */
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/tcp_states.h>

#include "internal.h"

/* Has the peer not acknowledged all, the end included?  As tcp_close() asks. */
static bool is_closing(struct vmrpc_sock *vs)
{
	return (1 << vmrpc_sock_tcp_state(vs)) &
	       (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK);
}

/**
 * vmrpc_linger - close() waits until the peer has everything
 * @vs: a stream with a peer; nobody else uses it any more
 *
 * If the program wants that, for as long as it wants.
 */
void vmrpc_linger(struct vmrpc_sock *vs)
{
	wait_queue_head_t *wq = sk_sleep(vs->sk);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long timeo = vs->sk->sk_lingertime;
	int left;

	if (!sock_flag(vs->sk, SOCK_LINGER) || !vs->sk->sk_lingertime ||
	    (current->flags & PF_EXITING))
		return;
	/* Data that nobody has read make it a reset, which is done at once. */
	if (vmrpc_message_kept(vs) ||
	    vmrpc_sock_ioctl(vs, SIOCINQ, &left) || left ||
	    vmrpc_sock_shutdown(vs, SHUT_WR))
		return;
	vmrpc_sock_watch_edges(vs);
	add_wait_queue(wq, &wait);
	while (timeo && !signal_pending(current) && is_closing(vs))
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	remove_wait_queue(wq, &wait);
}
