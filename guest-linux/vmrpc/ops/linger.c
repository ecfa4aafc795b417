// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SO_LINGER with a time
 *
 * A host socket never lingers: it would block the thread that closes it, and so
 * the vCPU.  Instead, the guest's close() shuts it down and waits, as
 * tcp_close() does, until its state shows that the peer has acknowledged the
 * FIN.  Each change of the state is an edge, which the host reports.
 */
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/tcp_states.h>

#include "data/kept.h"
#include "host/wait.h"
#include "ops/linger.h"
#include "sock/ask.h"

/* Has the peer not acknowledged all data and the FIN?  As in tcp_close(). */
static bool is_closing(struct vmrpc_sock *vs)
{
	return (1 << vmrpc_ask_tcp_state(vs)) &
	       (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK);
}

/**
 * vmrpc_linger - let close() wait until the peer has acknowledged everything
 * @vs: a stream with a peer; nobody else uses it
 *
 * Only if SO_LINGER is set, and for at most its time.
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
	/* With unread data close() sends a reset, and does not wait. */
	if (vmrpc_kept_exists(vs) ||
	    vmrpc_ask_ioctl(vs, SIOCINQ, &left) || left ||
	    vmrpc_ask_shutdown(vs, SHUT_WR))
		return;
	vmrpc_wait_watch_edges(vs);
	add_wait_queue(wq, &wait);
	while (timeo && !signal_pending(current) && is_closing(vs))
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	remove_wait_queue(wq, &wait);
}
