/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of OpenFlow that a NIC needs
 *
 * Names are those of the specifications 1.0.1 (wire version 1) and 1.3.5 (wire
 * version 4).  If a name has different values in the two, or exists in only
 * one, its prefix has the version: OFPAT10_, OFPAT13_.  Offsets in messages are
 * constants too, named after the structure and the member.  All fields are in
 * network byte order.
 */
#ifndef CVSW_OPENFLOW_WIRE_H
#define CVSW_OPENFLOW_WIRE_H

/* ofp_header.version */
enum {
    OFP10_VERSION = 1,
    OFP13_VERSION = 4,
};

/* ofp_header.type, in both versions */
enum {
    OFPT_ERROR = 1,
    OFPT_PACKET_IN = 10,
    OFPT_FLOW_REMOVED = 11,
    OFPT_FLOW_MOD = 14,
    OFPT_GROUP_MOD = 15,        /* 1.3 only */
};

/* ofp_header */
enum {
    OFP_HEADER_VERSION = 0,
    OFP_HEADER_TYPE = 1,
    OFP_HEADER_LENGTH = 2,
    OFP_HEADER_XID = 4,
    OFP_HEADER_LEN = 8,
};

/* ofp_error_msg: minimum length of the quoted request */
#define OFP_ERROR_QUOTE         64u

#define OFP_NO_BUFFER           0xffffffffu

/* ofp_flow_mod.command, in both versions */
enum {
    OFPFC_ADD,
    OFPFC_MODIFY,
    OFPFC_MODIFY_STRICT,
    OFPFC_DELETE,
    OFPFC_DELETE_STRICT,
};

/* ofp_flow_mod.flags */
enum {
    OFPFF_SEND_FLOW_REM = 1 << 0,
    OFPFF_CHECK_OVERLAP = 1 << 1,
    OFPFF10_EMERG = 1 << 2,
    OFPFF13_RESET_COUNTS = 1 << 2,
    OFPFF13_NO_PKT_COUNTS = 1 << 3,
    OFPFF13_NO_BYT_COUNTS = 1 << 4,
};

/* ofp_flow_removed.reason, in both versions */
enum {
    OFPRR_IDLE_TIMEOUT,
    OFPRR_HARD_TIMEOUT,
    OFPRR_DELETE,
    OFPRR13_GROUP_DELETE,
};

/* ofp_packet_in.reason, in both versions */
enum {
    OFPR_NO_MATCH,
    OFPR_ACTION,
};

/* --- OpenFlow 1.0 -------------------------------------------------------- */

/* ofp_flow_mod */
enum {
    OFM10_MATCH = 8,
    OFM10_COOKIE = 48,
    OFM10_COMMAND = 56,
    OFM10_IDLE_TIMEOUT = 58,
    OFM10_HARD_TIMEOUT = 60,
    OFM10_PRIORITY = 62,
    OFM10_BUFFER_ID = 64,
    OFM10_OUT_PORT = 68,
    OFM10_FLAGS = 70,
    OFM10_ACTIONS = 72,
};

/* ofp_packet_in */
enum {
    OPI10_BUFFER_ID = 8,
    OPI10_TOTAL_LEN = 12,
    OPI10_IN_PORT = 14,
    OPI10_REASON = 16,
    OPI10_DATA = 18,
};

/* ofp_match */
enum {
    OFM10_WILDCARDS = 0,
    OFM10_IN_PORT = 4,
    OFM10_DL_SRC = 6,
    OFM10_DL_DST = 12,
    OFM10_DL_VLAN = 18,
    OFM10_DL_VLAN_PCP = 20,
    OFM10_DL_TYPE = 22,
    OFM10_NW_TOS = 24,
    OFM10_NW_PROTO = 25,
    OFM10_NW_SRC = 28,
    OFM10_NW_DST = 32,
    OFM10_TP_SRC = 36,
    OFM10_TP_DST = 38,
    OFM10_MATCH_LEN = 40,
};

/* ofp_match.wildcards */
enum {
    OFPFW_IN_PORT = 1 << 0,
    OFPFW_DL_VLAN = 1 << 1,
    OFPFW_DL_SRC = 1 << 2,
    OFPFW_DL_DST = 1 << 3,
    OFPFW_DL_TYPE = 1 << 4,
    OFPFW_NW_PROTO = 1 << 5,
    OFPFW_TP_SRC = 1 << 6,
    OFPFW_TP_DST = 1 << 7,
    OFPFW_NW_SRC_SHIFT = 8,
    OFPFW_NW_DST_SHIFT = 14,
    OFPFW_NW_BITS = 0x3f,       /* number of wildcard bits; 32: all */
    OFPFW_DL_VLAN_PCP = 1 << 20,
    OFPFW_NW_TOS = 1 << 21,
    OFPFW_ALL = (1 << 22) - 1,
};

#define OFP_VLAN_NONE           0xffffu

/* ofp_port */
#define OFPP10_MAX              0xff00u
#define OFPP10_NONE             0xffffu

/* ofp_action_type */
enum {
    OFPAT10_OUTPUT,
    OFPAT10_SET_VLAN_VID,
    OFPAT10_SET_VLAN_PCP,
    OFPAT10_STRIP_VLAN,
    OFPAT10_SET_DL_SRC,
    OFPAT10_SET_DL_DST,
    OFPAT10_SET_NW_SRC,
    OFPAT10_SET_NW_DST,
    OFPAT10_SET_NW_TOS,
    OFPAT10_SET_TP_SRC,
    OFPAT10_SET_TP_DST,
    OFPAT10_ENQUEUE,
    OFPAT_EXPERIMENTER = 0xffff,        /* 1.0: OFPAT_VENDOR */
};

/* ofp_error_type */
enum {
    OFPET10_BAD_REQUEST = 1,
    OFPET10_BAD_ACTION = 2,
    OFPET10_FLOW_MOD_FAILED = 3,
};

/* ofp_bad_request_code */
enum {
    OFPBRC10_BAD_VERSION = 0,
    OFPBRC10_BAD_TYPE = 1,
    OFPBRC10_BAD_LEN = 6,
    OFPBRC10_BUFFER_UNKNOWN = 8,
};

/* ofp_bad_action_code */
enum {
    OFPBAC10_BAD_TYPE = 0,
    OFPBAC10_BAD_LEN = 1,
    OFPBAC10_BAD_VENDOR = 2,
    OFPBAC10_BAD_VENDOR_TYPE = 3,
    OFPBAC10_BAD_OUT_PORT = 4,
    OFPBAC10_BAD_ARGUMENT = 5,
    OFPBAC10_TOO_MANY = 7,
    OFPBAC10_BAD_QUEUE = 8,
};

/* ofp_flow_mod_failed_code */
enum {
    OFPFMFC10_ALL_TABLES_FULL = 0,
    OFPFMFC10_OVERLAP = 1,
    OFPFMFC10_EPERM = 2,
    OFPFMFC10_BAD_EMERG_TIMEOUT = 3,
    OFPFMFC10_BAD_COMMAND = 4,
};

/* --- OpenFlow 1.3 -------------------------------------------------------- */

/* ofp_flow_mod */
enum {
    OFM13_COOKIE = 8,
    OFM13_COOKIE_MASK = 16,
    OFM13_TABLE_ID = 24,
    OFM13_COMMAND = 25,
    OFM13_IDLE_TIMEOUT = 26,
    OFM13_HARD_TIMEOUT = 28,
    OFM13_PRIORITY = 30,
    OFM13_BUFFER_ID = 32,
    OFM13_OUT_PORT = 36,
    OFM13_OUT_GROUP = 40,
    OFM13_FLAGS = 44,
    OFM13_MATCH = 48,
    OFM13_LEN_MIN = 56,
};

/* ofp_group_mod */
enum {
    OGM13_COMMAND = 8,
    OGM13_TYPE = 10,
    OGM13_GROUP_ID = 12,
    OGM13_BUCKETS = 16,
};

/* ofp_group_mod_command */
enum {
    OFPGC_ADD,
    OFPGC_MODIFY,
    OFPGC_DELETE,
};

/* ofp_group_type: the required ones, without SELECT and FF */
enum {
    OFPGT_ALL = 0,
    OFPGT_INDIRECT = 2,
};

/* ofp_bucket */
enum {
    OBU13_LEN = 0,
    OBU13_WEIGHT = 2,
    OBU13_WATCH_PORT = 4,
    OBU13_WATCH_GROUP = 8,
    OBU13_ACTIONS = 16,
};

/* ofp_packet_in; the data follows the match */
enum {
    OPI13_BUFFER_ID = 8,
    OPI13_TOTAL_LEN = 12,
    OPI13_REASON = 14,
    OPI13_TABLE_ID = 15,
    OPI13_COOKIE = 16,
    OPI13_MATCH = 24,
};

/* ofp_match.type, and the offset of its fields */
#define OFPMT_OXM               1u
#define OFP13_MATCH_HEAD_LEN    4u

/* Header of an OXM field. */
#define OFPXMC_OPENFLOW_BASIC   0x8000u
#define OXM_HEADER_LEN          4u

/* ofp_table */
#define OFPTT_ALL               0xffu

/* ofp_port_no, ofp_group */
#define OFPP13_ANY              0xffffffffu
#define OFPG_ANY                0xffffffffu

/* ofp_instruction_type */
enum {
    OFPIT_GOTO_TABLE = 1,
    OFPIT_WRITE_METADATA = 2,
    OFPIT_WRITE_ACTIONS = 3,
    OFPIT_APPLY_ACTIONS = 4,
    OFPIT_CLEAR_ACTIONS = 5,
    OFPIT_METER = 6,
    OFPIT_EXPERIMENTER = 0xffff,
};

/* ofp_instruction_actions: length before the actions */
#define OFP13_INSTRUCTION_HEAD_LEN 8u

/* ofp_action_type */
enum {
    OFPAT13_OUTPUT = 0,
    OFPAT13_PUSH_VLAN = 17,
    OFPAT13_POP_VLAN = 18,
    OFPAT13_SET_QUEUE = 21,
    OFPAT13_GROUP = 22,
    OFPAT13_SET_NW_TTL = 23,
    OFPAT13_DEC_NW_TTL = 24,
    OFPAT13_SET_FIELD = 25,
};

/* ofp_error_type */
enum {
    OFPET13_BAD_REQUEST = 1,
    OFPET13_BAD_ACTION = 2,
    OFPET13_BAD_INSTRUCTION = 3,
    OFPET13_BAD_MATCH = 4,
    OFPET13_FLOW_MOD_FAILED = 5,
    OFPET13_GROUP_MOD_FAILED = 6,
};

/* ofp_bad_request_code */
enum {
    OFPBRC13_BAD_VERSION = 0,
    OFPBRC13_BAD_TYPE = 1,
    OFPBRC13_BAD_LEN = 6,
    OFPBRC13_BUFFER_UNKNOWN = 8,
};

/* ofp_bad_action_code */
enum {
    OFPBAC13_BAD_TYPE = 0,
    OFPBAC13_BAD_LEN = 1,
    OFPBAC13_BAD_EXPERIMENTER = 2,
    OFPBAC13_BAD_EXP_TYPE = 3,
    OFPBAC13_BAD_OUT_PORT = 4,
    OFPBAC13_BAD_ARGUMENT = 5,
    OFPBAC13_TOO_MANY = 7,
    OFPBAC13_BAD_QUEUE = 8,
    OFPBAC13_BAD_OUT_GROUP = 9,
    OFPBAC13_MATCH_INCONSISTENT = 10,
    OFPBAC13_BAD_SET_TYPE = 13,
    OFPBAC13_BAD_SET_LEN = 14,
    OFPBAC13_BAD_SET_ARGUMENT = 15,
};

/* ofp_bad_instruction_code */
enum {
    OFPBIC13_UNKNOWN_INST = 0,
    OFPBIC13_UNSUP_INST = 1,
    OFPBIC13_BAD_TABLE_ID = 2,
    OFPBIC13_BAD_EXPERIMENTER = 5,
    OFPBIC13_BAD_LEN = 7,
};

/* ofp_bad_match_code */
enum {
    OFPBMC13_BAD_TYPE = 0,
    OFPBMC13_BAD_LEN = 1,
    OFPBMC13_BAD_WILDCARDS = 5,
    OFPBMC13_BAD_FIELD = 6,
    OFPBMC13_BAD_VALUE = 7,
    OFPBMC13_BAD_MASK = 8,
    OFPBMC13_BAD_PREREQ = 9,
    OFPBMC13_DUP_FIELD = 10,
};

/* ofp_flow_mod_failed_code */
enum {
    OFPFMFC13_TABLE_FULL = 1,
    OFPFMFC13_BAD_TABLE_ID = 2,
    OFPFMFC13_OVERLAP = 3,
    OFPFMFC13_BAD_COMMAND = 6,
    OFPFMFC13_BAD_FLAGS = 7,
};

/* ofp_group_mod_failed_code */
enum {
    OFPGMFC13_GROUP_EXISTS = 0,
    OFPGMFC13_INVALID_GROUP = 1,
    OFPGMFC13_OUT_OF_GROUPS = 3,
    OFPGMFC13_OUT_OF_BUCKETS = 4,
    OFPGMFC13_CHAINING_UNSUPPORTED = 5,
    OFPGMFC13_WATCH_UNSUPPORTED = 6,
    OFPGMFC13_LOOP = 7,
    OFPGMFC13_UNKNOWN_GROUP = 8,
    OFPGMFC13_CHAINED_GROUP = 9,
    OFPGMFC13_BAD_TYPE = 10,
    OFPGMFC13_BAD_COMMAND = 11,
    OFPGMFC13_BAD_BUCKET = 12,
};

#endif /* CVSW_OPENFLOW_WIRE_H */
