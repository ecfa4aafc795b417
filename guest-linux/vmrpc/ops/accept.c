// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * listen(2) and accept(2)
 *
 * A listener listens on one port in the guest and on the host, and accept()
 * takes from either queue.
 */
#include <linux/module.h>
#include <linux/security.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "host/attach.h"
#include "host/bind.h"
#include "host/host.h"
#include "host/wait.h"
#include "native/native.h"
#include "ops/accept.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/call.h"
#include "sock/ready.h"
#include "sock/sol.h"

/* Caller must hold vs->lock.  After an error the host does not listen. */
static int host_listen(struct vmrpc_sock *vs, int backlog)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_LISTEN);
	union vmrpc_name local;
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.listen.backlog = cpu_to_le32(backlog);
	err = vmrpc_call_run(call);
	/* Connections of an earlier listener may have taken the port. */
	if (!err && (!vmrpc_addr_get(call, &local) ||
		     local.in.sin_port != htons(inet_sk(vs->sk)->inet_num))) {
		vmrpc_host_close(vs);
		err = -EADDRINUSE;
	}
	vmrpc_call_free(call);
	return err;
}

/* Caller must hold vs->lock; the socket has a port.  Both sides or none. */
static int listen_both(struct socket *sock, struct vmrpc_sock *vs, int backlog)
{
	int err;

	if (vmrpc_sock_mode(vs) == VMRPC_REMOTE)
		return -EINVAL;
	if (vmrpc_sock_is_contained(vs))
		vmrpc_host_close(vs);
	if (vmrpc_sock_is_contained(vs) || vmrpc_addr_bound_elsewhere(vs) ||
	    sock->state != SS_UNCONNECTED)
		return inet_listen(sock, backlog);
	err = vmrpc_host_open(vs);
	if (!err && vmrpc_sol_sync(vs) == VMRPC_USE_NATIVE)
		err = VMRPC_USE_NATIVE;
	if (err == VMRPC_USE_NATIVE) {
		vmrpc_host_turn_native(vs);
		return inet_listen(sock, backlog);
	}
	if (err)
		return err;
	/* An earlier shutdown() also applies to accepted connections. */
	if (vs->sk->sk_shutdown && vs->sk->sk_state != TCP_LISTEN)
		vmrpc_ask_shutdown(vs, vs->sk->sk_shutdown - 1);
	err = host_listen(vs, backlog);
	if (err)
		return err;
	err = inet_listen(sock, backlog);
	if (err)
		vmrpc_ask_shutdown(vs, SHUT_RDWR);
	return err;
}

/**
 * vmrpc_listen - listen(2)
 * @sock: the socket
 * @backlog: length of the queue, on each side
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_listen(struct socket *sock, int backlog)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	union vmrpc_name any;
	int err;

	if (!vs)
		return inet_listen(sock, backlog);
	/* Both sides must choose the same port. */
	if (!inet_sk(sock->sk)->inet_num &&
	    vmrpc_sock_mode(vs) != VMRPC_REMOTE &&
	    sock->state == SS_UNCONNECTED) {
		any = vmrpc_addr_any(vs);
		err = vmrpc_bind(sock, (struct vmrpc_sockaddr *)&any,
				 vmrpc_addr_len(vs));
		if (err)
			return err;
	}
	mutex_lock(&vs->lock);
	err = listen_both(sock, vs, backlog);
	mutex_unlock(&vs->lock);
	return err;
}

static bool native_acceptable(struct sock *sk)
{
	return !reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue) ||
	       READ_ONCE(sk->sk_state) != TCP_LISTEN;
}

/* A connection within the guest is native. */
static int accept_native(struct socket *sock, struct socket *newsock,
			 struct proto_accept_arg *arg)
{
	int err = vmrpc_inet_accept(sock, newsock, arg);

	/* A socket of the kernel gets the listener's ops and module later. */
	if (!err && !arg->kern) {
		newsock->ops = vmrpc_native(sock->sk->sk_family)->stream;
		/* The core took a module reference for newsock. */
		module_put(THIS_MODULE);
	}
	return err;
}

static int try_accept_native(struct socket *sock, struct socket *newsock,
			     const struct proto_accept_arg *arg)
{
	struct proto_accept_arg once = *arg;

	if (!native_acceptable(sock->sk))
		return -EAGAIN;
	once.flags |= O_NONBLOCK;
	return accept_native(sock, newsock, &once);
}

/* Asks the host for a connection and its peer. */
static int host_accept(struct vmrpc_sock *vs, struct vmrpc_sock *child)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_ACCEPT);
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.accept.sock = cpu_to_le32(child->handle);
	call->req.u.accept.gen = cpu_to_le32(child->gen);
	err = vmrpc_call_run(call);
	if (!err) {
		vmrpc_ready_begin(child, le32_to_cpu(call->resp.value));
		/* From here on there is a host socket that must be closed. */
		vmrpc_ready_show(child, VMRPC_REMOTE);
		/* It may have been reset already: ask for the error. */
		if (vmrpc_sock_ready(child) & (VMRPC_HUP | VMRPC_ERR))
			vmrpc_wait_ask(child);
		if (!vmrpc_addr_get(call, &child->peer))
			err = -EIO;
	}
	vmrpc_call_free(call);
	return err;
}

/* What stays on the native side of a socket of AF_INET6 (option/sockopt.c). */
static void inherit_inet6(struct sock *child, const struct sock *parent)
{
	if (!vmrpc_sk_is_inet6(parent))
		return;
	child->sk_ipv6only = parent->sk_ipv6only;
	inet_sk(child)->uc_ttl = inet_sk(parent)->uc_ttl;
	inet_sk(child)->tos = inet_sk(parent)->tos;
}

static int try_accept_remote(struct socket *sock, struct vmrpc_sock *vs,
			     struct socket *newsock,
			     const struct proto_accept_arg *arg)
{
	struct vmrpc_sock *child;
	int err;

	if (!(vmrpc_sock_ready(vs) & VMRPC_IN))
		return -EAGAIN;
	/* Do all that can fail before the connection is taken. */
	err = vmrpc_native(sock->sk->sk_family)->create(sock_net(sock->sk),
							newsock, IPPROTO_TCP,
							0);
	if (err) {
		/* If a BPF program refuses, some kernels leave a freed sock. */
		newsock->sk = NULL;
		goto out;
	}
	err = vmrpc_attach(vs->dev, newsock, sock->ops);
	if (err)
		goto out_release;
	child = vmrpc_sk(newsock->sk);
	err = host_accept(vs, child);
	if (err)
		goto out_detach;
	vmrpc_sol_inherit(child, vs);
	inherit_inet6(newsock->sk, vs->sk);
	/* As natively, the listener gives its security label. */
	security_sk_clone(vs->sk, newsock->sk);
	security_sock_graft(newsock->sk, newsock);
	newsock->state = SS_CONNECTED;
	return 0;

out_detach:
	vmrpc_detach(child);
	/* newsock may be used for a connection within the guest next. */
	vmrpc_disclaim_sol_socket(newsock);
out_release:
	vmrpc_native_ops(newsock->sk)->release(newsock);
out:
	/*
	 * When the core releases newsock it puts the module of these ops.  For
	 * a socket of the kernel it has not taken the module yet.
	 */
	newsock->ops = arg->kern ? NULL : sock->ops;
	return err;
}

/* Tries each side once, and first the one whose turn it is. */
static int accept_either(struct socket *sock, struct vmrpc_sock *vs,
			 struct socket *newsock, struct proto_accept_arg *arg)
{
	bool native = vs->native_turn;
	unsigned int i;
	int err = -EAGAIN;

	vs->native_turn = !native;
	for (i = 0; i < 2 && err == -EAGAIN; i++) {
		err = native ? try_accept_native(sock, newsock, arg)
			     : try_accept_remote(sock, vs, newsock, arg);
		native = !native;
	}
	return err;
}

/**
 * vmrpc_accept - accept(2)
 * @sock: the listener
 * @newsock: gets the connection
 * @arg: as of the operation
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_accept(struct socket *sock, struct socket *newsock,
		 struct proto_accept_arg *arg)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	struct sock *sk = sock->sk;
	bool again = false;
	long timeo;
	int err;

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_BOTH)
		return accept_native(sock, newsock, arg);
	timeo = sock_rcvtimeo(sk, arg->flags & O_NONBLOCK);
	for (;;) {
		if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
			return -EINVAL;
		vmrpc_host_refresh_or_turn_native(vs);
		if (vmrpc_sock_mode(vs) != VMRPC_BOTH)
			return accept_native(sock, newsock, arg);
		err = accept_either(sock, vs, newsock, arg);
		if (err != -EAGAIN)
			return err;
		/* Another task has been faster: pause if it happens again. */
		if (again && (vmrpc_sock_ready(vs) & VMRPC_IN)) {
			err = vmrpc_wait_pause(&timeo);
			if (err)
				return err;
		}
		err = vmrpc_wait(vs, VMRPC_IN, native_acceptable, &timeo);
		if (err)
			return err;
		again = true;
	}
}
