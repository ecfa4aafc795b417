/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens of a master file, RFC 1035 section 5.1
 *
 * A token is a piece of the text as it stands there: nothing is copied, and
 * its escapes are not yet resolved.  Blanks, comments, and line ends between
 * parentheses are between tokens.
 */
#ifndef NET_DNS_TEXT_LEX_H
#define NET_DNS_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_FAULT_MAX   320     /* octets of a message with its NUL */

typedef enum DnsTokenKind {
    DNS_TOKEN_WORD,
    DNS_TOKEN_STRING,           /* was in quotes, which are not part of it */
    DNS_TOKEN_END,              /* of the record: a line end, or of the text */
    DNS_TOKEN_BAD,              /* the lexer's fault says why */
} DnsTokenKind;

typedef struct DnsToken {
    DnsTokenKind kind;
    bool has_escape;            /* a backslash is in it */
    uint32_t len;
    const char *text;           /* not terminated */
} DnsToken;

/* A mistake and its place, for people */
typedef struct DnsFault {
    uint64_t line;              /* from 1; 0: nothing is wrong */
    uint32_t column;            /* from 1, in octets */
    char text[DNS_FAULT_MAX];   /* graphic ASCII and blanks only */
} DnsFault;

typedef struct DnsLexPlace {
    uint64_t line;
    uint32_t column;
} DnsLexPlace;

/* The text must outlive it. */
typedef struct DnsLex {
    const char *at;
    const char *end;
    const char *line_start;
    uint64_t line;              /* of @at, from 1 */
    unsigned depth;             /* of parentheses */
    DnsLexPlace open;           /* the outermost one */
    bool at_end;                /* the last token was DNS_TOKEN_END */
    /*
     * The text goes on behind @end.  A record that is not whole before it
     * makes the lexer @starved, and then its tokens are to be forgotten.
     */
    bool has_more;
    bool starved;
    DnsFault *fault;
} DnsLex;

/**
 * dns_lex_init: at the beginning of a line, which has the number @line
 *
 * A byte order mark of UTF-8 before line 1 is passed.
 */
void dns_lex_init(DnsLex *lex, const char *text, size_t len, uint64_t line,
                  DnsFault *fault);

/**
 * dns_lex_is_blank: does the line begin with a blank?  Then a record on it has
 * the owner of the one before it.
 */
bool dns_lex_is_blank(const DnsLex *lex);

/**
 * dns_lex_next: the next token
 *
 * Behind the end of a record there is DNS_TOKEN_END again and again, up to
 * dns_lex_begin().  The same goes for DNS_TOKEN_BAD.
 */
void dns_lex_next(DnsLex *lex, DnsToken *token);

/**
 * dns_lex_next_pair: as dns_lex_next() for words as key="a value"
 *
 * A quoted part behind a "=" belongs to the word, with its quotes.
 */
void dns_lex_next_pair(DnsLex *lex, DnsToken *token);

/** dns_lex_begin: go on behind the end of a record; false: the text ends. */
bool dns_lex_begin(DnsLex *lex);

/** dns_lex_skip: to the end of the record, whatever is in it. */
void dns_lex_skip(DnsLex *lex);

/**
 * dns_lex_octet: one octet of a token, its escape resolved
 * @at: where it begins; moves behind it
 *
 * Returns: the octet, or -EINVAL for a wrong escape.  *@escaped is whether it
 * had one.
 */
int dns_lex_octet(const char **at, const char *end, bool *escaped);

/** dns_token_is: a word of these letters, case ignored? */
bool dns_token_is(const DnsToken *token, const char *word);

/**
 * dns_fault: say what is wrong with a token
 * @at: where, in the line that the lexer is in
 * @format: as printf(); the result is cut and made printable
 *
 * The first fault is kept.
 *
 * Returns: -EINVAL.
 */
int dns_fault(DnsLex *lex, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** dns_token_fault: as dns_fault(), with "@token " before it. */
int dns_token_fault(DnsLex *lex, const DnsToken *token, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

#endif /* NET_DNS_TEXT_LEX_H */
