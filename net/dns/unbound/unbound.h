/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libunbound, loaded when it is asked for
 *
 * Every process that looks up a name loads libnss_vmmnet; what few of them
 * need is not loaded with it.  Nor does a server need it that only serves
 * zones.
 */

#ifndef VMMNET_DNS_UNBOUND_H
#define VMMNET_DNS_UNBOUND_H

#include <unbound-event.h>
#include <unbound.h>

/* The functions that we call, as <unbound.h> declares them */
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
} DnscUnbound;

/* Thread-safe.  NULL: it is not installed, or too old. */
const DnscUnbound *dnsc_unbound(void);

#endif
