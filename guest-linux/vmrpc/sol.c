// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of SOL_SOCKET
 *
 * Theory of operation
 * ===================
 *
 * The kernel sets these without asking the socket's operations (from 6.7 on it
 * lets us see them).  So we compare: before a request that depends on them, the
 * values in the sock are compared with those that the host was told last
 * (vmrpc_sol_stale), and differences are sent.  Timeouts, credentials, marks
 * and everything that names an interface concern the guest only.  Filters and
 * their kin would not see what the host receives: they are refused
 * (takes_native, vmrpc_sol_is_in_the_way).  getsockopt() is answered from the
 * sock by the core.
 */
#include <net/tcp_states.h>

#include "internal.h"

static const int sol_names[VMRPC_SOL_NUM] = {
	[VMRPC_SOL_REUSEADDR]	= SO_REUSEADDR,
	[VMRPC_SOL_REUSEPORT]	= SO_REUSEPORT,
	[VMRPC_SOL_BROADCAST]	= SO_BROADCAST,
	[VMRPC_SOL_KEEPALIVE]	= SO_KEEPALIVE,
	[VMRPC_SOL_OOBINLINE]	= SO_OOBINLINE,
	[VMRPC_SOL_DONTROUTE]	= SO_DONTROUTE,
	[VMRPC_SOL_NO_CHECK]	= SO_NO_CHECK,
	[VMRPC_SOL_PRIORITY]	= SO_PRIORITY,
	[VMRPC_SOL_SNDBUF]	= SO_SNDBUF,
	[VMRPC_SOL_RCVBUF]	= SO_RCVBUF,
	[VMRPC_SOL_RCVLOWAT]	= SO_RCVLOWAT,
	[VMRPC_SOL_RXQ_OVFL]	= SO_RXQ_OVFL,
	[VMRPC_SOL_LINGER]	= SO_LINGER,
	[VMRPC_SOL_TIMESTAMP]	= 0,	/* the value is the option's name */
	[VMRPC_SOL_TIMESTAMPING] = 0,	/* a bit says which of two names */
	[VMRPC_SOL_PEEK_OFF]	= SO_PEEK_OFF,
	[VMRPC_SOL_MAX_PACING_RATE] = SO_MAX_PACING_RATE,
	[VMRPC_SOL_DEVICE]	= 0,	/* decides which side it is */
};

/* With VMRPC_SOL_TIMESTAMPING: 64-bit times, whatever the program is. */
#define TIMESTAMPING_NEW	BIT(31)

/* Of vs->sol: what the host has is not known, and it has to be told. */
#define SOL_UNKNOWN		INT_MIN

/**
 * vmrpc_sol_keeps_stamp - is SIOCGSTAMP to tell when the next datagram came?
 * @vs: the socket
 *
 * Linux keeps it from the first SIOCGSTAMP on, if it does not come with the data.
 */
bool vmrpc_sol_keeps_stamp(const struct vmrpc_sock *vs)
{
	const struct sock *sk = vs->sk;

	return sock_flag(sk, SOCK_TIMESTAMP) && sk->sk_type == SOCK_DGRAM &&
	       !sock_flag(sk, SOCK_RCVTSTAMP) && vs->dev->moments &&
	       !(READ_ONCE(sk->sk_tsflags) & (SOF_TIMESTAMPING_RX_SOFTWARE |
					      SOF_TIMESTAMPING_SOFTWARE));
}

/**
 * vmrpc_sol_wants_stamps - may timestamps come with the next message?
 * @vs: the socket
 */
bool vmrpc_sol_wants_stamps(const struct vmrpc_sock *vs)
{
	return sock_flag(vs->sk, SOCK_RCVTSTAMP) ||
	       READ_ONCE(vs->sk->sk_tsflags) || vmrpc_sol_keeps_stamp(vs);
}

static int timestamp_option(const struct vmrpc_sock *vs)
{
	const struct sock *sk = vs->sk;
	bool new = sock_flag(sk, SOCK_TSTAMP_NEW);
	bool keeps = vmrpc_sol_keeps_stamp(vs);

	if (!sock_flag(sk, SOCK_RCVTSTAMP) && !keeps)
		return 0;
	if (sock_flag(sk, SOCK_RCVTSTAMPNS) || keeps)
		return new ? SO_TIMESTAMPNS_NEW : SO_TIMESTAMPNS_OLD;
	return new ? SO_TIMESTAMP_NEW : SO_TIMESTAMP_OLD;
}

static int timestamping_flags(const struct sock *sk)
{
	u32 flags = READ_ONCE(sk->sk_tsflags);

	if (flags && sock_flag(sk, SOCK_TSTAMP_NEW))
		flags |= TIMESTAMPING_NEW;
	return flags;
}

/* How much the host must have for the socket to be readable. */
static int low_water(const struct vmrpc_sock *vs)
{
	int mark = READ_ONCE(vs->sk->sk_rcvlowat);
	size_t kept = READ_ONCE(vs->kept_size);

	return likely(!kept) ? mark : kept < mark ? mark - kept : 1;
}

/* What the host should have: what a new socket there has, unless changed. */
static void sol_read(const struct vmrpc_sock *vs, int sol[])
{
	const struct sock *sk = vs->sk;

	sol[VMRPC_SOL_REUSEADDR] = sk->sk_reuse == SK_CAN_REUSE;
	sol[VMRPC_SOL_REUSEPORT] = sk->sk_reuseport;
	sol[VMRPC_SOL_BROADCAST] = sock_flag(sk, SOCK_BROADCAST);
	sol[VMRPC_SOL_KEEPALIVE] = sock_flag(sk, SOCK_KEEPOPEN);
	sol[VMRPC_SOL_OOBINLINE] = sock_flag(sk, SOCK_URGINLINE);
	sol[VMRPC_SOL_DONTROUTE] = sock_flag(sk, SOCK_LOCALROUTE);
	sol[VMRPC_SOL_NO_CHECK] = sk->sk_type == SOCK_DGRAM &&
				  sk->sk_no_check_tx;
	sol[VMRPC_SOL_PRIORITY] = READ_ONCE(sk->sk_priority);
	/* The kernel doubles what a program asks for; so will the host. */
	sol[VMRPC_SOL_SNDBUF] = sk->sk_userlocks & SOCK_SNDBUF_LOCK ?
				READ_ONCE(sk->sk_sndbuf) / 2 : 0;
	sol[VMRPC_SOL_RCVBUF] = sk->sk_userlocks & SOCK_RCVBUF_LOCK ?
				READ_ONCE(sk->sk_rcvbuf) / 2 : 0;
	sol[VMRPC_SOL_RCVLOWAT] = low_water(vs);
	sol[VMRPC_SOL_RXQ_OVFL] = sock_flag(sk, SOCK_RXQ_OVFL);
	/* Only "discard": waiting in close() is done here. */
	sol[VMRPC_SOL_LINGER] = sock_flag(sk, SOCK_LINGER) &&
				!sk->sk_lingertime;
	sol[VMRPC_SOL_TIMESTAMP] = timestamp_option(vs);
	sol[VMRPC_SOL_TIMESTAMPING] = timestamping_flags(sk);
	sol[VMRPC_SOL_PEEK_OFF] = READ_ONCE(sk->sk_peek_off);
	/* without a limit, -1 in either width */
	sol[VMRPC_SOL_MAX_PACING_RATE] =
		min_t(unsigned long, READ_ONCE(sk->sk_max_pacing_rate),
		      U32_MAX);
	sol[VMRPC_SOL_DEVICE] = READ_ONCE(sk->sk_bound_dev_if);
}

/**
 * vmrpc_sol_reset - the host socket is new
 * @vs: caller must hold vs->lock or be its only user
 */
void vmrpc_sol_reset(struct vmrpc_sock *vs)
{
	memset(vs->sol, 0, sizeof(vs->sol));
	vs->sol[VMRPC_SOL_RCVLOWAT] = 1;
	vs->sol[VMRPC_SOL_PEEK_OFF] = -1;
	vs->sol[VMRPC_SOL_MAX_PACING_RATE] = -1;
}

/**
 * vmrpc_sol_peeked - a datagram has been received, or looked at
 * @vs: where
 * @n: bytes, as the program was told; negative: looked at
 *
 * The host moves SO_PEEK_OFF as the native side does it.
 */
void vmrpc_sol_peeked(struct vmrpc_sock *vs, int n)
{
	if (likely(READ_ONCE(vs->sk->sk_peek_off) < 0))
		return;
	sk_peek_offset_bwd(vs->sk, n);
	vs->sol[VMRPC_SOL_PEEK_OFF] = READ_ONCE(vs->sk->sk_peek_off);
}

/**
 * vmrpc_sol_stale - does the host have other SOL_SOCKET options?
 * @vs: the socket; cheap enough for every call
 */
bool vmrpc_sol_stale(const struct vmrpc_sock *vs)
{
	int sol[VMRPC_SOL_NUM];

	sol_read(vs, sol);
	return memcmp(sol, vs->sol, sizeof(sol)) != 0;
}

/* The host may give less than was asked for: let the program see how much. */
static int buffer_set(struct vmrpc_sock *vs, enum vmrpc_sol which, int *value)
{
	int name = sol_names[which], real, err;

	/* SO_BUF_LOCK has taken back what there was; the host goes on with it. */
	if (!*value)
		return 0;
	err = vmrpc_sock_setopt(vs, SOL_SOCKET, name, value, sizeof(*value));
	if (err || vmrpc_sock_getopt(vs, SOL_SOCKET, name, &real,
				     sizeof(real)) != sizeof(real))
		return err;
	if (which == VMRPC_SOL_SNDBUF)
		WRITE_ONCE(vs->sk->sk_sndbuf, real);
	else
		WRITE_ONCE(vs->sk->sk_rcvbuf, real);
	*value = real / 2;
	return 0;
}

/* @value: what the host has afterwards */
static int sol_set(struct vmrpc_sock *vs, enum vmrpc_sol which, int *value)
{
	struct linger linger = { .l_onoff = *value };
	int one = 1, zero = 0, flags;

	switch (which) {
	case VMRPC_SOL_DEVICE:
		return 0;
	case VMRPC_SOL_SNDBUF:
	case VMRPC_SOL_RCVBUF:
		return buffer_set(vs, which, value);
	case VMRPC_SOL_LINGER:
		return vmrpc_sock_setopt(vs, SOL_SOCKET, SO_LINGER, &linger,
					 sizeof(linger));
	case VMRPC_SOL_TIMESTAMP:
		if (*value)
			return vmrpc_sock_setopt(vs, SOL_SOCKET, *value, &one,
						 sizeof(one));
		return vmrpc_sock_setopt(vs, SOL_SOCKET,
					 vs->sol[which] == SOL_UNKNOWN ? SO_TIMESTAMP_OLD : vs->sol[which],
					 &zero, sizeof(zero));
	case VMRPC_SOL_TIMESTAMPING:
		flags = *value & ~TIMESTAMPING_NEW;
		return vmrpc_sock_setopt(vs, SOL_SOCKET,
					 *value & TIMESTAMPING_NEW ? SO_TIMESTAMPING_NEW : SO_TIMESTAMPING_OLD,
					 &flags, sizeof(flags));
	default:
		return vmrpc_sock_setopt(vs, SOL_SOCKET, sol_names[which],
					 value, sizeof(*value));
	}
}

/**
 * vmrpc_sol_sync - tell the host the SOL_SOCKET options that have changed
 * @vs: caller must hold vs->lock; nothing happens without a host socket
 *
 * Every option is tried once.  Returns 0 or the first error.
 */
int vmrpc_sol_sync(struct vmrpc_sock *vs)
{
	int sol[VMRPC_SOL_NUM];
	int i, err, first = 0;

	/* It hears nothing from the host any more. */
	if (vmrpc_sock_mode(vs) == VMRPC_BOTH && vmrpc_sock_device_is_other(vs))
		vmrpc_sock_turn_native(vs);
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return 0;
	sol_read(vs, sol);
	for (i = 0; i < VMRPC_SOL_NUM; i++) {
		if (sol[i] == vs->sol[i])
			continue;
		if (READ_ONCE(vs->sk->sk_state) == TCP_LISTEN)
			vs->late |= BIT(i);
		err = sol_set(vs, i, &sol[i]);
		vs->sol[i] = sol[i];
		if (err) {
			pr_debug("vmrpc: SOL_SOCKET option %d: %d\n",
				 sol_names[i], err);
			first = first ? : err;
		}
	}
	return first;
}

/**
 * vmrpc_sol_refresh - before a request that SOL_SOCKET options matter for
 * @vs: caller must not hold vs->lock
 *
 * What the host refuses, the native side has accepted: it is too late for an
 * error.
 */
void vmrpc_sol_refresh(struct vmrpc_sock *vs)
{
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE ||
	    likely(!vmrpc_sol_stale(vs)))
		return;
	mutex_lock(&vs->lock);
	vmrpc_sol_sync(vs);
	mutex_unlock(&vs->lock);
}

/*
 * The listener has got @which while it listened: did the connection, which may
 * have been in the queue before, inherit it?
 */
static void inherit_late(struct vmrpc_sock *child, enum vmrpc_sol which)
{
	static const enum sock_flags flags[VMRPC_SOL_NUM] = {
		[VMRPC_SOL_KEEPALIVE]	= SOCK_KEEPOPEN,
		[VMRPC_SOL_OOBINLINE]	= SOCK_URGINLINE,
		[VMRPC_SOL_DONTROUTE]	= SOCK_LOCALROUTE,
		[VMRPC_SOL_LINGER]	= SOCK_LINGER,
	};
	/* SO_LINGER's begins with whether it is on, the others' are that. */
	struct linger value = { };
	int sol[VMRPC_SOL_NUM];

	child->sol[which] = SOL_UNKNOWN;
	/* If the host has been told late, it does not know either. */
	if (!VMRPC_SEES_SOL_SOCKET || !flags[which] ||
	    vmrpc_sock_getopt(child, SOL_SOCKET, sol_names[which], &value,
			      sizeof(value)) < (int)sizeof(int))
		return;
	child->sol[which] = !!value.l_onoff;
	sol_read(child, sol);
	if (sol[which] != child->sol[which])
		sock_valbool_flag(child->sk, flags[which], value.l_onoff);
}

/**
 * vmrpc_sol_inherit - options of an accepted connection
 * @child: connection from the host, nobody else has it yet
 * @parent: the listener
 *
 * The host's socket has inherited already; this is for the native side.
 */
void vmrpc_sol_inherit(struct vmrpc_sock *child,
		       const struct vmrpc_sock *parent)
{
	static const enum sock_flags flags[] = {
		SOCK_KEEPOPEN, SOCK_LINGER, SOCK_URGINLINE, SOCK_LOCALROUTE,
		SOCK_RCVTSTAMP, SOCK_RCVTSTAMPNS, SOCK_TSTAMP_NEW,
		SOCK_BROADCAST, SOCK_RXQ_OVFL, SOCK_ZEROCOPY,
	};
	const struct sock *from = parent->sk;
	struct sock *to = child->sk;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		sock_valbool_flag(to, flags[i], sock_flag(from, flags[i]));
	to->sk_lingertime = from->sk_lingertime;
	to->sk_rcvtimeo = from->sk_rcvtimeo;
	to->sk_sndtimeo = from->sk_sndtimeo;
	to->sk_rcvlowat = from->sk_rcvlowat;
	to->sk_sndbuf = from->sk_sndbuf;
	to->sk_rcvbuf = from->sk_rcvbuf;
	to->sk_userlocks = from->sk_userlocks &
			   (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	to->sk_reuse = from->sk_reuse;
	to->sk_reuseport = from->sk_reuseport;
	to->sk_mark = from->sk_mark;
	to->sk_max_pacing_rate = from->sk_max_pacing_rate;
	to->sk_bound_dev_if = from->sk_bound_dev_if;
	to->sk_tsflags = from->sk_tsflags;
	memcpy(child->sol, parent->sol, sizeof(child->sol));
	for (i = 0; i < VMRPC_SOL_NUM; i++)
		if (parent->late & BIT(i))
			inherit_late(child, i);
	/* the one that is not inherited */
	child->sol[VMRPC_SOL_PRIORITY] = 0;
}

/*
 * What a program gives the kernel to look at each packet with.  A socket that
 * is native for good can have it.
 */
static bool takes_native(const struct vmrpc_sock *vs, int name)
{
	switch (name) {
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
	case SO_ATTACH_REUSEPORT_CBPF:
	case SO_ATTACH_REUSEPORT_EBPF:
	case SO_TXTIME:
		return READ_ONCE(vs->has_handle);
	default:
		return false;
	}
}

/**
 * vmrpc_sol_is_in_the_way - has it an option that a host socket cannot have?
 * @vs: the socket
 *
 * Before 6.7 nobody asks us when it is set.
 */
bool vmrpc_sol_is_in_the_way(const struct vmrpc_sock *vs)
{
	return rcu_access_pointer(vs->sk->sk_filter) ||
	       sock_flag(vs->sk, SOCK_TXTIME);
}

/**
 * vmrpc_sol_setsockopt - setsockopt(2) of SOL_SOCKET, from kernel 6.7 on
 * @sock: the socket
 * @vs: its outsourced side
 * @name: option
 * @optval: value
 * @optlen: its length
 *
 * Returns 0 or a negative errno; the host's error is the last word.
 */
int vmrpc_sol_setsockopt(struct socket *sock, struct vmrpc_sock *vs, int name,
			 sockptr_t optval, unsigned int optlen)
{
	int err;

	if (takes_native(vs, name))
		return -ENOPROTOOPT;
	err = sock_setsockopt(sock, SOL_SOCKET, name, optval, optlen);
	if (err || !vmrpc_sol_stale(vs))
		return err;
	mutex_lock(&vs->lock);
	err = vmrpc_sol_sync(vs);
	mutex_unlock(&vs->lock);
	return err;
}
