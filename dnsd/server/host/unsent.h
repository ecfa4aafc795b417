/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies over UDP that the kernel does not take: no route, a wrong source
 * address, a full buffer
 *
 * Clients cause them, so the log has a line a minute, and metrics the number.
 */
#ifndef DNSD_SERVER_HOST_UNSENT_H
#define DNSD_SERVER_HOST_UNSENT_H

#include <stdint.h>

/** dnsd_unsent: count a reply; @error is an errno; for any thread */
void dnsd_unsent(int error);

/** dnsd_unsent_count: of this process */
uint64_t dnsd_unsent_count(void);

/** dnsd_unsent_tell: log what is new; for one thread, once a second */
void dnsd_unsent_tell(uint64_t now_s);

#endif /* DNSD_SERVER_HOST_UNSENT_H */
