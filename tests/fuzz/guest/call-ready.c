/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that wait until a socket is ready
 */
#include "call.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "args.h"

void call_poll(struct worker *w, struct outcome *o)
{
    static const char *const names[SLOTS] = {
        "s0", "s1", "s2", "s3", "s4", "s5",
    };
    const uint32_t *arg = w->op.arg;
    struct pollfd pfd[SLOTS];
    unsigned i;

    for (i = 0; i < SLOTS; i++) {
        pfd[i].fd = arg[0] & 1u << i ? w->world->fd[i] : -1;
        pfd[i].events = arg[1];
        pfd[i].revents = 0;
    }
    call_result(o, poll(pfd, SLOTS, (int)arg[2]));
    for (i = 0; i < SLOTS; i++) {
        outcome_fact(o, 'e', names[i], (uint16_t)pfd[i].revents);
    }
}

void call_select(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct timeval tv = { 0, (int)arg[1] * 1000 };
    uint32_t found[3] = { 0 };
    fd_set set[3];
    int top = 0;
    unsigned i, j;

    for (j = 0; j < 3; j++) {
        FD_ZERO(&set[j]);
    }
    for (i = 0; i < SLOTS; i++) {
        int fd = w->world->fd[i];

        if (fd >= 0 && fd < FD_SETSIZE && (arg[0] & 1u << i)) {
            for (j = 0; j < 3; j++) {
                FD_SET(fd, &set[j]);
            }
            top = fd >= top ? fd + 1 : top;
        }
    }
    call_result(o, select(top, &set[0], &set[1], &set[2],
                     (int)arg[1] < 0 ? NULL : &tv));
    for (i = 0; o->ret >= 0 && i < SLOTS; i++) {
        for (j = 0; j < 3; j++) {
            int fd = w->world->fd[i];

            if (fd >= 0 && fd < FD_SETSIZE && (arg[0] & 1u << i) &&
                FD_ISSET(fd, &set[j])) {
                found[j] |= 1u << i;
            }
        }
    }
    outcome_fact(o, 'x', "readable", found[0]);
    outcome_fact(o, 'x', "writable", found[1]);
    outcome_fact(o, 'x', "exceptional", found[2]);
}

static int epoll_of(struct world *world, uint32_t i)
{
    int *fd = &world->epoll[i % EPOLLS];

    if (*fd <= 0) {
        *fd = epoll_create1(EPOLL_CLOEXEC);
    }
    return *fd;
}

void call_epctl(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct epoll_event event = { .events = arg[3], .data.u32 = arg[2] };

    call_result(o, epoll_ctl(epoll_of(w->world, arg[0]), (int)arg[1],
                        w->world->fd[arg[2]], &event));
}

void call_epwait(struct worker *w, struct outcome *o)
{
    static const char *const names[SLOTS] = {
        "s0", "s1", "s2", "s3", "s4", "s5",
    };
    const uint32_t *arg = w->op.arg;
    struct epoll_event event[16];
    uint32_t found[SLOTS] = { 0 };
    int max = (int)arg[1] < 16 ? (int)arg[1] : 16;
    int i, n;

    n = epoll_wait(epoll_of(w->world, arg[0]), event, max, (int)arg[2]);
    call_result(o, n);
    for (i = 0; i < n; i++) {
        found[event[i].data.u32 % SLOTS] |= event[i].events;
    }
    for (i = 0; n >= 0 && i < SLOTS; i++) {
        outcome_fact(o, 'e', names[i], found[i]);
    }
}
