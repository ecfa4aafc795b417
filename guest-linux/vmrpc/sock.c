// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The outsourced side of a socket
 *
 * Theory of operation
 * ===================
 *
 * Every TCP, UDP or ping socket has a native sock and, beside it, a struct
 * vmrpc_sock.  The socket on the host is made when it is needed first
 * (vmrpc_sock_open): when the program binds to all addresses or the guest's
 * own, or names a peer that is not in the guest.  Its mode says who serves it:
 *
 *   NATIVE   the guest's own stack, as if we were not there
 *   BOTH     no peer: connections and datagrams come from either side, the
 *            port is the same on both
 *   REMOTE   the peer is beyond the host; the native side only lends its wait
 *            queue, error, timeouts and option values
 *
 * Addresses within the guest never leave it: loopback, the guest's own address
 * and whatever else its interfaces have.
 *
 * What it is ready for is in ready.c.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ip.h>
#include <net/route.h>

#include "internal.h"

/* Ticks to wait for a handle whose CLOSE is under way. */
#define HANDLE_WAIT		5

/*
 * All of them, whoever serves them, by the native side: for one that has lost the
 * pointer to us.
 */
static DEFINE_HASHTABLE(by_sock, 10);
static DEFINE_SPINLOCK(by_sock_lock);

/* --- addresses -------------------------------------------------------------- */

/**
 * vmrpc_addr_put - write an address for the wire
 * @to: in a request
 * @from: an AF_INET address
 */
void vmrpc_addr_put(struct vmrpc_addr *to, const struct sockaddr_in *from)
{
	to->family = cpu_to_le16(VMRPC_AF_INET);
	to->port = from->sin_port;
	to->addr = from->sin_addr.s_addr;
}

/**
 * vmrpc_addr_get - read an address from the wire
 * @to: set, unless there is none
 * @from: in an answer
 *
 * Returns false if there is no address.
 */
bool vmrpc_addr_get(struct sockaddr_in *to, const struct vmrpc_addr *from)
{
	if (le16_to_cpu(from->family) != VMRPC_AF_INET)
		return false;
	memset(to, 0, sizeof(*to));
	to->sin_family = AF_INET;
	to->sin_port = from->port;
	to->sin_addr.s_addr = from->addr;
	return true;
}

/**
 * vmrpc_sock_device_is_other - has it chosen an interface that is not ours?
 * @vs: the socket
 *
 * By SO_BINDTODEVICE.
 */
bool vmrpc_sock_device_is_other(const struct vmrpc_sock *vs)
{
	int ifindex = READ_ONCE(vs->sk->sk_bound_dev_if);

	return ifindex && ifindex != vs->dev->ifindex;
}

/* The interface that it sends unicast by: 0 if the routes decide. */
static int chosen_device(const struct vmrpc_sock *vs)
{
	int ifindex = READ_ONCE(vs->sk->sk_bound_dev_if);

	if (!ifindex && vs->sk->sk_type == SOCK_DGRAM)
		ifindex = READ_ONCE(inet_sk(vs->sk)->uc_index);
	return ifindex;
}

/**
 * vmrpc_addr_is_native - is it reached without the host?
 * @vs: a socket, whose interface (SO_BINDTODEVICE, IP_UNICAST_IF) and mark
 *      count
 * @addr: destination; INADDR_ANY means loopback, as for connect()
 *
 * The guest's own addresses are, and what its routes send out of an interface
 * that is not ours: a container's, a second NIC's.  What no route leads to is
 * the host's to refuse.
 */
bool vmrpc_addr_is_native(const struct vmrpc_sock *vs, __be32 addr)
{
	const struct vmrpc_device *dev = vs->dev;
	struct flowi4 fl4 = {
		.daddr = addr,
		.flowi4_oif = chosen_device(vs),
		.flowi4_mark = READ_ONCE(vs->sk->sk_mark),
	};
	struct rtable *rt;
	bool native;

	if (addr == htonl(INADDR_ANY) || ipv4_is_loopback(addr) ||
	    (dev->guest4 && addr == dev->guest4))
		return true;
	rt = ip_route_output_key(&init_net, &fl4);
	if (IS_ERR(rt))
		return fl4.flowi4_oif && fl4.flowi4_oif != dev->ifindex;
	native = rt->dst.dev != READ_ONCE(dev->netdev);
	ip_rt_put(rt);
	return native;
}

/**
 * vmrpc_addr_is_shared - can the host be bound to it as well?
 * @vs: a socket
 * @addr: of bind()
 */
bool vmrpc_addr_is_shared(const struct vmrpc_sock *vs, __be32 addr)
{
	/* Nobody talks to a stream that is bound to a group. */
	if (ipv4_is_multicast(addr))
		return vs->sk->sk_protocol == IPPROTO_UDP;
	return addr == htonl(INADDR_ANY) ||
	       (vs->dev->guest4 && addr == vs->dev->guest4);
}

/**
 * vmrpc_sock_bound_elsewhere - to an address that the host lacks, or to
 *                              another interface than ours?
 * @vs: the socket
 *
 * Such a socket can talk within the guest only.
 */
bool vmrpc_sock_bound_elsewhere(const struct vmrpc_sock *vs)
{
	const struct inet_sock *inet = inet_sk(vs->sk);

	return vmrpc_sock_device_is_other(vs) ||
	       (inet->inet_num && !vmrpc_addr_is_shared(vs, inet->inet_rcv_saddr));
}

/* --- handles ---------------------------------------------------------------- */

static int handle_alloc(struct vmrpc_sock *vs)
{
	struct vmrpc_device *dev = vs->dev;
	unsigned int i;
	int err;

	if (vs->has_handle)
		return 0;
	for (i = 0; i <= HANDLE_WAIT; i++) {
		err = xa_alloc_irq(&dev->socks, &vs->handle, vs,
				   XA_LIMIT(0, dev->max_sockets - 1),
				   GFP_KERNEL);
		if (err != -EBUSY)
			break;
		/* A socket that has just been closed counts as closed. */
		schedule_timeout_uninterruptible(1);
	}
	if (err)
		return err == -EBUSY ? -EMFILE : err;
	vs->has_handle = true;
	return 0;
}

/**
 * vmrpc_sock_handle_free - a handle can be used again
 * @dev: the device
 * @handle: its host socket has been closed
 *
 * Any context.
 */
void vmrpc_sock_handle_free(struct vmrpc_device *dev, u32 handle)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->socks, flags);
	__xa_erase(&dev->socks, handle);
	xa_unlock_irqrestore(&dev->socks, flags);
}

static void handle_drop(struct vmrpc_sock *vs)
{
	if (!vs->has_handle)
		return;
	vs->has_handle = false;
	vmrpc_sock_handle_free(vs->dev, vs->handle);
}

/**
 * vmrpc_sock_next - walk the sockets that have a handle
 * @dev: the device
 * @handle: where to begin; the handle that was found
 *
 * Returns the socket, to be given back with vmrpc_sock_put(), or NULL.  Its
 * program may release it meanwhile.
 */
struct vmrpc_sock *vmrpc_sock_next(struct vmrpc_device *dev,
				   unsigned long *handle)
{
	struct vmrpc_sock *vs;

	/* What is in the table has its first reference. */
	xa_lock_irq(&dev->socks);
	vs = xa_find(&dev->socks, handle, ULONG_MAX, XA_PRESENT);
	if (vs)
		refcount_inc(&vs->ref);
	xa_unlock_irq(&dev->socks);
	return vs;
}

/* A new life of the handle: reports of the former do not count any more. */
static void generation_start(struct vmrpc_sock *vs)
{
	xa_lock_irq(&vs->dev->socks);
	spin_lock(&vs->ready_lock);
	vs->gen = atomic_inc_return(&vs->dev->generation);
	/* What a new socket is ready for is no news. */
	vs->ready = vs->sk->sk_type == SOCK_DGRAM ? VMRPC_OUT
						  : VMRPC_OUT | VMRPC_HUP;
	vs->ready_seq = 0;		/* the first report is number 1 */
	vs->error_seq = U32_MAX;
	vs->untold = 0;
	vs->watched = false;
	vs->edge = false;
	spin_unlock(&vs->ready_lock);
	xa_unlock_irq(&vs->dev->socks);
}

/* --- life ------------------------------------------------------------------- */

static void enter(struct vmrpc_sock *vs)
{
	spin_lock(&by_sock_lock);
	hash_add(by_sock, &vs->by_sock, (unsigned long)vs->sk);
	spin_unlock(&by_sock_lock);
}

static void leave(struct vmrpc_sock *vs)
{
	spin_lock(&by_sock_lock);
	hash_del(&vs->by_sock);
	spin_unlock(&by_sock_lock);
}

/**
 * vmrpc_sock_attach - give a native socket its outsourced side
 * @dev: the device
 * @sock: just created, stream or datagram
 *
 * Returns 0, -EMFILE if the device has no more sockets, or -ENOMEM.
 */
int vmrpc_sock_attach(struct vmrpc_device *dev, struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct vmrpc_sock *vs;
	int err;

	vs = kzalloc(sizeof(*vs), GFP_KERNEL);
	if (!vs)
		return -ENOMEM;
	refcount_set(&vs->ref, 1);
	vs->sk = sk;
	vs->dev = dev;
	mutex_init(&vs->lock);
	spin_lock_init(&vs->ready_lock);
	INIT_LIST_HEAD(&vs->kept);
	INIT_LIST_HEAD(&vs->opts);
	vs->rx_window = VMRPC_BOUNCE_MAX;
	vs->rx_bulk = jiffies - HZ;
	vmrpc_buffer_init(vs);
	vmrpc_sol_reset(vs);
	err = handle_alloc(vs);
	if (err) {
		kfree(vs);
		return err;
	}
	generation_start(vs);
	sock_hold(sk);
	vmrpc_device_get(dev);
	enter(vs);

	/* Accepted children, which are clones, are native. */
	write_lock_bh(&sk->sk_callback_lock);
	__rcu_assign_sk_user_data_with_flags(sk, vs, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
	vmrpc_claim_sol_socket(sock);
	vmrpc_prot_set(sk, sk->sk_type == SOCK_DGRAM);
	sock->ops = sock->type == SOCK_STREAM ? &vmrpc_stream_ops
					      : &vmrpc_dgram_ops;
	return 0;
}

/* Closes the host socket without waiting; the handle is free afterwards. */
static void close_later(struct vmrpc_sock *vs)
{
	struct vmrpc_call *call;

	/* Nobody else gets the handle, and events find nobody. */
	xa_lock_irq(&vs->dev->socks);
	__xa_store(&vs->dev->socks, vs->handle, XA_ZERO_ENTRY, GFP_ATOMIC);
	xa_unlock_irq(&vs->dev->socks);
	vs->has_handle = false;

	call = vmrpc_call_new(vs, VMRPC_CLOSE);
	call->vs = NULL;
	call->async = true;
	if (vmrpc_call_submit(call)) {
		/* Without a device the handle means nothing. */
		vmrpc_sock_handle_free(vs->dev, vs->handle);
		vmrpc_call_free(call);
	}
}

/**
 * vmrpc_sock_put - give a reference back
 * @vs: the socket; freed with the last one
 */
void vmrpc_sock_put(struct vmrpc_sock *vs)
{
	if (!refcount_dec_and_test(&vs->ref))
		return;
	vmrpc_device_put(vs->dev);
	sock_put(vs->sk);
	mutex_destroy(&vs->lock);
	kfree(vs);
}

/* Who has lost the pointer to its outsourced side is looked for. */
static struct vmrpc_sock *find_displaced(const struct sock *sk)
{
	struct vmrpc_sock *vs, *found = NULL;

	spin_lock(&by_sock_lock);
	hash_for_each_possible(by_sock, vs, by_sock, (unsigned long)sk) {
		if (vs->sk == sk)
			found = vs;
	}
	spin_unlock(&by_sock_lock);
	return found;
}

/**
 * vmrpc_sock_release - the outsourced side of a socket that is being released
 * @sk: the native side
 *
 * As vmrpc_sk(), but a kernel service may have taken the field for itself and
 * not know what was there.  NULL: there is none.
 */
struct vmrpc_sock *vmrpc_sock_release(struct sock *sk)
{
	struct vmrpc_sock *vs = vmrpc_sk(sk);

	return vs ? vs : find_displaced(sk);
}

/**
 * vmrpc_sock_detach - take the outsourced side off
 * @vs: the socket, which is being released; its program's reference goes
 */
void vmrpc_sock_detach(struct vmrpc_sock *vs)
{
	bool ours = vmrpc_sk(vs->sk);
	struct sock *sk = vs->sk;

	/* Who has but a reference is waited for here. */
	mutex_lock(&vs->lock);
	vs->released = true;
	mutex_unlock(&vs->lock);
	leave(vs);
	vmrpc_prot_set(sk, false);
	write_lock_bh(&sk->sk_callback_lock);
	if (ours)
		sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE && vs->has_handle)
		close_later(vs);
	else
		handle_drop(vs);
	vmrpc_option_free(vs);
	vmrpc_buffer_drop(vs);
	vmrpc_message_forget(vs);
	vmrpc_sock_put(vs);
}

/**
 * vmrpc_sock_set_mode - change who serves a socket
 * @vs: caller must hold vs->lock
 * @mode: from now on
 */
void vmrpc_sock_set_mode(struct vmrpc_sock *vs, enum vmrpc_mode mode)
{
	/* pairs with vmrpc_sock_mode(): addresses and readiness come first */
	smp_store_release(&vs->mode, mode);
	if (vs->sk->sk_type == SOCK_STREAM)
		vmrpc_prot_set(vs->sk, mode == VMRPC_REMOTE);
}

static int simple_call(struct vmrpc_sock *vs, enum vmrpc_op op)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, op);
	int err;

	if (!call)
		return -ENOMEM;
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}

/**
 * vmrpc_sock_close - close the host socket
 * @vs: caller must hold vs->lock; VMRPC_NATIVE afterwards, keeps its handle
 */
void vmrpc_sock_close(struct vmrpc_sock *vs)
{
	if (vmrpc_sock_mode(vs) == VMRPC_NATIVE)
		return;
	vmrpc_sock_set_mode(vs, VMRPC_NATIVE);
	WRITE_ONCE(vs->unfinished, false);
	if (simple_call(vs, VMRPC_CLOSE))
		pr_debug("vmrpc: close of handle %u failed\n", vs->handle);
	/* Who waits for it will not hear of it any more. */
	vmrpc_sock_wake(vs, 0);
}

/**
 * vmrpc_sock_turn_native - the guest alone serves the socket
 * @vs: caller must hold vs->lock
 *
 * The handle is free for others.
 */
void vmrpc_sock_turn_native(struct vmrpc_sock *vs)
{
	vmrpc_sock_close(vs);
	handle_drop(vs);
}

static void put_kind(struct vmrpc_call *call, const struct vmrpc_sock *vs)
{
	call->req.u.socket.type = cpu_to_le32(vs->sk->sk_type);
	call->req.u.socket.protocol = cpu_to_le32(vs->sk->sk_protocol);
}

static int host_socket(struct vmrpc_sock *vs)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_SOCKET);
	int err;

	if (!call)
		return -ENOMEM;
	put_kind(call, vs);
	err = vmrpc_call_run(call);
	vmrpc_call_free(call);
	return err;
}

/*
 * Runs a BIND or CONNECT, which makes the host socket if that was left to it.
 * @mode: then, if it succeeds; as a stream's pollers must not see both sides
 */
static int run_opening(struct vmrpc_sock *vs, struct vmrpc_call *call,
		       enum vmrpc_mode mode)
{
	bool opens = vs->opening;
	int err;

	vs->opening = false;
	if (opens) {
		call->req.flags |= cpu_to_le16(VMRPC_REQ_OPEN);
		put_kind(call, vs);
	}
	err = vmrpc_call_run(call);
	if (!opens)
		return err;
	if (le32_to_cpu(call->resp.flags) & VMRPC_RESP_OPENED)
		vmrpc_sock_show(vs, !err || err == -EINPROGRESS ? mode
								: VMRPC_BOTH);
	else if (!err)
		err = -EIO;
	return err;
}

/**
 * vmrpc_sock_bind_port - bind the host socket
 * @vs: caller must hold vs->lock; has a host socket, or it is being opened
 * @to: address, shared with the host, and port
 * @port: set to the port that it got
 *
 * Returns 0 or a negative errno.
 */
int vmrpc_sock_bind_port(struct vmrpc_sock *vs, const struct sockaddr_in *to,
			 __be16 *port)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_BIND);
	struct sockaddr_in bound;
	int err;

	if (!call)
		return -ENOMEM;
	vmrpc_addr_put(&call->req.addr, to);
	err = run_opening(vs, call, VMRPC_BOTH);
	if (!err) {
		if (vmrpc_addr_get(&bound, &call->resp.addr))
			*port = bound.sin_port;
		else
			err = -EIO;
	}
	vmrpc_call_free(call);
	return err;
}

/* Before there is a host socket.  Returns 0 or a negative errno. */
static int prepare_open(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sol_is_in_the_way(vs))
		return -ENOPROTOOPT;
	err = handle_alloc(vs);
	if (err)
		return err;
	generation_start(vs);
	vmrpc_sol_reset(vs);
	vs->opening = false;
	return 0;
}

/* Makes what prepare_open() has prepared. */
static int open_prepared(struct vmrpc_sock *vs)
{
	const struct inet_sock *inet = inet_sk(vs->sk);
	int err;

	err = host_socket(vs);
	if (err)
		return err;
	vmrpc_sock_set_mode(vs, VMRPC_BOTH);

	err = vmrpc_option_replay(vs);
	if (!err)
		vmrpc_sol_sync(vs);
	if (!err && inet->inet_num && vmrpc_sock_mode(vs) != VMRPC_NATIVE) {
		struct sockaddr_in to = {
			.sin_family = AF_INET,
			.sin_port = htons(inet->inet_num),
			.sin_addr.s_addr = inet->inet_rcv_saddr,
		};
		__be16 port;

		err = vmrpc_sock_bind_port(vs, &to, &port);
		/* To send elsewhere is no reason to hear others than its peer. */
		if (!err && inet->inet_daddr &&
		    vs->sk->sk_protocol == IPPROTO_UDP)
			err = vmrpc_sock_connect_self(vs);
	}
	if (err)
		vmrpc_sock_close(vs);
	else
		/* Who waits for the native side waits for both from now on. */
		vmrpc_sock_wake_tasks(vs, VMRPC_IN);
	return err;
}

/**
 * vmrpc_sock_open - make the host socket unless there is one
 * @vs: caller must hold vs->lock; VMRPC_BOTH afterwards, or VMRPC_NATIVE if it
 *      has just been bound to another interface
 *
 * It gets the options that were set before and the port, if the native side
 * is bound to one.  Returns 0 or a negative errno; then there is none.
 * -ENOPROTOOPT: the socket has an option that it could not have.
 */
int vmrpc_sock_open(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		return 0;
	err = prepare_open(vs);
	return err ? err : open_prepared(vs);
}

/**
 * vmrpc_sock_open_with - the same, by the call that follows if that will do
 * @vs: caller must hold vs->lock, and goes on to vmrpc_sock_bind_port() or
 *      vmrpc_sock_connect() if vmrpc_sock_is_open()
 *
 * A socket that nothing has been set of is made by the request that binds or
 * connects it; any other at once.  Returns as vmrpc_sock_open(); what keeps the
 * host from making it may be told by the call.
 */
int vmrpc_sock_open_with(struct vmrpc_sock *vs)
{
	int err;

	if (vmrpc_sock_mode(vs) != VMRPC_NATIVE)
		return 0;
	err = prepare_open(vs);
	if (err)
		return err;
	vs->opening = list_empty(&vs->opts) && !inet_sk(vs->sk)->inet_num &&
		      !vmrpc_sol_stale(vs);
	return vs->opening ? 0 : open_prepared(vs);
}

/**
 * vmrpc_sock_connect_self - nothing more comes to the host socket of UDP
 * @vs: caller must hold vs->lock; has a host socket that is bound
 *
 * What is queued stays, and it can send.  Returns 0 or a negative errno.
 */
int vmrpc_sock_connect_self(struct vmrpc_sock *vs)
{
	struct sockaddr_in self = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = vs->dev->guest4,
	};

	return vmrpc_sock_connect(vs, &self, 0, false);
}

/**
 * vmrpc_sock_connect - connect the host socket, or dissolve its connection
 * @vs: caller must hold vs->lock; has a host socket, or it is being opened
 * @to: the peer; NULL: dissolve
 * @wait_us: how long the host may wait for the connection to be made
 * @watch: it is to report by events what becomes of it: who does not wait at all
 *         will poll, or look for the error without it
 *
 * Sets vs->local and vs->peer unless it fails.  Returns 0, -EINPROGRESS or
 * another negative errno; still VMRPC_NATIVE then: it could not be opened.
 */
int vmrpc_sock_connect(struct vmrpc_sock *vs, const struct sockaddr_in *to,
		       u32 wait_us, bool watch)
{
	struct vmrpc_call *call = vmrpc_call_new(vs, VMRPC_CONNECT);
	bool stream = vs->sk->sk_type == SOCK_STREAM;
	int err;

	if (!call)
		return -ENOMEM;
	if (to)
		vmrpc_addr_put(&call->req.addr, to);
	call->req.wait_us = cpu_to_le32(wait_us);
	/* Who polls it already will not wait in a call to be told. */
	if (watch || (stream && to && wq_has_sleeper(sk_sleep(vs->sk))))
		call->req.flags |= cpu_to_le16(VMRPC_REQ_WATCH);
	err = run_opening(vs, call, stream ? VMRPC_REMOTE : VMRPC_BOTH);
	if (!err || err == -EINPROGRESS) {
		memset(&vs->local, 0, sizeof(vs->local));
		memset(&vs->peer, 0, sizeof(vs->peer));
		if (to) {
			vmrpc_addr_get(&vs->local, &call->resp.addr);
			vs->peer.sin_family = AF_INET;
			vs->peer.sin_port = to->sin_port;
			vs->peer.sin_addr = to->sin_addr;
		}
	}
	vmrpc_call_free(call);
	return err;
}
