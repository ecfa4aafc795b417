/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Printing: the parts that fields consist of */
#include <arpa/inet.h>
#include <string.h>

#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/types.h"

#define CHUNK   48              /* octets of hex or base64 per step */

void dns_put_char(DnsPrinter *p, char c)
{
    if (p->at == p->end) {
        p->is_full = true;
        return;
    }
    *p->at++ = c;
}

void dns_put_text(DnsPrinter *p, const char *text, size_t len)
{
    if (len > (size_t)(p->end - p->at)) {
        p->is_full = true;
        return;
    }
    memcpy(p->at, text, len);
    p->at += len;
}

void dns_put_number(DnsPrinter *p, uint32_t number)
{
    dns_put_number64(p, number);
}

void dns_put_number64(DnsPrinter *p, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = '0' + number % 10;
        number /= 10;
    } while (number);
    dns_put_text(p, digits + at, sizeof(digits) - at);
}

static void put_decimal_escape(DnsPrinter *p, uint8_t c)
{
    const char escape[] = {
        '\\', '0' + c / 100, '0' + c / 10 % 10, '0' + c % 10,
    };

    dns_put_text(p, escape, sizeof(escape));
}

/* Put an octet of a quoted string. */
void dns_put_octet(DnsPrinter *p, uint8_t c)
{
    if (c < ' ' || c > '~') {
        put_decimal_escape(p, c);
        return;
    }
    if (c == '"' || c == '\\') {
        dns_put_char(p, '\\');
    }
    dns_put_char(p, c);
}

void dns_put_quoted(DnsPrinter *p, const uint8_t *octets, size_t len)
{
    dns_put_char(p, '"');
    for (size_t i = 0; i < len; i++) {
        dns_put_octet(p, octets[i]);
    }
    dns_put_char(p, '"');
}

static bool is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           (c >= 'A' && c <= 'Z') || c == '_';
}

/* Put a backslash before an octet that is special in master files. */
static void put_label_octet(DnsPrinter *p, uint8_t c)
{
    if (c <= ' ' || c > '~') {
        put_decimal_escape(p, c);
        return;
    }
    if (!is_plain(c) && strchr(".\\\"();@$", c)) {
        dns_put_char(p, '\\');
    }
    dns_put_char(p, c);
}

void dns_put_name(DnsPrinter *p, const uint8_t *wire)
{
    if (!*wire) {
        dns_put_char(p, '.');
    }
    for (; *wire; wire += 1 + *wire) {
        for (unsigned i = 1; i <= *wire; i++) {
            put_label_octet(p, wire[i]);
        }
        dns_put_char(p, '.');
    }
}

static void put_code(DnsPrinter *p, DnsCode code, const uint8_t *octets,
                     size_t len)
{
    char text[2 * CHUNK + 4];

    while (len) {
        size_t part = len < CHUNK ? len : CHUNK;

        dns_put_text(p, text, dns_encode(code, octets, part, text));
        octets += part;
        len -= part;
    }
}

void dns_put_hex(DnsPrinter *p, const uint8_t *octets, size_t len)
{
    put_code(p, DNS_CODE_HEX, octets, len);
}

void dns_put_base64(DnsPrinter *p, const uint8_t *octets, size_t len)
{
    put_code(p, DNS_CODE_BASE64, octets, len);
}

void dns_put_base32(DnsPrinter *p, const uint8_t *octets, size_t len)
{
    char text[2 * UINT8_MAX + 4];

    dns_put_text(p, text, dns_encode(DNS_CODE_BASE32HEX, octets, len, text));
}

void dns_put_ipv4(DnsPrinter *p, const uint8_t addr[4])
{
    for (int i = 0; i < 4; i++) {
        if (i) {
            dns_put_char(p, '.');
        }
        dns_put_number(p, addr[i]);
    }
}

void dns_put_ipv6(DnsPrinter *p, const uint8_t addr[16])
{
    char text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, addr, text, sizeof(text));
    dns_put_text(p, text, strlen(text));
}

void dns_put_type(DnsPrinter *p, uint16_t type)
{
    char text[DNS_MNEMONIC_MAX];

    dns_put_text(p, text, dns_type_to_text(type, text));
}
