/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a question into its answer: RFC 826, RFC 4861 */
#ifndef CVSW_FRAME_ANSWER_H
#define CVSW_FRAME_ANSWER_H

#include "hw/net/cvsw/frame/frame.h"

/**
 * cvsw_answer_nd: turn a neighbour solicitation into its advertisement
 * @mac: link-layer address of the target
 *
 * The answer is sent to the frame's sender, with the frame's tags, from @mac
 * and the target's address.  If the question came from "::" (duplicate address
 * detection), the answer is sent to all nodes.  Override is set; Solicited is
 * set unless the answer goes to all nodes (RFC 4861 section 7.2.4).
 *
 * Returns: false, with nothing changed, if the frame is not a valid
 * solicitation (RFC 4861 section 7.1.1) from a unicast station, or is not
 * completely in the head
 */
bool cvsw_answer_nd(CvswFrame *frame, const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/**
 * cvsw_answer_arp: turn an ARP request into its reply
 * @mac: hardware address of the target
 *
 * The reply goes to the requesting station (RFC 826: ar$sha), with the frame's
 * tags.  A probe (RFC 5227) is answered, too: the address is in use.
 *
 * Returns: false, with nothing changed, if it is not a request of a unicast
 * station
 */
bool cvsw_answer_arp(CvswFrame *frame, const uint8_t mac[PACKET_ETH_ADDR_LEN]);

#endif /* CVSW_FRAME_ANSWER_H */
