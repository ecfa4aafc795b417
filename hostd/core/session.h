/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One client: lines in, answers out (docs/hostd.md) */
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

/**
 * hostd_session_line: execute one line
 * @text: @len octets, without the newline; not trusted
 * @out: the answer, if there is one, is appended
 */
void hostd_session_line(HostdSession *s, const char *text, size_t len,
                        GString *out);

#endif /* HOSTD_SESSION_H */
