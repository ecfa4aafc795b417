/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reasons to refuse a FLOW_MOD or GROUP_MOD, and their OpenFlow error codes
 *
 * OpenFlow 1.0 has no error codes for matches: a bad match in terms of 1.3 is
 * OFPFMFC_EPERM in 1.0.
 */
#ifndef CVSW_OPENFLOW_FAULT_H
#define CVSW_OPENFLOW_FAULT_H

#include <stdint.h>

#include "hw/net/cvsw/flow/table.h"

typedef enum CvswOfFault {
    CVSW_OF_OK,
    /* the message */
    CVSW_OF_BAD_VERSION,        /* neither 1.0 nor 1.3 */
    CVSW_OF_BAD_TYPE,           /* neither FLOW_MOD nor GROUP_MOD */
    CVSW_OF_BAD_LEN,
    CVSW_OF_BUFFER_UNKNOWN,     /* a NIC does not buffer packets */
    /* the table */
    CVSW_OF_TABLE_FULL,
    CVSW_OF_OVERLAP,
    CVSW_OF_BAD_TABLE_ID,       /* only table 0 exists */
    CVSW_OF_BAD_COMMAND,
    CVSW_OF_BAD_FLAGS,
    CVSW_OF_EMERG,              /* 1.0: no emergency flow table */
    CVSW_OF_EMERG_TIMEOUT,      /* 1.0: and its flows have no timeouts */
    /* the match */
    CVSW_OF_MATCH_BAD_TYPE,
    CVSW_OF_MATCH_BAD_LEN,
    CVSW_OF_MATCH_BAD_FIELD,
    CVSW_OF_MATCH_BAD_VALUE,
    CVSW_OF_MATCH_BAD_MASK,
    CVSW_OF_MATCH_BAD_WILDCARDS,
    CVSW_OF_MATCH_DUP_FIELD,
    CVSW_OF_MATCH_BAD_PREREQ,
    /* 1.3: instructions */
    CVSW_OF_INST_UNKNOWN,
    CVSW_OF_INST_UNSUP,         /* or two of the same type */
    CVSW_OF_INST_BAD_TABLE_ID,
    CVSW_OF_INST_BAD_EXPERIMENTER,
    CVSW_OF_INST_BAD_LEN,
    /* actions */
    CVSW_OF_ACT_BAD_TYPE,
    CVSW_OF_ACT_BAD_LEN,
    CVSW_OF_ACT_BAD_EXPERIMENTER,
    CVSW_OF_ACT_BAD_EXP_TYPE,
    CVSW_OF_ACT_BAD_OUT_PORT,
    CVSW_OF_ACT_BAD_ARGUMENT,
    CVSW_OF_ACT_TOO_MANY,
    CVSW_OF_ACT_BAD_QUEUE,
    CVSW_OF_ACT_BAD_OUT_GROUP,
    CVSW_OF_ACT_INCONSISTENT,
    CVSW_OF_ACT_BAD_SET_TYPE,
    CVSW_OF_ACT_BAD_SET_LEN,
    CVSW_OF_ACT_BAD_SET_ARGUMENT,
    /* 1.3: groups */
    CVSW_OF_GROUP_EXISTS,
    CVSW_OF_GROUP_INVALID,      /* bad group number, weight or bucket count */
    CVSW_OF_GROUP_OUT_OF_GROUPS,
    CVSW_OF_GROUP_OUT_OF_BUCKETS,
    CVSW_OF_GROUP_CHAINING,
    CVSW_OF_GROUP_WATCH,        /* liveness of ports is not monitored */
    CVSW_OF_GROUP_LOOP,
    CVSW_OF_GROUP_UNKNOWN,
    CVSW_OF_GROUP_CHAINED,
    CVSW_OF_GROUP_BAD_TYPE,     /* neither ALL nor INDIRECT */
    CVSW_OF_GROUP_BAD_COMMAND,
    CVSW_OF_GROUP_BAD_BUCKET,
    CVSW_OF_FAULTS,
} CvswOfFault;

/*
 * The error in a protocol version: ofp_error_msg's type and code, and their
 * name.
 */
typedef struct CvswOfError {
    uint16_t type, code;
    const char *name;           /* as in the specification */
} CvswOfError;

/**
 * cvsw_of_error: the error codes for a fault
 * @version: ofp_header.version; versions other than 1.3 get codes of 1.0
 * @fault: not CVSW_OF_OK
 */
const CvswOfError *cvsw_of_error(uint8_t version, CvswOfFault fault);

/** cvsw_of_table_fault: convert a flow table's fault */
CvswOfFault cvsw_of_table_fault(CvswFlowFault fault);

/** cvsw_of_group_fault: convert a fault of the groups */
CvswOfFault cvsw_of_group_fault(CvswGroupFault fault);

/** cvsw_of_match_fault: convert a match's fault */
CvswOfFault cvsw_of_match_fault(CvswMatchFault fault);

#endif /* CVSW_OPENFLOW_FAULT_H */
