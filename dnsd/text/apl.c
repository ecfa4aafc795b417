/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of address prefixes: APL, RFC 3123 */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"

#define NEGATED     0x80

static int wrong(DnsRdataReader *r)
{
    return dns_reader_wrong(r, "address prefix: [!]1:IPV4/LENGTH or "
                            "[!]2:IPV6/LENGTH");
}

static int read_prefix(DnsRdataReader *r)
{
    const char *at = r->token.text, *end = at + r->token.len, *slash;
    bool is_not = *at == '!';
    uint8_t item[4 + 16] = { 0 };
    unsigned len;
    int64_t bits;

    at += is_not;
    slash = memchr(at, '/', end - at);
    if (!slash || slash - at < 2 || (*at != '1' && *at != '2') ||
        at[1] != ':') {
        return wrong(r);
    }
    len = *at == '1' ? 4 : 16;
    bits = dns_number_parse(slash + 1, end - slash - 1, 8 * len);
    if (bits < 0 ||
        !(len == 4 ? dns_ipv4_parse(at + 2, slash - at - 2, item + 4) :
          dns_ipv6_parse(at + 2, slash - at - 2, item + 4))) {
        return wrong(r);
    }
    put_be16(item, *at - '0');
    item[2] = bits;
    while (len && !item[3 + len]) {
        len--;
    }
    item[3] = (is_not ? NEGATED : 0) | len;
    return dns_take(r, item, 4 + len);
}

int dns_read_apl(DnsRdataReader *r)
{
    while (!dns_reader_is_end(r)) {
        if (dns_reader_word(r, "an address prefix") || read_prefix(r)) {
            return -EINVAL;
        }
    }
    return 0;
}

bool dns_put_apl(DnsPrinter *p, const DnsField *field)
{
    for (size_t at = 0; at < field->len; ) {
        const uint8_t *item = field->start + at;
        unsigned family = get_be16(item), len = item[3] & ~NEGATED;
        uint8_t addr[16] = { 0 };

        if (family != 1 && family != 2) {
            return false;
        }
        memcpy(addr, item + 4, len);
        if (at) {
            dns_put_char(p, ' ');
        }
        if (item[3] & NEGATED) {
            dns_put_char(p, '!');
        }
        dns_put_number(p, family);
        dns_put_char(p, ':');
        if (family == 1) {
            dns_put_ipv4(p, addr);
        } else {
            dns_put_ipv6(p, addr);
        }
        dns_put_char(p, '/');
        dns_put_number(p, item[2]);
        at += 4 + len;
    }
    return true;
}
