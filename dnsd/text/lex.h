/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens of a master file, RFC 1035 section 5.1
 *
 * A token points into the text: it is not copied, and its escapes are not
 * resolved.  Blanks, comments, and line ends within parentheses separate
 * tokens.
 */
#ifndef DNSD_TEXT_LEX_H
#define DNSD_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_FAULT_MAX   320     /* octets of a message with its NUL */

typedef enum DnsTokenKind {
    DNS_TOKEN_WORD,
    DNS_TOKEN_STRING,           /* was in quotes, which it does not include */
    DNS_TOKEN_END,              /* end of the record: of a line, or the text */
    DNS_TOKEN_BAD,              /* the fault of the lexer has the reason */
} DnsTokenKind;

typedef struct DnsToken {
    DnsTokenKind kind;
    bool has_escape;            /* it contains a backslash */
    uint32_t len;
    const char *text;           /* not terminated */
} DnsToken;

/* A fault in a text, and its place */
typedef struct DnsFault {
    uint64_t line;              /* from 1; 0: there is no fault */
    uint32_t column;            /* from 1, in octets */
    char text[DNS_FAULT_MAX];   /* graphic ASCII and blanks only */
} DnsFault;

typedef struct DnsLexPlace {
    uint64_t line;
    uint32_t column;
} DnsLexPlace;

/* The state of a lexer; the text must outlive it */
typedef struct DnsLex {
    const char *at;
    const char *end;
    const char *line_start;
    uint64_t line;              /* the line of @at, from 1 */
    unsigned depth;             /* of parentheses */
    DnsLexPlace open;           /* the outermost parenthesis */
    bool at_end;                /* the last token was DNS_TOKEN_END */
    /*
     * More text follows behind @end.  If a record is not complete before @end,
     * the lexer becomes @starved, and the tokens of that record are invalid.
     */
    bool has_more;
    bool starved;
    DnsFault *fault;
} DnsLex;

/**
 * dns_lex_init: start at the beginning of a line, whose number is @line
 *
 * A byte order mark of UTF-8 before line 1 is skipped.
 */
void dns_lex_init(DnsLex *lex, const char *text, size_t len, uint64_t line,
                  DnsFault *fault);

/**
 * dns_lex_is_blank: does the line begin with a blank?
 *
 * If so, a record on it has the owner of the record before.
 */
bool dns_lex_is_blank(const DnsLex *lex);

/**
 * dns_lex_next: read the next token
 *
 * At the end of a record every call returns DNS_TOKEN_END, until
 * dns_lex_begin() is called.  The same applies to DNS_TOKEN_BAD.
 */
void dns_lex_next(DnsLex *lex, DnsToken *token);

/**
 * dns_lex_next_pair: like dns_lex_next(), for words like key="a value"
 *
 * A quoted part behind "=" belongs to the word, including its quotes.
 */
void dns_lex_next_pair(DnsLex *lex, DnsToken *token);

/** dns_lex_begin: begin the next record; false at the end of the text */
bool dns_lex_begin(DnsLex *lex);

/** dns_lex_skip: skip to the end of the record, whatever it contains */
void dns_lex_skip(DnsLex *lex);

/**
 * dns_lex_octet: read one octet of a token, and resolve its escape
 * @at: the position; moves behind the octet
 *
 * Returns: the octet, or -EINVAL for a wrong escape.  *@escaped is set if the
 * octet was an escape.
 */
int dns_lex_octet(const char **at, const char *end, bool *escaped);

/** dns_token_is: is the token this word?  Case is ignored. */
bool dns_token_is(const DnsToken *token, const char *word);

/**
 * dns_fault: record a fault
 * @at: its place in the current line
 * @format: as printf(); the result is truncated and made printable
 *
 * The first fault is kept.
 *
 * Returns: -EINVAL.
 */
int dns_fault(DnsLex *lex, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** dns_token_fault: like dns_fault(), with the token before the message */
int dns_token_fault(DnsLex *lex, const DnsToken *token, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

#endif /* DNSD_TEXT_LEX_H */
