// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A detour for loopback: programs that talk to 127.0.0.1 talk over the host
 *
 * Theory of operation
 * ===================
 *
 * A test suite has both ends of its connections in one machine and looks for
 * them at 127.0.0.1, which never leaves the guest.  While this module is loaded
 * it is an address of the outside.  The suite is not changed: addresses are
 * translated where they pass from the program to the socket and back.
 *
 *   a program                            its socket
 *   binds to 127.0.0.1                   binds to own
 *   connects or sends to 127.0.0.1,      connects or sends to far
 *     or 0.0.0.0, which means the same
 *   is told of 127.0.0.1 as an address   is told of own or far
 *
 * own is the guest's address.  far is an address outside that sends everything
 * back to the guest, as if it had come from far (reflector.py).  So whatever
 * the program does at 127.0.0.1, its peer is there as well, and sees it there.
 *
 * The calls of programs are told from those of the kernel by where they can be
 * caught: at the LSM hooks, which kernel_bind() and its kin do not have, and
 * where the kernel copies an address to a program.  Addresses in ancillary data
 * stay what they are.
 *
 * It also counts what vmrpc asks of the host, so that a test can be seen to
 * have gone there.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/ptrace.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <vmmnet/vmrpc.h>

static char *own = "192.0.0.2";
module_param(own, charp, 0444);
MODULE_PARM_DESC(own, "the guest's address, for 127.0.0.1 in bind()");

static char *far = "";
module_param(far, charp, 0444);
MODULE_PARM_DESC(far, "the reflector's address, for 127.0.0.1 as a peer");

static unsigned int sockets;
module_param(sockets, uint, 0444);
MODULE_PARM_DESC(sockets, "requests to make, accept, bind or connect sockets of the host (read only)");

static __be32 own4, far4;

static void *argument(struct pt_regs *regs, unsigned int number)
{
	return (void *)regs_get_kernel_argument(regs, number);
}

/* The sockets that vmrpc takes over. */
static bool is_outsourced(const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	return sk && sk->sk_family == AF_INET && net_eq(sock_net(sk), &init_net) &&
	       ((sock->type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP) ||
		(sock->type == SOCK_DGRAM && sk->sk_protocol == IPPROTO_UDP));
}

/* The IPv4 address that a program names to a socket; NULL: none of these. */
static struct sockaddr_in *named(const struct socket *sock, void *name, int len)
{
	struct sockaddr_in *sin = name;

	return sin && len >= (int)sizeof(*sin) && sin->sin_family == AF_INET &&
	       is_outsourced(sock) ? sin : NULL;
}

static void translate_peer(const struct socket *sock, void *name, int len)
{
	struct sockaddr_in *sin = named(sock, name, len);

	if (sin && (sin->sin_addr.s_addr == htonl(INADDR_LOOPBACK) ||
		    sin->sin_addr.s_addr == htonl(INADDR_ANY)))
		sin->sin_addr.s_addr = far4;
}

/* security_socket_bind(sock, address, addrlen) */
static int on_bind(struct kprobe *probe, struct pt_regs *regs)
{
	struct sockaddr_in *sin = named(argument(regs, 0), argument(regs, 1),
					(long)argument(regs, 2));

	if (sin && sin->sin_addr.s_addr == htonl(INADDR_LOOPBACK))
		sin->sin_addr.s_addr = own4;
	return 0;
}

/* security_socket_connect(sock, address, addrlen) */
static int on_connect(struct kprobe *probe, struct pt_regs *regs)
{
	translate_peer(argument(regs, 0), argument(regs, 1),
		       (long)argument(regs, 2));
	return 0;
}

/* security_socket_sendmsg(sock, msg, size) */
static int on_send(struct kprobe *probe, struct pt_regs *regs)
{
	struct msghdr *msg = argument(regs, 1);

	translate_peer(argument(regs, 0), msg->msg_name, msg->msg_namelen);
	return 0;
}

/* move_addr_to_user(kaddr, klen, uaddr, ulen) */
static int on_told(struct kprobe *probe, struct pt_regs *regs)
{
	struct sockaddr_in *sin = argument(regs, 0);
	int len = (long)argument(regs, 1);

	if (len >= (int)sizeof(*sin) && sin->sin_family == AF_INET &&
	    (sin->sin_addr.s_addr == own4 || sin->sin_addr.s_addr == far4))
		sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return 0;
}

/* vmrpc_call_new(vs, op) */
static int on_call(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned int op = (long)argument(regs, 1);

	/* Two at once may count as one: that there are any is what matters. */
	switch (op) {
	case VMRPC_SOCKET:
	case VMRPC_BIND:
	case VMRPC_CONNECT:
	case VMRPC_ACCEPT:
		WRITE_ONCE(sockets, sockets + 1);
	}
	return 0;
}

static struct kprobe bind_probe = {
	.symbol_name = "security_socket_bind",
	.pre_handler = on_bind,
};

static struct kprobe connect_probe = {
	.symbol_name = "security_socket_connect",
	.pre_handler = on_connect,
};

static struct kprobe send_probe = {
	.symbol_name = "security_socket_sendmsg",
	.pre_handler = on_send,
};

static struct kprobe told_probe = {
	.symbol_name = "move_addr_to_user",
	.pre_handler = on_told,
};

static struct kprobe call_probe = {
	.symbol_name = "vmrpc_call_new",
	.pre_handler = on_call,
};

static struct kprobe *probes[] = {
	&bind_probe, &connect_probe, &send_probe, &told_probe, &call_probe,
};

static int __init detour_init(void)
{
	if (!in4_pton(own, -1, (u8 *)&own4, -1, NULL) ||
	    !in4_pton(far, -1, (u8 *)&far4, -1, NULL))
		return -EINVAL;
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

static void __exit detour_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}

module_init(detour_init);
module_exit(detour_exit);

MODULE_DESCRIPTION("Test suites' loopback goes out through the host");
MODULE_LICENSE("GPL");
