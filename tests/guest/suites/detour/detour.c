// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A detour for loopback: programs that talk to 127.0.0.1 or ::1 talk over the host
 *
 * Theory of operation
 * ===================
 *
 * A test suite has both ends of its connections in one machine and looks for
 * them at 127.0.0.1 or ::1, which never leave the guest.  While this module is
 * loaded they are addresses of the outside.  The suite is not changed: addresses
 * are translated where they pass from the program to the socket and back.
 *
 *   a program                            its socket
 *   binds to 127.0.0.1                   binds to own
 *   connects or sends to 127.0.0.1,      connects or sends to far
 *     or 0.0.0.0, which means the same
 *   is told of 127.0.0.1 as an address   is told of own or far
 *
 * Sockets of AF_INET6 have the same for ::1 and ::, by own6 and far6, and for
 * the IPv4-mapped addresses of the above.
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
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <vmmnet/vmrpc.h>

static char *own = "192.0.0.2";
module_param(own, charp, 0444);
MODULE_PARM_DESC(own, "the guest's address, for 127.0.0.1 in bind()");

static char *far = "";
module_param(far, charp, 0444);
MODULE_PARM_DESC(far, "the reflector's address, for 127.0.0.1 as a peer");

static char *own6 = "";
module_param(own6, charp, 0444);
MODULE_PARM_DESC(own6, "the guest's address, for ::1 in bind()");

static char *far6 = "";
module_param(far6, charp, 0444);
MODULE_PARM_DESC(far6, "the reflector's address, for ::1 as a peer");

static unsigned int sockets;
module_param(sockets, uint, 0444);
MODULE_PARM_DESC(sockets, "requests to make, accept, bind or connect sockets of the host (read only)");

static __be32 own4, far4;
static struct in6_addr own_in6, far_in6;

static void *argument(struct pt_regs *regs, unsigned int number)
{
	return (void *)regs_get_kernel_argument(regs, number);
}

/* The sockets that vmrpc takes over. */
static bool is_outsourced(const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	return sk && net_eq(sock_net(sk), &init_net) &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
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

/* The same of an IPv6 address. */
static struct in6_addr *named6(const struct socket *sock, void *name, int len)
{
	struct sockaddr_in6 *sin6 = name;

	return sin6 && len >= SIN6_LEN_RFC2133 &&
	       sin6->sin6_family == AF_INET6 &&
	       is_outsourced(sock) ? &sin6->sin6_addr : NULL;
}

static bool is_mapped(const struct in6_addr *addr, __be32 addr4)
{
	return ipv6_addr_v4mapped(addr) && addr->s6_addr32[3] == addr4;
}

static void translate_peer(const struct socket *sock, void *name, int len)
{
	struct sockaddr_in *sin = named(sock, name, len);
	struct in6_addr *addr = named6(sock, name, len);

	if (sin && (sin->sin_addr.s_addr == htonl(INADDR_LOOPBACK) ||
		    sin->sin_addr.s_addr == htonl(INADDR_ANY)))
		sin->sin_addr.s_addr = far4;
	if (!addr)
		return;
	if (ipv6_addr_loopback(addr) || ipv6_addr_any(addr))
		*addr = far_in6;
	else if (is_mapped(addr, htonl(INADDR_LOOPBACK)) ||
		 is_mapped(addr, htonl(INADDR_ANY)))
		addr->s6_addr32[3] = far4;
}

/* security_socket_bind(sock, address, addrlen) */
static int on_bind(struct kprobe *probe, struct pt_regs *regs)
{
	const struct socket *sock = argument(regs, 0);
	void *name = argument(regs, 1);
	int len = (long)argument(regs, 2);
	struct sockaddr_in *sin = named(sock, name, len);
	struct in6_addr *addr = named6(sock, name, len);

	if (sin && sin->sin_addr.s_addr == htonl(INADDR_LOOPBACK))
		sin->sin_addr.s_addr = own4;
	if (addr && ipv6_addr_loopback(addr))
		*addr = own_in6;
	else if (addr && is_mapped(addr, htonl(INADDR_LOOPBACK)))
		addr->s6_addr32[3] = own4;
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
	struct sockaddr_in6 *sin6 = argument(regs, 0);
	int len = (long)argument(regs, 1);

	if (len >= SIN6_LEN_RFC2133 && sin6->sin6_family == AF_INET6) {
		struct in6_addr *addr = &sin6->sin6_addr;

		if (ipv6_addr_equal(addr, &own_in6) ||
		    ipv6_addr_equal(addr, &far_in6))
			*addr = in6addr_loopback;
		else if (is_mapped(addr, own4) || is_mapped(addr, far4))
			addr->s6_addr32[3] = htonl(INADDR_LOOPBACK);
		return 0;
	}
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
	    !in4_pton(far, -1, (u8 *)&far4, -1, NULL) ||
	    !in6_pton(own6, -1, own_in6.s6_addr, -1, NULL) ||
	    !in6_pton(far6, -1, far_in6.s6_addr, -1, NULL))
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
