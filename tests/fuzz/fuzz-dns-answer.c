/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any query, and a hostile zone image
 *
 * The first octet is the number of changes to the images.  Each change has
 * three octets: where (two), and the new octet.  The checksums are corrected.
 * The rest is a query; if it is empty, fixed ones are asked.  A reply must be
 * within its limit and have as many records as its counts say.  Only a damaged
 * image may cause SERVFAIL.
 */
#include <string.h>

#include "net/packet/crc32c.h"
#include "tests/fixtures/answer-fixture.h"

#define CHANGE      3
#define ROOM        1400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HASHED(hash, next, types) \
    hash ".b 60 NSEC3 1 1 1 aabb " next " " types "\n"

static const char nsec_zone[] =
    "a 60 SOA ns.a root.a 1 2 3 4 5\n"
    "a 60 NS ns.sub.a\n"
    "a 60 NSEC *.a NS SOA RRSIG NSEC\n"
    "*.a 60 MX 1 x.*.a\n"
    "*.a 60 MX 2 mail.a\n"
    "*.a 60 NSEC alias.a MX RRSIG NSEC\n"
    "alias.a 60 CNAME dname.a\n"
    "alias.a 60 NSEC dname.a CNAME RRSIG NSEC\n"
    "dname.a 60 DNAME sub.b\n"
    "dname.a 60 NSEC mail.a DNAME RRSIG NSEC\n"
    "mail.a 60 A 192.0.2.1\n"
    "mail.a 60 NSEC sub.a A RRSIG NSEC\n"
    "sub.a 60 NS ns.sub.a\n"
    "sub.a 60 NS mail.a\n"
    "sub.a 60 NSEC a NS RRSIG NSEC\n"
    "ns.sub.a 60 AAAA 2001:db8::1\n"
    "u.e.e.a 60 PTR e.a\n";

static const char nsec3_zone[] =
    "b 60 SOA ns.b root.b 1 2 3 4 5\n"
    "b 60 NSEC3PARAM 1 0 1 aabb\n"
    HASHED("10000000000000000000000000000000",
           "80000000000000000000000000000000", "A RRSIG")
    HASHED("80000000000000000000000000000000",
           "g0000000000000000000000000000000", "NS")
    HASHED("g0000000000000000000000000000000",
           "10000000000000000000000000000000", "NS SOA")
    "mail.b 60 SRV 1 2 3 mail.b\n"
    "mail.b 60 A 192.0.2.1\n"
    "*.wild.b 60 CNAME c.sub.b\n"
    "sub.b 60 NS ns.sub.b\n"
    "ns.sub.b 60 A 192.0.2.1\n";

static const char *const questions[] = {
    "a SOA DO", "x.y.a MX DO", "x.y.a A DO", "alias.a A DO", "w.dname.a TXT",
    "mail.a A", "www.sub.a A DO", "sub.a DS DO", "sub.a ANY", "mail.a ANY DO",
    "e.a A DO", "zz.e.e.a A DO", "u.e.e.a PTR", "b SOA", "no.b A DO",
    "mail.b SRV DO", "mail.b TXT DO", "r.wild.b A DO", "x.sub.b A DO",
    "10000000000000000000000000000000.b NSEC3 DO", "mail.b RRSIG",
};

static void check_reply(const AnswerBed *bed, const uint8_t *out, size_t len,
                        bool is_good)
{
    size_t end = DNS_HEADER_LEN;
    DnsHeader header;
    DnsCursor cursor;
    DnsQuestion question;
    DnsRr rr = { 0 };
    int ret;

    g_assert_cmpuint(len, <=, ROOM);
    if (!len) {
        return;
    }
    g_assert_cmpint(dns_header_parse(out, len, &header), ==, 0);
    g_assert_true(header.flags & DNS_FLAG_QR && header.qdcount <= 1);
    g_assert_true(!is_good || bed->info.rcode != DNS_RCODE_SERVFAIL);
    g_assert_cmpint(dns_cursor_init(&cursor, out, len), ==, 0);
    ret = dns_cursor_question(&cursor, &question);
    g_assert_cmpint(ret, ==, header.qdcount);
    end += ret ? question.name.len + 4 : 0;
    while ((ret = dns_cursor_rr(&cursor, &rr)) == 1) {
        end = rr.rdata + rr.rdlength;
    }
    g_assert_cmpint(ret, ==, 0);
    g_assert_cmpuint(end, ==, len);
    g_assert_cmpint(bed->info.opt_at != 0, ==, rr.type == DNS_TYPE_OPT);
}

static void send_to(AnswerBed *bed, const uint8_t *message, size_t len,
                    bool is_good)
{
    /* Copies of the exact length, so that the sanitizer finds overruns. */
    g_autofree uint8_t *query = g_memdup2(message, len);
    g_autofree uint8_t *out = g_malloc(ROOM);
    DnsQuery parsed;
    size_t reply;

    dns_query_read(query, len, &parsed);
    reply = dns_answer(&bed->answerer, &parsed, out, ROOM, &bed->info);
    check_reply(bed, out, reply, is_good);
}

static void ask_all(AnswerBed *bed, bool is_good)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(questions); i++) {
        uint8_t message[DNS_QUERY_MAX];
        size_t len = bed_query(questions[i], message);

        send_to(bed, message, len, is_good);
        for (size_t n = 0; n < bed->zones; n++) {
            atomic_store(&bed->zone[n].view.layer[0]->failed, false);
        }
    }
}

/* A copy of a zone's image, changed; false if it cannot be opened. */
static bool change_image(DnsServedZone *zone, const uint8_t *data, size_t size)
{
    const ZoneImage *good = zone->view.layer[0];
    uint8_t *file = g_memdup2(good->file, good->len);
    ZoneFault fault;

    for (; size >= CHANGE; size -= CHANGE, data += CHANGE) {
        file[(data[0] << 8 | data[1]) % good->len] = data[2];
    }
    memset(file + ZONE_H_CHECKSUM, 0, 4);
    put_le32(file + ZONE_H_CHECKSUM, packet_crc32c(0, file, ZONE_PAGE));
    zone->view.layer[0] = zone_image_open(file, good->len, &fault);
    if (!zone->view.layer[0] ||
        !dns_name_equal(&zone->view.layer[0]->origin, &zone->origin)) {
        zone_image_free(zone->view.layer[0]);
        g_free(file);
        zone->view.layers = 0;
        return false;
    }
    zone_image_trust(zone->view.layer[0]);
    return true;
}

static void with_changes(const AnswerBed *good, const uint8_t *data,
                         size_t size, size_t changes)
{
    static const uint64_t key[2] = { 3, 4 };
    AnswerBed bed;
    bool is_open = true;

    memcpy(&bed, good, offsetof(AnswerBed, reply));
    for (size_t i = 0; i < bed.zones; i++) {
        is_open &= change_image(&bed.zone[i], data, changes);
    }
    bed.table = dns_zone_table_new(key, bed.zone, bed.zones);
    bed.answerer.zones = bed.table;
    if (is_open) {
        ask_all(&bed, false);
    }
    send_to(&bed, data + changes, size - changes, false);
    dns_zone_table_free(bed.table);
    for (size_t i = 0; i < bed.zones; i++) {
        if (bed.zone[i].view.layers) {
            ZoneImage *image = bed.zone[i].view.layer[0];

            g_free((void *)image->file);
            zone_image_free(image);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static AnswerBed good;
    size_t changes;

    if (!good.zones) {
        bed_add_zone(&good, "a", nsec_zone, true);
        bed_add_zone(&good, "b", nsec3_zone, true);
        good.answerer.flags = 0;
    }
    if (!size) {
        ask_all(&good, false);
        return 0;
    }
    good.answerer.flags = data[0] >> 7;
    changes = (data[0] & 0x7f) * CHANGE;
    data++;
    size--;
    if (!changes) {
        send_to(&good, data, size, false);
    } else if (changes <= size) {
        with_changes(&good, data, size, changes);
    }
    return 0;
}
