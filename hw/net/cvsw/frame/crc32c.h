/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCTP's checksum (RFC 9260 appendix A) */
#ifndef CVSW_FRAME_CRC32C_H
#define CVSW_FRAME_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/**
 * cvsw_crc32c: of @len octets of @iov from @offset on
 *
 * Octets beyond the end of @iov are left out. The lowest octet of the result
 * goes first into the packet.
 */
uint32_t cvsw_crc32c(const struct iovec *iov, int iovcnt, size_t offset,
                     size_t len);

#endif /* CVSW_FRAME_CRC32C_H */
