/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zones that change while they are served */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "dnsd/server/host/fault.h"
#include "dnsd/server/host/log.h"
#include "dnsd/server/service/file.h"
#include "dnsd/server/service/live.h"
#include "dnsd/update/store/merger.h"

/* A view that was replaced */
typedef struct Retired {
    struct Retired *next;
    uint64_t number;            /* of the crew's epoch */
    void (*release)(void *what);
    void *what;
} Retired;

struct DnsdLives {
    DnsdCrew *crew;
    DnsMerger *merger;
    Retired *oldest, **end;
};

/* --- all ------------------------------------------------------------------ */

DnsdLives *dnsd_lives_new(DnsdCrew *crew)
{
    DnsdLives *all = calloc(1, sizeof(*all));

    if (!all) {
        return NULL;
    }
    all->crew = crew;
    all->end = &all->oldest;
    all->merger = dns_merger_new();
    if (!all->merger) {
        free(all);
        return NULL;
    }
    return all;
}

void dnsd_lives_free(DnsdLives *all)
{
    dnsd_lives_tidy(all);
    dns_merger_free(all->merger);
    free(all);
}

int dnsd_lives_fd(const DnsdLives *all)
{
    return dns_merger_fd(all->merger);
}

void dnsd_lives_run(DnsdLives *all)
{
    dns_merger_run(all->merger);
}

void dnsd_lives_tidy(DnsdLives *all)
{
    Retired *r;

    while ((r = all->oldest) && dnsd_crew_is_past(all->crew, r->number)) {
        all->oldest = r->next;
        all->end = r->next ? all->end : &all->oldest;
        r->release(r->what);
        free(r);
    }
}

/* --- operations for a store ----------------------------------------------- */

static void publish(void *opaque, const ZoneView *view)
{
    DnsdLive *live = opaque;

    atomic_store(&live->view, view);
}

/* Without memory for the entry, the view is leaked: it may be in use. */
static void retire(void *opaque, void (*release)(void *what), void *what)
{
    DnsdLives *all = ((DnsdLive *)opaque)->lives;
    Retired *r = malloc(sizeof(*r));

    if (r) {
        *r = (Retired) {
            NULL, dnsd_crew_advance(all->crew), release, what,
        };
        *all->end = r;
        all->end = &r->next;
    }
}

static void log_text(void *opaque, const char *text)
{
    dnsd_log(DNSD_NOTICE, "%s", text);
}

static const DnsStoreOps ops = { publish, retire, log_text };

static void *add_mapping(const void *base, size_t len)
{
    DnsdMapping *mapping = calloc(1, sizeof(*mapping));

    if (mapping) {
        mapping->base = base;
        mapping->len = len;
        dnsd_fault_add(mapping);
    }
    return mapping;
}

static void tell_mapping(void *mapping, atomic_bool *failed)
{
    dnsd_fault_tell(mapping, failed);
}

static void remove_mapping(void *mapping)
{
    dnsd_fault_remove(mapping);
    free(mapping);
}

static const DnsMapOps maps = { add_mapping, tell_mapping, remove_mapping };

/* --- one ------------------------------------------------------------------ */

bool dnsd_live_has_journal(const char *path)
{
    static const char *const behind[] = { ".jnl", ".jnl.old" };
    char name[PATH_MAX];
    struct stat st;
    bool has = false;

    for (unsigned i = 0; i < 2 && !has; i++) {
        has = snprintf(name, sizeof(name), "%s%s", path, behind[i]) <
              (int)sizeof(name) && !stat(name, &st);
    }
    return has;
}

DnsdLive *dnsd_live_new(DnsdLives *all, const DnsName *origin)
{
    static const ZoneView nothing;
    DnsdLive *live = calloc(1, sizeof(*live));

    if (live) {
        live->users = 1;
        live->lives = all;
        live->origin = *origin;
        atomic_init(&live->view, &nothing);
    }
    return live;
}

bool dnsd_live_fill(DnsdLive *live, const char *path, char *why,
                    size_t why_len)
{
    DnsStoreOptions options = {
        .image = path, .merger = live->lives->merger, .maps = &maps,
        .is_static = live->is_static,
    };
    DnsdFile *file = dnsd_file_open(path, &live->origin, why, why_len);
    DnsStoreError error;

    dnsd_file_unref(file);
    if (!file) {
        return false;
    }
    live->store = dns_store_open(&options, &ops, live, &error);
    if (!live->store) {
        snprintf(why, why_len, "cannot be served with its journal: %s",
                 error.text);
    }
    return live->store;
}

bool dnsd_live_follow(DnsdLive *live, char *why, size_t why_len)
{
    DnsdFile *file = dnsd_file_open(dns_store_path(live->store), &live->origin,
                                    why, why_len);
    DnsStoreError error;

    dnsd_file_unref(file);
    if (file && dns_store_follow(live->store, &error)) {
        snprintf(why, why_len, "cannot follow the one before it: %s",
                 error.text);
        return false;
    }
    return file;
}

DnsdLive *dnsd_live_open(DnsdLives *all, const char *path,
                         const DnsName *origin, bool is_static, char *why,
                         size_t why_len)
{
    DnsdLive *live = dnsd_live_new(all, origin);

    if (!live) {
        snprintf(why, why_len, "there is no memory for it");
        return NULL;
    }
    live->is_static = is_static;
    if (!dnsd_live_fill(live, path, why, why_len)) {
        dnsd_live_unref(live);
        live = NULL;
    }
    return live;
}

bool dnsd_live_is_at(const DnsdLive *live, const char *path)
{
    const ZoneView *view = live->store ? dns_store_view(live->store) : NULL;
    char why[256];
    DnsdFile *file = dnsd_file_open(path, &live->origin, why, sizeof(why));
    bool is_at = file && view && !zone_view_failed(view) &&
                 file->image->identity ==
                 view->layer[view->layers - 1]->identity;

    dnsd_file_unref(file);
    return is_at;
}

bool dnsd_live_is_cut(const DnsdLive *live, const char *path)
{
    const ZoneView *view = dns_store_view(live->store);
    struct stat st;

    return !stat(path, &st) &&
           (uint64_t)st.st_size < view->layer[view->layers - 1]->len;
}

uint32_t dnsd_live_serial(const DnsdLive *live)
{
    DnsStoreStats stats;

    if (!live->store) {
        return 0;
    }
    dns_store_stats(live->store, &stats);
    return stats.serial;
}

DnsdLive *dnsd_live_ref(DnsdLive *live)
{
    live->users++;
    return live;
}

void dnsd_live_unref(DnsdLive *live)
{
    if (live && !--live->users) {
        if (live->store) {
            dns_store_close(live->store);
        }
        free(live);
    }
}
