// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One message across
 *
 * A call of sendmsg() or recvmsg() is one or more SENDMSG or RECVMSG requests;
 * this is one of them.  Streams and datagrams differ in how they repeat it.
 *
 * Ancillary data travels in the layout of a 64-bit Linux whatever the program
 * is: a header of length (64 bits), level and type, padded to 8 bytes.
 *
 * The host gives the moments of timestamps; clock.c turns them into stamps.
 */
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/uio.h>
#include <net/ip.h>

#include "internal.h"

struct wire_cmsg {
	__le64 len;			/* with this header */
	__le32 level;
	__le32 type;
};

/* A part of a stream that could not be copied to the program. */
struct vmrpc_kept {
	struct list_head list;
	size_t len, used;
	u8 data[];
};

#define WIRE_ALIGN(len)		ALIGN(len, sizeof(__le64))

/* Of the types that is_sound() knows: scm_timestamping has three times. */
#define LARGEST_PAYLOAD		(6 * sizeof(s64))
#define LARGEST_CONTROL		(sizeof(struct wire_cmsg) + LARGEST_PAYLOAD)

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

/*
 * What SOL_SOCKET says is for the kernel to judge; of it, only the wish for
 * timestamps concerns the host.  Returns 0 or a negative errno; @stamps is 0
 * if there is no such wish.
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

/* Does Linux look at it?  What it does not look at is no error. */
static bool control_counts(const struct vmrpc_sock *vs,
			   const struct cmsghdr *cmsg)
{
	return vs->sk->sk_type == SOCK_DGRAM &&
	       (cmsg->cmsg_level == SOL_IP || cmsg->cmsg_level == SOL_UDP);
}

/* Bytes of the program's ancillary data on the wire, or -EINVAL. */
static ssize_t control_size(const struct vmrpc_sock *vs, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	size_t size = 0;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		if (!control_counts(vs, cmsg))
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
 * vmrpc_message_check - is a stream's ancillary data such as can be sent?
 * @vs: a stream
 * @msg: to be sent
 *
 * For who would otherwise wait for room before he is told; vmrpc_message_send()
 * looks by itself.  Returns 0 or a negative errno.
 */
int vmrpc_message_check(struct vmrpc_sock *vs, struct msghdr *msg)
{
	ssize_t size = control_size(vs, msg);
	u32 stamps;

	return size < 0 ? size : control_socket(vs, msg, &stamps);
}

static int control_put(struct vmrpc_call *call, struct vmrpc_sock *vs,
		       struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	ssize_t size;
	u32 stamps;
	int err;
	u8 *p;

	/* It is the beginning of a datagram that says how it is sent. */
	if (!msg->msg_controllen || READ_ONCE(vs->unfinished))
		return 0;
	size = control_size(vs, msg);
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
		if (control_counts(vs, cmsg))
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

/* @ioctl_stamp: SIOCGSTAMP needs a stamp, for which the program has no room */
static int control_room(struct vmrpc_call *call, const struct msghdr *msg,
			bool ioctl_stamp)
{
	size_t size = msg->msg_controllen;

	if (!size && !ioctl_stamp)
		return 0;
	/* A header of a 32-bit program is smaller than the wire's. */
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		size *= 2;
	/* The last that has room comes whole, and put_cmsg() cuts it. */
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
 * Is it what a program can be given?  How much of it is read, and what becomes
 * of it, goes by its type.
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

/* Puts the stamp in place of the moment at @data, of a type of is_sound(). */
static void stamp_put(struct vmrpc_call *call, int type, void *data)
{
	struct timespec64 ts = ktime_to_timespec64(vmrpc_clock_real(call, data));
	bool is_timeval = type == SO_TIMESTAMP_OLD || type == SO_TIMESTAMP_NEW;
	s64 *time = data;

	time[0] = ts.tv_sec;
	time[1] = is_timeval ? ts.tv_nsec / NSEC_PER_USEC : ts.tv_nsec;
}

static bool is_timestamping(int type)
{
	return type == SO_TIMESTAMPING_OLD || type == SO_TIMESTAMPING_NEW;
}

/* One sound message to the program; see control_get(). */
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
	put_cmsg(msg, level, type, len, data);
}

/*
 * Hands the host's ancillary data to the program, as far as it is sound.
 * @ioctl_stamp: keep the stamp for SIOCGSTAMP (vmrpc_sol_keeps_stamp())
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

/* Packets of the host have no mark that the guest could have given them. */
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
	n = control_put(call, vs, msg);
	if (n)
		goto out;
	if (to)
		vmrpc_addr_put(&call->req.addr, to);
	n = vmrpc_data_place(call, &msg->msg_iter, len, len, false, !stream);
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

/**
 * vmrpc_message_discard - throw away what the host holds back of a datagram
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

/*
 * Whether memory is bad must not matter before something has come.  A datagram
 * comes whole, so that all of the room must be there.
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
		call->resp.error = 0;	/* there is no answer */
		vmrpc_data_unmap(call, &msg->msg_iter, 0);
	} else if (err != -EFAULT) {
		return err;
	}
	return vmrpc_data_copy(call, &msg->msg_iter, window, true);
}

/*
 * The program had no memory for a part of a stream, which the host has given
 * away.  The next reader gets it.
 */
static void keep(struct vmrpc_sock *vs, const void *data, size_t len)
{
	struct vmrpc_kept *kept = kvmalloc(struct_size(kept, data, len),
					   GFP_KERNEL);

	if (!kept) {
		/* A gap in a stream is worse than its end. */
		WRITE_ONCE(vs->sk->sk_err, ENOBUFS);
		vmrpc_sock_shutdown(vs, SHUT_RDWR);
		return;
	}
	kept->len = len;
	kept->used = 0;
	memcpy(kept->data, data, len);
	mutex_lock(&vs->lock);
	list_add_tail(&kept->list, &vs->kept);
	WRITE_ONCE(vs->kept_size, vs->kept_size + len);
	mutex_unlock(&vs->lock);
	/* So much less the host needs now to get to SO_RCVLOWAT. */
	vmrpc_sol_refresh(vs);
	/* What woke this reader may have been all that others waited for. */
	vmrpc_sock_wake_tasks(vs, VMRPC_IN);
}

/* Caller must hold vs->lock.  Returns the bytes received from it, or -EFAULT. */
static ssize_t kept_take(struct vmrpc_sock *vs, struct vmrpc_kept *kept,
			 struct msghdr *msg, size_t len, int flags)
{
	size_t n = min(len, kept->len - kept->used), copied;

	if (!(flags & MSG_TRUNC)) {
		copied = copy_to_iter(kept->data + kept->used, n,
				      &msg->msg_iter);
		if (copied != n) {
			iov_iter_revert(&msg->msg_iter, copied);
			return -EFAULT;
		}
	}
	if (flags & MSG_PEEK)
		return n;
	kept->used += n;
	WRITE_ONCE(vs->kept_size, vs->kept_size - n);
	if (kept->used == kept->len) {
		list_del(&kept->list);
		kvfree(kept);
	}
	return n;
}

/**
 * vmrpc_message_recv_kept - receive what an earlier reader could not take
 * @vs: a stream for which vmrpc_message_kept() says that there is something
 * @msg: gets the data
 * @len: room to use, at most msg_data_left(@msg)
 * @flags: MSG_PEEK ... as the program gave them
 *
 * Returns the bytes received, -EAGAIN if somebody else was faster, or -EFAULT.
 */
ssize_t vmrpc_message_recv_kept(struct vmrpc_sock *vs, struct msghdr *msg,
				size_t len, int flags)
{
	struct vmrpc_kept *kept, *next;
	ssize_t n = 0, err;

	mutex_lock(&vs->lock);
	err = list_empty(&vs->kept) ? -EAGAIN : 0;
	list_for_each_entry_safe(kept, next, &vs->kept, list) {
		if (n == len)
			break;
		err = kept_take(vs, kept, msg, len - n, flags);
		if (err < 0)
			break;
		n += err;
	}
	mutex_unlock(&vs->lock);
	/* The rest of SO_RCVLOWAT is the host's again. */
	vmrpc_sol_refresh(vs);
	return n ? : err;
}

/**
 * vmrpc_message_forget - there is no connection any more that it came from
 * @vs: caller must hold vs->lock or be its only user
 */
void vmrpc_message_forget(struct vmrpc_sock *vs)
{
	struct vmrpc_kept *kept, *next;

	list_for_each_entry_safe(kept, next, &vs->kept, list)
		kvfree(kept);
	INIT_LIST_HEAD(&vs->kept);
	WRITE_ONCE(vs->kept_size, 0);
}

/* As send_once(). */
static ssize_t recv_once(struct vmrpc_sock *vs, struct msghdr *msg, size_t len,
			 size_t *window, int flags, u32 wait_us)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_RECVMSG);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	bool ioctl_stamp = vmrpc_sol_keeps_stamp(vs);
	struct sockaddr_in from;
	size_t copy = 0;
	ssize_t n = -ENOMEM;
	int err;

	if (!call)
		return n;
	/* To read the clocks costs something. */
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
			keep(vs, call->data.buf, copy);
		vmrpc_data_drop(call);
		n = err;
	}
	if (n < 0)
		goto out;

	msg->msg_flags |= le32_to_cpu(call->resp.msg_flags) & TOLD_FLAGS;
	if (msg->msg_name && vmrpc_addr_get(&from, &call->resp.addr)) {
		memcpy(msg->msg_name, &from, sizeof(from));
		msg->msg_namelen = sizeof(from);
	}
	if (!stream && !(flags & MSG_ERRQUEUE))
		mark_get(vs->sk, msg);
	/* Without a stamp from the host: SIOCGSTAMP answers 0 with the present. */
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
