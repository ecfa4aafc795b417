/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The request "show" of the control socket: the server, and each zone
 *
 * A zone has a line of what is served, and one of its image.  A secondary has,
 * below them, a line for each primary, and one for the last attempt that failed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "dnsd/server/core/number.h"
#include "dnsd/server/daemon-internal.h"

#define SHOW_PART   64      /* zones */

typedef struct DnsdZoneStatus {
    const DnsdZoneConfig *config;
    DnsdZoneState state;
    uint32_t serial;
    DnsStoreStats store;        /* 0: it does not change while it is served */
    DnsdCopyStatus copy;
} DnsdZoneStatus;

/* How far an answer is */
typedef struct DnsdShow {
    const DnsdDaemon *daemon;
    uint64_t states;            /* of the daemon, when it began */
    bool as_json;
    BaseJson json;
    size_t next;
} DnsdShow;

static const char *zone_role(const DnsdZoneConfig *config)
{
    return config->primaries ? "secondary" : config->updates ? "updated"
                                                             : "image";
}

/* --- text ----------------------------------------------------------------- */

static void text_copy(BaseControlClient *c, const DnsdCopyStatus *copy)
{
    if (copy->is_asking) {
        base_control_printf(c, " asking");
    } else {
        base_control_printf(c, " refresh in %" PRIu64 " s", copy->refresh_s);
    }
    if (copy->has_zone) {
        base_control_printf(c, ", expires in %" PRIu64 " s", copy->expire_s);
    }
    if (copy->failures) {
        base_control_printf(c, ", failed %" PRIu32 " times", copy->failures);
    }
}

static void text_primary(BaseControlClient *c, const char *name,
                         const DnsdPrimary *primary, const uint32_t *serial)
{
    base_control_printf(c, "primary %s %s", name, primary->at.text);
    if (serial) {
        base_control_printf(c, " serial %" PRIu32, *serial);
    }
    base_control_write(c, "\n", 1);
}

static void text_zone(const DnsdDaemon *d, BaseControlClient *c,
                      const char *name, const DnsdZoneStatus *zone)
{
    base_control_printf(c, "zone %s %s %s", name, zone_role(zone->config),
                        dnsd_zone_state_name(zone->state));
    if (zone->state != DNSD_ZONE_MISSING) {
        base_control_printf(c, " serial %" PRIu32, zone->serial);
    }
    if (zone->store.journal_len) {
        base_control_printf(c, " journal %" PRIu64, zone->store.journal_len);
    }
    if (zone->copy.is_known) {
        text_copy(c, &zone->copy);
    }
    base_control_printf(c, "\nimage %s %s\n", name, zone->config->image);
    for (size_t i = 0; i < zone->config->primaries; i++) {
        uint32_t serial;

        text_primary(c, name, &zone->config->primary[i],
                     dnsd_secondaries_heard(d->secondaries,
                                            &zone->config->name, i, &serial)
                     ? &serial : NULL);
    }
    if (zone->copy.error) {
        base_control_printf(c, "error %s %s\n", name, zone->copy.error);
    }
}

/* --- JSON ----------------------------------------------------------------- */

static void json_put(void *opaque, const char *text, size_t len)
{
    base_control_write(opaque, text, len);
}

static void json_copy(BaseJson *j, const DnsdCopyStatus *copy)
{
    base_json_bool(j, "asking", copy->is_asking);
    base_json_number(j, "refresh-in", copy->refresh_s);
    base_json_number(j, "failures", copy->failures);
    base_json_number(j, "last-success", copy->success);
    if (copy->has_zone) {
        base_json_number(j, "expires-in", copy->expire_s);
    }
    if (copy->error) {
        base_json_text(j, "last-error", copy->error);
    }
}

static void json_primaries(const DnsdDaemon *d, BaseJson *j,
                           const DnsdZoneConfig *config)
{
    base_json_open(j, "primaries", '[');
    for (size_t i = 0; i < config->primaries; i++) {
        uint32_t serial;

        base_json_open(j, NULL, '{');
        base_json_text(j, "address", config->primary[i].at.text);
        if (dnsd_secondaries_heard(d->secondaries, &config->name, i,
                                   &serial)) {
            base_json_number(j, "serial", serial);
        }
        base_json_close(j, '}');
    }
    base_json_close(j, ']');
}

static void json_zone(const DnsdDaemon *d, BaseJson *j, const char *name,
                      const DnsdZoneStatus *zone)
{
    base_json_open(j, NULL, '{');
    base_json_text(j, "zone", name);
    base_json_text(j, "role", zone_role(zone->config));
    base_json_text(j, "state", dnsd_zone_state_name(zone->state));
    base_json_text(j, "image", zone->config->image);
    if (zone->state != DNSD_ZONE_MISSING) {
        base_json_number(j, "serial", zone->serial);
    }
    if (zone->store.layers) {
        base_json_number(j, "journal", zone->store.journal_len);
    }
    if (zone->copy.is_known) {
        json_copy(j, &zone->copy);
    }
    if (zone->config->primaries) {
        json_primaries(d, j, zone->config);
    }
    base_json_close(j, '}');
}

/* --- an answer ------------------------------------------------------------ */

static void show_zone(DnsdShow *s, BaseControlClient *c)
{
    const DnsdState *state = s->daemon->state;
    const DnsdZone *served = &state->zone[s->next];
    DnsdZoneStatus zone = { .config = &state->config->zone[s->next] };
    char name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&zone.config->name, name);
    zone.state = dnsd_zone_state(served, &zone.serial);
    if (served->dyn && served->dyn->store) {
        dns_store_stats(served->dyn->store, &zone.store);
    }
    dnsd_secondaries_status(s->daemon->secondaries, &zone.config->name,
                            &zone.copy);
    if (s->as_json) {
        json_zone(s->daemon, &s->json, name, &zone);
    } else {
        text_zone(s->daemon, c, name, &zone);
    }
}

static BaseControlPart show_more(void *opaque, BaseControlClient *c)
{
    DnsdShow *s = opaque;
    size_t end = s->next + SHOW_PART;

    if (s->states != s->daemon->states) {
        base_control_fail(c, "%sshow: the zones were reloaded meanwhile: ask "
                          "again", s->as_json ? "\n" : "");
        return BASE_CONTROL_FAILED;
    }
    for (; s->next < end && s->next < s->daemon->state->config->zones;
         s->next++) {
        show_zone(s, c);
    }
    if (s->next < s->daemon->state->config->zones) {
        return BASE_CONTROL_MORE;
    }
    if (s->as_json) {
        base_json_close(&s->json, ']');
        base_json_close(&s->json, '}');
        base_control_write(c, "\n", 1);
    }
    return BASE_CONTROL_LAST;
}

bool dnsd_daemon_show(void *daemon, BaseControlClient *c, char **words,
                      unsigned count)
{
    const DnsdDaemon *d = daemon;
    DnsdShow *s;

    if (count && strcmp(words[0], "json")) {
        return base_control_fail(c, "show: '%s' is not json", words[0]);
    }
    s = calloc(1, sizeof(*s));
    if (!s) {
        return base_control_fail(c, "no memory");
    }
    *s = (DnsdShow) {
        .daemon = d, .states = d->states, .as_json = count,
        .json = { { json_put, c } },
    };
    if (s->as_json) {
        base_json_open(&s->json, NULL, '{');
        base_json_number(&s->json, "threads", d->pool.started);
        base_json_number(&s->json, "reloads", d->reloads);
        base_json_number(&s->json, "reloads-failed", d->reloads_failed);
        base_json_open(&s->json, "zones", '[');
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
