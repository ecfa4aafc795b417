// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What does this kernel have?  Distributions carry changes of later kernels
 * into earlier ones, so the version does not tell.
 *
 * Kbuild compiles this file once and keeps no object.  The lines below a #line
 * are the probe of the feature it names: an error in them means that the kernel
 * has it not, and otherwise features.h defines VMRPC_HAVE_<feature>.
 */
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/splice.h>
#include <linux/timekeeping.h>
#include <linux/uio.h>
#include <linux/virtio_config.h>
#include <net/inet_common.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <uapi/linux/io_uring.h>

/* Linux 6.3: pages that are pinned are not referenced. */
#line 1 "EXTRACT_PAGES"
void *extract_pages = iov_iter_extract_pages;

/* 6.4 */
#line 1 "ITER_IOV"
const struct iovec *iter_iov_of(const struct iov_iter *iter);
const struct iovec *iter_iov_of(const struct iov_iter *iter)
{
	return iter_iov(iter);
}

/* 6.5, and stable series */
#line 1 "SPLICE_EOF"
size_t splice_eof = sizeof(((struct proto_ops *)0)->splice_eof);

/* Until 6.4 */
#line 1 "SENDPAGE"
size_t sendpage = sizeof(((struct proto_ops *)0)->sendpage);

/* 6.5 */
#line 1 "COPY_SPLICE_READ"
void *splice_read = copy_splice_read;

/* 6.6 */
#line 1 "URING_CMD"
int uring_cmd = SOCKET_URING_OP_SIOCINQ;

/* 6.6 */
#line 1 "CMSG_FLAGS"
unsigned long cmsg_flags(const struct inet_sock *inet);
unsigned long cmsg_flags(const struct inet_sock *inet)
{
	return inet_cmsg_flags(inet);
}

/* 6.7 */
#line 1 "CUSTOM_SOCKOPT"
int custom_sockopt = SOCK_CUSTOM_SOCKOPT;

/* 6.8 */
#line 1 "FLOW_FLAG"
int flow_flag = INET_FLAGS_SNDFLOW;

/* 6.10 */
#line 1 "ACCEPT_ARG"
int (*accept)(struct socket *, struct socket *,
	      struct proto_accept_arg *) = inet_accept;

/* 6.11 */
#line 1 "VIRTQUEUE_INFO"
size_t virtqueue_info = sizeof(struct virtqueue_info);

/* 6.16 */
#line 1 "ZEROCOPY_DEVMEM"
struct ubuf_info *(*zerocopy)(struct sock *, size_t, struct ubuf_info *,
			      bool) = msg_zerocopy_realloc;

/* 6.17 */
#line 1 "SK_UID"
kuid_t uid_of(const struct sock *sk);
kuid_t uid_of(const struct sock *sk)
{
	return sk_uid(sk);
}

/* 6.19 */
#line 1 "SOCKADDR_UNSIZED"
int (*bind_to)(struct socket *, struct sockaddr_unsized *, int) = inet_bind;

/* 7.2 */
#line 1 "SET_RCVBUF"
size_t set_rcvbuf = sizeof(((struct proto_ops *)0)->set_rcvbuf);

/* 7.2 */
#line 1 "SNAPSHOT_ID"
void (*snapshot)(clockid_t,
		 struct system_time_snapshot *) = ktime_get_snapshot_id;
