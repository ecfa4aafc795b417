/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes: merging layers
 *
 * A merge replaces neighbouring layers by one.  The top is never merged, as the
 * next commit replaces it.  One merge of deltas and one merge into the image
 * may run at the same time.  The former then takes only layers that are younger
 * than those of the latter.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "dnsd/update/store/store-internal.h"
#include "dnsd/update/store/store.h"

/* A layer is merged if the younger ones have a quarter of its nodes. */
#define MERGE_PART      4
/* The image is rewritten if the deltas have an eighth of its octets. */
#define REBASE_PART     8

void store_splice(DnsStore *s, const DnsLayer *first, unsigned count,
                  DnsLayer *by)
{
    unsigned at = 0;

    while (s->layer[at] != first) {
        at++;
    }
    for (unsigned i = 0; i < count; i++) {
        dns_layer_unref(s->layer[at + i]);
    }
    s->layer[at] = by;
    memmove(s->layer + at + 1, s->layer + at + count,
            (s->layers - at - count) * sizeof(*s->layer));
    s->layers -= count - 1;
}

/* --- in the background ---------------------------------------------------- */

static ZoneView view_of(const StoreMerge *m)
{
    ZoneView view = { .layers = m->count };

    for (unsigned i = 0; i < m->count; i++) {
        view.layer[i] = m->in[i]->image;
    }
    return view;
}

static void run_merge(DnsMergeJob *job)
{
    StoreMerge *m = (StoreMerge *)job;
    ZoneOut out = { .grow = dns_memory_out_grow };
    ZoneView view = view_of(m);
    uint64_t len;

    m->error = dns_view_write(&view, &m->about, &out, &len);
    if (!m->error) {
        m->out = dns_layer_copy(&out, len);
        m->error = m->out ? 0 : -ENOMEM;
    }
    dns_memory_out_free(&out);
}

static void run_rebase(DnsMergeJob *job)
{
    StoreMerge *m = (StoreMerge *)job;
    ZoneView view = view_of(m);
    DnsFileOut file;
    ZoneFault fault;
    uint64_t len = 0;
    int ret;

    m->error = dns_file_out_open(&file, m->store->path_new);
    if (m->error) {
        return;
    }
    m->error = dns_view_write(&view, &m->about, &file.out, &len);
    ret = dns_file_out_close(&file, m->error ? 0 : len);
    m->error = m->error ? m->error : ret;
    if (!m->error) {
        m->out = dns_layer_open(m->store->path_new, m->store->maps,
                                &fault);
        m->error = m->out ? 0 : -errno;
    }
}

/* --- completing a merge --------------------------------------------------- */

static void end(StoreMerge *m)
{
    DnsStore *s = m->store;
    DnsLayer *out = m->out;

    m->is_running = false;
    m->out = NULL;
    if (!m->error) {
        out->position = m->in[0]->position;
        store_splice(s, m->in[0], m->count, out);
        if (m->is_rebase) {
            store_forget_filter(s);
        }
        store_refresh(s);
        m->error = store_publish(s);
    } else {
        dns_layer_unref(out);
    }
    for (unsigned i = 0; i < m->count; i++) {
        dns_layer_unref(m->in[i]);
    }
}

static void merge_done(DnsMergeJob *job)
{
    StoreMerge *m = (StoreMerge *)job;

    end(m);
    if (m->error) {
        store_log(m->store, "deltas could not be merged", m->error);
        return;
    }
    m->store->stats.merges++;
    store_consider_merges(m->store);
}

static void rebase_done(DnsMergeJob *job)
{
    StoreMerge *m = (StoreMerge *)job;
    DnsStore *s = m->store;

    if (!m->error) {
        m->error = store_name_image(s, s->path_new, m->about.identity,
                                    m->in[0]->position);
    }
    end(m);
    if (m->error) {
        unlink(s->path_new);
        s->rebase_factor *= 2;
        store_log(s, "the image could not be written anew", m->error);
        return;
    }
    s->rebase_factor = 1;
    s->stats.rebases++;
    m->error = journal_rotate(s->journal);
    if (m->error) {
        store_log(s, "the journal could not be rotated", m->error);
    }
    store_consider_merges(s);
}

/* --- starting a merge ----------------------------------------------------- */

static void begin(DnsStore *s, StoreMerge *m, unsigned first, unsigned count,
                  bool is_rebase)
{
    *m = (StoreMerge) {
        .job = {
            .is_long = is_rebase,
            .run = is_rebase ? run_rebase : run_merge,
            .done = is_rebase ? rebase_done : merge_done,
        },
        .store = s,
        .is_running = true,
        .is_rebase = is_rebase,
        .count = count,
        .about = {
            .origin = s->origin,
            .rrclass = s->rrclass,
            .is_delta = !is_rebase,
            .identity = store_random(),
            .made = time(NULL),
            .seed = get_le64(s->layer[s->layers - 1]->image->file +
                             ZONE_H_SEED),
        },
    };
    for (unsigned i = 0; i < count; i++) {
        m->in[i] = dns_layer_ref(s->layer[first + i]);
    }
    dns_merger_add(s->merger, &m->job);
}

/* The number of deltas that a merge may take, from behind the top on */
static unsigned free_layers(const DnsStore *s)
{
    unsigned end = s->has_top;

    while (end < s->layers - 1 &&
           !(s->rebase.is_running && s->layer[end] == s->rebase.in[0])) {
        end++;
    }
    return end - s->has_top;
}

static void consider_rebase(DnsStore *s)
{
    const ZoneImage *base = s->layer[s->layers - 1]->image;
    unsigned count = free_layers(s);
    uint64_t len = 0, enough = base->len / REBASE_PART;

    for (unsigned i = 0; i < count; i++) {
        len += s->layer[s->has_top + i]->image->len;
    }
    enough = enough < s->rebase_len ? s->rebase_len : enough;
    if (count && len >= enough * s->rebase_factor) {
        begin(s, &s->rebase, s->has_top, count + 1, true);
    }
}

static void consider_merge(DnsStore *s)
{
    unsigned count = free_layers(s), take = 0;
    uint64_t younger = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t nodes = s->layer[s->has_top + i]->image->nodes;

        if (i && younger >= nodes / MERGE_PART) {
            take = i + 1;
        }
        younger += nodes;
    }
    if (take) {
        begin(s, &s->merge, s->has_top, take, false);
    }
}

void store_consider_merges(DnsStore *s)
{
    /* The journal with changes that are left takes no base of a new image. */
    if (!s->merger || s->merge.is_running ||
        journal_left(s->journal)->changes) {
        return;
    }
    if (!s->rebase.is_running) {
        consider_rebase(s);
    }
    consider_merge(s);
}
