/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a master file: each is a record or a directive */
#include <errno.h>
#include <string.h>

#include "dnsd/text/master-internal.h"
#include "dnsd/text/name.h"
#include "dnsd/text/number.h"

/* --- directives ---------------------------------------------------------- */

static int expect_word(DnsLex *lex, DnsToken *token, const char *what)
{
    dns_lex_next(lex, token);
    if (token->kind == DNS_TOKEN_END) {
        return dns_fault(lex, token->text, "%s must follow", what);
    }
    if (token->kind == DNS_TOKEN_STRING) {
        return dns_token_fault(lex, token, "is in quotes, but %s is not",
                               what);
    }
    return token->kind == DNS_TOKEN_BAD ? -EINVAL : 0;
}

static int expect_end(DnsLex *lex)
{
    DnsToken token;

    dns_lex_next(lex, &token);
    return token.kind == DNS_TOKEN_END ? 0 :
           dns_token_fault(lex, &token, "is too much: the directive is whole "
                           "before it");
}

int dns_master_origin(DnsLex *lex, DnsMasterState *state)
{
    DnsToken token;
    DnsName name;

    if (expect_word(lex, &token, "a domain name") ||
        dns_name_read(lex, &token, &state->origin, &name) ||
        expect_end(lex)) {
        return -EINVAL;
    }
    state->origin = name;
    return 0;
}

int dns_master_ttl(DnsLex *lex, uint32_t *ttl)
{
    DnsToken token;
    int64_t value;

    if (expect_word(lex, &token, "a TTL")) {
        return -EINVAL;
    }
    value = dns_ttl_parse(token.text, token.len);
    if (value < 0) {
        return dns_token_fault(lex, &token, "is no TTL: seconds up to "
                               "2147483647, or units as in 1h30m");
    }
    *ttl = value;
    return expect_end(lex);
}

static int read_ttl(DnsMasterReader *r, DnsLex *lex)
{
    uint32_t ttl = 0;
    int ret = dns_master_ttl(lex, &ttl);

    ret = ret ? ret : dns_master_limit_ttl(r, lex->line, &ttl);
    if (!ret) {
        r->state->has_default_ttl = true;
        r->state->default_ttl = ttl;
        r->state->is_open = false;
    }
    return ret;
}

/*
 * $INCLUDE FILE [ORIGIN]: note the file, which the caller of the lines reads.
 */
static int read_include(DnsMasterReader *r, DnsLex *lex)
{
    DnsToken file, token;

    dns_lex_next(lex, &file);
    if (file.kind == DNS_TOKEN_BAD) {
        return -EINVAL;
    }
    if (!file.len) {
        return dns_fault(lex, file.text, "the name of a file must follow");
    }
    if (file.len >= sizeof(r->include) || memchr(file.text, 0, file.len)) {
        return dns_token_fault(lex, &file, "is no name of a file");
    }
    dns_lex_next(lex, &token);
    r->include_origin = r->state->origin;
    if (token.kind != DNS_TOKEN_END) {
        if (token.kind != DNS_TOKEN_WORD ||
            dns_name_read(lex, &token, &r->state->origin,
                          &r->include_origin) || expect_end(lex)) {
            return dns_token_fault(lex, &token, "must be a domain name: "
                                   "$INCLUDE FILE [ORIGIN]");
        }
    }
    if (!lex->starved) {
        memcpy(r->include, file.text, file.len);
        r->include[file.len] = 0;
    }
    return 0;
}

static int read_directive(DnsMasterReader *r, DnsLex *lex,
                          const DnsToken *token)
{
    if (dns_token_is(token, "$ORIGIN")) {
        return dns_master_origin(lex, r->state);
    }
    if (dns_token_is(token, "$TTL")) {
        return read_ttl(r, lex);
    }
    if (dns_token_is(token, "$INCLUDE")) {
        return read_include(r, lex);
    }
    if (dns_token_is(token, "$GENERATE")) {
        return dns_master_generate(r, lex);
    }
    return dns_token_fault(lex, token, "is no directive: $ORIGIN, $TTL, "
                           "$INCLUDE or $GENERATE");
}

/* --- records ------------------------------------------------------------- */

static void set_owner(DnsMasterState *state, const DnsName *name)
{
    state->owner.len = name->len;
    state->owner.labels = name->labels;
    memcpy(state->owner.wire, name->wire, name->len);
    state->has_owner = true;
}

static int read_owner(DnsMasterReader *r, DnsLex *lex, const DnsToken *token)
{
    if (token->kind == DNS_TOKEN_STRING) {
        return dns_token_fault(lex, token, "is in quotes, but the owner of a "
                               "record is not");
    }
    if (token->kind == DNS_TOKEN_BAD ||
        dns_name_read(lex, token, &r->state->origin, &r->name)) {
        r->owner_is_bad = true;
        return -EINVAL;
    }
    r->owner_is_bad = false;
    set_owner(r->state, &r->name);
    return 0;
}

static int read_record(DnsMasterReader *r, DnsLex *lex, DnsToken *token,
                       uint64_t line)
{
    DnsRdataText how = {
        .rrclass = r->options->rrclass, .origin = &r->state->origin,
    };
    DnsMasterHead head;
    int ret = dns_master_head(r, lex, token, &head);

    if (ret) {
        return ret;
    }
    how.type = head.type;
    ret = dns_rdata_read(lex, &how, r->rdata);
    return ret < 0 ? ret : dns_master_emit(r, &r->state->owner, &head, ret,
                                           line);
}

int dns_master_line(DnsMasterReader *r, DnsLex *lex)
{
    bool has_owner = !dns_lex_is_blank(lex);
    uint64_t line = lex->line;
    DnsToken token;

    dns_lex_next(lex, &token);
    if (token.kind == DNS_TOKEN_END) {
        return 0;
    }
    if (has_owner && token.kind == DNS_TOKEN_WORD && *token.text == '$') {
        return read_directive(r, lex, &token);
    }
    if (has_owner) {
        if (read_owner(r, lex, &token)) {
            return -EINVAL;
        }
        dns_lex_next(lex, &token);
    } else if (r->owner_is_bad) {
        dns_lex_skip(lex);
        return 0;
    } else if (!r->state->has_owner) {
        return dns_token_fault(lex, &token, "begins a record without an "
                               "owner, and there is none before it: @ is the "
                               "origin");
    }
    return read_record(r, lex, &token, line);
}
