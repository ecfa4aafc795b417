/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvmmnet-dns: name look-ups that do not wait for servers that do not answer,
 * and that can be validated with DNSSEC
 *
 * The library has two interfaces.  The asynchronous one is a context with one
 * file descriptor to poll and a timeout; results are delivered by callback:
 *
 *     VmmnetDns *dns = vmmnet_dns_new(NULL, NULL);
 *     vmmnet_dns_addresses(dns, "www.example.net", AF_UNSPEC, 0, told, me);
 *     for (;;) {
 *         struct pollfd p = { vmmnet_dns_fd(dns), POLLIN };
 *
 *         poll(&p, 1, vmmnet_dns_timeout_ms(dns));
 *         vmmnet_dns_process(dns);
 *     }
 *
 * The blocking one is vmmnet_getaddrinfo(), at the end of this file.
 *
 * A context and all that belongs to it may be used by one thread at a time; the
 * blocking interface may be used by any number of threads.  The library starts
 * no thread, handles no signal and changes no setting of the process.  A
 * context does not survive fork(): in the child only vmmnet_dns_free() is
 * allowed.  The blocking interface has no such limit.
 *
 * Addresses and ports in struct sockaddr are in network byte order, all other
 * integers in host byte order.  Names are text: UTF-8 is not converted, and
 * octets that are not graphic ASCII are escaped as in RFC 1035 section 5.1.
 */

#ifndef VMMNET_DNS_H
#define VMMNET_DNS_H

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/*** Context ***/

typedef struct VmmnetDns VmmnetDns;

/* Flags of a context */
enum {
    /*
     * Check the DNSSEC signatures of all answers in this process, with
     * libunbound.  The servers must pass on signatures; DNSSEC-aware resolvers
     * do.
     */
    VMMNET_DNS_VALIDATE = 1 << 0,
    /* Use random case in queries, and require the same case in replies */
    VMMNET_DNS_RANDOM_CASE = 1 << 1,
    /*
     * If no server answers, use cached data that has expired at most a day ago;
     * RFC 8767.  The answer is marked as stale.
     */
    VMMNET_DNS_SERVE_STALE = 1 << 2,
    /* Use no cache */
    VMMNET_DNS_NO_CACHE = 1 << 3,
};

/*
 * 0 or NULL in a member selects the default.  size is sizeof(VmmnetDnsOptions),
 * so the library also accepts the shorter struct of programs that were built
 * with an older version.
 */
typedef struct VmmnetDnsOptions {
    size_t size;
    unsigned flags;             /* VMMNET_DNS_… */
    /*
     * Servers to ask: "ADDR" or "ADDR@PORT", where ADDR is an IPv4 or IPv6
     * address; IPv6 may have a scope ("fe80::1%eth0"), whose interface may come
     * later and be made again.  The array has at most 8 entries, then NULL.
     * Default (NULL): the servers of resolv_conf.
     */
    const char *const *servers;
    /*
     * Files that are read, and read again when they change.  Default:
     * /etc/resolv.conf and /etc/hosts; "" for none.
     */
    const char *resolv_conf;
    const char *hosts;
    /*
     * Trust anchors for VMMNET_DNS_VALIDATE: a file with DS or DNSKEY records.
     * Default: /usr/share/dns/root.key from Debian's package dns-root-data.
     */
    const char *trust_anchor;
    unsigned timeout_ms;        /* of one try; default: resolv_conf's, or 5 s */
    unsigned attempts;          /* rounds; default: resolv_conf's, or 2 */
    /* default 49: a callback within 50, RFC 8305 */
    unsigned resolution_delay_ms;
    unsigned cache_entries;     /* default 256; 65536 at most */
    /*
     * Names below which VMMNET_DNS_VALIDATE does not validate: answers are
     * VMMNET_DNS_INDETERMINATE.  At most 64 entries, then NULL.  "." is wrong:
     * without VMMNET_DNS_VALIDATE nothing is validated.
     */
    const char *const *insecure;
} VmmnetDnsOptions;

/*
 * options may be NULL, for all defaults; it is not used after the call.  On
 * failure returns NULL and sets errno, and *mistake if mistake is not NULL: a
 * text that names the option, its value and the valid values (a constant, or a
 * buffer of this thread that is valid until its next call).  errno is EINVAL
 * for a wrong value, ENOENT if there is no trust anchor, ENOSYS if libunbound
 * is not installed, or ENOMEM, EMFILE, ENFILE.  A missing resolv_conf is not an
 * error: as in resolv.conf(5), the server is then on this host.
 */
VmmnetDns *vmmnet_dns_new(const VmmnetDnsOptions *options,
                          const char **mistake);

/* Ends all look-ups without callbacks.  Must not be called from a callback. */
void vmmnet_dns_free(VmmnetDns *dns);

/*
 * Returns the file descriptor of a context, which never changes: it is readable
 * when vmmnet_dns_process() has work.  Only wait for it, with poll(), epoll or
 * an event loop.
 */
int vmmnet_dns_fd(const VmmnetDns *dns);

/*
 * Returns the number of milliseconds until vmmnet_dns_process() has work even
 * if the descriptor is not readable: 0 now, -1 never.  Any call on the context
 * may change it, so call this just before waiting.
 */
int vmmnet_dns_timeout_ms(const VmmnetDns *dns);

/*
 * Does the work that is due and runs callbacks.  Never blocks; the work of one
 * call is bounded.  Must not be called from a callback.
 */
void vmmnet_dns_process(VmmnetDns *dns);

/*** Answers ***/

typedef enum VmmnetDnsError {
    VMMNET_DNS_OK = 0,
    VMMNET_DNS_NO_NAME,         /* the name does not exist (NXDOMAIN) */
    VMMNET_DNS_NO_DATA,         /* the name has no data of that type */
    VMMNET_DNS_BOGUS,           /* forged or wrongly signed: see reason */
    VMMNET_DNS_TIMEOUT,         /* no server answered */
    VMMNET_DNS_REFUSED,         /* the servers refuse the query */
    VMMNET_DNS_FAILED,          /* server failure, or an invalid reply */
    VMMNET_DNS_UNREACHABLE,     /* no route to any server */
    VMMNET_DNS_RESOURCES,       /* out of memory or descriptors */
    VMMNET_DNS_CHAIN,           /* more than 16 aliases, or a loop of them */
} VmmnetDnsError;

/* An English sentence without a full stop; a constant */
const char *vmmnet_dns_error_text(VmmnetDnsError error);

/* RFC 4035 section 4.3 */
typedef enum VmmnetDnsSecurity {
    /*
     * Not checked (no VMMNET_DNS_VALIDATE, or from /etc/hosts), or not below a
     * trust anchor, so nothing can be proven
     */
    VMMNET_DNS_INDETERMINATE = 0,
    VMMNET_DNS_INSECURE,        /* provably outside of all signed zones */
    VMMNET_DNS_SECURE,          /* signed and valid, from a trust anchor on */
    VMMNET_DNS_BOGUS_DATA,      /* signed and invalid */
} VmmnetDnsSecurity;

const char *vmmnet_dns_security_text(VmmnetDnsSecurity security);

#define VMMNET_DNS_NO_EDE (-1)

typedef struct VmmnetDnsAddress {
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage storage;
    };                          /* port 0; with the scope if there was one */
    socklen_t len;
} VmmnetDnsAddress;

/* Data of a resource record, in wire format, names in it uncompressed */
typedef struct VmmnetDnsRecord {
    const uint8_t *rdata;
    uint16_t len;
} VmmnetDnsRecord;

/*
 * The answer, for a callback.  The library owns it; it is valid during the
 * call. Depending on the look-up function, addresses or records is NULL.
 */
typedef struct VmmnetDnsAnswer {
    VmmnetDnsError error;
    VmmnetDnsSecurity security; /* the lowest of all data in the answer */
    /*
     * Why there is an error, or why the data is bogus, according to the
     * validator or the server: the INFO-CODE of an Extended DNS Error (RFC
     * 8914) or VMMNET_DNS_NO_EDE, and a text, never NULL.  Text of a server is
     * escaped, so it is safe to log; it proves nothing.
     */
    int ede;
    const char *reason;
    const char *name;           /* as asked, after the search list */
    const char *canonical;      /* after all CNAMEs */
    uint32_t ttl;               /* seconds, the lowest; 0 for /etc/hosts */
    /*
     * The server claims that it validated the answer (AD), and resolv_conf has
     * "options trust-ad" or names only servers on this host.  This is as
     * trustworthy as the path to that server.
     */
    bool authenticated;
    bool stale;                 /* RFC 8767 */
    bool more;                  /* another callback follows for this look-up */
    size_t count;               /* 0 with an error */
    const VmmnetDnsAddress *addresses;  /* best first, RFC 6724 */
    const VmmnetDnsRecord *records;     /* in the server's order */
} VmmnetDnsAnswer;

/* A callback may cancel look-ups and start new ones. */
typedef void VmmnetDnsAnswerFn(void *opaque, const VmmnetDnsAnswer *answer);

/*** Look-ups ***/

/* Flags of a look-up */
enum {
    /*
     * For diagnosis: also return the addresses and records of a bogus answer,
     * with error VMMNET_DNS_BOGUS.  Do not connect to them.
     */
    VMMNET_DNS_SHOW_BOGUS = 1 << 0,
    VMMNET_DNS_NO_SEARCH = 1 << 1,      /* the name is fully qualified */
    VMMNET_DNS_NO_HOSTS = 1 << 2,       /* ask servers only */
    /* Only address families that this host has, as with AI_ADDRCONFIG */
    VMMNET_DNS_ADDRCONFIG = 1 << 3,
    /*
     * Call back only once: with the results so far when the resolution delay
     * after the first usable answer, of either family, has passed.  An answer
     * is usable if this host has a route to one of its addresses; otherwise the
     * end of the other family's question is awaited.  An answer of the cache
     * counts from when the servers would usually have given it.
     */
    VMMNET_DNS_ONCE = 1 << 4,
};

/* Identifies a look-up; never 0, and never reused in the same context. */
typedef uint64_t VmmnetDnsId;

/*
 * Looks up the addresses of a host name; name may also be an address as text
 * (with a scope).  family is AF_INET, AF_INET6, or AF_UNSPEC for both, which
 * are queried at the same time.
 *
 * Calls back once or twice, never from within this function.  The first call
 * comes, if the first usable answer is
 *   AAAA: at once;
 *   A:    when AAAA has been answered as well, with any result, or after
 *   resolution_delay_ms (RFC 8305 section 3), whichever is first.
 * If the other family is still unanswered, more is set, and a second call has
 * its result: only the late addresses, or an error.  If no family has an
 * address, there is one call, with the most informative error.
 *
 * Returns 0 with errno set on failure: EINVAL for an invalid name (empty, too
 * long, an empty label), EAFNOSUPPORT, ENOBUFS (1024 look-ups are active),
 * ENOMEM.
 */
VmmnetDnsId vmmnet_dns_addresses(VmmnetDns *dns, const char *name,
                                 int family, unsigned flags,
                                 VmmnetDnsAnswerFn *told, void *opaque);

/*
 * Looks up all records of a type, such as SSHFP (44), TLSA (52), MX (15), SRV
 * (33), TXT (16), of class IN.  Query types (ANY, AXFR, IXFR) and OPT are not
 * allowed.  The search list applies if the name has fewer dots than
 * resolv_conf's ndots and VMMNET_DNS_NO_SEARCH is not set.  Calls back once,
 * never from within this function.  Returns 0 with errno set as above.
 */
VmmnetDnsId vmmnet_dns_records(VmmnetDns *dns, const char *name,
                               uint16_t type, unsigned flags,
                               VmmnetDnsAnswerFn *told, void *opaque);

/*
 * Looks up the names of an address: its PTR records.  address is a struct
 * sockaddr_in or _in6.  Otherwise like vmmnet_dns_records().
 */
VmmnetDnsId vmmnet_dns_names(VmmnetDns *dns, const struct sockaddr *address,
                             unsigned flags, VmmnetDnsAnswerFn *told,
                             void *opaque);

/*
 * Cancels a look-up; it will not call back.  Returns false if it has already
 * ended.
 */
bool vmmnet_dns_cancel(VmmnetDns *dns, VmmnetDnsId id);

void vmmnet_dns_cancel_all(VmmnetDns *dns);

/*
 * Converts the domain name that begins at *rdata, with len octets, to text in a
 * buffer of size octets (1024 is enough for any name).  *used is set to the
 * length of the name in rdata, so the caller can read what follows it.  For the
 * names in MX, SRV, PTR.  Returns 0, or -1 if there is no valid name or it does
 * not fit.
 */
int vmmnet_dns_name_text(const uint8_t *rdata, size_t len, char *text,
                         size_t size, size_t *used);

/*** Counters ***/

/* Counters of dropped replies and other events, since vmmnet_dns_new() */
typedef struct VmmnetDnsCounters {
    uint64_t queries;           /* sent, including repetitions */
    uint64_t replies;           /* accepted */
    uint64_t cache_hits;
    uint64_t retries;
    uint64_t over_tcp;
    uint64_t timeouts;
    uint64_t wrong_id;          /* dropped: forged, or very late */
    uint64_t wrong_question;    /* dropped: forged, or a broken server */
    uint64_t not_reply;         /* dropped: QR, opcode or length */
    uint64_t malformed;         /* matches a query, but cannot be parsed */
    uint64_t bogus;
} VmmnetDnsCounters;

void vmmnet_dns_counters(const VmmnetDns *dns, VmmnetDnsCounters *counters);

/*** Blocking ***/

struct addrinfo;

/*
 * getaddrinfo(3) on top of the above: the same arguments, flags (AI_PASSIVE,
 * _CANONNAME, _NUMERICHOST, _NUMERICSERV, _ADDRCONFIG, _V4MAPPED, _ALL) and
 * EAI_ codes; a bogus answer is EAI_FAIL.  Validates if /etc/vmmnet/dns.conf
 * enables it (docs/dns-client.md).  Returns when both families are answered, or
 * 50 ms after the first usable answer.  The result must be freed with
 * vmmnet_freeaddrinfo().
 */
int vmmnet_getaddrinfo(const char *node, const char *service,
                       const struct addrinfo *hints, struct addrinfo **res);

/* res may be NULL */
void vmmnet_freeaddrinfo(struct addrinfo *res);

#ifdef __cplusplus
}
#endif

#endif
