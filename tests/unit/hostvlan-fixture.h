/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A writer of LNID tables, for tests
 *
 * It follows include/vmmnet/hostvlan.h in the order of its stores, so that
 * readers may be tested against it while it writes.
 */
#ifndef TESTS_HOSTVLAN_FIXTURE_H
#define TESTS_HOSTVLAN_FIXTURE_H

#include <glib.h>
#include <stdbool.h>

#include "vmmnet/hostvlan.h"

typedef struct HvWriter {
    char *path;
    size_t size;
    struct hostvlan_header *header;
    struct hostvlan_bucket *bucket;
    uint32_t *word;
} HvWriter;

/* The entry of a MAC address. */
typedef struct HvEntry {
    unsigned num_lnids, num_ip4, num_ip6;
    uint32_t lnid[HOSTVLAN_LNIDS_MAX];
    uint32_t ip4[HOSTVLAN_IP4_MAX];
    uint32_t ip6[HOSTVLAN_IP6_MAX][4];
    uint8_t host_bits4[HOSTVLAN_IP4_MAX];       /* of prefixes; else 0 */
    uint8_t host_bits6[HOSTVLAN_IP6_MAX];
    unsigned offers, num_also;
    uint64_t also[HOSTVLAN_ALSO_MAX];
} HvEntry;

/* Makes an empty table, which replaces an existing file at the path. */
HvWriter *hv_create(const char *path, uint32_t buckets, uint32_t words);

/* Closes the writer; the file stays. */
void hv_close(HvWriter *w);

/* Returns: the slot of @mac; NULL: none yet. */
struct hostvlan_slot *hv_slot(HvWriter *w, uint64_t mac);

/* Changes an entry in place.  Returns: false if there is no room for it. */
bool hv_set(HvWriter *w, uint64_t mac, const HvEntry *entry);

/* Sets @num LNIDs, ascending, without addresses. */
void hv_set_lnids(HvWriter *w, uint64_t mac, unsigned num, ...);

void hv_remove(HvWriter *w, uint64_t mac);

/*
 * Writes all live entries to a new file of another size, which replaces the old
 * one; frees @w.
 */
HvWriter *hv_replace(HvWriter *w, uint32_t buckets, uint32_t words);

/* Corrects the checksum after a change of the header. */
void hv_seal(HvWriter *w);

/* Returns: a folder for files of tests. */
const char *hv_tmp(void);

/*
 * Like g_test_run(), in a process of its own, so that hv_tmp() is removed in
 * every case.
 */
int hv_test_run(void);

#endif /* TESTS_HOSTVLAN_FIXTURE_H */
