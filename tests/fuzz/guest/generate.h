/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_GENERATE_H
#define GUEST_FUZZ_GENERATE_H

#include "op.h"

/*
 * Writes the sequence that a seed stands for: @num steps, of which the first
 * ones make the sockets that the others are about.  Returns how many it wrote,
 * at most OPS_MAX.
 */
unsigned generate(uint64_t seed, unsigned num, struct op *ops);

#endif /* GUEST_FUZZ_GENERATE_H */
