/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mnemonics of types, classes and other numbers */
#include <stdbool.h>
#include <string.h>

#include "dnsd/text/types.h"
#include "net/dns/wire/wire.h"

#define KEY_OCTETS      8
#define KEY_FLAGS_BIT   (1 << 16)   /* "HOST" and the like set no bit */

typedef struct Mnemonic {
    const char *name;
    int number;
} Mnemonic;

static const Mnemonic classes[] = {
    { "IN", DNS_CLASS_IN }, { "CH", DNS_CLASS_CH }, { "CHAOS", DNS_CLASS_CH },
    { "HS", 4 }, { "HESIOD", 4 },
    { "NONE", DNS_CLASS_NONE }, { "ANY", DNS_CLASS_ANY }, { NULL, -1 },
};

static const Mnemonic algorithms[] = {
    { "RSAMD5", 1 }, { "DH", 2 }, { "DSA", 3 }, { "ECC", 4 },
    { "RSASHA1", 5 }, { "NSEC3DSA", 6 }, { "DSA-NSEC3-SHA1", 6 },
    { "NSEC3RSASHA1", 7 }, { "RSASHA1-NSEC3-SHA1", 7 },
    { "RSASHA256", 8 }, { "RSASHA512", 10 }, { "ECCGOST", 12 },
    { "ECDSAP256SHA256", 13 }, { "ECDSAP384SHA384", 14 },
    { "ECDSA256", 13 }, { "ECDSA384", 14 },
    { "ED25519", 15 }, { "ED448", 16 },
    { "INDIRECT", 252 }, { "PRIVATEDNS", 253 }, { "PRIVATEOID", 254 },
    { NULL, -1 },
};

static const Mnemonic digest_types[] = {
    { "SHA-1", 1 }, { "SHA1", 1 }, { "SHA-256", 2 }, { "SHA256", 2 },
    { "GOST", 3 }, { "SHA-384", 4 }, { "SHA384", 4 }, { NULL, -1 },
};

static const Mnemonic cert_types[] = {
    { "PKIX", 1 }, { "SPKI", 2 }, { "PGP", 3 }, { "IPKIX", 4 },
    { "ISPKI", 5 }, { "IPGP", 6 }, { "ACPKIX", 7 }, { "IACPKIX", 8 },
    { "URI", 253 }, { "OID", 254 }, { NULL, -1 },
};

static const Mnemonic dsync_schemes[] = { { "NOTIFY", 1 }, { NULL, -1 } };

static const Mnemonic key_protocols[] = {
    { "NONE", 0 }, { "TLS", 1 }, { "EMAIL", 2 }, { "DNSSEC", 3 },
    { "IPSEC", 4 }, { "ALL", 255 }, { NULL, -1 },
};

static const Mnemonic key_flags[] = {
    { "NOAUTH", 0x8000 }, { "NOCONF", 0x4000 }, { "NOKEY", 0xc000 },
    { "FLAG2", 0x2000 }, { "EXTEND", 0x1000 }, { "FLAG4", 0x0800 },
    { "FLAG5", 0x0400 }, { "USER", KEY_FLAGS_BIT }, { "ZONE", 0x0100 },
    { "HOST", 0x0200 }, { "NTYP3", 0x0300 }, { "FLAG8", 0x0080 },
    { "FLAG9", 0x0040 }, { "FLAG10", 0x0020 }, { "FLAG11", 0x0010 },
    { "SIG0", KEY_FLAGS_BIT }, { "SIG1", 1 }, { "SIG2", 2 }, { "SIG3", 3 },
    { "SIG4", 4 }, { "SIG5", 5 }, { "SIG6", 6 }, { "SIG7", 7 }, { "SIG8", 8 },
    { "SIG9", 9 }, { "SIG10", 10 }, { "SIG11", 11 }, { "SIG12", 12 },
    { "SIG13", 13 }, { "SIG14", 14 }, { "SIG15", 15 }, { NULL, -1 },
};

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? c & ~0x20 : c;
}

static bool is_word(const char *name, const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && name[i] && name[i] == upper(text[i])) {
        i++;
    }
    return i == len && !name[i];
}

static int find(const Mnemonic *list, const char *text, size_t len)
{
    while (list->name && !is_word(list->name, text, len)) {
        list++;
    }
    return list->number;
}

/* RFC 3597 section 5: the 16-bit number behind @word, or -1 */
static int numbered(const char *word, const char *text, size_t len)
{
    size_t at = strlen(word);
    int value = 0;

    if (len <= at || len > at + 5 || !is_word(word, text, at)) {
        return -1;
    }
    for (; at < len; at++) {
        if (text[at] < '0' || text[at] > '9') {
            return -1;
        }
        value = value * 10 + text[at] - '0';
    }
    return value <= UINT16_MAX ? value : -1;
}

static size_t put_numbered(const char *word, unsigned number, char *text)
{
    char digits[5];
    size_t count = 0, len = strlen(word);

    memcpy(text, word, len);
    do {
        digits[count++] = '0' + number % 10;
        number /= 10;
    } while (number);
    while (count) {
        text[len++] = digits[--count];
    }
    text[len] = 0;
    return len;
}

/* --- types --------------------------------------------------------------- */

/* Letters as one number, so that a switch finds frequent mnemonics */
#define KEY2(a, b)              ((uint64_t)(a) << 8 | (b))
#define KEY3(a, b, c)           (KEY2(a, b) << 8 | (c))
#define KEY4(a, b, c, d)        (KEY3(a, b, c) << 8 | (d))
#define KEY5(a, b, c, d, e)     (KEY4(a, b, c, d) << 8 | (e))
#define KEY6(a, b, c, d, e, f)  (KEY5(a, b, c, d, e) << 8 | (f))

static int frequent(const char *text, size_t len)
{
    uint64_t key = 0;

    for (size_t i = 0; i < len; i++) {
        key = key << 8 | (uint8_t)upper(text[i]);
    }
    switch (key) {
    case 'A':
        return DNS_TYPE_A;
    case KEY2('N', 'S'):
        return DNS_TYPE_NS;
    case KEY4('A', 'A', 'A', 'A'):
        return DNS_TYPE_AAAA;
    case KEY2('D', 'S'):
        return DNS_TYPE_DS;
    case KEY5('R', 'R', 'S', 'I', 'G'):
        return DNS_TYPE_RRSIG;
    case KEY4('N', 'S', 'E', 'C'):
        return DNS_TYPE_NSEC;
    case KEY5('N', 'S', 'E', 'C', '3'):
        return DNS_TYPE_NSEC3;
    case KEY3('S', 'O', 'A'):
        return DNS_TYPE_SOA;
    case KEY2('M', 'X'):
        return DNS_TYPE_MX;
    case KEY3('T', 'X', 'T'):
        return DNS_TYPE_TXT;
    case KEY3('P', 'T', 'R'):
        return DNS_TYPE_PTR;
    case KEY3('S', 'R', 'V'):
        return DNS_TYPE_SRV;
    case KEY5('C', 'N', 'A', 'M', 'E'):
        return DNS_TYPE_CNAME;
    case KEY6('D', 'N', 'S', 'K', 'E', 'Y'):
        return DNS_TYPE_DNSKEY;
    default:
        return -1;
    }
}

int dns_type_from_text(const char *text, size_t len)
{
    const DnsRrType *type = NULL;
    int number;

    if (!len || len >= DNS_MNEMONIC_MAX) {
        return -1;
    }
    number = len <= KEY_OCTETS ? frequent(text, len) : -1;
    number = number < 0 ? numbered("TYPE", text, len) : number;
    while (number < 0 && (type = dns_rrtype_next(type))) {
        number = is_word(type->name, text, len) ? type->type : -1;
    }
    return number;
}

size_t dns_type_to_text(uint16_t type, char text[DNS_MNEMONIC_MAX])
{
    const DnsRrType *known = dns_rrtype(type, DNS_CLASS_IN);

    if (!known->name[0]) {
        return put_numbered("TYPE", type, text);
    }
    memcpy(text, known->name, DNS_MNEMONIC_MAX);
    return strlen(text);
}

/* --- classes and others -------------------------------------------------- */

int dns_class_from_text(const char *text, size_t len)
{
    int number;

    /* In most records a type stands here, and none of these is a class, too. */
    if (len <= KEY_OCTETS && frequent(text, len) >= 0) {
        return -1;
    }
    number = find(classes, text, len);
    return number < 0 ? numbered("CLASS", text, len) : number;
}

size_t dns_class_to_text(uint16_t rrclass, char text[DNS_MNEMONIC_MAX])
{
    for (const Mnemonic *each = classes; each->name; each++) {
        if (each->number == rrclass) {
            size_t len = strlen(each->name);

            memcpy(text, each->name, len + 1);
            return len;
        }
    }
    return put_numbered("CLASS", rrclass, text);
}

static int flags_from_text(const char *text, size_t len)
{
    int flags = 0;

    while (len) {
        const char *bar = memchr(text, '|', len);
        size_t word = bar ? (size_t)(bar - text) : len;
        int flag = find(key_flags, text, word);

        if (flag < 0 || (bar && word + 1 == len)) {
            return -1;
        }
        flags |= flag;
        text += word + !!bar;
        len -= word + !!bar;
    }
    return flags & UINT16_MAX;
}

int dns_number_from_text(DnsFieldKind kind, const char *text, size_t len)
{
    switch (kind) {
    case DNS_FIELD_ALGORITHM:
        return find(algorithms, text, len);
    case DNS_FIELD_DIGEST_TYPE:
        return find(digest_types, text, len);
    case DNS_FIELD_CERT_TYPE:
        return find(cert_types, text, len);
    case DNS_FIELD_DSYNC_SCHEME:
        return find(dsync_schemes, text, len);
    case DNS_FIELD_KEY_PROTOCOL:
        return find(key_protocols, text, len);
    case DNS_FIELD_KEY_FLAGS:
        return len ? flags_from_text(text, len) : -1;
    default:
        return -1;
    }
}
