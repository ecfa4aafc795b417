// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/net/vmrpc: the sockets that have a handle on the host
 *
 * One line for each socket, in the columns of /proc/net/tcp, with four more at
 * the end:
 *
 *   type    tcp, udp or icmp; of AF_INET6 tcp6, udp6 or icmp6, and the addresses
 *           as in /proc/net/tcp6
 *   mode    the side that serves it: native, both, remote (sock/sock.c)
 *   ready   VMRPC_IN ... from the latest report of the host, hexadecimal
 *   handle  its number on the wire, and in query-vmrpc of the host
 *
 * A socket without a peer beyond the host is also in /proc/net/tcp or udp.
 *
 * Only the host knows the state, the queues and the port of a connection, so
 * each line makes two or three calls, as a program could.  Meanwhile no lock of
 * the table is held, only a reference to the socket, which its program may
 * release.  vs->lock is held so that a line shows one state of a socket.
 *
 * Each network namespace has the file, with its own sockets.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <asm/ioctls.h>
#include <net/net_namespace.h>
#include <net/tcp_states.h>
#include <net/udp.h>

#include "ops/connect.h"
#include "proc.h"
#include "sock/addr.h"
#include "sock/ask.h"
#include "sock/sock.h"
#include "transport/compat.h"

#define NAME		"vmrpc"

/**
 * struct iter - position of a reader
 * @net: whose sockets are shown; first, as the kernel sets it
 * @vs: the socket to show, a reference
 * @line: number of its line
 * @shown: it has got a line
 */
struct iter {
	struct seq_net_private net;
	struct vmrpc_sock *vs;
	unsigned int line;
	bool shown;
};

/**
 * struct line - a socket as it is shown
 * @local: address and port
 * @peer: address and port, all zero without one
 * @state: TCP_ESTABLISHED ...; of UDP only this and TCP_CLOSE, as natively
 * @tx_queue: bytes that the peer has not acknowledged, or that are not sent yet
 * @rx_queue: bytes that the program has not read; of a listener: connections
 * @retransmits: retransmissions of the oldest unacknowledged segment
 * @probes: unanswered probes of a zero window
 */
struct line {
	union vmrpc_name local;
	union vmrpc_name peer;
	u8 state;
	u8 retransmits;
	u8 probes;
	u32 tx_queue;
	u32 rx_queue;
};

/* --- a socket ------------------------------------------------------------- */

static void native_line(const struct vmrpc_sock *vs, struct line *line)
{
	struct sock *sk = vs->sk;

	line->state = READ_ONCE(sk->sk_state);
	line->local = vmrpc_addr_bound(vs);
	line->local.in.sin_port = inet_sk(sk)->inet_sport;
	line->peer = vmrpc_addr_native_peer(vs);
	if (sk->sk_type == SOCK_DGRAM) {
		line->tx_queue = sk_wmem_alloc_get(sk);
		line->rx_queue = vmrpc_sk_is_ping(sk) ? sk_rmem_alloc_get(sk)
						      : udp_rqueue_get(sk);
	} else if (line->state == TCP_LISTEN) {
		line->rx_queue = READ_ONCE(sk->sk_ack_backlog);
	}
}

/* Asks the host for a queue; 0 if it fails. */
static u32 host_queue(struct vmrpc_sock *vs, unsigned int cmd)
{
	int value;

	return vmrpc_ask_ioctl(vs, cmd, &value) ? 0 : value;
}

/* Caller must hold vs->lock.  Returns 0 or a negative errno. */
static int host_info(struct vmrpc_sock *vs, struct tcp_info *info)
{
	int len = min_t(int, sizeof(*info), vs->dev->getopt_max);

	memset(info, 0, sizeof(*info));
	len = vmrpc_ask_getopt(vs, IPPROTO_TCP, TCP_INFO, info, len);
	return min(len, 0);
}

/* Caller must hold vs->lock, also in the functions below. */
static void remote_stream_line(struct vmrpc_sock *vs, struct line *line)
{
	struct tcp_info info;

	switch (host_info(vs, &info)) {
	case 0:
		line->state = info.tcpi_state;
		line->retransmits = info.tcpi_retransmits;
		line->probes = info.tcpi_probes;
		break;
	case -ENOPROTOOPT:
		/* The host's DNS proxy itself is the peer: there is no TCP. */
		line->state = TCP_ESTABLISHED;
		break;
	default:
		line->state = TCP_CLOSE;
	}
}

static void remote_line(struct vmrpc_sock *vs, struct line *line)
{
	line->peer = vs->peer;
	if (vs->sk->sk_type == SOCK_STREAM) {
		vmrpc_connect_local(vs, &line->local);
		remote_stream_line(vs, line);
	} else {
		line->local = vs->local;
		line->state = TCP_ESTABLISHED;
	}
	line->tx_queue = host_queue(vs, SIOCOUTQ);
	line->rx_queue = host_queue(vs, SIOCINQ);
}

/* Adds the queues on the host to those in the guest. */
static void both_line(struct vmrpc_sock *vs, struct line *line)
{
	struct tcp_info info;

	native_line(vs, line);
	if (vs->sk->sk_type == SOCK_DGRAM) {
		line->tx_queue += host_queue(vs, SIOCOUTQ);
		line->rx_queue += host_queue(vs, SIOCINQ);
	} else if (line->state == TCP_LISTEN && !host_info(vs, &info)) {
		line->rx_queue += info.tcpi_unacked;
	}
}

static const char *mode_line(struct vmrpc_sock *vs, struct line *line)
{
	switch (vmrpc_sock_mode(vs)) {
	case VMRPC_REMOTE:
		remote_line(vs, line);
		return "remote";
	case VMRPC_BOTH:
		both_line(vs, line);
		return "both";
	default:
		native_line(vs, line);
		return "native";
	}
}

static const char *type_name(const struct sock *sk)
{
	bool inet6 = vmrpc_sk_is_inet6(sk);

	if (sk->sk_type == SOCK_STREAM)
		return inet6 ? "tcp6" : "tcp";
	if (vmrpc_sk_is_ping(sk))
		return inet6 ? "icmp6" : "icmp";
	return inet6 ? "udp6" : "udp";
}

/* As in /proc/net/tcp, or tcp6; all zero without an address. */
static void show_name(struct seq_file *m, const struct vmrpc_sock *vs,
		      const union vmrpc_name *name)
{
	const __be32 *words = name->in6.sin6_addr.s6_addr32;

	if (vmrpc_sk_is_inet6(vs->sk))
		seq_printf(m, "%08X%08X%08X%08X:%04X ",
			   (__force u32)words[0], (__force u32)words[1],
			   (__force u32)words[2], (__force u32)words[3],
			   ntohs(name->in6.sin6_port));
	else
		seq_printf(m, "%08X:%04X ",
			   (__force u32)name->in.sin_addr.s_addr,
			   ntohs(name->in.sin_port));
}

/* Returns false, without a line, if the socket is being released. */
static bool show_sock(struct seq_file *m, unsigned int number,
		      struct vmrpc_sock *vs)
{
	struct sock *sk = vs->sk;
	struct line line = { };
	const char *mode;
	u32 ready;

	mutex_lock(&vs->lock);
	if (vs->released) {
		mutex_unlock(&vs->lock);
		return false;
	}
	mode = mode_line(vs, &line);
	ready = vmrpc_sock_ready(vs);
	mutex_unlock(&vs->lock);

	seq_printf(m, "%4u: ", number);
	show_name(m, vs, &line.local);
	show_name(m, vs, &line.peer);
	seq_printf(m, "%02X %08X:%08X 00:00000000 ",
		   line.state, line.tx_queue, line.rx_queue);
	seq_printf(m, "%08X %5u %8d %llu %s %-6s %04X %u\n",
		   line.retransmits,
		   from_kuid_munged(seq_user_ns(m), vmrpc_sk_uid(sk)),
		   line.probes, (unsigned long long)sock_i_ino(sk),
		   type_name(sk),
		   mode, ready, vs->handle);
	return true;
}

/* --- the file ------------------------------------------------------------- */

/*
 * Finds the namespace's socket at *@pos or after it.  @pos is a handle plus 1.
 */
static void *find(struct seq_file *m, loff_t *pos)
{
	struct vmrpc_device *dev = pde_data(file_inode(m->file));
	unsigned long handle = *pos - 1;
	struct iter *iter = m->private;

	while ((iter->vs = vmrpc_sock_next(dev, &handle)) &&
	       !net_eq(sock_net(iter->vs->sk), seq_file_net(m))) {
		vmrpc_sock_put(iter->vs);
		handle++;
	}
	if (iter->vs)
		*pos = handle + 1;
	return iter->vs;
}

static void *start(struct seq_file *m, loff_t *pos)
{
	struct iter *iter = m->private;

	if (*pos)
		return find(m, pos);
	iter->line = 0;
	return SEQ_START_TOKEN;
}

static void stop(struct seq_file *m, void *v)
{
	struct iter *iter = m->private;

	if (iter->vs)
		vmrpc_sock_put(iter->vs);
	iter->vs = NULL;
}

static void *next(struct seq_file *m, void *v, loff_t *pos)
{
	struct iter *iter = m->private;

	stop(m, v);
	/* A line that had no room is shown again, with the same number. */
	if (iter->shown)
		iter->line++;
	(*pos)++;
	return find(m, pos);
}

static int show(struct seq_file *m, void *v)
{
	struct iter *iter = m->private;

	iter->shown = false;
	if (v == SEQ_START_TOKEN)
		seq_puts(m, "  sl  local_address rem_address   st tx_queue "
			 "rx_queue tr tm->when retrnsmt   uid  timeout inode "
			 "type mode ready handle\n");
	else
		iter->shown = show_sock(m, iter->line, v);
	return 0;
}

static const struct seq_operations ops = {
	.start	= start,
	.stop	= stop,
	.next	= next,
	.show	= show,
};

/* The device whose sockets the files show. */
static struct vmrpc_device *shown;

static int __net_init add_file(struct net *net)
{
	return proc_create_net_data(NAME, 0444, net->proc_net, &ops,
				    sizeof(struct iter), shown) ? 0 : -ENOMEM;
}

static void __net_exit remove_file(struct net *net)
{
	remove_proc_entry(NAME, net->proc_net);
}

static struct pernet_operations files = {
	.init = add_file,
	.exit = remove_file,
};

/**
 * vmrpc_proc_add - make /proc/net/vmrpc, in this and in later namespaces
 * @dev: whose sockets it shows; must stay until vmrpc_proc_remove()
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_proc_add(struct vmrpc_device *dev)
{
	shown = dev;
	return register_pernet_subsys(&files);
}

/**
 * vmrpc_proc_remove - remove the files; waits for their readers
 */
void vmrpc_proc_remove(void)
{
	unregister_pernet_subsys(&files);
}
