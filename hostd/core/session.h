/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One client: octets in, answers out (docs/hostd.md)
 *
 * The caller puts octets into hostd_session_room(), calls hostd_session_step()
 * until it returns false, and sends what it gave before the next octets.
 */
#ifndef HOSTD_SESSION_H
#define HOSTD_SESSION_H

#include "hostd/core/hostd.h"

typedef struct HostdSession HostdSession;

/**
 * hostd_session_new: a client has come
 * @root: is it root's?
 * @peer: for HostdOps.believe
 */
HostdSession *hostd_session_new(Hostd *h, bool root, const void *peer);
void hostd_session_free(HostdSession *s);

/** hostd_session_room: where to put what it sends, and how much of it; not 0 */
char *hostd_session_room(HostdSession *s, size_t *room);

/** hostd_session_filled: @len octets were put there */
void hostd_session_filled(HostdSession *s, size_t len);

/**
 * hostd_session_step: follow one line
 * @out: the answer, if there is one, is appended
 *
 * Returns: false if there is no whole line, or hostd_session_over()
 */
bool hostd_session_step(HostdSession *s, GString *out);

/** hostd_session_over: it sent what is no line; hang up behind the answer */
bool hostd_session_over(const HostdSession *s);

#endif /* HOSTD_SESSION_H */
