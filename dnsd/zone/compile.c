/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-zone compile */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "dnsd/text/print.h"
#include "dnsd/zone/commands.h"
#include "dnsd/zone/json.h"
#include "dnsd/zone/output.h"
#include "dnsd/zone/source.h"

#define ENDING      ".vzi"
#define MEGA        1e6

static const char *output_path;

/* "example.net.vzi"; for the root zone "root.vzi" */
static char *default_path(const char *zone)
{
    size_t len = strlen(zone);
    char *path;

    if (len && zone[len - 1] == '.') {
        len--;
    }
    return asprintf(&path, "%.*s" ENDING, len ? (int)len : 4,
                    len ? zone : "root") < 0 ? NULL : path;
}

static int refuse_errno(const char *path, const char *dir, int error)
{
    bool json = source_options.json;
    struct statvfs disk;

    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return reject(json, "%s: the disk is full: %.0f MB "
                      "are free, and the zone needs more; nothing is changed",
                      path, statvfs(dir, &disk) ? 0 : (double)disk.f_bavail *
                      disk.f_frsize / MEGA);
    case ENOMEM:
        return reject(json, "%s: there is not enough memory: "
                      "set a lower --memory; nothing is changed", path);
    case EISDIR:
        return reject(json, "%s: it is a folder: name a file "
                      "with -o", path);
    case EINVAL:
        return reject(json, "%s: it is no regular file, and "
                      "an image cannot replace it", path);
    case EBUSY:
        return reject(json, "%s: another compile writes it "
                      "now; nothing is changed", path);
    default:
        return reject(json, "%s: %s; nothing is changed",
                      path, strerror(error));
    }
}

static void show_made(const char *path, const DnsName *origin,
                      const Made *made, const Report *report)
{
    char zone[DNS_PRINT_NAME_MAX];

    dns_print_name(origin, zone);
    if (source_options.json) {
        fputs("{\"image\": ", stdout);
        json_string(stdout, path);
        fputs(", \"zone\": ", stdout);
        json_string(stdout, zone);
        printf(", \"serial\": %" PRIu32 ", \"names\": %" PRIu64
               ", \"records\": %" PRIu64 ", \"octets\": %" PRIu64
               ", \"seconds\": %.3f, ", made->serial, made->nodes,
               made->records, made->len, made->seconds);
        source_messages(report);
        puts("}");
        return;
    }
    printf("%s: zone %s serial %" PRIu32 ": %" PRIu64 " records of %" PRIu64
           " names, %.2f MB, %.2f s\n", path, zone, made->serial,
           made->records, made->nodes, made->len / MEGA, made->seconds);
}

static int refuse_zone(const Report *report, const char *path)
{
    if (source_options.json) {
        printf("{\"error\": \"the zone has errors; nothing is changed\", ");
        source_messages(report);
        puts("}");
        return args_flush(EXIT_CANNOT);
    }
    return reject(false, "%s: the zone has %" PRIu64 " error%s; "
                  "nothing is changed", path, report->count[SEVERITY_ERROR],
                  report->count[SEVERITY_ERROR] == 1 ? "" : "s");
}

static int compile(const char *zone, const char *path, Make *make,
                   Output *output)
{
    Made made;
    int ret = source_make(zone, make, &made);

    if (ret > 0) {
        return ret;
    }
    if (!ret && report_failed(make->report)) {
        return refuse_zone(make->report, path);
    }
    ret = ret ? ret : output_commit(output, made.len);
    if (ret) {
        return refuse_errno(path, output->folder, -ret);
    }
    show_made(path, &make->rules.origin, &made, make->report);
    return args_flush(EXIT_DONE);
}

static int run(char **words, size_t count)
{
    char *path = output_path ? strdup(output_path) : default_path(words[0]);
    Report report;
    Output output;
    Make make = {
        .paths = (const char *const *)words + 1,
        .count = count - 1,
        .report = &report,
        .out = &output.out,
    };
    int ret;

    if (!path) {
        return reject(source_options.json, "%s", strerror(ENOMEM));
    }
    report_init(&report, source_options.json ? NULL : stderr, words[0],
                source_options.messages);
    ret = output_open(&output, path);
    make.dir = output.folder;
    ret = ret ? refuse_errno(path, output.folder, -ret)
              : compile(words[0], path, &make, &output);
    output_close(&output);
    report_destroy(&report);
    free(path);
    return ret;
}

static const ArgOption options[] = {
    { "output", 'o', ARG_TEXT, "IMAGE", "the file to make or replace "
      "(ZONE" ENDING ")", &output_path, 0, 0, NULL, NULL },
    { 0 },
};

const ArgCommand command_compile = {
    .name = "compile",
    .usage = "ZONE FILE... [-o IMAGE]",
    .summary = "make an image of a zone from its master files",
    .text = "Several files are read one behind the other; '-' is standard "
            "input. Mistakes are\ntold as named-checkzone does: errors, with "
            "which nothing is changed, and warnings.\nThe image takes the "
            "place of the old one at once when it is on the disk.",
    .options = options,
    .shared = source_arguments,
    .least = 2,
    .most = ARG_ANY,
    .run = run,
};
