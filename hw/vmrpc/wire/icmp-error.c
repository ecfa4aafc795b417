/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMPv6 errors as an IPv4 socket would have them
 *
 * Theory of operation
 *
 * Linux turns an error of ICMPv6 into an errno (icmpv6_err_convert()), and one
 * of ICMP into another (icmp_err_convert[]). With the types and codes below the
 * two differ in two places only:
 *
 * - "administratively prohibited", and its two special cases, are EACCES in
 *   IPv6 and EHOSTUNREACH in IPv4. No ICMP message is EACCES there, so that a
 *   pending EACCES is known for what it was.
 * - "unknown next header" is EPROTO in IPv6, ENOPROTOOPT in IPv4. Other errors
 *   are EPROTO in both, so a pending EPROTO stays; the error queue, which has
 *   the code, says ENOPROTOOPT. Systems that have TCP and UDP do not send it.
 *
 * "No route to destination" is "network unreachable" here, and not "host
 * unreachable" as RFC 7915 has it: it is what a router says of the same in
 * IPv4, and what the errno says that is pending, ENETUNREACH.
 */
#include "hw/vmrpc/wire/icmp-error.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Destination unreachable, by its code (RFC 4443, 3.1). */
static const VmrpcIcmpError unreachable[] = {
    /* no route to destination */
    { ICMP_DEST_UNREACH, ICMP_NET_UNREACH, ENETUNREACH },
    /* administratively prohibited */
    { ICMP_DEST_UNREACH, ICMP_HOST_ANO, EHOSTUNREACH },
    /* beyond scope of source address */
    { ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, EHOSTUNREACH },
    /* address unreachable */
    { ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, EHOSTUNREACH },
    /* port unreachable */
    { ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, ECONNREFUSED },
    /* source address failed policy, and reject route: subsets of code 1 */
    { ICMP_DEST_UNREACH, ICMP_HOST_ANO, EHOSTUNREACH },
    { ICMP_DEST_UNREACH, ICMP_HOST_ANO, EHOSTUNREACH },
};

VmrpcIcmpError vmrpc_icmp_error(uint8_t type6, uint8_t code6)
{
    switch (type6) {
    case ICMP6_DST_UNREACH:
        if (code6 < COUNT(unreachable)) {
            return unreachable[code6];
        }
        break;
    case ICMP6_PACKET_TOO_BIG:
        return (VmrpcIcmpError) {
            ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, EMSGSIZE
        };
    case ICMP6_TIME_EXCEEDED:
        return (VmrpcIcmpError) { ICMP_TIME_EXCEEDED, code6, EHOSTUNREACH };
    case ICMP6_PARAM_PROB:
        if (code6 == ICMP6_PARAMPROB_NEXTHEADER) {
            return (VmrpcIcmpError) {
                ICMP_DEST_UNREACH, ICMP_PROT_UNREACH, ENOPROTOOPT
            };
        }
        break;
    }
    return (VmrpcIcmpError) { ICMP_PARAMETERPROB, 0, EPROTO };
}

int vmrpc_icmp_pending(int error)
{
    return error == EACCES ? EHOSTUNREACH : error;
}
