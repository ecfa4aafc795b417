/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Background threads that merge images */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dnsd/update/store/merger.h"

#define THREADS 2

typedef struct Queue {
    DnsMergeJob *first;
    DnsMergeJob **end;
} Queue;

typedef struct Worker {
    DnsMerger *merger;
    pthread_t thread;
    bool is_started;
    Queue jobs;
} Worker;

struct DnsMerger {
    int fd;
    pthread_mutex_t lock;       /* guards all fields below */
    pthread_cond_t changed;
    bool is_ending;
    unsigned left;              /* jobs whose done() has not been called */
    Queue ran;
    Worker worker[THREADS];
};

static void push(Queue *queue, DnsMergeJob *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
}

static DnsMergeJob *pop(Queue *queue)
{
    DnsMergeJob *job = queue->first;

    if (job) {
        queue->first = job->next;
        queue->end = queue->first ? queue->end : &queue->first;
    }
    return job;
}

static void *work(void *opaque)
{
    Worker *worker = opaque;
    DnsMerger *m = worker->merger;
    const uint64_t one = 1;
    DnsMergeJob *job;

    pthread_mutex_lock(&m->lock);
    while (!m->is_ending) {
        job = pop(&worker->jobs);
        if (!job) {
            pthread_cond_wait(&m->changed, &m->lock);
            continue;
        }
        pthread_mutex_unlock(&m->lock);
        job->run(job);
        pthread_mutex_lock(&m->lock);
        push(&m->ran, job);
        pthread_cond_broadcast(&m->changed);
        if (write(m->fd, &one, sizeof(one)) < 0) {
            /* EAGAIN: the counter is full, so it is readable already */
            continue;
        }
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/*
 * Block signals, which are for other threads of the daemon, except SIGBUS for a
 * lost page.
 */
static int start(Worker *worker)
{
    sigset_t all, before;
    int ret;

    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ret = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    worker->is_started = !ret;
    return ret;
}

DnsMerger *dns_merger_new(void)
{
    DnsMerger *m = calloc(1, sizeof(*m));
    int ret = m ? 0 : ENOMEM;

    if (!m) {
        errno = ret;
        return NULL;
    }
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->ran.end = &m->ran.first;
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ret = m->fd < 0 ? errno : 0;
    for (unsigned i = 0; i < THREADS && !ret; i++) {
        m->worker[i].merger = m;
        m->worker[i].jobs.end = &m->worker[i].jobs.first;
        ret = start(&m->worker[i]);
    }
    if (ret) {
        dns_merger_free(m);
        errno = ret;
        return NULL;
    }
    return m;
}

void dns_merger_free(DnsMerger *m)
{
    if (!m) {
        return;
    }
    pthread_mutex_lock(&m->lock);
    m->is_ending = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    for (unsigned i = 0; i < THREADS; i++) {
        if (m->worker[i].is_started) {
            pthread_join(m->worker[i].thread, NULL);
        }
    }
    if (m->fd >= 0) {
        close(m->fd);
    }
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

int dns_merger_fd(const DnsMerger *m)
{
    return m->fd;
}

void dns_merger_add(DnsMerger *m, DnsMergeJob *job)
{
    pthread_mutex_lock(&m->lock);
    push(&m->worker[job->is_long].jobs, job);
    m->left++;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

void dns_merger_run(DnsMerger *m)
{
    uint64_t count;
    DnsMergeJob *job;

    if (read(m->fd, &count, sizeof(count)) < 0 && errno != EAGAIN) {
        return;
    }
    do {
        pthread_mutex_lock(&m->lock);
        job = pop(&m->ran);
        m->left -= job != NULL;
        pthread_mutex_unlock(&m->lock);
        if (job) {
            job->done(job);
        }
    } while (job);
}

void dns_merger_wait(DnsMerger *m)
{
    bool is_idle;

    do {
        pthread_mutex_lock(&m->lock);
        while (m->left && !m->ran.first) {
            pthread_cond_wait(&m->changed, &m->lock);
        }
        is_idle = !m->left;
        pthread_mutex_unlock(&m->lock);
        dns_merger_run(m);
    } while (!is_idle);
}
