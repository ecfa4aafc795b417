/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type bitmaps: RFC 4034 section 4.1.2, and the older form of RFC 2535 */
#include <errno.h>
#include <string.h>

#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"

#define NXT_TYPES   128

/* --- reading ------------------------------------------------------------- */

/* Insert @count zeros at @at; the octets there move behind them. */
static bool insert(DnsRdataReader *r, size_t at, size_t count)
{
    size_t behind = r->len - at;

    if (!dns_reader_room(r, count)) {
        return false;
    }
    memmove(r->out + at + count, r->out + at, behind);
    memset(r->out + at, 0, count);
    return true;
}

/*
 * Set the bit of a type.  Windows are inserted and grow as types come, in any
 * order.
 */
static int add(DnsRdataReader *r, size_t start, uint16_t type)
{
    uint8_t window = type >> 8, need = (type & 0xff) / 8 + 1, have;
    size_t at = start;

    while (at < r->len && r->out[at] < window) {
        at += 2 + r->out[at + 1];
    }
    if (at == r->len || r->out[at] != window) {
        if (!insert(r, at, 2)) {
            return -EINVAL;
        }
        r->out[at] = window;
    }
    have = r->out[at + 1];
    if (have < need) {
        if (!insert(r, at + 2 + have, need - have)) {
            return -EINVAL;
        }
        r->out[at + 1] = need;
    }
    r->out[at + 1 + need] |= 0x80 >> type % 8;
    return 0;
}

int dns_read_bitmap(DnsRdataReader *r)
{
    size_t start = r->len;
    uint16_t type;

    while (!dns_reader_is_end(r)) {
        if (dns_read_type(r, &type) || add(r, start, type)) {
            return -EINVAL;
        }
    }
    return 0;
}

int dns_read_nxt_bitmap(DnsRdataReader *r)
{
    size_t start = r->len;

    while (!dns_reader_is_end(r)) {
        DnsToken token = r->token;
        int64_t number;
        uint16_t type;
        size_t need;

        /* BIND writes an unknown type as a number. */
        number = token.kind == DNS_TOKEN_WORD
                 ? dns_number_parse(token.text, token.len, NXT_TYPES - 1) : -1;
        if (number >= 0) {
            type = number;
            dns_reader_next(r);
        } else if (dns_read_type(r, &type)) {
            return -EINVAL;
        }
        if (!type || type >= NXT_TYPES) {
            return dns_token_fault(r->lex, &token,
                                   "is no type from 1 to 127");
        }
        need = start + type / 8 + 1;
        if (r->len < need && !insert(r, r->len, need - r->len)) {
            return -EINVAL;
        }
        r->out[need - 1] |= 0x80 >> type % 8;
    }
    return 0;
}

/* --- printing ------------------------------------------------------------ */

static void put_types(DnsPrinter *p, unsigned base, const uint8_t *bits,
                      size_t len, bool *is_first)
{
    for (unsigned i = 0; i < 8 * len; i++) {
        if (bits[i / 8] & 0x80 >> i % 8) {
            if (!*is_first) {
                dns_put_char(p, ' ');
            }
            dns_put_type(p, base + i);
            *is_first = false;
        }
    }
}

bool dns_put_bitmap(DnsPrinter *p, const DnsField *field)
{
    bool is_first = true;

    for (size_t at = 0; at < field->len; at += 2 + field->start[at + 1]) {
        put_types(p, field->start[at] << 8, field->start + at + 2,
                  field->start[at + 1], &is_first);
    }
    return true;
}

bool dns_put_nxt_bitmap(DnsPrinter *p, const DnsField *field)
{
    bool is_first = true;

    put_types(p, 0, field->start, field->len, &is_first);
    return true;
}
