/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A configuration in YAML, read by tables of keys
 *
 * Theory of operation: a table names the keys of a map, each with a function
 * that reads its value into a member of a struct, and with words that say what
 * a right value is. The reader follows the file, knows where it is in it, and
 * collects messages instead of ending at the first: whoever wrote the file sees
 * all that is wrong, each with its line, its column and the key's whole name. A
 * key that is in no table is an error; the message has the nearest one.
 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#define CONFIG_KEY_MAX  128     /* "zones[17].allow-query[3]" */

/* Many allocations that are freed together */
typedef struct ConfigMemory ConfigMemory;

/**
 * config_memory_get: allocate @len octets of zeros, which are freed with the
 * others
 * @memory: NULL at first
 *
 * Exits the process if there is no memory, as a configuration is small.
 */
void *config_memory_get(ConfigMemory **memory, size_t len);

/** config_memory_text: copy a string */
char *config_memory_text(ConfigMemory **memory, const char *text);

void config_memory_free(ConfigMemory *memory);

/* Error messages: lines of "FILE:LINE:COLUMN: KEY: ..." */
typedef struct ConfigErrors {
    unsigned count;
    size_t len;
    char text[4096];            /* truncated if there are more */
} ConfigErrors;

/* Set what is above the line, and call config_read(). */
typedef struct ConfigReader {
    const char *path;           /* the name of the file, for messages */
    void *whole;                /* of the caller, for functions that read */
    ConfigMemory **memory;      /* for texts and lists */
    ConfigErrors *errors;
    /* ---- */
    yaml_document_t document;
    char key[CONFIG_KEY_MAX];   /* the key being read */
} ConfigReader;

typedef struct ConfigKey ConfigKey;

/* Read the value of a key, @node, into @to. */
typedef void ConfigReadFn(ConfigReader *r, const yaml_node_t *node,
                          const ConfigKey *key, void *to);

struct ConfigKey {
    const char *name;
    ConfigReadFn *read;
    size_t offset;              /* of the member in the map's struct */
    const char *right;          /* a description of valid values */
    uint32_t min, max;          /* limits of numbers */
};

/**
 * config_read: read a text
 * @keys: of the map that it is
 * @to: that map's struct; an empty text leaves it as it is
 *
 * Returns: false, and @r->errors has as many errors as could be found
 */
bool config_read(ConfigReader *r, const char *text, size_t len,
                 const ConfigKey *keys, void *to);

/**
 * config_map: read the keys of a map by a table
 * @keys: the last entry has no name
 */
void config_map(ConfigReader *r, const yaml_node_t *node, const ConfigKey *keys,
                void *to);

/**
 * config_list: read the items of a list
 * @each: reads an item into an element of @size octets
 * @max: limit of the items
 *
 * Returns: the elements; @count is set to their number.
 */
void *config_list(ConfigReader *r, const yaml_node_t *node,
                  const ConfigKey *key, size_t size, size_t max,
                  ConfigReadFn *each, size_t *count);

/**
 * config_scalar: the text of a node; NULL, after a message, if it has none
 */
const char *config_scalar(ConfigReader *r, const yaml_node_t *node,
                          const ConfigKey *key);

/** config_wrong: report a wrong value; @how is like "is too long" */
void config_wrong(ConfigReader *r, const yaml_node_t *node, const char *how,
                  const char *right);

/** config_say: report what @text says, at the place of a node */
void config_say(ConfigReader *r, const yaml_node_t *node, const char *text);

/* Is the value "off", false or no?  Case is ignored. */
bool config_is_off(const char *text);

/* For tables: @to is uint32_t, bool, const char * ("off": NULL); or an absolute
 * path in const char * ("off": NULL) */
ConfigReadFn config_read_number, config_read_switch, config_read_text,
             config_read_path;

#endif /* BASE_CONFIG_H */
