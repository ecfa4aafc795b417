/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zone image from the records of AXFR, which come in any order */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "dnsd/update/change/buffer.h"
#include "dnsd/update/change/records.h"
#include "dnsd/update/store/layer.h"
#include "dnsd/update/xfr/axfr-image.h"
#include "dnsd/update/xfr/sorter.h"

#define SORT_MEMORY     (64u << 20)

struct AxfrImage {
    char *path;
    const atomic_bool *stop;
    ZoneAbout about;
    DnsSorter *sorter;
    ZoneWriter *writer;
    /* The name whose records are being collected */
    bool has_name;
    DnsName name;
    size_t count;
    DnsBuffer records;          /* ZoneRecord; rdata is an offset at first */
    DnsBuffer rdata;
    uint64_t dropped;           /* signatures of no RRset */
};

AxfrImage *axfr_image_new(const char *path, const DnsName *origin,
                          uint16_t rrclass, const atomic_bool *stop)
{
    AxfrImage *image = calloc(1, sizeof(*image));
    char *copy = strdup(path);

    if (image) {
        image->path = strdup(path);
        image->stop = stop;
        image->about = (ZoneAbout) { .origin = *origin, .rrclass = rrclass };
        image->sorter = copy ? dns_sorter_new(dirname(copy), SORT_MEMORY)
                             : NULL;
        if (!image->path || !image->sorter) {
            axfr_image_free(image);
            image = NULL;
        }
    }
    free(copy);
    return image;
}

void axfr_image_free(AxfrImage *image)
{
    if (image) {
        dns_sorter_free(image->sorter);
        dns_buffer_free(&image->records);
        dns_buffer_free(&image->rdata);
        free(image->path);
        free(image);
    }
}

uint64_t axfr_image_dropped(const AxfrImage *image)
{
    return image->dropped;
}

int axfr_image_add(AxfrImage *image, const DnsName *name,
                   const ZoneRecord *record)
{
    return dns_sorter_add(image->sorter, name, record);
}

/* --- names ---------------------------------------------------------------- */

static ZoneRecord *records_of(AxfrImage *image)
{
    return (ZoneRecord *)image->records.octets;
}

/* RFC 1034 section 4.2.1: the apex must have NS records. */
static bool is_no_zone(const AxfrImage *image, const ZoneRecord *records)
{
    size_t i = 0;

    if (!dns_name_equal(&image->name, &image->about.origin)) {
        return false;
    }
    while (i < image->count && records[i].type != DNS_TYPE_NS) {
        i++;
    }
    return i == image->count;
}

/*
 * Drop signatures of types that the name does not have.  The types ascend, as
 * do those that are covered.
 */
static void drop_orphans(AxfrImage *image, ZoneRecord *records)
{
    size_t at = 0, kept = 0;

    for (size_t i = 0; i < image->count; i++) {
        uint16_t covered = dns_record_covers(&records[i]);

        if (records[i].type == DNS_TYPE_RRSIG) {
            while (at < image->count && records[at].type < covered) {
                at++;
            }
            if (at == image->count || covered == DNS_TYPE_RRSIG ||
                records[at].type != covered) {
                image->dropped++;
                continue;
            }
        }
        records[kept++] = records[i];
    }
    image->count = kept;
}

static int put_name(AxfrImage *image)
{
    ZoneRecord *records = records_of(image);
    int ret;

    if (!image->has_name) {
        return 0;
    }
    if (is_no_zone(image, records)) {
        return -ENODATA;
    }
    for (size_t i = 0; i < image->count; i++) {
        records[i].rdata = image->rdata.octets + (uintptr_t)records[i].rdata;
    }
    drop_orphans(image, records);
    ret = image->count ? zone_writer_node(image->writer, &image->name, records,
                                          image->count) : 0;
    image->has_name = false;
    image->count = image->records.len = image->rdata.len = 0;
    return ret;
}

static bool is_twin(AxfrImage *image, const ZoneRecord *record)
{
    ZoneRecord last;

    if (!image->count) {
        return false;
    }
    last = records_of(image)[image->count - 1];
    last.rdata = image->rdata.octets + (uintptr_t)last.rdata;
    return !dns_record_compare(&last, record);
}

static int take(void *opaque, const DnsName *name, const ZoneRecord *record)
{
    AxfrImage *image = opaque;
    ZoneRecord copy = *record;
    int ret = 0;

    if (image->stop && atomic_load(image->stop)) {
        return -ECANCELED;
    }
    if (image->has_name && !dns_name_equal(&image->name, name)) {
        ret = put_name(image);
    }
    if (ret || (image->has_name && is_twin(image, record))) {
        return ret;
    }
    if (!image->has_name) {
        image->name = *name;
        image->has_name = true;
    }
    copy.rdata = (const uint8_t *)(uintptr_t)image->rdata.len;
    ret = dns_buffer_add(&image->rdata, record->rdata, record->rdlength);
    ret = ret ? ret : dns_buffer_add(&image->records, &copy, sizeof(copy));
    image->count += !ret;
    return ret;
}

/* --- the file ------------------------------------------------------------- */

static int write_image(AxfrImage *image, ZoneOut *out, uint64_t *len)
{
    int ret;

    image->writer = zone_writer_new(&image->about, out);
    if (!image->writer) {
        return -ENOMEM;
    }
    ret = dns_sorter_each(image->sorter, take, image);
    ret = ret ? ret : put_name(image);
    ret = ret ? ret : zone_writer_finish(image->writer, len);
    zone_writer_free(image->writer);
    return ret;
}

int axfr_image_finish(AxfrImage *image)
{
    uint64_t random[2], len = 0;
    DnsFileOut file;
    int ret, closed;

    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
        return -EIO;
    }
    image->about.identity = random[0];
    image->about.seed = random[1];
    image->about.made = time(NULL);
    ret = dns_file_out_open(&file, image->path);
    if (ret) {
        return ret;
    }
    ret = write_image(image, &file.out, &len);
    closed = dns_file_out_close(&file, ret ? 0 : len);
    ret = ret ? ret : closed;
    if (ret) {
        unlink(image->path);
    }
    return ret;
}
