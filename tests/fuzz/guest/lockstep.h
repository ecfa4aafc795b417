/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sequence in both worlds, step by step, until they differ
 */
#ifndef GUEST_FUZZ_LOCKSTEP_H
#define GUEST_FUZZ_LOCKSTEP_H

#include "op.h"
#include "world.h"

#define SIGNATURE_MAX   192
#define REPORT_MAX      65536

enum verdict {
    VERDICT_SAME,
    VERDICT_DIFFERENT,
    /* The worlds have become different as they may: nothing to compare. */
    VERDICT_PARTED,
    /* The harness itself failed: a peer did not answer. */
    VERDICT_BROKEN,
};

/* What the process that ran a sequence tells its parent. */
struct report {
    enum verdict verdict;
    unsigned steps;             /* that were carried out */
    unsigned known;             /* differences that are known, passed over */
    unsigned step;              /* where they differ */
    /* What differs, in words that do not depend on the sequence. */
    char signature[SIGNATURE_MAX];
    char text[REPORT_MAX];      /* the sequence and what came of it */
};

/* Tells of two worlds that are ready; native first.  Not to be used again. */
void lockstep_run(struct world *native, struct world *outsourced,
                  const struct op *ops, unsigned num, struct report *report);

#endif /* GUEST_FUZZ_LOCKSTEP_H */
