/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvmmnet-dns: names looked up without waiting for anybody who does not
 * answer, and without believing what is not true
 *
 * Two faces.  The asynchronous one is a context with one descriptor to poll
 * and a timeout; results come by callback:
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
 * The blocking one is vmmnet_getaddrinfo(), at the end.
 *
 * A context and all that is made of it belong to one thread at a time; the
 * blocking face may be called by any number of threads.  The library starts
 * no thread, handles no signal and changes no setting of the process.  A
 * context does not cross fork(): in the child only vmmnet_dns_free() is
 * allowed.  The blocking face has no such limit.
 *
 * Addresses and ports in struct sockaddr are in network byte order, all other
 * integers in that of the host.  Names are text: UTF-8 is not converted, and
 * octets that are not graphic ASCII are escaped, RFC 1035 section 5.1.
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

/* Of a context */
enum {
    /*
     * Check DNSSEC signatures of all answers, here, with libunbound.  The
     * servers have to hand on signatures: resolvers that know DNSSEC do.
     */
    VMMNET_DNS_VALIDATE = 1 << 0,
    /* Random case in names that are asked, and the same in replies wanted */
    VMMNET_DNS_RANDOM_CASE = 1 << 1,
    /*
     * Where no server answers, hand on what was true until a day ago; RFC
     * 8767.  The answer says that it is stale.
     */
    VMMNET_DNS_SERVE_STALE = 1 << 2,
    /* Remember nothing */
    VMMNET_DNS_NO_CACHE = 1 << 3,
};

/*
 * A field that is 0 or NULL has the default.  size is sizeof(VmmnetDnsOptions),
 * so that programs that were built with an older, shorter one are understood.
 */
typedef struct VmmnetDnsOptions {
    size_t size;
    unsigned flags;             /* VMMNET_DNS_… */
    /*
     * Whom to ask: "ADDR" or "ADDR@PORT", ADDR an IPv4 or IPv6 address, the
     * latter with a scope ("fe80::1%eth0") where it needs one.  The last
     * entry is NULL, and there are 8 before it at most.  NULL, the default:
     * those of resolv_conf.
     */
    const char *const *servers;
    /*
     * Files, read again when they change.  Default: /etc/resolv.conf and
     * /etc/hosts; "" for none.
     */
    const char *resolv_conf;
    const char *hosts;
    /*
     * Trust anchors for VMMNET_DNS_VALIDATE: a file with DS or DNSKEY
     * records.  Default: /usr/share/dns/root.key, of Debian's dns-root-data.
     */
    const char *trust_anchor;
    unsigned timeout_ms;        /* of a try; default: of resolv_conf, or 5 s */
    unsigned attempts;          /* round the servers; of resolv_conf, or 2 */
    unsigned resolution_delay_ms;       /* default 49: called by 50, RFC 8305 */
    unsigned cache_entries;     /* default 256; 65536 at most */
} VmmnetDnsOptions;

/*
 * options may be NULL, for all defaults, and is not needed any more after
 * the call.  Returns NULL with errno set, and *mistake, if it is not NULL, a
 * text that names the option, its value and what would be right (a string
 * constant or of this thread, valid until its next call): EINVAL a value
 * that is wrong, ENOENT no trust anchor, ENOSYS libunbound is not installed,
 * or ENOMEM, EMFILE, ENFILE.  A resolv_conf that is not there is no error: as
 * resolv.conf(5) says, the server is then on this host.
 */
VmmnetDns *vmmnet_dns_new(const VmmnetDnsOptions *options,
                          const char **mistake);

/* Ends all look-ups without calling back.  Not from within a callback. */
void vmmnet_dns_free(VmmnetDns *dns);

/*
 * The same for the context's life: readable when vmmnet_dns_process() has
 * work.  It is for waiting only, and fits poll(), epoll and event loops.
 */
int vmmnet_dns_fd(const VmmnetDns *dns);

/*
 * How many milliseconds until vmmnet_dns_process() has work even if the
 * descriptor is not readable: 0 now, -1 never.  Any call on the context may
 * change it, so ask just before waiting.
 */
int vmmnet_dns_timeout_ms(const VmmnetDns *dns);

/*
 * Does what is due and calls back.  Never blocks; there is a bound to what
 * one call does.  Not from within a callback.
 */
void vmmnet_dns_process(VmmnetDns *dns);

/*** Answers ***/

typedef enum VmmnetDnsError {
    VMMNET_DNS_OK = 0,
    VMMNET_DNS_NO_NAME,         /* there is no such name (NXDOMAIN) */
    VMMNET_DNS_NO_DATA,         /* the name has nothing of that type */
    VMMNET_DNS_BOGUS,           /* forged or wrongly signed: see reason */
    VMMNET_DNS_TIMEOUT,         /* no server answered */
    VMMNET_DNS_REFUSED,         /* the servers answer: not that, not you */
    VMMNET_DNS_FAILED,          /* the servers failed, or the reply is wrong */
    VMMNET_DNS_UNREACHABLE,     /* no way to any server */
    VMMNET_DNS_RESOURCES,       /* out of memory or descriptors */
    VMMNET_DNS_CHAIN,           /* more than 16 aliases, or a loop of them */
} VmmnetDnsError;

/* A sentence without a final stop, English, constant */
const char *vmmnet_dns_error_text(VmmnetDnsError error);

/* RFC 4035 section 4.3 */
typedef enum VmmnetDnsSecurity {
    /*
     * Not checked (no VMMNET_DNS_VALIDATE, of /etc/hosts), or below no trust
     * anchor, so that nothing can be proven
     */
    VMMNET_DNS_INDETERMINATE = 0,
    VMMNET_DNS_INSECURE,        /* provably outside of every signed zone */
    VMMNET_DNS_SECURE,          /* signed, and right, from a trust anchor on */
    VMMNET_DNS_BOGUS_DATA,      /* signed, and wrong */
} VmmnetDnsSecurity;

const char *vmmnet_dns_security_text(VmmnetDnsSecurity security);

#define VMMNET_DNS_NO_EDE (-1)

typedef struct VmmnetDnsAddress {
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage storage;
    };                          /* port 0; the scope where one was given */
    socklen_t len;
} VmmnetDnsAddress;

/* Resource record data: as on the wire, names in it uncompressed */
typedef struct VmmnetDnsRecord {
    const uint8_t *rdata;
    uint16_t len;
} VmmnetDnsRecord;

/*
 * The answer, for a callback; it is the library's and valid during the call.
 * Of addresses and records one is NULL, by the function that asked.
 */
typedef struct VmmnetDnsAnswer {
    VmmnetDnsError error;
    VmmnetDnsSecurity security; /* the lowest of all that is in here */
    /*
     * Why there is an error or why it is bogus, as the validator or the
     * server says it: an Extended DNS Error's INFO-CODE (RFC 8914), or
     * VMMNET_DNS_NO_EDE, and a text, never NULL.  Text of a server is
     * escaped, so that it is safe to log, and no proof of anything.
     */
    int ede;
    const char *reason;
    const char *name;           /* asked, after the search list */
    const char *canonical;      /* after all aliases */
    uint32_t ttl;               /* seconds, the lowest; 0 for /etc/hosts */
    /*
     * The server says that it checked (AD), and resolv_conf says "options
     * trust-ad" or names only servers on this host: what believing it is
     * worth depends on the way to that server.
     */
    bool authenticated;
    bool stale;                 /* RFC 8767 */
    bool more;                  /* this look-up will call back once more */
    size_t count;               /* 0 with an error */
    const VmmnetDnsAddress *addresses;  /* the best first, RFC 6724 */
    const VmmnetDnsRecord *records;     /* in the server's order */
} VmmnetDnsAnswer;

/* Cancelling is allowed in a callback, and so are new look-ups. */
typedef void VmmnetDnsAnswerFn(void *opaque, const VmmnetDnsAnswer *answer);

/*** Look-ups ***/

/* Of a look-up */
enum {
    /*
     * For diagnosis: addresses and records of a bogus answer are handed out,
     * with error VMMNET_DNS_BOGUS.  Connect to none of them.
     */
    VMMNET_DNS_SHOW_BOGUS = 1 << 0,
    VMMNET_DNS_NO_SEARCH = 1 << 1,      /* the name is whole */
    VMMNET_DNS_NO_HOSTS = 1 << 2,       /* ask servers only */
    /* Only families of which this host has an address, as AI_ADDRCONFIG */
    VMMNET_DNS_ADDRCONFIG = 1 << 3,
    /*
     * Call back once: with what there is when the resolution delay has gone
     * by since the first usable answer, of whichever family.
     */
    VMMNET_DNS_ONCE = 1 << 4,
};

/* Names one look-up; never 0, and never used again by the same context. */
typedef uint64_t VmmnetDnsId;

/*
 * The addresses of a host name, or of an address as text (with a scope).
 * family: AF_INET, AF_INET6, or AF_UNSPEC for both, which are asked for at
 * the same time with a query each.
 *
 * Calls back once or twice, never from within this function.  When the
 * first usable answer is there, for
 *   AAAA: at once;
 *   A:    when AAAA has been answered too, whatever the answer, or after
 *         resolution_delay_ms (RFC 8305 section 3), whatever comes first.
 * If the other family is still out, more is set, and a second call has what
 * comes of it: the late addresses alone, or an error.  If no family has an
 * address there is one call, with the error that says most.
 *
 * Returns 0 with errno set: EINVAL the name is none (empty, too long, an
 * empty label), EAFNOSUPPORT, ENOBUFS (1024 look-ups are out), ENOMEM.
 */
VmmnetDnsId vmmnet_dns_addresses(VmmnetDns *dns, const char *name,
                                 int family, unsigned flags,
                                 VmmnetDnsAnswerFn *told, void *opaque);

/*
 * All records of a type, such as SSHFP (44), TLSA (52), MX (15), SRV (33),
 * TXT (16); class IN; not a question type (ANY, AXFR, IXFR) and not OPT.
 * The name is whole unless it has fewer dots than resolv_conf's ndots and
 * no VMMNET_DNS_NO_SEARCH is there.  Calls back once, never from within.
 * Returns 0 with errno set as above.
 */
VmmnetDnsId vmmnet_dns_records(VmmnetDns *dns, const char *name,
                               uint16_t type, unsigned flags,
                               VmmnetDnsAnswerFn *told, void *opaque);

/*
 * The names of an address: PTR records of it.  address is a struct
 * sockaddr_in or _in6.  Else as vmmnet_dns_records().
 */
VmmnetDnsId vmmnet_dns_names(VmmnetDns *dns, const struct sockaddr *address,
                             unsigned flags, VmmnetDnsAnswerFn *told,
                             void *opaque);

/*
 * The one look-up is not wanted any more; it will not call back.  false: it
 * has already ended.
 */
bool vmmnet_dns_cancel(VmmnetDns *dns, VmmnetDnsId id);

void vmmnet_dns_cancel_all(VmmnetDns *dns);

/*
 * The domain name that begins at *rdata of len octets, as text into a
 * buffer of size octets (1024 is enough for any); *used is how many octets it
 * took, so that what follows can be read.  For the names in MX, SRV, PTR.
 * Returns 0, or -1: it is not one, or does not fit.
 */
int vmmnet_dns_name_text(const uint8_t *rdata, size_t len, char *text,
                         size_t size, size_t *used);

/*** Counters ***/

/* Why replies were not used, and what else happened, since the beginning */
typedef struct VmmnetDnsCounters {
    uint64_t queries;           /* sent, repetitions included */
    uint64_t replies;           /* taken */
    uint64_t cache_hits;
    uint64_t retries;
    uint64_t over_tcp;
    uint64_t timeouts;
    uint64_t wrong_id;          /* dropped: forged, or very late */
    uint64_t wrong_question;    /* dropped: forged, or a broken server */
    uint64_t not_reply;         /* dropped: QR, opcode or length */
    uint64_t malformed;         /* ours, but not to be parsed */
    uint64_t bogus;
} VmmnetDnsCounters;

void vmmnet_dns_counters(const VmmnetDns *dns, VmmnetDnsCounters *counters);

/*** Blocking ***/

struct addrinfo;

/*
 * getaddrinfo(3) over the above: the same arguments, flags (AI_PASSIVE,
 * _CANONNAME, _NUMERICHOST, _NUMERICSERV, _ADDRCONFIG, _V4MAPPED, _ALL) and
 * EAI_ codes; a bogus answer is EAI_FAIL.  Validates if /etc/vmmnet/dns.conf
 * says so (docs/dns-client.md).  Returns when both families are answered, or
 * 50 ms after the first usable one.  The result is for
 * vmmnet_freeaddrinfo() alone.
 */
int vmmnet_getaddrinfo(const char *node, const char *service,
                       const struct addrinfo *hints, struct addrinfo **res);

/* NULL is allowed */
void vmmnet_freeaddrinfo(struct addrinfo *res);

#ifdef __cplusplus
}
#endif

#endif
