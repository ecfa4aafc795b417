/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of RDATA in text: a table of how each kind is read and printed
 *
 * net/dns/wire/fields.c has the table of their lengths.
 */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/text/codes.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/types.h"

/* --- numbers and addresses ------------------------------------------------ */

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

static int read_u8(DnsRdataReader *r)
{
    return dns_read_number(r, 1);
}

static int read_u16(DnsRdataReader *r)
{
    return dns_read_number(r, 2);
}

static int read_u32(DnsRdataReader *r)
{
    return dns_read_number(r, 4);
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

static int read_algorithm(DnsRdataReader *r)
{
    return read_mnemonic(r, DNS_FIELD_ALGORITHM, 1);
}

static int read_digest_type(DnsRdataReader *r)
{
    return read_mnemonic(r, DNS_FIELD_DIGEST_TYPE, 1);
}

static int read_key_protocol(DnsRdataReader *r)
{
    return read_mnemonic(r, DNS_FIELD_KEY_PROTOCOL, 1);
}

static int read_dsync_scheme(DnsRdataReader *r)
{
    return read_mnemonic(r, DNS_FIELD_DSYNC_SCHEME, 1);
}

static int read_cert_type(DnsRdataReader *r)
{
    return read_mnemonic(r, DNS_FIELD_CERT_TYPE, 2);
}

static int read_key_flags(DnsRdataReader *r)
{
    return read_mnemonic(r, DNS_FIELD_KEY_FLAGS, 2);
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

static int read_eui48(DnsRdataReader *r)
{
    return read_eui(r, 6);
}

static int read_eui64(DnsRdataReader *r)
{
    return read_eui(r, 8);
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

static int read_string_maybe(DnsRdataReader *r)
{
    return dns_reader_is_end(r) ? 0 : read_string(r);
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

static int read_base64(DnsRdataReader *r)
{
    return read_digits(r, DNS_CODE_BASE64, false);
}

static int read_base64_maybe(DnsRdataReader *r)
{
    return read_digits(r, DNS_CODE_BASE64, true);
}

static int read_base64_dash(DnsRdataReader *r)
{
    if (is_dash(r)) {
        dns_reader_next(r);
        return 0;
    }
    return read_base64(r);
}

static int read_hex(DnsRdataReader *r)
{
    return read_digits(r, DNS_CODE_HEX, false);
}

static int read_salt(DnsRdataReader *r)
{
    return read_counted(r, DNS_CODE_HEX, true);
}

static int read_hash32(DnsRdataReader *r)
{
    return read_counted(r, DNS_CODE_BASE32HEX, false);
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

static int read_gateway(DnsRdataReader *r)
{
    return dns_read_gateway(r, r->out[1]);
}

static int read_relay(DnsRdataReader *r)
{
    return dns_read_gateway(r, r->out[1] & 0x7f);
}

static int read_a6_name(DnsRdataReader *r)
{
    return r->out[0] ? dns_read_name(r) : 0;
}

static int read_opaque(DnsRdataReader *r)
{
    return dns_fault(r->lex, r->token.text, "data of type %s has one form in "
                     "text: \\# LENGTH HEX", r->type_name);
}

/* --- printing ------------------------------------------------------------- */

static bool put_name(DnsPrinter *p, const DnsField *field)
{
    dns_put_name(p, field->start);
    return true;
}

static bool put_u8(DnsPrinter *p, const DnsField *field)
{
    dns_put_number(p, *field->start);
    return true;
}

static bool put_u16(DnsPrinter *p, const DnsField *field)
{
    dns_put_number(p, get_be16(field->start));
    return true;
}

static bool put_u32(DnsPrinter *p, const DnsField *field)
{
    dns_put_number(p, get_be32(field->start));
    return true;
}

static bool put_u64(DnsPrinter *p, const DnsField *field)
{
    dns_put_number64(p, get_be64(field->start));
    return true;
}

static bool put_time(DnsPrinter *p, const DnsField *field)
{
    char text[DNS_TIME_TEXT_LEN];

    dns_time_print(get_be32(field->start), text);
    dns_put_text(p, text, sizeof(text));
    return true;
}

static bool put_type(DnsPrinter *p, const DnsField *field)
{
    dns_put_type(p, get_be16(field->start));
    return true;
}

static bool put_ipv4(DnsPrinter *p, const DnsField *field)
{
    dns_put_ipv4(p, field->start);
    return true;
}

static bool put_ipv6(DnsPrinter *p, const DnsField *field)
{
    dns_put_ipv6(p, field->start);
    return true;
}

static bool put_eui(DnsPrinter *p, const DnsField *field)
{
    for (size_t i = 0; i < field->len; i++) {
        if (i) {
            dns_put_char(p, '-');
        }
        dns_put_hex(p, field->start + i, 1);
    }
    return true;
}

static bool put_locator(DnsPrinter *p, const DnsField *field)
{
    for (int i = 0; i < 8; i += 2) {
        if (i) {
            dns_put_char(p, ':');
        }
        dns_put_hex(p, field->start + i, 2);
    }
    return true;
}

static bool put_string(DnsPrinter *p, const DnsField *field)
{
    dns_put_quoted(p, field->start + 1, field->len - 1);
    return true;
}

static bool put_tag(DnsPrinter *p, const DnsField *field)
{
    dns_put_text(p, (const char *)field->start + 1, field->len - 1);
    return true;
}

static bool put_long_string(DnsPrinter *p, const DnsField *field)
{
    dns_put_quoted(p, field->start, field->len);
    return true;
}

static bool put_base64(DnsPrinter *p, const DnsField *field)
{
    dns_put_base64(p, field->start, field->len);
    return true;
}

static bool put_base64_dash(DnsPrinter *p, const DnsField *field)
{
    if (!field->len) {
        dns_put_char(p, '-');
    }
    return put_base64(p, field);
}

static bool put_hex(DnsPrinter *p, const DnsField *field)
{
    dns_put_hex(p, field->start, field->len);
    return true;
}

static bool put_nsap(DnsPrinter *p, const DnsField *field)
{
    dns_put_text(p, "0x", 2);
    return put_hex(p, field);
}

static bool put_salt(DnsPrinter *p, const DnsField *field)
{
    if (field->len == 1) {
        dns_put_char(p, '-');
    }
    dns_put_hex(p, field->start + 1, field->len - 1);
    return true;
}

static bool put_hash32(DnsPrinter *p, const DnsField *field)
{
    dns_put_base32(p, field->start + 1, field->len - 1);
    return true;
}

static bool put_no_gateway(DnsPrinter *p, const DnsField *field)
{
    dns_put_char(p, '.');
    return true;
}

static bool put_relay_type(DnsPrinter *p, const DnsField *field)
{
    dns_put_number(p, *field->start >> 7);
    dns_put_char(p, ' ');
    dns_put_number(p, *field->start & 0x7f);
    return true;
}

/* --- the kinds ------------------------------------------------------------ */

static const struct {
    int (*read)(DnsRdataReader *reader);
    bool (*put)(DnsPrinter *printer, const DnsField *field);
} texts[DNS_FIELD_KINDS] = {
    [DNS_FIELD_NAME_1035] = { dns_read_name, put_name },
    [DNS_FIELD_NAME_FOLDED] = { dns_read_name, put_name },
    [DNS_FIELD_NAME] = { dns_read_name, put_name },
    [DNS_FIELD_NAMES] = { read_names, put_name },
    [DNS_FIELD_U8] = { read_u8, put_u8 },
    [DNS_FIELD_U16] = { read_u16, put_u16 },
    [DNS_FIELD_U32] = { read_u32, put_u32 },
    [DNS_FIELD_U64] = { read_u64, put_u64 },
    [DNS_FIELD_TTL] = { read_ttl, put_u32 },
    [DNS_FIELD_TIME] = { read_time, put_time },
    [DNS_FIELD_TYPE] = { read_type, put_type },
    [DNS_FIELD_ALGORITHM] = { read_algorithm, put_u8 },
    [DNS_FIELD_DIGEST_TYPE] = { read_digest_type, put_u8 },
    [DNS_FIELD_CERT_TYPE] = { read_cert_type, put_u16 },
    [DNS_FIELD_KEY_FLAGS] = { read_key_flags, put_u16 },
    [DNS_FIELD_KEY_PROTOCOL] = { read_key_protocol, put_u8 },
    [DNS_FIELD_DSYNC_SCHEME] = { read_dsync_scheme, put_u8 },
    [DNS_FIELD_IPV4] = { dns_read_ipv4, put_ipv4 },
    [DNS_FIELD_IPV6] = { dns_read_ipv6, put_ipv6 },
    [DNS_FIELD_EUI48] = { read_eui48, put_eui },
    [DNS_FIELD_EUI64] = { read_eui64, put_eui },
    [DNS_FIELD_LOCATOR64] = { read_locator, put_locator },
    [DNS_FIELD_STRING] = { read_string, put_string },
    [DNS_FIELD_STRING_MAYBE] = { read_string_maybe, put_string },
    [DNS_FIELD_STRINGS] = { read_strings, put_string },
    [DNS_FIELD_TAG] = { read_string, put_tag },
    [DNS_FIELD_LONG_STRING] = { read_long_string, put_long_string },
    [DNS_FIELD_BASE64] = { read_base64, put_base64 },
    [DNS_FIELD_BASE64_MAYBE] = { read_base64_maybe, put_base64 },
    [DNS_FIELD_BASE64_DASH] = { read_base64_dash, put_base64_dash },
    [DNS_FIELD_HEX] = { read_hex, put_hex },
    [DNS_FIELD_DS_DIGEST] = { read_hex, put_hex },
    [DNS_FIELD_ZONE_DIGEST] = { read_hex, put_hex },
    [DNS_FIELD_SALT] = { read_salt, put_salt },
    [DNS_FIELD_HASH32] = { read_hash32, put_hash32 },
    [DNS_FIELD_BITMAP] = { dns_read_bitmap, dns_put_bitmap },
    [DNS_FIELD_OPAQUE] = { read_opaque, NULL },
    [DNS_FIELD_LOC] = { dns_read_loc, dns_put_loc },
    [DNS_FIELD_NSAP] = { dns_read_nsap, put_nsap },
    [DNS_FIELD_WKS] = { dns_read_wks, dns_put_wks },
    [DNS_FIELD_NXT_BITMAP] = { dns_read_nxt_bitmap, dns_put_nxt_bitmap },
    [DNS_FIELD_APL] = { dns_read_apl, dns_put_apl },
    [DNS_FIELD_SVC_PARAMS] = { dns_read_svc_params, dns_put_svc_params },
    [DNS_FIELD_GATEWAY] = { read_gateway, put_no_gateway },
    [DNS_FIELD_RELAY_TYPE] = { dns_read_relay_type, put_relay_type },
    [DNS_FIELD_RELAY] = { read_relay, put_no_gateway },
    [DNS_FIELD_HIP] = { dns_read_hip, dns_put_hip },
    [DNS_FIELD_A6] = { dns_read_a6, dns_put_a6 },
    [DNS_FIELD_A6_NAME] = { read_a6_name, NULL },
};

int dns_read_field(DnsRdataReader *r, DnsFieldKind kind)
{
    return texts[kind].read(r);
}

bool dns_put_field(DnsPrinter *p, const DnsField *field)
{
    return texts[field->kind].put && texts[field->kind].put(p, field);
}
