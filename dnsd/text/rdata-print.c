/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA, printed field by field */
#include <errno.h>

#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/rdata.h"

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
        if (!dns_put_field(p, &field)) {
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
