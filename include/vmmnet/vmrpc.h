/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * virtio-vmrpc: sockets of a guest, executed on the host.
 *
 * This header is the whole wire format.  It is compiled into the device
 * (hw/vmrpc) and into the guest module (guest-linux/vmrpc).
 *
 * Theory of operation
 * ===================
 *
 * Queues.  Queue 0 is the event queue: the guest keeps it filled with
 * buffers of struct vmrpc_event.  Queues 1 .. num_queues carry requests.
 * Requests on different queues are not ordered among each other; whoever
 * needs an order waits for the completion or stays on one queue.
 *
 * A request is one descriptor chain:
 *
 *   device-readable   struct vmrpc_req | control | data
 *   device-writable   struct vmrpc_resp | control | data
 *
 * where "control" (ancillary data) has exactly vmrpc_req.control_len bytes,
 * in the readable part of SENDMSG and in the writable part of RECVMSG, and
 * "data" is what is left.  The fixed parts may be split over descriptors in
 * any way.  Data may be pages of the guest's user space: the host's sendmsg
 * and recvmsg work on them in place.
 *
 * A request runs on the CPU that notifies the queue of it, like a system call,
 * and has completed when the notification returns.  Only when the device has
 * more to do than one notification may take does it complete later.
 *
 * Waiting.  A call that would have to wait completes with VMRPC_EAGAIN
 * (CONNECT: VMRPC_EINPROGRESS) and the host tells later, by an event, that the
 * socket has become ready.  Who has nothing better to do may ask for wait_us
 * microseconds first: the CPU then waits on the host, which is the quickest to
 * notice.  The host may wait for less, and stops soon after an interrupt comes.
 * SENDMSG waits until the socket is writable before it sends, others after they
 * found that there is nothing to do.  NOOP waits until there is something to
 * read; what it says then is in the readiness.
 *
 * Buffers.  A program uses the same memory for its data again and again.  MAP
 * gives the pages of the request's data, readable or writable, a number of the
 * guest's choice; SENDMSG and RECVMSG with VMRPC_REQ_BUFFER then name a part of
 * that buffer in place of data of their own.  RECVMSG wants a writable one.  The
 * host forgets all buffers when the device is reset or the VM migrates, and
 * answers VMRPC_ESTALE to who names one that is not there.  It takes no buffers
 * (EOPNOTSUPP) from a guest whose memory it sees through an IOMMU, as a mapping
 * would not last.
 *
 * Handles.  The guest chooses the handle of a socket (0 .. max_sockets - 1)
 * in SOCKET and ACCEPT, together with a generation number.  So it may put
 * SOCKET, SETSOCKOPT, CONNECT on a queue before it notifies the device; the
 * driver for Linux does not, as a request that runs within its notification
 * gains little by company.  A handle is free again when its CLOSE has
 * completed.  The generation tells an event of the old socket from one of the
 * new.
 *
 * Opening.  Most sockets are made to be connected, and there is nothing to say
 * about them in between.  BIND and CONNECT with VMRPC_REQ_OPEN make the socket
 * first, exactly as SOCKET does.  VMRPC_RESP_OPENED tells that this was done;
 * the socket stays, for the guest to close, if what it was made for fails.
 *
 * Readiness.  Each socket has a mask of VMRPC_IN ... VMRPC_RDHUP and a
 * counter, ready_seq, that the host increments whenever it reports the mask.
 * Responses and events both report it.  As they travel on different queues
 * they can overtake one another: the guest keeps the report with the larger
 * ready_seq (in serial number arithmetic).  The host sends an event only when
 * a bit is set that it has not reported as set yet; with VMRPC_REQ_EDGE also
 * when more has come to what was there, as edge-triggered pollers want to know,
 * and while there are urgent data whenever something comes.
 * Watching costs something, and most connections end before anybody has to be
 * told: a socket is watched from VMRPC_REQ_WATCH on, and without it from
 * VMRPC_WATCH_MS after it was made.  The host may stop watching a socket whose
 * calls wait themselves, for VMRPC_WATCH_MS again; VMRPC_RESP_WATCHED tells.
 *
 * Errors.  vmrpc_resp.error is 0 or an errno of Linux's generic ABI, like all
 * socket types, option levels and names, message flags and ioctl numbers on
 * the wire.  so_error is an asynchronous error (SO_ERROR): it has been cleared
 * on the host and now belongs to the guest.  A report that tells of it can be
 * overtaken by one that tells what followed, the end of the stream; so the
 * later ones tell of it again, with its age: before how many reports it was
 * new.  The guest takes over an error that is younger than the last it took:
 * ready_seq minus age is its number.
 *
 * Timestamps.  The host's kernel stamps packets with the host's real time,
 * which is not the guest's.  With VMRPC_F_MOMENTS the device gives the moment
 * on the host's monotonic clock instead, and the reading of that clock as it
 * makes the answer: in the ancillary data of RECVMSG, struct vmrpc_moment
 * replaces the time of SO_TIMESTAMP and SO_TIMESTAMPNS, and the software time
 * (the first of three) of SO_TIMESTAMPING.  The guest reads its own clocks
 * before the request and as soon as it has the answer, and so knows how long
 * ago the moment was.  After a migration the host's clock is another one.  The
 * hardware time of SO_TIMESTAMPING is on the clock of a network card, neither
 * the host's nor the guest's, and passes unchanged.
 *
 * Byte order is little-endian, except for addresses and ports, which are in
 * network byte order as they are in struct sockaddr_in.
 */
#ifndef VMMNET_VMRPC_H
#define VMMNET_VMRPC_H

#include <linux/types.h>

#define VIRTIO_ID_VMRPC         63

#define VMRPC_VERSION           4

/* Feature bits */
#define VMRPC_F_TRANSLATE       0   /* the host side is IPv6 */
#define VMRPC_F_MOMENTS         1   /* see "Timestamps" */

#define VMRPC_QUEUE_EVENT       0
#define VMRPC_QUEUE_REQUEST     1   /* the first one */
#define VMRPC_QUEUES_MAX        64  /* request queues */
#define VMRPC_SOCKETS_MAX       (1u << 20)
#define VMRPC_CONTROL_MAX       1024u       /* bytes of ancillary data */
#define VMRPC_DATA_MAX          (1u << 20)  /* bytes of data a request */
#define VMRPC_OPTVAL_MAX        256u        /* bytes of an option's value */
#define VMRPC_BUFFERS_MAX       256u        /* their numbers are below */

/*
 * Of SENDMSG's u.msg.flags, beside MSG_*: nothing is sent, and what MSG_MORE
 * and UDP_CORK have held back of a datagram is thrown away.
 */
#define VMRPC_MSG_DISCARD       0x00800000u

struct vmrpc_config {
    __le16 version;             /* VMRPC_VERSION */
    __le16 num_queues;          /* request queues, 1 .. VMRPC_QUEUES_MAX */
    __le32 max_sockets;
    __be32 guest4;              /* the guest's own IPv4 address */
    __be32 resolver4;           /* where the DNS proxy answers; 0: nowhere */
    __be32 pool4;               /* the virtual addresses; 0: none */
    __u8   guest4_prefix;
    __u8   pool4_prefix;
    __le16 mtu;                 /* to tell programs that ask an interface */
};

enum vmrpc_op {
    VMRPC_SOCKET      = 1,      /* u.socket */
    VMRPC_CLOSE       = 2,
    /* addr, with OPEN u.socket -> resp.addr: what was bound */
    VMRPC_BIND        = 3,
    VMRPC_LISTEN      = 4,      /* u.listen */
    /*
     * addr, with OPEN u.socket -> resp.addr: the local address, of a datagram
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
    VMRPC_NOOP        = 15,     /* the readiness, flags take effect */
    VMRPC_MAP         = 16,     /* u.map: its data are a buffer from now on */
    VMRPC_UNMAP       = 17,     /* u.map */
};

#define VMRPC_AF_UNSPEC         0
#define VMRPC_AF_INET           2

struct vmrpc_addr {
    __le16 family;              /* VMRPC_AF_INET; VMRPC_AF_UNSPEC: no address */
    __be16 port;
    __be32 addr;
};

/* Request flags.  WATCH and EDGE are of the socket, and stay. */
#define VMRPC_REQ_WATCH         0x0001u /* readiness is waited for: report it */
#define VMRPC_REQ_EDGE          0x0002u /* and what is reported already, too */
#define VMRPC_REQ_BUFFER        0x0004u /* SENDMSG, RECVMSG: see "Buffers" */
#define VMRPC_REQ_OPEN          0x0008u /* BIND, CONNECT: see "Opening" */
#define VMRPC_REQ_ALL           (VMRPC_REQ_WATCH | VMRPC_REQ_EDGE | \
                                 VMRPC_REQ_BUFFER | VMRPC_REQ_OPEN)

#define VMRPC_WAIT_MAX          1000u   /* microseconds */
#define VMRPC_WATCH_MS          10      /* milliseconds, about */

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
            __le32 protocol;    /* IPPROTO_TCP, _UDP, _ICMP; 0: the type's */
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
            __le32 buffer;      /* these with VMRPC_REQ_BUFFER */
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
        __le32 raw[4];          /* what an operation does not use is 0 */
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
#define VMRPC_ERROR_AGE_MAX     0xffffu /* reports; then it is forgotten */

#define VMRPC_RESP_WATCHED      0x0001u /* req.sock is watched */
#define VMRPC_RESP_OPENED       0x0002u /* and has been made by this request */

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

/* As large as a time of the kernel's: 64 bits of seconds and of their parts. */
struct vmrpc_moment {
    __le64 ns;                  /* 1 .. now; 0: there is no time */
    __le64 now;                 /* both < 2^63, or 0 */
};

/* The errno values that the format itself gives a meaning to. */
#define VMRPC_EAGAIN            11
#define VMRPC_EINPROGRESS       115
#define VMRPC_ESTALE            116

#endif /* VMMNET_VMRPC_H */
