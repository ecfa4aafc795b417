/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Obsolete types: WKS, NSAP, A6 */
#include <errno.h>
#include <string.h>

#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"

#define PORT_OCTETS     8192
#define TCP             6
#define UDP             17
#define IPV6_BITS       128

/* --- WKS, RFC 1035 section 3.4.2 ----------------------------------------- */

static int read_port(DnsRdataReader *r, size_t start)
{
    int64_t port;
    size_t need;

    if (dns_reader_word(r, "a port")) {
        return -EINVAL;
    }
    port = dns_number_parse(r->token.text, r->token.len, UINT16_MAX);
    if (port < 0) {
        return dns_reader_wrong(r, "port from 0 to 65535");
    }
    need = start + port / 8 + 1;
    if (r->len < need) {
        uint8_t *more = dns_reader_room(r, need - r->len);

        if (!more) {
            return -EINVAL;
        }
        memset(more, 0, r->out + need - more);
    }
    r->out[need - 1] |= 0x80 >> port % 8;
    dns_reader_next(r);
    return 0;
}

int dns_read_wks(DnsRdataReader *r)
{
    bool is_tcp = dns_token_is(&r->token, "tcp");
    size_t start;

    if (is_tcp || dns_token_is(&r->token, "udp")) {
        if (dns_take_number(r, is_tcp ? TCP : UDP, 1)) {
            return -EINVAL;
        }
    } else if (dns_read_number(r, 1)) {
        return -EINVAL;
    }
    start = r->len;
    while (!dns_reader_is_end(r)) {
        if (read_port(r, start)) {
            return -EINVAL;
        }
    }
    return 0;
}

bool dns_put_wks(DnsPrinter *p, const DnsField *field)
{
    const uint8_t *bits = field->start + 1;

    dns_put_number(p, field->start[0]);
    for (size_t port = 0; port < 8 * (field->len - 1); port++) {
        if (bits[port / 8] & 0x80 >> port % 8) {
            dns_put_char(p, ' ');
            dns_put_number(p, port);
        }
    }
    return true;
}

/* --- NSAP, RFC 1706 section 5 -------------------------------------------- */

int dns_read_nsap(DnsRdataReader *r)
{
    const char *at = r->token.text, *end = at + r->token.len;
    DnsDecoder d = { .code = DNS_CODE_HEX };

    if (dns_reader_word(r, "an NSAP address")) {
        return -EINVAL;
    }
    if (r->token.len < 3 || at[0] != '0' || (at[1] | 0x20) != 'x') {
        return dns_reader_wrong(r, "NSAP address: 0x, then hex digits");
    }
    for (at += 2; at < end; at++) {
        uint8_t octet, *to;
        int len = *at == '.' ? 0 : dns_decode(&d, at, 1, &octet);

        if (len < 0) {
            return dns_reader_wrong(r, "NSAP address: 0x, then hex digits");
        }
        if (len) {
            to = dns_reader_room(r, 1);
            if (!to) {
                return -EINVAL;
            }
            *to = octet;
        }
    }
    if (!dns_decode_end(&d)) {
        return dns_token_fault(r->lex, &r->token, "ends within an octet");
    }
    dns_reader_next(r);
    return 0;
}

/* --- A6, RFC 2874 section 3.1 -------------------------------------------- */

int dns_read_a6(DnsRdataReader *r)
{
    uint8_t *prefix = r->out + r->len;
    unsigned skip;

    if (dns_read_number(r, 1)) {
        return -EINVAL;
    }
    if (*prefix > IPV6_BITS) {
        return dns_token_fault(r->lex, &r->token,
                               "follows a prefix of more than 128 bits");
    }
    if (*prefix == IPV6_BITS) {
        return 0;
    }
    skip = *prefix / 8;
    if (dns_read_ipv6(r)) {
        return -EINVAL;
    }
    memmove(prefix + 1, prefix + 1 + skip, 16 - skip);
    r->len -= skip;
    prefix[1] &= 0xff >> *prefix % 8;
    return 0;
}

bool dns_put_a6(DnsPrinter *p, const DnsField *field)
{
    uint8_t addr[16] = { 0 };
    size_t len = field->len - 1;

    dns_put_number(p, field->start[0]);
    if (len) {
        memcpy(addr + 16 - len, field->start + 1, len);
        dns_put_char(p, ' ');
        dns_put_ipv6(p, addr);
    }
    return true;
}
