/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of RDATA, read from text */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/text/codes.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/types.h"

/* --- fields -------------------------------------------------------------- */

/* A number is allowed, as BIND writes an unknown type as a number. */
static int read_type(DnsRdataReader *r)
{
    uint8_t *to;
    uint16_t type;

    if (r->token.kind == DNS_TOKEN_WORD &&
        dns_number_parse(r->token.text, r->token.len, UINT16_MAX) >= 0) {
        return dns_read_number(r, 2);
    }
    to = dns_reader_room(r, 2);
    if (!to || dns_read_type(r, &type)) {
        return -EINVAL;
    }
    put_be16(to, type);
    return 0;
}

static int read_u64(DnsRdataReader *r)
{
    uint64_t value = 0;
    uint8_t *to;

    if (dns_reader_word(r, "a number")) {
        return -EINVAL;
    }
    for (size_t i = 0; i < r->token.len; i++) {
        unsigned digit = (unsigned)(r->token.text[i] - '0');

        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return dns_reader_wrong(r, "number of 64 bits");
        }
        value = 10 * value + digit;
    }
    to = dns_reader_room(r, 8);
    if (!to) {
        return -EINVAL;
    }
    put_be64(to, value);
    dns_reader_next(r);
    return 0;
}

static int read_ttl(DnsRdataReader *r)
{
    int64_t ttl;

    if (dns_reader_word(r, "a time")) {
        return -EINVAL;
    }
    ttl = dns_ttl_parse(r->token.text, r->token.len);
    return ttl < 0 ?
           dns_reader_wrong(r, "time: seconds, or units as in 1h30m") :
           dns_take_number(r, ttl, 4);
}

static int read_time(DnsRdataReader *r)
{
    int64_t when;

    if (dns_reader_word(r, "a time")) {
        return -EINVAL;
    }
    when = dns_time_parse(r->token.text, r->token.len);
    return when < 0 ? dns_reader_wrong(r, "time: YYYYMMDDHHmmSS or seconds") :
           dns_take_number(r, when, 4);
}

/* Read a number or its mnemonic. */
static int read_mnemonic(DnsRdataReader *r, DnsFieldKind kind, unsigned octets)
{
    int number;

    if (dns_reader_word(r, "a number or its mnemonic")) {
        return -EINVAL;
    }
    number = dns_number_from_text(kind, r->token.text, r->token.len);
    return number < 0 ? dns_read_number(r, octets) :
           dns_take_number(r, number, octets);
}

static int read_eui(DnsRdataReader *r, unsigned octets)
{
    uint8_t eui[8];

    if (dns_reader_word(r, "an identifier")) {
        return -EINVAL;
    }
    return dns_groups_parse(r->token.text, r->token.len, eui, octets) ?
           dns_take(r, eui, octets) :
           dns_token_fault(r->lex, &r->token, "is no %s: %u times two hex "
                           "digits with - between them", r->type_name, octets);
}

static int read_locator(DnsRdataReader *r)
{
    uint8_t locator[8];

    if (dns_reader_word(r, "a locator")) {
        return -EINVAL;
    }
    return dns_locator_parse(r->token.text, r->token.len, locator) ?
           dns_take(r, locator, sizeof(locator)) :
           dns_reader_wrong(r, "64-bit value: four groups of hex digits with "
                            ": between them");
}

/* --- strings and digits -------------------------------------------------- */

static int read_string(DnsRdataReader *r)
{
    uint8_t *head = NULL;
    int len = -EINVAL;

    if (!dns_reader_string(r, "a string")) {
        head = dns_reader_room(r, 1);
    }
    if (head) {
        len = dns_read_octets(r, r->token.text, r->token.len, UINT8_MAX);
    }
    if (len < 0) {
        return len;
    }
    *head = len;
    dns_reader_next(r);
    return 0;
}

static int read_strings(DnsRdataReader *r)
{
    int ret;

    do {
        ret = read_string(r);
    } while (!ret && !dns_reader_is_end(r));
    return ret;
}

static int read_long_string(DnsRdataReader *r)
{
    size_t before = r->len;

    if (dns_reader_string(r, "a string") ||
        dns_read_octets(r, r->token.text, r->token.len, DNS_RDATA_MAX) < 0) {
        return -EINVAL;
    }
    if (r->len == before && !strcmp(r->type_name, "URI")) {
        return dns_token_fault(r->lex, &r->token, "is no target: it has one "
                               "octet or more (RFC 7553 section 4.4)");
    }
    dns_reader_next(r);
    return 0;
}

/* Read words of digits up to the end of the record. */
static int read_digits(DnsRdataReader *r, DnsCode code, bool may_be_empty)
{
    const char *what = code == DNS_CODE_HEX ? "hex" : "base64";
    DnsDecoder d = { .code = code };

    if (may_be_empty && dns_reader_is_end(r)) {
        return 0;
    }
    do {
        if (dns_read_digits(r, &d, what)) {
            return -EINVAL;
        }
        dns_reader_next(r);
    } while (!dns_reader_is_end(r));
    return dns_decode_end(&d) ? 0 :
           dns_fault(r->lex, r->token.text, "the %s ends within an octet",
                     what);
}

static bool is_dash(const DnsRdataReader *r)
{
    return r->token.kind == DNS_TOKEN_WORD && r->token.len == 1 &&
           *r->token.text == '-';
}

/*
 * Read one word of digits, and put its length before it.  "-" means no octets,
 * if @may_be_empty.
 */
static int read_counted(DnsRdataReader *r, DnsCode code, bool may_be_empty)
{
    const char *what = code == DNS_CODE_HEX ? "hex" : "base32hex";
    DnsDecoder d = { .code = code };
    uint8_t *head = dns_reader_room(r, 1);
    size_t start = r->len;

    if (!head) {
        return -EINVAL;
    }
    if (!(may_be_empty && is_dash(r))) {
        if (dns_read_digits(r, &d, what)) {
            return -EINVAL;
        }
        if (!dns_decode_end(&d) || r->len - start > UINT8_MAX) {
            return dns_token_fault(r->lex, &r->token, "is not whole octets, "
                                   "or more than 255 of them");
        }
    }
    *head = r->len - start;
    dns_reader_next(r);
    return 0;
}

static int read_base64_dash(DnsRdataReader *r)
{
    if (is_dash(r)) {
        dns_reader_next(r);
        return 0;
    }
    return read_digits(r, DNS_CODE_BASE64, false);
}

static int read_names(DnsRdataReader *r)
{
    while (!dns_reader_is_end(r)) {
        if (dns_read_name(r)) {
            return -EINVAL;
        }
    }
    return 0;
}

/* --- the kinds ----------------------------------------------------------- */

int dns_read_field(DnsRdataReader *r, DnsFieldKind kind)
{
    switch (kind) {
    case DNS_FIELD_NAME_1035:
    case DNS_FIELD_NAME_FOLDED:
    case DNS_FIELD_NAME:
        return dns_read_name(r);
    case DNS_FIELD_NAMES:
        return read_names(r);
    case DNS_FIELD_U8:
        return dns_read_number(r, 1);
    case DNS_FIELD_U16:
        return dns_read_number(r, 2);
    case DNS_FIELD_U32:
        return dns_read_number(r, 4);
    case DNS_FIELD_U64:
        return read_u64(r);
    case DNS_FIELD_TTL:
        return read_ttl(r);
    case DNS_FIELD_TIME:
        return read_time(r);
    case DNS_FIELD_TYPE:
        return read_type(r);
    case DNS_FIELD_ALGORITHM:
    case DNS_FIELD_DIGEST_TYPE:
    case DNS_FIELD_KEY_PROTOCOL:
    case DNS_FIELD_DSYNC_SCHEME:
        return read_mnemonic(r, kind, 1);
    case DNS_FIELD_CERT_TYPE:
    case DNS_FIELD_KEY_FLAGS:
        return read_mnemonic(r, kind, 2);
    case DNS_FIELD_IPV4:
        return dns_read_ipv4(r);
    case DNS_FIELD_IPV6:
        return dns_read_ipv6(r);
    case DNS_FIELD_EUI48:
        return read_eui(r, 6);
    case DNS_FIELD_EUI64:
        return read_eui(r, 8);
    case DNS_FIELD_LOCATOR64:
        return read_locator(r);
    case DNS_FIELD_STRING:
        return read_string(r);
    case DNS_FIELD_STRING_MAYBE:
        return dns_reader_is_end(r) ? 0 : read_string(r);
    case DNS_FIELD_STRINGS:
        return read_strings(r);
    case DNS_FIELD_TAG:
        return read_string(r);
    case DNS_FIELD_LONG_STRING:
        return read_long_string(r);
    case DNS_FIELD_BASE64:
        return read_digits(r, DNS_CODE_BASE64, false);
    case DNS_FIELD_BASE64_MAYBE:
        return read_digits(r, DNS_CODE_BASE64, true);
    case DNS_FIELD_BASE64_DASH:
        return read_base64_dash(r);
    case DNS_FIELD_HEX:
    case DNS_FIELD_DS_DIGEST:
    case DNS_FIELD_ZONE_DIGEST:
        return read_digits(r, DNS_CODE_HEX, false);
    case DNS_FIELD_SALT:
        return read_counted(r, DNS_CODE_HEX, true);
    case DNS_FIELD_HASH32:
        return read_counted(r, DNS_CODE_BASE32HEX, false);
    case DNS_FIELD_BITMAP:
        return dns_read_bitmap(r);
    case DNS_FIELD_NXT_BITMAP:
        return dns_read_nxt_bitmap(r);
    case DNS_FIELD_LOC:
        return dns_read_loc(r);
    case DNS_FIELD_NSAP:
        return dns_read_nsap(r);
    case DNS_FIELD_WKS:
        return dns_read_wks(r);
    case DNS_FIELD_APL:
        return dns_read_apl(r);
    case DNS_FIELD_SVC_PARAMS:
        return dns_read_svc_params(r);
    case DNS_FIELD_GATEWAY:
        return dns_read_gateway(r, r->out[1]);
    case DNS_FIELD_RELAY_TYPE:
        return dns_read_relay_type(r);
    case DNS_FIELD_RELAY:
        return dns_read_gateway(r, r->out[1] & 0x7f);
    case DNS_FIELD_HIP:
        return dns_read_hip(r);
    case DNS_FIELD_A6:
        return dns_read_a6(r);
    case DNS_FIELD_A6_NAME:
        return r->out[0] ? dns_read_name(r) : 0;
    case DNS_FIELD_OPAQUE:
        return dns_fault(r->lex, r->token.text, "data of type %s has one form "
                         "in text: \\# LENGTH HEX", r->type_name);
    case DNS_FIELD_END:
        break;
    }
    return -EINVAL;
}
