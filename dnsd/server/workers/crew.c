/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workers, and their sockets */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "dnsd/server/host/log.h"
#include "dnsd/server/host/systemd.h"
#include "dnsd/server/host/unsent.h"
#include "dnsd/server/workers/crew.h"
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

uint64_t dnsd_crew_files(DnsdCrew *crew, const DnsdConfig *config)
{
    unsigned count = processors(&crew->processors);

    crew->threads = config->threads ? config->threads : count;
    if (crew->threads > DNSD_THREADS_MAX) {
        crew->threads = DNSD_THREADS_MAX;
    }
    return (uint64_t)crew->threads *
           (FILES_WORKER + 2 * config->listens + config->tcp.connections);
}

/* The processor of the next thread, if there are enough processors */
static int next_processor(const DnsdCrew *crew, int cpu)
{
    if ((unsigned)CPU_COUNT(&crew->processors) < crew->threads) {
        return -1;
    }
    do {
        cpu++;
    } while (!CPU_ISSET(cpu, &crew->processors));
    return cpu;
}

void dnsd_crew_keep_off(const DnsdCrew *crew)
{
    cpu_set_t rest = crew->processors;
    int cpu = -1;

    if ((unsigned)CPU_COUNT(&rest) > crew->threads) {
        for (unsigned i = 0; i < crew->threads; i++) {
            cpu = next_processor(crew, cpu);
            CPU_CLR(cpu, &rest);
        }
        sched_setaffinity(0, sizeof(rest), &rest);
    }
}

/* Do all threads listen there?  The interface may just have come. */
static bool is_bound(const DnsdCrew *crew, unsigned number)
{
    bool all = true;

    for (unsigned i = 0; i < crew->sockets_count; i++) {
        const DnsdSocket *s = &crew->sockets[i].socket[2 * number];

        all = all && s[0].is_bound && s[1].is_bound;
    }
    return all;
}

static bool make_places(DnsdCrew *crew, const DnsdConfig *config)
{
    crew->receive_buffer = config->receive_buffer;
    crew->places = calloc(config->listens + 1, sizeof(*crew->places));
    for (unsigned i = 0; crew->places && i < config->listens; i++) {
        DnsdPlace *place = &crew->places[crew->places_count];

        if (!*config->listen[i].device) {
            continue;
        }
        *place = (DnsdPlace) {
            .at = config->listen[i], .number = i,
            .index = is_bound(crew, i)
                     ? if_nametoindex(config->listen[i].device) : 0,
        };
        place->at.text = strdup(place->at.text);
        if (!place->at.text) {
            return false;
        }
        crew->places_count++;
    }
    return crew->places;
}

bool dnsd_crew_open(DnsdCrew *crew, const DnsdConfig *config,
                    DnsdMistake *mistake)
{
    int first;
    unsigned given = dnsd_systemd_fds(&first);

    crew->sockets = calloc(crew->threads, sizeof(*crew->sockets));
    if (!crew->sockets) {
        snprintf(mistake->text, sizeof(mistake->text), "no memory");
        return false;
    }
    crew->sockets_count = given ? 1 : crew->threads;
    if (given) {
        return dnsd_sockets_adopt(crew->sockets, first, given, mistake);
    }
    if (!dnsd_sockets_probe(config, mistake)) {
        return false;
    }
    for (unsigned i = 0; i < crew->threads; i++) {
        if (!dnsd_sockets_open(&crew->sockets[i], config, mistake)) {
            return false;
        }
    }
    if (!make_places(crew, config)) {
        snprintf(mistake->text, sizeof(mistake->text), "no memory");
        return false;
    }
    return true;
}

bool dnsd_crew_is_opener(const DnsdCrew *crew)
{
    return crew->places;
}

void dnsd_crew_own(const DnsdCrew *crew, uid_t uid)
{
    for (unsigned i = 0; i < crew->sockets_count; i++) {
        for (unsigned j = 0; j < crew->sockets[i].count; j++) {
            if (fchown(crew->sockets[i].socket[j].fd, uid, -1) < 0) {
                dnsd_log(DNSD_WARNING, "server.listen: an interface that "
                         "comes late cannot be used beside a wildcard "
                         "address: %s", strerror(errno));
                return;
            }
        }
    }
}

static DnsdWorker *start_one(DnsdCrew *crew, const DnsdConfig *config,
                             DnsdRequests *control, int cpu)
{
    unsigned sockets = crew->sockets_count > 1 ? crew->started : 0;
    uint64_t key[2];

    if (getrandom(key, sizeof(key), 0) != sizeof(key)) {
        return NULL;
    }
    return dnsd_worker_start(&crew->sockets[sockets], &crew->epoch, &crew->vrfs, control,
                             crew->resolvers, config, cpu, key);
}

bool dnsd_crew_start(DnsdCrew *crew, const DnsdServing *serving,
                     DnsdRequests *control, DnsdMistake *mistake)
{
    int cpu = -1;

    dnsd_epoch_init(&crew->epoch, serving);
    crew->worker = calloc(crew->threads, sizeof(*crew->worker));
    for (; crew->worker && crew->started < crew->threads; crew->started++) {
        cpu = next_processor(crew, cpu);
        crew->worker[crew->started] = start_one(crew, serving->config,
                                                control, cpu);
        if (!crew->worker[crew->started]) {
            break;
        }
    }
    if (crew->started < crew->threads) {
        snprintf(mistake->text, sizeof(mistake->text),
                 "thread %u of %u did not start: %s", crew->started + 1,
                 crew->threads, strerror(errno));
        return false;
    }
    return true;
}

void dnsd_crew_replace(DnsdCrew *crew, const DnsdServing *serving)
{
    DnsdReaderMark *marks[DNSD_THREADS_MAX];

    for (unsigned i = 0; i < crew->started; i++) {
        marks[i] = &crew->worker[i]->mark;
    }
    dnsd_epoch_replace(&crew->epoch, serving, marks, crew->started);
}

uint64_t dnsd_crew_advance(DnsdCrew *crew)
{
    return dnsd_epoch_advance(&crew->epoch);
}

bool dnsd_crew_is_past(const DnsdCrew *crew, uint64_t number)
{
    for (unsigned i = 0; i < crew->started; i++) {
        if (!dnsd_epoch_is_past(number, &crew->worker[i]->mark)) {
            return false;
        }
    }
    return true;
}

/* Bind the sockets of all threads. */
static bool renew(DnsdCrew *crew, const DnsdPlace *place, DnsdMistake *mistake)
{
    for (unsigned i = 0; i < crew->started; i++) {
        for (unsigned j = 0; j < 2; j++) {
            unsigned which = 2 * place->number + j;

            if (!dnsd_sockets_renew(&crew->sockets[i].socket[which],
                                    &place->at, crew->receive_buffer,
                                    mistake)) {
                return false;
            }
            if (!dnsd_worker_watch(crew->worker[i], which)) {
                snprintf(mistake->text, sizeof(mistake->text),
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
        dnsd_log(DNSD_WARNING, "server.listen: %s: the interface '%s' was "
                 "renamed '%s': queries there are answered until there is one "
                 "of the old name", place->at.text, place->at.device, name);
    } else {
        dnsd_log(DNSD_WARNING, "server.listen: %s: the interface '%s' is gone: "
                 "waiting for it", place->at.text, place->at.device);
    }
}

static void follow(DnsdCrew *crew, DnsdPlace *place, unsigned index,
                   const DnsdLinks *links)
{
    DnsdMistake mistake = { "" };

    if (!index) {
        tell_gone(place, dnsd_links_name(links, place->index));
        place->index = 0;
        place->is_told = false;
    } else if (renew(crew, place, &mistake)) {
        dnsd_log(DNSD_NOTICE, "server.listen: %s: the interface '%s' is there",
                 place->at.text, place->at.device);
        place->index = index;
        place->is_told = false;
    } else if (*mistake.text && !place->is_told) {
        dnsd_log(DNSD_ERROR, "%s", mistake.text);
        place->is_told = true;
    }
}

void dnsd_crew_follow(DnsdCrew *crew, const DnsdLinks *links)
{
    for (unsigned i = 0; i < crew->places_count; i++) {
        unsigned index = dnsd_links_index(links, crew->places[i].at.device);

        if (index != crew->places[i].index) {
            follow(crew, &crew->places[i], index, links);
        }
    }
}

void dnsd_crew_follow_vrfs(DnsdCrew *crew, const DnsdLinks *links)
{
    const struct timespec moment = { .tv_nsec = 200000 };
    const DnsdVrfs *old = atomic_exchange(&crew->vrfs, dnsd_links_vrfs(links));
    uint64_t number = old ? dnsd_crew_advance(crew) : 0;

    while (old && !dnsd_crew_is_past(crew, number)) {
        nanosleep(&moment, NULL);
    }
    free((void *)old);
}

void dnsd_crew_count(const DnsdCrew *crew, DnsdNumbers *numbers)
{
    numbers->threads = crew->started;
    for (unsigned i = 0; i < crew->started; i++) {
        dnsd_counters_add(numbers->sum, &crew->worker[i]->desk.counters);
        numbers->connections += atomic_load(&crew->worker[i]->tcp.used);
    }
    numbers->sum[DNSD_DROP_SEND] += dnsd_unsent_count();
    if (crew->resolvers) {
        numbers->resolver_waiting = dnsd_tally_count(crew->resolvers->tally);
    }
    for (unsigned i = 0; i < crew->sockets_count; i++) {
        numbers->kernel_drops += dnsd_sockets_drops(&crew->sockets[i]);
    }
}

void dnsd_crew_stop(DnsdCrew *crew)
{
    for (unsigned i = 0; i < crew->started; i++) {
        dnsd_worker_stop(crew->worker[i]);
    }
    crew->started = 0;
    free(crew->worker);
    for (unsigned i = 0; i < crew->sockets_count; i++) {
        dnsd_sockets_close(&crew->sockets[i]);
    }
    free(crew->sockets);
    for (unsigned i = 0; i < crew->places_count; i++) {
        free((char *)crew->places[i].at.text);
    }
    free(crew->places);
    free((void *)atomic_load(&crew->vrfs));
}
