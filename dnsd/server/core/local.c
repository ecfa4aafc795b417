/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does this host have an address? */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "dnsd/server/core/local.h"

void dnsd_local_ask(RtnlRequest *question, const struct sockaddr_storage *addr,
                    unsigned link)
{
    const struct sockaddr_in *four = (const void *)addr;
    const struct sockaddr_in6 *six = (const void *)addr;
    bool is_four = addr->ss_family == AF_INET;
    size_t len = is_four ? sizeof(four->sin_addr) : sizeof(six->sin6_addr);
    const struct rtmsg msg = {
        .rtm_family = addr->ss_family, .rtm_dst_len = 8 * len,
    };

    rtnl_request(question, RTM_GETROUTE, 0, &msg, sizeof(msg));
    rtnl_put(question, RTA_DST, is_four ? (const void *)&four->sin_addr
                                        : &six->sin6_addr, len);
    if (link) {
        rtnl_put(question, RTA_OIF, &link, sizeof(link));
    }
}

/* No route, or one of type unreachable, prohibit or blackhole */
static DnsdLocal of_error(int error)
{
    return error == -ENETUNREACH || error == -EHOSTUNREACH ||
           error == -EACCES || error == -EINVAL
           ? DNSD_LOCAL_NO : DNSD_LOCAL_UNKNOWN;
}

static DnsdLocal of_type(unsigned type)
{
    return type == RTN_UNICAST || type == RTN_UNREACHABLE ||
           type == RTN_BLACKHOLE || type == RTN_PROHIBIT
           ? DNSD_LOCAL_NO : DNSD_LOCAL_YES;
}

DnsdLocal dnsd_local_hear(int error, const struct nlmsghdr *answer)
{
    return error ? of_error(error)
                 : of_type(((const struct rtmsg *)NLMSG_DATA(answer))->rtm_type);
}
