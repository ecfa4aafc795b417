/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our loop as the event base of libunbound */

#ifndef VMMNET_DNS_UNBOUND_UB_EVENT_H
#define VMMNET_DNS_UNBOUND_UB_EVENT_H

#include <unbound-event.h>

#include "net/dns/unbound/loop.h"

typedef struct DnscUbBase {
    struct ub_event_base super; /* must be first: libunbound points to it */
    DnscLoop *loop;
    struct DnscUbEvent *watched;        /* events with a descriptor */
    /*
     * Called before libunbound reads a socket: error is 0, or the one of a UDP
     * socket, which libunbound would ignore.  NULL: nobody wants to know.
     */
    void (*heard)(struct DnscUbBase *base, int fd, int error);
} DnscUbBase;

/*
 * The caller sets heard afterwards.  @base must outlive the context that is made
 * with it.
 */
void dnsc_ub_base_init(DnscUbBase *base, DnscLoop *loop);

/*
 * Are the descriptors that libunbound has open those that it opened?  Somebody
 * else may have closed them, and opened others with the same numbers.
 */
bool dnsc_ub_base_is_whole(const DnscUbBase *base);

#endif
