/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outsourced side of a socket: struct vmrpc_sock, handles, modes
 */
#ifndef VMRPC_SOCK_H
#define VMRPC_SOCK_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <net/inet_common.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "native/native.h"
#include "transport/device.h"

struct vmrpc_buffer;

/**
 * union vmrpc_name - an address and a port, of either family
 * @family: 0: none
 * @in: of AF_INET; the port, also of the other
 * @in6: of AF_INET6
 */
union vmrpc_name {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/*
 * A result of functions that otherwise return 0 or an errno: the guest's own
 * stack must do it.  The caller then does so.
 */
#define VMRPC_USE_NATIVE	1

/* Readiness that a task waits for that sends or connects. */
#define VMRPC_WRITABLE		(VMRPC_OUT | VMRPC_HUP)

/**
 * enum vmrpc_mode - which side serves a socket
 * @VMRPC_NATIVE: the guest's own stack; there is no host socket
 * @VMRPC_BOTH: bound, listening, or a datagram socket without a peer: both
 *              sides receive
 * @VMRPC_REMOTE: the host; the peer is beyond the host
 *
 * A transition needs vmrpc_sock.lock, reading does not.
 */
enum vmrpc_mode {
	VMRPC_NATIVE,
	VMRPC_BOTH,
	VMRPC_REMOTE,
};

/* Options of SOL_SOCKET that are copied from the sock (sol.c). */
enum vmrpc_sol {
	VMRPC_SOL_REUSEADDR,
	VMRPC_SOL_REUSEPORT,
	VMRPC_SOL_BROADCAST,
	VMRPC_SOL_KEEPALIVE,
	VMRPC_SOL_OOBINLINE,
	VMRPC_SOL_DONTROUTE,
	VMRPC_SOL_NO_CHECK,
	VMRPC_SOL_PRIORITY,
	VMRPC_SOL_SNDBUF,
	VMRPC_SOL_RCVBUF,
	VMRPC_SOL_RCVLOWAT,
	VMRPC_SOL_RXQ_OVFL,
	VMRPC_SOL_LINGER,
	VMRPC_SOL_TIMESTAMP,
	VMRPC_SOL_TIMESTAMPING,
	VMRPC_SOL_PEEK_OFF,
	VMRPC_SOL_MAX_PACING_RATE,
	VMRPC_SOL_DEVICE,
	VMRPC_SOL_NUM,
};

/**
 * struct vmrpc_reuse - memory that a program uses again and again
 *                      (data/buffer.c)
 * @lock: guards @buffer
 * @buffer: mapped on the host; NULL: none
 * @start: address of a candidate; the fields from here on are racy guesses
 * @len: bytes of the candidate
 * @seen: how often the program has used it
 * @wanted: how often it must be used before a buffer is made
 */
struct vmrpc_reuse {
	spinlock_t lock;
	struct vmrpc_buffer *buffer;
	unsigned long start;
	size_t len;
	unsigned int seen;
	unsigned int wanted;
};

/**
 * struct vmrpc_sock - the outsourced side of an AF_INET or AF_INET6 socket
 * @ref: held by the socket and by readers of /proc/net/vmrpc
 * @sk: the native side, a reference; always present: its wait queue, error,
 *      timeouts and option values are the socket's
 * @by_sock: entry in the hash table that finds this by @sk
 * @dev: a reference
 * @lock: guards the transitions and the fields up to @edge.  Not held while a
 *        task waits for a peer.  Order: @lock, then lock_sock(sk).
 * @mode: which side serves the socket
 * @opening: VMRPC_NATIVE, and the BIND or CONNECT that follows makes the host
 *           socket
 * @released: the program has closed the socket: its file and the socket of @sk
 *            may be gone, so no signal can be sent
 * @has_handle: @handle is valid
 * @handle: number on the wire; index in dev->socks
 * @gen: generation on the wire; written under xa_lock of dev->socks and under
 *       @ready_lock
 * @disconnects: number of dissolved connections, for tasks that wait for one
 * @local: local address of a connected stream; family 0: not requested yet
 * @peer: peer in VMRPC_REMOTE
 * @source: of another network namespace: its address towards the peer, also
 *          IPv4-mapped; racy, only shown
 * @way: likewise: see sock/netns.c
 * @kept: received data that could not be copied to the program (data/kept.c)
 * @kept_size: bytes in @kept; read without the lock
 * @opts: remembered options for a later host socket (host/optlist.c)
 * @num_opts: number of @opts
 * @sol: options of SOL_SOCKET as the host socket has them (sol.c)
 * @late: bit mask of @sol: those that changed while the socket listened
 * @edge: the host reports edges, for edge-triggered pollers
 * @ready_lock: guards the fields up to @unreported; interrupts take it
 * @watched: the host reports readiness by events; read without the lock
 * @ready: VMRPC_IN ..., from the latest report; read without the lock
 * @ready_seq: number of the latest report
 * @error_seq: number of the report that first contained the latest error
 * @unreported: bits that became set in VMRPC_NATIVE, before the mode changes
 * @shutdown: RCV_SHUTDOWN, SEND_SHUTDOWN of a stream with a peer; includes a
 *            shutdown() before connect(); racy like sk_shutdown
 * @urgent: urgent data have arrived, and their mark may still be ahead
 * @native_turn: which side is tried first next time; racy, only for fairness
 * @corked: UDP_CORK is set
 * @unfinished: the host builds a datagram and has not sent it yet; racy if two
 *              tasks send at the same time
 * @rx_window: bytes that a stream is expected to hold; racy, only a hint
 * @rx_bulk: jiffies of the latest large receive; racy, only a hint
 * @reuse: memory of the program: [0] for sending, [1] for receiving
 */
struct vmrpc_sock {
	refcount_t ref;
	struct sock *sk;
	struct hlist_node by_sock;
	struct vmrpc_device *dev;

	struct mutex lock;
	enum vmrpc_mode mode;
	bool opening;
	bool released;
	bool has_handle;
	u32 handle;
	u32 gen;
	unsigned int disconnects;
	union vmrpc_name local;
	union vmrpc_name peer;
	struct in6_addr source;
	u64 way;
	struct list_head kept;
	size_t kept_size;
	struct list_head opts;
	unsigned int num_opts;
	int sol[VMRPC_SOL_NUM];
	u32 late;

	bool edge;

	spinlock_t ready_lock;
	bool watched;
	u32 ready;
	u32 ready_seq;
	u32 error_seq;
	u32 unreported;

	u8 shutdown;
	bool urgent;
	bool native_turn;
	bool corked;
	bool unfinished;
	size_t rx_window;
	unsigned long rx_bulk;
	struct vmrpc_reuse reuse[2];
};

/*
 * The outsourced side of @sk.  NULL if sk_user_data has another user, such as
 * a kernel service that took the socket over: the socket is native then.  The
 * caller is inside an operation of the socket, which keeps the outsourced side.
 */
static inline struct vmrpc_sock *vmrpc_sk(const struct sock *sk)
{
	uintptr_t data = (uintptr_t)READ_ONCE(sk->sk_user_data);

	/* Other users of the field set other flags. */
	if ((data & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return NULL;
	return (struct vmrpc_sock *)(data & SK_USER_DATA_PTRMASK);
}

/* Is it a ping socket?  It has no struct udp_sock. */
static inline bool vmrpc_sk_is_ping(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM &&
	       (sk->sk_protocol == IPPROTO_ICMP ||
		sk->sk_protocol == IPPROTO_ICMPV6);
}

/*
 * Completions of MSG_ZEROCOPY in the native error queue; a program must read
 * them before the host's errors.
 */
static inline bool vmrpc_sk_has_errors(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_error_queue);
}

/*
 * How to allocate memory for a call.  A file system or a disk that uses the
 * socket sets sk_allocation, so that reclaim does not write to it.
 */
static inline gfp_t vmrpc_sock_gfp(const struct vmrpc_sock *vs)
{
	return GFP_KERNEL & (vs->sk->sk_allocation | __GFP_RECLAIM);
}

static inline enum vmrpc_mode vmrpc_sock_mode(const struct vmrpc_sock *vs)
{
	/* pairs with the release in vmrpc_sock_set_mode() */
	return smp_load_acquire(&vs->mode);
}

/* Is it of another network namespace than the first, as a container's? */
static inline bool vmrpc_sock_is_contained(const struct vmrpc_sock *vs)
{
	return !net_eq(sock_net(vs->sk), &init_net);
}

static inline u32 vmrpc_sock_ready(const struct vmrpc_sock *vs)
{
	return READ_ONCE(vs->ready);
}

/* Is there a host socket, or will the next call make one? */
static inline bool vmrpc_sock_is_open(const struct vmrpc_sock *vs)
{
	return vs->opening || vmrpc_sock_mode(vs) != VMRPC_NATIVE;
}

struct vmrpc_sock *vmrpc_sock_alloc(struct vmrpc_device *dev, struct sock *sk);
int vmrpc_sock_enter(struct vmrpc_sock *vs);
void vmrpc_sock_leave(struct vmrpc_sock *vs);
struct vmrpc_sock *vmrpc_sock_find(struct sock *sk);
void vmrpc_sock_put(struct vmrpc_sock *vs);
struct vmrpc_sock *vmrpc_sock_next(struct vmrpc_device *dev,
				   unsigned long *handle);

int vmrpc_handle_alloc(struct vmrpc_sock *vs);
void vmrpc_handle_renew(struct vmrpc_sock *vs);
void vmrpc_handle_park(struct vmrpc_sock *vs);
void vmrpc_handle_drop(struct vmrpc_sock *vs);
void vmrpc_handle_free(struct vmrpc_device *dev, u32 handle);

void vmrpc_sock_set_mode(struct vmrpc_sock *vs, enum vmrpc_mode mode);

#endif /* VMRPC_SOCK_H */
