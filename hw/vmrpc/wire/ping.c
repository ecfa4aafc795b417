/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Echo requests and replies between an IPv4 guest and its IPv6 host
 *
 * ICMPv6's checksum includes a pseudo-header with both addresses, ICMP's does
 * not.  Most messages are complete, so their checksum is computed anew, which
 * needs no addresses.  Nobody can check that of a truncated message anyway.
 */
#include "hw/vmrpc/wire/ping.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "hw/vmrpc/wire/iov.h"

/* Octets to sum at a time; even */
#define CHUNK 2048

int vmrpc_ping_to_host(uint8_t header[VMRPC_PING_HEADER])
{
    if (header[0] != ICMP_ECHO || header[1] != 0) {
        return -EINVAL;
    }
    header[0] = ICMP6_ECHO_REQUEST;
    return 0;
}

/* The Internet checksum (RFC 1071), in network byte order */
static void checksum(const struct iovec *iov, unsigned num, size_t offset,
                     size_t len, uint8_t sum[2])
{
    uint8_t chunk[CHUNK];
    uint64_t total = 0;

    while (len) {
        size_t n = vmrpc_iov_read(iov, num, offset, chunk,
                                  len < CHUNK ? len : CHUNK);

        if (!n) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            total += i % 2 ? chunk[i] : chunk[i] << 8;
        }
        offset += n;
        len -= n;
    }
    while (total >> 16) {
        total = (total & 0xffff) + (total >> 16);
    }
    sum[0] = ~total >> 8;
    sum[1] = ~total;
}

void vmrpc_ping_to_guest(const struct iovec *iov, unsigned num, size_t offset,
                         size_t len)
{
    uint8_t start[4] = { };     /* type, code, checksum */
    size_t n = vmrpc_iov_read(iov, num, offset, start,
                              len < sizeof(start) ? len : sizeof(start));

    switch (n ? start[0] : 0) {
    case ICMP6_ECHO_REQUEST:
        start[0] = ICMP_ECHO;
        break;
    case ICMP6_ECHO_REPLY:
        start[0] = ICMP_ECHOREPLY;
        break;
    default:
        return;
    }
    memset(start + 2, 0, 2);
    vmrpc_iov_write(iov, num, offset, start, n);
    checksum(iov, num, offset, len, start + 2);
    vmrpc_iov_write(iov, num, offset, start, n);
}
