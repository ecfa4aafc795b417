/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS wire format: bounded parser and builder
 *
 * Theory of operation
 *
 * The parser is a cursor over a message that it does not change.  It reads one
 * question or record at a time into a struct of fixed size, and never reads an
 * octet outside [msg, msg + len).  It does not trust the counts in the header:
 * if a record is missing, it returns -EBADMSG.  Names are returned
 * uncompressed.  A compression pointer may only lead to an offset below the
 * start of the part of the name that it ends.  So each step moves towards the
 * start of the message, and a loop is impossible.  A chain of labels ends at
 * 255 octets.  A pointer to a pointer adds no octet, and a message has room for
 * a chain of thousands of them, which each of its records could use; so
 * pointers are counted, too.
 *
 * The builder appends to a buffer of the caller.  An append either fits whole
 * or leaves the message unchanged.  So the caller decides whether to send the
 * records that fit, and whether to truncate.  The builder remembers the offsets
 * and the uncompressed lengths of the suffixes of the names that it wrote.  A
 * name has at most one suffix of a given length, so each remembered suffix
 * costs one comparison at most, whatever the names are.
 *
 * Do not copy the RDATA of a parsed record into another message if it holds
 * names, as these may be compressed.  There are functions to read and write
 * those types with compressible names (RFC 1035) that the callers need: CNAME,
 * DNAME, NS, PTR, SOA.  dns_builder_raw() is for all other types.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/octets.h"
#include "net/dns/wire/wire.h"

#define LABEL_TYPE_MASK 0xc0
#define LABEL_POINTER   0xc0
#define POINTER_MAX     0x3fff
/* one for each label, one for the root */
#define POINTERS_MAX    (DNS_LABELS_MAX + 1)
#define RR_FIXED_LEN    10      /* type, class, TTL, RDLENGTH */
#define SOA_FIXED_LEN   20
#define SVCB_PRIORITY_LEN 2
#define EDNS_DO         0x8000
#define EDE_HEAD        6       /* octets of the option before EXTRA-TEXT */

static uint8_t ascii_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Length octets are below 'A', so this may fold a whole wire name. */
static bool equal_nocase(const uint8_t *a, const uint8_t *b, size_t len)
{
    /* Most names are written in one way. */
    if (!memcmp(a, b, len)) {
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        if (ascii_lower(a[i]) != ascii_lower(b[i])) {
            return false;
        }
    }
    return true;
}

/*** Names ***/

int dns_name_parse(const uint8_t *msg, size_t len, size_t *offset,
                   DnsName *name)
{
    size_t pos = *offset;
    size_t part = pos;      /* start of the part being read */
    size_t limit = len;     /* the part is within the octets before it */
    size_t end = 0;         /* behind the name; 0 until a pointer is followed */
    unsigned pointers = 0;

    name->len = 0;
    name->labels = 0;
    while (pos < limit) {
        uint8_t head = msg[pos];

        if ((head & LABEL_TYPE_MASK) == LABEL_POINTER) {
            size_t target;

            if (limit - pos < 2 || ++pointers > POINTERS_MAX) {
                return -EBADMSG;
            }
            target = get_be16(msg + pos) & POINTER_MAX;
            if (target >= part || target < DNS_HEADER_LEN) {
                return -EBADMSG;
            }
            end = end ? end : pos + 2;
            /*
             * RFC 1035 4.1.4: the target is a prior occurrence, so it ends
             * before here.
             */
            limit = part;
            pos = part = target;
            continue;
        }
        if (head & LABEL_TYPE_MASK) {
            return -EBADMSG;
        }
        if (limit - pos < 1 + (size_t)head ||
            name->len + 1 + head + !!head > DNS_NAME_MAX) {
            return -EBADMSG;
        }
        memcpy(name->wire + name->len, msg + pos, 1 + head);
        name->len += 1 + head;
        pos += 1 + head;
        if (!head) {
            *offset = end ? end : pos;
            return 0;
        }
        name->labels++;
    }
    return -EBADMSG;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/*
 * Read one octet of presentation form.  Returns the rest of the text, or NULL.
 */
static const char *octet_from_text(const char *text, uint8_t *octet)
{
    unsigned value;

    if (*text != '\\') {
        *octet = *text;
        return text + 1;
    }
    text++;
    if (!is_digit(text[0])) {
        *octet = *text;
        return *text ? text + 1 : NULL;
    }
    if (!is_digit(text[1]) || !is_digit(text[2])) {
        return NULL;
    }
    value = (text[0] - '0') * 100 + (text[1] - '0') * 10 + text[2] - '0';
    *octet = value;
    return value <= 255 ? text + 3 : NULL;
}

int dns_name_from_text(DnsName *name, const char *text)
{
    uint8_t label[DNS_LABEL_MAX];

    name->len = 0;
    name->labels = 0;
    if (!strcmp(text, ".")) {
        text++;
    } else if (!*text) {
        return -EINVAL;
    }
    while (*text) {
        size_t n = 0;

        while (*text && *text != '.') {
            if (n == sizeof(label)) {
                return -EINVAL;
            }
            text = octet_from_text(text, &label[n++]);
            if (!text) {
                return -EINVAL;
            }
        }
        if (!n || name->len + 1 + n + 1 > DNS_NAME_MAX) {
            return -EINVAL;
        }
        name->wire[name->len] = n;
        memcpy(name->wire + name->len + 1, label, n);
        name->len += 1 + n;
        name->labels++;
        text += *text == '.';
    }
    name->wire[name->len++] = 0;
    return 0;
}

void dns_name_to_text(const DnsName *name, char text[DNS_NAME_TEXT_MAX])
{
    char *out = text;

    for (size_t pos = 0; name->wire[pos]; pos += 1 + name->wire[pos]) {
        if (pos) {
            *out++ = '.';
        }
        for (size_t i = 1; i <= name->wire[pos]; i++) {
            uint8_t c = name->wire[pos + i];

            if (c <= ' ' || c >= 0x7f) {
                out += sprintf(out, "\\%03u", c);
            } else {
                if (strchr(".\\\"();@$", c)) {
                    *out++ = '\\';
                }
                *out++ = c;
            }
        }
    }
    if (out == text) {
        *out++ = '.';
    }
    *out = 0;
}

bool dns_name_equal(const DnsName *a, const DnsName *b)
{
    return a->len == b->len && equal_nocase(a->wire, b->wire, a->len);
}

bool dns_name_within(const DnsName *name, const DnsName *zone)
{
    size_t pos = 0;

    if (name->labels < zone->labels) {
        return false;
    }
    for (int above = name->labels - zone->labels; above; above--) {
        pos += 1 + name->wire[pos];
    }
    return name->len - pos == zone->len &&
           equal_nocase(name->wire + pos, zone->wire, zone->len);
}

static void append_label(DnsName *name, const char *label, size_t len)
{
    name->wire[name->len] = len;
    memcpy(name->wire + name->len + 1, label, len);
    name->len += 1 + len;
    name->labels++;
}

static void append_arpa(DnsName *name, const char *tree)
{
    append_label(name, tree, strlen(tree));
    append_label(name, "arpa", 4);
    name->wire[name->len++] = 0;
}

void dns_name_from_in_addr(DnsName *name, struct in_addr addr)
{
    const uint8_t *octets = (const uint8_t *)&addr;

    name->len = 0;
    name->labels = 0;
    for (int i = 3; i >= 0; i--) {
        char digits[4];
        int n = snprintf(digits, sizeof(digits), "%u", octets[i]);

        append_label(name, digits, n);
    }
    append_arpa(name, "in-addr");
}

/* The value of a label that is a decimal octet without leading zeros, or -1 */
static int octet_from_label(const uint8_t *label)
{
    int value = 0;

    if (label[0] < 1 || label[0] > 3 || (label[0] > 1 && label[1] == '0')) {
        return -1;
    }
    for (int i = 1; i <= label[0]; i++) {
        if (!is_digit(label[i])) {
            return -1;
        }
        value = value * 10 + label[i] - '0';
    }
    return value <= 255 ? value : -1;
}

bool dns_name_to_in_prefix(const DnsName *name, struct in_addr *addr,
                           unsigned *bits)
{
    static const uint8_t suffix[] = "\7in-addr\4arpa";
    uint8_t octets[4] = { 0 };
    int len = name->labels - 2;
    size_t pos = 0;

    if (len < 0 || len > (int)sizeof(octets)) {
        return false;
    }
    for (int i = len - 1; i >= 0; i--) {
        int value = octet_from_label(name->wire + pos);

        if (value < 0) {
            return false;
        }
        octets[i] = value;
        pos += 1 + name->wire[pos];
    }
    if (name->len - pos != sizeof(suffix) ||
        !equal_nocase(name->wire + pos, suffix, sizeof(suffix))) {
        return false;
    }
    memcpy(addr, octets, sizeof(octets));
    *bits = 8 * len;
    return true;
}

bool dns_name_to_in_addr(const DnsName *name, struct in_addr *addr)
{
    unsigned bits;

    return dns_name_to_in_prefix(name, addr, &bits) && bits == 32;
}

void dns_name_from_in6_addr(DnsName *name, const struct in6_addr *addr)
{
    static const char hex[] = "0123456789abcdef";

    name->len = 0;
    name->labels = 0;
    for (int i = 15; i >= 0; i--) {
        append_label(name, &hex[addr->s6_addr[i] & 0xf], 1);
        append_label(name, &hex[addr->s6_addr[i] >> 4], 1);
    }
    append_arpa(name, "ip6");
}

/*** Parser ***/

int dns_header_parse(const uint8_t *msg, size_t len, DnsHeader *header)
{
    if (len < DNS_HEADER_LEN) {
        return -EBADMSG;
    }
    header->id = get_be16(msg);
    header->flags = get_be16(msg + 2);
    header->qdcount = get_be16(msg + 4);
    header->ancount = get_be16(msg + 6);
    header->nscount = get_be16(msg + 8);
    header->arcount = get_be16(msg + 10);
    return 0;
}

int dns_cursor_init(DnsCursor *cursor, const uint8_t *msg, size_t len)
{
    if (len < DNS_HEADER_LEN) {
        return -EBADMSG;
    }
    cursor->msg = msg;
    cursor->len = len;
    cursor->offset = DNS_HEADER_LEN;
    for (int i = 0; i < 4; i++) {
        cursor->left[i] = get_be16(msg + 4 + 2 * i);
    }
    return 0;
}

int dns_cursor_question(DnsCursor *cursor, DnsQuestion *question)
{
    size_t pos = cursor->offset;

    if (!cursor->left[0]) {
        return 0;
    }
    if (dns_name_parse(cursor->msg, cursor->len, &pos, &question->name) ||
        cursor->len - pos < 4) {
        return -EBADMSG;
    }
    question->type = get_be16(cursor->msg + pos);
    question->qclass = get_be16(cursor->msg + pos + 2);
    cursor->offset = pos + 4;
    cursor->left[0]--;
    return 1;
}

static int skip_questions(DnsCursor *cursor)
{
    DnsQuestion question;
    int ret;

    do {
        ret = dns_cursor_question(cursor, &question);
    } while (ret > 0);
    return ret;
}

int dns_cursor_rr(DnsCursor *cursor, DnsRr *rr)
{
    const uint8_t *fixed;
    size_t pos;
    int section = DNS_SECTION_ANSWER;

    if (skip_questions(cursor)) {
        return -EBADMSG;
    }
    while (!cursor->left[1 + section]) {
        if (section++ == DNS_SECTION_ADDITIONAL) {
            return 0;
        }
    }
    pos = cursor->offset;
    if (dns_name_parse(cursor->msg, cursor->len, &pos, &rr->name) ||
        cursor->len - pos < RR_FIXED_LEN) {
        return -EBADMSG;
    }
    fixed = cursor->msg + pos;
    rr->section = section;
    rr->type = get_be16(fixed);
    rr->rrclass = get_be16(fixed + 2);
    rr->raw_ttl = get_be32(fixed + 4);
    rr->ttl = rr->raw_ttl >> 31 ? 0 : rr->raw_ttl;
    rr->rdlength = get_be16(fixed + 8);
    rr->start = cursor->offset;
    rr->rdata = pos + RR_FIXED_LEN;
    if (cursor->len - rr->rdata < rr->rdlength) {
        return -EBADMSG;
    }
    cursor->offset = rr->rdata + rr->rdlength;
    cursor->left[1 + section]--;
    return 1;
}

int dns_rdata_a(const DnsCursor *cursor, const DnsRr *rr,
                struct in_addr *addr)
{
    if (rr->rdlength != sizeof(*addr)) {
        return -EBADMSG;
    }
    memcpy(addr, cursor->msg + rr->rdata, sizeof(*addr));
    return 0;
}

int dns_rdata_aaaa(const DnsCursor *cursor, const DnsRr *rr,
                   struct in6_addr *addr)
{
    if (rr->rdlength != sizeof(*addr)) {
        return -EBADMSG;
    }
    memcpy(addr, cursor->msg + rr->rdata, sizeof(*addr));
    return 0;
}

int dns_rdata_name(const DnsCursor *cursor, const DnsRr *rr, DnsName *name)
{
    size_t end = rr->rdata + rr->rdlength;
    size_t pos = rr->rdata;

    if (dns_name_parse(cursor->msg, end, &pos, name) || pos != end) {
        return -EBADMSG;
    }
    return 0;
}

int dns_rdata_soa(const DnsCursor *cursor, const DnsRr *rr, DnsSoa *soa)
{
    const uint8_t *fixed;
    size_t end = rr->rdata + rr->rdlength;
    size_t pos = rr->rdata;

    if (dns_name_parse(cursor->msg, end, &pos, &soa->mname) ||
        dns_name_parse(cursor->msg, end, &pos, &soa->rname) ||
        end - pos != SOA_FIXED_LEN) {
        return -EBADMSG;
    }
    fixed = cursor->msg + pos;
    soa->serial = get_be32(fixed);
    soa->refresh = get_be32(fixed + 4);
    soa->retry = get_be32(fixed + 8);
    soa->expire = get_be32(fixed + 12);
    soa->minimum = get_be32(fixed + 16);
    return 0;
}

int dns_rdata_svcb(const DnsCursor *cursor, const DnsRr *rr,
                   DnsSvcParams *params)
{
    size_t end = rr->rdata + rr->rdlength;
    size_t pos = rr->rdata + SVCB_PRIORITY_LEN;
    DnsName target;

    if (rr->rdlength < SVCB_PRIORITY_LEN ||
        dns_name_parse(cursor->msg, end, &pos, &target)) {
        return -EBADMSG;
    }
    params->next = cursor->msg + pos;
    params->left = end - pos;
    return 0;
}

int dns_svcb_param(DnsSvcParams *params, uint16_t *key, const uint8_t **value,
                   size_t *len)
{
    if (!params->left) {
        return 0;
    }
    if (params->left < 4 || params->left - 4 < get_be16(params->next + 2)) {
        return -EBADMSG;
    }
    *key = get_be16(params->next);
    *len = get_be16(params->next + 2);
    *value = params->next + 4;
    params->next += 4 + *len;
    params->left -= 4 + *len;
    return 1;
}

int dns_rdata_edns(const DnsCursor *cursor, const DnsRr *rr, DnsEdns *edns)
{
    const uint8_t *option = cursor->msg + rr->rdata;
    size_t left = rr->rdlength;

    if (rr->section != DNS_SECTION_ADDITIONAL || rr->name.len != 1) {
        return -EBADMSG;
    }
    edns->udp_size = rr->rrclass;
    edns->rcode_high = rr->raw_ttl >> 24;
    edns->version = rr->raw_ttl >> 16;
    edns->dnssec_ok = rr->raw_ttl & EDNS_DO;
    edns->has_ede = false;
    edns->ede = 0;
    edns->ede_text_len = 0;
    while (left) {
        size_t size;

        if (left < 4 || left - 4 < get_be16(option + 2)) {
            return -EBADMSG;
        }
        size = get_be16(option + 2);
        if (get_be16(option) == DNS_OPTION_EDE && size >= 2 && !edns->has_ede) {
            edns->has_ede = true;
            edns->ede = get_be16(option + 4);
            edns->ede_text = (const char *)option + EDE_HEAD;
            edns->ede_text_len = size - 2 > UINT8_MAX ? UINT8_MAX : size - 2;
        }
        option += 4 + size;
        left -= 4 + size;
    }
    return 0;
}

/*** Builder ***/

void dns_builder_init(DnsBuilder *b, uint8_t *buf, size_t size, uint16_t id,
                      uint16_t flags)
{
    b->buf = buf;
    b->size = size;
    b->len = DNS_HEADER_LEN;
    b->question_end = DNS_HEADER_LEN;
    b->keeps_case = false;
    b->suffixes = 0;
    memset(buf, 0, DNS_HEADER_LEN);
    put_be16(buf, id);
    put_be16(buf + 2, flags);
}

void dns_builder_keep_case(DnsBuilder *b)
{
    b->keeps_case = true;
}

/* Does the name that the builder wrote at @offset equal wire[0..len)? */
static bool written_equals(const DnsBuilder *b, size_t offset,
                           const uint8_t *wire)
{
    for (;;) {
        uint8_t head = b->buf[offset];

        if ((head & LABEL_TYPE_MASK) == LABEL_POINTER) {
            offset = get_be16(b->buf + offset) & POINTER_MAX;
            continue;
        }
        if (b->keeps_case ? memcmp(b->buf + offset, wire, 1 + head) != 0
                          : !equal_nocase(b->buf + offset, wire, 1 + head)) {
            return false;
        }
        if (!head) {
            return true;
        }
        offset += 1 + head;
        wire += 1 + head;
    }
}

/*
 * Find the longest suffix of a name that the message has already.
 *
 * Returns how many octets of the name precede it, and its offset.  Without a
 * suffix, returns name->len - 1: all but the root.
 */
static size_t find_suffix(const DnsBuilder *b, const DnsName *name,
                          uint16_t *offset)
{
    bool boundary[DNS_NAME_MAX] = { false };
    size_t best = name->len - 1;

    for (size_t pos = 0; name->wire[pos]; pos += 1 + name->wire[pos]) {
        boundary[pos] = true;
    }
    for (size_t i = 0; i < b->suffixes; i++) {
        size_t head;

        if (b->suffix[i].len > name->len) {
            continue;
        }
        head = name->len - b->suffix[i].len;
        if (head < best && boundary[head] &&
            written_equals(b, b->suffix[i].offset, name->wire + head)) {
            best = head;
            *offset = b->suffix[i].offset;
        }
    }
    return best;
}

/* Remember the labels of a name before @until, which is at @offset. */
static void remember_suffixes(DnsBuilder *b, const DnsName *name,
                              size_t until, size_t offset)
{
    for (size_t pos = 0; pos < until; pos += 1 + name->wire[pos]) {
        if (b->suffixes == DNS_BUILDER_SUFFIXES ||
            offset + pos > POINTER_MAX) {
            return;
        }
        b->suffix[b->suffixes].offset = offset + pos;
        b->suffix[b->suffixes].len = name->len - pos;
        b->suffixes++;
    }
}

static int append(DnsBuilder *b, const void *data, size_t len)
{
    if (b->size - b->len < len) {
        return -EMSGSIZE;
    }
    if (len) {
        memcpy(b->buf + b->len, data, len);
    }
    b->len += len;
    return 0;
}

static int append16(DnsBuilder *b, uint16_t value)
{
    uint8_t data[2];

    put_be16(data, value);
    return append(b, data, sizeof(data));
}

static int append32(DnsBuilder *b, uint32_t value)
{
    uint8_t data[4];

    put_be32(data, value);
    return append(b, data, sizeof(data));
}

static int append_name(DnsBuilder *b, const DnsName *name)
{
    uint16_t target = 0;
    size_t start = b->len;
    size_t head = find_suffix(b, name, &target);
    bool pointer = target != 0;     /* 0 is the header, where no name begins */
    int ret;

    ret = append(b, name->wire, pointer ? head : name->len);
    if (!ret && pointer) {
        ret = append16(b, LABEL_POINTER << 8 | target);
    }
    if (!ret) {
        remember_suffixes(b, name, head, start);
    }
    return ret;
}

typedef struct Mark {
    size_t len;
    size_t suffixes;
} Mark;

static Mark mark(const DnsBuilder *b)
{
    return (Mark) { b->len, b->suffixes };
}

static int rewind_to(DnsBuilder *b, Mark to)
{
    b->len = to.len;
    b->suffixes = to.suffixes;
    return -EMSGSIZE;
}

/* False if the count is full.  The message is full before that can happen. */
static bool count_up(DnsBuilder *b, int count)
{
    uint8_t *field = b->buf + 4 + 2 * count;

    if (get_be16(field) == UINT16_MAX) {
        return false;
    }
    put_be16(field, get_be16(field) + 1);
    return true;
}

int dns_builder_question(DnsBuilder *b, const DnsQuestion *question)
{
    Mark begin = mark(b);

    if (append_name(b, &question->name) ||
        append16(b, question->type) || append16(b, question->qclass) ||
        !count_up(b, 0)) {
        return rewind_to(b, begin);
    }
    b->question_end = b->len;
    return 0;
}

/* Write the owner up to RDLENGTH, which is 0 until end_rr(). */
static int begin_rr(DnsBuilder *b, const DnsName *owner, uint16_t type,
                    uint16_t rrclass, uint32_t ttl)
{
    int ret = append_name(b, owner);

    ret = ret ? ret : append16(b, type);
    ret = ret ? ret : append16(b, rrclass);
    ret = ret ? ret : append32(b, ttl);
    return ret ? ret : append16(b, 0);
}

static int end_rr(DnsBuilder *b, DnsSection section, size_t rdata)
{
    put_be16(b->buf + rdata - 2, b->len - rdata);
    return count_up(b, 1 + section) ? 0 : -EMSGSIZE;
}

int dns_builder_raw(DnsBuilder *b, DnsSection section, const DnsName *owner,
                    uint16_t type, uint16_t rrclass, uint32_t ttl,
                    const void *rdata, uint16_t rdlength)
{
    Mark begin = mark(b);

    if (begin_rr(b, owner, type, rrclass, ttl) ||
        append(b, rdata, rdlength) ||
        end_rr(b, section, b->len - rdlength)) {
        return rewind_to(b, begin);
    }
    return 0;
}

int dns_builder_a(DnsBuilder *b, DnsSection section, const DnsName *owner,
                  uint32_t ttl, struct in_addr addr)
{
    return dns_builder_raw(b, section, owner, DNS_TYPE_A, DNS_CLASS_IN, ttl,
                           &addr, sizeof(addr));
}

int dns_builder_aaaa(DnsBuilder *b, DnsSection section, const DnsName *owner,
                     uint32_t ttl, const struct in6_addr *addr)
{
    return dns_builder_raw(b, section, owner, DNS_TYPE_AAAA, DNS_CLASS_IN,
                           ttl, addr, sizeof(*addr));
}

int dns_builder_name(DnsBuilder *b, DnsSection section, const DnsName *owner,
                     DnsType type, uint32_t ttl, const DnsName *target)
{
    Mark begin = mark(b);
    size_t rdata;

    if (begin_rr(b, owner, type, DNS_CLASS_IN, ttl)) {
        return rewind_to(b, begin);
    }
    rdata = b->len;
    if (append_name(b, target) || end_rr(b, section, rdata)) {
        return rewind_to(b, begin);
    }
    return 0;
}

int dns_builder_soa(DnsBuilder *b, DnsSection section, const DnsName *owner,
                    uint32_t ttl, const DnsSoa *soa)
{
    Mark begin = mark(b);
    size_t rdata;

    if (begin_rr(b, owner, DNS_TYPE_SOA, DNS_CLASS_IN, ttl)) {
        return rewind_to(b, begin);
    }
    rdata = b->len;
    if (append_name(b, &soa->mname) || append_name(b, &soa->rname) ||
        append32(b, soa->serial) || append32(b, soa->refresh) ||
        append32(b, soa->retry) || append32(b, soa->expire) ||
        append32(b, soa->minimum) || end_rr(b, section, rdata)) {
        return rewind_to(b, begin);
    }
    return 0;
}

int dns_builder_edns(DnsBuilder *b, const DnsEdns *edns)
{
    static const DnsName root = { .len = 1 };
    uint8_t option[EDE_HEAD + UINT8_MAX];

    put_be16(option, DNS_OPTION_EDE);
    put_be16(option + 2, sizeof(edns->ede) + edns->ede_text_len);
    put_be16(option + 4, edns->ede);
    if (edns->ede_text_len) {
        memcpy(option + EDE_HEAD, edns->ede_text, edns->ede_text_len);
    }
    return dns_builder_raw(b, DNS_SECTION_ADDITIONAL, &root, DNS_TYPE_OPT,
                           edns->udp_size,
                           (uint32_t)edns->rcode_high << 24 |
                           (uint32_t)edns->version << 16 |
                           (edns->dnssec_ok ? EDNS_DO : 0),
                           option, edns->has_ede
                           ? EDE_HEAD + edns->ede_text_len : 0);
}

/*
 * Count the first records of a message that end before @max, and their octets.
 */
static size_t whole_records(const uint8_t *msg, size_t len, size_t max,
                            uint16_t count[DNS_SECTION_ADDITIONAL])
{
    DnsCursor cursor;
    size_t end = 0;
    DnsRr rr;

    if (dns_cursor_init(&cursor, msg, len)) {
        return 0;
    }
    while (dns_cursor_rr(&cursor, &rr) > 0 && cursor.offset <= max &&
           rr.section < DNS_SECTION_ADDITIONAL) {
        count[rr.section]++;
        end = cursor.offset;
    }
    return end;
}

int dns_builder_adopt(DnsBuilder *b, const uint8_t *msg, size_t len)
{
    uint16_t count[DNS_SECTION_ADDITIONAL] = { 0 };
    size_t start = b->question_end;
    size_t end = len;

    if (len > b->size) {
        end = whole_records(msg, len, b->size, count);
    } else if (len >= start) {
        count[DNS_SECTION_ANSWER] = get_be16(msg + 6);
        count[DNS_SECTION_AUTHORITY] = get_be16(msg + 8);
    }
    if (end < start) {
        return -EMSGSIZE;
    }
    memcpy(b->buf + start, msg + start, end - start);
    put_be16(b->buf + 6, count[DNS_SECTION_ANSWER]);
    put_be16(b->buf + 8, count[DNS_SECTION_AUTHORITY]);
    put_be16(b->buf + 10, 0);
    b->len = end;
    return end < len ? -EMSGSIZE : 0;
}

void dns_builder_truncate(DnsBuilder *b)
{
    put_be16(b->buf + 2, get_be16(b->buf + 2) | DNS_FLAG_TC);
}

size_t dns_query_build(uint8_t buf[DNS_QUERY_MAX],
                       const DnsQuestion *question, uint16_t flags,
                       bool dnssec_ok)
{
    const DnsEdns edns = {
        .udp_size = DNS_UDP_ADVERTISED,
        .dnssec_ok = dnssec_ok,
    };
    DnsBuilder b;

    dns_builder_init(&b, buf, DNS_QUERY_MAX, 0, flags);
    dns_builder_question(&b, question);
    dns_builder_edns(&b, &edns);
    return b.len;
}

void dns_msg_set_id(uint8_t *msg, uint16_t id)
{
    put_be16(msg, id);
}
