/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA in wire form, field by field
 *
 * RDATA here is uncompressed.  It may hold any octets: every function reads
 * only the octets within its length.
 */
#ifndef NET_DNS_WIRE_FIELDS_H
#define NET_DNS_WIRE_FIELDS_H

#include <stddef.h>

#include "net/dns/wire/rrtype.h"

#define DNS_RDATA_MAX   UINT16_MAX

/* The position of the next field in RDATA.  RDATA must outlive the cursor. */
typedef struct DnsFieldCursor {
    const uint8_t *rdata;
    size_t len;
    size_t at;
    const uint8_t *kind;
} DnsFieldCursor;

typedef struct DnsField {
    DnsFieldKind kind;
    const uint8_t *start;
    size_t len;                 /* includes the length octet, if it has one */
} DnsField;

/** dns_fields: begin with the first field of RDATA. */
void dns_fields(DnsFieldCursor *cursor, uint16_t type, uint16_t rrclass,
                const uint8_t *rdata, size_t len);

/**
 * dns_fields_next: read and check the next field
 *
 * Each name of DNS_FIELD_NAMES and each string of DNS_FIELD_STRINGS is returned
 * as a field of its own.  A gateway (IPSECKEY, AMTRELAY) that is a name is
 * returned as DNS_FIELD_NAME.
 *
 * Returns: 1; 0 behind the last field; -EBADMSG if RDATA does not have the
 * shape of its type, for example if octets follow its last field.
 */
int dns_fields_next(DnsFieldCursor *cursor, DnsField *field);

/** dns_field_is_name: is a field of this kind one whole name? */
static inline bool dns_field_is_name(DnsFieldKind kind)
{
    return kind >= DNS_FIELD_NAME_1035 && kind <= DNS_FIELD_NAMES;
}

/**
 * dns_rdata_check: does RDATA have the shape of its type?
 *
 * Returns: 0, or -EBADMSG.
 */
int dns_rdata_check(uint16_t type, uint16_t rrclass, const uint8_t *rdata,
                    size_t len);

/**
 * dns_rdata_canonical: convert RDATA to canonical form, in place
 *
 * The canonical form has lower case names in some types (RFC 4034 section 6.2
 * as RFC 6840 section 5.1 amends it).
 *
 * Returns: 0; or -EBADMSG, and then part of RDATA may be changed.
 */
int dns_rdata_canonical(uint16_t type, uint16_t rrclass, uint8_t *rdata,
                        size_t len);

/**
 * dns_rdata_compare: the canonical order of two RDATA of one type
 *
 * Compares the octets of their canonical forms (RFC 4034 section 6.3).  Neither
 * is changed.  From the first field that does not have the shape of the type,
 * the octets are compared as they are.
 *
 * Returns: below 0, 0 or above 0, as memcmp() does.
 */
int dns_rdata_compare(uint16_t type, uint16_t rrclass, const uint8_t *a,
                      size_t a_len, const uint8_t *b, size_t b_len);

#endif /* NET_DNS_WIRE_FIELDS_H */
