/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: zone images, read at the start and again when they change
 *
 * An image is read and checked without the server's lock.  Under the lock, it
 * replaces the old one, between two questions.  If it is wrong, the old one
 * stays.
 */
#include "hw/vmrpc/server/zone-files.h"

#include <errno.h>

#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/files.h"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("vmrpc-zone-files-error");
}

static DnsOwnZone *load(WatchedFile *file, GError **errp)
    VMMNET_REQUIRES(file->lock)
{
    DnsOwnZone *zone;

    watched_file_reading(file);
    zone = dns_own_zone_read(file->path, errp);
    if (!zone) {
        g_prefix_error(errp, "zone=%s: ", file->name);
        return NULL;
    }
    watched_file_read(file);
    return zone;
}

static bool reload(VmrpcServer *srv, WatchedFile *file, unsigned slot,
                   GError **errp)
    VMMNET_REQUIRES(file->lock)
{
    DnsOwnZone *zone = load(file, errp), *unused = NULL;
    GError *err = NULL;

    vmrpc_lock(srv);
    if (zone) {
        unused = dns_own_zones_set(srv->own_zones, slot, zone, &err);
        vmrpc_resolver_forget(srv);
    }
    vmrpc_unlock(srv);
    dns_own_zone_free(unused);
    if (err) {
        g_propagate_prefixed_error(errp, err, "zone=%s: ", file->name);
    }
    return zone && !err;
}

static bool add(VmrpcServer *srv, const char *name, GError **errp)
{
    unsigned slot = srv->zone_num++;
    WatchedFile *file = &srv->zone_file[slot];
    bool ok;

    watched_file_init(file);
    /* Watch first, or a change in between is lost. */
    if (!vmrpc_files_open(srv, file, name, errp)) {
        g_prefix_error(errp, "zone=");
        return false;
    }
    vmrpc_mutex_lock(&file->lock);
    ok = reload(srv, file, slot, errp);
    vmrpc_mutex_unlock(&file->lock);
    return ok;
}

bool vmrpc_zone_files_init(VmrpcServer *srv, GError **errp)
{
    const char *const *names = srv->config.zones;

    if (!srv->own_zones) {
        return true;
    }
    if (g_strv_length((char **)names) > DNS_OWN_ZONES_MAX) {
        g_autofree char *value = g_strjoinv("+", (char **)names);

        g_set_error(errp, error_quark(), EINVAL, "zone=%s: these are %u files, "
                    "no more than %d can be served", value,
                    g_strv_length((char **)names), DNS_OWN_ZONES_MAX);
        return false;
    }
    for (; *names; names++) {
        if (!add(srv, *names, errp)) {
            return false;
        }
    }
    return true;
}

void vmrpc_zone_files_cleanup(VmrpcServer *srv)
{
    for (unsigned i = 0; i < srv->zone_num; i++) {
        watched_file_destroy(&srv->zone_file[i]);
    }
}

static void follow(VmrpcServer *srv, unsigned slot)
{
    WatchedFile *file = &srv->zone_file[slot];
    g_autoptr(GError) err = NULL;
    bool ok;

    if (!vmrpc_files_changed(srv, file)) {
        return;
    }
    vmrpc_mutex_lock(&file->lock);
    ok = reload(srv, file, slot, &err);
    vmrpc_mutex_unlock(&file->lock);
    vmrpc_lock(srv);
    srv->counters.zone_reloads += ok;
    srv->counters.zone_errors += !ok;
    vmrpc_unlock(srv);
    if (srv->tracer.zone) {
        srv->tracer.zone(srv->tracer.opaque, file->name,
                         err ? err->message : NULL);
    }
}

void vmrpc_zone_files_follow(VmrpcServer *srv)
{
    for (unsigned i = 0; i < srv->zone_num; i++) {
        follow(srv, i);
    }
}
