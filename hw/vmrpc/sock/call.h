/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: one request while it is executed
 */
#ifndef HW_VMRPC_CALL_H
#define HW_VMRPC_CALL_H

#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/wire/iov.h"

/*
 * Memory that each call needs, and that is neither allocated nor cleared: to be
 * declared VMRPC_UNINITIALIZED.
 */
typedef struct VmrpcScratch {
    struct iovec iov[VMRPC_IOV_MAX + 1];    /* a header of ours, too */
    uint8_t control[VMRPC_CONTROL_MAX];
} VmrpcScratch;

/* The header in host byte order, and where ancillary data and data are. */
typedef struct VmrpcCall {
    uint16_t op;
    uint16_t flags;             /* VMRPC_REQ_* */
    uint32_t handle;
    uint32_t gen;
    uint32_t wait_us;
    uint32_t arg[4];            /* the request's union, by position */
    struct vmrpc_addr addr;     /* as on the wire */
    struct in6_addr addr6;      /* the same, with VMRPC_REQ_INET6 */
    struct sockaddr_in named;   /* what the server calls it (calls.c) */
    const struct iovec *out, *in;
    unsigned out_num, in_num;
    uint32_t control_len;
    VmrpcMappedBuffer *mapped;  /* where the data are; NULL: in the chain */
    size_t mapped_offset;
    size_t out_len;             /* bytes of data, behind header and control */
    size_t in_len;              /* room for data, behind response and control */
    VmrpcScratch *scratch;

    /* the response, in host byte order */
    uint32_t value;
    uint32_t msg_flags;
    uint32_t in_control_len;
    size_t in_data_len;         /* bytes of data written */
    int left;                   /* RECVMSG: what the host has; -1: unknown */
    size_t whole;               /* RECVMSG: a datagram's length; 0: unknown */
    struct sockaddr_in result;  /* sin_family 0: none */
    bool result_mapped;         /* INET6: IPv4-mapped for the guest */

    bool opened;                /* VMRPC_REQ_OPEN: the socket was made */
    int close_fd;               /* to be closed without the lock; -1: none */
} VmrpcCall;

/* A call on a socket of the table; returns 0 or a negative errno. */
typedef int VmrpcCallFunc(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call);

typedef struct VmrpcDataPlace {
    const struct iovec *iov;
    unsigned num;
    size_t offset;              /* where the data begin */
} VmrpcDataPlace;

/* Octets of a request before ancillary data and data; of its answer. */
size_t vmrpc_call_head(const VmrpcCall *call);
size_t vmrpc_call_answer_head(const VmrpcCall *call);

/* The data that @call sends, or (@in) has room for. */
VmrpcDataPlace vmrpc_call_data(const VmrpcCall *call, bool in);

/* Vectors of what a call sends, behind @skip bytes of it, or has room for. */
unsigned vmrpc_call_out_slice(const VmrpcCall *call, size_t skip,
                              struct iovec *dst);
unsigned vmrpc_call_in_slice(const VmrpcCall *call, struct iovec *dst);

/* Copies from the data that a call sends; returns the bytes copied. */
size_t vmrpc_call_read(const VmrpcCall *call, void *buf, size_t len);

/* Copies from the data that a call has received so far. */
size_t vmrpc_call_read_in(const VmrpcCall *call, void *buf, size_t len);

/* Copies to the room for data, from @offset on; returns the bytes copied. */
size_t vmrpc_call_write(const VmrpcCall *call, size_t offset, const void *buf,
                        size_t len);

/* The address of a request; sin_family is AF_UNSPEC if there is none. */
void vmrpc_call_addr(const VmrpcCall *call, struct sockaddr_in *sin);

/*
 * Gives @host, the host's address for it, the flow label of the request, which
 * counts if IPV6_FLOWINFO_SEND is set.
 */
void vmrpc_call_put_flow(const VmrpcCall *call, struct sockaddr_storage *host);

#endif /* HW_VMRPC_CALL_H */
