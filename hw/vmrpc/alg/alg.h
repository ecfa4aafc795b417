/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the addresses that FTP and SIP carry inside
 *
 * For sockets with translation only.  alg.c tells how it works; this is how
 * a socket server uses it.
 *
 * A stream (connect, accept):
 *
 *   vmrpc_alg_proto()    is it one of ours, by the server's port?
 *   vmrpc_alg_new()      then it gets a gateway for its whole life
 *   vmrpc_alg_send()     in place of sendmsg() on the host socket
 *   vmrpc_alg_recv()     in place of recvmsg(), also with MSG_PEEK
 *   vmrpc_alg_finish()   before shutdown(SHUT_WR) and before close()
 *   vmrpc_alg_unread()   is added to what SIOCINQ of the host socket says
 *   vmrpc_alg_done()     true: free it, go on without
 *
 * Readiness is the host socket's and needs no help: as long as something
 * rewritten waits for the guest, a byte of what it was made from is left in
 * the host's receive queue; and as long as something waits for the host, the
 * guest has not been told that its last byte was sent.
 *
 * Not for the gateway but straight to the host: recvmsg() with MSG_OOB,
 * MSG_ERRQUEUE or MSG_TRUNC (which discards).  sendmsg() with MSG_OOB goes
 * through it like any other, the flag travels in VmrpcAlgIo.opaque.
 *
 * A datagram socket that has sent to or is bound to the port of SIP needs no
 * gateway of its own, only vmrpc_alg_datagram() for each whole datagram.
 *
 * None of this need survive a migration: streams do not, and datagrams have
 * no state.
 *
 * Not thread-safe: all calls for one gateway come from one thread at a time.
 */
#ifndef HW_VMRPC_ALG_H
#define HW_VMRPC_ALG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <glib.h>

typedef enum VmrpcAlgProto {
    VMRPC_ALG_NONE,
    VMRPC_ALG_FTP,              /* RFC 959, RFC 2428: the control connection */
    VMRPC_ALG_SIP,              /* RFC 3261, with SDP, RFC 8866 */
} VmrpcAlgProto;

typedef enum VmrpcAlgDir {
    VMRPC_ALG_TO_HOST,          /* what the guest sends */
    VMRPC_ALG_TO_GUEST,         /* what it receives */
} VmrpcAlgDir;

/*
 * What was done, all gateways of an owner together.  The X-macro lets the
 * owner publish each counter by its name.
 */
#define VMRPC_ALG_COUNTERS(X)                                                 \
    X(alg_rewritten)    /* commands, replies and messages */                  \
    X(alg_refused)      /* FTP: PORT or EPRT with a foreign address */        \
    X(alg_unmapped)     /* addresses without a counterpart, left as is */     \
    X(alg_malformed)    /* did not parse, passed unchanged */                 \
    X(alg_too_long)     /* beyond a bound, passed unchanged */

typedef struct VmrpcAlgCounters {
#define VMRPC_ALG_COUNTER_FIELD(name) uint64_t name;
    VMRPC_ALG_COUNTERS(VMRPC_ALG_COUNTER_FIELD)
#undef VMRPC_ALG_COUNTER_FIELD
} VmrpcAlgCounters;

/* What a gateway needs from its owner.  Every member must be set. */
typedef struct VmrpcAlgOps {
    /*
     * The IPv6 address of the VM for its own IPv4 address, of a peer for its
     * virtual one, none for none (a call on hold, RFC 3264 section 8.4).
     * False for any other and if there is none.
     */
    bool (*to6)(void *opaque, struct in_addr addr4, struct in6_addr *addr6);
    /*
     * The reverse; a peer without a virtual address may be given one, at
     * most VMRPC_ALG_ADDRESSES_MAX for a message.
     */
    bool (*to4)(void *opaque, const struct in6_addr *addr6,
                struct in_addr *addr4);
    void *opaque;
    VmrpcAlgCounters *counters; /* added to */
} VmrpcAlgOps;

/* Addresses that are rewritten in one message; with more it passes. */
#define VMRPC_ALG_ADDRESSES_MAX 64

/* The connection, as the guest sees it. */
typedef struct VmrpcAlgConfig {
    VmrpcAlgProto proto;        /* not VMRPC_ALG_NONE */
    bool guest_is_server;       /* it has accepted the connection */
    struct in_addr own4;        /* the guest's own address */
    struct in_addr peer4;       /* the one it is connected to */
} VmrpcAlgConfig;

/* The host socket, for the time of a call. */
typedef struct VmrpcAlgIo {
    /* As sendmsg() without waiting: bytes sent, > 0, or a negative errno. */
    ssize_t (*send)(void *opaque, const void *data, size_t len);
    /*
     * As recvmsg() without waiting, with MSG_PEEK if @peek, whatever flags
     * the guest gave: bytes, 0 at the end of the stream, or a negative errno.
     */
    ssize_t (*recv)(void *opaque, const struct iovec *iov, unsigned num,
                    bool peek);
    /* Takes at most @len bytes, > 0, away instead, and copies none. */
    ssize_t (*drop)(void *opaque, size_t len);
    void *opaque;
} VmrpcAlgIo;

typedef struct VmrpcAlg VmrpcAlg;

/**
 * vmrpc_alg_proto:
 * @type: SOCK_STREAM or SOCK_DGRAM
 * @port: of the server, host byte order: the peer's after connect(), one's
 *        own after accept(); either of a datagram
 */
VmrpcAlgProto vmrpc_alg_proto(int type, uint16_t port);

/**
 * vmrpc_alg_new: a gateway for one stream
 * @config: copied
 * @ops: must outlive the gateway
 *
 * Some 300 bytes; while a line or a message is incomplete up to 17 KiB more
 * a direction (FTP: 512 bytes).
 *
 * Returns: the gateway, to be freed with vmrpc_alg_free().
 */
VmrpcAlg *vmrpc_alg_new(const VmrpcAlgConfig *config, const VmrpcAlgOps *ops);

/** vmrpc_alg_free: @alg may be NULL. */
void vmrpc_alg_free(VmrpcAlg *alg);

/**
 * vmrpc_alg_send: bytes from the guest to the host
 * @iov: they may change while they are read, as a guest's memory can
 * @io: only its send is used
 *
 * Returns: the bytes that the guest need not send again, which may be fewer
 * than it gave; 0 only if it gave none; or the negative errno of @io's send.
 */
ssize_t vmrpc_alg_send(VmrpcAlg *alg, const struct iovec *iov, unsigned num,
                       const VmrpcAlgIo *io);

/**
 * vmrpc_alg_recv: bytes from the host to the guest
 * @iov: the room for them
 * @peek: leave them there, as MSG_PEEK does; what is rewritten and what is
 *        not are never seen by the same peek
 * @io: its send is not used
 *
 * Returns: bytes, which may be fewer than there are; 0 at the end of the
 * stream; -EAGAIN if there are none for the guest yet, also if there were
 * some on the host; or another negative errno of @io's recv.
 */
ssize_t vmrpc_alg_recv(VmrpcAlg *alg, const struct iovec *iov, unsigned num,
                       bool peek, const VmrpcAlgIo *io);

/**
 * vmrpc_alg_finish: nothing more will come from the guest
 * @io: only its send is used
 *
 * Sends the incomplete line or message that was held back; what the host
 * does not take now is lost.
 */
void vmrpc_alg_finish(VmrpcAlg *alg, const VmrpcAlgIo *io);

/**
 * vmrpc_alg_unread:
 *
 * Returns: bytes the guest can receive beyond those on the host.
 */
size_t vmrpc_alg_unread(const VmrpcAlg *alg);

/**
 * vmrpc_alg_done:
 *
 * Returns: whether every byte passes from now on, both ways.
 */
bool vmrpc_alg_done(const VmrpcAlg *alg);

/**
 * vmrpc_alg_datagram: a SIP message that is a datagram
 * @data: the whole of it, the caller's own copy
 *
 * Returns: what to deliver in its place, at most 65,507 bytes, to be freed
 * with g_byte_array_unref(); NULL: @data as it is.
 */
GByteArray *vmrpc_alg_datagram(const VmrpcAlgOps *ops, VmrpcAlgDir dir,
                               const void *data, size_t len);

#endif /* HW_VMRPC_ALG_H */
