/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libunbound, loaded on first use
 *
 * Every process that looks up a name loads libnss_vmmnet, and few of them
 * validate, so libunbound is not a dependency of it.  A server without a
 * resolver does not need it either.
 */

#ifndef VMMNET_DNS_UNBOUND_H
#define VMMNET_DNS_UNBOUND_H

#include <unbound-event.h>
#include <unbound.h>

/* The functions that are called, as <unbound.h> declares them */
typedef struct DnscUnbound {
    __typeof__(ub_ctx_create_ub_event) *create;
    __typeof__(ub_ctx_delete) *destroy;
    __typeof__(ub_ctx_set_option) *set_option;
    __typeof__(ub_ctx_set_fwd) *set_fwd;
    __typeof__(ub_ctx_add_ta_file) *add_ta_file;
    __typeof__(ub_ctx_debugout) *debugout;
    __typeof__(ub_ctx_zone_remove) *zone_remove;
    __typeof__(ub_resolve_event) *resolve;
    __typeof__(ub_cancel) *cancel;
    __typeof__(ub_strerror) *strerror;
    __typeof__(ub_version) *version;
} DnscUnbound;

/* Thread-safe.  NULL: libunbound is not installed, or is too old. */
const DnscUnbound *dnsc_unbound(void);

#endif
