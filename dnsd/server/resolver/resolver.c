/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The resolver: its threads */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "dnsd/server/config/resolving.h"
#include "dnsd/server/resolver/files.h"
#include "dnsd/server/resolver/resolver.h"
#include "dnsd/server/resolver/thread.h"

struct DnsdResolver {
    DnsdResolvers workers;
    uint32_t generation;
    DnsdResolverFiles files;    /* that the contexts were made from */
    unsigned begun;             /* threads that were initialised */
    DnsdRequests queue[DNSD_RESOLVERS_MAX];
    DnsdResolverThread thread[DNSD_RESOLVERS_MAX];
};

static bool resolver_fail(DnsdError *error, int code)
{
    snprintf(error->text, sizeof(error->text), "resolver: no thread: %s",
             strerror(code));
    return false;
}

/* Make a context for each thread, or none. */
static bool make_contexts(DnsdResolver *r, const DnsdResolverConfig *config,
                          DnsdError *error)
{
    DnsdContext *context[DNSD_RESOLVERS_MAX];
    DnsdResolverFiles files;
    unsigned count = 0;

    dnsd_resolver_files_look(config, &files);
    while (count < r->begun) {
        context[count] = dnsd_context_new(config, &r->thread[count].loop,
                                          r->begun, error);
        if (!context[count]) {
            break;
        }
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        if (count < r->begun) {
            dnsd_context_free(context[i]);
        } else {
            dnsd_resolver_thread_use(&r->thread[i], context[i]);
        }
    }
    if (count < r->begun) {
        return false;
    }
    r->files = files;
    r->generation++;
    return true;
}

static bool make_threads(DnsdResolver *r, unsigned count,
                         DnsdError *error)
{
    uint64_t key[2];
    int ret = 0;

    if (getrandom(key, sizeof(key), 0) != sizeof(key) ||
        getrandom(r->workers.key, sizeof(key), 0) != sizeof(key)) {
        return resolver_fail(error, EIO);
    }
    r->workers.tally = dnsd_tally_new(key);
    r->workers.queue = r->queue;
    r->workers.count = count;
    if (!r->workers.tally) {
        return resolver_fail(error, ENOMEM);
    }
    while (!ret && r->begun < count) {
        ret = dnsd_resolver_thread_init(&r->thread[r->begun],
                                        &r->queue[r->begun],
                                        r->workers.tally);
        r->begun++;
    }
    return ret ? resolver_fail(error, -ret) : true;
}

DnsdResolver *dnsd_resolver_new(const DnsdResolverConfig *config,
                                DnsdError *error)
{
    DnsdResolver *r = calloc(1, sizeof(*r));

    if (!r) {
        resolver_fail(error, ENOMEM);
        return NULL;
    }
    if (!make_threads(r, config->threads, error) ||
        !make_contexts(r, config, error)) {
        dnsd_resolver_free(r);
        return NULL;
    }
    return r;
}

bool dnsd_resolver_start(DnsdResolver *r, DnsdError *error)
{
    int ret = 0;

    for (unsigned i = 0; i < r->begun && !ret; i++) {
        ret = dnsd_resolver_thread_start(&r->thread[i]);
    }
    return ret ? resolver_fail(error, -ret) : true;
}

bool dnsd_resolver_reload(DnsdResolver *r, const DnsdResolverConfig *before,
                          const DnsdResolverConfig *config,
                          DnsdError *error)
{
    DnsdResolverFiles files;

    dnsd_resolver_files_look(config, &files);
    return (dnsd_resolver_same(before, config) &&
            dnsd_resolver_files_same(&r->files, &files)) ||
           make_contexts(r, config, error);
}

bool dnsd_resolver_renew(DnsdResolver *r, const DnsdResolverConfig *config,
                         DnsdError *error)
{
    return make_contexts(r, config, error);
}

const DnsdResolvers *dnsd_resolver_workers(const DnsdResolver *r)
{
    return &r->workers;
}

uint32_t dnsd_resolver_generation(const DnsdResolver *r)
{
    return r->generation;
}

unsigned dnsd_resolver_files(const DnsdResolverConfig *config)
{
    return dnsd_context_files(config);
}

void dnsd_resolver_stop(DnsdResolver *r)
{
    for (unsigned i = 0; i < r->begun; i++) {
        dnsd_resolver_thread_stop(&r->thread[i]);
    }
}

void dnsd_resolver_free(DnsdResolver *r)
{
    if (!r) {
        return;
    }
    for (unsigned i = 0; i < r->begun; i++) {
        dnsd_resolver_thread_free(&r->thread[i]);
    }
    dnsd_tally_free(r->workers.tally);
    free(r);
}
