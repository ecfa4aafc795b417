// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attach the outsourced side to a socket, and detach it
 */
#include "data/buffer.h"
#include "data/kept.h"
#include "host/attach.h"
#include "host/optlist.h"
#include "native/prot.h"
#include "sock/call.h"
#include "sock/sol.h"

/**
 * vmrpc_attach - give a native socket its outsourced side
 * @dev: the device
 * @sock: just created, stream or datagram
 * @ops: our operations for its type
 *
 * Returns 0, -EMFILE if the device has no more sockets, or -ENOMEM.
 */
int vmrpc_attach(struct vmrpc_device *dev, struct socket *sock,
		 const struct proto_ops *ops)
{
	struct sock *sk = sock->sk;
	struct vmrpc_sock *vs;
	int err;

	vs = vmrpc_sock_alloc(dev, sk);
	if (!vs)
		return -ENOMEM;
	vmrpc_buffer_init(vs);
	vmrpc_sol_reset(vs);
	err = vmrpc_sock_enter(vs);
	if (err) {
		vmrpc_sock_put(vs);
		return err;
	}

	/* Connections that a listener accepts are clones of it, and native. */
	write_lock_bh(&sk->sk_callback_lock);
	__rcu_assign_sk_user_data_with_flags(sk, vs, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
	vmrpc_claim_sol_socket(sock);
	vmrpc_prot_set(sk, sk->sk_type == SOCK_DGRAM);
	sock->ops = ops;
	return 0;
}

/* The CLOSE of close_later() is finished. */
static void closed(struct vmrpc_call *call)
{
	vmrpc_handle_free(call->dev, le32_to_cpu(call->req.sock));
}

/* Closes the host socket without waiting; the handle is free afterwards. */
static void close_later(struct vmrpc_sock *vs)
{
	struct vmrpc_call *call;

	vmrpc_handle_park(vs);
	call = vmrpc_call_new(vs, VMRPC_CLOSE);
	call->vs = NULL;
	call->finished = closed;
	if (vmrpc_call_submit(call)) {
		/* Without a device the handle has no meaning. */
		vmrpc_handle_free(vs->dev, vs->handle);
		vmrpc_call_free(call);
	}
}

/**
 * vmrpc_detach - remove the outsourced side from a socket
 * @vs: the socket, which is being released; drops the reference of its program
 */
void vmrpc_detach(struct vmrpc_sock *vs)
{
	bool ours = vmrpc_sk(vs->sk);
	struct sock *sk = vs->sk;

	/* Wait for readers that only have a reference. */
	mutex_lock(&vs->lock);
	vs->released = true;
	mutex_unlock(&vs->lock);
	vmrpc_sock_leave(vs);
	vmrpc_prot_set(sk, false);
	write_lock_bh(&sk->sk_callback_lock);
	if (ours)
		sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE && vs->has_handle)
		close_later(vs);
	else
		vmrpc_handle_drop(vs);
	vmrpc_optlist_free(vs);
	vmrpc_buffer_drop(vs);
	vmrpc_kept_forget(vs);
	vmrpc_sock_put(vs);
}
