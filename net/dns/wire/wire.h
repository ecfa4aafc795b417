/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS wire format: bounded parser and builder
 *
 * No function allocates memory, and none keeps state between messages.  Names
 * are uncompressed, in wire form, and keep their case.  Integers in the structs
 * are in host byte order; struct in_addr and struct in6_addr are in network
 * byte order.
 */

#ifndef NET_DNS_WIRE_WIRE_H
#define NET_DNS_WIRE_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_HEADER_LEN      12
#define DNS_MSG_MAX         65535   /* the limit of the TCP length prefix */
#define DNS_NAME_MAX        255     /* wire octets with the root, RFC 1035 */
#define DNS_LABEL_MAX       63
#define DNS_LABELS_MAX      127
#define DNS_NAME_TEXT_MAX   1024    /* every octet as \DDD, dots, NUL */
#define DNS_UDP_MIN         512     /* every client accepts this, RFC 1035 */
#define DNS_UDP_ADVERTISED  1232    /* is never fragmented: DNS flag day 2020 */
/* A question with the longest name, and an OPT without options */
#define DNS_QUERY_MAX       (DNS_HEADER_LEN + DNS_NAME_MAX + 4 + 11)

enum {
    DNS_FLAG_QR = 0x8000,
    DNS_FLAG_AA = 0x0400,
    DNS_FLAG_TC = 0x0200,
    DNS_FLAG_RD = 0x0100,
    DNS_FLAG_RA = 0x0080,
    DNS_FLAG_AD = 0x0020,
    DNS_FLAG_CD = 0x0010,
    DNS_FLAGS_OPCODE = 0x7800,
    DNS_FLAGS_RCODE = 0x000f,
};

typedef enum DnsType {
    DNS_TYPE_A = 1,
    DNS_TYPE_NS = 2,
    DNS_TYPE_CNAME = 5,
    DNS_TYPE_SOA = 6,
    DNS_TYPE_PTR = 12,
    DNS_TYPE_HINFO = 13,
    DNS_TYPE_MX = 15,
    DNS_TYPE_TXT = 16,
    DNS_TYPE_AAAA = 28,
    DNS_TYPE_SRV = 33,
    DNS_TYPE_NAPTR = 35,
    DNS_TYPE_DNAME = 39,
    DNS_TYPE_OPT = 41,
    DNS_TYPE_DS = 43,
    DNS_TYPE_SSHFP = 44,
    DNS_TYPE_RRSIG = 46,
    DNS_TYPE_NSEC = 47,
    DNS_TYPE_DNSKEY = 48,
    DNS_TYPE_NSEC3 = 50,
    DNS_TYPE_NSEC3PARAM = 51,
    DNS_TYPE_TLSA = 52,
    DNS_TYPE_SVCB = 64,
    DNS_TYPE_HTTPS = 65,
    DNS_TYPE_TKEY = 249,    /* first of the meta types, RFC 6895 */
    DNS_TYPE_TSIG = 250,
    DNS_TYPE_IXFR = 251,
    DNS_TYPE_AXFR = 252,
    DNS_TYPE_MAILA = 254,   /* last of them before ANY */
    DNS_TYPE_ANY = 255,
    DNS_TYPE_CAA = 257,
} DnsType;

enum {
    DNS_CLASS_IN = 1,
    DNS_CLASS_CH = 3,
    DNS_CLASS_NONE = 254,   /* RFC 2136 */
    DNS_CLASS_ANY = 255,
};

typedef enum DnsOpcode {
    DNS_OPCODE_QUERY = 0,
    DNS_OPCODE_NOTIFY = 4,  /* RFC 1996 */
    DNS_OPCODE_UPDATE = 5,  /* RFC 2136 */
} DnsOpcode;

typedef enum DnsRcode {
    DNS_RCODE_NOERROR = 0,
    DNS_RCODE_FORMERR = 1,
    DNS_RCODE_SERVFAIL = 2,
    DNS_RCODE_NXDOMAIN = 3,
    DNS_RCODE_NOTIMP = 4,
    DNS_RCODE_REFUSED = 5,
    DNS_RCODE_YXDOMAIN = 6,
    DNS_RCODE_YXRRSET = 7,
    DNS_RCODE_NXRRSET = 8,
    DNS_RCODE_NOTAUTH = 9,
    DNS_RCODE_NOTZONE = 10,
    DNS_RCODE_BADVERS = 16, /* extended: OPT has its upper bits */
    DNS_RCODE_BADCOOKIE = 23,
} DnsRcode;

/* Extended DNS Errors, RFC 8914 section 4 */
typedef enum DnsEde {
    DNS_EDE_OTHER = 0,
    DNS_EDE_UNSUPPORTED_DNSKEY_ALGORITHM = 1,
    DNS_EDE_UNSUPPORTED_DS_DIGEST = 2,
    DNS_EDE_STALE_ANSWER = 3,
    DNS_EDE_FORGED_ANSWER = 4,
    DNS_EDE_DNSSEC_INDETERMINATE = 5,
    DNS_EDE_DNSSEC_BOGUS = 6,
    DNS_EDE_SIGNATURE_EXPIRED = 7,
    DNS_EDE_SIGNATURE_NOT_YET_VALID = 8,
    DNS_EDE_DNSKEY_MISSING = 9,
    DNS_EDE_RRSIGS_MISSING = 10,
    DNS_EDE_NO_ZONE_KEY_BIT = 11,
    DNS_EDE_NSEC_MISSING = 12,
    DNS_EDE_CACHED_ERROR = 13,
    DNS_EDE_NOT_READY = 14,
    DNS_EDE_BLOCKED = 15,
    DNS_EDE_PROHIBITED = 18,
    DNS_EDE_NOT_AUTHORITATIVE = 20,
    DNS_EDE_NOT_SUPPORTED = 21,
    DNS_EDE_NO_REACHABLE_AUTHORITY = 22,
    DNS_EDE_NETWORK_ERROR = 23,
    DNS_EDE_INVALID_DATA = 24,
} DnsEde;

/* EDNS options */
enum {
    DNS_OPTION_NSID = 3,        /* RFC 5001 */
    DNS_OPTION_COOKIE = 10,     /* RFC 7873 */
    DNS_OPTION_KEEPALIVE = 11,  /* RFC 7828 */
    DNS_OPTION_PADDING = 12,    /* RFC 7830 */
    DNS_OPTION_EDE = 15,        /* RFC 8914 */
};

typedef enum DnsSection {
    DNS_SECTION_ANSWER,
    DNS_SECTION_AUTHORITY,
    DNS_SECTION_ADDITIONAL,
} DnsSection;

/* A whole name, uncompressed, root included: wire[len - 1] is 0 */
typedef struct DnsName {
    uint8_t len;
    uint8_t labels;         /* without the root */
    uint8_t wire[DNS_NAME_MAX];
} DnsName;

typedef struct DnsHeader {
    uint16_t id;
    uint16_t flags;
    uint16_t qdcount;
    uint16_t ancount;
    uint16_t nscount;
    uint16_t arcount;
} DnsHeader;

typedef struct DnsQuestion {
    DnsName name;
    uint16_t type;
    uint16_t qclass;
} DnsQuestion;

typedef struct DnsRr {
    DnsName name;
    DnsSection section;
    uint16_t type;
    uint16_t rrclass;
    uint32_t ttl;           /* 0 if bit 31 was set, RFC 2181 section 8 */
    uint32_t raw_ttl;       /* as on the wire; the flags of an OPT */
    uint16_t rdlength;
    size_t start;           /* offset of the owner name in the message */
    size_t rdata;           /* offset of RDATA in the message */
} DnsRr;

typedef struct DnsSoa {
    DnsName mname;
    DnsName rname;
    uint32_t serial;
    uint32_t refresh;
    uint32_t retry;
    uint32_t expire;
    uint32_t minimum;
} DnsSoa;

/* The SvcParams of a SVCB or HTTPS record that are not read yet */
typedef struct DnsSvcParams {
    const uint8_t *next;
    size_t left;
} DnsSvcParams;

enum {
    DNS_SVCB_MANDATORY = 0,
    DNS_SVCB_IPV4HINT = 4,
    DNS_SVCB_ECH = 5,       /* RFC 9848 */
    DNS_SVCB_IPV6HINT = 6,
};

/* The OPT pseudo record, RFC 6891, and its Extended DNS Error, RFC 8914 */
typedef struct DnsEdns {
    uint16_t udp_size;      /* as sent: may be below DNS_UDP_MIN */
    uint8_t rcode_high;     /* upper 8 bits of the 12-bit RCODE */
    uint8_t version;
    bool dnssec_ok;
    bool has_ede;
    uint16_t ede;
    uint8_t ede_text_len;
    const char *ede_text;   /* EXTRA-TEXT, in the message: no NUL ends it */
} DnsEdns;

/* The position of the next record.  The message must outlive the cursor. */
typedef struct DnsCursor {
    const uint8_t *msg;
    size_t len;
    size_t offset;
    uint16_t left[4];       /* unread: questions, then each DnsSection */
} DnsCursor;

/*** Names ***/

/*
 * Read the name at *offset of a message, and follow compression pointers.
 *
 * The target of a pointer must end before the part of the name that the pointer
 * ends (RFC 1035 section 4.1.4: "a prior occurrence"), and must not be in the
 * header.  So a loop is impossible.  A name may have one pointer for each label
 * and one for the root; more pointers are useless and an error.
 *
 * On success *offset is behind the name at its original place.  Returns 0; or
 * -EBADMSG, and then only *name may have changed.
 */
int dns_name_parse(const uint8_t *msg, size_t len, size_t *offset,
                   DnsName *name);

/*
 * Convert from presentation form: "www.example.com".  The final dot is
 * optional, "." is the root; \X and \DDD are escapes.  Returns 0 or -EINVAL.
 */
int dns_name_from_text(DnsName *name, const char *text);

/*
 * Convert to presentation form without the final dot; the root is ".".  Octets
 * that are not graphic ASCII become \DDD, so the text is safe to log.
 */
void dns_name_to_text(const DnsName *name, char text[DNS_NAME_TEXT_MAX]);

/* Are two names equal?  The case of ASCII letters is ignored, RFC 4343. */
bool dns_name_equal(const DnsName *a, const DnsName *b);

/* Is this name the apex of the zone, or below it? */
bool dns_name_within(const DnsName *name, const DnsName *zone);

/* The name 4.3.2.1.in-addr.arpa for 1.2.3.4 (RFC 1035 section 3.5) */
void dns_name_from_in_addr(DnsName *name, struct in_addr addr);

/* The address of a host's name in in-addr.arpa; false for other names. */
bool dns_name_to_in_addr(const DnsName *name, struct in_addr *addr);

/*
 * The prefix of a name in in-addr.arpa: 0, 8, 16, 24 or 32 bits, and zeros
 * behind them.  False for other names.
 */
bool dns_name_to_in_prefix(const DnsName *name, struct in_addr *addr,
                           unsigned *bits);

/* The name of 32 nibbles under ip6.arpa (RFC 3596 section 2.5) */
void dns_name_from_in6_addr(DnsName *name, const struct in6_addr *addr);

/*** Parser ***/

/*
 * Read the header.  Returns 0, or -EBADMSG if the message is too short for one.
 */
int dns_header_parse(const uint8_t *msg, size_t len, DnsHeader *header);

/*
 * Start at the first question.  Returns 0, or -EBADMSG as dns_header_parse().
 */
int dns_cursor_init(DnsCursor *cursor, const uint8_t *msg, size_t len);

/* Read the next question.  Returns 1, 0 behind the last one, or -EBADMSG. */
int dns_cursor_question(DnsCursor *cursor, DnsQuestion *question);

/*
 * Read the next record of any section, and skip questions that were not read.
 * Returns 1, 0 behind the last record, or -EBADMSG.  RDATA is within the
 * message; names in it are not checked.  Octets behind the last record are
 * ignored.
 */
int dns_cursor_rr(DnsCursor *cursor, DnsRr *rr);

/*
 * Read the RDATA of a record that dns_cursor_rr() read from the same message.
 *
 * The caller has checked rr->type.  Returns 0, or -EBADMSG if RDATA does not
 * have exactly the shape of that type.
 */
int dns_rdata_a(const DnsCursor *cursor, const DnsRr *rr,
                struct in_addr *addr);
int dns_rdata_aaaa(const DnsCursor *cursor, const DnsRr *rr,
                   struct in6_addr *addr);
/* CNAME, DNAME, NS, PTR */
int dns_rdata_name(const DnsCursor *cursor, const DnsRr *rr, DnsName *name);
int dns_rdata_soa(const DnsCursor *cursor, const DnsRr *rr, DnsSoa *soa);
/*
 * SVCB and HTTPS (RFC 9460 section 2.2): dns_rdata_svcb() begins at the first
 * SvcParam, dns_svcb_param() reads the next one.  The latter returns 1, 0
 * behind the last one, or -EBADMSG.  The value, of *len octets, is in the
 * message.
 */
int dns_rdata_svcb(const DnsCursor *cursor, const DnsRr *rr,
                   DnsSvcParams *params);
int dns_svcb_param(DnsSvcParams *params, uint16_t *key, const uint8_t **value,
                   size_t *len);
/* Also -EBADMSG if the owner is not the root or the section is wrong. */
int dns_rdata_edns(const DnsCursor *cursor, const DnsRr *rr, DnsEdns *edns);

/*** Builder ***/

/*
 * Names are compressed against the names before them (RFC 1035 section 4.1.4).
 * The builder remembers this many suffixes.
 */
#define DNS_BUILDER_SUFFIXES 48

typedef struct DnsBuilder {
    uint8_t *buf;
    size_t size;
    size_t len;             /* octets of the message so far */
    size_t question_end;
    bool keeps_case;        /* see dns_builder_keep_case() */
    size_t suffixes;
    struct {
        uint16_t offset;
        uint8_t len;        /* uncompressed */
    } suffix[DNS_BUILDER_SUFFIXES];
} DnsBuilder;

/*
 * Begin a message in buf.  @size bounds the message: DNS_HEADER_LEN to
 * DNS_MSG_MAX octets.  @flags: DNS_FLAG_*, opcode and RCODE.
 */
void dns_builder_init(DnsBuilder *b, uint8_t *buf, size_t size, uint16_t id,
                      uint16_t flags);

/*
 * From here on, compress a name only against names in the same case, so that
 * its case is kept.  Zone transfers need this (RFC 5936 section 3.4).
 */
void dns_builder_keep_case(DnsBuilder *b);

/*
 * Each function appends one record.  Sections must be in their order.  Returns
 * 0; or -EMSGSIZE, and the message is as it was before the call.
 */
int dns_builder_question(DnsBuilder *b, const DnsQuestion *question);
int dns_builder_a(DnsBuilder *b, DnsSection section, const DnsName *owner,
                  uint32_t ttl, struct in_addr addr);
int dns_builder_aaaa(DnsBuilder *b, DnsSection section, const DnsName *owner,
                     uint32_t ttl, const struct in6_addr *addr);
/* CNAME, NS, PTR: the types whose RDATA is one compressible name */
int dns_builder_name(DnsBuilder *b, DnsSection section, const DnsName *owner,
                     DnsType type, uint32_t ttl, const DnsName *target);
int dns_builder_soa(DnsBuilder *b, DnsSection section, const DnsName *owner,
                    uint32_t ttl, const DnsSoa *soa);
/* For RDATA without compressible names */
int dns_builder_raw(DnsBuilder *b, DnsSection section, const DnsName *owner,
                    uint16_t type, uint16_t rrclass, uint32_t ttl,
                    const void *rdata, uint16_t rdlength);
/* OPT, with the Extended DNS Error if edns->has_ede */
int dns_builder_edns(DnsBuilder *b, const DnsEdns *edns);

/*
 * Copy the records of a message whose question is as long as the one just
 * written, so that the offsets of its names stay valid.  Copies the octets from
 * behind the question up to @len, where the additional section begins, and the
 * other counts.  Only dns_builder_edns() may follow.  Returns 0; or -EMSGSIZE,
 * and then the first records are copied, as many as fit whole.
 */
int dns_builder_adopt(DnsBuilder *b, const uint8_t *msg, size_t len);

/* Set TC: there are more records than the message has (RFC 2181 section 9). */
void dns_builder_truncate(DnsBuilder *b);

/*
 * Build a recursive query with id 0 and with an OPT of DNS_UDP_ADVERTISED as
 * its last record.  @flags: DNS_FLAG_RD, _CD, _AD.  Returns its length.
 */
size_t dns_query_build(uint8_t buf[DNS_QUERY_MAX],
                       const DnsQuestion *question, uint16_t flags,
                       bool dnssec_ok);

/* Overwrite the id of a message of at least DNS_HEADER_LEN octets */
void dns_msg_set_id(uint8_t *msg, uint16_t id);

#endif /* NET_DNS_WIRE_WIRE_H */
