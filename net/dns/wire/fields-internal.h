/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields whose length and shape need more than a line */
#ifndef NET_DNS_WIRE_FIELDS_INTERNAL_H
#define NET_DNS_WIRE_FIELDS_INTERNAL_H

#include "net/dns/wire/fields.h"

/*
 * Each of these looks at a field that goes up to the end of RDATA, or begins
 * there: its octets, or -EBADMSG.
 */
int dns_field_bitmap(const uint8_t *at, size_t left);
int dns_field_loc(const uint8_t *at, size_t left);
int dns_field_apl(const uint8_t *at, size_t left);
int dns_field_svc_params(const uint8_t *at, size_t left);
int dns_field_hip(const uint8_t *at, size_t left);
int dns_field_a6(const uint8_t *at, size_t left);

#endif /* NET_DNS_WIRE_FIELDS_INTERNAL_H */
