/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that transfer zones */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dnsd/server/core/prefix.h"
#include "dnsd/server/secondary/pool.h"

typedef struct Queue {
    DnsdFetch *first, **end;
} Queue;

typedef struct Worker {
    DnsdPool *pool;
    pthread_t thread;
    DnsdFetch *fetch;           /* NULL: the thread is idle */
} Worker;

struct DnsdPool {
    int fd;
    pthread_mutex_t lock;       /* guards all fields below */
    pthread_cond_t changed;
    bool is_ending;
    Queue waiting, ended;
    unsigned started;
    Worker worker[DNSD_POOL_THREADS];
};

static void push(Queue *queue, DnsdFetch *fetch)
{
    fetch->next = NULL;
    *queue->end = fetch;
    queue->end = &fetch->next;
}

static void cut(Queue *queue, DnsdFetch **at)
{
    DnsdFetch *fetch = *at;

    *at = fetch->next;
    queue->end = fetch->next ? queue->end : at;
}

/* --- choosing the next ---------------------------------------------------- */

static bool has_address(const DnsdFetch *a, const DnsdFetch *b)
{
    DnsdAddr x = dnsd_addr_of((const struct sockaddr *)&a->primary.at.addr);
    DnsdAddr y = dnsd_addr_of((const struct sockaddr *)&b->primary.at.addr);

    return !memcmp(&x, &y, sizeof(x));
}

static bool may_run(const DnsdPool *p, const DnsdFetch *fetch)
{
    unsigned count = 0;

    for (unsigned i = 0; i < p->started; i++) {
        count += p->worker[i].fetch && has_address(p->worker[i].fetch, fetch);
    }
    return count < DNSD_POOL_PRIMARY;
}

static DnsdFetch *pick(DnsdPool *p)
{
    for (DnsdFetch **at = &p->waiting.first; *at; at = &(*at)->next) {
        DnsdFetch *fetch = *at;

        if (may_run(p, fetch)) {
            cut(&p->waiting, at);
            return fetch;
        }
    }
    return NULL;
}

/* --- the control thread's side -------------------------------------------- */

int dnsd_pool_fd(const DnsdPool *p)
{
    return p->fd;
}

void dnsd_pool_heard(DnsdPool *p)
{
    uint64_t count;

    if (read(p->fd, &count, sizeof(count)) < 0) {
        return;                 /* EAGAIN: the counter was read before */
    }
}

void dnsd_pool_wake(DnsdPool *p)
{
    const uint64_t one = 1;

    if (write(p->fd, &one, sizeof(one)) < 0) {
        /* EAGAIN: the counter is full, so it is readable already */
        return;
    }
}

void dnsd_pool_add(DnsdPool *p, DnsdFetch *fetch)
{
    pthread_mutex_lock(&p->lock);
    push(&p->waiting, fetch);
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

DnsdFetch *dnsd_pool_take(DnsdPool *p)
{
    DnsdFetch *fetch;

    pthread_mutex_lock(&p->lock);
    fetch = p->ended.first;
    if (fetch) {
        cut(&p->ended, &p->ended.first);
    }
    pthread_mutex_unlock(&p->lock);
    return fetch;
}

/* --- threads -------------------------------------------------------------- */

static void *work(void *opaque)
{
    Worker *worker = opaque;
    DnsdPool *p = worker->pool;

    pthread_mutex_lock(&p->lock);
    while (!p->is_ending) {
        worker->fetch = pick(p);
        if (!worker->fetch) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        dnsd_fetch_run(worker->fetch);
        pthread_mutex_lock(&p->lock);
        push(&p->ended, worker->fetch);
        worker->fetch = NULL;
        pthread_cond_broadcast(&p->changed);
        dnsd_pool_wake(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Block signals, which are for other threads of the daemon. */
static int start(Worker *worker)
{
    sigset_t all, before;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ret = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ret;
}

DnsdPool *dnsd_pool_new(void)
{
    DnsdPool *p = calloc(1, sizeof(*p));
    int ret;

    if (!p) {
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->waiting.end = &p->waiting.first;
    p->ended.end = &p->ended.first;
    p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ret = p->fd < 0 ? errno : 0;
    pthread_mutex_lock(&p->lock);
    while (!ret && p->started < DNSD_POOL_THREADS) {
        p->worker[p->started].pool = p;
        ret = start(&p->worker[p->started]);
        p->started += !ret;
    }
    pthread_mutex_unlock(&p->lock);
    if (ret) {
        dnsd_pool_free(p);
        errno = ret;
        return NULL;
    }
    return p;
}

void dnsd_pool_free(DnsdPool *p)
{
    if (!p) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    for (unsigned i = 0; i < p->started; i++) {
        if (p->worker[i].fetch) {
            atomic_store(&p->worker[i].fetch->stop, true);
        }
    }
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++) {
        pthread_join(p->worker[i].thread, NULL);
    }
    if (p->fd >= 0) {
        close(p->fd);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
