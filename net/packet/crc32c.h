/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC32C: the checksum of SCTP (RFC 9260 appendix A) and of zone images */
#ifndef NET_PACKET_CRC32C_H
#define NET_PACKET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * packet_crc32c: add @len octets to a CRC32C
 * @crc: the result of the previous call; 0 at the start
 *
 * In SCTP packets the result is stored in little-endian order.
 */
uint32_t packet_crc32c(uint32_t crc, const void *data, size_t len);

#endif /* NET_PACKET_CRC32C_H */
