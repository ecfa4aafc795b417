/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of a policy, in a hash table by prefix and name
 *
 * For policy.c, which searches them, policy-parse.c, which adds them, and
 * policy-hits.c.
 */
#ifndef HW_VMRPC_POLICY_RULES_H
#define HW_VMRPC_POLICY_RULES_H

#include "hw/vmrpc/policy/policy.h"

/* A DNS name as text: every octet as \DDD, dots, NUL. */
#define VMRPC_POLICY_NAME_TEXT   1024
#define VMRPC_POLICY_NAME_LABELS 127

/* Behind every line of a file */
#define VMRPC_POLICY_NO_LINE UINT_MAX

/* The protocol of rules about questions alone: no destination has it. */
#define VMRPC_POLICY_ONLY_DNS IPPROTO_NONE

/* The subject of a rule */
typedef enum VmrpcPolicyKind {
    VMRPC_POLICY_IPV4,
    VMRPC_POLICY_IPV6,
    VMRPC_POLICY_HOST,
    VMRPC_POLICY_NAME,          /* one name */
    VMRPC_POLICY_BELOW,         /* every name below a name */
} VmrpcPolicyKind;

/* All rules with one key are one list. */
typedef struct VmrpcPolicyKey {
    VmrpcPolicyKind kind;
    uint32_t hash;
    uint8_t addr[16];           /* zero after the prefix; IPv4: the first 4 */
    uint8_t len;                /* bits of the prefix, or labels of the name */
    const char *name;           /* lower case, no dot at the end */
} VmrpcPolicyKey;

/* The rest of a rule */
typedef struct VmrpcPolicyRule {
    unsigned line;
    uint16_t port_min;          /* 0 to 65535: any, or no port at all */
    uint16_t port_max;
    uint8_t proto;              /* 0: any */
    bool allow;
    bool watch;                 /* allow, and tell that "deny" would not */
    VmrpcTerms *terms;          /* NULL: none */
    VmrpcSays says;             /* of an allow rule by name for TCP */
} VmrpcPolicyRule;

struct VmrpcPolicy {
    GHashTable *rules;          /* VmrpcPolicyKey -> GArray, by line */
    GArray *hits;               /* VmrpcPolicyHits, by line (policy-hits.c) */
    unsigned num_rules;
    /* Bounds of the search */
    struct {
        uint8_t len[129];       /* the prefix lengths that occur */
        unsigned num;
    } prefixes[2];              /* by kind, IPv4 and IPv6 */
    unsigned max_labels;        /* of a name in a rule */
    /* The first allow rule that is not by name, or VMRPC_POLICY_NO_LINE */
    unsigned open_line;
    bool open_watch;            /* and it is a watch rule */

    char id[VMRPC_POLICY_ID_SIZE];
    bool default_allow;
    bool default_watch;
    unsigned default_line;      /* 0: not in the file */
    bool dns_listed;
    unsigned dns_line;
    /*
     * Private addresses as deny rules, private domains as allow rules; NULL
     * without any.  They apply to DNS answers, not to destinations.
     */
    VmrpcPolicy *private;
    unsigned num_private;       /* statements */
    GPtrArray *proxies;         /* VmrpcProxy */
    VmrpcLimitsConfig limits;
    bool has_tls;               /* a rule has "tls" */
    bool has_says;              /* a rule has "tls" or "http" */
    bool ech_refused;
    unsigned ech_line;
};

/* A name in the form of a key, and where its labels begin */
typedef struct VmrpcPolicyName {
    char text[VMRPC_POLICY_NAME_TEXT];
    uint16_t label[VMRPC_POLICY_NAME_LABELS];
    unsigned num_labels;
} VmrpcPolicyName;

/* Returns false if @text is not a DNS name, or is the root. */
bool vmrpc_policy_read_name(const char *text, VmrpcPolicyName *name);

/* @kind is IPV4 or IPV6; @addr has 4 or 16 bytes. */
void vmrpc_policy_key_addr(VmrpcPolicyKey *key, VmrpcPolicyKind kind,
                           const uint8_t *addr, unsigned len);

/* @kind is NAME or BELOW; the key keeps a pointer into @name. */
void vmrpc_policy_key_name(VmrpcPolicyKey *key, VmrpcPolicyKind kind,
                           const VmrpcPolicyName *name);

/* The key of the root, which has no rules; the beginning of every other name */
void vmrpc_policy_key_root(VmrpcPolicyKey *key);

/*
 * Extends the key of an ancestor of @name, or of the root, by one label: it is
 * then the key NAME of @name itself, or the key BELOW of the next ancestor.
 */
void vmrpc_policy_key_extend(VmrpcPolicyKey *key, const VmrpcPolicyName *name);

/* A policy without rules, which allows by default */
VmrpcPolicy *vmrpc_policy_new(void);

/* Adds a rule behind all others; copies @key and @rule, takes its terms. */
void vmrpc_policy_add(VmrpcPolicy *policy, const VmrpcPolicyKey *key,
                      const VmrpcPolicyRule *rule);

#endif /* HW_VMRPC_POLICY_RULES_H */
