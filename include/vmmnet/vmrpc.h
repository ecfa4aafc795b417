/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * virtio-vmrpc: sockets of a guest, executed on the host.
 *
 * This header is the whole wire format.  The device (hw/vmrpc) and the guest
 * module (guest-linux/vmrpc) are compiled with it.
 *
 * Theory of operation
 * ===================
 *
 * Queues.  Queue 0 is the event queue: the guest keeps it filled with buffers
 * of struct vmrpc_event.  Queues 1 .. num_queues carry requests.  Requests on
 * different queues have no order.  A guest that needs an order waits for the
 * completion, or uses one queue.
 *
 * A request is one descriptor chain:
 *
 *   device-readable   struct vmrpc_req | control | data
 *   device-writable   struct vmrpc_resp | control | data
 *
 * "Control" (ancillary data) has exactly vmrpc_req.control_len bytes, in the
 * readable part of SENDMSG and in the writable part of RECVMSG.  "Data" is the
 * rest.  The fixed parts may be split over descriptors in any way.  Data may
 * be pages of the guest's user space: the host's sendmsg and recvmsg access
 * them in place.
 *
 * A request runs on the CPU that notifies the queue, like a system call, and
 * is complete when the notification returns.  It completes later only if one
 * notification has more requests than the device executes at once.
 *
 * Waiting.  A call that would have to wait completes with VMRPC_EAGAIN
 * (CONNECT: VMRPC_EINPROGRESS).  The host sends an event when the socket
 * becomes ready.  A guest CPU with nothing better to do may ask for wait_us
 * microseconds: it then waits on the host first, which has the lowest latency.
 * The host may wait for less, and stops soon after an interrupt is pending.
 * SENDMSG waits before it sends, until the socket is writable, and RECVMSG may
 * wait first, too; other calls wait after they found nothing to do.  NOOP waits
 * until there is something to read, which its readiness then reports.
 *
 * Buffers.  Programs use the same memory for their data again and again.  MAP
 * gives the pages of the request's data, readable or writable, a number that
 * the guest chooses.  SENDMSG and RECVMSG with VMRPC_REQ_BUFFER then name a
 * part of that buffer in place of data; RECVMSG needs a writable one.  The host
 * forgets all buffers when the device is reset or the VM migrates, and answers
 * VMRPC_ESTALE for a buffer that does not exist.  It refuses MAP (EOPNOTSUPP)
 * if it accesses the guest's memory through an IOMMU, as a mapping would not
 * last.
 *
 * Handles.  The guest chooses the handle of a socket (0 .. max_sockets - 1)
 * in SOCKET and ACCEPT, together with a generation number.  So it may put
 * SOCKET, SETSOCKOPT, CONNECT on a queue before it notifies the device.  The
 * driver for Linux does not: a request that runs within its notification gains
 * little from a batch.  A handle is free again when its CLOSE has completed.
 * The generation distinguishes an event of the old socket from one of the new.
 *
 * Opening.  Most sockets are made for one BIND or CONNECT.  These requests make
 * the socket first if they have VMRPC_REQ_OPEN, exactly as SOCKET does.
 * VMRPC_RESP_OPENED reports that this was done.  The socket stays, and the
 * guest has to close it, even if the BIND or CONNECT itself fails.
 *
 * Readiness.  Each socket has a mask of VMRPC_IN ... VMRPC_RDHUP and a counter,
 * ready_seq, which the host increments with each report of the mask.  Responses
 * and events are reports.  They use different queues and can overtake one
 * another: the guest keeps the report with the larger ready_seq (in serial
 * number arithmetic).  The host sends an event only if a bit is set that it has
 * not reported as set yet.  With VMRPC_REQ_EDGE it also sends one when more
 * comes while the bit is set, as edge-triggered pollers need it, and, while
 * there are urgent data, whenever anything comes.
 * To watch a socket costs time, and most connections end before the guest waits
 * for them.  So the host watches a socket from its first VMRPC_REQ_WATCH on,
 * and at the latest VMRPC_WATCH_MS after it was made.  The host may stop
 * watching a socket whose calls wait themselves, for VMRPC_WATCH_MS each time.
 * VMRPC_RESP_WATCHED reports whether it watches.
 *
 * Errors.  vmrpc_resp.error is 0 or an errno of Linux's generic ABI.  That ABI
 * also defines all socket types, option levels and names, message flags and
 * ioctl numbers on the wire.  so_error is an asynchronous error (SO_ERROR): the
 * host has cleared it on its socket, and it belongs to the guest from then on.
 * A report with an error can be overtaken by a later one, for example of the
 * end of the stream.  So later reports repeat the error together with its age,
 * the number of reports since it was new.  The guest takes over an error that
 * is newer than the last one that it took: the number of the error is ready_seq
 * minus age.
 *
 * Values of options.  SETSOCKOPT has at most VMRPC_OPTVAL_MAX bytes of value.
 * GETSOCKOPT returns at most as many as there is room for, and more than
 * VMRPC_OPTVAL_MAX only with VMRPC_F_LONG_VALUES: then up to
 * VMRPC_OPTVAL_LONG_MAX.  The host's struct tcp_info has 280 from Linux 6.18 on.
 *
 * Timestamps.  The host's kernel stamps packets with the host's real time,
 * which is not the guest's.  With VMRPC_F_MOMENTS, the device gives the moment
 * on the host's monotonic clock instead, and the reading of that clock when it
 * makes the answer.  In the ancillary data of RECVMSG, struct vmrpc_moment
 * replaces the time of SO_TIMESTAMP and SO_TIMESTAMPNS, and the software time
 * (the first of three) of SO_TIMESTAMPING.  The guest reads its own clocks
 * before the request and again after the answer, so it knows how long ago the
 * moment was.  A migration changes the host's clock.  The hardware time of
 * SO_TIMESTAMPING comes from the clock of a network card, which is neither the
 * host's nor the guest's, and passes unchanged.
 *
 * Sockets of AF_INET6.  With VMRPC_F_INET6 the guest may make them, by
 * VMRPC_REQ_INET6 in SOCKET or in the request that opens the socket, and has
 * that flag in each request for such a socket.  A request with the flag has
 * struct vmrpc_addr6 behind its header, and its answer behind struct vmrpc_resp:
 *
 *   device-readable   struct vmrpc_req | struct vmrpc_addr6 | control | data
 *   device-writable   struct vmrpc_resp | struct vmrpc_addr6 | control | data
 *
 * There is the address, if vmrpc_addr.family is VMRPC_AF_INET6; vmrpc_addr has
 * the port.  ::ffff:a.b.c.d stands for the IPv4 address a.b.c.d, with all that
 * it means to sockets of AF_INET; any other address is what it is.  With
 * IPV6_FLOWINFO_SEND, CONNECT and SENDMSG have a flow label.  Options and
 * ancillary data of the level IPPROTO_IPV6 exist for these sockets alone.  A
 * peer that comes by itself is shown with its IPv6 address.
 *
 * Refusals.  The host keeps the last VMRPC_REFUSALS refusals of its policy and
 * limits, each with a number, until the device is reset or the VM migrates.
 * REFUSED returns the first one from a number on; ENOENT: there is none.  A
 * host that does not keep them answers EOPNOTSUPP, as to any unknown request.
 *
 * Byte order is little-endian, except for addresses and ports, which are in
 * network byte order as in struct sockaddr_in.
 */
#ifndef VMMNET_VMRPC_H
#define VMMNET_VMRPC_H

#include <linux/types.h>

#define VIRTIO_ID_VMRPC         63

#define VMRPC_VERSION           4

/* Feature bits */
#define VMRPC_F_TRANSLATE       0   /* the host side is IPv6 */
#define VMRPC_F_MOMENTS         1   /* see "Timestamps" */
#define VMRPC_F_LONG_VALUES     2   /* see "Values of options" */
#define VMRPC_F_INET6           3   /* see "Sockets of AF_INET6" */

#define VMRPC_QUEUE_EVENT       0
#define VMRPC_QUEUE_REQUEST     1   /* the first of them */
#define VMRPC_QUEUES_MAX        64  /* request queues */
#define VMRPC_SOCKETS_MAX       (1u << 20)
#define VMRPC_CONTROL_MAX       1024u       /* bytes of ancillary data */
#define VMRPC_DATA_MAX          (1u << 20)  /* bytes of data a request */
#define VMRPC_OPTVAL_MAX        256u        /* bytes of an option's value */
#define VMRPC_OPTVAL_LONG_MAX   512u        /* see "Values of options" */
#define VMRPC_BUFFERS_MAX       256u        /* numbers are less than this */

/*
 * A flag of SENDMSG's u.msg.flags, beside MSG_*: send nothing, and discard the
 * part of a datagram that MSG_MORE or UDP_CORK holds back.
 */
#define VMRPC_MSG_DISCARD       0x00800000u

struct vmrpc_config {
    __le16 version;             /* VMRPC_VERSION */
    __le16 num_queues;          /* request queues, 1 .. VMRPC_QUEUES_MAX */
    __le32 max_sockets;
    __be32 guest4;              /* the guest's own IPv4 address */
    __be32 resolver4;           /* address of the DNS proxy; 0: none */
    __be32 pool4;               /* the virtual addresses; 0: none */
    __u8   guest4_prefix;
    __u8   pool4_prefix;
    __le16 mtu;                 /* of the guest's interface, bytes */
    __u8   guest6[16];          /* its own IPv6 address, with VMRPC_F_INET6 */
};

enum vmrpc_op {
    VMRPC_SOCKET      = 1,      /* u.socket */
    VMRPC_CLOSE       = 2,
    /* addr, with OPEN u.socket -> resp.addr: the local address */
    VMRPC_BIND        = 3,
    VMRPC_LISTEN      = 4,      /* u.listen */
    /*
     * addr, with OPEN u.socket -> resp.addr: the local address of a datagram
     * socket
     */
    VMRPC_CONNECT     = 5,
    /* u.accept -> resp.addr: the peer, resp.value: the child's readiness */
    VMRPC_ACCEPT      = 6,
    VMRPC_SENDMSG     = 7,      /* addr, u.msg -> resp.value: bytes sent */
    /*
     * u.msg -> resp.value: bytes received (with MSG_TRUNC: of the datagram),
     * resp.addr, resp.msg_flags, resp.control_len
     */
    VMRPC_RECVMSG     = 8,
    VMRPC_SHUTDOWN    = 9,      /* u.shutdown */
    VMRPC_GETSOCKNAME = 10,     /* -> resp.addr */
    VMRPC_GETPEERNAME = 11,     /* -> resp.addr */
    VMRPC_GETSOCKOPT  = 12,     /* u.opt -> data; resp.value: its length */
    VMRPC_SETSOCKOPT  = 13,     /* u.opt, data */
    VMRPC_IOCTL       = 14,     /* u.ioctl -> resp.value: the int */
    VMRPC_NOOP        = 15,     /* reports readiness, applies flags */
    VMRPC_MAP         = 16,     /* u.map, data: the pages of the buffer */
    VMRPC_UNMAP       = 17,     /* u.map */
    VMRPC_REFUSED     = 18,     /* u.refused -> data: struct vmrpc_refusal */
};

#define VMRPC_AF_UNSPEC         0
#define VMRPC_AF_INET           2
#define VMRPC_AF_INET6          10

struct vmrpc_addr {
    /* VMRPC_AF_INET, or _INET6 with REQ_INET6; VMRPC_AF_UNSPEC: no address */
    __le16 family;
    __be16 port;
    /* of VMRPC_AF_INET; of _INET6, in a request, sin6_flowinfo; else 0 */
    __be32 addr;
};

/* See "Sockets of AF_INET6".  All zero unless the family is VMRPC_AF_INET6. */
struct vmrpc_addr6 {
    __u8 addr[16];
};

/* Request flags.  WATCH and EDGE stay set for the socket. */
#define VMRPC_REQ_WATCH         0x0001u /* report readiness by events */
#define VMRPC_REQ_EDGE          0x0002u /* also bits that are set already */
#define VMRPC_REQ_BUFFER        0x0004u /* SENDMSG, RECVMSG: see "Buffers" */
#define VMRPC_REQ_OPEN          0x0008u /* BIND, CONNECT: see "Opening" */
#define VMRPC_REQ_INET6         0x0010u /* see "Sockets of AF_INET6" */
#define VMRPC_REQ_ALL           (VMRPC_REQ_WATCH | VMRPC_REQ_EDGE | \
                                 VMRPC_REQ_BUFFER | VMRPC_REQ_OPEN | \
                                 VMRPC_REQ_INET6)

#define VMRPC_WAIT_MAX          1000u   /* microseconds */
#define VMRPC_WATCH_MS          10      /* milliseconds, approximately */

struct vmrpc_req {
    __le16 op;                  /* enum vmrpc_op */
    __le16 flags;               /* VMRPC_REQ_* */
    __le32 sock;                /* handle */
    __le32 gen;                 /* its generation */
    __le32 control_len;         /* <= VMRPC_CONTROL_MAX */
    __le32 wait_us;             /* see "Waiting"; <= VMRPC_WAIT_MAX */
    __le32 reserved;            /* 0 */
    struct vmrpc_addr addr;
    union {
        struct {
            __le32 type;        /* SOCK_STREAM, SOCK_DGRAM */
            /* IPPROTO_TCP, _UDP, _ICMP (INET6: _ICMPV6); 0: the type's */
            __le32 protocol;
        } socket;
        struct {
            __le32 backlog;
        } listen;
        struct {
            __le32 sock;        /* handle of the new socket */
            __le32 gen;
        } accept;
        struct {
            __le32 flags;       /* MSG_* */
            __le32 buffer;      /* this and below: VMRPC_REQ_BUFFER */
            __le32 offset;      /* in bytes */
            __le32 len;
        } msg;
        struct {
            __le32 how;         /* SHUT_RD, SHUT_WR, SHUT_RDWR */
        } shutdown;
        struct {
            __le32 level;
            __le32 name;
        } opt;
        struct {
            __le32 cmd;         /* SIOCINQ, SIOCOUTQ, SIOCATMARK, ... */
        } ioctl;
        struct {
            __le32 buffer;      /* < VMRPC_BUFFERS_MAX */
        } map;
        struct {
            __le64 from;        /* number */
        } refused;
        __le32 raw[4];          /* unused parts are 0 */
    } u;
};

/* Readiness: the values of poll(2) and epoll(7). */
#define VMRPC_IN                0x0001u
#define VMRPC_PRI               0x0002u
#define VMRPC_OUT               0x0004u
#define VMRPC_ERR               0x0008u
#define VMRPC_HUP               0x0010u
#define VMRPC_RDHUP             0x2000u
#define VMRPC_READY_ALL         (VMRPC_IN | VMRPC_PRI | VMRPC_OUT | \
                                 VMRPC_ERR | VMRPC_HUP | VMRPC_RDHUP)

#define VMRPC_ERROR_AGE         16      /* bits of the errno in so_error */
#define VMRPC_ERROR_AGE_MAX     0xffffu /* reports; older ones are dropped */

#define VMRPC_RESP_WATCHED      0x0001u /* req.sock is watched */
#define VMRPC_RESP_OPENED       0x0002u /* this request has made req.sock */

struct vmrpc_resp {
    __le32 error;               /* 0 or errno */
    __le32 value;
    __le32 ready;               /* readiness of req.sock */
    __le32 ready_seq;
    __le32 so_error;            /* errno and age << VMRPC_ERROR_AGE; or 0 */
    __le32 msg_flags;           /* RECVMSG: MSG_TRUNC, MSG_CTRUNC, ... */
    __le32 control_len;         /* RECVMSG: bytes of ancillary data */
    __le32 flags;               /* VMRPC_RESP_* */
    struct vmrpc_addr addr;
};

struct vmrpc_event {
    __le32 sock;
    __le32 gen;
    __le32 ready;
    __le32 ready_seq;
    __le32 so_error;
    __le32 reserved;
};

/* As large as struct timespec or timeval of the kernel: two times 64 bits */
struct vmrpc_moment {
    __le64 ns;                  /* 1 .. now; 0: no timestamp */
    __le64 now;                 /* both < 2^63, or 0 */
};

#define VMRPC_REFUSALS          64      /* that the host keeps */

/* See "Refusals".  Texts end with NUL, and are cut if they are longer. */
struct vmrpc_refusal {
    __le64 number;              /* 1 and up */
    __le64 ago_ms;
    __u8   addr[16];            /* of IPv4 ::ffff:a.b.c.d; zero: unknown */
    __be16 port;                /* 0: unknown */
    __u8   protocol;            /* IPPROTO_*; 0: unknown */
    __u8   reserved;
    __le32 error;               /* errno that the call got */
    char   reason[32];
    char   name[256];           /* that the guest asked for or said */
};

/* The errno values with a meaning in this format */
#define VMRPC_ENOENT            2
#define VMRPC_EAGAIN            11
#define VMRPC_EINPROGRESS       115
#define VMRPC_ESTALE            116

#endif /* VMMNET_VMRPC_H */
