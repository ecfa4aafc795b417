/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA from text and to text
 *
 * Each type's own syntax, by the layouts of rrtype.h; and for every type that
 * of RFC 3597: "\# 4 01020304".
 */
#ifndef NET_DNS_TEXT_RDATA_H
#define NET_DNS_TEXT_RDATA_H

#include "net/dns/text/lex.h"
#include "net/dns/wire/wire.h"

#define DNS_RDATA_MAX       UINT16_MAX
/* A bitmap of all types as TYPEn, beside a name */
#define DNS_RDATA_TEXT_MAX  (10 * (DNS_RDATA_MAX + 1) + 2 * DNS_NAME_TEXT_MAX)

/* How a record's RDATA is to be read */
typedef struct DnsRdataText {
    uint16_t type;
    uint16_t rrclass;
    const DnsName *origin;      /* of relative names */
} DnsRdataText;

/**
 * dns_rdata_read: RDATA from the tokens up to the end of the record
 * @rdata: room for DNS_RDATA_MAX octets
 *
 * The result is uncompressed and passes dns_rdata_check().  Names keep their
 * case.
 *
 * Returns: its length, or -EINVAL, and then lex->fault says why.
 */
int dns_rdata_read(DnsLex *lex, const DnsRdataText *how, uint8_t *rdata);

/**
 * dns_rdata_from_text: the same of a string, such as "10 mail.example."
 * @fault: filled on error
 *
 * Returns: as above.
 */
int dns_rdata_from_text(const DnsRdataText *how, const char *text, size_t len,
                        uint8_t *rdata, DnsFault *fault);

/**
 * dns_rdata_to_text: in presentation form, names absolute
 * @room: octets at @text; DNS_RDATA_TEXT_MAX is always enough
 *
 * One line, with a NUL.  RDATA that is not of its type, or whose type has no
 * syntax, is printed by RFC 3597.
 *
 * Returns: the length without the NUL, or -ENOSPC.
 */
int dns_rdata_to_text(uint16_t type, uint16_t rrclass, const uint8_t *rdata,
                      size_t len, char *text, size_t room);

#endif /* NET_DNS_TEXT_RDATA_H */
