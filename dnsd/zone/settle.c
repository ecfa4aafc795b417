/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From bundles to nodes: sorted records of one name, without duplicates */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dnsd/text/print.h"
#include "dnsd/text/types.h"
#include "net/dns/wire/fields.h"
#include "dnsd/zone/settle.h"

#define BATCH_OCTETS    (512u << 10)
#define FEW             16      /* so many items: sort by insertion */

Batch *batch_new(void)
{
    return calloc(1, sizeof(Batch));
}

void batch_free(Batch *batch)
{
    if (batch) {
        free(batch->octets);
        free(batch->item);
        free(batch->node);
        free(batch);
    }
}

bool batch_is_full(const Batch *batch)
{
    return batch->used >= BATCH_OCTETS;
}

/* Ensure room for @count elements of @size in *@array.  0 or -ENOMEM. */
static int make_room(void *array, size_t *room, size_t count, size_t size)
{
    void **at = array;
    size_t more = *room ? *room : 1024;
    void *moved;

    if (count <= *room) {
        return 0;
    }
    while (more < count) {
        more *= 2;
    }
    moved = realloc(*at, more * size);
    if (!moved) {
        return -ENOMEM;
    }
    *at = moved;
    *room = more;
    return 0;
}

static void open_node(Batch *batch, const Bundle *bundle)
{
    batch->node[batch->nodes++] = (BatchNode) {
        .name_at = batch->used,
        .first = batch->items,
        .name_len = bundle->name_len,
        .labels = bundle->labels,
    };
    memcpy(batch->octets + batch->used, bundle_name(bundle),
           bundle->name_len);
    batch->used += bundle->name_len;
}

int batch_bundle(Batch *batch, const Bundle *bundle, bool is_new)
{
    const uint8_t *from = bundle_records(bundle);
    size_t len = bundle->len - (from - (const uint8_t *)bundle);
    BatchNode *node;
    uint32_t number;

    if (make_room(&batch->octets, &batch->octets_room,
                  batch->used + bundle->name_len + len, 1) ||
        make_room(&batch->item, &batch->items_room,
                  batch->items + bundle->count, sizeof(Item)) ||
        make_room(&batch->node, &batch->nodes_room, batch->nodes + 1,
                  sizeof(BatchNode))) {
        return -ENOMEM;
    }
    if (is_new) {
        open_node(batch, bundle);
    }
    node = &batch->node[batch->nodes - 1];
    number = node->count ? batch->item[batch->items - 1].bundle + 1 : 0;
    memcpy(batch->octets + batch->used, from, len);
    for (uint32_t i = 0; i < bundle->count; i++) {
        Item item = { batch->used, number, false };

        batch->item[batch->items++] = item;
        batch->used += sizeof(Bundled) + batch_record(batch, &item)->rdlength;
    }
    node->count += bundle->count;
    return 0;
}

DnsName batch_name(const Batch *batch, const BatchNode *node)
{
    DnsName name;

    name.len = node->name_len;
    name.labels = node->labels;
    memcpy(name.wire, batch->octets + node->name_at, node->name_len);
    return name;
}

/* --- order ---------------------------------------------------------------- */

typedef struct Order {
    const Batch *batch;
    uint16_t rrclass;
} Order;

/* Compare the records, not their places. */
static int compare_records(const Order *order, const Item *a, const Item *b)
{
    const Bundled *left = batch_record(order->batch, a);
    const Bundled *right = batch_record(order->batch, b);

    if (left->type != right->type) {
        return left->type - right->type;
    }
    if (left->rdlength == right->rdlength &&
        !memcmp(left->rdata, right->rdata, left->rdlength)) {
        return 0;
    }
    return dns_rdata_compare(left->type, order->rrclass, left->rdata,
                             left->rdlength, right->rdata, right->rdlength);
}

static int compare(const void *left, const void *right, void *opaque)
{
    const Item *a = left, *b = right;
    int differ = compare_records(opaque, a, b);

    return differ ? differ : a->at < b->at ? -1 : 1;
}

static void insert(Order *order, Item *item, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        Item moving = item[i];
        size_t to = i;

        for (; to && compare(&moving, &item[to - 1], order) < 0; to--) {
            item[to] = item[to - 1];
        }
        item[to] = moving;
    }
}

/* --- RRsets --------------------------------------------------------------- */

static void show_rrset(const Batch *batch, const BatchNode *node,
                       const Bundled *record, char *text, size_t room)
{
    char owner[DNS_PRINT_NAME_MAX], type[DNS_MNEMONIC_MAX];
    DnsName name = batch_name(batch, node);

    dns_print_name(&name, owner);
    dns_type_to_text(record->type, type);
    snprintf(text, room, "%s %s", owner, type);
}

static uint16_t covered(const Bundled *record)
{
    return record->type == DNS_TYPE_RRSIG && record->rdlength > 1 ?
           record->rdata[0] << 8 | record->rdata[1] : 0;
}

/* The number of items from @first on in one RRset; RRSIG by type covered. */
static size_t rrset_of(const Batch *batch, const Item *first, size_t count)
{
    const Bundled *head = batch_record(batch, first);
    size_t n = 1;

    for (; n < count; n++) {
        const Bundled *record = batch_record(batch, &first[n]);

        if (record->type != head->type || covered(record) != covered(head)) {
            break;
        }
    }
    return n;
}

/* The record whose TTL applies to all: the first one of the last group */
static const Bundled *leader(const Batch *batch, const Item *item,
                             size_t count)
{
    const Item *best = item;

    for (size_t i = 1; i < count; i++) {
        if (item[i].bundle > best->bundle ||
            (item[i].bundle == best->bundle && item[i].at < best->at)) {
            best = &item[i];
        }
    }
    return batch_record(batch, best);
}

static void level_ttls(Batch *batch, const BatchNode *node, Item *item,
                       size_t count, Report *report)
{
    const Bundled *head = leader(batch, item, count);
    char rrset[REPORT_TEXT_MAX / 2];

    for (size_t i = 0; i < count; i++) {
        Bundled *record = batch_record(batch, &item[i]);

        if (record->ttl != head->ttl) {
            show_rrset(batch, node, record, rrset, sizeof(rrset));
            report_at(report, SEVERITY_WARNING, bundled_place(record),
                      "%s: TTL %" PRIu32 " differs from %" PRIu32 " of the "
                      "same RRset in line %" PRIu32 ", which is taken: give "
                      "all its records one TTL (RFC 2181 section 5.2)", rrset,
                      record->ttl, head->ttl, head->line);
            record->ttl = head->ttl;
        }
    }
}

static void drop_duplicates(const Order *order, const BatchNode *node,
                            Item *item, size_t count, Report *report)
{
    const Item *kept = item;
    char rrset[REPORT_TEXT_MAX / 2];

    for (size_t i = 1; i < count; i++) {
        const Bundled *record = batch_record(order->batch, &item[i]);

        if (compare_records(order, kept, &item[i])) {
            kept = &item[i];
            continue;
        }
        item[i].dropped = true;
        show_rrset(order->batch, node, record, rrset, sizeof(rrset));
        report_at(report, SEVERITY_WARNING, bundled_place(record),
                  "%s: the same record as in line %" PRIu32 "; it is taken "
                  "once", rrset, batch_record(order->batch, kept)->line);
    }
}

/*
 * A signature of no RRset of the name says nothing, and an image keeps
 * signatures beside what they cover.
 */
static void drop_orphans(Batch *batch, const BatchNode *node, Report *report)
{
    Item *item = batch->item + node->first;
    char rrset[REPORT_TEXT_MAX / 2], type[DNS_MNEMONIC_MAX];
    size_t at = 0;

    for (size_t i = 0; i < node->count; i++) {
        const Bundled *sig = batch_record(batch, &item[i]);

        if (sig->type != DNS_TYPE_RRSIG || item[i].dropped) {
            continue;
        }
        /* Types ascend, and those that are covered do. */
        while (at < node->count &&
               batch_record(batch, &item[at])->type < covered(sig)) {
            at++;
        }
        if (at < node->count && covered(sig) != DNS_TYPE_RRSIG &&
            batch_record(batch, &item[at])->type == covered(sig)) {
            continue;
        }
        item[i].dropped = true;
        show_rrset(batch, node, sig, rrset, sizeof(rrset));
        dns_type_to_text(covered(sig), type);
        report_at(report, SEVERITY_WARNING, bundled_place(sig),
                  "%s: it covers %s, %s: the signature is not taken", rrset,
                  type, covered(sig) == DNS_TYPE_RRSIG
                  ? "which is never signed (RFC 4035 section 2.2)"
                  : "which the name does not have");
    }
}

static void close_gaps(Batch *batch, BatchNode *node)
{
    size_t to = node->first;

    for (size_t i = node->first; i < batch->items; i++) {
        if (!batch->item[i].dropped) {
            batch->item[to++] = batch->item[i];
        }
    }
    batch->items = to;
    node->count = to - node->first;
}

void batch_settle(Batch *batch, uint16_t rrclass, Report *report)
{
    BatchNode *node = &batch->node[batch->nodes - 1];
    Item *item = batch->item + node->first;
    Order order = { batch, rrclass };
    size_t n;

    if (node->count <= FEW) {
        insert(&order, item, node->count);
    } else {
        qsort_r(item, node->count, sizeof(*item), compare, &order);
    }
    for (size_t i = 0; i < node->count; i += n) {
        n = rrset_of(batch, item + i, node->count - i);
        if (n > 1) {
            level_ttls(batch, node, item + i, n, report);
            drop_duplicates(&order, node, item + i, n, report);
        }
    }
    drop_orphans(batch, node, report);
    close_gaps(batch, node);
}
