/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_CIRCUMSTANCE_H
#define GUEST_FUZZ_CIRCUMSTANCE_H

#include "compare.h"

/* The circumstance of the call itself, such as " to all", or "". */
const char *circumstance_of(const struct op *op);

/*
 * The circumstance number @i, such as " full"; NULL: no more.  @was: it held
 * before or at @step, or since then if the call has waited.
 */
const char *circumstance_past(const struct run *run, unsigned step, unsigned i,
                              bool *was);

#endif /* GUEST_FUZZ_CIRCUMSTANCE_H */
