/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two sides of a home address in ESP, for fuzz targets */
#ifndef TESTS_FUZZ_MIP6_SIDES_H
#define TESTS_FUZZ_MIP6_SIDES_H

#include "net/mip6/core/protect.h"

/* SPIs of what the agent's side sends. */
#define SIDES_SPI_SIGNAL        0x1002u
#define SIDES_SPI_TUNNEL        0x1004u

/*
 * Makes the associations of the mobile node, or those of its home agent, which
 * fit. @window: see Mip6ProtectConfig; @epoch: one that its side has not had.
 */
Mip6Protect *sides_new(bool is_agent, uint32_t window, uint32_t epoch);

#endif /* TESTS_FUZZ_MIP6_SIDES_H */
