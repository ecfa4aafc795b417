/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a switch on its way to another host
 *
 * It is a row of records of up to CVSW_STATE_RECORD_MAX octets: one of the NIC,
 * then one of each group, of each flow and of each security association, as the
 * first one has announced.  A flow is the FLOW_MOD of OpenFlow 1.3 that would
 * add it, with its counters before it, so that what comes is checked as a
 * controller's is; so is a group.  A NIC without groups tells its state in
 * version 1, which knows of none.  Numbers are in network order.
 *
 * Records of associations hold keying material: who carries them overwrites
 * them, and encrypts the way.
 */
#ifndef CVSW_STATE_STATE_H
#define CVSW_STATE_STATE_H

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/tunnel/sas.h"

#define CVSW_STATE_VERSION      1u
#define CVSW_STATE_GROUPS       2u      /* the version that has groups */
#define CVSW_STATE_RECORD_MAX   4096u

/*
 * Numbers of ESP that another host may have used before this one goes on:
 * esp_sa_take_back().
 */
#define CVSW_STATE_USED_MAX     65536u

/* Of one NIC. */
typedef struct CvswState {
    CvswTable *table;
    CvswSas *sas;
    uint8_t mac[6];
    bool drop_misses;
    uint16_t mtu;               /* 0: nobody set one */
    uint32_t denied;            /* CVSW_OFFLOAD_... that are off */
} CvswState;

/**
 * cvsw_state_save: tell all
 * @state: its associations' numbers are given away (esp_sa_hand_over()): from
 *         now on nothing is sealed here, until cvsw_state_take_back()
 * @with_sas: false: of no association, and each stays as it is
 * @put: called for each record; it must keep no pointer to it
 */
void cvsw_state_save(const CvswState *state, bool with_sas, uint64_t now_ms,
                     void (*put)(void *opaque, const void *record, size_t len),
                     void *opaque);

/** cvsw_state_take_back: the state has gone nowhere; this host goes on */
void cvsw_state_take_back(CvswSas *sas);

/* A state that comes. */
typedef struct CvswStateReader {
    CvswState *to;              /* table and associations are empty at first */
    uint64_t now_ms;            /* 2^47 or more, on the table's clock */
    uint32_t epoch;             /* real time in s, for ESP's IVs */
    bool has_begun;
    uint32_t groups, flows, sas;        /* announced */
} CvswStateReader;

/**
 * cvsw_state_take: read a record
 * @reader: of zeros at first, but for @to, @now_ms and @epoch; @to says what
 *          the NIC here is, and gets MTU, offloads and what comes
 *
 * Returns: NULL; or what is wrong, for people and the caller's to free: "flow 3
 * has 2 octets".  @reader is of no use then
 */
char *cvsw_state_take(CvswStateReader *reader, const void *record, size_t len);

/** cvsw_state_end: there are no more records; returns as cvsw_state_take() */
char *cvsw_state_end(const CvswStateReader *reader);

#endif /* CVSW_STATE_STATE_H */
