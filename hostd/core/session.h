/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One client: requests in, answers out (docs/hostd.md)
 *
 * The caller reads octets into hostd_session_room(), calls hostd_session_step()
 * until it returns false, and sends the answers before it reads more.
 */
#ifndef HOSTD_SESSION_H
#define HOSTD_SESSION_H

#include "hostd/core/hostd.h"

typedef struct HostdSession HostdSession;

/**
 * hostd_session_new: create a session for a client
 * @root: true if the client is root
 * @peer: for HostdOps.is_vm
 */
HostdSession *hostd_session_new(Hostd *h, bool root, const void *peer);
void hostd_session_free(HostdSession *s);

/** hostd_session_room: buffer for received octets, and its size; never 0 */
char *hostd_session_room(HostdSession *s, size_t *room);

/** hostd_session_filled: @len octets were read into the buffer */
void hostd_session_filled(HostdSession *s, size_t len);

/**
 * hostd_session_step: execute one line
 * @out: the answer, if there is one, is appended
 *
 * Returns: false if there is no complete line, or hostd_session_over()
 */
bool hostd_session_step(HostdSession *s, GString *out);

/**
 * hostd_session_over: the client sent an overlong line; close after the answer
 */
bool hostd_session_over(const HostdSession *s);

#endif /* HOSTD_SESSION_H */
