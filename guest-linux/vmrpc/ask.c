// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the host is asked, or told, of a socket that it has
 *
 * One request each, which streams and datagrams share.  None of these changes
 * who serves the socket.
 */
#include <linux/tcp.h>
#include <net/tcp_states.h>

#include "internal.h"

/**
 * vmrpc_sock_name - ask the host for an address
 * @vs: has a host socket
 * @op: VMRPC_GETSOCKNAME or VMRPC_GETPEERNAME
 * @sin: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_sock_name(struct vmrpc_sock *vs, enum vmrpc_op op,
		    struct sockaddr_in *sin)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, op);
	int err;

	if (!call)
		return -ENOMEM;
	err = vmrpc_call_run(call);
	if (!err && !vmrpc_addr_get(sin, &call->resp.addr))
		err = -EIO;
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_sock_ioctl - ask the host for a number
 * @vs: has a host socket
 * @cmd: SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK
 * @value: set on success
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_sock_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value)
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

#ifdef CONFIG_COMPAT
/**
 * vmrpc_compat_ioctl - ioctl(2) of 32-bit programs, as far as it differs
 * @sock: the socket
 * @cmd: command
 * @arg: argument
 *
 * Returns 0 or a negative errno, -ENOIOCTLCMD for those that do not differ.
 */
int vmrpc_compat_ioctl(struct socket *sock, unsigned int cmd,
		       unsigned long arg)
{
	return vmrpc_native_ops(sock->sk)->compat_ioctl(sock, cmd, arg);
}
#endif

/**
 * vmrpc_sock_shutdown - shut the host socket down
 * @vs: has a host socket
 * @how: SHUT_RD, SHUT_WR, SHUT_RDWR
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_sock_shutdown(struct vmrpc_sock *vs, int how)
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
 * vmrpc_sock_setopt - set an option of the host socket
 * @vs: has a host socket
 * @level: any
 * @name: option
 * @value: its value
 * @len: how long that is, at most VMRPC_OPTVAL_MAX
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_sock_setopt(struct vmrpc_sock *vs, int level, int name,
		      const void *value, unsigned int len)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SETSOCKOPT);
	int err;

	if (!call)
		return -ENOMEM;
	call->req.u.opt.level = cpu_to_le32(level);
	call->req.u.opt.name = cpu_to_le32(name);
	memcpy(vmrpc_data_inline(call, len, false), value, len);
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_sock_getopt - ask for an option of the host socket
 * @vs: has a host socket
 * @level: any
 * @name: option
 * @value: room for the value
 * @len: how much, at most VMRPC_OPTVAL_MAX
 *
 * Returns how much was used, or a negative errno.
 */
int vmrpc_sock_getopt(struct vmrpc_sock *vs, int level, int name, void *value,
		      unsigned int len)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_GETSOCKOPT);
	void *buf;
	int ret;
	u32 got;

	if (!call)
		return -ENOMEM;
	call->req.u.opt.level = cpu_to_le32(level);
	call->req.u.opt.name = cpu_to_le32(name);
	buf = vmrpc_data_inline(call, len, true);
	ret = vmrpc_call_run(call);
	if (!ret) {
		got = min_t(u32, le32_to_cpu(call->resp.value), len);
		got = min_t(u32, got, call->used - sizeof(call->resp));
		memcpy(value, buf, got);
		ret = got;
	}
	vmrpc_call_free(call);
	return ret;
}

/**
 * vmrpc_sock_tcp_state - the state of the host's connection
 * @vs: a stream with a host socket
 *
 * Returns TCP_ESTABLISHED ..., below TCP_MAX_STATES; 0: the host does not say.
 */
u8 vmrpc_sock_tcp_state(struct vmrpc_sock *vs)
{
	u8 state = 0;

	BUILD_BUG_ON(offsetof(struct tcp_info, tcpi_state));
	if (vmrpc_sock_getopt(vs, IPPROTO_TCP, TCP_INFO, &state, 1) != 1)
		return 0;
	return state < TCP_MAX_STATES ? state : 0;
}
