/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration, and what it names, looked at without serving it */
#include <stdio.h>

#include "net/dns/server/daemon.h"
#include "net/dns/server/resolver/resolver.h"
#include "net/dns/server/service/load.h"
#include "net/dns/server/service/zones.h"

static bool check_resolver(const char *path, const DnsdConfig *config)
{
    DnsdMistake mistake;
    DnsdResolver *resolver = config->resolver.is_on
        ? dnsd_resolver_new(&config->resolver, &mistake) : NULL;

    if (config->resolver.is_on && !resolver) {
        fprintf(stderr, "%s: %s\n", path, mistake.text);
        return false;
    }
    dnsd_resolver_free(resolver);
    return true;
}

bool dnsd_check(const char *path)
{
    static DnsdMistakes mistakes;
    const uint8_t secret[DNSD_SECRET_LEN] = { 0 };
    DnsdConfig *config = dnsd_load(path, &mistakes);
    unsigned faults = 0;
    DnsdWorld *world;

    if (!config) {
        fprintf(stderr, "%s\n", mistakes.text);
        return false;
    }
    if (!check_resolver(path, config)) {
        dnsd_config_free(config);
        return false;
    }
    world = dnsd_world_new(config, NULL, secret, NULL, &faults, mistakes.text,
                           sizeof(mistakes.text));
    if (!world) {
        fprintf(stderr, "%s\n", mistakes.text);
        dnsd_config_free(config);
        return false;
    }
    if (!faults) {
        printf("%s: %zu zones\n", path, config->zones);
    }
    dnsd_world_free(world);
    return !faults;
}
