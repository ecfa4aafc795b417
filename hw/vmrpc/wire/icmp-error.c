/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMPv6 errors as an IPv4 socket would have them
 *
 * Theory of operation
 *
 * Linux maps an error of ICMPv6 to an errno in icmpv6_err_convert(), and one of
 * ICMP in icmp_err_convert[].  For the types and codes below, the two differ
 * in two places only:
 *
 * - "Administratively prohibited" and its two special cases are EACCES in
 *   IPv6, EHOSTUNREACH in IPv4.  No ICMP message gives EACCES in IPv4, so a
 *   pending EACCES of an IPv6 socket can only mean these.
 * - "Unknown next header" is EPROTO in IPv6, ENOPROTOOPT in IPv4.  Other errors
 *   are EPROTO in both, so a pending EPROTO stays; the error queue has the
 *   code, and reports ENOPROTOOPT.  Systems with TCP and UDP do not send it.
 *
 * "No route to destination" becomes "network unreachable" here; RFC 7915 has
 * "host unreachable".  An IPv4 router reports the same fault so, and the
 * pending errno is ENETUNREACH.
 */
#include "hw/vmrpc/wire/icmp-error.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Destination unreachable, by code (RFC 4443, 3.1) */
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
    /* source address failed policy, reject route: subsets of code 1 */
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
