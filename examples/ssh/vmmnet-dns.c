/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-ups of OpenSSH with libvmmnet-dns
 *
 * Theory of operation: each look-up of ssh uses a context of the library until
 * the answer is complete.  A and AAAA are queried at the same time; a server
 * that ignores one of them costs the resolution delay, 50 ms.  The result of
 * the validation comes with the answer, so ssh stops at a forged answer before
 * it sends a packet to the address.
 */
#include "includes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <vmmnet/dns.h>

#include "log.h"
#include "openbsd-compat/getrrsetbyname.h"
#include "vmmnet-dns.h"

/* A look-up in progress */
struct lookup {
	VmmnetDns *dns;
	int done;
	int error;			/* EAI_... or ERRSET_... */
	const char *port;
	const struct addrinfo *hints;
	struct addrinfo *addrs;
	char *canonical;
	struct rrsetinfo *rrset;
};

/* --- a look-up ----------------------------------------------------------- */

static VmmnetDns *
begin(void)
{
	VmmnetDnsOptions options = {
		.size = sizeof(options), .flags = VMMNET_DNS_VALIDATE,
	};
	const char *mistake;
	VmmnetDns *dns = vmmnet_dns_new(&options, &mistake);

	if (dns == NULL)
		error("libvmmnet-dns: %s", mistake);
	return dns;
}

static void
await(struct lookup *l)
{
	while (!l->done) {
		struct pollfd p = { vmmnet_dns_fd(l->dns), POLLIN, 0 };

		if (poll(&p, 1, vmmnet_dns_timeout_ms(l->dns)) == -1 &&
		    errno != EINTR)
			fatal("poll: %s", strerror(errno));
		vmmnet_dns_process(l->dns);
	}
	vmmnet_dns_free(l->dns);
}

static void
tell_bogus(const VmmnetDnsAnswer *answer)
{
	if (answer->error == VMMNET_DNS_BOGUS)
		error("The answer for %s is forged or wrongly signed: %s",
		    answer->name, answer->reason);
}

/* --- addresses ------------------------------------------------------------ */

/* Allocated by libc, so that freeaddrinfo() can free the whole list. */
static struct addrinfo *
make_node(const struct lookup *l, const VmmnetDnsAddress *addr)
{
	struct addrinfo hints = *l->hints, *node;
	char text[NI_MAXHOST];

	hints.ai_flags = AI_NUMERICHOST;
	if (getnameinfo(&addr->sa, addr->len, text, sizeof(text), NULL, 0,
	    NI_NUMERICHOST) != 0 ||
	    getaddrinfo(text, l->port, &hints, &node) != 0)
		return NULL;
	return node;
}

static int
eai_of(const VmmnetDnsAnswer *answer)
{
	switch (answer->error) {
	case VMMNET_DNS_OK:
		return 0;
	case VMMNET_DNS_NO_NAME:
	case VMMNET_DNS_NO_DATA:
		return EAI_NONAME;
	case VMMNET_DNS_TIMEOUT:
	case VMMNET_DNS_UNREACHABLE:
		return EAI_AGAIN;
	case VMMNET_DNS_RESOURCES:
		return EAI_MEMORY;
	default:
		return EAI_FAIL;
	}
}

static void
take_addresses(void *opaque, const VmmnetDnsAnswer *answer)
{
	struct lookup *l = opaque;
	struct addrinfo **end = &l->addrs;

	tell_bogus(answer);
	debug("%s: %zu addresses, %s%s", answer->name, answer->count,
	    vmmnet_dns_security_text(answer->security),
	    answer->more ? ", without waiting for the other family" : "");
	l->done = 1;
	l->error = eai_of(answer);
	for (size_t i = 0; i < answer->count; i++) {
		*end = make_node(l, &answer->addresses[i]);
		if (*end != NULL)
			end = &(*end)->ai_next;
	}
	if (l->addrs != NULL && (l->hints->ai_flags & AI_CANONNAME))
		l->addrs->ai_canonname = strdup(answer->canonical);
	else if (l->error == 0 && l->addrs == NULL)
		l->error = EAI_MEMORY;
}

int
vmmnet_ssh_addresses(const char *name, const char *port,
    const struct addrinfo *hints, struct addrinfo **res)
{
	struct lookup l = { .port = port, .hints = hints };

	if ((l.dns = begin()) == NULL)
		return EAI_FAIL;
	if (vmmnet_dns_addresses(l.dns, name, hints->ai_family,
	    VMMNET_DNS_ONCE, take_addresses, &l) == 0) {
		vmmnet_dns_free(l.dns);
		return EAI_NONAME;
	}
	await(&l);
	*res = l.addrs;
	return l.error;
}

/* --- records -------------------------------------------------------------- */

static int
errset_of(const VmmnetDnsAnswer *answer)
{
	switch (answer->error) {
	case VMMNET_DNS_OK:
		return ERRSET_SUCCESS;
	case VMMNET_DNS_NO_NAME:
		return ERRSET_NONAME;
	case VMMNET_DNS_NO_DATA:
		return ERRSET_NODATA;
	case VMMNET_DNS_RESOURCES:
		return ERRSET_NOMEMORY;
	default:
		return ERRSET_FAIL;
	}
}

static struct rrsetinfo *
copy_rrset(const VmmnetDnsAnswer *answer)
{
	struct rrsetinfo *rrset = calloc(1, sizeof(*rrset));

	if (rrset == NULL)
		return NULL;
	rrset->rri_ttl = answer->ttl;
	rrset->rri_rdatas = calloc(answer->count, sizeof(*rrset->rri_rdatas));
	if (answer->security == VMMNET_DNS_SECURE)
		rrset->rri_flags = RRSET_VALIDATED;
	for (size_t i = 0; rrset->rri_rdatas != NULL && i < answer->count;
	    i++) {
		const VmmnetDnsRecord *record = &answer->records[i];
		struct rdatainfo *rdata = &rrset->rri_rdatas[i];

		rdata->rdi_data = malloc(record->len);
		if (rdata->rdi_data == NULL)
			break;
		memcpy(rdata->rdi_data, record->rdata, record->len);
		rdata->rdi_length = record->len;
		rrset->rri_nrdatas++;
	}
	return rrset;
}

static void
take_records(void *opaque, const VmmnetDnsAnswer *answer)
{
	struct lookup *l = opaque;

	tell_bogus(answer);
	l->done = 1;
	l->error = errset_of(answer);
	if (l->error == ERRSET_SUCCESS) {
		l->rrset = copy_rrset(answer);
		if (l->rrset == NULL)
			l->error = ERRSET_NOMEMORY;
	}
}

int
vmmnet_ssh_rrset(const char *name, unsigned int rdclass, unsigned int rdtype,
    unsigned int flags, struct rrsetinfo **res)
{
	struct lookup l = { 0 };

	if ((l.dns = begin()) == NULL)
		return ERRSET_FAIL;
	if (vmmnet_dns_records(l.dns, name, rdtype, 0, take_records,
	    &l) == 0) {
		vmmnet_dns_free(l.dns);
		return ERRSET_INVAL;
	}
	await(&l);
	*res = l.rrset;
	return l.error;
}

void
vmmnet_ssh_free_rrset(struct rrsetinfo *rrset)
{
	for (unsigned int i = 0; i < rrset->rri_nrdatas; i++)
		free(rrset->rri_rdatas[i].rdi_data);
	free(rrset->rri_rdatas);
	free(rrset);
}
