/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large local variables that -ftrivial-auto-var-init does not clear
 */
#ifndef HW_VMRPC_UNINITIALIZED_H
#define HW_VMRPC_UNINITIALIZED_H

/*
 * QEMU is built with -ftrivial-auto-var-init=zero: each call would clear the
 * variable again.  Use this only where the code reads no byte that it has not
 * written.
 */
#define VMRPC_UNINITIALIZED     __attribute__((uninitialized))

#endif /* HW_VMRPC_UNINITIALIZED_H */
