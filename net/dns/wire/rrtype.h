/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of records: their mnemonics, and the layout of their RDATA
 *
 * One table lists, for each type, the fields of its RDATA in order.  All code
 * that checks, folds, compresses, reads or prints RDATA uses this table, so a
 * new type takes one line.  This file has no text code and no state.
 */
#ifndef NET_DNS_WIRE_RRTYPE_H
#define NET_DNS_WIRE_RRTYPE_H

#include <stdbool.h>
#include <stdint.h>

#define DNS_RRTYPE_FIELDS_MAX   9       /* RRSIG */

/* Fields of RDATA.  Integers are big-endian. */
typedef enum DnsFieldKind {
    DNS_FIELD_END,              /* end of the layout */
    /* Names; RDATA in memory is uncompressed */
    DNS_FIELD_NAME_1035,        /* may be compressed; lower case when signed */
    DNS_FIELD_NAME_FOLDED,      /* never compressed; lower case when signed */
    DNS_FIELD_NAME,             /* never compressed; case is kept */
    /* any number of DNS_FIELD_NAME, up to the end */
    DNS_FIELD_NAMES,
    /* Numbers */
    DNS_FIELD_U8,
    DNS_FIELD_U16,
    DNS_FIELD_U32,
    DNS_FIELD_U64,
    DNS_FIELD_TTL,              /* 32 bits; text may have units: 1h30m */
    DNS_FIELD_TIME,             /* 32 bits; YYYYMMDDHHmmSS, RFC 4034 3.2 */
    DNS_FIELD_TYPE,             /* 16 bits; a mnemonic or TYPEn */
    /* Numbers that may have a mnemonic in text */
    DNS_FIELD_ALGORITHM,        /* 8 bits; of DNSSEC */
    DNS_FIELD_DIGEST_TYPE,      /* 8 bits; of DS */
    DNS_FIELD_CERT_TYPE,        /* 16 bits; RFC 4398 2.1 */
    DNS_FIELD_KEY_FLAGS,        /* 16 bits; of KEY, RFC 2535 3.1.2 */
    DNS_FIELD_KEY_PROTOCOL,     /* 8 bits; RFC 2535 7.1 */
    DNS_FIELD_DSYNC_SCHEME,     /* 8 bits; RFC 9859 2.1 */
    /* Addresses and identifiers */
    DNS_FIELD_IPV4,
    DNS_FIELD_IPV6,
    DNS_FIELD_EUI48,
    DNS_FIELD_EUI64,
    DNS_FIELD_LOCATOR64,        /* four groups of hex, RFC 6742 2.1.2 */
    /* Octets */
    DNS_FIELD_STRING,           /* <character-string> */
    DNS_FIELD_STRING_MAYBE,     /* one that may be absent at the end */
    DNS_FIELD_STRINGS,          /* one or more up to the end */
    DNS_FIELD_TAG,              /* of CAA: a string of letters and digits */
    DNS_FIELD_LONG_STRING,      /* up to the end, without a length; quoted */
    DNS_FIELD_BASE64,           /* up to the end, one octet or more */
    DNS_FIELD_BASE64_MAYBE,     /* up to the end, may be nothing */
    DNS_FIELD_BASE64_DASH,      /* the same, "-" for nothing */
    DNS_FIELD_HEX,              /* up to the end, one octet or more */
    DNS_FIELD_DS_DIGEST,        /* the same, as long as the digest type says */
    DNS_FIELD_ZONE_DIGEST,      /* the same for ZONEMD, RFC 8976 2.2.4 */
    DNS_FIELD_SALT,             /* a length octet before; "-" for nothing */
    DNS_FIELD_HASH32,           /* a length octet before, base32hex */
    DNS_FIELD_BITMAP,           /* types, RFC 4034 4.1.2; may be empty */
    DNS_FIELD_OPAQUE,           /* up to the end; in text by RFC 3597 only */
    /* Fields with a syntax of their own, each up to the end */
    DNS_FIELD_LOC,              /* RFC 1876 */
    DNS_FIELD_NSAP,             /* RFC 1706 */
    DNS_FIELD_WKS,              /* RFC 1035 3.4.2 */
    DNS_FIELD_NXT_BITMAP,       /* RFC 2535 5.2 */
    DNS_FIELD_APL,              /* RFC 3123 */
    DNS_FIELD_SVC_PARAMS,       /* RFC 9460 2.1 */
    /* Fields whose form an earlier field determines */
    DNS_FIELD_GATEWAY,          /* IPSECKEY, RFC 4025 2.5: by octet 1 */
    DNS_FIELD_RELAY_TYPE,       /* AMTRELAY, RFC 8777 4.2.2: a bit, 7 bits */
    DNS_FIELD_RELAY,            /* AMTRELAY: by DNS_FIELD_RELAY_TYPE */
    DNS_FIELD_HIP,              /* RFC 8005 5: head, HIT and key */
    DNS_FIELD_A6,               /* RFC 2874 3.1: prefix length and suffix */
    DNS_FIELD_A6_NAME,          /* absent if the prefix length is 0 */
    DNS_FIELD_KINDS,
} DnsFieldKind;

typedef struct DnsRrType {
    uint16_t type;
    char name[12];              /* mnemonic; empty for an unknown type */
    bool in_only;               /* the layout applies to class IN only */
    uint8_t fields[DNS_RRTYPE_FIELDS_MAX + 1];  /* DnsFieldKind */
} DnsRrType;

/**
 * dns_rrtype: the properties of a type in a class
 *
 * Returns: never NULL.  A type that is not known, or not known in this class
 * (RFC 3597 section 4), has no name and one field of DNS_FIELD_OPAQUE.
 */
const DnsRrType *dns_rrtype(uint16_t type, uint16_t rrclass);

/**
 * dns_rrtype_next: the next known type, in ascending order
 * @last: NULL for the first one
 *
 * Returns: NULL behind the last one.
 */
const DnsRrType *dns_rrtype_next(const DnsRrType *last);

/**
 * dns_rrtype_is_meta: is the type for questions and messages only?
 *
 * RFC 6895 section 3.1: 0, OPT, and 128 to 255.  No zone has such a record.
 */
bool dns_rrtype_is_meta(uint16_t type);

#endif /* NET_DNS_WIRE_RRTYPE_H */
