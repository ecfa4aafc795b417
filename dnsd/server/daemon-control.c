/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests of the control socket; daemon-show.c has "show"
 *
 * A reload makes a new server state beside the one that is served.  Workers use it
 * from their next round on.  When all of them do, the old state is freed.  If
 * the new configuration has an error, the old state stays.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/systemd.h"
#include "dnsd/server/config/keys.h"
#include "dnsd/server/core/number.h"
#include "dnsd/server/daemon-internal.h"
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
            base_log(LOG_WARNING, "resolver.forward: %s: the interface '%s' "
                     "is not there: waiting for it", at->text, at->device);
        } else if (is_logged && d->state) {
            base_log(LOG_NOTICE, "resolver.forward: %s: the interface '%s' "
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
        base_log(LOG_WARNING, "%s: %s has changed, which takes a restart, "
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

/* Serve a new state from now on.  Returns: false, and it is freed. */
static bool take_state(DnsdDaemon *d, DnsdState *state)
{
    if (!dnsd_secondaries_follow(d->secondaries, state)) {
        dnsd_state_free(state);
        return false;
    }
    dnsd_worker_pool_replace(&d->pool, &state->serving);
    dnsd_state_free(d->state);
    d->state = state;
    d->states++;
    return true;
}

static void report_reload(size_t zones, unsigned faults, DnsdText *text)
{
    const char *s = dnsd_plural(zones);

    base_log(LOG_NOTICE, "reloaded: %zu zone%s, %u of them with an image "
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

    base_systemd_reloading();
    state = dnsd_daemon_state(d, d->state, &faults, &errors);
    if (state && !take_state(d, state)) {
        snprintf(errors.text, sizeof(errors.text), "there is no memory");
        state = NULL;
    }
    if (!state) {
        base_log(LOG_ERR, "not reloaded: %s", errors.text);
        dnsd_text_add(text, "not reloaded: %s\n", errors.text);
    } else {
        report_reload(state->config->zones, faults, text);
    }
    if (state && !faults) {
        d->reloads++;
    } else {
        d->reloads_failed++;
    }
    base_systemd_notify("READY=1");
    return state && !faults;
}

/* --- one zone ------------------------------------------------------------- */

/* The place of the zone in the configuration, or its number: there is none. */
static size_t find_zone(const DnsdDaemon *d, const char *text)
{
    const DnsdConfig *config = d->state->config;
    DnsName name;
    size_t i = 0;

    if (dns_name_from_text(&name, text) < 0) {
        return config->zones;
    }
    dnsd_name_lower(&name);
    while (i < config->zones && !dns_name_equal(&config->zone[i].name, &name)) {
        i++;
    }
    return i;
}

static bool no_zone(BaseControlClient *c, const char *zone)
{
    return base_control_fail(c, "'%s' is no zone here", zone);
}

static bool reload_zone(DnsdDaemon *d, BaseControlClient *c, const char *zone)
{
    size_t which = find_zone(d, zone);
    unsigned faults = 0;
    DnsdState *state;
    uint32_t serial;

    if (which == d->state->config->zones) {
        return no_zone(c, zone);
    }
    state = dnsd_state_again(d->state, which, &faults);
    if (!state || !take_state(d, state)) {
        d->reloads_failed++;
        return base_control_fail(c, "there is no memory");
    }
    if (faults) {
        d->reloads_failed++;
        return base_control_fail(c, "%s: '%s' cannot be used; the log says why",
                                 zone, state->config->zone[which].image);
    }
    if (dnsd_zone_state(&state->zone[which], &serial) != DNSD_ZONE_MISSING) {
        base_control_printf(c, "%s: serial %" PRIu32 "\n", zone, serial);
        base_log(LOG_NOTICE, "zone %s: reloaded, serial %" PRIu32, zone,
                 serial);
    } else {
        base_control_printf(c, "%s: there is no image yet\n", zone);
    }
    return true;
}

static bool control_notify(void *opaque, BaseControlClient *c, char **words,
                           unsigned count)
{
    DnsdDaemon *d = opaque;
    const DnsdState *state = d->state;
    size_t which = find_zone(d, words[0]);
    const DnsdZoneConfig *config = &state->config->zone[which];

    if (which == state->config->zones) {
        return no_zone(c, words[0]);
    }
    if (!config->secondaries) {
        return base_control_fail(c, "%s: it has no 'notify' in %s", words[0],
                                 d->path);
    }
    if (!state->zone[which].dyn || !state->zone[which].dyn->store) {
        return base_control_fail(c, "%s: there is no image yet", words[0]);
    }
    dnsd_notifier_again(d->notifier, state->keyring->keys, config,
                        state->zone[which].dyn);
    base_control_printf(c, "%s: serial %" PRIu32 " to %zu server%s\n", words[0],
                        dnsd_dynzone_serial(state->zone[which].dyn),
                        config->secondaries,
                        dnsd_plural(config->secondaries));
    return true;
}

/* --- metrics -------------------------------------------------------------- */

static void add_zones(DnsdText *text, const DnsdState *w)
{
    size_t shown = w->config->zones < DNSD_METRICS_ZONES
                   ? w->config->zones : DNSD_METRICS_ZONES;
    uint64_t states[DNSD_ZONE_STATES] = { 0 };
    char name[DNS_NAME_TEXT_MAX];
    uint32_t serial;

    for (size_t i = 0; i < w->config->zones; i++) {
        states[dnsd_zone_state(&w->zone[i], &serial)]++;
    }
    dnsd_metrics_zones(text, states);
    dnsd_metrics_states_begin(text);
    for (size_t i = 0; i < shown; i++) {
        dns_name_to_text(&w->config->zone[i].name, name);
        dnsd_metrics_state(text, name, dnsd_zone_state(&w->zone[i], &serial));
    }
    dnsd_metrics_serials_begin(text);
    for (size_t i = 0; i < shown; i++) {
        if (dnsd_zone_state(&w->zone[i], &serial) != DNSD_ZONE_MISSING) {
            dns_name_to_text(&w->config->zone[i].name, name);
            dnsd_metrics_serial(text, name, serial);
        }
    }
}

void dnsd_daemon_metrics(void *opaque, DnsdText *text)
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

/* --- requests ------------------------------------------------------------- */

static bool control_metrics(void *opaque, BaseControlClient *c, char **words,
                            unsigned count)
{
    DnsdText text = dnsd_metrics_whole(dnsd_daemon_metrics, opaque);

    base_control_write(c, text.at, text.len);
    free(text.at);
    return true;
}

static bool control_say(BaseControlClient *c, bool done, const DnsdText *text)
{
    if (!done) {
        return base_control_fail(c, "%s", text->at);
    }
    base_control_write(c, text->at, strlen(text->at));
    return true;
}

static bool control_reload(void *opaque, BaseControlClient *c, char **words,
                           unsigned count)
{
    static char room[sizeof(DnsdErrors) + 64];
    DnsdText text = { .at = room, .room = sizeof(room) };

    if (count) {
        return reload_zone(opaque, c, words[0]);
    }
    return control_say(c, dnsd_daemon_reload(opaque, &text), &text);
}

static bool refresh(DnsdDaemon *d, BaseControlClient *c, const char *zone,
                    bool force)
{
    char room[DNS_NAME_TEXT_MAX + 256];
    DnsdText text = { .at = room, .room = sizeof(room) };

    return control_say(c, dnsd_secondaries_refresh(d->secondaries, zone, force,
                                                   &text), &text);
}

static bool control_refresh(void *opaque, BaseControlClient *c, char **words,
                            unsigned count)
{
    return refresh(opaque, c, words[0], false);
}

static bool control_retransfer(void *opaque, BaseControlClient *c,
                               char **words, unsigned count)
{
    return refresh(opaque, c, words[0], true);
}

static const BaseControlVerb verbs[] = {
    { .name = "show", .most = 1, .run = dnsd_daemon_show },
    { .name = "metrics", .run = control_metrics },
    { .name = "reload", .most = 1, .run = control_reload },
    { .name = "notify", .least = 1, .most = 1, .run = control_notify },
    { .name = "refresh", .least = 1, .most = 1, .run = control_refresh },
    { .name = "retransfer", .least = 1, .most = 1, .run = control_retransfer },
    { 0 },
};

const BaseControlOps dnsd_daemon_control = { .verbs = verbs };
