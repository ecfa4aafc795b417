/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zones from master-file-like text, questions and replies as text */
#include <arpa/inet.h>
#include <string.h>

#include "answer-fixture.h"
#include "net/dns/zone/order.h"
#include "net/dns/zone/write.h"
#include "net/packet/octets.h"

#define GONE    0

typedef struct TypeName {
    uint16_t type;
    const char *name;
} TypeName;

static const TypeName type_names[] = {
    { DNS_TYPE_A, "A" }, { DNS_TYPE_NS, "NS" }, { DNS_TYPE_CNAME, "CNAME" },
    { DNS_TYPE_SOA, "SOA" }, { DNS_TYPE_PTR, "PTR" }, { DNS_TYPE_MX, "MX" },
    { DNS_TYPE_HINFO, "HINFO" }, { DNS_TYPE_TXT, "TXT" },
    { DNS_TYPE_AAAA, "AAAA" }, { DNS_TYPE_SRV, "SRV" },
    { DNS_TYPE_DNAME, "DNAME" }, { DNS_TYPE_DS, "DS" },
    { DNS_TYPE_RRSIG, "RRSIG" }, { DNS_TYPE_NSEC, "NSEC" },
    { DNS_TYPE_DNSKEY, "DNSKEY" }, { DNS_TYPE_NSEC3, "NSEC3" },
    { DNS_TYPE_NSEC3PARAM, "NSEC3PARAM" }, { DNS_TYPE_ANY, "ANY" },
    { DNS_TYPE_AXFR, "AXFR" }, { DNS_TYPE_IXFR, "IXFR" },
    { DNS_TYPE_OPT, "OPT" }, { DNS_TYPE_TKEY, "TKEY" }, { GONE, "GONE" },
};

static uint16_t type_of(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(type_names); i++) {
        if (!strcmp(type_names[i].name, text)) {
            return type_names[i].type;
        }
    }
    g_assert_true(g_str_has_prefix(text, "TYPE"));
    return g_ascii_strtoull(text + 4, NULL, 10);
}

static char *text_of_type(uint16_t type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(type_names); i++) {
        if (type_names[i].type == type) {
            return g_strdup(type_names[i].name);
        }
    }
    return g_strdup_printf("TYPE%u", type);
}

static DnsName name_of(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

/* --- records from text ---------------------------------------------------- */

static void add_name(GByteArray *to, const char *text)
{
    DnsName name = name_of(text);

    g_byte_array_append(to, name.wire, name.len);
}

static void add_number(GByteArray *to, unsigned octets, const char *text)
{
    uint64_t number = g_ascii_strtoull(text, NULL, 10);

    for (unsigned i = octets; i-- > 0;) {
        uint8_t octet = number >> 8 * i;

        g_byte_array_append(to, &octet, 1);
    }
}

static void add_hex(GByteArray *to, const char *text)
{
    for (; text[0] && text[1]; text += 2) {
        uint8_t octet = g_ascii_xdigit_value(text[0]) << 4 |
                        g_ascii_xdigit_value(text[1]);

        g_byte_array_append(to, &octet, 1);
    }
}

static void add_string(GByteArray *to, const char *text)
{
    uint8_t len = strlen(text);

    g_byte_array_append(to, &len, 1);
    g_byte_array_append(to, (const uint8_t *)text, len);
}

static void add_base32(GByteArray *to, const char *text)
{
    unsigned value = 0, bits = 0;

    for (; *text; text++) {
        value = value << 5 | (g_ascii_isdigit(*text) ? *text - '0' :
                              g_ascii_tolower(*text) - 'a' + 10);
        bits += 5;
        if (bits >= 8) {
            uint8_t octet = value >> (bits -= 8);

            g_byte_array_append(to, &octet, 1);
        }
    }
}

/* Only window 0, RFC 4034 section 4.1.2 */
static void add_bitmap(GByteArray *to, char **types)
{
    uint8_t bits[34] = { 0 };

    for (; *types; types++) {
        uint16_t type = type_of(*types);

        bits[2 + type / 8] |= 0x80 >> type % 8;
        bits[1] = MAX(bits[1], type / 8 + 1);
    }
    g_byte_array_append(to, bits, 2 + bits[1]);
}

/* Fields of RDATA: n name, 1 2 4 numbers, h hex, s strings, b types. */
static const char *shape_of(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_NS: case DNS_TYPE_CNAME: case DNS_TYPE_PTR:
    case DNS_TYPE_DNAME:
        return "n";
    case DNS_TYPE_SOA:
        return "nn44444";
    case DNS_TYPE_MX:
        return "2n";
    case DNS_TYPE_SRV:
        return "222n";
    case DNS_TYPE_TXT: case DNS_TYPE_HINFO:
        return "s";
    case DNS_TYPE_DS:
        return "211h";
    case DNS_TYPE_DNSKEY:
        return "211h";
    case DNS_TYPE_NSEC:
        return "nb";
    case DNS_TYPE_NSEC3:
        return "112l3b";
    case DNS_TYPE_NSEC3PARAM:
        return "112l";
    case DNS_TYPE_A: case DNS_TYPE_AAAA:
        return "a";
    default:
        return "h";
    }
}

static void add_address(GByteArray *to, const char *text)
{
    uint8_t addr[16];
    bool is_6 = strchr(text, ':');

    g_assert_cmpint(inet_pton(is_6 ? AF_INET6 : AF_INET, text, addr), ==, 1);
    g_byte_array_append(to, addr, is_6 ? 16 : 4);
}

static void add_salt(GByteArray *to, const char *text)
{
    uint8_t len = strcmp(text, "-") ? strlen(text) / 2 : 0;

    g_byte_array_append(to, &len, 1);
    if (len) {
        add_hex(to, text);
    }
}

static void add_hash(GByteArray *to, const char *text)
{
    uint8_t len = 20;

    g_byte_array_append(to, &len, 1);
    add_base32(to, text);
}

static GByteArray *rdata_of(uint16_t type, char **word)
{
    GByteArray *to = g_byte_array_new();

    for (const char *shape = shape_of(type); *shape && *word; shape++) {
        switch (*shape) {
        case 'n':
            add_name(to, *word++);
            break;
        case '1': case '2': case '4':
            add_number(to, *shape - '0', *word++);
            break;
        case 'a':
            add_address(to, *word++);
            break;
        case 'l':
            add_salt(to, *word++);
            break;
        case '3':
            add_hash(to, *word++);
            break;
        case 's':
            for (; *word; word++) {
                add_string(to, *word);
            }
            break;
        case 'b':
            add_bitmap(to, word);
            break;
        default:
            for (; *word; word++) {
                add_hex(to, *word);
            }
            break;
        }
    }
    return to;
}

/* --- zones from text ------------------------------------------------------ */

typedef struct Line {
    DnsName owner;
    uint16_t type;
    uint32_t ttl;
    GByteArray *rdata;
} Line;

static void free_line(void *data)
{
    Line *line = data;

    g_byte_array_unref(line->rdata);
    g_free(line);
}

static int compare_lines(gconstpointer a, gconstpointer b)
{
    const Line *one = *(Line *const *)a, *other = *(Line *const *)b;
    unsigned common;
    int differ = zone_name_compare(&one->owner, &other->owner, &common);

    if (differ || one->type == other->type) {
        return differ;
    }
    if (one->type == DNS_TYPE_RRSIG || other->type == DNS_TYPE_RRSIG) {
        return one->type == DNS_TYPE_RRSIG ? 1 : -1;
    }
    return one->type - other->type;
}

static Line *read_line(char **word)
{
    Line *line = g_new0(Line, 1);
    bool is_gone = !strcmp(word[1], "GONE");

    line->owner = name_of(word[0]);
    line->type = is_gone ? GONE : type_of(word[2]);
    line->ttl = is_gone ? 0 : g_ascii_strtoull(word[1], NULL, 10);
    line->rdata = rdata_of(line->type, word + (is_gone ? 2 : 3));
    return line;
}

static GPtrArray *read_lines(const char *text)
{
    g_auto(GStrv) all = g_strsplit(text, "\n", 0);
    GPtrArray *lines = g_ptr_array_new_with_free_func(free_line);

    for (char **at = all; *at; at++) {
        g_autoptr(GPtrArray) words = g_ptr_array_new();
        g_auto(GStrv) parts = g_strsplit_set(*at, " \t", 0);

        for (char **part = parts; *part; part++) {
            if (**part) {
                g_ptr_array_add(words, *part);
            }
        }
        g_ptr_array_add(words, NULL);
        if (words->len > 1) {
            g_ptr_array_add(lines, read_line((char **)words->pdata));
        }
    }
    g_ptr_array_sort(lines, compare_lines);
    return lines;
}

static Line *line_at(const GPtrArray *lines, unsigned i)
{
    return g_ptr_array_index(lines, i);
}

static bool has_type(const GPtrArray *lines, const DnsName *owner,
                     uint16_t type)
{
    for (unsigned i = 0; i < lines->len; i++) {
        if (line_at(lines, i)->type == type &&
            dns_name_equal(&line_at(lines, i)->owner, owner)) {
            return true;
        }
    }
    return false;
}

/* At a delegation only DS and NSEC are the zone's own, below it nothing. */
static bool is_own(const GPtrArray *lines, const Line *line,
                   const DnsName *origin)
{
    for (unsigned n = origin->labels + 1; n <= line->owner.labels; n++) {
        DnsName up = zone_name_ancestor(&line->owner, n);

        if (has_type(lines, &up, DNS_TYPE_NS)) {
            return n == line->owner.labels && line->type != DNS_TYPE_NS &&
                   line->type != DNS_TYPE_A && line->type != DNS_TYPE_AAAA;
        }
    }
    return true;
}

static Line *sign(const Line *line, const DnsName *origin)
{
    Line *sig = g_new0(Line, 1);
    uint8_t rdata[18] = { 0 };
    bool is_wildcard = line->owner.wire[0] == 1 && line->owner.wire[1] == '*';

    packet_put16(rdata, line->type);
    rdata[2] = 13;
    rdata[3] = line->owner.labels - is_wildcard;
    packet_put32(rdata + 4, line->ttl);
    sig->owner = line->owner;
    sig->type = DNS_TYPE_RRSIG;
    sig->ttl = line->ttl;
    sig->rdata = g_byte_array_new();
    g_byte_array_append(sig->rdata, rdata, sizeof(rdata));
    g_byte_array_append(sig->rdata, origin->wire, origin->len);
    g_byte_array_append(sig->rdata, (const uint8_t *)"signature", 9);
    return sig;
}

static void sign_all(GPtrArray *lines, const DnsName *origin)
{
    unsigned count = lines->len;

    for (unsigned i = 0; i < count; i++) {
        Line *line = line_at(lines, i);
        bool is_again = i && line_at(lines, i - 1)->type == line->type &&
                        dns_name_equal(&line_at(lines, i - 1)->owner,
                                       &line->owner);

        if (line->type != GONE && !is_again && is_own(lines, line, origin)) {
            g_ptr_array_add(lines, sign(line, origin));
        }
    }
    g_ptr_array_sort(lines, compare_lines);
}

static int grow(ZoneOut *out, uint64_t room)
{
    out->base = g_realloc(out->base, room);
    memset(out->base + out->room, 0, room - out->room);
    out->room = room;
    return 0;
}

static void write_nodes(ZoneWriter *w, const GPtrArray *lines)
{
    for (unsigned i = 0, n; i < lines->len; i += n) {
        const Line *first = line_at(lines, i);
        g_autofree ZoneRecord *records = g_new(ZoneRecord, lines->len);

        for (n = 0; i + n < lines->len &&
             dns_name_equal(&line_at(lines, i + n)->owner, &first->owner);
             n++) {
            const Line *line = line_at(lines, i + n);

            records[n] = (ZoneRecord) {
                line->type, line->rdata->len, line->ttl, line->rdata->data,
            };
        }
        g_assert_cmpint(first->type == GONE ?
                        zone_writer_gone(w, &first->owner) :
                        zone_writer_node(w, &first->owner, records, n), ==, 0);
    }
}

static ZoneImage *make_image(AnswerBed *bed, const DnsName *origin,
                             const char *text, bool is_signed, bool is_delta)
{
    g_autoptr(GPtrArray) lines = read_lines(text);
    ZoneOut out = { .grow = grow };
    ZoneAbout about = {
        .origin = *origin, .rrclass = DNS_CLASS_IN, .is_delta = is_delta,
        .identity = 7, .seed = 0x0123456789abcdef,
    };
    ZoneWriter *w = zone_writer_new(&about, &out);
    ZoneImage *image;
    ZoneFault fault;
    uint64_t len;

    if (is_signed) {
        sign_all(lines, origin);
    }
    write_nodes(w, lines);
    g_assert_cmpint(zone_writer_finish(w, &len), ==, 0);
    zone_writer_free(w);
    g_ptr_array_add(bed->files, out.base);
    image = zone_image_open(out.base, len, &fault);
    g_assert_nonnull(image);
    return image;
}

/* --- the bed -------------------------------------------------------------- */

static void make_table(AnswerBed *bed)
{
    static const uint64_t key[2] = { 1, 2 };

    dns_zone_table_free(bed->table);
    bed->table = dns_zone_table_new(key, bed->zone, bed->zones);
    g_assert_nonnull(bed->table);
    bed->answerer.zones = bed->table;
}

static DnsServedZone *add_zone(AnswerBed *bed, const char *origin)
{
    DnsServedZone *zone = &bed->zone[bed->zones++];

    g_assert_cmpuint(bed->zones, <=, BED_ZONES_MAX);
    if (!bed->files) {
        bed->files = g_ptr_array_new_with_free_func(g_free);
        bed->answerer = (DnsAnswerer) {
            .flags = DNS_ANSWER_MINIMAL, .udp_size = DNS_UDP_ADVERTISED,
        };
    }
    *zone = (DnsServedZone) {
        .origin = name_of(origin), .rrclass = DNS_CLASS_IN,
    };
    return zone;
}

void bed_add_zone(AnswerBed *bed, const char *origin, const char *text,
                  bool is_signed)
{
    DnsServedZone *zone = add_zone(bed, origin);

    zone->view.layers = 1;
    zone->view.layer[0] = make_image(bed, &zone->origin, text, is_signed,
                                     false);
    make_table(bed);
}

void bed_add_delta(AnswerBed *bed, const char *text, bool is_signed)
{
    DnsServedZone *zone = &bed->zone[bed->zones - 1];
    ZoneView *view = &zone->view;

    memmove(&view->layer[1], &view->layer[0],
            view->layers * sizeof(*view->layer));
    view->layer[0] = make_image(bed, &zone->origin, text, is_signed, true);
    view->layers++;
    make_table(bed);
}

void bed_add_nothing(AnswerBed *bed, const char *origin)
{
    add_zone(bed, origin);
    make_table(bed);
}

void bed_clear(AnswerBed *bed)
{
    dns_zone_table_free(bed->table);
    for (size_t i = 0; i < bed->zones; i++) {
        for (unsigned n = 0; n < bed->zone[i].view.layers; n++) {
            zone_image_free(bed->zone[i].view.layer[n]);
        }
    }
    g_ptr_array_unref(bed->files);
    memset(bed, 0, sizeof(*bed));
}

/* --- questions ------------------------------------------------------------ */

size_t bed_query(const char *text, uint8_t message[DNS_QUERY_MAX])
{
    g_auto(GStrv) word = g_strsplit(text, " ", 0);
    DnsQuestion question = {
        .name = name_of(word[0]), .type = type_of(word[1]),
        .qclass = DNS_CLASS_IN,
    };
    uint16_t udp_size = 0;
    DnsEdns edns = { 0 };
    DnsBuilder b;

    for (char **at = word + 2; *at; at++) {
        if (!strcmp(*at, "DO")) {
            edns.dnssec_ok = true;
            udp_size = udp_size ? udp_size : DNS_UDP_ADVERTISED;
        } else if (g_str_has_prefix(*at, "EDNS=")) {
            udp_size = g_ascii_strtoull(*at + 5, NULL, 10);
        } else if (g_str_has_prefix(*at, "CLASS=")) {
            question.qclass = g_ascii_strtoull(*at + 6, NULL, 10);
        }
    }
    dns_builder_init(&b, message, DNS_QUERY_MAX, 0x1234, 0);
    dns_builder_question(&b, &question);
    if (udp_size) {
        edns.udp_size = udp_size;
        dns_builder_edns(&b, &edns);
    }
    return b.len;
}

void bed_send(AnswerBed *bed, const uint8_t *message, size_t len,
              uint16_t reserve)
{
    DnsQuery query;

    memset(&query, 0xa5, sizeof(query));
    dns_query_read(message, len, &query);
    query.reserve = reserve;
    memset(bed->reply, 0xa5, sizeof(bed->reply));
    bed->len = dns_answer(&bed->answerer, &query, bed->reply,
                          sizeof(bed->reply), &bed->info);
}

char *bed_ask(AnswerBed *bed, const char *question)
{
    uint8_t message[DNS_QUERY_MAX];
    size_t len = bed_query(question, message);

    bed_send(bed, message, len, 0);
    return bed_text(bed);
}

void bed_expect(AnswerBed *bed, const char *question, const char *reply)
{
    g_autofree char *text = NULL;

    g_test_message("%s", question);
    text = bed_ask(bed, question);
    g_assert_cmpstr(text, ==, reply);
}

/* --- replies -------------------------------------------------------------- */

static size_t put_name(GString *to, const uint8_t *message, size_t len,
                       size_t at)
{
    char text[DNS_NAME_TEXT_MAX];
    DnsName name;

    g_assert_cmpint(dns_name_parse(message, len, &at, &name), ==, 0);
    dns_name_to_text(&name, text);
    g_string_append_printf(to, " %s", text);
    return at;
}

static void put_bitmap(GString *to, const uint8_t *at, const uint8_t *end)
{
    if (at == end) {
        return;
    }
    g_assert_true(at + 2 <= end && at[0] == 0 && at + 2 + at[1] == end);
    for (unsigned i = 0; i < at[1] * 8u; i++) {
        if (at[2 + i / 8] & 0x80 >> i % 8) {
            g_autofree char *text = text_of_type(i);

            g_string_append_printf(to, " %s", text);
        }
    }
}

static void put_hex(GString *to, const uint8_t *at, const uint8_t *end)
{
    g_string_append_c(to, ' ');
    for (; at < end; at++) {
        g_string_append_printf(to, "%02x", *at);
    }
}

static void put_address(GString *to, const uint8_t *at, size_t len)
{
    char text[INET6_ADDRSTRLEN];

    g_assert_true(len == 4 || len == 16);
    g_string_append_printf(to, " %s", inet_ntop(len == 4 ? AF_INET : AF_INET6,
                                                at, text, sizeof(text)));
}

/* RRSIG: what it covers, and the labels.  NSEC3: only its types. */
static void put_rdata(GString *to, const uint8_t *message, size_t len,
                      const DnsRr *rr)
{
    const uint8_t *rdata = message + rr->rdata, *end = rdata + rr->rdlength;
    g_autofree char *covered = NULL;
    size_t at = rr->rdata;

    if (rr->type == DNS_TYPE_RRSIG) {
        covered = text_of_type(packet_get16(rdata));
        g_string_append_printf(to, " %s %u", covered, rdata[3]);
        return;
    }
    if (rr->type == DNS_TYPE_NSEC3) {
        put_bitmap(to, rdata + 5 + rdata[4] + 21, end);
        return;
    }
    for (const char *shape = shape_of(rr->type); *shape; shape++) {
        switch (*shape) {
        case 'n':
            at = put_name(to, message, len, at);
            break;
        case '1':
            g_string_append_printf(to, " %u", message[at++]);
            break;
        case '2':
            g_string_append_printf(to, " %u", packet_get16(message + at));
            at += 2;
            break;
        case '4':
            g_string_append_printf(to, " %u", packet_get32(message + at));
            at += 4;
            break;
        case 'a':
            put_address(to, rdata, rr->rdlength);
            at += rr->rdlength;
            break;
        case 'b':
            put_bitmap(to, message + at, end);
            at = end - message;
            break;
        case 's':
            for (; message + at < end; at += 1 + message[at]) {
                g_string_append_printf(to, " %.*s", message[at],
                                       (const char *)message + at + 1);
            }
            break;
        default:
            put_hex(to, message + at, end);
            at = end - message;
            break;
        }
    }
    g_assert_cmpuint(at, ==, end - message);
}

static void put_record(GString *to, const uint8_t *message, size_t len,
                       const DnsRr *rr)
{
    static const char *const sections[] = { "an", "au", "ad" };
    g_autofree char *type = text_of_type(rr->type);
    char owner[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&rr->name, owner);
    g_string_append_printf(to, "%s %s %u %s", sections[rr->section], owner,
                           rr->ttl, type);
    put_rdata(to, message, len, rr);
    g_string_append_c(to, '\n');
}

static void put_flags(GString *to, const DnsHeader *h)
{
    static const char *const rcodes[] = {
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED",
        "YXDOMAIN",
    };

    g_assert_cmpuint(h->flags & DNS_FLAGS_RCODE, <, G_N_ELEMENTS(rcodes));
    g_assert_true(h->flags & DNS_FLAG_QR);
    g_string_append(to, rcodes[h->flags & DNS_FLAGS_RCODE]);
    g_string_append(to, h->flags & DNS_FLAG_AA ? " aa" : "");
    g_string_append(to, h->flags & DNS_FLAG_TC ? " tc" : "");
    g_string_append_c(to, '\n');
}

char *bed_text(AnswerBed *bed)
{
    GString *to = g_string_new(NULL);
    DnsHeader header;
    DnsCursor cursor;
    size_t end = DNS_HEADER_LEN;
    DnsRr rr;
    int ret;

    if (!bed->len) {
        return g_string_free(to, FALSE);
    }
    g_assert_cmpint(dns_header_parse(bed->reply, bed->len, &header), ==, 0);
    put_flags(to, &header);
    g_assert_cmpint(dns_cursor_init(&cursor, bed->reply, bed->len), ==, 0);
    while ((ret = dns_cursor_rr(&cursor, &rr)) == 1) {
        end = rr.rdata + rr.rdlength;
        if (rr.type == DNS_TYPE_OPT) {
            g_assert_cmpuint(rr.start, ==, bed->info.opt_at);
            g_assert_cmpuint(end, ==, bed->len);
        } else {
            put_record(to, bed->reply, bed->len, &rr);
        }
    }
    g_assert_cmpint(ret, ==, 0);
    g_assert_true(!cursor.left[1] && !cursor.left[2] && !cursor.left[3]);
    g_assert_true(end == bed->len || end == DNS_HEADER_LEN);
    return g_string_free(to, FALSE);
}
