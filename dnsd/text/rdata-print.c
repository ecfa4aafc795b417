/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA, printed field by field */
#include <errno.h>

#include "base/octets.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"

static void put_eui(DnsPrinter *p, const DnsField *field)
{
    for (size_t i = 0; i < field->len; i++) {
        if (i) {
            dns_put_char(p, '-');
        }
        dns_put_hex(p, field->start + i, 1);
    }
}

static void put_locator(DnsPrinter *p, const uint8_t *locator)
{
    for (int i = 0; i < 8; i += 2) {
        if (i) {
            dns_put_char(p, ':');
        }
        dns_put_hex(p, locator + i, 2);
    }
}

static void put_time(DnsPrinter *p, uint32_t seconds)
{
    char text[DNS_TIME_TEXT_LEN];

    dns_time_print(seconds, text);
    dns_put_text(p, text, sizeof(text));
}

static void put_salt(DnsPrinter *p, const DnsField *field)
{
    if (field->len == 1) {
        dns_put_char(p, '-');
    } else {
        dns_put_hex(p, field->start + 1, field->len - 1);
    }
}

static void put_dash_or_base64(DnsPrinter *p, const DnsField *field)
{
    if (field->len) {
        dns_put_base64(p, field->start, field->len);
    } else {
        dns_put_char(p, '-');
    }
}

static void put_relay_type(DnsPrinter *p, uint8_t octet)
{
    dns_put_number(p, octet >> 7);
    dns_put_char(p, ' ');
    dns_put_number(p, octet & 0x7f);
}

/* Returns: false if the field has no text form. */
static bool put_field(DnsPrinter *p, const DnsField *field)
{
    const uint8_t *at = field->start;

    switch (field->kind) {
    case DNS_FIELD_NAME_1035:
    case DNS_FIELD_NAME_FOLDED:
    case DNS_FIELD_NAME:
    case DNS_FIELD_NAMES:
        dns_put_name(p, at);
        return true;
    case DNS_FIELD_U8:
    case DNS_FIELD_ALGORITHM:
    case DNS_FIELD_DIGEST_TYPE:
    case DNS_FIELD_KEY_PROTOCOL:
    case DNS_FIELD_DSYNC_SCHEME:
        dns_put_number(p, *at);
        return true;
    case DNS_FIELD_U16:
    case DNS_FIELD_CERT_TYPE:
    case DNS_FIELD_KEY_FLAGS:
        dns_put_number(p, get_be16(at));
        return true;
    case DNS_FIELD_U32:
    case DNS_FIELD_TTL:
        dns_put_number(p, get_be32(at));
        return true;
    case DNS_FIELD_U64:
        dns_put_number64(p, get_be64(at));
        return true;
    case DNS_FIELD_TIME:
        put_time(p, get_be32(at));
        return true;
    case DNS_FIELD_TYPE:
        dns_put_type(p, get_be16(at));
        return true;
    case DNS_FIELD_IPV4:
        dns_put_ipv4(p, at);
        return true;
    case DNS_FIELD_IPV6:
        dns_put_ipv6(p, at);
        return true;
    case DNS_FIELD_EUI48:
    case DNS_FIELD_EUI64:
        put_eui(p, field);
        return true;
    case DNS_FIELD_LOCATOR64:
        put_locator(p, at);
        return true;
    case DNS_FIELD_STRING:
    case DNS_FIELD_STRING_MAYBE:
    case DNS_FIELD_STRINGS:
        dns_put_quoted(p, at + 1, field->len - 1);
        return true;
    case DNS_FIELD_TAG:
        dns_put_text(p, (const char *)at + 1, field->len - 1);
        return true;
    case DNS_FIELD_LONG_STRING:
        dns_put_quoted(p, at, field->len);
        return true;
    case DNS_FIELD_BASE64:
    case DNS_FIELD_BASE64_MAYBE:
        dns_put_base64(p, at, field->len);
        return true;
    case DNS_FIELD_BASE64_DASH:
        put_dash_or_base64(p, field);
        return true;
    case DNS_FIELD_HEX:
    case DNS_FIELD_DS_DIGEST:
    case DNS_FIELD_ZONE_DIGEST:
        dns_put_hex(p, at, field->len);
        return true;
    case DNS_FIELD_NSAP:
        dns_put_text(p, "0x", 2);
        dns_put_hex(p, at, field->len);
        return true;
    case DNS_FIELD_SALT:
        put_salt(p, field);
        return true;
    case DNS_FIELD_HASH32:
        dns_put_base32(p, at + 1, field->len - 1);
        return true;
    case DNS_FIELD_BITMAP:
        return dns_put_bitmap(p, field);
    case DNS_FIELD_NXT_BITMAP:
        return dns_put_nxt_bitmap(p, field);
    case DNS_FIELD_LOC:
        return dns_put_loc(p, field);
    case DNS_FIELD_WKS:
        return dns_put_wks(p, field);
    case DNS_FIELD_APL:
        return dns_put_apl(p, field);
    case DNS_FIELD_SVC_PARAMS:
        return dns_put_svc_params(p, field);
    case DNS_FIELD_GATEWAY:
    case DNS_FIELD_RELAY:
        dns_put_char(p, '.');
        return true;
    case DNS_FIELD_RELAY_TYPE:
        put_relay_type(p, *at);
        return true;
    case DNS_FIELD_HIP:
        return dns_put_hip(p, field);
    case DNS_FIELD_A6:
        return dns_put_a6(p, field);
    case DNS_FIELD_A6_NAME:
    case DNS_FIELD_OPAQUE:
    case DNS_FIELD_END:
        break;
    }
    return false;
}

/* Put a blank between two fields, but none for a field without text. */
static bool put_fields(DnsPrinter *p, DnsFieldCursor *c)
{
    const char *first = p->at;
    DnsField field;
    int ret;

    while ((ret = dns_fields_next(c, &field)) > 0) {
        char *before = p->at;
        bool has_blank = before > first;

        if (has_blank) {
            dns_put_char(p, ' ');
        }
        if (!put_field(p, &field)) {
            return false;
        }
        if (p->at == before + has_blank) {
            p->at = before;
        }
    }
    return !ret;
}

/* RFC 3597 section 5 */
static void put_generic(DnsPrinter *p, const uint8_t *rdata, size_t len)
{
    dns_put_text(p, "\\# ", 3);
    dns_put_number(p, len);
    if (len) {
        dns_put_char(p, ' ');
        dns_put_hex(p, rdata, len);
    }
}

void dns_put_rdata(DnsPrinter *p, uint16_t type, uint16_t rrclass,
                   const uint8_t *rdata, size_t len)
{
    DnsPrinter before = *p;
    DnsFieldCursor c;

    dns_fields(&c, type, rrclass, rdata, len);
    if (!put_fields(p, &c)) {
        *p = before;
        put_generic(p, rdata, len);
    }
}

int dns_rdata_to_text(uint16_t type, uint16_t rrclass, const uint8_t *rdata,
                      size_t len, char *text, size_t room)
{
    DnsPrinter p = { text, text + room, false };

    dns_put_rdata(&p, type, rrclass, rdata, len);
    dns_put_char(&p, 0);
    return p.is_full ? -ENOSPC : (int)(p.at - text - 1);
}
