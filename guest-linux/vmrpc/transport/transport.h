/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and queues of the device; knows no socket
 */
#ifndef VMRPC_TRANSPORT_H
#define VMRPC_TRANSPORT_H

#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>

#include <vmmnet/vmrpc.h>

#include "transport/compat.h"
#include "transport/device.h"

struct vmrpc_buffer;
struct vmrpc_pages;
struct vmrpc_sock;

/* Copying up to this many bytes costs less than looking up their pages. */
#define VMRPC_INLINE_MAX	1024u
/* The most that one call copies; holds the largest datagram. */
#define VMRPC_BOUNCE_MAX	65536u
/*
 * The largest datagram, in pieces that are just worth looking up, each of which
 * begins and ends in the middle of a page.
 */
#define VMRPC_PAGES_DATAGRAM	(VMRPC_BOUNCE_MAX / PAGE_SIZE + \
				 2 * (VMRPC_BOUNCE_MAX / VMRPC_INLINE_MAX))
/* VMRPC_DATA_MAX bytes that start in the middle of a page. */
#define VMRPC_PAGES_STREAM	(VMRPC_DATA_MAX / PAGE_SIZE + 1)
/* Large pages are few for a stream, but not for a datagram. */
#define VMRPC_PAGES_MAX		(VMRPC_PAGES_STREAM > VMRPC_PAGES_DATAGRAM ? \
				 VMRPC_PAGES_STREAM : VMRPC_PAGES_DATAGRAM)

/**
 * struct vmrpc_data - the data of a call
 * @sg: the part of the request on the ring: @nsg entries, @len bytes
 * @nsg: number of entries
 * @len: bytes
 * @in: the device writes the data
 * @user: @pages belong to user space
 * @buf: kernel copy; NULL if the pages themselves are on the ring
 * @pages: list of @npages pages; NULL if there is a copy
 * @npages: number of pages
 * @one: the entry for @buf
 * @buffer: the data are in this buffer of the host, not on the ring
 *          (data/buffer.c)
 * @buffer_id: number of @buffer on the wire
 * @offset: first byte in @buffer
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
	u32 buffer_id;
	u32 offset;
};

/**
 * struct vmrpc_call - a request and its answer
 * @dev: the device; the caller keeps it alive
 * @vs: the socket that the call is for (sock/call.c); NULL: none
 * @q: the queue that it was submitted to
 * @done: completed when the answer has arrived
 * @finished: called instead of completing @done, with the queue locked; the
 *            call is then freed.  NULL: a task waits for the answer.
 * @status: 0, or why there is no answer
 * @used: bytes that the device has written
 * @gfp: how to allocate memory for the data
 * @partial: the data may be shorter than requested (streams)
 * @timed: the answer may contain timestamps: fill @asked and @answered
 * @traced: ns of the clock when it was submitted; 0: nobody asks
 * @asked: the clocks before the call was submitted
 * @answered: the clocks when the answer was taken off the ring
 * @control: ancillary data; NULL: none
 * @control_len: bytes in @control
 * @data: the data
 * @req_sg: entry for @req
 * @resp_sg: entry for @resp
 * @control_sg: entry for @control
 * @inet6: for a socket of AF_INET6: @req6 and @resp6 are on the wire
 * @req: the request
 * @req6: an address of it
 * @resp: the answer
 * @resp6: an address of it
 * @inline_buf: room for small data
 */
struct vmrpc_call {
	struct vmrpc_device *dev;
	struct vmrpc_sock *vs;
	struct vmrpc_queue *q;
	struct completion done;
	void (*finished)(struct vmrpc_call *call);
	int status;
	u32 used;
	gfp_t gfp;
	bool partial;
	bool timed;
	bool inet6;
	u64 traced;
	struct vmrpc_times asked;
	struct vmrpc_times answered;
	void *control;
	u32 control_len;
	struct vmrpc_data data;
	struct scatterlist req_sg, resp_sg, control_sg;

	struct vmrpc_req req ____cacheline_aligned;
	struct vmrpc_addr6 req6;
	struct vmrpc_resp resp ____cacheline_aligned;
	struct vmrpc_addr6 resp6;
	u8 inline_buf[VMRPC_INLINE_MAX] ____cacheline_aligned;
};

/* Bytes of an answer before ancillary data and data. */
static inline size_t vmrpc_call_answer_head(const struct vmrpc_call *call)
{
	return sizeof(call->resp) + (call->inet6 ? sizeof(call->resp6) : 0);
}

int vmrpc_transport_init(void);
void vmrpc_transport_exit(void);
int vmrpc_transport_start(struct vmrpc_device *dev,
			  void (*on_event)(struct vmrpc_device *dev,
					   const struct vmrpc_event *ev));
void vmrpc_transport_stop(struct vmrpc_device *dev);
u32 vmrpc_transport_patience(struct vmrpc_device *dev);

struct vmrpc_call *vmrpc_call_alloc(struct vmrpc_device *dev,
				    enum vmrpc_op op, gfp_t gfp);
void vmrpc_call_free(struct vmrpc_call *call);
int vmrpc_call_submit(struct vmrpc_call *call);
int vmrpc_call_wait(struct vmrpc_call *call);

#endif /* VMRPC_TRANSPORT_H */
