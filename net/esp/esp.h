/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP: seal and open packets (RFC 4303)
 *
 * A sealed packet is SPI, sequence number, IV, payload, padding and ICV; it
 * follows the headers that the caller writes. The header before it has "next
 * header" ESP_PROTOCOL.
 */
#ifndef NET_ESP_ESP_H
#define NET_ESP_ESP_H

#include <sys/uio.h>

#include "net/esp/sa.h"

#define ESP_PROTOCOL            50u
#define ESP_NEXT_IP6            41u     /* tunnel mode */
#define ESP_NEXT_NONE           59u     /* a dummy packet (section 2.6) */
#define ESP_PACKET_MAX          65535u  /* maximum payload of an IPv6 header */

/**
 * esp_spi: get the SPI of a packet
 * @iov: from the SPI on
 *
 * Returns: false if the ESP header is truncated. The caller must count packets
 * with an unknown SPI.
 */
bool esp_spi(const struct iovec *iov, int iovcnt, uint32_t *spi);

/** esp_sealed_len: length of a sealed packet with @len octets of payload */
size_t esp_sealed_len(const EspSa *sa, size_t len);

/**
 * esp_payload_max: maximum payload of a sealed packet of up to @room octets
 *
 * For MTUs. The result is also 0 if not even an empty payload fits.
 */
size_t esp_payload_max(const EspSa *sa, size_t room);

/**
 * esp_seal: seal a payload
 * @sa: outbound
 * @next: protocol of the payload: ESP_NEXT_IP6 in tunnel mode; 135 for a
 *        mobility header, 6, 17, ... in transport mode; ESP_NEXT_NONE for a
 *        dummy packet
 * @iov: the payload, not within @out; it is read once. TFC padding (section
 *       2.7), after the end of the inner packet, is part of the payload here
 * @out: the packet is written here, esp_sealed_len() octets
 * @room: space at @out
 * @len: set to the length of the packet; 0 on failure
 *
 * Returns: ESP_GOOD; ESP_OVERFLOW: the sequence numbers are used up, also for
 * all later calls; ESP_TOO_BIG: for @room or for ESP_PACKET_MAX, and no number
 * was used; ESP_LIBCRYPTO
 */
EspResult esp_seal(EspSa *sa, uint8_t next, const struct iovec *iov, int iovcnt,
                   void *out, size_t room, size_t *len);

/**
 * esp_open: verify and decrypt a packet
 * @sa: inbound, with the SPI of the packet (esp_spi())
 * @iov: the packet from the SPI on, not within @out; it is read once
 * @out: the payload is written here; padding and trailer are written after it
 *       temporarily
 * @room: space at @out; the length of @iov is always enough
 * @len: set to the length of the payload. In tunnel mode it may be more than
 *       the inner packet (section 2.7): the inner header has the packet's
 *       length
 * @next: set to the payload's protocol
 *
 * Unless the result is ESP_GOOD, @len and @next are 0, and @out has no octet of
 * the payload.
 *
 * Returns: ESP_GOOD, or the reason to drop the packet (section 3.4):
 *   before a key is used      ESP_SHORT, ESP_TOO_BIG, ESP_REPLAYED
 *   not from the peer         ESP_ICV; the window is unchanged
 *   from the peer             ESP_PADDING, ESP_DUMMY; the window is updated
 *   ESP_LIBCRYPTO             the packet could not be verified
 */
EspResult esp_open(EspSa *sa, const struct iovec *iov, int iovcnt, void *out,
                   size_t room, size_t *len, uint8_t *next);

#endif /* NET_ESP_ESP_H */
