/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the vmrpc module share.
 *
 * Arrows point down: family.c -> stream.c, dgram.c -> receive.c (of streams),
 * linger.c, bind.c -> message.c, group.c -> option.c -> sol.c -> sock.c ->
 * ask.c, ready.c -> iter.c -> buffer.c, device.c -> clock.c, which message.c
 * asks.  device.c hands events to event.c, which is above ready.c.  buffer.c
 * maps by iter.c, and option.c knows group.c's options.  proc.c looks at
 * sock.c; netdev.c and inet6.c stand alone.  prot.c leads from the sock to
 * stream.c and dgram.c.
 */
#ifndef VMRPC_INTERNAL_H
#define VMRPC_INTERNAL_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/in.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/virtio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/inet_common.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include <vmmnet/vmrpc.h>

#include "compat.h"

/* Cheaper to copy than to look up the pages of; with a place in the call. */
#define VMRPC_INLINE_MAX	1024u
/* Copies of what has no pages to point at; holds the largest datagram. */
#define VMRPC_BOUNCE_MAX	65536u
/* VMRPC_DATA_MAX bytes that start in the middle of a page. */
#define VMRPC_PAGES_MAX		(VMRPC_DATA_MAX / PAGE_SIZE + 1)
#define VMRPC_DATAGRAM_MAX	65507u
/* An echo request with its header, which is part of the message. */
#define VMRPC_PING_MAX		65515u

/* --- device.c -------------------------------------------------------------- */

/**
 * struct vmrpc_queue - a request queue
 * @vq: the ring; NULL once the device has gone
 * @lock: guards everything here
 * @irq_users: calls that rely on an interrupt to be completed; the interrupt
 *             is off while there are none
 * @wait_credit: how well waiting on the host has paid lately
 * @wait_skipped: calls that did not wait since the last that did
 * @space: calls that wait for the ring to have room
 */
struct vmrpc_queue {
	struct virtqueue *vq;
	spinlock_t lock;
	unsigned int irq_users;
	int wait_credit;
	unsigned int wait_skipped;
	wait_queue_head_t space;
};

/**
 * struct vmrpc_clock - the host's clock, as far as it is known (clock.c)
 * @lock: guards the following
 * @at: raw monotonic time, when there was the latest answer with a time; 0: none yet
 * @offset: then: raw monotonic time less that of the host, ns, or a bit more
 */
struct vmrpc_clock {
	spinlock_t lock;
	ktime_t at;
	s64 offset;
};

/**
 * struct vmrpc_device - the one device
 * @ref: held by the driver and by every socket, which may outlive the device
 * @vdev: our virtio device; invalid once @dead
 * @netdev: vmrpc0
 * @ifindex: its number, which outlives it
 * @dead: set, under each queue's lock, when the device goes away
 * @socks: sockets by handle.  A handle whose CLOSE is under way holds
 *         XA_ZERO_ENTRY.  xa_lock is taken from interrupts: use _irq.
 * @generation: of the latest socket
 * @buffer_ids: numbers of buffers on the host (buffer.c)
 * @takes_buffers: until the device says that it does not
 * @event_work: asks the host for more events (event.c)
 * @clock: the host's (clock.c)
 * @event_lock: guards @event_vq
 *
 * The rest is constant after probe.  @translate: the host side is IPv6.  @moments:
 * the host tells the moments of stamps, and not what its real time was.
 */
struct vmrpc_device {
	struct kref ref;
	struct rcu_head rcu;
	struct virtio_device *vdev;
	struct net_device *netdev;
	bool dead;
	struct xarray socks;
	atomic_t generation;
	struct ida buffer_ids;
	bool takes_buffers;
	struct work_struct event_work;

	struct vmrpc_clock clock;

	spinlock_t event_lock;
	struct virtqueue *event_vq;
	struct vmrpc_event *events;

	__be32 guest4;
	u8 guest4_prefix;
	u16 mtu;
	bool translate;
	bool moments;
	int ifindex;
	u32 max_sockets;
	unsigned int max_sg;
	size_t max_segment;

	unsigned int num_queues;
	struct vmrpc_queue queue[];
};

/**
 * struct vmrpc_data - the data of a call (iter.c)
 * @sg: what goes onto the ring, @nsg entries, @len bytes
 * @in: the device writes it
 * @user: @pages belong to user space
 * @buf: kernel copy; NULL if the pages themselves are on the ring
 * @pages: @npages of them and their list; NULL if there is a copy
 * @buffer: the data are there, from @offset on, and not on the ring
 */
struct vmrpc_data {
	struct scatterlist *sg;
	unsigned int nsg;
	size_t len;
	bool in;
	bool user;
	void *buf;
	struct vmrpc_pages *pages;
	unsigned int npages;
	struct scatterlist one;
	struct vmrpc_buffer *buffer;
	u32 offset;
};

/**
 * struct vmrpc_call - a request and its answer
 * @dev: the device; the caller guarantees its life
 * @vs: socket whose readiness the answer reports; NULL: nobody is interested
 * @q: where it was submitted
 * @done: completed when the answer is there
 * @status: 0 or why there is no answer
 * @used: bytes that the device says to have written
 * @timed: the answer may have timestamps:
 * @asked: the clocks before it was submitted, and
 * @answered: when the answer was taken off the ring
 * @async: nobody waits; the last step frees the call and its handle
 * @control: ancillary data, @control_len bytes (NULL: none)
 * @data: the data
 */
struct vmrpc_call {
	struct vmrpc_device *dev;
	struct vmrpc_sock *vs;
	struct vmrpc_queue *q;
	struct completion done;
	int status;
	u32 used;
	bool timed;
	struct system_time_snapshot asked;
	struct system_time_snapshot answered;
	bool async;
	void *control;
	u32 control_len;
	struct vmrpc_data data;
	struct scatterlist req_sg, resp_sg, control_sg;

	struct vmrpc_req req ____cacheline_aligned;
	struct vmrpc_resp resp ____cacheline_aligned;
	u8 inline_buf[VMRPC_INLINE_MAX] ____cacheline_aligned;
};

struct vmrpc_call *vmrpc_call_new(struct vmrpc_sock *vs, enum vmrpc_op op);
struct vmrpc_call *vmrpc_call_new_device(struct vmrpc_device *dev,
					 enum vmrpc_op op);
void vmrpc_call_free(struct vmrpc_call *call);
u32 vmrpc_device_patience(struct vmrpc_device *dev);
int vmrpc_call_submit(struct vmrpc_call *call);
int vmrpc_call_wait(struct vmrpc_call *call);
int vmrpc_call_run(struct vmrpc_call *call);
void vmrpc_device_get(struct vmrpc_device *dev);
void vmrpc_device_put(struct vmrpc_device *dev);

/* --- sock.c ---------------------------------------------------------------- */

/*
 * Where a socket lives.  A transition needs vmrpc_sock.lock; reading does not.
 */
enum vmrpc_mode {
	/* no host socket (yet, or any more) */
	VMRPC_NATIVE,
	/* bound, listening, or a datagram socket without a peer: both receive */
	VMRPC_BOTH,
	/* has a peer beyond the host */
	VMRPC_REMOTE,
};

/* SOL_SOCKET options that are copied from the sock (option.c) */
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
 * struct vmrpc_reuse - memory that a socket uses again and again (buffer.c)
 * @lock: guards @buffer
 * @buffer: mapped on the host; NULL: none
 * @start: address of a candidate, @len bytes; racy, only a guess, like
 * @seen: how often it has come
 * @wanted: how often it has to come
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
 * struct vmrpc_sock - the outsourced side of an AF_INET socket
 * @ref: held by the socket, and by who looks at it for /proc/net/vmrpc
 * @sk: the native side, always there: its wait queue, error, timeouts and
 *      option values are the socket's; reference
 * @by_sock: among those that can be found by @sk
 * @dev: reference
 * @lock: guards the transitions and what follows up to @ready_lock.  Not held
 *        while waiting for a peer.  Order: @lock, then lock_sock(sk).
 * @mode: see there
 * @opening: VMRPC_NATIVE, and the BIND or CONNECT that comes next makes the host
 *           socket
 * @released: its program has let go of it: the file and the socket of @sk may be
 *            gone, so nobody reports what they would be signalled
 * @has_handle: @handle is ours
 * @handle: on the wire; entry in dev->socks
 * @gen: on the wire; written under xa_lock of dev->socks as well
 * @disconnects: counts dissolved connections, for those who wait for one
 * @local: address of a connected stream; family 0: not asked yet
 * @peer: peer in VMRPC_REMOTE
 * @kept: what the host has given and the program could not take (message.c)
 * @kept_size: bytes of it; read without the lock
 * @opts: options to tell a host socket that is made later, @num_opts of them
 * @sol: SOL_SOCKET options as the host has them
 * @late: bits of those that were changed while it listened
 * @edge: the host reports edges, for edge-triggered pollers
 * @ready_lock: guards the following; taken from interrupts
 * @watched: the host reports readiness by events; read without the lock
 * @ready: VMRPC_IN ..., as last reported; read without the lock
 * @ready_seq: which report that was
 * @error_seq: which report told of the latest error first
 * @untold: what has become true while nobody could see it, as it was VMRPC_NATIVE
 * @shutdown: RCV_SHUTDOWN, SEND_SHUTDOWN of a stream that has a peer, also what was shut
 *            down before connect(); racy like sk_shutdown
 * @urgent: there have been urgent data, and perhaps their mark is still ahead
 * @native_turn: which side is asked first next time; racy, only for fairness
 * @corked: UDP_CORK is set
 * @unfinished: the host builds a datagram, which is not sent yet; racy like
 *              what a program sends by two tasks at once
 * @rx_window: bytes that a stream is expected to hold; racy, only a hint
 * @rx_bulk: jiffies when much has come at once; likewise
 * @reuse: for data that are sent, received
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
	struct sockaddr_in local;
	struct sockaddr_in peer;
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
	u32 untold;

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
 * The outsourced side of @sk.  NULL if the field has another user, such as a
 * kernel service that took the socket over: it is native then.  The caller is
 * inside one of the socket's operations, which keeps the outsourced side.
 */
static inline struct vmrpc_sock *vmrpc_sk(const struct sock *sk)
{
	uintptr_t data = (uintptr_t)READ_ONCE(sk->sk_user_data);

	/* Other users of the field have other marks. */
	if ((data & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return NULL;
	return (struct vmrpc_sock *)(data & SK_USER_DATA_PTRMASK);
}

/* A ping socket; what udp_sk() says of it is not there. */
static inline bool vmrpc_sk_is_ping(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM && sk->sk_protocol == IPPROTO_ICMP;
}

/*
 * How to allocate for a call.  File systems and disks that have the socket, also
 * one that a program gave them, say with sk_allocation that memory is not to be
 * made free by writing to them.
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

static inline u32 vmrpc_sock_ready(const struct vmrpc_sock *vs)
{
	return READ_ONCE(vs->ready);
}

/* Is there a host socket, or will it be there after the next call? */
static inline bool vmrpc_sock_is_open(const struct vmrpc_sock *vs)
{
	return vs->opening || vmrpc_sock_mode(vs) != VMRPC_NATIVE;
}

int vmrpc_sock_attach(struct vmrpc_device *dev, struct socket *sock);
struct vmrpc_sock *vmrpc_sock_release(struct sock *sk);
void vmrpc_sock_detach(struct vmrpc_sock *vs);
void vmrpc_sock_put(struct vmrpc_sock *vs);
struct vmrpc_sock *vmrpc_sock_next(struct vmrpc_device *dev,
				   unsigned long *handle);
void vmrpc_sock_set_mode(struct vmrpc_sock *vs, enum vmrpc_mode mode);
int vmrpc_sock_open(struct vmrpc_sock *vs);
int vmrpc_sock_open_with(struct vmrpc_sock *vs);
void vmrpc_sock_close(struct vmrpc_sock *vs);
void vmrpc_sock_turn_native(struct vmrpc_sock *vs);
int vmrpc_sock_bind_port(struct vmrpc_sock *vs, const struct sockaddr_in *to,
			 __be16 *port);
int vmrpc_sock_connect(struct vmrpc_sock *vs, const struct sockaddr_in *to,
		       u32 wait_us, bool watch);
int vmrpc_sock_connect_self(struct vmrpc_sock *vs);
void vmrpc_sock_ask(struct vmrpc_sock *vs);
void vmrpc_sock_begin(struct vmrpc_sock *vs, u32 ready);
void vmrpc_sock_report(struct vmrpc_sock *vs, u32 gen, u32 ready, u32 seq,
		       u32 error, u32 news, bool watched);
void vmrpc_sock_event(struct vmrpc_device *dev, const struct vmrpc_event *ev);
void vmrpc_sock_handle_free(struct vmrpc_device *dev, u32 handle);
void vmrpc_sock_show(struct vmrpc_sock *vs, enum vmrpc_mode mode);
void vmrpc_sock_kill_all(struct vmrpc_device *dev);
int vmrpc_sock_wait(struct vmrpc_sock *vs, u32 mask,
		    bool (*native)(struct sock *sk), long *timeo);
int vmrpc_sock_pause(long *timeo);
void vmrpc_sock_wake_tasks(struct vmrpc_sock *vs, u32 bits);
void vmrpc_sock_wake(struct vmrpc_sock *vs, u32 bits);
void vmrpc_sock_keep_error(struct vmrpc_sock *vs, ssize_t err);
void vmrpc_sock_watch(struct vmrpc_sock *vs, const poll_table *wait);
bool vmrpc_sock_expect(struct vmrpc_sock *vs, const poll_table *wait);
void vmrpc_sock_watch_edges(struct vmrpc_sock *vs);
void vmrpc_sock_reads(struct vmrpc_sock *vs);
void vmrpc_ready_init(void);
void vmrpc_event_init(struct vmrpc_device *dev);
void vmrpc_event_stop(struct vmrpc_device *dev);
__poll_t vmrpc_sock_mask(const struct vmrpc_sock *vs);
bool vmrpc_addr_is_native(const struct vmrpc_sock *vs, __be32 addr);
bool vmrpc_addr_is_shared(const struct vmrpc_sock *vs, __be32 addr);
bool vmrpc_sock_device_is_other(const struct vmrpc_sock *vs);
bool vmrpc_sock_bound_elsewhere(const struct vmrpc_sock *vs);
void vmrpc_addr_put(struct vmrpc_addr *to, const struct sockaddr_in *from);
bool vmrpc_addr_get(struct sockaddr_in *to, const struct vmrpc_addr *from);

/* What the guest's own stack does for a socket. */
static inline const struct proto_ops *vmrpc_native_ops(const struct sock *sk)
{
	return sk->sk_type == SOCK_STREAM ? &inet_stream_ops : &inet_dgram_ops;
}

/* --- ask.c ----------------------------------------------------------------- */

int vmrpc_sock_name(struct vmrpc_sock *vs, enum vmrpc_op op,
		    struct sockaddr_in *sin);
int vmrpc_sock_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value);
int vmrpc_sock_shutdown(struct vmrpc_sock *vs, int how);
int vmrpc_sock_setopt(struct vmrpc_sock *vs, int level, int name,
		      const void *value, unsigned int len);
int vmrpc_sock_getopt(struct vmrpc_sock *vs, int level, int name, void *value,
		      unsigned int len);
u8 vmrpc_sock_tcp_state(struct vmrpc_sock *vs);
int vmrpc_compat_ioctl(struct socket *sock, unsigned int cmd,
		       unsigned long arg);

/* --- bind.c ---------------------------------------------------------------- */

int vmrpc_sock_bind(struct socket *sock, struct sockaddr *uaddr, int len);
int vmrpc_sock_bind_locked(struct socket *sock, struct vmrpc_sock *vs,
			   struct sockaddr *uaddr, int len);
bool vmrpc_sock_hold_port(struct vmrpc_sock *vs, bool hold);

/* --- clock.c --------------------------------------------------------------- */

void vmrpc_clock_init(struct vmrpc_clock *clock);
ktime_t vmrpc_clock_real(struct vmrpc_call *call,
			 const struct vmrpc_moment *moment);

/* --- message.c ------------------------------------------------------------- */

int vmrpc_message_check(struct vmrpc_sock *vs, struct msghdr *msg);
void vmrpc_message_discard(struct vmrpc_sock *vs);
ssize_t vmrpc_message_send(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, const struct sockaddr_in *to,
			   u32 wait_us);
ssize_t vmrpc_message_recv(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, size_t *room, int flags, u32 wait_us);
ssize_t vmrpc_message_recv_kept(struct vmrpc_sock *vs, struct msghdr *msg,
				size_t len, int flags);
void vmrpc_message_forget(struct vmrpc_sock *vs);

/* Is there something for vmrpc_message_recv_kept()?  Racy. */
static inline bool vmrpc_message_kept(const struct vmrpc_sock *vs)
{
	return unlikely(READ_ONCE(vs->kept_size));
}

/* Is it enough to be readable without anything from the host?  Racy. */
static inline bool vmrpc_message_kept_suffices(const struct vmrpc_sock *vs)
{
	return vmrpc_message_kept(vs) &&
	       READ_ONCE(vs->kept_size) >= READ_ONCE(vs->sk->sk_rcvlowat);
}

/* --- linger.c -------------------------------------------------------------- */

void vmrpc_linger(struct vmrpc_sock *vs);

/* --- zerocopy.c ------------------------------------------------------------ */

int vmrpc_zerocopy_begin(struct sock *sk, const struct msghdr *msg,
			 size_t size, struct ubuf_info **uarg);
void vmrpc_zerocopy_end(struct ubuf_info *uarg, bool sent);

/* Completions, which are to be read before the host's errors. */
static inline bool vmrpc_has_native_errors(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_error_queue);
}

/* --- sol.c ----------------------------------------------------------------- */

void vmrpc_sol_reset(struct vmrpc_sock *vs);
void vmrpc_sol_peeked(struct vmrpc_sock *vs, int n);
void vmrpc_sol_inherit(struct vmrpc_sock *child,
		       const struct vmrpc_sock *parent);
bool vmrpc_sol_stale(const struct vmrpc_sock *vs);
bool vmrpc_sol_is_in_the_way(const struct vmrpc_sock *vs);
bool vmrpc_sol_wants_stamps(const struct vmrpc_sock *vs);
bool vmrpc_sol_keeps_stamp(const struct vmrpc_sock *vs);
int vmrpc_sol_sync(struct vmrpc_sock *vs);
void vmrpc_sol_refresh(struct vmrpc_sock *vs);
int vmrpc_sol_setsockopt(struct socket *sock, struct vmrpc_sock *vs, int name,
			 sockptr_t optval, unsigned int optlen);

/* --- option.c -------------------------------------------------------------- */

void vmrpc_option_free(struct vmrpc_sock *vs);
int vmrpc_option_replay(struct vmrpc_sock *vs);
void vmrpc_option_push(struct vmrpc_sock *vs);
int vmrpc_option_now(struct vmrpc_sock *vs, int level, int name,
		     const void *value, unsigned int len);
bool vmrpc_option_is_set(const struct vmrpc_sock *vs, int level, int name,
			 const void *value);
void vmrpc_option_undo(struct vmrpc_sock *vs, int level, int name, int undo,
		       const void *value, unsigned int len);
int vmrpc_setsockopt(struct socket *sock, int level, int name,
		     sockptr_t optval, unsigned int optlen);
int vmrpc_getsockopt(struct socket *sock, int level, int name,
		     char __user *optval, int __user *optlen);

/* --- group.c --------------------------------------------------------------- */

bool vmrpc_group_is_option(int level, int name);
bool vmrpc_group_is_native(const struct vmrpc_sock *vs, __be32 group);
int vmrpc_group_setsockopt(struct socket *sock, struct vmrpc_sock *vs,
			   int name, sockptr_t optval, unsigned int optlen);

/* --- iter.c ---------------------------------------------------------------- */

int vmrpc_data_init(void);
void vmrpc_data_exit(void);
int vmrpc_data_map(struct vmrpc_call *call, struct iov_iter *iter, size_t len,
		   bool in);
int vmrpc_data_place(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t len, size_t window, bool in, bool whole);
int vmrpc_data_copy(struct vmrpc_call *call, struct iov_iter *iter, size_t len,
		    bool in);
int vmrpc_data_unmap(struct vmrpc_call *call, struct iov_iter *iter,
		     size_t done);
void vmrpc_data_drop(struct vmrpc_call *call);
void *vmrpc_data_inline(struct vmrpc_call *call, size_t len, bool in);

/* --- buffer.c -------------------------------------------------------------- */

#ifdef CONFIG_MMU_NOTIFIER
struct vmrpc_buffer *vmrpc_buffer_get(struct vmrpc_sock *vs,
				      const struct iov_iter *iter, size_t *len,
				      bool in, u32 *offset);
void vmrpc_buffer_put(struct vmrpc_buffer *b, bool stale);
u32 vmrpc_buffer_id(const struct vmrpc_buffer *b);
void vmrpc_buffer_init(struct vmrpc_sock *vs);
void vmrpc_buffer_drop(struct vmrpc_sock *vs);
#else
static inline struct vmrpc_buffer *
vmrpc_buffer_get(struct vmrpc_sock *vs, const struct iov_iter *iter,
		 size_t *len, bool in, u32 *offset)
{
	return NULL;
}

static inline void vmrpc_buffer_put(struct vmrpc_buffer *b, bool stale)
{
}

static inline u32 vmrpc_buffer_id(const struct vmrpc_buffer *b)
{
	return 0;
}

static inline void vmrpc_buffer_init(struct vmrpc_sock *vs)
{
}

static inline void vmrpc_buffer_drop(struct vmrpc_sock *vs)
{
}
#endif

/* --- receive.c ------------------------------------------------------------- */

bool vmrpc_stream_at_mark(struct vmrpc_sock *vs);
int vmrpc_stream_receive(struct vmrpc_sock *vs, struct msghdr *msg,
			 size_t size, int flags);

/* --- prot.c ---------------------------------------------------------------- */

#ifdef VMRPC_HAVE_URING_CMD
void vmrpc_prot_init(void);
void vmrpc_prot_set(struct sock *sk, bool ours);
int vmrpc_stream_prot_ioctl(struct sock *sk, int cmd, int *value);
int vmrpc_dgram_prot_ioctl(struct sock *sk, int cmd, int *value);
#else
static inline void vmrpc_prot_init(void)
{
}

static inline void vmrpc_prot_set(struct sock *sk, bool ours)
{
}
#endif

/* --- stream.c, dgram.c, family.c, netdev.c, inet6.c, proc.c --------------- */

int vmrpc_stream_local(struct vmrpc_sock *vs, struct sockaddr_in *sin);
extern struct proto_ops vmrpc_stream_ops;
extern struct proto_ops vmrpc_dgram_ops;

void vmrpc_family_init(void);

struct vmrpc_device *vmrpc_family_device(void);
int vmrpc_family_take(struct vmrpc_device *dev);
void vmrpc_family_give_back(void);
int vmrpc_family_create_native(struct socket *sock, int protocol);

/* --- kernel.c --------------------------------------------------------------- */

#ifdef CONFIG_STACKTRACE
bool vmrpc_kernel_is_outsourced(void);
void vmrpc_kernel_refused(const struct sk_buff *skb);
#else
static inline bool vmrpc_kernel_is_outsourced(void)
{
	return false;
}

static inline void vmrpc_kernel_refused(const struct sk_buff *skb)
{
}
#endif

/* --- netdev.c, inet6.c, proc.c ---------------------------------------------- */

int vmrpc_netdev_add(struct vmrpc_device *dev);
void vmrpc_netdev_remove(struct vmrpc_device *dev);

void vmrpc_inet6_add(struct vmrpc_device *dev);
void vmrpc_inet6_remove(void);

void vmrpc_proc_add(struct vmrpc_device *dev);
void vmrpc_proc_remove(void);

#endif /* VMRPC_INTERNAL_H */
