/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone image in memory: its header, and its pages, which are checked on use
 *
 * Any number of threads may read one image.  The only memory that they write is
 * one bit for each page, once, and "failed".
 *
 * Memory order.  The bits are relaxed: the page is not written after it was
 * mapped, so a bit publishes nothing.  "failed" is relaxed, too: the thread
 * that met the fault sees its own store.  Lost pages need more:
 * zone_view_failed(). An image itself is published by the pointer to its view
 * (answer/table.h).
 */
#ifndef NET_DNS_ZONE_IMAGE_H
#define NET_DNS_ZONE_IMAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"
#include "net/dns/zone/format.h"

/* A fault of an image, for messages */
typedef struct ZoneFault {
    const char *what;           /* "the page's checksum is wrong"; constant */
    const char *where;          /* name of the section, or "header" */
    uint64_t offset;            /* of the fault in the file */
} ZoneFault;

typedef struct ZoneSpan {
    uint64_t offset;            /* in the file; page-aligned */
    uint64_t len;               /* octets, without the padding */
} ZoneSpan;

typedef struct ZoneImage {
    const uint8_t *file;
    uint64_t len;
    uint64_t identity;
    uint64_t made;              /* seconds since 1970 */
    uint64_t nodes;
    uint64_t rrsets;
    uint64_t records;
    uint64_t key[2];            /* of the hash */
    uint32_t serial;
    uint32_t apex;              /* reference */
    uint32_t flags;             /* ZONE_HAS_... */
    uint32_t buckets;
    uint16_t rrclass;
    uint8_t labels_max;         /* below the origin */
    DnsName origin;
    ZoneSpan section[ZONE_SECTIONS];
    /* A bit for each page; per-thread bits would repeat the checks. */
    atomic_uint_least64_t *checked;
    atomic_bool failed;
} ZoneImage;

/**
 * zone_image_open: open the image in @file, @len octets
 *
 * @file begins at a page boundary, does not change, and outlives the image.
 * The function checks the header, that the sections are in the file, and the
 * checksum of the checksums.  It reads no other page.
 *
 * Returns: NULL, and @fault is set.  errno is ENOMEM if there is no memory, and
 * @fault->what says the same.
 */
ZoneImage *zone_image_open(const void *file, size_t len, ZoneFault *fault);

void zone_image_free(ZoneImage *image);

/* The slow path of zone_image_get(): a page to check, or an error */
const uint8_t *zone_image_get_checked(ZoneImage *image, ZoneSection section,
                                      uint64_t offset, uint64_t len);

/**
 * zone_image_get: @len octets of a section from @offset on
 *
 * Returns: their address; their pages are checked.  NULL if the section is
 * shorter or a page is damaged, and then the image has failed for good.
 */
static inline const uint8_t *zone_image_get(ZoneImage *image,
                                            ZoneSection section,
                                            uint64_t offset, uint64_t len)
{
    const ZoneSpan *span = &image->section[section];
    uint64_t from = span->offset - ZONE_PAGE + offset;
    uint64_t page = from >> ZONE_PAGE_SHIFT;

    if (atomic_load_explicit(&image->failed, memory_order_relaxed) ||
        !len || offset > span->len || len > span->len - offset ||
        (from + len - 1) >> ZONE_PAGE_SHIFT != page ||
        !(atomic_load_explicit(&image->checked[page / 64],
                               memory_order_relaxed) >> page % 64 & 1)) {
        return zone_image_get_checked(image, section, offset, len);
    }
    return image->file + span->offset + offset;
}

/**
 * zone_image_fail: report that data of the image is inconsistent
 *
 * From then on zone_image_get() returns NULL.
 */
void zone_image_fail(ZoneImage *image);

/**
 * zone_image_check_pages: compare all pages with their checksums
 *
 * Returns: false, and @fault is the first fault.
 */
bool zone_image_check_pages(const ZoneImage *image, ZoneFault *fault);

/** zone_image_trust: mark all pages as checked; for the writer of the image */
void zone_image_trust(ZoneImage *image);

/** zone_section_name: "SUMS" and so on, for messages */
const char *zone_section_name(ZoneSection section);

#endif /* NET_DNS_ZONE_IMAGE_H */
