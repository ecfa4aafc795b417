/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gateways, and hosts identified by keys: IPSECKEY, AMTRELAY, HIP */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/text/rdata-internal.h"

#define HIP_HEAD    4
#define RELAY_BIT   0x80        /* the D bit: discovery optional, RFC 8777 */

int dns_read_gateway(DnsRdataReader *r, unsigned kind)
{
    switch (kind) {
    case 0:
        if (dns_reader_word(r, "a dot for no gateway")) {
            return -EINVAL;
        }
        return r->token.len == 1 && *r->token.text == '.' ?
               dns_take(r, "", 0) :
               dns_token_fault(r->lex, &r->token, "must be a dot, as the type "
                               "says that there is no gateway");
    case 1:
        return dns_read_ipv4(r);
    case 2:
        return dns_read_ipv6(r);
    case 3:
        return dns_read_name(r);
    default:
        return dns_token_fault(r->lex, &r->token, "follows a type of gateway "
                               "that is none from 0 to 3");
    }
}

int dns_read_relay_type(DnsRdataReader *r)
{
    uint8_t *octet = r->out + r->len, is_optional;

    if (dns_read_number(r, 1)) {
        return -EINVAL;
    }
    is_optional = *octet;
    r->len--;
    if (is_optional > 1 || dns_read_number(r, 1) || *octet >= RELAY_BIT) {
        return dns_token_fault(r->lex, &r->token, "follows what is not 0 or "
                               "1, and a type below 128");
    }
    *octet |= is_optional ? RELAY_BIT : 0;
    return 0;
}

/* Read the digits of one word.  Returns: octets, or -EINVAL. */
static int read_word(DnsRdataReader *r, DnsCode code, const char *what)
{
    DnsDecoder d = { .code = code };
    size_t start = r->len;

    if (dns_read_digits(r, &d, what)) {
        return -EINVAL;
    }
    if (!dns_decode_end(&d)) {
        return dns_token_fault(r->lex, &r->token, "ends within an octet");
    }
    dns_reader_next(r);
    return r->len - start;
}

/* RFC 8005 section 6: algorithm, HIT, key */
int dns_read_hip(DnsRdataReader *r)
{
    uint8_t *head = r->out + r->len;
    int hit, key;

    if (dns_read_number(r, 1)) {
        return -EINVAL;
    }
    head[1] = head[0];
    if (!dns_reader_room(r, HIP_HEAD - 1)) {
        return -EINVAL;
    }
    hit = read_word(r, DNS_CODE_HEX, "hex");
    key = hit < 0 ? hit : read_word(r, DNS_CODE_BASE64, "base64");
    if (key < 0) {
        return key;
    }
    if (hit > UINT8_MAX) {
        return dns_fault(r->lex, r->token.text,
                         "a HIT has at most 255 octets");
    }
    head[0] = hit;
    put_be16(head + 2, key);
    return 0;
}

bool dns_put_hip(DnsPrinter *p, const DnsField *field)
{
    const uint8_t *hip = field->start;

    dns_put_number(p, hip[1]);
    dns_put_char(p, ' ');
    dns_put_hex(p, hip + HIP_HEAD, hip[0]);
    dns_put_char(p, ' ');
    dns_put_base64(p, hip + HIP_HEAD + hip[0], get_be16(hip + 2));
    return true;
}
