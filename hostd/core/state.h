/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry as text, in the state file
 *
 * The first line has name and version. The other lines are those that a client
 * would send: "register" with its "address6" lines and "end", then "take" for a
 * VM on this host, or "yield" for a VM that is leaving.
 */
#ifndef HOSTD_STATE_H
#define HOSTD_STATE_H

#include "hostd/core/registry.h"

/** hostd_state_write: append all of @r to @out */
void hostd_state_write(const HostdRegistry *r, GString *out);

/**
 * hostd_state_read: add the VMs of @text to @r, which is empty
 * @text: @len octets
 * @file: name of the file, for messages
 * @damage: messages (char *) are added, one for each line that is skipped
 *
 * Complete VMs are added, whatever damage there is in other parts of the file.
 *
 * Returns: false with @errp if it is not a state file
 */
bool hostd_state_read(HostdRegistry *r, const char *text, size_t len,
                      const char *file, GPtrArray *damage, GError **errp);

#endif /* HOSTD_STATE_H */
