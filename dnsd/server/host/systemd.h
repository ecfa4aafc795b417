/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface to systemd: sd_notify, sd_listen_fds */
#ifndef DNSD_SERVER_HOST_SYSTEMD_H
#define DNSD_SERVER_HOST_SYSTEMD_H

#include <stdbool.h>

/** dnsd_systemd_notify: send a text like "READY=1"; nothing without systemd */
void dnsd_systemd_notify(const char *state);

/**
 * dnsd_systemd_reloading: send RELOADING=1 with the time, as systemd requires
 */
void dnsd_systemd_reloading(void);

/**
 * dnsd_systemd_fds: the sockets that systemd passed to this process
 * @first: set to the first descriptor; the others follow it
 *
 * Returns: their number; 0: none.  Sets close-on-exec for them.
 */
unsigned dnsd_systemd_fds(int *first);

#endif /* DNSD_SERVER_HOST_SYSTEMD_H */
