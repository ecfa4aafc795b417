/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check a configuration and the files that it names, without serving */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "dnsd/server/core/number.h"
#include "dnsd/server/daemon.h"
#include "dnsd/server/resolver/resolver.h"
#include "dnsd/server/service/file.h"
#include "dnsd/server/service/load.h"
#include "dnsd/server/service/zones.h"
#include "net/dns/unbound/fixes.h"
#include "net/dns/zone/verify.h"

static bool check_resolver(const char *path, const DnsdConfig *config)
{
    char warning[DNSC_WARNING_MAX];
    DnsdError error;
    DnsdResolver *resolver = config->resolver.is_on
        ? dnsd_resolver_new(&config->resolver, &error) : NULL;

    if (config->resolver.is_on && !resolver) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        return false;
    }
    if (resolver && dnsc_unbound_warning(warning)) {
        fprintf(stderr, "%s: warning: resolver: %s\n", path, warning);
    }
    dnsd_resolver_free(resolver);
    return true;
}

/* A server checks a page on first use; this checks all pages. */
static bool check_image(const DnsdZoneConfig *config, const DnsdZone *zone)
{
    char name[DNS_NAME_TEXT_MAX];
    ZoneFault fault;

    if (!zone->file || zone_image_verify(zone->file->image, &fault)) {
        return true;
    }
    dns_name_to_text(&config->name, name);
    base_log(LOG_ERR, "zone %s: '%s' is damaged: %s (%s, offset %" PRIu64
             "); put a whole image there", name, config->image, fault.what,
             fault.where, fault.offset);
    return false;
}

static unsigned check_images(const DnsdState *state)
{
    unsigned faults = 0;

    for (size_t i = 0; i < state->config->zones; i++) {
        faults += !check_image(&state->config->zone[i], &state->zone[i]);
    }
    return faults;
}

bool dnsd_check(const char *path)
{
    static DnsdErrors errors;
    const uint8_t secret[DNSD_SECRET_LEN] = { 0 };
    DnsdConfig *config = dnsd_load(path, &errors);
    unsigned faults = 0;
    DnsdState *state;

    if (!config) {
        fprintf(stderr, "%s\n", errors.text);
        return false;
    }
    if (!check_resolver(path, config)) {
        dnsd_config_free(config);
        return false;
    }
    state = dnsd_state_new(config, NULL, secret, NULL, &faults, errors.text,
                           sizeof(errors.text));
    if (!state) {
        fprintf(stderr, "%s\n", errors.text);
        dnsd_config_free(config);
        return false;
    }
    faults += check_images(state);
    if (!faults) {
        printf("%s: %zu zone%s\n", path, config->zones,
               dnsd_plural(config->zones));
    }
    dnsd_state_free(state);
    return !faults;
}
