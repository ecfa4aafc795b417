/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of an OPT record, RFC 6891 */
#include <errno.h>
#include <string.h>

#include "net/dns/answer/edns.h"
#include "base/octets.h"

#define OPT_CLASS       3       /* offsets in OPT with the root as owner */
#define OPT_RCODE_HIGH  5
#define OPT_VERSION     6
#define OPT_FLAGS       7
#define OPT_RDLENGTH    9
#define OPT_DNSSEC_OK   0x8000

int dns_edns_next(DnsOptions *options, DnsOption *option)
{
    if (!options->left) {
        return 0;
    }
    if (options->left < DNS_OPTION_HEAD) {
        return -EBADMSG;
    }
    *option = (DnsOption) {
        .code = get_be16(options->next),
        .len = get_be16(options->next + 2),
        .data = options->next + DNS_OPTION_HEAD,
    };
    if (options->left - DNS_OPTION_HEAD < option->len) {
        return -EBADMSG;
    }
    options->next += DNS_OPTION_HEAD + option->len;
    options->left -= DNS_OPTION_HEAD + option->len;
    return 1;
}

bool dns_edns_find(const uint8_t *options, size_t len, uint16_t code,
                   DnsOption *option)
{
    DnsOptions rest = { options, len };

    while (dns_edns_next(&rest, option) > 0) {
        if (option->code == code) {
            return true;
        }
    }
    return false;
}

void dns_edns_put_opt(uint8_t *to, uint16_t udp_size, uint16_t rcode,
                      bool dnssec_ok)
{
    to[0] = 0;
    put_be16(to + 1, DNS_TYPE_OPT);
    put_be16(to + OPT_CLASS, udp_size);
    to[OPT_RCODE_HIGH] = rcode >> 4;
    to[OPT_VERSION] = 0;
    put_be16(to + OPT_FLAGS, dnssec_ok ? OPT_DNSSEC_OK : 0);
    put_be16(to + OPT_RDLENGTH, 0);
}

size_t dns_edns_append(uint8_t *message, size_t len, size_t room,
                       size_t opt_at, uint16_t code, const void *data,
                       uint16_t data_len)
{
    size_t rdlength = len - opt_at - DNS_OPT_LEN + DNS_OPTION_HEAD + data_len;
    uint8_t *to = message + len;

    if (room < len || room - len < (size_t)DNS_OPTION_HEAD + data_len ||
        rdlength > UINT16_MAX) {
        return len;
    }
    put_be16(to, code);
    put_be16(to + 2, data_len);
    if (data_len) {
        memcpy(to + DNS_OPTION_HEAD, data, data_len);
    }
    put_be16(message + opt_at + OPT_RDLENGTH, rdlength);
    return len + DNS_OPTION_HEAD + data_len;
}

static size_t append_number(uint8_t *message, size_t len, size_t room,
                            size_t opt_at, uint16_t code, uint16_t number)
{
    uint8_t data[2];

    put_be16(data, number);
    return dns_edns_append(message, len, room, opt_at, code, data,
                           sizeof(data));
}

size_t dns_edns_append_ede(uint8_t *message, size_t len, size_t room,
                           size_t opt_at, DnsEde ede)
{
    return append_number(message, len, room, opt_at, DNS_OPTION_EDE, ede);
}

size_t dns_edns_append_keepalive(uint8_t *message, size_t len, size_t room,
                                 size_t opt_at, uint16_t timeout)
{
    return append_number(message, len, room, opt_at, DNS_OPTION_KEEPALIVE,
                         timeout);
}

bool dns_edns_keepalive_is_right(const DnsOption *option)
{
    return option->len == 0;
}
