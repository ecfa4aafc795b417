/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading RDATA: the token of look-ahead, and the parts of fields */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/text/name.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/types.h"

/* --- a token ahead ------------------------------------------------------- */

void dns_reader_next(DnsRdataReader *r)
{
    if (r->has_pairs) {
        dns_lex_next_pair(r->lex, &r->token);
    } else {
        dns_lex_next(r->lex, &r->token);
    }
}

int dns_reader_string(DnsRdataReader *r, const char *what)
{
    if (r->token.kind == DNS_TOKEN_END) {
        return dns_fault(r->lex, r->token.text,
                         "the %s record ends too early: %s must follow",
                         r->type_name, what);
    }
    return r->token.kind == DNS_TOKEN_BAD ? -EINVAL : 0;
}

int dns_reader_word(DnsRdataReader *r, const char *what)
{
    int ret = dns_reader_string(r, what);

    if (!ret && r->token.kind == DNS_TOKEN_STRING) {
        return dns_token_fault(r->lex, &r->token,
                               "is in quotes, but %s is not", what);
    }
    return ret;
}

int dns_reader_wrong(DnsRdataReader *r, const char *what)
{
    return dns_token_fault(r->lex, &r->token, "is no %s", what);
}

uint8_t *dns_reader_room(DnsRdataReader *r, size_t len)
{
    uint8_t *to = r->out + r->len;

    if (len > DNS_RDATA_MAX - r->len) {
        dns_fault(r->lex, r->token.text,
                  "the data of a record has at most 65535 octets");
        return NULL;
    }
    r->len += len;
    return to;
}

/* --- parts of fields ------------------------------------------------------ */

int dns_take(DnsRdataReader *r, const void *octets, size_t len)
{
    uint8_t *to = dns_reader_room(r, len);

    if (!to) {
        return -EINVAL;
    }
    memcpy(to, octets, len);
    dns_reader_next(r);
    return 0;
}

int dns_take_number(DnsRdataReader *r, uint32_t number, unsigned octets)
{
    uint8_t buf[4];

    put_be32(buf, number);
    return dns_take(r, buf + 4 - octets, octets);
}

int dns_read_number(DnsRdataReader *r, unsigned octets)
{
    static const char *const what[] = {
        NULL, "number from 0 to 255", "number from 0 to 65535", NULL,
        "number from 0 to 4294967295",
    };
    int64_t number;

    if (dns_reader_word(r, "a number")) {
        return -EINVAL;
    }
    number = dns_number_parse(r->token.text, r->token.len,
                              UINT32_MAX >> (32 - 8 * octets));
    return number < 0 ? dns_reader_wrong(r, what[octets]) :
           dns_take_number(r, number, octets);
}

int dns_read_name(DnsRdataReader *r)
{
    DnsName name;

    if (dns_reader_word(r, "a domain name") ||
        dns_name_read(r->lex, &r->token, r->origin, &name)) {
        return -EINVAL;
    }
    return dns_take(r, name.wire, name.len);
}

int dns_read_type(DnsRdataReader *r, uint16_t *type)
{
    int number;

    if (dns_reader_word(r, "a type")) {
        return -EINVAL;
    }
    number = dns_type_from_text(r->token.text, r->token.len);
    if (number < 0) {
        return dns_reader_wrong(r, "type of records, such as A or TYPE1");
    }
    *type = number;
    dns_reader_next(r);
    return 0;
}

int dns_read_ipv4(DnsRdataReader *r)
{
    uint8_t addr[4];

    if (dns_reader_word(r, "an IPv4 address")) {
        return -EINVAL;
    }
    return dns_ipv4_parse(r->token.text, r->token.len, addr) ?
           dns_take(r, addr, sizeof(addr)) :
           dns_token_fault(r->lex, &r->token,
                           "is no IPv4 address: four numbers from 0 to 255");
}

int dns_read_ipv6(DnsRdataReader *r)
{
    uint8_t addr[16];

    if (dns_reader_word(r, "an IPv6 address")) {
        return -EINVAL;
    }
    return dns_ipv6_parse(r->token.text, r->token.len, addr) ?
           dns_take(r, addr, sizeof(addr)) :
           dns_token_fault(r->lex, &r->token, "is no IPv6 address: eight "
                           "groups of hex digits, or :: for a run of zeros");
}

int dns_read_octets(DnsRdataReader *r, const char *text, size_t len,
                    size_t max)
{
    const char *at = text, *end = text + len;
    size_t start = r->len;

    while (at < end) {
        bool escaped;
        int c = dns_lex_octet(&at, end, &escaped);
        uint8_t *to;

        if (c < 0) {
            return dns_token_fault(r->lex, &r->token, "has a \\ without a "
                                   "character or three digits up to 255");
        }
        if (r->len - start == max) {
            return dns_token_fault(r->lex, &r->token, "is too long: a string "
                                   "has at most %zu octets", max);
        }
        to = dns_reader_room(r, 1);
        if (!to) {
            return -EINVAL;
        }
        *to = c;
    }
    return r->len - start;
}

static const char *right_digits(DnsCode code)
{
    return code == DNS_CODE_HEX ? "digits are 0-9 and a-f" :
           code == DNS_CODE_BASE32HEX ? "digits are 0-9 and a-v" :
           "digits are A-Z, a-z, 0-9, + and /, with = at the end alone";
}

/* Decode the digits of one word; @d continues with the next. */
int dns_read_digits(DnsRdataReader *r, DnsDecoder *d, const char *what)
{
    size_t before = r->len;
    uint8_t *to;
    int len;

    if (dns_reader_word(r, what)) {
        return -EINVAL;
    }
    to = dns_reader_room(r, dns_decode_most(d, r->token.text, r->token.len));
    if (!to) {
        return -EINVAL;
    }
    len = dns_decode(d, r->token.text, r->token.len, to);
    if (len < 0) {
        return dns_token_fault(r->lex, &r->token, "is no %s: %s", what,
                               right_digits(d->code));
    }
    r->len = before + len;
    return 0;
}
