// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inet_create(), which makes native sockets
 *
 * It is static.  A kprobe on it, removed before it could ever fire, tells its
 * address.  With IBT that is the address after the ENDBR instruction, so the
 * beginning is searched for.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/net.h>

#include "native/native.h"

static vmrpc_native_create_fn inet_create;

/* The first instruction of inet_create(), or NULL. */
static void *find_inet_create(void)
{
	struct kprobe probe = { .symbol_name = "inet_create" };
	char name[KSYM_SYMBOL_LEN];
	unsigned long addr;
	unsigned int back;

	if (register_kprobe(&probe))
		return NULL;
	addr = (unsigned long)probe.addr;
	unregister_kprobe(&probe);

	for (back = 0; back <= 16; back++) {
		sprint_symbol(name, addr - back);
		if (strstarts(name, "inet_create+0x0/"))
			return (void *)(addr - back);
	}
	return NULL;
}

/**
 * vmrpc_native_find - find the kernel's function; before vmrpc_native_create()
 *
 * Returns it, or NULL if it was not found.
 */
vmrpc_native_create_fn vmrpc_native_find(void)
{
	inet_create = find_inet_create();
	return inet_create;
}

/**
 * vmrpc_native_create - make a native socket
 * @net: network namespace
 * @sock: gets a sock and the native operations
 * @protocol: as in socket(2)
 * @kern: 1: a socket of the kernel
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_native_create(struct net *net, struct socket *sock, int protocol,
			int kern)
{
	return inet_create(net, sock, protocol, kern);
}
