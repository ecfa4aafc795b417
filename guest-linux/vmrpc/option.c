// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Socket options
 *
 * Theory of operation
 * ===================
 *
 * An option is always set on the native sock first: the kernel checks it and
 * remembers it.  Whether the host hears of it depends on the option.
 *
 * SOL_SOCKET.  The kernel sets these without asking the socket's operations
 * (from 6.7 on it lets us see them).  So we compare: before a request that
 * depends on them, the values in the sock are compared with those that the host
 * was told last (vmrpc_option_stale), and differences are sent.  Timeouts,
 * credentials, marks and everything that names an interface concern the guest
 * only.  Filters and their kin would not see what the host receives: they are
 * refused (takes_native, vmrpc_option_is_in_the_way).  getsockopt() is answered
 * from the sock by the core.
 *
 * IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP.  Three kinds:
 *
 *   LOCAL  only means something within the guest
 *   DEFER  the host knows it; it is remembered until there is a host socket,
 *          and then set on it
 *   NOW    the host may not know it: the host socket is made at once, so that
 *          the program gets the host's error from this setsockopt()
 *
 * getsockopt() of a socket with a peer on the host asks the host, because that
 * is where TCP_INFO and IP_MTU are true.
 */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "internal.h"

/* Every option there is, and as many groups as the kernel allows. */
#define OPTS_MAX		64u

enum kind { LOCAL, DEFER, NOW };

struct opt {
	struct list_head list;
	int level;
	int name;
	unsigned int len;
	u8 value[];
};

/* --- to the host ------------------------------------------------------------ */

static int host_set(struct vmrpc_sock *vs, int level, int name,
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

/* --- SOL_SOCKET ------------------------------------------------------------- */

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

static int timestamp_option(const struct sock *sk)
{
	bool new = sock_flag(sk, SOCK_TSTAMP_NEW);

	if (!sock_flag(sk, SOCK_RCVTSTAMP))
		return 0;
	if (sock_flag(sk, SOCK_RCVTSTAMPNS))
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

/* What the host should have: what a new socket there has, unless changed. */
static void sol_read(const struct sock *sk, int sol[])
{
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
	sol[VMRPC_SOL_RCVLOWAT] = READ_ONCE(sk->sk_rcvlowat);
	sol[VMRPC_SOL_RXQ_OVFL] = sock_flag(sk, SOCK_RXQ_OVFL);
	/* Only "discard": waiting in close() is done here. */
	sol[VMRPC_SOL_LINGER] = sock_flag(sk, SOCK_LINGER) &&
				!sk->sk_lingertime;
	sol[VMRPC_SOL_TIMESTAMP] = timestamp_option(sk);
	sol[VMRPC_SOL_TIMESTAMPING] = timestamping_flags(sk);
	sol[VMRPC_SOL_PEEK_OFF] = READ_ONCE(sk->sk_peek_off);
	/* without a limit, -1 in either width */
	sol[VMRPC_SOL_MAX_PACING_RATE] =
		min_t(unsigned long, READ_ONCE(sk->sk_max_pacing_rate),
		      U32_MAX);
	sol[VMRPC_SOL_DEVICE] = READ_ONCE(sk->sk_bound_dev_if);
}

/**
 * vmrpc_option_reset - the host socket is new
 * @vs: caller must hold vs->lock or be its only user
 */
void vmrpc_option_reset(struct vmrpc_sock *vs)
{
	memset(vs->sol, 0, sizeof(vs->sol));
	vs->sol[VMRPC_SOL_RCVLOWAT] = 1;
	vs->sol[VMRPC_SOL_PEEK_OFF] = -1;
	vs->sol[VMRPC_SOL_MAX_PACING_RATE] = -1;
}

/**
 * vmrpc_option_peeked - a datagram has been received, or looked at
 * @vs: where
 * @n: bytes, as the program was told; negative: looked at
 *
 * The host moves SO_PEEK_OFF as the native side does it.
 */
void vmrpc_option_peeked(struct vmrpc_sock *vs, int n)
{
	if (likely(READ_ONCE(vs->sk->sk_peek_off) < 0))
		return;
	sk_peek_offset_bwd(vs->sk, n);
	vs->sol[VMRPC_SOL_PEEK_OFF] = READ_ONCE(vs->sk->sk_peek_off);
}

/**
 * vmrpc_option_stale - does the host have other SOL_SOCKET options?
 * @vs: the socket; cheap enough for every call
 */
bool vmrpc_option_stale(const struct vmrpc_sock *vs)
{
	int sol[VMRPC_SOL_NUM];

	sol_read(vs->sk, sol);
	return memcmp(sol, vs->sol, sizeof(sol)) != 0;
}

/* The host may give less than was asked for: let the program see how much. */
static int buffer_set(struct vmrpc_sock *vs, enum vmrpc_sol which, int *value)
{
	int name = sol_names[which], real, err;

	/* SO_BUF_LOCK has taken back what there was; the host goes on with it. */
	if (!*value)
		return 0;
	err = host_set(vs, SOL_SOCKET, name, value, sizeof(*value));
	if (err || vmrpc_option_ask(vs, SOL_SOCKET, name, &real,
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
		return host_set(vs, SOL_SOCKET, SO_LINGER, &linger,
				sizeof(linger));
	case VMRPC_SOL_TIMESTAMP:
		if (*value)
			return host_set(vs, SOL_SOCKET, *value, &one,
					sizeof(one));
		return host_set(vs, SOL_SOCKET, vs->sol[which] == SOL_UNKNOWN ?
				SO_TIMESTAMP_OLD : vs->sol[which],
				&zero, sizeof(zero));
	case VMRPC_SOL_TIMESTAMPING:
		flags = *value & ~TIMESTAMPING_NEW;
		return host_set(vs, SOL_SOCKET, *value & TIMESTAMPING_NEW ?
				SO_TIMESTAMPING_NEW : SO_TIMESTAMPING_OLD,
				&flags, sizeof(flags));
	default:
		return host_set(vs, SOL_SOCKET, sol_names[which], value,
				sizeof(*value));
	}
}

/**
 * vmrpc_option_sync - tell the host the SOL_SOCKET options that have changed
 * @vs: caller must hold vs->lock; nothing happens without a host socket
 *
 * Every option is tried once.  Returns 0 or the first error.
 */
int vmrpc_option_sync(struct vmrpc_sock *vs)
{
	int sol[VMRPC_SOL_NUM];
	int i, err, first = 0;

	/* It hears nothing from the host any more. */
	if (vmrpc_sock_mode(vs) == VMRPC_BOTH && vmrpc_sock_device_is_other(vs))
		vmrpc_sock_turn_native(vs);
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return 0;
	sol_read(vs->sk, sol);
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
 * vmrpc_option_refresh - before a request that SOL_SOCKET options matter for
 * @vs: caller must not hold vs->lock
 *
 * What the host refuses, the native side has accepted: it is too late for an
 * error.
 */
void vmrpc_option_refresh(struct vmrpc_sock *vs)
{
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE ||
	    likely(!vmrpc_option_stale(vs)))
		return;
	mutex_lock(&vs->lock);
	vmrpc_option_sync(vs);
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
	    vmrpc_option_ask(child, SOL_SOCKET, sol_names[which], &value,
			     sizeof(value)) < (int)sizeof(int))
		return;
	child->sol[which] = !!value.l_onoff;
	sol_read(child->sk, sol);
	if (sol[which] != child->sol[which])
		sock_valbool_flag(child->sk, flags[which], value.l_onoff);
}

/**
 * vmrpc_option_inherit - options of an accepted connection
 * @child: connection from the host, nobody else has it yet
 * @parent: the listener
 *
 * The host's socket has inherited already; this is for the native side.
 */
void vmrpc_option_inherit(struct vmrpc_sock *child,
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

/* --- the other levels -------------------------------------------------------- */

static enum kind ip_kind(const struct vmrpc_device *dev, int name)
{
	/* Netfilter and its kin sit from 64 on. */
	if (name >= 64)
		return LOCAL;
	switch (name) {
	case IP_RECVOPTS:
	case IP_RETOPTS:
		/* What comes over IPv6 has none to tell of. */
		return dev->translate ? LOCAL : NOW;
	case IP_BIND_ADDRESS_NO_PORT:	/* both sides need the port anyway */
	case IP_LOCAL_PORT_RANGE:
	case IP_MULTICAST_IF:		/* decides which side it is (group.c) */
	case IP_UNICAST_IF:		/* so does this (sock.c) */
	case IP_MULTICAST_ALL:		/* the host never gives others' groups */
	case IP_IPSEC_POLICY:
	case IP_XFRM_POLICY:
	case IP_NODEFRAG:
	case IP_CHECKSUM:
		return LOCAL;
	case IP_TOS:
	case IP_TTL:
	case IP_PKTINFO:
	case IP_RECVTTL:
	case IP_RECVTOS:
	case IP_RECVERR:
	case IP_MTU_DISCOVER:
	case IP_MINTTL:
	case IP_MULTICAST_TTL:
	case IP_MULTICAST_LOOP:
		return DEFER;
	default:
		return NOW;
	}
}

static enum kind tcp_kind(int name)
{
	switch (name) {
	case TCP_NODELAY:
	case TCP_MAXSEG:
	case TCP_CORK:
	case TCP_KEEPIDLE:
	case TCP_KEEPINTVL:
	case TCP_KEEPCNT:
	case TCP_SYNCNT:
	case TCP_LINGER2:
	case TCP_DEFER_ACCEPT:
	case TCP_WINDOW_CLAMP:
	case TCP_QUICKACK:
	case TCP_USER_TIMEOUT:
	case TCP_FASTOPEN:
	case TCP_FASTOPEN_CONNECT:
	case TCP_NOTSENT_LOWAT:
	case TCP_INQ:
		return DEFER;
	default:
		return NOW;
	}
}

static enum kind udp_kind(int name)
{
	switch (name) {
	case UDP_CORK:
	case UDP_SEGMENT:
	case UDP_GRO:
		return DEFER;
	case UDP_NO_CHECK6_TX:		/* without effect on IPv4's sockets */
	case UDP_NO_CHECK6_RX:
		return LOCAL;
	default:
		return NOW;
	}
}

static enum kind option_kind(const struct vmrpc_sock *vs, int level, int name)
{
	const struct sock *sk = vs->sk;

	if (vmrpc_group_is_option(level, name))
		return LOCAL;
	switch (level) {
	case IPPROTO_IP:
		return ip_kind(vs->dev, name);
	case IPPROTO_TCP:
		return sk->sk_type == SOCK_STREAM ? tcp_kind(name) : LOCAL;
	case IPPROTO_UDP:
		return sk->sk_protocol == IPPROTO_UDP ? udp_kind(name) : LOCAL;
	default:
		return LOCAL;
	}
}

static struct opt *find(const struct vmrpc_sock *vs, int level, int name)
{
	struct opt *o;

	list_for_each_entry(o, &vs->opts, list)
		if (o->level == level && o->name == name)
			return o;
	return NULL;
}

/* Of memberships there are many; the group comes first in the value. */
static struct opt *find_same(const struct vmrpc_sock *vs, int level, int name,
			     const void *value)
{
	struct opt *o;

	if (!vmrpc_group_is_option(level, name))
		return find(vs, level, name);
	list_for_each_entry(o, &vs->opts, list)
		if (o->level == level && o->name == name &&
		    !memcmp(o->value, value, sizeof(__be32)))
			return o;
	return NULL;
}

static void forget(struct vmrpc_sock *vs, struct opt *o)
{
	list_del(&o->list);
	vs->num_opts--;
	kfree(o);
}

/* Remembers an option; the order is that of the latest values. */
static int record(struct vmrpc_sock *vs, int level, int name,
		  const void *value, unsigned int len)
{
	struct opt *o = find_same(vs, level, name, value);

	if (o)
		forget(vs, o);
	if (vs->num_opts >= OPTS_MAX)
		return -ENOBUFS;
	o = kmalloc(struct_size(o, value, len), GFP_KERNEL);
	if (!o)
		return -ENOMEM;
	o->level = level;
	o->name = name;
	o->len = len;
	memcpy(o->value, value, len);
	list_add_tail(&o->list, &vs->opts);
	vs->num_opts++;
	return 0;
}

/**
 * vmrpc_option_free - forget what was remembered
 * @vs: the socket, which has no other users any more
 */
void vmrpc_option_free(struct vmrpc_sock *vs)
{
	struct opt *o, *next;

	list_for_each_entry_safe(o, next, &vs->opts, list)
		forget(vs, o);
}

/**
 * vmrpc_option_replay - set what was remembered on a new host socket
 * @vs: caller must hold vs->lock
 *
 * Returns 0 or the first error.
 */
int vmrpc_option_replay(struct vmrpc_sock *vs)
{
	struct opt *o;
	int err;

	list_for_each_entry(o, &vs->opts, list) {
		err = host_set(vs, o->level, o->name, o->value, o->len);
		if (err)
			return err;
	}
	return 0;
}

/* Taking the cork out sends what is behind it. */
static void set_corked(struct vmrpc_sock *vs, const void *value)
{
	int corked;

	memcpy(&corked, value, sizeof(corked));
	WRITE_ONCE(vs->corked, corked);
	if (!corked)
		WRITE_ONCE(vs->unfinished, false);
}

/* Caller must hold vs->lock.  The native side has accepted the value. */
static int tell_host(struct vmrpc_sock *vs, enum kind kind, int level,
		     int name, const void *value, unsigned int len)
{
	int err = 0;

	if (kind == NOW) {
		/* A socket that can only be native needs no host. */
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE &&
		    (!vs->has_handle || vmrpc_sock_bound_elsewhere(vs)))
			return 0;
		err = vmrpc_sock_open(vs);
		if (err)
			return err;
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
			return 0;	/* bound to another interface just now */
	}
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		err = host_set(vs, level, name, value, len);
	if (err)
		return err;
	if (level == IPPROTO_UDP && name == UDP_CORK)
		set_corked(vs, value);
	return record(vs, level, name, value, len);
}

/**
 * vmrpc_option_now - set an option on the host, which is to exist at once
 * @vs: caller must hold vs->lock
 * @level: any
 * @name: option
 * @value: its value
 * @len: how long that is
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_option_now(struct vmrpc_sock *vs, int level, int name,
		     const void *value, unsigned int len)
{
	return tell_host(vs, NOW, level, name, value, len);
}

/**
 * vmrpc_option_undo - take back what one option did, by another
 * @vs: caller must hold vs->lock
 * @level: of both
 * @name: what is not to be remembered any more
 * @undo: what undoes it, if there is a host socket
 * @value: of both
 * @len: how long that is
 */
void vmrpc_option_undo(struct vmrpc_sock *vs, int level, int name, int undo,
		       const void *value, unsigned int len)
{
	struct opt *o = find_same(vs, level, name, value);

	if (!o)
		return;
	forget(vs, o);
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE &&
	    host_set(vs, level, undo, value, len))
		pr_debug("vmrpc: option %d:%d is not undone\n", level, name);
}

static int native_set(struct socket *sock, int level, int name,
		      sockptr_t optval, unsigned int optlen)
{
	if (level == SOL_SOCKET)
		return sock_setsockopt(sock, level, name, optval, optlen);
	return sock_common_setsockopt(sock, level, name, optval, optlen);
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
 * vmrpc_option_is_in_the_way - has it an option that a host socket cannot have?
 * @vs: the socket
 *
 * Before 6.7 nobody asks us when it is set.
 */
bool vmrpc_option_is_in_the_way(const struct vmrpc_sock *vs)
{
	return rcu_access_pointer(vs->sk->sk_filter) ||
	       sock_flag(vs->sk, SOCK_TXTIME);
}

static int set_sol_socket(struct socket *sock, struct vmrpc_sock *vs, int name,
			  sockptr_t optval, unsigned int optlen)
{
	int err;

	if (takes_native(vs, name))
		return -ENOPROTOOPT;
	err = native_set(sock, SOL_SOCKET, name, optval, optlen);
	if (err || !vmrpc_option_stale(vs))
		return err;
	mutex_lock(&vs->lock);
	err = vmrpc_option_sync(vs);
	mutex_unlock(&vs->lock);
	return err;
}

/*
 * Sets an option on the native side and copies its value to @value, of which
 * @optlen becomes the length.  One copy serves both, or the program could
 * change it in between; but where not all of it can be read the kernel may
 * find something else wrong first, or may need the beginning only.
 */
static int native_set_copy(struct socket *sock, int level, int name,
			   sockptr_t optval, unsigned int *optlen, u8 *value)
{
	int err;

	if (*optlen <= VMRPC_OPTVAL_MAX &&
	    !copy_from_sockptr(value, optval, *optlen))
		return native_set(sock, level, name, KERNEL_SOCKPTR(value),
				  *optlen);
	err = native_set(sock, level, name, optval, *optlen);
	if (err)
		return err;
	*optlen = min_t(unsigned int, *optlen, VMRPC_OPTVAL_MAX);
	if (!copy_from_sockptr(value, optval, *optlen))
		return 0;
	*optlen = sizeof(int);
	return copy_from_sockptr(value, optval, *optlen) ? -EFAULT : 0;
}

/*
 * TCP_ULP never reaches the kernel by one of our sockets.  TLS copies the
 * operations and the protocol of the first sock that asks, before it looks
 * whether that one can have it, and gives the copies to all: connections that
 * are not ours would be released by us, and by our memory when we are gone.
 */
static int refuse_ulp(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) == TCP_ESTABLISHED ? -ENOPROTOOPT
							  : -ENOTCONN;
}

/**
 * vmrpc_setsockopt - setsockopt(2), streams and datagrams
 * @sock: the socket
 * @level: SOL_SOCKET only from kernel 6.7 on
 * @name: option
 * @optval: value
 * @optlen: its length
 *
 * Returns 0 or a negative errno; the host's error is the last word.
 */
int vmrpc_setsockopt(struct socket *sock, int level, int name,
		     sockptr_t optval, unsigned int optlen)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	u8 value[VMRPC_OPTVAL_MAX];
	enum kind kind;
	int err;

	if (level == IPPROTO_TCP && name == TCP_ULP &&
	    sock->type == SOCK_STREAM)
		return refuse_ulp(sock->sk);
	if (!vs)
		return native_set(sock, level, name, optval, optlen);
	if (level == SOL_SOCKET)
		return set_sol_socket(sock, vs, name, optval, optlen);
	if (vmrpc_group_is_option(level, name) &&
	    sock->sk->sk_protocol == IPPROTO_UDP)
		return vmrpc_group_setsockopt(sock, vs, name, optval, optlen);
	kind = option_kind(vs, level, name);
	if (kind == LOCAL)
		return native_set(sock, level, name, optval, optlen);

	err = native_set_copy(sock, level, name, optval, &optlen, value);
	if (err)
		return err;
	mutex_lock(&vs->lock);
	err = tell_host(vs, kind, level, name, value, optlen);
	mutex_unlock(&vs->lock);
	return err;
}

/**
 * vmrpc_option_push - send what the host holds back because of MSG_MORE
 * @vs: has a host socket
 *
 * Unless the program has corked the socket itself.
 */
void vmrpc_option_push(struct vmrpc_sock *vs)
{
	int zero = 0;

	if (vs->sk->sk_type == SOCK_STREAM) {
		if (!(tcp_sk(vs->sk)->nonagle & TCP_NAGLE_CORK))
			host_set(vs, IPPROTO_TCP, TCP_CORK, &zero,
				 sizeof(zero));
	} else if (!vmrpc_sk_is_ping(vs->sk) && !READ_ONCE(vs->corked)) {
		host_set(vs, IPPROTO_UDP, UDP_CORK, &zero, sizeof(zero));
		WRITE_ONCE(vs->unfinished, false);
	}
}

/**
 * vmrpc_option_ask - ask the host for an option
 * @vs: has a host socket
 * @level: any
 * @name: option
 * @value: room for the value
 * @len: how much, at most VMRPC_OPTVAL_MAX
 *
 * Returns how much was used, or a negative errno.
 */
int vmrpc_option_ask(struct vmrpc_sock *vs, int level, int name, void *value,
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

static int host_get(struct vmrpc_sock *vs, int level, int name,
		    char __user *optval, int __user *optlen)
{
	u8 value[VMRPC_OPTVAL_MAX];
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = vmrpc_option_ask(vs, level, name, value,
			       min_t(int, len, sizeof(value)));
	if (len < 0)
		return len;
	if (put_user(len, optlen) || copy_to_user(optval, value, len))
		return -EFAULT;
	return 0;
}

/*
 * Of what the host does not know: is the native side's value the truth?  These
 * cannot be set to anything that would have an effect beyond the guest, and
 * are what they are from the beginning.
 */
static bool only_native(int level, int name)
{
	switch (level) {
	case IPPROTO_IP:
		/* It tells addresses, which the native side lacks. */
		return name != IP_PKTOPTIONS;
	case IPPROTO_TCP:
		return name == TCP_SAVE_SYN || name == TCP_SAVED_SYN ||
		       name == TCP_REPAIR || name == TCP_REPAIR_QUEUE ||
		       name == TCP_REPAIR_WINDOW || name == TCP_QUEUE_SEQ ||
		       name == TCP_ULP || name == TCP_FASTOPEN_NO_COOKIE ||
		       name == TCP_TX_DELAY;
	case IPPROTO_UDP:
		return true;
	default:
		return false;
	}
}

/**
 * vmrpc_getsockopt - getsockopt(2), streams and datagrams
 * @sock: the socket
 * @level: not SOL_SOCKET, which the core answers
 * @name: option
 * @optval: room for the value
 * @optlen: how much, and how much was used
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_getsockopt(struct socket *sock, int level, int name,
		     char __user *optval, int __user *optlen)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs || vmrpc_sock_mode(vs) != VMRPC_REMOTE ||
	    option_kind(vs, level, name) == LOCAL)
		return sock_common_getsockopt(sock, level, name, optval,
					      optlen);
	vmrpc_option_refresh(vs);
	err = host_get(vs, level, name, optval, optlen);
	if (err == -ENOPROTOOPT && only_native(level, name))
		err = sock_common_getsockopt(sock, level, name, optval,
					     optlen);
	return err;
}
