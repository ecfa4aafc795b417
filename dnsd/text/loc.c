/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locations on Earth: LOC, RFC 1876 */
#include <errno.h>

#include "base/octets.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"

#define EQUATOR         (1u << 31)
#define ALTITUDE_BASE   10000000    /* centimetres below the reference */
#define ALTITUDE_MAX    4284967295
#define SIZE_MAX_CM     9000000000
#define DEGREE          3600000     /* thousandths of a second */
#define MINUTE          60000

/* --- reading ------------------------------------------------------------- */

/*
 * Parse a decimal fraction with up to @places digits behind the point.  Returns
 * it in units of the last place; -1 if the text is not one.  At most 11 digits.
 */
static int64_t parse_decimal(const char *text, size_t len, unsigned places)
{
    unsigned behind = 0, digits = 0;
    bool has_point = false;
    int64_t value = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && !has_point && digits) {
            has_point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || ++digits > 11 ||
            (has_point && ++behind > places)) {
            return -1;
        }
        value = value * 10 + text[i] - '0';
    }
    for (; behind < places; behind++) {
        value *= 10;
    }
    return digits ? value : -1;
}

static bool is_letter(const DnsToken *token, const char *letters)
{
    const char one[2] = { letters[0] }, other[2] = { letters[1] };

    return dns_token_is(token, one) || dns_token_is(token, other);
}

/* Read degrees, optional minutes, optional seconds, and the letter. */
static int read_angle(DnsRdataReader *r, unsigned degrees, const char *letters)
{
    const int64_t unit[] = { DEGREE, MINUTE, 1 };
    const int64_t max[] = { degrees, 59, 59999 };
    int64_t sum = 0;

    for (int i = 0; i < 4; i++) {
        int64_t part = -1;

        if (dns_reader_word(r, "an angle")) {
            return -EINVAL;
        }
        if (i && is_letter(&r->token, letters)) {
            break;
        }
        if (i < 3) {
            part = parse_decimal(r->token.text, r->token.len, i == 2 ? 3 : 0);
        }
        if (part < 0 || part > max[i]) {
            return dns_token_fault(r->lex, &r->token, "is no part of an angle "
                "up to %u degrees: D [M [S.sss]] %c|%c", degrees, letters[0],
                letters[1]);
        }
        sum += part * unit[i];
        dns_reader_next(r);
        if (i == 2 && r->token.kind == DNS_TOKEN_WORD &&
            !is_letter(&r->token, letters)) {
            return dns_token_fault(r->lex, &r->token, "is neither %c nor %c",
                                   letters[0], letters[1]);
        }
    }
    if (sum > degrees * (int64_t)DEGREE) {
        return dns_token_fault(r->lex, &r->token,
                               "ends an angle above %u degrees", degrees);
    }
    /* North and east are above the middle of the range. */
    return dns_take_number(r, (r->token.text[0] | 0x20) ==
                           (letters[0] | 0x20) ? EQUATOR + sum :
                           EQUATOR - sum, 4);
}

/* Parse a length in metres.  Returns centimetres, or -1. */
static int64_t metres(const DnsToken *token)
{
    size_t len = token->len;

    if (len && (token->text[len - 1] | 0x20) == 'm') {
        len--;
    }
    return parse_decimal(token->text, len, 2);
}

static int read_altitude(DnsRdataReader *r)
{
    DnsToken token = r->token;
    bool is_below;
    int64_t cm;

    if (dns_reader_word(r, "an altitude")) {
        return -EINVAL;
    }
    is_below = *token.text == '-';
    token.text += is_below;
    token.len -= is_below;
    cm = metres(&token);
    if (cm < 0 || cm > (is_below ? ALTITUDE_BASE : ALTITUDE_MAX)) {
        return dns_reader_wrong(r, "altitude from -100000.00m to "
                                "42849672.95m");
    }
    return dns_take_number(r, ALTITUDE_BASE + (is_below ? -cm : cm), 4);
}

/* Section 2: a size is one digit and a power of ten. */
static int read_size(DnsRdataReader *r, uint8_t *size)
{
    uint8_t exponent = 0;
    int64_t cm;

    if (dns_reader_is_end(r)) {
        return 0;
    }
    if (dns_reader_word(r, "a size")) {
        return -EINVAL;
    }
    cm = metres(&r->token);
    if (cm < 0 || cm > SIZE_MAX_CM) {
        return dns_reader_wrong(r, "size or precision from 0.00m to "
                                "90000000.00m");
    }
    for (; cm >= 10; cm /= 10) {
        exponent++;
    }
    *size = cm << 4 | (cm ? exponent : 0);
    dns_reader_next(r);
    return 0;
}

int dns_read_loc(DnsRdataReader *r)
{
    /* Defaults of section 3: 1 m, 10 km, 10 m */
    uint8_t *head = dns_reader_room(r, 4);

    if (!head) {
        return -EINVAL;
    }
    put_be32(head, 0x00121613);
    return read_angle(r, 90, "NS") || read_angle(r, 180, "EW") ||
           read_altitude(r) || read_size(r, head + 1) ||
           read_size(r, head + 2) || read_size(r, head + 3) ? -EINVAL : 0;
}

/* --- printing ------------------------------------------------------------ */

static void put_fraction(DnsPrinter *p, unsigned value, unsigned places)
{
    unsigned unit = places == 3 ? 1000 : 100;

    dns_put_number(p, value / unit);
    dns_put_char(p, '.');
    for (unsigned digit = unit / 10; digit; digit /= 10) {
        dns_put_char(p, '0' + value / digit % 10);
    }
}

static void put_angle(DnsPrinter *p, uint32_t angle, const char *letters)
{
    bool is_above = angle >= EQUATOR;
    uint32_t sum = is_above ? angle - EQUATOR : EQUATOR - angle;

    dns_put_number(p, sum / DEGREE);
    dns_put_char(p, ' ');
    dns_put_number(p, sum / MINUTE % 60);
    dns_put_char(p, ' ');
    put_fraction(p, sum % MINUTE, 3);
    dns_put_char(p, ' ');
    dns_put_char(p, is_above ? letters[0] : letters[1]);
    dns_put_char(p, ' ');
}

static void put_size(DnsPrinter *p, uint8_t size)
{
    uint32_t value = size >> 4;
    unsigned exponent = size & 0xf;

    dns_put_char(p, ' ');
    if (exponent < 2) {
        put_fraction(p, exponent ? value * 10 : value, 2);
    } else {
        for (; exponent > 2; exponent--) {
            value *= 10;
        }
        dns_put_number(p, value);
    }
    dns_put_char(p, 'm');
}

bool dns_put_loc(DnsPrinter *p, const DnsField *field)
{
    uint32_t altitude = get_be32(field->start + 12);

    put_angle(p, get_be32(field->start + 4), "NS");
    put_angle(p, get_be32(field->start + 8), "EW");
    if (altitude < ALTITUDE_BASE) {
        dns_put_char(p, '-');
        put_fraction(p, ALTITUDE_BASE - altitude, 2);
    } else {
        put_fraction(p, altitude - ALTITUDE_BASE, 2);
    }
    dns_put_char(p, 'm');
    put_size(p, field->start[1]);
    put_size(p, field->start[2]);
    put_size(p, field->start[3]);
    return true;
}
