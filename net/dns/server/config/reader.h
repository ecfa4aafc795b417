/* SPDX-License-Identifier: GPL-2.0-or-later */
/* YAML whose keys a table names, and messages that say where and what */
#ifndef NET_DNS_SERVER_CONFIG_READER_H
#define NET_DNS_SERVER_CONFIG_READER_H

#include <yaml.h>

#include "net/dns/server/config/config.h"

#define DNSD_KEY_MAX    128     /* "zones[17].allow-query[3]" */

typedef struct DnsdReader {
    const char *path;
    yaml_document_t document;
    DnsdConfig *config;
    DnsdMistakes *mistakes;
    char key[DNSD_KEY_MAX];     /* where we are */
} DnsdReader;

typedef struct DnsdKey DnsdKey;

/* Read @node, the value of a key, into what @to is. */
typedef void DnsdReadFn(DnsdReader *r, const yaml_node_t *node,
                        const DnsdKey *key, void *to);

struct DnsdKey {
    const char *name;
    DnsdReadFn *read;
    size_t offset;              /* of the member in what the map is read to */
    const char *right;          /* what would be right */
    uint32_t min, max;          /* of numbers */
};

/**
 * dnsd_reader_map: read each key of a map by its table
 * @keys: the last has no name
 */
void dnsd_reader_map(DnsdReader *r, const yaml_node_t *node,
                     const DnsdKey *keys, void *to);

/**
 * dnsd_reader_list: read each item of a list
 * @each: reads an item into an element of @size octets
 * @max: items
 *
 * Returns: the elements; @count is their number.
 */
void *dnsd_reader_list(DnsdReader *r, const yaml_node_t *node,
                       const DnsdKey *key, size_t size, size_t max,
                       void (*each)(DnsdReader *r, const yaml_node_t *node,
                                    const DnsdKey *key, void *to),
                       size_t *count);

/** dnsd_reader_scalar: the text of a node; NULL, and told, if it is none. */
const char *dnsd_reader_scalar(DnsdReader *r, const yaml_node_t *node,
                               const DnsdKey *key);

/** dnsd_reader_wrong: the value of @node is not right; @how: "is too long". */
void dnsd_reader_wrong(DnsdReader *r, const yaml_node_t *node, const char *how,
                       const char *right);

/* A value that is "off" (or false, no), in any case */
bool dnsd_reader_is_off(const char *text);

/* For tables: uint32_t, bool, const char * ("off": NULL) */
DnsdReadFn dnsd_read_number, dnsd_read_switch, dnsd_read_text;

#endif /* NET_DNS_SERVER_CONFIG_READER_H */
