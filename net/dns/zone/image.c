/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zone images
 *
 * Theory of operation
 *
 * docs/dns-image.md defines the file.  This file is the lowest layer: it
 * handles pages and sections.  node.c reads names and records from them, and
 * find.c finds a name.
 *
 * A server must be ready at once, and must not give a wrong answer because of a
 * bad disk.  So opening an image reads only the header and the checksums, 0.1 %
 * of the file.  A page is compared with its checksum when it is used for the
 * first time, and then a bit is set.  If two threads do this at the same time,
 * both do the work, and the result is the same.
 *
 * A correct checksum means that the page is what was written.  It does not mean
 * that the writer was correct or honest.  So the layers above check bounds as
 * well, and call zone_image_fail() if something is wrong.  Then the whole zone
 * is out of service, and its owner is told: a part of a zone would give wrong
 * answers.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/dns/zone/image.h"
#include "net/packet/crc32c.h"

#define HEADER          "header"
#define PAGES_A_WORD    64
#define SUM_LEN         4
#define NODES_MAX_LEN   ((uint64_t)UINT32_MAX << ZONE_REF_SHIFT)

const char *zone_section_name(ZoneSection section)
{
    static const char *const name[ZONE_SECTIONS] = {
        [ZONE_NODES] = "NODES",
        [ZONE_HASH] = "HASH",
        [ZONE_ORDER] = "ORDER",
        [ZONE_NSEC3] = "NSEC3",
        [ZONE_SUMS] = "SUMS",
    };

    return name[section];
}

static bool fault_at(ZoneFault *fault, const char *what, const char *where,
                     uint64_t offset)
{
    *fault = (ZoneFault) { what, where, offset };
    return false;
}

static uint64_t pages_of(uint64_t len)
{
    return (len + ZONE_PAGE - 1) >> ZONE_PAGE_SHIFT;
}

/* The number of words that have the bits of the checked pages */
static uint64_t words_of(uint64_t len)
{
    return pages_of(len) / PAGES_A_WORD + 1;
}

/* --- header --------------------------------------------------------------- */

static bool check_identity(const uint8_t *file, size_t len, ZoneFault *fault)
{
    uint8_t page[ZONE_PAGE];

    if (len < ZONE_MAGIC_LEN || memcmp(file, ZONE_MAGIC, ZONE_MAGIC_LEN)) {
        return fault_at(fault, "this is no zone image", HEADER, 0);
    }
    if (len < ZONE_PAGE) {
        return fault_at(fault, "the file ends within its header", HEADER, len);
    }
    if (get_le32(file + ZONE_H_VERSION) != ZONE_VERSION) {
        return fault_at(fault, "the version is not 1",
                        HEADER, ZONE_H_VERSION);
    }
    memcpy(page, file, ZONE_PAGE);
    memset(page + ZONE_H_CHECKSUM, 0, SUM_LEN);
    if (packet_crc32c(0, page, ZONE_PAGE) !=
        get_le32(file + ZONE_H_CHECKSUM)) {
        return fault_at(fault, "the header's checksum is wrong", HEADER,
                        ZONE_H_CHECKSUM);
    }
    if (get_le64(file + ZONE_H_FILE_LEN) != len) {
        return fault_at(fault, len < get_le64(file + ZONE_H_FILE_LEN) ?
                        "the file is shorter than its header says" :
                        "the file is longer than its header says", HEADER,
                        ZONE_H_FILE_LEN);
    }
    return true;
}

static bool read_origin(ZoneImage *image, ZoneFault *fault)
{
    uint8_t len = image->file[ZONE_H_ORIGIN_LEN];
    size_t offset = DNS_HEADER_LEN;
    uint8_t message[DNS_HEADER_LEN + DNS_NAME_MAX] = { 0 };

    memcpy(message + offset, image->file + ZONE_H_ORIGIN, DNS_NAME_MAX);
    if (dns_name_parse(message, sizeof(message), &offset, &image->origin) ||
        image->origin.len != len || offset != DNS_HEADER_LEN + (size_t)len) {
        return fault_at(fault, "the origin is no name", HEADER, ZONE_H_ORIGIN);
    }
    return true;
}

static bool read_sections(ZoneImage *image, ZoneFault *fault)
{
    uint64_t next = ZONE_PAGE;

    for (ZoneSection s = 0; s < ZONE_SECTIONS; s++) {
        uint64_t at = ZONE_H_SECTIONS + s * ZONE_S_SIZE;
        ZoneSpan *span = &image->section[s];

        span->offset = get_le64(image->file + at + ZONE_S_OFFSET);
        span->len = get_le64(image->file + at + ZONE_S_LEN);
        if (span->offset != next || span->len > image->len - next ||
            pages_of(span->len) > (image->len - next) >> ZONE_PAGE_SHIFT) {
            return fault_at(fault, "the section is not within the file",
                            zone_section_name(s), at);
        }
        next += pages_of(span->len) << ZONE_PAGE_SHIFT;
    }
    if (next != image->len) {
        return fault_at(fault, "the file has octets outside of the sections",
                        HEADER, ZONE_H_SECTIONS);
    }
    return true;
}

static bool check_sizes(const ZoneImage *image, ZoneFault *fault)
{
    const ZoneSpan *s = image->section;
    uint64_t pages = (s[ZONE_SUMS].offset >> ZONE_PAGE_SHIFT) - 1;

    if (s[ZONE_SUMS].len != pages * SUM_LEN) {
        return fault_at(fault,
                        "the number of checksums is not that of the pages",
                        zone_section_name(ZONE_SUMS), s[ZONE_SUMS].offset);
    }
    if (s[ZONE_NODES].len > NODES_MAX_LEN || image->nodes > UINT32_MAX) {
        return fault_at(fault, "there are more nodes than references",
                        zone_section_name(ZONE_NODES), s[ZONE_NODES].offset);
    }
    if (!image->buckets ||
        s[ZONE_HASH].len != (uint64_t)image->buckets * ZONE_B_SIZE) {
        return fault_at(fault, "the number of buckets is not the header's",
                        zone_section_name(ZONE_HASH), s[ZONE_HASH].offset);
    }
    if (s[ZONE_ORDER].len != (image->nodes + ZONE_ORDER_EVERY - 1) /
                             ZONE_ORDER_EVERY * sizeof(uint32_t)) {
        return fault_at(fault, "it does not have every 16th node",
                        zone_section_name(ZONE_ORDER), s[ZONE_ORDER].offset);
    }
    if (s[ZONE_NSEC3].len % sizeof(uint32_t)) {
        return fault_at(fault, "the last reference is cut",
                        zone_section_name(ZONE_NSEC3), s[ZONE_NSEC3].offset);
    }
    return true;
}

static bool check_sums(const ZoneImage *image, ZoneFault *fault)
{
    const ZoneSpan *sums = &image->section[ZONE_SUMS];
    uint32_t want = get_le32(image->file + ZONE_H_SECTIONS +
                             ZONE_SUMS * ZONE_S_SIZE + ZONE_S_CHECKSUM);

    if (packet_crc32c(0, image->file + sums->offset,
                      image->len - sums->offset) != want) {
        return fault_at(fault, "the checksum of the checksums is wrong",
                        zone_section_name(ZONE_SUMS), sums->offset);
    }
    return true;
}

static void read_numbers(ZoneImage *image)
{
    const uint8_t *h = image->file;
    uint64_t seed = get_le64(h + ZONE_H_SEED);

    image->identity = get_le64(h + ZONE_H_IDENTITY);
    image->made = get_le64(h + ZONE_H_MADE);
    image->serial = get_le32(h + ZONE_H_SERIAL);
    image->rrclass = get_le16(h + ZONE_H_CLASS);
    image->labels_max = h[ZONE_H_LABELS];
    image->nodes = get_le64(h + ZONE_H_NODES);
    image->rrsets = get_le64(h + ZONE_H_RRSETS);
    image->records = get_le64(h + ZONE_H_RECORDS);
    image->key[0] = seed;
    image->key[1] = seed << 32 | seed >> 32;
    image->apex = get_le32(h + ZONE_H_APEX);
    image->flags = get_le32(h + ZONE_H_FLAGS);
    image->buckets = get_le32(h + ZONE_H_BUCKETS);
}

/* --- pages ---------------------------------------------------------------- */

/* Page 0 is the one behind the header. */
static bool page_is_right(const ZoneImage *image, uint64_t page)
{
    const uint8_t *sum = image->file + image->section[ZONE_SUMS].offset +
                         page * SUM_LEN;
    const uint8_t *at = image->file + ((page + 1) << ZONE_PAGE_SHIFT);

    return packet_crc32c(0, at, ZONE_PAGE) == get_le32(sum);
}

static bool use_page(ZoneImage *image, uint64_t page)
{
    atomic_uint_least64_t *word = &image->checked[page / PAGES_A_WORD];
    uint64_t bit = UINT64_C(1) << page % PAGES_A_WORD;

    if (atomic_load_explicit(word, memory_order_relaxed) & bit) {
        return true;
    }
    if (!page_is_right(image, page)) {
        return false;
    }
    atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
    return true;
}

void zone_image_fail(ZoneImage *image)
{
    atomic_store_explicit(&image->failed, true, memory_order_relaxed);
}

const uint8_t *zone_image_get_checked(ZoneImage *image, ZoneSection section,
                                      uint64_t offset, uint64_t len)
{
    const ZoneSpan *span = &image->section[section];
    uint64_t from = span->offset - ZONE_PAGE + offset;

    if (atomic_load_explicit(&image->failed, memory_order_relaxed)) {
        return NULL;
    }
    if (!len || offset > span->len || len > span->len - offset) {
        zone_image_fail(image);
        return NULL;
    }
    for (uint64_t page = from >> ZONE_PAGE_SHIFT;
         page <= (from + len - 1) >> ZONE_PAGE_SHIFT; page++) {
        if (!use_page(image, page)) {
            zone_image_fail(image);
            return NULL;
        }
    }
    return image->file + span->offset + offset;
}

void zone_image_trust(ZoneImage *image)
{
    memset((void *)image->checked, 0xff, words_of(image->len) *
           sizeof(*image->checked));
}

bool zone_image_check_pages(const ZoneImage *image, ZoneFault *fault)
{
    uint64_t end = image->section[ZONE_SUMS].offset;
    ZoneSection section = ZONE_NODES;

    for (uint64_t offset = ZONE_PAGE; offset < end; offset += ZONE_PAGE) {
        while (offset >= image->section[section + 1].offset) {
            section++;
        }
        if (!page_is_right(image, (offset >> ZONE_PAGE_SHIFT) - 1)) {
            return fault_at(fault, "the page's checksum is wrong",
                            zone_section_name(section), offset);
        }
    }
    return true;
}

/* --- life ----------------------------------------------------------------- */

ZoneImage *zone_image_open(const void *file, size_t len, ZoneFault *fault)
{
    ZoneImage *image;

    if (!check_identity(file, len, fault)) {
        return NULL;
    }
    image = calloc(1, sizeof(*image));
    if (!image) {
        goto no_memory;
    }
    image->file = file;
    image->len = len;
    image->checked = calloc(words_of(len), sizeof(*image->checked));
    if (!image->checked) {
        goto no_memory;
    }
    read_numbers(image);
    if (read_origin(image, fault) && read_sections(image, fault) &&
        check_sizes(image, fault) && check_sums(image, fault)) {
        return image;
    }
    zone_image_free(image);
    return NULL;

no_memory:
    zone_image_free(image);
    fault_at(fault, "there is no memory to open it", HEADER, 0);
    errno = ENOMEM;
    return NULL;
}

void zone_image_free(ZoneImage *image)
{
    if (image) {
        free(image->checked);
        free(image);
    }
}
