/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes
 *
 * Theory of operation
 * ===================
 *
 * docs/dns-journal.md is the design.  layer[] is what is committed.  The
 * overlay is over layer[], or with has_top over all but the first, which is
 * the overlay in the form that readers have.  commit.c makes that, merges.c
 * makes few layers of many; both publish what comes out as a version, which
 * holds its layers until nobody has it.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/random.h>
#include <fcntl.h>
#include <unistd.h>

#include "net/dns/update/store/store-internal.h"

#define SEAL_NODES      512
#define REBASE_LEN      (UINT64_C(1) << 20)

uint64_t store_random(void)
{
    uint64_t random;

    while (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        continue;
    }
    return random;
}

void store_log(DnsStore *s, const char *what, int error)
{
    char text[DNS_NAME_TEXT_MAX + 256], name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&s->origin, name);
    snprintf(text, sizeof(text), "zone %s: %s%s%s", name, what,
             error ? ": " : "", error ? strerror(-error) : "");
    s->ops->log(s->opaque, text);
}

/* --- versions ------------------------------------------------------------- */

void dns_store_unpin(DnsVersion *version)
{
    if (version && !--version->refs) {
        for (unsigned i = 0; i < version->view.layers; i++) {
            dns_layer_unref(version->layer[i]);
        }
        dns_filter_unref(version->filter);
        free(version);
    }
}

DnsVersion *dns_store_pin(DnsStore *s)
{
    s->current->refs++;
    return s->current;
}

const ZoneView *dns_version_view(const DnsVersion *version)
{
    return &version->view;
}

static void release(void *what)
{
    dns_store_unpin(what);
}

void store_refresh(DnsStore *s)
{
    s->below.layers = s->layers - s->has_top;
    for (unsigned i = 0; i < s->below.layers; i++) {
        s->below.layer[i] = s->layer[i + s->has_top]->image;
    }
    dns_edit_over(s->edit, &s->below);
}

/* Without memory readers look into all layers. */
static void refresh_filter(DnsStore *s)
{
    ZoneImage *delta[ZONE_LAYERS_MAX];
    unsigned count = s->layers - 1;

    if (s->filter && !count) {
        store_forget_filter(s);
    }
    if (s->filter || !count) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        delta[i] = s->layer[i]->image;
    }
    s->filter = dns_filter_new(s->layer[count]->image->key, delta, count);
    s->below.filter = s->filter ? &s->filter->filter : NULL;
}

void store_forget_filter(DnsStore *s)
{
    dns_filter_unref(s->filter);
    s->filter = NULL;
    s->below.filter = NULL;
}

int store_publish(DnsStore *s)
{
    DnsVersion *version = calloc(1, sizeof(*version)), *old = s->current;

    if (!version) {
        return -ENOMEM;
    }
    refresh_filter(s);
    version->refs = 1;
    version->filter = dns_filter_ref(s->filter);
    version->view.filter = s->filter ? &s->filter->filter : NULL;
    version->view.layers = s->layers;
    for (unsigned i = 0; i < s->layers; i++) {
        version->layer[i] = dns_layer_ref(s->layer[i]);
        version->view.layer[i] = s->layer[i]->image;
    }
    s->current = version;
    s->ops->publish(s->opaque, &version->view);
    if (old) {
        s->ops->retire(s->opaque, release, old);
    }
    return 0;
}

/* --- the image ------------------------------------------------------------ */

static int sync_folder_of(const char *path)
{
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                  : -1;
    int ret = !copy ? -ENOMEM : fd < 0 || fsync(fd) ? -errno : 0;

    if (fd >= 0) {
        close(fd);
    }
    free(copy);
    return ret;
}

int store_name_image(DnsStore *s, const char *path, uint64_t identity,
                     uint64_t position)
{
    int ret = journal_base(s->journal, identity, position);

    if (ret) {
        return ret;
    }
    if (rename(path, s->path)) {
        return -errno;
    }
    journal_based(s->journal, identity, position);
    return sync_folder_of(s->path);
}

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
        return ret;
    }
    dns_edit_keep(s->edit);
    s->position = record->position;
    s->stats.replayed++;
    return 0;
}

/* The replayed changes become a layer. */
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
    };

    s->position = image->serial;
    s->journal = journal_open(&about, replay, s, error->text);
    if (!s->journal) {
        return false;
    }
    s->layer[0]->position = journal_base_position(s->journal);
    s->position = journal_position(s->journal);
    return true;
}

static bool make_parts(DnsStore *s, const DnsStoreOptions *options)
{
    s->scratch.grow = dns_memory_grow;
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

    s->merger = NULL;           /* no more of them */
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
    dns_memory_free(&s->scratch);
    dns_buffer_free(&s->pending);
    free(s->path);
    free(s->path_new);
    free(s);
}

/* --- what it says --------------------------------------------------------- */

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
