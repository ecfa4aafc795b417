/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of an OPT record, RFC 6891 section 6.1.2
 *
 * To read, begin with query->options and query->options_len.  To write, append
 * to a reply whose last record is OPT: the RDLENGTH of OPT grows.
 */
#ifndef NET_DNS_ANSWER_EDNS_H
#define NET_DNS_ANSWER_EDNS_H

#include "net/dns/wire/wire.h"

#define DNS_OPT_LEN             11  /* of OPT without options */
#define DNS_OPTION_HEAD         4   /* code and length */
#define DNS_OPTION_EDE_LEN      (DNS_OPTION_HEAD + 2)   /* without text */
#define DNS_OPTION_COOKIE_MAX   (DNS_OPTION_HEAD + 40)
#define DNS_OPTION_KEEPALIVE_LEN (DNS_OPTION_HEAD + 2)

typedef struct DnsOption {
    uint16_t code;              /* DNS_OPTION_... */
    uint16_t len;
    const uint8_t *data;
} DnsOption;

/* The options that are not read yet */
typedef struct DnsOptions {
    const uint8_t *next;
    size_t left;
} DnsOptions;

/**
 * dns_edns_next: read the next option
 *
 * Returns: 1; 0 behind the last one; -EBADMSG if it exceeds the list.
 * dns_query_read() refuses a query with such a list.
 */
int dns_edns_next(DnsOptions *options, DnsOption *option);

/**
 * dns_edns_find: find the first option with a code
 *
 * Returns: false if there is none.
 */
bool dns_edns_find(const uint8_t *options, size_t len, uint16_t code,
                   DnsOption *option);

/**
 * dns_edns_put_opt: write OPT without options
 * @to: DNS_OPT_LEN octets; the caller counts the record in ARCOUNT
 * @rcode: all 12 bits; OPT has the upper 8
 */
void dns_edns_put_opt(uint8_t *to, uint16_t udp_size, uint16_t rcode,
                      bool dnssec_ok);

/**
 * dns_edns_append: append an option to the OPT that ends a message
 * @len: octets of the message
 * @room: octets of the buffer
 * @opt_at: offset of OPT: info->opt_at of dns_answer(), not 0
 *
 * Returns: the new length of the message; the old one if there is no room.
 */
size_t dns_edns_append(uint8_t *message, size_t len, size_t room,
                       size_t opt_at, uint16_t code, const void *data,
                       uint16_t data_len);

/** dns_edns_append_ede: append an Extended DNS Error without text, RFC 8914 */
size_t dns_edns_append_ede(uint8_t *message, size_t len, size_t room,
                           size_t opt_at, DnsEde ede);

/**
 * dns_edns_append_keepalive: append edns-tcp-keepalive, RFC 7828; TCP only
 * @timeout: in units of 100 ms
 */
size_t dns_edns_append_keepalive(uint8_t *message, size_t len, size_t room,
                                 size_t opt_at, uint16_t timeout);

/**
 * dns_edns_keepalive_is_right: check the option of a query, RFC 7828 section
 * 3.2.1
 *
 * Returns: false if the option has data, which only a reply may have.
 */
bool dns_edns_keepalive_is_right(const DnsOption *option);

#endif /* NET_DNS_ANSWER_EDNS_H */
