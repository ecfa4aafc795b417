/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Happy Eyeballs (RFC 8305): one connect() of the guest, several addresses
 *
 * Order the candidates, start a race, and do what it says:
 *
 *   n = vmrpc_eyeballs_order(candidates, n, source);
 *   vmrpc_eyeballs_start(&race, candidates, n, now);
 *   for (;;) {
 *       action = vmrpc_eyeballs_next(&race, now);
 *       START   connect to action.candidate; its result, now or later, goes
 *               to vmrpc_eyeballs_result(); then ask again
 *       WAIT    until a result comes or it is action.until_ms; then again
 *       WON     keep action.candidate's socket, close the others
 *       FAILED  close all, tell the guest action.error
 *   }
 *
 * No sockets, no allocation: a race is a struct of less than 200 bytes.
 * Times are milliseconds of any clock that never goes back, ports in network
 * byte order, errors negative errnos.
 */
#ifndef HW_VMRPC_EYEBALLS_H
#define HW_VMRPC_EYEBALLS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

#include "hw/vmrpc/reach/candidate.h"

/* Connections that one connect() of the guest may start. */
#define VMRPC_EYEBALLS_MAX 8

/*
 * Connection Attempt Delay: after so long without an answer the next attempt
 * starts beside the one before.  RFC 8305 section 8: 250 ms recommended, at
 * least 100 ms, at most 2 s.
 */
#define VMRPC_EYEBALLS_DELAY_MS 250
G_STATIC_ASSERT(VMRPC_EYEBALLS_DELAY_MS >= 100 &&
                VMRPC_EYEBALLS_DELAY_MS <= 2000);

/*
 * The error of candidate 0 is known: so long, from the last start on, the guest
 * waits for the others.  Three retransmissions of a SYN, after 1, 3 and 7 s
 * (RFC 6298), and their answers.
 */
#define VMRPC_EYEBALLS_GRACE_MS 10000

/*
 * Taking turns: how long an attempt may be alone before it is given up for the
 * next.  Enough for a SYN, two retransmissions after 1 and 3 s, and an answer.
 */
#define VMRPC_EYEBALLS_TURN_MS 4000

/* The caller embeds it and does not look inside. */
typedef struct VmrpcEyeballs {
    VmrpcCandidate candidates[VMRPC_EYEBALLS_MAX];
    int64_t due_ms;             /* of the next start; after the last: GRACE */
    int first_error;            /* of candidate 0, 0 while there is none */
    int8_t winner;              /* -1: none yet */
    uint8_t num;
    uint8_t started;            /* candidates; they start in their order */
    uint8_t pending;            /* bit i: candidate i is connecting */
    bool in_turn;
} VmrpcEyeballs;

typedef enum VmrpcEyeballsStep {
    VMRPC_EYEBALLS_START,
    VMRPC_EYEBALLS_WAIT,
    VMRPC_EYEBALLS_WON,
    VMRPC_EYEBALLS_FAILED,
} VmrpcEyeballsStep;

typedef struct VmrpcEyeballsAction {
    VmrpcEyeballsStep step;
    unsigned index;                     /* START, WON */
    const VmrpcCandidate *candidate;    /* START, WON: the one at index */
    int64_t until_ms;   /* WAIT: later than now; INT64_MAX: for results only */
    int error;          /* FAILED: of candidate 0 */
} VmrpcEyeballsAction;

/**
 * vmrpc_eyeballs_order: destination address selection, RFC 6724 section 6
 * @candidates: [0] is the one that the guest named, and stays there; the others
 *              in the order of the DNS answer, all allowed by the policy
 * @num: 1 or more, some dozens at most (the time is quadratic)
 * @source: the VM's own address, or NULL if the host chooses one for each
 *          destination
 *
 * Sorts in place, removes duplicates, and cuts to VMRPC_EYEBALLS_MAX.
 *
 * Returns: how many are left, 1 to VMRPC_EYEBALLS_MAX.
 */
size_t vmrpc_eyeballs_order(VmrpcCandidate *candidates, size_t num,
                            const struct in6_addr *source);

/**
 * vmrpc_eyeballs_start: begins a race
 * @candidates: in the order in which to try them; copied
 * @num: 1 to VMRPC_EYEBALLS_MAX
 *
 * Candidate 0 is to be started at once: ask vmrpc_eyeballs_next().
 */
void vmrpc_eyeballs_start(VmrpcEyeballs *race,
                          const VmrpcCandidate *candidates, size_t num,
                          int64_t now_ms);

/**
 * vmrpc_eyeballs_take_turns: never two attempts at a time
 * @race: just started
 *
 * For a caller with one socket for all of them: at a START it ends the attempt
 * before.  Candidate 0, if it was given up for others, gets a second START when
 * all have failed, and then has no time limit.
 */
void vmrpc_eyeballs_take_turns(VmrpcEyeballs *race);

/**
 * vmrpc_eyeballs_next: what to do now
 *
 * Returns START once for each candidate, WON and FAILED for ever.  A single
 * candidate has no time limit.
 */
VmrpcEyeballsAction vmrpc_eyeballs_next(VmrpcEyeballs *race, int64_t now_ms);

/**
 * vmrpc_eyeballs_result: the attempt at candidate @index has ended
 * @index: one that was started
 * @ret: 0 if it is connected, else a negative errno
 *
 * A result after the end, or a second one of an attempt, is ignored.
 */
void vmrpc_eyeballs_result(VmrpcEyeballs *race, unsigned index, int ret,
                           int64_t now_ms);

#endif /* HW_VMRPC_EYEBALLS_H */
