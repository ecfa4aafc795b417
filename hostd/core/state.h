/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry as text, so that it survives the process
 *
 * Behind a first line with name and version, it is what a client would send:
 * "register" with its "address6" and "end", then "take" for a VM that is here
 * and "yield" for one that is leaving.
 */
#ifndef HOSTD_STATE_H
#define HOSTD_STATE_H

#include "hostd/core/registry.h"

/** hostd_state_write: append all of @r to @out */
void hostd_state_write(const HostdRegistry *r, GString *out);

/**
 * hostd_state_read: put the VMs of @text into @r, which is empty
 * @text: @len octets
 * @file: its name, for messages
 * @damage: messages (char *) are added, one for each line that is not followed
 *
 * VMs that are whole are put in whatever is around them.
 *
 * Returns: false with @errp if it is another kind of file
 */
bool hostd_state_read(HostdRegistry *r, const char *text, size_t len,
                      const char *file, GPtrArray *damage, GError **errp);

#endif /* HOSTD_STATE_H */
