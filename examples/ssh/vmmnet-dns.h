/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups of OpenSSH with libvmmnet-dns: called by ssh.c and dns.c */
#ifndef SSH_VMMNET_DNS_H
#define SSH_VMMNET_DNS_H

#include <netdb.h>

struct rrsetinfo;

/*
 * getaddrinfo() for a host name, with a validated answer.  Answers without
 * signatures are accepted; a signed answer that is invalid is EAI_FAIL, and the
 * log has the reason.  The result must be freed with freeaddrinfo().
 */
int vmmnet_ssh_addresses(const char *name, const char *port,
    const struct addrinfo *hints, struct addrinfo **res);

/*
 * getrrsetbyname() with RRSET_VALIDATED from signatures that were checked in
 * this process.  The result must be freed with vmmnet_ssh_free_rrset().
 */
int vmmnet_ssh_rrset(const char *name, unsigned int rdclass,
    unsigned int rdtype, unsigned int flags, struct rrsetinfo **res);
void vmmnet_ssh_free_rrset(struct rrsetinfo *rrset);

/*
 * dns.c frees a result in places that differ between releases of OpenSSH, so
 * its calls have the names of OpenSSH.
 */
#define getrrsetbyname	vmmnet_ssh_rrset
#define freerrset	vmmnet_ssh_free_rrset

#endif /* SSH_VMMNET_DNS_H */
