/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workers, and their sockets */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/systemd.h"
#include "dnsd/server/host/unsent.h"
#include "dnsd/server/workers/pool.h"
#include "dnsd/server/workers/worker.h"

#define FILES_WORKER    8       /* besides sockets and connections */

static unsigned processors(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof(*set), set) < 0 || !CPU_COUNT(set)) {
        CPU_SET(0, set);
    }
    return CPU_COUNT(set);
}

uint64_t dnsd_worker_pool_files(DnsdWorkerPool *pool, const DnsdConfig *config)
{
    unsigned count = processors(&pool->processors);

    pool->threads = config->threads ? config->threads : count;
    if (pool->threads > DNSD_THREADS_MAX) {
        pool->threads = DNSD_THREADS_MAX;
    }
    return (uint64_t)pool->threads *
           (FILES_WORKER + 2 * config->listens + config->tcp.connections);
}

/* The processor of the next thread, if there are enough processors */
static int next_processor(const DnsdWorkerPool *pool, int cpu)
{
    if ((unsigned)CPU_COUNT(&pool->processors) < pool->threads) {
        return -1;
    }
    do {
        cpu++;
    } while (!CPU_ISSET(cpu, &pool->processors));
    return cpu;
}

void dnsd_worker_pool_keep_off(const DnsdWorkerPool *pool)
{
    cpu_set_t rest = pool->processors;
    int cpu = -1;

    if ((unsigned)CPU_COUNT(&rest) > pool->threads) {
        for (unsigned i = 0; i < pool->threads; i++) {
            cpu = next_processor(pool, cpu);
            CPU_CLR(cpu, &rest);
        }
        sched_setaffinity(0, sizeof(rest), &rest);
    }
}

/* Do all threads listen there?  The interface may just have come. */
static bool is_bound(const DnsdWorkerPool *pool, unsigned number)
{
    bool all = true;

    for (unsigned i = 0; i < pool->sockets_count; i++) {
        const DnsdSocket *s = &pool->sockets[i].socket[2 * number];

        all = all && s[0].is_bound && s[1].is_bound;
    }
    return all;
}

static bool make_places(DnsdWorkerPool *pool, const DnsdConfig *config)
{
    pool->receive_buffer = config->receive_buffer;
    pool->places = calloc(config->listens + 1, sizeof(*pool->places));
    for (unsigned i = 0; pool->places && i < config->listens; i++) {
        DnsdPlace *place = &pool->places[pool->places_count];

        if (!*config->listen[i].device) {
            continue;
        }
        *place = (DnsdPlace) {
            .at = config->listen[i], .number = i,
            .index = is_bound(pool, i)
                     ? if_nametoindex(config->listen[i].device) : 0,
        };
        place->at.text = strdup(place->at.text);
        if (!place->at.text) {
            return false;
        }
        pool->places_count++;
    }
    return pool->places;
}

bool dnsd_worker_pool_open(DnsdWorkerPool *pool, const DnsdConfig *config,
                           DnsdError *error)
{
    int first;
    unsigned given = base_systemd_fds(&first);

    pool->sockets = calloc(pool->threads, sizeof(*pool->sockets));
    if (!pool->sockets) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return false;
    }
    pool->sockets_count = given ? 1 : pool->threads;
    if (given) {
        return dnsd_sockets_adopt(pool->sockets, first, given, error);
    }
    if (!dnsd_sockets_probe(config, error)) {
        return false;
    }
    for (unsigned i = 0; i < pool->threads; i++) {
        if (!dnsd_sockets_open(&pool->sockets[i], config, error)) {
            return false;
        }
    }
    if (!make_places(pool, config)) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return false;
    }
    return true;
}

bool dnsd_worker_pool_is_opener(const DnsdWorkerPool *pool)
{
    return pool->places;
}

void dnsd_worker_pool_own(const DnsdWorkerPool *pool, uid_t uid)
{
    for (unsigned i = 0; i < pool->sockets_count; i++) {
        for (unsigned j = 0; j < pool->sockets[i].count; j++) {
            if (fchown(pool->sockets[i].socket[j].fd, uid, -1) < 0) {
                base_log(LOG_WARNING, "server.listen: an interface that "
                         "comes late cannot be used beside a wildcard "
                         "address: %s", strerror(errno));
                return;
            }
        }
    }
}

static DnsdWorker *start_one(DnsdWorkerPool *pool, const DnsdConfig *config,
                             DnsdRequests *control, int cpu)
{
    unsigned sockets = pool->sockets_count > 1 ? pool->started : 0;
    uint64_t key[2];

    if (getrandom(key, sizeof(key), 0) != sizeof(key)) {
        return NULL;
    }
    return dnsd_worker_start(&pool->sockets[sockets], &pool->epoch,
                             &pool->vrfs, control, pool->resolvers, config, cpu, key);
}

bool dnsd_worker_pool_start(DnsdWorkerPool *pool, const DnsdServing *serving,
                            DnsdRequests *control, DnsdError *error)
{
    int cpu = -1;

    dnsd_epoch_init(&pool->epoch, serving);
    pool->worker = calloc(pool->threads, sizeof(*pool->worker));
    for (; pool->worker && pool->started < pool->threads; pool->started++) {
        cpu = next_processor(pool, cpu);
        pool->worker[pool->started] = start_one(pool, serving->config,
                                                control, cpu);
        if (!pool->worker[pool->started]) {
            break;
        }
    }
    if (pool->started < pool->threads) {
        snprintf(error->text, sizeof(error->text),
                 "thread %u of %u did not start: %s", pool->started + 1,
                 pool->threads, strerror(errno));
        return false;
    }
    return true;
}

void dnsd_worker_pool_replace(DnsdWorkerPool *pool, const DnsdServing *serving)
{
    DnsdReaderMark *marks[DNSD_THREADS_MAX];

    for (unsigned i = 0; i < pool->started; i++) {
        marks[i] = &pool->worker[i]->mark;
    }
    dnsd_epoch_replace(&pool->epoch, serving, marks, pool->started);
}

uint64_t dnsd_worker_pool_advance(DnsdWorkerPool *pool)
{
    return dnsd_epoch_advance(&pool->epoch);
}

bool dnsd_worker_pool_is_past(const DnsdWorkerPool *pool, uint64_t number)
{
    for (unsigned i = 0; i < pool->started; i++) {
        if (!dnsd_epoch_is_past(number, &pool->worker[i]->mark)) {
            return false;
        }
    }
    return true;
}

/* Bind the sockets of all threads. */
static bool renew(DnsdWorkerPool *pool, const DnsdPlace *place,
                  DnsdError *error)
{
    for (unsigned i = 0; i < pool->started; i++) {
        for (unsigned j = 0; j < 2; j++) {
            unsigned which = 2 * place->number + j;

            if (!dnsd_sockets_renew(&pool->sockets[i].socket[which],
                                    &place->at, pool->receive_buffer,
                                    error)) {
                return false;
            }
            if (!dnsd_worker_watch(pool->worker[i], which)) {
                snprintf(error->text, sizeof(error->text),
                         "server.listen: %s: %s", place->at.text,
                         strerror(errno));
                return false;
            }
        }
    }
    return true;
}

/* @name: what the interface is called that had the name of the place; or NULL */
static void tell_gone(const DnsdPlace *place, const char *name)
{
    if (name) {
        base_log(LOG_WARNING, "server.listen: %s: the interface '%s' was "
                 "renamed '%s': queries there are answered until there is one "
                 "of the old name", place->at.text, place->at.device, name);
    } else {
        base_log(LOG_WARNING, "server.listen: %s: the interface '%s' is gone: "
                 "waiting for it", place->at.text, place->at.device);
    }
}

static void follow(DnsdWorkerPool *pool, DnsdPlace *place, unsigned index,
                   const DnsdLinks *links)
{
    DnsdError error = { "" };

    if (!index) {
        tell_gone(place, dnsd_links_name(links, place->index));
        place->index = 0;
        place->is_logged = false;
    } else if (renew(pool, place, &error)) {
        base_log(LOG_NOTICE, "server.listen: %s: the interface '%s' is there",
                 place->at.text, place->at.device);
        place->index = index;
        place->is_logged = false;
    } else if (*error.text && !place->is_logged) {
        base_log(LOG_ERR, "%s", error.text);
        place->is_logged = true;
    }
}

void dnsd_worker_pool_follow(DnsdWorkerPool *pool, const DnsdLinks *links)
{
    for (unsigned i = 0; i < pool->places_count; i++) {
        unsigned index = dnsd_links_index(links, pool->places[i].at.device);

        if (index != pool->places[i].index) {
            follow(pool, &pool->places[i], index, links);
        }
    }
}

void dnsd_worker_pool_follow_vrfs(DnsdWorkerPool *pool, const DnsdLinks *links)
{
    const struct timespec moment = { .tv_nsec = 200000 };
    const DnsdVrfs *old = atomic_exchange(&pool->vrfs, dnsd_links_vrfs(links));
    uint64_t number = old ? dnsd_worker_pool_advance(pool) : 0;

    while (old && !dnsd_worker_pool_is_past(pool, number)) {
        nanosleep(&moment, NULL);
    }
    free((void *)old);
}

void dnsd_worker_pool_count(const DnsdWorkerPool *pool, DnsdNumbers *numbers)
{
    numbers->threads = pool->started;
    for (unsigned i = 0; i < pool->started; i++) {
        dnsd_counters_add(numbers->sum, &pool->worker[i]->thread.counters);
        numbers->connections += atomic_load(&pool->worker[i]->tcp.used);
    }
    numbers->sum[DNSD_DROP_SEND] += dnsd_unsent_count();
    if (pool->resolvers) {
        numbers->resolver_waiting = dnsd_tally_count(pool->resolvers->tally);
    }
    for (unsigned i = 0; i < pool->sockets_count; i++) {
        numbers->kernel_drops += dnsd_sockets_drops(&pool->sockets[i]);
    }
}

void dnsd_worker_pool_stop(DnsdWorkerPool *pool)
{
    for (unsigned i = 0; i < pool->started; i++) {
        dnsd_worker_stop(pool->worker[i]);
    }
    pool->started = 0;
    free(pool->worker);
    for (unsigned i = 0; i < pool->sockets_count; i++) {
        dnsd_sockets_close(&pool->sockets[i]);
    }
    free(pool->sockets);
    for (unsigned i = 0; i < pool->places_count; i++) {
        free((char *)pool->places[i].at.text);
    }
    free(pool->places);
    free((void *)atomic_load(&pool->vrfs));
}
