/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-zone check */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "dnsd/text/print.h"
#include "dnsd/zone/commands.h"
#include "dnsd/zone/image-file.h"
#include "dnsd/zone/json.h"
#include "dnsd/zone/source.h"
#include "net/dns/zone/verify.h"

static const char *zone_name;

/* --- images --------------------------------------------------------------- */

static int show_found(const char *why)
{
    if (source_options.json) {
        fputs("{\"ok\": false, \"fault\": ", stdout);
        json_string(stdout, why);
        puts("}");
    } else {
        args_say("%s", why);
    }
    return args_flush(EXIT_FOUND);
}

static int show_right(const char *path, const ZoneImage *image)
{
    char origin[DNS_PRINT_NAME_MAX];

    dns_print_name(&image->origin, origin);
    if (source_options.json) {
        fputs("{\"ok\": true, \"zone\": ", stdout);
        json_string(stdout, origin);
        printf(", \"serial\": %" PRIu32 ", \"names\": %" PRIu64
               ", \"records\": %" PRIu64 "}\n", image->serial, image->nodes,
               image->records);
    } else {
        printf("%s: zone %s serial %" PRIu32 ": %" PRIu64 " records of %"
               PRIu64 " names; the image is whole\n", path, origin,
               image->serial, image->records, image->nodes);
    }
    return args_flush(EXIT_DONE);
}

static int check_image(const char *path)
{
    char why[IMAGE_FAULT_MAX];
    ZoneFault fault;
    ImageFile file;
    int ret;

    if (!image_file_open(&file, path, why)) {
        return show_found(why);
    }
    if (zone_image_verify(file.image, &fault)) {
        ret = show_right(path, file.image);
    } else {
        image_file_fault(path, &fault, why);
        ret = show_found(why);
    }
    image_file_close(&file);
    return ret;
}

/* --- master files --------------------------------------------------------- */

static int grow(ZoneOut *out, uint64_t room)
{
    void *base = out->base ?
        mremap(out->base, out->room, room, MREMAP_MAYMOVE) :
        mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
             MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED) {
        return -errno;
    }
    out->base = base;
    out->room = room;
    return 0;
}

static int show_zone(const Report *report, const Made *made)
{
    bool failed = report->count[SEVERITY_ERROR];

    if (source_options.json) {
        printf("{\"ok\": %s, ", failed ? "false" : "true");
        if (!failed) {
            printf("\"serial\": %" PRIu32 ", \"names\": %" PRIu64
                   ", \"records\": %" PRIu64 ", ", made->serial, made->nodes,
                   made->records);
        }
        source_messages(report);
        puts("}");
    } else if (failed) {
        args_say("%s: errors: %" PRIu64, zone_name,
                 report->count[SEVERITY_ERROR]);
    } else {
        printf("%s: serial %" PRIu32 ": %" PRIu64 " records of %" PRIu64
               " names; no errors, warnings: %" PRIu64 "\n", zone_name,
               made->serial, made->records, made->nodes,
               report->count[SEVERITY_WARNING]);
    }
    return args_flush(failed ? EXIT_FOUND : EXIT_DONE);
}

static int check_files(char **words, size_t count)
{
    const char *dir = getenv("TMPDIR");
    ZoneOut out = { .grow = grow };
    Report report;
    Make make = {
        .paths = (const char *const *)words,
        .count = count,
        .dir = dir ? dir : "/tmp",
        .report = &report,
        .out = &out,
    };
    Made made;
    int ret;

    report_init(&report, source_options.json ? NULL : stderr, zone_name,
                source_options.messages);
    ret = source_make(zone_name, &make, &made);
    if (!ret) {
        ret = show_zone(&report, &made);
    } else if (ret < 0) {
        ret = reject(source_options.json, "%s: %s", zone_name,
                     strerror(-ret));
    }
    if (out.base) {
        munmap(out.base, out.room);
    }
    report_destroy(&report);
    return ret;
}

static int refuse_text(const char *path)
{
    return reject(source_options.json, "%s: it is no zone image; to "
                  "check a master file, name its zone: --zone ZONE", path);
}

static int run(char **words, size_t count)
{
    int is_one;

    if (zone_name) {
        return check_files(words, count);
    }
    if (count > 1) {
        return args_wrong("'%s' is one image more than it takes; master files "
                          "need --zone ZONE", words[1]);
    }
    is_one = image_file_is_one(words[0]);
    if (is_one < 0) {
        return reject(source_options.json, "%s: %s", words[0],
                      strerror(-is_one));
    }
    return is_one ? check_image(words[0]) : refuse_text(words[0]);
}

static const ArgOption options[] = {
    { "zone", 'z', ARG_TEXT, "ZONE", "check master files of this zone instead "
      "of an image", &zone_name, 0, 0, NULL, NULL },
    { 0 },
};

const ArgCommand command_check = {
    .name = "check",
    .usage = "IMAGE | --zone ZONE FILE...",
    .summary = "check an image to the last octet, or master files",
    .text = "Of an image the first fault is told, with the section and the "
            "offset in the file;\nof master files all that 'compile' would "
            "say of them.",
    .options = options,
    .shared = source_arguments,
    .least = 1,
    .most = ARG_ANY,
    .run = run,
};
