/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places where a master file can be cut, so that several threads read it */
#include <stdlib.h>

#include "dnsd/text/master-internal.h"
#include "dnsd/text/number.h"
#include "dnsd/text/master.h"

static int ignore_record(void *opaque, const DnsMasterRecord *record)
{
    return 0;
}

static bool ignore_error(void *opaque, const DnsMasterError *error)
{
    return true;
}

static const DnsMasterOps ignoring = {
    .record = ignore_record, .error = ignore_error,
};

/* The text of the first record may be of any form, so it is parsed. */
static bool read_first(const DnsMasterOptions *options, DnsMasterState *state,
                       DnsLex *lex)
{
    DnsMasterReader *r = calloc(1, sizeof(*r));

    if (!r) {
        return false;
    }
    r->ops = &ignoring;
    r->options = options;
    r->state = state;
    lex->fault = &r->fault;
    dns_master_line(r, lex);
    free(r);
    return true;
}

/* $INCLUDE and $GENERATE are not executed, as they produce records. */
static void read_directive(DnsMasterState *state, DnsLex *lex)
{
    DnsFault fault = { 0 };
    DnsToken token;
    uint32_t ttl;

    lex->fault = &fault;
    dns_lex_next(lex, &token);
    if (dns_token_is(&token, "$ORIGIN")) {
        dns_master_origin(lex, state);
    } else if (dns_token_is(&token, "$INCLUDE")) {
        state->is_open = true;
    } else if (dns_token_is(&token, "$TTL") && !dns_master_ttl(lex, &ttl)) {
        state->has_default_ttl = true;
        state->default_ttl = ttl > DNS_TTL_MAX ? 0 : ttl;
        state->is_open = false;
    }
}

/* In OWNER TTL or OWNER CLASS TTL, a number at that place is a TTL. */
static bool states_ttl(const DnsLex *lex)
{
    DnsFault fault = { 0 };
    DnsLex ahead = *lex;

    ahead.fault = &fault;
    for (int i = 0; i < 3; i++) {
        DnsToken token;

        dns_lex_next(&ahead, &token);
        if (token.kind != DNS_TOKEN_WORD) {
            return false;
        }
        if (i && dns_ttl_parse(token.text, token.len) >= 0) {
            return true;
        }
    }
    return false;
}

static bool states_owner(const DnsLex *lex)
{
    switch (*lex->at) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case ';':
    case '(':
    case ')':
    case '"':
    case '$':
        return false;
    default:
        return true;
    }
}

static bool knows_ttl(const DnsMasterState *state)
{
    return state->has_default_ttl || state->has_last_ttl;
}

static bool may_begin(const DnsMasterState *state, const DnsLex *lex)
{
    return states_owner(lex) && knows_ttl(state) && !state->is_open &&
           (state->has_default_ttl || states_ttl(lex));
}

size_t dns_master_split(const DnsMasterOptions *options,
                        DnsMasterState *state, const char *text, size_t len,
                        size_t at_least)
{
    DnsFault unused = { 0 };
    bool goes_on = len;
    size_t found = len;
    DnsLex lex;

    dns_lex_init(&lex, text, len, state->line, &unused);
    while (goes_on) {
        lex.fault = &unused;
        if ((size_t)(lex.at - text) >= at_least && may_begin(state, &lex)) {
            found = lex.at - text;
            break;
        }
        if (*lex.at == '$') {
            read_directive(state, &lex);
        } else if (!knows_ttl(state) && !read_first(options, state, &lex)) {
            break;
        }
        lex.fault = &unused;
        dns_lex_skip(&lex);
        goes_on = dns_lex_begin(&lex);
    }
    state->line = lex.line;
    state->has_owner = false;
    return found;
}
