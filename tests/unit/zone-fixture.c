/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zone images made in memory from a few lines */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "zone-fixture.h"

#define RECORDS_MAX 512

DnsName zone_name(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

static void add_name(GByteArray *to, const char *text)
{
    DnsName name = zone_name(text);

    g_byte_array_append(to, name.wire, name.len);
}

static void add_hex(GByteArray *to, const char *text)
{
    for (; *text; text += 2) {
        uint8_t octet = g_ascii_xdigit_value(text[0]) << 4 |
                        g_ascii_xdigit_value(text[1]);

        g_byte_array_append(to, &octet, 1);
    }
}

static void add_soa(GByteArray *to, const char *serial)
{
    uint8_t numbers[20] = { 0 };

    zone_put32(numbers, GUINT32_SWAP_LE_BE(g_ascii_strtoull(serial, NULL, 10)));
    add_name(to, "ns.example");
    add_name(to, "root.example");
    g_byte_array_append(to, numbers, sizeof(numbers));
}

/* "48" is one of a key's type, with a signature of 16 octets. */
static void add_rrsig(GByteArray *to, const char *covered)
{
    uint8_t head[18] = { 0, g_ascii_strtoull(covered, NULL, 10) };
    uint8_t tail[16] = { 0xaa };

    g_byte_array_append(to, head, sizeof(head));
    add_name(to, "example");
    g_byte_array_append(to, tail, sizeof(tail));
}

static GByteArray *rdata_of(const ZoneLine *line)
{
    static const uint8_t preference[6] = { 0, 10 };
    GByteArray *to = g_byte_array_new();
    struct in6_addr addr;

    if (g_str_has_prefix(line->rdata, "hex:")) {
        add_hex(to, line->rdata + 4);
        return to;
    }
    switch (line->type) {
    case DNS_TYPE_A:
        g_assert_cmpint(inet_pton(AF_INET, line->rdata, &addr), ==, 1);
        return g_byte_array_append(to, (void *)&addr, 4);
    case DNS_TYPE_AAAA:
        g_assert_cmpint(inet_pton(AF_INET6, line->rdata, &addr), ==, 1);
        return g_byte_array_append(to, (void *)&addr, 16);
    case DNS_TYPE_SOA:
        add_soa(to, line->rdata);
        return to;
    case DNS_TYPE_RRSIG:
        add_rrsig(to, line->rdata);
        return to;
    case DNS_TYPE_MX:
        g_byte_array_append(to, preference, 2);
        break;
    case 33:
        g_byte_array_append(to, preference, 6);
        break;
    default:
        break;
    }
    add_name(to, line->rdata);
    return to;
}

static int grow(ZoneOut *out, uint64_t room)
{
    out->base = g_realloc(out->base, room);
    memset(out->base + out->room, 0, room - out->room);
    out->room = room;
    return 0;
}

static int write_lines(ZoneWriter *w, const ZoneLine *lines, size_t count)
{
    int ret = 0;

    for (size_t i = 0, n; i < count && !ret; i += n) {
        g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func(
            (GDestroyNotify)g_byte_array_unref);
        ZoneRecord records[RECORDS_MAX];
        DnsName owner = zone_name(lines[i].owner);

        for (n = 0; i + n < count && lines[i + n].rdata &&
             !strcmp(lines[i + n].owner, lines[i].owner); n++) {
            GByteArray *rdata = rdata_of(&lines[i + n]);

            g_assert_cmpuint(n, <, RECORDS_MAX);
            g_ptr_array_add(kept, rdata);
            records[n] = (ZoneRecord) {
                lines[i + n].type, rdata->len, 300, rdata->data,
            };
        }
        ret = n ? zone_writer_node(w, &owner, records, n)
                : zone_writer_gone(w, &owner);
        n = n ? n : 1;
    }
    return ret;
}

static int make(const char *origin, bool is_delta, const ZoneLine *lines,
                size_t count, ZoneMade *made)
{
    ZoneOut out = { .grow = grow };
    ZoneAbout about = {
        .origin = zone_name(origin),
        .rrclass = DNS_CLASS_IN,
        .is_delta = is_delta,
        .identity = 7,
        .seed = 0x0123456789abcdef,
    };
    ZoneWriter *w = zone_writer_new(&about, &out);
    int ret = write_lines(w, lines, count);

    ret = ret ? ret : zone_writer_finish(w, &made->len);
    zone_writer_free(w);
    made->file = out.base;
    return ret;
}

ZoneMade zone_make(const char *origin, const ZoneLine *lines, size_t count)
{
    ZoneMade made;

    g_assert_cmpint(make(origin, false, lines, count, &made), ==, 0);
    return made;
}

ZoneMade zone_make_delta(const char *origin, const ZoneLine *lines,
                         size_t count)
{
    ZoneMade made;

    g_assert_cmpint(make(origin, true, lines, count, &made), ==, 0);
    return made;
}

int zone_try(const char *origin, const ZoneLine *lines, size_t count)
{
    ZoneMade made;
    int ret = make(origin, false, lines, count, &made);

    g_free(made.file);
    return ret;
}

ZoneImage *zone_open(const ZoneMade *made)
{
    ZoneFault fault = { 0 };
    ZoneImage *image = zone_image_open(made->file, made->len, &fault);

    if (!image) {
        g_error("%s: %s at %" G_GUINT64_FORMAT, fault.where, fault.what,
                fault.offset);
    }
    return image;
}
