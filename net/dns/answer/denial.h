/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proofs that a name or a type does not exist, for the authority section
 *
 * Each function puts the NSEC or NSEC3 records of the zone with their
 * signatures, or nothing if the zone is not signed.
 *
 * Returns: END_NOT on success; or END_FULL, END_FAILED or END_NOT_PROVABLE.
 */
#ifndef NET_DNS_ANSWER_DENIAL_H
#define NET_DNS_ANSWER_DENIAL_H

#include "net/dns/answer/answering.h"

/** deny_name: for a->name; RFC 4035 section 3.1.3.2, RFC 5155 section 7.2.2 */
AnswerEnd deny_name(Answering *a);

/**
 * deny_type: for the type asked, at a->name, which exists or is a delegation
 *
 * RFC 4035 section 3.1.3.1, RFC 5155 sections 7.2.3, 7.2.4 and 7.2.7.
 */
AnswerEnd deny_type(Answering *a);

/**
 * deny_wildcard_type: for the type asked, at the wildcard that covers a->name
 *
 * RFC 4035 section 3.1.3.4, RFC 5155 section 7.2.5.
 */
AnswerEnd deny_wildcard_type(Answering *a);

/**
 * deny_delegation_ds: for DS of the delegation a->found.node
 *
 * RFC 4035 section 3.1.4.1, RFC 5155 section 7.2.7.
 */
AnswerEnd deny_delegation_ds(Answering *a);

/**
 * deny_closer: for a name that is closer than the wildcard that answered
 *
 * RFC 4035 section 3.1.3.3, RFC 5155 section 7.2.6.
 */
AnswerEnd deny_closer(Answering *a, const Expansion *expansion);

#endif /* NET_DNS_ANSWER_DENIAL_H */
