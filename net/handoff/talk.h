/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to vmmnet-hostd, to take and yield the addresses of a VM
 * (docs/hostd.md)
 *
 * Only handoff_talk_settle() blocks. A HandoffTalk may be used by one thread
 * only, or under a lock.
 */
#ifndef NET_HANDOFF_TALK_H
#define NET_HANDOFF_TALK_H

#include <glib.h>
#include <stdbool.h>

typedef struct HandoffTalk HandoffTalk;

typedef enum HandoffVerb {
    HANDOFF_TAKE,
    HANDOFF_YIELD,
} HandoffVerb;

typedef enum HandoffAnswer {
    HANDOFF_NOTHING,            /* there is no answer yet */
    HANDOFF_DONE,
    HANDOFF_REFUSED,            /* the answer is an error */
    HANDOFF_LOST,               /* the connection ended before the answer */
} HandoffAnswer;

/**
 * handoff_talk_new: create, without a connection
 * @path: path of the UNIX socket
 * @vm: the VM's UUID, in lower case
 */
HandoffTalk *handoff_talk_new(const char *path, const char *vm);

/** handoff_talk_free: closes the connection; @t may be NULL */
void handoff_talk_free(HandoffTalk *t);

/** handoff_talk_try: does a server listen? */
bool handoff_talk_try(const HandoffTalk *t, GError **errp);

/**
 * handoff_talk_ask: send a request, after those without an answer
 *
 * Returns: false with @errp if it cannot be sent
 */
bool handoff_talk_ask(HandoffTalk *t, HandoffVerb verb, GError **errp);

/**
 * handoff_talk_answer: get the answer to the last request
 *
 * Returns: for HANDOFF_REFUSED and HANDOFF_LOST, with @errp set
 */
HandoffAnswer handoff_talk_answer(HandoffTalk *t, GError **errp);

/**
 * handoff_talk_settle: send a request and wait for the answer
 * @ms: time limit; if the server restarts within this time, the request is
 *      repeated
 *
 * Returns: as handoff_talk_answer(); @errp is also set for HANDOFF_NOTHING,
 * where the answer may still come
 */
HandoffAnswer handoff_talk_settle(HandoffTalk *t, HandoffVerb verb, unsigned ms,
                                  GError **errp);

/**
 * handoff_talk_fd: readable when there is an answer; -1: nothing to wait for
 */
int handoff_talk_fd(const HandoffTalk *t);

/** handoff_talk_hang_up: close the connection; missing answers are lost */
void handoff_talk_hang_up(HandoffTalk *t);

#endif /* NET_HANDOFF_TALK_H */
