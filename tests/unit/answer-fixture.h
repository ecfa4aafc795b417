/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zones from master-file-like text, questions and replies as text */
#ifndef ANSWER_FIXTURE_H
#define ANSWER_FIXTURE_H

#include <glib.h>

#include "net/dns/answer/answer.h"
#include "net/dns/answer/edns.h"

#define BED_ZONES_MAX   8

/* Zones that are served */
typedef struct AnswerBed {
    DnsServedZone zone[BED_ZONES_MAX];
    size_t zones;
    GPtrArray *files;
    DnsZoneTable *table;
    DnsAnswerer answerer;       /* UDP of 1232 octets, minimal */
    DnsAnswerInfo info;         /* of the last question */
    size_t len;
    uint8_t reply[DNS_MSG_MAX];
} AnswerBed;

/*
 * Add a zone.  Its lines are "owner TTL TYPE rdata" with all names in full, in
 * any order; "TYPE" may be "TYPE123" with hexadecimal octets.  With @is_signed
 * every RRset that is the zone's own gets an RRSIG of a few octets, but those
 * of NSEC3 zones only what their text says in NSEC3 lines.
 */
void bed_add_zone(AnswerBed *bed, const char *origin, const char *text,
                  bool is_signed);

/*
 * Put a delta over the zone that was added last.  A line "owner GONE" takes
 * the name away.
 */
void bed_add_delta(AnswerBed *bed, const char *text, bool is_signed);

/* A zone that has not been loaded */
void bed_add_nothing(AnswerBed *bed, const char *origin);

/*
 * Ask "name TYPE [DO] [EDNS=size] [CLASS=n]"; the reply as text: a line with
 * RCODE and flags, then "section owner TTL TYPE rdata" of each record but OPT.
 */
char *bed_ask(AnswerBed *bed, const char *question);

/* Ask, and compare the reply */
void bed_expect(AnswerBed *bed, const char *question, const char *reply);

/* The reply that bed->reply has, as text */
char *bed_text(AnswerBed *bed);

/* A query as a message; returns its length */
size_t bed_query(const char *question, uint8_t message[DNS_QUERY_MAX]);

/* Hand any message to dns_query_read() and dns_answer() */
void bed_send(AnswerBed *bed, const uint8_t *message, size_t len,
              uint16_t reserve);

void bed_clear(AnswerBed *bed);

#endif /* ANSWER_FIXTURE_H */
