/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-dnsd as a process
 *
 * Theory of operation
 * ===================
 *
 * The first thread is the control thread: signals, reloads, the control
 * socket, and requests that are no plain queries.  All others are workers
 * (workers/worker.c), which know nothing of it, and with a resolver its
 * threads (resolver/thread.c).
 *
 * The order at start is that of privileges: sockets are opened as whoever
 * started the process; all else is done as the user that it then is, so what
 * works at start works at a reload, too; and before the first octet of a
 * stranger is read, the filter of system calls is in place.
 *
 * A reload makes a world beside the one that is served.  Workers take it with
 * their next round; when all have, the old one goes.  If anything is wrong
 * with the new configuration the old one stays.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "net/dns/server/daemon.h"
#include "net/dns/server/host/fault.h"
#include "net/dns/server/host/log.h"
#include "net/dns/server/host/sandbox.h"
#include "net/dns/server/host/systemd.h"
#include "net/dns/server/resolver/resolver.h"
#include "net/dns/server/secondary/secondaries.h"
#include "net/dns/server/service/control.h"
#include "net/dns/server/service/load.h"
#include "net/dns/server/service/panel.h"
#include "net/dns/server/service/zones.h"
#include "net/dns/server/workers/crew.h"

#define EVENTS_MAX      16
#define TICK_MS         1000
#define FILES_BESIDE    256     /* descriptors that are no crew's */
#define FILES_ZONE      2       /* of the journal of one that changes */

typedef struct Daemon {
    const char *path;
    DnsdWorld *world;
    DnsdCrew crew;
    DnsdRequests requests;
    DnsdPanel *panel;
    DnsdResolver *resolver;     /* NULL: there is none */
    /* NULL without zones that change */
    DnsdLives *lives;
    DnsdTransfers *transfers;
    DnsdNotifier *notifier;
    DnsdSecondaries *secondaries;
    DnsdControl *control;
    int epoll, signals, lost;
    uint8_t secret[DNSD_SECRET_LEN];
    uint64_t reloads, reloads_failed;
    time_t looked;              /* when the last second's work was done */
    bool is_stopping;
} Daemon;

/* --- reload --------------------------------------------------------------- */

/* The resolver's part of it; returns false, and why. */
static bool take_resolver(Daemon *d, const DnsdWorld *before,
                          DnsdWorld *world, DnsdMistakes *mistakes)
{
    const DnsdResolverConfig *config = &world->config->resolver;
    DnsdMistake mistake;

    if (!d->resolver) {
        return true;
    }
    if (before && config->is_on &&
        !dnsd_resolver_reload(d->resolver, &before->config->resolver, config,
                              &mistake)) {
        snprintf(mistakes->text, sizeof(mistakes->text), "%s: %s", d->path,
                 mistake.text);
        return false;
    }
    world->serving.generation = dnsd_resolver_generation(d->resolver);
    return true;
}

/* Returns NULL, and why; else the new world and how many images are wrong. */
static DnsdWorld *make_world(Daemon *d, const DnsdWorld *before,
                             unsigned *faults, DnsdMistakes *mistakes)
{
    DnsdConfig *config = dnsd_load(d->path, mistakes);
    const char *key;
    DnsdWorld *world;

    if (!config) {
        return NULL;
    }
    key = before ? dnsd_config_needs_restart(before->config, config) : NULL;
    if (key) {
        dnsd_log(DNSD_WARNING, "%s: %s has changed, which a restart will "
                 "heed, not a reload", d->path, key);
    }
    world = dnsd_world_new(config, before, d->secret, d->lives, faults,
                           mistakes->text, sizeof(mistakes->text));
    if (!world) {
        dnsd_config_free(config);
        return NULL;
    }
    if (!take_resolver(d, before, world, mistakes)) {
        dnsd_world_free(world);
        return NULL;
    }
    return world;
}

static bool reload(Daemon *d, DnsdText *text)
{
    static DnsdMistakes mistakes;
    unsigned faults = 0;
    DnsdWorld *world;

    dnsd_systemd_reloading();
    world = make_world(d, d->world, &faults, &mistakes);
    if (world && !dnsd_secondaries_follow(d->secondaries, world)) {
        snprintf(mistakes.text, sizeof(mistakes.text), "there is no memory");
        dnsd_world_free(world);
        world = NULL;
    }
    if (!world) {
        dnsd_log(DNSD_ERROR, "not reloaded: %s", mistakes.text);
        dnsd_text_add(text, "not reloaded: %s\n", mistakes.text);
    } else {
        dnsd_crew_replace(&d->crew, &world->serving);
        dnsd_world_free(d->world);
        d->world = world;
        dnsd_log(DNSD_NOTICE, "reloaded: %zu zones, %u of them with an image "
                 "that cannot be used", world->config->zones, faults);
        dnsd_text_add(text, "reloaded: %zu zones, %u of them with an image "
                      "that cannot be used%s\n", world->config->zones, faults,
                      faults ? "; the log says which" : "");
    }
    if (world && !faults) {
        d->reloads++;
    } else {
        d->reloads_failed++;
    }
    dnsd_systemd_notify("READY=1");
    return world && !faults;
}

static bool panel_reload(void *opaque, DnsdText *text)
{
    return reload(opaque, text);
}

/* --- metrics -------------------------------------------------------------- */

static void add_zones(DnsdText *text, const DnsdWorld *w)
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

static void panel_metrics(void *opaque, DnsdText *text)
{
    const Daemon *d = opaque;
    DnsdNumbers numbers = {
        .reloads = d->reloads, .reloads_failed = d->reloads_failed,
    };

    dnsd_crew_count(&d->crew, &numbers);
    dnsd_metrics_server(text, &numbers);
    add_zones(text, d->world);
    dnsd_secondaries_metrics(d->secondaries, text);
}

static bool panel_refresh(void *opaque, const char *zone, DnsdText *text)
{
    return dnsd_secondaries_refresh(((Daemon *)opaque)->secondaries, zone,
                                    text);
}

static const DnsdPanelOps panel_ops = {
    .metrics = panel_metrics,
    .reload = panel_reload,
    .refresh = panel_refresh,
};

/* --- the loop ------------------------------------------------------------- */

static void take_signals(Daemon *d)
{
    struct signalfd_siginfo info;
    DnsdText nowhere = { 0 };

    while (read(d->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            reload(d, &nowhere);
        } else {
            d->is_stopping = true;
        }
    }
}

static void take_event(Daemon *d, void *what)
{
    uint64_t count;

    if (what == &d->signals) {
        take_signals(d);
    } else if (what == &d->requests) {
        dnsd_control_take(d->control, d->world, &d->requests);
    } else if (what == &d->lost) {
        if (read(d->lost, &count, sizeof(count)) > 0) {
            dnsd_world_look(d->world);
        }
    } else if (what == &d->lives) {
        dnsd_lives_run(d->lives);
    } else if (!dnsd_transfers_ready(d->transfers, what) &&
               !dnsd_notifier_ready(d->notifier, d->world, what) &&
               !dnsd_secondaries_ready(d->secondaries, what)) {
        dnsd_panel_ready(d->panel, what);
    }
}

/* Work that need not be done with each event */
static void each_second(Daemon *d)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != d->looked) {
        d->looked = now.tv_sec;
        dnsd_panel_expire(d->panel);
        dnsd_transfers_expire(d->transfers);
        dnsd_secondaries_tick(d->secondaries);
        dnsd_notifier_look_all(d->notifier, d->world);
        dnsd_world_look(d->world);
    }
}

static void loop(Daemon *d)
{
    struct epoll_event events[EVENTS_MAX];

    while (!d->is_stopping) {
        int count = epoll_wait(d->epoll, events, EVENTS_MAX, TICK_MS);

        for (int i = 0; i < count; i++) {
            take_event(d, events[i].data.ptr);
        }
        if (d->lives) {
            dnsd_lives_tidy(d->lives);
        }
        each_second(d);
    }
}

static bool watch(Daemon *d, int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    return fd >= 0 && !epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &event);
}

static bool make_loop(Daemon *d)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    d->epoll = epoll_create1(EPOLL_CLOEXEC);
    d->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    d->lost = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return d->epoll >= 0 && !dnsd_requests_init(&d->requests) &&
           watch(d, d->signals, &d->signals) && watch(d, d->lost, &d->lost) &&
           watch(d, d->requests.wake, &d->requests) &&
           !dnsd_fault_init(d->lost);
}

/* --- start and end -------------------------------------------------------- */

/* Threads that merge are there before a zone is. */
static bool make_lives(Daemon *d, const DnsdConfig *config)
{
    if (!dnsd_world_writes(config)) {
        return true;
    }
    dnsd_crew_keep_off(&d->crew);
    d->lives = dnsd_lives_new(&d->crew);
    return d->lives && watch(d, dnsd_lives_fd(d->lives), &d->lives);
}

static bool make_control(Daemon *d, const DnsdConfig *config)
{
    static const DnsdControlOps ops = { dnsd_secondaries_notify };

    d->transfers = dnsd_transfers_new(d->epoll);
    d->notifier = dnsd_notifier_new(d->epoll);
    d->secondaries = dnsd_secondaries_new(d->epoll, config->copied,
                                          d->notifier);
    d->control = dnsd_control_new(d->transfers, d->notifier, &ops,
                                  d->secondaries);
    return d->transfers && d->notifier && d->secondaries && d->control;
}

/* Libraries are mapped before the filter of system calls is there. */
static bool make_resolver(Daemon *d, const DnsdConfig *config,
                          DnsdMistake *mistake)
{
    if (!config->resolver.is_on) {
        return true;
    }
    d->resolver = dnsd_resolver_new(&config->resolver, mistake);
    d->crew.resolvers = d->resolver ? dnsd_resolver_workers(d->resolver)
                                    : NULL;
    return d->resolver;
}

/* All that privileges are for, and their end */
static bool prepare(Daemon *d, DnsdMistake *mistake)
{
    static DnsdMistakes mistakes;
    DnsdConfig *config = dnsd_load(d->path, &mistakes);
    bool done;

    if (!config) {
        dnsd_log(DNSD_ERROR, "%s", mistakes.text);
        return false;
    }
    done = dnsd_sandbox_files(FILES_BESIDE + FILES_ZONE * config->changing +
                              dnsd_resolver_files(&config->resolver) +
                              dnsd_crew_files(&d->crew, config), mistake) &&
           dnsd_crew_open(&d->crew, config, mistake) &&
           dnsd_sandbox_user(config->user, mistake) &&
           make_resolver(d, config, mistake);
    if (done && (!make_lives(d, config) || !make_control(d, config))) {
        snprintf(mistake->text, sizeof(mistake->text), "no control thread: %s",
                 strerror(errno));
        done = false;
    }
    dnsd_config_free(config);
    return done;
}

static bool open_world(Daemon *d)
{
    static DnsdMistakes mistakes;
    unsigned faults;

    d->world = getrandom(d->secret, sizeof(d->secret), 0) < 0 ? NULL
               : make_world(d, NULL, &faults, &mistakes);
    if (!d->world) {
        dnsd_log(DNSD_ERROR, "%s", mistakes.text);
        return false;
    }
    return dnsd_secondaries_follow(d->secondaries, d->world);
}

static void stop(Daemon *d)
{
    if (d->transfers) {
        dnsd_transfers_free(d->transfers);
    }
    dnsd_secondaries_free(d->secondaries);
    if (d->resolver) {
        dnsd_resolver_stop(d->resolver);
    }
    dnsd_crew_stop(&d->crew);
    dnsd_resolver_free(d->resolver);
    if (d->panel) {
        dnsd_panel_free(d->panel);
    }
    if (d->world) {
        dnsd_world_free(d->world);
    }
    if (d->lives) {
        dnsd_lives_free(d->lives);
    }
    if (d->notifier) {
        dnsd_notifier_free(d->notifier);
    }
    dnsd_control_free(d->control);
    dnsd_requests_destroy(&d->requests);
    explicit_bzero(d->secret, sizeof(d->secret));
}

static unsigned calls_of(const Daemon *d)
{
    return (d->lives ? DNSD_CALLS_JOURNAL : 0) |
           (d->resolver ? DNSD_CALLS_RESOLVE : 0) |
           (d->world->config->copied ? DNSD_CALLS_CONNECT : 0);
}

static bool begin(Daemon *d, DnsdMistake *mistake)
{
    if (!make_loop(d)) {
        snprintf(mistake->text, sizeof(mistake->text), "no event loop: %s",
                 strerror(errno));
        return false;
    }
    if (!prepare(d, mistake) || !open_world(d)) {
        return false;
    }
    d->panel = dnsd_panel_new(d->world->config, d->epoll, &panel_ops, d,
                              mistake);
    dnsd_systemd_notify("STATUS=Starting");
    return d->panel && dnsd_sandbox_calls(calls_of(d), mistake) &&
           (!d->resolver || dnsd_resolver_start(d->resolver, mistake)) &&
           dnsd_crew_start(&d->crew, &d->world->serving, &d->requests,
                           mistake);
}

bool dnsd_run(const char *path)
{
    Daemon d = {
        .path = path, .epoll = -1, .signals = -1, .lost = -1,
        .requests = { .wake = -1 },
    };
    DnsdMistake mistake = { "" };
    bool begun = begin(&d, &mistake);

    if (begun) {
        dnsd_log(DNSD_NOTICE, "serving %zu zones with %u threads",
                 d.world->config->zones, d.crew.started);
        dnsd_systemd_notify("READY=1\nSTATUS=Serving");
        loop(&d);
        dnsd_systemd_notify("STOPPING=1");
    } else if (*mistake.text) {
        dnsd_log(DNSD_ERROR, "%s", mistake.text);
    }
    stop(&d);
    return begun;
}
