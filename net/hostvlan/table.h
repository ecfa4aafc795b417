/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LNID table, as its readers see it (include/vmmnet/hostvlan.h)
 *
 * Any number of threads may read one HostvlanTable while a writer changes the
 * file; no lock is taken. Who closes it makes sure that nobody reads it.
 */
#ifndef NET_HOSTVLAN_TABLE_H
#define NET_HOSTVLAN_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "vmmnet/hostvlan.h"

#define HOSTVLAN_TABLE_ERROR hostvlan_table_error_quark()
GQuark hostvlan_table_error_quark(void);

/* Why a file is not taken into force; the message says where and what. */
typedef enum HostvlanTableError {
    HOSTVLAN_TABLE_ERROR_MISSING,       /* there is none */
    HOSTVLAN_TABLE_ERROR_ACCESS,        /* it cannot be opened or read */
    HOSTVLAN_TABLE_ERROR_NOT_A_FILE,    /* a folder, a device, a FIFO */
    HOSTVLAN_TABLE_ERROR_MAGIC,         /* something else than a table */
    HOSTVLAN_TABLE_ERROR_VERSION,
    HOSTVLAN_TABLE_ERROR_CHECKSUM,      /* of the header */
    HOSTVLAN_TABLE_ERROR_HEADER,        /* a number out of its range */
    HOSTVLAN_TABLE_ERROR_SIZE,          /* shorter or longer than it says */
    HOSTVLAN_TABLE_ERROR_KEY,           /* no unicast MAC address */
    HOSTVLAN_TABLE_ERROR_PLACE,         /* a search would not find it there */
    HOSTVLAN_TABLE_ERROR_VALUE,
    HOSTVLAN_TABLE_ERROR_RECORD,        /* beyond the end, or not in order */
    HOSTVLAN_TABLE_ERROR_RESOURCES,     /* no memory, or too many tables */
} HostvlanTableError;

typedef struct HostvlanTable HostvlanTable;

/* Of one MAC address; ascending, each once. */
typedef struct HostvlanLnids {
    unsigned num;               /* 0: none */
    uint32_t lnid[HOSTVLAN_LNIDS_MAX];
} HostvlanLnids;

/* That one MAC address may send from; 192.0.2.1 is 0xc0000201. */
typedef struct HostvlanAddresses {
    unsigned num_ip4, num_ip6;
    uint32_t ip4[HOSTVLAN_IP4_MAX];
    uint32_t ip6[HOSTVLAN_IP6_MAX][4];  /* the first word is the highest */
} HostvlanAddresses;

/* Rights of a MAC address's port, beside sending as that. */
typedef struct HostvlanRights {
    uint32_t offers;            /* HOSTVLAN_OFFER_... */
    unsigned num_also;
    uint64_t also[HOSTVLAN_ALSO_MAX];   /* MAC addresses, ascending */
} HostvlanRights;

/**
 * hostvlan_table_open: map a table and check all of it
 *
 * The time is that of reading the file: 1,048,576 MAC addresses take some tens
 * of milliseconds.
 *
 * Returns: to be closed with hostvlan_table_close(), or NULL with an error of
 * HOSTVLAN_TABLE_ERROR.
 */
HostvlanTable *hostvlan_table_open(const char *path, GError **errp);

/** hostvlan_table_close: @table may be NULL. */
void hostvlan_table_close(HostvlanTable *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostvlanTable, hostvlan_table_close)

/**
 * hostvlan_table_prefetch: it will be looked for soon
 *
 * Any @mac, also one that no table can have.
 */
void hostvlan_table_prefetch(const HostvlanTable *table, uint64_t mac);

/**
 * hostvlan_table_lookup: the value of a MAC address
 * @mac: as hostvlan_mac() gives it; any number
 *
 * At most HOSTVLAN_PROBE_MAX cache lines, and one in nearly all cases.
 *
 * Returns: a value of this table; 0 if it has none for @mac; one of the kind
 * HOSTVLAN_VALUE_DAMAGED if the key or the value that it has is damaged.
 */
uint64_t hostvlan_table_lookup(const HostvlanTable *table, uint64_t mac);

/**
 * hostvlan_table_lnids: the LNIDs that a value stands for
 * @value: of hostvlan_table_lookup(), of the same table
 *
 * Returns: how many, as in @lnids->num; 0 for a value of 0, and for anything
 * else if value or record are damaged.
 */
unsigned hostvlan_table_lnids(const HostvlanTable *table, uint64_t value,
                              HostvlanLnids *lnids);

/**
 * hostvlan_table_addresses: the IP addresses that a value stands for
 * @value: of hostvlan_table_lookup(), of the same table
 *
 * Returns: false if value or record are damaged; @addresses has none then, and
 * if there are none.
 */
bool hostvlan_table_addresses(const HostvlanTable *table, uint64_t value,
                              HostvlanAddresses *addresses);

/**
 * hostvlan_table_rights: what the port of a value's MAC address may do
 * @value: of hostvlan_table_lookup(), of the same table
 *
 * Returns: false if value or record are damaged; @rights has none then, and if
 * there are none.
 */
bool hostvlan_table_rights(const HostvlanTable *table, uint64_t value,
                           HostvlanRights *rights);

/** hostvlan_table_superseded: is there a newer file at the path? One load. */
bool hostvlan_table_superseded(const HostvlanTable *table);

/**
 * hostvlan_table_lost: has the file been shortened under the mapping?
 *
 * If so, nothing is found in it any more. One load.
 */
bool hostvlan_table_lost(const HostvlanTable *table);

/**
 * hostvlan_table_is_current: is this the file at the path, and still whole?
 * @st: what stat() says of the path
 *
 * Takes no account of hostvlan_table_superseded(). A file that was overwritten
 * in place is lost from here on.
 */
bool hostvlan_table_is_current(HostvlanTable *table, const struct stat *st);

/** hostvlan_table_is_at: is it this file, whole or not? */
bool hostvlan_table_is_at(const HostvlanTable *table, const struct stat *st);

/** hostvlan_table_generation: of changes; grows from file to file. */
uint64_t hostvlan_table_generation(const HostvlanTable *table);

/** hostvlan_table_macs: that have LNIDs, as the writer says. */
uint32_t hostvlan_table_macs(const HostvlanTable *table);

#endif /* NET_HOSTVLAN_TABLE_H */
