/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of SVCB and HTTPS records, RFC 9460 sections 2.1 and 7
 *
 * A parameter is read behind the ones before it, and then moved to the place of
 * its key.  keyN="..." sets any value as octets.
 */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"

#define HEAD        4           /* octets of key and length */
#define KEY_MAX     UINT16_MAX

enum {
    MANDATORY,
    ALPN,
    NO_DEFAULT_ALPN,
    PORT,
    IPV4HINT,
    ECH,
    IPV6HINT,
    DOHPATH,
    OHTTP,                      /* RFC 9540 */
    TLS_SUPPORTED_GROUPS,
    DOCPATH,                    /* RFC 9953 */
    NAMED_KEYS,
};

static const char *const names[NAMED_KEYS] = {
    "mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech",
    "ipv6hint", "dohpath", "ohttp", "tls-supported-groups", "docpath",
};

/* A parameter in text: the number of its key, and its value without quotes */
typedef struct Pair {
    int key;
    bool is_generic;            /* keyN: the value is plain octets */
    const char *value;
    size_t len;
} Pair;

/* --- reading ------------------------------------------------------------- */

static int key_from_text(const char *text, size_t len, bool *is_generic)
{
    for (int key = 0; key < NAMED_KEYS; key++) {
        if (strlen(names[key]) == len && !memcmp(names[key], text, len)) {
            *is_generic = false;
            return key;
        }
    }
    *is_generic = true;
    if (len < 4 || memcmp(text, "key", 3) || (text[3] == '0' && len > 4)) {
        return -1;
    }
    return dns_number_parse(text + 3, len - 3, KEY_MAX - 1);
}

static int split_pair(DnsRdataReader *r, Pair *pair)
{
    const char *text = r->token.text, *end = text + r->token.len;
    const char *equals = memchr(text, '=', r->token.len);
    const char *name_end = equals ? equals : end;

    pair->key = key_from_text(text, name_end - text, &pair->is_generic);
    if (pair->key < 0) {
        return dns_token_fault(r->lex, &r->token, "has no key of RFC 9460: "
                               "alpn, port and so on, or keyNNNNN");
    }
    pair->value = equals ? equals + 1 : end;
    pair->len = end - pair->value;
    if (pair->len >= 2 && *pair->value == '"') {
        pair->value++;
        pair->len -= 2;
    }
    return 0;
}

/* Read one item of a list up to its comma; false behind the last one. */
static bool next_item(Pair *pair, const char **item, size_t *len)
{
    const char *comma;

    if (!pair->value) {
        return false;
    }
    comma = memchr(pair->value, ',', pair->len);
    *item = pair->value;
    *len = comma ? (size_t)(comma - pair->value) : pair->len;
    pair->len -= comma ? *len + 1 : 0;
    pair->value = comma ? comma + 1 : NULL;
    return true;
}

static int bad_value(DnsRdataReader *r, const char *what)
{
    return dns_token_fault(r->lex, &r->token, "has a value that is no %s",
                           what);
}

static int read_port(DnsRdataReader *r, const Pair *pair)
{
    int64_t port = dns_number_parse(pair->value, pair->len, UINT16_MAX);
    uint8_t *to = dns_reader_room(r, 2);

    if (!to || port < 0) {
        return bad_value(r, "port from 0 to 65535");
    }
    put_be16(to, port);
    return 0;
}

static int read_hints(DnsRdataReader *r, Pair *pair)
{
    bool is_ipv4 = pair->key == IPV4HINT;
    const char *item;
    size_t len;

    while (next_item(pair, &item, &len)) {
        uint8_t *to = dns_reader_room(r, is_ipv4 ? 4 : 16);

        if (!to || !(is_ipv4 ? dns_ipv4_parse(item, len, to) :
                     dns_ipv6_parse(item, len, to))) {
            return bad_value(r, is_ipv4 ? "list of IPv4 addresses" :
                             "list of IPv6 addresses");
        }
    }
    return 0;
}

/* Section 8: the keys are sorted, in any order of the text. */
static int read_mandatory(DnsRdataReader *r, Pair *pair)
{
    uint8_t *keys = r->out + r->len;
    const char *item;
    size_t len;

    while (next_item(pair, &item, &len)) {
        bool is_generic;
        int key = key_from_text(item, len, &is_generic);
        uint8_t *to = dns_reader_room(r, 2);

        if (!to || key < 0) {
            return bad_value(r, "list of keys");
        }
        while (to > keys && get_be16(to - 2) > key) {
            memcpy(to, to - 2, 2);
            to -= 2;
        }
        put_be16(to, key);
    }
    return 0;
}

static int read_groups(DnsRdataReader *r, Pair *pair)
{
    const char *item;
    size_t len;

    while (next_item(pair, &item, &len)) {
        int64_t group = dns_number_parse(item, len, UINT16_MAX);
        uint8_t *to = dns_reader_room(r, 2);

        if (!to || group < 0) {
            return bad_value(r, "list of numbers from 0 to 65535");
        }
        put_be16(to, group);
    }
    return 0;
}

static int read_ech(DnsRdataReader *r, const Pair *pair)
{
    DnsDecoder d = { .code = DNS_CODE_BASE64 };
    size_t most = dns_decode_most(&d, pair->value, pair->len);
    uint8_t *to = dns_reader_room(r, most);

    if (!to || dns_decode(&d, pair->value, pair->len, to) < 0 ||
        !dns_decode_end(&d)) {
        return bad_value(r, "base64");
    }
    return 0;
}

/*
 * Appendix A.1: this is a list within a string, so a comma in an item is "\\,"
 * in the file.  The length of an item replaces the octet before it.
 */
static int read_alpn(DnsRdataReader *r, const Pair *pair)
{
    uint8_t *head = dns_reader_room(r, 1), *from, *end, *to;

    if (!head || dns_read_octets(r, pair->value, pair->len,
                                 DNS_RDATA_MAX) < 0) {
        return -EINVAL;
    }
    from = to = head + 1;
    end = r->out + r->len;
    for (;;) {
        while (from < end && *from != ',') {
            from += *from == '\\' && end - from > 1;
            *to++ = *from++;
        }
        if (to - head < 2 || to - head > 1 + UINT8_MAX) {
            return bad_value(r, pair->key == ALPN
                             ? "list of protocols of 1 to 255 octets"
                             : "list of segments of 1 to 255 octets");
        }
        *head = to - head - 1;
        if (from == end) {
            break;
        }
        from++;
        head = to++;
    }
    r->len = to - r->out;
    return 0;
}

static int read_value(DnsRdataReader *r, Pair *pair)
{
    switch (pair->is_generic ? NAMED_KEYS : pair->key) {
    case MANDATORY:
        return read_mandatory(r, pair);
    case ALPN:
        return read_alpn(r, pair);
    case DOCPATH:
        return pair->len ? read_alpn(r, pair) : 0;
    case TLS_SUPPORTED_GROUPS:
        return read_groups(r, pair);
    case NO_DEFAULT_ALPN:
    case OHTTP:
        return pair->len ? bad_value(r, "value: it has none") : 0;
    case PORT:
        return read_port(r, pair);
    case IPV4HINT:
    case IPV6HINT:
        return read_hints(r, pair);
    case ECH:
        return read_ech(r, pair);
    default:
        return dns_read_octets(r, pair->value, pair->len, UINT16_MAX) < 0 ?
               -EINVAL : 0;
    }
}

static void reverse(uint8_t *from, uint8_t *to)
{
    while (from < to) {
        uint8_t octet = *from;

        *from++ = *--to;
        *to = octet;
    }
}

/* Move the parameter at @last to the place of its key. */
static int sort_in(DnsRdataReader *r, size_t start, size_t last, int key)
{
    size_t at = start;

    while (at < last && get_be16(r->out + at) < key) {
        at += HEAD + get_be16(r->out + at + 2);
    }
    if (at == last) {
        return 0;
    }
    if (get_be16(r->out + at) == key) {
        return dns_token_fault(r->lex, &r->token,
                               "has a key that is there already");
    }
    reverse(r->out + at, r->out + last);
    reverse(r->out + last, r->out + r->len);
    reverse(r->out + at, r->out + r->len);
    return 0;
}

static int read_param(DnsRdataReader *r, size_t start)
{
    size_t last = r->len;
    uint8_t *head;
    Pair pair;

    if (dns_reader_word(r, "a parameter") || split_pair(r, &pair)) {
        return -EINVAL;
    }
    head = dns_reader_room(r, HEAD);
    if (!head || read_value(r, &pair)) {
        return -EINVAL;
    }
    put_be16(head, pair.key);
    put_be16(head + 2, r->len - last - HEAD);
    if (sort_in(r, start, last, pair.key)) {
        return -EINVAL;
    }
    dns_reader_next(r);
    return 0;
}

int dns_read_svc_params(DnsRdataReader *r)
{
    size_t start = r->len;

    while (!dns_reader_is_end(r)) {
        if (read_param(r, start)) {
            return -EINVAL;
        }
    }
    return 0;
}

/* --- printing ------------------------------------------------------------ */

static void put_key(DnsPrinter *p, unsigned key)
{
    if (key < NAMED_KEYS) {
        dns_put_text(p, names[key], strlen(names[key]));
    } else {
        dns_put_text(p, "key", 3);
        dns_put_number(p, key);
    }
}

/* Put an item with both levels of escapes. */
static void put_alpn(DnsPrinter *p, const uint8_t *value, size_t len)
{
    dns_put_char(p, '"');
    for (size_t at = 0; at < len; at += 1 + value[at]) {
        if (at) {
            dns_put_char(p, ',');
        }
        for (size_t i = 1; i <= value[at]; i++) {
            uint8_t c = value[at + i];

            if (c == ',') {
                dns_put_text(p, "\\\\,", 3);
            } else if (c == '\\') {
                dns_put_text(p, "\\\\\\\\", 4);
            } else {
                dns_put_octet(p, c);
            }
        }
    }
    dns_put_char(p, '"');
}

static void put_list(DnsPrinter *p, unsigned key, const uint8_t *value,
                     size_t len)
{
    size_t each = key == IPV4HINT ? 4 : key == IPV6HINT ? 16 : 2;

    for (size_t at = 0; at < len; at += each) {
        if (at) {
            dns_put_char(p, ',');
        }
        if (key == MANDATORY) {
            put_key(p, get_be16(value + at));
        } else if (key == TLS_SUPPORTED_GROUPS) {
            dns_put_number(p, get_be16(value + at));
        } else if (key == IPV4HINT) {
            dns_put_ipv4(p, value + at);
        } else {
            dns_put_ipv6(p, value + at);
        }
    }
}

static void put_value(DnsPrinter *p, unsigned key, const uint8_t *value,
                      size_t len)
{
    switch (key) {
    case MANDATORY:
    case IPV4HINT:
    case IPV6HINT:
    case TLS_SUPPORTED_GROUPS:
        put_list(p, key, value, len);
        break;
    case ALPN:
    case DOCPATH:
        put_alpn(p, value, len);
        break;
    case PORT:
        dns_put_number(p, get_be16(value));
        break;
    case ECH:
        dns_put_base64(p, value, len);
        break;
    default:
        dns_put_quoted(p, value, len);
        break;
    }
}

bool dns_put_svc_params(DnsPrinter *p, const DnsField *field)
{
    for (size_t at = 0; at < field->len; ) {
        const uint8_t *param = field->start + at;
        size_t len = get_be16(param + 2);

        if (at) {
            dns_put_char(p, ' ');
        }
        put_key(p, get_be16(param));
        if (len) {
            dns_put_char(p, '=');
            put_value(p, get_be16(param), param + HEAD, len);
        }
        at += HEAD + len;
    }
    return true;
}
