/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zones that change while they are served */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "dnsd/server/host/fault.h"
#include "dnsd/server/service/file.h"
#include "dnsd/server/service/dynzone.h"
#include "dnsd/update/store/merger.h"

/* A view that was replaced */
typedef struct Retired {
    struct Retired *next;
    uint64_t number;            /* of the pool's epoch */
    void (*release)(void *what);
    void *what;
} Retired;

struct DnsdZoneSet {
    DnsdWorkerPool *pool;
    DnsMerger *merger;
    Retired *oldest, **end;
};

/* --- all ------------------------------------------------------------------ */

DnsdZoneSet *dnsd_zone_set_new(DnsdWorkerPool *pool)
{
    DnsdZoneSet *all = calloc(1, sizeof(*all));

    if (!all) {
        return NULL;
    }
    all->pool = pool;
    all->end = &all->oldest;
    all->merger = dns_merger_new();
    if (!all->merger) {
        free(all);
        return NULL;
    }
    return all;
}

void dnsd_zone_set_free(DnsdZoneSet *all)
{
    dnsd_zone_set_tidy(all);
    dns_merger_free(all->merger);
    free(all);
}

int dnsd_zone_set_fd(const DnsdZoneSet *all)
{
    return dns_merger_fd(all->merger);
}

void dnsd_zone_set_run(DnsdZoneSet *all)
{
    dns_merger_run(all->merger);
}

void dnsd_zone_set_tidy(DnsdZoneSet *all)
{
    Retired *r;

    while ((r = all->oldest) &&
           dnsd_worker_pool_is_past(all->pool, r->number)) {
        all->oldest = r->next;
        all->end = r->next ? all->end : &all->oldest;
        r->release(r->what);
        free(r);
    }
}

/* --- operations for a store ----------------------------------------------- */

static void publish(void *opaque, const ZoneView *view)
{
    DnsdDynZone *dyn = opaque;

    atomic_store(&dyn->view, view);
}

/* Without memory for the entry, the view is leaked: it may be in use. */
static void retire(void *opaque, void (*release)(void *what), void *what)
{
    DnsdZoneSet *all = ((DnsdDynZone *)opaque)->zone_set;
    Retired *r = malloc(sizeof(*r));

    if (r) {
        *r = (Retired) {
            NULL, dnsd_worker_pool_advance(all->pool), release, what,
        };
        *all->end = r;
        all->end = &r->next;
    }
}

static void log_text(void *opaque, const char *text)
{
    base_log(LOG_NOTICE, "%s", text);
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

bool dnsd_dynzone_has_journal(const char *path)
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

DnsdDynZone *dnsd_dynzone_new(DnsdZoneSet *all, const DnsName *origin)
{
    static const ZoneView nothing;
    DnsdDynZone *dyn = calloc(1, sizeof(*dyn));

    if (dyn) {
        dyn->users = 1;
        dyn->zone_set = all;
        dyn->origin = *origin;
        atomic_init(&dyn->view, &nothing);
    }
    return dyn;
}

bool dnsd_dynzone_fill(DnsdDynZone *dyn, const char *path, char *why,
                       size_t why_len)
{
    DnsStoreOptions options = {
        .image = path, .merger = dyn->zone_set->merger, .maps = &maps,
        .is_static = dyn->is_static,
    };
    DnsdFile *file = dnsd_file_open(path, &dyn->origin, why, why_len);
    DnsStoreError error;

    dnsd_file_unref(file);
    if (!file) {
        return false;
    }
    dyn->store = dns_store_open(&options, &ops, dyn, &error);
    if (!dyn->store) {
        snprintf(why, why_len, "cannot be served with its journal: %s",
                 error.text);
    }
    return dyn->store;
}

bool dnsd_dynzone_follow(DnsdDynZone *dyn, char *why, size_t why_len)
{
    DnsdFile *file = dnsd_file_open(dns_store_path(dyn->store), &dyn->origin,
                                    why, why_len);
    DnsStoreError error;

    dnsd_file_unref(file);
    if (file && dns_store_follow(dyn->store, &error)) {
        snprintf(why, why_len, "cannot follow the one before it: %s",
                 error.text);
        return false;
    }
    return file;
}

DnsdDynZone *dnsd_dynzone_open(DnsdZoneSet *all, const char *path,
                               const DnsName *origin, bool is_static, char *why,
                               size_t why_len)
{
    DnsdDynZone *dyn = dnsd_dynzone_new(all, origin);

    if (!dyn) {
        snprintf(why, why_len, "there is no memory for it");
        return NULL;
    }
    dyn->is_static = is_static;
    if (!dnsd_dynzone_fill(dyn, path, why, why_len)) {
        dnsd_dynzone_unref(dyn);
        dyn = NULL;
    }
    return dyn;
}

bool dnsd_dynzone_is_at(const DnsdDynZone *dyn, const char *path)
{
    const ZoneView *view = dyn->store ? dns_store_view(dyn->store) : NULL;
    char why[256];
    DnsdFile *file = dnsd_file_open(path, &dyn->origin, why, sizeof(why));
    bool is_at = file && view && !zone_view_failed(view) &&
                 file->image->identity ==
                 view->layer[view->layers - 1]->identity;

    dnsd_file_unref(file);
    return is_at;
}

bool dnsd_dynzone_is_cut(const DnsdDynZone *dyn, const char *path)
{
    const ZoneView *view = dns_store_view(dyn->store);
    struct stat st;

    return !stat(path, &st) &&
           (uint64_t)st.st_size < view->layer[view->layers - 1]->len;
}

uint32_t dnsd_dynzone_serial(const DnsdDynZone *dyn)
{
    DnsStoreStats stats;

    if (!dyn->store) {
        return 0;
    }
    dns_store_stats(dyn->store, &stats);
    return stats.serial;
}

DnsdDynZone *dnsd_dynzone_ref(DnsdDynZone *dyn)
{
    dyn->users++;
    return dyn;
}

void dnsd_dynzone_unref(DnsdDynZone *dyn)
{
    if (dyn && !--dyn->users) {
        if (dyn->store) {
            dns_store_close(dyn->store);
        }
        free(dyn);
    }
}
