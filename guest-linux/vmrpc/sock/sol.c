// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of SOL_SOCKET
 *
 * Theory of operation
 * ===================
 *
 * The kernel sets these options without a call of the socket's operations (from
 * 6.7 on it lets us see them).  So we compare: before a request that depends on
 * them, the values in the sock are compared with those that the host got last
 * (vmrpc_sol_stale), and differences are sent.  Timeouts, credentials, marks
 * and all options that name an interface concern the guest only.  Socket
 * filters and similar options would not see the packets that the host receives:
 * they are refused (takes_native() in option/sockopt.c,
 * vmrpc_sol_is_in_the_way).  The core answers getsockopt() from the sock.
 */
#include <net/tcp_states.h>

#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/sol.h"
#include "transport/compat.h"

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
	[VMRPC_SOL_TIMESTAMP]	= 0,	/* the value is the option */
	[VMRPC_SOL_TIMESTAMPING] = 0,	/* a bit chooses the option */
	[VMRPC_SOL_PEEK_OFF]	= SO_PEEK_OFF,
	[VMRPC_SOL_MAX_PACING_RATE] = SO_MAX_PACING_RATE,
	[VMRPC_SOL_DEVICE]	= 0,	/* chooses the side */
};

/* In sol[VMRPC_SOL_TIMESTAMPING]: 64-bit times. */
#define TIMESTAMPING_NEW	BIT(31)

/* In vs->sol: the value on the host is not known, so it must be set. */
#define SOL_UNKNOWN		INT_MIN

/**
 * vmrpc_sol_keeps_stamp - does SIOCGSTAMP need the time of the next datagram?
 * @vs: the socket
 *
 * Linux keeps it from the first SIOCGSTAMP on, unless it comes with the data.
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

/* How many bytes the host must have to make the socket readable. */
static int low_water(const struct vmrpc_sock *vs)
{
	int mark = READ_ONCE(vs->sk->sk_rcvlowat);
	size_t kept = READ_ONCE(vs->kept_size);

	return likely(!kept) ? mark : kept < mark ? mark - kept : 1;
}

/*
 * The values that the host should have.  Unset options have the values of a new
 * host socket.
 */
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
	/* The kernel doubles the program's value; so does the host. */
	sol[VMRPC_SOL_SNDBUF] = sk->sk_userlocks & SOCK_SNDBUF_LOCK ?
				READ_ONCE(sk->sk_sndbuf) / 2 : 0;
	sol[VMRPC_SOL_RCVBUF] = sk->sk_userlocks & SOCK_RCVBUF_LOCK ?
				READ_ONCE(sk->sk_rcvbuf) / 2 : 0;
	sol[VMRPC_SOL_RCVLOWAT] = low_water(vs);
	sol[VMRPC_SOL_RXQ_OVFL] = sock_flag(sk, SOCK_RXQ_OVFL);
	/* The host only discards; the guest waits in close(). */
	sol[VMRPC_SOL_LINGER] = sock_flag(sk, SOCK_LINGER) &&
				!sk->sk_lingertime;
	sol[VMRPC_SOL_TIMESTAMP] = timestamp_option(vs);
	sol[VMRPC_SOL_TIMESTAMPING] = timestamping_flags(sk);
	sol[VMRPC_SOL_PEEK_OFF] = READ_ONCE(sk->sk_peek_off);
	/* no limit: -1, also with 32 bits */
	sol[VMRPC_SOL_MAX_PACING_RATE] =
		min_t(unsigned long, READ_ONCE(sk->sk_max_pacing_rate),
		      U32_MAX);
	sol[VMRPC_SOL_DEVICE] = READ_ONCE(sk->sk_bound_dev_if);
}

/**
 * vmrpc_sol_reset - the host has the values of a new socket
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
 * vmrpc_sol_peeked - a datagram has been received, or peeked at
 * @vs: the socket
 * @n: result of recvmsg(); negative after MSG_PEEK
 *
 * The host moves SO_PEEK_OFF as the native side does.
 */
void vmrpc_sol_peeked(struct vmrpc_sock *vs, int n)
{
	if (likely(READ_ONCE(vs->sk->sk_peek_off) < 0))
		return;
	sk_peek_offset_bwd(vs->sk, n);
	vs->sol[VMRPC_SOL_PEEK_OFF] = READ_ONCE(vs->sk->sk_peek_off);
}

/**
 * vmrpc_sol_stale - does the host have other values than the sock?
 * @vs: the socket; cheap enough for every call
 */
bool vmrpc_sol_stale(const struct vmrpc_sock *vs)
{
	int sol[VMRPC_SOL_NUM];

	sol_read(vs, sol);
	return memcmp(sol, vs->sol, sizeof(sol)) != 0;
}

/* The host may set a smaller size than requested: let the program see it. */
static int buffer_set(struct vmrpc_sock *vs, enum vmrpc_sol which, int *value)
{
	int name = sol_names[which], real, err;

	/* SO_BUF_LOCK has removed the size; the host keeps its own. */
	if (!*value)
		return 0;
	err = vmrpc_ask_setopt(vs, SOL_SOCKET, name, value, sizeof(*value));
	if (err || vmrpc_ask_getopt(vs, SOL_SOCKET, name, &real,
				    sizeof(real)) != sizeof(real))
		return err;
	if (which == VMRPC_SOL_SNDBUF)
		WRITE_ONCE(vs->sk->sk_sndbuf, real);
	else
		WRITE_ONCE(vs->sk->sk_rcvbuf, real);
	*value = real / 2;
	return 0;
}

/*
 * @value: set to the value that the host has afterwards
 */
static int sol_set(struct vmrpc_sock *vs, enum vmrpc_sol which, int *value)
{
	struct linger linger = { .l_onoff = *value };
	int one = 1, zero = 0, name, flags;

	switch (which) {
	case VMRPC_SOL_DEVICE:
		return 0;
	case VMRPC_SOL_SNDBUF:
	case VMRPC_SOL_RCVBUF:
		return buffer_set(vs, which, value);
	case VMRPC_SOL_LINGER:
		return vmrpc_ask_setopt(vs, SOL_SOCKET, SO_LINGER, &linger,
					sizeof(linger));
	case VMRPC_SOL_TIMESTAMP:
		if (*value)
			return vmrpc_ask_setopt(vs, SOL_SOCKET, *value, &one,
						sizeof(one));
		name = vs->sol[which] == SOL_UNKNOWN ? SO_TIMESTAMP_OLD
						     : vs->sol[which];
		return vmrpc_ask_setopt(vs, SOL_SOCKET, name, &zero,
					sizeof(zero));
	case VMRPC_SOL_TIMESTAMPING:
		flags = *value & ~TIMESTAMPING_NEW;
		name = *value & TIMESTAMPING_NEW ? SO_TIMESTAMPING_NEW
						 : SO_TIMESTAMPING_OLD;
		return vmrpc_ask_setopt(vs, SOL_SOCKET, name, &flags,
					sizeof(flags));
	default:
		return vmrpc_ask_setopt(vs, SOL_SOCKET, sol_names[which],
					value, sizeof(*value));
	}
}

/**
 * vmrpc_sol_is_elsewhere - has SO_BINDTODEVICE moved it away from the host?
 * @vs: the socket
 *
 * On another interface the host receives nothing for it.  A connection stays
 * where it is.
 */
bool vmrpc_sol_is_elsewhere(const struct vmrpc_sock *vs)
{
	return vmrpc_sock_mode(vs) == VMRPC_BOTH &&
	       vmrpc_addr_device_is_other(vs);
}

/**
 * vmrpc_sol_sync - set the options that have changed on the host
 * @vs: caller must hold vs->lock; nothing happens without a host socket
 *
 * Every option is tried once.  Returns 0, the first error, or VMRPC_USE_NATIVE
 * if vmrpc_sol_is_elsewhere().
 */
int vmrpc_sol_sync(struct vmrpc_sock *vs)
{
	int sol[VMRPC_SOL_NUM];
	int i, err, first = 0;

	if (vmrpc_sol_is_elsewhere(vs))
		return VMRPC_USE_NATIVE;
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
 * vmrpc_sol_refresh - send changed options to the host before a request
 * @vs: caller must not hold vs->lock
 *
 * If the host refuses an option that the native side has accepted, the program
 * is not told: it is too late for an error.
 *
 * Returns 0, or VMRPC_USE_NATIVE if vmrpc_sol_is_elsewhere().  A stream that is
 * connected ignores it: in mode VMRPC_REMOTE the result is 0, and if another
 * task has dissolved the connection, the next connect() or accept() turns the
 * socket native.
 */
int vmrpc_sol_refresh(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE ||
	    likely(!vmrpc_sol_stale(vs)))
		return 0;
	mutex_lock(&vs->lock);
	err = vmrpc_sol_sync(vs);
	mutex_unlock(&vs->lock);
	return err == VMRPC_USE_NATIVE ? VMRPC_USE_NATIVE : 0;
}

/*
 * The listener got the option @which while it listened.  The connection may
 * have been in the queue before: finds out if it has inherited the option.
 */
static void inherit_late(struct vmrpc_sock *child, enum vmrpc_sol which)
{
	static const enum sock_flags flags[VMRPC_SOL_NUM] = {
		[VMRPC_SOL_KEEPALIVE]	= SOCK_KEEPOPEN,
		[VMRPC_SOL_OOBINLINE]	= SOCK_URGINLINE,
		[VMRPC_SOL_DONTROUTE]	= SOCK_LOCALROUTE,
		[VMRPC_SOL_LINGER]	= SOCK_LINGER,
	};
	/*
	 * The value of SO_LINGER begins with the flag; the others are the flag.
	 */
	struct linger value = { };
	int sol[VMRPC_SOL_NUM];

	child->sol[which] = SOL_UNKNOWN;
	/* If the host got the option later, its value does not tell. */
	if (!VMRPC_SEES_SOL_SOCKET || !flags[which] ||
	    vmrpc_ask_getopt(child, SOL_SOCKET, sol_names[which], &value,
			     sizeof(value)) < (int)sizeof(int))
		return;
	child->sol[which] = !!value.l_onoff;
	sol_read(child, sol);
	if (sol[which] != child->sol[which])
		sock_valbool_flag(child->sk, flags[which], value.l_onoff);
}

/**
 * vmrpc_sol_inherit - let an accepted connection inherit options
 * @child: the connection; nobody else uses it yet
 * @parent: the listener
 *
 * The host socket has inherited already; this is for the native side.
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
	/* the only option that is not inherited */
	child->sol[VMRPC_SOL_PRIORITY] = 0;
}

/**
 * vmrpc_sol_is_in_the_way - does it have an option that a host socket cannot
 * have?
 * @vs: the socket
 *
 * Before 6.7 setsockopt() cannot refuse it.
 */
bool vmrpc_sol_is_in_the_way(const struct vmrpc_sock *vs)
{
	return rcu_access_pointer(vs->sk->sk_filter) ||
	       sock_flag(vs->sk, SOCK_TXTIME);
}
