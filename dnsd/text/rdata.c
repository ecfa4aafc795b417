/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA, read from text
 *
 * Theory of operation
 *
 * The layout of the type lists the fields.  Each field reads its tokens, with
 * one token of look-ahead, and the record must end behind the last field.  Then
 * RDATA is checked like RDATA from the network, so text cannot produce RDATA
 * that a secondary refuses.
 */
#include <errno.h>
#include <string.h>

#include "dnsd/text/codes.h"
#include "dnsd/text/number.h"
#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/rdata.h"
#include "dnsd/text/types.h"

/* RFC 3597 section 5: "\\# LENGTH HEX..." */
static int read_generic(DnsRdataReader *r)
{
    DnsDecoder d = { .code = DNS_CODE_HEX };
    int64_t len;

    dns_reader_next(r);
    if (dns_reader_word(r, "the number of octets")) {
        return -EINVAL;
    }
    len = dns_number_parse(r->token.text, r->token.len, DNS_RDATA_MAX);
    if (len < 0) {
        return dns_reader_wrong(r, "number of octets from 0 to 65535");
    }
    dns_reader_next(r);
    while (!dns_reader_is_end(r)) {
        if (dns_read_digits(r, &d, "hex")) {
            return -EINVAL;
        }
        dns_reader_next(r);
    }
    if (!dns_decode_end(&d) || r->len != (size_t)len) {
        return dns_fault(r->lex, r->token.text, "\\# says %u octets, but "
                         "there are %zu%s", (unsigned)len, r->len,
                         dns_decode_end(&d) ? "" : " and a half");
    }
    return 0;
}

/* In a type of strings it is one of them, unless a number follows. */
static bool is_generic(const DnsRdataReader *r)
{
    DnsLex ahead = *r->lex;
    DnsToken token;

    if (r->token.kind != DNS_TOKEN_WORD || r->token.len != 2 ||
        memcmp(r->token.text, "\\#", 2)) {
        return false;
    }
    if (r->type->fields[0] != DNS_FIELD_STRINGS) {
        return true;
    }
    dns_lex_next(&ahead, &token);
    return token.kind == DNS_TOKEN_WORD &&
           dns_number_parse(token.text, token.len, DNS_RDATA_MAX) >= 0;
}

static int read_fields(DnsRdataReader *r)
{
    for (const uint8_t *kind = r->type->fields; *kind; kind++) {
        if (dns_read_field(r, *kind)) {
            return -EINVAL;
        }
    }
    switch (r->token.kind) {
    case DNS_TOKEN_END:
        return 0;
    case DNS_TOKEN_BAD:
        return -EINVAL;
    default:
        return dns_token_fault(r->lex, &r->token, "is too much: the %s record "
                               "is whole before it", r->type_name);
    }
}

/* Fields of these types need no check after they were read. */
static bool is_simple(const DnsRrType *type)
{
    switch (type->type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
    case DNS_TYPE_NS:
        return true;
    default:
        return false;
    }
}

/* The reason why fields that are valid alone do not fit together */
static const char *misfit(const DnsRrType *type)
{
    switch (type->type) {
    case DNS_TYPE_CAA:
        return "the tag has letters and digits only, and one at least";
    case DNS_TYPE_SVCB:
    case DNS_TYPE_HTTPS:
        return "no value is empty, mandatory names keys that are there, and "
               "no-default-alpn is beside alpn";
    default:
        break;
    }
    for (const uint8_t *kind = type->fields; *kind; kind++) {
        if (*kind == DNS_FIELD_DS_DIGEST) {
            return "a digest of type 1 has 20 octets, of 2 32, and of 4 48";
        }
        if (*kind == DNS_FIELD_ZONE_DIGEST) {
            return "a digest of algorithm 1 has 48 octets, and of 2 64";
        }
    }
    return "its parts do not fit together";
}

int dns_rdata_read(DnsLex *lex, const DnsRdataText *how, uint8_t *rdata)
{
    char name[DNS_MNEMONIC_MAX];
    const DnsRrType *type = dns_rrtype(how->type, how->rrclass);
    DnsRdataReader r = {
        .lex = lex, .origin = how->origin, .out = rdata, .type = type,
        .type_name = type->name[0] ? type->name : name,
        .has_pairs = type->fields[2] == DNS_FIELD_SVC_PARAMS,
    };
    bool generic;

    if (!type->name[0]) {
        dns_type_to_text(how->type, name);
    }
    dns_reader_next(&r);
    generic = is_generic(&r);
    if (generic ? read_generic(&r) : read_fields(&r)) {
        return -EINVAL;
    }
    if ((generic || !is_simple(type)) &&
        dns_rdata_check(how->type, how->rrclass, rdata, r.len)) {
        return dns_fault(lex, r.token.text, "that is no data of type %s: %s",
                         r.type_name, misfit(type));
    }
    return r.len;
}

int dns_rdata_from_text(const DnsRdataText *how, const char *text, size_t len,
                        uint8_t *rdata, DnsFault *fault)
{
    DnsLex lex;
    int ret;

    fault->line = 0;
    dns_lex_init(&lex, text, len, 1, fault);
    ret = dns_rdata_read(&lex, how, rdata);
    if (ret >= 0 && dns_lex_begin(&lex)) {
        return dns_fault(&lex, lex.at, "the data of one record is one line");
    }
    return ret;
}
