/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-1 of names, for NSEC3 (RFC 5155 section 5)
 *
 * A name and a salt take one or two blocks, so the contexts of a library would
 * take most of the time.  The hash protects no secret here.
 */
#ifndef NET_DNS_ANSWER_SHA1_H
#define NET_DNS_ANSWER_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define DNS_SHA1_LEN        20
#define DNS_SHA1_DATA_MAX   512

/** dns_sha1: hash @len octets, at most DNS_SHA1_DATA_MAX */
void dns_sha1(const uint8_t *data, size_t len, uint8_t hash[DNS_SHA1_LEN]);

/** dns_sha1_portable: the same without special instructions */
void dns_sha1_portable(const uint8_t *data, size_t len,
                       uint8_t hash[DNS_SHA1_LEN]);

#endif /* NET_DNS_ANSWER_SHA1_H */
