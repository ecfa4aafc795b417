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

static bool fail(DnsdMistake *mistake, int error)
{
    snprintf(mistake->text, sizeof(mistake->text), "resolver: no thread: %s",
             strerror(error));
    return false;
}

/* Make a context for each thread, or none. */
static bool make_contexts(DnsdResolver *r, const DnsdResolverConfig *config,
                          DnsdMistake *mistake)
{
    DnsdContext *context[DNSD_RESOLVERS_MAX];
    DnsdResolverFiles files;
    unsigned count = 0;

    dnsd_resolver_files_look(config, &files);
    while (count < r->begun) {
        context[count] = dnsd_context_new(config, &r->thread[count].loop,
                                          r->begun, mistake);
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
                         DnsdMistake *mistake)
{
    uint64_t key[2];
    int ret = 0;

    if (getrandom(key, sizeof(key), 0) != sizeof(key) ||
        getrandom(r->workers.key, sizeof(key), 0) != sizeof(key)) {
        return fail(mistake, EIO);
    }
    r->workers.tally = dnsd_tally_new(key);
    r->workers.queue = r->queue;
    r->workers.count = count;
    if (!r->workers.tally) {
        return fail(mistake, ENOMEM);
    }
    while (!ret && r->begun < count) {
        ret = dnsd_resolver_thread_init(&r->thread[r->begun],
                                        &r->queue[r->begun],
                                        r->workers.tally);
        r->begun++;
    }
    return ret ? fail(mistake, -ret) : true;
}

DnsdResolver *dnsd_resolver_new(const DnsdResolverConfig *config,
                                DnsdMistake *mistake)
{
    DnsdResolver *r = calloc(1, sizeof(*r));

    if (!r) {
        fail(mistake, ENOMEM);
        return NULL;
    }
    if (!make_threads(r, config->threads, mistake) ||
        !make_contexts(r, config, mistake)) {
        dnsd_resolver_free(r);
        return NULL;
    }
    return r;
}

bool dnsd_resolver_start(DnsdResolver *r, DnsdMistake *mistake)
{
    int ret = 0;

    for (unsigned i = 0; i < r->begun && !ret; i++) {
        ret = dnsd_resolver_thread_start(&r->thread[i]);
    }
    return ret ? fail(mistake, -ret) : true;
}

bool dnsd_resolver_reload(DnsdResolver *r, const DnsdResolverConfig *before,
                          const DnsdResolverConfig *config,
                          DnsdMistake *mistake)
{
    DnsdResolverFiles files;

    dnsd_resolver_files_look(config, &files);
    return (dnsd_resolver_same(before, config) &&
            dnsd_resolver_files_same(&r->files, &files)) ||
           make_contexts(r, config, mistake);
}

bool dnsd_resolver_renew(DnsdResolver *r, const DnsdResolverConfig *config,
                         DnsdMistake *mistake)
{
    return make_contexts(r, config, mistake);
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
