/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of I/O vectors
 */
#ifndef HW_VMRPC_IOV_H
#define HW_VMRPC_IOV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The most vectors of one request */
#define VMRPC_IOV_MAX           1024

/** vmrpc_iov_total: bytes of all vectors together */
size_t vmrpc_iov_total(const struct iovec *iov, unsigned num);

/**
 * vmrpc_iov_slice: the part of @src from byte @offset on, at most @len bytes
 * @dst: room for VMRPC_IOV_MAX vectors
 *
 * Returns: the number of vectors in @dst.
 */
unsigned vmrpc_iov_slice(struct iovec *dst, const struct iovec *src,
                         unsigned src_num, size_t offset, size_t len);

/**
 * vmrpc_iov_read: copy at most @len bytes, from byte @offset on, to @buf
 *
 * Returns: the bytes copied.
 */
size_t vmrpc_iov_read(const struct iovec *iov, unsigned num, size_t offset,
                      void *buf, size_t len);

/** vmrpc_iov_write: the reverse of vmrpc_iov_read() */
size_t vmrpc_iov_write(const struct iovec *iov, unsigned num, size_t offset,
                       const void *buf, size_t len);

#endif /* HW_VMRPC_IOV_H */
