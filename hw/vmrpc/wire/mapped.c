/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped buffers: memory that a guest uses again and again
 *
 * Theory of operation
 * ===================
 *
 * Most of the cost of a large call is its pages: the guest looks them up and
 * puts each one onto the ring; QEMU maps and unmaps each one.  Programs send
 * from and receive into the same memory again and again.  So the guest maps
 * such a buffer once (VMRPC_MAP), and its later calls name the buffer.
 *
 * A buffer can be removed while a call in another thread uses it, so its users
 * are counted.  The device does not trust the guest's numbers: a number that
 * does not exist is -ESTALE.  A guest also gets that after a migration, which
 * does not carry buffers.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "hw/vmrpc/wire/mapped.h"

struct VmrpcMapped {
    VmrpcMemoryOps ops;
    unsigned max;
    unsigned count;
    VmrpcMappedBuffer *buffer[];
};

VmrpcMapped *vmrpc_mapped_new(unsigned max, const VmrpcMemoryOps *ops)
{
    VmrpcMapped *b = g_malloc0(sizeof(*b) + max * sizeof(b->buffer[0]));

    b->max = max;
    b->ops = *ops;
    return b;
}

void vmrpc_mapped_clear(VmrpcMapped *b)
{
    for (unsigned id = 0; b->count && id < b->max; id++) {
        if (b->buffer[id]) {
            vmrpc_mapped_remove(b, id);
        }
    }
}

void vmrpc_mapped_free(VmrpcMapped *b)
{
    if (b) {
        vmrpc_mapped_clear(b);
        g_free(b);
    }
}

int vmrpc_mapped_add(VmrpcMapped *b, uint32_t id, const struct iovec *iov,
                     unsigned num, bool writable)
{
    VmrpcMappedBuffer *buffer;
    size_t len = 0;

    for (unsigned i = 0; i < num; i++) {
        len += iov[i].iov_len;
    }
    if (id >= b->max || !len) {
        return -EINVAL;
    }
    if (b->buffer[id]) {
        return -EEXIST;
    }
    buffer = g_try_malloc(sizeof(*buffer) + num * sizeof(*iov));
    if (!buffer) {
        return -ENOMEM;
    }
    *buffer = (VmrpcMappedBuffer) { .len = len, .writable = writable,
                                    .num = num };
    memcpy(buffer->iov, iov, num * sizeof(*iov));
    if (b->ops.hold) {
        b->ops.hold(b->ops.opaque, buffer->iov, num);
    }
    b->buffer[id] = buffer;
    b->count++;
    return 0;
}

static void destroy(VmrpcMapped *b, VmrpcMappedBuffer *buffer)
{
    if (b->ops.release) {
        b->ops.release(b->ops.opaque, buffer->iov, buffer->num);
    }
    g_free(buffer);
}

int vmrpc_mapped_remove(VmrpcMapped *b, uint32_t id)
{
    VmrpcMappedBuffer *buffer = id < b->max ? b->buffer[id] : NULL;

    if (!buffer) {
        return -ESTALE;
    }
    b->buffer[id] = NULL;
    b->count--;
    buffer->removed = true;
    if (!buffer->users) {
        destroy(b, buffer);
    }
    return 0;
}

VmrpcMappedBuffer *vmrpc_mapped_use(VmrpcMapped *b, uint32_t id,
                                    uint32_t offset, uint32_t len, bool write)
{
    VmrpcMappedBuffer *buffer = id < b->max ? b->buffer[id] : NULL;

    if (!buffer || offset > buffer->len || len > buffer->len - offset ||
        (write && !buffer->writable)) {
        return NULL;
    }
    buffer->users++;
    return buffer;
}

void vmrpc_mapped_unuse(VmrpcMapped *b, VmrpcMappedBuffer *buffer)
{
    if (!--buffer->users && buffer->removed) {
        destroy(b, buffer);
    }
}
