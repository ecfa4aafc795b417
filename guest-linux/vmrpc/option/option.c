// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of IPPROTO_IP, IPPROTO_TCP and IPPROTO_UDP on the host
 */
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/tcp.h>

#include "host/host.h"
#include "host/optlist.h"
#include "option/option.h"
#include "sock/addr.h"
#include "sock/ask.h"

/* Clearing UDP_CORK sends the datagram. */
static void set_corked(struct vmrpc_sock *vs, const void *value)
{
	int corked;

	memcpy(&corked, value, sizeof(corked));
	WRITE_ONCE(vs->corked, corked);
	if (!corked)
		WRITE_ONCE(vs->unfinished, false);
}

/**
 * vmrpc_option_set - set an option, also on the host if there is a host socket
 * @vs: caller must hold vs->lock
 * @kind: VMRPC_OPTION_NOW: make the host socket first
 * @level: any
 * @name: option
 * @value: its value
 * @len: length of @value
 *
 * The option is remembered for a later host socket.  Returns 0, a negative
 * errno, or VMRPC_USE_NATIVE: the socket is bound to another interface, and the
 * caller turns it native.
 */
int vmrpc_option_set(struct vmrpc_sock *vs, enum vmrpc_option_kind kind,
		     int level, int name, const void *value, unsigned int len)
{
	int err = 0;

	/* A container's may be a listener, which never needs the host. */
	if (kind == VMRPC_OPTION_NOW && !vmrpc_sock_is_contained(vs)) {
		/* A socket that can only be native does not need the host. */
		if (vmrpc_sock_mode(vs) == VMRPC_NATIVE &&
		    (!vs->has_handle || vmrpc_addr_bound_elsewhere(vs)))
			return 0;
		err = vmrpc_host_open(vs);
		if (err)
			return err;
	}
	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		err = vmrpc_ask_setopt(vs, level, name, value, len);
	if (err)
		return err;
	if (level == IPPROTO_UDP && name == UDP_CORK)
		set_corked(vs, value);
	return vmrpc_optlist_add(vs, level, name, value, len);
}

/**
 * vmrpc_option_undo - take back what one option did, by another
 * @vs: caller must hold vs->lock
 * @level: of both
 * @name: the option that is forgotten
 * @undo: the option that undoes it, if there is a host socket
 * @value: of both
 * @len: length of @value
 */
void vmrpc_option_undo(struct vmrpc_sock *vs, int level, int name, int undo,
		       const void *value, unsigned int len)
{
	if (vmrpc_optlist_remove(vs, level, name, value) &&
	    vmrpc_sock_mode(vs) != VMRPC_NATIVE &&
	    vmrpc_ask_setopt(vs, level, undo, value, len))
		pr_debug("vmrpc: option %d:%d is not undone\n", level, name);
}

/**
 * vmrpc_option_push - send the data that the host holds back for MSG_MORE
 * @vs: has a host socket
 *
 * Does nothing if the program has corked the socket itself.
 */
void vmrpc_option_push(struct vmrpc_sock *vs)
{
	int zero = 0;

	if (vs->sk->sk_type == SOCK_STREAM) {
		if (!(tcp_sk(vs->sk)->nonagle & TCP_NAGLE_CORK))
			vmrpc_ask_setopt(vs, IPPROTO_TCP, TCP_CORK, &zero,
					 sizeof(zero));
	} else if (!vmrpc_sk_is_ping(vs->sk) && !READ_ONCE(vs->corked)) {
		vmrpc_ask_setopt(vs, IPPROTO_UDP, UDP_CORK, &zero,
				 sizeof(zero));
		WRITE_ONCE(vs->unfinished, false);
	}
}
