// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One message across
 *
 * A call of sendmsg() or recvmsg() is one or more SENDMSG or RECVMSG requests;
 * this is one of them.  Streams and datagrams differ in how they repeat it.
 *
 * Ancillary data travels in the layout of a 64-bit Linux whatever the program
 * is: a header of length (64 bits), level and type, padded to 8 bytes.
 */
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/ip.h>

#include "internal.h"

struct wire_cmsg {
	__le64 len;			/* with this header */
	__le32 level;
	__le32 type;
};

#define WIRE_ALIGN(len)		ALIGN(len, sizeof(__le64))

#define SEND_FLAGS	(MSG_OOB | MSG_MORE | MSG_EOR | MSG_CONFIRM | \
			 MSG_DONTROUTE)
#define RECV_FLAGS	(MSG_OOB | MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)
/* What a program may be told in msg_flags. */
#define TOLD_FLAGS	(MSG_OOB | MSG_EOR | MSG_TRUNC | MSG_CTRUNC | \
			 MSG_ERRQUEUE)

/*
 * Numbers of interfaces stay in the guest: what comes through the host came by
 * vmrpc0, and what names vmrpc0 goes through the host.
 */
static void swap_interface(int level, int type, void *data, size_t len,
			   int from, int to)
{
	struct in_pktinfo *info = data;

	if (level == SOL_IP && type == IP_PKTINFO && len >= sizeof(*info) &&
	    info->ipi_ifindex == from)
		info->ipi_ifindex = to;
}

/* Bytes of the program's ancillary data on the wire, or -EINVAL. */
static ssize_t control_size(struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	size_t size = 0;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		size += WIRE_ALIGN(sizeof(struct wire_cmsg) + cmsg->cmsg_len -
				   sizeof(*cmsg));
		if (size > VMRPC_CONTROL_MAX)
			return -ENOBUFS;
	}
	return size;
}

static int control_put(struct vmrpc_call *call, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	ssize_t size;
	u8 *p;

	if (!msg->msg_controllen)
		return 0;
	size = control_size(msg);
	if (size <= 0)
		return size;
	p = kzalloc(size, GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	call->control = p;
	call->control_len = size;
	for_each_cmsghdr(cmsg, msg) {
		struct wire_cmsg *wire = (struct wire_cmsg *)p;
		size_t len = cmsg->cmsg_len - sizeof(*cmsg);

		wire->len = cpu_to_le64(sizeof(*wire) + len);
		wire->level = cpu_to_le32(cmsg->cmsg_level);
		wire->type = cpu_to_le32(cmsg->cmsg_type);
		memcpy(wire + 1, CMSG_DATA(cmsg), len);
		swap_interface(cmsg->cmsg_level, cmsg->cmsg_type, wire + 1, len,
			       call->dev->ifindex, 0);
		p += WIRE_ALIGN(sizeof(*wire) + len);
	}
	return 0;
}

static int control_room(struct vmrpc_call *call, const struct msghdr *msg)
{
	size_t size = min_t(size_t, msg->msg_controllen, VMRPC_CONTROL_MAX);

	if (!size)
		return 0;
	call->control = kzalloc(size, GFP_KERNEL);
	if (!call->control)
		return -ENOMEM;
	call->control_len = size;
	return 0;
}

/* Hands the host's ancillary data to the program, as far as it is sound. */
static void control_get(struct vmrpc_call *call, struct msghdr *msg)
{
	size_t left = min(le32_to_cpu(call->resp.control_len),
			  call->control_len);
	u8 *p = call->control;

	while (left >= sizeof(struct wire_cmsg)) {
		struct wire_cmsg *wire = (struct wire_cmsg *)p;
		u64 len = le64_to_cpu(wire->len);

		if (len < sizeof(*wire) || len > left)
			return;
		swap_interface(le32_to_cpu(wire->level),
			       le32_to_cpu(wire->type), wire + 1,
			       len - sizeof(*wire), 0, call->dev->ifindex);
		put_cmsg(msg, le32_to_cpu(wire->level),
			 le32_to_cpu(wire->type), len - sizeof(*wire),
			 p + sizeof(*wire));
		len = min_t(size_t, WIRE_ALIGN(len), left);
		p += len;
		left -= len;
	}
}

/* Did the host answer that it does not know the buffer? */
static bool is_stale(const struct vmrpc_call *call, ssize_t n)
{
	return n == -ESTALE && call->data.buffer;
}

/* -ESTALE: the host has lost the buffer, which is not used any more. */
static ssize_t send_once(struct vmrpc_sock *vs, struct msghdr *msg, size_t len,
			 const struct sockaddr_in *to, u32 wait_us)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SENDMSG);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	u32 flags = msg->msg_flags & SEND_FLAGS;
	ssize_t n = -ENOMEM;
	u32 sent = 0;
	int err;

	if (!call)
		return n;
	n = control_put(call, msg);
	if (n)
		goto out;
	if (to)
		vmrpc_addr_put(&call->req.addr, to);
	n = vmrpc_data_place(call, &msg->msg_iter, len, len, false);
	if (n)
		goto out;
	if (call->data.len < len) {
		/* A stream's end comes with another request. */
		n = -EFAULT;
		if (!stream)
			goto out_unmap;
		flags |= MSG_MORE;
	}
	call->req.u.msg.flags = cpu_to_le32(flags);
	call->req.wait_us = cpu_to_le32(wait_us);
	n = vmrpc_call_run(call);
	if (n == -ESTALE && !is_stale(call, n))
		n = -EIO;
	if (!n) {
		sent = le32_to_cpu(call->resp.value);
		n = sent;
		if (sent > call->data.len) {
			sent = 0;
			n = -EIO;
		}
	}
out_unmap:
	err = vmrpc_data_unmap(call, &msg->msg_iter, sent);
	if (err && !sent)
		n = err;
out:
	vmrpc_call_free(call);
	return n;
}

/**
 * vmrpc_message_send - one SENDMSG request
 * @vs: has a host socket
 * @msg: data, ancillary data and flags; advanced by what was sent
 * @len: bytes to send, at most msg_data_left(@msg); streams may send less
 * @to: destination; NULL: the peer
 * @wait_us: how long the host may wait for room
 *
 * Returns the bytes sent, or a negative errno (-EAGAIN: wait for VMRPC_OUT).
 */
ssize_t vmrpc_message_send(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, const struct sockaddr_in *to,
			   u32 wait_us)
{
	ssize_t n;

	do {
		n = send_once(vs, msg, len, to, wait_us);
	} while (n == -ESTALE);
	return n;
}

/* How many bytes came, and how many of them are to be copied. */
static ssize_t received(const struct vmrpc_call *call, bool stream, int flags,
			size_t *copy)
{
	u32 n = le32_to_cpu(call->resp.value);
	size_t got = min_t(size_t, n, call->data.len);

	*copy = 0;
	if (n > INT_MAX || (n > call->data.len && !(flags & MSG_TRUNC)))
		return -EIO;
	/* A stream with MSG_TRUNC discards. */
	if (stream && (flags & MSG_TRUNC))
		return n;
	/* What is not written must not reach the program. */
	if (!call->data.buffer &&
	    call->used < sizeof(call->resp) + call->control_len + got)
		return -EIO;
	*copy = got;
	return n;
}

/* As send_once(). */
static ssize_t recv_once(struct vmrpc_sock *vs, struct msghdr *msg, size_t len,
			 size_t *window, int flags, u32 wait_us)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_RECVMSG);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	struct sockaddr_in from;
	size_t copy = 0;
	ssize_t n = -ENOMEM;
	int err;

	if (!call)
		return n;
	n = control_room(call, msg);
	if (n)
		goto out;
	n = vmrpc_data_place(call, &msg->msg_iter, len, *window, true);
	if (n)
		goto out;
	*window = call->data.len;
	call->req.u.msg.flags = cpu_to_le32(flags & RECV_FLAGS);
	call->req.wait_us = cpu_to_le32(wait_us);
	n = vmrpc_call_run(call);
	if (n == -ESTALE && !is_stale(call, n))
		n = -EIO;
	if (!n)
		n = received(call, stream, flags, &copy);
	err = vmrpc_data_unmap(call, &msg->msg_iter, copy);
	if (n >= 0 && err)
		n = err;
	if (n < 0)
		goto out;

	msg->msg_flags |= le32_to_cpu(call->resp.msg_flags) & TOLD_FLAGS;
	if (msg->msg_name && vmrpc_addr_get(&from, &call->resp.addr)) {
		memcpy(msg->msg_name, &from, sizeof(from));
		msg->msg_namelen = sizeof(from);
	}
	if (call->control)
		control_get(call, msg);
out:
	vmrpc_call_free(call);
	return n;
}

/**
 * vmrpc_message_recv - one RECVMSG request
 * @vs: has a host socket
 * @msg: gets data, address, ancillary data and flags
 * @len: room to use, at most msg_data_left(@msg)
 * @room: of that, what is worth making room for if it costs anything; set to
 *        the room that there was
 * @flags: MSG_PEEK ... as the program gave them
 * @wait_us: how long the host may wait for something to come
 *
 * Returns the bytes received (a datagram's length with MSG_TRUNC), or a
 * negative errno (-EAGAIN: wait for VMRPC_IN).
 */
ssize_t vmrpc_message_recv(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, size_t *room, int flags, u32 wait_us)
{
	size_t window;
	ssize_t n;

	do {
		window = *room;
		n = recv_once(vs, msg, len, &window, flags, wait_us);
	} while (n == -ESTALE);
	*room = window;
	return n;
}
