/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process of vmmnet-dnsd
 *
 * Theory of operation
 *
 * The first thread is the control thread.  It handles signals, reloads, the
 * control socket, and requests that are not plain queries.  The other threads
 * are workers (workers/worker.c), which do not depend on it, and the threads of
 * the resolver if there is one (resolver/thread.c).
 *
 * The start has an order because of privileges.  Sockets are opened as the user
 * that started the process.  All else is done as the final user, so what works
 * at the start also works at a reload.  To listen at an interface that comes late,
 * the capability for ports below 1024 is kept.  The filter of system calls is installed
 * before the first octet from the network is read.
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
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/systemd.h"
#include "dnsd/server/core/number.h"
#include "dnsd/server/daemon-internal.h"
#include "dnsd/server/daemon.h"
#include "dnsd/server/host/fault.h"
#include "dnsd/server/host/sandbox.h"
#include "dnsd/server/host/scheduler.h"
#include "dnsd/server/host/unsent.h"
#include "dnsd/server/service/load.h"
#include "net/dns/unbound/fixes.h"

#define EVENTS_MAX      16
#define TICK_MS         1000
#define FILES_BESIDE    256     /* descriptors besides those of the pool */
#define FILES_ZONE      2       /* for the journal of a zone that changes */

/* --- the loop ------------------------------------------------------------- */

static void take_signals(DnsdDaemon *d)
{
    struct signalfd_siginfo info;
    DnsdText nowhere = { 0 };

    while (read(d->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            dnsd_daemon_reload(d, &nowhere);
        } else {
            d->is_stopping = true;
        }
    }
}

static void follow_forwards(DnsdDaemon *d)
{
    DnsdResolverConfig *config = &d->state->config->resolver;
    DnsdError error;

    if (d->resolver && dnsd_daemon_scopes(d, config, true) &&
        !dnsd_resolver_renew(d->resolver, config, &error)) {
        base_log(LOG_ERR, "resolver.forward: %s; a reload tries again",
                 error.text);
    }
}

static void look_at_interfaces(DnsdDaemon *d)
{
    if (!d->interfaces) {
        return;
    }
    if (dnsd_interfaces_look(d->interfaces)) {
        follow_forwards(d);
        dnsd_worker_pool_follow_vrfs(&d->pool,
                                     dnsd_interfaces_links(d->interfaces));
    }
    dnsd_worker_pool_follow(&d->pool, dnsd_interfaces_links(d->interfaces));
}

static void look_at_addresses(DnsdDaemon *d)
{
    if (d->addresses) {
        dnsd_addresses_look(d->addresses, dnsd_interfaces_links(d->interfaces));
    }
}

static void take_event(DnsdDaemon *d, void *what)
{
    uint64_t count;

    if (what == &d->signals) {
        take_signals(d);
    } else if (what == &d->requests) {
        dnsd_control_take(d->control, d->state, &d->requests);
    } else if (what == &d->lost) {
        if (read(d->lost, &count, sizeof(count)) > 0) {
            dnsd_state_look(d->state);
        }
    } else if (what == &d->interfaces) {
        look_at_interfaces(d);
    } else if (what == &d->socket) {
        base_control_ready(d->socket);
    } else if (what == &d->zone_set) {
        dnsd_zone_set_run(d->zone_set);
    } else if (!dnsd_transfers_ready(d->transfers, what) &&
               !dnsd_notifier_ready(d->notifier, d->state, what) &&
               !dnsd_secondaries_ready(d->secondaries, what) && d->exporter) {
        dnsd_exporter_ready(d->exporter, what);
    }
}

/* Work for which once a second is enough */
static void each_second(DnsdDaemon *d)
{
    time_t now = base_clock(CLOCK_MONOTONIC) / SECOND;

    if (now != d->looked) {
        d->looked = now;
        if (d->socket) {
            base_control_tick(d->socket);
        }
        if (d->exporter) {
            dnsd_exporter_tick(d->exporter);
        }
        dnsd_transfers_expire(d->transfers);
        dnsd_secondaries_tick(d->secondaries);
        dnsd_notifier_look_all(d->notifier, d->state);
        dnsd_state_look(d->state);
        look_at_interfaces(d);
        look_at_addresses(d);
        dnsd_unsent_tell(now);
    }
}

static void loop(DnsdDaemon *d)
{
    struct epoll_event events[EVENTS_MAX];

    while (!d->is_stopping) {
        int count = epoll_wait(d->epoll, events, EVENTS_MAX, TICK_MS);

        for (int i = 0; i < count; i++) {
            take_event(d, events[i].data.ptr);
        }
        if (d->zone_set) {
            dnsd_zone_set_tidy(d->zone_set);
        }
        each_second(d);
    }
}

static bool watch(DnsdDaemon *d, int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    return fd >= 0 && !epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &event);
}

static bool make_loop(DnsdDaemon *d)
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

/* Without it all works, but in VRFs. */
static void make_interfaces(DnsdDaemon *d)
{
    d->interfaces = dnsd_interfaces_new();
    if (!d->interfaces || !watch(d, dnsd_interfaces_fd(d->interfaces),
                                 &d->interfaces)) {
        base_log(LOG_WARNING, "the interfaces of this host cannot be "
                 "followed: %s: replies over UDP to clients in a VRF are lost, "
                 "and interfaces in server.listen that come late are not "
                 "used; allow AF_NETLINK", strerror(errno));
        dnsd_interfaces_free(d->interfaces);
        d->interfaces = NULL;
        return;
    }
    dnsd_worker_pool_follow_vrfs(&d->pool,
                                 dnsd_interfaces_links(d->interfaces));
}

/* Sockets that systemd has opened are systemd's to look after. */
static void make_addresses(DnsdDaemon *d, const DnsdConfig *config)
{
    if (!d->interfaces || !dnsd_worker_pool_is_opener(&d->pool)) {
        return;
    }
    d->addresses = dnsd_addresses_new(config,
                                      dnsd_interfaces_links(d->interfaces));
    if (!d->addresses) {
        base_log(LOG_WARNING, "the addresses of server.listen cannot be "
                 "followed: %s", strerror(errno));
    }
}

/* --- start and end -------------------------------------------------------- */

/* The merger's threads must exist before the first zone. */
static bool make_zone_set(DnsdDaemon *d, const DnsdConfig *config)
{
    if (!dnsd_state_writes(config)) {
        return true;
    }
    dnsd_worker_pool_keep_off(&d->pool);
    dnsd_scheduler_long();
    d->zone_set = dnsd_zone_set_new(&d->pool);
    return d->zone_set && watch(d, dnsd_zone_set_fd(d->zone_set), &d->zone_set);
}

static bool make_control(DnsdDaemon *d, const DnsdConfig *config)
{
    static const DnsdControlOps ops = { dnsd_secondaries_notify };
    const DnsdLinks *links = d->interfaces
                             ? dnsd_interfaces_links(d->interfaces) : NULL;

    d->transfers = dnsd_transfers_new(d->epoll);
    d->notifier = dnsd_notifier_new(d->epoll, links);
    d->secondaries = dnsd_secondaries_new(d->epoll, config->copied,
                                          d->notifier, links);
    d->control = dnsd_control_new(d->transfers, d->notifier, &ops,
                                  d->secondaries);
    return d->transfers && d->notifier && d->secondaries && d->control;
}

/* Libraries are mapped before the filter of system calls is installed. */
static bool make_resolver(DnsdDaemon *d, DnsdConfig *config,
                          DnsdError *error)
{
    char warning[DNSC_WARNING_MAX];

    if (!config->resolver.is_on) {
        return true;
    }
    dnsd_daemon_scopes(d, &config->resolver, true);
    d->resolver = dnsd_resolver_new(&config->resolver, error);
    d->pool.resolvers = d->resolver ? dnsd_resolver_workers(d->resolver)
                                    : NULL;
    if (d->resolver && dnsc_unbound_warning(warning)) {
        base_log(LOG_WARNING, "resolver: %s", warning);
    }
    return d->resolver;
}

static bool become(DnsdDaemon *d, const DnsdConfig *config,
                   DnsdError *error)
{
    uid_t uid;

    if (!dnsd_sandbox_uid(config->user, &uid, error)) {
        return false;
    }
    if (d->pool.places_count && !geteuid()) {
        dnsd_worker_pool_own(&d->pool, uid);
    }
    return dnsd_sandbox_user(config->user, d->pool.places_count, error);
}

/* Do all that takes privileges, and drop them. */
static bool prepare(DnsdDaemon *d, DnsdError *error)
{
    static DnsdErrors errors;
    DnsdConfig *config = dnsd_load(d->path, &errors);
    bool done;

    if (!config) {
        base_log(LOG_ERR, "%s", errors.text);
        return false;
    }
    make_interfaces(d);
    done = dnsd_sandbox_files(FILES_BESIDE + FILES_ZONE * config->changing +
                              dnsd_resolver_files(&config->resolver) +
                              dnsd_worker_pool_files(&d->pool, config),
                              error) &&
           dnsd_worker_pool_open(&d->pool, config, error) &&
           become(d, config, error) &&
           make_resolver(d, config, error);
    if (done) {
        make_addresses(d, config);
    }
    if (done && (!make_zone_set(d, config) || !make_control(d, config))) {
        snprintf(error->text, sizeof(error->text), "no control thread: %s",
                 strerror(errno));
        done = false;
    }
    dnsd_config_free(config);
    return done;
}

static bool open_state(DnsdDaemon *d)
{
    static DnsdErrors errors;
    unsigned faults = 0;

    d->state = getrandom(d->secret, sizeof(d->secret), 0) < 0 ? NULL
               : dnsd_daemon_state(d, NULL, &faults, &errors);
    if (!d->state) {
        base_log(LOG_ERR, "%s", errors.text);
        return false;
    }
    if (faults) {
        base_log(LOG_ERR, "%u of %zu zone%s cannot be served: the lines "
                 "above say why; reload when that is mended", faults,
                 d->state->config->zones,
                 dnsd_plural(d->state->config->zones));
    }
    return dnsd_secondaries_follow(d->secondaries, d->state);
}

static void stop(DnsdDaemon *d)
{
    if (d->transfers) {
        dnsd_transfers_free(d->transfers);
    }
    dnsd_secondaries_free(d->secondaries);
    if (d->resolver) {
        dnsd_resolver_stop(d->resolver);
    }
    dnsd_worker_pool_stop(&d->pool);
    dnsd_addresses_free(d->addresses);
    dnsd_interfaces_free(d->interfaces);
    dnsd_resolver_free(d->resolver);
    base_control_free(d->socket);
    dnsd_exporter_free(d->exporter);
    if (d->state) {
        dnsd_state_free(d->state);
    }
    if (d->zone_set) {
        dnsd_zone_set_free(d->zone_set);
    }
    if (d->notifier) {
        dnsd_notifier_free(d->notifier);
    }
    dnsd_control_free(d->control);
    dnsd_requests_destroy(&d->requests);
    explicit_bzero(d->secret, sizeof(d->secret));
}

static unsigned calls_of(const DnsdDaemon *d)
{
    return (d->zone_set ? DNSD_CALLS_JOURNAL : 0) |
           (d->resolver ? DNSD_CALLS_RESOLVE : 0) |
           (d->state->config->control ? DNSD_CALLS_CONTROL : 0) |
           (d->state->config->copied ? DNSD_CALLS_CONNECT : 0) |
           (d->pool.places_count ? DNSD_CALLS_LISTEN : 0);
}

static bool open_control(DnsdDaemon *d, DnsdError *error)
{
    const DnsdConfig *config = d->state->config;

    if (config->control) {
        d->socket = base_control_new(config->control, 0600,
                                     &dnsd_daemon_control, d);
        if (!d->socket || !watch(d, base_control_fd(d->socket), &d->socket)) {
            snprintf(error->text, sizeof(error->text), "server.control: cannot "
                     "listen at '%s': %s", config->control, strerror(errno));
            return false;
        }
    }
    if (config->metrics.len) {
        d->exporter = dnsd_exporter_new(&config->metrics, d->epoll,
                                        dnsd_daemon_metrics, d, error);
    }
    return d->exporter || !config->metrics.len;
}

static bool begin(DnsdDaemon *d, DnsdError *error)
{
    if (!make_loop(d)) {
        snprintf(error->text, sizeof(error->text), "no event loop: %s",
                 strerror(errno));
        return false;
    }
    if (!prepare(d, error) || !open_state(d)) {
        return false;
    }
    if (!open_control(d, error)) {
        return false;
    }
    base_systemd_notify("STATUS=Starting");
    return dnsd_sandbox_calls(calls_of(d), error) &&
           (!d->resolver || dnsd_resolver_start(d->resolver, error)) &&
           dnsd_worker_pool_start(&d->pool, &d->state->serving, &d->requests,
                                  error);
}

bool dnsd_run(const char *path)
{
    DnsdDaemon d = {
        .path = path, .epoll = -1, .signals = -1, .lost = -1,
        .requests = { .wake = -1 },
    };
    DnsdError error = { "" };
    bool begun = begin(&d, &error);

    if (begun) {
        size_t zones = d.state->config->zones;

        base_log(LOG_NOTICE, "serving %zu zone%s with %u thread%s", zones,
                 dnsd_plural(zones), d.pool.started,
                 dnsd_plural(d.pool.started));
        base_systemd_notify("READY=1\nSTATUS=Serving");
        loop(&d);
        base_systemd_notify("STOPPING=1");
    } else if (*error.text) {
        base_log(LOG_ERR, "%s", error.text);
    }
    stop(&d);
    return begun;
}
