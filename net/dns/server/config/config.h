/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of vmmnet-dnsd; docs/dnsd.md has the table of its keys
 *
 * A configuration is read whole and then does not change.
 */
#ifndef NET_DNS_SERVER_CONFIG_CONFIG_H
#define NET_DNS_SERVER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/dns/server/core/limit.h"
#include "net/dns/server/core/prefix.h"
#include "net/dns/update/policy.h"
#include "net/dns/wire/wire.h"

#define DNSD_PORT               53
#define DNSD_LISTEN_MAX         32
#define DNSD_THREADS_MAX        256
#define DNSD_ZONES_MAX          200000
#define DNSD_KEYS_MAX           1000
#define DNSD_RULES_MAX          1000    /* of a zone */
#define DNSD_SECONDARIES_MAX    32      /* of a zone */
#define DNSD_PRIMARIES_MAX      32      /* of a zone */
#define DNSD_TRANSFER_LIMIT     4096    /* MiB, where none is named */
#define DNSD_UDP_MAX            4096
#define DNSD_TEXT_MAX           255     /* identity, version, NSID */
#define DNSD_FORWARDS_MAX       16
#define DNSD_INSECURES_MAX      1000
#define DNSD_RESOLVERS_MAX      64      /* threads */
#define DNSD_FAMILIES           2       /* IPv4, IPv6 */

typedef struct DnsdListen {
    struct sockaddr_storage addr;
    socklen_t len;
    const char *text;           /* as written */
} DnsdListen;

/* Addresses to send from: IPv4, IPv6; len 0: the kernel chooses */
typedef struct DnsdSources {
    DnsdListen of[DNSD_FAMILIES];
} DnsdSources;

/* A key of TSIG: where it is, but not what it is */
typedef struct DnsdKeyConfig {
    DnsName name;               /* in lower case */
    const char *algorithm;      /* NULL: as the key file says, or SHA256 */
    const char *secret_file;    /* path: base64; or NULL, and then */
    const char *key_file;       /* path: as BIND has it */
} DnsdKeyConfig;

/* Hosts that may have or tell something: by a key, or by an address */
typedef struct DnsdAsker {
    DnsName key;                /* len 0: none, but the range */
    DnsdRange range;
} DnsdAsker;

/* A server to notify */
typedef struct DnsdSecondary {
    DnsdListen at;
    DnsName key;                /* len 0: what it is told is not signed */
} DnsdSecondary;

/* A server that a zone is copied from */
typedef struct DnsdPrimary {
    DnsdListen at;
    DnsName key;                /* len 0: transfers are not signed */
} DnsdPrimary;

typedef struct DnsdZoneConfig {
    DnsName name;
    const char *image;          /* path */
    DnsdRanges allow_query;     /* none: everybody */
    bool has_acl;
    size_t updates;
    DnsUpdateRule *update;
    size_t askers;
    DnsdAsker *asker;
    size_t secondaries;         /* to notify */
    DnsdSecondary *secondary;
    DnsdSources notify_source;
    size_t primaries;           /* 0: the zone is nobody's copy */
    DnsdPrimary *primary;
    DnsdSources transfer_source;
    bool has_notifiers;
    size_t notifiers;           /* who may say that there is a newer one */
    DnsdAsker *notifier;
    uint32_t transfer_limit;    /* MiB; 0: none is named */
} DnsdZoneConfig;

typedef struct DnsdOctets {
    size_t len;                 /* 0: off */
    uint8_t octets[DNSD_TEXT_MAX];
} DnsdOctets;

typedef struct DnsdTcpConfig {
    uint32_t connections;       /* a thread */
    uint32_t per_client;        /* of those */
    uint32_t idle_s;
} DnsdTcpConfig;

/* DNSSEC of what others answer */
typedef enum DnsdDnssec {
    DNSD_DNSSEC_STRICT,         /* bogus data is SERVFAIL */
    DNSD_DNSSEC_PERMISSIVE,     /* is handed out, without AD */
    DNSD_DNSSEC_OFF,            /* nothing is validated */
} DnsdDnssec;

typedef struct DnsdResolverConfig {
    bool is_on;                 /* 'allow' is there */
    DnsdRanges allow;           /* who may recurse */
    size_t forwards;            /* 0: from the root on */
    DnsdListen *forward;
    DnsdDnssec dnssec;
    size_t insecures;           /* names below which nothing is validated */
    DnsName *insecure;
    const char *trust_anchor;   /* path */
    const char *root_hints;     /* path; NULL: those of libunbound */
    bool serve_stale;
    uint32_t cache_size;        /* octets, of all threads */
    uint32_t queries_max;       /* that wait for an answer */
    uint32_t per_client;        /* of those */
    uint32_t threads;
} DnsdResolverConfig;

typedef struct DnsdConfig {
    size_t listens;
    DnsdListen *listen;
    uint32_t threads;           /* 0: one a processor */
    const char *user;
    uint32_t udp_size;
    uint32_t receive_buffer;    /* octets */
    const char *identity;       /* id.server; NULL: refused */
    const char *version;        /* version.server; NULL: refused */
    DnsdOctets nsid;
    const char *control;        /* path of the UNIX socket; NULL: none */
    DnsdListen metrics;         /* len 0: none */
    DnsdTcpConfig tcp;
    bool cookies;
    const char *secret_file;    /* NULL: a secret of this process */
    DnsdLimitOptions limit;
    DnsdRanges limit_exempt;
    DnsdResolverConfig resolver;
    size_t keys;
    DnsdKeyConfig *key;
    size_t changing;            /* zones of dnsd_zone_may_change() */
    size_t copied;              /* of those, zones with primaries */
    size_t zones;
    DnsdZoneConfig *zone;       /* as in the file */
    struct DnsdMemory *memory;  /* all of it */
} DnsdConfig;

/* The mistakes, for people: lines of "FILE:LINE:COLUMN: KEY: ..." */
typedef struct DnsdMistakes {
    unsigned count;
    size_t len;
    char text[4096];            /* what does not fit is left out */
} DnsdMistakes;

/**
 * dnsd_config_read: from the text of a file
 * @path: the file's name, for messages
 *
 * Returns: NULL, and @mistakes says what is wrong: as many as it can.
 */
DnsdConfig *dnsd_config_read(const char *path, const char *text, size_t len,
                             DnsdMistakes *mistakes);

void dnsd_config_free(DnsdConfig *config);

/** dnsd_zone_may_change: is it served with a journal, and transferred? */
bool dnsd_zone_may_change(const DnsdZoneConfig *zone);

/**
 * dnsd_askers_have: is somebody on the list?
 * @key: that a message is signed with; NULL: it is not
 */
bool dnsd_askers_have(const DnsdAsker *asker, size_t count,
                      const DnsdAddr *addr, const DnsName *key);

/** dnsd_source_for: where to send to @to from; NULL: the kernel chooses. */
const DnsdListen *dnsd_source_for(const DnsdSources *sources,
                                  const DnsdListen *to);

/**
 * dnsd_listen_read: "192.0.2.1", "2001:db8::1@5353"
 *
 * Returns: false if it is none.
 */
bool dnsd_listen_read(DnsdListen *listen, const char *text, uint16_t port);

/**
 * dnsd_config_needs_restart: the first key of what a reload cannot change
 * and that differs; NULL if there is none.
 */
const char *dnsd_config_needs_restart(const DnsdConfig *a,
                                      const DnsdConfig *b);

#endif /* NET_DNS_SERVER_CONFIG_CONFIG_H */
