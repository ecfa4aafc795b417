/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reader of YAML with tables of keys; its messages have place and key */
#ifndef DNSD_SERVER_CONFIG_READER_H
#define DNSD_SERVER_CONFIG_READER_H

#include <yaml.h>

#include "dnsd/server/config/config.h"

#define DNSD_KEY_MAX    128     /* "zones[17].allow-query[3]" */

typedef struct DnsdReader {
    const char *path;
    yaml_document_t document;
    DnsdConfig *config;
    DnsdMistakes *mistakes;
    char key[DNSD_KEY_MAX];     /* the key being read */
} DnsdReader;

typedef struct DnsdKey DnsdKey;

/* Read the value of a key, @node, into @to. */
typedef void DnsdReadFn(DnsdReader *r, const yaml_node_t *node,
                        const DnsdKey *key, void *to);

struct DnsdKey {
    const char *name;
    DnsdReadFn *read;
    size_t offset;              /* of the member in the map's struct */
    const char *right;          /* a description of valid values */
    uint32_t min, max;          /* limits of numbers */
};

/**
 * dnsd_reader_map: read the keys of a map by a table
 * @keys: the last entry has no name
 */
void dnsd_reader_map(DnsdReader *r, const yaml_node_t *node,
                     const DnsdKey *keys, void *to);

/**
 * dnsd_reader_list: read the items of a list
 * @each: reads an item into an element of @size octets
 * @max: limit of the items
 *
 * Returns: the elements; @count is set to their number.
 */
void *dnsd_reader_list(DnsdReader *r, const yaml_node_t *node,
                       const DnsdKey *key, size_t size, size_t max,
                       void (*each)(DnsdReader *r, const yaml_node_t *node,
                                    const DnsdKey *key, void *to),
                       size_t *count);

/**
 * dnsd_reader_scalar: the text of a node; NULL, after a message, if it has none
 */
const char *dnsd_reader_scalar(DnsdReader *r, const yaml_node_t *node,
                               const DnsdKey *key);

/** dnsd_reader_wrong: report a wrong value; @how is like "is too long" */
void dnsd_reader_wrong(DnsdReader *r, const yaml_node_t *node, const char *how,
                       const char *right);

/* Is the value "off", false or no?  Case is ignored. */
bool dnsd_reader_is_off(const char *text);

/* For tables: @to is uint32_t, bool, const char * ("off": NULL) */
DnsdReadFn dnsd_read_number, dnsd_read_switch, dnsd_read_text;

#endif /* DNSD_SERVER_CONFIG_READER_H */
