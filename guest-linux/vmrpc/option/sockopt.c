// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * setsockopt(2) and getsockopt(2)
 *
 * Theory of operation
 * ===================
 *
 * An option is always set on the native sock first: the kernel checks it and
 * remembers it.  Whether the host gets it depends on the option.  For
 * SOL_SOCKET see sock/sol.c, for membership in groups group.c.  For the others
 * option_kind() decides (enum vmrpc_option_kind).
 *
 * getsockopt() of a socket with a peer on the host asks the host, because only
 * the host has the right TCP_INFO and IP_MTU.
 *
 * A socket of AF_INET6 has two sets of options: that of IPPROTO_IP is in force
 * with IPv4-mapped peers, that of IPPROTO_IPV6 with others.  The host gets both.
 */
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "host/host.h"
#include "option/group.h"
#include "option/option.h"
#include "option/sockopt.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/sol.h"

/* --- the kind of an option ------------------------------------------------ */

static enum vmrpc_option_kind ip_kind(const struct vmrpc_device *dev, int name)
{
	/* From 64 on: netfilter and similar modules. */
	if (name >= 64)
		return VMRPC_OPTION_LOCAL;
	switch (name) {
	case IP_RECVOPTS:
	case IP_RETOPTS:
		/* IPv6 packets have no IPv4 options. */
		return dev->translate ? VMRPC_OPTION_LOCAL : VMRPC_OPTION_NOW;
	case IP_BIND_ADDRESS_NO_PORT:	/* both sides need the port at bind() */
	case IP_LOCAL_PORT_RANGE:
	case IP_MULTICAST_IF:		/* chooses the side (group.c) */
	case IP_UNICAST_IF:		/* chooses the side (sock/addr.c) */
	case IP_MULTICAST_ALL:		/* the host never does this */
	case IP_IPSEC_POLICY:
	case IP_XFRM_POLICY:
	case IP_NODEFRAG:
	case IP_CHECKSUM:
		return VMRPC_OPTION_LOCAL;
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
		return VMRPC_OPTION_DEFER;
	default:
		return VMRPC_OPTION_NOW;
	}
}

/* Of sockets of AF_INET6, which have those of IPPROTO_IP as well. */
static enum vmrpc_option_kind ip6_kind(int name)
{
	switch (name) {
	case IPV6_UNICAST_HOPS:
	case IPV6_TCLASS:
	case IPV6_RECVPKTINFO:
	case IPV6_RECVHOPLIMIT:
	case IPV6_RECVTCLASS:
	case IPV6_RECVERR:
	case IPV6_MTU_DISCOVER:
	case IPV6_MTU:
	case IPV6_DONTFRAG:
	case IPV6_MINHOPCOUNT:
	case IPV6_MULTICAST_HOPS:
	case IPV6_MULTICAST_LOOP:
	case IPV6_FLOWINFO:
	case IPV6_FLOWINFO_SEND:
	case IPV6_AUTOFLOWLABEL:
		return VMRPC_OPTION_DEFER;
	case IPV6_FREEBIND:		/* as IP_FREEBIND */
	case IPV6_TRANSPARENT:
	case IPV6_RTHDR:		/* the host adds no headers */
	case IPV6_HOPOPTS:
	case IPV6_DSTOPTS:
	case IPV6_RTHDRDSTOPTS:
	case IPV6_2292PKTOPTIONS:
		return VMRPC_OPTION_NOW;
	default:
		/*
		 * IPV6_V6ONLY is the native side's, and so are what chooses the
		 * side and leases of flow labels, which sockets of the guest
		 * share out; of what the others report, nothing comes from the
		 * host.
		 */
		return VMRPC_OPTION_LOCAL;
	}
}

static enum vmrpc_option_kind tcp_kind(int name)
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
		return VMRPC_OPTION_DEFER;
	default:
		return VMRPC_OPTION_NOW;
	}
}

static enum vmrpc_option_kind udp_kind(int name)
{
	switch (name) {
	case UDP_CORK:
	case UDP_SEGMENT:
	case UDP_GRO:
		return VMRPC_OPTION_DEFER;
	case UDP_NO_CHECK6_TX:		/* no effect on sockets of IPv4 */
	case UDP_NO_CHECK6_RX:
		return VMRPC_OPTION_LOCAL;
	default:
		return VMRPC_OPTION_NOW;
	}
}

static enum vmrpc_option_kind option_kind(const struct vmrpc_sock *vs,
					  int level, int name)
{
	const struct sock *sk = vs->sk;

	if (vmrpc_group_is_option(level, name))
		return VMRPC_OPTION_LOCAL;
	switch (level) {
	case IPPROTO_IP:
		return ip_kind(vs->dev, name);
	case IPPROTO_IPV6:
		return vmrpc_sk_is_inet6(sk) ? ip6_kind(name)
					     : VMRPC_OPTION_LOCAL;
	case IPPROTO_TCP:
		return sk->sk_type == SOCK_STREAM ? tcp_kind(name)
						  : VMRPC_OPTION_LOCAL;
	case IPPROTO_UDP:
		return sk->sk_protocol == IPPROTO_UDP ? udp_kind(name)
						      : VMRPC_OPTION_LOCAL;
	default:
		return VMRPC_OPTION_LOCAL;
	}
}

/* --- setsockopt ----------------------------------------------------------- */

/*
 * Turns the socket native if @err is VMRPC_USE_NATIVE, which is not an error.
 * Caller must hold vs->lock.
 */
static int turn_native_if(struct vmrpc_sock *vs, int err)
{
	if (err != VMRPC_USE_NATIVE)
		return err;
	vmrpc_host_turn_native(vs);
	return 0;
}

/*
 * Options that let the kernel look at each packet.  Only a socket that stays
 * native can have them.  A container's does, until it has a peer outside.
 */
static bool takes_native(const struct vmrpc_sock *vs, int name)
{
	switch (name) {
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
	case SO_ATTACH_REUSEPORT_CBPF:
	case SO_ATTACH_REUSEPORT_EBPF:
	case SO_TXTIME:
		return READ_ONCE(vs->has_handle) &&
		       (!vmrpc_sock_is_contained(vs) ||
			vmrpc_sock_mode(vs) != VMRPC_NATIVE);
	default:
		return false;
	}
}

/*
 * SOL_SOCKET, from kernel 6.7 on.  If the native side accepts the option, the
 * result is the host's.
 */
static int set_sol_socket(struct socket *sock, struct vmrpc_sock *vs, int name,
			  sockptr_t optval, unsigned int optlen)
{
	int err;

	if (takes_native(vs, name))
		return -ENOPROTOOPT;
	err = sock_setsockopt(sock, SOL_SOCKET, name, optval, optlen);
	if (err || !vmrpc_sol_stale(vs))
		return err;
	mutex_lock(&vs->lock);
	err = turn_native_if(vs, vmrpc_sol_sync(vs));
	mutex_unlock(&vs->lock);
	return err;
}

static int native_set(struct socket *sock, int level, int name,
		      sockptr_t optval, unsigned int optlen)
{
	if (level == SOL_SOCKET)
		return sock_setsockopt(sock, level, name, optval, optlen);
	return sock_common_setsockopt(sock, level, name, optval, optlen);
}

/*
 * Sets an option on the native side and copies its value to @value; *@optlen is
 * set to the length of the copy.  Both sides use one copy, because the program
 * could change its memory in between.  But if not all of the memory can be
 * read, the kernel may find another error first, or may only need the
 * beginning.
 */
static int native_set_copy(struct socket *sock, int level, int name,
			   sockptr_t optval, unsigned int *optlen, u8 *value)
{
	int err;

	/* To IPv6 no memory at all is the number 0. */
	if (level == IPPROTO_IPV6 && *optlen && sockptr_is_null(optval)) {
		err = native_set(sock, level, name, optval, *optlen);
		*optlen = sizeof(int);
		memset(value, 0, *optlen);
		return err;
	}
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

/* The options that ask for the address that a datagram was sent to. */
static bool is_pktinfo(int level, int name)
{
	return (level == IPPROTO_IP && name == IP_PKTINFO) ||
	       (level == IPPROTO_IPV6 && name == IPV6_RECVPKTINFO);
}

/*
 * A socket of AF_INET6 may get the address of an IPv4-mapped datagram in both
 * forms.  So the host tells it if one is wanted, and data/message.c gives the
 * form.
 */
static void merge_pktinfo(const struct sock *sk, int *level, int *name,
			  u8 *value, unsigned int *len)
{
	int on;

	if (!vmrpc_sk_is_inet6(sk) || !is_pktinfo(*level, *name))
		return;
	on = vmrpc_wants_pktinfo(sk) || inet6_sk(sk)->rxopt.bits.rxinfo;
	*level = IPPROTO_IPV6;
	*name = IPV6_RECVPKTINFO;
	*len = sizeof(on);
	memcpy(value, &on, sizeof(on));
}

/*
 * TCP_ULP of our sockets must never reach the kernel.  TLS copies the
 * operations and the protocol of the first sock that requests it, before it
 * checks that sock, and uses the copies for all socks.  So other connections
 * would be released by our code, even after this module is unloaded.
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
 * Returns 0 or a negative errno, also the host's.
 */
int vmrpc_setsockopt(struct socket *sock, int level, int name,
		     sockptr_t optval, unsigned int optlen)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	u8 value[VMRPC_OPTVAL_MAX];
	enum vmrpc_option_kind kind;
	int err;

	if (level == IPPROTO_TCP && name == TCP_ULP &&
	    sock->type == SOCK_STREAM)
		return refuse_ulp(sock->sk);
	/* It would get operations and a protocol that are not ours. */
	if (level == IPPROTO_IPV6 && name == IPV6_ADDRFORM)
		return -ENOPROTOOPT;
	if (!vs)
		return native_set(sock, level, name, optval, optlen);
	if (level == SOL_SOCKET)
		return set_sol_socket(sock, vs, name, optval, optlen);
	if (vmrpc_group_is_option(level, name) &&
	    sock->sk->sk_protocol == IPPROTO_UDP)
		return vmrpc_group_setsockopt(sock, vs, level, name, optval,
					      optlen);
	kind = option_kind(vs, level, name);
	if (kind == VMRPC_OPTION_LOCAL)
		return native_set(sock, level, name, optval, optlen);

	err = native_set_copy(sock, level, name, optval, &optlen, value);
	if (err)
		return err;
	merge_pktinfo(sock->sk, &level, &name, value, &optlen);
	mutex_lock(&vs->lock);
	err = vmrpc_option_set(vs, kind, level, name, value, optlen);
	err = turn_native_if(vs, err);
	mutex_unlock(&vs->lock);
	return err;
}

/* --- getsockopt ----------------------------------------------------------- */

/* The struct of a newer host is longer than that of the guest's kernel. */
static unsigned int value_max(const struct vmrpc_sock *vs, int level, int name)
{
	const unsigned int max = vs->dev->getopt_max;

	return level == IPPROTO_TCP && name == TCP_INFO ?
	       min_t(unsigned int, sizeof(struct tcp_info), max) : max;
}

static int host_get(struct vmrpc_sock *vs, int level, int name,
		    char __user *optval, int __user *optlen)
{
	u8 value[VMRPC_OPTVAL_LONG_MAX];
	int len, whole;

	/* The device's getopt_max is one of the two. */
	BUILD_BUG_ON(sizeof(value) < VMRPC_OPTVAL_MAX);
	BUILD_BUG_ON(sizeof(value) < sizeof(struct tcp_info));
	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	whole = level == IPPROTO_TCP && name == TCP_INFO ?
		min_t(int, len, sizeof(struct tcp_info)) : 0;
	len = vmrpc_ask_getopt(vs, level, name, value,
			       min_t(int, len, value_max(vs, level, name)));
	if (len < 0)
		return len;
	/* The struct of an older host is shorter. */
	if (len < whole) {
		memset(value + len, 0, whole - len);
		len = whole;
	}
	if (put_user(len, optlen) || copy_to_user(optval, value, len))
		return -EFAULT;
	return 0;
}

/*
 * The host does not know the option: is the value of the native side right?
 * These options cannot be set to a value with an effect outside the guest.
 */
static bool only_native(int level, int name)
{
	switch (level) {
	case IPPROTO_IP:
		/*
		 * It contains addresses, which the native side does not have.
		 */
		return name != IP_PKTOPTIONS;
	case IPPROTO_IPV6:
		return name != IPV6_2292PKTOPTIONS;
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

/* Has the host the value?  Of the two sets of AF_INET6, of that in force. */
static bool is_hosts(const struct vmrpc_sock *vs, int level, int name)
{
	bool is_mtu = name == (level == IPPROTO_IP ? IP_MTU : IPV6_MTU);
	__be32 addr;

	if (vmrpc_sock_mode(vs) != VMRPC_REMOTE ||
	    option_kind(vs, level, name) == VMRPC_OPTION_LOCAL)
		return false;
	if (!vmrpc_sk_is_inet6(vs->sk) || is_mtu ||
	    (level != IPPROTO_IP && level != IPPROTO_IPV6))
		return true;
	return !is_pktinfo(level, name) &&
	       vmrpc_addr_get4(&vs->peer, &addr) == (level == IPPROTO_IP);
}

/**
 * vmrpc_getsockopt - getsockopt(2), streams and datagrams
 * @sock: the socket
 * @level: not SOL_SOCKET, for which the core answers
 * @name: option
 * @optval: room for the value
 * @optlen: length of the room; set to the length of the value
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_getsockopt(struct socket *sock, int level, int name,
		     char __user *optval, int __user *optlen)
{
	struct vmrpc_sock *vs = vmrpc_sk(sock->sk);
	int err;

	if (!vs || !is_hosts(vs, level, name))
		return sock_common_getsockopt(sock, level, name, optval,
					      optlen);
	vmrpc_sol_refresh(vs);
	err = host_get(vs, level, name, optval, optlen);
	if (err == -ENOPROTOOPT && only_native(level, name))
		err = sock_common_getsockopt(sock, level, name, optval,
					     optlen);
	return err;
}
