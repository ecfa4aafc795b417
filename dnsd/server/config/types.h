/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a configuration */
#ifndef DNSD_SERVER_CONFIG_TYPES_H
#define DNSD_SERVER_CONFIG_TYPES_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/config.h"
#include "dnsd/server/core/limit.h"
#include "dnsd/server/core/prefix.h"
#include "dnsd/update/policy.h"
#include "net/dns/wire/wire.h"

#define DNSD_PORT               53
#define DNSD_LISTEN_MAX         32
#define DNSD_THREADS_MAX        256
#define DNSD_ZONES_MAX          200000
#define DNSD_KEYS_MAX           1000
#define DNSD_RULES_MAX          1000    /* per zone */
#define DNSD_SECONDARIES_MAX    32      /* per zone */
#define DNSD_PRIMARIES_MAX      32      /* per zone */
#define DNSD_TRANSFER_LIMIT     4096    /* MiB, the default */
#define DNSD_UDP_MAX            4096
#define DNSD_TEXT_MAX           255     /* identity, version, NSID */
#define DNSD_FORWARDS_MAX       16
#define DNSD_INSECURES_MAX      1000
#define DNSD_RESOLVERS_MAX      64      /* threads */
#define DNSD_FAMILIES           2       /* IPv4, IPv6 */

typedef struct DnsdListen {
    struct sockaddr_storage addr;
    socklen_t len;
    char device[IF_NAMESIZE];   /* the interface or VRF; "": any */
    const char *text;           /* as in the file */
} DnsdListen;

/* Source addresses, for IPv4 and IPv6; len 0: the kernel chooses */
typedef struct DnsdSources {
    DnsdListen of[DNSD_FAMILIES];
} DnsdSources;

/* A TSIG key: the place of its secret, not the secret */
typedef struct DnsdKeyConfig {
    DnsName name;               /* in lower case */
    const char *algorithm;      /* NULL: from the key file, or SHA256 */
    const char *secret_file;    /* path of base64; or NULL, and then */
    const char *key_file;       /* path of a file in BIND's syntax */
    bool has_secret;            /* within the configuration: an error */
} DnsdKeyConfig;

/* Hosts that may request a transfer or send NOTIFY: by key, or by address */
typedef struct DnsdAsker {
    DnsName key;                /* len 0: by range instead */
    DnsdRange range;
} DnsdAsker;

/* A server to notify */
typedef struct DnsdSecondary {
    DnsdListen at;
    DnsName key;                /* len 0: NOTIFY is not signed */
} DnsdSecondary;

/* A server from which a zone is transferred */
typedef struct DnsdPrimary {
    DnsdListen at;
    DnsName key;                /* len 0: transfers are not signed */
} DnsdPrimary;

typedef struct DnsdZoneConfig {
    DnsName name;
    const char *image;          /* path */
    DnsdRanges allow_query;     /* empty: everybody */
    bool has_acl;
    size_t updates;
    DnsUpdateRule *update;
    size_t askers;
    DnsdAsker *asker;
    size_t secondaries;         /* to be notified */
    DnsdSecondary *secondary;
    DnsdSources notify_source;
    size_t primaries;           /* 0: the zone is not a secondary */
    DnsdPrimary *primary;
    DnsdSources transfer_source;
    bool has_notifiers;
    size_t notifiers;           /* entries that may send NOTIFY */
    DnsdAsker *notifier;
    uint32_t transfer_limit;    /* MiB; 0: the default */
} DnsdZoneConfig;

typedef struct DnsdOctets {
    size_t len;                 /* 0: off */
    uint8_t octets[DNSD_TEXT_MAX];
} DnsdOctets;

typedef struct DnsdTcpConfig {
    uint32_t connections;       /* per thread */
    uint32_t per_client;        /* per client */
    uint32_t idle_s;
} DnsdTcpConfig;

/* DNSSEC validation by the resolver */
typedef enum DnsdDnssec {
    DNSD_DNSSEC_STRICT,         /* bogus data is SERVFAIL */
    DNSD_DNSSEC_PERMISSIVE,     /* bogus data is passed on, without AD */
    DNSD_DNSSEC_OFF,            /* validation is off */
} DnsdDnssec;

typedef struct DnsdResolverConfig {
    bool is_on;                 /* the configuration has 'allow' */
    DnsdRanges allow;           /* clients that may use recursion */
    size_t forwards;            /* 0: recursion starts at the root */
    DnsdListen *forward;
    DnsdDnssec dnssec;
    size_t insecures;           /* names below which validation is off */
    DnsName *insecure;
    const char *trust_anchor;   /* path */
    const char *root_hints;     /* path; NULL: those in libunbound */
    bool serve_stale;
    uint32_t cache_size;        /* octets, for all threads together */
    uint32_t queries_max;       /* that may wait for an answer */
    uint32_t per_client;        /* per client */
    uint32_t threads;
} DnsdResolverConfig;

typedef struct DnsdConfig {
    size_t listens;
    DnsdListen *listen;
    uint32_t threads;           /* 0: one per processor */
    const char *user;
    uint32_t udp_size;
    uint32_t receive_buffer;    /* octets */
    const char *identity;       /* id.server; NULL: refused */
    const char *version;        /* version.server; NULL: refused */
    DnsdOctets nsid;
    const char *control;        /* path of the UNIX socket; NULL: none */
    DnsdListen metrics;         /* len 0: off */
    DnsdTcpConfig tcp;
    bool cookies;
    const char *secret_file;    /* NULL: random for this process */
    DnsdLimitOptions limit;
    DnsdRanges limit_exempt;
    DnsdResolverConfig resolver;
    size_t keys;
    DnsdKeyConfig *key;
    size_t changing;            /* zones with dnsd_zone_may_change() */
    size_t copied;              /* of those: zones with primaries */
    size_t zones;
    DnsdZoneConfig *zone;       /* in the order of the file */
    ConfigMemory *memory;    /* holds all that pointers point to */
    unsigned users;             /* server states; dnsd_config_ref() */
} DnsdConfig;

typedef ConfigErrors DnsdErrors;

/** dnsd_zone_may_change: has the zone a journal, and transfers? */
bool dnsd_zone_may_change(const DnsdZoneConfig *zone);

/**
 * dnsd_askers_have: does an entry match the sender of a message?
 * @key: the key that signed the message; NULL: it is not signed
 */
bool dnsd_askers_have(const DnsdAsker *asker, size_t count,
                      const DnsdAddr *addr, const DnsName *key);

/**
 * dnsd_source_for: the source address for packets to @to; NULL: the kernel
 * chooses
 */
const DnsdListen *dnsd_source_for(const DnsdSources *sources,
                                  const DnsdListen *to);

/**
 * dnsd_listen_read: parse "192.0.2.1" or "2001:db8::1@5353", without a device
 *
 * Returns: false if it is not an address.
 */
bool dnsd_listen_read(DnsdListen *listen, const char *text, uint16_t port);

/** dnsd_listen_is_local: is it a link-local address of IPv6? */
bool dnsd_listen_is_local(const DnsdListen *listen);

/** dnsd_listen_scope: index of the interface, if it is in the address; or 0 */
unsigned dnsd_listen_scope(const DnsdListen *listen);

/** dnsd_listen_device: the interface of packets from @from (or NULL) to @to */
const char *dnsd_listen_device(const DnsdListen *from, const DnsdListen *to);

#endif /* DNSD_SERVER_CONFIG_TYPES_H */
