/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A service's talk with systemd: sd_notify, sd_listen_fds */
#ifndef NET_DNS_SERVER_HOST_SYSTEMD_H
#define NET_DNS_SERVER_HOST_SYSTEMD_H

#include <stdbool.h>

/** dnsd_systemd_notify: "READY=1"; nothing if nobody wants to know. */
void dnsd_systemd_notify(const char *state);

/** dnsd_systemd_reloading: RELOADING=1 with the time that systemd asks for. */
void dnsd_systemd_reloading(void);

/**
 * dnsd_systemd_fds: sockets that were given to this process
 * @first: the first descriptor, the others follow it
 *
 * Returns: their number, 0 for none.  They are closed on exec from now on.
 */
unsigned dnsd_systemd_fds(int *first);

#endif /* NET_DNS_SERVER_HOST_SYSTEMD_H */
