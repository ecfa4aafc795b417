/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface to systemd: sd_notify, sd_listen_fds */
#ifndef BASE_SYSTEMD_H
#define BASE_SYSTEMD_H

#include <stdbool.h>

/** base_systemd_notify: send a text like "READY=1"; nothing without systemd */
void base_systemd_notify(const char *state);

/**
 * base_systemd_reloading: send RELOADING=1 with the time, as systemd requires
 */
void base_systemd_reloading(void);

/**
 * base_systemd_fds: the sockets that systemd passed to this process
 * @first: set to the first descriptor; the others follow it
 *
 * Returns: their number; 0: none.  Sets close-on-exec for them.
 */
unsigned base_systemd_fds(int *first);

#endif /* BASE_SYSTEMD_H */
