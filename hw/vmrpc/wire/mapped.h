/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped buffers: memory that a guest uses again and again
 *
 * A table of vectors into the guest's memory.  Callbacks keep the memory
 * itself valid.
 *
 * Thread safety: none; the caller serializes all calls.
 */
#ifndef HW_VMRPC_MAPPED_H
#define HW_VMRPC_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The owner of the guest's memory; any member may be NULL. */
typedef struct VmrpcMemoryOps {
    /* Keep these vectors, which are valid, valid until release(). */
    void (*hold)(void *opaque, const struct iovec *iov, unsigned num);
    void (*release)(void *opaque, const struct iovec *iov, unsigned num);
    /* The host has written to these vectors.  In any thread. */
    void (*written)(void *opaque, const struct iovec *iov, unsigned num);
    void *opaque;
} VmrpcMemoryOps;

typedef struct VmrpcMappedBuffer {
    size_t len;                 /* bytes of all vectors */
    bool writable;              /* by the host */
    bool removed;               /* its last user frees it */
    unsigned users;
    unsigned num;
    struct iovec iov[];
} VmrpcMappedBuffer;

typedef struct VmrpcMapped VmrpcMapped;

/**
 * vmrpc_mapped_new: an empty table
 * @max: number of buffers; their ids are 0 .. @max - 1
 * @ops: copied
 *
 * Returns: the table, to be freed with vmrpc_mapped_free().
 */
VmrpcMapped *vmrpc_mapped_new(unsigned max, const VmrpcMemoryOps *ops);

/** vmrpc_mapped_free: no buffer may be in use; NULL is allowed */
void vmrpc_mapped_free(VmrpcMapped *b);

/** vmrpc_mapped_clear: remove all buffers, as vmrpc_mapped_remove() does */
void vmrpc_mapped_clear(VmrpcMapped *b);

/**
 * vmrpc_mapped_add: keep @num vectors as buffer @id
 * @writable: the host may write to them
 *
 * Returns: 0; -EINVAL if @id is out of range or there are no bytes; -EEXIST if
 * @id is taken; -ENOMEM.
 */
int vmrpc_mapped_add(VmrpcMapped *b, uint32_t id, const struct iovec *iov,
                     unsigned num, bool writable);

/**
 * vmrpc_mapped_remove: remove buffer @id; its last user frees it
 *
 * Returns: 0; -ESTALE if there is no such buffer.
 */
int vmrpc_mapped_remove(VmrpcMapped *b, uint32_t id);

/**
 * vmrpc_mapped_use: begin to use buffer @id
 * @offset: first byte
 * @len: number of bytes
 * @write: the host will write to them
 *
 * Returns: the buffer, until vmrpc_mapped_unuse(); NULL if it does not exist,
 * is shorter or, with @write, is not writable.
 */
VmrpcMappedBuffer *vmrpc_mapped_use(VmrpcMapped *b, uint32_t id,
                                    uint32_t offset, uint32_t len, bool write);

/** vmrpc_mapped_unuse: end of vmrpc_mapped_use() */
void vmrpc_mapped_unuse(VmrpcMapped *b, VmrpcMappedBuffer *buffer);

#endif /* HW_VMRPC_MAPPED_H */
