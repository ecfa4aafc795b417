/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the policy file, read at the start and again when it changes
 */
#ifndef HW_VMRPC_POLICY_FILE_H
#define HW_VMRPC_POLICY_FILE_H

#include "hw/vmrpc/sock/state.h"

/* Reads the file, if there is one, and follows it. */
bool vmrpc_policy_file_init(VmrpcServer *srv, GError **errp);
void vmrpc_policy_file_cleanup(VmrpcServer *srv);

/*
 * Reads the file again if it has changed, and reports that to the tracer.
 * Without the lock, in the thread that processes.
 */
VMRPC_UNLOCKED void vmrpc_policy_file_follow(VmrpcServer *srv);

/*
 * The policy judges the connection of @s again: it ends, or goes on by the rule
 * that allows it.
 */
VMRPC_LOCKED void vmrpc_policy_judge_again(VmrpcServer *srv, VmrpcSock *s);

/*
 * Other limits are in force from now on.  Sizes of buffers are known only while
 * there is a limit for them; when one comes, all sockets are asked for theirs.
 */
VMRPC_LOCKED void vmrpc_change_limits(VmrpcServer *srv,
                                      const VmrpcLimitsConfig *config);

#endif /* HW_VMRPC_POLICY_FILE_H */
