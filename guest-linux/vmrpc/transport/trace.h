/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints of the module: /sys/kernel/tracing/events/vmrpc
 *
 * What a program asks for is an open, requests with their answers, changes of
 * mode, and a close; what the host tells on its own is an event.  A migration
 * is seen as ESTALE in answers, and as ECONNRESET in events of the connections
 * that were lost; a reset of the device as a stop.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vmrpc

#if !defined(VMRPC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VMRPC_TRACE_H

#include <linux/tracepoint.h>

#include <vmmnet/vmrpc.h>

#define VMRPC_TRACE_OPS							\
	vmrpc_op(SOCKET) vmrpc_op(CLOSE) vmrpc_op(BIND)			\
	vmrpc_op(LISTEN) vmrpc_op(CONNECT) vmrpc_op(ACCEPT)		\
	vmrpc_op(SENDMSG) vmrpc_op(RECVMSG) vmrpc_op(SHUTDOWN)		\
	vmrpc_op(GETSOCKNAME) vmrpc_op(GETPEERNAME)			\
	vmrpc_op(GETSOCKOPT) vmrpc_op(SETSOCKOPT) vmrpc_op(IOCTL)	\
	vmrpc_op(NOOP) vmrpc_op(MAP) vmrpc_op(UNMAP)	\
	vmrpc_op_end(REFUSED)

/* Programs that read the records find the numbers in the event's format. */
#undef vmrpc_op
#undef vmrpc_op_end
#define vmrpc_op(name)		TRACE_DEFINE_ENUM(VMRPC_##name);
#define vmrpc_op_end(name)	TRACE_DEFINE_ENUM(VMRPC_##name);

VMRPC_TRACE_OPS

/* Headers that come after this may have the plain names: arm64's has op(). */
#undef vmrpc_op
#undef vmrpc_op_end
#define vmrpc_op(name)		{ VMRPC_##name, #name },
#define vmrpc_op_end(name)	{ VMRPC_##name, #name }

/* A request goes to the host. */
TRACE_EVENT(vmrpc_request,
	TP_PROTO(const struct vmrpc_req *req, size_t len),
	TP_ARGS(req, len),
	TP_STRUCT__entry(
		__field(u16, op)
		__field(u16, flags)
		__field(u32, sock)
		__field(u32, gen)
		__field(u32, wait_us)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->op = le16_to_cpu(req->op);
		__entry->flags = le16_to_cpu(req->flags);
		__entry->sock = le32_to_cpu(req->sock);
		__entry->gen = le32_to_cpu(req->gen);
		__entry->wait_us = le32_to_cpu(req->wait_us);
		__entry->len = len;
	),
	TP_printk("op=%s sock=%d gen=%u flags=0x%x len=%u wait_us=%u",
		  __print_symbolic(__entry->op, VMRPC_TRACE_OPS),
		  (int)__entry->sock, __entry->gen, __entry->flags,
		  __entry->len, __entry->wait_us)
);

/*
 * It has an answer, after @ns since the ring took it, or -1; @status is not 0
 * if the device has given none.
 */
TRACE_EVENT(vmrpc_answer,
	TP_PROTO(const struct vmrpc_req *req, const struct vmrpc_resp *resp,
		 int status, s64 ns),
	TP_ARGS(req, resp, status, ns),
	TP_STRUCT__entry(
		__field(u16, op)
		__field(u32, sock)
		__field(int, status)
		__field(u32, error)
		__field(u32, value)
		__field(u32, ready)
		__field(s64, ns)
	),
	TP_fast_assign(
		__entry->op = le16_to_cpu(req->op);
		__entry->sock = le32_to_cpu(req->sock);
		__entry->status = status;
		__entry->error = status ? 0 : le32_to_cpu(resp->error);
		__entry->value = status ? 0 : le32_to_cpu(resp->value);
		__entry->ready = status ? 0 : le32_to_cpu(resp->ready);
		__entry->ns = ns;
	),
	TP_printk("op=%s sock=%d status=%d error=%u value=%u ready=0x%x ns=%lld",
		  __print_symbolic(__entry->op, VMRPC_TRACE_OPS),
		  (int)__entry->sock, __entry->status, __entry->error,
		  __entry->value, __entry->ready, __entry->ns)
);

/* The host reports what a socket is ready for. */
TRACE_EVENT(vmrpc_event,
	TP_PROTO(const struct vmrpc_event *ev),
	TP_ARGS(ev),
	TP_STRUCT__entry(
		__field(u32, sock)
		__field(u32, gen)
		__field(u32, ready)
		__field(u32, seq)
		__field(u32, error)
	),
	TP_fast_assign(
		__entry->sock = le32_to_cpu(ev->sock);
		__entry->gen = le32_to_cpu(ev->gen);
		__entry->ready = le32_to_cpu(ev->ready);
		__entry->seq = le32_to_cpu(ev->ready_seq);
		__entry->error = le32_to_cpu(ev->so_error) &
				 ((1u << VMRPC_ERROR_AGE) - 1);
	),
	TP_printk("sock=%u gen=%u ready=0x%x seq=%u error=%u",
		  __entry->sock, __entry->gen, __entry->ready, __entry->seq,
		  __entry->error)
);

/* A handle has a new generation, for a host socket that is to be made. */
TRACE_EVENT(vmrpc_open,
	TP_PROTO(u32 sock, u32 gen, int type, int protocol),
	TP_ARGS(sock, gen, type, protocol),
	TP_STRUCT__entry(
		__field(u32, sock)
		__field(u32, gen)
		__field(int, type)
		__field(int, protocol)
	),
	TP_fast_assign(
		__entry->sock = sock;
		__entry->gen = gen;
		__entry->type = type;
		__entry->protocol = protocol;
	),
	TP_printk("sock=%u gen=%u type=%d protocol=%d", __entry->sock,
		  __entry->gen, __entry->type, __entry->protocol)
);

/* Another side serves the socket: 0 native, 1 both, 2 remote (sock/sock.h). */
TRACE_EVENT(vmrpc_mode,
	TP_PROTO(u32 sock, u32 gen, int from, int to),
	TP_ARGS(sock, gen, from, to),
	TP_STRUCT__entry(
		__field(u32, sock)
		__field(u32, gen)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->sock = sock;
		__entry->gen = gen;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("sock=%u gen=%u from=%d to=%d", __entry->sock,
		  __entry->gen, __entry->from, __entry->to)
);

/* A handle is free: its host socket has been closed. */
TRACE_EVENT(vmrpc_close,
	TP_PROTO(u32 sock),
	TP_ARGS(sock),
	TP_STRUCT__entry(
		__field(u32, sock)
	),
	TP_fast_assign(
		__entry->sock = sock;
	),
	TP_printk("sock=%u", __entry->sock)
);

DECLARE_EVENT_CLASS(vmrpc_device,
	TP_PROTO(unsigned int queues),
	TP_ARGS(queues),
	TP_STRUCT__entry(
		__field(unsigned int, queues)
	),
	TP_fast_assign(
		__entry->queues = queues;
	),
	TP_printk("queues=%u", __entry->queues)
);

/* The device works from now on; it is reset, and every call has ended. */
DEFINE_EVENT(vmrpc_device, vmrpc_start,
	TP_PROTO(unsigned int queues), TP_ARGS(queues));
DEFINE_EVENT(vmrpc_device, vmrpc_stop,
	TP_PROTO(unsigned int queues), TP_ARGS(queues));

#endif /* VMRPC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
