/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA in wire form, field by field
 *
 * RDATA here is uncompressed.  It may be anything: every function looks at
 * the octets within its length only.
 */
#ifndef NET_DNS_WIRE_FIELDS_H
#define NET_DNS_WIRE_FIELDS_H

#include <stddef.h>

#include "net/dns/wire/rrtype.h"

/* Where in RDATA the next field is.  The RDATA must outlive it. */
typedef struct DnsFieldCursor {
    const uint8_t *rdata;
    size_t len;
    size_t at;
    const uint8_t *kind;
} DnsFieldCursor;

typedef struct DnsField {
    DnsFieldKind kind;
    const uint8_t *start;
    size_t len;                 /* with its length octet where it has one */
} DnsField;

/** dns_fields: begin with the first field of RDATA. */
void dns_fields(DnsFieldCursor *cursor, uint16_t type, uint16_t rrclass,
                const uint8_t *rdata, size_t len);

/**
 * dns_fields_next: the next field, checked
 *
 * Of DNS_FIELD_NAMES and DNS_FIELD_STRINGS each one is a field of its own.
 * A gateway (IPSECKEY, AMTRELAY) that is a name has DNS_FIELD_NAME.
 *
 * Returns: 1; 0 behind the last one; -EBADMSG if RDATA is not one of its
 * type, which is also said of octets behind its last field.
 */
int dns_fields_next(DnsFieldCursor *cursor, DnsField *field);

/** dns_field_is_name: one of the kinds that are a whole name */
static inline bool dns_field_is_name(DnsFieldKind kind)
{
    return kind >= DNS_FIELD_NAME_1035 && kind <= DNS_FIELD_NAMES;
}

/**
 * dns_rdata_check: is that RDATA of this type?
 *
 * Returns: 0, or -EBADMSG.
 */
int dns_rdata_check(uint16_t type, uint16_t rrclass, const uint8_t *rdata,
                    size_t len);

/**
 * dns_rdata_canonical: lower case where the canonical form wants it, in place
 *
 * RFC 4034 section 6.2 as RFC 6840 section 5.1 amends it.
 *
 * Returns: 0, or -EBADMSG (and then some of it may be changed).
 */
int dns_rdata_canonical(uint16_t type, uint16_t rrclass, uint8_t *rdata,
                        size_t len);

/**
 * dns_rdata_compare: the order of two RDATA of one type
 *
 * As octets of their canonical forms (RFC 4034 section 6.3).  Neither is
 * changed.  From where one is not of its type they are compared as they are.
 *
 * Returns: below 0, 0 or above 0 as memcmp().
 */
int dns_rdata_compare(uint16_t type, uint16_t rrclass, const uint8_t *a,
                      size_t a_len, const uint8_t *b, size_t b_len);

#endif /* NET_DNS_WIRE_FIELDS_H */
