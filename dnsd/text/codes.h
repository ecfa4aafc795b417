/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Octets as digits: hex, base32hex and base64 (RFC 4648) */
#ifndef DNSD_TEXT_CODES_H
#define DNSD_TEXT_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DnsCode {
    DNS_CODE_HEX,               /* case is ignored */
    DNS_CODE_BASE32HEX,         /* without padding, case is ignored */
    DNS_CODE_BASE64,
} DnsCode;

/* The state of a decoder; the digits may be in several words */
typedef struct DnsDecoder {
    DnsCode code;
    unsigned bits;              /* bits of @held that are not an octet yet */
    unsigned pads;
    uint32_t held;
    uint64_t digits;
} DnsDecoder;

/**
 * dns_decode: decode the digits of a word
 * @to: memory for dns_decode_most()
 *
 * Returns: octets that were written, or -EINVAL if a character is not a digit.
 */
int dns_decode(DnsDecoder *decoder, const char *text, size_t len,
               uint8_t *to);

/** dns_decode_most: the most octets that a word can complete */
size_t dns_decode_most(const DnsDecoder *decoder, const char *text,
                       size_t len);

/** dns_decode_end: were the digits whole octets with the right padding? */
bool dns_decode_end(const DnsDecoder *decoder);

/**
 * dns_encode: encode octets, in upper case
 * @text: memory for 2 * len + 4 octets; there is no NUL
 *
 * Returns: octets that were written.
 */
size_t dns_encode(DnsCode code, const uint8_t *from, size_t len, char *text);

#endif /* DNSD_TEXT_CODES_H */
