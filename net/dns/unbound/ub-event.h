/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our loop as the event base of libunbound */

#ifndef VMMNET_DNS_UNBOUND_UB_EVENT_H
#define VMMNET_DNS_UNBOUND_UB_EVENT_H

#include <unbound-event.h>

#include "net/dns/unbound/loop.h"

typedef struct DnscUbBase {
    struct ub_event_base super; /* must be first: libunbound points to it */
    DnscLoop *loop;
} DnscUbBase;

/* @base must outlive the context that is made with it. */
void dnsc_ub_base_init(DnscUbBase *base, DnscLoop *loop);

#endif
