/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes: another image in the place of the one that is served
 *
 * The operator has compiled the zone anew.  The difference becomes a change of
 * the journal, so secondaries get it by IXFR.  It is written together with the
 * base of the new image: after a crash the journal belongs to that image, or
 * there is no trace of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/update/change/changes.h"
#include "dnsd/update/change/walk.h"
#include "dnsd/update/store/store-internal.h"
#include "dnsd/update/store/store.h"

#define NAMES_MAX   50000       /* that differ; about 1 KiB of memory each */

typedef struct Compare {
    DnsStore *store;
    ViewWalk was, now;
    bool has_was, has_now;
    unsigned names;
} Compare;

/* --- the difference ------------------------------------------------------- */

/* The next node with records; empty non-terminals follow from the others. */
static bool next(ViewWalk *walk)
{
    while (view_walk_next(walk)) {
        if (walk->node.rrsets && !(walk->node.flags & ZONE_NODE_GONE)) {
            return true;
        }
    }
    return false;
}

static DnsName name_of(const ViewWalk *walk)
{
    DnsName name = { .len = walk->node.name_len, .labels = walk->node.labels };

    memcpy(name.wire, walk->node.name, name.len);
    return name;
}

/* Set the records of a name; @node: NULL for none. */
static int set(Compare *c, const DnsName *name, DnsNode *node)
{
    if (++c->names > NAMES_MAX) {
        free(node);
        return -EFBIG;
    }
    return dns_edit_set(c->store->edit, name, node);
}

static int compare_records(Compare *c)
{
    DnsNode *was = dns_node_read(&c->was.node);
    DnsNode *now = was ? dns_node_read(&c->now.node) : NULL;
    DnsName name = name_of(&c->now);
    int ret = 0;

    if (!now) {
        ret = -errno;
    } else if (dns_node_differs(was, now)) {
        ret = set(c, &name, now);
        now = NULL;
    }
    free(was);
    free(now);
    return ret;
}

static int add_name(Compare *c)
{
    DnsNode *now = dns_node_read(&c->now.node);
    DnsName name = name_of(&c->now);

    return now ? set(c, &name, now) : -errno;
}

static int step(Compare *c)
{
    int order = !c->has_was ? 1 : !c->has_now ? -1
                : name_key_compare(&c->was.key, &c->now.key);
    DnsName name;
    int ret;

    if (order < 0) {
        name = name_of(&c->was);
        ret = set(c, &name, NULL);
    } else {
        ret = order ? add_name(c) : compare_records(c);
    }
    c->has_was = order <= 0 ? next(&c->was) : c->has_was;
    c->has_now = order >= 0 ? next(&c->now) : c->has_now;
    return ret;
}

/* Make the difference an edit of the store. */
static int compare(DnsStore *s, const ZoneView *now)
{
    Compare c = { .store = s };
    int ret = 0;

    view_walk_begin(&c.was, dns_store_view(s), NULL, false);
    view_walk_begin(&c.now, now, NULL, false);
    c.has_was = next(&c.was);
    c.has_now = next(&c.now);
    while (!ret && (c.has_was || c.has_now)) {
        ret = step(&c);
    }
    return ret ? ret : c.was.has_failed || c.now.has_failed ? -EIO : 0;
}

/* --- the journal ---------------------------------------------------------- */

/* Append the change and the base of the image. */
static int append(DnsStore *s, uint64_t identity, uint64_t position)
{
    uint8_t base[JOURNAL_R_OCTETS];
    int ret = store_put_change(s);

    if (ret < 0) {
        return ret;
    }
    journal_record_base(base, identity, position);
    ret = dns_buffer_add(&s->pending, base, sizeof(base));
    return ret ? ret : journal_append(s->journal, s->pending.octets,
                                      s->pending.len);
}

static int write_difference(DnsStore *s, const ZoneView *now,
                            uint64_t identity, uint64_t position)
{
    uint64_t before = s->position;
    int ret = compare(s, now);

    ret = ret ? ret : append(s, identity, position);
    dns_edit_undo(s->edit);
    s->pending.len = 0;
    s->position = before;
    return ret;
}

/*
 * Without the difference the history ends, and secondaries get the whole zone.
 */
static int note(DnsStore *s, const ZoneView *now, const ZoneImage *image,
                uint64_t position)
{
    uint32_t more = position - s->position;
    int ret;

    if (!more || more > INT32_MAX) {
        store_log(s, "the serial of the new image is not greater: secondaries "
                  "do not ask for it", 0);
        return journal_restart(s->journal, image->identity, position);
    }
    ret = write_difference(s, now, image->identity, position);
    if (ret != -EFBIG && ret != -EINVAL && ret != -ENOSPC) {
        return ret;
    }
    store_log(s, "the new image differs too much for IXFR: secondaries get the "
              "whole zone", 0);
    return journal_restart(s->journal, image->identity, position);
}

/* --- the image ------------------------------------------------------------ */

static int refuse_updated(const DnsStore *s, DnsStoreError *error)
{
    if (!s->pending.len && s->position == journal_base_position(s->journal)) {
        return 0;
    }
    snprintf(error->text, sizeof(error->text), "%.100s: it lacks updates that "
             "its journal has; remove the journal if they are not wanted any "
             "more", s->path);
    return -EBUSY;
}

int dns_store_follow(DnsStore *s, DnsStoreError *error)
{
    ZoneFault fault = { 0 };
    DnsLayer *layer;
    ZoneView now = { .layers = 1 };
    uint64_t position;
    int ret;

    store_wait(s);
    layer = dns_layer_open(s->path, s->maps, &fault);
    if (!layer) {
        ret = -errno;
        snprintf(error->text, sizeof(error->text), "%.100s: %s", s->path,
                 ret == -EBADMSG ? fault.what : strerror(-ret));
        return ret;
    }
    ret = store_check_image(s, s->path, layer, error);
    ret = ret ? ret : refuse_updated(s, error);
    if (ret) {
        dns_layer_unref(layer);
        return ret;
    }
    now.layer[0] = layer->image;
    position = s->position +
               (uint32_t)(layer->image->serial - (uint32_t)s->position);
    ret = note(s, &now, layer->image, position);
    if (ret) {
        snprintf(error->text, sizeof(error->text), "%.100s: the journal: %s",
                 s->path, strerror(-ret));
        dns_layer_unref(layer);
        return ret;
    }
    journal_based(s->journal, layer->image->identity, position);
    snprintf(error->text, sizeof(error->text), "there is no memory");
    return store_show(s, layer, position);
}
