// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The outsourced side of a socket: handles and modes
 *
 * Theory of operation
 * ===================
 *
 * Every TCP, UDP or ping socket has a native sock and, beside it, a struct
 * vmrpc_sock.  The host socket is made when it is first needed (host/host.c):
 * when the program binds to all addresses or to the guest's own, or names a
 * peer that is not in the guest.  The mode says which side serves the socket:
 *
 *   NATIVE   the guest's own stack, as without this module
 *   BOTH     no peer: connections and datagrams come from either side, the
 *            port is the same on both
 *   REMOTE   the peer is beyond the host; of the native side only the wait
 *            queue, the error, the timeouts and the option values are used
 *
 * ready.c has what a socket is ready for.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "native/prot.h"
#include "sock/sock.h"
#include "transport/trace.h"
#include "transport/transport.h"

/* Ticks to wait for a handle whose CLOSE is not finished. */
#define HANDLE_WAIT		5

/*
 * All outsourced sides, in every mode, by their native side.  Used to find one
 * whose sk_user_data was overwritten.
 */
static DEFINE_HASHTABLE(by_sock, 10);
static DEFINE_SPINLOCK(by_sock_lock);

/* --- handles -------------------------------------------------------------- */

/**
 * vmrpc_handle_alloc - give a socket a handle, unless it has one
 * @vs: caller must hold vs->lock or be its only user
 *
 * Returns 0, -EMFILE if the device has no more sockets, or -ENOMEM.
 */
int vmrpc_handle_alloc(struct vmrpc_sock *vs)
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
		/* Wait for the CLOSE of a socket that was closed just now. */
		schedule_timeout_uninterruptible(1);
	}
	if (err)
		return err == -EBUSY ? -EMFILE : err;
	vs->has_handle = true;
	return 0;
}

/**
 * vmrpc_handle_free - make a handle available again
 * @dev: the device
 * @handle: its host socket has been closed
 *
 * Any context.
 */
void vmrpc_handle_free(struct vmrpc_device *dev, u32 handle)
{
	unsigned long flags;

	trace_vmrpc_close(handle);
	xa_lock_irqsave(&dev->socks, flags);
	__xa_erase(&dev->socks, handle);
	xa_unlock_irqrestore(&dev->socks, flags);
}

/**
 * vmrpc_handle_drop - give the handle back
 * @vs: caller must hold vs->lock or be its only user; has no host socket
 */
void vmrpc_handle_drop(struct vmrpc_sock *vs)
{
	if (!vs->has_handle)
		return;
	vs->has_handle = false;
	vmrpc_handle_free(vs->dev, vs->handle);
}

/**
 * vmrpc_handle_park - reserve the handle until its CLOSE is finished
 * @vs: caller must be its only user
 *
 * Nobody else gets the handle, and events for it find no socket.  End it with
 * vmrpc_handle_free().
 */
void vmrpc_handle_park(struct vmrpc_sock *vs)
{
	xa_lock_irq(&vs->dev->socks);
	__xa_store(&vs->dev->socks, vs->handle, XA_ZERO_ENTRY, GFP_ATOMIC);
	xa_unlock_irq(&vs->dev->socks);
	vs->has_handle = false;
}

/**
 * vmrpc_handle_renew - start a new generation of the handle
 * @vs: caller must hold vs->lock or be its only user
 *
 * Reports of an earlier generation are dropped.
 */
void vmrpc_handle_renew(struct vmrpc_sock *vs)
{
	xa_lock_irq(&vs->dev->socks);
	spin_lock(&vs->ready_lock);
	vs->gen = atomic_inc_return(&vs->dev->generation);
	/* The readiness of a new socket is not reported as a change. */
	vs->ready = vs->sk->sk_type == SOCK_DGRAM ? VMRPC_OUT
						  : VMRPC_OUT | VMRPC_HUP;
	vs->ready_seq = 0;		/* the first report is number 1 */
	vs->error_seq = U32_MAX;
	vs->unreported = 0;
	vs->watched = false;
	vs->edge = false;
	spin_unlock(&vs->ready_lock);
	xa_unlock_irq(&vs->dev->socks);
	trace_vmrpc_open(vs->handle, vs->gen, vs->sk->sk_type,
			 vs->sk->sk_protocol);
}

/**
 * vmrpc_sock_next - iterate over the sockets that have a handle
 * @dev: the device
 * @handle: where to begin; set to the handle that was found
 *
 * Returns the socket, to be given back with vmrpc_sock_put(), or NULL.  Its
 * program may release the socket meanwhile.
 */
struct vmrpc_sock *vmrpc_sock_next(struct vmrpc_device *dev,
				   unsigned long *handle)
{
	struct vmrpc_sock *vs;

	/* A socket in the table has its first reference. */
	xa_lock_irq(&dev->socks);
	vs = xa_find(&dev->socks, handle, ULONG_MAX, XA_PRESENT);
	if (vs)
		refcount_inc(&vs->ref);
	xa_unlock_irq(&dev->socks);
	return vs;
}

/* --- life ----------------------------------------------------------------- */

/**
 * vmrpc_sock_alloc - make the outsourced side of a sock
 * @dev: the device
 * @sk: the native side
 *
 * Returns it, to be given back with vmrpc_sock_put(), or NULL.
 */
struct vmrpc_sock *vmrpc_sock_alloc(struct vmrpc_device *dev, struct sock *sk)
{
	struct vmrpc_sock *vs = kzalloc(sizeof(*vs), GFP_KERNEL);

	if (!vs)
		return NULL;
	refcount_set(&vs->ref, 1);
	sock_hold(sk);
	vs->sk = sk;
	vmrpc_device_get(dev);
	vs->dev = dev;
	mutex_init(&vs->lock);
	spin_lock_init(&vs->ready_lock);
	INIT_LIST_HEAD(&vs->kept);
	INIT_LIST_HEAD(&vs->opts);
	vs->rx_window = VMRPC_BOUNCE_MAX;
	vs->rx_bulk = jiffies - HZ;
	return vs;
}

/**
 * vmrpc_sock_enter - give it a handle, and let it be found
 * @vs: new
 *
 * Returns 0, -EMFILE if the device has no more sockets, or -ENOMEM.
 */
int vmrpc_sock_enter(struct vmrpc_sock *vs)
{
	int err = vmrpc_handle_alloc(vs);

	if (err)
		return err;
	vmrpc_handle_renew(vs);
	spin_lock(&by_sock_lock);
	hash_add(by_sock, &vs->by_sock, (unsigned long)vs->sk);
	spin_unlock(&by_sock_lock);
	return 0;
}

/**
 * vmrpc_sock_leave - let it not be found any more
 * @vs: was entered
 */
void vmrpc_sock_leave(struct vmrpc_sock *vs)
{
	spin_lock(&by_sock_lock);
	hash_del(&vs->by_sock);
	spin_unlock(&by_sock_lock);
}

/**
 * vmrpc_sock_put - drop a reference
 * @vs: the socket; freed with its last reference
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

/* Finds the outsourced side of a sock whose sk_user_data was overwritten. */
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
 * vmrpc_sock_find - find the outsourced side of a socket that is being released
 * @sk: the native side
 *
 * As vmrpc_sk(), but also finds it if a service of the kernel has overwritten
 * sk_user_data.  Returns NULL if there is none.
 */
struct vmrpc_sock *vmrpc_sock_find(struct sock *sk)
{
	struct vmrpc_sock *vs = vmrpc_sk(sk);

	return vs ? vs : find_displaced(sk);
}

/**
 * vmrpc_sock_set_mode - change the mode of a socket
 * @vs: caller must hold vs->lock
 * @mode: the new mode
 */
void vmrpc_sock_set_mode(struct vmrpc_sock *vs, enum vmrpc_mode mode)
{
	trace_vmrpc_mode(vs->handle, vs->gen, vs->mode, mode);
	/* pairs with vmrpc_sock_mode(): addresses and readiness come first */
	smp_store_release(&vs->mode, mode);
	if (vs->sk->sk_type == SOCK_STREAM)
		vmrpc_prot_set(vs->sk, mode == VMRPC_REMOTE);
}
