/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests of the control socket: show, metrics, reload, refresh, retransfer
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

/* --- show ----------------------------------------------------------------- */

#define SHOW_PART   64      /* zones */

typedef struct DnsdZoneStatus {
    DnsdZoneState state;
    uint32_t serial;
    DnsdCopyStatus copy;
} DnsdZoneStatus;

/* How far an answer is.  A reload meanwhile may have it miss or repeat zones. */
typedef struct DnsdShow {
    const DnsdDaemon *daemon;
    bool as_json;
    size_t next;
} DnsdShow;

static const char *zone_role(const DnsdZoneConfig *config)
{
    return config->primaries ? "secondary" : config->updates ? "updated"
                                                             : "image";
}

static void show_text(BaseControlClient *c, const char *name,
                      const DnsdZoneConfig *config, const DnsdZoneStatus *zone)
{
    base_control_printf(c, "zone %s %s %s", name, zone_role(config),
                        dnsd_zone_state_name(zone->state));
    if (zone->state != DNSD_ZONE_MISSING) {
        base_control_printf(c, " serial %" PRIu32, zone->serial);
    }
    if (zone->copy.is_known) {
        if (zone->copy.is_asking) {
            base_control_printf(c, " asking");
        } else {
            base_control_printf(c, " refresh in %" PRIu64 " s",
                                zone->copy.refresh_s);
        }
        if (zone->copy.has_zone) {
            base_control_printf(c, ", expires in %" PRIu64 " s",
                                zone->copy.expire_s);
        }
        if (zone->copy.failures) {
            base_control_printf(c, ", failed %" PRIu32 " times",
                                zone->copy.failures);
        }
    }
    base_control_write(c, "\n", 1);
}

static void show_json(BaseControlClient *c, const char *name,
                      const DnsdZoneConfig *config, const DnsdZoneStatus *zone)
{
    base_control_write(c, "{\"zone\": \"", 10);
    for (; *name; name++) {
        /* A name as text has escapes: \. and \255 */
        if (*name == '\\' || *name == '"') {
            base_control_write(c, "\\", 1);
        }
        base_control_write(c, name, 1);
    }
    base_control_printf(c, "\", \"role\": \"%s\", \"state\": \"%s\"",
                        zone_role(config), dnsd_zone_state_name(zone->state));
    if (zone->state != DNSD_ZONE_MISSING) {
        base_control_printf(c, ", \"serial\": %" PRIu32, zone->serial);
    }
    if (zone->copy.is_known) {
        base_control_printf(c, ", \"asking\": %s, \"refresh-in\": %" PRIu64
                            ", \"failures\": %" PRIu32 ", \"last-success\": %"
                            PRIu64, zone->copy.is_asking ? "true" : "false",
                            zone->copy.refresh_s, zone->copy.failures,
                            zone->copy.success);
        if (zone->copy.has_zone) {
            base_control_printf(c, ", \"expires-in\": %" PRIu64,
                                zone->copy.expire_s);
        }
    }
    base_control_write(c, "}", 1);
}

static void show_zone(const DnsdShow *s, BaseControlClient *c)
{
    const DnsdState *state = s->daemon->state;
    const DnsdZoneConfig *config = &state->config->zone[s->next];
    char name[DNS_NAME_TEXT_MAX];
    DnsdZoneStatus zone = { 0 };

    dns_name_to_text(&config->name, name);
    zone.state = dnsd_zone_state(&state->zone[s->next], &zone.serial);
    dnsd_secondaries_status(s->daemon->secondaries, &config->name, &zone.copy);
    (s->as_json ? show_json : show_text)(c, name, config, &zone);
    if (s->as_json && s->next + 1 < state->config->zones) {
        base_control_write(c, ", ", 2);
    }
}

static bool show_more(void *opaque, BaseControlClient *c)
{
    DnsdShow *s = opaque;
    size_t end = s->next + SHOW_PART;

    for (; s->next < end && s->next < s->daemon->state->config->zones;
         s->next++) {
        show_zone(s, c);
    }
    if (s->next < s->daemon->state->config->zones) {
        return true;
    }
    if (s->as_json) {
        base_control_write(c, "]}\n", 3);
    }
    return false;
}

static bool control_show(void *opaque, BaseControlClient *c, char **words,
                         unsigned count)
{
    const DnsdDaemon *d = opaque;
    DnsdShow *s;

    if (count && strcmp(words[0], "json")) {
        return base_control_fail(c, "show: '%s' is not json", words[0]);
    }
    s = calloc(1, sizeof(*s));
    if (!s) {
        return base_control_fail(c, "no memory");
    }
    *s = (DnsdShow) { .daemon = d, .as_json = count };
    if (s->as_json) {
        base_control_printf(c, "{\"threads\": %u, \"reloads\": %" PRIu64
                            ", \"reloads-failed\": %" PRIu64 ", \"zones\": [",
                            d->pool.started, d->reloads, d->reloads_failed);
    } else {
        base_control_printf(c, "server %zu zone%s, %u thread%s, reloaded %"
                            PRIu64 ", reloads failed %" PRIu64 "\n",
                            d->state->config->zones,
                            dnsd_plural(d->state->config->zones),
                            d->pool.started, dnsd_plural(d->pool.started),
                            d->reloads, d->reloads_failed);
    }
    base_control_stream(c, show_more, free, s);
    return true;
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

static void control_log(void *opaque, bool good, const char *text)
{
    dnsd_log(good ? DNSD_NOTICE : DNSD_WARNING, "server.control: %s", text);
}

static const BaseControlVerb verbs[] = {
    { .name = "show", .most = 1, .run = control_show },
    { .name = "metrics", .run = control_metrics },
    { .name = "reload", .run = control_reload },
    { .name = "refresh", .least = 1, .most = 1, .run = control_refresh },
    { .name = "retransfer", .least = 1, .most = 1, .run = control_retransfer },
    { 0 },
};

const BaseControlOps dnsd_daemon_control = {
    .verbs = verbs, .log = control_log,
};
