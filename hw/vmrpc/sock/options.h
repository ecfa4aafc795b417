/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the options that a guest has set on a socket
 */
#ifndef HW_VMRPC_OPTIONS_H
#define HW_VMRPC_OPTIONS_H

#include <glib.h>
#include <stdint.h>

#include "vmmnet/vmrpc.h"

#define VMRPC_SAVED_OPTIONS     32

typedef struct VmrpcSavedOption {
    uint32_t level;             /* the guest's (level, name) and value */
    uint32_t name;
    uint32_t len;
    uint8_t value[VMRPC_OPTVAL_MAX];
} VmrpcSavedOption;

/*
 * Remembers an option of the guest's so that it can be set again after a
 * migration; with VMRPC_SAVED_OPTIONS of them, only those.  @len is at most
 * VMRPC_OPTVAL_MAX.  @options may be NULL at first.
 * @taken: how many of their places are taken by something else
 */
void vmrpc_options_remember(GByteArray **options, unsigned taken, int level,
                            int name, const void *value, uint32_t len);

/* How many there are. */
unsigned vmrpc_options_num(const GByteArray *options);

/*
 * In the order in which they were set last.  @saved has room for
 * VMRPC_SAVED_OPTIONS.  Returns how many there are.
 */
uint32_t vmrpc_options_save(const GByteArray *options, VmrpcSavedOption *saved);

#endif /* HW_VMRPC_OPTIONS_H */
