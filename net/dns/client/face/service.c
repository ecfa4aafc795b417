/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service argument of getaddrinfo()
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/dns/client/config/number.h"
#include "net/dns/client/face/service.h"

/* The same table as in the C library: the first row that fits is used. */
static const struct {
    DnscService as;
    bool unasked;               /* also used if no type was asked for */
    const char *name;           /* in services(5); NULL: no ports */
} kinds[] = {
    { { SOCK_STREAM, IPPROTO_TCP, 0 }, true, "tcp" },
    { { SOCK_DGRAM, IPPROTO_UDP, 0 }, true, "udp" },
    { { SOCK_DCCP, IPPROTO_DCCP, 0 }, false, "dccp" },
    { { SOCK_DGRAM, IPPROTO_UDPLITE, 0 }, false, "udplite" },
    { { SOCK_STREAM, IPPROTO_SCTP, 0 }, false, "sctp" },
    { { SOCK_SEQPACKET, IPPROTO_SCTP, 0 }, false, "sctp" },
    { { SOCK_RAW, 0, 0 }, true, NULL },
};

static bool by_name(const char *service, const char *protocol, in_port_t *port)
{
    struct servent entry, *found = NULL;
    char buffer[2048];

    if (!protocol || getservbyname_r(service, protocol, &entry, buffer,
                                     sizeof(buffer), &found) || !found) {
        return false;
    }
    *port = found->s_port;
    return true;
}

int dnsc_services(const char *service, const struct addrinfo *hints,
                  DnscService found[DNSC_SERVICES_MAX])
{
    bool asked = hints->ai_socktype || hints->ai_protocol;
    bool numeric, kind = false;
    unsigned long number = 0;
    int count = 0;
    size_t i;

    numeric = !service || dnsc_number_parse(service, UINT16_MAX, &number);
    if (!numeric && hints->ai_flags & AI_NUMERICSERV) {
        return EAI_NONAME;
    }
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !(asked && kind);
         i++) {
        DnscService s = kinds[i].as;
        in_port_t port = htons(number);

        if ((hints->ai_socktype && hints->ai_socktype != s.socktype) ||
            (hints->ai_protocol && s.protocol &&
             hints->ai_protocol != s.protocol) ||
            (!asked && !kinds[i].unasked)) {
            continue;
        }
        kind = true;
        if ((!numeric && !by_name(service, kinds[i].name, &port)) ||
            (asked && service && !kinds[i].name)) {
            continue;
        }
        s.port = port;
        s.protocol = s.protocol ? s.protocol : hints->ai_protocol;
        found[count++] = s;
    }
    return count ? count : kind ? EAI_SERVICE : EAI_SOCKTYPE;
}
