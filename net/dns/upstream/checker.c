/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that validates for an event loop which must not wait
 *
 * Theory of operation
 *
 * The validation of one signature costs as much as a hundred look-ups, and the
 * author of a zone chooses how many signatures must be tried.  The loop that
 * asks is the loop of a guest's sockets, and all of them wait while it works.
 * So libunbound runs on a thread of its own, with its event API on a second
 * loop.  That thread also makes the reply from the result.
 *
 * A check passes through two lists that one lock guards: checks that the thread
 * has not begun, and checks that it has completed.  An eventfd in the loop of
 * the other side signals a new entry.  Between the two lists only the thread
 * uses the check.  Its callback, and the list of all checks, belong to the
 * asking side.
 *
 * Bounds: at most DNS_CHECKS_MAX checks are under way.  Each ends at its
 * timeout, whatever the servers do.  libunbound gives up on a message after a
 * few signatures, and on NSEC3 after 100 iterations (client/net/validate.c).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/dns/upstream/checker.h"

struct DnsCheck {
    DnsCheck *next;             /* in one of the two lists */
    DnsChecker *checker;
    DnscQuery query;

    /* Used by the asking side */
    DnsCheck *before, *after;   /* in the list of all */
    DnsCheckedFn *done;         /* NULL: the check was cancelled */
    void *opaque;

    /* Used by the thread until the check has ended */
    DnscValidation *validation;
    DnscResult *result;
};

typedef struct News {
    DnsCheck *first, **last;
    DnscSource wake;
} News;

struct DnsChecker {
    DnsDnssec mode;
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock;       /* guards the lists of both News */
    News asked, ended;

    /* Used by the asking side */
    DnscLoop *outer;
    DnsCheck *all;
    size_t count;

    /* Used by the thread */
    DnscLoop loop;
    DnscValidator *validator;
    VmmnetDnsCounters counters; /* required by the validator, not read */
    uint8_t buf[DNS_MSG_MAX];
};

/* --- signals -------------------------------------------------------------- */

static int news_init(News *news, DnscReadyFn *ready)
{
    news->last = &news->first;
    news->wake.ready = ready;
    news->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return news->wake.fd < 0 ? -errno : 0;
}

static void news_wake(News *news)
{
    uint64_t one = 1;

    /* If the counter is full, the other side is awake already. */
    while (write(news->wake.fd, &one, sizeof(one)) < 0 && errno == EINTR) {
        continue;
    }
}

static void news_add(DnsChecker *c, News *news, DnsCheck *check)
{
    bool was_empty;

    check->next = NULL;
    pthread_mutex_lock(&c->lock);
    was_empty = !news->first;
    *news->last = check;
    news->last = &check->next;
    pthread_mutex_unlock(&c->lock);
    if (was_empty) {
        news_wake(news);
    }
}

static DnsCheck *news_take(DnsChecker *c, News *news)
{
    DnsCheck *first;
    uint64_t count;

    /* Before the list is read: a later entry wakes this side once more. */
    while (read(news->wake.fd, &count, sizeof(count)) < 0 && errno == EINTR) {
        continue;
    }
    pthread_mutex_lock(&c->lock);
    first = news->first;
    news->first = NULL;
    news->last = &news->first;
    pthread_mutex_unlock(&c->lock);
    return first;
}

/* --- the thread ----------------------------------------------------------- */

static void validated(void *opaque, DnscResult *result)
{
    DnsCheck *check = opaque;
    DnsChecker *c = check->checker;

    check->validation = NULL;
    check->result = dns_verdict(&check->query, result, c->mode, c->buf);
    news_add(c, &c->ended, check);
}

static void take_asked(DnscSource *source, uint32_t events)
{
    DnsChecker *c = (DnsChecker *)((char *)source -
                                   offsetof(DnsChecker, asked.wake));
    DnsCheck *next;

    for (DnsCheck *check = news_take(c, &c->asked); check; check = next) {
        next = check->next;
        check->validation = dnsc_validate_whole(c->validator,
                                                &check->query.question,
                                                validated, check);
        if (!check->validation) {
            validated(check, dnsc_result_error(VMMNET_DNS_RESOURCES,
                                               "out of memory"));
        }
    }
}

static void *run(void *opaque)
{
    DnsChecker *c = opaque;
    struct epoll_event event;

    while (!atomic_load_explicit(&c->stop, memory_order_acquire)) {
        epoll_wait(c->loop.epoll, &event, 1, dnsc_loop_timeout_ms(&c->loop));
        dnsc_loop_run(&c->loop);
    }
    return NULL;
}

/* Block all signals: the program has threads of its own for them. */
static int start(DnsChecker *c)
{
    sigset_t all, old;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -ret;
}

/* --- the side that asks --------------------------------------------------- */

static void drop(DnsCheck *check)
{
    DnsChecker *c = check->checker;

    if (check->before) {
        check->before->after = check->after;
    } else {
        c->all = check->after;
    }
    if (check->after) {
        check->after->before = check->before;
    }
    c->count--;
    free(check);
}

static void take_ended(DnscSource *source, uint32_t events)
{
    DnsChecker *c = (DnsChecker *)((char *)source -
                                   offsetof(DnsChecker, ended.wake));
    DnsCheck *next;

    for (DnsCheck *check = news_take(c, &c->ended); check; check = next) {
        DnsCheckedFn *done = check->done;
        DnscResult *result = check->result;
        void *opaque = check->opaque;

        next = check->next;
        drop(check);
        if (done) {
            done(opaque, result);
        } else {
            dnsc_result_unref(result);
        }
    }
}

DnsCheck *dns_check(DnsChecker *c, const DnscQuery *query, DnsCheckedFn *done,
                    void *opaque)
{
    DnsCheck *check = c->count < DNS_CHECKS_MAX ? calloc(1, sizeof(*check))
                                                : NULL;

    if (!check) {
        return NULL;
    }
    check->checker = c;
    check->query = *query;
    check->done = done;
    check->opaque = opaque;
    check->after = c->all;
    if (check->after) {
        check->after->before = check;
    }
    c->all = check;
    c->count++;
    news_add(c, &c->asked, check);
    return check;
}

void dns_check_cancel(DnsCheck *check)
{
    check->done = NULL;
}

size_t dns_checker_room(const DnsChecker *c)
{
    return DNS_CHECKS_MAX - c->count;
}

/* --- life ----------------------------------------------------------------- */

static int set_up(DnsChecker *c, const DnscValidatorOptions *options,
                  const char **mistake)
{
    int ret = news_init(&c->asked, take_asked);

    ret = ret ? ret : news_init(&c->ended, take_ended);
    ret = ret ? ret : dnsc_loop_attach(&c->loop);
    ret = ret ? ret : dnsc_loop_watch(&c->loop, &c->asked.wake, EPOLLIN);
    ret = ret ? ret : dnsc_loop_watch(c->outer, &c->ended.wake, EPOLLIN);
    if (ret) {
        return ret;
    }
    c->validator = dnsc_validator_new(&c->loop, &c->counters, options,
                                      mistake);
    return c->validator ? start(c) : -errno;
}

/* Free the thread's state when the thread has ended. */
static void drop_all(DnsChecker *c)
{
    while (c->all) {
        if (c->all->validation) {
            dnsc_validation_cancel(c->all->validation);
        }
        dnsc_result_unref(c->all->result);
        drop(c->all);
    }
    dnsc_validator_release(c->validator);
}

static void clear(DnsChecker *c)
{
    drop_all(c);
    dnsc_loop_forget(c->outer, &c->ended.wake);
    if (c->loop.epoll >= 0) {
        dnsc_loop_detach(&c->loop);
    }
    dnsc_loop_free(&c->loop);
    for (News *news = &c->asked; news; news = news == &c->asked ? &c->ended
                                                                : NULL) {
        if (news->wake.fd >= 0) {
            close(news->wake.fd);
        }
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

DnsChecker *dns_checker_new(DnscLoop *loop,
                            const DnscValidatorOptions *options,
                            DnsDnssec mode, const char **mistake)
{
    DnsChecker *c = calloc(1, sizeof(*c));
    int ret;

    *mistake = NULL;
    if (!c) {
        errno = ENOMEM;
        return NULL;
    }
    c->mode = mode;
    c->outer = loop;
    c->loop.epoll = c->asked.wake.fd = c->ended.wake.fd = -1;
    pthread_mutex_init(&c->lock, NULL);
    ret = set_up(c, options, mistake);
    if (ret) {
        clear(c);
        errno = -ret;
        return NULL;
    }
    return c;
}

void dns_checker_free(DnsChecker *c)
{
    if (c) {
        atomic_store_explicit(&c->stop, true, memory_order_release);
        news_wake(&c->asked);
        pthread_join(c->thread, NULL);
        clear(c);
    }
}
