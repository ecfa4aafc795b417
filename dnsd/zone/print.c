/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-zone print */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dnsd/zone/commands.h"
#include "dnsd/zone/image-file.h"
#include "dnsd/zone/json.h"
#include "dnsd/zone/line.h"

#define BUFFER      (1u << 20)

static bool relative;

typedef struct Printer {
    const ZoneImage *image;
    Line line;
    /* relative; empty after it was printed */
    char owner[DNS_PRINT_NAME_MAX];
    size_t owner_len;                   /* of the absolute name in the line */
} Printer;

/* The name relative to the origin, without the final dot; "@": the origin */
static void take_owner(Printer *p, const ZoneNode *node)
{
    DnsName own = line_owner(node);
    unsigned below = own.labels - p->image->origin.labels;
    uint8_t at = 0;

    p->owner_len = dns_print_name(&own, p->owner);
    for (unsigned i = 0; i < below; i++) {
        at += 1 + own.wire[at];
    }
    own.wire[at] = 0;
    own.len = at + 1;
    own.labels = below;
    if (below) {
        p->owner[dns_print_name(&own, p->owner) - 1] = '\0';
    } else {
        strcpy(p->owner, "@");
    }
}

static void put_line(void *opaque, const char *text, size_t len)
{
    Printer *p = opaque;

    if (relative) {
        fputs_unlocked(p->owner, stdout);
        p->owner[0] = '\0';
        text += p->owner_len;
        len -= p->owner_len;
    }
    fwrite_unlocked(text, 1, len, stdout);
    putchar_unlocked('\n');
}

/* Print SOA first, as other servers require. */
static void print_node(Printer *p, const ZoneNode *node)
{
    ZoneCursor cursor;
    ZoneRrset rrset;

    if (relative) {
        take_owner(p, node);
    }
    if (zone_rrset_find(node, DNS_TYPE_SOA, &rrset)) {
        line_rrset(&p->line, node, &rrset, put_line, p);
    }
    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, &rrset)) {
        if (rrset.type != DNS_TYPE_SOA) {
            line_rrset(&p->line, node, &rrset, put_line, p);
        }
    }
}

static void print_head(const ZoneImage *image)
{
    char origin[DNS_PRINT_NAME_MAX];

    dns_print_name(&image->origin, origin);
    printf("; zone %s serial %" PRIu32 ", %" PRIu64 " records\n", origin,
           image->serial, image->records);
    if (relative) {
        printf("$ORIGIN %s\n", origin);
    }
}

static int print_image(ZoneImage *image)
{
    Printer *p = malloc(sizeof(*p));
    ZoneNode node;

    if (!p) {
        return -1;
    }
    p->image = image;
    print_head(image);
    for (uint32_t ref = image->nodes ? 1 : 0; ref;
         ref = zone_node_next(&node)) {
        if (!zone_node_get(image, ref, &node)) {
            break;
        }
        print_node(p, &node);
    }
    free(p);
    return 0;
}

static int run(char **words, size_t count)
{
    char why[IMAGE_FAULT_MAX];
    ImageFile file;
    int ret;

    if (!image_file_open(&file, words[0], why)) {
        return reject(false, "%s", why);
    }
    setvbuf(stdout, NULL, _IOFBF, BUFFER);
    ret = print_image(file.image) ? reject(false, "there is not "
                                           "enough memory") : EXIT_DONE;
    if (atomic_load(&file.image->failed)) {
        image_file_damaged(&file, why);
        ret = reject(false, "%s; what is printed is not the whole "
                     "zone", why);
    }
    image_file_close(&file);
    return args_flush(ret);
}

static const ArgOption options[] = {
    { "relative", 'r', ARG_FLAG, NULL, "owners relative to the origin, and "
      "each once; absolute ones on every line otherwise", &relative, 0, 0,
      NULL, NULL },
    { 0 },
};

const ArgCommand command_print = {
    .name = "print",
    .usage = "IMAGE",
    .summary = "print an image as a master file, in canonical order",
    .text = "'compile' makes the same zone of it again.",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
