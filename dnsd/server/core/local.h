/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does this host have an address?  A question for the kernel's routes, whose
 * answer also knows of duplicate address detection, and of local prefixes
 */
#ifndef DNSD_SERVER_CORE_LOCAL_H
#define DNSD_SERVER_CORE_LOCAL_H

#include <sys/socket.h>

#include "base/rtnl.h"

typedef enum DnsdLocal {
    DNSD_LOCAL_UNKNOWN,         /* no answer, or none of these */
    DNSD_LOCAL_NO,
    DNSD_LOCAL_YES,
} DnsdLocal;

/**
 * dnsd_local_ask: make a question
 * @addr: of IPv4 or IPv6
 * @link: index of a VRF, or of the interface of a link-local address; 0: none
 */
void dnsd_local_ask(RtnlRequest *question, const struct sockaddr_storage *addr,
                    unsigned link);

/**
 * dnsd_local_hear: what the kernel's answer says
 * @error: what rtnl_ask() has returned
 * @answer: if that is 0
 */
DnsdLocal dnsd_local_hear(int error, const struct nlmsghdr *answer);

#endif /* DNSD_SERVER_CORE_LOCAL_H */
