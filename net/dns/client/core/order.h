/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Destination address selection, RFC 6724 section 6
 *
 * Addresses are IPv6; an IPv4 one is its mapped form (section 2.1).
 */

#ifndef VMMNET_DNS_CLIENT_ORDER_H
#define VMMNET_DNS_CLIENT_ORDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of the policy table, section 2.1 */
typedef struct DnscPolicy {
    struct in6_addr prefix;
    uint8_t len;
    uint8_t precedence;
    uint8_t label;
} DnscPolicy;

/* The default table; the last row of every table is ::/0. */
extern const DnscPolicy dnsc_default_policy[];

typedef struct DnscDestination {
    struct in6_addr addr;
    bool usable;                /* there is a source address: rule 1 */
    struct in6_addr source;
    uint8_t source_len;         /* bits of its prefix; 0: unknown */
    bool deprecated;            /* the source is deprecated: rule 3 */
    bool home;                  /* the source is a home address: rule 4 */
    bool care_of;               /* the source is a care-of address: rule 4 */
    bool encapsulated;          /* reached by a transition mechanism */
    size_t index;               /* for the caller */
} DnscDestination;

/*
 * Sort by preference, the best first.  If no rule decides, the order is kept
 * (rule 10).  Sorts in place, for at most some hundred destinations.
 */
void dnsc_order(const DnscPolicy *policy, DnscDestination *destinations,
                size_t count);

#endif
