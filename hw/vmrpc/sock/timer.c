/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the clocks and the one timer
 *
 * One timerfd in the epoll set serves every file that has work at a time.  The
 * table of their functions (VmrpcTimerOps) is set when the server is made.  The
 * timer expires at the earliest of their timeouts.
 */
#include "hw/vmrpc/sock/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

/* Two readings of the clocks are of one moment if they are this close. */
#define CLOCK_GAP_NS            100000
#define CLOCK_TRIES             3

int64_t vmrpc_now_ms(void)
{
    return base_clock(CLOCK_MONOTONIC) / MS;
}

/* Reads both clocks at one moment; again if preempted in between. */
void vmrpc_see_clock(VmrpcServer *srv)
{
    int64_t real, begin, end;
    unsigned tries = 0;

    do {
        begin = base_clock(CLOCK_MONOTONIC);
        real = base_clock(CLOCK_REALTIME);
        end = base_clock(CLOCK_MONOTONIC);
    } while (end - begin > CLOCK_GAP_NS && ++tries < CLOCK_TRIES);
    vmrpc_clock_see(&srv->clock, real, end);
}

int vmrpc_earlier(int a, int b)
{
    if (a < 0 || b < 0) {
        return MAX(a, b);
    }
    return MIN(a, b);
}

static int timeout_ms(VmrpcServer *srv)
{
    int ms = -1;

    for (unsigned i = 0; i < srv->timer_num; i++) {
        ms = vmrpc_earlier(ms, srv->timers[i].timeout_ms(srv));
    }
    return ms;
}

void vmrpc_timer_rearm(VmrpcServer *srv)
{
    struct itimerspec its = { };
    int ms = timeout_ms(srv);
    int64_t now_ms = vmrpc_now_ms();
    int64_t due_ms = ms < 0 ? -1 : now_ms + ms;

    /* It is set for that moment, or has expired and is not read yet. */
    if (due_ms == srv->timer_due_ms ||
        (!ms && srv->timer_due_ms >= 0 && srv->timer_due_ms <= now_ms)) {
        return;
    }
    srv->timer_due_ms = due_ms;
    if (ms >= 0) {
        its.it_value.tv_sec = ms / 1000;
        /* All zero would disarm it: "now" is a nanosecond away. */
        its.it_value.tv_nsec = ms % 1000 * 1000000L + 1;
    }
    timerfd_settime(srv->timer_fd, 0, &its, NULL);
}

void vmrpc_timer_wake(VmrpcServer *srv)
{
    struct itimerspec its = { .it_value.tv_nsec = 1 };

    srv->timer_due_ms = vmrpc_now_ms();
    timerfd_settime(srv->timer_fd, 0, &its, NULL);
}

bool vmrpc_timer_process(VmrpcServer *srv)
{
    uint64_t expirations;

    if (read(srv->timer_fd, &expirations, sizeof(expirations)) <= 0) {
        return false;
    }
    srv->timer_due_ms = -1;
    for (unsigned i = 0; i < srv->timer_num; i++) {
        if (srv->timers[i].process) {
            srv->timers[i].process(srv);
        }
    }
    vmrpc_timer_rearm(srv);
    return true;
}
