/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * $GENERATE RANGE LHS [TTL] [CLASS] TYPE RHS: a record for each number, as
 * BIND's manual defines it
 *
 * "$" is replaced by the number, "${OFFSET,WIDTH,BASE}" by the number in
 * another form; "$$" and "\$" are a dollar sign.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dnsd/text/master-internal.h"
#include "dnsd/text/name.h"
#include "dnsd/text/number.h"

#define WIDTH_MAX   255
#define NIBBLE_TEXT "0123456789abcdef"

typedef struct Range {
    uint32_t first;
    uint32_t last;
    uint32_t step;
} Range;

typedef struct Form {
    int64_t offset;
    unsigned width;
    char base;
} Form;

/* The buffer in which the text of one record is made */
typedef struct Text {
    char *to;
    char *end;
} Text;

/* --- numbers ------------------------------------------------------------- */

static void put(Text *text, char c)
{
    if (text->to < text->end) {
        *text->to = c;
    }
    /* One octet behind the end means that there was no room. */
    text->to += text->to <= text->end;
}

static void put_text(Text *text, const char *from)
{
    while (*from) {
        put(text, *from++);
    }
}

/* Put labels of one nibble, the lowest first: for ip6.arpa. */
static void put_nibbles(Text *text, uint32_t value, unsigned width, bool upper)
{
    do {
        char c = NIBBLE_TEXT[value & 0xf];

        put(text, upper && c >= 'a' ? c & ~0x20 : c);
        value >>= 4;
        width -= width > 0;
        if (width || value) {
            put(text, '.');
            width -= width > 0;
        }
    } while (width || value);
}

static void put_number(Text *text, const Form *form, int64_t value)
{
    char buf[WIDTH_MAX + 16];
    int width = form->width;

    switch (form->base) {
    case 'n':
    case 'N':
        put_nibbles(text, value, form->width, form->base == 'N');
        return;
    case 'o':
        snprintf(buf, sizeof(buf), "%0*o", width, (unsigned)value);
        break;
    case 'x':
        snprintf(buf, sizeof(buf), "%0*x", width, (unsigned)value);
        break;
    case 'X':
        snprintf(buf, sizeof(buf), "%0*X", width, (unsigned)value);
        break;
    default:
        snprintf(buf, sizeof(buf), "%0*d", width, (int)value);
        break;
    }
    put_text(text, buf);
}

/* --- templates ----------------------------------------------------------- */

/* Read a part of {OFFSET,WIDTH,BASE}, up to "," or the end; may be signed. */
static bool form_number(const char **at, const char *end, int64_t *number)
{
    const char *start = *at, *comma = memchr(start, ',', end - start);
    bool is_minus = start < end && *start == '-';
    int64_t value;

    start += is_minus || (start < end && *start == '+');
    end = comma ? comma : end;
    value = dns_number_parse(start, end - start, INT32_MAX);
    *at = end;
    *number = is_minus ? -value : value;
    return value >= 0;
}

static bool parse_form(const char *at, const char *end, Form *form)
{
    int64_t width = 0;

    *form = (Form) { .base = 'd' };
    if (!form_number(&at, end, &form->offset)) {
        return false;
    }
    if (at < end) {
        at++;
        if (!form_number(&at, end, &width) || width < 0 || width > WIDTH_MAX) {
            return false;
        }
        form->width = width;
    }
    if (at < end) {
        if (end - at != 2 || !strchr("doxXnN", at[1])) {
            return false;
        }
        form->base = at[1];
        at += 2;
    }
    return at == end;
}

/* Put the value for a "$".  Returns: the text behind it, or NULL. */
static const char *put_dollar(Text *text, const char *at, const char *end,
                              uint32_t number)
{
    Form form = { .base = 'd' };
    const char *close;
    int64_t value;

    if (at < end && *at == '$') {
        put(text, '$');
        return at + 1;
    }
    if (at < end && *at == '{') {
        close = memchr(at, '}', end - at);
        if (!close || !parse_form(at + 1, close, &form)) {
            return NULL;
        }
        at = close + 1;
    }
    value = number + form.offset;
    if (value > INT32_MAX) {
        return NULL;
    }
    put_number(text, &form, value);
    return at;
}

/* Returns: octets that were made, or -EINVAL. */
static int expand(DnsMasterReader *r, DnsLex *lex, const DnsToken *token,
                  uint32_t number)
{
    const char *at = token->text, *end = at + token->len;
    Text text = { r->generated, r->generated + sizeof(r->generated) };
    bool is_quoted = token->kind == DNS_TOKEN_STRING;

    while (at && at < end) {
        char c = *at++;

        if (c == '$') {
            at = put_dollar(&text, at, end, number);
            continue;
        }
        /* In a quoted string \" is a quote of the data. */
        if (c != '\\' || at == end || *at != '"' || !is_quoted) {
            put(&text, c);
        }
        if (c == '\\' && at < end) {
            put(&text, *at++);
        }
    }
    if (!at) {
        return dns_token_fault(lex, token, "has a wrong form of the number: "
            "${OFFSET,WIDTH,BASE} with BASE one of d o x X n N, the number at "
            "most 2147483647 and WIDTH at most 255");
    }
    if (text.to > text.end) {
        return dns_token_fault(lex, token, "makes more than 65535 octets");
    }
    return text.to - r->generated;
}

/* --- records ------------------------------------------------------------- */

static int parse_range(DnsLex *lex, const DnsToken *token, Range *range)
{
    const char *end = token->text + token->len;
    const char *dash = memchr(token->text, '-', token->len);
    const char *slash = memchr(token->text, '/', token->len);
    const char *last_end = slash ? slash : end;
    int64_t first = -1, last = -1, step = 1;

    if (token->kind == DNS_TOKEN_WORD && dash && dash < last_end) {
        first = dns_number_parse(token->text, dash - token->text, INT32_MAX);
        last = dns_number_parse(dash + 1, last_end - dash - 1, INT32_MAX);
    }
    if (slash) {
        step = dns_number_parse(slash + 1, end - slash - 1, INT32_MAX);
    }
    if (first < 0 || last < first || step < 1) {
        return dns_token_fault(lex, token, "is no range: FIRST-LAST or "
                               "FIRST-LAST/STEP, up to 2147483647");
    }
    if ((last - first) / step >= DNS_MASTER_GENERATE_MAX) {
        return dns_token_fault(lex, token, "is a range of more than %u "
                               "numbers", DNS_MASTER_GENERATE_MAX);
    }
    *range = (Range) { first, last, step };
    return 0;
}

/*
 * A lexer of the generated text.  It reports faults at the line of $GENERATE.
 */
static DnsLex lex_made(DnsMasterReader *r, const DnsLex *lex, int len)
{
    DnsLex made;

    dns_lex_init(&made, r->generated, len, lex->line, &r->fault);
    return made;
}

static int make_owner(DnsMasterReader *r, DnsLex *lex, const DnsToken *lhs,
                      uint32_t number)
{
    int len = expand(r, lex, lhs, number);
    DnsToken token;
    DnsLex made;

    if (len < 0) {
        return len;
    }
    made = lex_made(r, lex, len);
    dns_lex_next(&made, &token);
    if (token.kind != DNS_TOKEN_WORD || token.len != (uint32_t)len) {
        return dns_token_fault(lex, lhs, "makes no domain name");
    }
    return dns_name_read(&made, &token, &r->state->origin, &r->name);
}

static int make_record(DnsMasterReader *r, DnsLex *lex, const DnsToken *rhs,
                       const DnsMasterHead *head, uint32_t number)
{
    const DnsRdataText how = {
        .type = head->type, .rrclass = r->options->rrclass,
        .origin = &r->state->origin,
    };
    int len = expand(r, lex, rhs, number);
    DnsLex made;

    if (len < 0) {
        return len;
    }
    made = lex_made(r, lex, len);
    len = dns_rdata_read(&made, &how, r->rdata);
    return len < 0 ? len : dns_master_emit(r, &r->name, head, len, lex->line);
}

static int make_all(DnsMasterReader *r, DnsLex *lex, const Range *range,
                    const DnsToken *lhs, const DnsToken *rhs,
                    const DnsMasterHead *head)
{
    for (uint64_t i = range->first; i <= range->last; i += range->step) {
        int ret = make_owner(r, lex, lhs, i);

        ret = ret ? ret : make_record(r, lex, rhs, head, i);
        if (ret) {
            /*
             * The column refers to the generated text, so it is useless to the
             * user.
             */
            r->fault.column = 0;
            return ret;
        }
    }
    return 0;
}

int dns_master_generate(DnsMasterReader *r, DnsLex *lex)
{
    DnsToken token, lhs, rhs;
    Range range = { 0 };
    DnsMasterHead head;
    int ret;

    dns_lex_next(lex, &token);
    if (token.kind == DNS_TOKEN_BAD || parse_range(lex, &token, &range)) {
        return -EINVAL;
    }
    dns_lex_next(lex, &lhs);
    dns_lex_next(lex, &token);
    ret = dns_master_head(r, lex, &token, &head);
    if (ret) {
        return ret;
    }
    dns_lex_next(lex, &rhs);
    dns_lex_next(lex, &token);
    if (lex->starved || rhs.kind == DNS_TOKEN_BAD) {
        return -EINVAL;
    }
    if (rhs.kind == DNS_TOKEN_END || token.kind != DNS_TOKEN_END) {
        return dns_token_fault(lex, &token, "is not where the line should "
            "end: the data of $GENERATE is one word, or in quotes");
    }
    return make_all(r, lex, &range, &lhs, &rhs, &head);
}
