/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proofs that something does not exist, for the authority section
 *
 * Each puts the NSEC or NSEC3 records with their signatures that the zone has
 * for it, and none if the zone is not signed.
 *
 * They return END_NOT if all is well, or END_FULL, END_FAILED or
 * END_NOT_PROVABLE.
 */
#ifndef NET_DNS_ANSWER_DENIAL_H
#define NET_DNS_ANSWER_DENIAL_H

#include "net/dns/answer/answering.h"

/** deny_name: a->name; RFC 4035 section 3.1.3.2, RFC 5155 section 7.2.2. */
AnswerEnd deny_name(Answering *a);

/**
 * deny_type: the type asked, at a->name, which is there or is a delegation
 *
 * RFC 4035 section 3.1.3.1, RFC 5155 sections 7.2.3, 7.2.4 and 7.2.7.
 */
AnswerEnd deny_type(Answering *a);

/**
 * deny_wildcard_type: the type, at the wildcard that covers a->name
 *
 * RFC 4035 section 3.1.3.4, RFC 5155 section 7.2.5.
 */
AnswerEnd deny_wildcard_type(Answering *a);

/**
 * deny_delegation_ds: a DS record of the delegation a->found.node
 *
 * RFC 4035 section 3.1.4.1, RFC 5155 section 7.2.7.
 */
AnswerEnd deny_delegation_ds(Answering *a);

/**
 * deny_closer: a name that is closer than the wildcard it was made from
 *
 * RFC 4035 section 3.1.3.3, RFC 5155 section 7.2.6.
 */
AnswerEnd deny_closer(Answering *a, const Expansion *expansion);

#endif /* NET_DNS_ANSWER_DENIAL_H */
