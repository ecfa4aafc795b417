/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA in wire form, field by field */
#include <errno.h>
#include <string.h>

#include "net/dns/wire/fields.h"
#include "net/dns/wire/fields-internal.h"
#include "net/dns/wire/wire.h"

#define WKS_MAX     (1 + 8192)  /* the protocol; a bit for each port */
#define NXT_MAX     16

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* --- lengths -------------------------------------------------------------- */

static int name_len(const uint8_t *at, size_t left)
{
    size_t most = left < DNS_NAME_MAX ? left : DNS_NAME_MAX;
    size_t len = 0;

    while (len < most && at[len]) {
        if (at[len] > DNS_LABEL_MAX) {
            return -EBADMSG;
        }
        len += 1 + at[len];
    }
    return len < most ? (int)len + 1 : -EBADMSG;
}

static int string_len(const uint8_t *at, size_t left)
{
    return left && at[0] < left ? 1 + at[0] : -EBADMSG;
}

static int hash_len(const uint8_t *at, size_t left)
{
    return left && at[0] ? string_len(at, left) : -EBADMSG;
}

/* RFC 8659 section 4.1.1 */
static int tag_len(const uint8_t *at, size_t left)
{
    int len = hash_len(at, left);

    for (int i = 1; i < len; i++) {
        uint8_t c = lower(at[i]);

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) {
            return -EBADMSG;
        }
    }
    return len;
}

static int rest_len(const uint8_t *at, size_t left)
{
    return left;
}

static int some_len(const uint8_t *at, size_t left)
{
    return left ? (int)left : -EBADMSG;
}

/* A digest of @len octets; if @len is 0, of any length but 0 */
static int digest_len(size_t len, size_t left)
{
    return (len ? left == len : left > 0) ? (int)left : -EBADMSG;
}

static size_t ds_digest(uint8_t type)
{
    switch (type) {
    case 1:
        return 20;
    case 2:
    case 3:
        return 32;
    case 4:
        return 48;
    default:
        return 0;
    }
}

/* The octet before has the type. */
static int ds_digest_len(const uint8_t *at, size_t left)
{
    return digest_len(ds_digest(at[-1]), left);
}

/* RFC 8976 section 2.2.3: SHA-384 and SHA-512 */
static int zone_digest_len(const uint8_t *at, size_t left)
{
    return digest_len(at[-1] == 1 ? 48 : at[-1] == 2 ? 64 : 0, left);
}

static int wks_len(const uint8_t *at, size_t left)
{
    return left && left <= WKS_MAX ? (int)left : -EBADMSG;
}

static int nxt_len(const uint8_t *at, size_t left)
{
    /* RFC 2535 section 5.2: if bit 0 is set, the bitmap has another format. */
    return !left || (left <= NXT_MAX && !(at[0] & 0x80) && at[left - 1]) ?
           (int)left : -EBADMSG;
}

/* A gateway that is none */
static int no_len(const uint8_t *at, size_t left)
{
    return 0;
}

/* Octets of a field: a number, or what a function finds */
static const struct {
    uint8_t octets;
    int (*of)(const uint8_t *at, size_t left);  /* -EBADMSG: it is none */
} lengths[DNS_FIELD_KINDS] = {
    [DNS_FIELD_NAME_1035] = { .of = name_len },
    [DNS_FIELD_NAME_FOLDED] = { .of = name_len },
    [DNS_FIELD_NAME] = { .of = name_len },
    [DNS_FIELD_NAMES] = { .of = name_len },
    [DNS_FIELD_U8] = { 1 },
    [DNS_FIELD_U16] = { 2 },
    [DNS_FIELD_U32] = { 4 },
    [DNS_FIELD_U64] = { 8 },
    [DNS_FIELD_TTL] = { 4 },
    [DNS_FIELD_TIME] = { 4 },
    [DNS_FIELD_TYPE] = { 2 },
    [DNS_FIELD_ALGORITHM] = { 1 },
    [DNS_FIELD_DIGEST_TYPE] = { 1 },
    [DNS_FIELD_CERT_TYPE] = { 2 },
    [DNS_FIELD_KEY_FLAGS] = { 2 },
    [DNS_FIELD_KEY_PROTOCOL] = { 1 },
    [DNS_FIELD_DSYNC_SCHEME] = { 1 },
    [DNS_FIELD_IPV4] = { 4 },
    [DNS_FIELD_IPV6] = { 16 },
    [DNS_FIELD_EUI48] = { 6 },
    [DNS_FIELD_EUI64] = { 8 },
    [DNS_FIELD_LOCATOR64] = { 8 },
    [DNS_FIELD_STRING] = { .of = string_len },
    [DNS_FIELD_STRING_MAYBE] = { .of = string_len },
    [DNS_FIELD_STRINGS] = { .of = string_len },
    [DNS_FIELD_TAG] = { .of = tag_len },
    [DNS_FIELD_LONG_STRING] = { .of = rest_len },
    [DNS_FIELD_BASE64] = { .of = some_len },
    [DNS_FIELD_BASE64_MAYBE] = { .of = rest_len },
    [DNS_FIELD_BASE64_DASH] = { .of = rest_len },
    [DNS_FIELD_HEX] = { .of = some_len },
    [DNS_FIELD_DS_DIGEST] = { .of = ds_digest_len },
    [DNS_FIELD_ZONE_DIGEST] = { .of = zone_digest_len },
    [DNS_FIELD_SALT] = { .of = string_len },
    [DNS_FIELD_HASH32] = { .of = hash_len },
    [DNS_FIELD_BITMAP] = { .of = dns_field_bitmap },
    [DNS_FIELD_OPAQUE] = { .of = rest_len },
    [DNS_FIELD_LOC] = { .of = dns_field_loc },
    [DNS_FIELD_NSAP] = { .of = some_len },
    [DNS_FIELD_WKS] = { .of = wks_len },
    [DNS_FIELD_NXT_BITMAP] = { .of = nxt_len },
    [DNS_FIELD_APL] = { .of = dns_field_apl },
    [DNS_FIELD_SVC_PARAMS] = { .of = dns_field_svc_params },
    [DNS_FIELD_GATEWAY] = { .of = no_len },
    [DNS_FIELD_RELAY_TYPE] = { 1 },
    [DNS_FIELD_RELAY] = { .of = no_len },
    [DNS_FIELD_HIP] = { .of = dns_field_hip },
    [DNS_FIELD_A6] = { .of = dns_field_a6 },
};

/* --- the next field ------------------------------------------------------- */

static bool is_absent(const DnsFieldCursor *c)
{
    switch (*c->kind) {
    case DNS_FIELD_NAMES:
    case DNS_FIELD_STRING_MAYBE:
        return c->at == c->len;
    case DNS_FIELD_A6_NAME:
        return !c->rdata[0];
    default:
        return false;
    }
}

/* The kind of a field that an earlier field determines; DNS_FIELD_END: none */
static DnsFieldKind depends(unsigned gateway, DnsFieldKind kind)
{
    switch (gateway) {
    case 0:
        return kind;
    case 1:
        return DNS_FIELD_IPV4;
    case 2:
        return DNS_FIELD_IPV6;
    case 3:
        return DNS_FIELD_NAME;
    default:
        return DNS_FIELD_END;
    }
}

static DnsFieldKind kind_of(const DnsFieldCursor *c)
{
    switch (*c->kind) {
    case DNS_FIELD_GATEWAY:
        return depends(c->rdata[1], DNS_FIELD_GATEWAY);
    case DNS_FIELD_RELAY:
        return depends(c->rdata[1] & 0x7f, DNS_FIELD_RELAY);
    case DNS_FIELD_A6_NAME:
        return DNS_FIELD_NAME_FOLDED;
    default:
        return *c->kind;
    }
}

/* Returns: octets of the field at the cursor, or -EBADMSG. */
static int field_len(const DnsFieldCursor *c, DnsFieldKind kind)
{
    size_t left = c->len - c->at, octets = lengths[kind].octets;

    if (octets) {
        return octets <= left ? (int)octets : -EBADMSG;
    }
    return lengths[kind].of ? lengths[kind].of(c->rdata + c->at, left)
                            : -EBADMSG;
}

static bool is_repeated(const DnsFieldCursor *c)
{
    return (*c->kind == DNS_FIELD_NAMES || *c->kind == DNS_FIELD_STRINGS) &&
           c->at < c->len;
}

void dns_fields(DnsFieldCursor *c, uint16_t type, uint16_t rrclass,
                const uint8_t *rdata, size_t len)
{
    *c = (DnsFieldCursor) {
        .rdata = len ? rdata : (const uint8_t *)"",
        .len = len,
        .kind = dns_rrtype(type, rrclass)->fields,
    };
}

int dns_fields_next(DnsFieldCursor *c, DnsField *field)
{
    int len;

    while (is_absent(c)) {
        c->kind++;
    }
    if (*c->kind == DNS_FIELD_END) {
        return c->at == c->len ? 0 : -EBADMSG;
    }
    field->kind = kind_of(c);
    len = field_len(c, field->kind);
    if (len < 0) {
        return len;
    }
    field->start = c->rdata + c->at;
    field->len = len;
    c->at += len;
    c->kind += !is_repeated(c);
    return 1;
}

/* --- whole RDATA ---------------------------------------------------------- */

int dns_rdata_check(uint16_t type, uint16_t rrclass, const uint8_t *rdata,
                    size_t len)
{
    DnsFieldCursor c;
    DnsField field;
    int ret;

    dns_fields(&c, type, rrclass, rdata, len);
    do {
        ret = dns_fields_next(&c, &field);
    } while (ret > 0);
    return ret;
}

static bool is_folded(DnsFieldKind kind)
{
    return kind == DNS_FIELD_NAME_1035 || kind == DNS_FIELD_NAME_FOLDED;
}

int dns_rdata_canonical(uint16_t type, uint16_t rrclass, uint8_t *rdata,
                        size_t len)
{
    DnsFieldCursor c;
    DnsField field;
    int ret;

    dns_fields(&c, type, rrclass, rdata, len);
    while ((ret = dns_fields_next(&c, &field)) > 0) {
        uint8_t *name = rdata + (field.start - rdata);

        /* This is safe for a whole name: its length octets are below 'A'. */
        for (size_t i = 0; is_folded(field.kind) && i < field.len; i++) {
            name[i] = lower(name[i]);
        }
    }
    return ret;
}

static int compare(const uint8_t *a, size_t a_len, const uint8_t *b,
                   size_t b_len)
{
    size_t len = a_len < b_len ? a_len : b_len;
    int ret = len ? memcmp(a, b, len) : 0;

    return ret ? ret : (a_len > b_len) - (a_len < b_len);
}

static int compare_folded(const DnsField *a, const DnsField *b)
{
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        int ret = lower(a->start[i]) - lower(b->start[i]);

        if (ret) {
            return ret;
        }
    }
    return 0;
}

/*
 * A field is never a prefix of another field of its kind, unless it extends to
 * the end of RDATA.  So the first fields that differ decide the order, and all
 * fields before them have the same length.
 */
int dns_rdata_compare(uint16_t type, uint16_t rrclass, const uint8_t *a,
                      size_t a_len, const uint8_t *b, size_t b_len)
{
    DnsFieldCursor a_at, b_at;
    size_t at = 0;

    dns_fields(&a_at, type, rrclass, a, a_len);
    dns_fields(&b_at, type, rrclass, b, b_len);
    for (;;) {
        DnsField a_field, b_field;
        int a_ret = dns_fields_next(&a_at, &a_field);
        int b_ret = dns_fields_next(&b_at, &b_field);
        int ret;

        if (a_ret <= 0 || b_ret <= 0) {
            return compare(a + at, a_len - at, b + at, b_len - at);
        }
        ret = is_folded(a_field.kind) && is_folded(b_field.kind) ?
              compare_folded(&a_field, &b_field) :
              compare(a_field.start, a_field.len, b_field.start, b_field.len);
        if (ret) {
            return ret;
        }
        at = a_at.at;
    }
}
