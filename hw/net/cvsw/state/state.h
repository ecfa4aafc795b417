/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a switch, for migration to another host
 *
 * It is a sequence of records of up to CVSW_STATE_RECORD_MAX octets: one for
 * the NIC, then one for each group, flow and security association; the first
 * record has their numbers.  A flow's record has its counters and the FLOW_MOD
 * of OpenFlow 1.3 that would add it, so the destination checks it as it checks
 * a controller's message; groups are handled in the same way.  A NIC without
 * groups uses version 1 of the format, which has no groups.  Numbers are in
 * network byte order.
 *
 * Records of associations contain keying material: a caller must overwrite them
 * after use and must encrypt their transport.
 */
#ifndef CVSW_STATE_STATE_H
#define CVSW_STATE_STATE_H

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/tunnel/sas.h"

#define CVSW_STATE_VERSION      1u
#define CVSW_STATE_GROUPS       2u      /* the version with groups */
#define CVSW_STATE_RECORD_MAX   4096u

/*
 * ESP sequence numbers that the destination may have used before the source
 * continues: esp_sa_take_back().
 */
#define CVSW_STATE_USED_MAX     65536u

/* The state of one NIC. */
typedef struct CvswState {
    CvswTable *table;
    CvswSas *sas;
    uint8_t mac[6];
    bool drop_misses;
    uint16_t mtu;               /* 0: not set */
    uint32_t denied;            /* CVSW_OFFLOAD_... that are denied */
} CvswState;

/**
 * cvsw_state_save: write all records
 * @state: after the call its associations have no sequence numbers left
 *         (esp_sa_hand_over()) and cannot seal, until cvsw_state_take_back()
 * @with_sas: false: save no associations, and leave them unchanged
 * @put: called for each record; must not keep a pointer to it
 */
void cvsw_state_save(const CvswState *state, bool with_sas, uint64_t now_ms,
                     void (*put)(void *opaque, const void *record, size_t len),
                     void *opaque);

/** cvsw_state_take_back: the migration failed; continue on this host */
void cvsw_state_take_back(CvswSas *sas);

/* A state while it is loaded. */
typedef struct CvswStateReader {
    CvswState *to;              /* flow table and associations start empty */
    uint64_t now_ms;            /* 2^47 or more, on the table's clock */
    uint32_t epoch;             /* real time in s, for the IVs of ESP */
    bool has_begun;
    uint32_t groups, flows, sas;        /* numbers from the first record */
} CvswStateReader;

/**
 * cvsw_state_take: load a record
 * @reader: zeroed before the first record, except @to, @now_ms and @epoch; @to
 *          has the configuration of this NIC, and gets MTU, offloads and
 *          contents
 *
 * Returns: NULL; or an error text that the caller frees, such as "flow 3 has 2
 * octets".  @reader must not be used after an error
 */
char *cvsw_state_take(CvswStateReader *reader, const void *record, size_t len);

/** cvsw_state_end: check that all records came; returns as cvsw_state_take() */
char *cvsw_state_end(const CvswStateReader *reader);

#endif /* CVSW_STATE_STATE_H */
