/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LNID table, for readers (include/vmmnet/hostvlan.h)
 *
 * Any number of threads may read a HostvlanTable while a writer changes the
 * file, without locks. The caller of hostvlan_table_close() must ensure that no
 * thread reads it.
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

/* Reasons to refuse a file; the message has the details. */
typedef enum HostvlanTableError {
    HOSTVLAN_TABLE_ERROR_MISSING,       /* no such file */
    HOSTVLAN_TABLE_ERROR_ACCESS,        /* it cannot be opened or read */
    HOSTVLAN_TABLE_ERROR_NOT_A_FILE,    /* a folder, a device, a FIFO */
    HOSTVLAN_TABLE_ERROR_MAGIC,         /* another kind of file */
    HOSTVLAN_TABLE_ERROR_VERSION,
    HOSTVLAN_TABLE_ERROR_CHECKSUM,      /* of the header */
    HOSTVLAN_TABLE_ERROR_HEADER,        /* a number out of range */
    HOSTVLAN_TABLE_ERROR_SIZE,          /* differs from file_size */
    HOSTVLAN_TABLE_ERROR_KEY,           /* no unicast MAC address */
    HOSTVLAN_TABLE_ERROR_PLACE,         /* a search would not find the key */
    HOSTVLAN_TABLE_ERROR_VALUE,
    HOSTVLAN_TABLE_ERROR_RECORD,        /* out of bounds, or not in order */
    HOSTVLAN_TABLE_ERROR_RESOURCES,     /* no memory, or too many tables */
} HostvlanTableError;

typedef struct HostvlanTable HostvlanTable;

/* The LNIDs of a MAC address; ascending, without duplicates. */
typedef struct HostvlanLnids {
    unsigned num;               /* 0: none */
    uint32_t lnid[HOSTVLAN_LNIDS_MAX];
} HostvlanLnids;

/*
 * The sender addresses of a MAC address; 192.0.2.1 is 0xc0000201. Those with
 * host bits are prefixes: of 192.0.2.0/24 they are 8.
 */
typedef struct HostvlanAddresses {
    unsigned num_ip4, num_ip6;
    uint32_t ip4[HOSTVLAN_IP4_MAX];
    uint32_t ip6[HOSTVLAN_IP6_MAX][4];  /* most significant word first */
    uint8_t host_bits4[HOSTVLAN_IP4_MAX];
    uint8_t host_bits6[HOSTVLAN_IP6_MAX];
} HostvlanAddresses;

/* Further rights of a MAC address's port. */
typedef struct HostvlanRights {
    uint32_t offers;            /* HOSTVLAN_OFFER_... */
    unsigned num_also;
    uint64_t also[HOSTVLAN_ALSO_MAX];   /* MAC addresses, ascending */
} HostvlanRights;

/**
 * hostvlan_table_open: map a table and check all of it
 *
 * It takes as long as reading the file: some tens of milliseconds for 1,048,576
 * MAC addresses.
 *
 * Returns: a table, to be closed with hostvlan_table_close(); or NULL with an
 * error of HOSTVLAN_TABLE_ERROR.
 */
HostvlanTable *hostvlan_table_open(const char *path, GError **errp);

/** hostvlan_table_close: @table may be NULL. */
void hostvlan_table_close(HostvlanTable *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostvlanTable, hostvlan_table_close)

/**
 * hostvlan_table_prefetch: prefetch for a look-up that follows
 *
 * @mac may be any number.
 */
void hostvlan_table_prefetch(const HostvlanTable *table, uint64_t mac);

/**
 * hostvlan_table_lookup: the value of a MAC address
 * @mac: from hostvlan_mac(), or any other number
 *
 * It reads at most HOSTVLAN_PROBE_MAX cache lines, and one in nearly all cases.
 *
 * Returns: a value of this table; 0 if there is none for @mac; a value of kind
 * HOSTVLAN_VALUE_DAMAGED if the key or the value is damaged.
 */
uint64_t hostvlan_table_lookup(const HostvlanTable *table, uint64_t mac);

/**
 * hostvlan_table_lnids: the LNIDs of a value
 * @value: from hostvlan_table_lookup() of the same table
 *
 * Returns: the number of LNIDs, also in @lnids->num. It is 0 if @value is 0, or
 * if value or record are damaged.
 */
unsigned hostvlan_table_lnids(const HostvlanTable *table, uint64_t value,
                              HostvlanLnids *lnids);

/**
 * hostvlan_table_addresses: the IP addresses of a value
 * @value: from hostvlan_table_lookup() of the same table
 *
 * Returns: false if value or record are damaged; @addresses is empty then. It
 * is also empty if the record has no addresses.
 */
bool hostvlan_table_addresses(const HostvlanTable *table, uint64_t value,
                              HostvlanAddresses *addresses);

/**
 * hostvlan_table_rights: the rights of a value's port
 * @value: from hostvlan_table_lookup() of the same table
 *
 * Returns: false if value or record are damaged; @rights is empty then. It is
 * also empty if the record has no rights.
 */
bool hostvlan_table_rights(const HostvlanTable *table, uint64_t value,
                           HostvlanRights *rights);

/** hostvlan_table_superseded: does the path have a newer file? One load. */
bool hostvlan_table_superseded(const HostvlanTable *table);

/**
 * hostvlan_table_lost: was the file truncated?
 *
 * If so, all look-ups fail. One load.
 */
bool hostvlan_table_lost(const HostvlanTable *table);

/**
 * hostvlan_table_is_current: is this the file at the path, and still intact?
 * @st: result of stat() for the path
 *
 * hostvlan_table_superseded() is not considered. If the file was overwritten in
 * place, the table is lost from this call on.
 */
bool hostvlan_table_is_current(HostvlanTable *table, const struct stat *st);

/** hostvlan_table_is_at: is it this file, intact or not? */
bool hostvlan_table_is_at(const HostvlanTable *table, const struct stat *st);

/** hostvlan_table_generation: number of changes; grows from file to file. */
uint64_t hostvlan_table_generation(const HostvlanTable *table);

/** hostvlan_table_macs: MAC addresses with LNIDs, according to the writer. */
uint32_t hostvlan_table_macs(const HostvlanTable *table);

#endif /* NET_HOSTVLAN_TABLE_H */
