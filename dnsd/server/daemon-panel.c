/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands for vmmnet-dnsd: reload, metrics, refresh, retransfer
 *
 * A reload makes a new world beside the one that is served.  Workers use it
 * from their next round on.  When all of them do, the old world is freed.  If
 * the new configuration has an error, the old world stays.
 */
#include <netinet/in.h>
#include <stdio.h>

#include "dnsd/server/core/number.h"
#include "dnsd/server/daemon-internal.h"
#include "dnsd/server/host/log.h"
#include "dnsd/server/host/systemd.h"
#include "dnsd/server/service/load.h"

/* --- reload --------------------------------------------------------------- */

/* Reload the resolver.  Returns false, and the reason. */
static bool take_resolver(DnsdDaemon *d, const DnsdWorld *before,
                          DnsdWorld *world, DnsdMistakes *mistakes)
{
    const DnsdResolverConfig *config = &world->config->resolver;
    DnsdMistake mistake;

    if (!d->resolver) {
        return true;
    }
    if (before && config->is_on &&
        !dnsd_resolver_reload(d->resolver, &before->config->resolver, config,
                              &mistake)) {
        snprintf(mistakes->text, sizeof(mistakes->text), "%s: %s", d->path,
                 mistake.text);
        return false;
    }
    world->serving.generation = dnsd_resolver_generation(d->resolver);
    return true;
}

bool dnsd_daemon_scopes(const DnsdDaemon *d, DnsdResolverConfig *config,
                        bool is_told)
{
    bool has_changed = false;

    for (size_t i = 0; i < config->forwards; i++) {
        DnsdListen *at = &config->forward[i];
        unsigned index = *at->device && d->interfaces ? dnsd_links_index(
            dnsd_interfaces_links(d->interfaces), at->device) : 0;

        if (!*at->device || (d->world && index == dnsd_listen_scope(at))) {
            continue;
        }
        ((struct sockaddr_in6 *)&at->addr)->sin6_scope_id = index;
        has_changed = true;
        if (is_told && !index) {
            dnsd_log(DNSD_WARNING, "resolver.forward: %s: the interface '%s' "
                     "is not there: waiting for it", at->text, at->device);
        } else if (is_told && d->world) {
            dnsd_log(DNSD_NOTICE, "resolver.forward: %s: the interface '%s' "
                     "is there", at->text, at->device);
        }
    }
    return has_changed;
}

DnsdWorld *dnsd_daemon_world(DnsdDaemon *d, const DnsdWorld *before,
                             unsigned *faults, DnsdMistakes *mistakes)
{
    DnsdConfig *config = dnsd_load(d->path, mistakes);
    const char *key;
    DnsdWorld *world;

    if (!config) {
        return NULL;
    }
    dnsd_daemon_scopes(d, &config->resolver, false);
    key = before ? dnsd_config_needs_restart(before->config, config) : NULL;
    if (key) {
        dnsd_log(DNSD_WARNING, "%s: %s has changed, which takes a restart, "
                 "not a reload", d->path, key);
    }
    world = dnsd_world_new(config, before, d->secret, d->lives, faults,
                           mistakes->text, sizeof(mistakes->text));
    if (!world) {
        dnsd_config_free(config);
        return NULL;
    }
    if (!take_resolver(d, before, world, mistakes)) {
        dnsd_world_free(world);
        return NULL;
    }
    return world;
}

static void report_reload(size_t zones, unsigned faults, DnsdText *text)
{
    const char *s = dnsd_plural(zones);

    dnsd_log(DNSD_NOTICE, "reloaded: %zu zone%s, %u of them with an image "
             "that cannot be used", zones, s, faults);
    dnsd_text_add(text, "reloaded: %zu zone%s, %u of them with an image that "
                  "cannot be used%s\n", zones, s, faults,
                  faults ? "; the log says which" : "");
}

bool dnsd_daemon_reload(DnsdDaemon *d, DnsdText *text)
{
    static DnsdMistakes mistakes;
    unsigned faults = 0;
    DnsdWorld *world;

    dnsd_systemd_reloading();
    world = dnsd_daemon_world(d, d->world, &faults, &mistakes);
    if (world && !dnsd_secondaries_follow(d->secondaries, world)) {
        snprintf(mistakes.text, sizeof(mistakes.text), "there is no memory");
        dnsd_world_free(world);
        world = NULL;
    }
    if (!world) {
        dnsd_log(DNSD_ERROR, "not reloaded: %s", mistakes.text);
        dnsd_text_add(text, "not reloaded: %s\n", mistakes.text);
    } else {
        dnsd_crew_replace(&d->crew, &world->serving);
        dnsd_world_free(d->world);
        d->world = world;
        report_reload(world->config->zones, faults, text);
    }
    if (world && !faults) {
        d->reloads++;
    } else {
        d->reloads_failed++;
    }
    dnsd_systemd_notify("READY=1");
    return world && !faults;
}

static bool panel_reload(void *opaque, DnsdText *text)
{
    return dnsd_daemon_reload(opaque, text);
}

/* --- metrics -------------------------------------------------------------- */

static void add_zones(DnsdText *text, const DnsdWorld *w)
{
    char name[DNS_NAME_TEXT_MAX];
    uint32_t serial;

    dnsd_metrics_states_begin(text);
    for (size_t i = 0; i < w->config->zones; i++) {
        dns_name_to_text(&w->config->zone[i].name, name);
        dnsd_metrics_state(text, name, dnsd_zone_state(&w->zone[i], &serial));
    }
    dnsd_metrics_serials_begin(text);
    for (size_t i = 0; i < w->config->zones; i++) {
        if (dnsd_zone_state(&w->zone[i], &serial) != DNSD_ZONE_MISSING) {
            dns_name_to_text(&w->config->zone[i].name, name);
            dnsd_metrics_serial(text, name, serial);
        }
    }
}

static void panel_metrics(void *opaque, DnsdText *text)
{
    const DnsdDaemon *d = opaque;
    DnsdNumbers numbers = {
        .reloads = d->reloads, .reloads_failed = d->reloads_failed,
    };

    dnsd_crew_count(&d->crew, &numbers);
    dnsd_metrics_server(text, &numbers);
    add_zones(text, d->world);
    dnsd_secondaries_metrics(d->secondaries, text);
    if (d->control) {
        dnsd_control_metrics(d->control, text);
        dnsd_notifier_metrics(d->notifier, text);
    }
}

static bool panel_refresh(void *opaque, const char *zone, bool force,
                          DnsdText *text)
{
    return dnsd_secondaries_refresh(((DnsdDaemon *)opaque)->secondaries, zone,
                                    force, text);
}

const DnsdPanelOps dnsd_daemon_panel = {
    .metrics = panel_metrics,
    .reload = panel_reload,
    .refresh = panel_refresh,
};
