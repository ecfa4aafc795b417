/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens of a master file */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dnsd/text/lex.h"

#define SHOWN_MAX   60          /* octets of a token in a message */
#define BOM         "\xef\xbb\xbf"
#define BOM_LEN     3

enum {
    BLANK = 1,
    LINE = 2,
    SPECIAL = 4,                /* ends a word, and is not one itself */
    ESCAPE = 8,
};

static const uint8_t class[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK,
    ['\n'] = LINE,
    ['('] = SPECIAL, [')'] = SPECIAL, ['"'] = SPECIAL, [';'] = SPECIAL,
    ['\\'] = ESCAPE,
};

static uint8_t class_of(const char *at)
{
    return class[(uint8_t)*at];
}

void dns_lex_init(DnsLex *lex, const char *text, size_t len, uint64_t line,
                  DnsFault *fault)
{
    text = text ? text : "";
    *lex = (DnsLex) {
        .at = text, .end = text + len, .line_start = text, .line = line,
        .fault = fault,
    };
    if (line == 1 && len >= BOM_LEN && !memcmp(text, BOM, BOM_LEN)) {
        lex->at = lex->line_start = text + BOM_LEN;
    }
}

bool dns_lex_is_blank(const DnsLex *lex)
{
    return lex->at < lex->end && class_of(lex->at) == BLANK;
}

/* --- faults -------------------------------------------------------------- */

/* Show octets that a terminal would interpret as dots. */
static void make_printable(char *text)
{
    for (; *text; text++) {
        *text = *text < ' ' || *text > '~' ? '.' : *text;
    }
}

static int put_fault(DnsLex *lex, const char *at, const char *before,
                     const char *format, va_list args)
{
    DnsFault *fault = lex->fault;
    size_t len;

    if (!fault->line) {
        fault->line = lex->line;
        fault->column = at >= lex->line_start ? at - lex->line_start + 1 : 1;
        len = snprintf(fault->text, sizeof(fault->text), "%s", before);
        vsnprintf(fault->text + len, sizeof(fault->text) - len, format, args);
        make_printable(fault->text);
    }
    return -EINVAL;
}

int dns_fault(DnsLex *lex, const char *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_fault(lex, at, "", format, args);
    va_end(args);
    return -EINVAL;
}

int dns_token_fault(DnsLex *lex, const DnsToken *token, const char *format,
                    ...)
{
    char before[SHOWN_MAX + 8];
    int len = token->len < SHOWN_MAX ? token->len : SHOWN_MAX;
    const char *quote = token->kind == DNS_TOKEN_STRING ? "\"" : "";
    va_list args;

    snprintf(before, sizeof(before), "%s%.*s%s%s ", quote, len,
             token->len ? token->text : "", len < (int)token->len ? "..." : "",
             quote);
    va_start(args, format);
    put_fault(lex, token->text, before, format, args);
    va_end(args);
    return -EINVAL;
}

/* --- tokens -------------------------------------------------------------- */

static void next_line(DnsLex *lex)
{
    lex->at++;
    lex->line++;
    lex->line_start = lex->at;
}

static void to_line_end(DnsLex *lex)
{
    const char *end = memchr(lex->at, '\n', lex->end - lex->at);

    lex->at = end ? end : lex->end;
}

/* The text ends: for good, or until more is read. */
static void take_end(DnsLex *lex, DnsToken *token)
{
    if (lex->has_more) {
        lex->starved = true;
        token->kind = DNS_TOKEN_BAD;
    } else if (lex->depth) {
        dns_fault(lex, lex->at, "nothing closes this (: the file ends first");
        lex->fault->line = lex->open.line;
        lex->fault->column = lex->open.column;
        token->kind = DNS_TOKEN_BAD;
    } else {
        token->kind = DNS_TOKEN_END;
    }
    token->text = lex->at;
    token->len = 0;
    lex->at_end = true;
}

/* Find the end of a quoted string, behind its quote; NULL if there is none. */
static const char *quote_end(const char *at, const char *end, bool *has_escape)
{
    while (at < end && *at != '"' && *at != '\n') {
        bool is_escape = *at == '\\' && end - at > 1 && at[1] != '\n';

        *has_escape |= *at == '\\';
        at += 1 + is_escape;
    }
    return at < end && *at == '"' ? at + 1 : NULL;
}

static void take_string(DnsLex *lex, DnsToken *token)
{
    const char *end;

    token->kind = DNS_TOKEN_STRING;
    token->has_escape = false;
    end = quote_end(lex->at + 1, lex->end, &token->has_escape);
    if (end) {
        token->text = lex->at + 1;
        token->len = end - lex->at - 2;
        lex->at = end;
        return;
    }
    token->kind = DNS_TOKEN_BAD;
    token->text = lex->at;
    token->len = 0;
    if (lex->has_more && !memchr(lex->at, '\n', lex->end - lex->at)) {
        lex->starved = true;
    } else {
        dns_fault(lex, lex->at, "a \" is missing: what this one opens must "
                  "be closed on the same line");
    }
}

static void take_word(DnsLex *lex, DnsToken *token, bool is_pair)
{
    const char *at = lex->at, *end = lex->end;

    token->kind = DNS_TOKEN_WORD;
    token->text = at;
    token->has_escape = false;
    for (; at < end; at++) {
        uint8_t c = class_of(at);

        if (!c) {
            continue;
        }
        if (c == ESCAPE) {
            token->has_escape = true;
            at += at + 1 < end && at[1] != '\n';
        } else if (is_pair && *at == '"' && at > token->text &&
                   at[-1] == '=') {
            const char *behind = quote_end(at + 1, end, &token->has_escape);

            if (!behind) {
                lex->at = at;
                take_string(lex, token);
                return;
            }
            at = behind - 1;
        } else {
            break;
        }
    }
    token->len = at - token->text;
    lex->at = at;
    if (at == end && lex->has_more) {
        lex->starved = true;
        token->kind = DNS_TOKEN_BAD;
    }
}

/* Skip parentheses and comments; false: here is a token or a fault. */
static bool pass_special(DnsLex *lex)
{
    switch (*lex->at) {
    case ';':
        to_line_end(lex);
        return true;
    case '(':
        if (!lex->depth++) {
            lex->open.line = lex->line;
            lex->open.column = lex->at - lex->line_start + 1;
        }
        lex->at++;
        return true;
    case ')':
        if (!lex->depth) {
            return false;
        }
        lex->depth--;
        lex->at++;
        return true;
    default:
        return false;
    }
}

static void take_special(DnsLex *lex, DnsToken *token)
{
    if (*lex->at == '"') {
        take_string(lex, token);
        return;
    }
    dns_fault(lex, lex->at, "a ) without a ( before it");
    token->kind = DNS_TOKEN_BAD;
    token->text = lex->at;
    token->len = 0;
}

static void next_token(DnsLex *lex, DnsToken *token, bool is_pair)
{
    while (lex->at < lex->end) {
        switch (class_of(lex->at)) {
        case BLANK:
            lex->at++;
            break;
        case LINE:
            if (!lex->depth) {
                token->kind = DNS_TOKEN_END;
                token->text = lex->at;
                token->len = 0;
                lex->at_end = true;
                return;
            }
            next_line(lex);
            break;
        case SPECIAL:
            if (!pass_special(lex)) {
                take_special(lex, token);
                return;
            }
            break;
        default:
            take_word(lex, token, is_pair);
            return;
        }
    }
    take_end(lex, token);
}

void dns_lex_next(DnsLex *lex, DnsToken *token)
{
    next_token(lex, token, false);
}

void dns_lex_next_pair(DnsLex *lex, DnsToken *token)
{
    next_token(lex, token, true);
}

bool dns_lex_begin(DnsLex *lex)
{
    lex->at_end = false;
    lex->depth = 0;
    if (lex->at < lex->end && *lex->at == '\n') {
        next_line(lex);
    }
    return lex->at < lex->end;
}

static void pass_quoted(DnsLex *lex)
{
    bool has_escape = false;
    const char *end = quote_end(lex->at + 1, lex->end, &has_escape);

    if (end) {
        lex->at = end;
    } else {
        to_line_end(lex);
    }
}

/* Is one of eight octets @c? */
static bool has_octet(uint64_t octets, char c)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t differ = octets ^ (uint8_t)c * ones;

    return (differ - ones) & ~differ & 0x80 * ones;
}

/* Is one of eight octets in a class but BLANK?  ( and ) differ in bit 0. */
static bool may_have_class(const char *at)
{
    uint64_t octets;

    memcpy(&octets, at, sizeof(octets));
    return has_octet(octets, '\n') || has_octet(octets, '"') ||
           has_octet(octets, ';') || has_octet(octets, '\\') ||
           has_octet(octets & ~UINT64_C(0x0101010101010101), '(');
}

/*
 * Skip octets that neither end a line nor begin another token, eight at a time
 * as long as there are eight.
 */
static void pass_plain(DnsLex *lex)
{
    const char *at = lex->at, *end = lex->end;

    while (end - at >= 8 && !may_have_class(at)) {
        at += 8;
    }
    while (at < end && !(class_of(at) & ~BLANK)) {
        at++;
    }
    lex->at = at;
}

void dns_lex_skip(DnsLex *lex)
{
    for (pass_plain(lex); lex->at < lex->end; pass_plain(lex)) {
        switch (class_of(lex->at)) {
        case LINE:
            if (!lex->depth) {
                lex->at_end = true;
                return;
            }
            next_line(lex);
            break;
        case ESCAPE:
            lex->at += 1 + (lex->end - lex->at > 1 && lex->at[1] != '\n');
            break;
        case SPECIAL:
            if (*lex->at == '"') {
                pass_quoted(lex);
            } else {
                lex->at += !pass_special(lex);
            }
            break;
        }
    }
    lex->at_end = true;
    lex->starved |= lex->has_more;
}

/* --- values of a token ---------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int dns_lex_octet(const char **at, const char *end, bool *escaped)
{
    const char *p = *at;
    int value;

    *escaped = *p == '\\';
    if (!*escaped) {
        *at = p + 1;
        return (uint8_t)*p;
    }
    p++;
    if (p == end) {
        return -EINVAL;
    }
    if (!is_digit(*p)) {
        *at = p + 1;
        return (uint8_t)*p;
    }
    if (end - p < 3 || !is_digit(p[1]) || !is_digit(p[2])) {
        return -EINVAL;
    }
    value = (p[0] - '0') * 100 + (p[1] - '0') * 10 + p[2] - '0';
    *at = p + 3;
    return value <= UINT8_MAX ? value : -EINVAL;
}

bool dns_token_is(const DnsToken *token, const char *word)
{
    if (token->kind != DNS_TOKEN_WORD) {
        return false;
    }
    for (uint32_t i = 0; i < token->len; i++) {
        uint8_t c = token->text[i], w = word[i];

        c = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
        w = w >= 'A' && w <= 'Z' ? w | 0x20 : w;
        if (!w || c != w) {
            return false;
        }
    }
    return !word[token->len];
}
