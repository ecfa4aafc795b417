/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: its files, followed while it runs
 */
#ifndef HW_VMRPC_FILES_H
#define HW_VMRPC_FILES_H

#include "hw/vmrpc/sock/state.h"

/*
 * Begins to follow @file: VMRPC_EPOLL_FILES or the timer says when to look at
 * it.  Returns false with @errp set if the host has no descriptor for that.
 */
VMRPC_UNLOCKED bool vmrpc_files_open(VmrpcServer *srv, WatchedFile *file,
                                     const char *name, GError **errp);

/*
 * Processes the events of @file.  Returns true if it is to be read again.
 */
VMRPC_UNLOCKED bool vmrpc_files_changed(VmrpcServer *srv, WatchedFile *file);

/* Milliseconds until the next look at a file; -1: never (VmrpcTimerOps). */
int vmrpc_files_timeout_ms(VmrpcServer *srv);

#endif /* HW_VMRPC_FILES_H */
