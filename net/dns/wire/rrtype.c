/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of types.  The source of each line is the RFC that defines the
 * type.
 */
#include <stddef.h>

#include "net/dns/wire/rrtype.h"
#include "net/dns/wire/wire.h"

#define TYPE(number, mnemonic, ...) \
    { .type = number, .name = mnemonic, .fields = { __VA_ARGS__ } }
#define IN_TYPE(number, mnemonic, ...) \
    { .type = number, .name = mnemonic, .in_only = true, \
      .fields = { __VA_ARGS__ } }

#define NAME_1035   DNS_FIELD_NAME_1035
#define FOLDED      DNS_FIELD_NAME_FOLDED
#define NAME        DNS_FIELD_NAME
#define U8          DNS_FIELD_U8
#define U16         DNS_FIELD_U16
#define U32         DNS_FIELD_U32
#define TTL         DNS_FIELD_TTL
#define ALGORITHM   DNS_FIELD_ALGORITHM
#define STRING      DNS_FIELD_STRING
#define STRINGS     DNS_FIELD_STRINGS
#define BASE64      DNS_FIELD_BASE64
#define HEX         DNS_FIELD_HEX
#define BITMAP      DNS_FIELD_BITMAP
#define OPAQUE      DNS_FIELD_OPAQUE

/* Layouts that several types share */
#define DS_TYPE(number, mnemonic) \
    TYPE(number, mnemonic, U16, ALGORITHM, DNS_FIELD_DIGEST_TYPE, \
         DNS_FIELD_DS_DIGEST)
#define SIG_TYPE(number, mnemonic) \
    TYPE(number, mnemonic, DNS_FIELD_TYPE, ALGORITHM, U8, U32, \
         DNS_FIELD_TIME, DNS_FIELD_TIME, U16, FOLDED, BASE64)
#define SVCB_TYPE(number, mnemonic) \
    IN_TYPE(number, mnemonic, U16, NAME, DNS_FIELD_SVC_PARAMS)

/*
 * In ascending order of their numbers.  lab/dns/registry.py
 * compares them with IANA's registry.
 */
static const DnsRrType types[] = {
    IN_TYPE(1, "A", DNS_FIELD_IPV4),
    TYPE(2, "NS", NAME_1035),
    TYPE(3, "MD", NAME_1035),
    TYPE(4, "MF", NAME_1035),
    TYPE(5, "CNAME", NAME_1035),
    TYPE(6, "SOA", NAME_1035, NAME_1035, U32, TTL, TTL, TTL, TTL),
    TYPE(7, "MB", NAME_1035),
    TYPE(8, "MG", NAME_1035),
    TYPE(9, "MR", NAME_1035),
    TYPE(10, "NULL", OPAQUE),
    IN_TYPE(11, "WKS", DNS_FIELD_IPV4, DNS_FIELD_WKS),
    TYPE(12, "PTR", NAME_1035),
    TYPE(13, "HINFO", STRING, STRING),
    TYPE(14, "MINFO", NAME_1035, NAME_1035),
    TYPE(15, "MX", U16, NAME_1035),
    TYPE(16, "TXT", STRINGS),
    TYPE(17, "RP", FOLDED, FOLDED),
    TYPE(18, "AFSDB", U16, FOLDED),
    TYPE(19, "X25", STRING),
    TYPE(20, "ISDN", STRING, DNS_FIELD_STRING_MAYBE),
    TYPE(21, "RT", U16, FOLDED),
    IN_TYPE(22, "NSAP", DNS_FIELD_NSAP),
    IN_TYPE(23, "NSAP-PTR", NAME),
    SIG_TYPE(24, "SIG"),
    TYPE(25, "KEY", DNS_FIELD_KEY_FLAGS, DNS_FIELD_KEY_PROTOCOL, ALGORITHM,
         DNS_FIELD_BASE64_MAYBE),
    IN_TYPE(26, "PX", U16, FOLDED, FOLDED),
    TYPE(27, "GPOS", STRING, STRING, STRING),
    IN_TYPE(28, "AAAA", DNS_FIELD_IPV6),
    TYPE(29, "LOC", DNS_FIELD_LOC),
    TYPE(30, "NXT", FOLDED, DNS_FIELD_NXT_BITMAP),
    IN_TYPE(31, "EID", HEX),
    IN_TYPE(32, "NIMLOC", HEX),
    IN_TYPE(33, "SRV", U16, U16, U16, FOLDED),
    IN_TYPE(34, "ATMA", OPAQUE),
    TYPE(35, "NAPTR", U16, U16, STRING, STRING, STRING, FOLDED),
    IN_TYPE(36, "KX", U16, FOLDED),
    TYPE(37, "CERT", DNS_FIELD_CERT_TYPE, U16, ALGORITHM, BASE64),
    IN_TYPE(38, "A6", DNS_FIELD_A6, DNS_FIELD_A6_NAME),
    TYPE(39, "DNAME", FOLDED),
    TYPE(40, "SINK", U8, U8, U8, DNS_FIELD_BASE64_MAYBE),
    TYPE(41, "OPT", OPAQUE),
    IN_TYPE(42, "APL", DNS_FIELD_APL),
    DS_TYPE(43, "DS"),
    TYPE(44, "SSHFP", U8, U8, HEX),
    TYPE(45, "IPSECKEY", U8, U8, U8, DNS_FIELD_GATEWAY,
         DNS_FIELD_BASE64_MAYBE),
    SIG_TYPE(46, "RRSIG"),
    TYPE(47, "NSEC", NAME, BITMAP),
    TYPE(48, "DNSKEY", U16, U8, ALGORITHM, BASE64),
    IN_TYPE(49, "DHCID", BASE64),
    TYPE(50, "NSEC3", U8, U8, U16, DNS_FIELD_SALT, DNS_FIELD_HASH32, BITMAP),
    TYPE(51, "NSEC3PARAM", U8, U8, U16, DNS_FIELD_SALT),
    TYPE(52, "TLSA", U8, U8, U8, HEX),
    TYPE(53, "SMIMEA", U8, U8, U8, HEX),
    TYPE(55, "HIP", DNS_FIELD_HIP, DNS_FIELD_NAMES),
    TYPE(56, "NINFO", STRINGS),
    TYPE(57, "RKEY", U16, U8, ALGORITHM, BASE64),
    TYPE(58, "TALINK", NAME, NAME),
    DS_TYPE(59, "CDS"),
    TYPE(60, "CDNSKEY", U16, U8, ALGORITHM, BASE64),
    TYPE(61, "OPENPGPKEY", BASE64),
    TYPE(62, "CSYNC", U32, U16, BITMAP),
    TYPE(63, "ZONEMD", U32, U8, U8, DNS_FIELD_ZONE_DIGEST),
    SVCB_TYPE(64, "SVCB"),
    SVCB_TYPE(65, "HTTPS"),
    TYPE(66, "DSYNC", DNS_FIELD_TYPE, DNS_FIELD_DSYNC_SCHEME, U16, NAME),
    TYPE(67, "HHIT", BASE64),
    TYPE(68, "BRID", BASE64),
    TYPE(99, "SPF", STRINGS),
    TYPE(100, "UINFO", OPAQUE),
    TYPE(101, "UID", OPAQUE),
    TYPE(102, "GID", OPAQUE),
    TYPE(103, "UNSPEC", OPAQUE),
    TYPE(104, "NID", U16, DNS_FIELD_LOCATOR64),
    TYPE(105, "L32", U16, DNS_FIELD_IPV4),
    TYPE(106, "L64", U16, DNS_FIELD_LOCATOR64),
    TYPE(107, "LP", U16, NAME),
    TYPE(108, "EUI48", DNS_FIELD_EUI48),
    TYPE(109, "EUI64", DNS_FIELD_EUI64),
    TYPE(128, "NXNAME", OPAQUE),
    TYPE(249, "TKEY", OPAQUE),
    TYPE(250, "TSIG", OPAQUE),
    TYPE(251, "IXFR", OPAQUE),
    TYPE(252, "AXFR", OPAQUE),
    TYPE(253, "MAILB", OPAQUE),
    TYPE(254, "MAILA", OPAQUE),
    TYPE(255, "ANY", OPAQUE),
    TYPE(256, "URI", U16, U16, DNS_FIELD_LONG_STRING),
    TYPE(257, "CAA", U8, DNS_FIELD_TAG, DNS_FIELD_LONG_STRING),
    TYPE(258, "AVC", STRINGS),
    TYPE(259, "DOA", U32, U32, U8, STRING, DNS_FIELD_BASE64_DASH),
    TYPE(260, "AMTRELAY", U8, DNS_FIELD_RELAY_TYPE, DNS_FIELD_RELAY),
    TYPE(261, "RESINFO", STRINGS),
    TYPE(262, "WALLET", STRINGS),
    TYPE(263, "CLA", STRINGS),
    TYPE(264, "IPN", DNS_FIELD_U64),
    DS_TYPE(32768, "TA"),
    DS_TYPE(32769, "DLV"),
};

#define TYPES_COUNT     (sizeof(types) / sizeof(*types))
/* The table has all types from 1 to 53, and all from 55 to 65. */
#define GAP_AT          54
#define ROW_END         65

static const DnsRrType unknown = { .fields = { OPAQUE } };

static const DnsRrType *find(uint16_t type)
{
    size_t low = ROW_END - 1, high = TYPES_COUNT;

    if (type && type <= ROW_END && type != GAP_AT) {
        return &types[type < GAP_AT ? type - 1 : type - 2];
    }
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (types[middle].type == type) {
            return &types[middle];
        }
        if (types[middle].type < type) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return &unknown;
}

const DnsRrType *dns_rrtype(uint16_t type, uint16_t rrclass)
{
    const DnsRrType *found = find(type);

    return found->in_only && rrclass != DNS_CLASS_IN ? &unknown : found;
}

const DnsRrType *dns_rrtype_next(const DnsRrType *last)
{
    const DnsRrType *next = last ? last + 1 : types;

    return next < types + TYPES_COUNT ? next : NULL;
}

bool dns_rrtype_is_meta(uint16_t type)
{
    return !type || type == DNS_TYPE_OPT || (type >= 128 && type <= 255);
}
