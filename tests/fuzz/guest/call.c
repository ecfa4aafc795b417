/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step's system call: arguments from numbers, and facts from results
 *
 * Whatever a program could see of a call becomes part of its outcome: result,
 * errno, every value that it returned through a pointer, signals, and whether
 * memory was written that should not be.  What may differ from run to run is
 * left out here, and nowhere else.
 */
#include "call.h"

#include <errno.h>
#include <signal.h>

void outcome_fact(struct outcome *o, char type, const char *what,
                  int64_t value)
{
    if (o->facts < FACTS) {
        o->fact[o->facts++] = (struct fact) { what, type, value };
    }
}

void call_result(struct outcome *o, int64_t ret)
{
    o->error = ret < 0 ? errno : 0;
    o->ret = ret < 0 ? -1 : ret;
}

typedef void call_fn(struct worker *w, struct outcome *o);

static call_fn *const calls[OP_KINDS] = {
    [OP_SOCKET] = call_socket,
    [OP_CLOSE] = call_close,
    [OP_DUP] = call_dup,
    [OP_BIND] = call_bind,
    [OP_LISTEN] = call_listen,
    [OP_CONNECT] = call_connect,
    [OP_ACCEPT] = call_accept,
    [OP_SHUTDOWN] = call_shutdown,
    [OP_NAME] = call_name,
    [OP_SEND] = call_send,
    [OP_RECV] = call_recv,
    [OP_FILL] = call_fill,
    [OP_SPLICE_IN] = call_splice_in,
    [OP_SPLICE_OUT] = call_splice_out,
    [OP_SENDFILE] = call_sendfile,
    [OP_VMSPLICE] = call_vmsplice,
    [OP_POLL] = call_poll,
    [OP_SELECT] = call_select,
    [OP_EPCTL] = call_epctl,
    [OP_EPWAIT] = call_epwait,
    [OP_SET] = call_set,
    [OP_GET] = call_get,
    [OP_IOCTL] = call_ioctl,
    [OP_FCNTL] = call_fcntl,
    [OP_PASS] = call_pass,
    [OP_ODD] = call_odd,
};

static __thread unsigned broken_pipes;

static void on_broken_pipe(int number)
{
    broken_pipes++;
}

void call_make(struct worker *worker)
{
    struct sigaction pipe = { .sa_handler = on_broken_pipe };
    struct outcome *o = worker->arena.outcome;

    sigaction(SIGPIPE, &pipe, NULL);
    broken_pipes = 0;
    calls[worker->op.kind](worker, o);
    outcome_fact(o, 'd', "SIGPIPE", broken_pipes);
}
