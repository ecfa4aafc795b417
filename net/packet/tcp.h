/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP headers (RFC 9293), as far as packets on their way are changed */
#ifndef NET_PACKET_TCP_H
#define NET_PACKET_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_TCP_LEN          20u
#define PACKET_TCP_FLAGS        13u     /* offset of the flags' octet */
#define PACKET_TCP_SYN          0x02

/**
 * packet_tcp_clamp_mss: lower the segment size that a SYN announces
 * @tcp: the header, from its source port on
 * @len: octets there; a header that is longer is left as it is
 * @mss: the most that it may announce
 * @partial: the checksum is still that of the pseudo header alone
 *
 * A SYN without the option announces 1220, the default over IPv6 (section
 * 3.7.1), and is left so.
 *
 * Returns: true if it announced more; option and checksum are changed then
 */
bool packet_tcp_clamp_mss(void *tcp, size_t len, uint16_t mss, bool partial);

#endif /* NET_PACKET_TCP_H */
