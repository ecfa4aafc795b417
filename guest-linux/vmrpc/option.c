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
 * SOL_SOCKET.  See sol.c.
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

/* --- what kind it is --------------------------------------------------------- */

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
		err = vmrpc_sock_setopt(vs, o->level, o->name, o->value,
					o->len);
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
		err = vmrpc_sock_setopt(vs, level, name, value, len);
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
 * vmrpc_option_is_set - is an option remembered?
 * @vs: caller must hold vs->lock
 * @level: any
 * @name: option
 * @value: of memberships, the group; others are set once
 */
bool vmrpc_option_is_set(const struct vmrpc_sock *vs, int level, int name,
			 const void *value)
{
	return find_same(vs, level, name, value);
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
	    vmrpc_sock_setopt(vs, level, undo, value, len))
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
		return vmrpc_sol_setsockopt(sock, vs, name, optval, optlen);
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
			vmrpc_sock_setopt(vs, IPPROTO_TCP, TCP_CORK, &zero,
					  sizeof(zero));
	} else if (!vmrpc_sk_is_ping(vs->sk) && !READ_ONCE(vs->corked)) {
		vmrpc_sock_setopt(vs, IPPROTO_UDP, UDP_CORK, &zero,
				  sizeof(zero));
		WRITE_ONCE(vs->unfinished, false);
	}
}

/* A newer host's struct is longer than that of the guest's kernel. */
static unsigned int value_max(int level, int name)
{
	return level == IPPROTO_TCP && name == TCP_INFO ?
	       sizeof(struct tcp_info) : VMRPC_OPTVAL_MAX;
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
	len = vmrpc_sock_getopt(vs, level, name, value,
				min_t(int, len, value_max(level, name)));
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
	vmrpc_sol_refresh(vs);
	err = host_get(vs, level, name, optval, optlen);
	if (err == -ENOPROTOOPT && only_native(level, name))
		err = sock_common_getsockopt(sock, level, name, optval,
					     optlen);
	return err;
}
