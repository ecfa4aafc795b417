/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE messages from lines */
#ifndef DNS_UPDATE_MESSAGE_H
#define DNS_UPDATE_MESSAGE_H

#include "net/dns/wire/wire.h"

typedef struct UpdateLine {
    unsigned section;           /* ANSWER: prerequisite, AUTHORITY: update */
    const char *owner;
    uint16_t rrclass;
    uint16_t type;
    uint32_t ttl;
    const char *rdata;          /* as of ZoneLine; NULL: none */
} UpdateLine;

/* Build a message of lines, up to one without owner.  Returns its length. */
size_t update_message(uint8_t msg[DNS_MSG_MAX], const char *zone,
                      const UpdateLine *lines);

#endif /* DNS_UPDATE_MESSAGE_H */
