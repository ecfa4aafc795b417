// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One SENDMSG or RECVMSG request
 *
 * A sendmsg() or recvmsg() is one or more of these requests.  Streams and
 * datagrams differ in how they repeat it.
 *
 * Ancillary data has the layout of a 64-bit Linux, also for a 32-bit program: a
 * header with length (64 bits), level and type, padded to 8 bytes.
 *
 * The host gives the moments of timestamps; transport/clock.c turns them into
 * timestamps of the guest.
 */
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/uio.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "data/data.h"
#include "data/kept.h"
#include "data/message.h"
#include "sock/addr.h"
#include "sock/call.h"
#include "sock/sol.h"
#include "transport/pages.h"

struct wire_cmsg {
	__le64 len;			/* with this header */
	__le32 level;
	__le32 type;
};

#define WIRE_ALIGN(len)		ALIGN(len, sizeof(__le64))

/* The largest that is_sound() allows: scm_timestamping has three times. */
#define LARGEST_PAYLOAD		(6 * sizeof(s64))
#define LARGEST_CONTROL		(sizeof(struct wire_cmsg) + LARGEST_PAYLOAD)

#define SEND_FLAGS	(MSG_OOB | MSG_MORE | MSG_EOR | MSG_CONFIRM | \
			 MSG_DONTROUTE)
#define RECV_FLAGS	(MSG_OOB | MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)
/* Flags that the host may set in msg_flags of the program. */
#define RESULT_FLAGS	(MSG_OOB | MSG_EOR | MSG_TRUNC | MSG_CTRUNC | \
			 MSG_ERRQUEUE)

/*
 * Interface indexes have no meaning on the wire, where 0 stands for vmrpc0: a
 * message from the host arrived on vmrpc0, and a message for vmrpc0 goes to the
 * host.
 */
static void swap_interface(int level, int type, void *data, size_t len,
			   int from, int to)
{
	struct in_pktinfo *info = data;
	struct in6_pktinfo *info6 = data;

	if (level == SOL_IP && type == IP_PKTINFO && len >= sizeof(*info) &&
	    info->ipi_ifindex == from)
		info->ipi_ifindex = to;
	if (level == SOL_IPV6 && type == IPV6_PKTINFO &&
	    len >= sizeof(*info6) && info6->ipi6_ifindex == from)
		info6->ipi6_ifindex = to;
}

/*
 * Lets the kernel check the messages of SOL_SOCKET.  Of these, only a request
 * for timestamps concerns the host.  Returns 0 or a negative errno; @stamps is
 * 0 without a request.
 */
static int control_socket(struct vmrpc_sock *vs, struct msghdr *msg,
			  u32 *stamps)
{
	struct sockcm_cookie cookie;
	u32 before;
	int err;

	sockcm_init(&cookie, vs->sk);
	before = cookie.tsflags;
	err = sock_cmsg_send(vs->sk, msg, &cookie);
	if (err)
		return vs->sk->sk_type == SOCK_STREAM ? -EINVAL : err;
	*stamps = cookie.tsflags == before ? 0 :
		  cookie.tsflags & SOF_TIMESTAMPING_TX_RECORD_MASK;
	return 0;
}

/*
 * Does Linux use it, in a datagram to @to?  Other messages are ignored, without
 * an error.  The host has no address or interface of a container.
 */
static bool control_counts(const struct vmrpc_sock *vs,
			   const union vmrpc_name *to,
			   const struct cmsghdr *cmsg)
{
	bool info6 = cmsg->cmsg_level == SOL_IPV6 &&
		     cmsg->cmsg_type == IPV6_PKTINFO;
	bool info = cmsg->cmsg_level == SOL_IP &&
		    cmsg->cmsg_type == IP_PKTINFO;
	__be32 addr;
	bool ip = vmrpc_addr_get4(to ? to : &vs->peer, &addr);

	if (vs->sk->sk_type != SOCK_DGRAM ||
	    (vmrpc_sock_is_contained(vs) && (info || info6)))
		return false;
	return cmsg->cmsg_level == (ip ? SOL_IP : SOL_IPV6) ||
	       cmsg->cmsg_level == SOL_UDP ||
	       (info6 && vmrpc_sk_is_inet6(vs->sk));
}

/* Bytes of the program's ancillary data on the wire, or -EINVAL. */
static ssize_t control_size(const struct vmrpc_sock *vs,
			    const union vmrpc_name *to, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	size_t size = 0;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		if (!control_counts(vs, to, cmsg))
			continue;
		size += WIRE_ALIGN(sizeof(struct wire_cmsg) + cmsg->cmsg_len -
				   sizeof(*cmsg));
		if (size > VMRPC_CONTROL_MAX)
			return -ENOBUFS;
	}
	return size;
}

/* Writes one; returns where the next one goes. */
static u8 *put_one(u8 *p, int level, int type, const void *data, size_t len,
		   int ifindex)
{
	struct wire_cmsg *wire = (struct wire_cmsg *)p;

	wire->len = cpu_to_le64(sizeof(*wire) + len);
	wire->level = cpu_to_le32(level);
	wire->type = cpu_to_le32(type);
	memcpy(wire + 1, data, len);
	swap_interface(level, type, wire + 1, len, ifindex, 0);
	return p + WIRE_ALIGN(sizeof(*wire) + len);
}

/**
 * vmrpc_message_check - check the ancillary data of a stream
 * @vs: a stream
 * @msg: to be sent
 *
 * For a task that would otherwise wait for room before it gets the error.
 * vmrpc_message_send() checks by itself.  Returns 0 or a negative errno.
 */
int vmrpc_message_check(struct vmrpc_sock *vs, struct msghdr *msg)
{
	ssize_t size = control_size(vs, NULL, msg);
	u32 stamps;

	return size < 0 ? size : control_socket(vs, msg, &stamps);
}

static int control_put(struct vmrpc_call *call, struct vmrpc_sock *vs,
		       const union vmrpc_name *to, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	ssize_t size;
	u32 stamps;
	int err;
	u8 *p;

	/* Only the beginning of a datagram has ancillary data. */
	if (!msg->msg_controllen || READ_ONCE(vs->unfinished))
		return 0;
	size = control_size(vs, to, msg);
	err = size < 0 ? size : control_socket(vs, msg, &stamps);
	if (err)
		return err;
	if (stamps)
		size += WIRE_ALIGN(sizeof(struct wire_cmsg) + sizeof(__le32));
	if (!size)
		return 0;
	if (size > VMRPC_CONTROL_MAX)
		return -ENOBUFS;
	p = kzalloc(size, GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	call->control = p;
	call->control_len = size;
	for_each_cmsghdr(cmsg, msg) {
		if (control_counts(vs, to, cmsg))
			p = put_one(p, cmsg->cmsg_level, cmsg->cmsg_type,
				    CMSG_DATA(cmsg),
				    cmsg->cmsg_len - sizeof(*cmsg),
				    call->dev->ifindex);
	}
	if (stamps) {
		__le32 flags = cpu_to_le32(stamps);

		put_one(p, SOL_SOCKET, SO_TIMESTAMPING_OLD, &flags,
			sizeof(flags), 0);
	}
	return 0;
}

/*
 * @ioctl_stamp: SIOCGSTAMP needs a timestamp; the program has no room for it
 */
static int control_room(struct vmrpc_call *call, const struct msghdr *msg,
			bool ioctl_stamp)
{
	size_t size = msg->msg_controllen;

	if (!size && !ioctl_stamp)
		return 0;
	/* The header of a 32-bit program is smaller than that on the wire. */
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		size *= 2;
	/* The host sends whole messages; put_cmsg() truncates the last one. */
	size += LARGEST_CONTROL;
	if (ioctl_stamp)
		size += sizeof(struct wire_cmsg) +
			sizeof(struct vmrpc_moment);
	size = min_t(size_t, size, VMRPC_CONTROL_MAX);
	call->control = kzalloc(size, GFP_KERNEL);
	if (!call->control)
		return -ENOMEM;
	call->control_len = size;
	return 0;
}

/*
 * May a message of the host be given to a program?  The type decides its
 * length.
 */
static bool is_sound(int level, int type, size_t len)
{
	static const struct {
		int level, type;
		size_t len;
	} known[] = {
		{ SOL_IP, IP_TTL, sizeof(int) },
		{ SOL_IP, IP_TOS, 1 },
		{ SOL_IP, IP_PKTINFO, sizeof(struct in_pktinfo) },
		{ SOL_IP, IP_RECVERR, sizeof(struct sock_extended_err) +
				      sizeof(struct sockaddr_in) },
		{ SOL_IPV6, IPV6_HOPLIMIT, sizeof(int) },
		{ SOL_IPV6, IPV6_TCLASS, sizeof(int) },
		{ SOL_IPV6, IPV6_FLOWINFO, sizeof(__be32) },
		{ SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo) },
		{ SOL_IPV6, IPV6_RECVERR, sizeof(struct sock_extended_err) +
					  sizeof(struct sockaddr_in6) },
		{ SOL_UDP, UDP_GRO, sizeof(int) },
		{ SOL_TCP, TCP_CM_INQ, sizeof(int) },
		{ SOL_SOCKET, SO_RXQ_OVFL, sizeof(u32) },
		{ SOL_SOCKET, SO_TIMESTAMP_OLD, 2 * sizeof(s64) },
		{ SOL_SOCKET, SO_TIMESTAMPNS_OLD, 2 * sizeof(s64) },
		{ SOL_SOCKET, SO_TIMESTAMP_NEW, 2 * sizeof(s64) },
		{ SOL_SOCKET, SO_TIMESTAMPNS_NEW, 2 * sizeof(s64) },
		{ SOL_SOCKET, SO_TIMESTAMPING_OLD, LARGEST_PAYLOAD },
		{ SOL_SOCKET, SO_TIMESTAMPING_NEW, LARGEST_PAYLOAD },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].level == level && known[i].type == type)
			return known[i].len == len;
	return false;
}

/* Replaces the moment at @data by a timestamp; @type is_sound(). */
static void stamp_put(struct vmrpc_call *call, int type, void *data)
{
	bool is_timeval = type == SO_TIMESTAMP_OLD || type == SO_TIMESTAMP_NEW;
	struct timespec64 ts;
	s64 *time = data;

	ts = ktime_to_timespec64(vmrpc_clock_real(call, data));
	time[0] = ts.tv_sec;
	time[1] = is_timeval ? ts.tv_nsec / NSEC_PER_USEC : ts.tv_nsec;
}

static bool is_timestamping(int type)
{
	return type == SO_TIMESTAMPING_OLD || type == SO_TIMESTAMPING_NEW;
}

/* Gives the address of a datagram in the forms that the program wants. */
static void pktinfo_hand(const struct vmrpc_call *call, struct msghdr *msg,
			 struct in6_pktinfo *info6)
{
	const struct sock *sk = call->vs->sk;
	__be32 addr = info6->ipi6_addr.s6_addr32[3];
	struct in_pktinfo info = {
		.ipi_ifindex = info6->ipi6_ifindex,
		.ipi_spec_dst.s_addr = ipv4_is_multicast(addr) ?
				       call->dev->guest4 : addr,
		.ipi_addr.s_addr = addr,
	};

	if (inet6_sk(sk)->rxopt.bits.rxinfo)
		put_cmsg(msg, SOL_IPV6, IPV6_PKTINFO, sizeof(*info6), info6);
	if (ipv6_addr_v4mapped(&info6->ipi6_addr) && vmrpc_wants_pktinfo(sk))
		put_cmsg(msg, SOL_IP, IP_PKTINFO, sizeof(info), &info);
}

/* Gives one sound message to the program; see control_get(). */
static void control_hand(struct vmrpc_call *call, struct msghdr *msg, int level,
			 int type, void *data, size_t len,
			 bool ioctl_stamp)
{
	bool is_time = level == SOL_SOCKET && type != SO_RXQ_OVFL;

	swap_interface(level, type, data, len, 0, call->dev->ifindex);
	if (is_time && ioctl_stamp && !is_timestamping(type)) {
		sock_write_timestamp(call->vs->sk,
				     vmrpc_clock_real(call, data));
		return;
	}
	if (is_time && call->dev->moments)
		stamp_put(call, type, data);
	if (level == SOL_IPV6 && type == IPV6_PKTINFO &&
	    vmrpc_sk_is_inet6(call->vs->sk)) {
		pktinfo_hand(call, msg, data);
		return;
	}
	put_cmsg(msg, level, type, len, data);
}

/*
 * Gives the host's ancillary data to the program, as far as it is sound.
 * @ioctl_stamp: keep the timestamp for SIOCGSTAMP (vmrpc_sol_keeps_stamp())
 */
static void control_get(struct vmrpc_call *call, struct msghdr *msg,
			bool ioctl_stamp)
{
	size_t left = min(le32_to_cpu(call->resp.control_len),
			  call->control_len);
	u8 *p = call->control;

	while (left >= sizeof(struct wire_cmsg)) {
		struct wire_cmsg *wire = (struct wire_cmsg *)p;
		int level = le32_to_cpu(wire->level);
		int type = le32_to_cpu(wire->type);
		u64 len = le64_to_cpu(wire->len);

		if (len < sizeof(*wire) || len > left ||
		    !is_sound(level, type, len - sizeof(*wire)))
			return;
		control_hand(call, msg, level, type, wire + 1,
			     len - sizeof(*wire), ioctl_stamp);
		len = min_t(size_t, WIRE_ALIGN(len), left);
		p += len;
		left -= len;
	}
}

/* SO_RCVMARK: packets of the host have no mark of the guest. */
static void mark_get(const struct sock *sk, struct msghdr *msg)
{
	u32 mark = 0;

	if (sock_flag(sk, SOCK_RCVMARK))
		put_cmsg(msg, SOL_SOCKET, SO_MARK, sizeof(mark), &mark);
}

/* Did the host answer that it does not know the buffer? */
static bool is_stale(const struct vmrpc_call *call, ssize_t n)
{
	return n == -ESTALE && call->data.buffer;
}

/* Returns -ESTALE if the host has lost the buffer: try again without it. */
static ssize_t send_once(struct vmrpc_sock *vs, struct msghdr *msg, size_t len,
			 const union vmrpc_name *to, u32 wait_us)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SENDMSG);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	u32 flags = msg->msg_flags & SEND_FLAGS;
	ssize_t n = -ENOMEM;
	u32 sent = 0;
	int err;

	if (!call)
		return n;
	n = control_put(call, vs, to, msg);
	if (n)
		goto out;
	if (to)
		vmrpc_addr_put(call, to);
	n = vmrpc_data_place(call, &msg->msg_iter, len, len, false, !stream);
	if (n)
		goto out;
	if (call->data.len < len) {
		/* Another request carries the rest of a stream. */
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
 * @msg: data, ancillary data and flags; advanced by the bytes sent
 * @len: bytes to send, at most msg_data_left(@msg); streams may send less
 * @to: destination; NULL: the peer
 * @wait_us: how long the host may wait for room
 *
 * Returns the bytes sent, or a negative errno (-EAGAIN: wait for VMRPC_OUT).
 */
ssize_t vmrpc_message_send(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, const union vmrpc_name *to, u32 wait_us)
{
	ssize_t n;

	do {
		n = send_once(vs, msg, len, to, wait_us);
	} while (n == -ESTALE);
	return n;
}

/**
 * vmrpc_message_discard - discard an unfinished datagram on the host
 * @vs: a UDP socket with a host socket
 */
void vmrpc_message_discard(struct vmrpc_sock *vs)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SENDMSG);

	if (!call)
		return;
	call->req.u.msg.flags = cpu_to_le32(VMRPC_MSG_DISCARD);
	vmrpc_call_run(call);
	vmrpc_call_free(call);
}

/* Returns the bytes received; *@copy: how many to copy to the program. */
static ssize_t received(const struct vmrpc_call *call, bool stream, int flags,
			size_t *copy)
{
	u32 n = le32_to_cpu(call->resp.value);
	size_t got = min_t(size_t, n, call->data.len);

	*copy = 0;
	/* Only the length of a datagram may exceed the room for it. */
	if (n > INT_MAX ||
	    (n > call->data.len && (stream || !(flags & MSG_TRUNC))))
		return -EIO;
	/* On a stream MSG_TRUNC discards the data. */
	if (stream && (flags & MSG_TRUNC))
		return n;
	/* Bytes that the host has not written must not reach the program. */
	if (!call->data.buffer &&
	    call->used < vmrpc_call_answer_head(call) + call->control_len + got)
		return -EIO;
	*copy = got;
	return n;
}

/*
 * Bad memory of the program must not cause an error before data have arrived.
 * A datagram needs all of the room at once.
 */
static int make_room(struct vmrpc_call *call, struct msghdr *msg, size_t len,
		     size_t window, bool stream, int flags)
{
	int err = vmrpc_data_place(call, &msg->msg_iter, len, window, true,
				   !stream || (flags & MSG_PEEK));

	window = min(len, window);
	if (likely(!err && (stream || call->data.len >= window)))
		return 0;
	if (!err) {
		call->resp.error = 0;	/* there is no answer yet */
		vmrpc_data_unmap(call, &msg->msg_iter, 0);
	} else if (err != -EFAULT) {
		return err;
	}
	return vmrpc_pages_copy(call, &msg->msg_iter, window, true);
}

/* As send_once(). */
static ssize_t recv_once(struct vmrpc_sock *vs, struct msghdr *msg, size_t len,
			 size_t *window, int flags, u32 wait_us)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_RECVMSG);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	bool ioctl_stamp = vmrpc_sol_keeps_stamp(vs);
	union vmrpc_name from;
	size_t copy = 0;
	ssize_t n = -ENOMEM;
	int err;

	if (!call)
		return n;
	/* Read the clocks only if needed: it costs time. */
	call->timed = vmrpc_sol_wants_stamps(vs);
	n = control_room(call, msg, ioctl_stamp);
	if (n)
		goto out;
	n = make_room(call, msg, len, *window, stream, flags);
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
	if (unlikely(err)) {
		if (stream && !(flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)))
			vmrpc_kept_add(vs, call->data.buf, copy);
		vmrpc_pages_drop(call);
		n = err;
	}
	if (n < 0)
		goto out;

	msg->msg_flags |= le32_to_cpu(call->resp.msg_flags) & RESULT_FLAGS;
	if (msg->msg_name && vmrpc_addr_get(call, &from)) {
		msg->msg_namelen = vmrpc_addr_len(vs);
		memcpy(msg->msg_name, &from, msg->msg_namelen);
	}
	if (!stream && !(flags & MSG_ERRQUEUE))
		mark_get(vs->sk, msg);
	/* Without a timestamp from the host, SIOCGSTAMP returns the present. */
	if (ioctl_stamp)
		sock_write_timestamp(vs->sk, 0);
	if (call->control)
		control_get(call, msg, ioctl_stamp);
out:
	vmrpc_call_free(call);
	return n;
}

/**
 * vmrpc_message_recv - one RECVMSG request
 * @vs: has a host socket
 * @msg: gets data, address, ancillary data and flags
 * @len: room to use, at most msg_data_left(@msg)
 * @room: prepare at most this much if it costs something; set to the room that
 *        there was
 * @flags: MSG_PEEK ..., from the program
 * @wait_us: how long the host may wait for data
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
