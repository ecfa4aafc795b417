/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Octets as digits of text */
#include <errno.h>

#include "dnsd/text/codes.h"

static const char digits64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char digits32[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
static const char digits16[] = "0123456789ABCDEF";

static const struct {
    const char *digits;
    unsigned bits;
} codes[] = {
    [DNS_CODE_HEX] = { digits16, 4 },
    [DNS_CODE_BASE32HEX] = { digits32, 5 },
    [DNS_CODE_BASE64] = { digits64, 6 },
};

static int value64(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The value of a digit of hex or base32hex, where letters follow '9' */
static int value_of(char c, int digits)
{
    int value = c >= '0' && c <= '9' ? c - '0' : -1;

    c |= 0x20;
    if (c >= 'a' && c <= 'v') {
        value = c - 'a' + 10;
    }
    return value < digits ? value : -1;
}

size_t dns_decode_most(const DnsDecoder *d, const char *text, size_t len)
{
    while (len && text[len - 1] == '=') {
        len--;
    }
    return (d->bits + len * codes[d->code].bits) / 8;
}

int dns_decode(DnsDecoder *d, const char *text, size_t len, uint8_t *to)
{
    unsigned width = codes[d->code].bits;
    int octets = 0;

    for (size_t i = 0; i < len; i++) {
        int value = d->code == DNS_CODE_BASE64 ? value64(text[i]) :
                    value_of(text[i], 1 << width);

        if (text[i] == '=' && d->code == DNS_CODE_BASE64 && d->pads < 2) {
            d->pads++;
            d->digits++;
            continue;
        }
        if (value < 0 || d->pads) {
            return -EINVAL;
        }
        d->held = d->held << width | value;
        d->bits += width;
        d->digits++;
        if (d->bits >= 8) {
            d->bits -= 8;
            to[octets++] = d->held >> d->bits;
        }
    }
    return octets;
}

bool dns_decode_end(const DnsDecoder *d)
{
    bool has_rest = d->held & ((1u << d->bits) - 1);

    if (d->code == DNS_CODE_BASE64) {
        return d->digits % 4 == 0 && d->bits == 2 * d->pads && !has_rest;
    }
    return d->bits < codes[d->code].bits && !has_rest;
}

size_t dns_encode(DnsCode code, const uint8_t *from, size_t len, char *text)
{
    unsigned width = codes[code].bits, bits = 0;
    uint32_t held = 0;
    size_t to = 0;

    for (size_t i = 0; i < len; i++) {
        held = held << 8 | from[i];
        bits += 8;
        while (bits >= width) {
            bits -= width;
            text[to++] = codes[code].digits[held >> bits & ((1 << width) - 1)];
        }
    }
    if (bits) {
        held <<= width - bits;
        text[to++] = codes[code].digits[held & ((1 << width) - 1)];
    }
    while (code == DNS_CODE_BASE64 && to % 4) {
        text[to++] = '=';
    }
    return to;
}
