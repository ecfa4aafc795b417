/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_CIRCUMSTANCE_H
#define GUEST_FUZZ_CIRCUMSTANCE_H

#include "compare.h"

/* What a call itself says of that, such as " to all", or "". */
const char *circumstance_of(const struct op *op);

/*
 * The circumstance number @i, such as " full"; NULL: there are not so many.
 * @was tells whether it was so before or at @step, or has been since, if that
 * is a call that has waited.
 */
const char *circumstance_past(const struct run *run, unsigned step, unsigned i,
                              bool *was);

#endif /* GUEST_FUZZ_CIRCUMSTANCE_H */
