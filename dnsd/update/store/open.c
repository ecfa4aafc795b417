/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes
 *
 * Theory of operation
 *
 * docs/dns-journal.md has the design.  layer[] are the committed layers.  The
 * overlay is on top of layer[]; with has_top, layer[0] is a copy of the overlay
 * for readers, and the overlay is on top of the others.  commit.c makes that
 * copy.  merges.c merges layers.  Both publish the result as a version
 * (versions.c).
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "dnsd/update/store/store-internal.h"
#include "dnsd/update/store/store.h"

#define SEAL_NODES      512
#define REBASE_LEN      (UINT64_C(1) << 20)

/* --- the image ------------------------------------------------------------ */

static bool open_image(DnsStore *s, DnsStoreError *error)
{
    ZoneFault fault;
    DnsLayer *base = dns_layer_open(s->path, s->maps, &fault);
    char text[128];

    if (!base) {
        snprintf(text, sizeof(text), "%s: %s at %llu", fault.where, fault.what,
                 (unsigned long long)fault.offset);
        snprintf(error->text, sizeof(error->text), "%.100s: %s", s->path,
                 errno == EBADMSG ? text : strerror(errno));
        return false;
    }
    s->layer[s->layers++] = base;
    if (base->image->flags & ZONE_IS_DELTA) {
        snprintf(error->text, sizeof(error->text), "%.100s: this is a delta, "
                 "which no zone can begin with", s->path);
        return false;
    }
    s->origin = base->image->origin;
    s->rrclass = base->image->rrclass;
    return true;
}

/* --- start ---------------------------------------------------------------- */

static int replay(void *opaque, const JournalRecord *record)
{
    DnsStore *s = opaque;
    int ret = dns_changes_apply(s->edit, &record->changes);

    if (ret) {
        dns_edit_undo(s->edit);
        return ret;
    }
    dns_edit_keep(s->edit);
    s->position = record->position;
    s->stats.replayed++;
    return 0;
}

/* Make a layer of the replayed changes. */
static int seal_replayed(DnsStore *s)
{
    DnsLayer *top;

    if (!overlay_count(s->overlay)) {
        return 0;
    }
    top = store_make_top(s);
    if (!top) {
        return -errno;
    }
    s->layer[1] = s->layer[0];
    s->layer[0] = top;
    s->layers = 2;
    s->has_top = true;
    store_seal(s);
    return 0;
}

static void tell_left(DnsStore *s)
{
    const JournalLeft *left = journal_left(s->journal);
    char text[256];

    if (journal_is_anew(s->journal)) {
        store_log(s, "the journal is of an image before this one: it is "
                  "renamed to '*.left', and the history begins anew", 0);
    }
    if (left->changes) {
        snprintf(text, sizeof(text), "the change after serial %u, at octet "
                 "%llu of the journal%s, does not fit the zone, which is "
                 "served as of that serial; the journal keeps %llu changes, up "
                 "to serial %u, and takes no others", left->from,
                 (unsigned long long)left->offset, left->file ? "" : " (.old)",
                 (unsigned long long)left->changes, left->to);
        store_log(s, text, 0);
    }
}

static bool open_journal(DnsStore *s, const DnsStoreOptions *options,
                         DnsStoreError *error)
{
    const ZoneImage *image = s->layer[0]->image;
    JournalAbout about = {
        .image = s->path,
        .origin = s->origin,
        .rrclass = s->rrclass,
        .identity = image->identity,
        .serial = image->serial,
        .history_max = options->history_max,
        .is_static = options->is_static,
    };

    s->position = image->serial;
    s->journal = journal_open(&about, replay, s, error->text);
    if (!s->journal) {
        return false;
    }
    s->layer[0]->position = journal_base_position(s->journal);
    s->position = journal_position(s->journal);
    tell_left(s);
    return true;
}

static bool make_parts(DnsStore *s, const DnsStoreOptions *options)
{
    s->scratch.grow = dns_memory_out_grow;
    s->seal_nodes = options->seal_nodes ? options->seal_nodes : SEAL_NODES;
    s->rebase_len = options->rebase_len ? options->rebase_len : REBASE_LEN;
    s->rebase_factor = 1;
    s->overlay = overlay_new();
    s->edit = s->overlay ? dns_edit_create(s->overlay, &s->origin) : NULL;
    if (s->edit) {
        store_refresh(s);
    }
    return s->edit;
}

DnsStore *dns_store_open(const DnsStoreOptions *options,
                         const DnsStoreOps *ops, void *opaque,
                         DnsStoreError *error)
{
    DnsStore *s = calloc(1, sizeof(*s));
    bool ok;

    snprintf(error->text, sizeof(error->text), "there is no memory");
    if (!s) {
        return NULL;
    }
    s->ops = ops;
    s->opaque = opaque;
    s->merger = options->merger;
    s->maps = options->maps;
    s->path = strdup(options->image);
    ok = s->path && asprintf(&s->path_new, "%s.new", s->path) > 0;
    ok = ok && open_image(s, error);
    ok = ok && make_parts(s, options) && open_journal(s, options, error) &&
         !seal_replayed(s) && !store_publish(s);
    if (!ok) {
        dns_store_close(s);
        return NULL;
    }
    store_consider_merges(s);
    return s;
}

void dns_store_close(DnsStore *s)
{
    DnsMerger *merger = s->merger;

    s->merger = NULL;           /* start no more merges */
    while (s->merge.is_running || s->rebase.is_running) {
        dns_merger_wait(merger);
    }
    dns_edit_destroy(s->edit);
    overlay_free(s->overlay);
    journal_close(s->journal);
    dns_store_unpin(s->current);
    store_forget_filter(s);
    for (unsigned i = 0; i < s->layers; i++) {
        dns_layer_unref(s->layer[i]);
    }
    dns_memory_out_free(&s->scratch);
    dns_buffer_free(&s->pending);
    free(s->path);
    free(s->path_new);
    free(s);
}

/* --- state ---------------------------------------------------------------- */

const char *dns_store_path(const DnsStore *s)
{
    return s->path;
}

const ZoneView *dns_store_view(const DnsStore *s)
{
    return &s->current->view;
}

uint32_t dns_store_serial(const DnsStore *s)
{
    return s->position;
}

int dns_store_history(DnsStore *s, uint32_t serial, JournalReader *reader)
{
    return journal_read_from(s->journal, serial, reader);
}

void dns_store_stats(const DnsStore *s, DnsStoreStats *stats)
{
    *stats = s->stats;
    stats->layers = s->layers;
    stats->journal_len = journal_len(s->journal);
    stats->serial = journal_position(s->journal);
    for (unsigned i = 0; i + 1 < s->layers; i++) {
        stats->delta_len += s->layer[i]->image->len;
    }
}
