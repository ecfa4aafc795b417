/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of TSIG keys, in BIND's syntax */
#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/update/tsig/keys.h"

#define WORD_MAX        1024    /* base64 of the longest secret, with the NUL */

typedef struct Reader {
    const char *at;
    const char *end;
    unsigned line;
    TsigKeysError *error;
    char word[WORD_MAX];        /* "": the end of the file */
} Reader;

/* No word of the file is quoted: a misplaced one may be the secret. */
static int wrong(Reader *r, const char *what)
{
    r->error->line = r->line;
    snprintf(r->error->text, sizeof(r->error->text), "line %u: %s", r->line,
             what);
    return -EINVAL;
}

/* --- words ---------------------------------------------------------------- */

static bool begins(const Reader *r, const char *with)
{
    size_t len = strlen(with);

    return (size_t)(r->end - r->at) >= len && !memcmp(r->at, with, len);
}

static void skip_char(Reader *r)
{
    r->line += *r->at++ == '\n';
}

static void skip_until(Reader *r, const char *stop)
{
    while (r->at < r->end && !begins(r, stop)) {
        skip_char(r);
    }
    for (size_t i = 0; stop[i] && r->at < r->end; i++) {
        skip_char(r);
    }
}

static void skip_blanks(Reader *r)
{
    while (r->at < r->end) {
        if (isspace((unsigned char)*r->at)) {
            skip_char(r);
        } else if (begins(r, "#") || begins(r, "//")) {
            skip_until(r, "\n");
        } else if (begins(r, "/" "*")) {
            r->at += 2;
            skip_until(r, "*/");
        } else {
            return;
        }
    }
}

static bool is_mark(char c)
{
    return c == '{' || c == '}' || c == ';';
}

static int next_word(Reader *r)
{
    bool is_quoted;
    size_t len = 0;

    skip_blanks(r);
    is_quoted = r->at < r->end && *r->at == '"';
    r->at += is_quoted;
    while (r->at < r->end) {
        char c = *r->at;

        if (is_quoted ? c == '"' || c == '\n'
                      : isspace((unsigned char)c) || (is_mark(c) && len)) {
            break;
        }
        if (len == WORD_MAX - 1 || !c) {
            return wrong(r, "a word is too long, or not text");
        }
        r->word[len++] = c;
        r->at++;
        if (!is_quoted && is_mark(c)) {
            break;
        }
    }
    r->word[len] = 0;
    if (is_quoted && (r->at == r->end || *r->at++ != '"')) {
        return wrong(r, "a quote is not closed");
    }
    return 0;
}

static int expect(Reader *r, const char *mark)
{
    int ret = next_word(r);

    if (!ret && strcmp(r->word, mark)) {
        char what[32];

        snprintf(what, sizeof(what), "'%s' is missing", mark);
        return wrong(r, what);
    }
    return ret;
}

/* --- values --------------------------------------------------------------- */

static bool read_bits(const char *digits, TsigKey *key)
{
    unsigned bits = 0;

    while (isdigit((unsigned char)*digits) && bits < 10000) {
        bits = bits * 10 + *digits++ - '0';
    }
    key->mac_len = bits / 8;
    return !*digits && bits % 8 == 0 &&
           key->mac_len >= tsig_mac_min(key->algorithm) &&
           key->mac_len <= tsig_algorithm_len(key->algorithm);
}

static int read_algorithm(Reader *r, TsigKey *key)
{
    char *bits;

    key->algorithm = tsig_algorithm_find(r->word);
    if (key->algorithm < TSIG_ALGORITHMS) {
        key->mac_len = tsig_algorithm_len(key->algorithm);
        return 0;
    }
    bits = strrchr(r->word, '-');
    if (bits && isdigit((unsigned char)bits[1])) {
        *bits = 0;
        key->algorithm = tsig_algorithm_find(r->word);
        *bits = '-';
        if (key->algorithm < TSIG_ALGORITHMS && read_bits(bits + 1, key)) {
            return 0;
        }
    }
    return wrong(r, "the algorithm must be hmac-sha1, -sha224, -sha256, "
                 "-sha384 or -sha512");
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? at - digits : -1;
}

/* RFC 4648 section 4, padded.  Returns octets or -1. */
static int from_base64(const char *text, uint8_t *to, size_t room)
{
    size_t len = strlen(text), out = 0, pad = 0;
    uint32_t bits = 0;

    while (pad < 2 && len > pad && text[len - 1 - pad] == '=') {
        pad++;
    }
    if (!len || len % 4) {
        return -1;
    }
    for (size_t i = 0; i < len - pad; i++) {
        int digit = base64_digit(text[i]);

        if (digit < 0) {
            return -1;
        }
        bits = bits << 6 | digit;
        if (i % 4) {
            if (out == room) {
                return -1;
            }
            to[out++] = bits >> (6 - i % 4 * 2);
        }
    }
    return out;
}

static int read_secret(Reader *r, TsigKey *key)
{
    int len = from_base64(r->word, key->secret, sizeof(key->secret));

    if (len <= 0) {
        return wrong(r, "the secret is not base64 of 1 to 512 octets");
    }
    key->secret_len = len;
    return 0;
}

static int read_clause(Reader *r, TsigKey *key)
{
    bool is_algorithm = !strcmp(r->word, "algorithm");
    int ret;

    if (!is_algorithm && strcmp(r->word, "secret")) {
        return wrong(r, *r->word ? "a key has an algorithm and a secret, and "
                     "nothing else" : "the key ends without '}'");
    }
    if (is_algorithm ? key->algorithm < TSIG_ALGORITHMS : key->secret_len) {
        return wrong(r, is_algorithm ? "the key has an algorithm already"
                                     : "the key has a secret already");
    }
    ret = next_word(r);
    ret = ret ? ret : is_algorithm ? read_algorithm(r, key)
                                   : read_secret(r, key);
    return ret ? ret : expect(r, ";");
}

static int read_key(Reader *r, TsigKey *key)
{
    int ret;

    key->algorithm = TSIG_ALGORITHMS;
    if (strcmp(r->word, "key")) {
        return wrong(r, "a key begins with the word 'key'");
    }
    ret = next_word(r);
    if (!ret && (is_mark(*r->word) || dns_name_from_text(&key->name,
                                                         r->word))) {
        return wrong(r, "the key needs a domain name");
    }
    ret = ret ? ret : expect(r, "{");
    ret = ret ? ret : next_word(r);
    while (!ret && strcmp(r->word, "}")) {
        ret = read_clause(r, key);
        ret = ret ? ret : next_word(r);
    }
    if (!ret && (key->algorithm == TSIG_ALGORITHMS || !key->secret_len)) {
        return wrong(r, key->secret_len ? "the key has no algorithm"
                                        : "the key has no secret");
    }
    return ret ? ret : expect(r, ";");
}

int tsig_keys_read(TsigKeys *keys, const char *text, size_t len,
                   TsigKeysError *error)
{
    Reader r = { .at = text, .end = text + len, .line = 1, .error = error };
    TsigKey key;
    int ret = next_word(&r);

    while (!ret && *r.word) {
        key = (TsigKey) { 0 };
        ret = read_key(&r, &key);
        ret = ret ? ret : tsig_keys_add(keys, &key);
        if (ret == -EEXIST) {
            ret = wrong(&r, "there is a key of this name already");
        }
        ret = ret ? ret : next_word(&r);
    }
    OPENSSL_cleanse(&key, sizeof(key));
    OPENSSL_cleanse(r.word, sizeof(r.word));
    return ret;
}
