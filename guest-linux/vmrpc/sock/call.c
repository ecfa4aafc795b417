// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls for a socket
 *
 * An answer also reports what its socket is ready for.
 */
#include "sock/call.h"
#include "sock/ready.h"

/**
 * vmrpc_call_new - a call for a socket
 * @vs: the socket; its handle and generation go into the request
 * @op: the operation
 *
 * Returns the call, all other fields zero; free it with vmrpc_call_free().
 * NULL: no memory; not possible with VMRPC_CLOSE and VMRPC_SHUTDOWN.
 */
struct vmrpc_call *vmrpc_call_new(struct vmrpc_sock *vs, enum vmrpc_op op)
{
	/* A program cannot be told that the end of a connection failed. */
	bool must = op == VMRPC_CLOSE || op == VMRPC_SHUTDOWN;
	gfp_t gfp = vmrpc_sock_gfp(vs);
	struct vmrpc_call *call;

	call = vmrpc_call_alloc(vs->dev, op, must ? gfp | __GFP_NOFAIL : gfp);
	if (!call)
		return NULL;
	call->vs = vs;
	call->gfp = gfp;
	call->partial = vs->sk->sk_type == SOCK_STREAM;
	call->inet6 = vs->sk->sk_family == AF_INET6;
	call->req.sock = cpu_to_le32(vs->handle);
	call->req.gen = cpu_to_le32(vs->gen);
	return call;
}

/**
 * vmrpc_call_new_device - a call for the device, not for a socket
 * @dev: the device
 * @op: the operation
 *
 * Returns as vmrpc_call_new().
 */
struct vmrpc_call *vmrpc_call_new_device(struct vmrpc_device *dev,
					 enum vmrpc_op op)
{
	struct vmrpc_call *call = vmrpc_call_alloc(dev, op, GFP_KERNEL);

	if (call)
		call->req.sock = cpu_to_le32(U32_MAX);
	return call;
}

/**
 * vmrpc_call_run - submit a call, wait for its answer and take its report
 * @call: without vmrpc_call.finished
 *
 * Returns as vmrpc_call_submit() or vmrpc_call_wait().
 */
int vmrpc_call_run(struct vmrpc_call *call)
{
	const struct vmrpc_resp *resp = &call->resp;
	bool watched;
	int err;

	err = vmrpc_call_submit(call);
	if (err)
		return err;
	err = vmrpc_call_wait(call);
	if (!call->vs || call->status)
		return err;
	watched = le32_to_cpu(resp->flags) & VMRPC_RESP_WATCHED;
	vmrpc_ready_report(call->vs, le32_to_cpu(call->req.gen),
			   le32_to_cpu(resp->ready),
			   le32_to_cpu(resp->ready_seq),
			   le32_to_cpu(resp->so_error), 0, watched);
	return err;
}

/**
 * vmrpc_call_run_simple - a call without arguments and results
 * @vs: the socket
 * @op: the operation
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_call_run_simple(struct vmrpc_sock *vs, enum vmrpc_op op)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, op);
	int err;

	if (!call)
		return -ENOMEM;
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}
