/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of I/O vectors
 */
#include "hw/vmrpc/wire/iov.h"

#include <glib.h>
#include <string.h>

size_t vmrpc_iov_total(const struct iovec *iov, unsigned num)
{
    size_t total = 0;

    for (unsigned i = 0; i < num; i++) {
        total += iov[i].iov_len;
    }
    return total;
}

unsigned vmrpc_iov_slice(struct iovec *dst, const struct iovec *src,
                         unsigned src_num, size_t offset, size_t len)
{
    unsigned n = 0;

    for (unsigned i = 0; i < src_num && len && n < VMRPC_IOV_MAX; i++) {
        size_t part;

        if (offset >= src[i].iov_len) {
            offset -= src[i].iov_len;
            continue;
        }
        part = MIN(src[i].iov_len - offset, len);
        dst[n].iov_base = (uint8_t *)src[i].iov_base + offset;
        dst[n].iov_len = part;
        n++;
        len -= part;
        offset = 0;
    }
    return n;
}

size_t vmrpc_iov_read(const struct iovec *iov, unsigned num, size_t offset,
                      void *buf, size_t len)
{
    size_t done = 0;

    for (unsigned i = 0; i < num && done < len; i++) {
        size_t part;

        if (offset >= iov[i].iov_len) {
            offset -= iov[i].iov_len;
            continue;
        }
        part = MIN(iov[i].iov_len - offset, len - done);
        memcpy((uint8_t *)buf + done, (uint8_t *)iov[i].iov_base + offset,
               part);
        done += part;
        offset = 0;
    }
    return done;
}

size_t vmrpc_iov_write(const struct iovec *iov, unsigned num, size_t offset,
                       const void *buf, size_t len)
{
    size_t done = 0;

    for (unsigned i = 0; i < num && done < len; i++) {
        size_t part;

        if (offset >= iov[i].iov_len) {
            offset -= iov[i].iov_len;
            continue;
        }
        part = MIN(iov[i].iov_len - offset, len - done);
        memcpy((uint8_t *)iov[i].iov_base + offset,
               (const uint8_t *)buf + done, part);
        done += part;
        offset = 0;
    }
    return done;
}
