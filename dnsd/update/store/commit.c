/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zone that changes: edits and commits */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "dnsd/update/store/store-internal.h"
#include "dnsd/update/store/store.h"

/* --- edits ---------------------------------------------------------------- */

DnsEdit *dns_store_begin(DnsStore *s)
{
    return s->edit;
}

int store_put_change(DnsStore *s)
{
    JournalRecord record = { .kind = JOURNAL_CHANGE };
    size_t begin = s->pending.len;
    int ret = journal_record_begin(&s->pending);

    ret = ret ? ret : dns_changes_collect(s->edit, s->rrclass, &s->pending,
                                          &record.changes);
    if (ret > 0) {
        record.position = s->position +
                          (uint32_t)(record.changes.to - record.changes.from);
        ret = journal_record_end(&s->pending, begin, &record);
        ret = ret ? ret : 1;
    }
    if (ret <= 0) {
        s->pending.len = begin;
        return ret;
    }
    s->position = record.position;
    s->stats.changes++;
    return 1;
}

int dns_store_end(DnsStore *s, bool keep)
{
    int ret = keep ? s->is_broken ? -EIO : store_put_change(s) : 0;

    if (ret > 0) {
        dns_edit_keep(s->edit);
        return 0;
    }
    dns_edit_undo(s->edit);
    return ret;
}

void dns_store_abandon(DnsStore *s)
{
    dns_edit_undo(s->edit);
    if (!s->pending.len) {
        return;
    }
    s->pending.len = 0;
    s->position = journal_position(s->journal);
    overlay_clear(s->overlay);
    if (s->has_top && dns_delta_read(s->overlay, s->layer[0]->image)) {
        s->is_broken = true;
        store_log(s, "there is no memory to undo an update: no more are taken",
                  0);
    }
}

/* --- commits -------------------------------------------------------------- */

DnsLayer *store_make_top(DnsStore *s)
{
    ZoneAbout about = {
        .origin = s->origin,
        .rrclass = s->rrclass,
        .is_delta = true,
        .identity = store_random(),
        .made = time(NULL),
        .seed = get_le64(s->layer[s->layers - 1]->image->file + ZONE_H_SEED),
    };
    DnsLayer *top = NULL;
    uint64_t len = 0;
    int ret = dns_delta_write(s->edit, &about, &s->scratch, &len);

    if (!ret) {
        top = dns_layer_copy(&s->scratch, len);
        ret = top ? 0 : -ENOMEM;
        dns_memory_out_clean(&s->scratch, len);
    } else {
        dns_memory_out_free(&s->scratch);
    }
    if (ret) {
        errno = -ret;
        return NULL;
    }
    top->position = s->position;
    return top;
}

void store_seal(DnsStore *s)
{
    if (s->layers < ZONE_LAYERS_MAX) {
        overlay_clear(s->overlay);
        s->has_top = false;
        store_refresh(s);
    }
}

static void put_top(DnsStore *s, DnsLayer *top)
{
    if (s->has_top) {
        dns_layer_unref(s->layer[0]);
    } else {
        memmove(s->layer + 1, s->layer, s->layers * sizeof(*s->layer));
        s->layers++;
        s->has_top = true;
    }
    s->layer[0] = top;
    if (s->filter && !dns_filter_add(s->filter, top->image)) {
        store_forget_filter(s);
    }
}

int dns_store_commit(DnsStore *s)
{
    DnsLayer *top;
    int ret;

    if (!s->pending.len) {
        return 0;
    }
    top = s->is_broken ? NULL : store_make_top(s);
    ret = top ? journal_append(s->journal, s->pending.octets, s->pending.len)
              : s->is_broken ? -EIO : -errno;
    if (ret) {
        dns_layer_unref(top);
        dns_store_abandon(s);
        store_log(s, "updates could not be committed", ret);
        return ret;
    }
    s->pending.len = 0;
    s->stats.commits++;
    put_top(s, top);
    if (overlay_count(s->overlay) >= s->seal_nodes) {
        store_seal(s);
    }
    /*
     * The changes are durable.  Without memory, readers see them at the next
     * commit.
     */
    ret = store_publish(s);
    if (ret) {
        store_log(s, "the view could not be published", ret);
    }
    store_consider_merges(s);
    return 0;
}

/* --- replacing the image -------------------------------------------------- */

bool dns_store_is_merging(const DnsStore *s)
{
    return s->merge.is_running || s->rebase.is_running;
}

void store_wait(DnsStore *s)
{
    while (dns_store_is_merging(s)) {
        dns_merger_wait(s->merger);
    }
}

int store_check_image(const DnsStore *s, const char *path,
                      const DnsLayer *layer, DnsStoreError *error)
{
    if (dns_name_equal(&layer->image->origin, &s->origin) &&
        layer->image->rrclass == s->rrclass &&
        !(layer->image->flags & ZONE_IS_DELTA)) {
        return 0;
    }
    snprintf(error->text, sizeof(error->text),
             "%.150s: the image is not of this zone", path);
    return -EINVAL;
}

int store_show(DnsStore *s, DnsLayer *layer, uint64_t position)
{
    overlay_clear(s->overlay);
    for (unsigned i = 0; i < s->layers; i++) {
        dns_layer_unref(s->layer[i]);
    }
    s->layers = 1;
    s->layer[0] = layer;
    s->has_top = false;
    s->position = layer->position = position;
    store_forget_filter(s);
    store_refresh(s);
    return store_publish(s);
}

static int replace(DnsStore *s, const char *path, DnsLayer *layer,
                   DnsStoreError *error)
{
    uint64_t position = s->position +
                        (uint32_t)(layer->image->serial - s->position);
    uint64_t identity = layer->image->identity;
    int ret = store_check_image(s, path, layer, error);

    if (ret) {
        return ret;
    }
    ret = journal_set_aside(s->journal);
    ret = ret ? ret : store_name_image(s, path, identity, position);
    ret = ret ? ret : journal_restart(s->journal, identity, position);
    if (ret) {
        snprintf(error->text, sizeof(error->text), "%.150s: %s", s->path,
                 strerror(-ret));
        return ret;
    }
    snprintf(error->text, sizeof(error->text), "there is no memory");
    return store_show(s, layer, position);
}

int dns_store_replace(DnsStore *s, const char *path, DnsStoreError *error)
{
    ZoneFault fault = { 0 };
    DnsLayer *layer;
    int ret;

    store_wait(s);
    layer = dns_layer_open(path, s->maps, &fault);
    if (!layer) {
        ret = -errno;
        snprintf(error->text, sizeof(error->text), "%.150s: %s", path,
                 ret == -EBADMSG ? fault.what : strerror(-ret));
        return ret;
    }
    ret = replace(s, path, layer, error);
    if (ret && s->layer[0] != layer) {
        dns_layer_unref(layer);
    }
    return ret;
}
