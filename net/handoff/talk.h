/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To ask vmmnet-hostd for the addresses of a VM, and to give them back
 * (docs/hostd.md)
 *
 * Nothing here waits, but handoff_talk_settle(). One thread uses a talk, or a
 * lock does.
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

typedef enum HandoffHeard {
    HANDOFF_NOTHING,            /* the answer has not come yet */
    HANDOFF_DONE,
    HANDOFF_REFUSED,            /* it is an error */
    HANDOFF_LOST,               /* the connection has ended without it */
} HandoffHeard;

/**
 * handoff_talk_new: nothing is asked yet
 * @path: of the UNIX socket
 * @vm: the VM's UUID, in lower case
 */
HandoffTalk *handoff_talk_new(const char *path, const char *vm);

/** handoff_talk_free: hangs up; NULL is allowed */
void handoff_talk_free(HandoffTalk *t);

/** handoff_talk_try: does anybody listen? */
bool handoff_talk_try(const HandoffTalk *t, GError **errp);

/**
 * handoff_talk_ask: ask, behind what has no answer yet
 *
 * Returns: false with @errp if nobody can be asked
 */
bool handoff_talk_ask(HandoffTalk *t, HandoffVerb verb, GError **errp);

/**
 * handoff_talk_hear: what is the answer to what was asked last?
 *
 * Returns: with @errp set for HANDOFF_REFUSED and HANDOFF_LOST
 */
HandoffHeard handoff_talk_hear(HandoffTalk *t, GError **errp);

/**
 * handoff_talk_settle: ask, and wait for the answer
 * @ms: at most, within which a server that has been restarted is asked again
 *
 * Returns: as handoff_talk_hear(); with @errp set for HANDOFF_NOTHING, too,
 * whose answer may still come
 */
HandoffHeard handoff_talk_settle(HandoffTalk *t, HandoffVerb verb, unsigned ms,
                                 GError **errp);

/** handoff_talk_fd: readable when there is something to hear; -1: no need */
int handoff_talk_fd(const HandoffTalk *t);

/** handoff_talk_hang_up: what has no answer stays without */
void handoff_talk_hang_up(HandoffTalk *t);

#endif /* NET_HANDOFF_TALK_H */
