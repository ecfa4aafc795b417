/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A question becomes its answer: RFC 826, RFC 4861 */
#ifndef CVSW_FRAME_ANSWER_H
#define CVSW_FRAME_ANSWER_H

#include "hw/net/cvsw/frame/frame.h"

/**
 * cvsw_answer_nd: turn a neighbour solicitation into the advertisement
 * @mac: where its target is
 *
 * The answer goes to the station that has sent the frame, with the frame's
 * tags, from @mac and the target; to all nodes if the question came from "::",
 * as duplicate address detection asks.  Override is set, and Solicited unless
 * it goes to all nodes (RFC 4861 section 7.2.4).
 *
 * Returns: false, with nothing changed, if it is no solicitation by RFC 4861
 * section 7.1.1 from one station, or not all of it is in the frame's head
 */
bool cvsw_answer_nd(CvswFrame *frame, const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/**
 * cvsw_answer_arp: turn an ARP request into the reply
 * @mac: where its target is
 *
 * The reply goes to the station that asks (RFC 826: ar$sha), with the frame's
 * tags.  A probe (RFC 5227) is answered, too: the address is in use.
 *
 * Returns: false, with nothing changed, if it is no request of one station
 */
bool cvsw_answer_arp(CvswFrame *frame, const uint8_t mac[PACKET_ETH_ADDR_LEN]);

#endif /* CVSW_FRAME_ANSWER_H */
