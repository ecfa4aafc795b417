/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-zone diff */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/dns/wire/fields.h"
#include "net/dns/zone/order.h"
#include "dnsd/zone/commands.h"
#include "dnsd/zone/image-file.h"
#include "dnsd/zone/json.h"
#include "dnsd/zone/line.h"

#define BUFFER      (1u << 20)

static bool json;
static bool brief;
static bool ignore_soa;

/* One of the two images, and the position of the walk in it */
typedef struct Side {
    ImageFile file;
    char sign;
    bool has_node;
    ZoneNode node;
    bool has_rrset;
    ZoneCursor cursor;
    ZoneRrset rrset;
    bool has_record;
    ZoneRecords records;
    ZoneRecord record;
    Line line;
} Side;

typedef struct Diff {
    Side old;
    Side new;
    uint64_t changes;
} Diff;

/* --- showing -------------------------------------------------------------- */

static void put(Diff *diff, Side *side, const ZoneRecord *record)
{
    bool is_first = !diff->changes++;

    if (brief || line_print(&side->line, &side->node, record) < 0) {
        return;
    }
    if (json) {
        printf("%s{\"op\": \"%c\", \"record\": ", is_first ? "" : ", ",
               side->sign);
        json_string(stdout, side->line.text);
        putchar('}');
    } else {
        putchar_unlocked(side->sign);
        putchar_unlocked(' ');
        fputs_unlocked(side->line.text, stdout);
        putchar_unlocked('\n');
    }
}

/* --- records of an RRset -------------------------------------------------- */

static void next_record(Side *side)
{
    side->has_record = zone_records_next(&side->records, &side->record,
                                         side->line.rdata);
}

static void first_record(Side *side, bool are_sigs)
{
    zone_records_first(&side->node, &side->rrset, are_sigs, &side->records);
    next_record(side);
}

/* The order of records.  Records that differ in TTL or case are different. */
static int compare_records(const Side *old, const Side *new)
{
    const ZoneRecord *a = &old->record, *b = &new->record;

    return dns_rdata_compare(a->type, old->node.image->rrclass, a->rdata,
                             a->rdlength, b->rdata, b->rdlength);
}

static bool are_same(const Side *old, const Side *new)
{
    const ZoneRecord *a = &old->record, *b = &new->record;

    return a->ttl == b->ttl && a->rdlength == b->rdlength &&
           !memcmp(a->rdata, b->rdata, a->rdlength);
}

static void diff_records(Diff *diff, bool has_old, bool has_new,
                         bool are_sigs)
{
    Side *old = &diff->old, *new = &diff->new;

    old->has_record = new->has_record = false;
    if (has_old) {
        first_record(old, are_sigs);
    }
    if (has_new) {
        first_record(new, are_sigs);
    }
    while (old->has_record || new->has_record) {
        int order = !old->has_record ? 1 : !new->has_record ? -1 :
                    compare_records(old, new);

        if (!order && are_same(old, new)) {
            next_record(old);
            next_record(new);
            continue;
        }
        if (order <= 0) {
            put(diff, old, &old->record);
            next_record(old);
        }
        if (order >= 0) {
            put(diff, new, &new->record);
            next_record(new);
        }
    }
}

/* --- RRsets of a name ----------------------------------------------------- */

static void next_rrset(Side *side)
{
    do {
        side->has_rrset = zone_rrset_next(&side->cursor, &side->rrset);
    } while (side->has_rrset && ignore_soa &&
             side->rrset.type == DNS_TYPE_SOA);
}

/* Equal octets mean equal records, as the owners have the same length. */
static bool are_same_octets(const ZoneRrset *a, const ZoneRrset *b)
{
    return a->len == b->len && a->sigs_len == b->sigs_len &&
           a->sigs == b->sigs && !memcmp(a->at, b->at, a->len) &&
           !memcmp(a->sigs_at, b->sigs_at, a->sigs_len);
}

static void diff_rrsets(Diff *diff, bool has_old, bool has_new)
{
    Side *old = &diff->old, *new = &diff->new;

    old->has_rrset = new->has_rrset = false;
    if (has_old) {
        zone_rrset_first(&old->node, &old->cursor);
        next_rrset(old);
    }
    if (has_new) {
        zone_rrset_first(&new->node, &new->cursor);
        next_rrset(new);
    }
    while (old->has_rrset || new->has_rrset) {
        int order = !old->has_rrset ? 1 : !new->has_rrset ? -1 :
                    old->rrset.type - new->rrset.type;

        if (order || !are_same_octets(&old->rrset, &new->rrset)) {
            diff_records(diff, order <= 0, order >= 0, false);
            diff_records(diff, order <= 0, order >= 0, true);
        }
        if (order <= 0) {
            next_rrset(old);
        }
        if (order >= 0) {
            next_rrset(new);
        }
    }
}

/* --- names ---------------------------------------------------------------- */

static void go_to(Side *side, uint32_t ref)
{
    side->has_node = ref && zone_node_get(side->file.image, ref, &side->node);
}

static void diff_names(Diff *diff)
{
    Side *old = &diff->old, *new = &diff->new;

    go_to(old, old->file.image->nodes ? 1 : 0);
    go_to(new, new->file.image->nodes ? 1 : 0);
    while (old->has_node || new->has_node) {
        DnsName a, b;
        unsigned common;
        int order = old->has_node ? -1 : 1;

        if (old->has_node && new->has_node) {
            a = line_owner(&old->node);
            b = line_owner(&new->node);
            order = zone_name_compare(&a, &b, &common);
        }
        diff_rrsets(diff, order <= 0, order >= 0);
        if (order <= 0) {
            go_to(old, zone_node_next(&old->node));
        }
        if (order >= 0) {
            go_to(new, zone_node_next(&new->node));
        }
    }
}

/* --- the command ---------------------------------------------------------- */

static int check_zones(const Diff *diff)
{
    const ZoneImage *old = diff->old.file.image, *new = diff->new.file.image;
    char a[DNS_PRINT_NAME_MAX], b[DNS_PRINT_NAME_MAX];

    dns_print_name(&old->origin, a);
    dns_print_name(&new->origin, b);
    if (!dns_name_equal(&old->origin, &new->origin) ||
        old->rrclass != new->rrclass) {
        return reject(json, "%s is of the zone %s, %s of %s, or of "
                      "another class: only images of one zone can be compared",
                      diff->old.file.path, a, diff->new.file.path, b);
    }
    return EXIT_DONE;
}

static int find_damage(Diff *diff, int ret)
{
    Side *const sides[] = { &diff->old, &diff->new };
    char why[IMAGE_FAULT_MAX];

    for (unsigned i = 0; i < 2; i++) {
        if (atomic_load(&sides[i]->file.image->failed)) {
            image_file_damaged(&sides[i]->file, why);
            return reject(false, "%s; what is printed is not all",
                          why);
        }
    }
    return ret;
}

static int compare(Diff *diff)
{
    int ret = check_zones(diff);

    if (ret) {
        return ret;
    }
    setvbuf(stdout, NULL, _IOFBF, BUFFER);
    if (json) {
        fputs("{\"changes\": [", stdout);
    }
    diff_names(diff);
    if (json) {
        printf("], \"count\": %" PRIu64 "}\n", diff->changes);
    } else if (brief && diff->changes) {
        printf("%s and %s differ in %" PRIu64 " records\n",
               diff->old.file.path, diff->new.file.path, diff->changes);
    }
    return find_damage(diff, diff->changes ? EXIT_FOUND : EXIT_DONE);
}

static int open_and_compare(Diff *diff, char **words)
{
    char why[IMAGE_FAULT_MAX];
    int ret;

    diff->old.sign = '-';
    diff->new.sign = '+';
    if (!image_file_open(&diff->old.file, words[0], why)) {
        return reject(json, "%s", why);
    }
    if (image_file_open(&diff->new.file, words[1], why)) {
        ret = compare(diff);
        image_file_close(&diff->new.file);
    } else {
        ret = reject(json, "%s", why);
    }
    image_file_close(&diff->old.file);
    return ret;
}

static int run(char **words, size_t count)
{
    Diff *diff = calloc(1, sizeof(*diff));
    int ret;

    if (!diff) {
        return reject(json, "there is not enough memory");
    }
    ret = open_and_compare(diff, words);
    free(diff);
    return args_flush(ret);
}

static const ArgOption options[] = {
    { "brief", 'q', ARG_FLAG, NULL, "say only whether they differ", &brief, 0,
      0, NULL, NULL },
    { "ignore-soa", 0, ARG_FLAG, NULL, "leave out the SOA record and its "
      "signatures", &ignore_soa, 0, 0, NULL, NULL },
    { "json", 0, ARG_FLAG, NULL, "one JSON value instead of text", &json, 0, 0,
      NULL, NULL },
    { 0 },
};

const ArgCommand command_diff = {
    .name = "diff",
    .usage = "OLD NEW",
    .summary = "compare two images of a zone, record by record",
    .text = "Lines begin with '-' if the record is in OLD only, with '+' if "
            "it is in NEW only.\nThe exit status is 3 if there are any.",
    .options = options,
    .least = 2,
    .most = 2,
    .run = run,
};
