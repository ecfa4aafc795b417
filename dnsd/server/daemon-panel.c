/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands for vmmnet-dnsd: reload, metrics, refresh, retransfer
 *
 * A reload makes a new server state beside the one that is served.  Workers use it
 * from their next round on.  When all of them do, the old state is freed.  If
 * the new configuration has an error, the old state stays.
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
static bool take_resolver(DnsdDaemon *d, const DnsdState *before,
                          DnsdState *state, DnsdErrors *errors)
{
    const DnsdResolverConfig *config = &state->config->resolver;
    DnsdError error;

    if (!d->resolver) {
        return true;
    }
    if (before && config->is_on &&
        !dnsd_resolver_reload(d->resolver, &before->config->resolver, config,
                              &error)) {
        snprintf(errors->text, sizeof(errors->text), "%s: %s", d->path,
                 error.text);
        return false;
    }
    state->serving.generation = dnsd_resolver_generation(d->resolver);
    return true;
}

bool dnsd_daemon_scopes(const DnsdDaemon *d, DnsdResolverConfig *config,
                        bool is_logged)
{
    bool has_changed = false;

    for (size_t i = 0; i < config->forwards; i++) {
        DnsdListen *at = &config->forward[i];
        unsigned index = *at->device && d->interfaces ? dnsd_links_index(
            dnsd_interfaces_links(d->interfaces), at->device) : 0;

        if (!*at->device || (d->state && index == dnsd_listen_scope(at))) {
            continue;
        }
        ((struct sockaddr_in6 *)&at->addr)->sin6_scope_id = index;
        has_changed = true;
        if (is_logged && !index) {
            dnsd_log(DNSD_WARNING, "resolver.forward: %s: the interface '%s' "
                     "is not there: waiting for it", at->text, at->device);
        } else if (is_logged && d->state) {
            dnsd_log(DNSD_NOTICE, "resolver.forward: %s: the interface '%s' "
                     "is there", at->text, at->device);
        }
    }
    return has_changed;
}

DnsdState *dnsd_daemon_state(DnsdDaemon *d, const DnsdState *before,
                             unsigned *faults, DnsdErrors *errors)
{
    DnsdConfig *config = dnsd_load(d->path, errors);
    const char *key;
    DnsdState *state;

    if (!config) {
        return NULL;
    }
    dnsd_daemon_scopes(d, &config->resolver, false);
    key = before ? dnsd_config_needs_restart(before->config, config) : NULL;
    if (key) {
        dnsd_log(DNSD_WARNING, "%s: %s has changed, which takes a restart, "
                 "not a reload", d->path, key);
    }
    state = dnsd_state_new(config, before, d->secret, d->zone_set, faults,
                           errors->text, sizeof(errors->text));
    if (!state) {
        dnsd_config_free(config);
        return NULL;
    }
    if (!take_resolver(d, before, state, errors)) {
        dnsd_state_free(state);
        return NULL;
    }
    return state;
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
    static DnsdErrors errors;
    unsigned faults = 0;
    DnsdState *state;

    dnsd_systemd_reloading();
    state = dnsd_daemon_state(d, d->state, &faults, &errors);
    if (state && !dnsd_secondaries_follow(d->secondaries, state)) {
        snprintf(errors.text, sizeof(errors.text), "there is no memory");
        dnsd_state_free(state);
        state = NULL;
    }
    if (!state) {
        dnsd_log(DNSD_ERROR, "not reloaded: %s", errors.text);
        dnsd_text_add(text, "not reloaded: %s\n", errors.text);
    } else {
        dnsd_worker_pool_replace(&d->pool, &state->serving);
        dnsd_state_free(d->state);
        d->state = state;
        report_reload(state->config->zones, faults, text);
    }
    if (state && !faults) {
        d->reloads++;
    } else {
        d->reloads_failed++;
    }
    dnsd_systemd_notify("READY=1");
    return state && !faults;
}

static bool panel_reload(void *opaque, DnsdText *text)
{
    return dnsd_daemon_reload(opaque, text);
}

/* --- metrics -------------------------------------------------------------- */

static void add_zones(DnsdText *text, const DnsdState *w)
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

    dnsd_worker_pool_count(&d->pool, &numbers);
    dnsd_metrics_server(text, &numbers);
    add_zones(text, d->state);
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
