/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP: seal and open packets (RFC 4303)
 *
 * A sealed packet is what stands behind the headers that the caller writes:
 * SPI, sequence number, IV, payload, padding, ICV. The header before it has
 * "next header" ESP_PROTOCOL.
 */
#ifndef NET_ESP_ESP_H
#define NET_ESP_ESP_H

#include <sys/uio.h>

#include "net/esp/sa.h"

#define ESP_PROTOCOL            50u
#define ESP_NEXT_IP6            41u     /* tunnel mode */
#define ESP_NEXT_NONE           59u     /* a dummy packet (section 2.6) */
#define ESP_PACKET_MAX          65535u  /* what an IPv6 header can announce */

/**
 * esp_spi: which association a packet is for
 * @iov: from the SPI on
 *
 * Returns: false if there is no whole ESP header. An SPI that the caller does
 * not know is the caller's to count.
 */
bool esp_spi(const struct iovec *iov, int iovcnt, uint32_t *spi);

/** esp_sealed_len: octets of a sealed packet with @len octets of payload */
size_t esp_sealed_len(const EspSa *sa, size_t len);

/**
 * esp_payload_max: the most payload whose sealed packet has up to @room octets
 *
 * For MTUs. 0 as well if not even an empty payload fits.
 */
size_t esp_payload_max(const EspSa *sa, size_t room);

/**
 * esp_seal: protect a payload
 * @sa: outbound
 * @next: protocol of the payload: ESP_NEXT_IP6 in tunnel mode; 135 of a
 *        mobility header, 6, 17, ... in transport mode; ESP_NEXT_NONE for a
 *        dummy packet
 * @iov: the payload, not within @out; it is read once. TFC padding (section
 *       2.7) is payload here: octets behind the inner packet's own end
 * @out: gets the packet, esp_sealed_len() octets
 * @room: octets at @out
 * @len: set to octets of the packet; 0 if there is none
 *
 * Returns: ESP_GOOD; ESP_OVERFLOW: the association is used up, and every call
 * from now on says so; ESP_TOO_BIG: for @room or for ESP_PACKET_MAX, and no
 * number is used; ESP_LIBCRYPTO
 */
EspResult esp_seal(EspSa *sa, uint8_t next, const struct iovec *iov, int iovcnt,
                   void *out, size_t room, size_t *len);

/**
 * esp_open: verify a packet and take out its payload
 * @sa: inbound, with the SPI of the packet (esp_spi())
 * @iov: the packet from the SPI on, not within @out; it is read once
 * @out: gets the payload; padding and trailer stand behind it for a moment
 * @room: octets at @out: as many as @iov has are always enough
 * @len: set to octets of the payload. In tunnel mode they may be more than the
 *       inner packet's (section 2.7): the inner header says where it ends
 * @next: set to the payload's protocol
 *
 * @len and @next are 0 unless the packet is good, and no octet of the payload
 * is left at @out.
 *
 * Returns: ESP_GOOD, or why the packet ends here (section 3.4):
 *   before a key is used      ESP_SHORT, ESP_TOO_BIG, ESP_REPLAYED
 *   not from the peer         ESP_ICV; the window has not moved
 *   from the peer             ESP_PADDING, ESP_DUMMY; the number counts as seen
 *   ESP_LIBCRYPTO             the packet was not judged
 */
EspResult esp_open(EspSa *sa, const struct iovec *iov, int iovcnt, void *out,
                   size_t room, size_t *len, uint8_t *next);

#endif /* NET_ESP_ESP_H */
