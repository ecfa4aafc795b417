/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between the kernels this module is built for (Linux 6.1 to 7.3).
 * features.c tells what a kernel has; no file looks at the version.
 */
#ifndef VMRPC_COMPAT_H
#define VMRPC_COMPAT_H

#include <linux/fs.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/skbuff.h>
#include <linux/splice.h>
#include <linux/timekeeping.h>
#include <linux/uio.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <net/inet_common.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "features.h"

/* --- virtqueues: 6.11 gathered the parallel arrays ---------------------- */

#ifndef VMRPC_HAVE_VIRTQUEUE_INFO
struct virtqueue_info {
	const char *name;
	vq_callback_t *callback;
};

static inline int vmrpc_find_vqs(struct virtio_device *vdev, unsigned int n,
				 struct virtqueue *vqs[],
				 struct virtqueue_info *info)
{
	vq_callback_t **callbacks = kcalloc(n, sizeof(*callbacks), GFP_KERNEL);
	const char **names = kcalloc(n, sizeof(*names), GFP_KERNEL);
	int err = -ENOMEM;
	unsigned int i;

	if (callbacks && names) {
		for (i = 0; i < n; i++) {
			callbacks[i] = info[i].callback;
			names[i] = info[i].name;
		}
		err = virtio_find_vqs(vdev, n, vqs, callbacks, names, NULL);
	}
	kfree(callbacks);
	kfree(names);
	return err;
}
#else
static inline int vmrpc_find_vqs(struct virtio_device *vdev, unsigned int n,
				 struct virtqueue *vqs[],
				 struct virtqueue_info *info)
{
	return virtio_find_vqs(vdev, n, vqs, info, NULL);
}
#endif

/* --- accept: 6.10 gathered the arguments -------------------------------- */

#ifndef VMRPC_HAVE_ACCEPT_ARG
struct proto_accept_arg {
	int flags;
	bool kern;
};

static inline int vmrpc_inet_accept(struct socket *sock,
				    struct socket *newsock,
				    struct proto_accept_arg *arg)
{
	return inet_accept(sock, newsock, arg->flags, arg->kern);
}

#define VMRPC_ACCEPT_OP(op, accept)					\
static int op(struct socket *sock, struct socket *newsock, int flags,	\
	      bool kern)						\
{									\
	struct proto_accept_arg arg = { .flags = flags, .kern = kern };	\
									\
	return accept(sock, newsock, &arg);				\
}
#else
#define vmrpc_inet_accept inet_accept

#define VMRPC_ACCEPT_OP(op, accept)					\
static int op(struct socket *sock, struct socket *newsock,		\
	      struct proto_accept_arg *arg)				\
{									\
	return accept(sock, newsock, arg);				\
}
#endif

/* --- user pages: 6.3 tells pinned pages from referenced ones ------------- */

/*
 * Gets the pages of the next bytes of @iter, at most @size bytes and @max pages
 * of one segment, and advances it.  Returns the bytes or an errno.
 */
static inline ssize_t vmrpc_iter_pages(struct iov_iter *iter,
				       struct page **pages, size_t size,
				       unsigned int max, size_t *offset)
{
#ifndef VMRPC_HAVE_EXTRACT_PAGES
	return iov_iter_get_pages2(iter, pages, size, max, offset);
#else
	return iov_iter_extract_pages(iter, &pages, size, max, 0, offset);
#endif
}

/* Gives pages of vmrpc_iter_pages() back; @user: @iter was user-backed. */
static inline void vmrpc_pages_put(struct page **pages, unsigned int n,
				   bool user, bool dirty)
{
#ifndef VMRPC_HAVE_EXTRACT_PAGES
	unsigned int i;

	for (i = 0; i < n; i++) {
		/* Racy, as in unpin_user_pages_dirty_lock(). */
		if (user && dirty && !PageDirty(pages[i]))
			set_page_dirty_lock(pages[i]);
		put_page(pages[i]);
	}
#else
	if (user)
		unpin_user_pages_dirty_lock(pages, n, dirty);
#endif
}

/* --- memory of programs: 6.4 hides the vectors of an iterator ------------ */

static inline bool vmrpc_iter_is_user(const struct iov_iter *iter)
{
	return iter_is_ubuf(iter) || iter_is_iovec(iter);
}

/* The address of the next byte of a user-backed, non-empty iterator. */
static inline unsigned long vmrpc_iter_address(const struct iov_iter *iter)
{
	if (iter_is_ubuf(iter))
		return (unsigned long)iter->ubuf + iter->iov_offset;
#ifndef VMRPC_HAVE_ITER_IOV
	return (unsigned long)iter->iov->iov_base + iter->iov_offset;
#else
	return (unsigned long)iter_iov(iter)->iov_base + iter->iov_offset;
#endif
}

/* --- splice: 6.5 removed sendpage and the pipe-backed read --------------- */

static inline ssize_t vmrpc_splice_read(struct socket *sock, loff_t *ppos,
					struct pipe_inode_info *pipe,
					size_t len, unsigned int flags)
{
#ifndef VMRPC_HAVE_COPY_SPLICE_READ
	return generic_file_splice_read(sock->file, ppos, pipe, len, flags);
#else
	return copy_splice_read(sock->file, ppos, pipe, len, flags);
#endif
}

#ifdef VMRPC_HAVE_SENDPAGE
/* Several pages together are one datagram, or segment. */
static inline ssize_t vmrpc_no_sendpage(struct socket *sock, struct page *page,
					int offset, size_t size, int flags)
{
	if (flags & MSG_SENDPAGE_NOTLAST)
		flags |= MSG_MORE;
	return sock_no_sendpage(sock, page, offset, size, flags);
}
#endif

/* --- SOL_SOCKET ----------------------------------------------------------- */

/*
 * Does the core pass setsockopt(SOL_SOCKET) to us?  If not, sock/sol.c compares
 * values.
 */
#ifdef VMRPC_HAVE_CUSTOM_SOCKOPT
#define VMRPC_SEES_SOL_SOCKET true
#else
#define VMRPC_SEES_SOL_SOCKET false
#endif

static inline void vmrpc_claim_sol_socket(struct socket *sock)
{
#ifdef VMRPC_HAVE_CUSTOM_SOCKOPT
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
#endif
}

static inline void vmrpc_disclaim_sol_socket(struct socket *sock)
{
#ifdef VMRPC_HAVE_CUSTOM_SOCKOPT
	clear_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
#endif
}

/* --- IPV6_FLOWINFO_SEND: 6.8 moved it ------------------------------------ */

/* @sk: of AF_INET6 */
static inline bool vmrpc_sends_flow(const struct sock *sk)
{
#ifdef VMRPC_HAVE_FLOW_FLAG
	return inet_test_bit(SNDFLOW, sk);
#else
	return inet6_sk(sk)->sndflow;
#endif
}

/* --- IP_PKTINFO and others: 6.6 moved their bits -------------------------- */

static inline bool vmrpc_wants_pktinfo(const struct sock *sk)
{
#ifdef VMRPC_HAVE_CMSG_FLAGS
	return inet_cmsg_flags(inet_sk(sk)) & IP_CMSG_PKTINFO;
#else
	return inet_sk(sk)->cmsg_flags & IP_CMSG_PKTINFO;
#endif
}

/* --- addresses: from 6.19 on a type without a length ---------------------- */

/* What the address in bind() and connect() points to. */
#ifdef VMRPC_HAVE_SOCKADDR_UNSIZED
#define vmrpc_sockaddr sockaddr_unsized
#else
#define vmrpc_sockaddr sockaddr
#endif

/* --- receive buffers: 7.2 tells the protocol of SO_RCVBUF ----------------- */

static inline void vmrpc_copy_set_rcvbuf(struct proto_ops *ops,
					 const struct proto_ops *native)
{
#ifdef VMRPC_HAVE_SET_RCVBUF
	ops->set_rcvbuf = native->set_rcvbuf;
#endif
}

/* --- MSG_ZEROCOPY: 6.16 can send the memory of devices -------------------- */

static inline struct ubuf_info *vmrpc_zerocopy_new(struct sock *sk, size_t size)
{
#ifdef VMRPC_HAVE_ZEROCOPY_DEVMEM
	return msg_zerocopy_realloc(sk, size, NULL, false);
#else
	return msg_zerocopy_realloc(sk, size, NULL);
#endif
}

/* --- the owner of a socket: 6.17 ------------------------------------------ */

static inline kuid_t vmrpc_sk_uid(struct sock *sk)
{
#ifdef VMRPC_HAVE_SK_UID
	return sk_uid(sk);
#else
	return sock_i_uid(sk);
#endif
}

/* --- clocks: 7.2 takes a snapshot of the clock that one names ------------- */

/* Readings of two clocks at one moment, in ns. */
struct vmrpc_times {
	ktime_t real;
	ktime_t raw;			/* CLOCK_MONOTONIC_RAW */
	unsigned int clock_was_set_seq;
};

static inline void vmrpc_times_get(struct vmrpc_times *times)
{
	struct system_time_snapshot now;

#ifdef VMRPC_HAVE_SNAPSHOT_ID
	ktime_get_snapshot_id(CLOCK_REALTIME, &now);
	times->real = now.systime;
	times->raw = now.monoraw;
#else
	ktime_get_snapshot(&now);
	times->real = now.real;
	times->raw = now.raw;
#endif
	times->clock_was_set_seq = now.clock_was_set_seq;
}

/* --- RCU ------------------------------------------------------------------ */

/* Exported, but declared in a header that modules do not get. */
void rcu_expedite_gp(void);
void rcu_unexpedite_gp(void);

#endif /* VMRPC_COMPAT_H */
