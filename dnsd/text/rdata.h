/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA, from text and to text
 *
 * Each type has its own syntax, by the layouts of rrtype.h.  Every type may
 * also be written as in RFC 3597: "\# 4 01020304".
 */
#ifndef DNSD_TEXT_RDATA_H
#define DNSD_TEXT_RDATA_H

#include "dnsd/text/lex.h"
#include "net/dns/wire/fields.h"
#include "net/dns/wire/wire.h"

/* The longest: a bitmap of all types as TYPEn, and a name */
#define DNS_RDATA_TEXT_MAX  (10 * (DNS_RDATA_MAX + 1) + 2 * DNS_NAME_TEXT_MAX)

/* The context in which RDATA is read */
typedef struct DnsRdataText {
    uint16_t type;
    uint16_t rrclass;
    const DnsName *origin;      /* for relative names */
} DnsRdataText;

/**
 * dns_rdata_read: read RDATA from the tokens up to the end of the record
 * @rdata: memory for DNS_RDATA_MAX octets
 *
 * RDATA is uncompressed and passes dns_rdata_check().  Names keep their case.
 *
 * Returns: its length; or -EINVAL, and lex->fault has the reason.
 */
int dns_rdata_read(DnsLex *lex, const DnsRdataText *how, uint8_t *rdata);

/**
 * dns_rdata_from_text: read RDATA from a string like "10 mail.example."
 * @fault: set on error
 *
 * Returns: as dns_rdata_read().
 */
int dns_rdata_from_text(const DnsRdataText *how, const char *text, size_t len,
                        uint8_t *rdata, DnsFault *fault);

/**
 * dns_rdata_to_text: print RDATA in one line with a NUL; names are absolute
 * @room: octets at @text; DNS_RDATA_TEXT_MAX always suffices
 *
 * RDATA without the shape of its type, or of a type without syntax, is printed
 * as in RFC 3597.
 *
 * Returns: the length without the NUL, or -ENOSPC.
 */
int dns_rdata_to_text(uint16_t type, uint16_t rrclass, const uint8_t *rdata,
                      size_t len, char *text, size_t room);

#endif /* DNSD_TEXT_RDATA_H */
