/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A field's value in Open vSwitch's format.  Only the dump uses it. */
#ifndef CVSW_OPENFLOW_TEXT_H
#define CVSW_OPENFLOW_TEXT_H

#include <glib.h>

#include "hw/net/cvsw/flow/field.h"

/**
 * cvsw_of_text: append a value and its mask
 * @mask: NULL: none; a prefix is printed as a prefix length
 */
void cvsw_of_text(GString *out, CvswField field, const CvswValue *value,
                  const CvswValue *mask);

/** cvsw_of_text_mac: append a MAC address */
void cvsw_of_text_mac(GString *out, const uint8_t *mac);

/** cvsw_of_text_ip: append an IPv4 or IPv6 address */
void cvsw_of_text_ip(GString *out, bool is_ip6, const uint8_t *addr);

/** cvsw_of_text_number: convert a value of at most 64 bits to a number */
uint64_t cvsw_of_text_number(CvswField field, const CvswValue *value);

#endif /* CVSW_OPENFLOW_TEXT_H */
