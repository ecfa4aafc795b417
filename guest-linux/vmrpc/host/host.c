// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host socket: open, bind, connect, close
 *
 * A function that lets the guest alone serve a socket has turn_native in its
 * name.  The others return VMRPC_USE_NATIVE if the host cannot serve it, and
 * the caller calls vmrpc_host_turn_native().
 */
#include "host/host.h"
#include "host/optlist.h"
#include "sock/addr.h"
#include "sock/call.h"
#include "sock/netns.h"
#include "sock/ready.h"
#include "sock/sol.h"

/**
 * vmrpc_host_close - close the host socket
 * @vs: caller must hold vs->lock; VMRPC_NATIVE afterwards, keeps its handle
 */
void vmrpc_host_close(struct vmrpc_sock *vs)
{
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return;
	vmrpc_sock_set_mode(vs, VMRPC_NATIVE);
	WRITE_ONCE(vs->unfinished, false);
	if (vmrpc_call_run_simple(vs, VMRPC_CLOSE))
		pr_debug("vmrpc: close of handle %u failed\n", vs->handle);
	/* Wake waiting tasks: there will be no more events. */
	vmrpc_ready_wake(vs, 0);
}

/**
 * vmrpc_host_turn_native - let only the guest serve the socket
 * @vs: caller must hold vs->lock
 *
 * Closes the host socket and gives the handle back.
 */
void vmrpc_host_turn_native(struct vmrpc_sock *vs)
{
	vmrpc_host_close(vs);
	vmrpc_handle_drop(vs);
}

/**
 * vmrpc_host_refresh_or_turn_native - send changed options to the host, or let
 * only the guest serve a socket that is bound to another interface
 * @vs: caller must not hold vs->lock
 *
 * The socket stays as it is if another task has bound it otherwise meanwhile.
 */
void vmrpc_host_refresh_or_turn_native(struct vmrpc_sock *vs)
{
	if (vmrpc_sol_refresh(vs) != VMRPC_USE_NATIVE)
		return;
	mutex_lock(&vs->lock);
	if (vmrpc_sol_is_elsewhere(vs))
		vmrpc_host_turn_native(vs);
	mutex_unlock(&vs->lock);
}

static void put_kind(struct vmrpc_call *call, const struct vmrpc_sock *vs)
{
	call->req.u.socket.type = cpu_to_le32(vs->sk->sk_type);
	call->req.u.socket.protocol = cpu_to_le32(vs->sk->sk_protocol);
}

static int host_socket(struct vmrpc_sock *vs)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SOCKET);
	int err;

	if (!call)
		return -ENOMEM;
	put_kind(call, vs);
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}

/*
 * Runs a BIND or CONNECT.  If vs->opening is set, it makes the host socket.
 * @mode: the mode after success; set at once, because pollers of a stream must
 *        not see both sides
 */
static int run_opening(struct vmrpc_sock *vs, struct vmrpc_call *call,
		       enum vmrpc_mode mode)
{
	bool opens = vs->opening;
	int err;

	vs->opening = false;
	if (opens) {
		call->req.flags |= cpu_to_le16(VMRPC_REQ_OPEN);
		put_kind(call, vs);
	}
	err = vmrpc_call_run(call);
	if (!opens)
		return err;
	if (le32_to_cpu(call->resp.flags) & VMRPC_RESP_OPENED)
		vmrpc_ready_show(vs, !err || err == -EINPROGRESS ?
				     mode : VMRPC_BOTH);
	else if (!err)
		err = -EIO;
	return err;
}

/**
 * vmrpc_host_bind - bind the host socket
 * @vs: caller must hold vs->lock; has a host socket, or it is being opened
 * @to: address that the host can bind to, and port
 * @port: set to the port that the host socket got
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_host_bind(struct vmrpc_sock *vs, const union vmrpc_name *to,
		    __be16 *port)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_BIND);
	union vmrpc_name bound;
	int err;

	if (!call)
		return -ENOMEM;
	vmrpc_addr_put(call, to);
	err = run_opening(vs, call, VMRPC_BOTH);
	if (!err) {
		if (vmrpc_addr_get(call, &bound))
			*port = bound.in.sin_port;
		else
			err = -EIO;
	}
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_host_connect - connect the host socket, or dissolve its connection
 * @vs: caller must hold vs->lock; has a host socket, or it is being opened
 * @to: the peer; NULL: dissolve
 * @wait_us: how long the host may wait for the connection to be made
 * @watch: the host reports the result by events; for a program that does not
 *         wait in this call
 *
 * Sets vs->local and vs->peer unless it fails.  Returns 0, -EINPROGRESS or
 * another negative errno.  If the mode is VMRPC_NATIVE after an error, the host
 * socket could not be opened.
 */
int vmrpc_host_connect(struct vmrpc_sock *vs, const union vmrpc_name *to,
		       u32 wait_us, bool watch)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_CONNECT);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	int err;

	if (!call)
		return -ENOMEM;
	if (to)
		vmrpc_addr_put(call, to);
	call->req.wait_us = cpu_to_le32(wait_us);
	/* A task that polls it already may never wait in a call. */
	if (watch || (stream && to && wq_has_sleeper(sk_sleep(vs->sk))))
		call->req.flags |= cpu_to_le16(VMRPC_REQ_WATCH);
	err = run_opening(vs, call, stream ? VMRPC_REMOTE : VMRPC_BOTH);
	if (!err || err == -EINPROGRESS) {
		memset(&vs->local, 0, sizeof(vs->local));
		memset(&vs->peer, 0, sizeof(vs->peer));
		if (to) {
			if (vmrpc_addr_get(call, &vs->local))
				vmrpc_netns_name(vs, &vs->local);
			vmrpc_addr_fill(vs, &vs->peer, to, vmrpc_addr_len(vs));
		}
	}
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_host_connect_self - let a host socket of UDP receive nothing more
 * @vs: caller must hold vs->lock; has a host socket that is bound
 *
 * Connects it to the guest's own address.  Queued datagrams stay, and it can
 * still send.  Returns 0 or a negative errno.
 */
int vmrpc_host_connect_self(struct vmrpc_sock *vs)
{
	union vmrpc_name self = vmrpc_addr_self(vs);

	return vmrpc_host_connect(vs, &self, 0, false);
}

/* Prepares a new host socket.  Returns 0 or a negative errno. */
static int prepare_open(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sol_is_in_the_way(vs))
		return -ENOPROTOOPT;
	err = vmrpc_handle_alloc(vs);
	if (err)
		return err;
	vmrpc_handle_renew(vs);
	vmrpc_sol_reset(vs);
	vs->opening = false;
	return 0;
}

/*
 * A container's socket takes no port of the guest: the host chooses one, for a
 * stream when it connects.  The identifier of ping is part of its messages.
 */
static int bind_contained(struct vmrpc_sock *vs)
{
	union vmrpc_name to = vmrpc_addr_any(vs);
	int err = -EADDRINUSE;
	__be16 port;

	if (vs->sk->sk_type == SOCK_STREAM)
		return 0;
	if (vmrpc_sk_is_ping(vs->sk)) {
		to.in.sin_port = htons(inet_sk(vs->sk)->inet_num);
		err = vmrpc_host_bind(vs, &to, &port);
		to.in.sin_port = 0;
	}
	return err == -EADDRINUSE ? vmrpc_host_bind(vs, &to, &port) : err;
}

/* Gives a new host socket the port of the native side. */
static int bind_as_native(struct vmrpc_sock *vs)
{
	union vmrpc_name to = vmrpc_addr_bound(vs);
	__be16 port;
	int err;

	if (!to.in.sin_port)
		return 0;
	err = vmrpc_sock_is_contained(vs) ? bind_contained(vs) :
	      vmrpc_host_bind(vs, &to, &port);
	/* A socket with a local peer only sends here: it receives nothing. */
	if (!err && vmrpc_addr_has_native_peer(vs->sk) &&
	    vs->sk->sk_protocol == IPPROTO_UDP)
		err = vmrpc_host_connect_self(vs);
	return err;
}

/* Makes the socket that prepare_open() has prepared; as vmrpc_host_open(). */
static int open_prepared(struct vmrpc_sock *vs)
{
	int err;

	err = host_socket(vs);
	if (err)
		return err;
	vmrpc_sock_set_mode(vs, VMRPC_BOTH);

	err = vmrpc_optlist_replay(vs);
	if (!err && vmrpc_sol_sync(vs) == VMRPC_USE_NATIVE)
		return VMRPC_USE_NATIVE;
	if (!err)
		err = bind_as_native(vs);
	if (err)
		vmrpc_host_close(vs);
	else
		/* Waiting tasks must look at both sides now. */
		vmrpc_ready_wake_tasks(vs, VMRPC_IN);
	return err;
}

/**
 * vmrpc_host_open - make the host socket unless there is one
 * @vs: caller must hold vs->lock; VMRPC_BOTH afterwards
 *
 * The new host socket gets the remembered options and, if the native side is
 * bound, its port (bind_as_native()).
 *
 * Returns 0, VMRPC_USE_NATIVE if the socket is bound to another interface, or a
 * negative errno; after an errno there is no host socket.  -ENOPROTOOPT: the
 * socket has an option that a host socket cannot have.
 */
int vmrpc_host_open(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		return 0;
	err = prepare_open(vs);
	return err ? err : open_prepared(vs);
}

/**
 * vmrpc_host_open_with - open the host socket with the call that follows
 * @vs: caller must hold vs->lock, and goes on to vmrpc_host_bind() or
 *      vmrpc_host_connect() if this returns 0
 *
 * If no option was set and the socket is not bound, the BIND or CONNECT makes
 * the host socket.  Otherwise it is made here.  The host has the options of
 * SOL_SOCKET afterwards.
 *
 * Returns as vmrpc_host_open(); an error of the host may also come from the
 * call that follows.
 */
int vmrpc_host_open_with(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		goto out;
	err = prepare_open(vs);
	if (err)
		return err;
	vs->opening = list_empty(&vs->opts) && !inet_sk(vs->sk)->inet_num &&
		      !vmrpc_sol_stale(vs);
	if (vs->opening)
		return 0;
	err = open_prepared(vs);
	if (err)
		return err;
out:
	return vmrpc_sol_sync(vs) == VMRPC_USE_NATIVE ? VMRPC_USE_NATIVE : 0;
}
