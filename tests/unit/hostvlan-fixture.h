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

/* What a MAC address has. */
typedef struct HvEntry {
    unsigned num_lnids, num_ip4, num_ip6;
    uint32_t lnid[HOSTVLAN_LNIDS_MAX];
    uint32_t ip4[HOSTVLAN_IP4_MAX];
    uint32_t ip6[HOSTVLAN_IP6_MAX][4];
    unsigned offers, num_also;
    uint64_t also[HOSTVLAN_ALSO_MAX];
} HvEntry;

/* An empty table, which takes the place of what is at the path. */
HvWriter *hv_create(const char *path, uint32_t buckets, uint32_t words);

/* The file stays. */
void hv_close(HvWriter *w);

/* Its slot; NULL if there is none yet. */
struct hostvlan_slot *hv_slot(HvWriter *w, uint64_t mac);

/* In place; false if there is no room left for it. */
bool hv_set(HvWriter *w, uint64_t mac, const HvEntry *entry);

/* The usual: so many LNIDs, ascending, and no addresses. */
void hv_set_lnids(HvWriter *w, uint64_t mac, unsigned num, ...);

void hv_remove(HvWriter *w, uint64_t mac);

/*
 * All that is alive, in a new file of another size, which takes the old one's
 * place; frees @w.
 */
HvWriter *hv_replace(HvWriter *w, uint32_t buckets, uint32_t words);

/* After a change of the header, so that only the change is wrong. */
void hv_seal(HvWriter *w);

/* A folder for what tests write. */
const char *hv_tmp(void);

/*
 * As g_test_run(), in a process of its own, the same program: whatever becomes
 * of that, nothing is left in hv_tmp().
 */
int hv_test_run(void);

#endif /* TESTS_HOSTVLAN_FIXTURE_H */
