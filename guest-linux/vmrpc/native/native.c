// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inet_create() and inet6_create(), which make native sockets
 *
 * They are static.  A kprobe on one, removed before it could ever fire, tells
 * its address.  With IBT that is the address after the ENDBR instruction, so the
 * beginning is searched for.
 *
 * The operations and protocols of AF_INET6 are not all exported, and the kernel
 * may be built or booted without IPv6.  So a socket tells them.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/net.h>
#include <net/inet_common.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "native/native.h"

struct vmrpc_native vmrpc_natives[2] __ro_after_init = {
	{
		.stream = &inet_stream_ops,
		.dgram = &inet_dgram_ops,
		.tcp = &tcp_prot,
		.udp = &udp_prot,
	},
};

/* The first instruction of the function @symbol, or NULL. */
static void *find_function(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol };
	char name[KSYM_SYMBOL_LEN];
	size_t len = strlen(symbol);
	unsigned long addr;
	unsigned int back;

	if (register_kprobe(&probe))
		return NULL;
	addr = (unsigned long)probe.addr;
	unregister_kprobe(&probe);

	for (back = 0; back <= 16; back++) {
		sprint_symbol(name, addr - back);
		if (!strncmp(name, symbol, len) &&
		    strstarts(name + len, "+0x0/"))
			return (void *)(addr - back);
	}
	return NULL;
}

/**
 * vmrpc_native_find - find the kernel's create function
 * @family: PF_INET or PF_INET6
 *
 * Returns it, or NULL if it was not found.
 */
vmrpc_native_create_fn vmrpc_native_find(int family)
{
	return vmrpc_native(family)->create;
}

/* Returns 0 or a negative errno. */
static int __init learn(int type, int protocol, const struct proto_ops **ops,
			struct proto **prot)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, PF_INET6, type, protocol, &sock);

	if (err)
		return err;
	*ops = sock->ops;
	*prot = sock->sk->sk_prot;
	sock_release(sock);
	return 0;
}

/**
 * vmrpc_native_init - to be called once, before everything else here
 */
void __init vmrpc_native_init(void)
{
	struct vmrpc_native *inet6 = &vmrpc_natives[1];
	const struct proto_ops *stream, *dgram;

	vmrpc_natives[0].create = find_function("inet_create");
	if (learn(SOCK_STREAM, IPPROTO_TCP, &stream, &inet6->tcp) ||
	    learn(SOCK_DGRAM, IPPROTO_UDP, &dgram, &inet6->udp))
		return;
	inet6->create = find_function("inet6_create");
	if (!inet6->create) {
		pr_warn("vmrpc: inet6_create not found: sockets of AF_INET6 stay in the guest\n");
		return;
	}
	inet6->dgram = dgram;
	inet6->stream = stream;
}
