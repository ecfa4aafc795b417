/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-zone show */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dnsd/text/types.h"
#include "net/dns/zone/find.h"
#include "dnsd/zone/commands.h"
#include "dnsd/zone/image-file.h"
#include "dnsd/zone/json.h"
#include "dnsd/zone/line.h"

#define TIME_MAX    32

static bool json;

/* --- the header ----------------------------------------------------------- */

static void show_header_json(const ZoneImage *image, const char *origin,
                             const char *class, const char *made)
{
    printf("{\"zone\": ");
    json_string(stdout, origin);
    printf(", \"class\": \"%s\", \"serial\": %" PRIu32 ", \"made\": \"%s\", "
           "\"identity\": \"%016" PRIx64 "\", \"names\": %" PRIu64
           ", \"rrsets\": %" PRIu64 ", \"records\": %" PRIu64
           ", \"octets\": %" PRIu64 ", \"nsec\": %s, \"nsec3\": %s, "
           "\"delta\": %s, \"sections\": {", class, image->serial, made,
           image->identity, image->nodes, image->rrsets, image->records,
           image->len, image->flags & ZONE_HAS_NSEC ? "true" : "false",
           image->flags & ZONE_HAS_NSEC3 ? "true" : "false",
           image->flags & ZONE_IS_DELTA ? "true" : "false");
    for (ZoneSection s = 0; s < ZONE_SECTIONS; s++) {
        printf("%s\"%s\": {\"offset\": %" PRIu64 ", \"octets\": %" PRIu64 "}",
               s ? ", " : "", zone_section_name(s), image->section[s].offset,
               image->section[s].len);
    }
    puts("}}");
}

static void show_header_text(const ZoneImage *image, const char *origin,
                             const char *class, const char *made)
{
    printf("zone      %s, class %s%s\n"
           "serial    %" PRIu32 "\n"
           "made      %s\n"
           "identity  %016" PRIx64 "\n"
           "names     %" PRIu64 "\n"
           "RRsets    %" PRIu64 "\n"
           "records   %" PRIu64 ", %.1f octets each\n"
           "signed    %s\n", origin, class,
           image->flags & ZONE_IS_DELTA ? ", a delta" : "", image->serial,
           made, image->identity, image->nodes, image->rrsets, image->records,
           image->records ? (double)image->len / image->records : 0,
           image->flags & ZONE_HAS_NSEC3 ? "with NSEC3" :
           image->flags & ZONE_HAS_NSEC ? "with NSEC" : "no");
    for (ZoneSection s = 0; s < ZONE_SECTIONS; s++) {
        printf("%-9s %" PRIu64 " octets from %" PRIu64 "\n",
               zone_section_name(s), image->section[s].len,
               image->section[s].offset);
    }
}

static int show_header(const ZoneImage *image)
{
    char origin[DNS_PRINT_NAME_MAX], class[DNS_MNEMONIC_MAX];
    char made[TIME_MAX] = "";
    time_t seconds = image->made;
    struct tm utc;

    dns_print_name(&image->origin, origin);
    dns_class_to_text(image->rrclass, class);
    if (gmtime_r(&seconds, &utc)) {
        strftime(made, sizeof(made), "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    (json ? show_header_json : show_header_text)(image, origin, class, made);
    return EXIT_DONE;
}

/* --- a name --------------------------------------------------------------- */

typedef struct Shown {
    Line line;
    bool any;
} Shown;

static void put_line(void *opaque, const char *text, size_t len)
{
    Shown *shown = opaque;

    if (json) {
        fputs(shown->any ? ", " : "", stdout);
        json_string(stdout, text);
    } else {
        fwrite(text, 1, len, stdout);
        putchar('\n');
    }
    shown->any = true;
}

static const char *what_is(const ZoneNode *node, ZoneFind find)
{
    switch (find) {
    case ZONE_FIND_EXACT:
        return node->flags & ZONE_NODE_NSEC3 ? "of an NSEC3 record" :
               node->rrsets ? "name" : "empty non-terminal";
    case ZONE_FIND_CUT:
        return "delegation";
    case ZONE_FIND_DNAME:
        return "below a DNAME record";
    case ZONE_FIND_WILDCARD:
        return "of a wildcard";
    default:
        return "no such name";
    }
}

static void show_records(const ZoneNode *node, int type)
{
    Shown *shown = calloc(1, sizeof(*shown));
    ZoneCursor cursor;
    ZoneRrset rrset;

    if (!shown) {
        return;
    }
    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, &rrset)) {
        if (type < 0 || rrset.type == type) {
            line_rrset(&shown->line, node, &rrset, put_line, shown);
        }
    }
    free(shown);
}

static void show_found(const ZoneNode *node, const DnsName *name,
                       ZoneFind find, int type)
{
    char text[DNS_PRINT_NAME_MAX];
    DnsName at = line_owner(node);
    bool is_other = !dns_name_equal(&at, name);

    if (json) {
        dns_print_name(name, text);
        fputs("{\"name\": ", stdout);
        json_string(stdout, text);
        printf(", \"is\": \"%s\", \"records\": [", what_is(node, find));
        show_records(node, type);
        puts("]}");
        return;
    }
    if (is_other) {
        dns_print_name(&at, text);
        printf("; %s: %s\n", what_is(node, find), text);
    } else if (!node->rrsets) {
        printf("; %s\n", what_is(node, find));
    }
    show_records(node, type);
}

static int show_none(const DnsName *name, const ZoneFound *found)
{
    char text[DNS_PRINT_NAME_MAX], encloser[DNS_PRINT_NAME_MAX];
    DnsName at = line_owner(&found->encloser);

    dns_print_name(name, text);
    dns_print_name(&at, encloser);
    return reject(json, "%s does not exist in the zone; what there is "
                  "of it is %s", text, encloser);
}

/* "www" and "www.example.net." mean the same; "@" is the origin. */
static bool read_name(const ZoneImage *image, const char *text, DnsName *name)
{
    size_t len = strlen(text);
    char origin[DNS_PRINT_NAME_MAX], absolute[2 * DNS_PRINT_NAME_MAX];

    if (!strcmp(text, "@")) {
        *name = image->origin;
        return true;
    }
    if (dns_name_from_text(name, text)) {
        return false;
    }
    if (dns_name_within(name, &image->origin) || text[len - 1] == '.' ||
        len >= DNS_PRINT_NAME_MAX) {
        return true;
    }
    dns_print_name(&image->origin, origin);
    snprintf(absolute, sizeof(absolute), "%s.%s", text, origin);
    return !dns_name_from_text(name, absolute);
}

static int find_and_show(ZoneImage *image, const DnsName *name, int type)
{
    const ZoneView view = { .layers = 1, .layer = { image } };
    char text[DNS_PRINT_NAME_MAX], origin[DNS_PRINT_NAME_MAX];
    ZoneFound found;
    ZoneNode node;
    ZoneFind find;

    if (zone_find_exact(&view, name->wire, name->len, &node)) {
        show_found(&node, name, node.flags & ZONE_NODE_CUT ? ZONE_FIND_CUT :
                   ZONE_FIND_EXACT, type);
        return EXIT_DONE;
    }
    find = zone_find(&view, name, &found);
    switch (find) {
    case ZONE_FIND_OUTSIDE:
        dns_print_name(name, text);
        dns_print_name(&image->origin, origin);
        return reject(json, "%s is not within the zone %s", text,
                      origin);
    case ZONE_FIND_NONE:
        return show_none(name, &found);
    case ZONE_FIND_FAILED:
        return EXIT_CANNOT;
    default:
        show_found(&found.node, name, find, type);
        return EXIT_DONE;
    }
}

static int show_name(ZoneImage *image, char **words, size_t count)
{
    int type = count > 2 ? dns_type_from_text(words[2], strlen(words[2])) : -1;
    DnsName name;

    if (!read_name(image, words[1], &name)) {
        return args_wrong("NAME: '%s' is no domain name, such as "
                          "www.example.net", words[1]);
    }
    if (count > 2 && type < 0) {
        return args_wrong("TYPE: '%s' is no type of records, such as AAAA or "
                          "TYPE28", words[2]);
    }
    return find_and_show(image, &name, type);
}

static int run(char **words, size_t count)
{
    char why[IMAGE_FAULT_MAX];
    ImageFile file;
    int ret;

    if (!image_file_open(&file, words[0], why)) {
        return reject(json, "%s", why);
    }
    ret = count > 1 ? show_name(file.image, words, count)
                    : show_header(file.image);
    if (atomic_load(&file.image->failed)) {
        image_file_damaged(&file, why);
        ret = reject(json, "%s", why);
    }
    image_file_close(&file);
    return args_flush(ret);
}

static const ArgOption options[] = {
    { "json", 0, ARG_FLAG, NULL, "one JSON value instead of text", &json, 0, 0,
      NULL, NULL },
    { 0 },
};

const ArgCommand command_show = {
    .name = "show",
    .usage = "IMAGE [NAME [TYPE]]",
    .summary = "show what an image is, or the records of a name",
    .text = "A NAME is absolute, or relative to the zone; '@' is the zone "
            "itself. What the zone\nhas for a name that does not exist is "
            "shown as well: the delegation or DNAME above\nit, or the "
            "wildcard.",
    .options = options,
    .least = 1,
    .most = 3,
    .run = run,
};
