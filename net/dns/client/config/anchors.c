/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trust anchors, and the names that they cover */

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "net/dns/client/config/anchors.h"

/* Longer than any key, which may be several words */
#define WORD_MAX    4096
#define WORDS_MAX   64

#define ZONE_KEY    0x100       /* a bit of the flags of DNSKEY */

/*
 * IANA's numbers, as bits, that libunbound can validate with.  RSASHA1 (5, 7) and
 * SHA-1 (1) are left to it.
 */
#define ALGORITHMS  (1u << 5 | 1u << 7 | 1u << 8 | 1u << 10 | 1u << 13 | \
                     1u << 14 | 1u << 15 | 1u << 16)
#define DIGESTS     (1u << 1 | 1u << 2 | 1u << 4)

/* The words of a record: one line, or more within parentheses */
typedef struct Record {
    unsigned line;              /* of its start, from 1 */
    bool is_continued;          /* begins with a blank, so it has no owner */
    bool is_too_long;
    unsigned count;
    struct {
        const char *text;       /* not terminated */
        size_t len;
    } word[WORDS_MAX];
} Record;

typedef struct Reader {
    const char *at;
    const char *end;
    unsigned line;
} Reader;

static bool is_word(char c)
{
    return c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != ';' &&
           c != '(' && c != ')';
}

static void skip_comment(Reader *r)
{
    while (r->at < r->end && *r->at != '\n') {
        r->at++;
    }
}

static void add_word(Reader *r, Record *record)
{
    const char *start = r->at;

    while (r->at < r->end && is_word(*r->at)) {
        r->at++;
    }
    if (record->count == WORDS_MAX || r->at - start > WORD_MAX) {
        record->is_too_long = true;
        return;
    }
    record->word[record->count].text = start;
    record->word[record->count++].len = r->at - start;
}

/* Read up to the end of the record. */
static void read_words(Reader *r, Record *record)
{
    unsigned depth = 0;

    while (r->at < r->end && (*r->at != '\n' || depth)) {
        char c = *r->at;

        if (c == ';') {
            skip_comment(r);
        } else if (is_word(c)) {
            add_word(r, record);
        } else {
            depth += c == '(' ? 1 : c == ')' && depth ? -1 : 0;
            r->line += c == '\n';
            r->at++;
        }
    }
    if (r->at < r->end) {
        r->at++;
        r->line++;
    }
}

/* Find the next record with words that is no directive; false: none is left. */
static bool next_record(Reader *r, Record *record)
{
    while (r->at < r->end) {
        record->line = r->line;
        record->is_continued = *r->at == ' ' || *r->at == '\t';
        record->is_too_long = false;
        record->count = 0;
        read_words(r, record);
        if (record->count && record->word[0].text[0] != '$') {
            return true;
        }
    }
    return false;
}

static bool word_is(const Record *record, unsigned i, const char *text)
{
    return i < record->count && record->word[i].len == strlen(text) &&
           !strncasecmp(record->word[i].text, text, strlen(text));
}

/* The value of a word that is a number up to max; or -1 */
static int64_t number(const Record *record, unsigned i, int64_t max)
{
    int64_t value = 0;

    if (i >= record->count || record->word[i].len > 10) {
        return -1;
    }
    for (size_t n = 0; n < record->word[i].len; n++) {
        if (!isdigit((unsigned char)record->word[i].text[n])) {
            return -1;
        }
        value = 10 * value + (record->word[i].text[n] - '0');
    }
    return value <= max ? value : -1;
}

static bool is_base64(int c)
{
    return isalnum(c) || c == '+' || c == '/' || c == '=';
}

static bool is_hex(int c)
{
    return isxdigit(c);
}

/* The digits in the words from i on; 0 if there are other characters */
static size_t count_digits(const Record *record, unsigned i,
                           bool (*is_digit)(int c))
{
    size_t count = 0;

    for (; i < record->count; i++) {
        for (size_t n = 0; n < record->word[i].len; n++) {
            if (!is_digit((unsigned char)record->word[i].text[n])) {
                return 0;
            }
            count++;
        }
    }
    return count;
}

static bool owner_of(const Record *record, DnsName *name)
{
    char text[DNS_NAME_TEXT_MAX];
    size_t len = record->word[0].len;

    if (record->is_continued || len >= sizeof(text) ||
        record->word[0].text[len - 1] != '.') {
        return false;
    }
    memcpy(text, record->word[0].text, len);
    text[len] = '\0';
    return !dns_name_from_text(name, text);
}

/* RFC 4034 section 5.1; the digest has the length of its type */
static const char *check_ds(const Record *record, unsigned i)
{
    static const size_t digits[] = { 0, 40, 64, 64, 96 };
    size_t count = count_digits(record, i + 3, is_hex);
    int64_t type = number(record, i + 2, 255);

    if (number(record, i, 65535) < 0 || number(record, i + 1, 255) < 0 ||
        type <= 0 || !count || count % 2 ||
        ((size_t)type < sizeof(digits) / sizeof(digits[0]) &&
         count != digits[type])) {
        return "a DS record has a key's tag, an algorithm's and a digest's "
               "number, and all of a digest in hexadecimal digits";
    }
    return NULL;
}

/* RFC 4034 section 2.1 */
static const char *check_dnskey(const Record *record, unsigned i)
{
    int64_t flags = number(record, i, 65535);

    if (flags < 0 || number(record, i + 1, 255) != 3 ||
        number(record, i + 2, 255) < 0 ||
        count_digits(record, i + 3, is_base64) < 4) {
        return "a DNSKEY record has flags, the protocol 3, an algorithm's "
               "number, and a key in base64";
    }
    if (!(flags & ZONE_KEY)) {
        return "the key is not one of a zone, whose flags are 256 or 257";
    }
    return NULL;
}

/* The word behind the owner, the TTL and the class, which is the type */
static unsigned type_at(const Record *record)
{
    unsigned i = 1;

    /* TTL and class may be in either order. */
    for (int n = 0; n < 2; n++) {
        i += number(record, i, INT32_MAX) >= 0 || word_is(record, i, "IN");
    }
    return i;
}

/* Returns the fault; NULL: it is an anchor. */
static const char *check(const Record *record)
{
    unsigned i = type_at(record);
    DnsName owner;

    if (record->is_too_long) {
        return "the record is too long for a trust anchor";
    }
    if (!owner_of(record, &owner)) {
        return "a record begins with its owner's whole name, as '.' or "
               "'example.com.'";
    }
    if (word_is(record, i, "DS")) {
        return check_ds(record, i + 1);
    }
    if (word_is(record, i, "DNSKEY")) {
        return check_dnskey(record, i + 1);
    }
    return "a trust anchor is a record of type DS or DNSKEY, and of class IN";
}

static bool is_in(uint32_t set, int64_t value)
{
    return value >= 0 && value < 32 && set & 1u << value;
}

/* Can anything be validated with this anchor? */
static bool is_usable(const Record *record)
{
    unsigned i = type_at(record);

    return word_is(record, i, "DS")
           ? is_in(ALGORITHMS, number(record, i + 2, 255)) &&
             is_in(DIGESTS, number(record, i + 3, 255))
           : is_in(ALGORITHMS, number(record, i + 3, 255));
}

/* Has the owner of this record an anchor that is usable? */
static bool has_usable(const char *text, size_t len, const Record *of)
{
    Reader r = { .at = text, .end = text + len, .line = 1 };
    DnsName owner, other;
    Record record;

    if (!owner_of(of, &owner)) {
        return false;
    }
    while (next_record(&r, &record)) {
        if (is_usable(&record) && owner_of(&record, &other) &&
            dns_name_equal(&owner, &other)) {
            return true;
        }
    }
    return false;
}

int dnsc_anchors_count(const char *text, size_t len, unsigned *line,
                       const char **mistake)
{
    Reader r = { .at = text, .end = text + len, .line = 1 };
    int count = 0;
    Record record;

    while (next_record(&r, &record)) {
        *mistake = check(&record);
        if (!*mistake && !is_usable(&record) &&
            !has_usable(text, len, &record)) {
            *mistake = "no anchor of this name can be used, so nothing below "
                       "it would be validated: algorithms are 5, 7, 8, 10 and "
                       "13 to 16, digest types 1, 2 and 4";
        }
        if (*mistake) {
            *line = record.line;
            return -1;
        }
        count++;
    }
    return count;
}

bool dnsc_anchors_cover(const char *text, size_t len, const DnsName *name)
{
    Reader r = { .at = text, .end = text + len, .line = 1 };
    Record record;
    DnsName owner;

    while (next_record(&r, &record)) {
        if (is_usable(&record) && owner_of(&record, &owner) &&
            dns_name_within(name, &owner)) {
            return true;
        }
    }
    return false;
}
