/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: addresses inside FTP and SIP
 *
 * Only for sockets with translation.  alg.c explains how the gateways work;
 * this header, how a socket server uses them.
 *
 * A stream (connect, accept):
 *
 *   vmrpc_alg_proto()    does the server's port belong to FTP or SIP?
 *   vmrpc_alg_new()      if so, make a gateway for the life of the stream
 *   vmrpc_alg_send()     replaces sendmsg() on the host socket
 *   vmrpc_alg_recv()     replaces recvmsg(), also with MSG_PEEK
 *   vmrpc_alg_finish()   before shutdown(SHUT_WR) and before close()
 *   vmrpc_alg_unread()   add it to the host socket's SIOCINQ
 *   vmrpc_alg_done()     true: free the gateway and continue without it
 *
 * Readiness is the host socket's.  While rewritten bytes wait for the guest,
 * one of the bytes that they replace stays in the host's receive queue.  While
 * rewritten bytes wait for the host, the guest's last byte is not reported as
 * sent.
 *
 * recvmsg() with MSG_OOB, MSG_ERRQUEUE or MSG_TRUNC (which discards) bypasses
 * the gateway.  sendmsg() with MSG_OOB goes through it; VmrpcAlgIo.opaque
 * carries the flag.
 *
 * A datagram socket that is bound to the port of SIP, or has sent to it, has
 * no gateway: vmrpc_alg_datagram() rewrites each whole datagram.
 *
 * Nothing here travels with a migration: streams end with it, and datagrams
 * have no state.
 *
 * Thread safety: one thread at a time may use a gateway.
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

/* The build's option sip leaves that gateway out. */
#ifndef VMRPC_HAS_SIP
#define VMRPC_HAS_SIP           1
#endif

typedef enum VmrpcAlgProto {
    VMRPC_ALG_NONE,
    VMRPC_ALG_FTP,              /* RFC 959, RFC 2428: the control connection */
    VMRPC_ALG_SIP,              /* RFC 3261, with SDP, RFC 8866 */
} VmrpcAlgProto;

typedef enum VmrpcAlgDir {
    VMRPC_ALG_TO_HOST,          /* the guest sends */
    VMRPC_ALG_TO_GUEST,         /* the guest receives */
} VmrpcAlgDir;

/*
 * Counters of all gateways of an owner.  The X-macro lets the owner publish
 * each one under its name.
 */
#define VMRPC_ALG_COUNTERS(X)                                                 \
    X(alg_rewritten)    /* commands, replies and messages */                  \
    X(alg_refused)      /* FTP: PORT or EPRT with a foreign address */        \
    X(alg_unmapped)     /* addresses without a counterpart, unchanged */      \
    X(alg_malformed)    /* did not parse, passed unchanged */                 \
    X(alg_too_long)     /* exceeded a bound, passed unchanged */

typedef struct VmrpcAlgCounters {
#define VMRPC_ALG_COUNTER_FIELD(name) uint64_t name;
    VMRPC_ALG_COUNTERS(VMRPC_ALG_COUNTER_FIELD)
#undef VMRPC_ALG_COUNTER_FIELD
} VmrpcAlgCounters;

/* The owner's address map.  Every member must be set. */
typedef struct VmrpcAlgOps {
    /*
     * The IPv6 address of the VM for its own IPv4 address, of a peer for its
     * virtual one, :: for 0.0.0.0 (a call on hold, RFC 3264, 8.4).  False for
     * any other address.
     */
    bool (*to6)(void *opaque, struct in_addr addr4, struct in6_addr *addr6);
    /*
     * The reverse.  It may assign a virtual address to a peer: at most
     * VMRPC_ALG_ADDRESSES_MAX for one message.
     */
    bool (*to4)(void *opaque, const struct in6_addr *addr6,
                struct in_addr *addr4);
    void *opaque;
    VmrpcAlgCounters *counters; /* added to */
} VmrpcAlgOps;

/* A message with more addresses passes unchanged. */
#define VMRPC_ALG_ADDRESSES_MAX 64

/* The connection, from the guest's view */
typedef struct VmrpcAlgConfig {
    VmrpcAlgProto proto;        /* not VMRPC_ALG_NONE */
    bool guest_is_server;       /* the guest accepted the connection */
    struct in_addr own4;        /* the guest's own address */
    struct in_addr peer4;       /* the peer's */
} VmrpcAlgConfig;

/* The host socket, during a call */
typedef struct VmrpcAlgIo {
    /* A non-blocking sendmsg(): bytes sent, > 0, or a negative errno. */
    ssize_t (*send)(void *opaque, const void *data, size_t len);
    /*
     * A non-blocking recvmsg(): bytes, 0 at the end of the stream, or a
     * negative errno.  With MSG_PEEK if @peek, whatever the guest's flags.
     */
    ssize_t (*recv)(void *opaque, const struct iovec *iov, unsigned num,
                    bool peek);
    /* The same, but discards at most @len bytes, > 0. */
    ssize_t (*drop)(void *opaque, size_t len);
    void *opaque;
} VmrpcAlgIo;

typedef struct VmrpcAlg VmrpcAlg;

/**
 * vmrpc_alg_proto:
 * @type: SOCK_STREAM or SOCK_DGRAM
 * @port: of the server, host byte order: the peer's after connect(), the
 *        local one after accept(); for a datagram, call it with both
 */
VmrpcAlgProto vmrpc_alg_proto(int type, uint16_t port);

/**
 * vmrpc_alg_new: a gateway for one stream
 * @config: copied
 * @ops: must outlive the gateway
 *
 * A gateway takes some 300 bytes; for each direction with an incomplete line
 * or message up to 17 KiB more (FTP: 512 bytes).
 *
 * Returns: the gateway, to be freed with vmrpc_alg_free().
 */
VmrpcAlg *vmrpc_alg_new(const VmrpcAlgConfig *config, const VmrpcAlgOps *ops);

/** vmrpc_alg_free: @alg may be NULL. */
void vmrpc_alg_free(VmrpcAlg *alg);

/**
 * vmrpc_alg_send: bytes from the guest to the host
 * @iov: the guest may change these bytes at any time
 * @io: only its send is used
 *
 * Returns: how many bytes were sent, perhaps not all; 0 only if there were
 * none; or the negative errno of @io's send.  The guest sends the others
 * again.
 */
ssize_t vmrpc_alg_send(VmrpcAlg *alg, const struct iovec *iov, unsigned num,
                       const VmrpcAlgIo *io);

/**
 * vmrpc_alg_recv: bytes from the host to the guest
 * @iov: room for the bytes
 * @peek: leave them in the queue, as MSG_PEEK does; one peek shows either
 *        rewritten bytes or others, never both
 * @io: its send is not used
 *
 * Returns: how many bytes, perhaps not all; 0 at the end of the stream;
 * -EAGAIN if there are none for the guest yet, even if the host had some; or
 * another negative errno of @io's recv.
 */
ssize_t vmrpc_alg_recv(VmrpcAlg *alg, const struct iovec *iov, unsigned num,
                       bool peek, const VmrpcAlgIo *io);

/**
 * vmrpc_alg_finish: the guest will send nothing more
 * @io: only its send is used
 *
 * Sends the incomplete line or message that was held.  Bytes that the host
 * does not take at once are lost.
 */
void vmrpc_alg_finish(VmrpcAlg *alg, const VmrpcAlgIo *io);

/**
 * vmrpc_alg_unread:
 *
 * Returns: bytes that the guest can receive in addition to those on the host.
 */
size_t vmrpc_alg_unread(const VmrpcAlg *alg);

/**
 * vmrpc_alg_done:
 *
 * Returns: whether all further bytes pass, in both directions.
 */
bool vmrpc_alg_done(const VmrpcAlg *alg);

/**
 * vmrpc_alg_datagram: rewrite a SIP message in a datagram
 * @data: the whole datagram, a private copy
 *
 * Returns: the new datagram, at most 65,507 bytes, to be freed with
 * g_byte_array_unref(); NULL: deliver @data unchanged.
 */
GByteArray *vmrpc_alg_datagram(const VmrpcAlgOps *ops, VmrpcAlgDir dir,
                               const void *data, size_t len);

#endif /* HW_VMRPC_ALG_H */
