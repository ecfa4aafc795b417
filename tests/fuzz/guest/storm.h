/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_STORM_H
#define GUEST_FUZZ_STORM_H

#include <stdint.h>

/*
 * Makes random calls from many threads until the time is over; @peer and
 * @peer6: addresses of peer_storm().  Returns an exit status.
 */
int storm_main(const char *peer, const char *peer6, uint64_t seed,
               unsigned seconds);

#endif /* GUEST_FUZZ_STORM_H */
