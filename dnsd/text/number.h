/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers, times and addresses: from text and to text */
#ifndef DNSD_TEXT_NUMBER_H
#define DNSD_TEXT_NUMBER_H

#include "dnsd/text/lex.h"

#define DNS_TIME_TEXT_LEN   14      /* YYYYMMDDHHmmSS */

/**
 * dns_number_parse: parse a decimal number without sign
 *
 * Returns: the number, or -1 if the text is not one or exceeds @max.
 */
int64_t dns_number_parse(const char *text, size_t len, uint32_t max);

/**
 * dns_ttl_parse: parse seconds, or BIND's units as in 1w2d3h4m5s
 *
 * Returns: the seconds, or -1 if they are not a number of 32 bits.
 */
int64_t dns_ttl_parse(const char *text, size_t len);

/**
 * dns_time_parse: parse YYYYMMDDHHmmSS, in UTC, or seconds
 *
 * Returns: seconds since 1970 modulo 2^32 (RFC 4034 section 3.1.5), or -1.
 */
int64_t dns_time_parse(const char *text, size_t len);

/** dns_time_print: print a time before 2106 as digits, without a NUL */
void dns_time_print(uint32_t seconds, char text[DNS_TIME_TEXT_LEN]);

/** dns_ipv4_parse: dotted decimal; no leading zeros, as these may be octal */
bool dns_ipv4_parse(const char *text, size_t len, uint8_t addr[4]);

/** dns_ipv6_parse: RFC 4291 section 2.2 */
bool dns_ipv6_parse(const char *text, size_t len, uint8_t addr[16]);

/**
 * dns_groups_parse: @count pairs of hex digits, separated by "-" (EUI48, EUI64)
 */
bool dns_groups_parse(const char *text, size_t len, uint8_t *to,
                      unsigned count);

/** dns_locator_parse: four groups of 1 to 4 hex digits, RFC 6742 2.1.2 */
bool dns_locator_parse(const char *text, size_t len, uint8_t to[8]);

/** dns_hex_digit: the value of a digit, or -1 */
int dns_hex_digit(char c);

#endif /* DNSD_TEXT_NUMBER_H */
