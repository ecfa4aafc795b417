/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields whose length and shape take more than one line to check */
#ifndef NET_DNS_WIRE_FIELDS_INTERNAL_H
#define NET_DNS_WIRE_FIELDS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Each function checks a field that begins at @at and has at most @left octets.
 *
 * Returns: the octets of the field, or -EBADMSG.
 */
int dns_field_bitmap(const uint8_t *at, size_t left);
int dns_field_loc(const uint8_t *at, size_t left);
int dns_field_apl(const uint8_t *at, size_t left);
int dns_field_svc_params(const uint8_t *at, size_t left);
int dns_field_hip(const uint8_t *at, size_t left);
int dns_field_a6(const uint8_t *at, size_t left);

#endif /* NET_DNS_WIRE_FIELDS_INTERNAL_H */
