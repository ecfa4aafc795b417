/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Secondary zones
 *
 * Theory of operation
 *
 * Each zone has timers (dnsd/update/xfr/secondary.h), which say when to ask
 * and when to stop serving.  To ask is a round (round.c) of fetches (fetch.c),
 * which a pool of threads runs (pool.c).  The control thread installs the
 * results: an image with a few calls of rename() and fsync(); changes as one
 * commit of at most DNS_XFR_CHANGES_MAX octets.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dnsd/server/secondary/line.h"
#include "dnsd/server/secondary/secondaries.h"
#include "dnsd/server/secondary/secondary.h"

#define ENDED_TURN  4           /* results per turn */

/* --- by name -------------------------------------------------------------- */

static int compare_names(const DnsName *a, const DnsName *b)
{
    return a->len != b->len ? a->len - b->len
                            : memcmp(a->wire, b->wire, a->len);
}

static int compare(const void *a, const void *b)
{
    return compare_names(&(*(DnsdCopy *const *)a)->name,
                         &(*(DnsdCopy *const *)b)->name);
}

DnsdCopy **dnsd_secondaries_find(const DnsdSecondaries *all,
                                 const DnsName *name)
{
    DnsdCopy like = { .name = *name }, *key = &like;

    return all->count ? bsearch(&key, all->one, all->count, sizeof(*all->one),
                                compare) : NULL;
}

/* --- one ------------------------------------------------------------------ */

static void free_one(DnsdCopy *s)
{
    dnsd_keyring_unref(s->keyring);
    dnsd_fetch_free(s->fetch);
    dnsd_dynzone_unref(s->dyn);
    free(s->heard);
    free(s->error);
    free(s);
}

static void begin_one(DnsdCopy *s, uint64_t now)
{
    DnsSoa soa;
    bool has_soa = s->dyn->store && dnsd_secondary_soa(s->dyn, &soa);
    uint64_t age = has_soa ? dnsd_secondary_age(s->dyn, s->config->image,
                                                &s->success) : 0;

    dns_secondary_init(&s->timers, has_soa ? &soa : NULL, age, now);
    atomic_store(&s->dyn->has_expired, s->timers.has_expired);
    s->needs_axfr = s->dyn->store && !has_soa;
}

static DnsdCopy *make_one(const DnsdZoneConfig *config, DnsdDynZone *dyn,
                          uint64_t now)
{
    DnsdCopy *s = calloc(1, sizeof(*s));

    if (s) {
        s->name = config->name;
        s->config = config;
        s->dyn = dnsd_dynzone_ref(dyn);
        s->heard = calloc(config->primaries, sizeof(*s->heard));
        begin_one(s, now);
    }
    return s;
}

/* --- server states -------------------------------------------------------- */

static bool is_same_address(const DnsdListen *a, const DnsdListen *b)
{
    return a->len == b->len && !memcmp(&a->addr, &b->addr, a->len) &&
           !strcmp(a->device, b->device);
}

static bool has_same_primaries(const DnsdZoneConfig *a,
                               const DnsdZoneConfig *b)
{
    bool same = a->primaries == b->primaries && !strcmp(a->image, b->image);

    for (size_t i = 0; same && i < DNSD_FAMILIES; i++) {
        same = is_same_address(&a->transfer_source.of[i],
                               &b->transfer_source.of[i]);
    }
    for (size_t i = 0; same && i < a->primaries; i++) {
        same = is_same_address(&a->primary[i].at, &b->primary[i].at) &&
               dns_name_equal(&a->primary[i].key, &b->primary[i].key);
    }
    return same;
}

/* Drop a fetch: a running one ends soon, a completed one ends here. */
static void drop_fetch(DnsdCopy *s, uint64_t now)
{
    if (s->is_waiting) {
        s->is_waiting = false;
        dnsd_fetch_free(s->fetch);
        s->fetch = NULL;
        dns_secondary_failed(&s->timers, now, 0);
    } else if (s->fetch) {
        s->is_dropped = true;
        atomic_store(&s->fetch->stop, true);
    }
}

/* Keep a zone with a new configuration. */
static void keep(DnsdCopy *s, const DnsdZoneConfig *config, uint64_t now)
{
    if (!has_same_primaries(s->config, config)) {
        drop_fetch(s, now);
        s->at = 0;
        free(s->heard);
        s->heard = calloc(config->primaries, sizeof(*s->heard));
        dns_secondary_notify(&s->timers, false, 0, now);
    }
    s->config = config;
}

static void take_away(DnsdSecondaries *all, DnsdCopy *s)
{
    s->config = NULL;
    drop_fetch(s, 0);
    if (s->fetch) {
        s->next = all->gone;
        all->gone = s;
    } else {
        free_one(s);
    }
}

/* Take the copy of the zone out of the old list; NULL: it has none. */
static DnsdCopy *take_before(DnsdSecondaries *all, const DnsName *name,
                             const DnsdDynZone *dyn, bool *taken)
{
    DnsdCopy **found = dnsd_secondaries_find(all, name);

    if (!found || (*found)->dyn != dyn) {
        return NULL;
    }
    taken[found - all->one] = true;
    return *found;
}

static DnsdCopy **make_list(DnsdSecondaries *all, const DnsdState *w,
                            bool *taken, size_t *count)
{
    const DnsdConfig *c = w->config;
    DnsdCopy **list = calloc(c->copied + 1, sizeof(*list));
    uint64_t now = dnsd_line_clock();

    *count = 0;
    for (size_t i = 0; list && i < c->zones; i++) {
        DnsdCopy *s;

        if (!c->zone[i].primaries || !w->zone[i].dyn) {
            continue;
        }
        s = take_before(all, &c->zone[i].name, w->zone[i].dyn, taken);
        if (s) {
            keep(s, &c->zone[i], now);
        } else {
            s = make_one(&c->zone[i], w->zone[i].dyn, now);
        }
        if (s) {
            list[(*count)++] = s;
        }
    }
    return list;
}

bool dnsd_secondaries_follow(DnsdSecondaries *all, const DnsdState *w)
{
    bool *taken = calloc(all->count + 1, sizeof(*taken));
    DnsdCopy **list;
    size_t count;

    if (!all->pool) {
        free(taken);
        all->state = w;
        return true;
    }
    list = taken ? make_list(all, w, taken, &count) : NULL;
    if (!list) {
        free(taken);
        return false;
    }
    for (size_t i = 0; i < all->count; i++) {
        if (!taken[i]) {
            take_away(all, all->one[i]);
        }
    }
    free(taken);
    free(all->one);
    qsort(list, count, sizeof(*list), compare);
    all->one = list;
    all->count = count;
    all->state = w;
    return true;
}

/* --- events --------------------------------------------------------------- */

static void forget(DnsdSecondaries *all, DnsdCopy *s)
{
    DnsdCopy **at = &all->gone;

    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    free_one(s);
}

static void take_ended(DnsdSecondaries *all, DnsdFetch *fetch, uint64_t now)
{
    DnsdCopy *s = fetch->opaque;

    dnsd_keyring_unref(s->keyring);
    s->keyring = NULL;
    if (s->is_dropped) {
        all->ended[DNSD_IN_FAILED]++;
        all->failed[DNS_XFR_DROPPED]++;
    }
    if (!s->config) {
        forget(all, s);
    } else if (s->is_dropped) {
        s->is_dropped = false;
        dnsd_fetch_free(s->fetch);
        s->fetch = NULL;
        dns_secondary_failed(&s->timers, now, 0);
    } else {
        dnsd_round_settle(all, s, now);
    }
}

bool dnsd_secondaries_ready(DnsdSecondaries *all, void *event)
{
    uint64_t now = dnsd_line_clock();
    DnsdFetch *fetch = NULL;

    if (event != all) {
        return false;
    }
    dnsd_pool_heard(all->pool);
    for (unsigned i = 0; i < ENDED_TURN; i++) {
        fetch = dnsd_pool_take(all->pool);
        if (!fetch) {
            return true;
        }
        take_ended(all, fetch, now);
    }
    dnsd_pool_wake(all->pool);
    return true;
}

void dnsd_secondaries_tick(DnsdSecondaries *all)
{
    uint64_t now = dnsd_line_clock();

    for (size_t i = 0; i < all->count; i++) {
        dnsd_round_tick(all, all->one[i], now);
    }
}

/* --- life ----------------------------------------------------------------- */

DnsdSecondaries *dnsd_secondaries_new(int epoll, bool has_any,
                                      DnsdNotifier *notifier,
                                      const DnsdLinks *links)
{
    DnsdSecondaries *all = calloc(1, sizeof(*all));
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = all };

    if (!all || !has_any) {
        return all;
    }
    all->notifier = notifier;
    all->links = links;
    all->pool = dnsd_pool_new();
    if (!all->pool || epoll_ctl(epoll, EPOLL_CTL_ADD, dnsd_pool_fd(all->pool),
                                &event) < 0) {
        dnsd_secondaries_free(all);
        return NULL;
    }
    return all;
}

void dnsd_secondaries_free(DnsdSecondaries *all)
{
    if (!all) {
        return;
    }
    dnsd_pool_free(all->pool);
    for (size_t i = 0; i < all->count; i++) {
        free_one(all->one[i]);
    }
    for (DnsdCopy *s = all->gone, *next; s; s = next) {
        next = s->next;
        free_one(s);
    }
    free(all->one);
    free(all);
}
