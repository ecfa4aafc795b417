/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_CALL_H
#define GUEST_FUZZ_CALL_H

#include "world.h"

/* Takes what a call has returned, and errno. */
void call_result(struct outcome *o, int64_t ret);

/*
 * Each makes the call of a kind, for a worker's step, and takes its outcome:
 * call-transfer.c, call-socket.c, call-ready.c, call-option.c.
 */
void call_socket(struct worker *w, struct outcome *o);
void call_close(struct worker *w, struct outcome *o);
void call_dup(struct worker *w, struct outcome *o);
void call_bind(struct worker *w, struct outcome *o);
void call_listen(struct worker *w, struct outcome *o);
void call_connect(struct worker *w, struct outcome *o);
void call_accept(struct worker *w, struct outcome *o);
void call_shutdown(struct worker *w, struct outcome *o);
void call_name(struct worker *w, struct outcome *o);
void call_send(struct worker *w, struct outcome *o);
void call_recv(struct worker *w, struct outcome *o);
void call_fill(struct worker *w, struct outcome *o);
void call_splice_in(struct worker *w, struct outcome *o);
void call_splice_out(struct worker *w, struct outcome *o);
void call_sendfile(struct worker *w, struct outcome *o);
void call_vmsplice(struct worker *w, struct outcome *o);
void call_poll(struct worker *w, struct outcome *o);
void call_select(struct worker *w, struct outcome *o);
void call_epctl(struct worker *w, struct outcome *o);
void call_epwait(struct worker *w, struct outcome *o);
void call_set(struct worker *w, struct outcome *o);
void call_get(struct worker *w, struct outcome *o);
void call_ioctl(struct worker *w, struct outcome *o);
void call_fcntl(struct worker *w, struct outcome *o);
void call_pass(struct worker *w, struct outcome *o);
void call_odd(struct worker *w, struct outcome *o);

#endif /* GUEST_FUZZ_CALL_H */
