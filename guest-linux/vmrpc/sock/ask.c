// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests about a host socket
 *
 * One request each, for streams and datagrams.  None of them changes the mode
 * of the socket.
 */
#include <linux/tcp.h>
#include <net/tcp_states.h>

#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/call.h"
#include "sock/netns.h"
#include "transport/pages.h"

/**
 * vmrpc_ask_name - ask the host for an address
 * @vs: has a host socket
 * @op: VMRPC_GETSOCKNAME or VMRPC_GETPEERNAME
 * @name: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_ask_name(struct vmrpc_sock *vs, enum vmrpc_op op,
		   union vmrpc_name *name)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, op);
	int err;

	if (!call)
		return -ENOMEM;
	err = vmrpc_call_run(call);
	if (!err && !vmrpc_addr_get(call, name))
		err = -EIO;
	if (!err && op == VMRPC_GETSOCKNAME)
		vmrpc_netns_name(vs, name);
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_ask_ioctl - ask the host for a number
 * @vs: has a host socket
 * @cmd: SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK
 * @value: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_ask_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_IOCTL);
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.ioctl.cmd = cpu_to_le32(cmd);
	err = vmrpc_call_run(call);
	if (!err)
		*value = le32_to_cpu(call->resp.value);
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_ask_shutdown - shut the host socket down
 * @vs: has a host socket
 * @how: SHUT_RD, SHUT_WR, SHUT_RDWR
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_ask_shutdown(struct vmrpc_sock *vs, int how)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SHUTDOWN);
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.shutdown.how = cpu_to_le32(how);
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_ask_setopt - set an option of the host socket
 * @vs: has a host socket
 * @level: any
 * @name: option
 * @value: its value
 * @len: length of @value, at most VMRPC_OPTVAL_MAX
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_ask_setopt(struct vmrpc_sock *vs, int level, int name,
		     const void *value, unsigned int len)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SETSOCKOPT);
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.opt.level = cpu_to_le32(level);
	call->req.u.opt.name = cpu_to_le32(name);
	memcpy(vmrpc_pages_inline(call, len, false), value, len);
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_ask_getopt - ask for an option of the host socket
 * @vs: has a host socket
 * @level: any
 * @name: option
 * @value: room for the value
 * @len: length of the room, at most the device's getopt_max
 *
 * Returns the length of the value, or a negative errno.
 */
int vmrpc_ask_getopt(struct vmrpc_sock *vs, int level, int name, void *value,
		     unsigned int len)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_GETSOCKOPT);
	void *buf;
	int ret;
	u32 got;

	BUILD_BUG_ON(VMRPC_OPTVAL_LONG_MAX > VMRPC_INLINE_MAX);
	if (!call)
		return -ENOMEM;
	call->req.u.opt.level = cpu_to_le32(level);
	call->req.u.opt.name = cpu_to_le32(name);
	buf = vmrpc_pages_inline(call, len, true);
	ret = vmrpc_call_run(call);
	if (!ret) {
		got = min_t(u32, le32_to_cpu(call->resp.value), len);
		got = min_t(u32, got,
			    call->used - vmrpc_call_answer_head(call));
		memcpy(value, buf, got);
		ret = got;
	}
	vmrpc_call_free(call);
	return ret;
}

/**
 * vmrpc_ask_tcp_state - the state of the host's connection
 * @vs: a stream with a host socket
 *
 * Returns TCP_ESTABLISHED ..., below TCP_MAX_STATES; 0: unknown.
 */
u8 vmrpc_ask_tcp_state(struct vmrpc_sock *vs)
{
	u8 state = 0;

	BUILD_BUG_ON(offsetof(struct tcp_info, tcpi_state));
	if (vmrpc_ask_getopt(vs, IPPROTO_TCP, TCP_INFO, &state, 1) != 1)
		return 0;
	return state < TCP_MAX_STATES ? state : 0;
}
