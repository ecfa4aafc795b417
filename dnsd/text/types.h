/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mnemonics of types, classes and other numbers; RFC 3597 section 5 */
#ifndef DNSD_TEXT_TYPES_H
#define DNSD_TEXT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/rrtype.h"

#define DNS_MNEMONIC_MAX    12  /* octets with the NUL */

/**
 * dns_type_from_text: "AAAA" or "TYPE28"; case is ignored
 *
 * Returns: the type, or -1 if the @len octets are not one.
 */
int dns_type_from_text(const char *text, size_t len);

/** dns_type_to_text: the mnemonic, or TYPEn.  Returns: its length */
size_t dns_type_to_text(uint16_t type, char text[DNS_MNEMONIC_MAX]);

/**
 * dns_class_from_text: "IN", "CH", "HS" or "CLASS1"; case is ignored
 *
 * Returns: the class, or -1 if the @len octets are not one.
 */
int dns_class_from_text(const char *text, size_t len);

/** dns_class_to_text: the mnemonic, or CLASSn.  Returns: its length */
size_t dns_class_to_text(uint16_t rrclass, char text[DNS_MNEMONIC_MAX]);

/**
 * dns_number_from_text: the number of a mnemonic like "ECDSAP256SHA256"
 * @kind: DNS_FIELD_ALGORITHM, _DIGEST_TYPE, _CERT_TYPE, _KEY_PROTOCOL,
 * _DSYNC_SCHEME, or
 * _KEY_FLAGS, which may be several, joined by "|"
 *
 * Returns: the number, or -1.  Digits are not parsed.
 */
int dns_number_from_text(DnsFieldKind kind, const char *text, size_t len);

#endif /* DNSD_TEXT_TYPES_H */
