/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that read RDATA, and by those that print it */
#ifndef DNSD_TEXT_RDATA_INTERNAL_H
#define DNSD_TEXT_RDATA_INTERNAL_H

#include "dnsd/text/codes.h"
#include "dnsd/text/lex.h"
#include "net/dns/wire/fields.h"
#include "net/dns/wire/wire.h"

/* --- reading: a token ahead ---------------------------------------------- */

typedef struct DnsRdataReader {
    DnsLex *lex;
    DnsToken token;             /* the next token, not used yet */
    bool has_pairs;             /* read key="value" as one token */
    const DnsName *origin;
    const DnsRrType *type;
    const char *type_name;      /* for messages */
    uint8_t *out;               /* memory for DNS_RDATA_MAX */
    size_t len;
} DnsRdataReader;

/* Read the next token. */
void dns_reader_next(DnsRdataReader *reader);

/* Returns 0 if the token is a word; or -EINVAL: "...  : @what must follow". */
int dns_reader_word(DnsRdataReader *reader, const char *what);

/* The same, but a quoted string is accepted as well. */
int dns_reader_string(DnsRdataReader *reader, const char *what);

/* Report a wrong token: "TOKEN is no @what".  Returns -EINVAL. */
int dns_reader_wrong(DnsRdataReader *reader, const char *what);

static inline bool dns_reader_is_end(const DnsRdataReader *reader)
{
    return reader->token.kind == DNS_TOKEN_END;
}

/* Reserve @len octets of RDATA; NULL, and a fault, if they are too many. */
uint8_t *dns_reader_room(DnsRdataReader *reader, size_t len);

/* Append octets, or a number of that many octets, and read the next token. */
int dns_take(DnsRdataReader *reader, const void *octets, size_t len);
int dns_take_number(DnsRdataReader *reader, uint32_t number, unsigned octets);

/* Each reads one field from the token on.  Returns 0 or -EINVAL. */
int dns_read_number(DnsRdataReader *reader, unsigned octets);
int dns_read_name(DnsRdataReader *reader);
int dns_read_ipv4(DnsRdataReader *reader);
int dns_read_ipv6(DnsRdataReader *reader);

/* Read a type, and then the next token. */
int dns_read_type(DnsRdataReader *reader, uint16_t *type);

/*
 * Read the octets of a <character-string>, and resolve escapes.  Returns their
 * number, at most @max, or -EINVAL.
 */
int dns_read_octets(DnsRdataReader *reader, const char *text, size_t len,
                    size_t max);

/*
 * Decode the digits of the token, which stays.  @decoder continues with the
 * next.
 */
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

/* --- printing ------------------------------------------------------------ */

typedef struct DnsPrinter {
    char *at;
    char *end;
    bool is_full;
} DnsPrinter;

/* Each function does nothing if the buffer is full. */
void dns_put_char(DnsPrinter *printer, char c);
void dns_put_text(DnsPrinter *printer, const char *text, size_t len);
void dns_put_number(DnsPrinter *printer, uint32_t number);
void dns_put_number64(DnsPrinter *printer, uint64_t number);
void dns_put_name(DnsPrinter *printer, const uint8_t *wire);
/* Put an octet of a quoted string. */
void dns_put_octet(DnsPrinter *printer, uint8_t octet);
void dns_put_quoted(DnsPrinter *printer, const uint8_t *octets, size_t len);
void dns_put_hex(DnsPrinter *printer, const uint8_t *octets, size_t len);
void dns_put_base64(DnsPrinter *printer, const uint8_t *octets, size_t len);
/* Put at most 255 octets. */
void dns_put_base32(DnsPrinter *printer, const uint8_t *octets, size_t len);
void dns_put_ipv4(DnsPrinter *printer, const uint8_t addr[4]);
void dns_put_ipv6(DnsPrinter *printer, const uint8_t addr[16]);
void dns_put_type(DnsPrinter *printer, uint16_t type);

/* For checked fields.  Returns false if the contents have no text form. */
bool dns_put_bitmap(DnsPrinter *printer, const DnsField *field);
bool dns_put_nxt_bitmap(DnsPrinter *printer, const DnsField *field);
bool dns_put_loc(DnsPrinter *printer, const DnsField *field);
bool dns_put_wks(DnsPrinter *printer, const DnsField *field);
bool dns_put_apl(DnsPrinter *printer, const DnsField *field);
bool dns_put_svc_params(DnsPrinter *printer, const DnsField *field);
bool dns_put_hip(DnsPrinter *printer, const DnsField *field);
bool dns_put_a6(DnsPrinter *printer, const DnsField *field);

/* --- any field of a layout ------------------------------------------------ */

/* Read it, or all fields of a repeated kind.  Returns 0 or -EINVAL. */
int dns_read_field(DnsRdataReader *reader, DnsFieldKind kind);

/* Returns false if the field has no text form. */
bool dns_put_field(DnsPrinter *printer, const DnsField *field);

/* Put RDATA as dns_rdata_to_text() prints it. */
void dns_put_rdata(DnsPrinter *printer, uint16_t type, uint16_t rrclass,
                   const uint8_t *rdata, size_t len);

#endif /* DNSD_TEXT_RDATA_INTERNAL_H */
