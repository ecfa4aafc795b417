/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffers that a guest uses again and again
 *
 * A table of vectors into the guest's memory by number.  It does not know what
 * memory is: whoever owns it is told when vectors are kept and given back.
 * Not thread-safe.
 */
#ifndef HW_VMRPC_MAPPED_H
#define HW_VMRPC_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Memory of the guest; any member may be NULL. */
typedef struct VmrpcMemoryOps {
    /* The vectors, which are valid now, stay so until release(). */
    void (*hold)(void *opaque, const struct iovec *iov, unsigned num);
    void (*release)(void *opaque, const struct iovec *iov, unsigned num);
    /* The host has written to these; from any thread. */
    void (*written)(void *opaque, const struct iovec *iov, unsigned num);
    void *opaque;
} VmrpcMemoryOps;

typedef struct VmrpcMappedBuffer {
    size_t len;                 /* bytes of all vectors */
    bool writable;              /* by the host */
    bool removed;               /* the last user frees it */
    unsigned users;
    unsigned num;
    struct iovec iov[];
} VmrpcMappedBuffer;

typedef struct VmrpcMapped VmrpcMapped;

/* @max: buffers, whose numbers are 0 .. @max - 1; @ops is copied. */
VmrpcMapped *vmrpc_mapped_new(unsigned max, const VmrpcMemoryOps *ops);

/* Removes all buffers, which nobody must use any more.  NULL is allowed. */
void vmrpc_mapped_free(VmrpcMapped *b);
void vmrpc_mapped_clear(VmrpcMapped *b);

/*
 * Keeps @num vectors as buffer @id.
 * Returns 0, -EINVAL (@id out of range, or no bytes), -EEXIST (@id is in use)
 * or -ENOMEM.
 */
int vmrpc_mapped_add(VmrpcMapped *b, uint32_t id, const struct iovec *iov,
                     unsigned num, bool writable);

/* Returns 0 or -ESTALE.  What is in use goes with its last user. */
int vmrpc_mapped_remove(VmrpcMapped *b, uint32_t id);

/*
 * Buffer @id for one call on @len bytes from @offset; NULL if it does not
 * exist, is shorter or, with @write, must not be written.
 */
VmrpcMappedBuffer *vmrpc_mapped_use(VmrpcMapped *b, uint32_t id,
                                    uint32_t offset, uint32_t len, bool write);

/* End of vmrpc_mapped_use(). */
void vmrpc_mapped_unuse(VmrpcMapped *b, VmrpcMappedBuffer *buffer);

#endif /* HW_VMRPC_MAPPED_H */
