/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The turns that threads have on a processor that others want, too */
#ifndef NET_DNS_SERVER_HOST_TURNS_H
#define NET_DNS_SERVER_HOST_TURNS_H

/**
 * dnsd_turns_short: the calling thread has short turns, and many
 *
 * Its part of a processor stays what it was.  Linux 6.12 and later let who has
 * shorter turns go first when it wakes; earlier ones change nothing.
 */
void dnsd_turns_short(void);

/**
 * dnsd_turns_long: the calling thread, and those that it starts from now on,
 * interrupt nobody when they wake (SCHED_BATCH); dnsd_turns_short() ends it
 */
void dnsd_turns_long(void);

#endif /* NET_DNS_SERVER_HOST_TURNS_H */
