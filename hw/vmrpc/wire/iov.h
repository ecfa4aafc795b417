/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of vectors
 */
#ifndef HW_VMRPC_IOV_H
#define HW_VMRPC_IOV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Vectors of one request. */
#define VMRPC_IOV_MAX           1024

/* Bytes of all vectors together. */
size_t vmrpc_iov_total(const struct iovec *iov, unsigned num);

/*
 * Makes @dst the part of @src from byte @offset on, at most @len bytes.
 * Returns the number of vectors, at most VMRPC_IOV_MAX.
 */
unsigned vmrpc_iov_slice(struct iovec *dst, const struct iovec *src,
                         unsigned src_num, size_t offset, size_t len);

/* Copies between a buffer and vectors; returns the bytes copied. */
size_t vmrpc_iov_read(const struct iovec *iov, unsigned num, size_t offset,
                      void *buf, size_t len);
size_t vmrpc_iov_write(const struct iovec *iov, unsigned num, size_t offset,
                       const void *buf, size_t len);

#endif /* HW_VMRPC_IOV_H */
