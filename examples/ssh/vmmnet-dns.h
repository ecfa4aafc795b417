/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenSSH's names by libvmmnet-dns: what ssh.c and dns.c call */
#ifndef SSH_VMMNET_DNS_H
#define SSH_VMMNET_DNS_H

#include <netdb.h>

struct rrsetinfo;

/*
 * getaddrinfo() for a host name, whose answer is validated.  What is not
 * signed is taken as ever; what is signed and wrong is EAI_FAIL, and the log
 * says why.  The result is for freeaddrinfo().
 */
int vmmnet_ssh_addresses(const char *name, const char *port,
    const struct addrinfo *hints, struct addrinfo **res);

/*
 * getrrsetbyname() with RRSET_VALIDATED from signatures that were checked
 * here.  The result is for vmmnet_ssh_free_rrset().
 */
int vmmnet_ssh_rrset(const char *name, unsigned int rdclass,
    unsigned int rdtype, unsigned int flags, struct rrsetinfo **res);
void vmmnet_ssh_free_rrset(struct rrsetinfo *rrset);

#endif /* SSH_VMMNET_DNS_H */
