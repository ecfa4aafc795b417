/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the data of a call
 *
 * They are in the request's own vectors, behind header and ancillary data, or
 * in memory that the guest has mapped before (mapped.c).
 */
#include "hw/vmrpc/sock/call.h"

#include <string.h>

static size_t address6_size(const VmrpcCall *call)
{
    return call->flags & VMRPC_REQ_INET6 ? sizeof(struct vmrpc_addr6) : 0;
}

size_t vmrpc_call_head(const VmrpcCall *call)
{
    return sizeof(struct vmrpc_req) + address6_size(call);
}

size_t vmrpc_call_answer_head(const VmrpcCall *call)
{
    return sizeof(struct vmrpc_resp) + address6_size(call);
}

VmrpcDataPlace vmrpc_call_data(const VmrpcCall *call, bool in)
{
    if (call->mapped) {
        return (VmrpcDataPlace) { call->mapped->iov, call->mapped->num,
                                  call->mapped_offset };
    }
    if (in) {
        return (VmrpcDataPlace) { call->in, call->in_num,
                                  vmrpc_call_answer_head(call) +
                                  (call->op == VMRPC_RECVMSG
                                   ? call->control_len : 0) };
    }
    return (VmrpcDataPlace) { call->out, call->out_num,
                              vmrpc_call_head(call) +
                              (call->op == VMRPC_SENDMSG
                               ? call->control_len : 0) };
}

unsigned vmrpc_call_out_slice(const VmrpcCall *call, size_t skip,
                              struct iovec *dst)
{
    VmrpcDataPlace p = vmrpc_call_data(call, false);

    return vmrpc_iov_slice(dst, p.iov, p.num, p.offset + skip,
                           call->out_len - skip);
}

unsigned vmrpc_call_in_slice(const VmrpcCall *call, struct iovec *dst)
{
    VmrpcDataPlace p = vmrpc_call_data(call, true);

    return vmrpc_iov_slice(dst, p.iov, p.num, p.offset, call->in_len);
}

size_t vmrpc_call_read(const VmrpcCall *call, void *buf, size_t len)
{
    VmrpcDataPlace p = vmrpc_call_data(call, false);

    return vmrpc_iov_read(p.iov, p.num, p.offset, buf,
                          MIN(len, call->out_len));
}

size_t vmrpc_call_read_in(const VmrpcCall *call, void *buf, size_t len)
{
    VmrpcDataPlace p = vmrpc_call_data(call, true);

    return vmrpc_iov_read(p.iov, p.num, p.offset, buf, MIN(len, call->in_len));
}

size_t vmrpc_call_write(const VmrpcCall *call, size_t offset, const void *buf,
                        size_t len)
{
    VmrpcDataPlace p = vmrpc_call_data(call, true);

    if (offset > call->in_len) {
        return 0;
    }
    return vmrpc_iov_write(p.iov, p.num, p.offset + offset, buf,
                           MIN(len, call->in_len - offset));
}

void vmrpc_call_put_flow(const VmrpcCall *call, struct sockaddr_storage *host)
{
    if (call->flags & VMRPC_REQ_INET6 && host->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)host)->sin6_flowinfo = call->addr.addr;
    }
}

void vmrpc_call_addr(const VmrpcCall *call, struct sockaddr_in *sin)
{
    *sin = call->named;
}
