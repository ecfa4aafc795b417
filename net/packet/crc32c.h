/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC32C: the checksum of SCTP (RFC 9260 appendix A) and of zone images */
#ifndef NET_PACKET_CRC32C_H
#define NET_PACKET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * packet_crc32c: the CRC32C of what was added before and of @len octets more
 * @crc: the result of the call before, or 0 to begin
 *
 * In SCTP's packets the lowest octet of the result goes first.
 */
uint32_t packet_crc32c(uint32_t crc, const void *data, size_t len);

#endif /* NET_PACKET_CRC32C_H */
