/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libunbound, loaded on first use */

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "net/dns/unbound/unbound.h"

#define LIBRARY "libunbound.so.8"

static DnscUnbound unbound;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* It is never unloaded, as contexts that use it come and go. */
static void load(void)
{
    const struct {
        const char *name;
        void *at;
    } symbols[] = {
        { "ub_ctx_create_ub_event", &unbound.create },
        { "ub_ctx_delete", &unbound.destroy },
        { "ub_ctx_set_option", &unbound.set_option },
        { "ub_ctx_set_fwd", &unbound.set_fwd },
        { "ub_ctx_add_ta_file", &unbound.add_ta_file },
        { "ub_ctx_debugout", &unbound.debugout },
        { "ub_ctx_zone_remove", &unbound.zone_remove },
        { "ub_resolve_event", &unbound.resolve },
        { "ub_cancel", &unbound.cancel },
        { "ub_strerror", &unbound.strerror },
        { "ub_version", &unbound.version },
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    size_t i;

    if (!library) {
        return;
    }
    for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);

        if (!symbol) {
            dlclose(library);
            return;
        }
        *(void **)symbols[i].at = symbol;
    }
    loaded = true;
}

const DnscUnbound *dnsc_unbound(void)
{
    pthread_once(&once, load);
    return loaded ? &unbound : NULL;
}
