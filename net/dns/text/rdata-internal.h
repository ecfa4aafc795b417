/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that read RDATA, and by those that print it */
#ifndef NET_DNS_TEXT_RDATA_INTERNAL_H
#define NET_DNS_TEXT_RDATA_INTERNAL_H

#include "net/dns/text/codes.h"
#include "net/dns/text/rdata.h"
#include "net/dns/wire/fields.h"

/* --- reading: a token ahead ---------------------------------------------- */

typedef struct DnsRdataReader {
    DnsLex *lex;
    DnsToken token;             /* not yet used */
    bool has_pairs;             /* key="value" is one token */
    const DnsName *origin;
    const DnsRrType *type;
    const char *type_name;      /* for messages */
    uint8_t *out;               /* room for DNS_RDATA_MAX */
    size_t len;
} DnsRdataReader;

/* On to the next token */
void dns_reader_next(DnsRdataReader *reader);

/* 0 if there is a word, or -EINVAL: "... : @what must follow" */
int dns_reader_word(DnsRdataReader *reader, const char *what);

/* As above, and a string in quotes will do as well */
int dns_reader_string(DnsRdataReader *reader, const char *what);

/* The token is not what it must be: "TOKEN is no @what".  -EINVAL. */
int dns_reader_wrong(DnsRdataReader *reader, const char *what);

static inline bool dns_reader_is_end(const DnsRdataReader *reader)
{
    return reader->token.kind == DNS_TOKEN_END;
}

/* @len octets, or NULL with a fault where they are too many */
uint8_t *dns_reader_room(DnsRdataReader *reader, size_t len);

/* Octets of the token, or a number in so many; and on to the next token. */
int dns_take(DnsRdataReader *reader, const void *octets, size_t len);
int dns_take_number(DnsRdataReader *reader, uint32_t number, unsigned octets);

/* Each reads one field at the token, and goes on: 0 or -EINVAL. */
int dns_read_number(DnsRdataReader *reader, unsigned octets);
int dns_read_name(DnsRdataReader *reader);
int dns_read_ipv4(DnsRdataReader *reader);
int dns_read_ipv6(DnsRdataReader *reader);

/* The type that the token is; goes on as well */
int dns_read_type(DnsRdataReader *reader, uint16_t *type);

/*
 * Octets of a <character-string>, its escapes resolved.
 * Returns: their number, at most @max, or -EINVAL.
 */
int dns_read_octets(DnsRdataReader *reader, const char *text, size_t len,
                    size_t max);

/* The digits of the token, which stays; @decoder may go on with the next. */
int dns_read_digits(DnsRdataReader *reader, DnsDecoder *decoder,
                    const char *what);

/* --- reading: fields with a syntax of their own -------------------------- */

int dns_read_bitmap(DnsRdataReader *reader);
int dns_read_nxt_bitmap(DnsRdataReader *reader);
int dns_read_loc(DnsRdataReader *reader);
int dns_read_nsap(DnsRdataReader *reader);
int dns_read_wks(DnsRdataReader *reader);
int dns_read_apl(DnsRdataReader *reader);
int dns_read_svc_params(DnsRdataReader *reader);
int dns_read_hip(DnsRdataReader *reader);
int dns_read_a6(DnsRdataReader *reader);
int dns_read_gateway(DnsRdataReader *reader, unsigned kind);
int dns_read_relay_type(DnsRdataReader *reader);

/* Any field of a layout, or all of a kind that is repeated */
int dns_read_field(DnsRdataReader *reader, DnsFieldKind kind);

/* --- printing ------------------------------------------------------------ */

typedef struct DnsPrinter {
    char *at;
    char *end;
    bool is_full;
} DnsPrinter;

/* Each does nothing where there is no room any more. */
void dns_put_char(DnsPrinter *printer, char c);
void dns_put_text(DnsPrinter *printer, const char *text, size_t len);
void dns_put_number(DnsPrinter *printer, uint32_t number);
void dns_put_name(DnsPrinter *printer, const uint8_t *wire);
/* An octet of a string in quotes */
void dns_put_octet(DnsPrinter *printer, uint8_t octet);
void dns_put_quoted(DnsPrinter *printer, const uint8_t *octets, size_t len);
void dns_put_hex(DnsPrinter *printer, const uint8_t *octets, size_t len);
void dns_put_base64(DnsPrinter *printer, const uint8_t *octets, size_t len);
/* At most 255 octets */
void dns_put_base32(DnsPrinter *printer, const uint8_t *octets, size_t len);
void dns_put_ipv4(DnsPrinter *printer, const uint8_t addr[4]);
void dns_put_ipv6(DnsPrinter *printer, const uint8_t addr[16]);
void dns_put_type(DnsPrinter *printer, uint16_t type);

/* Of fields that are checked.  false: there is no text for what is in it. */
bool dns_put_bitmap(DnsPrinter *printer, const DnsField *field);
bool dns_put_nxt_bitmap(DnsPrinter *printer, const DnsField *field);
bool dns_put_loc(DnsPrinter *printer, const DnsField *field);
bool dns_put_wks(DnsPrinter *printer, const DnsField *field);
bool dns_put_apl(DnsPrinter *printer, const DnsField *field);
bool dns_put_svc_params(DnsPrinter *printer, const DnsField *field);
bool dns_put_hip(DnsPrinter *printer, const DnsField *field);
bool dns_put_a6(DnsPrinter *printer, const DnsField *field);

/* RDATA as dns_rdata_to_text() prints it */
void dns_put_rdata(DnsPrinter *printer, uint16_t type, uint16_t rrclass,
                   const uint8_t *rdata, size_t len);

#endif /* NET_DNS_TEXT_RDATA_INTERNAL_H */
